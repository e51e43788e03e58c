"""Preconditions: select(ready=[...]) goes as if the guards whose value is false were not there."""

import csp
from cspcore.masked import HIDDEN

from rules_support import (
    LIB,
    POISONED,
    Log,
    asyncio,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    sentence,
    settle,
    skip,
    sleep_ms,
    until,
    waiting_readers,
    waiting_writers,
)


@csp.process
async def choose_ready(alt, ready, fair=False):
    try:
        return await (alt.fair_select(ready=ready) if fair else alt.select(ready=ready))
    except csp.PoisonException:
        return POISONED


def usable(alt, *channels):
    """That nothing of a mask is left."""
    assert HIDDEN not in alt._offers and not alt._enabled and idle(*channels)
    return True


async def test_a_guard_that_is_left_out_is_not_chosen_though_it_is_ready():
    a, b = csp.Channel("a"), csp.Channel("b")
    (wa,) = await waiting_writers(a, (1,))
    (wb,) = await waiting_writers(b, (2,))
    alt = csp.Alternative(a.read, b.read)
    assert await alt.select(ready=[False, True]) == (b.read, 2)
    assert a.queue_len() == 1 and await join(wb) == 0 and not wa.done()
    assert await alt.select() == (a.read, 1)
    assert await join(wa) == 0
    assert usable(alt, a, b)


async def test_any_truth_values_in_a_list_or_tuple_will_do():
    a, b = csp.Channel("a"), csp.Channel("b")
    writers = await waiting_writers(b, (1, 2, 3, 4))
    alt = csp.Alternative(a.read, b.read)
    assert await alt.select(ready=("", "x")) == (b.read, 1)
    assert await alt.select(ready=[0, 7]) == (b.read, 2)
    assert await alt.select(ready=[1, 1]) == (b.read, 3)
    assert await alt.select([0, 1]) == (b.read, 4)
    await join_all(writers)
    assert usable(alt, a, b)


async def test_nothing_is_posted_for_a_guard_that_is_left_out():
    a, b, c = [csp.Channel(n) for n in "abc"]
    alt = csp.Alternative(a.read, b.read, c.write.alt_pending_write("never"))
    for fair in (False, True):
        h = await posted(b, choose_ready(alt, [False, True, False], fair), 1)
        assert a.queue_len() == c.queue_len() == 0
        (wa,) = await waiting_writers(a, (1,))
        (rc,) = await waiting_readers(c, 1)
        await settle()
        assert not h.done()
        await b.write("b")
        assert await join(h) == (b.read, "b")
        assert await alt.select(ready=[True, False, False]) == (a.read, 1)
        await c.write("other")
        assert await join(rc) == "other" and await join(wa) == 0
        assert usable(alt, a, b, c)


async def test_a_write_guard_takes_part_as_its_value_says():
    a, b = csp.Channel("a"), csp.Channel("b")
    ga, gb = a.write.alt_pending_write(1), b.write.alt_pending_write(2)
    alt = csp.Alternative(ga, gb)
    readers = await waiting_readers(a, 1) + await waiting_readers(b, 1)
    assert await alt.select(ready=[False, True]) == (gb, 0)
    assert await alt.select(ready=[True, False]) == (ga, 0)
    assert await join_all(readers) == [1, 2]
    h = await posted(b, choose_ready(alt, [False, True]), 1)
    assert await b.read() == 2
    assert await join(h) == (gb, 0)
    assert usable(alt, a, b)


async def test_a_guard_that_is_left_out_does_no_harm_poisoned_or_closed():
    a, b = csp.Channel("a"), csp.Channel("b")
    a.poison()
    alt = csp.Alternative(a.read, a.write.alt_pending_write(1), b.read)
    h = await posted(b, choose_ready(alt, [False, False, True]), 1)
    await b.write("v")
    assert await join(h) == (b.read, "v")
    with raises(csp.PoisonException):
        await alt.select(ready=[False, True, True])
    assert usable(alt, a, b)


async def test_poison_of_the_others_ends_the_selection():
    a, b, c = [csp.Channel(n) for n in "abc"]
    alt = csp.Alternative(a.read, b.read, c.read)
    h = await posted(b, choose_ready(alt, [False, True, True]), 1)
    a.poison()
    await settle()
    assert not h.done()
    c.poison()
    assert await join(h) == POISONED
    assert usable(alt, a, b, c)


class Counted(csp.Guard):
    """Counts how often it is asked, and schedules itself when it is told."""

    def __init__(self, ready=False):
        self.ready = ready
        self.alt = None
        self.enabled = self.disabled = 0

    def enable(self, alt):
        self.alt = alt
        self.enabled += 1
        return self.ready, "own"

    def disable(self, alt):
        self.disabled += 1


async def test_a_guard_of_a_users_that_is_left_out_is_not_asked_and_cannot_be_chosen():
    ch = csp.Channel("c")
    own = Counted()
    alt = csp.Alternative(own, ch.read)
    own.alt = alt
    h = await posted(ch, choose_ready(alt, [False, True]), 1)
    assert own.enabled == own.disabled == 0
    assert not alt.schedule(own, "never")
    await ch.write(1)
    assert await join(h) == (ch.read, 1)
    own.ready = True
    assert await alt.select(ready=[True, False]) == (own, "own")
    assert own.enabled == 1 and own.disabled == 0
    assert usable(alt, ch)


