"""Farms and pmap: each value is worked on once, and its result comes out once."""

import sys

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    POISONED,
    THREADS,
    Log,
    asyncio,
    collect,
    give_from,
    idle,
    join,
    par,
    raises,
    sentence,
    settle,
    sleep_ms,
    take,
    until,
)

Farm = csp.pool.Farm
pmap = csp.pool.pmap
HEAP = "8M"


@csp.process
async def gives(cout, values):
    for v in values:
        await cout(v)
    cout.poison()


async def values_of(cin):
    values = []
    async for v in cin:
        values.append(v)
    return values


takes_all = csp.process(values_of)


def double(v):
    return 2 * v


async def through(make, values):
    """What comes out of a farm; its channels are poisoned then."""
    a, b = csp.Channel("a"), csp.Channel("b")
    got = (await par(gives(a.write, values), make(a.read, b.write), takes_all(b.read)))[2]
    assert a.poisoned and b.poisoned and idle(a, b)
    return got


async def test_a_farm_keeps_the_order_of_values():
    for n in (1, 2, 5):
        for values in ((), (1,), range(40)):
            assert await through(Farm(double, n), values) == [2 * v for v in values]


async def test_a_farm_that_keeps_no_order_loses_and_doubles_nothing():
    for n in (1, 4):
        got = await through(Farm(double, n, ordered=False), range(100))
        assert sorted(got) == [2 * v for v in range(100)]


async def test_a_farm_has_all_kinds_of_values():
    values = [None, (1, 2), [3], "x", csp.PoisonException]
    got = await through(Farm(lambda v: v, 2), values)
    assert len(got) == len(values)
    for v, w in zip(got, values):
        assert v is w


async def test_a_farm_is_used_again_and_several_times_at_once():
    farm = Farm(double, 2)
    assert await through(farm, range(5)) == [0, 2, 4, 6, 8]
    a, b, c = [csp.Channel(n) for n in "abc"]
    got = await par(
        gives(a.write, range(20)),
        farm(a.read, b.write),
        farm(b.read, c.write),
        takes_all(c.read),
    )
    assert got[3] == [4 * v for v in range(20)]


class Gates:
    """A function that waits for its value to be let through; by threads or by coroutines."""

    def __init__(self):
        self.began = Log()
        self.open = Log()

    async def work(self, v):
        self.began.add(v)
        while not self.open.has(v):
            await sleep_ms(1)
        return v


async def test_so_many_values_are_worked_on_at_once():
    a, b = csp.Channel("a"), csp.Channel("b")
    gates = Gates()
    h = csp.Spawn(Farm(gates.work, 3)(a.read, b.write))
    giver = csp.Spawn(give_from(a.write, range(5)))
    await until(lambda: gates.began.count() == 3 and a.queue_len() == 1)
    await settle()
    assert sorted(gates.began.items()) == [0, 1, 2] and a.queue_len() == 1
    gates.open.add(1)
    await until(lambda: gates.began.count() == 4)
    assert gates.began.items()[3] == 3 and not b.queue_len()
    gates.open.add(0)
    assert [await b.read(), await b.read()] == [0, 1]
    for v in (2, 3, 4):
        gates.open.add(v)
    assert [await b.read(), await b.read(), await b.read()] == [2, 3, 4]
    await join(giver)
    a.poison()
    await join(h)
    assert b.poisoned


async def test_results_out_of_order_come_when_they_are_there():
    a, b = csp.Channel("a"), csp.Channel("b")
    gates = Gates()
    h = csp.Spawn(Farm(gates.work, 3, ordered=False)(a.read, b.write))
    giver = csp.Spawn(give_from(a.write, range(3)))
    await until(lambda: gates.began.count() == 3)
    for v in (2, 0, 1):
        gates.open.add(v)
        assert await b.read() == v
    await join(giver)
    b.poison()
    a.poison()
    await join(h)


