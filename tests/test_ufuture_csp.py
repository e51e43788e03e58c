"""ufuture with channels: operations and processes are awaitables, and no message is lost."""

from ufuture_support import (
    KINDS,
    MICROPYTHON,
    CancelledError,
    Outcome,
    asyncio,
    raises,
    renew_loop,
    settle,
    sleep_ms,
    until,
)

import uapycsp
from ufuture import Future, TimeoutError, create_future, gather, wait_for, wait_for_ms
from uapycsp import (
    Alternative,
    BufferedChannel,
    Channel,
    DeadlockError,
    Parallel,
    PoisonException,
    Sequence,
    Spawn,
    process,
    run,
)

TIME_LIMIT = 240


@process
async def takes(cin, n=1):
    values = []
    for _ in range(n):
        values.append(await cin())
    return values


@process
async def gives(cout, *values):
    for v in values:
        await cout(v)


# Awaitables


async def test_operations_that_meet_at_once_leave_nothing_to_a_task_that_asyncio_resumed():
    ch = Channel("c")

    @process
    async def meets_itself():
        await sleep_ms(0)
        first = await Parallel(ch.read(), ch.write(1))
        await sleep_ms(0)
        return first, await Parallel(ch.read(), ch.write(2))

    assert await meets_itself() == ([1, 0], [2, 0])


async def test_operations_and_processes_are_gathered():
    a, b, c = Channel("a"), Channel("b"), Channel("c")
    results = await gather(
        a.read(),
        gives(a.write, 1),
        Parallel(takes(b.read, 2), gives(b.write, 2, 3)),
        Sequence(takes(c.read), takes(c.read)),
        c.write(4),
        gives(c.write, 5),
    )
    # c is written to by two, in an order that is not promised.
    assert sorted(results.pop(3)) == [[4], [5]]
    assert results == [1, None, [[2, 3], None], 0, None]


async def test_an_operation_is_posted_when_the_gather_is_awaited():
    a = Channel("a")
    g = gather(a.read())
    await settle()
    assert a.queue_len() == 0
    t = Outcome(g)
    await until(lambda: a.queue_len() == 1)
    await a.write("v")
    assert await t.end() == ["v"]


async def test_operations_processes_and_choices_are_limited():
    for limited in (
        lambda ms: wait_for_ms(a.read(), ms),
        lambda ms: wait_for_ms(a.write(1), ms),
        lambda ms: wait_for_ms(takes(a.read), ms),
        lambda ms: wait_for_ms(Parallel(takes(a.read)), ms),
        lambda ms: wait_for_ms(Parallel(a.read), ms),
        lambda ms: wait_for_ms(Sequence(takes(a.read)), ms),
        lambda ms: wait_for_ms(Alternative(a.read).select(), ms),
        lambda ms: wait_for_ms(gather(a.read(), a.read()), ms),
        lambda ms: wait_for_ms(Spawn(takes(Channel().read)).join(), ms),
    ):
        for kind in KINDS:
            for ms in (0, 3):
                a = Channel("a")
                with raises(TimeoutError):
                    await kind(limited(ms)).end()
                assert a.queue_len() == 0


async def test_poison_comes_out_of_gather_after_the_others_have_ended():
    a, b = Channel("a"), Channel("b")
    t = Outcome(gather(a.read(), b.read()))
    await until(lambda: a.queue_len() == b.queue_len() == 1)
    a.poison()
    await settle()
    assert not t.ends
    await b.write(1)
    with raises(PoisonException):
        await t.end()


async def test_poison_stands_among_the_results():
    a, b = Channel("a"), Channel("b")
    t = Outcome(gather(a.read(), b.read(), takes(a.read), return_exceptions=True))
    await until(lambda: a.queue_len() == 2 and b.queue_len() == 1)
    a.poison()
    await b.write(1)
    poison, value, process_s = await t.end()
    assert isinstance(poison, PoisonException)
    assert value == 1 and process_s is None


