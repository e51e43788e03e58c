"""Virtual time: the clock stands still while something can go on, and then jumps to a timer."""

import time

import csp
import ufuture
from uapycsp.virtual import VirtualClock

from rules_support import MICROPYTHON, Log, asyncio, idle, raises, sentence

VARIANTS = ("uapycsp",)

HOUR_MS = 3600000
DAY_MS = 24 * HOUR_MS


@csp.process
async def sleeps(log, clock, name, ms, n):
    for _ in range(n):
        await ufuture.sleep_ms(ms)
        log.add((clock.now_ms(), name))


def test_sleeps_of_hours_are_over_at_once_and_come_in_their_order():
    clock, log = VirtualClock(), Log()
    start = time.time()
    csp.run(
        sleeps(log, clock, "a", 7 * HOUR_MS, 3),
        sleeps(log, clock, "b", 5 * HOUR_MS, 4),
        sleeps(log, clock, "c", 1, 2),
        clock=clock,
    )
    wanted = [(1, "c"), (2, "c")]
    hours = ((5, "b"), (7, "a"), (10, "b"), (14, "a"), (15, "b"), (20, "b"), (21, "a"))
    wanted += [(n * HOUR_MS, name) for n, name in hours]
    assert log.items() == wanted
    assert clock.now_ms() == 21 * HOUR_MS
    assert time.time() - start < 1000


