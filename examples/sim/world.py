"""What surrounds the simulated board: pins, voltages, lines, a network, and what happens when.

Time is virtual: it stands still while the program runs and goes on to the next timer or event when
everything waits (see clock.py). `at(ms, f, ...)` plans an event, which may call an interrupt
handler; `tell` prints what the board does, with the time, and `told` keeps it for tests.
"""

import _thread
import sys

RISING, FALLING = 1, 2
LONG_MS = 3600000  # a program that still runs so long after the last event will not end


class Nowhere(Exception):
    """The program waits, and nothing will ever happen."""


class Line:
    """One pin of the board: its level, and who wants to hear of a change."""

    def __init__(self, number):
        self.name = "pin {}".format(number)
        self.level = None  # nobody drives it
        self.pin = self.handler = None
        self.trigger = 0
        self.duty = None  # of a PWM there; None: there is none
        self.log = []  # (ms, level or duty)
        self.faults = []  # exceptions for those who use the pin, one each

    def used(self):
        """The program uses the pin; the Line."""
        if self.faults:
            raise self.faults.pop(0)
        return self

    def set(self, level):
        """The level changes, from outside; calls the interrupt handler."""
        before, self.level = self.level, level
        edge = RISING if level else FALLING
        if before != level and self.handler is not None and self.trigger & edge:
            self.handler(self.pin)


class Wire:
    """What a UART is connected to."""

    def __init__(self, name):
        self.name = name
        self.waiting = b""  # for the board to read
        self.sent = b""  # by the board
        self.fault = None  # an exception for who uses it
        self.unable = None  # one for who writes to it
        self.arrived = []  # called when something has come

    def feed(self, data):
        """Bytes come to the board."""
        self.waiting += data
        self.call()

    def fail(self, fault):
        """From now on the UART raises this."""
        self.fault = fault
        self.call()

    def call(self):
        for f in self.arrived:
            f()


class World:
    def __init__(self):
        self.lock = _thread.allocate_lock()
        self.reset()

    def reset(self):
        """A new board, at the time 0."""
        self.now = 0  # ms
        self.lines = {}
        self.volts = {}  # pin number: a function that returns 0 to 65535
        self.wires = {}
        self.wifi = True  # whether it can be had
        self.servers = []  # each has serve(), true if it has done something
        self.loud = True  # whether `tell` prints
        self.told = []  # (ms, text)
        self.timers = 0  # how many machine.Timers run
        self._events = []  # (ms, f, args), in order of time
        self._latest = 0  # when the last of them was that has happened
        self.happened = 0  # how many have

    def line(self, number):
        """The Line of a pin."""
        if number not in self.lines:
            self.lines[number] = Line(number)
        return self.lines[number]

    def wire(self, number):
        """The Wire of a UART."""
        if number not in self.wires:
            self.wires[number] = Wire("UART {}".format(number))
        return self.wires[number]

    def tell(self, text):
        """Prints what the board does."""
        with self.lock:
            self.told.append((self.now, text))
            if self.loud:
                print("{:>8} ms  {}".format(self.now, text))

    # What happens when

    def at(self, ms, f, *args):
        """f(*args) is called then; events of the same time in the order in which they came."""
        with self.lock:
            events = self._events
            i = len(events)
            while i and events[i - 1][0] > ms:
                i -= 1
            events.insert(i, (ms, f, args))

    def forget(self, f):
        """Nothing of f is to happen any more."""
        with self.lock:
            self._events[:] = [e for e in self._events if e[1] is not f]

    def next_ms(self):
        """When the next event is due, or None."""
        with self.lock:
            return self._events[0][0] if self._events else None

    def step(self, limit):
        """Goes on by `limit` ms (None: no limit), or to the next event if that comes first."""
        when = self.next_ms()
        if when is None and (limit is None or self.now > self._latest + LONG_MS):
            raise Nowhere("nothing happens any more, and the program goes on")
        if limit is not None and (when is None or when > self.now + limit):
            self.now += limit
        else:
            self.happen()

    def happen(self):
        """Goes on to the next event, if there is one."""
        with self.lock:
            if not self._events:
                return
            when, f, args = self._events.pop(0)
            self.happened += 1
            self.now = self._latest = max(self.now, when)
        f(*args)

    def serve(self):
        """Lets the servers work; true if one has done something."""
        done = False
        for server in self.servers:
            done = server.serve() or done
        return done

    def interrupt(self):
        """Somebody presses Ctrl-C."""
        self.tell("Ctrl-C")
        if sys.implementation.name == "micropython":
            raise KeyboardInterrupt
        import signal
        signal.raise_signal(signal.SIGINT)


world = World()