async def test_a_slow_value_holds_back_no_more_than_twice_the_workers():
    a, b = csp.Channel("a"), csp.Channel("b")
    gates = Gates()
    for v in range(1, 20):
        gates.open.add(v)
    h = csp.Spawn(Farm(gates.work, 3)(a.read, b.write))
    giver = csp.Spawn(give_from(a.write, range(20)))
    await until(lambda: gates.began.count() == 6)
    await settle()
    assert gates.began.count() == 6 and not b.queue_len()
    gates.open.add(0)
    got = []
    for _ in range(20):
        got.append(await b.read())
    assert got == list(range(20))
    await join(giver)
    a.poison()
    await join(h)


# Failure


def without_end():
    # What takes such values ends by its failure or not at all.
    v = 0
    while True:
        yield v
        v += 1


def fails_at_3(v):
    if v == 3:
        raise ValueError("three")
    return v


async def test_an_exception_ends_the_farm():
    for ordered in (True, False):
        a, b = csp.Channel("a"), csp.Channel("b")
        log = Log()
        with raises(ValueError) as e:
            await par(
                gives(a.write, without_end()),
                Farm(fails_at_3, 2, ordered)(a.read, b.write),
                collect(b.read, log),
            )
        assert str(e.value) == "three"
        assert a.poisoned and b.poisoned and idle(a, b)
        got = log.items()
        assert len(set(got)) == len(got) and 3 not in got
        assert LIB != "uapycsp" or len(got) <= 5


async def test_a_failure_is_reported_in_its_place_and_the_farm_goes_on():
    got = await through(Farm(fails_at_3, 2, failures="report"), range(7))
    failure = got.pop(3)
    assert got == [0, 1, 2, 4, 5, 6]
    assert isinstance(failure, csp.pool.Failure)
    assert failure.value == 3 and isinstance(failure.exception, ValueError)
    assert "3" in repr(failure) and "three" in repr(failure)


async def test_all_may_fail():
    def fails(v):
        raise KeyError(v)

    got = await through(Farm(fails, 3, False, "report"), range(20))
    assert sorted([f.value for f in got]) == list(range(20))


class Broken(Exception):
    pass


class Flaky:
    """Raises for a value so many times, then doubles it."""

    def __init__(self, times):
        self.log = Log()
        self.times = times

    def __call__(self, v):
        self.log.add(v)
        if self.log.items().count(v) <= self.times.get(v, 0):
            raise Broken(v)
        return 2 * v


async def test_a_value_that_fails_is_tried_again():
    for ordered in (True, False):
        flaky = Flaky({1: 1, 3: 2})
        got = await through(Farm(flaky, 2, ordered, retries=2), range(5))
        assert sorted(got) == [0, 2, 4, 6, 8] and (not ordered or got == sorted(got))
        assert sorted(flaky.log.items()) == [0, 1, 1, 2, 3, 3, 3, 4]


async def test_after_the_last_retry_a_failure_is_one():
    flaky = Flaky({1: 1, 2: 3})
    got = await through(Farm(flaky, 1, failures="report", retries=1), range(4))
    assert got[:2] == [0, 2] and got[3] == 6
    assert got[2].value == 2 and isinstance(got[2].exception, Broken)
    assert flaky.log.items() == [0, 1, 1, 2, 2, 3]
    with raises(Broken):
        await through(Farm(Flaky({2: 3}), 1, retries=2), range(4))


class Device:
    """What a worker works with; it breaks for some values."""

    def __init__(self, log):
        self.log = log
        self.uses = 0
        self.broken = False
        log.add("made")

    def use(self, v):
        assert not self.broken
        self.uses += 1
        if v == "bad":
            self.broken = True
            raise Broken
        return v, self.uses


