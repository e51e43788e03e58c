"""What went wrong in PyCSP and its relatives, as their change logs and sources tell it."""

import csp

from rules_support import (
    POISONED,
    Log,
    give,
    idle,
    join,
    join_all,
    par,
    posted,
    settle,
    take,
    waiting_readers,
    waiting_writers,
)

ROUNDS = 100


# PyCSP, change log: a retire or a poison that followed at once overwrote a match that had been
# committed but not yet seen by the party that waited, which then raised instead of returning.


async def test_poison_overwrites_no_committed_read():
    for _ in range(ROUNDS):
        ch = csp.Channel("c")
        (r,) = await waiting_readers(ch, 1)
        assert await ch.write("v") == 0
        ch.poison()
        assert await join(r) == "v"
        assert ch.poisoned and idle(ch)


async def test_poison_overwrites_no_committed_write():
    for _ in range(ROUNDS):
        ch = csp.Channel("c")
        (w,) = await waiting_writers(ch, ("v",))
        assert await ch.read() == "v"
        ch.poison()
        assert await join(w) == 0
        assert ch.poisoned and idle(ch)


async def test_retiring_overwrites_no_committed_match():
    for ends in (lambda ch: ch.close(), lambda ch: ch.read.poison(), lambda ch: ch.write.poison()):
        for _ in range(ROUNDS // 4):
            ch = csp.Channel("c")
            rs = await waiting_readers(ch, 2)
            await ch.write("v")
            ends(ch)
            assert await join_all(rs) == ["v", POISONED]
            ch = csp.BufferedChannel("c", 1)
            ws = await waiting_writers(ch, ("in the buffer", "waits", "waits too"))
            assert await ch.read() == "in the buffer"
            ends(ch)
            ch.poison()
            assert await join_all(ws) == [0, 0, POISONED]


async def test_poison_overwrites_no_match_of_an_alternative():
    for _ in range(ROUNDS // 2):
        a, b = csp.Channel("a"), csp.Channel("b")
        guard = b.write.alt_pending_write("w")
        h = await posted(a, select_of(guard, a.read), 1)
        await a.write("v")
        a.poison()
        b.poison()
        assert await join(h) == (a.read, "v")
        a, b = csp.Channel("a"), csp.Channel("b")
        guard = b.write.alt_pending_write("w")
        h = await posted(a, select_of(guard, a.read), 1)
        assert await b.read() == "w"
        b.poison()
        a.poison()
        assert await join(h) == (guard, 0)
        assert idle(a, b)


@csp.process
async def select_of(*guards):
    return await csp.Alternative(*guards).select()


async def test_poison_races_with_both_parties_and_they_agree():
    """Either both of a pair communicate, or neither does, whenever the poison comes."""
    for i in range(ROUNDS):
        ch = csp.Channel("c")
        go = csp.Channel("go")
        # The poisoner waits for one of the two: that one's next step and the poison race.
        results = await par(
            take_when(go.read, ch.read) if i % 2 else take(ch.read),
            give(ch.write, i) if i % 2 else give_when(go.read, ch.write, i),
            poison_when(go.write, ch),
        )
        assert results[:2] in ([i, 0], [POISONED, POISONED]), results
        assert idle(ch)


@csp.process
async def take_when(go, cin):
    await go()
    try:
        return await cin()
    except csp.PoisonException:
        return POISONED


@csp.process
async def give_when(go, cout, value):
    await go()
    try:
        return await cout(value)
    except csp.PoisonException:
        return POISONED


@csp.process
async def poison_when(go, ch):
    await go(1)
    ch.poison()


# PyCSP, change log: several alternations over input and output guards at the same time could
# deadlock, each holding what another needed to commit.


async def test_a_ring_of_alternations_over_inputs_and_outputs_does_not_deadlock():
    for n in (2, 3, 6):
        chans = [csp.Channel("c%d" % i) for i in range(n)]
        sent, got = Log(), Log()
        players = []
        for i in range(n):
            left, right = chans[i], chans[(i + 1) % n]
            ends = left.read, right.write, left.write, right.read
            players.append(player(i, ends, sent, Enough(got, 60 * n, chans)))
        await par(*players)
        assert sorted(sent.items()) == sorted(got.items())
        assert len(set(got.items())) == got.count() >= 60 * n
        assert idle(*chans)


@csp.process
async def player(me, ends, sent, got):
    left_in, right_out, left_out, right_in = ends
    k = 0
    while True:
        k += 1
        right = right_out.alt_pending_write((me, k))
        left = left_out.alt_pending_write((me, k))
        guards = ([left_in, right, left, right_in], [right, left_in, right_in, left])[(me + k) % 2]
        alt = csp.Alternative(*guards)
        g, v = await (alt.fair_select() if k % 3 else alt.select())
        if g is right or g is left:
            sent.add((me, k))
        else:
            assert v[0] != me
            got.add(v)


class Enough:
    """A log whose writers end the network when it holds so many: a heap has room for no more."""

    def __init__(self, log, n, chans):
        self._log = log
        self._n = n
        self._chans = chans

    def add(self, item):
        self._log.add(item)
        if self._log.count() >= self._n:
            # Who has been paired still notes it: `sent` and `got` agree in the end.
            for ch in self._chans:
                ch.poison()


async def test_alternations_that_offer_both_ways_on_all_channels_do_not_deadlock():
    """Everyone offers to read and to write on every channel, in an order of their own."""
    chans = [csp.Channel("c%d" % i) for i in range(3)]
    sent, got = Log(), Log()
    enough = Enough(got, 150, chans)
    await par(*[meets_anyone(i, chans[i:] + chans[:i], sent, enough) for i in range(3)])
    assert sorted(sent.items()) == sorted(got.items())
    assert idle(*chans)


@csp.process
async def meets_anyone(me, chans, sent, got):
    # A list of channels is none of ends: by its own end the others hear of nothing.
    k = 0
    while True:
        k += 1
        guards = []
        for ch in chans:
            guards.append(ch.read)
            guards.append(ch.write.alt_pending_write((me, k)))
        g, v = await csp.Alternative(*guards).fair_select()
        if v == 0:
            sent.add((me, k))
        else:
            assert v[0] != me
            got.add(v)


# PyCSP, change log: the priority of a PriSelect was not guaranteed.


async def test_priority_is_kept_whichever_guards_are_ready():
    n = 5
    seed = 1
    for _ in range(ROUNDS // 2):
        seed = (seed * 75 + 74) % 65537
        ready = [i for i in range(n) if seed >> i & 1]
        chans = [csp.BufferedChannel("c3", 1) if i == 3 else csp.Channel() for i in range(n)]
        guards = []
        handles = []
        for i in range(n):
            output = i % 2 == 0
            guards.append(chans[i].write.alt_pending_write(i) if output else chans[i].read)
            if i in ready:
                party = take(chans[i].read) if output else give(chans[i].write, i)
                handles.append(await posted(chans[i], party, 1))
        alt = csp.Alternative(*guards)
        for i in ready:
            g, v = await alt.select()
            assert g is guards[i] and v == (0 if i % 2 == 0 else i)
        await join_all(handles)
        if ready:
            assert idle(*chans)


async def test_priority_is_kept_while_others_hurry_to_the_later_guards():
    """The first guard is ready at each select; two writers keep the later ones ready, too."""
    first = csp.BufferedChannel("first")
    a, b = csp.Channel("a"), csp.Channel("b")
    for i in range(200):
        await first.write(i)
    h = csp.Spawn(hurries(a.write))
    k = csp.Spawn(hurries(b.write))
    guard = first.write.alt_pending_write("never")
    alt = csp.Alternative(first.read, a.read, b.read, guard)
    for i in range(200):
        assert await alt.select() == (first.read, i)
    for ch in (a, b):
        ch.poison()
    await join(h)
    await join(k)


@csp.process
async def hurries(cout):
    try:
        while True:
            await cout(1)
    except csp.PoisonException:
        pass


# aPyCSP and others: a read that has timed out stayed queued, and swallowed the next message.


async def test_a_select_that_has_timed_out_swallows_no_message():
    for limit in (0, 1):
        ch = csp.Channel("c")
        alt = csp.Alternative(ch.read, csp.Timer(ms=limit))
        for i in range(10):
            g, v = await alt.select()
            assert g is not ch.read and idle(ch)
            h = await posted(ch, give(ch.write, i), 1)
            await settle()
            assert not h.done()
            assert await alt.select() == (ch.read, i)
            assert await join(h) == 0


async def test_selects_whose_time_limits_race_with_messages_lose_none():
    n = 150
    ch = csp.Channel("c")
    log, late = Log(), Log()
    await par(writes_now_and_then(ch.write, n), reads_with_a_limit(ch.read, n, log, late))
    assert log.items() == list(range(n))
    assert late.count()
    assert idle(ch)


@csp.process
async def writes_now_and_then(cout, n):
    pauses = [csp.Alternative(csp.Timer(ms=ms)) for ms in (1, 2, 1, 4)]
    for i in range(n):
        if i % 3 == 0:
            await pauses[i // 3 % 4].select()
        await cout(i)


@csp.process
async def reads_with_a_limit(cin, n, log, late):
    alt = csp.Alternative(cin, csp.Timer(ms=1))
    while log.count() < n:
        g, v = await alt.select()
        if g is cin:
            log.add(v)
        else:
            late.add(1)


# A wait for any of several events that consumed all of those that came before it ran.


async def test_a_wait_for_any_consumes_one_of_two_messages():
    for _ in range(ROUNDS // 2):
        a, b = csp.BufferedChannel("a"), csp.Channel("b")
        h = await posted(b, select_of(a.read, b.read), 1)
        # Both come before the selecting process can run: the second must stay.
        await a.write("first")
        await a.write("second")
        w = csp.Spawn(give(b.write, "third"))
        assert await join(h) == (a.read, "first")
        assert await a.read() == "second"
        assert await b.read() == "third"
        assert await join(w) == 0
        assert idle(a, b)


async def test_a_wait_for_any_consumes_one_of_many_that_race():
    chans = [csp.Channel("c%d" % i) for i in range(4)]
    n = 60
    log = Log()
    writers = [writes_all(chans[i].write, i, n) for i in range(4)]
    await par(selects_all(chans, 4 * n, log), *writers)
    for i in range(4):
        assert [k for j, k in log.items() if j == i] == list(range(n))
    assert idle(*chans)


@csp.process
async def writes_all(cout, me, n):
    for k in range(n):
        await cout((me, k))


@csp.process
async def selects_all(chans, n, log):
    alt = csp.Alternative(*[ch.read for ch in chans])
    for k in range(n):
        g, v = await (alt.select() if k % 2 else alt.fair_select())
        assert g is chans[v[0]].read
        log.add(v)


# PyCSP-locksharing: the write to a buffered channel touched the buffer without the lock.


async def test_writers_and_readers_of_a_buffer_lose_and_double_nothing():
    n = 100
    for capacity in (1, 7, None):
        ch = csp.BufferedChannel("c", capacity)
        logs = [Log() for _ in range(3)]
        ended = Log()
        readers = [reads_until_closed(ch.read, log) for log in logs]
        writers = [writes_then_tells(ch, w, n, ended, 5) for w in range(5)]
        await par(*(readers + writers))
        got = []
        for log in logs:
            for w in range(5):
                own = [k for j, k in log.items() if j == w]
                assert own == sorted(own)  # each reader sees each writer's in order
            got += log.items()
        assert sorted(got) == [(w, k) for w in range(5) for k in range(n)]
        assert idle(ch)


@csp.process
async def reads_until_closed(cin, log):
    async for v in cin:
        log.add(v)


@csp.process
async def writes_then_tells(ch, me, n, ended, of):
    alt = None
    for k in range(n):
        if k % 4:
            await ch.write((me, k))
        else:
            alt = csp.Alternative(ch.write.alt_pending_write((me, k)))
            await alt.select()
    ended.add(me)
    if ended.count() == of:
        ch.close()
