"""Spawn: in the background; run does not wait for it, and no failure goes unheard."""

import gc
import sys

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    MICROPYTHON,
    POISONED,
    THREADS,
    Log,
    give,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    settle,
    skip,
    sleep_ms,
    take,
    ticks_diff,
    ticks_ms,
    until,
    until_blocking,
)


class Broken(Exception):
    pass


@csp.process
async def returns(v):
    return v


@csp.process
async def breaks(*ends):
    raise Broken("unheard")


async def has_broken():
    """Spawns a process that fails, and returns when it has, without asking for its exception."""
    await until(csp.Spawn(breaks(csp.Channel("c").read)).done)


async def test_a_spawned_process_runs_in_the_background():
    ch = csp.Channel("c")
    h = csp.Spawn(give(ch.write, 1))
    assert await ch.read() == 1
    assert await join(h) == 0


async def test_done_says_whether_it_has_ended():
    ch = csp.Channel("c")
    h = await posted(ch, take(ch.read), 1)
    assert not h.done()
    await ch.write(1)
    await until(lambda: h.done())
    assert h.done()
    assert await join(h) == 1


async def test_waiting_gives_the_value_before_or_after_the_end():
    h = csp.Spawn(returns("early"))
    assert await join(h) == "early"
    h = csp.Spawn(returns("late"))
    await until(lambda: h.done())
    assert await join(h) == "late"


async def test_waiting_may_be_done_several_times_and_by_several():
    ch = csp.Channel("c")
    h = await posted(ch, take(ch.read), 1)
    waiters = [csp.Spawn(waits(h)) for _ in range(3)]
    await settle()
    await ch.write("v")
    assert await join_all(waiters) == ["v", "v", "v"]
    assert await join(h) == "v"
    assert await join(h) == "v"


@csp.process
async def waits(h):
    return await join(h)


async def test_waiting_raises_its_exception():
    h = csp.Spawn(breaks())
    with raises(Broken) as e:
        await join(h)
    assert str(e.value) == "unheard"
    h = csp.Spawn(breaks())
    await until(lambda: h.done())
    with raises(Broken):
        await join(h)


async def test_a_spawned_process_ended_by_poison_has_value_none():
    ch = csp.Channel("c")
    h = await posted(ch, reads(ch.read), 1)
    ch.poison()
    assert await join(h) is None


@csp.process
async def reads(cin):
    return await cin()


async def test_spawned_processes_may_spawn():
    ch = csp.Channel("c")
    log = Log()
    h = csp.Spawn(spawns(ch, log, 4))
    await until(lambda: log.count() == 5)
    assert log.items() == [4, 3, 2, 1, 0]
    assert await join(h) == 4


@csp.process
async def spawns(ch, log, n):
    log.add(n)
    if n:
        await join(csp.Spawn(spawns(ch, log, n - 1)))
    return n


def test_an_exception_nobody_asked_for_is_raised_by_run_at_its_end():
    log = Log()
    with raises(Broken) as e:
        csp.run(spawns_a_failure(log))
    assert str(e.value) == "unheard"
    # The main process was not disturbed by it.
    assert log.items() == ["went on to its end"]
    assert csp.run(returns(1)) == 1


@csp.process
async def spawns_a_failure(log):
    await has_broken()
    log.add("went on to its end")
    return "value"


def test_an_exception_that_was_asked_for_is_not_raised_again():
    assert csp.run(asks_for_the_failure()) == "heard"


@csp.process
async def asks_for_the_failure():
    h = csp.Spawn(breaks())
    try:
        await join(h)
    except Broken:
        return "heard"


async def test_failures_that_were_asked_for_take_no_memory():
    sizes = []
    for _ in range(4):
        for _ in range(40):
            await asks_late()
        gc.collect()
        sizes.append(gc.mem_alloc() if MICROPYTHON else sys.getallocatedblocks())
    # A handle that is kept takes 600 bytes, or 7 blocks: 40 of them show in each growth, while
    # what a new thread takes shows in one.
    growths = [sizes[i + 1] - sizes[i] for i in range(3)]
    assert min(growths) < (20000 if MICROPYTHON else 200), sizes


