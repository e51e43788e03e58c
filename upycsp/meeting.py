"""Meetings of several threads: barriers, alting barriers, buckets, call channels.

    b = Barrier(3)
    b.sync()                                # until three are here

    ends = AltingBarrier.create(2)          # an end for each process
    g, v = Alternative(end, cin).select()

    ch = CallChannel("squares")
    ch.serve(lambda x: x * x)               # one call
    y = ch.call(7)
"""

import sys

from upycsp import process as _load  # noqa: F401
from cspcore import life as _life  # noqa: F401 - now, for later it would be under the lock
from cspcore import calls, meeting
from upycsp.buffered import AnyReadEnd, AnyWriteEnd
from upycsp.wait import lock


class Here:
    # What cspcore's classes need of this library.
    serves = "threads"
    read_end = AnyReadEnd
    write_end = AnyWriteEnd
    nothing = None
    alone = staticmethod(sys.modules["upycsp.process"].alone)

    @staticmethod
    def wake(party):
        party.wake()  # also under the lock: it does not block

    @staticmethod
    def atomically(f, *args):
        with lock:
            return f(*args)


class Barrier(Here, meeting.Barrier):
    """Where so many processes wait for one another, round after round: `b.sync()`."""


class AltingBarrier(Here, meeting.AltingBarrier):
    """One process's end of a barrier that is a guard, too; `create(n)` gives n of them."""


class Bucket(Here, meeting.Bucket):
    """Where processes wait until somebody flushes it: `b.fall_into()`."""


class _Request(calls.Request):
    def serve(self, function):
        """Answer the call by function(*args), or let it raise what that raises."""
        calls.checked(function)
        try:
            v = function(*self.args)
        except BaseException as er:
            if calls.not_served(self, er):
                return
            raise
        self.answer(v)


class _CallEnd(calls.BaseCallEnd):
    def __call__(self, *args):
        ch = self._channel
        request = _Request(ch, args)
        self._write(request)
        v = ch.read_end(request)()
        if request.failed:
            raise ch.alone(v)
        return v


class _ServeEnd(calls.BaseServeEnd):
    def __call__(self, function):
        """Wait for a call and answer it by function(*args)."""
        calls.checked(function)
        self._read().serve(function)


class CallChannel(Here, calls.Calls):
    """Calls of any number of clients, `ch.call`, answered by any number of servers, `ch.serve`."""

    call_end = _CallEnd
    serve_end = _ServeEnd

    def __init__(self, name="", external=False):
        calls.Calls.__init__(self, name, external)
        self.make_ends()
