"""The thesis's thread design: one lock shared by everything, a new thread for each process.

Every operation holds the shared re-entrant lock. One that must wait sleeps on a `CFuture`: a
private lock, taken twice, which the counterpart releases after it has left a result or an
exception; the shared lock is let go before sleeping, and not needed again, as the result travels
in the future. A process is a thread that is started, and joined through a lock that it holds while
it lives.

    from benchmarks.thesis import upycsp as csp
    csp.run(producer(ch.write), consumer(ch.read))
"""

import _thread
from _thread import allocate_lock, get_ident

try:
    from micropython import const
except ImportError:
    def const(value):
        return value

_READ = const(0)
_WRITE = const(1)

_INACTIVE = const(0)
_ENABLING = const(1)
_WAITING = const(2)


class PoisonException(Exception):
    """Raised by an operation on a poisoned channel."""


# --- the shared lock and the future

class RLock:
    """A lock that its owner may take again; `_thread` has none on MicroPython."""

    def __init__(self):
        self._block = allocate_lock()
        self._owner = None
        self._count = 0

    def acquire(self):
        me = get_ident()
        if self._owner == me:
            self._count += 1
        else:
            self._block.acquire()
            self._owner = me
            self._count = 1

    def release(self):
        if self._owner != get_ident():
            raise RuntimeError("release of a lock held by another")
        self._count -= 1
        if self._count == 0:
            self._owner = None
            self._block.release()


_shared = getattr(_thread, "RLock", RLock)()


class CFuture:
    """`with CFuture() as f` holds the shared lock; `f.wait()` lets go of it and sleeps."""

    def __init__(self):
        self._waiter = None
        self._result = None
        self._exception = None

    def __enter__(self):
        _shared.acquire()
        return self

    def __exit__(self, *exc):
        if self._waiter is None:    # else wait() has released it already
            _shared.release()

    def wait(self):
        waiter = allocate_lock()
        waiter.acquire()
        self._waiter = waiter
        _shared.release()
        waiter.acquire()
        if self._exception is not None:
            raise self._exception
        return self._result

    def set_result(self, result):
        self._result = result
        self._waiter.release()

    def set_exception(self, exception):
        self._exception = exception
        self._waiter.release()


# --- channels

class Guard:
    """What an alternative asks: `enable` answers (ready, value), `disable` withdraws."""

    def enable(self, alt):
        return (False, None)

    def disable(self, alt):
        pass


class _End:
    def __init__(self, chan):
        self._chan = chan

    def channel(self):
        return self._chan

    def poison(self):
        self._chan.poison()


class ReadEnd(_End, Guard):
    """The read end: called to read, or a guard."""

    def __call__(self):
        return self._chan._read()

    def enable(self, alt):
        return self._chan._read_enable(alt, self)

    def disable(self, alt):
        self._chan._disable(alt)


class WriteEnd(_End):
    """The write end: called to write."""

    def __call__(self, obj):
        return self._chan._write(obj)

    def alt_pending_write(self, obj):
        """A guard that writes `obj` if it is chosen."""
        return PendingWrite(self._chan, obj)


class PendingWrite(Guard):
    def __init__(self, chan, obj):
        self._chan = chan
        self.obj = obj

    def enable(self, alt):
        return self._chan._write_enable(alt, self)

    def disable(self, alt):
        self._chan._disable(alt)


class _Op:
    """A waiting operation; `fut` of a plain one, `alt` and `guard` of an alternative's."""

    def __init__(self, cmd, obj, fut, alt, guard):
        self.cmd = cmd
        self.obj = obj
        self.fut = fut
        self.alt = alt
        self.guard = guard

    def complete(self, value):
        if self.fut is not None:
            self.fut.set_result(value)
        else:
            self.alt.schedule(self.guard, value)

