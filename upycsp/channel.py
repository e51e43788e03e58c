"""Channels for threads.

    ch = Channel("numbers")
    cout(7)                # cout = ch.write: returns when somebody has read it
    v = cin()              # cin = ch.read
    for v in cin:          # until the channel is poisoned or closed

An operation takes the lock once: partner? (buffer?) else queue; it waits and wakes without it.
"""

from _thread import get_ident

from cspcore.channel import (
    POISON,
    READ,
    TAKEN,
    WAITING,
    WRITE,
    BaseChannel,
    link,
)
from cspcore.choice import End, WriteGuard
from cspcore.errors import PoisonException
from upycsp.wait import lock, offers, own, wake_chain


class ReadEnd(End):
    """The reading end of a Channel."""

    # cspcore's take and post are written out here: CommsTime on one processor takes 1.3 times as
    # long with the calls.
    op = READ

    def __call__(self):
        ch = self._channel
        with lock:
            o = ch._writers
            if o is None:
                me = offers.get(get_ident())
                if me is None:
                    me = own()
                me.channel = ch
                me.op = READ
                me.value = WAITING
                if ch._readers is None:
                    ch._readers = me
                else:
                    link(ch._readers, me)
            else:
                me = None
                if o.alt is None:
                    n = o.next
                    ch._writers = n
                    if n is not None:
                        n.prev = o.prev
                        o.next = None
                    v = o.value
                    o.value = TAKEN
                else:
                    v, o = ch.take()
        if me is None:
            if o is not None:
                o.bolt.release()
            return v
        try:
            me.bolt.acquire()
        except BaseException:
            me.interrupted()
            raise
        v = me.value
        me.value = TAKEN
        if v is POISON:
            raise PoisonException("channel is poisoned")
        return v

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self()
        except PoisonException:
            raise StopIteration

    def poison(self):
        """Poison the channel at once; what is buffered is dropped."""
        with lock:
            chain = self._channel.end_all()
        wake_chain(chain)


class WriteEnd(End):
    """The writing end of a Channel; written out as ReadEnd is."""

    op = WRITE

    def __call__(self, value):
        ch = self._channel
        with lock:
            o = ch._readers
            if o is None:
                me = offers.get(get_ident())
                if me is None:
                    me = own()
                me.channel = ch
                me.op = WRITE
                me.value = value
                if ch._writers is None:
                    ch._writers = me
                else:
                    link(ch._writers, me)
            else:
                me = None
                if o.alt is None:
                    n = o.next
                    ch._readers = n
                    if n is not None:
                        n.prev = o.prev
                        o.next = None
                    o.value = value
                else:
                    o = ch.give(value)
        if me is None:
            if o is not None:
                o.bolt.release()
            return 0
        try:
            me.bolt.acquire()
        except BaseException:
            me.interrupted()
            raise
        if me.value is not TAKEN:
            me.value = TAKEN
            raise PoisonException("channel is poisoned")
        return 0

    def alt_pending_write(self, value):
        """A guard that writes value when it is chosen."""
        return WriteGuard(self._channel, value)

    def poison(self):
        """Poison the channel at once; what is buffered can still be read."""
        with lock:
            chain = self._channel.end_writing()
        wake_chain(chain)


class Ends:
    # What Channel and BufferedChannel share.

    def _make_ends(self):
        self.read = self._read_end(self)
        self.write = self._write_end(self)

    def poison(self):
        """Poison the channel at once: who waits or comes later gets PoisonException."""
        with lock:
            chain = self.end_all()
        wake_chain(chain)

    def close(self):
        """Forbid new writes; who already waits to write, and what is buffered, can be read."""
        with lock:
            chain = self.end_close()
        wake_chain(chain)

    def __repr__(self):
        return "<channel %s>" % (self.name or "without a name")


class Channel(Ends, BaseChannel):
    """Rendezvous of any number of readers and writers; external: others than processes use it."""

    _read_end = ReadEnd
    _write_end = WriteEnd

    def __init__(self, name="", external=False):
        BaseChannel.__init__(self, name, external)
        self._make_ends()

    def queue_len(self):
        """The number of operations that wait, and of values given back."""
        with lock:
            return BaseChannel.queue_len(self)

    def verify(self):
        """Raise AssertionError where the channel's invariants do not hold."""
        with lock:
            BaseChannel.verify(self)


def poison_channel(channel):
    """Poison a channel, given it or one of its ends."""
    return channel.poison()
