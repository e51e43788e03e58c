"""uapycsp.adapters: each brings all that comes, ends with its channel, and switches off."""

import socket

from ufuture_support import MICROPYTHON, asyncio, raises, sleep_ms, ticks_ms, until

from uapycsp import Alternative, BufferedChannel, Channel, Spawn, Timer, process, run
from uapycsp.adapters import FromStream, LineServer, PinEvents, Samples, TimerTicks, ToStream
from uapycsp.virtual import VirtualClock

TIME_LIMIT = 240


class FakePin:
    IRQ_FALLING = 1
    IRQ_RISING = 2

    def __init__(self):
        self.level = 1
        self.handler = None

    def value(self):
        return self.level

    def irq(self, handler, trigger=None):
        self.handler = handler
        self.trigger = trigger

    def change(self, level):
        self.level = level
        self.handler(self)


class FakeTimer:
    PERIODIC = 1

    def __init__(self):
        self.callback = None

    def init(self, period, mode, callback):
        self.settings = period, mode
        self.callback = callback

    def deinit(self):
        self.callback = None


async def fails_with(p, exception):
    """Awaits a process, which has to raise."""
    with raises(exception):
        await p


if MICROPYTHON:  # CPython's asyncio has no ThreadSafeFlag

    def test_a_pin_tells_its_levels():
        pin = FakePin()
        ch = Channel("levels")

        @process
        async def presses(cin):
            await until(lambda: pin.handler is not None)
            assert pin.trigger == 3
            got = []
            for level in (0, 1, 0):
                pin.change(level)
                got.append(await cin())
            pin.change(1)
            pin.change(0)
            got.append(await cin())
            got.append(await cin())
            cin.poison()
            return got

        assert run(PinEvents(pin, ch.write), presses(ch.read))[1] == [0, 1, 0, 1, 0]
        assert pin.handler is None

    def test_a_flood_of_interrupts_ends_with_the_level_that_is():
        pin = FakePin()
        ch = Channel("levels")

        @process
        async def floods(cin):
            await until(lambda: pin.handler is not None)
            for i in range(101):
                pin.change(i & 1)
            pin.level = 7
            got = [await cin(), await cin(), await cin()]
            cin.poison()
            return got

        assert run(PinEvents(pin, ch.write, 1, size=2), floods(ch.read))[1] == [0, 1, 7]
        assert pin.trigger is None and pin.handler is None

    def test_poison_ends_who_waits_for_an_interrupt():
        for end in ("poison", "close"):
            pin = FakePin()
            timer = FakeTimer()
            levels, ticks = Channel("levels"), Channel("ticks")

            @process
            async def ends():
                await until(lambda: pin.handler is not None and timer.callback is not None)
                getattr(levels, end)()
                getattr(ticks, end)()

            run(PinEvents(pin, levels.write), TimerTicks(timer, ticks.write, 5), ends())
            assert pin.handler is None and timer.callback is None

    def test_a_pin_that_fails_fails_the_network():
        class Broken(FakePin):
            def value(self):
                raise ValueError("no such pin")

        pin = Broken()
        ch = Channel("levels")

        @process
        async def presses():
            await until(lambda: pin.handler is not None)
            with raises(ValueError):
                pin.change(0)  # in the handler, where nobody but the port can tell it
            ch.poison()

        run(PinEvents(pin, ch.write), presses())
        assert pin.handler is None

    def test_a_timer_counts_what_was_missed():
        timer = FakeTimer()
        ch = Channel("ticks")

        @process
        async def fires(cin):
            await until(lambda: timer.callback is not None)
            assert timer.settings == (20, 1)
            timer.callback(timer)
            got = [await cin()]
            for _ in range(5):
                timer.callback(timer)
            got.append(await cin())
            cin.poison()
            return got

        assert run(TimerTicks(timer, ch.write, 20), fires(ch.read))[1] == [1, 5]
        assert timer.callback is None

    def test_a_handler_takes_no_memory():
        import micropython

        pin = FakePin()
        timer = FakeTimer()
        ch = BufferedChannel("both")

        @process
        async def fires():
            await until(lambda: pin.handler is not None and timer.callback is not None)
            micropython.heap_lock()
            try:
                for i in range(40):
                    pin.handler(pin)
                    timer.callback(timer)
            finally:
                micropython.heap_unlock()
            ch.poison()

        run(PinEvents(pin, ch.write), TimerTicks(timer, ch.write, 20), fires())

    def test_cancelled_it_switches_off():
        pin = FakePin()

        async def main():
            h = Spawn(PinEvents(pin, Channel().write))
            await until(lambda: pin.handler is not None)
            h.cancel()
            await fails_with(h, asyncio.CancelledError)

        run(main())
        assert pin.handler is None


