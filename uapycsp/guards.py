"""Guards that wait for something beside channels: events, flags, streams, the ends of processes.

    alt = Alternative(cin, On(event), Readable(socket), Ended(handle))
    g, v = await alt.select()

They are asked and told in the loop's own thread, and leave neither a task nor anything else behind
when the selection is over. What is used up by being chosen, a flag, is so in the moment when
select returns it: if another guard is chosen, or the selection is cancelled, it stays set.
"""

import select

import ufuture.outside as outside
from ufuture.loop import engine
from cspcore.choice import Skip
from cspcore.ended import without
from uapycsp import Spawn


class _Told(Skip):
    # To an Alternative it is like a Skip: nobody but the loop's thread tells it, and where it is
    # ready at once, the others get a turn.

    def __init__(self):
        self._alt = None

    def enable(self, alt):
        if self._alt is not None:
            raise RuntimeError("a guard is used by one alternative at a time")
        if self._is_ready():
            return True, None
        self._begin()
        self._alt = alt
        return False, None

    def disable(self, alt):
        self._alt = None
        self._end()

    def tell(self):
        """It is ready now; whether it was chosen."""
        alt = self._alt
        if not alt.schedule_core(self, None):
            return False
        engine.wake(alt.party())
        return True


class _Watching(_Told):
    def __init__(self):
        _Told.__init__(self)
        self._watch = None  # there may be no memory for the attribute when it has begun

    def _begin(self):
        self._watch = outside.Watch(self._wait(), self.tell)

    def _end(self):
        self._watch.stop()
        self._watch = None


class _OnEvent(_Watching):
    def __init__(self, event):
        _Watching.__init__(self)
        self._event = event
        self._is_ready = event.is_set

    def _wait(self):
        return outside.event_set(self._event)


class _OnFlag(_Watching):
    def __init__(self, flag):
        _Watching.__init__(self)
        self._flag = flag
        self._name = "state" if hasattr(flag, "state") else "_flag"  # before 1.20

    def _is_ready(self):
        return getattr(self._flag, self._name)

    def _wait(self):
        return outside.readable(self._flag)

    def _happened(self, value):
        setattr(self._flag, self._name, 0)


def On(event):
    """A guard that is ready while an asyncio.Event is set, or MicroPython's ThreadSafeFlag.

    The event stays set; the flag is cleared if, and only if, the guard is chosen. Value: None.
    """
    if isinstance(event, engine.of_asyncio("Event")):
        return _OnEvent(event)
    if isinstance(event, engine.of_asyncio("ThreadSafeFlag") or ()):
        return _OnFlag(event)
    raise TypeError("an asyncio.Event or ThreadSafeFlag is expected")


class Readable(_Watching):
    """A guard that is ready while a stream can be read without waiting, or is at its end.

    A stream: what can be polled, such as a socket; MicroPython's asyncio streams too. Value: None.
    """

    _kind = "POLLIN"

    def __init__(self, stream):
        _Watching.__init__(self)
        self._stream = stream = getattr(stream, "s", stream)
        self._poll = select.poll()
        try:
            if isinstance(stream, int):
                raise TypeError  # the number of a file
            self._poll.register(stream, getattr(select, self._kind))
        except (TypeError, OSError, ValueError):
            raise TypeError("a stream that can be polled is expected")

    def _is_ready(self):
        return self._poll.poll(0)

    def _wait(self):
        return outside.readable(self._stream)


class Writable(Readable):
    """A guard that is ready while a stream can be written to without waiting. Value: None."""

    _kind = "POLLOUT"

    def _wait(self):
        return outside.writable(self._stream)


class Ended(_Told):
    """A guard that is ready when the process of a Spawn has ended.

    To choose it is to ask: its value is the process's, or the process's exception is raised.
    """

    tells_of_process = True  # see Choice.hears_others

    def __init__(self, handle):
        if not isinstance(handle, Spawn):
            raise TypeError("a handle is expected: what Spawn gave")
        _Told.__init__(self)
        self._handle = handle
        self._is_ready = handle.done
        self.next = None

    def _begin(self):
        self.next = self._handle.guards
        self._handle.guards = self

    def _end(self):
        self._handle.guards = without(self._handle.guards, self)

    def _undo(self, alt, value):
        self._handle.note()  # who was told is cancelled

    def _happened(self, value):
        try:
            self._handle._await().send(None)  # which does not wait any more
        except StopIteration as er:
            return er.value
