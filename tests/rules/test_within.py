"""Time limits: within gives an end's value in time, or TimeoutError and nothing has happened."""

import csp

from rules_support import (
    LIB,
    POISONED,
    THREADS,
    Log,
    asyncio,
    block_ms,
    choose,
    idle,
    join,
    join_all,
    now_ms,
    par,
    passed,
    posted,
    raises,
    sentence,
    settle,
    skip,
    sleep_ms,
    take,
    until,
    waiting_readers,
    waiting_writers,
)

if THREADS:
    from uthreading import clock

LONG_MS = 3600000
LATE = "too late"
VIRTUAL_TIME = True
REAL_TIME = (
    "test_a_process_that_tries_again_and_again_lets_others_run",
    "test_cancelled_in_the_moment_of_its_time_it_is_cancelled_or_late",
    "test_messages_between_the_impatient_are_neither_lost_nor_doubled",
)


@csp.process(propagate=False)
async def take_within(cin, ms):
    try:
        return await cin.within(ms)
    except csp.PoisonException:
        return POISONED
    except csp.TimeoutError:
        return LATE


@csp.process(propagate=False)
async def give_within(cout, ms, value):
    try:
        return await cout.within(ms, value)
    except csp.PoisonException:
        return POISONED
    except csp.TimeoutError:
        return LATE


def kinds():
    """A rendezvous, and buffers on which an operation waits as on one."""
    return csp.Channel("c"), csp.BufferedChannel("b", 0)


def unarmed():
    """No alarm is left; the timer thread may hold one that is due for a moment."""
    if THREADS:
        with clock._lock:
            return not clock._armed
    return True


async def test_what_can_happen_at_once_does():
    for ms in (LONG_MS, 1, 0, -5):
        for ch in kinds():
            (w,) = await waiting_writers(ch, ("v",))
            assert await ch.read.within(ms) == "v"
            assert await join(w) == 0
            (r,) = await waiting_readers(ch, 1)
            assert await ch.write.within(ms, None) == 0
            assert await join(r) is None
            assert idle(ch) and unarmed()


async def test_what_happens_in_time_gives_its_value_and_leaves_no_timer():
    for ch in kinds():
        h = await posted(ch, take_within(ch.read, LONG_MS), 1)
        assert await ch.write("v") == 0
        assert await join(h) == "v"
        h = await posted(ch, give_within(ch.write, LONG_MS, "w"), 1)
        assert await ch.read() == "w"
        assert await join(h) == 0
        assert idle(ch)
        await until(unarmed)


async def test_too_late_is_a_timeout_error_never_early_and_nothing_has_happened():
    for ch in kinds():
        for limit, ms in (20, 20), (20.5, 21):
            start = now_ms()
            with raises(csp.TimeoutError) as e:
                await ch.read.within(limit)
            assert passed(start, ms)
            assert sentence(e.value)
            assert idle(ch)
            with raises(csp.TimeoutError):
                await ch.write.within(limit, "never")
            assert idle(ch)
        (r,) = await waiting_readers(ch, 1)
        await ch.write("real")
        assert await join(r) == "real"


async def test_no_time_is_one_try():
    for ch in kinds():
        for ms in (0, -1, -0.5):
            with raises(csp.TimeoutError):
                await ch.read.within(ms)
            with raises(csp.TimeoutError):
                await ch.write.within(ms, 1)
            assert idle(ch)


async def test_a_process_that_tries_again_and_again_lets_others_run():
    ch = csp.Channel("c")
    h = csp.Spawn(give_within(ch.write, LONG_MS, 7))
    start = now_ms()
    while True:
        try:
            assert await ch.read.within(0) == 7
            break
        except csp.TimeoutError:
            assert not passed(start, 30000)
    assert await join(h) == 0


@csp.process
async def notes(log):
    log.add("here")


