"""Guards of events, flags and streams beside channels, in one choice."""

import socket

import csp

from rules_support import (
    LIB,
    MICROPYTHON,
    POISONED,
    Log,
    asyncio,
    choose,
    idle,
    join,
    listen,
    par,
    posted,
    raises,
    sentence,
    settle,
    skip,
    sleep_ms,
    until,
)

if LIB == "uapycsp":
    On, Readable, Writable = csp.guards.On, csp.guards.Readable, csp.guards.Writable

VARIANTS = ("uapycsp",)


def tasks():
    """How many tasks wait in asyncio's queue, or are not done."""
    if not MICROPYTHON:
        return len(asyncio.all_tasks())
    queue = asyncio.core._task_queue
    taken = []
    while queue.peek() is not None:
        task = queue.peek()
        taken.append((task, task.ph_key, task.data))
        queue.remove(task)
    for task, key, data in taken:
        queue.push(task, key) if hasattr(queue, "push") else queue.push_sorted(task, key)
        task.data = data
    return len(taken)


def watched():
    if MICROPYTHON:
        return len(asyncio.core._io_queue.map)
    from ufuture import cpython

    return len(cpython._watched)


def flag_state(flag):
    return flag.state if hasattr(flag, "state") else flag._flag  # before 1.20


def waiting(event):
    """How many wait for an event."""
    if MICROPYTHON:
        return 0 if event.waiting.peek() is None else 1
    return len(event._waiters)


def flag():
    if not MICROPYTHON:
        skip("CPython's asyncio has no ThreadSafeFlag")
    return asyncio.ThreadSafeFlag()


def pair():
    """Two connected sockets that do not block."""
    if hasattr(socket, "socketpair"):
        a, b = socket.socketpair()
    else:
        server, host, port = listen()
        a = socket.socket()
        a.connect(socket.getaddrinfo(host, port)[0][-1])
        b = server.accept()[0]
        server.close()
    a.setblocking(False)
    b.setblocking(False)
    return a, b


async def test_an_event_that_is_set_is_ready_and_stays_set():
    c = csp.Channel("c")
    event = asyncio.Event()
    on = On(event)
    alt = csp.Alternative(c.read, on)
    h = await posted(c, choose_of(alt), 1)
    await settle()
    assert not h.done()
    event.set()
    assert await join(h) == (on, None)
    assert await alt.select() == (on, None)
    assert event.is_set() and not waiting(event)
    event.clear()
    h = await posted(c, choose_of(alt), 1)
    await c.write(1)
    assert await join(h) == (c.read, 1)
    assert idle(c) and not waiting(event)


@csp.process(propagate=False)
async def choose_of(alt, ready=None):
    return await alt.select(ready=ready)


async def test_nothing_is_left_when_another_guard_is_chosen_or_the_select_is_cancelled():
    c = csp.Channel("c")
    event = asyncio.Event()
    alt = csp.Alternative(c.read, On(event))
    await settle()
    before = tasks()
    for _ in range(5):
        h = await posted(c, choose_of(alt), 1)
        assert waiting(event)
        await c.write(1)
        assert await join(h) == (c.read, 1)
        assert not waiting(event)
        h = await posted(c, choose_of(alt), 1)
        h.cancel()
        with raises(asyncio.CancelledError):
            await join(h)
        assert not waiting(event)
    await settle()
    assert tasks() == before and idle(c)


async def test_of_an_event_and_a_message_in_one_moment_one_is_chosen():
    for set_first in (True, False):
        c = csp.Channel("c")
        event = asyncio.Event()
        on = On(event)
        h = await posted(c, choose_of(csp.Alternative(c.read, on)), 1)
        if set_first:
            event.set()
        writer = csp.Spawn(writes(c.write, "v"))
        if not set_first:
            await until(lambda: not c.queue_len())
            event.set()
        g, v = await join(h)
        if g is on:
            assert await c.read() == "v"
        else:
            assert v == "v"
        assert await join(writer) == 0 and idle(c) and not waiting(event)


@csp.process(propagate=False)
async def writes(cout, v):
    return await cout(v)


async def test_an_event_set_and_cancelled_in_one_moment_leaves_nothing():
    c = csp.Channel("c")
    event = asyncio.Event()
    alt = csp.Alternative(c.read, On(event))
    for _ in range(3):
        h = await posted(c, choose_of(alt), 1)
        event.set()
        event.clear()
        h.cancel()
        with raises(asyncio.CancelledError):
            await join(h)
        assert idle(c) and not waiting(event)


async def test_a_flag_is_cleared_exactly_if_it_is_chosen():
    f = flag()
    c = csp.BufferedChannel("c")
    on = On(f)
    alt = csp.Alternative(c.read, on)
    f.set()
    await c.write(1)
    assert await alt.select() == (c.read, 1)
    assert flag_state(f)
    assert await alt.select() == (on, None)
    assert not flag_state(f)
    h = csp.Spawn(choose_of(alt))
    await until(lambda: c._read_queue is not None)
    await settle()
    assert not h.done()
    f.set()
    assert await join(h) == (on, None)
    assert not flag_state(f) and not watched() and idle(c)


