"""Barriers and buckets: who waits for whom, round after round, and how that ends."""

import _thread

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    POISONED,
    Log,
    asyncio,
    block_ms,
    join,
    join_all,
    par,
    raises,
    sentence,
    settle,
    skip,
    sleep_ms,
    until,
    until_blocking,
)

Barrier = csp.meeting.Barrier
Bucket = csp.meeting.Bucket


@csp.process
async def syncs(b, log=None, tag=None, times=1):
    try:
        for _ in range(times):
            await b.sync()
            if log is not None:
                log.add(tag)
        return times
    except csp.PoisonException:
        return POISONED


@csp.process
async def falls(b):
    try:
        return await b.fall_into()
    except csp.PoisonException:
        return POISONED


async def waiting(b, n):
    """Handles of n processes more that wait at a barrier."""
    handles = []
    before = b.waiting()
    for i in range(n):
        handles.append(csp.Spawn(syncs(b)))
        await until(lambda: b.waiting() == before + i + 1)
    return handles


# Rounds


async def test_nobody_passes_a_barrier_before_all_are_there():
    b = Barrier(3, "b")
    log = Log()
    handles = []
    for i in range(2):
        handles.append(csp.Spawn(syncs(b, log, i)))
        await until(lambda: b.waiting() == i + 1)
    await settle()
    assert log.items() == []
    assert await b.sync() == 0
    assert await join_all(handles) == [1, 1]
    assert b.waiting() == 0


async def test_a_barrier_serves_round_after_round():
    n, rounds = 5, 40
    b = Barrier(n)
    log = Log()

    @csp.process
    async def goes(tag):
        for i in range(rounds):
            log.add(i)
            await b.sync()

    await par(*[goes(i) for i in range(n)])
    assert log.items() == sorted(log.items()) and log.count() == n * rounds


async def test_a_barrier_of_one_never_waits():
    b = Barrier(1)
    for _ in range(200):
        assert await b.sync() == 0
    assert b.waiting() == 0


async def test_more_processes_than_parties_make_rounds_of_the_right_size():
    b = Barrier(2)
    first = await waiting(b, 1)
    assert await b.sync() == 0
    assert await join_all(first) == [1]
    await par(*[syncs(b) for _ in range(6)])
    assert b.waiting() == 0


async def test_a_barrier_tells_who_is_needed_and_who_waits():
    b = Barrier(3, "b")
    assert (b.parties(), b.waiting()) == (3, 0)
    assert repr(b) == "<Barrier b>" and repr(Barrier(1)) == "<Barrier without a name>"
    handles = await waiting(b, 2)
    assert (b.parties(), b.waiting()) == (3, 2)
    b.poison()
    assert await join_all(handles) == [POISONED, POISONED]


# Enrolling and resigning


async def test_enrolling_makes_the_barrier_wait_for_one_more():
    b = Barrier(2)
    b.enrol()
    assert b.parties() == 3
    handles = await waiting(b, 2)
    await b.sync()
    assert await join_all(handles) == [1, 1]


async def test_enrolling_in_the_middle_of_a_round_counts_for_it():
    b = Barrier(2)
    handles = await waiting(b, 1)
    b.enrol()
    handles += await waiting(b, 1)
    await settle()
    assert b.waiting() == 2
    await b.sync()
    assert await join_all(handles) == [1, 1]


async def test_resigning_may_complete_the_round():
    b = Barrier(3)
    handles = await waiting(b, 2)
    b.resign()
    assert await join_all(handles) == [1, 1]
    assert (b.parties(), b.waiting()) == (2, 0)


async def test_resigning_completes_nothing_where_others_are_missing():
    b = Barrier(4)
    handles = await waiting(b, 2)
    b.resign()
    await settle()
    assert b.waiting() == 2
    await b.sync()
    assert await join_all(handles) == [1, 1]


async def test_all_may_resign_and_others_enrol():
    b = Barrier(1)
    b.resign()
    assert b.parties() == 0
    with raises(RuntimeError) as e:
        await b.sync()
    assert sentence(e.value)
    with raises(RuntimeError) as e:
        b.resign()
    assert sentence(e.value)
    b.enrol()
    assert await b.sync() == 0


async def test_processes_that_leave_resign_and_the_others_go_on():
    n = 6
    b = Barrier(n)
    log = Log()

    @csp.process
    async def leaves_after(times):
        for i in range(times):
            await b.sync()
        log.add(times)
        b.resign()

    await par(*[leaves_after(i) for i in range(n)])
    assert sorted(log.items()) == list(range(n))
    assert b.parties() == 0


# Poison


async def test_poison_ends_who_waits_and_who_comes_later():
    b = Barrier(3)
    handles = await waiting(b, 2)
    b.poison()
    assert await join_all(handles) == [POISONED, POISONED]
    with raises(csp.PoisonException):
        await b.sync()
    with raises(csp.PoisonException):
        b.enrol()
    for _ in range(5):  # as often as one likes
        b.resign()
    b.poison()
    assert b.waiting() == 0


async def test_a_round_that_was_complete_is_not_undone_by_poison():
    b = Barrier(2)
    handles = await waiting(b, 1)
    await b.sync()
    b.poison()
    assert await join_all(handles) == [1]


