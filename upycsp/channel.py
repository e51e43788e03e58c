"""Channels for threads.

    ch = Channel("numbers")
    cout(7)                # cout = ch.write: returns when somebody has read it
    v = cin()              # cin = ch.read
    for v in cin:          # until the channel is poisoned or closed

An operation takes the lock once: partner? (buffer?) else queue; it waits and wakes without it.
"""

from _thread import allocate_lock, get_ident

from cspcore.channel import (  # noqa: F401
    POISON,
    READ,
    WAITING,
    WRITE,
    BaseChannel,
    const,
    link,
    poison_channel,
)
from cspcore.choice import End, WriteGuard, title
from cspcore.errors import PoisonException
from upycsp.wait import NOBODY, load, lock, own, wake_chain

_READ = const(0)  # as cspcore's READ and WRITE, without looking them up in each operation
_WRITE = const(1)

making = allocate_lock()  # guards the making of ends; who holds `lock` may ask for one, too


# cspcore's take and post are written out in the two calls here: CommsTime on one processor takes
# 1.25 times as long with the calls. They make do with three names besides `with` and `try`, by
# using them twice: a call that needs more than 11 words takes them from the heap, under a lock
# that all threads contend for, and gives them back (1800 of 7100 instructions).
#
# An end remembers the offer of the thread that waited on it last: its own offer costs a thread
# 240 instructions less than by `own`. What belongs to another thread has another ident.


class ReadEnd(End):
    """The reading end of a Channel."""

    op = READ

    def __call__(self):
        x = self._channel  # later the value
        with lock:
            o = x._writers
            if o is None:
                o = self._me
                if o.ident != get_ident():
                    o = self._remember()
                o.channel = x
                o.op = _READ
                if x._readers is None:
                    x._readers = o
                else:
                    link(x._readers, o)
                self = None  # it waits
            elif o.alt is None and o.next is None:
                x._writers = None
                x = o.value
            else:
                x, o = x.take()
                if o is None:
                    o = NOBODY
        if self is None:
            x = o.wait
            try:
                x()
            except:  # noqa: E722 - naming BaseException takes two words more
                o.interrupted()
                raise
            x = o.value
            o.value = WAITING
            if x is POISON:
                raise o.channel.ended()
            return x
        o = o.wake  # 60 instructions less than o.wake()
        o()
        return x

    def _remember(self):
        self._me = me = own()
        return me

    def within(self, ms):
        """A call of at most ms: else TimeoutError, and nothing was read. 0 or less: one try."""
        return load("upycsp.within").read(self, ms)

    def extended(self):
        """`with cin.extended() as v`: the writer of v waits until the block ends."""
        return load("upycsp.extended").Extended(self)

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self()
        except PoisonException:
            raise StopIteration

    def join(self):
        """As the channel's reader()."""
        return self._channel.reader()

    def poison(self, strength=None):
        """Poison the channel at once; what is buffered is dropped."""
        ch = self._channel
        with lock:
            chain = None if ch.resists(strength) else ch.end_all()
        wake_chain(chain)


class WriteEnd(End):
    """The writing end of a Channel; written out as ReadEnd is."""

    op = WRITE
    _remember = ReadEnd._remember

    def __call__(self, value):
        with lock:
            o = self._channel._readers
            if o is None:
                o = self._me
                if o.ident != get_ident():
                    o = self._remember()
                self = self._channel
                o.channel = self
                o.op = _WRITE
                if self._writers is None:
                    self._writers = o
                else:
                    link(self._writers, o)  # may raise: nothing has happened then
                o.value = value
                self = None  # it waits
            elif o.alt is None and o.next is None:
                self._channel._readers = None
                o.value = value
            else:
                o = self._channel.give(value)
                if o is None:
                    o = NOBODY
        if self is None:
            value = o.wait
            try:
                value()
            except:  # noqa: E722
                o.interrupted()
                raise
            value = o.value
            o.value = WAITING
            if value is POISON:
                raise o.channel.ended()
            return 0
        o = o.wake
        o()
        return 0

    def within(self, ms, value):
        """As a call, but within ms: else TimeoutError, and nothing was written."""
        return load("upycsp.within").write(self, ms, value)

    def alt_pending_write(self, value):
        """A guard that writes value when it is chosen."""
        return WriteGuard(self._channel, value)

    def join(self):
        """As the channel's writer()."""
        return self._channel.writer()

    def poison(self, strength=None):
        """Poison the channel at once; what is buffered can still be read."""
        ch = self._channel
        with lock:
            chain = None if ch.resists(strength) else ch.end_writing()
        wake_chain(chain)


class Ends:
    # What Channel and BufferedChannel share.

    serves = "threads"
    _counted_ends = "upycsp.counted"

    def _begin(self, immunity):
        # All attributes stand here: later other threads may look into this object.
        self._cin = self._cout = None
        self._life = None if immunity == 0 else self._new_life(immunity)

    def __getattr__(self, name):
        # The ends are made when they are first asked for. No properties: see BaseChannel.
        if name == "read":
            end = self._cin
            return self._add(self._read_end(self)) if end is None else end
        if name == "write":
            end = self._cout
            return self._add(self._write_end(self)) if end is None else end
        if name == "poisoned":
            return BaseChannel.__getattr__(self, name)
        raise AttributeError(name)  # here: a thread's stack may have no room for one more call

    def _add(self, end):
        end._me = NOBODY
        with making:  # of what several threads make at once the first is the end
            if end.op == WRITE:
                self._cout = end = self._cout or end
            else:
                self._cin = end = self._cin or end
        return end

    def _new_life(self, immunity):
        return load("cspcore.life").Life(immunity)

    def poison(self, strength=None):
        """Poison the channel at once: who waits or comes later gets PoisonException.

        It does not act if the channel's immunity is not less than its strength.
        """
        with lock:
            chain = None if self.resists(strength) else self.end_all()
        wake_chain(chain)

    def close(self):
        """Forbid new writes; who already waits to write, and what is buffered, can be read."""
        with lock:
            chain = self.end_close()
        wake_chain(chain)

    def _join(self, kind):
        counted = load(self._counted_ends)
        with lock:
            return counted.join(self, getattr(counted, kind))

    def __repr__(self):
        return "<channel %s>" % title(self, "without a name")


class Channel(Ends, BaseChannel):
    """Rendezvous of any number of readers and writers.

    external: others than processes use it. immunity: the strongest poison that does not act on it.
    """

    plain = True
    _read_end = ReadEnd
    _write_end = WriteEnd

    def __init__(self, name="", external=False, immunity=0):
        BaseChannel.__init__(self, name, external)
        self._begin(immunity)

    def queue_len(self):
        """The number of operations that wait, and of values given back."""
        with lock:
            return BaseChannel.queue_len(self)

    def verify(self):
        """Raise AssertionError where the channel's invariants do not hold."""
        with lock:
            BaseChannel.verify(self)
