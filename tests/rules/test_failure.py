"""Rule 5: failure is loud. A process that dies poisons its ends, and its exception comes out."""

try:
    import micropython
except ImportError:
    pass

import csp

from rules_support import (
    MICROPYTHON,
    POISONED,
    THREADS,
    Log,
    collect,
    give_from,
    idle,
    join,
    par,
    posted,
    raises,
    seq,
    skip,
    take,
    until,
)


class Broken(Exception):
    pass


class Worse(Exception):
    pass


@csp.process
async def breaks(*ends, **more):
    raise Broken("first")


@csp.process
async def breaks_when(condition, error, *ends):
    await until(condition)
    raise error


@csp.process
async def reads_for_ever(cin):
    while True:
        await cin()


@csp.process
async def selects_for_ever(cin, cout):
    alt = csp.Alternative(cin, cout.alt_pending_write(1))
    while True:
        await alt.select()


@csp.process
async def writes_for_ever(cout):
    while True:
        await cout(1)


async def test_an_exception_comes_out_of_parallel():
    a = csp.Channel("a")
    with raises(Broken) as e:
        await par(breaks(a.read))
    assert str(e.value) == "first"


async def test_a_process_that_dies_poisons_its_ends():
    a, b, c, d = [csp.Channel(n) for n in "abcd"]
    with raises(Broken):
        await par(breaks(a.read, [b.write], (None, c.read), d, cin=d.read))
    assert a.poisoned and b.poisoned and c.poisoned and d.poisoned
    with raises(Broken):
        e = csp.Channel("e")
        await par(breaks(e, [e]))
    assert not e.poisoned


async def test_neighbours_do_not_wait_for_a_process_that_died():
    a, b, c, d = [csp.Channel(n) for n in "abcd"]

    def all_wait():
        return [ch.queue_len() for ch in (a, b, c, d)] == [1, 1, 1, 1]

    with raises(Broken):
        await par(
            reads_for_ever(a.read),
            writes_for_ever(b.write),
            selects_for_ever(c.read, d.write),
            breaks_when(all_wait, Broken(), a.write, b.read, [c.write], (d.read,)),
        )
    assert idle(a, b, c, d)
    assert a.poisoned and b.poisoned and c.poisoned and d.poisoned


async def test_a_process_that_dies_halfway_through_a_chain_ends_all_of_it():
    chans = [csp.Channel("c%d" % i) for i in range(4)]
    with raises(Broken):
        await par(
            writes_for_ever(chans[0].write),
            relay(chans[0].read, chans[1].write),
            relay_until_ten(chans[1].read, chans[2].write),
            relay(chans[2].read, chans[3].write),
            reads_for_ever(chans[3].read),
        )
    assert idle(*chans)
    assert [bool(ch.poisoned) for ch in chans] == [True] * 4


@csp.process
async def relay(cin, cout):
    while True:
        await cout(await cin())


@csp.process
async def relay_until_ten(cin, cout):
    for _ in range(10):
        await cout(await cin())
    raise Broken("ten are enough")


async def test_parallel_waits_for_all_before_it_raises():
    a = csp.Channel("a")
    b = csp.Channel("b")
    log = Log()
    h = csp.Spawn(two(a, b, log))
    await until(lambda: a.poisoned and b.queue_len() == 1)
    assert not h.done()
    await b.write("go on")
    assert await join(h) == "Broken"
    assert log.items() == ["go on"]


@csp.process
async def two(a, b, log):
    try:
        await par(breaks(a.read), takes_into(b.read, log))
    except Broken:
        assert log.count() == 1
        return "Broken"


@csp.process(propagate=False)
async def takes_into(cin, log):
    log.add(await cin())


async def test_the_first_exception_in_time_is_raised():
    a = csp.Channel("a")
    with raises(Worse):
        await par(
            breaks_when(lambda: a.poisoned, Broken("second in time, first in order")),
            breaks_when(lambda: True, Worse("first in time"), a.read),
        )
    a = csp.Channel("a")
    with raises(Broken):
        await par(
            breaks_when(lambda: True, Broken("first in time"), a.read),
            breaks_when(lambda: a.poisoned, Worse("second")),
        )


@csp.process
async def follows(cin, *ends):
    try:
        await cin()
    except csp.PoisonException:
        raise Worse("what came of it")


