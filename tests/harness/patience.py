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
    """A time limit in seconds; while the machine is crowded each counts for less.

    What counts is how crowded it is whenever somebody asks what is left: a test that has hundreds
    of threads for a moment makes others wait longer for that moment alone.
    """

    def __init__(self, seconds):
        self._left = seconds
        self._asked = time.monotonic()

    def left(self):
        """How many seconds are left; no more than 0 when it is over."""
        now = time.monotonic()
        self._left -= (now - self._asked) / crowding()
        self._asked = now
        return self._left
