"""There is no virtual time for threads; uapycsp.virtual has it for coroutines."""


class VirtualClock:
    """A RuntimeError: a thread may wait for what the library knows nothing of."""

    def __init__(self):
        raise RuntimeError("upycsp has no virtual time: test the network with uapycsp")
