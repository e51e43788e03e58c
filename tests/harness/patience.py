"""Time limits that follow the load: what stops a test that hangs shall not stop one that is slow.

    p = Patience(30)
    while not done():
        if p.left() <= 0:
            ...               # 30 s have passed, or as much more as others have used the machine
"""

import os
import time


def crowding():
    """By how many times the machine has more to do than it has processors; at least 1."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):
        return 1
    try:
        with open("/proc/loadavg") as f:  # the average lags: those that want to run just now
            load = max(load, int(f.read().split()[3].split("/")[0]))
    except OSError:
        pass
    return max(1, load / (os.cpu_count() or 1))


class Patience:
    """A time limit in seconds; on a crowded machine each counts for less, from the start on."""

    def __init__(self, seconds):
        self._seconds = seconds
        self._begun = time.monotonic()
        self._crowd = 1

    def left(self):
        """How many seconds are left; no more than 0 when it is over."""
        self._crowd = max(self._crowd, crowding())
        return self._seconds - (time.monotonic() - self._begun) / self._crowd