class Channel:
    """Its queue holds either reads or writes, never both; every method holds the shared lock."""

    def __init__(self, name=""):
        self.name = name
        self.poisoned = False
        self.queue = []
        self._kind = _READ      # of what is in the queue
        self.read = ReadEnd(self)
        self.write = WriteEnd(self)

    def _pop_matching(self, cmd):
        if self.queue and self._kind == cmd:
            return self.queue.pop(0)
        return None

    def _post(self, cmd, obj, fut, alt, guard):
        self._kind = cmd
        self.queue.append(_Op(cmd, obj, fut, alt, guard))

    def _read(self):
        with CFuture() as fut:
            if self.poisoned:
                raise PoisonException
            op = self._pop_matching(_WRITE)
            if op is not None:
                op.complete(0)
                return op.obj
            self._post(_READ, None, fut, None, None)
            return fut.wait()

    def _write(self, obj):
        with CFuture() as fut:
            if self.poisoned:
                raise PoisonException
            op = self._pop_matching(_READ)
            if op is not None:
                op.complete(obj)
                return 0
            self._post(_WRITE, obj, fut, None, None)
            return fut.wait()

    def _read_enable(self, alt, guard):
        if self.poisoned:
            raise PoisonException
        op = self._pop_matching(_WRITE)
        if op is not None:
            op.complete(0)
            return (True, op.obj)
        self._post(_READ, None, None, alt, guard)
        return (False, None)

    def _write_enable(self, alt, guard):
        if self.poisoned:
            raise PoisonException
        op = self._pop_matching(_READ)
        if op is not None:
            op.complete(guard.obj)
            return (True, 0)
        self._post(_WRITE, guard.obj, None, alt, guard)
        return (False, None)

    def _disable(self, alt):
        self.queue = [op for op in self.queue if op.alt is not alt]

    def poison(self):
        """Every waiting operation, and every later one, raises PoisonException."""
        with CFuture():
            if self.poisoned:
                return
            self.poisoned = True
            while self.queue:
                op = self.queue.pop(0)
                if op.fut is not None:
                    op.fut.set_exception(PoisonException())
                else:
                    op.alt.poison()


# --- alternatives and processes

class Alternative:
    """Chooses the first ready guard, in the order given."""

    def __init__(self, *guards):
        self.guards = guards
        self._state = _INACTIVE
        self._enabled = []
        self._fut = None

    def select(self):
        """The chosen guard and its value."""
        with CFuture() as fut:
            self._state = _ENABLING
            chosen = self._enable()
            if chosen is None:
                self._state = _WAITING
                self._fut = fut
                return fut.wait()
            self._state = _INACTIVE
            return chosen

    def _enable(self):
        try:
            for guard in self.guards:
                ready, value = guard.enable(self)
                if ready:
                    self._disable()
                    return (guard, value)
                self._enabled.append(guard)
        except PoisonException:
            self._disable()
            self._state = _INACTIVE
            raise
        return None

    def _disable(self):
        for guard in self._enabled:
            guard.disable(self)
        self._enabled = []

    def schedule(self, guard, value):
        """Called, under the shared lock, by the guard that became ready."""
        if self._state != _WAITING:
            raise RuntimeError("scheduled an alternative that does not wait")
        self._state = _INACTIVE
        self._disable()
        self._fut.set_result((guard, value))

    def poison(self):
        if self._state == _WAITING:
            self._state = _INACTIVE
            self._disable()
            self._fut.set_exception(PoisonException())

    def __enter__(self):
        return self.select()

    def __exit__(self, *exc):
        return None


class Thread:
    """A thread with `start`, and `join` through a lock that is held while it lives."""

    def __init__(self):
        self._started = False
        self._alive = allocate_lock()

    def start(self):
        if self._started:
            raise RuntimeError("threads can only be started once")
        self._started = True
        self._alive.acquire()
        try:
            _thread.start_new_thread(self._main, ())
        except BaseException:
            self._alive.release()
            raise

    def _main(self):
        try:
            self.run()
        finally:
            self._alive.release()

    def is_alive(self):
        return self._alive.locked()

    def join(self):
        self._alive.acquire()
        self._alive.release()


class Process(Thread):
    """A function and its arguments, run in a thread of its own; ends quietly by poison."""

    def __init__(self, func, args, kwargs):
        Thread.__init__(self)
        self._func = func
        self._args = args
        self._kwargs = kwargs
        self.retval = None
        self.exception = None

    def run(self):
        try:
            self.retval = self._func(*self._args, **self._kwargs)
        except PoisonException:
            pass
        except BaseException as e:
            # Not the ancestor's: a benchmark that fails shall end, and not hang its neighbours.
            self.exception = e
            for arg in self._args:
                if isinstance(arg, _End):
                    arg.poison()
        return self


class Parallel(Thread):
    """Runs processes at once, each in a new thread; `retval` is the list of their values."""

    def __init__(self, *procs):
        Thread.__init__(self)
        self._procs = procs
        self.retval = None

    def run(self):
        for p in self._procs:
            p.start()
        for p in self._procs:
            p.join()
        for p in self._procs:
            if p.exception is not None:
                raise p.exception
        self.retval = [p.retval for p in self._procs]
        return self


def process(func):
    """A process function: calling it makes a process, not started."""
    def make(*args, **kwargs):
        return Process(func, args, kwargs)
    return make


def run(*procs):
    """Runs one process (its value) or several (the list of their values)."""
    return (procs[0] if len(procs) == 1 else Parallel(*procs)).run().retval