# Sampling, by a clock that jumps


def test_samples_come_at_regular_moments():
    clock = VirtualClock()
    ch = Channel("samples")

    @process
    async def reads(cin):
        got = []
        for _ in range(3):
            got.append(await cin())
        await Alternative(Timer(ms=35)).select()  # slow: two values are replaced
        got.append(await cin())
        got.append(await cin())
        cin.poison()
        return got

    got = run(Samples(clock.now_ms, ch.write, 10), reads(ch.read), clock=clock)[1]
    assert got == [10, 20, 30, 60, 70]


def test_sampling_ends_while_it_waits_for_its_moment():
    clock = VirtualClock()
    ch = Channel("samples")

    @process
    async def ends():
        await Alternative(Timer(5)).select()
        ch.poison()

    taken = []
    run(Samples(lambda: taken.append(1), ch.write, 3600000), ends(), clock=clock)
    assert not taken and clock.now_ms() == 5000


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


def test_poison_ends_who_waits_for_a_stream():
    ch = Channel("lines")

    @process
    async def reads_one(cin):
        line = await cin()
        cin.poison()
        return line

    stream = FakeReader([b"one\n"], None)
    assert run(FromStream(stream, ch.write), reads_one(ch.read))[1] == b"one\n"


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


# A server


def free_port():
    if not MICROPYTHON:
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        s.close()
        return port
    # Another run of the tests may look for one at the same time.
    first = 20000 + ticks_ms() % 10000
    for port in range(first, first + 1000):
        s = socket.socket()
        try:
            s.bind(socket.getaddrinfo("127.0.0.1", port)[0][-1])
            return port
        except OSError:
            pass
        finally:
            s.close()
    raise OSError("no port is free")


@process
async def echo(cin, cout):
    while True:
        line = await cin()
        await cout(line.upper())


@process
async def accept(cin, n):
    sessions = []
    for _ in range(n):
        lines, answers = await cin()
        sessions.append(Spawn(echo(lines, answers)))
    for h in sessions:
        await h
    cin.poison()


async def talk(port, words):
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            break
        except OSError:
            await sleep_ms(5)
    got = []
    for word in words:
        writer.write(word + b"\n")
        await writer.drain()
        got.append((await reader.readline()).strip())
    writer.close()
    await writer.wait_closed()
    return got


def test_a_server_serves_several_at_once():
    port = free_port()
    ch = Channel("connections")
    results = run(
        LineServer("127.0.0.1", port, ch.write),
        accept(ch.read, 3),
        talk(port, [b"one", b"two"]),
        talk(port, [b"three"]),
        talk(port, []),
    )
    assert results[2:] == [[b"ONE", b"TWO"], [b"THREE"], []]


def test_who_poisons_both_ends_hangs_up():
    port = free_port()
    ch = Channel("connections")

    @process
    async def hangs_up(cin):
        lines, answers = await cin()
        await answers(b"bye\n")
        answers.poison()
        lines.poison()
        cin.poison()

    async def listens():
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                break
            except OSError:
                await sleep_ms(5)
        first, second = await reader.readline(), await reader.readline()
        writer.close()
        return first, second

    assert run(LineServer("127.0.0.1", port, ch.write), hangs_up(ch.read), listens())[2] == (
        b"bye\n",
        b"",
    )


def test_a_server_listens_no_more_when_its_channel_has_ended():
    port = free_port()
    for _ in range(2):  # the second finds the port free again
        ch = Channel("connections")

        @process
        async def one(cin):
            assert await talk(port, []) == []
            cin.poison()

        @process
        async def takes(cin):
            lines, answers = await cin()
            answers.poison()

        run(LineServer("127.0.0.1", port, ch.write), one(ch.read), takes(ch.read))
