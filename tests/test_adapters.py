"""uapycsp.adapters: cancellation and asyncio's streams; see rules/test_adapters.py."""

from ufuture_support import MICROPYTHON, SkipTest, asyncio, raises, settle, sleep_ms, until

from uapycsp import Channel, RetireException, Spawn, process, run
from uapycsp.adapters import FromStream, LineServer, PinEvents, ToStream
from ufuture import Future

TIME_LIMIT = 240


class FakePin:
    IRQ_FALLING = 1
    IRQ_RISING = 2

    def __init__(self):
        self.handler = None

    def irq(self, handler, trigger=None):
        self.handler = handler


async def fails_with(p, exception):
    """Awaits a process, which has to raise."""
    with raises(exception):
        await p


def test_cancelled_it_switches_off():
    if not MICROPYTHON:  # CPython's asyncio has no ThreadSafeFlag
        return
    pin = FakePin()

    async def main():
        h = Spawn(PinEvents(pin, Channel().write))
        await until(lambda: pin.handler is not None)
        h.cancel()
        await fails_with(h, asyncio.CancelledError)

    run(main())
    assert pin.handler is None


# Streams


class FakeReader:
    """A stream that has some lines, then waits for `more`, or fails, or ends."""

    def __init__(self, lines, then=b""):
        self.lines = list(lines)
        self.then = then

    async def readline(self):
        if self.lines:
            return self.lines.pop(0)
        if self.then is None:
            while True:
                await sleep_ms(1000)
        if isinstance(self.then, Exception):
            raise self.then
        return self.then

    async def read(self, n):
        data = await self.readline()
        return data[:n]


@process
async def collect(cin):
    got = []
    async for v in cin:
        got.append(v)
    return got


def test_lines_of_a_stream_until_it_ends_or_fails():
    for then in (b"", OSError(104)):
        ch = Channel("lines")
        stream = FakeReader([b"one\n", b"two"], then)
        assert run(FromStream(stream, ch.write), collect(ch.read))[1] == [b"one\n", b"two"]


def test_bytes_of_a_stream():
    ch = Channel("bytes")
    stream = FakeReader([b"one\n", b"two"])
    assert run(FromStream(stream, ch.write, 3), collect(ch.read))[1] == [b"one", b"two"]


def test_another_failure_of_a_stream_is_raised():
    ch = Channel("lines")
    with raises(ValueError):
        run(FromStream(FakeReader([b"one\n"], ValueError("odd")), ch.write), collect(ch.read))
    assert ch.poisoned


def test_what_is_given_a_wrong_end_reads_nothing():
    stream = FakeReader([b"one\n"], None)

    async def main():
        await fails_with(FromStream(stream, Channel().read), TypeError)
        await sleep_ms(1)

    run(main())
    assert stream.lines == [b"one\n"]


def test_a_stream_that_blocks_is_refused():
    class Blocking:
        def readline(self):
            return b"one\n"

        def read(self, n):
            return None

    for n in (None, 1):
        ch = Channel("lines")
        with raises(TypeError):
            run(FromStream(Blocking(), ch.write, n), collect(ch.read))
        assert ch.poisoned


def test_poison_ends_who_waits_for_a_stream():
    ch = Channel("lines")

    @process
    async def reads_one(cin):
        line = await cin()
        cin.poison()
        return line

    stream = FakeReader([b"one\n"], None)
    assert run(FromStream(stream, ch.write), reads_one(ch.read))[1] == b"one\n"


def test_it_ends_as_its_channel_does():
    # Poison of a strength keeps it; and a channel that its readers left is not poisoned.
    @process
    async def relays(begin, cin, cout):
        await begin
        await cout(await cin())

    async def main():
        for waits in (0, 1):
            stream = FakeReader([b"one\n"] * waits, None)
            border, lines, begin = Channel("border", immunity=1), Channel("lines"), Future()
            h = Spawn(FromStream(stream, lines.write))
            other = Spawn(relays(begin, lines.read, border.write))
            await until(lambda: lines.queue_len() == waits)
            lines.poison(1)
            await h
            begin.set_result(None)
            await other
            assert lines.poisoned and not border.poisoned

            lines, stream = Channel("lines"), FakeReader([b"one\n"] * waits, None)
            reader, writer = lines.reader(), lines.writer()
            h = Spawn(FromStream(stream, lines.writer()))
            await settle()
            reader.retire()
            await h
            with raises(RetireException):
                await writer(b"two\n")

    run(main())


class FakeWriter:
    def __init__(self, room):
        self.room = room
        self.written = []

    def write(self, data):
        self.written.append(data)

    async def drain(self):
        if len(self.written) > self.room:
            raise OSError(32)


def test_a_stream_takes_what_is_read():
    ch = Channel("out")

    @process
    async def writes(cout, n):
        for i in range(n):
            await cout(b"%d" % i)
        cout.poison()

    stream = FakeWriter(10)
    run(writes(ch.write, 3), ToStream(ch.read, stream))
    assert stream.written == [b"0", b"1", b"2"]

    ch = Channel("out")
    stream = FakeWriter(1)
    run(writes(ch.write, 5), ToStream(ch.read, stream))
    assert stream.written == [b"0", b"1"] and ch.poisoned


def test_what_has_gone_when_it_is_cancelled_does_not_go_once_more():
    if not MICROPYTHON:
        raise SkipTest("its transports keep account themselves")
    import io

    class Uart(io.IOBase):
        room = 4
        got = b""

        def write(self, data):
            n = min(len(data), self.room)
            self.got += bytes(data[:n])
            self.room -= n
            return n or None

        def ioctl(self, request, arg):
            if request != 3:
                return -1  # it has no number of a file
            return arg & 4 if self.room else 0

    uart = Uart()
    stream = asyncio.StreamWriter(uart)

    async def main(line, room):
        ch = Channel("out")
        Spawn(ToStream(ch.read, stream))  # it ends with the run
        await ch.write(line)
        for n in room:
            uart.room += n
            await until(lambda: not uart.room)

    run(main(b"0123456789\n", (3, 2)))
    assert uart.got == b"012345678"
    run(main(b"next\n", (1, 6)))
    assert uart.got == b"0123456789\nnext\n"


def test_a_server_does_not_wait_for_its_connections():
    if MICROPYTHON:
        raise SkipTest("its wait_closed waits for who listens alone")
    events = []

    class Server:
        def close(self):
            events.append("closed")

        async def wait_closed(self):  # as from 3.12 on, while there is a connection
            events.append("waits")

    async def start(*args, **options):
        return Server()

    usual = asyncio.start_server
    asyncio.start_server = start
    try:
        ch = Channel("connections")
        ch.poison()
        run(LineServer("localhost", 1, ch.write))
    finally:
        asyncio.start_server = usual
    assert events == ["closed"]