async def test_the_first_exception_in_time_comes_out_of_nests_that_end_later():
    def nests(ch, go):
        yield csp.Parallel(breaks(ch.write), take(go.read))
        yield csp.Sequence(csp.Parallel(take(go.read), breaks(ch.write)))
        yield csp.Parallel(csp.Sequence(logs(Log(), 1), breaks(ch.write)), take(go.read))
        yield csp.Parallel(csp.Sequence(csp.Parallel(breaks(ch.write))), take(go.read))
        inner = csp.Parallel(csp.Parallel(breaks(ch.write), take(go.read)), take(go.read))
        yield csp.Sequence(csp.Sequence(logs(Log(), 2), inner), logs(Log(), 3))

    for i in range(5):
        for last in (False, True):
            ch, go = csp.Channel("c"), csp.Channel("go")
            members = [list(nests(ch, go))[i], follows(ch.read, go.write)]
            with raises(Broken):
                await par(*(reversed(members) if last else members))


async def test_the_first_exception_in_time_comes_out_of_a_sequence():
    for last in (False, True):
        ch = csp.Channel("c")
        members = [csp.Sequence(breaks(ch.write)), follows(ch.read)]
        with raises(Broken):
            await par(*(reversed(members) if last else members))


async def test_what_a_process_catches_out_of_a_nest_is_not_raised_around_it():
    ch, go = csp.Channel("c"), csp.Channel("go")
    nest = csp.Parallel(csp.Sequence(breaks(ch.write)), take(go.read))
    with raises(Worse):
        await par(catches(nest), follows(ch.read, go.write))


@csp.process
async def catches(nest):
    try:
        await par(nest)
    except Broken:
        return "caught"


async def test_a_failure_is_raised_even_if_poison_came_first():
    a = csp.Channel("a")
    a.poison()
    with raises(Broken):
        await par(reads_for_ever(a.read), breaks(), reads_for_ever(a.read))


async def test_a_failure_while_catching_poison_is_a_failure():
    a = csp.Channel("a")
    b = csp.Channel("b")
    a.poison()
    with raises(Worse):
        await par(fails_in_its_cleanup(a.read, b.write))
    assert b.poisoned


@csp.process
async def fails_in_its_cleanup(cin, cout):
    try:
        await cin()
    except csp.PoisonException:
        raise Worse("in the cleanup")


async def test_an_exception_passes_through_nested_parallels():
    a = csp.Channel("a")
    b = csp.Channel("b")
    with raises(Broken):
        await par(nests(a, b), take(b.read))
    assert idle(a, b)


@csp.process
async def nests(a, b):
    try:
        await par(reads_for_ever(a.read), breaks(a.write))
    finally:
        assert idle(a)
        b.poison()


async def test_sequence_stops_at_an_exception():
    log = Log()
    with raises(Broken):
        await seq(logs(log, 1), breaks(), logs(log, 2))
    assert log.items() == [1]


async def test_neighbours_of_members_that_a_sequence_never_starts_do_not_wait_for_them():
    a = csp.Channel("a")
    with raises(Broken):
        await par(
            csp.Sequence(
                breaks_when(lambda: a.queue_len() == 1, Broken()), reads_for_ever(a.read)
            ),
            writes_for_ever(a.write),
        )
    assert idle(a)


async def test_sequence_goes_on_after_a_poisoned_member():
    a = csp.Channel("a")
    a.poison()
    log = Log()
    assert await seq(logs(log, 1), reads_for_ever(a.read), logs(log, 2)) == [1, None, 2]
    assert log.items() == [1, 2]


@csp.process
async def logs(log, n):
    log.add(n)
    return n


async def test_spawn_raises_the_exception_where_it_is_waited_for():
    a = csp.Channel("a")
    h = csp.Spawn(breaks(a.read))
    with raises(Broken):
        await join(h)
    assert h.done() and a.poisoned


def test_run_raises_the_exception():
    a = csp.Channel("a")
    with raises(Broken):
        csp.run(breaks(a.read))
    assert a.poisoned
    b = csp.Channel("b")
    with raises(Broken):
        csp.run(breaks(b.read), take(b.write.channel().read))
    assert csp.run(returns(1)) == 1


