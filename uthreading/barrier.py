"""Barrier: n threads wait for one another.

b = Barrier(3)
b.wait()        # returns in all three threads when the third has come
"""

from _thread import allocate_lock

from .waiting import Queue, open_all

_FILLING = 0
_FULL = 1  # all have come: no timeout breaks it any more
_OVER = 2  # they may go; if the action has failed the round stays full
_BROKEN = 3
_ABORTED = 4  # broken, and not by a timeout: this reaches full rounds, too


class BrokenBarrierError(RuntimeError):
    """The barrier was reset or broken while a thread waited at it, or before it came."""


# One filling of a barrier. Its state changes under the barrier's mutex, but from full to over.
class _Round(Queue):
    def __init__(self, mutex):
        super().__init__(mutex)
        self.state = _FILLING
        self.count = 0
        self.acting = allocate_lock()  # held from the moment it is full until the action is over


class Barrier:
    """Lets `parties` threads go on when all have come to `wait`, again and again.

    One of them calls action() before; `timeout` (seconds) is the default of `wait`.
    """

    def __init__(self, parties, action=None, timeout=None):
        if parties < 1:
            raise ValueError("parties must be > 0")
        self._parties = parties
        self._action = action
        self._timeout = timeout
        self._mutex = allocate_lock()
        self._turn = allocate_lock()  # of the actions: the next round may be full before one ends
        self._round = _Round(self._mutex)

    def wait(self, timeout=None):
        """Waits for the others; returns the number of this thread in the round, from 0.

        BrokenBarrierError if the barrier is broken or reset; a timeout breaks it, and so does an
        exception in the action, which is raised in the thread that called it.
        """
        if timeout is None:
            timeout = self._timeout
        with self._mutex:
            r = self._round
            if r.state != _FILLING:
                raise BrokenBarrierError("barrier is broken")
            index = r.count
            waiter = None
            if index + 1 < self._parties:
                waiter = r.enter()
            else:
                following = _Round(self._mutex)
                r.state = _FULL
                r.acting.acquire()
                self._round = following
                others = r.grant_all()  # from here on no timeout reaches them
            r.count = index + 1  # now: there may have been no memory
        if waiter is None:
            self._let_go(r, others)
        else:
            self._wait_for_rest(r, waiter, timeout)
        return index

    def reset(self):
        """Makes the barrier empty and whole; those who wait get a BrokenBarrierError."""
        self._break(_Round(self._mutex))

    def abort(self):
        """Breaks the barrier; those who wait, and come, get a BrokenBarrierError."""
        self._break(None)

    @property
    def parties(self):
        """How many threads the barrier is for."""
        return self._parties

    @property
    def n_waiting(self):
        """How many threads wait at the barrier now."""
        with self._mutex:
            return self._round.count if self._round.state == _FILLING else 0

    @property
    def broken(self):
        """Whether the barrier is broken."""
        return self._round.state >= _BROKEN

    # The last one to come calls the action and opens the way for the others.
    def _let_go(self, r, others):
        try:
            if self._action is not None:
                try:
                    self._turn.acquire()
                except BaseException:  # an interrupt
                    self._break(None)
                    raise
                try:
                    self._act()
                finally:
                    self._turn.release()
            r.state = _OVER
        finally:
            r.acting.release()
            open_all(others)

    def _act(self):
        if self._round.state == _ABORTED:  # the action before this may have failed
            raise BrokenBarrierError("barrier is broken")
        try:
            self._action()
        except BaseException:
            self._break(None)
            raise

    def _wait_for_rest(self, r, waiter, timeout):
        try:
            waiter.sleep_for(timeout)
        finally:
            self._give_up(r)
        with r.acting:  # its time may have ended just when the last one came
            pass
        if r.state != _OVER:
            raise BrokenBarrierError("barrier is broken")

    # Ends the round that is filling; `following` takes its place, or it stays, broken.
    def _break(self, following):
        with self._mutex:
            r = self._round
            r.state = _ABORTED
            if following is not None:
                self._round = following
            waiters = r.grant_all()
        open_all(waiters)

    # Breaks the barrier for one who waits no more, unless its round was full.
    def _give_up(self, r):
        waiters = None
        with self._mutex:
            if r.state == _FILLING:
                r.state = _BROKEN
                waiters = r.grant_all()
        open_all(waiters)
