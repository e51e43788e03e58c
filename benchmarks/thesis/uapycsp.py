"""The thesis's asyncio design: every operation that must wait does so on a future of its own.

A channel keeps one queue of waiting operations, all reads or all writes; an operation that finds
its counterpart there completes both. An alternative enables its guards in turn, which posts an
operation on each of them until one is ready, and then disables those it posted. `Parallel` is
asyncio's gather, so a process, and each half of a parallel delta, is an asyncio task.

    from benchmarks.thesis import uapycsp
    csp = uapycsp.configure("rescheduling", "list")

Futures: a *rescheduling* one takes its task off the run queue until `set_result` puts it back; a
*yielding* one lets its task go through the run queue again and again until the result is there.
Queues: a list, or a deque, which needs a maximum length and whose members can only be taken out by
passing all of them round.
"""

import sys

try:
    from collections import deque
except ImportError:  # Pycom's firmware
    from ucollections import deque
try:
    import asyncio
except ImportError:
    import uasyncio as asyncio

try:
    from micropython import const
except ImportError:
    def const(value):
        return value

# MicroPython's private parts; CPython's own futures and loop do there what they do here.
core = getattr(asyncio, "core", None)
# MicroPython 1.16 - 1.18 has push_head for push.
_OLD = core is not None and not hasattr(core._task_queue, "push")

_READ = const(0)
_WRITE = const(1)

_DEQUE_MAX = const(256)

_INACTIVE = const(0)
_ENABLING = const(1)
_WAITING = const(2)


class PoisonException(Exception):
    """Raised by an operation on a poisoned channel."""


# --- futures

class _Future:
    """What the two futures share: a result or an exception, set once."""

    def __init__(self):
        self._done = False
        self._result = None
        self._exception = None
        self._task = None

    def set_result(self, result):
        self._result = result
        self._finish()

    def set_exception(self, exception):
        self._exception = exception
        self._finish()

    def done(self):
        return self._done

    def _finish(self):
        self._done = True

    def _outcome(self):
        if self._exception is not None:
            raise self._exception
        return self._result


class ReschedulingFuture(_Future):
    """The waiting task leaves the run queue; setting the result puts it back."""

    def _finish(self):
        self._done = True
        if self._task is not None:
            if _OLD:
                core._task_queue.push_head(self._task)
            else:
                core._task_queue.push(self._task)

    def __iter__(self):
        if not self._done:
            self._task = core.cur_task
            yield
        return self._outcome()


class YieldingFuture(_Future):
    """The waiting task passes through the run queue until the result is there."""

    def __iter__(self):
        while not self._done:
            if _OLD:
                core._task_queue.push_head(core.cur_task)
            elif core is not None:
                core._task_queue.push(core.cur_task)
            yield
        return self._outcome()

    __await__ = __iter__


def _cpython_future():
    return asyncio.get_running_loop().create_future()


create_future = ReschedulingFuture if core is not None else _cpython_future


# --- channels

class Guard:
    """What an alternative asks: `enable` answers (ready, value), `disable` withdraws."""

    def enable(self, alt):
        return (False, None)

    def disable(self, alt):
        pass


class _End:
    def __init__(self, chan):
        self._chan = chan

    def channel(self):
        return self._chan

    def poison(self):
        self._chan.poison()


class ReadEnd(_End, Guard):
    """The read end: called to read, iterated over, or a guard."""

    async def __call__(self):
        return await self._chan._read()

    def enable(self, alt):
        return self._chan._read_enable(alt, self)

    def disable(self, alt):
        self._chan._disable(alt)


class WriteEnd(_End):
    """The write end: called to write."""

    async def __call__(self, obj):
        return await self._chan._write(obj)

    def alt_pending_write(self, obj):
        """A guard that writes `obj` if it is chosen."""
        return PendingWrite(self._chan, obj)


class PendingWrite(Guard):
    def __init__(self, chan, obj):
        self._chan = chan
        self.obj = obj

    def enable(self, alt):
        return self._chan._write_enable(alt, self)

    def disable(self, alt):
        self._chan._disable(alt)


class _Op:
    """One operation; waiting, it has a future, or the alternative and guard that posted it."""

    def __init__(self, cmd, obj):
        self.cmd = cmd
        self.obj = obj
        self.fut = None
        self.alt = None
        self.guard = None


