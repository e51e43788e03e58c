"""A stand-in for the asyncio of older MicroPythons, under the only name it had: uasyncio.

It has the names and the semantics of MicroPython 1.16 - 1.18, or with UASYNCIO=1.19 in the
environment those of 1.19 and 1.20, as far as tests use them:
- 1.16 - 1.18: TaskQueue has push_head, push_sorted, pop_head; a task's state is no callable;
- 1.19 and later: TaskQueue has push and pop; state may be a callable;
- the loop ends silently when nothing can be woken, in all of them.
It is simple instead of fast: a queue is a sorted list.
"""

from . import core
from .core import *  # noqa: F403
from .functions import *  # noqa: F403


def __getattr__(name):
    return getattr(core, name)