async def test_a_flag_set_while_another_guard_wins_or_the_select_is_cancelled_stays_set():
    f = flag()
    c = csp.Channel("c")
    alt = csp.Alternative(c.read, On(f))
    h = await posted(c, choose_of(alt), 1)
    f.set()
    await c.write(1)
    assert (await join(h))[1] in (1, None)
    if not flag_state(f):  # it was chosen: the message waits
        assert await c.read() == 1
        f.set()
    h = csp.Spawn(choose_of(alt, [True, False]))
    await until(c.queue_len)
    await settle()
    assert flag_state(f) and not h.done()
    await c.write(2)
    assert await join(h) == (c.read, 2)
    assert flag_state(f) and not watched()
    await f.wait()  # clears it
    h = await posted(c, choose_of(alt), 1)
    f.set()
    h.cancel()
    with raises(asyncio.CancelledError):
        await join(h)
    assert flag_state(f) and not watched() and idle(c)


async def test_a_flag_is_not_cleared_by_a_select_that_is_cancelled_while_it_gives_way():
    f = flag()
    on = On(f)
    alt = csp.Alternative(on)
    for pauses in range(5):
        f.set()
        h = csp.Spawn(choose_of(alt))
        for _ in range(pauses):
            await sleep_ms(0)
        h.cancel()
        try:
            assert await join(h) == (on, None)
            assert not flag_state(f)
        except asyncio.CancelledError:
            assert flag_state(f)


async def test_a_stream_is_readable_and_writable_in_a_choice():
    a, b = pair()
    c = csp.Channel("c")
    readable, writable = Readable(a), Writable(a)
    alt = csp.Alternative(c.read, readable)
    assert await csp.Alternative(writable, c.read).select() == (writable, None)
    h = await posted(c, choose_of(alt), 1)
    await c.write("v")
    assert await join(h) == (c.read, "v")
    assert not watched()
    h = await posted(c, choose_of(alt), 1)
    b.send(b"hello")
    assert await join(h) == (readable, None)
    assert a.recv(10) == b"hello"
    h = await posted(c, choose_of(alt), 1)
    h.cancel()
    with raises(asyncio.CancelledError):
        await join(h)
    assert not watched()
    b.close()  # the end of the stream can be read
    assert await alt.select() == (readable, None)
    assert a.recv(10) == b""
    a.close()
    assert idle(c)


async def fill(a):
    """Sends until there is no room, nor any a little later; how many bytes."""
    sent, before = 0, -1
    while sent > before:
        before = sent
        try:
            while True:
                sent += a.send(b"x" * 4096)
        except OSError:
            await sleep_ms(20)  # the system may have had no time yet to move them to the other end
    return sent


async def receive(b, n):
    """Receives n bytes, of which some may be on their way, and returns what came last."""
    last = b""

    def comes():
        nonlocal n, last
        try:
            while n:
                last = b.recv(min(n, 65536))
                n -= len(last)
        except OSError:  # nothing there yet
            return False
        return True

    await until(comes)
    return last


async def test_a_stream_that_is_full_is_waited_for():
    a, b = pair()
    c = csp.Channel("c")
    sent = await fill(a)
    writable = Writable(a)
    h = await posted(c, choose_of(csp.Alternative(c.read, writable)), 1)
    await settle()
    assert not h.done()
    await receive(b, sent)
    assert await join(h) == (writable, None)
    assert not watched() and idle(c)
    a.close()
    b.close()


async def test_who_waits_for_the_other_direction_of_a_stream_goes_on():
    a, b = pair()
    c, d = csp.Channel("c"), csp.Channel("d")
    readable, writable = Readable(a), Writable(a)
    for kept, other in ((writable, readable), (readable, writable)):
        sent = await fill(a)
        h = await posted(c, choose_of(csp.Alternative(c.read, kept)), 1)
        h2 = await posted(d, choose_of(csp.Alternative(d.read, other)), 1)
        await d.write(1)
        assert await join(h2) == (d.read, 1)
        await settle()
        assert not h.done() and watched() == 1
        await receive(b, sent)
        if kept is readable:
            await settle()
            assert not h.done()
            b.send(b"x")
        assert await join(h) == (kept, None)
        if kept is writable:
            b.send(b"x")
        assert await receive(a, 1) == b"x"
        assert not watched() and idle(c) and idle(d)
    a.close()
    b.close()