async def test_one_guard_twice_and_once_left_out_is_chosen_by_the_other():
    own = Counted()
    ch = csp.Channel("c")
    alt = csp.Alternative(own, own, ch.read)
    h = await posted(ch, choose_ready(alt, [False, True, True]), 1)
    assert own.enabled == 1
    assert alt.schedule(own, "second")
    assert await join(h) == (own, "second")
    assert own.disabled == 1
    assert usable(alt, ch)


async def test_skip_and_timers_left_out_are_not_there():
    ch = csp.Channel("c")
    skip_, now, soon = csp.Skip(), csp.Timer(0), csp.Timer(ms=1)
    alt = csp.Alternative(skip_, now, soon, ch.read)
    h = await posted(ch, choose_ready(alt, [False, False, False, True]), 1)
    await sleep_ms(20)
    assert not h.done()
    await ch.write(1)
    assert await join(h) == (ch.read, 1)
    assert await alt.select(ready=[False, False, True, True]) == (soon, None)
    assert await alt.select(ready=[False, True, True, True]) == (now, None)
    assert await alt.select() == (skip_, None)
    assert usable(alt, ch)


async def test_it_holds_on_buffered_channels():
    a, b = csp.BufferedChannel("a", 1), csp.BufferedChannel("b", 1)
    await a.write(1)
    full = a.write.alt_pending_write(2)
    alt = csp.Alternative(a.read, full, b.read)
    h = await posted(b, choose_ready(alt, [False, False, True]), 1)
    await b.write("b")
    assert await join(h) == (b.read, "b")
    assert await alt.select(ready=[True, True, False]) == (a.read, 1)
    assert await alt.select(ready=[True, True, False]) == (full, 0)
    assert await a.read() == 2
    assert usable(alt, a, b)


async def test_a_ready_guard_that_takes_part_is_passed_over_at_most_once_per_other():
    chans = [csp.BufferedChannel(n) for n in "abcd"]
    for ch in chans:
        for i in range(60):
            await ch.write(i)
    alt = csp.Alternative(*[ch.read for ch in chans])
    last = [0] * 4
    for turn in range(1, 41):
        ready = [True, turn % 2, turn % 3, turn % 5 != 1]
        g, v = await alt.fair_select(ready=ready)
        i = [ch.read for ch in chans].index(g)
        assert ready[i]
        last[i] = turn
        assert turn - last[0] < 4  # the one that always takes part
    assert usable(alt)


async def test_bad_preconditions_raise_and_leave_the_alternative_as_it_was():
    a, b = csp.Channel("a"), csp.Channel("b")
    alt = csp.Alternative(a.read, b.read)
    cases = (
        (ValueError, [True]),
        (ValueError, [True] * 3),
        (ValueError, []),
        (ValueError, [False, 0]),
        (TypeError, True),
        (TypeError, "ab"),
        (TypeError, {0: True, 1: True}),
    )
    for error, ready in cases:
        for select in (alt.select, alt.fair_select):
            with raises(error) as e:
                await select(ready=ready)  # pyright: ignore
            assert sentence(e.value), e.value
            assert usable(alt, a, b)
    (h,) = await waiting_writers(a, (1,))
    assert await alt.select() == (a.read, 1)
    await join(h)


class Raises:
    def __bool__(self):
        raise KeyError("no truth")


async def test_a_value_that_raises_leaves_the_alternative_as_it_was():
    a, b = csp.Channel("a"), csp.Channel("b")
    alt = csp.Alternative(a.read, b.read)
    with raises(KeyError):
        await alt.select(ready=[False, Raises()])
    assert usable(alt, a, b)


class Breaks(csp.Guard):
    def enable(self, alt):
        raise KeyError("at enable")

    def disable(self, alt):
        pass


class BreaksLate(csp.Guard):
    def disable(self, alt):
        raise KeyError("at disable")


async def test_guards_that_raise_leave_the_alternative_as_it_was():
    a, b = csp.Channel("a"), csp.Channel("b")
    counted = Counted()
    alt = csp.Alternative(counted, a.read, Breaks(), b.read)
    with raises(KeyError):
        await alt.select(ready=[True, False, True, True])
    assert counted.enabled == counted.disabled == 1
    assert usable(alt, a, b)
    counted = Counted()
    alt = csp.Alternative(counted, a.read, BreaksLate(), csp.Skip())
    with raises(KeyError):
        await alt.select(ready=[True, False, True, True])
    assert counted.enabled == counted.disabled == 1
    assert usable(alt, a, b)


async def test_an_alternative_in_use_refuses_another_select_whatever_is_ready():
    a, b = csp.Channel("a"), csp.Channel("b")
    alt = csp.Alternative(a.read, b.read)
    h = await posted(a, choose_ready(alt, [True, False]), 1)
    for ready in ([False, True], [True, True], None):
        with raises(RuntimeError) as e:
            await alt.select(ready=ready)
        assert sentence(e.value)
    assert b.queue_len() == 0
    await a.write(1)
    assert await join(h) == (a.read, 1)
    assert usable(alt, a, b)


