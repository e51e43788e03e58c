"""Virtual time of threads: turns, what goes on in real time beside it, and what lies outside."""

import _thread
import sys

import csp
import uthreading
from upycsp.channel import WriteEnd
from uthreading import kept

from rules_support import (
    MICROPYTHON,
    Log,
    block_ms,
    idle,
    join_all,
    par,
    raises,
    sentence,
    take,
    until_blocking,
)

VARIANTS = ("aio", "upycsp")

virtual = csp.virtual
VirtualClock = virtual.VirtualClock
core = sys.modules["upycsp.process"]
plain_write = WriteEnd.__call__

HOUR_MS = 3600000


async def sleep(ms):
    await csp.Alternative(csp.Timer(ms=ms)).select()


@csp.process
async def sleeps(log, clock, ms):
    await sleep(ms)
    log.add((clock.now_ms(), "slept"))


def nothing_is_exchanged():
    usual = virtual.watch._look, core.Process.start, csp.timers.engine.ticks_ms
    return usual == (virtual._look, virtual._start, virtual.ticks_ms) and virtual._turns is None


def test_one_process_runs_at_a_time_and_time_stands_meanwhile():
    clock, log = VirtualClock(), Log()
    running = [0, 0]

    @csp.process
    async def works(k):
        for i in range(3):
            await sleep(k)
            running[0] += 1
            running[1] = max(running)
            now = clock.now_ms()
            block_ms(2)
            assert clock.now_ms() == now
            running[0] -= 1

    csp.run(*[works(k) for k in (1, 1, 2, 2)], sleeps(log, clock, 1), clock=clock)
    assert running == [0, 1]
    assert clock.now_ms() == 6 and log.items() == [(1, "slept")]


def test_time_limits_of_uthreading_are_in_real_time():
    clock, log = VirtualClock(), Log()

    @csp.process
    async def waits():
        assert not uthreading.Event().wait(0.02)
        log.add((clock.now_ms(), "waited"))

    csp.run(waits(), sleeps(log, clock, HOUR_MS), clock=clock)
    assert log.items() == [(0, "waited"), (HOUR_MS, "slept")]


def test_who_waits_for_another_outside_of_the_library_gets_on_in_the_end():
    clock, log = VirtualClock(), Log()
    events = [uthreading.Event() for _ in range(3)]

    @csp.process
    async def waits(k):
        assert events[k].wait(60)
        log.add(k)
        if k:
            events[k - 1].set()

    patience = virtual._PATIENCE
    virtual._PATIENCE = 0
    try:
        events[2].set()
        csp.run(waits(0), waits(1), waits(2), sleeps(log, clock, 5), clock=clock)
    finally:
        virtual._PATIENCE = patience
    assert [v for v in log.items() if v in (0, 1, 2)] == [2, 1, 0]
    assert (5, "slept") in log.items() and clock.now_ms() == 5
    assert nothing_is_exchanged()


def test_what_was_spawned_and_is_left_goes_on_in_real_time():
    clock, log = VirtualClock(), Log()
    a, b, never = csp.Channel("a"), csp.Channel("b"), csp.Channel("never")
    handles = []

    @csp.process
    async def left(k):
        log.add(await a.read())
        await csp.Alternative(never.read, csp.Timer(ms=30 + k)).select()
        await b.write(k)
        with raises(csp.TimeoutError):
            await never.read.within(10)
        return k

    @csp.process
    async def spawns():
        for k in range(4):
            handles.append(csp.Spawn(left(k)))
        await sleep(HOUR_MS)
        for k in range(2):
            await a.write("written")
        handles.append(csp.Spawn(left(4)))  # which does not even begin

    csp.run(spawns(), clock=clock)
    assert clock.now_ms() == HOUR_MS and nothing_is_exchanged()
    assert log.items() == ["written"] * 2
    csp.run(sleeps(Log(), clock, HOUR_MS), clock=clock)  # another run of the clock is not theirs
    assert not [h for h in handles if h.done()]

    @csp.process
    async def rest():
        for _ in range(3):
            await a.write("rest")
        values = Log()
        for _ in range(5):
            values.add(await b.read())
        assert sorted(values.items()) == [0, 1, 2, 3, 4]
        return await join_all(handles)

    assert csp.run(rest()) == [0, 1, 2, 3, 4]
    assert clock.now_ms() == 2 * HOUR_MS and idle(a, b, never)


