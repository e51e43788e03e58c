"""Rule 6: a choice takes exactly one of its guards, and nothing of the others happens."""

import csp

from rules_support import (
    POISONED,
    Log,
    choose,
    give_from,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    settle,
    take,
    ticks_diff,
    ticks_ms,
    until,
    waiting_readers,
    waiting_writers,
)


def three():
    return csp.Channel("a"), csp.Channel("b"), csp.Channel("c")


async def test_select_prefers_the_earlier_of_two_ready_guards():
    a, b, c = three()
    (wa,) = await waiting_writers(a, ("of a",))
    (wb,) = await waiting_writers(b, ("of b",))
    assert await csp.Alternative(b.read, a.read).select() == (b.read, "of b")
    await until(wb.done)
    await settle()
    assert not wa.done()
    a.verify()
    assert a.queue_len() == 1 and b.queue_len() == 0
    assert await csp.Alternative(b.read, a.read).select() == (a.read, "of a")
    assert await join_all([wa, wb]) == [0, 0]
    assert idle(a, b)


async def test_select_takes_what_is_ready_after_guards_that_are_not():
    a, b, c = three()
    (h,) = await waiting_writers(c, (3,))
    assert await csp.Alternative(a.read, b.write.alt_pending_write(1), c.read).select() == (
        c.read,
        3,
    )
    assert await join(h) == 0
    assert idle(a, b, c)


async def test_select_waits_on_all_its_guards_until_one_is_ready():
    a, b, c = three()
    for chosen in (a, b, c):
        h = await posted(c, choose(a.read, b.read, c.read), 1)
        assert [ch.queue_len() for ch in (a, b, c)] == [1, 1, 1]
        await chosen.write("v")
        assert idle(a, b, c)
        assert await join(h) == (chosen.read, "v")


async def test_a_ready_output_guard_writes():
    a, b, c = three()
    (h,) = await waiting_readers(b, 1)
    guard = b.write.alt_pending_write("out")
    assert await csp.Alternative(a.read, guard).select() == (guard, 0)
    assert await join(h) == "out"
    assert idle(a, b)


async def test_a_waiting_output_guard_writes_when_a_reader_comes():
    a, b, c = three()
    guard = b.write.alt_pending_write("out")
    h = await posted(b, choose(a.read, guard), 1)
    assert await b.read() == "out"
    assert await join(h) == (guard, 0)
    assert idle(a, b)


async def test_an_output_guard_that_was_not_chosen_writes_nothing():
    a, b, c = three()
    h = await posted(b, choose(a.read, b.write.alt_pending_write("never")), 1)
    await a.write("in")
    assert await join(h) == (a.read, "in")
    (late,) = await waiting_readers(b, 1)
    await settle()
    assert not late.done()
    await b.write("real")
    assert await join(late) == "real"


async def test_a_ready_guard_after_an_output_guard_leaves_the_output_undone():
    a, b, c = three()
    (ra,) = await waiting_readers(a, 1)
    (rb,) = await waiting_readers(b, 1)
    first = a.write.alt_pending_write(1)
    second = b.write.alt_pending_write(2)
    assert await csp.Alternative(first, second).select() == (first, 0)
    assert await join(ra) == 1
    await settle()
    assert not rb.done() and b.queue_len() == 1
    await b.write(3)
    assert await join(rb) == 3


async def test_a_write_guard_may_be_used_again_and_again():
    a, b, c = three()
    guard = a.write.alt_pending_write("again")
    alt = csp.Alternative(guard, b.read)
    for _ in range(5):
        (h,) = await waiting_readers(a, 1)
        assert await alt.select() == (guard, 0)
        assert await join(h) == "again"
    assert idle(a, b)


async def test_an_alternative_may_be_selected_many_times():
    a, b, c = three()
    log = Log()
    await par(give_from(a.write, range(100)), give_from(b.write, range(100)), mux(a, b, log, 200))
    assert [v for name, v in log.items() if name == "a"] == list(range(100))
    assert [v for name, v in log.items() if name == "b"] == list(range(100))
    assert idle(a, b)


