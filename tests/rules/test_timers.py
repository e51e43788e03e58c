"""Timer guards: ready after their time, re-armed at each select, gone when not chosen."""

import csp

from rules_support import (
    THREADS,
    Log,
    choose,
    idle,
    join,
    now_ms,
    par,
    passed,
    posted,
    settle,
    skip,
    sleep_ms,
    until,
    waiting_writers,
)

if THREADS:
    from uthreading import clock

VIRTUAL_TIME = True
REAL_TIME = (
    "test_a_timer_is_chosen_after_its_time_with_value_none",
    "test_a_select_that_ended_leaves_no_timer_armed",
    "test_messages_racing_with_timeouts_are_neither_lost_nor_doubled",
)


async def test_a_timer_is_chosen_after_its_time_with_value_none():
    ch = csp.Channel("c")
    for timer in (csp.Timer(0.05), csp.Timer(ms=50), csp.Timer(seconds=0.05)):
        start = now_ms()
        assert await csp.Alternative(ch.read, timer).select() == (timer, None)
        assert passed(start, 50)
        assert idle(ch)


async def test_a_timer_of_zero_is_ready_at_once():
    a = csp.Channel("a")
    for timer in (csp.Timer(0), csp.Timer(ms=0)):
        assert await csp.Alternative(a.read, timer).select() == (timer, None)
        assert await csp.Alternative(timer, a.read).fair_select() == (timer, None)
        (h,) = await waiting_writers(a, (1,))
        assert await csp.Alternative(timer, a.read).select() == (timer, None)
        assert await csp.Alternative(a.read, timer).select() == (a.read, 1)
        assert await join(h) == 0
    assert idle(a)


async def test_a_timer_is_armed_again_at_each_select():
    ch = csp.Channel("c")
    timer = csp.Timer(ms=30)
    alt = csp.Alternative(ch.read, timer)
    for _ in range(3):
        start = now_ms()
        assert await alt.select() == (timer, None)
        assert passed(start, 30)


async def test_a_timer_counts_from_the_select_and_not_from_its_making():
    ch = csp.Channel("c")
    timer = csp.Timer(ms=40)
    alt = csp.Alternative(ch.read, timer)
    await sleep_ms(60)
    start = now_ms()
    assert await alt.select() == (timer, None)
    assert passed(start, 40)


async def test_a_timer_that_was_not_chosen_is_disarmed():
    a = csp.Channel("a")
    b = csp.Channel("b")
    h = await in_time(a, lambda: choose(a.read, csp.Timer(ms=30)), "in time")
    assert await join(h) == (a.read, "in time")
    # A timer left armed would fire into one of these.
    h = await posted(b, choose(b.read, csp.Timer(ms=60000)), 1)
    await sleep_ms(60)
    assert not h.done()
    await b.write(1)
    assert await join(h) == (b.read, 1)
    assert idle(a, b)


async def in_time(ch, make, value, wait_ms=0):
    """A process from make(), which selects with a timer, that this value reached before that."""
    while True:
        h = csp.Spawn(make())
        await until(lambda: ch.queue_len() == 1 or h.done())
        await sleep_ms(wait_ms)
        guard = ch.write.alt_pending_write(value)
        g, _ = await csp.Alternative(guard, csp.Skip()).select()
        if g is guard:
            return h
        await join(h)


async def test_a_select_that_ended_leaves_no_timer_armed():
    if not THREADS:
        skip("asyncio's queue holds no timer of ours")
    a = csp.Channel("a")
    alt = csp.Alternative(csp.Timer(seconds=1000), a.read)
    (w,) = await waiting_writers(a, (1,))
    assert await alt.select() == (a.read, 1)
    assert not clock._armed
    h = csp.Spawn(selects(alt))
    await until(lambda: a.queue_len() == 1 and clock._armed)
    await a.write(2)
    assert await join(h) == (a.read, 2)
    assert not clock._armed
    h = csp.Spawn(selects_or_none(alt))
    await until(lambda: a.queue_len() == 1 and clock._armed)
    a.poison()
    assert await join(h) is None
    assert not clock._armed
    assert await join(w) == 0


@csp.process
async def selects(alt):
    return await alt.select()


@csp.process
async def selects_or_none(alt):
    try:
        return await alt.select()
    except csp.PoisonException:
        return None


async def test_an_old_timer_does_not_cut_the_next_select_of_the_same_alternative_short():
    ch = csp.Channel("c")
    log = Log()
    timer = csp.Timer(ms=60)
    h = await in_time(ch, lambda: selects_twice(ch.read, timer, log), "first", 40)
    assert await join(h) == (timer, None)
    assert log.items() == [True]


@csp.process
async def selects_twice(cin, timer, log):
    alt = csp.Alternative(cin, timer)
    g, v = await alt.select()
    if g is timer:
        return None  # in_time tries again
    assert g is cin and v == "first"
    start = now_ms()
    res = await alt.select()
    log.add(passed(start, 60))
    return res


