"""A guard that waits for something beside channels: the end of a process.

    alt = Alternative(cin, Ended(handle))
    g, v = alt.select()

It stands in the handle's chain of those who wait, where `wake` tells the alternative, as it would
wake a thread. Who took it out of the chain, the end of the process or `disable`, did so under the
lock; so it is told at most once.
"""

import sys

from cspcore.choice import Guard
from cspcore.ended import without
from upycsp import Spawn
from upycsp.wait import lock

_process = sys.modules["upycsp.process"]  # the package has a function of this name
_failures = _process._failures


class Ended(Guard):
    """A guard that is ready when the process of a Spawn has ended.

    To choose it is to ask: its value is the process's, or the process's exception is raised.
    """

    tells_of_process = True  # see Choice.hears_others

    def __init__(self, handle):
        if not isinstance(handle, Spawn):
            raise TypeError("a handle is expected: what Spawn gave")
        self._handle = handle
        self._alt = self.next = self.on = None

    def enable(self, alt):
        if self._alt is not None:
            raise RuntimeError("a guard is used by one alternative at a time")
        if self._handle.done():
            return True, None
        self._alt = alt
        self.next = self._handle._waiting
        self._handle._waiting = self
        return False, None

    def disable(self, alt):
        self._alt = None
        # If it is not there, whoever has ended the process goes through `next` just now.
        self._handle._waiting = without(self._handle._waiting, self)

    def _happened(self, value):
        # As Spawn.join. Under lock.
        h = self._handle
        h._asked = True
        if h._exception is None:
            return h._process.retval
        _failures.forget(h)
        raise h.raised()

    def wake(self):
        """The process has ended. Not under lock."""
        alt = self._alt
        if alt is not None and alt.schedule(self):
            with lock:
                self._handle._untold = False
                _process._telling.forget(self._handle)
