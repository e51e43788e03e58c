"""Virtual time of asyncio's tasks: sleeps, limits, cancellation, a clock without the library."""

import csp
import ufuture
from uapycsp.virtual import VirtualClock

from rules_support import MICROPYTHON, Log, asyncio, idle, raises, sentence, skip

VARIANTS = ("uapycsp",)

HOUR_MS = 3600000
DAY_MS = 24 * HOUR_MS


@csp.process
async def asks_asyncio(log, clock):
    c = csp.Channel("c")
    with raises(ufuture.TimeoutError):
        await ufuture.wait_for_ms(c.read(), 1000)
    log.add((clock.now_ms(), "wait_for"))
    with raises(ufuture.TimeoutError):
        await asyncio.wait_for(sleep(10 * DAY_MS), 4)
    log.add((clock.now_ms(), "asyncio"))
    await asyncio.sleep(1)
    log.add((clock.now_ms(), "sleep"))
    assert idle(c)


async def sleep(ms):
    await ufuture.sleep_ms(ms)


def test_times_of_asyncio_go_by_it_to_the_ms():
    clock, log = VirtualClock(), Log()
    csp.run(asks_asyncio(log, clock), clock=clock)
    assert log.items() == [(1000, "wait_for"), (5000, "asyncio"), (6000, "sleep")]


def test_what_gives_way_without_end_gets_its_turn_and_time_stands_still():
    clock, log = VirtualClock(), Log()

    @csp.process
    async def spins():
        for _ in range(300):
            await ufuture.sleep_ms(0)
        log.add((clock.now_ms(), "spun"))

    @csp.process
    async def sleeps():
        await sleep(1)
        log.add((clock.now_ms(), "slept"))

    csp.run(spins(), spins(), sleeps(), clock=clock)
    assert log.items() == [(0, "spun"), (0, "spun"), (1, "slept")]


def test_a_timer_of_this_moment_comes_although_another_one_polls():
    clock = VirtualClock()
    due = []

    @csp.process
    async def polls():
        await sleep(5)
        n = 0
        while not due and n < 20000:
            await ufuture.sleep_ms(0)
            n += 1
        return n

    @csp.process
    async def sleeps():
        await sleep(5)
        due.append(clock.now_ms())

    assert csp.run(polls(), sleeps(), clock=clock)[0] < 20000
    assert due == [5]


def test_tasks_that_wake_one_another_without_end_keep_no_process_from_running():
    log = Log()

    async def nothing():
        pass

    async def spins():
        n = 0
        while not log.items() and n < 2000:
            await asyncio.create_task(nothing())
            n += 1
        return n

    @csp.process
    async def reads(cin):
        for _ in range(100):
            await cin()
        log.add("read")

    @csp.process
    async def writes(cout):
        for v in range(100):
            await cout(v)

    @csp.process
    async def main():
        c = csp.Channel("c")
        task = asyncio.create_task(spins())
        await csp.Parallel(reads(c.read), writes(c.write))
        return await task

    assert csp.run(main(), clock=VirtualClock()) < 2000


def test_cancelled_sleeps_and_limits_take_no_time():
    clock = VirtualClock()
    c = csp.Channel("c")

    async def main():
        sleeper = csp.Spawn(sleep(DAY_MS))
        reader = csp.Spawn(c.read.within(DAY_MS))
        await ufuture.sleep_ms(7)
        for h in (sleeper, reader):
            h.cancel()
            with raises(asyncio.CancelledError):
                await h
        assert idle(c)
        assert clock.now_ms() == 7

    csp.run(main(), clock=clock)
    assert clock.now_ms() == 7


def test_a_timer_that_is_cancelled_at_its_moment_or_after_it_does_nothing():
    if MICROPYTHON:
        skip("its loops have no timers of their own")
    clock, log = VirtualClock(), Log()

    async def main():
        loop = asyncio.get_running_loop()

        def ends_others():
            log.add("ends others")
            for t in timers:
                t.cancel()
                t.cancel()

        loop.call_later(5, ends_others)
        timers = [loop.call_later(5, log.add, n) for n in "ab"]
        await asyncio.sleep(6)
        for t in timers:
            t.cancel()
        timers = [loop.call_later(0, log.add, "none"), loop.call_at(loop.time(), log.add, "no")]
        for t in timers:
            t.cancel()
        loop.call_later(-1, log.add, "at once")
        await asyncio.sleep(1)

    csp.run(main(), clock=clock)
    assert log.items() == ["ends others", "at once"]
    assert clock.now_ms() == 7000


