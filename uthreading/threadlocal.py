"""`local`: an object whose attributes each thread has for itself.

    mine = local()
    mine.count = 0      # other threads do not see it

What a Thread or a kept job stored is gone when it ends. A subclass's `__init__` runs again, with
the same arguments, in each thread that uses the object. What stands in the class itself is the
same for all threads, and setting it in the object is an AttributeError.
"""

import _thread
from _thread import get_ident

from . import kept

if hasattr(_thread, "_local"):
    # CPython gives the ident of a thread that has ended to another one. Of the end of a raw thread
    # nobody tells, but what is kept in here is gone then.
    _here = _thread._local()

    def _ident():
        ident = get_ident()
        if not hasattr(_here, "seen"):
            _here.seen = True
            with kept.lock:
                record = kept.records.get(ident, (None, None))
                used = record[1]
                if used:
                    record[1] = None
            kept.clear_locals(used, ident)
        return ident

else:
    _ident = get_ident


class local:
    """An object whose attributes each thread has for itself."""

    if hasattr(_thread, "_local"):  # on MicroPython it is read-only
        __dict__ = property(lambda self: _space(self))

        def __getattribute__(self, name):
            # Before the `__getattr__` of a subclass; MicroPython has no such hook.
            try:
                return object.__getattribute__(self, name)
            except AttributeError:
                return local.__getattr__(self, name)

    def __new__(cls, *args, **kwargs):
        self = object.__new__(cls)
        object.__setattr__(self, "_made", (args, kwargs))
        object.__setattr__(self, "_spaces", {})  # ident of a thread: its attributes
        _add_space(self, _ident())
        return self

    def __init__(self, *args, **kwargs):
        if args or kwargs:
            raise TypeError("initialization arguments are not supported")

    def __getattr__(self, name):
        try:
            return _space(self)[name]
        except KeyError:
            raise AttributeError(name)

    def __setattr__(self, name, value):
        if hasattr(type(self), name):
            # Reading finds the class's first, and MicroPython has no way to intervene.
            raise AttributeError("%s is an attribute of the class" % name)
        _space(self)[name] = value

    def __delattr__(self, name):
        try:
            del _space(self)[name]
        except KeyError:
            raise AttributeError(name)


# The attributes of the calling thread, which nobody else touches.
def _space(it):
    ident = _ident()
    with kept.lock:
        space = it._spaces.get(ident)
    if space is None:
        space = _add_space(it, ident)
        args, kwargs = it._made
        try:
            it.__init__(*args, **kwargs)
        except BaseException:
            with kept.lock:
                it._spaces.pop(ident, None)
            raise
    return space


# The thread remembers which it used, so that they can be cleared when it ends. The main one does
# not end, and would only keep them alive.
def _add_space(it, ident):
    space = {}
    with kept.lock:
        if ident != kept.main_ident:
            record = kept.records.get(ident)
            if record is None:
                record = kept.records[ident] = [None, None]
            if record[1] is None:
                record[1] = []
            record[1].append(it)
        it._spaces[ident] = space  # last: it may find no memory, and is remembered if it does
    return space
