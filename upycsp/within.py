"""Time limits of single operations: `v = cin.within(100)`, `cout.within(100, v)`.

What can happen at once does. Else it is a choice between the operation and a Timer, of which
exactly one happens (rule 6): so TimeoutError means that nothing was read or written. Ends load
this when they are first asked.
"""

from cspcore.choice import Timer, whole_ms
from upycsp.alternative import Alternative
from upycsp.channel import ReadEnd, WriteEnd
from upycsp.wait import lock

try:
    TimeoutError = TimeoutError
except NameError:

    class TimeoutError(Exception):
        """The time limit has passed, and nothing has happened."""


def read(end, ms):
    """The value read from an end within ms; TimeoutError."""
    timer = Timer(ms=whole_ms(ms))
    ch = end._channel
    with lock:
        if ch.isr:
            ch.drain()
        ready = ch._writers is not None
        if ready:
            v, party = ch.take()
    if not ready:
        return _wait(end, timer)
    if party is not None:
        party.wake()
    return v


def write(end, ms, value):
    """0 when value was written to an end within ms; TimeoutError."""
    timer = Timer(ms=whole_ms(ms))
    ch = end._channel
    with lock:
        if ch.isr:
            ch.drain()
        ready = ch._readers is not None
        if ready:
            party = ch.give(value)
    if not ready:
        return _wait(end.alt_pending_write(value), timer)
    if party is not None:
        party.wake()
    return 0


def _wait(guard, timer):
    if timer.ms > 0:
        g, v = Alternative(guard, timer).select()
        if g is guard:
            return v
    raise TimeoutError("the time limit has passed")


ReadEnd.within = read  # from now on straight
WriteEnd.within = write