async def test_a_process_that_dies_poisons_the_barriers_among_its_arguments():
    b = Barrier(2)
    c = Barrier(2)

    @csp.process
    async def dies(*barriers):
        raise ValueError("dies")

    handles = await waiting(b, 1) + await waiting(c, 1)
    with raises(ValueError):
        await par(dies(b, [c]))
    assert await join_all(handles) == [POISONED, POISONED]


async def test_poison_spreads_through_processes_that_sync():
    b = Barrier(2)
    ch = csp.Channel("ch")

    @csp.process
    async def links(b, cin):
        await b.sync()

    h = csp.Spawn(links(b, ch.read))
    await until(lambda: b.waiting() == 1)
    b.poison()
    await join(h)
    assert ch.poisoned


@csp.process
async def strength_of(operation):
    try:
        await operation()
    except csp.PoisonException as er:
        return er.strength


async def test_the_strength_of_poison_reaches_who_waits_and_who_comes_later():
    for x, operation, n in (
        (Barrier(2), "sync", "waiting"),
        (Bucket(), "fall_into", "holding"),
    ):
        h = csp.Spawn(strength_of(getattr(x, operation)))
        await until(lambda: getattr(x, n)() == 1)
        x.poison(0)
        assert getattr(x, n)() == 1
        x.poison(3)
        assert await join(h) == 3
        assert await join(csp.Spawn(strength_of(getattr(x, operation)))) == 3


if AWAITABLE:

    async def test_poison_enrol_and_resign_may_be_awaited():
        b = Barrier(1)
        await b.enrol()
        await b.resign()
        await b.poison()
        with raises(csp.PoisonException):
            await b.sync()


# Together with other operations


if AWAITABLE:

    async def test_a_parallel_may_sync_at_several_barriers():
        b, c = Barrier(2, "b"), Barrier(2, "c")
        ch = csp.Channel("ch")
        h = csp.Spawn(give_and_sync(b, c, ch.write))
        assert await csp.Parallel(b.sync(), ch.read(), c.sync()) == [0, "v", 0]
        await join(h)

    @csp.process
    async def give_and_sync(b, c, cout):
        await c.sync()
        await b.sync()
        await cout("v")

    async def test_a_parallel_that_syncs_at_a_poisoned_barrier_is_poisoned():
        b, c = Barrier(2, "b"), Barrier(1, "c")
        b.poison()
        with raises(csp.PoisonException):
            await csp.Parallel(c.sync(), b.sync())

    async def test_a_parallel_syncs_with_itself():
        b = Barrier(2, "b")
        assert await csp.Parallel(b.sync(), b.sync()) == [0, 0]
        assert b.waiting() == 0


# Buckets


async def test_a_bucket_holds_processes_until_it_is_flushed():
    b = Bucket("b")
    handles = []
    for i in range(3):
        handles.append(csp.Spawn(falls(b)))
        await until(lambda: b.holding() == i + 1)
    await settle()
    assert not [h for h in handles if h.done()]
    assert b.flush() == 3
    assert await join_all(handles) == [0, 0, 0]
    assert b.holding() == 0
    assert b.flush() == 0


async def test_who_falls_in_after_a_flush_waits_for_the_next():
    b = Bucket()
    assert b.flush() == 0
    h = csp.Spawn(falls(b))
    await until(lambda: b.holding() == 1)
    await settle()
    assert not h.done()
    assert b.flush() == 1
    assert await join(h) == 0


async def test_a_flushed_process_may_fall_in_again():
    b = Bucket()

    @csp.process
    async def falls_again(times):
        for _ in range(times):
            await b.fall_into()

    h = csp.Spawn(falls_again(3))
    for _ in range(3):
        await until(lambda: b.holding() == 1)
        assert b.flush() == 1
    await join(h)


async def test_poison_empties_a_bucket():
    b = Bucket()
    handles = [csp.Spawn(falls(b)) for _ in range(2)]
    await until(lambda: b.holding() == 2)
    b.poison()
    assert await join_all(handles) == [POISONED, POISONED]
    with raises(csp.PoisonException):
        await b.fall_into()
    with raises(csp.PoisonException):
        b.flush()
    assert b.holding() == 0


async def test_many_fall_into_a_bucket_that_is_flushed_again_and_again():
    n, times = 6, 30
    b = Bucket()
    log = Log()

    @csp.process
    async def falls_often(done):
        for _ in range(times):
            await b.fall_into()
            log.add(1)
        done.add(1)

    done = Log()

    @csp.process
    async def flushes():
        flushed = 0
        while done.count() < n:
            flushed += b.flush()
            await sleep_ms(0)
        return flushed

    results = await par(flushes(), *[falls_often(done) for _ in range(n)])
    assert results[0] == log.count() == n * times


# Bad use


async def test_a_barrier_needs_a_party():
    for n in (0, -1):
        with raises(ValueError) as e:
            Barrier(n)
        assert sentence(e.value)
    for n in (1.5, "two", None):
        with raises(TypeError) as e:
            Barrier(n)  # pyright: ignore
        assert str(e.value) == "a whole number of parties is expected"