async def test_a_poll_of_a_channel_takes_what_is_there():
    for ch in (Channel("c"), BufferedChannel("b"), BufferedChannel("b", 3)):
        w = Outcome(gives(ch.write, *range(500))._await())
        got = []
        while len(got) < 500:
            await settle_until(lambda: ch.queue_len())
            got.append(await wait_for_ms(ch.read(), 0))
        assert got == list(range(500))
        await w.end()
        with raises(TimeoutError):
            await wait_for_ms(ch.read(), 0)


async def settle_until(condition):
    while not condition():
        await sleep_ms(0)


async def test_a_future_joins_a_process_and_an_asyncio_task():
    fut = create_future()
    a = Channel("a")

    async def sets():
        fut.set_result(await a.read())

    t = asyncio.get_event_loop().create_task(sets())
    assert await Parallel(gives(a.write, 7), awaits(fut)) == [None, 7]
    await t


@process
async def awaits(fut):
    return await fut


# Deadlock


def test_a_network_in_a_gather_is_watched_no_less_than_others_and_waits_for_timers():
    # Everybody waits; a member of a gather sleeps, and then writes.
    renew_loop()
    a = Channel("a")

    async def writes_later():
        await sleep_ms(700)
        await a.write("late")

    async def gathers():
        return await gather(writes_later(), return_exceptions=True)

    assert run(takes(a.read), gathers()) == [["late"], [None]]


def test_a_foreign_task_that_gathers_or_waits_for_a_future_is_no_deadlock():
    renew_loop()
    for kind in range(3):
        a = Channel("a")
        fut = Future()

        async def sleeps_and_writes():
            await sleep_ms(700)
            await a.write("late")

        async def sets():
            await sleep_ms(700)
            fut.set_result("late")

        async def foreign():
            if kind == 0:
                await gather(sleeps_and_writes())
            elif kind == 1:
                await a.write(await fut)
            else:
                await wait_for(sleeps_and_writes(), 60)

        async def main():
            loop = asyncio.get_event_loop()
            tasks = [loop.create_task(foreign())]
            if kind == 1 and MICROPYTHON:
                tasks.append(loop.create_task(sets()))
            elif kind == 1:
                loop.call_later(0.7, fut.set_result, "late")
            v = await a.read()
            for t in tasks:
                await t
            return v

        assert run(main()) == "late"


def test_a_limit_is_no_deadlock_and_a_deadlock_behind_it_is_found():
    renew_loop()
    a = Channel("a")

    async def tries():
        try:
            await wait_for_ms(a.read(), 600)
        except TimeoutError:
            return "in time"

    assert run(tries()) == "in time"

    async def tries_then_waits():
        await tries()
        await a.read()

    with raises(DeadlockError):
        run(tries_then_waits())


def test_a_deadlock_in_gathers_is_found():
    renew_loop()
    a, b, c = Channel("a"), Channel("b"), BufferedChannel("c", 0)

    async def gathers():
        await gather(a.read(), gather(takes(b.read), Parallel(c.write(1), c.write(2))))

    async def nested(n):
        await (gather(nested(n - 1), gives(c.write, 1)) if n else a.read())

    async def chooses():
        await gather(Alternative(a.read, b.read).select())

    async def one_has_ended():
        await gather(takes(a.read), gives(a.write, 1), b.read())

    async def catches():
        # The exception of the first is none of the gather's.
        values = await gather(fails(), a.read(), return_exceptions=True)
        assert [type(v) for v in values] == [OSError, PoisonException]

    async def fails():
        raise OSError

    for waits, text in (
        (gathers, "2 processes wait: gathers reads a or writes c or writes c, takes reads b"),
        (lambda: nested(3), "4 processes wait: nested reads a, "
                            "gives writes c, gives writes c, gives writes c"),
        (chooses, "1 process waits: chooses reads a or reads b"),
        (one_has_ended, "1 process waits: one_has_ended reads b"),
        (catches, "1 process waits: catches reads a"),
    ):
        a, b, c = Channel("a"), Channel("b"), BufferedChannel("c", 0)
        with raises(DeadlockError) as e:
            run(waits())
        assert str(e.value) == text
        assert a.queue_len() == b.queue_len() == c.queue_len() == 0