async def test_a_stream_for_which_there_is_no_memory_is_not_polled():
    if not MICROPYTHON:
        skip("what CPython's selectors keep is not kept by halves")
    io = asyncio.core._io_queue
    poller = io.poller
    calls = []

    class Scarce:
        def register(self, stream, flags):
            calls.append(1)
            if len(calls) < 4:
                raise MemoryError
            poller.register(stream, flags)

        def unregister(self, stream):
            calls.append(-1)
            poller.unregister(stream)

    a, b = pair()
    c = csp.Channel("c")
    for guard in (Readable(a), Writable(a)):
        sent = await fill(a)
        calls.clear()
        io.poller = Scarce()
        try:
            with raises(MemoryError):
                await csp.Alternative(c.read, guard).select()
        finally:
            io.poller = poller
        assert calls == [1, 1, 1, 1, -1]
        assert not watched() and idle(c)
        h = await posted(c, choose_of(csp.Alternative(c.read, guard)), 1)
        await receive(b, sent)
        b.send(b"x")
        assert await join(h) == (guard, None)
        await receive(a, 1)
    a.close()
    b.close()


async def test_what_another_one_waits_for_is_refused():
    a, b = pair()
    c, d = csp.Channel("c"), csp.Channel("d")
    h = await posted(c, choose_of(csp.Alternative(c.read, Readable(a))), 1)
    with raises(RuntimeError) as e:
        await csp.Alternative(d.read, Readable(a)).select()
    assert sentence(e.value) and idle(d)
    on = On(asyncio.Event())
    with raises(RuntimeError) as e:
        await csp.Alternative(on, d.read, on).select()
    assert sentence(e.value) and idle(d)
    b.send(b"x")
    await join(h)
    assert not watched()
    a.close()
    b.close()


async def test_a_stream_that_a_task_of_asyncio_waits_for_is_left_to_it():
    a, b = pair()
    c = csp.Channel("c")
    if MICROPYTHON:
        task = asyncio.create_task(asyncio.StreamReader(a).read(5))
    else:
        task = asyncio.create_task(asyncio.get_running_loop().sock_recv(a, 5))
    await settle()
    with raises(RuntimeError) as e:
        await csp.Alternative(c.read, Readable(a)).select()
    assert sentence(e.value) and idle(c)
    b.send(b"bytes")
    assert await task == b"bytes"
    assert not watched()
    a.close()
    b.close()


async def test_bad_guards_raise():
    for bad in (None, 5, csp.Channel("c").read, "x"):
        for Kind in (On, Readable, Writable):
            with raises(TypeError) as e:
                Kind(bad)
            assert sentence(e.value)


async def test_all_kinds_together_and_none_is_lost():
    c = csp.Channel("c")
    a, b = pair()
    event = asyncio.Event()
    log = Log()
    await par(chooser(c.read, a, event, log), feeder(c.write, b, event))
    items = log.items()
    assert [v for v in items if isinstance(v, int)] == list(range(20))
    assert items.count("byte") == 20 and items.count("event") == 20
    assert not watched() and not waiting(event) and idle(c)
    a.close()
    b.close()


@csp.process
async def chooser(cin, stream, event, log):
    on, readable = On(event), Readable(stream)
    alt = csp.Alternative(cin, on, readable)
    for _ in range(60):
        g, v = await alt.fair_select()
        if g is on:
            event.clear()
            log.add("event")
        elif g is readable:
            assert stream.recv(1) == b"x"
            log.add("byte")
        else:
            log.add(v)


@csp.process
async def feeder(cout, stream, event):
    for i in range(20):
        assert stream.send(b"x") == 1
        event.set()
        await cout(i)
        while event.is_set():
            await sleep_ms(0)


def test_a_network_that_waits_for_an_event_is_no_deadlock():
    async def main():
        event = asyncio.Event()
        on = On(event)
        h = csp.Spawn(choose_of(csp.Alternative(csp.Channel("c").read, on)))
        await sleep_ms(1200)
        event.set()
        assert await join(h) == (on, None)

    csp.run(main())


def test_poison_and_failure_leave_nothing_outside():
    event = asyncio.Event()
    c = csp.Channel("c")

    async def main():
        h = await posted(c, choose(c.read, On(event)), 1)
        assert waiting(event)
        c.poison()
        assert await join(h) == POISONED
        assert not waiting(event)

    csp.run(main())


@csp.process
async def waits_for_value(ch, event):
    return (await csp.Alternative(ch.read, On(event)).select())[1]


def test_an_event_that_is_set_in_the_turn_in_which_another_guard_was_chosen():
    told = []

    async def main():
        if not MICROPYTHON:
            asyncio.get_running_loop().set_exception_handler(lambda *args: told.append(args))
        for before in (False, True):
            event, ch = asyncio.Event(), csp.Channel("c")
            h = csp.Spawn(waits_for_value(ch, event))
            await settle()
            if before:
                event.set()
            await ch.write(1)
            event.set()
            await settle()
            assert await join(h) == 1
            assert not waiting(event)
        # And one that is cleared again before anything else runs is not told to the next choice.
        event, ch = asyncio.Event(), csp.Channel("c")
        alt = csp.Alternative(ch.read, On(event))
        h = csp.Spawn(choose_of(alt))
        await settle()
        await ch.write(2)
        event.set()
        event.clear()
        assert (await join(h))[1] == 2
        h = csp.Spawn(choose_of(alt))
        await settle()
        await ch.write(3)
        assert (await join(h))[1] == 3

    csp.run(main())
    assert not told
