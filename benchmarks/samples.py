"""The figures of a row in which each is taken one by one."""

import gc
from array import array

from benchmarks.harness import Meter, progress


class Samples(Meter):
    """n figures in each run, in an array that is made beforehand: taking them collects nothing."""

    def __init__(self, title, n, runs):
        Meter.__init__(self, title, runs)
        self.us = array("i", bytes(4 * n * runs))
        self._taken = 0

    def next(self):
        """True while another run is to be done; the heap is swept then."""
        progress.show(self.title, self._taken, len(self.us))
        gc.collect()
        return self._taken < len(self.us)

    def take(self, us):
        """Keeps a figure, a whole number."""
        self.us[self._taken] = us
        self._taken += 1

    def percentiles(self, *percents):
        """The least figure that so many percent of all do not exceed, for each of the percents."""
        ordered = sorted(self.us)
        return [ordered[(len(ordered) * p + 99) // 100 - 1] for p in percents]