class ListChannel:
    """A channel with a list for its queue, which holds either reads or writes, never both."""

    def __init__(self, name=""):
        self.name = name
        self.poisoned = False
        self.queue = self._new_queue()
        self.read = ReadEnd(self)
        self.write = WriteEnd(self)

    def _new_queue(self):
        return []

    def _pop(self):
        return self.queue.pop(0)

    def _pop_matching(self, cmd):
        if self.queue and self.queue[0].cmd == cmd:
            return self.queue.pop(0)
        return None

    def _pair(self, writer, reader):
        """Completes both, whichever of them waits; the value that is read."""
        if writer.fut is not None:
            writer.fut.set_result(0)
        elif writer.alt is not None:
            writer.alt.schedule(writer.guard, 0)
        if reader.fut is not None:
            reader.fut.set_result(writer.obj)
        elif reader.alt is not None:
            reader.alt.schedule(reader.guard, writer.obj)
        return writer.obj

    def _wait(self, op):
        op.fut = create_future()
        self.queue.append(op)
        return op.fut

    def _post(self, op, alt, guard):
        op.alt = alt
        op.guard = guard
        self.queue.append(op)
        return (False, None)

    def _disable(self, alt):
        self.queue = [op for op in self.queue if op.alt is not alt]

    async def _read(self):
        if self.poisoned:
            raise PoisonException
        op = _Op(_READ, None)
        other = self._pop_matching(_WRITE)
        if other is not None:
            return self._pair(other, op)
        return await self._wait(op)

    async def _write(self, obj):
        if self.poisoned:
            raise PoisonException
        op = _Op(_WRITE, obj)
        other = self._pop_matching(_READ)
        if other is not None:
            self._pair(op, other)
            return 0
        return await self._wait(op)

    def _read_enable(self, alt, guard):
        if self.poisoned:
            raise PoisonException
        op = _Op(_READ, None)
        other = self._pop_matching(_WRITE)
        if other is not None:
            return (True, self._pair(other, op))
        return self._post(op, alt, guard)

    def _write_enable(self, alt, guard):
        if self.poisoned:
            raise PoisonException
        op = _Op(_WRITE, guard.obj)
        other = self._pop_matching(_READ)
        if other is not None:
            self._pair(op, other)
            return (True, 0)
        return self._post(op, alt, guard)

    def poison(self):
        """Every waiting operation, and every later one, raises PoisonException."""
        if self.poisoned:
            return
        self.poisoned = True
        while self.queue:
            op = self._pop()
            if op.fut is not None:
                op.fut.set_exception(PoisonException())
            else:
                op.alt.poison()


class DequeChannel(ListChannel):
    """A channel with a deque for its queue: constant time at its head."""

    def _new_queue(self):
        self._kind = _READ
        return deque((), _DEQUE_MAX)

    def _append(self, op):
        # A full deque drops its oldest member without a word.
        if len(self.queue) == _DEQUE_MAX:
            raise RuntimeError("more than {} operations wait".format(_DEQUE_MAX))
        self._kind = op.cmd
        self.queue.append(op)

    def _wait(self, op):
        op.fut = create_future()
        self._append(op)
        return op.fut

    def _post(self, op, alt, guard):
        op.alt = alt
        op.guard = guard
        self._append(op)
        return (False, None)

    def _pop(self):
        return self.queue.popleft()

    def _pop_matching(self, cmd):
        # There was no looking into a deque then: the newest member tells what all are.
        if self.queue and self._kind == cmd:
            return self.queue.popleft()
        return None

    def _disable(self, alt):
        queue = self.queue
        for _ in range(len(queue)):
            op = queue.popleft()
            if op.alt is not alt:
                queue.append(op)


Channel = ListChannel


# --- alternatives and processes

class Alternative:
    """Chooses the first ready guard, in the order given."""

    def __init__(self, *guards):
        self.guards = guards
        self._state = _INACTIVE
        self._enabled = []
        self._fut = None

    async def select(self):
        """The chosen guard and its value."""
        self._state = _ENABLING
        chosen = self._enable()
        if chosen is None:
            self._state = _WAITING
            self._fut = create_future()
            chosen = await self._fut
        self._state = _INACTIVE
        return chosen

    def _enable(self):
        try:
            for guard in self.guards:
                ready, value = guard.enable(self)
                if ready:
                    self._disable()
                    return (guard, value)
                self._enabled.append(guard)
        except PoisonException:
            self._disable()
            self._state = _INACTIVE
            raise
        return None

    def _disable(self):
        for guard in self._enabled:
            guard.disable(self)
        self._enabled = []

    def schedule(self, guard, value):
        """Called by the guard that became ready while the alternative waited."""
        if self._state != _WAITING:
            raise RuntimeError("scheduled an alternative that does not wait")
        self._state = _INACTIVE
        self._disable()
        self._fut.set_result((guard, value))

    def poison(self):
        if self._state == _WAITING:
            self._state = _INACTIVE
            self._disable()
            self._fut.set_exception(PoisonException())

    async def __aenter__(self):
        return await self.select()

    async def __aexit__(self, *exc):
        return None


def process(func):
    """A process function: its coroutine ends quietly by poison."""
    async def body(*args, **kwargs):
        try:
            return await func(*args, **kwargs)
        except PoisonException:
            return None
    return body


async def Parallel(*procs):
    """Runs processes, or operations, as tasks; the list of their results."""
    return await asyncio.gather(*procs)


async def _both(procs):
    return await Parallel(*procs)


def run(*procs):
    """Runs one process (its value) or several (the list of their values)."""
    return asyncio.run(procs[0] if len(procs) == 1 else _both(procs))


def configure(future="rescheduling", queue="list"):
    """Chooses the future and the queue for channels made from now on; this module."""
    global create_future, Channel
    if future == "yielding":
        create_future = YieldingFuture
    else:
        create_future = ReschedulingFuture if core is not None else _cpython_future
    Channel = DequeChannel if queue == "deque" else ListChannel
    return sys.modules[__name__]
