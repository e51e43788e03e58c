"""Timers, and the ticks they count: ms that start anywhere and go round, as MicroPython's."""

from cspcore import timers
from uthreading import clock


class engine:
    # A clock of its own: a virtual one has other ticks than the alarms of uthreading.
    ticks_ms = staticmethod(clock.ticks_ms)  # else 1.11 takes them for methods
    ticks_add = staticmethod(clock.ticks_add)
    ticks_diff = staticmethod(clock.ticks_diff)


ticks_add = engine.ticks_add
ticks_diff = engine.ticks_diff


def ticks_ms():
    """Now, in ticks of the clock that all timers count by."""
    return engine.ticks_ms()


class At(timers.At):
    """A guard that is ready from a moment on, in ticks as of ticks_ms; its value is None."""

    clock = engine


class Every(timers.Every):
    """A guard that is ready each ms milliseconds; its value is how many such moments have passed.

    Counted since it was chosen last: 1 if none was missed. They do not drift.
    """

    clock = engine
