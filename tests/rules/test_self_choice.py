"""Rule 7: a read and a write guard on one channel pair with another's, never with each other."""

import csp

from rules_support import (
    POISONED,
    Log,
    choose,
    idle,
    join,
    par,
    posted,
    raises,
    settle,
    until,
    waiting_readers,
    waiting_writers,
)


def both(ch, value, write_first=False):
    """The process of an alternative over both ends of a channel, and its write guard."""
    guard = ch.write.alt_pending_write(value)
    if write_first:
        return choose(guard, ch.read), guard
    return choose(ch.read, guard), guard


async def test_an_alternative_never_pairs_with_itself():
    for write_first in (False, True):
        ch = csp.Channel("c")
        p, guard = both(ch, "mine", write_first)
        h = await posted(ch, p, 2)
        await settle()
        ch.verify()
        assert not h.done() and ch.queue_len() == 2
        ch.poison()
        assert await join(h) == POISONED
        assert idle(ch)


async def test_alone_with_a_writer_it_reads():
    for write_first in (False, True):
        ch = csp.Channel("c")
        p, guard = both(ch, "mine", write_first)
        h = await posted(ch, p, 2)
        assert await ch.write("other") == 0
        assert await join(h) == (ch.read, "other")
        assert idle(ch)


async def test_alone_with_a_reader_it_writes():
    for write_first in (False, True):
        ch = csp.Channel("c")
        p, guard = both(ch, "mine", write_first)
        h = await posted(ch, p, 2)
        assert await ch.read() == "mine"
        assert await join(h) == (guard, 0)
        assert idle(ch)


async def test_it_takes_a_waiting_writer_or_reader_at_once():
    for write_first in (False, True):
        ch = csp.Channel("c")
        (w,) = await waiting_writers(ch, ("other",))
        p, guard = both(ch, "mine", write_first)
        assert await join(csp.Spawn(p)) == (ch.read, "other")
        assert await join(w) == 0
        (r,) = await waiting_readers(ch, 1)
        p, guard = both(ch, "mine", write_first)
        assert await join(csp.Spawn(p)) == (guard, 0)
        assert await join(r) == "mine"
        assert idle(ch)


async def test_two_such_alternatives_pair_with_each_other():
    for first_writes in (False, True):
        for second_writes in (False, True):
            ch = csp.Channel("c")
            p, g1 = both(ch, "first", first_writes)
            q, g2 = both(ch, "second", second_writes)
            one = await posted(ch, p, 2)
            two = csp.Spawn(q)
            a = await join(one)
            b = await join(two)
            # The second finds the first: it takes the earlier of its own guards, both are ready.
            if second_writes:
                assert b == (g2, 0) and a == (ch.read, "second")
            else:
                assert b == (ch.read, "first") and a == (g1, 0)
            assert idle(ch)


async def test_of_three_such_alternatives_two_pair_and_one_waits():
    ch = csp.Channel("c")
    handles = []
    for i in range(3):
        p, guard = both(ch, i)
        handles.append(csp.Spawn(p))
    await until(lambda: sum(h.done() for h in handles) == 2)
    await until(lambda: ch.queue_len() == 2)
    ch.verify()
    (left,) = [h for h in handles if not h.done()]
    await ch.write("end")
    assert await join(left) == (ch.read, "end")
    values = []
    for h in handles:
        if h is not left:
            g, v = await join(h)
            values.append((g is ch.read, v))
    (read_value,) = [v for is_read, v in values if is_read]
    (write_value,) = [v for is_read, v in values if not is_read]
    assert write_value == 0 and read_value in (0, 1, 2) and read_value != handles.index(left)
    assert idle(ch)


async def test_it_pairs_across_two_channels_too():
    for _ in range(20):
        a = csp.Channel("a")
        b = csp.Channel("b")
        ga = a.write.alt_pending_write("ga")
        gb = b.write.alt_pending_write("gb")
        ha = a.write.alt_pending_write("ha")
        hb = b.write.alt_pending_write("hb")
        left, right = await par(choose(a.read, ga, b.read, gb), choose(hb, b.read, ha, a.read))
        pair = [left, right]
        possible = (
            [(a.read, "ha"), (ha, 0)],
            [(ga, 0), (a.read, "ga")],
            [(b.read, "hb"), (hb, 0)],
            [(gb, 0), (b.read, "gb")],
        )
        assert pair in possible
        assert idle(a, b)


async def test_both_halves_are_withdrawn_when_another_guard_is_chosen():
    ch = csp.Channel("c")
    other = csp.Channel("other")
    guard = ch.write.alt_pending_write(3)
    three = await posted(ch, choose(other.read, ch.read, guard), 2)
    await other.write("away")
    assert await join(three) == (other.read, "away")
    assert idle(ch, other)


async def test_players_with_both_guards_lose_and_invent_nothing():
    ch = csp.Channel("c")
    sent = Log()
    got = Log()
    done = Log()
    await par(
        play("a", ch.read, ch.write, sent, got, done, 100),
        play("b", ch.read, ch.write, sent, got, done, 100),
        play("c", ch.read, ch.write, sent, got, done, 100),
        poison_when(done, 2, ch),
    )
    assert sent.count() >= 100
    assert sorted(sent.items()) == sorted(got.items())
    assert idle(ch)


@csp.process
async def play(name, cin, cout, sent, got, done, n):
    for k in range(n):
        guard = cout.alt_pending_write((name, k))
        if k % 2:
            g, v = await csp.Alternative(cin, guard).select()
        else:
            g, v = await csp.Alternative(guard, cin).fair_select()
        if g is guard:
            sent.add((name, k))
        else:
            assert v[0] != name
            got.add(v)
    done.add(name)


@csp.process
async def poison_when(log, n, ch):
    await until(lambda: log.count() >= n)
    ch.poison()


async def test_poison_ends_both_halves_at_once():
    ch = csp.Channel("c")
    p, guard = both(ch, 1)
    h = await posted(ch, p, 2)
    ch.poison()
    assert await join(h) == POISONED
    assert idle(ch)
    with raises(csp.PoisonException):
        await csp.Alternative(ch.write.alt_pending_write(1), ch.read).select()


async def test_it_never_pairs_with_itself_on_a_channel_with_capacity_zero():
    ch = csp.BufferedChannel("c", 0)
    p, guard = both(ch, "mine")
    h = await posted(ch, p, 2)
    await settle()
    assert not h.done()
    assert await ch.read() == "mine"
    assert await join(h) == (guard, 0)
    assert idle(ch)


async def test_on_a_buffered_channel_it_writes_when_empty_and_reads_when_not():
    ch = csp.BufferedChannel("c", 1)
    guard = ch.write.alt_pending_write("mine")
    alt = csp.Alternative(ch.read, guard)
    assert await alt.select() == (guard, 0)
    assert await alt.select() == (ch.read, "mine")
    assert await alt.select() == (guard, 0)
    assert ch.queue_len() == 1
    ch.verify()
