"""Virtual time: the clock stands still while something can go on, and then jumps to a timer."""

import time

import csp

from rules_support import (
    LIB,
    POISONED,
    Log,
    idle,
    join,
    par,
    raises,
    sentence,
    seq,
    take,
)

if LIB == "uapycsp":
    from ufuture import sleep_ms as sleep
else:

    async def sleep(ms):
        await csp.Alternative(csp.Timer(ms=ms)).select()


VirtualClock = csp.virtual.VirtualClock

HOUR_MS = 3600000
DAY_MS = 24 * HOUR_MS


@csp.process
async def sleeps(log, clock, name, ms, n):
    for _ in range(n):
        await sleep(ms)
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


def test_an_hour_of_seconds_passes_in_a_moment():
    clock = VirtualClock()
    c = csp.Channel("c")

    @csp.process
    async def ticks(cout):
        alt = csp.Alternative(csp.Every(1000))
        for _ in range(3600):
            assert (await alt.select())[1] == 1
            await cout(clock.now_ms())
        cout.poison()

    @csp.process
    async def counts(cin):
        n = 0
        async for ms in cin:
            n += 1
            assert ms == 1000 * n
        return n

    start = time.time()
    assert csp.run(ticks(c.write), counts(c.read), clock=clock) == [None, 3600]
    assert clock.now_ms() == HOUR_MS
    assert time.time() - start < 1000


def test_years_pass_in_days_and_at_once_to_the_ms():
    @csp.process
    async def passes(clock, ms, n):
        for i in range(n):
            await sleep(ms)
            assert clock.now_ms() == ms * (i + 1)

    days = 3653  # ten years
    for ms, n in ((DAY_MS, days), (DAY_MS - 1, days), (DAY_MS * days, 1), (DAY_MS * days - 1, 3)):
        clock = VirtualClock()
        csp.run(passes(clock, ms, n), clock=clock)
        assert clock.now_ms() == ms * n


def test_ticks_and_what_was_made_by_them_go_on_in_the_next_run():
    clock = VirtualClock()
    every = csp.Alternative(csp.Every(1000))

    @csp.process
    async def beats(n):
        moments = []
        for _ in range(n):
            assert (await every.select())[1] == 1
            moments.append(clock.now_ms())
        return moments, csp.timers.ticks_ms()

    @csp.process
    async def waits_until(ticks):
        await csp.Alternative(csp.At(ticks)).select()
        return clock.now_ms(), csp.timers.ticks_ms()

    moments, start = csp.run(beats(3), clock=clock)
    assert moments == [1000, 2000, 3000]
    moments, ticks = csp.run(beats(3), clock=clock)
    assert moments == [4000, 5000, 6000]
    assert csp.timers.ticks_diff(ticks, start) == 3000
    other = VirtualClock()
    csp.run(sleeps(Log(), other, "by another clock", HOUR_MS, 1), clock=other)
    ticks = csp.timers.ticks_add(ticks, HOUR_MS)
    assert csp.run(waits_until(ticks), clock=clock) == (HOUR_MS + 6000, ticks)


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
    await sleep(HOUR_MS)
    g, v = await alt.select()
    log.add((clock.now_ms(), v))
    await sleep(2 * HOUR_MS)
    g, v = await csp.Alternative(every).select()
    log.add((clock.now_ms(), v))
    assert await csp.Alternative(timer, c.read).select() == (timer, None)
    log.add((clock.now_ms(), "timer"))
    for ms in (1000, 1):
        with raises(csp.TimeoutError):
            await c.read.within(ms)
        with raises(csp.TimeoutError):
            await c.write.within(ms, None)
        log.add((clock.now_ms(), "within"))
    assert idle(c)


def test_all_timers_of_the_library_go_by_it_to_the_ms():
    clock, log = VirtualClock(), Log()
    csp.run(asks_all_timers(log, clock), clock=clock)
    half = HOUR_MS // 2
    assert log.items() == [
        (HOUR_MS, 1),
        (2 * HOUR_MS, 1),
        (5 * half, "at"),
        (7 * half, 1),
        (11 * half, 2),
        (11 * half + 300000, "timer"),
        (11 * half + 302000, "within"),
        (11 * half + 302002, "within"),
    ]


@csp.process
async def feeds(cout, clock, times):
    for ms in times:
        await sleep(ms - clock.now_ms())
        await cout(ms)
    await sleep(3000)
    cout.poison()


@csp.process
async def drains(cin, log, clock, n):
    for _ in range(n):
        v = await cin()
        log.add((clock.now_ms(), v))