def test_limits_that_were_met_are_not_kept_until_their_time():
    if MICROPYTHON:
        skip("its loops have no timers of their own")
    import weakref

    kept = []

    class Met:
        def noted(self):
            pass

    async def main():
        loop = asyncio.get_running_loop()
        later = loop.call_later(5, kept.append, "rang")
        for _ in range(1000):
            met = Met()
            timer = loop.call_later(DAY_MS, met.noted)
            kept.append(weakref.ref(met))
            met = None
            await asyncio.sleep(0)
            timer.cancel()
        timer = None
        assert not any(m() for m in kept), "a cancelled timer keeps what it would call"
        assert len(loop._timers) < 300 and not later.cancelled()
        await asyncio.sleep(6)
        assert kept.pop() == "rang"

    csp.run(main(), clock=VirtualClock())


def test_a_closed_loop_takes_no_timer():
    if MICROPYTHON:
        skip("its loops have no timers of their own")
    loops = []

    async def main():
        loops.append(asyncio.get_running_loop())

    csp.run(main(), clock=VirtualClock())
    with raises(RuntimeError):
        loops[0].call_later(1, print)


def test_a_write_that_was_cancelled_too_late_is_cancelled_at_the_next_wait():
    # The engine puts its driver before all that is ready for that.
    clock = VirtualClock()
    c = csp.Channel("c")
    seen = []

    async def main():
        event = asyncio.Event()

        async def foreign():
            try:
                await c.write("v")
                seen.append("written")
                await event.wait()
                seen.append("never")
            except asyncio.CancelledError:
                seen.append("cancelled")

        await ufuture.sleep_ms(10)
        task = asyncio.get_event_loop().create_task(foreign())
        while not c.queue_len():
            await ufuture.sleep_ms(0)
        assert await c.read() == "v"
        task.cancel()
        await ufuture.sleep_ms(1)
        assert seen == ["written", "cancelled"]
        assert clock.now_ms() == 11

    csp.run(main(), clock=clock)


def test_it_serves_tasks_without_processes():
    clock = ufuture.VirtualClock()

    async def main():
        await ufuture.gather(sleep(HOUR_MS), sleep(DAY_MS))
        return clock.now_ms()

    assert clock.run(main()) == DAY_MS


async def ends_as_others_are_woken():
    # Who is woken in the turn in which the main task ends is left with the engine to be resumed.
    fut = ufuture.create_future()
    asyncio.create_task(waits(fut))
    await asyncio.sleep(0)
    fut.set_result(1)


async def waits(fut):
    await fut


async def returns():
    return 1


async def within_a_limit():
    await ufuture.wait_for_ms(returns(), HOUR_MS)


def test_what_was_ready_when_a_run_ended_takes_no_time_of_the_next():
    clock = ufuture.VirtualClock()
    asyncio.run(ends_as_others_are_woken())
    clock.run(within_a_limit())
    assert clock.now_ms() == 0
    ufuture.VirtualClock().run(ends_as_others_are_woken())
    # In real time: what is overdue by half a second would come after this.
    done = []

    async def main():
        asyncio.create_task(does(done))
        while not done:
            await asyncio.sleep(0)
            turns.append(1)
            assert len(turns) < 1000

    async def does(done):
        await within_a_limit()
        done.append(1)

    turns = []
    asyncio.run(main())


def test_a_clock_by_itself_does_not_run_within_a_run():
    async def nothing():
        pass

    @csp.process
    async def within():
        with raises(RuntimeError) as e:
            VirtualClock().run(nothing())
        assert sentence(e.value)

    csp.run(within())
    csp.run(within(), clock=VirtualClock())


if MICROPYTHON:

    def test_a_task_that_is_left_from_a_run_goes_on_in_the_next():
        seen = []

        async def leaves():
            asyncio.create_task(left())
            await ufuture.sleep_ms(0)

        async def left():
            await ufuture.sleep_ms(30)
            seen.append("left")

        async def waits(ms):
            await ufuture.sleep_ms(ms)

        csp.run(leaves(), clock=VirtualClock())
        csp.run(waits(60))
        assert seen == ["left"]
        csp.run(leaves())
        clock = VirtualClock()
        csp.run(waits(DAY_MS), clock=clock)
        assert seen == ["left", "left"] and clock.now_ms() == DAY_MS
