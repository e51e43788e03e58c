"""Buffered channels for threads, and ends that work on any kind of channel."""

from cspcore.buffered import BaseBufferedChannel
from cspcore.channel import POISON, READ, WAITING, WRITE
from upycsp.channel import Ends, ReadEnd, WriteEnd
from upycsp.wait import lock, own


class AnyReadEnd(ReadEnd):
    """The reading end of any kind of channel, through cspcore's calls."""

    def __call__(self):
        ch = self._channel
        with lock:
            if ch._writers is not None:
                me = None
                v, party = ch.take()
            else:
                me = own()
                me.channel = ch
                me.op = READ
                ch.post(me)
        if me is None:
            if party is not None:
                party.wake()
            return v
        return _wait(me)


class AnyWriteEnd(WriteEnd):
    """The writing end of any kind of channel, through cspcore's calls."""

    def __call__(self, value):
        ch = self._channel
        with lock:
            if ch.isr:
                ch.drain()
            if ch._readers is not None:
                me = None
                party = ch.give(value)
            else:
                me = own()
                me.channel = ch
                me.op = WRITE
                ch.post(me)  # which may refuse it: a thread's offer keeps no value
                me.value = value
        if me is None:
            if party is not None:
                party.wake()
            return 0
        _wait(me)
        return 0


def _wait(me):
    """Wait until the queued operation is paired; its value."""
    try:
        me.wait()
    except BaseException:
        me.interrupted()
        raise
    v = me.value
    me.value = WAITING
    if v is POISON:
        raise me.channel.ended()
    return v


class BufferedChannel(Ends, BaseBufferedChannel):
    """A FIFO of capacity values (None: unlimited, 0: as a Channel) between writers and readers.

    overflow: what a write does to a full buffer: "block" waits, "keep_oldest" drops its value,
    "keep_newest" drops the oldest one.
    """

    _read_end = AnyReadEnd
    _write_end = AnyWriteEnd

    def __init__(self, name="", capacity=None, overflow="block", external=False, immunity=0):
        BaseBufferedChannel.__init__(self, name, capacity, overflow, external)
        self._begin(immunity)

    def __getattr__(self, name):
        if name == "capacity":
            return BaseBufferedChannel.__getattr__(self, name)
        return Ends.__getattr__(self, name)

    def queue_len(self):
        """The number of operations that wait, of values buffered and given back."""
        with lock:
            return BaseBufferedChannel.queue_len(self)

    def verify(self):
        """Raise AssertionError where the channel's invariants do not hold."""
        with lock:
            BaseBufferedChannel.verify(self)
