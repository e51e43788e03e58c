"""Condition, Event, Semaphore and BoundedSemaphore.

    ready = Event()
    ...                         # another thread: ready.set()
    if not ready.wait(0.5):
        print("late")

All timeouts are in seconds; None waits for ever.
"""

from . import clock
from .lock import Permits, RLock, acquire_surely
from .waiting import Queue, open_all


class Condition:
    """Lets the holder of a lock wait until another holder says that something has changed."""

    def __init__(self, lock=None):
        if lock is None:
            lock = RLock()
        self._lock = lock
        self._queue = Queue()
        self.acquire = lock.acquire
        self.release = lock.release
        # Our own locks know more than a bare one.
        self._is_owned = getattr(lock, "_is_owned", self._probe)
        self._let_go = getattr(lock, "_release_save", lock.release)
        self._take_back = getattr(lock, "_acquire_restore", self._acquire_bare)

    def __enter__(self):
        return self._lock.__enter__()

    def __exit__(self, kind, exc, traceback):
        return self._lock.__exit__(kind, exc, traceback)

    def wait(self, timeout=None):
        """Lets go of the lock, waits to be notified, takes the lock; false after a timeout.

        RuntimeError if the lock is not held.
        """
        self._check_owned("wait on")
        limited = timeout is not None and timeout > 0
        with self._queue.mutex:
            waiter = self._queue.enter()
        if limited:
            waiter.arm(timeout)  # may fail, and then nothing has happened
        try:
            saved = self._let_go()
        except BaseException:
            waiter.leave()
            raise
        try:
            if timeout is None or limited:
                return waiter.sleep()
            return waiter.sleep_for(0)
        except BaseException:
            if waiter.granted():
                self._notify(1)  # it was for somebody who can use it
            raise
        finally:
            self._take_back(saved)

    def wait_for(self, predicate, timeout=None):
        """Waits until predicate() is true; returns its last value."""
        left = before = None  # of a timeout, in ms, once it has to wait
        result = predicate()
        while not result:
            if timeout is None:
                self.wait()
            else:
                now = clock.ticks_ms()
                if left is None:
                    # The tick that is under way does not count. As in threading it waits once at
                    # least.
                    left = clock.to_ms(timeout) + 1 if timeout > 0 else 0
                else:
                    left -= clock.ticks_diff(now, before)
                    if left <= 0:
                        break
                before = now
                self.wait(min(left, clock.FAR_MS) / 1000)
            result = predicate()
        return result

    def notify(self, n=1):
        """Wakes up to n of the threads that wait; RuntimeError if the lock is not held."""
        self._check_owned("notify on")
        self._notify(max(n, 0))

    def notify_all(self):
        """Wakes all threads that wait; RuntimeError if the lock is not held."""
        self._check_owned("notify on")
        with self._queue.mutex:
            waiters = self._queue.grant_all()
        open_all(waiters)

    def _notify(self, n):
        with self._queue.mutex:
            waiters = self._queue.grant(n)
        open_all(waiters)

    def _check_owned(self, what):
        if not self._is_owned():
            raise RuntimeError("cannot {} un-acquired lock".format(what))

    def _probe(self):
        if self._lock.acquire(False):
            self._lock.release()
            return False
        return True

    def _acquire_bare(self, nothing):
        acquire_surely(self._lock)


class Event:
    """A flag to wait for."""

    def __init__(self):
        self._flag = False
        self._queue = Queue()

    def is_set(self):
        """Whether the flag is up."""
        return self._flag

    def set(self):
        """Raises the flag and wakes everybody who waits for it."""
        with self._queue.mutex:
            self._flag = True
            waiters = self._queue.grant_all()
        open_all(waiters)

    def clear(self):
        """Lowers the flag."""
        with self._queue.mutex:
            self._flag = False

    def wait(self, timeout=None):
        """Waits until the flag is up: true; or for a timeout: false."""
        with self._queue.mutex:
            if self._flag:
                return True
            waiter = self._queue.enter()
        return waiter.sleep_for(timeout)


class Semaphore(Permits):
    """A number of permits; `acquire` takes one and waits while there is none."""

    def __init__(self, value=1):
        if value < 0:
            raise ValueError("semaphore initial value must be >= 0")
        super().__init__(value)

    def acquire(self, blocking=True, timeout=None):
        """Takes a permit; false if there was none, at once or within `timeout` seconds."""
        if not blocking and timeout is not None:
            raise ValueError("can't specify timeout for non-blocking acquire")
        return self._take(blocking, timeout)

    def release(self, n=1):
        """Gives n permits back."""
        if n < 1:
            raise ValueError("n must be one or more")
        self._give(n)

    def __enter__(self):
        return self._take(True, None)


class BoundedSemaphore(Semaphore):
    """A semaphore to which nobody can give more than was taken from it: ValueError."""

    def __init__(self, value=1):
        super().__init__(value)
        self._most = value

    def release(self, n=1):
        """Gives n permits back, or none: ValueError if there would be more than at first."""
        if n < 1:
            raise ValueError("n must be one or more")
        if not self._give(n, self._most):
            raise ValueError("semaphore released too many times")
