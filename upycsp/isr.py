"""Channels that interrupt handlers write to and threads read.

    ch = InterruptChannel("presses", isr=8)
    v = ch.read()          # in a thread or a process of upycsp
    ch.from_isr(v)         # in an interrupt handler: never waits, makes no object

What interrupts leave stands in a ring, of which each side changes a part of its own: the handler,
which waits for nobody, and who reads, under the lock. The handler then tells somebody, who
`drain`s: the main thread through micropython.schedule and, should that fail, the timer thread
looks every 10 ms while a thread waits. Whoever writes drains first: what an interrupt left before
comes before.

It knows nothing of tasks: upycsp.bridge adds them.
"""

from cspcore.buffered import MOST, OPEN, BaseBufferedChannel
from cspcore.channel import DEAD, DRAINED, GIVEN, READ
from cspcore.isr import Ring
from upycsp import Parallel
from upycsp.alternative import Alternative
from upycsp.buffered import BufferedChannel
from upycsp.wait import lock
from uthreading import kept
from uthreading.clock import Alarm

try:
    from micropython import schedule
except ImportError:
    schedule = None

_LOOK_MS = 10
# Where the main thread may block there are no hard handlers: one brings its value itself.
direct = not kept.polls()


class InterruptChannel(BufferedChannel):
    """A channel of threads; `from_isr` writes to it from interrupts.

    capacity: as of a BufferedChannel; 0: a rendezvous. isr: how many values from interrupts it
    holds until they are read.
    """

    def __init__(self, name="", capacity=0, isr=0):
        if not isinstance(isr, int) or not 0 <= isr <= MOST:
            raise ValueError("isr is 0 or more, and fits memory")
        self.isr = isr
        self.lost = 0  # values that came from interrupts and found no room
        self._left = Ring(isr)
        self._told = False  # a call of _pump is scheduled
        self.is_fed = False  # see Fed
        self.later_fed = None
        self._pump = self._soft_pump  # made once: it is an object
        BufferedChannel.__init__(self, name, capacity, external=True)

    def queue_len(self):
        """The number of operations that wait, of values buffered, given back and of interrupts."""
        with lock:
            return BaseBufferedChannel.queue_len(self) + self._left.count()

    def verify(self):
        """Raise AssertionError where the channel's invariants do not hold."""
        with lock:
            self.drain()
        BufferedChannel.verify(self)

    # In an interrupt

    def from_isr(self, value):
        """Leave a value to be read; whether there was room. From one interrupt handler at a time.

        Takes no lock and no memory, and never waits. `lost` counts the values without room; a
        channel that is poisoned or closed takes none, and does not count them.
        """
        if not self.isr:
            raise RuntimeError("a channel for interrupts is made with isr=n")
        if self._readers is DEAD:
            return False
        if not self._left.put(value):
            self.lost = self._left.lost
            return False
        self._arrived()
        return True

    def _arrived(self):
        self._tell()
        if direct:
            self._try()

    def _tell(self):
        if not self._told and schedule is not None:
            self._told = True
            try:
                schedule(self._pump, None)
            except RuntimeError:  # its queue is full: the timer thread looks
                self._told = False

    def _soft_pump(self, _):
        # In the main thread, between any two instructions.
        self._told = False
        if not self._try():
            self._tell()

    def _try(self):
        # Whoever was interrupted may hold the lock.
        free = lock.acquire(0)
        if free:
            try:
                self.drain()
            finally:
                lock.release()
        return free

    # Under lock

    def has_isr(self):
        """Whether there is a value of an interrupt."""
        return not self._left.is_empty()

    def is_awaited(self):
        """Whether somebody waits to read."""
        return self._read_queue is not None

    def drain(self):
        """Let those who wait have what interrupts have left."""
        if self.has_isr():
            while self._read_queue is not None and self.has_isr():
                party = self._met(self._read_queue, self._left.first())
                self._left.drop()
                if party is not None:
                    party.wake()
            if self._writers is DEAD:
                self._left.clear()  # it came in the moment of the poison
            self._refresh()

    def take(self):
        w = self._write_queue
        if not self.has_isr() or self._writers is not OPEN or w is not None and w.op == GIVEN:
            return BufferedChannel.take(self)
        pair = self._left.first(), None
        self._left.drop()
        self._refresh()
        return pair

    def post(self, offer):
        BufferedChannel.post(self, offer)
        if self.isr and offer.op == READ:
            fed.add(self)
            _look_soon(0 if self.has_isr() else _LOOK_MS)
            # A choice has yet to post the rest of its offers: that look serves it.
            if offer.alt is None and self.has_isr():
                self.drain()

    def _refresh(self):
        w = self._writers
        BufferedChannel._refresh(self)
        # After the end, what an interrupt brings comes too late.
        if not self._left.is_empty() and w is not DRAINED and w is not DEAD:
            self._writers = OPEN

    def end_close(self):
        self.drain()
        return BufferedChannel.end_close(self)

    def _end(self, last):
        self.drain()
        chain = BufferedChannel._end(self, last)
        if last is DEAD:
            self._left.clear()  # not before: until now more may have come
        return chain


class Fed:
    """The channels to which an interrupt may bring what somebody waits for. Under lock."""

    def __init__(self):
        self.first = None

    def add(self, channel):
        """Somebody waits to read from it."""
        if not channel.is_fed:
            channel.is_fed = True
            channel.later_fed = self.first
            self.first = channel

    def pump(self):
        """Bring what interrupts have left to those who wait for it."""
        before = None
        ch = self.first
        while ch is not None:
            ch.drain()
            later = ch.later_fed
            if ch.is_awaited():
                before = ch
            else:
                ch.is_fed = False
                ch.later_fed = None
                if before is None:
                    self.first = later
                else:
                    before.later_fed = later
            ch = later


fed = Fed()


# What an Alternative or a Parallel does first, under lock. It may write.


def _pumped(f):
    def begin(self):
        fed.pump()
        return f(self)

    return begin


poll = Alternative.poll


def _poll(self, fair):  # no more than 11 words, as that
    fed.pump()
    for o in self._offers:
        if o is not None and o.channel.isr:
            o.channel.drain()  # the lock may have been busy when its value came
    return poll(self, fair)


Alternative.poll = _poll
Parallel._post_guards = _pumped(Parallel._post_guards)
Parallel._begin_guards = _pumped(Parallel._begin_guards)


def _look(alarm):
    # In the timer thread.
    with lock:
        fed.pump()
        if fed.first is not None:
            _look_soon(_LOOK_MS)


_alarm = Alarm(_look)


def _look_soon(ms):
    # Under lock.
    if _alarm.due is None or not ms:
        try:
            _alarm.start(ms)
        except kept.SHORTAGES:  # micropython.schedule has to do
            pass
