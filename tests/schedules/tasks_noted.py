"""The library's classes, of which a World of tasks_world notes what happens to them."""

import sys

import uapycsp as csp
from cspcore import calls
from ufuture.loop import engine
from uapycsp import meeting
from uapycsp import within as _loaded  # noqa: F401
from uapycsp.buffered import AnyReadEnd, AnyWriteEnd

try:
    from asyncio import CancelledError, current_task  # noqa: F401
except ImportError:
    from uasyncio import CancelledError, current_task  # noqa: F401


class Here:
    world = None  # the World that runs


def running_task():
    """The running task, or None."""
    try:
        return current_task()
    except RuntimeError:
        return None


FAILED = ("failed",)


class Failed(Exception):
    """What a failing process of a program raises."""


def shown(v):
    """A value in the history."""
    if isinstance(v, calls.Request):
        return v.args[0]
    return "failed" if isinstance(v, Failed) else v


class Alternative(csp.Alternative):
    """Notes that it ends by its timer."""

    def __init__(self, *guards):
        csp.Alternative.__init__(self, *guards)
        self.process = Here.world.running()

    def expired(self):
        if self._chosen is None and self.waits:
            guard = self._limit[1]
            i = [i for i in range(len(self.guards)) if self.guards[i] is guard][0]
            Here.world.events.append(("expired", self.process.name, i))
        csp.Alternative.expired(self)


class Handle(csp.Spawn):
    """Notes that its process has ended."""

    watched = None

    def member_ended(self, p):
        w = Here.world
        name = [h for h in w.handles if w.handles[h] is self][0]
        w.events.append(("ended", name, self.watched.result))
        csp.Spawn.member_ended(self, p)


class Plain(csp.Channel):
    """Notes by whatever it is poisoned or closed."""

    def end_all(self):
        Here.world.ending(self, ("poison", self.name, "channel"))
        return csp.Channel.end_all(self)

    def end_writing(self):
        Here.world.ending(self, ("poison", self.name, "write"))
        return csp.Channel.end_writing(self)

    def end_close(self):
        Here.world.ending(self, ("close", self.name))
        return csp.Channel.end_close(self)


class Buffered(csp.BufferedChannel):
    def end_all(self):
        Here.world.ending(self, ("poison", self.name, "channel"))
        return csp.BufferedChannel.end_all(self)

    def end_writing(self):
        Here.world.ending(self, ("poison", self.name, "write"))
        return csp.BufferedChannel.end_writing(self)

    def end_close(self):
        Here.world.ending(self, ("close", self.name))
        return csp.BufferedChannel.end_close(self)


class NotedRead(AnyReadEnd):
    """The end of a call channel, or of a request: its operations are noted."""

    def __call__(self):
        ch = self._channel
        name = (ch.calls.name, ch.args[0]) if isinstance(ch, calls.Request) else ch.name
        return Here.world.running().note(("read", name), AnyReadEnd.__call__(self))


class NotedWrite(AnyWriteEnd):
    def __call__(self, request):
        op = ("write", self._channel.name, request.args[0])
        return Here.world.running().note(op, AnyWriteEnd.__call__(self, request))


class Calls(meeting.CallChannel):
    read_end = NotedRead
    write_end = NotedWrite

    def end_all(self):
        Here.world.ending(self, ("poison", self.name, "channel"))
        return meeting.CallChannel.end_all(self)


_answered = calls.Request._answered
_end_request = calls.Request.end_all


def _noted_answer(self, value, failed):
    Here.world.ending(self, ("answer", (self.calls.name, self.args[0]), shown(value)))
    return _answered(self, value, failed)


def _noted_end(self):
    Here.world.ending(self, ("poison", (self.calls.name, self.args[0]), "channel"))
    return _end_request(self)


calls.Request._answered = _noted_answer
calls.Request.end_all = _noted_end
within = sys.modules["uapycsp.within"]
within.Alternative = Alternative
_cancel = engine.cancel


def _noted_cancel(owned):
    # How a Parallel, a gather or a time limit cancels its children.
    if Here.world is not None:
        Here.world.cancelled(_task_of(owned))
    _cancel(owned)


engine.cancel = _noted_cancel
_task_of = getattr(engine, "_task_of", None) or (lambda owned: owned.task)
