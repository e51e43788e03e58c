"""What CPython alone needs: contexts of threads, and what a child of `os.fork()` has to forget.

Of all threads only the one that forked is in the child. That one holds `kept.lock` while it forks,
so that what this guards is not half changed. Other locks of the library are made anew: who held
them is gone. A program's own locks, and what else it has, are its own matter, as with `threading`.
"""

import os
import sys
from _thread import allocate_lock, get_ident

import uthreading

from . import kept, report


def _in_child():
    me = get_ident()
    kept._idle = None
    kept._idle_count = 0
    kept._count = int(me != kept.main_ident)  # it is busy
    kept.lock.release()
    report._printing = allocate_lock()
    uthreading.main_ident = kept.main_ident = me
    clock = sys.modules.get("uthreading.clock")
    if clock is not None:
        _stop(clock)
    thread = sys.modules.get("uthreading.thread")
    if thread is not None:
        _end_others(thread, me)
    for ident in list(kept.records):
        if ident != me:
            kept._forget(ident)


# Nobody is left whom an alarm could wake; the next one starts another timer thread.
def _stop(clock):
    clock._lock = allocate_lock()
    clock._gate = allocate_lock()
    clock._gate.acquire()
    clock._parked = False
    clock._started = 0
    while clock._armed:
        clock._armed.pop().due = None


# The one that forked is the main one, as in threading; but a kept thread would wait at its end.
def _end_others(thread, me):
    for t in thread.enumerate():
        if t._ident != me:
            t._ended()
    thread._main = thread.current_thread()
    thread._unlist(thread._main)


if hasattr(os, "register_at_fork"):  # Windows knows no fork
    os.register_at_fork(
        before=kept.lock.acquire,
        after_in_parent=kept.lock.release,
        after_in_child=_in_child,
    )

if sys.implementation.name == "cpython":
    from contextvars import Context
    from functools import partial

    def _apart(job):
        # A job for a kept thread, in an empty context as a new thread would have.
        return partial(Context().run, job)

    kept._apart = _apart