def test_processes_of_plugnplay_that_know_time_go_by_it():
    plugs = csp.plugnplay
    clock, log = VirtualClock(), Log()
    a, b = csp.Channel("a"), csp.Channel("b")
    csp.run(
        feeds(a.write, clock, [10, 20, 5000]),
        plugs.FixedDelay(a.read, b.write, 1000),
        drains_and_ends(b.read, log, clock, 3),
        clock=clock,
    )
    assert log.items() == [(1010, 10), (2010, 20), (6000, 5000)]
    clock, log = VirtualClock(), Log()
    a, b = csp.Channel("a"), csp.Channel("b")
    csp.run(
        feeds(a.write, clock, [100, 1100, 2200, 2300]),
        plugs.Regulate(a.read, b.write, 1000),
        drains_and_ends(b.read, log, clock, 4),
        clock=clock,
    )
    assert log.items() == [(1000, 100), (2000, 1100), (3000, 2300), (4000, 2300)]


@csp.process
async def drains_and_ends(cin, log, clock, n):
    await seq(drains(cin, log, clock, n))
    cin.poison()


@csp.process
async def produces(cout, clock, period_ms, n):
    for i in range(n):
        await sleep(period_ms)
        await cout((clock.now_ms(), i))
    await sleep(1000)
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


@csp.process
async def writes_all(cout, name, n):
    for i in range(n):
        await cout((name, i))


@csp.process
async def chooses(a, b, log, n):
    alt = csp.Alternative(a, b)
    for _ in range(n):
        log.add((await alt.fair_select())[1])


def crowd():
    clock, log = VirtualClock(), Log()
    a, b = csp.Channel("a"), csp.BufferedChannel("b", 3)

    @csp.process
    async def branches(k):
        await sleep(k % 3)
        await par(writes_all(a.write, k, 4), writes_all(b.write, -k, 4))
        log.add((clock.now_ms(), "branch", k))

    csp.run(
        *[branches(k) for k in range(1, 7)],
        chooses(a.read, b.read, log, 24),
        chooses(b.read, a.read, log, 24),
        clock=clock,
    )
    assert idle(a, b)
    return log.items()


def test_who_meets_whom_is_the_same_each_time_also_where_no_time_passes():
    first = crowd()
    assert len(first) == 48 + 6
    for _ in range(15):
        assert crowd() == first


def in_time(clock, unit):
    log = Log()
    c = csp.Channel("c")

    @csp.process
    async def slow(cin):
        for _ in range(3):
            log.add(await cin())
            await sleep(5 * unit)
            log.add("slow")

    @csp.process
    async def fast(cout):
        for i in range(3):
            await sleep(2 * unit)
            log.add("fast")
            await cout(i)

    csp.run(slow(c.read), fast(c.write), clock=clock)
    return log.items()


def test_the_order_is_that_of_real_time():
    order = in_time(VirtualClock(), HOUR_MS)
    # A thread may be held up for longer than the times differ: then once more, and slower.
    assert any(in_time(None, unit) == order for unit in (40, 200, 1000))