async def asks_late():
    handles = [csp.Spawn(breaks()) for _ in range(3)]
    await until(lambda: all(h.done() for h in handles))
    for i in (1, 0, 2):
        for _ in range(2):
            with raises(Broken):
                await join(handles[i])


def test_of_several_exceptions_the_first_that_nobody_asked_for_is_raised():
    for asked, heard in ((), "1"), ((0,), "2"), ((1,), "1"), ((1, 0), "3"), ((2, 0), "2"):
        with raises(Broken) as e:
            csp.run(asks_for_some(asked))
        assert str(e.value) == heard
    assert csp.run(asks_for_some((2, 0, 1))) == "all heard"


@csp.process
async def asks_for_some(asked):
    handles = []
    for i in (1, 2, 3):
        h = csp.Spawn(breaks_as(str(i)))
        await until(h.done)
        handles.append(h)
    for i in asked:
        with raises(Broken):
            await join(handles[i])
    return "all heard"


@csp.process
async def breaks_as(text):
    raise Broken(text)


# A run keeps so many failures that nobody asked for; what comes then is told at once.
KEPT = 8


class telling:
    """Meanwhile the texts of exceptions that are told at once go into a Log."""

    def __init__(self, log):
        self.log = log

    def __enter__(self):
        if THREADS:
            import uthreading

            self.before = uthreading.excepthook
            uthreading.excepthook = lambda args: self.log.add(str(args.exc_value))
        else:
            self.set(lambda loop, context: self.log.add(str(context["exception"])))

    def __exit__(self, *args):
        if THREADS:
            import uthreading

            uthreading.excepthook = self.before
        else:
            self.set(None)

    @staticmethod
    def set(handler):
        from ufuture.loop import engine

        engine.asyncio.get_event_loop().set_exception_handler(handler)


def test_a_run_that_does_not_end_tells_its_failures():
    log, sizes = Log(), []
    with raises(Broken) as e:
        csp.run(fails_often(log, sizes))
    assert str(e.value) == "0"
    assert log.items() == [str(n) for n in range(KEPT, 160)]
    growths = [sizes[i + 1] - sizes[i] for i in range(3)]
    assert min(growths) < (10000 if MICROPYTHON else 200), sizes


@csp.process
async def fails_often(log, sizes):
    with telling(log):
        for n in range(160):
            h = csp.Spawn(breaks_as(str(n)))
            await until(h.done)
            await until(lambda: log.count() == max(n + 1 - KEPT, 0))
            h = None
            if n % 40 == 39:
                gc.collect()
                sizes.append(gc.mem_alloc() if MICROPYTHON else sys.getallocatedblocks())


def test_a_failure_that_was_told_can_be_asked_for():
    log = Log()
    with raises(Broken) as e:
        csp.run(asks_for_all(log))
    assert str(e.value) == "1"
    assert log.items() == [str(n) for n in range(KEPT, KEPT + 2)]


@csp.process
async def asks_for_all(log):
    with telling(log):
        handles = []
        for n in range(KEPT + 2):
            h = csp.Spawn(breaks_as(str(n)))
            await until(h.done)
            handles.append(h)
        await until(lambda: log.count() == 2)
        for i in (KEPT, 0):
            with raises(Broken):
                await join(handles[i])
        await until(csp.Spawn(breaks_as("there is room again")).done)
        await settle()


def test_a_run_in_a_run_keeps_its_own_failures():
    if not THREADS:
        skip("one run at a time")
    log = Log()
    with raises(Broken) as e:
        csp.run(runs_in_a_run(log))
    assert str(e.value) == "0"
    assert log.items() == [str(KEPT), "raised inside"]


@csp.process
async def runs_in_a_run(log):
    with telling(log):
        for n in range(KEPT + 1):
            await until(csp.Spawn(breaks_as(str(n))).done)
        await until(lambda: log.count() == 1)
        try:
            csp.run(fails_inside())
        except Broken as er:
            log.add("raised " + str(er))


@csp.process
async def fails_inside():
    await until(csp.Spawn(breaks_as("inside")).done)
    await settle()


def test_a_cancelled_process_nobody_asked_for_takes_no_memory():
    if LIB != "uapycsp":
        skip("threads can't be cancelled")
    sizes = csp.run(cancels_many())
    assert sizes[-1] - sizes[1] < (20000 if MICROPYTHON else 300), sizes


