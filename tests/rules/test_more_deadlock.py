"""Rule 12, further: doubt while a thread runs, and what is told when."""

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    MICROPYTHON,
    asyncio,
    block_ms,
    join,
    listen,
    par,
    raises,
    skip,
    take,
    until_blocking,
)


@csp.process
async def spawns_and_returns(cin):
    csp.Spawn(take(cin))
    return "done"


@csp.process
async def reads(cin):
    return await cin()


def test_a_deadlock_is_told_only_after_the_last_thread_has_ended():
    if MICROPYTHON:
        try:
            import _thread  # noqa: F401
        except ImportError:
            skip("no threads here")
    import uthreading

    go = uthreading.Event()
    ended = []

    def works():
        go.wait()
        # Longer than the watchdog waits between two looks.
        for _ in range(8):
            block_ms(100)
        ended.append(True)

    t = uthreading.Thread(target=works)
    t.start()
    ch = csp.Channel("c")
    go.set()
    with raises(csp.DeadlockError) as e:
        csp.run(reads(ch.read))
    assert ended
    assert "reads" in str(e.value) and "c" in str(e.value)
    t.join()


def test_a_deadlock_that_follows_a_failure_tells_the_failure():
    class Oops(Exception):
        pass

    @csp.process
    async def fails():
        raise Oops("first")

    ch = csp.Channel("c")
    with raises(Oops):
        csp.run(fails(), reads(ch.read))
    assert ch.poisoned and ch.queue_len() == 0


def test_a_deadlock_of_what_was_spawned_is_no_affair_of_the_next_run():
    ch = csp.Channel("left behind", external=True)
    assert csp.run(spawns_and_returns(ch.read)) == "done"
    if LIB == "uapycsp":
        assert ch.queue_len() == 0
    else:
        until_blocking(lambda: ch.queue_len() == 1)
        ch.poison()
        until_blocking(lambda: ch.queue_len() == 0)
    with raises(csp.DeadlockError) as e:
        csp.run(reads(csp.Channel("second").read))
    assert "second" in str(e.value) and "left" not in str(e.value)


@csp.process
async def waits_in_parallel(gate, cin, last):
    await (par(gate, reads(cin)) if last else par(reads(cin), gate))


def test_the_report_names_the_guards_of_a_parallel_wherever_its_process_stands():
    for last in (True, False):
        gate, inner = csp.Channel("gate"), csp.Channel("inner")
        with raises(csp.DeadlockError) as e:
            csp.run(waits_in_parallel(gate.read, inner.read, last))
        count, waits = str(e.value).split(": ")
        assert count == "2 processes wait"
        assert sorted(waits.split(", ")) == ["reads reads inner", "waits_in_parallel reads gate"]


def test_an_open_connection_that_nobody_reads_wakes_nobody():
    if LIB != "uapycsp":
        skip("streams are uapycsp's")
    listens, host, port = listen()
    with raises(csp.DeadlockError):
        csp.run(connects_and_reads(host, port, csp.Channel("c").read))
    listens.close()


@csp.process
async def connects_and_reads(host, port, cin):
    reader, writer = await asyncio.open_connection(host, port)
    try:
        await cin()
    finally:
        writer.close()
        await writer.wait_closed()


@csp.process
async def runs(p):
    return csp.run(p)


@csp.process
async def catches(cin, cout):
    try:
        csp.run(reads(cin))
    except csp.DeadlockError as er:
        await cout(str(er))
    return "caught"


def skip_without_inner_runs():
    if LIB == "uapycsp":
        skip("a run within a run is a RuntimeError")


def test_who_catches_the_deadlock_of_an_inner_run_goes_on():
    skip_without_inner_runs()
    a, b = csp.Channel("inner"), csp.Channel("outer")
    caught, told = csp.run(catches(a.read, b.write), reads(b.read))
    assert caught == "caught"
    assert "reads inner" in told and "reads outer" in told
    assert a.poisoned and not b.poisoned


def test_the_deadlocks_of_two_inner_runs_are_caught_in_each():
    skip_without_inner_runs()
    outs = [csp.BufferedChannel("told") for _ in range(2)]
    chs = [csp.Channel("c") for _ in range(2)]
    network = [catches(chs[i].read, outs[i].write) for i in range(2)]
    assert csp.run(*network) == ["caught", "caught"]
    assert [out.queue_len() for out in outs] == [1, 1]


def test_the_deadlock_of_an_inner_run_that_nobody_catches_leaves_by_the_outer_ones():
    skip_without_inner_runs()
    inner, beside = csp.Channel("inner"), csp.Channel("beside")
    with raises(csp.DeadlockError) as e:
        csp.run(runs(runs(reads(inner.read))), reads(beside.read))
    assert "reads inner" in str(e.value) and "reads beside" in str(e.value)
    assert inner.poisoned and beside.poisoned


def test_a_deadlock_around_an_inner_run_that_was_caught_is_reported_then():
    skip_without_inner_runs()
    inner, told, never = csp.Channel("inner"), csp.BufferedChannel("told"), csp.Channel("never")
    with raises(csp.DeadlockError) as e:
        csp.run(catches(inner.read, told.write), reads(never.read))
    assert "reads never" in str(e.value) and "inner" not in str(e.value)
    assert told.queue_len() == 1


def test_an_inner_run_that_waits_for_what_was_spawned_outside_ends_with_it():
    skip_without_inner_runs()
    ch = csp.Channel("spawned")

    @csp.process
    async def asks(h):
        return await join(h)

    @csp.process
    async def main():
        return csp.run(asks(csp.Spawn(reads(ch.read))))

    with raises(csp.DeadlockError) as e:
        csp.run(main())
    assert "reads spawned" in str(e.value)


