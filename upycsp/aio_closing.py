"""upycsp's Closed for bodies with async and await."""

from cspcore.closing import watch
from upycsp.aio import AnyReadEnd
from upycsp.wait import lock


def Closed(cout):
    """As upycsp's; its read is awaited."""
    with lock:
        return AnyReadEnd(watch(cout, "threads"))
