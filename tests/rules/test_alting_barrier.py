"""Alting barriers: several processes agree, all at once and each on that guard alone, or none."""

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    POISONED,
    Log,
    asyncio,
    choose,
    give_from,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    sentence,
    settle,
    sleep_ms,
    take,
    until,
)

AltingBarrier = csp.meeting.AltingBarrier
Alternative = csp.Alternative
HEAP = "8M"


@csp.process
async def syncs(end):
    try:
        return await end.sync()
    except csp.PoisonException:
        return POISONED


@csp.process
async def index_of(*guards):
    # Which of the guards was chosen.
    try:
        g, v = await Alternative(*guards).select()
        assert v == 0 or v is None or type(v) is str, v
        return [g is h for h in guards].index(True)
    except csp.PoisonException:
        return POISONED


async def offered(end, process):
    """Start a process; its handle, when its offer stands at the barrier."""
    n = end.waiting()
    h = csp.Spawn(process)
    await until(lambda: end.waiting() == n + 1)
    return h


# All or none


async def test_ends_sync_when_all_are_offered():
    ends = AltingBarrier.create(3, "b")
    handles = [await offered(ends[0], syncs(ends[0])), await offered(ends[0], syncs(ends[2]))]
    await settle()
    assert not handles[0].done() and not handles[1].done()
    assert await ends[1].sync() == 0
    assert await join_all(handles) == [0, 0]
    assert ends[0].waiting() == 0


async def test_a_barrier_is_used_round_after_round():
    ends = AltingBarrier.create(4)
    log = Log()

    @csp.process
    async def goes(end, alts):
        alt = Alternative(end)
        for i in range(30):
            log.add(i)
            if alts:
                await alt.select()
            else:
                await end.sync()

    await par(*[goes(e, i % 2) for i, e in enumerate(ends)])
    assert log.items() == sorted(log.items()) and log.count() == 120


async def test_a_barrier_of_one_is_always_ready():
    (end,) = AltingBarrier.create(1)
    assert await end.sync() == 0
    g, v = await Alternative(end, csp.Skip()).select()
    assert g is end and v == 0


async def test_selects_and_syncs_meet():
    ends = AltingBarrier.create(4)
    ch = csp.Channel("ch")
    handles = []
    for i in range(3):
        p = index_of(ch.read, ends[i]) if i < 2 else syncs(ends[i])
        handles.append(await offered(ends[0], p))
    assert ch.queue_len() == 2
    g, v = await Alternative(ch.read, ends[3]).select()
    assert g is ends[3]
    assert await join_all(handles) == [1, 1, 0]
    assert idle(ch)


async def test_who_takes_another_guard_is_counted_out():
    ends = AltingBarrier.create(2)
    ch = csp.Channel("ch")
    h = await offered(ends[0], index_of(ch.read, ends[0]))
    await ch.write("v")
    assert await join(h) == 0
    assert ends[0].waiting() == 0
    g, v = await Alternative(ends[1], csp.Skip()).select()
    assert g is not ends[1]
    assert ends[0].waiting() == 0


async def test_a_select_that_finds_it_incomplete_takes_the_next_ready_guard():
    ends = AltingBarrier.create(3)
    h = await offered(ends[0], syncs(ends[0]))
    g, v = await Alternative(ends[1], csp.Timer(ms=1)).select()
    assert g is not ends[1] and ends[0].waiting() == 1
    h2 = await offered(ends[0], syncs(ends[1]))
    await ends[2].sync()
    assert await join_all([h, h2]) == [0, 0]


async def test_a_time_limit_takes_an_offer_away():
    ends = AltingBarrier.create(2)
    for _ in range(3):
        g, v = await Alternative(ends[0], csp.Timer(ms=2)).select()
        assert g is not ends[0] and ends[0].waiting() == 0
    h = await offered(ends[0], index_of(ends[0], csp.Timer(60)))
    await ends[1].sync()
    assert await join(h) == 0


async def test_a_guard_left_out_of_a_selection_offers_nothing():
    a, b = AltingBarrier.create(2, "a"), AltingBarrier.create(2, "b")
    alt = Alternative(a[0], b[0], csp.Timer(ms=2))
    h = await offered(a[1], syncs(a[1]))
    for _ in range(2):
        g, v = await alt.select(ready=[False, True, True])
        assert g is alt.guards[2] and a[0].waiting() == 1 and b[0].waiting() == 0
    g, v = await alt.select()
    assert g is a[0] and await join(h) == 0


