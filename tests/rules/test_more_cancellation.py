"""Rule 8 where buffers overflow and ends are counted: what is given back, by whom, to whom."""

import csp
import ufuture

from rules_support import asyncio, idle, join, raises, sleep_ms, until, waiting_readers

VARIANTS = ("uapycsp",)
HEAP = "8M"  # for what waits 300 deep

WAYS = ("keep_oldest", "keep_newest")


async def given_back(overflow, values, capacity=2):
    """A channel with the values given back, and nothing else."""
    ch = csp.BufferedChannel("c", capacity, overflow)
    loop = asyncio.get_event_loop()
    # Tasks: a process that is cancelled poisons its end.
    readers = [loop.create_task(task_that_reads(ch.read)) for _ in values]
    await until(lambda: ch.queue_len() == len(values))
    for v in values:
        assert await ch.write(v) == 0
    for task in readers:
        task.cancel()
    assert ch.queue_len() == len(values)
    ch.verify()
    for task in readers:
        with raises(asyncio.CancelledError):
            await task
    assert ch.queue_len() == len(values) and not ch.poisoned
    return ch


async def task_that_reads(cin):
    return await cin()


async def test_given_back_values_take_no_room_and_are_not_dropped():
    for overflow in WAYS:
        ch = await given_back(overflow, ["a", "b", "c"])
        for i in range(5):
            assert await ch.write(i) == 0
            ch.verify()
            assert ch.queue_len() == 3 + min(i + 1, 2)
        got = []
        while ch.queue_len():
            got.append(await ch.read())
            ch.verify()
        assert got == ["a", "b", "c"] + ([0, 1] if overflow == "keep_oldest" else [3, 4])
        assert idle(ch)


async def test_a_value_given_back_to_a_full_buffer_is_read_first():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 1, overflow)
        (h,) = await waiting_readers(ch, 1)
        await ch.write("first")
        await ch.write("second")
        h.cancel()
        ch.verify()
        assert ch.queue_len() == 2
        assert await csp.Alternative(ch.read).select() == (ch.read, "first")
        assert await ch.read() == "second"
        assert idle(ch)


async def test_a_cancelled_read_gives_its_value_to_the_next_reader():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 1, overflow)
        first, second = await waiting_readers(ch, 2)
        await ch.write("a")
        first.cancel()
        assert await join(second) == "a"
        assert idle(ch)


async def test_poison_of_the_channel_drops_what_was_given_back_that_of_a_writer_does_not():
    for overflow in WAYS:
        ch = await given_back(overflow, ["a"], 1)
        ch.write.poison()
        assert await ch.read() == "a"
        assert ch.poisoned
        ch = await given_back(overflow, ["a"], 1)
        ch.poison()
        assert ch.poisoned and idle(ch)


async def test_a_cancelled_select_gives_back_what_it_chose():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 1, overflow)
        other = csp.Channel("other")
        task = asyncio.get_event_loop().create_task(
            csp.Alternative(other.read, ch.read).select()  # pyright: ignore
        )
        await until(lambda: ch.queue_len() == 1)
        await ch.write("chosen")
        task.cancel()
        assert await ch.write("later") == 0
        with raises(asyncio.CancelledError):
            await task
        assert await ch.read() == "chosen"
        assert await ch.read() == "later"
        assert idle(ch, other)


# Counted ends


async def asks(operation):
    """A task of asyncio's that does an operation, and has begun it."""
    task = asyncio.get_event_loop().create_task(awaits(operation))
    await sleep_ms(0)
    return task


async def awaits(operation):
    return await operation


async def cancelled(task):
    with raises(asyncio.CancelledError):
        await task


async def test_a_read_by_a_counted_end_that_was_not_paired_leaves_nothing():
    ch = csp.Channel("c")
    cin = ch.reader()
    for operation in (cin(), csp.Alternative(cin).select(), csp.Parallel(cin)):
        task = await asks(operation)
        assert ch.queue_len() == 1
        task.cancel()
        assert idle(ch)
        await cancelled(task)
    assert not ch.poisoned


async def test_a_write_by_a_counted_end_that_was_not_paired_leaves_nothing():
    ch = csp.Channel("c")
    cout = ch.writer()
    guard = cout.alt_pending_write(1)
    for operation in (cout(1), csp.Alternative(guard).select(), csp.Parallel(guard)):
        task = await asks(operation)
        assert ch.queue_len() == 1
        task.cancel()
        assert idle(ch)
        await cancelled(task)
    assert not ch.poisoned