async def test_a_timer_set_to_a_longer_time_between_two_selects_takes_that():
    ch = csp.Channel("c")
    timer = csp.Timer(ms=3)
    alt = csp.Alternative(ch.read, timer)
    assert (await alt.select())[0] is timer
    timer.ms = 40
    start = now_ms()
    assert (await alt.select())[0] is timer
    assert passed(start, 40)


async def test_the_shorter_of_two_timers_is_chosen_wherever_it_stands():
    ch = csp.Channel("c")
    short = csp.Timer(ms=20)
    long = csp.Timer(ms=60000)
    assert await csp.Alternative(long, ch.read, short).select() == (short, None)
    assert await csp.Alternative(short, ch.read, long).select() == (short, None)


async def test_a_ready_channel_is_chosen_and_not_a_timer_still_running():
    ch = csp.Channel("c")
    timer = csp.Timer(ms=60000)
    (h,) = await waiting_writers(ch, (1,))
    start = now_ms()
    assert await csp.Alternative(timer, ch.read).select() == (ch.read, 1)
    assert not passed(start, 30000)
    assert await join(h) == 0


async def test_one_timer_serves_several_alternatives():
    timer = csp.Timer(ms=30)
    a = csp.Channel("a")
    b = csp.Channel("b")
    res = await par(choose(a.read, timer), choose(b.read, timer), choose(timer))
    assert res == [(timer, None)] * 3
    assert idle(a, b)


async def test_many_timers_each_fire_once_none_early_and_none_behind_a_longer_one():
    log = Log()
    ch = csp.Channel("c")
    h = await posted(ch, choose(ch.read, csp.Timer(ms=60000)), 1)
    times = (160, 40, 120, 80)
    await par(*[logs_after(n, log) for n in times])
    assert sorted(log.items()) == sorted(times)
    assert not h.done()
    await ch.write(1)
    assert await join(h) == (ch.read, 1)


@csp.process
async def logs_after(n, log):
    start = now_ms()
    await csp.Alternative(csp.Timer(ms=n)).select()
    assert passed(start, n)
    log.add(n)


async def test_a_select_that_timed_out_takes_nothing_later():
    a = csp.Channel("a")
    timer = csp.Timer(ms=10)
    assert await csp.Alternative(a.read, timer).select() == (timer, None)
    (h,) = await waiting_writers(a, ("kept",))
    await settle()
    assert not h.done()
    assert await a.read() == "kept"
    assert await join(h) == 0


async def test_a_write_that_timed_out_delivers_nothing_later():
    a = csp.Channel("a")
    timer = csp.Timer(ms=10)
    guard = a.write.alt_pending_write("lost by its own will")
    assert await csp.Alternative(guard, timer).select() == (timer, None)
    assert idle(a)
    skip = csp.Skip()
    assert await csp.Alternative(a.read, skip).select() == (skip, None)


async def test_a_timed_out_read_followed_by_a_write_meets_the_next_reader():
    a = csp.Channel("a")
    timer = csp.Timer(ms=10)
    for i in range(5):
        assert await csp.Alternative(a.read, timer).select() == (timer, None)
        (w,) = await waiting_writers(a, (i,))
        assert await a.read() == i
        assert await join(w) == 0
    assert idle(a)


async def test_messages_racing_with_timeouts_are_neither_lost_nor_doubled():
    ch = csp.Channel("c")
    log = Log()
    await par(writes_with_pauses(ch.write, 60), reads_with_timeouts(ch.read, log))
    assert log.items() == list(range(60))
    assert idle(ch)


@csp.process
async def writes_with_pauses(cout, n):
    for i in range(n):
        await sleep_ms(i % 4)
        await cout(i)
    raise csp.PoisonException()


@csp.process
async def reads_with_timeouts(cin, log):
    alt = csp.Alternative(cin, csp.Timer(ms=2))
    while True:
        g, v = await alt.select()
        if g is cin:
            log.add(v)


def test_run_does_not_wait_for_a_timer_that_was_not_chosen():
    start = now_ms()
    ch = csp.Channel("c")
    csp.run(gives(ch.write), selects_with_long_timer(ch.read))
    assert not passed(start, 30000)


@csp.process
async def gives(cout):
    await cout(1)


@csp.process
async def selects_with_long_timer(cin):
    await csp.Alternative(cin, csp.Timer(seconds=1000)).select()


async def test_fair_select_serves_a_channel_beside_a_timer_of_zero():
    ch = csp.Channel("c")
    log = Log()
    timer = csp.Timer(0)
    h = csp.Spawn(write_three(ch.write))
    alt = csp.Alternative(timer, ch.read)
    while log.count() < 3:
        await until(lambda: ch.queue_len() == 1)
        g, v = await alt.fair_select()
        if g is ch.read:
            log.add(v)
    assert log.items() == [0, 1, 2]
    await join(h)


@csp.process
async def write_three(cout):
    for i in range(3):
        await cout(i)