def test_what_failed_in_a_gather_is_raised_in_place_of_the_deadlock_that_it_leaves():
    renew_loop()
    a = Channel("a")

    async def fails():
        raise OSError("broken")

    async def gathers():
        await gather(a.read(), fails())

    with raises(OSError):
        run(gathers())


def test_a_gather_that_may_go_on_is_no_deadlock():
    renew_loop()
    for kind in range(4):
        a, outside = Channel("a"), Channel("outside", external=True)
        fut, event = Future(), asyncio.Event()

        async def waits():
            if kind == 0:
                return await fut
            if kind == 1:
                await event.wait()
                return "late"
            if kind == 2:
                return await outside.read()
            return await wait_for_ms(a.read(), 60000)

        async def foreign():
            await sleep_ms(700)
            if kind == 0:
                fut.set_result("late")
            elif kind == 1:
                event.set()
            elif kind == 2:
                await outside.write("late")
            else:
                await a.write("late")

        async def gathers():
            t = asyncio.get_event_loop().create_task(foreign())
            values = await gather(waits(), gather(waits()) if kind < 2 else gather())
            await t
            return values

        assert run(gathers())[0] == "late"


# Nothing lost, nothing doubled


class Chance:
    def __init__(self, seed):
        self.seed = seed

    def below(self, n):
        self.seed = (self.seed * 1103515245 + 12345) & 0x3FFFFFFF
        return (self.seed >> 12) % n


async def limited_at_random(chance, operation):
    """One operation under some limit; None if it did not come to happen."""
    ms = chance.below(4)
    way = chance.below(4)
    try:
        if way == 0:
            return (await wait_for_ms(operation(), ms),)
        if way == 1:
            return (await wait_for(wait_for_ms(operation(), ms), 60),)
        if way == 2:
            return (await wait_for_ms(gather(operation()), ms))
        return (await wait_for_ms(wait_for_ms(operation(), chance.below(4)), ms),)
    except TimeoutError:
        return None


async def test_messages_under_random_limits_arrive_once_and_in_order():
    for make in (Channel, BufferedChannel, lambda: BufferedChannel("c", 2)):
        for seed in range(6):
            chance = Chance(seed + 1)
            ch = make()
            n = 60
            sent, got = [], []

            async def writes():
                i = 0
                while i < n:
                    if await limited_at_random(chance, lambda: ch.write(i)) is not None:
                        sent.append(i)
                        i += 1
                    await sleep_ms(chance.below(2))

            async def reads():
                while len(got) < n:
                    v = await limited_at_random(chance, ch.read)
                    if v is not None:
                        got.append(v[0])

            await Parallel(writes(), reads())
            assert got == list(range(n)), seed
            ch.verify()
            assert ch.queue_len() == 0


async def test_messages_under_random_limits_and_cancels_arrive_once():
    for seed in range(8):
        chance = Chance(seed + 100)
        ch = Channel("c")
        n = 60
        got, sent = [], []
        tasks = []

        async def read_and_keep():
            v = await limited_at_random(chance, ch.read)
            if v is not None:
                got.append(v[0])

        async def write(i):
            sent.append((i, await limited_at_random(chance, lambda: ch.write(i))))

        for i in range(n):
            kind = KINDS[chance.below(2)]
            tasks.append(kind(read_and_keep()))
            tasks.append(KINDS[chance.below(2)](write(i)))
            if chance.below(2):
                await sleep_ms(chance.below(3))
            for _ in range(chance.below(3)):
                tasks[chance.below(len(tasks))].cancel()
        await until(lambda: all(t.ends for t in tasks))
        ch.verify()
        # What was given back waits in the channel.
        while ch.queue_len():
            got.append(await ch.read())
        for t in tasks:
            assert t.exception is None or isinstance(t.exception, CancelledError)
        written = [i for i, done in sent if done is not None]
        assert len(set(got)) == len(got), (seed, "a message came twice")
        missing = [i for i in written if i not in got]
        assert not missing, (seed, "a message was lost")
        # A write that was cancelled may have happened, or not; no other message appears.
        assert all(v in range(n) for v in got)


def test_the_whole_is_what_uapycsp_gives():
    assert uapycsp.Channel is Channel
