"""Time limits of single operations: `v = await cin.within(100)`, `await cout.within(100, v)`.

What can happen at once does. Else it is a choice between the operation and a Timer, of which
exactly one happens (rule 6), whoever cancels it and when (rule 8): so TimeoutError means that
nothing was read or written. Ends load this when they are first asked.
"""

from ufuture.loop import engine
from cspcore.choice import Timer, whole_ms
from uapycsp import channel as channels
from uapycsp.alternative import Alternative
from uapycsp.channel import ReadEnd, WriteEnd
from uapycsp.wait import coroutine, turn

TimeoutError = engine.TimeoutError

_calls = 0


def read(end, ms):
    """To be awaited: the value read from an end within ms; TimeoutError."""
    return _read(end, Timer(ms=whole_ms(ms)))


def write(end, ms, value):
    """To be awaited: 0 when value was written to an end within ms; TimeoutError."""
    return _write(end, Timer(ms=whole_ms(ms)), value)


@coroutine
def _read(end, timer):
    if _is_due():
        yield turn()
    ch = end._channel
    if ch._writers is not None:
        (ch,)  # one block, as in channel.ReadEnd
        v, party = ch.take()
        if party is not None:
            engine.wake(party)
        return v
    return (yield from _wait(end, timer))


@coroutine
def _write(end, timer, value):
    if _is_due():
        yield turn()
    ch = end._channel
    if ch._readers is not None:
        (ch,)
        party = ch.give(value)
        if party is not None:
            engine.wake(party)
        elif channels.stays is not None:
            yield from channels.stays
        return 0
    return (yield from _wait(end.alt_pending_write(value), timer))


def _is_due():
    # Now and then the others get a turn, also if always one can proceed.
    global _calls
    _calls += 1
    return not _calls & 63


@coroutine
def _wait(guard, timer):
    if timer.ms > 0:
        g, v = yield from Alternative(guard, timer).select()
        if g is guard:
            return v
    else:
        yield turn()  # or a loop of tries would let nobody else run
    raise TimeoutError("the time limit has passed")


ReadEnd.within = read  # from now on straight
WriteEnd.within = write
