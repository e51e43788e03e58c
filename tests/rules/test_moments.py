"""Timers that do not begin anew at each select: At, a moment, and Every, regular moments."""

import csp

from rules_support import (
    LIB,
    Log,
    asyncio,
    block_ms,
    choose,
    idle,
    join,
    par,
    posted,
    raises,
    sentence,
    settle,
    skip,
    sleep_ms,
    until,
    waiting_writers,
)

ticks_ms, ticks_add, ticks_diff = csp.timers.ticks_ms, csp.timers.ticks_add, csp.timers.ticks_diff

VIRTUAL_TIME = True
REAL_TIME = (
    "test_it_lets_others_run_though_it_is_always_ready",
    "test_regular_moments_are_waited_for_and_do_not_drift",
    "test_moments_come_through_a_flood_of_messages",
)


class Clock:
    """A clock that is set, and whose ticks go round as a board's do, though sooner."""

    def __init__(self, period=1 << 30):
        self.now = 0
        self.period = period

    def ticks_ms(self):
        return self.now % self.period

    def ticks_add(self, ticks, ms):
        assert abs(ms) < self.period // 2
        return (ticks + ms) % self.period

    def ticks_diff(self, end, start):
        half = self.period // 2
        return (end - start + half) % self.period - half


def on_clock(clock, *guards):
    """An alternative whose timers count by this clock."""
    for g in guards:
        g.clock = clock
    return csp.Alternative(*guards)


async def test_a_moment_is_ready_from_then_on():
    clock = Clock()
    at, skip_ = csp.At(100), csp.Skip()
    alt = on_clock(clock, at, skip_)
    for clock.now in (0, 50, 99):
        assert await alt.select() == (skip_, None)
    for clock.now in (100, 101, 100000):
        assert await alt.select() == (at, None)
    at.set(100200)
    assert await alt.select() == (skip_, None)
    clock.now = 100200
    assert await alt.select() == (at, None)


async def test_a_moment_that_was_seen_to_pass_has_passed_though_the_ticks_go_round():
    clock = Clock(1000)
    at, skip_ = csp.At(100), csp.Skip()
    alt = on_clock(clock, at, skip_)
    clock.now = 100
    assert await alt.select() == (at, None)
    for clock.now in (700, 1050, 1100):  # by ticks it lies ahead now
        assert await alt.select() == (at, None)


async def test_a_moment_is_waited_for_and_never_early():
    ch = csp.Channel("c")
    moment = ticks_add(ticks_ms(), 30)
    at = csp.At(moment)
    assert await csp.Alternative(ch.read, at).select() == (at, None)
    assert ticks_diff(ticks_ms(), moment) >= 0
    assert await csp.Alternative(at, ch.read).select() == (at, None)
    assert idle(ch)


async def test_a_moment_does_not_move_with_the_selects():
    ms, n = 40, 0
    while not n:  # a machine that stands still may be late for the first selection
        ch = csp.BufferedChannel("c")
        at = csp.At(ticks_add(ticks_ms(), ms))
        alt = csp.Alternative(at, ch.read)
        while True:
            await ch.write(n)
            g, v = await alt.select()
            if g is at:
                break
            n += 1
            await sleep_ms(1)
        assert ch.queue_len() == 1
        ms *= 2


async def test_a_moment_far_ahead_is_waited_for():
    ch = csp.Channel("c")
    at = csp.At(ticks_add(ticks_ms(), 1 << 28))
    h = await posted(ch, choose(at, ch.read), 1)
    await settle()
    assert not h.done()
    await ch.write(1)
    assert await join(h) == (ch.read, 1)


async def test_regular_moments_are_ready_once_each():
    clock = Clock()
    clock.now = 5
    every, skip_ = csp.Every(100), csp.Skip()
    alt = on_clock(clock, every, skip_)
    assert await alt.select() == (skip_, None)
    for turn in range(1, 6):
        clock.now = 5 + 100 * turn - 1
        assert await alt.select() == (skip_, None)
        clock.now += turn  # a little late: the next is not later for it
        assert await alt.select() == (every, 1)
        assert await alt.select() == (skip_, None)


