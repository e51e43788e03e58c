"""Meetings of several coroutines: barriers, alting barriers, buckets, call channels.

    b = Barrier(3)
    await b.sync()                          # until three are here

    ends = AltingBarrier.create(2)          # an end for each process
    g, v = await Alternative(end, cin).select()

    ch = CallChannel("squares")
    await ch.serve(lambda x: x * x)         # one call
    y = await ch.call(7)
"""

from ufuture.loop import engine
from cspcore import calls, meeting
from uapycsp.buffered import AnyReadEnd, AnyWriteEnd
from uapycsp.wait import NOTHING


class _Here:
    # What cspcore's classes need of this library.
    serves = "tasks"
    read_end = AnyReadEnd
    write_end = AnyWriteEnd
    nothing = NOTHING
    wake = staticmethod(engine.wake)

    @staticmethod
    def atomically(f, *args):
        return f(*args)


class Barrier(_Here, meeting.Barrier):
    """Where so many processes wait for one another, round after round: `await b.sync()`."""


class AltingBarrier(_Here, meeting.AltingBarrier):
    """One process's end of a barrier that is a guard, too; `create(n)` gives n of them."""


class Bucket(_Here, meeting.Bucket):
    """Where processes wait until somebody flushes it: `await b.fall_into()`."""


class CallChannel(_Here, calls.Calls):
    """Calls of any number of clients, `ch.call`, answered by any number of servers, `ch.serve`."""

    call_end = calls.AwaitedCallEnd
    serve_end = calls.AwaitedServeEnd

    def __init__(self, name="", external=False):
        calls.Calls.__init__(self, name, external)
        self.make_ends()