async def test_each_worker_has_its_own_state_and_makes_it_when_it_is_needed():
    log = Log()
    got = await through(Farm(Device.use, 3, setup=lambda: Device(log)), range(12))
    assert [v for v, uses in got] == list(range(12))
    made = log.count()
    assert 1 <= made <= 3
    assert sum([1 for v, uses in got if uses == 1]) == made
    assert await through(Farm(Device.use, 3, setup=lambda: Device(log)), ()) == []
    assert log.count() == made


async def test_state_is_made_anew_after_an_exception():
    log = Log()
    make = Farm(Device.use, 1, failures="report", setup=lambda: Device(log))
    got = await through(make, ("a", "bad", "b", "c"))
    assert isinstance(got[1], csp.pool.Failure)
    assert got[0] == ("a", 1) and got[2:] == [("b", 1), ("c", 2)]
    assert log.count() == 2


async def test_a_retry_has_new_state():
    log = Log()
    make = Farm(Device.use, 1, failures="report", retries=2, setup=lambda: Device(log))
    got = await through(make, ("bad", "a"))
    assert isinstance(got[0], csp.pool.Failure) and got[1] == ("a", 1)
    assert log.count() == 4


async def test_a_setup_that_raises_is_a_failure_of_the_value_it_was_for():
    log = Log()

    def connect():
        log.add("tried")
        if log.count() < 3:
            raise Broken
        return 10

    def add(x, v):
        return x + v

    got = await through(Farm(add, 1, failures="report", setup=connect), (1, 2, 3, 4))
    assert [type(x) is csp.pool.Failure for x in got] == [True, True, False, False]
    assert got[2:] == [13, 14] and log.count() == 3
    log = Log()
    assert await through(Farm(add, 1, retries=2, setup=connect), (1, 2)) == [11, 12]


async def test_poison_is_not_tried_again():
    log = Log()

    def meets(v):
        log.add(v)
        raise csp.PoisonException("mine")

    a, b = csp.Channel(), csp.Channel()
    farm = Farm(meets, 1, failures="report", retries=5)(a.read, b.write)
    assert (await par(give_from(a.write, (1, 2, 3)), farm, takes_all(b.read)))[2] == []
    assert log.items() == [1]


async def test_a_function_that_meets_poison_ends_the_farm():
    def meets_poison(v):
        raise csp.PoisonException("elsewhere")

    for failures in ("end", "report"):
        assert await through(Farm(meets_poison, 2, failures=failures), range(4)) == []


# Poison


async def test_values_that_are_worked_on_when_the_input_ends_come_out():
    for ordered in (True, False):
        for end in ("poison", "close"):
            a, b = csp.Channel("a"), csp.Channel("b")
            gates = Gates()
            h = csp.Spawn(Farm(gates.work, 3, ordered)(a.read, b.write))
            for v in range(3):
                await a.write(v)
            await until(lambda: gates.began.count() == 3)
            getattr(a, end)()
            await settle()
            assert not b.poisoned
            for v in range(3):
                gates.open.add(v)
            got = [await b.read(), await b.read(), await b.read()]
            assert sorted(got) == [0, 1, 2]
            with raises(csp.PoisonException):
                await b.read()
            await join(h)


async def test_a_farm_hands_on_how_its_input_has_ended():
    a, b = csp.Channel("a"), csp.Channel("b")
    source, other = a.writer(), b.writer()
    h = csp.Spawn(Farm(double, 2)(a.read, b.writer()))
    source.retire()
    await join(h)
    assert not b.poisoned
    giver = csp.Spawn(give_from(other, ["other"]))
    assert await b.read() == "other"
    await join(giver)
    a, b = csp.Channel("a"), csp.Channel("b")
    h = csp.Spawn(Farm(double, 2)(a.read, b.write))
    a.poison(3)
    await join(h)
    with raises(csp.PoisonException) as e:
        await b.read()
    assert e.value.strength == 3


async def test_poison_of_the_output_reaches_the_input():
    a, b = csp.Channel("a"), csp.Channel("b")
    b.poison()
    await par(give_from(a.write, range(1000)), Farm(double, 3)(a.read, b.write))
    assert a.poisoned