def test_the_innermost_run_that_waits_ends_and_not_one_within_it():
    skip_without_inner_runs()
    a, b, told = csp.Channel("middle"), csp.Channel("outer"), csp.BufferedChannel("told")

    @csp.process
    async def asks(h):
        await join(h)
        return "asked"

    @csp.process
    async def middle():
        return csp.run(runs(asks(csp.Spawn(reads(a.read)))), reads(a.read))

    @csp.process
    async def outer():
        with raises(csp.DeadlockError):
            csp.run(middle())
        await told.write("caught")
        await b.write("caught")

    assert csp.run(outer(), reads(b.read)) == [None, "caught"]
    assert a.poisoned and not b.poisoned


def test_what_was_spawned_in_an_inner_run_and_outlives_it_belongs_to_the_outer_one():
    skip_without_inner_runs()
    left, inner, told = [csp.Channel(name) for name in ("left", "inner", "told")]

    @csp.process
    async def main():
        csp.run(spawns_and_returns(left.read))
        with raises(csp.DeadlockError):
            csp.run(reads(inner.read))
        await told.write(left.poisoned)
        await left.write(1)
        return "done"

    assert csp.run(main(), reads(told.read)) == ["done", False]
    assert inner.poisoned


def test_what_belongs_to_no_run_goes_on_if_an_inner_run_ends():
    skip_without_inner_runs()
    served, inner = csp.Channel("served"), csp.Channel("inner")
    h = csp.Spawn(reads(served.read))

    @csp.process
    async def main():
        with raises(csp.DeadlockError):
            csp.run(reads(inner.read))
        await served.write(2)

    csp.run(main())
    if AWAITABLE:

        @csp.process
        async def asks():
            return await h

        assert csp.run(asks()) == 2
    else:
        assert join(h) == 2


def test_who_waits_for_what_belongs_to_no_run_ends_as_the_outermost_run():
    skip_without_inner_runs()
    served = csp.Channel("served")
    h = csp.Spawn(reads(served.read))

    @csp.process
    async def asks():
        return await join(h)

    with raises(csp.DeadlockError) as e:
        csp.run(runs(asks()))
    assert "reads served" in str(e.value) and served.poisoned


def test_a_run_that_waits_for_who_catches_an_inner_deadlock_goes_on():
    skip_without_inner_runs()
    inner, told = csp.Channel("inner"), csp.BufferedChannel("told")

    @csp.process
    async def asks(h):
        return await join(h)

    @csp.process
    async def main():
        return csp.run(asks(csp.Spawn(catches(inner.read, told.write))))

    assert csp.run(main()) == "caught"
    assert told.queue_len() == 1


def test_a_run_that_waited_when_another_ended_need_not_wait_in_the_next_deadlock():
    skip_without_inner_runs()
    inner, later, told = [csp.Channel(name) for name in ("inner", "later", "told")]

    @csp.process
    async def asks():
        h = await told.read()
        await join(h)
        return "asked"

    @csp.process
    async def spawns():
        with raises(csp.DeadlockError):
            csp.run(reads(inner.read))  # while the other run waits with a read
        h = csp.Spawn(reads(later.read))
        await told.write(h)
        await join(h)

    @csp.process
    async def ends():
        with raises(csp.DeadlockError) as e:
            csp.run(spawns())  # while the other run only joins what this one has spawned
        return "reads later" in str(e.value)

    assert csp.run(runs(asks()), ends()) == ["asked", True]
    assert inner.poisoned and later.poisoned and not told.poisoned


class Oops(Exception):
    pass


@csp.process
async def fails():
    raise Oops


def test_a_failure_in_the_outer_run_does_not_hide_the_deadlock_of_an_inner_one():
    skip_without_inner_runs()
    inner, told = csp.Channel("inner"), csp.BufferedChannel("told")
    with raises(Oops):
        csp.run(fails(), catches(inner.read, told.write))
    assert told.queue_len() == 1


def test_a_failure_in_an_inner_run_ends_what_waits_there_alone():
    skip_without_inner_runs()
    inner, outer = csp.Channel("inner"), csp.Channel("outer")

    @csp.process
    async def main():
        with raises(Oops):
            csp.run(fails(), reads(inner.read))
        with raises(Oops):
            csp.run(seq_of(fails(), reads(inner.read)))
        await outer.write("caught")

    @csp.process
    async def seq_of(*processes):
        await par(reads(csp.Channel("beside").read), *processes)

    assert csp.run(main(), reads(outer.read)) == [None, "caught"]
    assert not outer.poisoned


def test_runs_by_a_virtual_clock_end_their_inner_deadlocks_first_too():
    skip_without_inner_runs()
    a, b = csp.Channel("inner"), csp.Channel("outer")
    clock = csp.virtual.VirtualClock()
    caught, told = csp.run(catches(a.read, b.write), reads(b.read), clock=clock)
    assert caught == "caught" and "reads inner" in told
    assert a.poisoned and not b.poisoned


def test_an_inner_run_of_one_thread_ends_and_the_run_of_another_goes_on():
    skip_without_inner_runs()
    import uthreading

    a, b, ready = csp.Channel("inner"), csp.Channel("outer"), csp.Channel("ready")
    told = []
    t = uthreading.Thread(target=lambda: told.append(csp.run(reads(b.read), reads(ready.read))))
    t.start()
    until_blocking(lambda: ready.queue_len() == 1 and b.queue_len() == 1)

    @csp.process
    async def outer():
        with raises(csp.DeadlockError):
            csp.run(reads(a.read))
        await b.write(1)
        await ready.write(2)

    @csp.process
    async def main():
        csp.run(outer())

    csp.run(main())
    t.join()
    assert a.poisoned and told == [[1, 2]]
