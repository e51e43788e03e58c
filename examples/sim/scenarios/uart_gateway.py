"""Lines come to both UARTs, in pieces and several at once, and noise."""

from world import world


def plan(example):
    one, two = world.wire(1), world.wire(2)
    noise = b"\xff" * (example.LONGEST + 1)
    world.at(100, one.feed, b"temper")
    world.at(110, one.feed, b"ature?\nhumidity?\n")
    world.at(120, two.feed, b"21.5 C\n")
    world.at(120, one.feed, b"pressure?\n")
    world.at(130, two.feed, b"40 %\n1013 hPa\n")
    world.at(140, one.feed, noise)
    world.at(150, one.feed, noise + b"\ntemperature?\n")
    world.at(200, world.interrupt)
