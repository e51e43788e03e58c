"""Who waits for the end of a channel: `Alternative(cin, Closed(cout))`."""

from cspcore.closing import watch
from upycsp.buffered import AnyReadEnd
from upycsp.wait import lock


def Closed(cout):
    """A guard that is ready, with None, once the channel of a write end takes no more writes.

    It may also be read, `Closed(cout)()`, which waits for that. TypeError for what is no write end
    of a channel.
    """
    with lock:
        return AnyReadEnd(watch(cout, "threads"))