@csp.process
async def cancels_many():
    sizes = []
    for _ in range(4):
        for _ in range(80):
            h = csp.Spawn(sleeps_on())
            await sleep_ms(0)
            h.cancel()
            await until(h.done)
        gc.collect()
        sizes.append(gc.mem_alloc() if MICROPYTHON else sys.getallocatedblocks())
    return sizes


@csp.process
async def sleeps_on():
    await sleep_ms(1000000)


def test_the_main_process_s_own_exception_comes_first():
    with raises(KeyError):
        csp.run(spawns_a_failure_and_fails())
    assert csp.run(returns(1)) == 1


@csp.process
async def spawns_a_failure_and_fails():
    await has_broken()
    raise KeyError("of the main process")


def test_a_spawned_process_that_is_poisoned_is_no_failure():
    assert csp.run(spawns_a_poisoned_one()) == "fine"


@csp.process
async def spawns_a_poisoned_one():
    ch = csp.Channel("c")
    h = await posted(ch, reads(ch.read), 1)
    ch.poison()
    await until(lambda: h.done())
    return "fine"


def test_run_does_not_wait_for_spawned_processes():
    ch = csp.Channel("c")
    log = Log()
    start = ticks_ms()
    assert csp.run(leaves_one_waiting(ch, log)) == "main"
    assert ticks_diff(ticks_ms(), start) < 30000
    if LIB == "uapycsp":
        # It was cancelled: its finally clause ran and nothing of it is left.
        assert log.items() == ["finally"]
        assert idle(ch)
    else:
        # It goes on in its thread.
        assert log.items() == [] and ch.queue_len() == 1
        csp.run(writes(ch.write, "late"))
        until_blocking(lambda: log.count() == 2)
        assert log.items() == ["late", "finally"]
        assert idle(ch)


@csp.process
async def leaves_one_waiting(ch, log):
    await posted(ch, reads_finally(ch.read, log), 1)
    return "main"


@csp.process
async def reads_finally(cin, log):
    try:
        log.add(await cin())
    finally:
        log.add("finally")


@csp.process
async def writes(cout, v):
    return await cout(v)


def test_run_ends_although_a_spawned_process_never_does():
    if LIB != "uapycsp":
        skip("threads are left running")
    log = Log()
    assert csp.run(leaves_sleepers(log)) == "main"
    assert log.items() == ["cancelled"] * 3
    assert csp.run(returns(1)) == 1


@csp.process
async def leaves_sleepers(log):
    started = Log()
    for _ in range(3):
        csp.Spawn(sleeps(started, log))
    await until(lambda: started.count() == 3)
    return "main"


@csp.process
async def sleeps(started, log):
    started.add(1)
    try:
        await sleep_ms(1000000)
    finally:
        log.add("cancelled")


def test_run_ends_although_what_it_ends_spawns_another():
    if LIB != "uapycsp":
        skip("threads are left running")
    log = Log()
    assert csp.run(leaves_who_restarts(log)) == "main"
    assert log.items() == ["spawned"]


@csp.process
async def leaves_who_restarts(log):
    started = Log()
    csp.Spawn(restarts(started, log))
    await until(lambda: started.count() == 1)
    return "main"


@csp.process
async def restarts(started, log):
    try:
        started.add(1)
        await sleep_ms(1000000)
    finally:
        csp.Spawn(restarts(started, log))
        log.add("spawned")


async def test_spawn_works_for_parallel():
    ch = csp.Channel("c")
    h = csp.Spawn(csp.Parallel(take(ch.read), give(ch.write, 5)))
    assert await join(h) == [5, 0]


async def test_poison_reaches_spawned_processes():
    ch = csp.Channel("c")
    h = await posted(ch, take(ch.read), 1)
    assert await par(poisons(ch.write)) == [None]
    assert await join(h) == POISONED


@csp.process
async def poisons(end):
    end.poison()


async def test_a_handle_can_be_awaited_inside_parallel_in_a_coroutine():
    if not AWAITABLE:
        skip("plain upycsp awaits nothing")
    h = csp.Spawn(returns(1))
    assert await par(waits(h), returns(2)) == [1, 2]