async def test_a_moment_that_another_guard_overtook_is_still_there():
    clock = Clock()
    ch = csp.BufferedChannel("c")
    every, skip_ = csp.Every(100), csp.Skip()
    alt = on_clock(clock, ch.read, every, skip_)
    assert await alt.select() == (skip_, None)
    clock.now = 130
    for i in range(3):
        await ch.write(i)
        assert await alt.select() == (ch.read, i)
    assert await alt.select(ready=[True, False, True]) == (skip_, None)
    assert await alt.select() == (every, 1)
    assert await alt.select() == (skip_, None)


async def test_its_value_counts_the_moments_since_it_was_chosen():
    clock = Clock()
    every, skip_ = csp.Every(100), csp.Skip()
    alt = on_clock(clock, every, skip_)
    assert await alt.select() == (skip_, None)
    for clock.now, n in ((100, 1), (399, 2), (400, 1), (1450, 10), (1500, 1)):
        assert await alt.select() == (every, n)
    assert await alt.select() == (skip_, None)


async def test_ticks_may_go_round():
    clock = Clock(1 << 12)
    clock.now = (1 << 12) - 50
    every, skip_ = csp.Every(100), csp.Skip()
    alt = on_clock(clock, every, skip_)
    assert await alt.select() == (skip_, None)
    for _ in range(100):
        clock.now += 99
        assert await alt.select() == (skip_, None)
        clock.now += 1
        assert await alt.select() == (every, 1)
    # Nobody looks for so long that the moment seems to lie ahead: it is ready, and counts anew.
    clock.now += 3000
    assert await alt.select() == (every, 1)
    assert await alt.select() == (skip_, None)
    clock.now += 100
    assert await alt.select() == (every, 1)


async def test_regular_moments_are_waited_for_and_do_not_drift():
    ch = csp.Channel("c")
    every, skip_ = csp.Every(10), csp.Skip()
    alt = csp.Alternative(ch.read, every)
    start = ticks_ms()
    assert await csp.Alternative(ch.read, every, skip_).select() == (skip_, None)
    moments = 0
    for _ in range(12):
        g, n = await alt.select()
        assert g is every and n >= 1
        moments += n
        late = ticks_diff(ticks_ms(), start) - 10 * moments
        assert -2 <= late  # as many intervals have passed
        await sleep_ms(3)
    assert idle(ch)


async def test_several_timers_are_ready_in_their_time():
    ch = csp.Channel("c")
    start = ticks_ms()
    at, every, timer = csp.At(ticks_add(start, 60)), csp.Every(20), csp.Timer(ms=100000)
    alt = csp.Alternative(ch.read, timer, at, every)
    moments = 0
    g = None
    while g is not at:
        g, v = await alt.select()
        assert g is not timer
        if g is every:
            moments += v  # pyright: ignore
    assert 20 * moments <= ticks_diff(ticks_ms(), start) + 2
    assert idle(ch)


@csp.process
async def choose_of(alt):
    return await alt.select()


async def test_a_cancelled_select_uses_up_no_moment():
    if LIB != "uapycsp":
        skip("there is no cancellation")
    ch = csp.Channel("c")
    every = csp.Every(4)
    alt = csp.Alternative(ch.read, every)
    await csp.Alternative(every, csp.Skip()).select()  # from now on
    began = every._beat.due
    total = 0
    for pause in (0, 1, 2, 3, 4, 5, 9, 2, 6, 1):
        h = csp.Spawn(choose_of(alt))
        await until(lambda: ch.queue_len() or h.done())
        block_ms(pause)
        h.cancel()
        try:
            g, n = await join(h)
            total += n
        except asyncio.CancelledError:
            pass
        assert idle(ch)
    block_ms(5)
    g, n = await alt.select()
    assert ticks_diff(every._beat.due, began) == 4 * (total + n)