@csp.process
async def mux(a, b, log, n):
    alt = csp.Alternative(a.read, b.read)
    for _ in range(n):
        g, v = await alt.select()
        log.add(("a" if g is a.read else "b", v))


async def test_pri_select_is_select():
    a, b, c = three()
    writers = await waiting_writers(a, (1,)) + await waiting_writers(b, (2,))
    alt = csp.Alternative(a.read, b.read)
    assert await alt.pri_select() == (a.read, 1)
    assert await alt.pri_select() == (b.read, 2)
    await join_all(writers)


async def test_with_selects_once_and_hands_over_guard_and_value():
    a, b, c = three()
    (h,) = await waiting_writers(b, ("v",))
    bodies = 0
    async with csp.Alternative(a.read, b.read) as (g, v):
        assert g is b.read and v == "v"
        assert a.queue_len() == 0
        bodies += 1
    assert bodies == 1
    assert await join(h) == 0
    assert idle(a, b)


async def test_with_lets_exceptions_out():
    a, b, c = three()
    (h,) = await waiting_writers(a, ("v",))
    with raises(KeyError):
        async with csp.Alternative(a.read) as (g, v):
            raise KeyError("from the body")
    await join(h)


async def test_with_may_be_used_again_inside_itself():
    a, b, c = three()
    writers = await waiting_writers(a, (1, 2))
    alt = csp.Alternative(a.read)
    async with alt as (g, v):
        assert v == 1
        async with alt as (g, v):
            assert v == 2
    await join_all(writers)
    assert idle(a)


async def test_skip_is_ready_at_once_with_value_none():
    a, b, c = three()
    skip = csp.Skip()
    assert await csp.Alternative(a.read, skip).select() == (skip, None)
    assert await csp.Alternative(skip, a.read).select() == (skip, None)
    assert idle(a)


async def test_skip_stands_in_its_place_in_the_order():
    a, b, c = three()
    (h,) = await waiting_writers(a, (1,))
    skip = csp.Skip()
    assert await csp.Alternative(skip, a.read).select() == (skip, None)
    assert a.queue_len() == 1
    assert await csp.Alternative(a.read, skip).select() == (a.read, 1)
    await join(h)


async def test_a_process_that_polls_with_skip_lets_others_run():
    a, b, c = three()
    start = ticks_ms()
    h = csp.Spawn(give_from(a.write, (1,)))
    alt = csp.Alternative(a.read, csp.Skip())
    while True:
        g, v = await alt.select()
        if g is a.read:
            break
        assert ticks_diff(ticks_ms(), start) < 30000
    assert v == 1
    await join(h)


async def test_a_poisoned_guard_raises_when_it_comes_first():
    a, b, c = three()
    (h,) = await waiting_writers(b, ("kept",))
    a.poison()
    for guard in (a.read, a.write.alt_pending_write(1)):
        for select in ("select", "fair_select"):
            alt = csp.Alternative(guard, b.read)
            with raises(csp.PoisonException):
                await getattr(alt, select)()
    b.verify()
    assert b.queue_len() == 1
    assert await b.read() == "kept"
    assert await join(h) == 0


async def test_a_ready_guard_before_a_poisoned_one_is_chosen():
    a, b, c = three()
    (h,) = await waiting_writers(b, ("v",))
    a.poison()
    alt = csp.Alternative(b.read, a.read)
    assert await alt.select() == (b.read, "v")
    assert await join(h) == 0
    with raises(csp.PoisonException):
        await alt.select()
    assert idle(a, b)


async def test_a_poisoned_guard_is_chosen_before_waiting():
    a, b, c = three()
    a.poison()
    with raises(csp.PoisonException):
        await csp.Alternative(b.read, c.write.alt_pending_write(1), a.read).select()
    assert idle(a, b, c)


async def test_skip_before_a_poisoned_guard_is_chosen_and_after_it_not():
    a, b, c = three()
    a.poison()
    skip = csp.Skip()
    assert await csp.Alternative(skip, a.read).select() == (skip, None)
    with raises(csp.PoisonException):
        await csp.Alternative(a.read, skip).select()


