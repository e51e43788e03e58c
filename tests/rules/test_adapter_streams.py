"""Adapters of blocking streams: all that comes is written, and no thread stays in a read."""

# csp is taken for uapycsp, whose streams are others.
# pyright: reportArgumentType=false

import io
import socket

import csp

from rules_support import (
    MICROPYTHON,
    Log,
    block_ms,
    collect,
    give_from,
    idle,
    join,
    listen,
    par,
    posted,
    raises,
    settle,
    skip,
)

VARIANTS = ("aio", "upycsp")

adapters = csp.adapters


def pair():
    """Two ends of a connection."""
    server, host, port = listen()
    a = socket.socket()
    a.connect(socket.getaddrinfo(host, port)[0][-1])
    b = server.accept()[0]
    server.close()
    return a, b


async def lines_of(stream, n=None):
    """What FromStream makes of a stream that ends."""
    ch = csp.Channel("lines")
    log = Log()
    await par(adapters.FromStream(stream, ch.write, n), collect(ch.read, log))
    assert ch.poisoned
    assert idle(ch)
    return log.items()


class Lines:
    """A stream of a user's: it can't be polled. Then it ends, fails or has nothing."""

    def __init__(self, lines, then=b""):
        self.lines = list(lines)
        self.then = then

    def readline(self):
        if self.lines:
            return self.lines.pop(0)
        if isinstance(self.then, Exception):
            raise self.then
        return self.then

    def read(self, n):
        data = self.readline()
        return data and data[:n]


async def test_lines_of_a_connection():
    a, b = pair()
    for data in (b"one\ntw", b"o\n\nthr", b"ee"):
        a.send(data)
        block_ms(1)
    a.close()
    assert await lines_of(b) == [b"one\n", b"two\n", b"\n", b"three"]
    b.close()


async def test_a_long_line():
    a, b = pair()
    ch = csp.Channel("lines")
    h = csp.Spawn(adapters.FromStream(b, ch.write))
    line = b"0123456789" * 200 + b"\n"
    for i in range(3):
        a.send(line)
        assert await ch.read() == line
    ch.poison()
    await join(h)
    a.close()
    b.close()


async def test_bytes_of_a_connection():
    a, b = pair()
    a.send(b"one\ntwo")
    a.close()
    got = await lines_of(b, 3)
    assert b"".join(got) == b"one\ntwo"
    assert max([len(data) for data in got]) <= 3
    b.close()


async def test_poison_ends_who_waits_for_a_connection():
    for end in ("poison", "close"):
        a, b = pair()
        ch = csp.Channel("lines")
        h = csp.Spawn(adapters.FromStream(b, ch.write))
        a.send(b"one\ntw")  # it waits in the middle of a line
        assert await ch.read() == b"one\n"
        await settle()
        assert not h.done()
        getattr(ch, end)()
        assert await join(h) is None
        assert idle(ch)
        b.send(b"still open\n")
        assert a.recv(20) == b"still open\n"
        a.close()
        b.close()


async def test_poison_ends_who_waits_to_write_a_line():
    a, b = pair()
    ch = csp.Channel("lines")
    a.send(b"one\n")
    h = await posted(ch, adapters.FromStream(b, ch.write), 1)
    ch.read.poison()
    assert await join(h) is None
    a.close()
    b.close()


async def test_a_file():
    data = b"one\ntwo\nthree"
    assert await lines_of(io.BytesIO(data)) == [b"one\n", b"two\n", b"three"]
    assert b"".join(await lines_of(io.BytesIO(data), 4)) == data
    with open(__file__, "rb") as f:
        expected = f.read()
    with open(__file__, "rb") as f:
        got = await lines_of(f)
    assert b"".join(got) == expected
    assert got[0].startswith(b'"""Adapters')


async def test_a_stream_that_cannot_be_polled():
    for then in (b"", OSError(104)):
        stream = Lines([b"one\n", b"tw", None, b"o\n"], then)
        assert await lines_of(stream) == [b"one\n", b"two\n"]
        assert await lines_of(Lines([b"one", None, b"two"], then), 2) == [b"on", b"tw"]


async def test_poison_ends_who_reads_nothing_again_and_again():
    ch = csp.Channel("lines")
    h = csp.Spawn(adapters.FromStream(Lines([b"one\n"], None), ch.write))
    assert await ch.read() == b"one\n"
    ch.poison()
    await join(h)


async def test_another_failure_of_a_stream_is_raised():
    ch = csp.Channel("lines")
    with raises(ValueError):
        await par(
            adapters.FromStream(Lines([b"one\n"], ValueError("odd")), ch.write),
            collect(ch.read, Log()),
        )
    assert ch.poisoned


if MICROPYTHON:

    class Wire(io.IOBase):
        """As a UART: what can't be had at once is None; select can ask it."""

        def __init__(self):
            self.log = Log()
            self.waiting = b""
            self.room = 3
            self.singly = False

        def read(self, n):
            data = self.waiting[:n]
            self.waiting = self.waiting[n:]
            return data or None

        def write(self, data):
            if not self.room:
                self.room = 3
                return None
            data = bytes(data[: self.room])
            self.room -= len(data)
            for b in data:
                self.log.add(b)
            return len(data)

        def ioctl(self, request, arg):
            if request != 3:
                return -1
            return arg & (1 if self.waiting else 0)

    class Uart(Wire):
        def any(self):
            return len(self.waiting)


def need_wires():
    if not MICROPYTHON:
        skip("CPython polls what has a file descriptor")


