"""Thread, and the list of what runs.

    t = Thread(target=print, args=("hello",))
    t.start()
    t.join()

A Thread is a job on a kept thread (kept.py), so thousands of short ones, one after another, need
one thread. Times are in seconds.
"""

import sys
from _thread import allocate_lock, get_ident

from . import kept
from .kept import alive, records
from .report import report
from .waiting import Queue, open_all

try:
    import atexit
except ImportError:
    atexit = None

# What a Thread goes through; `kept.lock` guards it. None: `__init__` was not called.
_NEW = 0
_STARTED = 1
_ENDED = 2

_named = 0
_dummies = 0
_hooked = False


class Thread:
    """A thread that calls target(*args, **kwargs), or whatever a subclass puts into `run`.

    Its name is "Thread-1", "Thread-2", ... if none is given; `daemon` is inherited. An exception
    goes to `uthreading.excepthook`. A subclass makes all its attributes in `__init__`.
    """

    _phase = None

    def __init__(self, group=None, target=None, name=None, args=(), kwargs=None, *, daemon=None):
        if group is not None:
            raise ValueError("group must be None")
        self.name = _new_name() if name is None else str(name)
        self._target = target
        self._args = args
        self._kwargs = {} if kwargs is None else kwargs
        self._daemon = current_thread().daemon if daemon is None else bool(daemon)
        self._ident = None
        self._begun = None
        self._joiners = Queue(kept.lock)
        self._phase = _NEW

    def start(self):
        """Starts the thread, once: RuntimeError if it was started, or can't be.

        After an interrupt the thread is as it was, or has begun, or has ended and will not run.
        """
        self._check()
        begun = allocate_lock()
        begun.acquire()
        try:
            with kept.lock:
                if self._phase != _NEW:
                    raise RuntimeError("threads can only be started once")
                self._begun = begun
                self._phase = _STARTED
                alive.append(self)
            _hook_exit()
            kept.start(self._body, self._ended)
        except BaseException as er:
            with kept.lock:
                if self._begun is not begun:
                    raise  # it was started before, or has begun when an interrupt came
                self._begun = None
                # After an interrupt a kept thread may have it as its job yet, and leave it alone.
                self._phase = _NEW if isinstance(er, Exception) else _ENDED
                _unlist(self)
                waiters = self._joiners.grant_all()
            open_all(waiters)
            raise
        begun.acquire()  # the thread now knows its ident

    def run(self):
        """What the thread does: calls the target."""
        try:
            if self._target is not None:
                self._target(*self._args, **self._kwargs)
        finally:
            self._target = self._args = self._kwargs = None  # kept alive no longer

    def join(self, timeout=None):
        """Waits until the thread has ended, or for timeout seconds: `is_alive` tells which.

        RuntimeError if it was not started or is the calling thread.
        """
        self._check()
        with kept.lock:
            if self._phase == _ENDED:
                return
            waiter = None
            if self._phase == _STARTED and self._ident != get_ident():
                waiter = self._joiners.enter()
        if waiter is not None:
            waiter.sleep_for(timeout)
        elif self._phase == _STARTED:
            raise RuntimeError("cannot join current thread")
        if not self._phase:  # new, or its start has failed meanwhile
            raise RuntimeError("cannot join thread before it is started")

    def is_alive(self):
        """Whether the thread was started and has not ended."""
        return self._phase == _STARTED

    @property
    def ident(self):
        """What `get_ident` returns in the thread; None before it was started."""
        return self._ident

    @property
    def daemon(self):
        """Whether the program may end before the thread; can be set until it is started."""
        return self._daemon

    @daemon.setter
    def daemon(self, value):
        self._check()
        if self._phase != _NEW:
            raise RuntimeError("cannot set daemon status of active thread")
        self._daemon = bool(value)

    def __repr__(self):
        state = {_STARTED: "started", _ENDED: "stopped"}.get(self._phase, "initial")
        if self._daemon:
            state += " daemon"
        return "<{}({}, {})>".format(type(self).__name__, self.name, state)

    def _check(self):
        if self._phase is None:
            raise RuntimeError("thread.__init__() not called")

    def _body(self):
        ident = get_ident()
        with kept.lock:
            begun = self._begun
            if begun is None:  # its start was interrupted
                return
            records[ident] = [self, None]
            self._ident = ident
            self._begun = None
        begun.release()
        try:
            self.run()
        except BaseException as e:
            report(e, self)

    # Called when the kept thread is idle again, so whoever joins finds a thread to start.
    def _ended(self):
        with kept.lock:
            self._phase = _ENDED
            _unlist(self)
            begun = self._begun
            self._begun = None
            waiters = self._joiners.grant_all()
        if begun is not None:
            begun.release()  # there was no memory to begin
        open_all(waiters)


# Under lock. A subclass may say that its threads are equal, so not by `remove`.
def _unlist(thread):
    for i in range(len(alive)):
        if alive[i] is thread:
            alive.pop(i)
            return


# Stands for a thread that runs and is none of ours: the main one, a kept job, a foreign thread.
class _Running(Thread):
    def __init__(self, name, daemon, ident):
        super().__init__(name=name, daemon=daemon)
        self._ident = ident
        self._phase = _STARTED


class _DummyThread(_Running):
    def __init__(self):
        super().__init__(_new_dummy_name(), True, get_ident())

    def join(self, timeout=None):
        raise RuntimeError("cannot join a dummy thread")


def current_thread():
    """The Thread that calls this; a dummy, the same for all of a job, if it is no Thread."""
    ident = get_ident()
    with kept.lock:
        record = records.get(ident)
        if record is not None and record[0] is not None:
            return record[0]
    dummy = _DummyThread()
    _enter(dummy)
    return dummy


def _enter(thread):
    with kept.lock:
        record = records.get(thread._ident)
        if record is None:
            records[thread._ident] = [thread, None]
        else:
            record[0] = thread


def main_thread():
    """The Thread that imported this package."""
    return _main


def enumerate():
    """A list of the Threads that run: the main one and those started and not ended."""
    with kept.lock:
        return [_main] + alive


def active_count():
    """How many Threads `enumerate` would list."""
    with kept.lock:
        return 1 + len(alive)


def _new_name():
    global _named
    with kept.lock:
        _named += 1
        n = _named
    return "Thread-{}".format(n)


def _new_dummy_name():
    global _dummies
    with kept.lock:
        _dummies += 1
        n = _dummies
    return "Dummy-{}".format(n)


# Lets the end of the program wait for the non-daemon threads, where it can be told to.
def _hook_exit():
    global _hooked
    with kept.lock:
        if _hooked:
            return
        _hooked = True
    try:
        if atexit is not None:
            atexit.register(_join_all)
        elif hasattr(sys, "atexit"):
            _chain()
    except BaseException:
        _hooked = False
        raise


if hasattr(sys, "atexit"):

    # MicroPython keeps one exit function: calls the one that was there after ours.
    def _chain():
        def at_exit():
            try:
                _join_all()
            except BaseException as e:  # an exception here would abort the interpreter
                report(e, _main)
            if other is not None:
                other()

        other = None  # what at_exit needs is there before it takes the other's place
        other = sys.atexit(at_exit)


def _join_all():
    _main._ended()
    while True:
        with kept.lock:
            waited_for = [t for t in alive if not t._daemon]
        if not waited_for:
            return
        Thread.join(waited_for[0])  # not what a subclass makes of it


_main = _Running("MainThread", False, kept.main_ident)
_enter(_main)
