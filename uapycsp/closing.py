"""Who waits for the end of a channel: `Alternative(cin, Closed(cout))`."""

from cspcore.closing import watch
from uapycsp.buffered import AnyReadEnd


def Closed(cout):
    """A guard that is ready, with None, once the channel of a write end takes no more writes.

    It may also be read, `await Closed(cout)()`, which waits for that. TypeError for what is no
    write end of a channel.
    """
    if hasattr(cout, "bridge") and hasattr(cout, "closed"):
        return cout.closed()
    return AnyReadEnd(watch(cout, "tasks"))