def test_a_network_takes_no_time_until_it_rests():
    clock, log = VirtualClock(), Log()
    c = csp.Channel("c")

    @csp.process
    async def counts(cout):
        for i in range(1000):
            await cout(i)
        cout.poison()

    @csp.process
    async def sums(cin):
        total = 0
        async for v in cin:
            total += v
        log.add((clock.now_ms(), total))

    csp.run(sleeps(log, clock, "slept", 1, 1), counts(c.write), sums(c.read), clock=clock)
    assert log.items() == [(0, 1000 * 999 // 2), (1, "slept")]


def test_a_timer_that_was_not_chosen_takes_no_time():
    clock = VirtualClock()
    c = csp.Channel("c")

    @csp.process
    async def asks(cin):
        alt = csp.Alternative(cin, csp.Timer(ms=DAY_MS))
        for i in range(5):
            assert await alt.select() == (cin, i)
        assert await cin.within(DAY_MS) == 5

    @csp.process
    async def tells(cout):
        for i in range(6):
            await sleep(7)
            await cout(i)

    csp.run(asks(c.read), tells(c.write), clock=clock)
    assert clock.now_ms() == 42 and idle(c)


def test_timers_that_are_due_together_come_as_they_were_armed():
    clock, log = VirtualClock(), Log()
    csp.run(*[sleeps(log, clock, name, 10, 2) for name in "abcdef"], clock=clock)
    assert log.items() == [(10, n) for n in "abcdef"] + [(20, n) for n in "abcdef"]


def test_timers_that_were_armed_at_other_times_and_are_due_together_come_as_they_were_armed():
    clock, log = VirtualClock(), Log()

    @csp.process
    async def late(name, before):
        await sleep(before)
        await sleep(40 - before)
        log.add((clock.now_ms(), name))

    csp.run(*[late(n, n) for n in (7, 3, 5, 1, 4, 2, 6)], clock=clock)
    assert log.items() == [(40, n) for n in range(1, 8)]


def test_who_is_woken_at_a_moment_goes_on_before_the_next_timer_of_that_moment():
    clock, log = VirtualClock(), Log()
    a, b = csp.Channel("a"), csp.Channel("b")

    @csp.process
    async def feeds(cout):
        for ms in (10, 59, 60, 60):
            await sleep(ms)
            await cout(clock.now_ms())
        cout.poison()

    @csp.process
    async def watches(cin):
        quiet = csp.Timer(ms=60)
        alt = csp.Alternative(cin, quiet)
        while True:
            guard, value = await alt.select()
            log.add("alarm" if guard is quiet else value)

    @csp.process
    async def relays(cin, cout):
        while True:
            await cout(await cin())

    csp.run(feeds(a.write), relays(a.read, b.write), watches(b.read), clock=clock)
    assert log.items() == [10, 69, 129, 189]


def test_the_members_of_a_parallel_begin_in_their_order():
    log = Log()

    @csp.process
    async def tells(name):
        log.add(name)

    @csp.process
    async def asks(names):
        await par(*[tells(n) for n in names])

    csp.run(asks("abcd"), asks("efgh"), clock=VirtualClock())
    assert "".join(log.items()) == "abcdefgh", log.items()


@csp.process
async def stuck(cin):
    await cin()


def test_a_deadlock_is_found_and_not_before_the_timers_are_over():
    clock, log = VirtualClock(), Log()
    c, d = csp.Channel("c"), csp.Channel("d")

    @csp.process
    async def late(cout):
        await sleep(DAY_MS)
        await cout(1)

    csp.run(stuck(c.read), late(c.write), clock=clock)
    assert clock.now_ms() == DAY_MS
    for n in (1, 2, 3):
        with raises(csp.DeadlockError) as e:
            csp.run(stuck(d.read), sleeps(log, clock, "slept", 5, 1), clock=clock)
        assert str(e.value) == "1 process waits: stuck reads d"
        assert clock.now_ms() == DAY_MS + 5 * n
        d = csp.Channel("d")


def test_poison_and_spawned_processes_go_by_it():
    clock, log = VirtualClock(), Log()
    c = csp.Channel("c")

    @csp.process
    async def poisons(cout):
        await sleep(HOUR_MS)
        cout.poison()

    @csp.process
    async def spawns():
        h = csp.Spawn(take(c.read))
        await sleep(HOUR_MS - 1)
        assert not h.done()
        assert await join(h) == POISONED
        log.add(clock.now_ms())
        assert await join(csp.Spawn(value(5, DAY_MS))) == 5
        log.add(clock.now_ms())

    csp.run(spawns(), poisons(c.write), clock=clock)
    assert log.items() == [HOUR_MS, HOUR_MS + DAY_MS]


@csp.process
async def value(v, ms):
    await sleep(ms)
    return v


def test_results_nested_parallels_and_sequences():
    clock = VirtualClock()

    @csp.process
    async def nests(k):
        return await par(value(k, 10), value(k + 1, 30)) + await seq(value(k, 10), value(k, 5))

    assert csp.run(nests(1), nests(5), clock=clock) == [[1, 2, 1, 1], [5, 6, 5, 5]]
    assert clock.now_ms() == 45
    assert csp.run(value(7, 5), clock=clock) == 7
    assert clock.now_ms() == 50


def test_real_time_is_back_after_a_run_however_it_ended():
    @csp.process
    async def breaks():
        await sleep(HOUR_MS)
        raise KeyError("broken")

    clock = VirtualClock()
    with raises(KeyError):
        csp.run(breaks(), sleeps(Log(), clock, "other", 3, 3), clock=clock)
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
    await sleep(HOUR_MS)


def test_one_alternative_serves_in_virtual_and_in_real_time():
    alt = csp.Alternative(csp.Channel("c").read, csp.Timer(ms=10))

    @csp.process
    async def asks():
        ticks = csp.timers.ticks_ms()
        for _ in range(2):
            await alt.select()
        return csp.timers.ticks_diff(csp.timers.ticks_ms(), ticks)

    for _ in range(3):
        assert csp.run(asks(), clock=VirtualClock()) == 20
        assert csp.run(asks()) >= 18


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
    @csp.process
    async def nothing():
        pass

    if LIB == "uapycsp":
        from upycsp.virtual import VirtualClock as OtherClock
    else:
        from uapycsp.virtual import VirtualClock as OtherClock
    for bad in (5, 0, "clock", [1], OtherClock(), VirtualClock):
        with raises(TypeError) as e:
            csp.run(nothing(), clock=bad)  # pyright: ignore
        assert sentence(e.value)
    with raises(ValueError):
        csp.run(clock=VirtualClock())

    @csp.process
    async def within():
        with raises(RuntimeError) as e:
            csp.run(nothing(), clock=VirtualClock())
        assert sentence(e.value)

    csp.run(within())
    csp.run(within(), clock=VirtualClock())
    csp.run(nothing(), clock=VirtualClock())
