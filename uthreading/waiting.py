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
_MANY = 1 << 28  # more than there are threads


class Queue:
    """Waiting threads, first come first served; every method wants `mutex` held.

    They are linked by themselves: to take them out needs no memory.
    """

    def __init__(self, mutex=None):
        self.mutex = allocate_lock() if mutex is None else mutex
        self.first = self.last = None

    def enter(self):
        """Queues the calling thread; the waiter's `sleep` comes next, without the mutex."""
        waiter = Waiter(self)  # MemoryError: nothing has happened
        if self.last is None:
            self.first = waiter
        else:
            self.last.next = waiter
        self.last = waiter
        return waiter

    def grant(self, n):
        """Takes out the first n waiters, or all if there are less; returns the first, or None.

        `next` leads to the others. Let go of the mutex then, and wake them with `open_all`.
        """
        first = last = self.first
        if first is None or n <= 0:
            return None
        while n > 1 and last.next is not None:
            last = last.next
            n -= 1
        self.first = last.next
        last.next = None
        if self.first is None:
            self.last = None
        waiter = first
        while waiter is not None:
            waiter._state = _GRANTED
            waiter = waiter.next
        return first

    def grant_all(self):
        """The same with all waiters."""
        return self.grant(_MANY)


class Waiter:
    """One wait of one thread. It is never reused: a late timeout must not hit another wait."""

    def __init__(self, queue):
        self._queue = queue
        self._state = _WAITING
        self._alarm = None
        self.next = None
        self.bolt = allocate_lock()
        self.bolt.acquire()

    def arm(self, seconds):
        """Limits the wait to a time > 0. If the timer can't be started, leaves and raises."""
        try:
            self._alarm = Alarm(self._expire)
            self._alarm.start(to_ms(seconds))
        except BaseException:
            self.leave()
            raise

    def sleep(self):
        """Waits until granted: true; or until the time is over: false.

        If interrupted it leaves the queue; `granted()` tells whether that came too late, and the
        grant has to be passed on.
        """
        try:
            kept.wait(self.bolt)
        except BaseException:
            self.leave()
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
                return not self.leave()
            self.arm(seconds)
        except BaseException:  # that was no number
            self.leave()
            raise
        return self.sleep()

    def granted(self):
        """Whether somebody took this waiter out of its queue for good."""
        return self._state == _GRANTED

    def leave(self):
        """Takes the waiter out of the queue; false if it was out already."""
        with self._queue.mutex:
            if self._state != _WAITING:
                return False
            self._state = _GONE
            queue = self._queue
            before = None
            waiter = queue.first
            while waiter is not self:
                before = waiter
                waiter = waiter.next
            if before is None:
                queue.first = self.next
            else:
                before.next = self.next
            if self.next is None:
                queue.last = before
            return True

    def _expire(self, alarm):
        if self.leave():
            self.bolt.release()


def open_all(waiter):
    """Wakes granted waiters: the first, or None, and those behind it."""
    while waiter is not None:
        following = waiter.next
        waiter.bolt.release()
        waiter = following