async def test_what_select_can_ask():
    need_wires()
    for wire in (Wire(), Uart()):
        ch = csp.Channel("lines")
        h = csp.Spawn(adapters.FromStream(wire, ch.write))
        for data in (b"one\n", b"two\nthree\n"):
            wire.waiting = data
            for line in data.split(b"\n")[:-1]:
                assert await ch.read() == line + b"\n"
        ch.poison()
        await join(h)
        ch = csp.Channel("bytes")
        h = csp.Spawn(adapters.FromStream(wire, ch.write, 4))
        wire.waiting = b"onetwo"
        assert await ch.read() == b"onet"
        assert await ch.read() == b"wo"
        ch.poison()
        await join(h)


async def test_what_a_stream_takes_by_and_by():
    need_wires()
    wire = Uart()
    ch = csp.Channel("out")
    await par(ends_after(ch.write, [b"one two three", b"four"]), adapters.ToStream(ch.read, wire))
    assert bytes(wire.log.items()) == b"one two threefour"


@csp.process
async def ends_after(cout, values):
    for v in values:
        await cout(v)
    cout.poison()


class Writes:
    """A stream of a user's, which has room for so many."""

    def __init__(self, room, result):
        self.room = room
        self.log = Log()
        self.result = result

    def write(self, data):
        if self.log.count() == self.room:
            raise OSError(32)
        self.log.add(bytes(data))
        return self.result and len(data)


async def test_a_stream_takes_what_is_read():
    values = [b"0", b"11", b"", b"222"]
    for result in (None, True):
        stream = Writes(10, result)
        ch = csp.Channel("out")
        await par(ends_after(ch.write, values), adapters.ToStream(ch.read, stream))
        assert b"".join(stream.log.items()) == b"011222"
        stream = Writes(1, result)
        ch = csp.Channel("out")
        await par(give_from(ch.write, values), adapters.ToStream(ch.read, stream))
        assert stream.log.items() == [b"0"]
        assert ch.poisoned


async def test_a_connection_takes_what_is_read():
    a, b = pair()
    n = 300
    line = b"0123456789" * 40 + b"\n"
    out, back = csp.Channel("out"), csp.Channel("back")
    h = csp.Spawn(adapters.ToStream(out.read, a))
    k = csp.Spawn(adapters.FromStream(b, back.write))
    writes = csp.Spawn(give_from(out.write, [line] * n))
    for _ in range(n):
        assert await back.read() == line
    await join(writes)
    out.poison()
    await join(h)
    a.close()
    await join(k)  # the connection ends
    b.close()


async def test_a_buffer_of_cpython_is_emptied():
    if MICROPYTHON:
        skip("it has none")
    import os

    r, w = os.pipe()
    ch, back = csp.Channel("out"), csp.Channel("back")
    with os.fdopen(r, "rb") as reads, os.fdopen(w, "wb") as writes:
        h = csp.Spawn(adapters.ToStream(ch.read, writes))
        k = csp.Spawn(adapters.FromStream(reads, back.write))
        for i in range(3):
            await ch.write(b"%d\n" % i)
            assert await back.read() == b"%d\n" % i
        ch.poison()
        back.poison()
        await join(h)
        await join(k)


async def test_asyncio_streams_are_refused():
    class Foreign:
        async def readexactly(self, n):
            pass

        async def drain(self):
            pass

    ch = csp.Channel()
    with raises(TypeError):
        await par(adapters.FromStream(Foreign(), ch.write))
    ch = csp.Channel()
    with raises(TypeError):
        await par(adapters.ToStream(ch.read, Foreign()))
    with raises(TypeError):
        await par(adapters.FromStream(io.BytesIO(b"x"), csp.Channel().read))


class Again:
    """Refuses each first write of a piece, as a stream that would have to wait."""

    def __init__(self):
        self.taken = []
        self.calls = 0

    def write(self, data):
        self.calls += 1
        if self.calls % 2:
            raise OSError(11)
        self.taken.append(bytes(data))
        return len(data)


async def test_what_a_stream_refuses_for_now_is_written_again():
    stream = Again()
    ch = csp.Channel("ch")
    await par(ends_after(ch.write, [b"one", b"two"]), adapters.ToStream(ch.read, stream))
    assert stream.taken == [b"one", b"two"]


if MICROPYTHON:

    class Bytes(io.IOBase):
        """Gives one byte at a time; None: there is nothing yet, a number: that error."""

        def __init__(self, *pieces):
            self.pieces = list(pieces)

        def ioctl(self, request, argument):
            return 1 if request == 3 else -1

        def read(self, n):
            piece = self.pieces.pop(0) if len(self.pieces) > 1 else self.pieces[0]
            if piece is None or isinstance(piece, int):
                raise OSError(11 if piece is None else piece)
            return piece


async def test_what_was_read_before_an_error_is_not_lost():
    if not MICROPYTHON:
        skip("CPython polls no class of Python")
    assert await lines_of(Bytes(b"h", b"i", 5), 100) == [b"hi"]
    pieces = Bytes(b"h", b"e", None, b"l", b"o", b"\n", b"")
    assert await lines_of(pieces) == [b"helo\n"]


async def test_a_buffered_stream_that_does_not_block_is_waited_for():
    if MICROPYTHON:
        skip("its streams keep nothing back")

    class Buffered:
        raw = None
        full = 3

        def write(self, data):
            return len(data)

        def flush(self):
            if self.full:
                self.full -= 1
                raise BlockingIOError(11, "write could not complete without blocking", 0)

    ch = csp.Channel("c")
    stream = Buffered()
    h = csp.Spawn(adapters.ToStream(ch.read, stream))
    await ch.write(b"one")
    await ch.write(b"two")
    assert not stream.full
    ch.poison()
    await join(h)
