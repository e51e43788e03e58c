"""Buffered channels for coroutines, and ends that work on any kind of channel."""

from ufuture.loop import engine
from cspcore.buffered import BaseBufferedChannel
from cspcore.channel import DEAD, DRAINED, WAITING
from uapycsp import channel as channels
from uapycsp.channel import Ends, ReadEnd, WriteEnd
from uapycsp.wait import coroutine, looping, next_of, turn, wait_in_queue

_BURST = 64  # operations of one end in a row that need not wait, before the others get a turn


class AnyReadEnd(ReadEnd):
    """The reading end of any kind of channel, through cspcore's calls."""

    def __init__(self, channel):
        ReadEnd.__init__(self, channel)
        self._burst = _BURST

    @coroutine
    def csp_read(self):
        self._burst -= 1
        if not self._burst:
            self._burst = _BURST
            yield turn()
        ch = self._channel
        w = ch._writers
        if w is not None:
            if w is DEAD or w is DRAINED:
                raise self.ended()
            v, party = ch.take()
            if party is not None:
                engine.wake(party)
            if channels.taker is not None:
                channels.taker.channel = ch
            return v
        self._burst = _BURST
        return (yield from wait_in_queue(self, WAITING))

    __call__ = csp_read
    __anext__ = next_of(csp_read)

    def __aiter__(self):
        return looping(self, AnyReadEnd(self._channel))


class AnyWriteEnd(WriteEnd):
    """The writing end of any kind of channel, through cspcore's calls."""

    def __init__(self, channel):
        WriteEnd.__init__(self, channel)
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
            elif channels.stays is not None:
                yield from channels.stays
            return 0
        self._burst = _BURST
        return (yield from wait_in_queue(self, value))

    __call__ = csp_write


class BufferedChannel(Ends, BaseBufferedChannel):
    """A FIFO of capacity values (None: unlimited, 0: as a Channel) between writers and readers.

    overflow: what a write does to a full buffer: "block" waits, "keep_oldest" drops its value,
    "keep_newest" drops the oldest one.
    """

    _read_end = AnyReadEnd
    _write_end = AnyWriteEnd

    def __init__(self, name="", capacity=None, overflow="block", external=False, immunity=0):
        BaseBufferedChannel.__init__(self, name, capacity, overflow, external)
        if immunity != 0:
            self._life = self._new_life(immunity)

    def __getattr__(self, name):
        if name == "capacity":
            return BaseBufferedChannel.__getattr__(self, name)
        return Ends.__getattr__(self, name)