async def test_who_always_finds_a_barrier_complete_lets_others_run():
    stop = csp.Channel("stop")
    (end,) = AltingBarrier.create(1)

    @csp.process
    async def goes_on(cin):
        alt = Alternative(cin, end)
        while True:
            g, v = await alt.select()
            if g is cin:
                return v

    assert await par(goes_on(stop.read), give_from(stop.write, ["stop"])) == ["stop", None]


async def test_the_order_of_guards_decides_between_complete_barriers():
    for first in (0, 1):
        a, b = AltingBarrier.create(2, "a"), AltingBarrier.create(2, "b")
        handles = [await offered(a[0], syncs(a[0])), await offered(b[0], syncs(b[0]))]
        guards = [a[1], b[1]] if not first else [b[1], a[1]]
        g, v = await Alternative(*guards).select()
        assert g is guards[0]
        assert await join(handles[first]) == 0
        await settle()
        assert not handles[1 - first].done()
        await guards[1].sync()
        await join(handles[1 - first])


async def test_fair_select_takes_complete_barriers_in_turn():
    a, b = AltingBarrier.create(1, "a"), AltingBarrier.create(1, "b")
    alt = Alternative(a[0], b[0])
    seen = []
    for _ in range(6):
        g, v = await alt.fair_select()
        seen.append(g is a[0])
    assert seen == [True, False] * 3


# Several barriers in overlapping sets


async def test_of_overlapping_barriers_exactly_one_happens():
    # p0 and p1 share a, p1 and p2 share b, p2 and p0 share c.
    a, b, c = [AltingBarrier.create(2, n) for n in "abc"]
    h0 = await offered(a[0], index_of(a[0], c[1]))
    h1 = csp.Spawn(index_of(b[0], a[1]))
    assert await join_all([h0, h1]) == [0, 1]
    assert [x[0].waiting() for x in (a, b, c)] == [0, 0, 0]
    h2 = await offered(b[1], index_of(b[1], c[0]))
    assert (b[0].waiting(), c[0].waiting()) == (1, 1)
    await c[1].sync()
    assert await join(h2) == 1
    assert b[0].waiting() == 0


async def test_a_ring_of_overlapping_barriers_chooses_nobody_twice():
    n, rounds = 5, 40
    rings = [AltingBarrier.create(2, str(i)) for i in range(n)]
    counts = [Log() for _ in range(n)]
    done = csp.Channel("done")

    @csp.process
    async def member(i):
        # Its own ring's first end, the second one of the next.
        mine, other = rings[i][0], rings[(i + 1) % n][1]
        alt = Alternative(mine, other) if i % 2 else Alternative(other, mine)
        log = []
        try:
            while len(log) < 100 * rounds:  # the heap has no room for what more there might be
                g, v = await alt.select()
                log.append(i if g is mine else (i + 1) % n)
                counts[i].add(1)
        except csp.PoisonException:
            pass
        return log

    @csp.process
    async def ends_it():
        await until(lambda: sum([c.count() for c in counts]) >= n * rounds)
        for r in rings:
            r[0].poison()

    results = await par(ends_it(), *[member(i) for i in range(n)])
    logs = results[1:]
    for i in range(n):
        # Both parties of a barrier have seen it equally often.
        assert logs[i].count(i) == logs[i - 1].count(i), (i, logs)
    assert sum([len(log) for log in logs]) >= n * rounds
    assert idle(done)


