"""Rule 12, further: doubt while a thread runs, and what is told when."""

import csp

from rules_support import (
    LIB,
    MICROPYTHON,
    asyncio,
    block_ms,
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
