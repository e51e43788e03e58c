"""CPython's `threading` for MicroPython, over `_thread`; the same on CPython itself.

    from uthreading import Thread, Event

    ready = Event()
    t = Thread(target=ready.set)
    t.start()
    if not ready.wait(0.5):     # timeouts work, in seconds
        print("late")
    t.join()

What differs from CPython:

- Import this package in the main thread.
- Threads are kept when their work ends and serve the next `start` (see kept.py).
- Threads started through `_thread` itself are not listed by `enumerate`.
- Without a GIL (Unix port), an attribute must not be added to an object while another thread
  uses that object: a Thread subclass makes all of its attributes in `__init__`.
- Where there is no exit hook (boards), nothing waits for non-daemon threads when main.py ends.
"""

import sys as _sys

try:
    from _thread import allocate_lock as _allocate_lock
    from _thread import get_ident as _get_ident
except ImportError:
    raise ImportError("uthreading needs _thread, which this MicroPython lacks")

_attrs = {
    "Thread": "thread",
    "Timer": "timer",
    "active_count": "thread",
    "current_thread": "thread",
    "enumerate": "thread",
    "get_ident": "thread",
    "main_thread": "thread",
    "Lock": "lock",
    "RLock": "lock",
    "Condition": "sync",
    "Event": "sync",
    "Semaphore": "sync",
    "BoundedSemaphore": "sync",
    "Barrier": "barrier",
    "BrokenBarrierError": "barrier",
    "local": "threadlocal",
    "ExceptHookArgs": "report",
    "excepthook": "report",
    "stack_size": "kept",
}

__all__ = tuple(_attrs)

# Not later: the rest is loaded by whichever thread needs it first. So is this package after a bare
# `import upycsp`, which has noted the thread that it was in.
main_ident = getattr(_sys.modules.get("upycsp"), "_main", None) or _get_ident()
_loading = _allocate_lock()
_loader = None  # the ident of the thread that holds it
# How to call it where a thread's stack is too short for an import (see kept.py), else None. False:
# CPython's imports lock, and another lock around that could block.
_aside = None if _sys.implementation.name != "cpython" else False


def alone(f, *args):
    """Call f(*args), which loads modules: here and in upycsp one thread at a time does so."""
    global _loader
    me = _get_ident()
    if _loader == me or _aside is False:  # what is being loaded asks for this
        return f(*args)
    with _loading:
        _loader = me
        try:
            return _aside(f, args) if _aside else f(*args)
        finally:
            _loader = None


def _find(module, attr):
    value = __import__(module, globals(), None, (attr,), 1)
    if module != attr:
        value = getattr(value, attr)
        globals()[attr] = value  # while no other thread adds a name
    return value


# Loads a name on first use: importing the package costs a kilobyte, not all of it. MicroPython
# asks here for modules, too, in `from uthreading import kept`.
def __getattr__(attr):
    if attr == "_lazy":
        return True
    mod = _attrs.get(attr)
    if mod is None:
        if attr not in ("clock", "waiting") and attr not in _attrs.values():
            raise AttributeError(attr)
        mod = attr
    return alone(_find, mod, attr)


# Without a GIL a thread must not load modules, nor add names to this one, beside the others:
# where that can happen kept.py calls this before it starts the first thread.
def _load_all():
    names = globals()
    for attr in _attrs:
        if attr not in names:
            __getattr__(attr)


# Firmware that knows no `__getattr__` in modules (Pycom's) gets everything at once.
try:
    import uthreading

    uthreading._lazy
except AttributeError:
    _load_all()
