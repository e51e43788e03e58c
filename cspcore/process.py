"""What the processes of both libraries share: state, ends, the lists of who lives, who failed."""

import sys

from cspcore.channel import const
from cspcore.choice import End
from cspcore.errors import PoisonException, RetireException, strength_of

WELL = const(0)  # not ended, or not by an exception
FAILED = const(1)
SHORT = const(2)  # failed by a MemoryError

_no_memory = MemoryError("memory allocation failed")

# Made once: there may be no memory for them when a process dies.
_UNNOTED = (MemoryError, ValueError)  # a strength could not be noted, or it is none
_NESTS = (list, tuple)
_DEEPEST = 9  # how deep lists are searched for ends, and one: it may contain itself


class BaseProcess:
    """A process function with its arguments. Subclasses say how it is started.

    `_f` is the function, `_args` its arguments; or a coroutine, and None. `_group` is whom to
    tell of the end; `_older` and `_newer` link a Ring. The end of a process allocates nothing: all
    that is stored then stands there since its start.
    """

    _kwargs = None
    _verbose = False
    _propagate = True

    def __getattr__(self, name):
        # `name`: of the process function, or of the coroutine. No property, as in BaseChannel.
        if name != "name":
            raise AttributeError(name)
        name = getattr(self._f, "__name__", None)
        if name is None:
            # MicroPython: <generator object 'name' at 7f..>; Pycom's: <function name at 0x3f..>
            text = str(self._f)
            words = text.split(" " if text.startswith("<function ") else "'")
            name = words[1] if len(words) > 2 else "a process"
        return name

    def __repr__(self):
        return "<process %s>" % self.name

    def call(self):
        """Call the process function."""
        if self._kwargs:
            return self._f(*self._args, **self._kwargs)
        return self._f(*self._args)

    def die(self, exception):
        """Rules 4 and 5: what an exception does that ends the process. What remains of it."""
        if self._propagate and self._args is not None:
            try:
                forsake(self._args, exception)
                forsake(self._kwargs, exception)
            except _UNNOTED as er:  # that is a failure
                exception = er
                forsake(self._args, exception)
                forsake(self._kwargs, exception)
        if not isinstance(exception, PoisonException):
            return exception
        if self._verbose:
            try:
                # In one piece: other threads may have to tell the same.
                name = "by retirement" if isinstance(exception, RetireException) else "by poison"
                sys.stderr.write("process %s ended %s\n" % (self.name, name))
            except Exception:  # stderr is closed, or there is no memory
                pass
        return None

    def forgo(self, exception):
        """It will never be started: its neighbours must not wait for it. As die."""
        exception = self.die(exception)
        if sys.implementation.name == "cpython":
            if self._args is None and hasattr(self._f, "close"):
                self._f.close()  # a coroutine: there is a warning if nobody has awaited it
        try:
            self._group = False
        except MemoryError:  # it was not claimed, and has no such attribute yet
            pass
        return exception


class BaseComposite:
    """What a Parallel or Sequence adds to the process that runs it; `_f` is that body."""

    # `parts` of the body are its members, or None once it has begun.

    name = "a Parallel or Sequence"

    def refuse_begun(self):
        """RuntimeError if the body was started by itself."""
        if self._f.parts() is None:
            started_twice()

    def die(self, exception):
        # The body may not even have begun.
        forgo_all(self._f.parts() or (), 0, None, exception)
        return BaseProcess.die(self, exception)


def started_twice():
    """Raise what starting a process again raises; written once, for it takes room in each file."""
    raise RuntimeError("a process is started once")


def forgo_all(members, n, group, exception):
    """A Parallel or Sequence gives up: what it has not started, from the n-th on, as forgo.

    But not what others have claimed. It takes no memory of its own.
    """
    while n < len(members):
        m = members[n]
        if isinstance(m, BaseProcess) and (m._group is None or m._group is group):
            m.forgo(exception)
        n += 1


def no_memory():
    """A MemoryError to be kept.

    Where there is no memory, one object serves MicroPython for all exceptions: what was kept of a
    MemoryError may be a StopIteration soon. One that was made before takes its place then.
    """
    er = MemoryError("memory allocation failed")
    if er is MemoryError():
        er = _no_memory
        er.__traceback__ = None  # each raise adds to it
    return er