@csp.process
async def asks_all_timers(log, clock):
    c = csp.Channel("c")
    timer = csp.Timer(ms=300000)
    every = csp.Every(HOUR_MS)
    at = csp.At(csp.timers.ticks_add(csp.timers.ticks_ms(), 5 * HOUR_MS // 2))
    alt = csp.Alternative(c.read, every, at)
    for _ in range(3):
        g, v = await alt.select()
        log.add((clock.now_ms(), "at" if g is at else v))
    await ufuture.sleep_ms(HOUR_MS)
    g, v = await alt.select()
    log.add((clock.now_ms(), v))
    assert await csp.Alternative(timer, c.read).select() == (timer, None)
    log.add((clock.now_ms(), "timer"))
    with raises(csp.TimeoutError):
        await c.read.within(1000)
    log.add((clock.now_ms(), "within"))
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


def test_all_timers_go_by_it_to_the_ms():
    clock, log = VirtualClock(), Log()
    csp.run(asks_all_timers(log, clock), clock=clock)
    assert [v for _, v in log.items()] == [
        1, 1, "at", 1, "timer", "within", "wait_for", "asyncio", "sleep"
    ]
    times = [ms for ms, _ in log.items()]
    half = HOUR_MS // 2
    assert times[:4] == [HOUR_MS, 2 * HOUR_MS, 5 * half, 7 * half]
    ends = [times[i + 1] - times[i] for i in range(3, 8)]
    assert ends == [300000, 1000, 1000, 4000, 1000], ends


async def produces(cout, clock, period_ms, n):
    for i in range(n):
        await ufuture.sleep_ms(period_ms)
        await cout((clock.now_ms(), i))
    await ufuture.sleep_ms(1000)
    cout.poison()


@csp.process
async def watches(cin, log, clock, limit_ms):
    try:
        while True:
            try:
                log.add(await cin.within(limit_ms))
            except csp.TimeoutError:
                log.add((clock.now_ms(), "late"))
    except csp.PoisonException:
        log.add((clock.now_ms(), "end"))


def network(period_ms):
    clock, log = VirtualClock(), Log()
    a, b = csp.Channel("a"), csp.BufferedChannel("b", 2)
    csp.run(
        produces(a.write, clock, period_ms, 20),
        produces(b.write, clock, 777, 30),
        watches(a.read, log, clock, 999),
        watches(b.read, log, clock, 500),
        clock=clock,
    )
    return log.items()


def test_the_same_program_does_the_same_each_time():
    for period_ms in (600, 777, 5000):
        first = network(period_ms)
        assert sum(1 for _, what in first if what == "end") == 2
        for _ in range(5):
            assert network(period_ms) == first


def test_a_network_takes_no_time_until_it_rests():
    clock, log = VirtualClock(), Log()
    c = csp.Channel("c")

    @csp.process
    async def counts(cout):
        for i in range(3000):
            await cout(i)
        cout.poison()

    @csp.process
    async def sums(cin):
        total = 0
        async for v in cin:
            total += v
        log.add((clock.now_ms(), total))

    csp.run(sleeps(log, clock, "slept", 1, 1), counts(c.write), sums(c.read), clock=clock)
    assert log.items() == [(0, 3000 * 2999 // 2), (1, "slept")]


def test_what_gives_way_without_end_gets_its_turn_and_time_stands_still():
    clock, log = VirtualClock(), Log()

    @csp.process
    async def spins():
        for _ in range(300):
            await ufuture.sleep_ms(0)
        log.add((clock.now_ms(), "spun"))

    csp.run(spins(), spins(), sleeps(log, clock, "slept", 1, 1), clock=clock)
    assert log.items() == [(0, "spun"), (0, "spun"), (1, "slept")]


def test_a_deadlock_is_found_at_once_and_not_before_the_timers_are_over():
    clock, log = VirtualClock(), Log()
    c, d = csp.Channel("c"), csp.Channel("d")

    @csp.process
    async def stuck(cin):
        await cin()

    async def late(cout):
        await ufuture.sleep_ms(DAY_MS)
        await cout(1)

    csp.run(stuck(c.read), late(c.write), clock=clock)
    assert clock.now_ms() == DAY_MS
    with raises(csp.DeadlockError) as e:
        csp.run(stuck(d.read), sleeps(log, clock, "slept", 5, 1), clock=clock)
    assert "reads d" in str(e.value) and clock.now_ms() == DAY_MS + 5


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


def test_real_time_is_back_after_a_run_however_it_ended():
    @csp.process
    async def breaks():
        await ufuture.sleep_ms(HOUR_MS)
        raise KeyError("broken")

    clock = VirtualClock()
    with raises(KeyError):
        csp.run(breaks(), clock=clock)
    assert clock.now_ms() == HOUR_MS
    before = time.time()
    log = Log()
    csp.run(real(log))
    assert log.items() == ["late"]
    assert time.time() - before < 1000
    csp.run(breaks_not(), clock=clock)
    assert clock.now_ms() == 2 * HOUR_MS


@csp.process
async def real(log):
    ticks = csp.timers.ticks_ms()
    with raises(csp.TimeoutError):
        await csp.Channel("c").read.within(20)
    assert csp.timers.ticks_diff(csp.timers.ticks_ms(), ticks) >= 18
    log.add("late")


@csp.process
async def breaks_not():
    await ufuture.sleep_ms(HOUR_MS)


def test_it_serves_tasks_without_processes():
    clock = ufuture.VirtualClock()

    async def main():
        await ufuture.gather(sleep(HOUR_MS), sleep(DAY_MS))
        return clock.now_ms()

    assert clock.run(main()) == DAY_MS


def test_what_comes_from_outside_is_waited_for_if_there_is_no_timer():
    import _thread

    clock = VirtualClock()

    class Guard(csp.Guard):
        def enable(self, alt):
            self.alt = alt
            _thread.start_new_thread(self.tell, ())
            return False, None

        def tell(self):
            time.sleep(0.02)
            self.alt.schedule(self, "told")

        def disable(self, alt):
            pass

    @csp.process
    async def waits():
        return (await csp.Alternative(Guard()).select())[1]

    assert csp.run(waits(), clock=clock) == "told"
    assert clock.now_ms() == 0


def test_bad_use_of_clocks_raises():
    async def nothing():
        pass

    for bad in (5, "clock", [1]):
        with raises(AttributeError) as e:
            csp.run(nothing(), clock=bad)
        assert sentence(e.value)

    async def within():
        clock = VirtualClock()
        with raises(RuntimeError) as e:
            csp.run(nothing(), clock=clock)
        assert sentence(e.value)
        with raises(RuntimeError) as e:
            clock.run(nothing())
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
