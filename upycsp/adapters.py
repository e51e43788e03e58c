"""Processes between channels and what lies outside, for threads: as uapycsp's.

    run(PinEvents(button, levels.write), debounce(levels.read, presses.write), ...)

Interrupts leave what they bring in a channel of upycsp.isr; who reads from it waits for the end of
the channel that it writes to, too. upycsp.streams tells how a thread waits for a stream.
"""

import sys

from upycsp import process  # first, for it takes the most room to be compiled
from upycsp import Alternative, Channel, Closed, Every, PoisonException, Spawn
from upycsp.isr import InterruptChannel
from upycsp.streams import Console, check, copy_from, end_of, serve, write_all


def build(process, Channel, plain):
    """The adapters, by name, of a library with these; plain(end) is the end for plain calls."""

    @process
    def PinEvents(pin, cout, trigger=None, size=16):
        """Writes the level of a pin, 0 or 1, at each of its interrupts; see uapycsp's."""
        _pin_events(pin, cout, plain(cout), trigger, size)

    @process
    def TimerTicks(timer, cout, period_ms):
        """Writes how often a hardware timer has fired since the last write, 1 if none was missed.

        timer: a machine.Timer; it is started, and stopped at the end.
        """
        _timer_ticks(timer, cout, plain(cout), period_ms)

    @process
    def Samples(read, cout, interval_ms):
        """Writes read() at regular moments, e.g. Samples(ADC(Pin(34)).read_u16, cout, 10).

        It does not drift. A value that nobody reads before the next moment gives way to a new one.
        """
        _samples(read, cout, interval_ms)

    @process
    def FromStream(stream, cout, n=None):
        """Writes what comes from a stream: its lines, or with n what there is, at most n bytes.

        stream: a blocking one. When it ends, or fails by an OSError, cout is poisoned.
        """
        copy_from(stream, cout, plain(cout), n)

    @process
    def ToStream(cin, stream):
        """Writes what it reads, bytes, to a stream, which it does not close.

        When the stream fails by an OSError, cin is poisoned.
        """
        _to_stream(cin, plain(cin), stream)

    @process
    def StdinLines(cout):
        """Writes the lines of the standard input, bytes; poisons cout at its end; see uapycsp."""
        stdin = getattr(sys.stdin, "buffer", sys.stdin)
        console = Console() if sys.implementation.name == "micropython" else None
        copy_from(stdin, cout, plain(cout), None, console)

    @process
    def LineServer(host, port, cout, backlog=5):
        """Listens, and writes a pair (cin, cout) for each connection: its lines, what to answer.

        As uapycsp's. Each connection takes two threads; for want of them it is hung up, too.
        """
        write = plain(cout)

        def connect(s):
            lines = None
            try:
                lines, answers = Channel("lines"), Channel("answers")
                Spawn(_connection(s, lines.write, answers.read))
                plain(lines.read)()  # it has begun, and will close s
            except BaseException as er:
                s.close()
                if lines is not None:
                    lines.poison()
                if isinstance(er, (PoisonException, RuntimeError)):
                    return  # it has failed as it began, or there is no thread for it
                raise
            try:
                write((lines.read, answers.write))
            except BaseException:
                lines.poison()
                answers.poison()
                raise

        serve(host, port, backlog, end_of(cout), connect)

    @process
    def _connection(s, cout, cin):
        # Not a Parallel: on a board that would take a third thread.
        try:
            put = plain(cout)
            put(None)  # to connect, which leaves s to this from here on
            try:
                writes = Spawn(_answers(cin, s, cout))
            except RuntimeError:  # no thread, which has poisoned both
                return
            try:
                copy_from(s, cout, put, None)
            except BaseException:  # no memory: who answers would wait, and with it this
                cin.poison()
                cout.poison()
                raise
            finally:
                writes.join()
        finally:
            s.close()

    @process
    def _answers(cin, s, cout):
        # cout is there to be poisoned if this fails: it has no memory.
        try:
            _to_stream(cin, plain(cin), s)
        except PoisonException:
            pass

    return {
        "PinEvents": PinEvents,
        "TimerTicks": TimerTicks,
        "Samples": Samples,
        "FromStream": FromStream,
        "ToStream": ToStream,
        "StdinLines": StdinLines,
        "LineServer": LineServer,
    }


def _to_stream(cin, read, stream):
    check(stream)
    try:
        while True:
            write_all(stream, read())
    except OSError:
        cin.poison()


def _pin_events(pin, cout, write, trigger, size):
    if size < 1:
        raise ValueError("a size of at least 1 is expected")
    events = InterruptChannel("interrupts of a pin", isr=size)
    arrivals = _Arrivals(events, cout)
    if trigger is None:
        trigger = pin.IRQ_FALLING | pin.IRQ_RISING

    def handler(pin):
        # Who had no room may have it now: else nobody might look at `lost` till the next one.
        if not events.from_isr(pin.value()):
            events.from_isr(pin.value())

    lost = 0
    pin.irq(handler, trigger)
    try:
        while True:
            write(arrivals.wait())
            n = events.lost  # before the look at what is there: more may come meanwhile
            if n != lost and not events.has_isr():
                lost = n
                write(pin.value())
    finally:
        pin.irq(None)


def _timer_ticks(timer, cout, write, period_ms):
    events = InterruptChannel("interrupts of a timer", isr=1)
    arrivals = _Arrivals(events, cout)
    fired = [0]  # counted by the handler alone

    def handler(timer):
        fired[0] = fired[0] + 1 & 0xFFFFFF
        events.from_isr(None)  # if there is no room, one is there

    seen = 0
    timer.init(period=period_ms, mode=timer.PERIODIC, callback=handler)
    try:
        while True:
            arrivals.wait()
            n = fired[0] - seen & 0xFFFFFF
            if n:
                seen = seen + n & 0xFFFFFF
                write(n)
    finally:
        timer.deinit()


class _Arrivals:
    # What interrupts bring, while the channel of a write end is open.

    def __init__(self, events, cout):
        self._cout = cout
        self._closed = closed = Closed(cout)
        self._alt = Alternative(closed, events.read)

    def wait(self):
        g, v = self._alt.select()
        if g is self._closed:
            raise self._cout.channel().ended()
        return v


def _samples(read, cout, interval_ms):
    beat = Every(interval_ms)
    wait = Alternative(Closed(cout), beat)
    g, n = wait.select()
    while g is beat:
        put = cout.alt_pending_write(read())
        g, n = Alternative(put, beat).select()
        if g is put:
            g, n = wait.select()


globals().update(build(process, Channel, lambda end: end))