def test_what_runs_already_goes_on_by_itself():
    clock = VirtualClock()
    c = csp.Channel("c", external=True)
    flag = uthreading.Event()

    @csp.process
    async def before():
        assert flag.wait(60)
        return await c.read()

    @csp.process
    async def within():
        flag.set()
        assert await c.write(5) == 0
        await sleep(7)

    h = csp.Spawn(before())
    csp.run(within(), clock=clock)
    assert clock.now_ms() == 7
    until_blocking(h.done)


def test_foreign_threads_are_waited_for_only_if_there_is_no_timer():
    clock, log = VirtualClock(), Log()
    c = csp.Channel("c", external=True)
    n = 50

    @csp.process
    async def reads():
        await sleep(HOUR_MS)
        for i in range(n):
            log.add(await c.read())
            await sleep(2)

    def writes():
        for i in range(n):
            plain_write(c.write, i)  # pyright: ignore

    @csp.process
    async def starts():
        _thread.start_new_thread(writes, ())

    csp.run(starts(), reads(), clock=clock)
    assert log.items() == list(range(n))
    assert clock.now_ms() == HOUR_MS + 2 * n


def test_a_run_in_another_thread_than_the_main_one():
    clock, log = VirtualClock(), Log()
    c = csp.Channel("c")

    @csp.process
    async def late(cout):
        await sleep(HOUR_MS)
        await cout(7)

    def runs():
        log.add(csp.run(late(c.write), take(c.read), clock=clock))

    t = uthreading.Thread(target=runs)
    t.start()
    t.join()
    assert log.items() == [[None, 7]] and clock.now_ms() == HOUR_MS
    assert nothing_is_exchanged()


def test_one_clock_runs_at_a_time_and_only_for_the_outermost_run():
    clock, log = VirtualClock(), Log()
    entered, go = uthreading.Event(), uthreading.Event()

    @csp.process
    async def nothing():
        pass

    @csp.process
    async def waits():
        entered.set()
        assert go.wait(60)

    def tries():
        assert entered.wait(60)
        for c in (clock, VirtualClock()):
            with raises(RuntimeError) as e:
                csp.run(nothing(), clock=c)
            log.add(str(e.value) if sentence(e.value) else "")
        go.set()

    for c in (clock, None):
        entered.clear()
        go.clear()
        t = uthreading.Thread(target=tries)
        t.start()
        csp.run(waits(), clock=c)
        t.join()
    wanted = ["a virtual clock runs already"] * 2
    assert log.items() == wanted + ["a run goes on already, and in real time"] * 2
    assert nothing_is_exchanged()


def test_a_thread_that_can_not_be_started_leaves_nothing():
    clock = VirtualClock()
    c = csp.Channel("c")

    @csp.process
    async def stays(cin):
        await cin()

    @csp.process
    async def starts_more():
        await sleep(5)
        old = kept.set_starter(refuses)
        try:
            with raises(RuntimeError):
                await par(*[stays(c.read) for _ in range(40)])
        finally:
            kept.set_starter(old)
        await sleep(5)

    def refuses(*args):
        raise OSError("no more")

    csp.run(starts_more(), clock=clock)
    assert clock.now_ms() == 10 and c.poisoned and nothing_is_exchanged()
    csp.run(sleeps(Log(), clock, 5), clock=clock)
    assert clock.now_ms() == 15


def test_without_memory_for_its_place_a_process_fails_and_leaves_nothing():
    clock = VirtualClock()
    c = csp.Channel("c")

    class Short:
        n = 0

        def __call__(self, *args):
            self.n += 1
            if self.n == fails_at:
                raise MemoryError
            return usual(*args)

    @csp.process
    async def outer():
        virtual.Place = Short()
        with raises(MemoryError):
            await par(take(c.read), take(c.read), sleeps(Log(), clock, 5))
        virtual.Place = usual
        await sleep(5)

    usual = virtual.Place
    for fails_at in (1, 2):
        before = clock.now_ms()
        c = csp.Channel("c")
        csp.run(outer(), clock=clock)
        assert clock.now_ms() == before + 5 and c.poisoned
        virtual.Place = Short()
        fails_at = 1
        with raises(MemoryError):
            csp.run(outer(), clock=clock)
        virtual.Place = usual
        assert nothing_is_exchanged()


