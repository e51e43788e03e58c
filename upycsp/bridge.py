"""Channels between threads, asyncio's tasks and interrupts.

    ch = Bridge("temperatures", isr=8)
    cin = ch.tasks.read          # v = await cin(), in a task or a process of uapycsp
    cout = ch.threads.write      # cout(v), in a thread or a process of upycsp
    ch.from_isr(v)               # in an interrupt handler: never waits, makes no object

A bridge is a channel of upycsp: who meets whom is decided under the one lock, which a task holds
as long as that takes and no longer. uapycsp.bridged tells how a task waits and is woken; what
interrupts leave the loop drains, too, which is told by its flag: see upycsp.isr.
"""

import uapycsp
from uthreading import kept
from upycsp import process as _load  # noqa: F401
from cspcore.channel import READ, WAITING
from cspcore.choice import WriteGuard
from uapycsp import bridged
from uapycsp.bridged import NOTHING, bell, is_here
from upycsp.buffered import AnyWriteEnd, BufferedChannel
from upycsp.isr import InterruptChannel, fed


class Side:
    """The two ends of a bridge for one kind of users."""

    def __init__(self, read, write):
        self.read = read
        self.write = write


class ThreadWriteGuard(WriteGuard):
    """A write guard for threads. uapycsp looks at it, for it is none of the plain ones."""


class WriteEnd(AnyWriteEnd):
    """The writing end for threads."""

    def alt_pending_write(self, value):
        """A guard that writes value when it is chosen."""
        return ThreadWriteGuard(self._channel, value)


class Bridge(InterruptChannel):
    """A channel with ends for tasks and ends for threads.

    capacity: as of a BufferedChannel; 0: a rendezvous. isr: how many values from interrupts it
    holds until they are read. `read` and `write` are the ends for threads.
    """

    _write_end = WriteEnd

    def __init__(self, name="", capacity=0, isr=0):
        self.wanted = 0  # how many choices of tasks wait for a change
        InterruptChannel.__init__(self, name, capacity, isr)
        self.threads = Side(self.read, self.write)
        self.tasks = Side(bridged.ReadEnd(self), bridged.WriteEnd(self))

    def poison(self, strength=None):
        """Poison the channel at once: who waits or comes later gets PoisonException."""
        InterruptChannel.poison(self, strength)
        return NOTHING

    def close(self):
        """Forbid new writes; who already waits to write, and what it holds, can be read."""
        InterruptChannel.close(self)
        return NOTHING

    # In an interrupt

    def _arrived(self):
        bell.ring()
        InterruptChannel._arrived(self)

    # Under lock

    def is_awaited(self):
        return self.wanted or InterruptChannel.is_awaited(self)

    def post(self, offer):
        if offer.alt is not bell:
            if is_here():
                offer.value = WAITING
                raise RuntimeError("the loop would wait: use the ends for tasks")
            InterruptChannel.post(self, offer)
            return
        BufferedChannel.post(self, offer)
        if self.isr and offer.op == READ:
            fed.add(self)
            if self.has_isr():
                self.drain()

    def _refresh(self):
        r = self._readers
        w = self._writers
        InterruptChannel._refresh(self)
        if self.wanted and (r is not self._readers or w is not self._writers):
            bell.ring()

    def end_close(self):
        chain = InterruptChannel.end_close(self)
        if self.wanted:
            bell.ring()
        return chain

    def _end(self, last):
        chain = InterruptChannel._end(self, last)
        if self.wanted:
            bell.ring()
        return chain


if kept.loads_early:
    # Of both libraries; of this one all is loaded before its first process starts. Later the loop
    # and other threads might load the same parts at the same time.
    for _name in uapycsp.every():
        getattr(uapycsp, _name)
    for _name in "bridged_member counted extended guards operation watch".split():
        __import__("uapycsp." + _name)
else:
    from cspcore import closing, life  # noqa: F401 - of these at least
