"""What happens to each example on the desktop: a module for each, of the same name.

Its function `plan` is given the example's module. It plans the events, may set constants to what
the desktop has, and may return what is to be called at the end.
"""

from world import world


def levels(name, line, changes):
    """Changes of a pin's level from outside, as (ms, level)."""
    for ms, level in changes:
        world.at(ms, world.tell, "{} {}".format(name, level))
        world.at(ms, line.set, level)