async def test_a_plain_barrier_and_a_bucket_are_no_guards():
    for x in (Barrier(1), Bucket()):
        with raises(TypeError):
            csp.Alternative(x)  # pyright: ignore


# Deadlock


def test_a_deadlock_at_a_barrier_is_reported():
    b = Barrier(3, "b")
    with raises(csp.DeadlockError) as e:
        csp.run(plain_sync(b), plain_sync(b))
    assert str(e.value) == "2 processes wait: plain_sync syncs at b, plain_sync syncs at b"
    assert b.waiting() == 0


@csp.process
async def plain_sync(b):
    await b.sync()


@csp.process
async def plain_fall(b):
    await b.fall_into()


def test_a_bucket_that_nobody_can_flush_is_a_deadlock():
    with raises(csp.DeadlockError) as e:
        csp.run(plain_fall(Bucket("b")), plain_fall(Bucket()))
    text = "2 processes wait: plain_fall falls into b, plain_fall falls into an unnamed bucket"
    assert str(e.value) == text


@csp.process
async def syncs_late(b):
    await sleep_ms(1250)
    await b.sync()


def test_a_party_that_sleeps_is_no_deadlock():
    b = Barrier(2, "b")
    csp.run(plain_sync(b), syncs_late(b))
    assert b.waiting() == 0


def test_a_barrier_that_others_resign_from_is_no_deadlock():
    b = Barrier(2, "b", external=True)
    log = Log()

    def resigns():
        until_blocking(lambda: b.waiting() == 1)
        block_ms(1250)
        log.add("resigns")
        b.resign()

    @csp.process
    async def resigns_in_a_task():
        async def late():
            await sleep_ms(1250)
            log.add("resigns")
            b.resign()

        asyncio.get_event_loop().create_task(late())
        await b.sync()

    if LIB == "uapycsp":
        csp.run(resigns_in_a_task())
    else:
        _thread.start_new_thread(resigns, ())
        csp.run(plain_sync(b))
    assert log.items() == ["resigns"] and b.waiting() == 0


# Cancellation


class Waits:
    """A task that waits; events: what has happened to it. Not own: asyncio has started it."""

    def __init__(self, operation, own=True):
        self.events = []
        self.task = None
        if own:
            csp.Spawn(self.body(operation))
        else:
            asyncio.get_event_loop().create_task(self.body(operation))

    def cancel(self):
        self.task.cancel()

    async def body(self, operation):
        self.task = asyncio.current_task()
        try:
            self.events.append(await operation())
            await sleep_ms(0)
            self.events.append("after")
        except asyncio.CancelledError:
            self.events.append("cancelled")
        self.events.append("end")

    async def ended(self):
        await until(lambda: self.events and self.events[-1] == "end")
        return self.events[:-1]


if LIB == "uapycsp":

    async def test_a_cancelled_party_is_taken_back_out():
        b = Barrier(2)
        for own in (True, False, True):
            p = Waits(b.sync, own)
            await until(lambda: b.waiting() == 1)
            p.cancel()
            assert b.waiting() == 0
            assert await p.ended() == ["cancelled"]
        handles = await waiting(b, 1)
        await b.sync()
        assert await join_all(handles) == [1]

    async def test_cancelling_any_of_several_leaves_the_others():
        for i in range(3):
            b = Barrier(4)
            parties = []
            for n in range(3):
                parties.append(Waits(b.sync, n != 1))
                await until(lambda: b.waiting() == n + 1)
            parties[i].cancel()
            assert b.waiting() == 2
            handles = await waiting(b, 1)
            await b.sync()
            assert await join_all(handles) == [1]
            for n in range(3):
                assert await parties[n].ended() == (["cancelled"] if n == i else [0, "after"])

    async def test_a_round_that_is_complete_stands_and_the_cancellation_comes_later():
        b = Barrier(2)
        for own in (True, False):
            p = Waits(b.sync, own)
            await until(lambda: b.waiting() == 1)
            await b.sync()
            p.cancel()
            assert await p.ended() == [0, "cancelled"]
            assert b.waiting() == 0

    async def test_a_cancelled_process_leaves_its_bucket():
        b = Bucket()
        p, q = Waits(b.fall_into), Waits(b.fall_into)
        await until(lambda: b.holding() == 2)
        p.cancel()
        assert b.holding() == 1
        assert b.flush() == 1
        assert await p.ended() == ["cancelled"] and await q.ended() == [0, "after"]

    async def test_a_cancelled_parallel_leaves_its_barriers():
        b, c = Barrier(2), Barrier(2)
        p = Waits(lambda: csp.Parallel(b.sync(), c.sync()))
        await until(lambda: b.waiting() == c.waiting() == 1)
        p.cancel()
        assert b.waiting() == c.waiting() == 0
        assert await p.ended() == ["cancelled"]

    async def test_a_sync_that_was_not_awaited_has_done_nothing():
        b = Barrier(2)
        b.sync().close()
        assert b.waiting() == 0

else:

    async def test_a_cancelled_party_is_taken_back_out():
        skip("threads can't be cancelled")
