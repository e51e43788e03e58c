"""A stop watch in microseconds, on the best clock that the platform has.

    watch = Chrono()
    watch.start()
    work()
    watch.stop()
    print(watch.read_us())
"""

import time

if hasattr(time, "perf_counter_ns"):
    _ticks_us = None
else:
    _ticks_us = time.ticks_us
    _ticks_ms = time.ticks_ms
    _ticks_diff = time.ticks_diff

# ticks_us may wrap after 2^30 us; differences are right up to half of that, 536 s.
_LONG_MS = 500000


class _Ticks:
    """MicroPython: ticks_us; for what is too long for it ticks_ms, which wraps after 12 days."""

    def __init__(self):
        self.restart()

    def restart(self):
        self._ms = _ticks_ms()
        self._us = _ticks_us()

    def elapsed_us(self):
        us = _ticks_us()
        ms = _ticks_diff(_ticks_ms(), self._ms)
        if ms < _LONG_MS:
            return _ticks_diff(us, self._us)
        return ms * 1000


class _Nanoseconds:
    """CPython: perf_counter_ns."""

    def __init__(self):
        self.restart()

    def restart(self):
        self._ns = time.perf_counter_ns()

    def elapsed_us(self):
        return (time.perf_counter_ns() - self._ns) / 1000


class Chrono:
    """Adds up the time between each `start` and `stop`."""

    def __init__(self):
        self._clock = _Nanoseconds() if _ticks_us is None else _Ticks()
        self._sum = 0
        self._running = False

    def start(self):
        """Goes on counting; starting a running one changes nothing."""
        if not self._running:
            self._running = True
            self._clock.restart()

    def stop(self):
        """Stops counting; what was counted stays."""
        if self._running:
            self._sum += self._clock.elapsed_us()
            self._running = False

    def reset(self):
        """Back to zero; a running one goes on from there."""
        self._sum = 0
        if self._running:
            self._clock.restart()

    def read_us(self):
        """The microseconds counted so far, of a running one too."""
        if self._running:
            return self._sum + self._clock.elapsed_us()
        return self._sum