async def test_a_closed_and_drained_guard_raises_in_its_place():
    a, b, c = three()
    writers = await waiting_writers(a, (1,)) + await waiting_writers(b, (2, 3))
    a.close()
    alt = csp.Alternative(a.read, b.read)
    assert await alt.select() == (a.read, 1)
    with raises(csp.PoisonException):
        await alt.select()
    assert await csp.Alternative(b.read, a.read).select() == (b.read, 2)
    assert await b.read() == 3
    assert await join_all(writers) == [0, 0, 0]


async def test_a_write_guard_on_a_closed_channel_raises_in_its_place():
    a, b, c = three()
    (h,) = await waiting_writers(a, (1,))
    a.close()
    with raises(csp.PoisonException):
        await csp.Alternative(a.write.alt_pending_write(2), csp.Skip()).select()
    assert await a.read() == 1
    assert await join(h) == 0
    assert idle(a)


async def test_the_same_guard_twice_is_taken_once():
    a, b, c = three()
    h = await posted(a, choose(a.read, a.read), 2)
    await a.write(1)
    assert await join(h) == (a.read, 1)
    a.verify()
    assert a.queue_len() == 0
    (w,) = await waiting_writers(a, (2,))
    assert await csp.Alternative(a.read, a.read).select() == (a.read, 2)
    assert await join(w) == 0
    assert idle(a)


async def test_two_alternatives_that_match_twice_communicate_once():
    for _ in range(20):
        a, b, c = three()
        ga = a.write.alt_pending_write("via a")
        gb = b.write.alt_pending_write("via b")
        res = await par(choose(a.read, b.read), choose(gb, ga))
        assert res in ([(a.read, "via a"), (ga, 0)], [(b.read, "via b"), (gb, 0)])
        assert idle(a, b)


async def test_a_cycle_of_alternatives_never_takes_half_a_communication():
    # Three alternatives in a ring, each to write to the next and to read from the one before:
    # two of them meet, the third goes on waiting.
    for _ in range(20):
        chans = three()
        handles = []
        for i in range(3):
            guard = chans[(i + 1) % 3].write.alt_pending_write(i)
            handles.append(csp.Spawn(choose(chans[i].read, guard)))
        await until(lambda: sum(h.done() for h in handles) == 2)
        (left,) = [i for i in range(3) if not handles[i].done()]
        await until(lambda: sum(ch.queue_len() for ch in chans) == 2)
        for ch in chans:
            ch.verify()
        await chans[left].write("last")
        assert await join(handles[left]) == (chans[left].read, "last")
        writer = (left + 1) % 3
        reader = (left + 2) % 3
        g, v = await join(handles[reader])
        assert g is chans[reader].read and v == writer
        g, v = await join(handles[writer])
        assert v == 0
        assert idle(*chans)


async def test_alternatives_with_both_directions_over_the_same_channels_lose_nothing():
    # Four alternatives, each with an input and an output guard on both of two channels.
    a, b, c = three()
    done = Log()
    sent = Log()
    got = Log()
    players = [play(i, a.read, a.write, b.read, b.write, sent, got, done, 50) for i in range(4)]
    await par(*(players + [poison_when(done, 3, a, b)]))
    assert sorted(sent.items()) == sorted(got.items())
    assert sent.count() >= 75
    assert idle(a, b)


@csp.process
async def play(i, a_in, a_out, b_in, b_out, sent, got, done, n):
    for k in range(n):
        mine = (i, k)
        wa = a_out.alt_pending_write(mine)
        wb = b_out.alt_pending_write(mine)
        g, v = await csp.Alternative(a_in, wb, b_in, wa).select()
        if g is wa or g is wb:
            assert v == 0
            sent.add(mine)
        else:
            got.add(v)
    done.add(i)


@csp.process
async def poison_when(log, n, *chans):
    await until(lambda: log.count() >= n)
    for ch in chans:
        ch.poison()


async def test_alternatives_and_plain_operations_share_channels_without_loss():
    a, b, c = three()
    log = Log()
    count = 60
    await par(
        give_from(a.write, range(count)),
        alt_writer(a.write, b.write, 1000, count),
        alt_writer(b.write, a.write, 2000, count),
        alt_reader(a.read, b.read, log),
        alt_reader(b.read, a.read, log),
        read_until_poison(a.read, log),
        poison_when(log, 3 * count, a, b),
    )
    expected = [first + i for first in (0, 1000, 2000) for i in range(count)]
    assert sorted(log.items()) == sorted(expected)
    assert idle(a, b)


