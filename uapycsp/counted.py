"""Counted ends of channels, for coroutines: see cspcore.life.

    with ch.writer() as cout:
        await cout(7)
"""

from cspcore.life import CountedEnd, CountedGuard, join  # noqa: F401
from uapycsp.buffered import AnyReadEnd, AnyWriteEnd
from uapycsp.wait import NOTHING, wake_chain


class Counted(CountedEnd):
    def retire(self):
        """Give this end up: a later use raises RetireException."""
        wake_chain(self._channel.retire())
        return NOTHING


class ReadEnd(Counted, AnyReadEnd):
    """A read end that counts until it retires."""


class WriteEnd(Counted, AnyWriteEnd):
    """A write end that counts until it retires."""

    def alt_pending_write(self, value):
        return CountedGuard(self._channel, value)
