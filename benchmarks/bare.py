"""CommsTime of uapycsp, delta seq, for heaps without room for main.py beside the library.

    MICROPYPATH=.:.frozen .venv/bin/micropython -X heapsize=200K -m benchmarks.bare 5000 10

The arguments are n and runs. Prints a RESULT and a SAMPLES line, as main.py does, but counts no
bytes; where all is .mpy files, 128 KB are enough.
"""

import gc
import sys

from benchmarks.chrono import Chrono
from benchmarks.commstime_network import bodies, deltas, network


class _Meter(Chrono):
    # What the network's consumer calls.

    warming = False

    def __init__(self):
        Chrono.__init__(self)
        self.us = []

    def stop(self, operations):
        Chrono.stop(self)
        self.us.append(self.read_us() / operations)
        self.reset()

    def fault(self):
        raise RuntimeError("wrong result")


def main(n, runs):
    import uapycsp  # not before: a heap without room for it is told

    meter = _Meter()
    processes = bodies(uapycsp)
    delta = deltas(uapycsp)["seq"]
    for _ in range(runs):
        uapycsp.run(*network(uapycsp, processes, delta, n, meter))
    processes = delta = None
    gc.collect()
    from benchmarks.harness import heap, port, version  # there was no room for it before

    us = meter.us
    print(
        'RESULT {"bench": "commstime", "lib": "uapycsp", "variant": "seq", "n": %d, "runs": %d, '
        '"us_min": %.3f, "us_avg": %.3f, "us_max": %.3f, "bytes_per_op": null, '
        '"port": "%s", "version": "%s", "heap": %d}'
        % (n, runs, min(us), sum(us) / runs, max(us), port(), version(), heap())
    )
    print("SAMPLES", us)


def _program(words):
    # The exit status.
    try:
        n, runs = [int(word) for word in words]
    except ValueError:
        n = runs = 0
    if n < 1 or runs < 1:
        print("bare takes two whole numbers from 1: n and runs")
        return 2
    try:
        main(n, runs)
    except MemoryError:
        print("bare: CommsTime does not fit this heap")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_program(sys.argv[1:]))
