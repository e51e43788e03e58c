"""Processes in sequence and in the background, for coroutines."""

import sys

from uapycsp import process as _load  # noqa: F401
from ufuture.loop import engine
from cspcore.channel import in_order
from cspcore.process import forgo_all, started_twice
from uapycsp.process import Awaitable, Composite, Parallel, as_process
from uapycsp.process import failures, note_failure
from uapycsp.wait import Join, coroutine, wake_chain

CancelledError = engine.CancelledError
network = sys.modules["uapycsp.process"]  # the package has a function of this name


class Sequence(Composite):
    """Processes one after another; `await` gives the list of their results.

    It stops at an exception and goes on after a member that ended by poison (its result is None).
    """

    def __init__(self, *members):
        self._members = [as_process(m) for m in members]

    @coroutine
    def _await(self, by=None):
        members = self._members
        if members is None:
            started_twice()
        self.refuse_claimed(by)
        results = []
        self._members = None
        n = 0  # how many were run
        try:
            for m in members:
                m.claim(self)
            for m in members:
                m._group = None  # its Parallel claims it
                parallel = Parallel(m)
                parallel.as_member = by
                n += 1
                results.append((yield from parallel._await(by))[0])
        except BaseException as er:
            forgo_all(members, n, self, er)
            raise
        return results

    def parts(self):
        return self._members


class Spawn(Awaitable):
    """Starts a process in the background: `await h` or `await h.join()` waits for its value.

    Awaiting raises its exception; if nobody asked, the enclosing `run` raises it at its end.
    """

    guards = None  # a chain: see uapycsp.guards.Ended
    within = None  # as cspcore.process.Failures asks: one run at a time

    def __init__(self, p):
        self._waiting = None  # a chain of Joins, who came last first
        self._asked = 0  # 1: somebody waits for it; 2: somebody was told its failure
        self.later = None  # of the handles of failures nobody asked for: the next one
        self._process = p = as_process(p)
        if not engine.is_running():
            raise RuntimeError("no running event loop: spawn inside of a process")
        p.claim(self)
        try:
            p.start()
        except BaseException as er:
            p.forgo(er)
            raise
        if network._all_ended is not None:  # `run` cancels what is left, and waits for its end
            p.cancel()

    def done(self):
        """Whether the process has ended."""
        return self._process.has_ended()

    def join(self):
        """To be awaited: the process's value."""
        return self

    def cancel(self):
        """Cancel the process."""
        self._process.cancel()

    @coroutine
    def _await(self):
        if not self.done():
            j = Join()  # first: there may be no memory for it
            j.next = self._waiting
            self._asked = 1
            self._waiting = j
            try:
                yield engine.park(j)
            except BaseException:
                self._leave(j)
                if self._waiting is None and self._asked == 1:
                    self._asked = 0  # nobody waits for it any more
                    if j.woken:
                        self.note()
                raise
        if self._process.exception() is not None:
            if not self._asked:
                failures.forget(self)
            self._asked = 2
            raise self._process.exception()
        return self._process.value

    def _leave(self, join):
        j = self._waiting
        if j is join:
            self._waiting = j.next
            return
        while j is not None and j.next is not join:
            j = j.next
        if j is not None:
            j.next = join.next

    def unasked(self):
        """The exception that nobody asked for, or None."""
        return None if self._asked else self._process.exception()

    def member_ended(self, p):
        j = chain = in_order(self._waiting)
        self._waiting = None
        while j is not None:
            j.woken = True
            j = j.next
        wake_chain(chain)
        g = self.guards
        told = False  # a choice, which will ask
        while g is not None:
            if g.tell():
                told = True
            g = g.next
        if not told:
            self.note()

    def note(self):
        """Nobody is left who has asked or will; it may have failed."""
        if not self._asked and self._process.exception() is not None:
            note_failure(self, self._process)
