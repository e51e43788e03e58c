"""How MicroPython's heap finds room for generators quickly."""

import gc

try:
    from micropython import const
except ImportError:  # CPython's heap needs no help

    def advance(x):
        pass

else:
    _NEAR = const(1024)  # bytes
    # How many objects of one block `advance` may make at most: 1/32 of the heap, or a full one
    # would be collected each time.
    _FILLS = (gc.mem_alloc() + gc.mem_free()) // 1024

    def _sized(a, b, c, d, e, f, g, h):
        # Its generator takes as much of the heap as that of an operation.
        yield

    def advance(x):
        """Let the search for room begin where there is some; to be called every 64 operations.

        The heap is searched from where the last object of one block was found; generators are
        larger, so each walks over all the garbage that lies between. After a collection that mark
        lags far behind, in gaps too small for a generator: fill these, with garbage of one block.
        """
        try:
            near = id(_sized(x, x, x, x, x, x, x, x))
            for _ in range(_FILLS):
                if near - id((x,)) < _NEAR:
                    break
        except MemoryError:
            pass  # those who need the memory will hear of it
