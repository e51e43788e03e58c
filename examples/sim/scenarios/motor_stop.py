"""The knob is turned up, then somebody presses the stop button."""

from scenarios import levels
from world import world


def plan(example):
    world.line(example.MOTOR).name = "MOTOR"
    world.volts[example.KNOB] = lambda: min(world.now // 100 * 4096, 65535)
    stop = world.line(example.STOP)
    stop.level = 0  # normally closed
    levels("STOP", stop, ((1025, 1),))
