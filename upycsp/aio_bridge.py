"""Bridges for upycsp.aio: the ends for threads are awaited."""

from upycsp import aio, bridge


class WriteEnd(aio.AnyWriteEnd):
    """The writing end for threads, awaited."""

    alt_pending_write = bridge.WriteEnd.alt_pending_write


class Bridge(bridge.Bridge):
    """As upycsp's, with operations that are awaited."""

    _counted_ends = aio.Channel._counted_ends
    _read_end = aio.AnyReadEnd
    _write_end = WriteEnd
