"""Rule 11, further: what is used twice, or where it can't be used, raises at once."""

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    THREADS,
    Log,
    give,
    idle,
    join,
    join_all,
    par,
    raises,
    sentence,
    skip,
    sleep_ms,
    take,
    until,
    waiting_readers,
    waiting_writers,
)


@csp.process
async def returns(v):
    return v


@csp.process
async def selects(alt):
    return (await alt.select())[1]


async def test_a_loop_over_a_read_end_that_lacks_its_async_is_a_type_error():
    if not AWAITABLE:
        skip("there it lacks nothing")
    a, b, c = csp.Channel("a"), csp.BufferedChannel("b"), csp.Channel("counted")
    for ch, end in ((a, a.read), (b, b.read), (c, c.reader())):
        for _ in range(2):
            with raises(TypeError):
                for v in end:
                    raise AssertionError(v)
            ch.poison()


async def test_an_alternative_that_two_processes_use_at_once_is_a_runtime_error():
    a, b = csp.Channel("a"), csp.Channel("b")
    alt = csp.Alternative(a.read, b.read)
    h = csp.Spawn(selects(alt))
    await until(lambda: a.queue_len() == 1)
    with raises(RuntimeError) as e:
        await alt.select()
    assert sentence(e.value)
    assert a.queue_len() == b.queue_len() == 1
    await b.write("v")
    assert await join(h) == "v"
    assert idle(a, b)


def test_a_run_of_nothing_is_a_value_error():
    with raises(ValueError) as e:
        csp.run()
    assert sentence(e.value)
    assert csp.run(returns(1)) == 1


async def start_twice(composite):
    if AWAITABLE:
        await composite
        await composite
    else:
        composite.run()
        composite.run()


async def test_a_parallel_or_sequence_is_started_once():
    ch = csp.BufferedChannel("c")
    for composite in (
        csp.Parallel(returns(1)),
        csp.Parallel(ch.write.alt_pending_write(1)),
        csp.Sequence(returns(1)),
        csp.Sequence(returns(1), returns(2)),
        csp.Sequence(),
    ):
        with raises(RuntimeError) as e:
            await start_twice(composite)
        assert sentence(e.value)
    assert ch.queue_len() == 1


async def start(composite):
    if AWAITABLE:
        await composite
    else:
        composite.run()


async def test_beside_a_parallel_or_sequence_that_was_started_none_is_started():
    for kind in (csp.Parallel, csp.Sequence):
        for by_itself in (False, True):
            for place in (0, 1):
                log, ch = Log(), csp.Channel("c")
                composite = kind(logs(log, "first"))
                await (start(composite) if by_itself else par(composite))
                together = [adds_and_reads(log, ch.read)]
                together.insert(place, composite)
                with raises(RuntimeError) as e:
                    await par(*together)
                assert sentence(e.value)
                assert log.items() == ["first"] and ch.poisoned


async def test_a_parallel_or_sequence_that_is_given_twice_is_not_started():
    for kind in (csp.Parallel, csp.Sequence):
        log, ch = Log(), csp.Channel("c")
        composite = kind(adds_and_reads(log, ch.read))
        with raises(RuntimeError):
            await par(composite, logs(log, "beside"), composite)
        assert log.items() == [] and ch.poisoned


async def test_an_operation_that_is_given_twice_is_not_begun():
    if not AWAITABLE:
        skip("an operation is a call there")
    for n in (0, 1):  # whether somebody waits already
        ch = csp.Channel("c")
        handles = await waiting_writers(ch, ["v"] * n)
        op = ch.read()
        with raises(RuntimeError):
            await csp.Parallel(op, op)
        if not n:
            handles = await waiting_writers(ch, ("v",))
        assert await ch.read() == "v" and idle(ch)
        await join_all(handles)
        handles = await waiting_readers(ch, n)
        op = ch.write("w")
        with raises(RuntimeError):
            await csp.Parallel(op, op)
        if not n:
            handles = await waiting_readers(ch, 1)
        await ch.write("x")
        assert await join_all(handles) == ["x"] and idle(ch)


async def test_an_operation_that_has_been_awaited_is_refused_by_a_parallel():
    if not AWAITABLE:
        skip("an operation is a call there")
    for ch in (csp.Channel("c"), csp.BufferedChannel("b", 1)):
        h = csp.Spawn(take(ch.read))
        write = ch.write("v")
        await write
        await join(h)
        h = csp.Spawn(give(ch.write, "v"))
        read = ch.read()
        assert await read == "v"
        await join(h)
        for op in (write, read):
            with raises(RuntimeError):
                await csp.Parallel(op)
            assert idle(ch) and not ch.poisoned


async def test_a_parallel_that_does_not_run_uses_no_operation():
    if not AWAITABLE:
        skip("an operation is a call there")
    ch = csp.BufferedChannel("b", 9)
    for v in range(3):
        write = ch.write(v)
        if v == 0:
            with raises(TypeError):
                csp.Parallel(write, None)
        elif v == 1:
            with raises(RuntimeError):
                csp.Parallel(write, write)
        else:
            csp.Parallel(write)  # it is never awaited
        assert await write == 0
        read = ch.read()
        with raises(TypeError):
            csp.Parallel(read, None)
        assert await read == v
    write = ch.write(3)
    both = csp.Parallel(write)
    assert await write == 0
    with raises(RuntimeError):
        await both
    assert await ch.read() == 3 and idle(ch)


