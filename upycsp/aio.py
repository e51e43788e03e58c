"""upycsp for process bodies written with async and await, one thread a process.

    @process
    async def hello(cout):
        await cout("hello")

The same source runs with uapycsp. There is no event loop: a process awaits what this module
gives, which blocks its thread, and nothing of asyncio's.
"""

import sys
from _thread import allocate_lock, get_ident

# The largest first, while the heap is in one piece: compiled later it does not fit 222 KB.
from upycsp import process as _load  # noqa: F401
from cspcore.choice import Guard, Skip, Timer  # noqa: F401
from cspcore.errors import (  # noqa: F401
    ChannelPoisonException, DeadlockError, PoisonException, RetireException,
)
from cspcore.names import is_operation
from cspcore.process import maker
from upycsp import alternative, buffered, channel
from upycsp.channel import poison_channel  # noqa: F401
from upycsp.wait import load, load_rest

try:
    from ufuture.heap import advance
except ImportError:  # it goes without, but slowly where hundreds of processes fill the heap

    def advance(x):
        pass


_plain = sys.modules["upycsp.process"]
_upycsp = sys.modules["upycsp"]

__all__ = (
    "Channel", "BufferedChannel", "poison_channel", "Alternative", "Guard", "Skip", "Timer",
    "process", "Parallel", "Sequence", "Spawn", "run", "run_CSP", "CSP", "PoisonException",
    "ChannelPoisonException", "RetireException", "DeadlockError",
    "TimeoutError", "At", "Every", "Closed",  # noqa: F822
    "plugnplay",  # noqa: F822
)

if sys.implementation.name == "micropython":

    def coroutine(f):
        return f  # a generator function is what MicroPython makes of an async def

    NOTHING = ()  # `await ()` is None there, without an allocation

    class Awaitable:
        def __iter__(self):
            return self._await()

else:
    from types import coroutine

    class _Nothing:
        def __await__(self):
            return iter(())

    NOTHING = _Nothing()

    async def _awaiting(awaitable):
        return await awaitable

    class Awaitable:
        def __await__(self):
            return _awaiting(self._await()).__await__()


_ONCE = "an operation is awaited once"

# Operations, and whatever else is awaited here, are generators that never yield, but to a Parallel
# that asks what they are. A `yield` at the end that is never reached makes a function a generator.

def _operations():
    # The names around what they make are looked up 70 to 170 instructions sooner than a module's
    # or an attribute.
    asking = None  # the thread whose Parallel asks; guarded by lock
    lock = allocate_lock()

    def guard_of(operation):
        # The guard that does the same as an un-awaited operation, which still can be awaited.
        nonlocal asking
        with lock:
            asking = get_ident()
            try:
                guard = operation.send(None)
            except StopIteration:
                raise RuntimeError(_ONCE)
            finally:
                asking = None
        return guard

    def reader(plain):
        # What reads, given how.
        done = 0  # threads may miss one another's counts, which does no harm

        @coroutine
        def csp_read(self):
            nonlocal done
            while asking and asking == get_ident():
                yield self
            done += 1
            if not done & 63:
                advance(self)
            (self,)  # one block: see uapycsp.channel.ReadEnd
            return plain(self)

        return csp_read

    def writer(plain):
        @coroutine
        def csp_write(self, value):
            while asking and asking == get_ident():
                yield self.alt_pending_write(value)
            return plain(self, value)

        return csp_write

    return guard_of, reader, writer


_guard_of, _reader, _writer = _operations()


class _Reading:
    def __iter__(self):
        raise TypeError("use await cin() or async for")

    def __aiter__(self):
        return self

    @coroutine
    def __anext__(self):
        try:
            return self.plain()
        except PoisonException:
            raise StopAsyncIteration
        yield

    @coroutine
    def within(self, ms):
        """A read of at most ms: else TimeoutError, and nothing was read. 0 or less: one try."""
        return channel.ReadEnd.within(self, ms)
        yield

    def extended(self):
        """A value to be read with `async with`, whose writer waits until the block ends."""
        return load("upycsp.aio_extended").Extended(self)

    def poison(self, strength=None):
        """End the channel; what comes back may be awaited or not."""
        self.plain_poison(strength)
        return NOTHING


class _Writing:
    def __aiter__(self):
        raise TypeError("a write end can't be read")

    @coroutine
    def within(self, ms, value):
        """A write of at most ms: else TimeoutError, and nothing was written."""
        return channel.WriteEnd.within(self, ms, value)
        yield

    def poison(self, strength=None):
        """End the channel; what comes back may be awaited or not."""
        self.plain_poison(strength)
        return NOTHING


class ReadEnd(_Reading, channel.ReadEnd):
    """As upycsp's: `await cin()`, `async for v in cin`."""

    plain = channel.ReadEnd.__call__
    __call__ = _reader(plain)
    plain_poison = channel.ReadEnd.poison


class AnyReadEnd(_Reading, buffered.AnyReadEnd):
    """The same of a buffered channel."""

    plain = buffered.AnyReadEnd.__call__
    __call__ = _reader(plain)
    plain_poison = buffered.AnyReadEnd.poison


class WriteEnd(_Writing, channel.WriteEnd):
    """As upycsp's: `await cout(v)`."""

    __call__ = _writer(channel.WriteEnd.__call__)
    plain_poison = channel.WriteEnd.poison


