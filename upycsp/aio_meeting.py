"""upycsp's meetings for bodies with async and await: what waits is awaited."""

from cspcore import calls, meeting
from upycsp import aio
from upycsp.meeting import Here


class _Here(Here):
    read_end = aio.AnyReadEnd
    write_end = aio.AnyWriteEnd
    nothing = aio.NOTHING


class Barrier(_Here, meeting.Barrier):
    """As upycsp's, with operations that are awaited."""


class AltingBarrier(_Here, meeting.AltingBarrier):
    """As upycsp's, with operations that are awaited."""


class Bucket(_Here, meeting.Bucket):
    """As upycsp's, with operations that are awaited."""


class CallChannel(_Here, calls.Calls):
    """As upycsp's, with operations that are awaited."""

    call_end = calls.AwaitedCallEnd
    serve_end = calls.AwaitedServeEnd

    def __init__(self, name="", external=False):
        calls.Calls.__init__(self, name, external)
        self.make_ends()