@csp.process
async def alt_writer(first, second, base, n):
    for i in range(n):
        await csp.Alternative(
            first.alt_pending_write(base + i), second.alt_pending_write(base + i)
        ).select()


@csp.process
async def alt_reader(first, second, log):
    alt = csp.Alternative(first, second)
    while True:
        g, v = await alt.fair_select()
        log.add(v)


@csp.process
async def read_until_poison(cin, log):
    while True:
        log.add(await cin())


# A write guard, or a read guard, on a buffered channel


async def test_a_write_guard_on_a_buffered_channel_is_ready_while_there_is_room():
    ch = csp.BufferedChannel("c", 2)
    for i in range(2):
        guard = ch.write.alt_pending_write(i)
        assert await csp.Alternative(guard).select() == (guard, 0)
    assert ch.queue_len() == 2
    skip = csp.Skip()
    assert await csp.Alternative(ch.write.alt_pending_write(2), skip).select() == (skip, None)
    assert ch.queue_len() == 2
    assert [await ch.read(), await ch.read()] == [0, 1]
    assert idle(ch)


async def test_a_write_guard_on_a_full_buffered_channel_waits_for_room():
    ch = csp.BufferedChannel("c", 1)
    other = csp.Channel("other")
    await ch.write("in the buffer")
    guard = ch.write.alt_pending_write("by the guard")
    h = await posted(other, choose(other.read, guard), 1)
    await until(lambda: ch.queue_len() == 2)
    assert await ch.read() == "in the buffer"
    assert await join(h) == (guard, 0)
    assert await ch.read() == "by the guard"
    assert idle(ch, other)


async def test_a_write_guard_on_an_unlimited_channel_is_always_ready():
    ch = csp.BufferedChannel("c")
    for i in range(50):
        guard = ch.write.alt_pending_write(i)
        assert await csp.Alternative(guard, csp.Skip()).select() == (guard, 0)
    for i in range(50):
        assert await ch.read() == i
    assert idle(ch)


async def test_a_write_guard_not_chosen_leaves_the_buffer_alone():
    ch = csp.BufferedChannel("c", 1)
    other = csp.Channel("other")
    (w,) = await waiting_writers(other, (1,))
    assert await csp.Alternative(other.read, ch.write.alt_pending_write(2)).select() == (
        other.read,
        1,
    )
    assert await join(w) == 0
    assert idle(ch, other)


async def test_a_write_guard_on_a_buffered_channel_meets_a_waiting_reader():
    ch = csp.BufferedChannel("c", 3)
    (h,) = await waiting_readers(ch, 1)
    guard = ch.write.alt_pending_write("v")
    assert await csp.Alternative(guard).select() == (guard, 0)
    assert await join(h) == "v"
    assert idle(ch)


async def test_a_read_guard_on_a_buffered_channel_is_ready_when_something_is_buffered():
    ch = csp.BufferedChannel("c", 2)
    skip = csp.Skip()
    alt = csp.Alternative(ch.read, skip)
    assert await alt.select() == (skip, None)
    await ch.write(1)
    await ch.write(2)
    (w,) = await waiting_writers(ch, (3,))
    got = [await alt.select(), await alt.select(), await alt.select()]
    assert got == [(ch.read, 1), (ch.read, 2), (ch.read, 3)]
    assert await join(w) == 0
    assert await alt.select() == (skip, None)


async def test_a_read_guard_that_waits_on_a_buffered_channel_is_woken():
    ch = csp.BufferedChannel("c", 2)
    other = csp.Channel("other")
    h = await posted(ch, choose(other.read, ch.read), 1)
    await ch.write("v")
    assert await join(h) == (ch.read, "v")
    assert idle(ch, other)


# Poison that comes while an alternative is selecting


