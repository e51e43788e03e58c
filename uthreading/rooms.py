"""Room in dictionaries that several threads read, where there is no GIL. To import this makes it.

A dictionary that grows loses all of its names for a moment; whoever looks for one then does not
find it. So one that other threads read must not grow, and need not if it has room.
"""

import sys
from _thread import get_ident

import uthreading


def _make(names, n):
    # Room for n more names.
    for i in range(n):
        names[i] = None
    for i in range(n):
        del names[i]


_make(getattr(uthreading, "__dict__", {}), len(uthreading._attrs) + 10)  # modules, too
# So many may a program add after its imports, while its threads use those that there are. Now,
# not with the first thread: the program may have started some of its own by then.
if get_ident() == uthreading.main_ident:
    _make(getattr(__import__("__main__"), "__dict__", {}), 64)
    _make(sys.modules, 64)
