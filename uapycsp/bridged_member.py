"""An un-awaited operation of a bridge in a Parallel: a process that ends as an operation does.

Poison is its Parallel's to raise, and what it has read goes back when that is cancelled.
"""

from sys import modules

from cspcore.channel import READ, Offer
from cspcore.errors import PoisonException
from cspcore.names import is_read
from uapycsp.bridged import bell, coroutine, lock
from uapycsp.operation import once

Process = modules["uapycsp.process"].Process  # see uapycsp.watch


class Member(Process):
    """See above."""

    def __init__(self, operation):
        Process.__init__(self, self._operate, (operation,))
        # By which a value is given back: made now, for later there may be no memory for it.
        self._given = Offer(None, READ) if is_read(operation) else None
        if self._given is None:
            self.writes = True
        else:
            self._given.seq = 0

    @coroutine
    def _operate(self, operation):
        bell.members += 1
        before = bell.read_at
        bell.begins = True
        try:
            value = yield from operation
            once(value is not None if self._given is None else bell.read_at != before)
            given = self._given
            if given is not None:
                given.channel = bell.read_from
                given.seq = bell.read_at
            return value
        except PoisonException as er:
            self._group.met_end(er)
            raise
        finally:
            bell.members -= 1
            bell.read_from = None  # it keeps nothing alive

    def undo(self):
        """Its Parallel is cancelled."""
        given = self._given
        if given is None or given.channel is None or not self.has_ended():
            return
        self._given = None
        with lock:
            party = given.channel.give_back(given, self.value)
        if party is not None:
            party.wake()