async def test_poison_of_an_idle_farm_ends_it():
    a, b = csp.Channel("a"), csp.Channel("b")
    h = csp.Spawn(Farm(double, 3)(a.read, b.write))
    reader = csp.Spawn(take(b.read))
    await until(lambda: a.queue_len() == b.queue_len() == 1)
    a.poison()
    await join(h)
    assert await join(reader) == POISONED


def test_an_idle_farm_is_a_deadlock():
    a, b = csp.Channel("a"), csp.Channel("b")
    with raises(csp.DeadlockError) as e:
        csp.run(Farm(double, 2)(a.read, b.write))
    assert "manage reads done or reads a" in str(e.value)


# pmap


async def test_pmap_gives_the_results_in_order():
    for n in (1, 3, 100):
        for values in ([], [5], range(30), "abc", [(1, 2), [3], None]):
            assert await pmap(lambda v: [v], values, n) == [[v] for v in values]


async def test_pmap_takes_any_iterable():
    def numbers():
        for i in range(10):
            yield i

    assert await pmap(double, numbers(), 3) == [2 * i for i in range(10)]


async def test_the_function_may_be_an_end_of_a_channel():
    ch = csp.BufferedChannel("ch")
    assert await pmap(ch.write, [1, 2, 3], 2) == [0, 0, 0]
    assert await through(Farm(ch.write, 2), [4, 5]) == [0, 0]  # its end is that of its arguments
    got = await values_of(ch.read)
    assert sorted(got[:3]) == [1, 2, 3] and sorted(got[3:]) == [4, 5]
    ch = csp.BufferedChannel("connections")
    await ch.write("a connection")
    farm = Farm(lambda state, v: (state, v), 1, setup=ch.read)
    assert await through(farm, [6, 7]) == [("a connection", 6), ("a connection", 7)]
    calls = csp.meeting.CallChannel("calls")
    h = csp.Spawn(serves(calls.serve, 3))
    assert await pmap(calls.call, [8, 9, 10], 2) == [16, 18, 20]
    await join(h)


@csp.process
async def serves(serve, n):
    for _ in range(n):
        await serve(double)


async def test_the_values_may_come_from_a_channel_where_that_is_iterated_over():
    ch = csp.BufferedChannel("ch")
    for v in range(4):
        await ch.write(v)
    ch.close()
    if AWAITABLE:
        with raises(TypeError):
            await pmap(double, ch.read, 2)  # pyright: ignore
    else:
        assert await pmap(double, ch.read, 2) == [0, 2, 4, 6]  # pyright: ignore
        assert ch.poisoned


async def test_pmap_works_on_so_many_values_at_once():
    gates = Gates()
    h = csp.Spawn(maps(gates, 6, 2))
    for v in range(6):
        await until(lambda: gates.began.count() == min(6, v + 2))
        await settle()
        assert gates.began.count() == min(6, v + 2)
        gates.open.add(v)
    assert await join(h) == list(range(6))


@csp.process
async def maps(gates, count, n):
    return await pmap(gates.work, range(count), n)


async def test_pmap_has_no_more_workers_than_there_are_values():
    module = sys.modules["upycsp.process" if THREADS else "uapycsp.process"]
    alive = module._alive if THREADS else module.alive
    lock = sys.modules["upycsp.wait"].lock if THREADS else None

    def workers(v):
        if THREADS:
            lock.acquire()
        n = len([p for p in alive.each() if p.name == "collect"])
        if THREADS:
            lock.release()
        return n

    for values in ([0], (0,), {0: None}, {0}, range(1), "0", b"0"):
        # None if it runs on the thread of the process that waits for it.
        assert await pmap(workers, values, 20) in ([1], [0])


async def test_pmap_raises_what_the_function_raises():
    done = Log()

    def fails(v):
        if v == 3:
            raise ValueError("three")
        done.add(v)

    with raises(ValueError) as e:
        await pmap(fails, without_end(), 3)
    assert str(e.value) == "three"
    assert LIB != "uapycsp" or done.count() < 10