def test_where_the_main_thread_polls_as_on_a_board():
    clock, log = VirtualClock(), Log()
    old = kept.poll_in_main(True)
    try:
        csp.run(sleeps(log, clock, HOUR_MS), sleeps(log, clock, 5), clock=clock)
        with raises(csp.DeadlockError):
            csp.run(stuck(csp.Channel("c").read), sleeps(log, clock, 5), clock=clock)
    finally:
        kept.poll_in_main(old)
    assert log.items() == [(5, "slept"), (HOUR_MS, "slept"), (HOUR_MS + 5, "slept")]


@csp.process
async def stuck(cin):
    await cin()


def test_a_run_within_a_run_goes_by_its_clock():
    clock, log = VirtualClock(), Log()

    @csp.process
    async def runs():
        csp.run(sleeps(log, clock, 10), sleeps(log, clock, 20))
        await sleep(5)

    csp.run(runs(), sleeps(log, clock, 15), clock=clock)
    assert log.items() == [(10, "slept"), (15, "slept"), (20, "slept")]
    assert clock.now_ms() == 25


def test_a_guard_that_fails_when_its_timer_rings_is_told_as_ever():
    clock = VirtualClock()
    c = csp.Channel("c")

    class Odd(csp.Guard):
        def disable(self, alt):
            raise KeyError("odd")

    @csp.process
    async def asks():
        with raises(KeyError):
            await csp.Alternative(c.read, Odd(), csp.Timer(ms=5)).select()
        await sleep(5)

    csp.run(asks(), clock=clock)
    assert clock.now_ms() == 10 and idle(c)


def test_many_processes_beside_threads_that_meddle():
    clock = VirtualClock()
    n = 24
    a, b = csp.Channel("a"), csp.BufferedChannel("b", 2)
    meddled = csp.BufferedChannel("meddled", 1, "keep_newest")
    going, ended = [True], Log()

    def meddles():
        while going[0]:
            plain_write(meddled.write, 1)  # pyright: ignore
            meddled.queue_len()
            block_ms(1)
        ended.add(1)

    @csp.process
    async def writes(k):
        for i in range(10):
            await sleep(1 + (k * 7 + i) % 5)
            await (a if i & 1 else b).write(k)

    @csp.process
    async def reads():
        alt = csp.Alternative(a.read, b.read, csp.Timer(ms=HOUR_MS))
        got = 0
        while True:
            g, v = await alt.fair_select()
            if v is None:
                return got
            got += 1
            assert await par(a_skip(), a_skip()) == [1, 1]

    @csp.process
    async def a_skip():
        await csp.Alternative(csp.Timer(ms=1)).select()
        return 1

    for _ in range(3):
        _thread.start_new_thread(meddles, ())
    try:
        results = csp.run(*[writes(k) for k in range(n)], reads(), reads(), clock=clock)
        assert results[-2] + results[-1] == 10 * n
        assert idle(a, b)
    finally:
        going[0] = False
        until_blocking(lambda: ended.count() == 3)
    assert nothing_is_exchanged()


if MICROPYTHON:

    def test_a_run_leaves_no_memory_behind():
        import gc

        clock = VirtualClock()
        used = []
        for _ in range(13):
            csp.run(*[sleeps(Log(), clock, k) for k in range(20)], clock=clock)
            gc.collect()
            used.append(gc.mem_alloc())
        # What is left behind shows in each growth. A word that an idle thread's stack has kept may
        # hold a whole run, of 10 KB, until the thread works again: that shows in a few.
        growths = sorted([used[i + 1] - used[i] for i in range(1, 12)])
        assert growths[5] < 500, used


def test_ticks_go_on_from_those_of_the_clocks_birth():
    clock = VirtualClock()
    real = csp.timers.ticks_ms()
    far = 20 * 24 * HOUR_MS  # more than ticks tell on a board

    @csp.process
    async def asks():
        assert abs(csp.timers.ticks_diff(csp.timers.ticks_ms(), real)) < 60000
        before = csp.timers.ticks_ms()
        await sleep(far)
        return csp.timers.ticks_diff(csp.timers.ticks_ms(), before)

    assert csp.run(asks(), clock=clock) == far
    assert clock.now_ms() == far
    assert abs(csp.timers.ticks_diff(csp.timers.ticks_ms(), real)) < 60000