async def test_a_paired_read_gives_its_value_back_even_if_its_end_has_retired():
    for make in (csp.Channel, csp.BufferedChannel):
        for retires in (False, True):
            ch = make("c")
            cin, other = ch.reader(), ch.reader()
            for operation in (
                cin(), csp.Alternative(cin).select(), csp.Parallel(cin), csp.Parallel(cin()),
            ):
                task = await asks(operation)
                await ch.write("back")
                task.cancel()
                if retires:
                    cin.retire()
                ch.verify()
                assert ch.queue_len() == 1
                assert await other() == "back"
                await cancelled(task)
                if retires:
                    break
            assert idle(ch) and not ch.poisoned


async def test_what_is_given_back_before_the_last_writer_retires_can_be_read():
    ch = csp.Channel("c")
    cin, cout = ch.reader(), ch.writer()
    task = await asks(cin())
    await cout("back")
    task.cancel()
    cout.retire()
    assert not ch.poisoned
    assert await cin() == "back"
    assert ch.poisoned
    await cancelled(task)
    with raises(csp.RetireException):
        await cin()


async def test_what_is_given_back_after_the_last_writer_has_retired_can_be_read():
    ch = csp.Channel("c")
    cin, cout = ch.reader(), ch.writer()
    task = await asks(cin())
    await cout("back")
    cout.retire()
    assert ch.poisoned
    task.cancel()
    assert not ch.poisoned
    assert await cin() == "back"
    await cancelled(task)
    assert idle(ch)


async def test_what_is_given_back_after_the_last_reader_has_retired_is_dropped():
    ch = csp.Channel("c")
    cin, cout = ch.reader(), ch.writer()
    task = await asks(cin())
    await cout("dropped")
    cin.retire()
    task.cancel()
    assert ch.poisoned and idle(ch)
    await cancelled(task)


async def test_a_paired_write_stands():
    ch = csp.Channel("c")
    cin, cout = ch.reader(), ch.writer()
    task = await asks(writes_and_sleeps(cout))
    assert await cin() == 1
    task.cancel()
    cout.retire()
    await cancelled(task)
    assert ch.poisoned and idle(ch)


async def writes_and_sleeps(cout):
    assert await cout(1) == 0
    await sleep_ms(1)


async def test_a_cancelled_process_poisons_its_counted_ends_as_others():
    a, b = csp.Channel("a"), csp.Channel("b")
    hold = a.reader(), b.writer()
    h = csp.Spawn(reads(a.reader(), b.writer()))
    await until(lambda: a.queue_len() == 1)
    h.cancel()
    with raises(asyncio.CancelledError):
        await join(h)
    for ch in (a, b):
        with raises(csp.PoisonException) as e:
            await ch.read()
        assert not isinstance(e.value, csp.RetireException)
    for end in hold:
        end.retire()


@csp.process
async def reads(cin, cout):
    await cout(await cin())


async def test_a_cancel_within_a_block_poisons_its_end():
    ch = csp.Channel("c")
    hold = ch.reader()
    h = csp.Spawn(blocks(ch))
    await until(lambda: ch.queue_len() == 1)
    h.cancel()
    with raises(asyncio.CancelledError):
        await join(h)
    assert ch.poisoned and idle(ch)
    with raises(csp.PoisonException) as e:
        await hold()
    assert not isinstance(e.value, csp.RetireException)


@csp.process
async def blocks(ch):
    with ch.writer() as cout:
        await cout(1)


# Deep inside


@csp.process(propagate=False)
async def deep(n, cin):
    return await (csp.Parallel(deep(n - 1, cin), nothing()) if n else cin())


@csp.process
async def nothing():
    pass


async def deep_in_gathers(n, cin):
    return await (ufuture.gather(deep_in_gathers(n - 1, cin), nothing()) if n else cin())


async def test_a_cancel_reaches_at_once_who_waits_far_inside():
    for body in (deep, deep_in_gathers):
        for n in (4, 5, 6, 7, 12, 300):
            for paired in (False, True):
                ch = csp.Channel("c")

                async def waits():
                    await body(n, ch.read)

                t = asyncio.get_event_loop().create_task(waits())
                await until(lambda: ch.queue_len() == 1)
                if paired:
                    await ch.write("v")
                t.cancel()
                assert ch.queue_len() == int(paired)
                with raises(asyncio.CancelledError):
                    await t
                if paired:
                    assert await ch.read() == "v"
                assert idle(ch)


async def test_an_operation_that_has_not_begun_gives_nothing_back():
    @csp.process  # pyright: ignore
    def is_no_coroutine():
        return 1

    @csp.process(propagate=False)
    async def waits():
        await other.read()

    ch, other = csp.Channel("c"), csp.Channel("o")

    async def together():
        await csp.Parallel(waits(), is_no_coroutine(), ch.read())  # pyright: ignore

    t = asyncio.get_event_loop().create_task(together())
    await until(lambda: other.queue_len() == 1)
    t.cancel()
    with raises(TypeError):
        await t
    assert idle(ch, other)
