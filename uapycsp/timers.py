"""Timers, and the ticks they count: ms that start anywhere and go round, as MicroPython's."""

from ufuture.loop import engine
from cspcore import timers

ticks_add = engine.ticks_add
ticks_diff = engine.ticks_diff


def ticks_ms():
    """Now, in ticks of the clock that all timers count by."""
    return engine.ticks_ms()


class At(timers.At):
    clock = engine


class Every(timers.Every):
    clock = engine