async def test_a_select_that_is_cancelled_while_it_gives_way_uses_up_no_moment():
    if LIB != "uapycsp":
        skip("there is no cancellation")
    for pauses in range(5):
        clock = Clock()
        every, skip_ = csp.Every(100), csp.Skip()
        alt = on_clock(clock, every, skip_)
        assert await alt.select() == (skip_, None)
        clock.now = 100
        h = csp.Spawn(choose_of(alt))
        for _ in range(pauses):
            await sleep_ms(0)
        h.cancel()
        try:
            assert await join(h) == (every, 1)
        except asyncio.CancelledError:
            assert await alt.select() == (every, 1)
        assert await alt.select() == (skip_, None)


async def test_it_lets_others_run_though_it_is_always_ready():
    log = Log()
    at = csp.At(ticks_ms())
    alt = csp.Alternative(at)
    h = csp.Spawn(notes(log))
    while not log.count():
        assert await alt.select() == (at, None)
    await join(h)


@csp.process
async def notes(log):
    log.add("here")


async def test_another_moment_is_for_later_selections_though_one_waits_for_the_old_one():
    start = ticks_ms()
    at = csp.At(ticks_add(start, 100))
    h = csp.Spawn(chooses_twice(at))
    await sleep_ms(20)
    at.set(ticks_add(start, 500))
    first, second = await join(h)  # pyright: ignore
    assert ticks_diff(first, start) >= 100
    assert ticks_diff(second, start) >= 500
    assert await csp.Alternative(at, csp.Skip()).select() == (at, None)  # it has passed now


@csp.process
async def chooses_twice(at):
    alt = csp.Alternative(at)
    moments = []
    for _ in range(2):
        await alt.select()
        moments.append(ticks_ms())
    return moments


def test_a_network_that_waits_for_a_moment_is_no_deadlock():
    ch = csp.Channel("c")
    every = csp.Every(1200)
    g, n = csp.run(choose(ch.read, every))
    assert g is every and n >= 1  # pyright: ignore
    at = csp.At(ticks_add(ticks_ms(), 1200))
    assert csp.run(choose(ch.read, at)) == (at, None)


async def test_bad_moments_and_intervals_raise():
    for bad in (None, "1", 1.5, []):
        with raises(TypeError) as e:
            csp.At(bad)  # pyright: ignore
        assert sentence(e.value)
        with raises(TypeError) as e:
            csp.At(1).set(bad)  # pyright: ignore
        assert sentence(e.value)
        with raises(TypeError) as e:
            csp.Every(bad)  # pyright: ignore
        assert sentence(e.value)
    for bad in (0, -1, (1 << 27) + 1, 1 << 40):
        with raises(ValueError) as e:
            csp.Every(bad)
        assert sentence(e.value)
    for good in (1, 1 << 27):
        assert csp.Every(good).ms == good


@csp.process
async def ticker(cin, log, interval_ms, n):
    every = csp.Every(interval_ms)
    alt = csp.Alternative(cin, every)
    while n > 0:
        g, v = await alt.select()
        if g is every:
            log.add(v)
            n -= v
    cin.poison()


@csp.process
async def floods(cout):
    i = 0
    while True:
        await cout(i)
        i += 1
        if not i % 20:
            await sleep_ms(1)


async def test_moments_come_through_a_flood_of_messages():
    ch = csp.Channel("c")
    log = Log()
    await par(ticker(ch.read, log, 3, 20), floods(ch.write), floods(ch.write))
    assert sum(log.items()) >= 20
    assert idle(ch)


async def test_timers_and_writers_lose_nothing_to_each_other():
    ch = csp.Channel("c")
    got = []
    writers = await waiting_writers(ch, range(5))
    every = csp.Every(1)
    alt = csp.Alternative(every, ch.read)
    while len(got) < 5:
        g, v = await alt.fair_select()
        if g is not every:
            got.append(v)
    assert got == list(range(5))
    for h in writers:
        assert await join(h) == 0
    assert idle(ch)