async def test_poison_racing_with_select_ends_it_and_leaves_no_offer():
    for _ in range(50):
        a, b, c = three()
        res = await par(
            choose(a.read, b.write.alt_pending_write(1), c.read), poisons(b.read), poisons(a.write)
        )
        assert res == [POISONED, None, None]
        assert idle(a, b, c)


@csp.process
async def poisons(end):
    end.poison()


async def test_poison_racing_with_a_write_gives_the_value_or_poison():
    for _ in range(50):
        a, b, c = three()
        chosen, written, _none = await par(
            choose(a.read, b.read), write_or_poison(b.write, "v"), poisons(a.write)
        )
        if chosen == POISONED:
            # The write found nobody any more, or was not made yet; nothing took its value.
            b.poison()
        else:
            assert chosen == (b.read, "v")
            assert written == 0
        assert idle(a, b)


@csp.process
async def write_or_poison(cout, v):
    # Written by a guard with a way out, as the reader may have gone.
    guard = cout.alt_pending_write(v)
    g, value = await csp.Alternative(guard, csp.Timer(ms=30)).select()
    return value


# fair_select


async def test_fair_select_serves_guards_that_are_always_ready_in_turn():
    skips = [csp.Skip() for _ in range(4)]
    alt = csp.Alternative(*skips)
    order = []
    for _ in range(40):
        g, v = await alt.fair_select()
        order.append(skips.index(g))
    for i in range(4, 40):
        assert order[i] == order[i - 4]
    assert sorted(order[:4]) == [0, 1, 2, 3]


class Flag(csp.Guard):
    """A user's guard that is ready when told so."""

    def __init__(self):
        self.ready = False

    def enable(self, alt):
        return self.ready, "flag"

    def disable(self, alt):
        pass


async def test_fair_select_passes_a_ready_guard_over_at_most_once_per_other_guard():
    # Whether a guard stays ready until it is chosen, or is ready now and then.
    for stays in (True, False):
        flags = [Flag() for _ in range(5)]
        alt = csp.Alternative(*flags)
        passed = [[0] * 5 for _ in range(5)]
        seed = 12345
        for _ in range(600):
            ready = 0
            while not ready:
                seed = (seed * 1103515245 + 12345) & 0x3FFFFFFF
                ready = (seed >> 8) & 31
            for i in range(5):
                flags[i].ready = stays and flags[i].ready or ready >> i & 1 == 1
            g, v = await alt.fair_select()
            chosen = flags.index(g)
            assert g.ready and v == "flag"
            g.ready = False
            passed[chosen] = [0] * 5
            for i in range(5):
                if flags[i].ready:
                    passed[i][chosen] += 1
                    assert passed[i][chosen] <= 1


async def test_fair_select_starves_no_guard_that_is_ready_at_every_second_selection():
    flags = [Flag() for _ in range(3)]
    alt = csp.Alternative(*flags)
    chosen = []
    for ready in ((0, 1, 2), (2,)) * 4:
        for i in range(3):
            flags[i].ready = i in ready
        g, v = await alt.fair_select()
        chosen.append(flags.index(g))
    assert chosen == [0, 2, 1, 2, 0, 2, 1, 2]


async def test_fair_select_knows_all_guards_after_an_interrupt_amid_its_choice():
    skips = [csp.Skip() for _ in range(3)]
    alt = csp.Alternative(*skips)
    await alt.fair_select()
    alt._order.remove(1)  # as it is between two statements of Choice.last
    chosen = []
    for _ in range(6):
        g, v = await alt.fair_select()
        chosen.append(skips.index(g))
    assert chosen == [0, 1, 2, 0, 1, 2]


async def test_fair_select_is_fair_to_guards_that_are_left_out_in_turns():
    skips = [csp.Skip() for _ in range(3)]
    alt = csp.Alternative(*skips)
    chosen = []
    for k in range(8):
        g, v = await alt.fair_select(ready=[k & 1 == 0, k & 1 == 0, True])
        chosen.append(skips.index(g))
    assert chosen == [0, 2, 1, 2, 0, 2, 1, 2]


