"""Rule 12, further: doubt while a thread runs, and what is told when."""

import csp

from rules_support import (
    LIB,
    MICROPYTHON,
    asyncio,
    block_ms,
    join,
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


def test_an_open_connection_that_nobody_reads_wakes_nobody():
    if LIB != "uapycsp":
        skip("streams are uapycsp's")
    import socket

    listens = socket.socket()
    for port in range(47300, 47400):
        try:
            listens.bind(socket.getaddrinfo("127.0.0.1", port)[0][-1])
            break
        except OSError:
            pass
    listens.listen(1)
    with raises(csp.DeadlockError):
        csp.run(connects_and_reads(port, csp.Channel("c").read))
    listens.close()


@csp.process
async def connects_and_reads(port, cin):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
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