@csp.process
async def logs(log, what):
    log.add(what)


@csp.process
async def adds_and_reads(log, cin):
    log.add("reads")
    return await cin()


async def test_one_write_guard_may_stand_twice_in_a_parallel():
    ch = csp.Channel("c")
    other = csp.Channel("d")
    one, two = ch.write.alt_pending_write(1), ch.write.alt_pending_write(2)
    handles = [csp.Spawn(take(ch.read)), csp.Spawn(take(ch.read)), csp.Spawn(take(ch.read))]
    writes = csp.Parallel(one, one, two)
    assert (await writes if AWAITABLE else writes.run().retval) == [0, 0, 0]
    assert sorted(await join_all(handles)) == [1, 1, 2]
    # All of them wait.
    first, second = other.write.alt_pending_write(1), other.write.alt_pending_write(2)
    h = csp.Spawn(csp.Parallel(first, second, first))
    await until(lambda: other.queue_len() == 3)
    for v in (1, 2, 1):
        assert await other.read() == v
    assert await join(h) == [0, 0, 0]
    assert idle(ch, other)


async def test_a_process_function_that_is_no_coroutine_function_is_a_type_error():
    if not AWAITABLE:
        skip("plain upycsp's are ordinary functions")

    @csp.process
    def ordinary(cin):
        return 1

    a, b, c = csp.Channel("a"), csp.Channel("b"), csp.Channel("c")
    with raises(TypeError) as e:
        await csp.Parallel(ordinary(a.read))
    assert sentence(e.value)
    with raises(TypeError):
        await csp.Sequence(ordinary(b.read), returns(1))
    with raises(TypeError):
        await csp.Spawn(ordinary(c.read))
    # Rule 5: its neighbours do not wait for it.
    assert a.poisoned and b.poisoned and c.poisoned


def test_spawn_outside_of_a_process_is_a_runtime_error():
    if LIB != "uapycsp":
        skip("a thread needs no loop")
    p = returns(1)
    with raises(RuntimeError) as e:
        csp.Spawn(p)
    assert sentence(e.value)
    assert csp.run(p) == 1


def test_a_timer_takes_either_seconds_or_ms():
    for words in ({}, {"seconds": 1, "ms": 1000}):
        with raises(ValueError) as e:
            csp.Timer(**words)
        assert sentence(e.value) or "Timer" in str(e.value)


async def test_an_upycsp_process_can_await_only_csp_operations():
    if LIB != "aio":
        skip("upycsp.aio has no event loop")

    class Foreign:
        def __await__(self):
            yield 1

        __iter__ = __await__

    @csp.process
    async def awaits(cin):
        await Foreign()

    ch = csp.Channel("c")
    with raises(RuntimeError) as e:
        await awaits(ch.read)
    assert "CSP operations" in str(e.value)
    assert ch.poisoned


async def test_a_user_s_guard_without_methods_of_its_own_is_never_ready():
    ch = csp.Channel("c")
    guard = csp.Guard()
    alt = csp.Alternative(guard, ch.read)
    h = csp.Spawn(selects(alt))
    await until(lambda: ch.queue_len() == 1)
    await sleep_ms(1)
    assert not h.done()
    await ch.write(1)
    assert await join(h) == 1
    assert idle(ch)


def other_library(module):
    name = "uapycsp" if THREADS else "upycsp"
    return __import__(name + "." + module, None, None, ("*",))


async def test_what_belongs_to_the_other_library_is_no_guard_and_no_member():
    # Nobody would be woken there.
    meeting = other_library("meeting")
    ch = other_library("channel").Channel("c")
    buffered = other_library("buffered").BufferedChannel("b", capacity=1)
    calls = meeting.CallChannel("calls")
    guards = [
        ch.read,
        ch.write.alt_pending_write(1),
        buffered.read,
        buffered.write.alt_pending_write(1),
        ch.reader(),
        ch.writer().alt_pending_write(1),
        meeting.AltingBarrier.create(1)[0],
        calls.serve,
        other_library("closing").Closed(ch.write),
    ]
    mine = csp.Channel("mine")
    for g in guards:
        for use in csp.Alternative, csp.Parallel:
            for args in ((g,), (mine.read, g), (returns(1), g)):
                with raises(TypeError) as e:
                    use(*args)
                assert sentence(e.value)
    for cout in ch.write, buffered.write, ch.writer():
        with raises(TypeError) as e:
            csp.Closed(cout)
        assert sentence(e.value)
    with raises(TypeError) as e:
        csp.Alternative(mine.read, ch.read)
    users = ("threads", "tasks") if THREADS else ("tasks", "threads")
    assert str(e.value) == "%s can't use an end for %s" % users
    assert idle(mine) and idle(ch) and idle(buffered)
    assert calls.queue_len() == 0


def test_what_is_no_package_says_so():
    if LIB != "aio":
        skip("it is one")
    with raises(AttributeError) as e:
        csp.__path__
    assert str(e.value) == "upycsp.aio is no package"
