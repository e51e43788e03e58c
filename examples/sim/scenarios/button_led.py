"""Somebody presses a button that bounces."""

from scenarios import levels
from world import world


def plan(example):
    world.line(example.LED).name = "LED"
    levels("BUTTON", world.line(example.BUTTON), (
        (1000, 0), (1002, 1), (1003, 0), (1007, 1), (1008, 0),  # pressed: it bounces
        (2000, 1), (2003, 0), (2004, 1),
        (3000, 0), (3005, 1),  # a disturbance
        (4000, 0), (4500, 1),
    ))
    world.at(5000, world.interrupt)