async def test_fair_select_starves_no_channel():
    a, b, c = three()
    log = Log()
    await par(
        writes_for_ever(a.write, "a"),
        writes_for_ever(b.write, "b"),
        writes_for_ever(c.write, "c"),
        fair_counts(a, b, c, log, 300),
    )
    names = log.items()
    for name in "abc":
        assert names.count(name) >= 20
    assert idle(a, b, c)


@csp.process
async def writes_for_ever(cout, name):
    while True:
        await cout(name)


@csp.process
async def fair_counts(a, b, c, log, n):
    alt = csp.Alternative(a.read, b.read, c.read)
    for _ in range(n):
        await until(lambda: a.queue_len() and b.queue_len() and c.queue_len())
        g, v = await alt.fair_select()
        log.add(v)
    for ch in (a, b, c):
        ch.poison()


async def test_fair_select_passes_on_from_a_poisoned_guard():
    a, b, c = three()
    alt = csp.Alternative(a.read, b.read, c.read)
    writers = await waiting_writers(b, ["v"]) + await waiting_writers(c, ["v"])
    a.poison()
    got = []
    for _ in range(4):
        got.append(await fair_or_poison(alt))
    assert got == [POISONED, b.read, c.read, POISONED]
    for h in writers:
        await join(h)
    # It passes on, too, if the poison came while it waited.
    alt = csp.Alternative(b.read, c.read)
    h = await posted(b, waits_for(alt), 1)
    b.poison()
    assert await join(h) == POISONED
    writers = await waiting_writers(c, ["v"])
    assert await fair_or_poison(alt) is c.read
    await join(writers[0])


async def test_fair_select_passes_on_from_the_guard_it_waited_for():
    channels = three()
    alt = csp.Alternative(*[ch.read for ch in channels])
    for k in range(3):
        h = await posted(channels[k], waits_for(alt), 1)
        await channels[k].write("v")
        assert await join(h) is channels[k].read
        writers = []
        for ch in channels:
            writers += await waiting_writers(ch, ["v"])
        chosen = []
        for _ in channels:
            chosen.append(await fair_or_poison(alt))
        assert chosen == [channels[(k + i) % 3].read for i in (1, 2, 3)]
        for h in writers:
            await join(h)


async def fair_or_poison(alt):
    try:
        g, v = await alt.fair_select()
        return g
    except csp.PoisonException:
        return POISONED


@csp.process
async def waits_for(alt):
    return await fair_or_poison(alt)


async def test_fair_select_waits_and_withdraws_like_select():
    a, b, c = three()
    guard = b.write.alt_pending_write("out")
    h = await posted(b, fair(a.read, guard), 1)
    assert await b.read() == "out"
    assert await join(h) == (guard, 0)
    assert idle(a, b)


@csp.process
async def fair(*guards):
    return await csp.Alternative(*guards).fair_select()


async def test_select_always_prefers_the_earlier_guard():
    a, b, c = three()
    log = Log()
    await par(writes_for_ever(a.write, "a"), writes_for_ever(b.write, "b"), prefers(a, b, log, 50))
    assert log.items() == ["a"] * 50
    assert idle(a, b)


@csp.process
async def prefers(a, b, log, n):
    alt = csp.Alternative(a.read, b.read)
    for _ in range(n):
        await until(lambda: a.queue_len() and b.queue_len())
        g, v = await alt.select()
        log.add(v)
    a.poison()
    b.poison()


async def test_a_select_of_one_guard_is_that_operation():
    a, b, c = three()
    (h,) = await waiting_readers(a, 1)
    guard = a.write.alt_pending_write(1)
    await csp.Alternative(guard).select()
    assert await join(h) == 1
    h = await posted(a, choose(a.read), 1)
    await a.write(2)
    assert await join(h) == (a.read, 2)


async def test_a_reader_meets_an_output_guard_and_a_writer_an_input_guard_in_order():
    a, b, c = three()
    first = await posted(a, choose(a.write.alt_pending_write("first"), b.read), 1)
    second = (await waiting_writers(a, ("second",)))[0]
    readers = [await join(csp.Spawn(take(a.read))), await join(csp.Spawn(take(a.read)))]
    assert readers == ["first", "second"]
    assert (await join(first))[1] == 0
    assert await join(second) == 0
    assert idle(a, b)