async def test_a_cancelled_selection_leaves_the_alternative_as_it_was():
    if LIB != "uapycsp":
        skip("there is no cancellation")
    a, b, c = [csp.Channel(n) for n in "abc"]
    alt = csp.Alternative(a.read, csp.Timer(ms=100000), b.read, c.write.alt_pending_write(1))
    for ready in ([True, False, False, False], [True, True, True, False], [True] * 4):
        h = await posted(a, choose_ready(alt, ready), 1)
        h.cancel()
        with raises(asyncio.CancelledError):
            await join(h)
        assert usable(alt, a, b, c)
        # Paired, but its task has not run since: the value goes back.
        h = await posted(a, choose_ready(alt, ready), 1)
        await a.write("kept")
        h.cancel()
        with raises(asyncio.CancelledError):
            await join(h)
        assert a.queue_len() == 1
        assert await a.read() == "kept"
        assert usable(alt, a, b, c)


def test_a_deadlock_is_reported_though_a_timer_is_left_out():
    a, b = csp.Channel("a"), csp.Channel("b")
    alt = csp.Alternative(a.read, csp.Timer(ms=3600000), csp.Skip(), b.read)
    with raises(csp.DeadlockError) as e:
        csp.run(stuck(alt, [False, False, False, True]))
    assert "reads b" in str(e.value) and "reads a" not in str(e.value)
    assert usable(alt, a)


@csp.process
async def stuck(alt, ready):
    await alt.select(ready=ready)


async def test_no_deadlock_is_reported_while_a_timer_takes_part():
    a, b = csp.Channel("a"), csp.Channel("b")
    timer = csp.Timer(ms=1200)
    alt = csp.Alternative(a.read, timer, csp.Skip(), b.read)
    assert await alt.select(ready=[False, True, False, True]) == (timer, None)
    assert usable(alt, a, b)


def test_no_deadlock_is_reported_while_an_external_channel_takes_part():
    out, a = csp.Channel("out", external=True), csp.Channel("a")
    alt = csp.Alternative(out.read, a.read)
    csp.run(stuck_or_told(alt, [True, False], out.write))
    with raises(csp.DeadlockError):
        csp.run(stuck(alt, [False, True]))


@csp.process
async def stuck_or_told(alt, ready, cout):
    h = await posted(cout.channel(), choose_ready(alt, ready), 1)
    await sleep_ms(1200)
    await cout("told")
    g, v = await join(h)
    assert v == "told"


@csp.process
async def buffer_of(cin, request, cout, size, n):
    """The books' bounded buffer: input while there is room, output while there is something."""
    held = []
    alt = csp.Alternative(cin, request)
    while n:
        g, v = await alt.fair_select(ready=(len(held) < size, held))
        if g is cin:
            held.append(v)
            assert len(held) <= size
        else:
            await cout(held.pop(0))
            n -= 1


@csp.process
async def puts(cout, first, n):
    for i in range(n):
        await cout(first + i)


@csp.process
async def asks(request, cin, log, n):
    for _ in range(n):
        await request(None)
        log.add(await cin())


async def test_a_bounded_buffer_keeps_to_its_bounds_and_loses_nothing():
    put, request, got = [csp.Channel(n) for n in ("put", "request", "got")]
    log = Log()
    n = 150
    await par(
        puts(put.write, 0, n),
        puts(put.write, 1000, n),
        buffer_of(put.read, request.read, got.write, 3, 2 * n),
        asks(request.write, got.read, log, 2 * n),
    )
    items = log.items()
    assert sorted(items) == sorted(list(range(n)) + list(range(1000, 1000 + n)))
    assert [v for v in items if v < 1000] == list(range(n))
    assert idle(put, request, got)


@csp.process
async def play(alt, write_1, write_2, ready, sent, got, done, n):
    for k in range(n):
        write_1.pending = write_2.pending = (id(alt), k)
        g, v = await alt.fair_select(ready=ready[k % len(ready)])
        if g is write_1 or g is write_2:
            sent.add((id(alt), k))
        else:
            got.add(v)
    done.add(None)


async def test_alternatives_that_leave_out_this_and_that_lose_nothing():
    a, b = csp.Channel("a"), csp.Channel("b")
    sent, got, done = Log(), Log(), Log()
    masks = ([1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 1, 1], [1, 0, 1, 1])
    players = []
    for i in range(4):
        wa, wb = a.write.alt_pending_write(None), b.write.alt_pending_write(None)
        alt = csp.Alternative(a.read, wb, b.read, wa)
        players.append(play(alt, wa, wb, masks[i:] + masks[:i], sent, got, done, 40))
    await par(*(players + [end_when(done, 3, a, b)]))
    assert sorted(sent.items()) == sorted(got.items())
    assert idle(a, b)


@csp.process
async def end_when(log, n, *channels):
    # Whoever is left may wait for ever.
    await until(lambda: log.count() >= n)
    for ch in channels:
        ch.poison()
