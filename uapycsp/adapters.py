"""Processes between channels and what lies outside: pins, timers, sensors, streams, sockets.

    run(PinEvents(button, levels.write), debounce(levels.read, presses.write), ...)

Each ends as soon as the channel that it writes to has ended, also while it waits for the outside,
and switches off what it has switched on. For that it works in a process of its own, which is
cancelled then: a cancellation ends whatever asyncio waits for.
"""

import sys

from ufuture.loop import engine
from ufuture.outside import writable
from ufuture.timeout import wait_for_ms
from cspcore.errors import PoisonException
from cspcore.isr import Ring
from uapycsp import Alternative, Channel, Closed, Every, Spawn, process

asyncio = engine.asyncio
CancelledError = engine.CancelledError
TimeoutError = engine.TimeoutError
_LINGER_MS = 2000  # how long a client that is hung up may take what was written


@process
async def _watch(closed, end):
    await closed()
    end()


async def _while_open(cout, work):
    # Do the work, a coroutine function's, until it returns True or the channel ends.
    closed = Closed(cout)
    work = watch = Spawn(work())
    try:
        watch = Spawn(_watch(closed, work.cancel))
        if await work:
            return
    except CancelledError:
        if not watch.done():
            raise  # somebody else cancels
    finally:
        watch.cancel()
        work.cancel()
    await cout(None)  # which raises what the channel has ended by


# Interrupts


@process
async def PinEvents(pin, cout, trigger=None, size=16):
    """Writes the level of a pin, 0 or 1, at each of its interrupts; ends with these switched off.

    pin: a machine.Pin. trigger: as of pin.irq; None: both edges. size: how many interrupts may
    come before the first of them is read; of more, those that find no room are dropped, and then
    the level that the pin has is written, so that the last value written is never an old one.
    """
    if size < 1:
        raise ValueError("a size of at least 1 is expected")
    ring = Ring(size)
    flag = engine.of_asyncio("ThreadSafeFlag")()
    if trigger is None:
        trigger = pin.IRQ_FALLING | pin.IRQ_RISING

    def handler(pin):
        ring.put(pin.value())
        flag.set()

    async def work():
        lost = 0
        while True:
            await flag.wait()
            n = ring.lost  # before the look at what is there: more may come meanwhile
            while not ring.is_empty():
                await cout(ring.take())
            if n != lost:
                lost = n
                await cout(pin.value())

    pin.irq(handler, trigger)
    try:
        await _while_open(cout, work)
    finally:
        pin.irq(None)


@process
async def TimerTicks(timer, cout, period_ms):
    """Writes how often a hardware timer has fired since the last write, 1 if none was missed.

    timer: a machine.Timer; it is started, and stopped at the end.
    """
    flag = engine.of_asyncio("ThreadSafeFlag")()
    fired = [0]  # counted by the handler alone

    def handler(timer):
        fired[0] = fired[0] + 1 & 0xFFFFFF
        flag.set()

    async def work():
        seen = 0
        while True:
            await flag.wait()
            n = fired[0] - seen & 0xFFFFFF
            if n:
                seen = seen + n & 0xFFFFFF
                await cout(n)

    timer.init(period=period_ms, mode=timer.PERIODIC, callback=handler)
    try:
        await _while_open(cout, work)
    finally:
        timer.deinit()


@process
async def Samples(read, cout, interval_ms):
    """Writes read() at regular moments, e.g. Samples(ADC(Pin(34)).read_u16, cout, 10).

    It does not drift. A value that nobody reads before the next moment is replaced by a new one.
    """
    beat = Every(interval_ms)
    wait = Alternative(Closed(cout), beat)
    g, n = await wait.select()
    while g is beat:
        put = cout.alt_pending_write(read())
        g, n = await Alternative(put, beat).select()
        if g is put:
            g, n = await wait.select()


# Streams


@process
async def FromStream(stream, cout, n=None):
    """Writes what comes from a stream: its lines, or with n what there is, at most n bytes.

    stream: an asyncio.StreamReader. When it ends, or fails by an OSError, cout is poisoned.
    """
    if n is not None and n < 1:
        raise ValueError("n is at least 1")

    async def work():
        try:
            while True:
                data = stream.readline() if n is None else stream.read(n)
                if data is None or isinstance(data, bytes):
                    raise TypeError("this is no asyncio stream")
                data = await data
                if not data:
                    break
                await cout(data)
        except OSError:
            pass
        return True

    await _while_open(cout, work)
    cout.poison()


@process
async def ToStream(cin, stream):
    """Writes what it reads, bytes, to a stream: an asyncio.StreamWriter.

    When the stream fails by an OSError, cin is poisoned. The stream is not closed.
    """
    await _to_stream(cin, stream)