async def test_a_process_that_always_succeeds_lets_others_run():
    if THREADS:
        skip("threads need nobody's leave")
    ch = csp.BufferedChannel("c")
    log = Log()
    h = csp.Spawn(notes(log))
    n = 0
    while not log.count():
        await ch.write.within(5, n)
        assert await ch.read.within(5) == n
        n += 1
        assert n < 10000
    await join(h)


async def test_buffers_take_and_give_while_they_can():
    ch = csp.BufferedChannel("c", 2)
    assert await ch.write.within(0, 1) == 0
    assert await ch.write.within(10, 2) == 0
    for ms in (0, 5):
        with raises(csp.TimeoutError):
            await ch.write.within(ms, "never")
    assert ch.queue_len() == 2
    h = await posted(ch, give_within(ch.write, LONG_MS, 3), 3)
    for v, ms in ((1, 0), (2, 5), (3, 0)):
        assert await ch.read.within(ms) == v
    assert await join(h) == 0
    for ms in (0, 5):
        with raises(csp.TimeoutError):
            await ch.read.within(ms)
    assert idle(ch)


async def test_poison_ends_it_at_once_and_in_the_midst():
    for ch in kinds():
        handles = [
            await posted(ch, take_within(ch.read, LONG_MS), 1),
            await posted(ch, take_within(ch.read, LONG_MS), 2),
        ]
        ch.poison()
        assert await join_all(handles) == [POISONED, POISONED]
        for ms in (LONG_MS, 0):
            with raises(csp.PoisonException):
                await ch.read.within(ms)
            with raises(csp.PoisonException):
                await ch.write.within(ms, 1)
        assert idle(ch)
    for ch in kinds():
        h = await posted(ch, give_within(ch.write, LONG_MS, 1), 1)
        ch.poison()
        assert await join(h) == POISONED


async def test_a_closed_channel_is_read_empty_and_not_written():
    ch = csp.BufferedChannel("c")
    await ch.write(1)
    ch.close()
    with raises(csp.PoisonException):
        await ch.write.within(LONG_MS, 2)
    assert await ch.read.within(LONG_MS) == 1
    with raises(csp.PoisonException):
        await ch.read.within(LONG_MS)


async def test_they_stand_in_the_queue_in_their_turn():
    for ch in kinds():
        handles = []
        for i in range(4):
            p = take_within(ch.read, LONG_MS) if i % 2 else take(ch.read)
            handles.append(await posted(ch, p, i + 1))
        for i in range(4):
            await ch.write(i)
        assert await join_all(handles) == [0, 1, 2, 3]


async def test_a_limited_operation_meets_an_alternative_and_another_limited_one():
    for ch in kinds():
        guard = ch.write.alt_pending_write("of the guard")
        h = await posted(ch, choose(guard), 1)
        assert await ch.read.within(LONG_MS) == "of the guard"
        assert await join(h) == (guard, 0)
        h = await posted(ch, take_within(ch.read, LONG_MS), 1)
        assert await ch.write.within(LONG_MS, "both") == 0
        assert await join(h) == "both"
        assert idle(ch)


async def test_bad_limits_raise():
    ch = csp.Channel("c")
    for bad in (None, "1", [], ch):
        with raises(TypeError):
            await ch.read.within(bad)  # pyright: ignore
        with raises(TypeError):
            await ch.write.within(bad, 1)  # pyright: ignore
    with raises(TypeError):
        await ch.read.within()  # pyright: ignore
    with raises(TypeError):
        await ch.write.within(5)  # pyright: ignore
    with raises(TypeError):
        await ch.read.within(5, "value")  # pyright: ignore
    assert idle(ch)


async def test_a_limit_above_what_the_clock_can_wait_for_at_once_is_kept():
    ch = csp.Channel("c")
    h = await posted(ch, take_within(ch.read, 1 << 40), 1)
    await settle()
    assert not h.done()
    await ch.write(1)
    assert await join(h) == 1