async def test_a_barrier_of_all_beside_barriers_of_pairs():
    n = 4
    everyone = AltingBarrier.create(n, "all")
    pairs = [AltingBarrier.create(2, "pair") for _ in range(2)]

    @csp.process
    async def member(i):
        log = []
        pair = pairs[i // 2][i % 2]
        alt = Alternative(everyone[i], pair)
        try:
            for _ in range(50):
                g, v = await alt.fair_select()
                log.append("all" if g is everyone[i] else "pair")
            everyone[i].resign()
            pair.poison()
        except csp.PoisonException:
            everyone[i].resign()
        return log

    logs = await par(*[member(i) for i in range(n)])
    # A pair agrees on each of its steps, but for the last, which one of it may not have come to.
    for x, y in ((logs[0], logs[1]), (logs[2], logs[3])):
        assert abs(len(x) - len(y)) <= 1
        k = min(len(x), len(y))
        assert x[:k] == y[:k]
    assert everyone[0].parties() == 0


async def test_one_alternative_offers_channels_and_barriers():
    ends = AltingBarrier.create(2)
    a, b = csp.Channel("a"), csp.Channel("b")
    guards = [a.read, ends[0], b.write.alt_pending_write(7), csp.Timer(60)]
    for act, expected in (
        (lambda: a.write("v"), 0),
        (lambda: ends[1].sync(), 1),
        (lambda: b.read(), 2),
    ):
        h = await offered(ends[0], index_of(*guards))
        await act()
        assert await join(h) == expected
        assert idle(a, b) and ends[0].waiting() == 0


# Enrolling and resigning


async def test_an_enrolled_end_is_needed_too():
    ends = AltingBarrier.create(2)
    h = await offered(ends[0], syncs(ends[0]))
    more = ends[1].enrol()
    assert more.parties() == 3
    h2 = await offered(ends[0], index_of(ends[1], csp.Timer(60)))
    await settle()
    assert not h.done()
    await more.sync()
    assert await join_all([h, h2]) == [0, 0]


async def test_a_resigned_end_is_not_needed():
    ends = AltingBarrier.create(3)
    handles = [await offered(ends[0], syncs(ends[0])), await offered(ends[0], index_of(ends[1]))]
    ends[2].resign()
    assert await join_all(handles) == [0, 0]
    assert ends[0].parties() == 2
    with raises(RuntimeError) as e:
        await ends[2].sync()
    assert sentence(e.value)
    with raises(RuntimeError):
        await Alternative(ends[2], csp.Skip()).select()
    ends[2].resign()
    assert ends[0].parties() == 2


async def test_resigning_where_two_are_missing_makes_the_last_complete_it():
    ends = AltingBarrier.create(3)
    h = await offered(ends[0], syncs(ends[0]))
    ends[2].resign()
    await settle()
    assert not h.done()
    await ends[1].sync()
    assert await join(h) == 0


async def test_the_last_may_resign_and_another_enrol():
    (end,) = AltingBarrier.create(1)
    end.resign()
    assert end.parties() == 0
    assert await end.enrol().sync() == 0


async def test_nobody_enrols_in_a_poisoned_barrier_be_it_by_an_end_that_was_resigned():
    ends = AltingBarrier.create(2)
    ends[0].resign()
    ends[1].poison()
    for end in ends:
        with raises(csp.PoisonException):
            end.enrol()


async def test_the_poison_of_a_resigned_end_harms_nobody():
    ends = AltingBarrier.create(3)
    ends[2].resign()
    ends[2].poison()
    h = await offered(ends[0], syncs(ends[0]))
    await ends[1].sync()
    assert await join(h) == 0


# Poison


async def test_poison_ends_who_is_offered_and_who_comes_later():
    ends = AltingBarrier.create(4)
    ch = csp.Channel("ch")
    handles = [await offered(ends[0], syncs(ends[0]))]
    handles.append(await offered(ends[0], index_of(ch.read, ends[1])))
    ends[2].poison()
    assert await join_all(handles) == [POISONED, POISONED]
    assert idle(ch) and ends[0].waiting() == 0
    for e in ends:
        with raises(csp.PoisonException):
            await e.sync()
        with raises(csp.PoisonException):
            await Alternative(ch.read, e).select()
    with raises(csp.PoisonException):
        ends[0].enrol()
    ends[1].resign()
    ends[3].poison()


async def test_poison_where_one_end_is_missing_reaches_that_end():
    for n in (2, 3):
        for missing in range(n):
            for by in range(n):
                ends = AltingBarrier.create(n)
                handles = []
                for i in range(n):
                    if i != missing:
                        handles.append(await offered(ends[0], syncs(ends[i])))
                ends[by].poison()
                assert await join_all(handles) == [POISONED] * (n - 1)
                for e in ends:
                    with raises(csp.PoisonException):
                        await Alternative(e).select()


@csp.process
async def strength_of(operation):
    try:
        await operation()
    except csp.PoisonException as er:
        return er.strength


async def test_the_strength_of_poison_reaches_all_ends():
    ends = AltingBarrier.create(4)
    alt = Alternative(ends[1], csp.Timer(60))
    h0 = await offered(ends[0], strength_of(ends[0].sync))
    h1 = await offered(ends[0], strength_of(alt.select))
    ends[3].resign()
    ends[3].poison(2)
    ends[2].poison(0)
    assert ends[0].waiting() == 2
    ends[2].poison(3)
    assert await join_all([h0, h1]) == [3, 3]
    assert await join(csp.Spawn(strength_of(ends[2].sync))) == 3


async def test_a_process_that_dies_poisons_the_barriers_it_has_ends_of():
    ends = AltingBarrier.create(2)

    @csp.process
    async def dies(end):
        raise ValueError("dies")

    h = await offered(ends[0], syncs(ends[0]))
    with raises(ValueError):
        await par(dies(ends[1]))
    assert await join(h) == POISONED


async def test_poison_of_one_barrier_spreads_to_the_others_of_a_process():
    a, b = AltingBarrier.create(2, "a"), AltingBarrier.create(2, "b")

    @csp.process
    async def chooses(*ends):
        await Alternative(*ends).select()

    h = await offered(a[0], chooses(a[0], b[0]))
    a[1].poison()
    await join(h)
    with raises(csp.PoisonException):
        await b[1].sync()


# In a Parallel


async def test_an_end_may_stand_in_a_parallel():
    a, b = AltingBarrier.create(2, "a"), AltingBarrier.create(2, "b")
    ch = csp.Channel("ch")

    @csp.process
    async def meets():
        await b[1].sync()
        await a[1].sync()
        await ch.write("v")

    h = csp.Spawn(meets())
    assert await par(a[0], ch.read, b[0]) == [0, "v", 0]
    await join(h)


async def test_two_ends_in_a_parallel_sync_with_each_other():
    a = AltingBarrier.create(2, "a")
    assert await par(a[0], a[1]) == [0, 0]
    assert a[0].waiting() == 0


if AWAITABLE:

    async def test_syncs_in_a_parallel_may_be_operations():
        a, b = AltingBarrier.create(2, "a"), AltingBarrier.create(2, "b")
        h = csp.Spawn(index_of(b[1], csp.Timer(60)))
        h2 = csp.Spawn(syncs(a[1]))
        assert await csp.Parallel(a[0].sync(), b[0].sync()) == [0, 0]
        assert await join_all([h, h2]) == [0, 0]


# Bad use


async def test_an_end_is_used_by_one_process_at_a_time():
    ends = AltingBarrier.create(3)
    h = await offered(ends[0], syncs(ends[0]))
    with raises(RuntimeError) as e:
        await ends[0].sync()
    assert sentence(e.value)
    with raises(RuntimeError):
        await Alternative(ends[0]).select()
    with raises(RuntimeError) as e:
        ends[0].resign()
    assert sentence(e.value)
    assert ends[0].waiting() == 1 and not h.done()
    h2 = await offered(ends[0], syncs(ends[1]))
    await ends[2].sync()
    assert await join_all([h, h2]) == [0, 0]


async def test_an_alternative_has_one_end_of_a_barrier():
    for n in (2, 3):
        ends = AltingBarrier.create(n)
        ch = csp.Channel("ch")
        for guards in ((ch.read, ends[0], ends[1]), (ends[0], ch.read, ends[1])):
            with raises(ValueError) as e:
                await Alternative(*guards).select()
            assert sentence(e.value)
            assert ends[0].waiting() == 0 and idle(ch)
    with raises(RuntimeError):
        await Alternative(ends[0], ends[0]).select()
    assert ends[0].waiting() == 0


async def test_a_barrier_needs_an_end():
    with raises(ValueError) as e:
        AltingBarrier.create(0)
    assert sentence(e.value)
    for n in (1.5, "two", None):
        with raises(TypeError) as e:
            AltingBarrier.create(n)  # pyright: ignore
        assert sentence(e.value)
    with raises(TypeError) as e:
        AltingBarrier(2)  # pyright: ignore
    assert sentence(e.value)


async def test_an_end_at_which_a_process_waits_does_not_resign():
    ends = AltingBarrier.create(2)
    h = await offered(ends[0], syncs(ends[0]))
    with raises(RuntimeError) as e:
        ends[0].resign()
    assert sentence(e.value)
    assert await ends[1].sync() == await join(h) == 0


# Deadlock


@csp.process
async def chooses_of(*guards):
    await Alternative(*guards).select()


@csp.process
async def plain_sync(end):
    await end.sync()


def test_a_deadlock_at_alting_barriers_is_reported():
    a, b = AltingBarrier.create(2, "a"), AltingBarrier.create(3, "b")
    with raises(csp.DeadlockError) as e:
        csp.run(chooses_of(a[0], b[0]), plain_sync(b[1]))
    text = "2 processes wait: chooses_of syncs at a or syncs at b, plain_sync syncs at b"
    assert str(e.value) == text


def test_a_timer_beside_a_barrier_is_no_deadlock():
    a = AltingBarrier.create(2, "a")
    csp.run(chooses_of(a[0], csp.Timer(ms=1250)))
    assert a[0].waiting() == 0


# Many, at once


async def test_many_processes_choose_among_many_barriers():
    # Each barrier has three of the six processes, each process has three of the barriers.
    trios = ((0, 1, 2), (2, 3, 4), (4, 5, 0), (1, 3, 5), (0, 3, 1), (2, 4, 5))
    barriers = [AltingBarrier.create(3, str(i)) for i in range(6)]
    total = Log()

    @csp.process
    async def member(p):
        mine = [(b, trios[b].index(p)) for b in range(6) if p in trios[b]]
        ends = [barriers[b][i] for b, i in mine]
        alt = Alternative(*ends)
        log = []
        try:
            while len(log) < 4000:  # as above
                g, v = await alt.fair_select()
                log.append(mine[[g is e for e in ends].index(True)][0])
                total.add(1)
        except csp.PoisonException:
            pass
        return log

    @csp.process
    async def ends_it():
        await until(lambda: total.count() >= 300)
        for b in barriers:
            b[0].poison()

    logs = (await par(ends_it(), *[member(p) for p in range(6)]))[1:]
    for b in range(6):
        counts = [logs[p].count(b) for p in trios[b]]
        assert counts[0] == counts[1] == counts[2], (b, counts)


# Cancellation


if LIB == "uapycsp":

    class Party:
        def __init__(self, operation, own):
            self.events = []
            self.task = None
            if own:
                csp.Spawn(self.body(operation))
            else:  # asyncio has started it
                asyncio.get_event_loop().create_task(self.body(operation))

        async def body(self, operation):
            self.task = asyncio.current_task()
            try:
                v = await operation()
                self.events.append(v if v == 0 else "chosen")
                await sleep_ms(0)
                self.events.append("after")
            except asyncio.CancelledError:
                self.events.append("cancelled")
            self.events.append("end")

        async def ended(self):
            await until(lambda: self.events and self.events[-1] == "end")
            return self.events[:-1]

    def operations(end, other):
        for own in (True, False):
            yield own, 0, end.sync
            yield own, "chosen", Alternative(other, end).select
            yield own, "chosen", Alternative(end, csp.Timer(60)).select
            yield own, "chosen", lambda: csp.Parallel(end)

    async def test_a_cancelled_offer_is_taken_away():
        ch = csp.Channel("ch")
        ends = AltingBarrier.create(2)
        for own, _, operation in operations(ends[0], ch.read):
            p = Party(operation, own)
            await until(lambda: ends[0].waiting() == 1)
            p.task.cancel()
            assert ends[0].waiting() == 0 and idle(ch)
            assert await p.ended() == ["cancelled"]
        h = await offered(ends[0], syncs(ends[0]))
        await ends[1].sync()
        assert await join(h) == 0

    async def test_what_has_happened_stands_and_the_cancellation_comes_later():
        ch = csp.Channel("ch")
        ends = AltingBarrier.create(2)
        for own, said, operation in operations(ends[0], ch.read):
            p = Party(operation, own)
            await until(lambda: ends[0].waiting() == 1)
            assert await ends[1].sync() == 0
            p.task.cancel()
            assert await p.ended() == [said, "cancelled"]
            assert ends[0].waiting() == 0 and idle(ch)

    async def test_cancels_among_overlapping_barriers_lose_nobody():
        n = 4
        rings = [AltingBarrier.create(2, str(i)) for i in range(n)]
        logs = [[] for _ in range(n)]

        async def member(i):
            mine, other = rings[i][0], rings[(i + 1) % n][1]
            alt = Alternative(mine, other)
            while True:
                try:
                    g, v = await alt.select()
                except asyncio.CancelledError:
                    # Cancelled again and again, it goes on each time.
                    if stop:
                        return
                    continue
                logs[i].append(i if g is mine else (i + 1) % n)

        stop = []
        handles = [csp.Spawn(member(i)) for i in range(n)]
        k = 0
        while sum([len(log) for log in logs]) < 200:
            handles[k % n].cancel()
            k += 1
            for _ in range(k % 3):
                await sleep_ms(0)
        stop.append(1)
        while [h for h in handles if not h.done()]:
            for h in handles:
                h.cancel()
            await sleep_ms(0)
        for i in range(n):
            assert logs[i].count(i) == logs[i - 1].count(i), logs
            assert rings[i][0].waiting() == 0


async def test_channels_beside_barriers_keep_their_values():
    ends = AltingBarrier.create(2)
    ch = csp.Channel("ch")
    h = await posted(ch, choose(ch.read, ends[0]), 1)
    reader = await posted(ch, take(ch.read), 2)
    await ends[1].sync()
    g, v = await join(h)
    assert g is ends[0] and v == 0
    await ch.write("v")
    assert await join(reader) == "v"
