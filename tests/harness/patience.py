"""Time limits that follow the load: what stops a test that hangs shall not stop one that is slow.

    p = Patience(30)
    while not done():
        if p.left() <= 0:
            ...               # 30 s have passed, or as much more as others have used the machine
    run(words, timeout=30)    # subprocess.run with such a limit
"""

import os
import subprocess
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


def run(words, timeout, capture_output=False, check=False, **options):
    """subprocess.run with so many seconds of patience: after them it kills, and TimeoutExpired."""
    if capture_output:
        options.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    patience = Patience(timeout)
    with subprocess.Popen(words, **options) as process:
        try:
            while process.returncode is None:
                try:
                    output, errors = process.communicate(timeout=0.5)
                except subprocess.TimeoutExpired as e:
                    if patience.left() <= 0:
                        e.timeout = timeout
                        raise
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(words, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done
