"""Channels between threads, asyncio's tasks and interrupts.

    ch = Bridge("temperatures", isr=8)
    cin = ch.tasks.read          # v = await cin(), in a task or a process of uapycsp
    cout = ch.threads.write      # cout(v), in a thread or a process of upycsp
    ch.from_isr(v)               # in an interrupt handler: never waits, makes no object

A bridge is a channel of upycsp: who meets whom is decided under the one lock, which a task holds
as long as that takes and no longer. uapycsp.bridged tells how a task waits and is woken.

What interrupts leave stands in a ring. `_in`, where the next value goes, is stored by the handler
alone and after the value; `_out`, the oldest one, by who reads, under the lock. So neither needs
the other to wait. The handler then tells somebody, who `drain`s: the loop by its flag, the main
thread through micropython.schedule and, should that fail, the timer thread looks every 10 ms
while a thread waits.
"""

from cspcore.channel import DEAD, DRAINED, GIVEN, READ, WAITING
from cspcore.buffered import OPEN, BaseBufferedChannel
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
        self._in = self._out = 0
        self._slots = [None] * (isr + 1)  # one is always free
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
            n = self._in - self._out
            return BaseBufferedChannel.queue_len(self) + (n if n >= 0 else n + len(self._slots))

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
        i = self._in
        after = i + 1
        if after > self.isr:
            after = 0
        if after == self._out or self._readers is DEAD:
            if not self.isr:
                raise RuntimeError("a bridge for interrupts is made with isr=n")
            if self._readers is not DEAD:
                self.lost += 1
            return False
        self._slots[i] = value
        self._in = after
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
        return self._in != self._out

    def drain(self):
        """Let those who wait have what interrupts have left."""
        while self._in != self._out and self._read_queue is not None:
            party = self._met(self._read_queue, self._slots[self._out])
            self._drop()
            if party is not None:
                party.wake()
        self._refresh()

    def _drop(self):
        i = self._out
        self._slots[i] = None
        self._out = i + 1 if i < self.isr else 0

    def take(self):
        w = self._write_queue
        if self._in == self._out or self._writers is not OPEN or w is not None and w.op == GIVEN:
            return BufferedChannel.take(self)
        pair = self._slots[self._out], None
        self._drop()
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
                _look_soon(_LOOK_MS if self._in == self._out else 0)
            if self._in != self._out and (offer.alt is None or not of_thread):
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
        if self._in != self._out and w is not DRAINED and w is not DEAD:
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
            self._out = self._in
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
