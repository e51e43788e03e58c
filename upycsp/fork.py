"""What a child of `os.fork()` has to forget, as in uthreading.fork: who runs, and the runs.

It may begin runs of its own, if it was not forked within one. CPython alone has this module.
"""

import os
import sys
from _thread import get_ident

from upycsp.channel import making
from upycsp.wait import lock, offers

_process = sys.modules["upycsp.process"]  # the package has a function of this name


def _in_child():
    me = get_ident()
    for ident in list(offers):
        if ident != me:
            del offers[ident]
    _process._alive.clear()
    _process._runs.clear()
    _process._telling.clear()
    watch = sys.modules.get("upycsp.watch")
    if watch is not None:
        watch._watches = False
    lock.release()


if hasattr(os, "register_at_fork"):  # Windows knows no fork
    os.register_at_fork(
        before=making.acquire, after_in_parent=making.release, after_in_child=making.release
    )
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=_in_child
    )