class AnyWriteEnd(_Writing, buffered.AnyWriteEnd):
    """The same of a buffered channel."""

    __call__ = _writer(buffered.AnyWriteEnd.__call__)
    plain_poison = buffered.AnyWriteEnd.poison


class Channel(channel.Channel):
    """As upycsp's, with operations that are awaited."""

    _read_end = ReadEnd
    _write_end = WriteEnd
    _counted_ends = "upycsp.aio_counted"

    def poison(self, strength=None):
        """End it from both sides, at once; what comes back may be awaited or not."""
        channel.Channel.poison(self, strength)
        return NOTHING

    def close(self):
        """End it for writers; readers still get what was written. May be awaited or not."""
        channel.Channel.close(self)
        return NOTHING


class BufferedChannel(buffered.BufferedChannel):
    """As upycsp's, with operations that are awaited."""

    _read_end = AnyReadEnd
    _write_end = AnyWriteEnd
    _counted_ends = "upycsp.aio_counted"

    def poison(self, strength=None):
        """End it from both sides, at once; what comes back may be awaited or not."""
        buffered.BufferedChannel.poison(self, strength)
        return NOTHING

    def close(self):
        """End it for writers; readers still get what was written. May be awaited or not."""
        buffered.BufferedChannel.close(self)
        return NOTHING


class Alternative(alternative.Alternative):
    """As upycsp's, with a selection that is awaited."""

    def __init__(self, *guards):
        alternative.Alternative.__init__(self, *guards)
        self._done = 0  # selections; an attribute, for another thread may know this object already

    @coroutine
    def select(self, ready=None, fair=False):
        """Wait until a guard is ready; (guard, value). Of several ready ones takes the first."""
        self._done = self._done + 1 & 63
        if not self._done:
            advance(self)
        return alternative.Alternative.select(self, ready, fair)
        yield

    pri_select = select

    __aenter__ = select

    def __aexit__(self, exc_type, exc, traceback):
        return NOTHING


# Processes


class Process(_plain.Process, Awaitable):
    """A process function with its arguments, or a coroutine (args is None); not started yet."""

    _awaits = True

    def call(self):
        coro = self._f if self._args is None else _plain.Process.call(self)
        if not hasattr(coro, "send"):
            raise TypeError("a process function is an async def")
        try:
            coro.send(None)
        except StopIteration as er:
            return er.value
        coro.close()
        raise RuntimeError("this process has no event loop: it can await only CSP operations")

    @coroutine
    def _await(self):
        return Parallel(self).run().retval[0]
        yield


process = maker(Process)


def _as_process(x):
    if hasattr(x, "send") and hasattr(x, "throw"):
        return Process(x, None)
    return _plain.as_process(x, ", or a coroutine")


class Parallel(_plain.Parallel, Awaitable):
    """As upycsp's; also takes coroutines and un-awaited operations. `await` gives the results."""

    _operations = False  # whether some members are operations that are still to be asked

    def _as_process(self, x):
        if not is_operation(x):
            return _as_process(x)
        if self.members.count(x) > 1:
            raise RuntimeError(_ONCE)
        self._operations = True
        return x

    def _begin(self, me):
        begin = _plain.Parallel._begin
        if not self._operations:
            return begin(self, me)
        given = self.members
        left = self.left
        self.members = [_guard_of(m) if hasattr(m, "throw") else m for m in given]
        try:
            x = begin(self, me)
        finally:
            if self.left == left:  # it was refused: they can still be awaited
                self.members = given
            else:
                self._operations = False
                for m in given:
                    if hasattr(m, "throw"):
                        m.close()
        # In the `try`, MicroPython before 1.23 would need more stack than it has for the loop.
        return x

    @coroutine
    def _await(self):
        return self.run().retval
        yield


class Sequence(_plain.Sequence, Awaitable):
    """As upycsp's; also takes coroutines. `await` gives the results."""

    _as_process = staticmethod(_as_process)

    @coroutine
    def _await(self):
        return Parallel(self).run().retval[0]
        yield


class Spawn(_plain.Spawn, Awaitable):
    """As upycsp's; also takes a coroutine. `await h` or `await h.join()` gives the value."""

    _as_process = staticmethod(_as_process)

    @coroutine
    def join(self):
        """Wait for its end; its value, or raises its failure."""
        return _plain.Spawn.join(self)
        yield

    _await = join


def run(*processes, clock=None):
    """As upycsp's; also takes coroutines."""
    return _plain.run_all(processes, clock, Parallel, _as_process)


run_CSP = CSP = run


_GROUPS = ("plugnplay", "meeting", "pool")
_SAME = ("virtual", "guards", "timers", "TimeoutError", "At", "Every")  # as in upycsp


def __getattr__(name):
    if name in _GROUPS or name in ("bridge", "closing", "adapters"):
        return load("upycsp.aio_" + name)
    if name == "Closed":
        return __getattr__("closing").Closed
    if name in _SAME:
        return getattr(_upycsp, name)
    raise AttributeError("upycsp.aio is no package" if name == "__path__" else name)


# Firmware that knows no __getattr__ in modules (Pycom's) gets them at once.
if not hasattr(_upycsp, "_lazy"):
    from cspcore.older import looping

    _Reading.__aiter__ = looping
    for _name in _SAME[2:] + _GROUPS + ("Closed",):
        globals()[_name] = __getattr__(_name)

load_rest()
