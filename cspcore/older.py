"""What read ends need for `async for` on MicroPython before 1.21.

There `async for v in cin` sets cin to what `__aiter__` gives, so that must be the end itself:
whoever uses cin after the loop finds what it was.
"""

import sys

from cspcore.errors import PoisonException


def next_of(_read):
    """What an end has as __anext__."""
    return _next


def _next(self):
    try:
        return (yield from self())
    except PoisonException:
        raise StopAsyncIteration


if sys.implementation.version < (1, 13):  # it awaits what it iterates over

    def looping(end, _loop=None):
        """What an end's __aiter__ gives."""
        return end
        yield

else:

    def looping(end, _loop=None):
        """What an end's __aiter__ gives."""
        return end