async def test_pmap_raises_what_the_values_raise():
    def numbers():
        yield 1
        raise KeyError("no more")

    with raises(KeyError):
        await pmap(double, numbers(), 3)


async def test_pmap_of_a_function_that_meets_poison_has_no_result():
    def meets_poison(v):
        if v == 2:
            raise csp.PoisonException("elsewhere")

    assert await pmap(meets_poison, range(4), 2) is None


async def test_pmap_of_values_that_meet_poison_has_no_result():
    def numbers():
        yield 1
        yield 2
        raise csp.PoisonException("elsewhere")

    assert await pmap(double, numbers(), 2) is None


async def test_bad_use_of_farms_and_pmap_raises_at_once():
    for make in (lambda f, n: Farm(f, n), lambda f, n: pmap(f, [1], n)):
        with raises(ValueError) as e:
            make(double, 0)
        assert sentence(e.value)
        with raises(TypeError) as e:
            make(7, 1)
        assert sentence(e.value)
        for n in (1.5, "two", None):
            with raises(TypeError) as e:
                make(double, n)
            assert str(e.value) == "a whole number of workers is expected"
    with raises(ValueError) as e:
        Farm(double, 1, failures="ignore")  # pyright: ignore
    assert sentence(e.value)
    with raises(ValueError) as e:
        Farm(double, 1, retries=-1)
    assert sentence(e.value)
    with raises(TypeError) as e:
        Farm(double, 1, retries=1.5)  # pyright: ignore
    assert sentence(e.value)
    for setup in (7, "x"):
        with raises(TypeError) as e:
            Farm(double, 1, setup=setup)  # pyright: ignore
        assert sentence(e.value)
    with raises(TypeError):
        pmap(double, 7, 1)  # pyright: ignore


if AWAITABLE:

    async def test_the_function_may_use_channels():
        ch = csp.Channel("ch")

        @csp.process
        async def answers(cin, n):
            total = 0
            for _ in range(n):
                total += await cin()
            return total

        async def tells(v):
            await ch.write(v)
            return v

        got = await csp.Parallel(answers(ch.read, 10), pmap(tells, range(10), 3))
        assert got == [45, list(range(10))]

    async def test_pmap_takes_what_its_values_are_when_it_starts():
        values = []
        p = pmap(double, values, 3)
        values += [1, 2]
        assert await p == [2, 4]

    async def test_a_result_with_one_method_of_a_coroutine_is_a_result():
        class Sends:  # as a socket
            def send(self, data):
                pass

        class Throws:
            def throw(self, ball):
                pass

        results = [Sends(), Throws()]
        assert await pmap(lambda i: results[i], range(2), 2) == results

    async def test_setup_may_be_an_async_def():
        async def connect():
            await sleep_ms(1)
            return 10

        async def add(x, v):
            await sleep_ms(0)
            return x + v

        assert await through(Farm(add, 2, setup=connect), range(4)) == [10, 11, 12, 13]


if LIB == "uapycsp":

    async def test_a_cancelled_farm_poisons_its_ends():
        a, b = csp.Channel("a"), csp.Channel("b")
        gates = Gates()
        h = csp.Spawn(Farm(gates.work, 2)(a.read, b.write))
        await par(give_from(a.write, range(2)))
        await until(lambda: gates.began.count() == 2)
        h.cancel()
        with raises(asyncio.CancelledError):
            await h
        assert a.poisoned and b.poisoned

    async def test_cancelling_pmap_ends_its_workers():
        ended = []

        async def slow(v):
            try:
                await sleep_ms(60000)
            finally:
                ended.append(v)

        h = csp.Spawn(pmap(slow, range(10), 3))
        await settle()
        h.cancel()
        with raises(asyncio.CancelledError):
            await h
        assert sorted(ended) == [0, 1, 2]
