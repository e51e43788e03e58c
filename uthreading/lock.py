"""Lock and RLock whose timeouts work.

    lock = Lock()
    if lock.acquire(timeout=0.5):
        ...
        lock.release()

A release hands the lock to the thread that has waited longest, so nobody starves.
"""

from _thread import get_ident

from . import kept
from .waiting import Queue, open_all


class Permits:
    """A number of permits to take and to give back: what Lock and the semaphores have in common.

    Invariant: while a permit is free, nobody waits.
    """

    def __init__(self, free):
        self._free = free
        self._queue = Queue()

    def _take(self, blocking, seconds):
        queue = self._queue
        with queue.mutex:
            if self._free:
                self._free -= 1
                return True
            if not blocking or (seconds is not None and seconds <= 0):
                return False
            waiter = queue.enter()
        try:
            return waiter.sleep_for(seconds)
        except BaseException:
            if waiter.granted():
                self._give()
            raise

    # Gives n permits; false, and nothing done, if more than `most` would then be free.
    def _give(self, n=1, most=None):
        queue = self._queue
        with queue.mutex:
            if most is not None and self._free + n > most:
                return False
            waiter = granted = queue.grant(n)
            while waiter is not None:
                n -= 1
                waiter = waiter.next
            self._free += n
        if granted is not None:
            open_all(granted)
        return True

    def __exit__(self, kind, exc, traceback):  # no *args: that would allocate
        self.release()


class Lock(Permits):
    """A lock that any thread may release."""

    def __init__(self):
        super().__init__(1)

    def acquire(self, blocking=True, timeout=-1):
        """Takes the lock; false if that was not possible at once, or within `timeout` seconds."""
        return self._take(blocking, _limit(blocking, timeout))

    def release(self):
        """Frees the lock; RuntimeError if it is free."""
        if not self._give(1, 1):
            raise RuntimeError("release unlocked lock")

    def locked(self):
        """Whether somebody holds the lock."""
        return not self._free

    def __enter__(self):
        return self._take(True, None)

    def _is_owned(self):
        return not self._free  # by whom is not known


class RLock:
    """A lock that its owner may take again, and must release as often."""

    def __init__(self):
        self._lock = Lock()
        self._owner = None
        self._count = 0

    def acquire(self, blocking=True, timeout=-1):
        """Takes the lock; false if that was not possible at once, or within `timeout` seconds."""
        me = get_ident()
        if self._owner == me:  # only the thread itself can make that true
            _limit(blocking, timeout)
            self._count += 1
            return True
        if not self._lock.acquire(blocking, timeout):
            return False
        self._owner = me
        self._count = 1
        return True

    def release(self):
        """Undoes one acquire; RuntimeError in a thread that does not hold the lock."""
        if self._owner != get_ident():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if self._count == 0:
            self._owner = None
            self._lock.release()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, kind, exc, traceback):
        self.release()

    # For Condition, whose wait lets go of the lock however often it was taken.

    def _is_owned(self):
        return self._owner == get_ident()

    def _release_save(self):
        count = self._count
        if self._is_owned():
            self._count = 1
        self.release()
        return count

    def _acquire_restore(self, count):
        acquire_surely(self._lock)
        self._owner = get_ident()
        self._count = count


def acquire_surely(lock):
    """Acquires a Lock, or a bare one; by asking again where there is no memory to queue for it."""
    try:
        lock.acquire()
    except MemoryError:
        while not lock.acquire(False):
            kept.sleep_ms(5)


# A lock's timeout, where -1 is for ever, as seconds or None.
def _limit(blocking, timeout):
    if timeout == -1:
        return None
    if not blocking:
        raise ValueError("can't specify a timeout for a non-blocking call")
    if timeout < 0:
        raise ValueError("timeout value must be a non-negative number")
    return timeout
