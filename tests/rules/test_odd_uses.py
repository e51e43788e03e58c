"""Uses that few think of: odd names, lists that contain themselves, times between two ticks."""

import sys
import time

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    MICROPYTHON,
    idle,
    join,
    raises,
    sentence,
    skip,
    sleep_ms,
    take,
    until,
)

if hasattr(time, "ticks_us"):
    from time import ticks_diff, ticks_us
else:

    def ticks_us():
        return time.perf_counter_ns() // 1000

    def ticks_diff(a, b):
        return a - b


@csp.process
async def reads(x):
    ch = x[0] if isinstance(x, list) else x
    return await ch()


@csp.process
async def fails(x):
    raise ValueError("fails")


def test_a_deadlock_names_channels_whose_names_are_no_strings():
    for name in (7, 0, ("row", 3)):
        with raises(csp.DeadlockError) as e:
            csp.run(reads(csp.Channel(name).read))
        assert str(e.value) == "1 process waits: reads reads " + str(name), e.value
    with raises(csp.DeadlockError) as e:
        csp.run(reads(csp.Channel(None).read))
    assert "an unnamed channel" in str(e.value)


def test_what_has_an_odd_name_can_be_shown():
    for name in (7, 0, ("row", 3), "%s"):
        ch = csp.Channel(name)
        assert str(name) in repr(ch)
        assert str(name) in repr(ch.read) and str(name) in repr(ch.write)
    assert "without a name" in repr(csp.Channel(None))


async def csp_reader(cin):
    return [await cin(), await cin()]


async def my_csp_write(cout):
    await cout(1)
    await cout(2)
    return "written"


async def test_a_coroutine_is_no_operation_however_it_is_called():
    if not AWAITABLE:
        skip("takes no coroutines")
    ch = csp.Channel("c")
    assert await csp.Parallel(csp_reader(ch.read), my_csp_write(ch.write)) == [[1, 2], "written"]
    assert idle(ch)


@csp.process
async def begins():
    pass


async def test_an_operation_can_not_be_used_twice():
    if LIB != "aio":
        skip("its operations are generators like all others")
    ch = csp.Channel("c")
    op = ch.read()
    assert await csp.Parallel(op, ch.write(3)) == [3, 0]
    more = ch.write(4)
    with raises(RuntimeError):
        await csp.Parallel(more, op)
    assert idle(ch)
    h = csp.Spawn(take(ch.read))
    assert await more == 0  # it has not been used up
    assert await join(h) == 4
    p = begins()
    await csp.Parallel(p)
    more = ch.write(6)
    with raises(RuntimeError):
        await csp.Parallel(more, p)  # which was started already
    h = csp.Spawn(take(ch.read))
    assert await more == 0
    assert await join(h) == 6
    assert await csp.Parallel(ch.read(), ch.write(5)) == [5, 0]


async def test_ends_in_a_list_that_contains_itself_are_poisoned():
    a, b = csp.Channel("a"), csp.Channel("b")
    nest = [a.read, [b.write]]
    nest.append(nest)
    a.poison()
    h = csp.Spawn(reads(nest))
    assert await join(h) is None
    assert b.poisoned


async def test_ends_are_found_eight_lists_deep():
    for deep, found in ((1, True), (8, True), (9, False)):
        ch = csp.Channel("c")
        nest = ch.read
        for _ in range(deep):
            nest = [nest]
        with raises(ValueError):
            await join(csp.Spawn(fails(nest)))
        assert ch.poisoned is found, deep


async def test_a_failure_with_a_list_that_contains_itself_is_raised():
    a = csp.Channel("a")
    nest = [a.read]
    nest.append((nest, nest))  # pyright: ignore
    with raises(ValueError):
        await join(csp.Spawn(fails(nest)))
    assert a.poisoned


def an_async_def():
    # One whatever the variant of this file.
    names = {}
    exec("async def waits(cin):\n    return await cin()", names)
    return csp.process(names["waits"])


def test_an_async_def_is_no_process_of_plain_upycsp():
    if AWAITABLE:
        skip("that is what it takes")
    ch = csp.Channel("c")
    for _ in range(2):
        with raises(TypeError) as e:
            csp.run(an_async_def()(ch.read))
        assert sentence(e.value)
        assert ch.poisoned

    # That is known in a closure, too.
    def yields():
        yield ch

    with raises(TypeError):
        csp.run(csp.process(yields)())  # pyright: ignore


def test_a_process_may_return_a_generator():
    @csp.process
    async def makes(n):
        return (i * i for i in range(n))

    assert list(csp.run(makes(4))) == [0, 1, 4, 9]


class Yields:
    """What MicroPython awaits by iterating, and asyncio knows nothing of."""

    def __iter__(self):
        return iter((1, 2))

    __await__ = __iter__


@csp.process
async def awaits_what_nobody_knows(cin, before):
    if before == "read":
        await cin()
    elif before == "select":
        await csp.Alternative(cin, csp.Timer(ms=1000)).select()
    elif before == "parallel":
        await csp.Parallel(cin)
    elif before == "sleep":
        await csp.Alternative(csp.Timer(ms=1)).select()
    await Yields()  # pyright: ignore


@csp.process
async def gives_one(cout):
    await cout(1)
    await cout(2)