def unchanged(exception, short):
    """An exception that was kept; short: whether it was a MemoryError then.

    While there is no memory another thread may change it as it is raised.
    """
    if short and (not isinstance(exception, MemoryError) or exception is MemoryError()):
        return no_memory()
    return exception


def forsake(args, exception, deep=_DEEPEST):
    """Poison, or retire, the channel ends among arguments, in lists and tuples too."""
    deep -= 1  # here: in the call it would need a word more, and those of the heap with that
    for a in args or ():
        if isinstance(args, dict):
            a = args[a]
        if not isinstance(a, End):
            if deep and isinstance(a, _NESTS):
                forsake(a, exception, deep)
        elif a.counts:
            a.forsake(exception)
        else:
            a.poison(strength_of(exception))


def maker(Process, named=None):
    """The decorator `process`, which makes processes of a class.

    named: the class of those that get keyword arguments, if it is another one.
    """
    Process.named = named or Process

    def process(f=None, verbose_poison=False, propagate=True):
        """Make a process function: calling it makes a process, not started.

        verbose_poison: say so on stderr when it ends by poison. propagate: poison the channel ends
        among its arguments when it ends by an exception.
        """
        if f is None:
            return lambda f: process(f, verbose_poison, propagate)
        if not callable(f):
            raise TypeError("a process function is expected")

        # Two names from around: with more than five, arguments included, MicroPython takes a piece
        # of the heap for each call.
        def make(*args, **kwargs):
            if not kwargs:
                return Process(f, args)
            p = Process.named(f, args)
            p._kwargs = kwargs
            return p

        if verbose_poison or not propagate:
            plain = make

            def make(*args, **kwargs):
                p = plain(*args, **kwargs)
                p._verbose = verbose_poison
                p._propagate = propagate
                return p

        try:
            make.__name__ = f.__name__
            make.__doc__ = f.__doc__
        except AttributeError:  # MicroPython's functions have no attributes to set
            pass
        return make

    return process


class Ring:
    """The processes that were started and have not ended, linked in the order of their start."""

    # A ring, in which this object is one too: no end of it needs a look.

    def __init__(self):
        self._older = self._newer = self

    def clear(self):
        # What leaves later must not touch those who have come since.
        p = self._newer
        while p is not self:
            newer = p._newer
            p._older = p._newer = p
            p = newer
        self._older = self._newer = self

    def add(self, p):
        p._newer = self
        p._older = last = self._older
        last._newer = self._older = p

    def is_empty(self):
        return self._newer is self

    def oldest(self):
        """The first of them, or the ring itself; `_newer` leads on."""
        return self._newer

    def each(self):
        """Its processes; either the one just given or the others may leave meanwhile."""
        p = self._newer
        while p is not self:
            newer = p._newer
            yield p
            p = p._newer or newer


MOST_KEPT = const(8)  # failures that a run keeps: it may never end, as on a device


class Failures:
    """Handles of spawned processes that failed and that nobody asked about, first in time first.

    They are linked by `later`, which each has from the start: noting one takes no memory. The run
    that is to raise it is in `within`; None where there is but one.
    """

    def __init__(self):
        self.clear()

    def clear(self):
        self.first = self._last = None

    def note(self, handle):
        """False if its run has so many already that this one is to be told at once."""
        n = MOST_KEPT
        h = self.first
        while h is not None:
            if h.within is handle.within:
                n -= 1
            h = h.later
        if not n:
            return False
        self.add(handle)
        return True

    def add(self, handle):
        """One that is in no other list."""
        if self.first is None:
            self.first = handle
        else:
            self._last.later = handle
        self._last = handle

    def forget(self, handle):
        """Somebody has asked now, whether or not it is noted here."""
        h = self.first
        before = None
        while h is not handle:
            if h is None:
                return
            before = h
            h = h.later
        if before is None:
            self.first = handle.later
        else:
            before.later = handle.later
        if self._last is handle:
            self._last = before
        handle.later = None