async def _to_stream(cin, stream):
    try:
        while True:
            stream.write(await cin())
            await _drain(stream)
    except OSError:
        cin.poison()


if hasattr(engine, "core"):

    async def _drain(stream):
        # MicroPython's own notes at its end only what has gone: if it is cancelled, the next one
        # to use the stream would write all of it once more.
        if not getattr(stream, "out_buf", None):
            await stream.drain()
            return
        while stream.out_buf:
            await writable(stream.s)
            n = stream.s.write(stream.out_buf)
            if n:
                stream.out_buf = stream.out_buf[n:]

else:

    def _drain(stream):
        return stream.drain()


class _Console:
    # MicroPython's standard input. Its own `readline` would stop the loop from the first byte of a
    # line to the last one; and the return key of a terminal brings a return, not a newline.

    _last = b""  # that any of them has read: the newline of its return may come after its end

    def __init__(self, stdin):
        from select import POLLIN, poll

        self._stdin = stdin
        self._stream = engine.of_asyncio("StreamReader")(stdin)
        self._poll = poll()
        self._poll.register(stdin, POLLIN)

    async def readline(self):
        line = b""
        while True:
            # What is there already, but not without end: others are served, too.
            if len(line) & 63 and self._poll.poll(0):
                c = self._stdin.read(1)
            else:
                c = await self._stream.read(1)
            last = _Console._last
            _Console._last = c
            if c == b"\n" and last == b"\r":
                continue
            if c in b"\r\n":  # or at the end
                return line + b"\n" if c else line
            line += c


@process
async def StdinLines(cout):
    """Writes the lines of the standard input, bytes; poisons cout at its end.

    Where a terminal hands on a return, with or without a newline, that is a newline.
    """
    stdin = getattr(sys.stdin, "buffer", sys.stdin)
    if hasattr(engine, "core"):
        await FromStream(_Console(stdin), cout)
        return
    stream, end = await engine.reader(stdin)
    try:
        await FromStream(stream, cout)
    finally:
        end()


@process
async def LineServer(host, port, cout, backlog=5):
    """Listens, and writes a pair (cin, cout) for each connection: its lines, and what to answer.

    Lines are bytes with their newline. cin ends with the connection. Who poisons both ends hangs
    up, after two seconds if the client does not take what was written before. When the server's
    own channel ends it listens no more; connections go on. For want of memory one is hung up.
    """
    failure = None

    async def connected(reader, writer):
        nonlocal failure
        to_close = writer
        try:
            lines, answers = Channel("lines"), Channel("answers")
            Spawn(_connection(reader, writer, lines.write, answers.read))
            to_close = None  # the connection does it
            await cout((lines.read, answers.write))
        except BaseException as er:
            if isinstance(er, Exception) and not isinstance(er, PoisonException):
                failure = er  # no memory; asyncio would only print it
                cout.poison()
            if to_close:
                await _hang_up(to_close)
            else:
                lines.poison()
                answers.poison()
            if not isinstance(er, Exception):
                raise

    closed = Closed(cout)
    options = {"backlog": backlog}
    if not hasattr(engine, "core"):
        options["limit"] = engine.LONGEST_LINE
    server = await engine.of_asyncio("start_server")(connected, host, port, **options)
    try:
        if hasattr(engine, "core"):
            watch = Spawn(_watch(closed, server.close))
            try:
                await server.wait_closed()  # or for what its task dies of: there may be no memory
            finally:
                watch.cancel()
        else:
            await closed()  # from 3.12 on wait_closed waits for connections, too
    finally:
        server.close()
    if failure is not None:
        raise failure


@process
async def _connection(reader, writer, cout, cin):
    writes = None
    try:
        writes = Spawn(_answers(cin, writer, cout))
        await FromStream(reader, cout)
        await Closed(cin.channel().write)()
        if not hasattr(engine, "core"):  # CPython's close waits for the client, too
            loop = asyncio.get_running_loop()
            loop.call_later(_LINGER_MS / 1000, writer.transport.abort)
        await wait_for_ms(writes, _LINGER_MS)
    except TimeoutError:
        pass
    finally:
        if not hasattr(engine, "core"):
            if sys.exc_info()[0]:
                writer.transport.abort()
        if writes is not None:
            writes.cancel()
        await _hang_up(writer)


@process
async def _answers(cin, stream, cout):
    # cout is there to be poisoned if this fails: it has no memory.
    try:
        await _to_stream(cin, stream)
    except PoisonException:
        pass


async def _hang_up(writer):
    writer.close()
    try:
        await writer.wait_closed()
    except OSError:
        pass
