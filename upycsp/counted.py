"""Counted ends of channels, for threads: see cspcore.life.

    with ch.writer() as cout:
        cout(7)
"""

from cspcore.life import CountedEnd, CountedGuard, join  # noqa: F401
from upycsp.buffered import AnyReadEnd, AnyWriteEnd
from upycsp.wait import lock, wake_chain


class Counted(CountedEnd):
    def retire(self):
        """Give this end up: a later use raises RetireException."""
        with lock:
            chain = self._channel.retire()
        wake_chain(chain)


class ReadEnd(Counted, AnyReadEnd):
    """A read end that counts until it retires."""


class WriteEnd(Counted, AnyWriteEnd):
    """A write end that counts until it retires."""

    def alt_pending_write(self, value):
        return CountedGuard(self._channel, value)
