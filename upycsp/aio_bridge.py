"""Bridges for upycsp.aio: the ends for threads are awaited."""

from upycsp import aio, bridge


class WriteEnd(aio.AnyWriteEnd):
    """The writing end for threads, awaited."""

    __call__ = aio._writer(bridge.WriteEnd.__call__)
    alt_pending_write = bridge.WriteEnd.alt_pending_write


class Bridge(bridge.Bridge):
    """As upycsp's, with operations that are awaited."""

    _read_end = aio.AnyReadEnd
    _write_end = WriteEnd