@csp.process
async def returns(v):
    return v


def test_keyboard_interrupt_in_a_process_poisons_its_ends_and_comes_out():
    a = csp.Channel("a")
    b = csp.Channel("b")
    log = Log()
    with raises(KeyboardInterrupt):
        csp.run(
            ends_and_logs(a.read, log),
            breaks_when(lambda: a.queue_len() == 1, KeyboardInterrupt(), a.write, [b.read]),
        )
    assert a.poisoned and b.poisoned
    assert idle(a, b)
    assert log.items() == [POISONED]
    assert csp.run(returns(2)) == 2


@csp.process
async def ends_and_logs(cin, log):
    try:
        await cin()
    except csp.PoisonException:
        log.add(POISONED)


def test_system_exit_in_a_process_poisons_its_ends_and_comes_out():
    a = csp.Channel("a")
    with raises(SystemExit):
        csp.run(
            reads_for_ever(a.read),
            breaks_when(lambda: a.queue_len() == 1, SystemExit(3), a.write),
        )
    assert a.poisoned and idle(a)
    assert csp.run(returns(2)) == 2


@csp.process
async def asks_and_ends(requests, server):
    assert not requests.poisoned and not server.done()
    await requests.write(1)
    requests.poison()
    await join(server)


def test_system_exit_in_a_process_ends_nobody_elsewhere():
    if not THREADS:
        skip("a spawned process ends with its run")
    for error in (SystemExit(3), Broken()):
        requests = csp.Channel("requests", external=True)
        log = Log()
        server = csp.Spawn(collect(requests.read, log))
        with raises(type(error)):
            csp.run(fails_by(error))
        csp.run(asks_and_ends(requests, server))
        assert log.items() == [1]


@csp.process
async def fails_by(error):
    raise error


async def test_after_a_failure_the_library_works_as_before():
    for _ in range(30):
        a = csp.Channel("a")
        with raises(Broken):
            await par(reads_for_ever(a.read), breaks(a.write))
        b = csp.Channel("b")
        h = await posted(b, take(b.read), 1)
        await b.write(1)
        assert await join(h) == 1


async def test_what_a_process_did_before_it_died_stands():
    a = csp.Channel("a")
    log = Log()
    with raises(Broken):
        await par(gives_then_breaks(a.write), logs_all(a.read, log))
    assert log.items() == [0, 1, 2]


@csp.process
async def gives_then_breaks(cout):
    for i in range(3):
        await cout(i)
    raise Broken()


@csp.process
async def logs_all(cin, log):
    async for v in cin:
        log.add(v)


async def test_an_exception_keeps_its_class_text_and_identity():
    error = Worse("this very one")
    a = csp.Channel("a")
    with raises(Worse) as e:
        await par(give_from(a.write, (1,)), raises_this(error, a.read))
    assert e.value is error


@csp.process
async def raises_this(error, cin):
    await cin()
    raise error


async def test_a_write_end_of_a_dead_process_lets_what_is_buffered_be_read():
    ch = csp.BufferedChannel("c")
    log = Log()
    with raises(Broken):
        await par(gives_then_breaks(ch.write))
    assert await ch.read() == 0
    async for v in ch.read:
        log.add(v)
    assert log.items() == [1, 2]
    assert ch.poisoned


async def test_a_lack_of_memory_is_told_as_one_whatever_is_raised_after_it():
    if not MICROPYTHON:
        skip("its exceptions that find no memory are one object")
    a = csp.Channel("a")
    with raises(MemoryError):
        await par(asks_for_memory(a.write), raises_without_memory(a.read))
    h = csp.Spawn(asks_for_memory(a.write))
    await until(h.done)
    without_memory(next, iter(()))
    with raises(MemoryError):
        await join(h)


@csp.process
async def asks_for_memory(cout):
    error = without_memory(bytearray, 1000)
    assert isinstance(error, MemoryError)
    raise error


@csp.process
async def raises_without_memory(cin):
    async for _ in cin:
        pass
    error = without_memory(next, iter(()))
    assert isinstance(error, StopIteration)


def without_memory(f, arg):
    micropython.heap_lock()
    try:
        f(arg)
    except Exception as er:
        return er
    finally:
        micropython.heap_unlock()
