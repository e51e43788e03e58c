"""Channels between threads, asyncio's tasks and interrupts.

    ch = Bridge("temperatures", isr=8)
    cin = ch.tasks.read          # v = await cin(), in a task or a process of uapycsp
    cout = ch.threads.write      # cout(v), in a thread or a process of upycsp
    ch.from_isr(v)               # in an interrupt handler: never waits, makes no object

A bridge is a channel of upycsp: who meets whom is decided under the one lock, which a task holds
as long as that takes and no longer. uapycsp.bridged tells how a task waits and is woken.

What interrupts leave stands in a ring, of which each side changes a part of its own: the handler,
which waits for nobody, and who reads, under the lock. The handler then tells somebody, who
`drain`s: the loop by its flag, the main thread through micropython.schedule and, should that fail,
the timer thread looks every 10 ms while a thread waits.
"""

from cspcore.channel import DEAD, DRAINED, GIVEN, READ, WAITING
from cspcore.buffered import OPEN, BaseBufferedChannel
from cspcore.isr import Ring
from uapycsp.bridged import NOTHING, ReadEnd, WriteEnd, bell, engine, is_here
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


class Side:
    """The two ends of a bridge for one kind of users."""

    def __init__(self, read, write):
        self.read = read
        self.write = write


class Bridge(BufferedChannel):
    """A channel with ends for tasks and ends for threads.

    capacity: as of a BufferedChannel; 0: a rendezvous. isr: how many values from interrupts it
    holds until they are read. `read` and `write` are the ends for threads.
    """

    def __init__(self, name="", capacity=0, isr=0):
        if isr < 0:
            raise ValueError("a number of values is not negative")
        self.wanted = 0  # how many choices of tasks wait for a change
        self.isr = isr
        self.lost = 0  # values that came from interrupts and found no room
        self._left = Ring(isr)
        self._told = False  # a call of _pump is scheduled
        self.is_fed = False  # see bridged.Bell
        self.later_fed = None
        self._pump = self._soft_pump  # made once: it is an object
        BufferedChannel.__init__(self, name, capacity, external=True)
        self.threads = Side(self.read, self.write)
        self.tasks = Side(ReadEnd(self), WriteEnd(self))

    def poison(self, strength=None):
        """Poison the channel at once: who waits or comes later gets PoisonException."""
        BufferedChannel.poison(self, strength)
        return NOTHING

    def close(self):
        """Forbid new writes; who already waits to write, and what it holds, can be read."""
        BufferedChannel.close(self)
        return NOTHING

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
        poisoned or closed bridge takes none, and does not count them.
        """
        if not self.isr:
            raise RuntimeError("a bridge for interrupts is made with isr=n")
        if self._readers is DEAD:
            return False
        if not self._left.put(value):
            self.lost = self._left.lost
            return False
        bell.ring()
        self._tell()
        if direct:
            self._try()
        return True

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

    def drain(self):
        """Let those who wait have what interrupts have left."""
        while self._read_queue is not None and self.has_isr():
            party = self._met(self._read_queue, self._left.first())
            self._left.drop()
            if party is not None:
                party.wake()
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
        of_thread = offer.alt is not bell
        if of_thread:
            self._check_thread(offer)
        BufferedChannel.post(self, offer)
        if self.isr and offer.op == READ:
            bell.feed(self)
            if of_thread:
                _look_soon(0 if self.has_isr() else _LOOK_MS)
            if self.has_isr() and (offer.alt is None or not of_thread):
                self.drain()

    def _check_thread(self, offer):
        alt = offer.alt
        if isinstance(alt, engine.Parked):
            offer.value = WAITING
            raise TypeError("a task uses the ends for tasks")
        if is_here():
            offer.value = WAITING
            raise RuntimeError("the loop would wait: a task uses the ends for tasks")

    def _refresh(self):
        r = self._readers
        w = self._writers
        BufferedChannel._refresh(self)
        # After the end, what an interrupt brings comes too late.
        if self.has_isr() and w is not DRAINED and w is not DEAD:
            self._writers = OPEN
        if self.wanted and (r is not self._readers or w is not self._writers):
            bell.ring()

    def end_close(self):
        self.drain()
        chain = BufferedChannel.end_close(self)
        if self.wanted:
            bell.ring()
        return chain

    def _end(self, last):
        self.drain()
        if last is DEAD:
            self._left.clear()
        chain = BufferedChannel._end(self, last)
        if self.wanted:
            bell.ring()
        return chain


def _look(alarm):
    # In the timer thread.
    with lock:
        bell.pump()
        if alarm.due is None and bell.fed is not None:
            alarm.start(_LOOK_MS)


_alarm = Alarm(_look)


def _look_soon(ms):
    # Under lock.
    if _alarm.due is None or not ms:
        try:
            _alarm.start(ms)
        except (RuntimeError, OSError, MemoryError):  # micropython.schedule has to do
            pass