def test_a_process_that_awaits_what_nobody_knows_fails():
    if not AWAITABLE:
        skip("nothing is awaited")
    for before in ("nothing", "read", "select", "parallel", "sleep"):
        for ends_first in (False, True):
            ch = csp.Channel("c")
            processes = [awaits_what_nobody_knows(ch.read, before), gives_one(ch.write)]
            if ends_first:
                processes.reverse()
            with raises(RuntimeError) as e:
                csp.run(*processes)
            assert not isinstance(e.value, csp.DeadlockError), before
            assert ch.poisoned and idle(ch), before


def test_a_process_that_awaits_what_nobody_knows_fails_beside_others_that_wait():
    if not AWAITABLE:
        skip("nothing is awaited")
    a, b = csp.Channel("a"), csp.Channel("b")
    with raises(RuntimeError) as e:
        csp.run(reads(b.read), awaits_what_nobody_knows(a.read, "nothing"), reads(b.read))
    assert not isinstance(e.value, csp.DeadlockError)
    assert idle(a, b)


class _Closed:
    def write(self, text):
        raise ValueError("I/O operation on closed file")


async def test_a_process_ends_by_poison_though_that_can_not_be_said():
    if MICROPYTHON:
        skip("stderr can't be replaced")

    @csp.process(verbose_poison=True)
    async def reads_verbosely(cin):
        await cin()

    ch = csp.Channel("c")
    ch.poison()
    kept, sys.stderr = sys.stderr, _Closed()
    try:
        assert await join(csp.Spawn(reads_verbosely(ch.read))) is None
    finally:
        sys.stderr = kept


def test_a_timer_rounds_up_to_the_next_ms():
    for seconds, ms in ((0.0004, 1), (0.0015, 2), (1.0001, 1001), (2, 2000), (0, 0), (-1, -1000)):
        assert csp.Timer(seconds).ms == ms, seconds
    assert csp.Timer(ms=1.5).ms == 2


def test_a_time_that_is_no_number_is_a_type_error():
    for wrong in ("1", [1], (2,)):
        with raises(TypeError):
            csp.Timer(wrong)  # pyright: ignore
        with raises(TypeError):
            csp.Timer(ms=wrong)  # pyright: ignore


async def test_a_timer_is_not_early_wherever_in_a_tick_it_begins():
    stop = []

    @csp.process
    async def keeps_the_loop_busy():
        while not stop:
            await sleep_ms(0)

    h = csp.Spawn(keeps_the_loop_busy())
    alt = csp.Alternative(csp.Timer(ms=1))
    waited = []
    for i in range(60):
        for _ in range(i % 20):
            await sleep_ms(0)
        start = ticks_us()
        await alt.select()
        waited.append(ticks_diff(ticks_us(), start))
    stop.append(True)
    await join(h)
    assert min(waited) >= 1000, min(waited)


class far:
    """In this block the engine waits for so many ms at once, and counts such waits in `stages`."""

    def __init__(self, ms):
        if LIB != "uapycsp" or not MICROPYTHON:
            skip("only MicroPython's asyncio can't wait for long")
        from ufuture.loop import engine

        self.engine = engine
        self.ms = ms
        self.stages = 0

    def __enter__(self):
        self.kept = self.engine.LONGEST_MS, self.engine.park_ms
        self.engine.LONGEST_MS = self.ms
        self.engine.park_ms = self.counted
        return self

    def counted(self, parked, ms):
        self.stages += 1
        return self.kept[1](parked, ms)

    def __exit__(self, kind, value, traceback):
        self.engine.LONGEST_MS, self.engine.park_ms = self.kept


async def test_a_far_timer_goes_by_stages():
    for ms, stages in ((23, 5), (20, 4)):
        with far(5) as waits:
            ch = csp.Channel("c")
            timer = csp.Timer(ms=ms)
            alt = csp.Alternative(ch.read, timer, csp.Timer(ms=1000))
            for n in (1, 2):
                start = ticks_us()
                assert await alt.select() == (timer, None)
                assert ticks_diff(ticks_us(), start) >= 1000 * ms
                assert waits.stages == n * stages and idle(ch)


async def test_between_the_stages_of_a_far_timer_others_are_chosen():
    with far(2) as waits:
        ch = csp.Channel("c")
        alt = csp.Alternative(csp.Timer(ms=1 << 40), ch.read)

        @csp.process
        async def writes_later(cout):
            await until(lambda: waits.stages >= 4)
            await cout("v")

        h = csp.Spawn(writes_later(ch.write))
        assert await alt.select() == (ch.read, "v")
        await join(h)
        n = waits.stages
        h = csp.Spawn(take(ch.read))
        await until(lambda: ch.queue_len() == 1)
        await ch.write("w")
        await join(h)
        assert waits.stages == n  # nothing of the timer is left


async def test_a_far_timer_can_be_cancelled_between_its_stages():
    with far(2) as waits:
        ch = csp.Channel("c")

        @csp.process
        async def chooses():
            await csp.Alternative(csp.Timer(ms=1 << 40), ch.read).select()

        h = csp.Spawn(chooses())
        await until(lambda: waits.stages >= 4)
        assert ch.queue_len() == 1
        h.cancel()
        with raises(waits.engine.CancelledError):
            await join(h)
        assert idle(ch)


def test_all_names_can_be_imported_at_once():
    names = {}
    exec("from {} import *".format("upycsp.aio" if LIB == "aio" else LIB), names)
    for name in ("Channel", "Alternative", "process", "Parallel", "run", "DeadlockError"):
        assert names[name] is getattr(csp, name), name
    assert "sys" not in names and "Awaitable" not in names
