"""How a thread waits for something with a time limit: the one place all primitives wait in.

A waiter leaves its queue exactly once, under the queue's mutex: granted by the thread that
changed the object, or gone by its timeout or an interrupt. Whoever takes it out opens its bolt,
after letting go of the mutex. So a timeout leaves nothing behind, and a grant that raced with
it either reached the waiter or went to the next one.
"""

from _thread import allocate_lock

from . import kept
from .clock import Alarm, to_ms

_WAITING = 0
_GRANTED = 1
_GONE = 2


class Queue:
    """Waiting threads, first come first served; every method wants `mutex` held."""

    def __init__(self, mutex=None):
        self.mutex = allocate_lock() if mutex is None else mutex
        self.waiters = []

    def enter(self):
        """Queues the calling thread; the waiter's `sleep` comes next, without the mutex."""
        waiter = Waiter(self)
        self.waiters.append(waiter)
        return waiter

    def grant(self, n):
        """Takes out and returns the first n waiters, or all if there are less.

        Then let go of the mutex and wake them with `open_all`.
        """
        waiters = self.waiters[:n]
        self.waiters = self.waiters[n:]
        for waiter in waiters:
            waiter._state = _GRANTED
        return waiters

    def grant_all(self):
        """Takes out and returns all waiters, for `open_all`."""
        return self.grant(len(self.waiters))


class Waiter:
    """One wait of one thread. It is never reused: a late timeout must not hit another wait."""

    def __init__(self, queue):
        self._queue = queue
        self._state = _WAITING
        self._alarm = None
        self.bolt = allocate_lock()
        self.bolt.acquire()

    def arm(self, seconds):
        """Limits the wait to a time > 0. If the timer can't be started, leaves and raises."""
        try:
            self._alarm = Alarm(self._expire)
            self._alarm.start(to_ms(seconds))
        except BaseException:
            self._leave()
            raise

    def sleep(self):
        """Waits until granted: true; or until the time is over: false.

        If interrupted it leaves the queue; `granted()` tells whether that came too late, and the
        grant has to be passed on.
        """
        try:
            kept.wait(self.bolt)
        except BaseException:
            self._leave()
            raise
        finally:
            if self._alarm is not None:
                self._alarm.stop()
        return self._state == _GRANTED

    def sleep_for(self, seconds):
        """`sleep` with a time limit in seconds, or None; with one <= 0 it does not wait."""
        if seconds is None:
            return self.sleep()
        try:
            if seconds <= 0:
                return not self._leave()
            self.arm(seconds)
        except BaseException:  # that was no number
            self._leave()
            raise
        return self.sleep()

    def granted(self):
        """Whether somebody took this waiter out of its queue for good."""
        return self._state == _GRANTED

    # True if this took the waiter out of the queue.
    def _leave(self):
        with self._queue.mutex:
            if self._state != _WAITING:
                return False
            self._state = _GONE
            self._queue.waiters.remove(self)
            return True

    def _expire(self, alarm):
        if self._leave():
            self.bolt.release()


def open_all(waiters):
    """Wakes granted waiters."""
    for waiter in waiters:
        waiter.bolt.release()