def test_a_limited_operation_is_no_deadlock():
    ch = csp.Channel("c")
    assert csp.run(take_within(ch.read, 1200)) == LATE
    assert idle(ch)


def test_a_timeout_nobody_catches_comes_out_of_run():
    ch, other = csp.Channel("c"), csp.Channel("other")
    with raises(csp.TimeoutError):
        csp.run(impatient(ch.read, other.write), take(other.read))
    assert not ch.queue_len() and other.poisoned


@csp.process
async def impatient(cin, cout):
    await cout(await cin.within(1))


async def test_nothing_is_posted_before_it_is_awaited():
    if LIB != "uapycsp":
        skip("there is nothing to be awaited, or it is done by then")
    ch = csp.Channel("c")
    reading = ch.read.within(LONG_MS)
    writing = ch.write.within(LONG_MS, 1)
    await settle()
    assert idle(ch)
    reading.close()
    writing.close()


async def test_it_is_cancelled_atomically():
    if LIB != "uapycsp":
        skip("there is no cancellation")
    for ch in kinds():
        for ms in (LONG_MS, 50):
            # Before it was paired: nothing is left.
            for p in (take_within(ch.read, ms), give_within(ch.write, ms, "never")):
                h = await posted(ch, p, 1)
                h.cancel()
                with raises(asyncio.CancelledError):
                    await join(h)
                assert idle(ch)
            # Paired, and its task has not run since: the value goes back.
            h = await posted(ch, take_within(ch.read, ms), 1)
            await ch.write("kept")
            h.cancel()
            with raises(asyncio.CancelledError):
                await join(h)
            assert ch.queue_len() == 1 and await ch.read() == "kept"
            # A write that was paired has happened.
            h = await posted(ch, give_within(ch.write, ms, "written"), 1)
            assert await ch.read() == "written"
            h.cancel()
            await until(h.done)
            assert idle(ch)


async def test_cancelled_in_the_moment_of_its_time_it_is_cancelled_or_late():
    if LIB != "uapycsp":
        skip("there is no cancellation")
    ch = csp.Channel("c")
    for ahead in (0, 1, 2, 3, 4):
        h = csp.Spawn(take_within(ch.read, 2))
        await until(lambda: ch.queue_len() or h.done())
        block_ms(ahead)  # the loop finds the limit passed, or not yet, when it has the cancel
        h.cancel()
        try:
            assert await join(h) == LATE
        except asyncio.CancelledError:
            pass
        assert idle(ch)


@csp.process
async def impatient_reader(cin, log, ms):
    while True:
        try:
            log.add(await cin.within(ms))
        except csp.TimeoutError:
            pass  # noted, it would fill the heap where the writers get no turn


@csp.process
async def impatient_writer(cout, first, n, ms, done):
    for i in range(n):
        while True:
            try:
                await cout.within(ms, first + i)
                break
            except csp.TimeoutError:
                await sleep_ms(1)
    done.add(first)


@csp.process
async def end_when(log, n, ch):
    await until(lambda: log.count() >= n)
    ch.close()


async def test_messages_between_the_impatient_are_neither_lost_nor_doubled():
    for ch in (csp.Channel("c"), csp.BufferedChannel("b", 3)):
        log, done = Log(), Log()
        writers = [impatient_writer(ch.write, 1000 * i, 40, i, done) for i in range(3)]
        readers = [impatient_reader(ch.read, log, ms) for ms in (1, 2, 5)]
        await par(*(writers + readers + [end_when(done, 3, ch)]))
        assert sorted(log.items()) == [1000 * i + k for i in range(3) for k in range(40)]
        assert idle(ch)


async def test_the_error_is_that_of_the_system_where_there_is_one():
    if LIB == "uapycsp":
        assert csp.TimeoutError is asyncio.TimeoutError
    else:
        try:
            assert csp.TimeoutError is TimeoutError
        except NameError:
            assert issubclass(csp.TimeoutError, Exception)
