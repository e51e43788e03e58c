"""Bridges for upycsp.aio: the ends for threads are awaited."""

from upycsp import aio, bridge


class Bridge(bridge.Bridge):
    """As upycsp's, with operations that are awaited."""

    _read_end = aio.AnyReadEnd
    _write_end = aio.AnyWriteEnd
