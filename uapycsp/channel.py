"""Channels for coroutines.

    ch = Channel("numbers")
    await cout(7)          # cout = ch.write: returns when somebody has read it
    v = await cin()        # cin = ch.read
    async for v in cin:    # until the channel is poisoned or closed

An operation is one generator. It runs the ladder: ended? partner? (buffer?) else queue and park.
"""

from ufuture.loop import engine
from cspcore.channel import (
    MARKER,
    POISON,
    READ,
    TAKEN,
    WAITING,
    WRITE,
    BaseBufferedChannel,
    BaseChannel,
    link,
)
from cspcore.choice import End, WriteGuard
from cspcore.errors import PoisonException
from uapycsp.wait import NOTHING, Offer, coroutine, turn, wake_chain

CancelledError = engine.CancelledError
_BURST = 64  # operations of one end in a row that need not wait, before the others get a turn


class _End(End):
    # _offer is None, or what the end's last operation waited on, to be used again.
    def __init__(self, channel):
        self._channel = channel
        self._offer = None


class AnyReadEnd(_End):
    """The reading end of any kind of channel."""

    op = READ
    ended = PoisonException  # what an operation raises when the channel has ended

    def __init__(self, channel):
        _End.__init__(self, channel)
        self._burst = _BURST

    @coroutine
    def csp_read(self):
        self._burst -= 1
        if not self._burst:
            self._burst = _BURST
            yield turn()
        ch = self._channel
        if ch._writers is not None:
            if ch.poisoned:
                raise self.ended("channel is poisoned")
            v, party = ch.take()
            if party is not None:
                engine.wake(party)
            return v
        self._burst = _BURST
        o = Offer(ch, READ)
        ch.post(o)
        try:
            yield engine.park(o)
        except BaseException:
            o.drop()
            raise
        if o.value is POISON:
            raise self.ended("channel is poisoned")
        return o.value

    __call__ = csp_read

    def __aiter__(self):
        return AnyReadLoop(self._channel)

    def poison(self):
        """Poison the channel at once; what is buffered is dropped."""
        wake_chain(self._channel.end_all())
        return NOTHING


class AnyReadLoop(AnyReadEnd):
    """What `async for` reads through."""

    ended = StopAsyncIteration
    __anext__ = AnyReadEnd.csp_read


class AnyWriteEnd(_End):
    """The writing end of any kind of channel."""

    op = WRITE

    def __init__(self, channel):
        _End.__init__(self, channel)
        self._burst = _BURST

    @coroutine
    def csp_write(self, value):
        self._burst -= 1
        if not self._burst:
            self._burst = _BURST
            yield turn()
        ch = self._channel
        if ch._readers is not None:
            party = ch.give(value)
            if party is not None:
                engine.wake(party)
            return 0
        self._burst = _BURST
        o = Offer(ch, WRITE)
        o.value = value
        ch.post(o)
        try:
            yield engine.park(o)
        except CancelledError:
            if o.value is not TAKEN:
                raise
            engine.cancel_later()
            return 0
        except BaseException:
            o.drop()
            raise
        if o.value is not TAKEN:
            raise PoisonException("channel is poisoned")
        return 0

    __call__ = csp_write

    def __aiter__(self):
        raise TypeError("a write end can't be read")

    def alt_pending_write(self, value):
        """A guard that writes value when it is chosen."""
        return WriteGuard(self._channel, value)

    def poison(self):
        """Poison the channel at once; what is buffered can still be read."""
        wake_chain(self._channel.end_writing())
        return NOTHING


class ReadEnd(AnyReadEnd):
    """The reading end of a Channel: as AnyReadEnd, with cspcore's take and post written out."""

    # CommsTime takes 1.4 times as long with the calls.
    __init__ = _End.__init__

    @coroutine
    def csp_read(self):
        ch = self._channel
        o = ch._writers
        if o is not None:
            if o.alt is None:
                n = o.next
                ch._writers = n
                if n is not None:
                    n.prev = o.prev
                    o.next = None
                v = o.value
                o.value = TAKEN
                engine.wake(o)
            elif o.op == MARKER:
                raise self.ended("channel is poisoned")
            else:
                v, o = ch.take()
                if o is not None:
                    engine.wake(o)
            # The heap is searched from where the last object of one block was found. This tuple
            # is one; without it each new generator walks over all the garbage there is.
            (v,)
            return v
        o = self._offer
        if o is None:
            o = Offer(ch, READ)
        else:
            self._offer = None
        if ch._readers is None:
            ch._readers = o
            o.prev = o
        else:
            link(ch._readers, o)
        try:
            yield o if engine.driven else engine.park(o)
        except BaseException:
            o.drop()
            raise
        v = o.value
        o.value = WAITING
        self._offer = o
        if v is POISON:
            raise self.ended("channel is poisoned")
        return v

    __call__ = csp_read

    def __aiter__(self):
        return ReadLoop(self._channel)


class ReadLoop(ReadEnd):
    """What `async for` reads through."""

    ended = StopAsyncIteration
    __anext__ = ReadEnd.csp_read


class WriteEnd(AnyWriteEnd):
    """The writing end of a Channel: as AnyWriteEnd, with cspcore's give and post written out."""

    __init__ = _End.__init__

    @coroutine
    def csp_write(self, value):
        ch = self._channel
        o = ch._readers
        if o is not None:
            if o.alt is None:
                n = o.next
                ch._readers = n
                if n is not None:
                    n.prev = o.prev
                    o.next = None
                o.value = value
                engine.wake(o)
            else:
                o = ch.give(value)
                if o is not None:
                    engine.wake(o)
            (value,)  # one block, as in csp_read
            return 0
        o = self._offer
        if o is None:
            o = Offer(ch, WRITE)
        else:
            self._offer = None
        o.value = value
        if ch._writers is None:
            ch._writers = o
            o.prev = o
        else:
            link(ch._writers, o)
        try:
            yield o if engine.driven else engine.park(o)
        except CancelledError:
            if o.value is not TAKEN:
                raise
            engine.cancel_later()
            return 0
        except BaseException:
            o.drop()
            raise
        if o.value is not TAKEN:
            raise PoisonException("channel is poisoned")
        self._offer = o
        return 0

    __call__ = csp_write


class _Ends:
    # What Channel and BufferedChannel share.

    @property
    def read(self):
        """The reading end."""
        if self._read is None:
            self._read = self._read_end(self)
        return self._read

    @property
    def write(self):
        """The writing end."""
        if self._write is None:
            self._write = self._write_end(self)
        return self._write

    def poison(self):
        """Poison the channel at once: who waits or comes later gets PoisonException."""
        wake_chain(self.end_all())
        return NOTHING

    def close(self):
        """Forbid new writes; who already waits to write, and what is buffered, can be read."""
        wake_chain(self.end_close())
        return NOTHING

    def __repr__(self):
        return "<channel %s>" % (self.name or "without a name")


class Channel(_Ends, BaseChannel):
    """Rendezvous of any number of readers and writers; external: others than processes use it."""

    _read_end = ReadEnd
    _write_end = WriteEnd

    def __init__(self, name="", external=False):
        BaseChannel.__init__(self, name, external)


class BufferedChannel(_Ends, BaseBufferedChannel):
    """A FIFO of capacity values (None: unlimited, 0: as a Channel) between writers and readers."""

    _read_end = AnyReadEnd
    _write_end = AnyWriteEnd

    def __init__(self, name="", capacity=None, external=False):
        BaseBufferedChannel.__init__(self, name, capacity, external)


def poison_channel(channel):
    """Poison a channel, given it or one of its ends."""
    return channel.poison()
