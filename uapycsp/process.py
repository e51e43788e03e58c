"""Processes as coroutines: alone, in parallel, in sequence, in the background.

    @process
    async def producer(cout): ...

    async def main():
        ch = Channel()
        await Parallel(producer(ch.write), consumer(ch.read))

    run(main())
"""

from ufuture.loop import engine
from cspcore.channel import POISON, READ, Offer, forget
from cspcore.choice import End, WriteGuard
from cspcore.errors import DeadlockError, PoisonException
from cspcore.group import Group
from cspcore.names import is_operation
from cspcore.process import ENDED, FAILED, STARTED, Alive, BaseProcess, maker
from uapycsp.wait import Join, Waiting, coroutine, give_back

CancelledError = engine.CancelledError

alive = Alive()  # the processes that are tasks
_all_ended = None  # what `run` waits on until there is none
_failed = []  # handles whose process ended by an exception, first in time
_deadlock = None  # the report, once there is one
_root = None  # the Parallel of the run


if hasattr(engine, "core"):

    class Awaitable:
        def __iter__(self):
            return self._await()

else:

    async def _awaiting(awaitable):
        return await awaitable

    class Awaitable:
        def __await__(self):
            return _awaiting(self._await()).__await__()


class Process(Waiting, engine.Owned, BaseProcess, Awaitable):
    """A process function with its arguments, or a coroutine (args is None); not started yet.

    It is the offer, too, that its plain operations queue: the engine's `me`.
    """

    serves = True

    def __init__(self, f, args):
        BaseProcess.__init__(self, f, args)
        self.task = None
        self.channel = None
        self.op = READ
        self.alt = None
        self.value = POISON  # it has not waited yet; in the end, what it has returned or raised
        self.next = None
        self.prev = None

    def _begin(self):
        # Its coroutine.
        self._state = STARTED
        coro = self._f if self._args is None else self.call()
        if not hasattr(coro, "send"):
            raise TypeError("a process function is an async def")
        return coro

    @coroutine
    def _await(self):
        return (yield from Parallel(self)._await())[0]

    def start(self):
        engine.start(self, self._begin())
        alive.add(self)

    def ended(self, value, exception):
        alive.remove(self)
        self._state = ENDED
        self.value = value
        if exception is not None:
            self.fail(self.die(exception))
        group = self._group
        # What refers to a process that has ended keeps nothing else alive.
        self._group = self._f = self._args = self.channel = self.prev = None
        group.member_ended(self)
        self.task = None
        if alive.first is None and _all_ended is not None:
            engine.wake(_all_ended)

    def fail(self, exception):
        """It has ended by an exception, or (None) by poison."""
        if exception is not None:
            self.value = exception
            self._state = FAILED

    def has_ended(self):
        return self._state >= ENDED

    def exception(self):
        """What it has raised, or None."""
        return self.value if self._state == FAILED else None

    def cancel(self):
        """Cancel its task."""
        if self._state == STARTED and self.task is not None:
            self.task.cancel()


class Composite(Awaitable):
    """A Parallel or a Sequence."""


class _Composite(Process):
    # A Parallel or Sequence as a process.
    name = "a Parallel or Sequence"

    def _begin(self):
        self._state = STARTED
        return self._f._await()

    def forgo(self, exception):
        self._state = ENDED
        for m in self._f.parts():
            m.forgo(exception)
        return exception


process = maker(Process)


def as_process(x):
    if isinstance(x, Process):
        return x
    if isinstance(x, Composite):
        return _Composite(x, ())
    if hasattr(x, "send") and hasattr(x, "throw"):
        return Process(x, None)
    raise TypeError("a process is expected: a call of a @process function, or a coroutine")


class _Operation:
    # An un-awaited operation in a Parallel: its generator runs in the Parallel's own task, and its
    # offer tells the Parallel.
    def __init__(self, generator):
        self.generator = generator
        self.offer = None
        self.value = None

    def begin(self, group):
        while engine.aside(self.step, group):
            parked = engine.unpark()
            if isinstance(parked, Offer):
                self.offer = parked
                parked.alt = group
                return
        group.left -= 1

    def step(self, group):
        # Runs it on; whether it waits.
        try:
            self.value = self.generator.send(None)
            return True
        except StopIteration as er:
            self.value = er.value
        except PoisonException:
            group.poisoned = True
        return False

    def result(self, group):
        if self.offer is not None:
            self.step(group)
        return self.value


class Parallel(engine.Parked, Group, Composite):
    """Processes, channel guards and un-awaited operations that run together.

    `await Parallel(...)` waits until all have ended; the list of their results, in order. Raises
    the exception that was first in time; else poison, if an operation met it.
    """

    next = None
    _waits = False
    members = ()

    def __init__(self, *members):
        self._args = members
        for m in members:
            if type(m) is not WriteGuard:
                self._args = [self._member(m) for m in members]
                break

    def _member(self, m):
        if isinstance(m, End) and m.op == READ or isinstance(m, WriteGuard):
            return m
        return _Operation(m) if is_operation(m) else as_process(m)

    def _claim(self):
        if self._args is None:
            raise RuntimeError("a process is started once")
        for m in self._args:
            if isinstance(m, Process):
                m.claim(self)
        self.begin(list(self._args))
        self._args = None

    @coroutine
    def _await(self):
        if type(self._args) is tuple:
            self.members = self._args
            self._args = None
            self._post_guards()
        else:
            self._claim()
            self.left += 1  # itself, so that nobody wakes it before it waits
            failed = None
            for i in range(len(self.members)):
                failed = self._start(i, failed)
            self.left -= 1
        while self.left > 0:
            self._waits = True
            try:
                yield engine.park(self)
            except CancelledError as er:
                self._waits = False
                self.fail(er)
                self._cancel_members()
            except BaseException:
                self._waits = False
                self.cancelled()
                self._cancel_members()
                self._close()
                raise
        self._waits = False
        if self.exception is not None:
            if not (isinstance(self.exception, CancelledError) and self._all_written()):
                self._close()
                raise self.exception
            engine.cancel_later()
        results = []
        for m in self.members:
            if type(m) is WriteGuard:
                if m.value is POISON:
                    self.poisoned = True
                results.append(0)
            else:
                results.append(self._result(m))
        self.members = ()
        if self.poisoned:
            raise PoisonException("channel is poisoned")
        return results

    def _post_guards(self):
        # As _start for each, for write guards alone: a guard that nobody uses serves as the offer.
        self.left = len(self.members) + 1
        for m in self.members:
            if m.alt is not None:
                self.members = [WriteGuard(m.channel, m.pending) for m in self.members]
                break
        for m in self.members:
            party = self.post(m, m.pending)
            if party is not None:
                engine.wake(party)
        self.left -= 1

    def _close(self):
        for m in self.members:
            if isinstance(m, _Operation):
                m.generator.close()

    def _start(self, i, failed):
        # failed: why an earlier process could not be started, or None. Returns the same.
        m = self.members[i]
        if isinstance(m, Process):
            try:
                if failed is not None:
                    raise failed  # no more are started after one that could not be
                m.start()
            except BaseException as er:
                m.fail(m.forgo(er))
                self.member_ended(m)
                return er
        elif isinstance(m, _Operation):
            m.begin(self)
        else:
            if isinstance(m, WriteGuard):
                o = WriteGuard(m.channel, m.pending)
                party = self.post(o, m.pending)
            else:
                o = Offer(m._channel, READ)
                party = self.post(o, None)
            self.members[i] = o
            if party is not None:
                engine.wake(party)
        return failed

    def _result(self, m):
        if isinstance(m, Process):
            return m.value
        if isinstance(m, Offer):
            return self.value_of(m)
        return m.result(self)

    def member_ended(self, p):
        if p.exception() is not None:
            self.fail(p.exception())
        self.left -= 1
        if not self.left and self._waits:
            engine.wake(self)

    def _cancel_members(self):
        for m in self.members:
            if isinstance(m, Process):
                m.cancel()

    def offers(self):
        """The offers of those members that are operations."""
        for m in self.members:
            if isinstance(m, _Operation):
                m = m.offer
            if isinstance(m, Offer):
                yield m

    def parts(self):
        return [m for m in self._args or () if isinstance(m, Process)]

    def _all_written(self):
        # Whether all members are writes that have happened.
        for m in self.members:
            if isinstance(m, _Operation) and m.offer is not None:
                m = m.offer
            if not isinstance(m, Offer) or m.op == READ or m.value is POISON:
                return False
        return True

    # What the engine and cspcore call

    def party(self):
        return self

    def stamp(self, offer):
        offer.seq = engine.order()

    def cancelled(self):
        woken = not self.left
        for o in self.offers():
            if o.alt is not None:
                o.channel.withdraw(o)
                o.alt = None
                o.value = POISON
                self.left -= 1
            elif o.op == READ and o.value is not POISON:
                give_back(o.channel, o.value, o.seq)
                o.value = POISON
        return woken


def note_failure(handle, p):
    """A spawned process has ended by an exception, and nobody has asked yet."""
    if _root is not None:
        _failed.append(handle)
    elif not isinstance(p.exception(), CancelledError):
        engine.report(p.task, p.exception())


def run(*processes):
    """From ordinary code: run a process (its value), or several in parallel (their list).

    Raises what the first of them, or one spawned that nobody asked about, raised; DeadlockError
    when all wait for one another.
    """
    global _failed, _deadlock, _root
    if engine.is_running():
        raise RuntimeError("an event loop runs already: await the process")
    if not processes:
        raise ValueError("run needs at least one process")
    group = Parallel(*[as_process(p) for p in processes])
    alive.clear()
    _deadlock = None
    _failed = []
    _root = group
    try:
        results = engine.run(_main(group), lambda: _abandon(group))
    finally:
        _root = None
        forget()
        alive.clear()
        _failed = []
        engine.set_watch(None)
    return results if len(processes) > 1 else results[0]


run_CSP = CSP = run


async def _main(group):
    engine.set_watch(_watch)
    try:
        results = await group
    except BaseException:
        await _end_all()
        if _deadlock:
            raise DeadlockError(_deadlock)
        raise
    await _end_all()
    if _deadlock:
        raise DeadlockError(_deadlock)
    for h in _failed:
        exception = h.unasked()
        if exception is not None and not isinstance(exception, CancelledError):
            raise exception
    return results


async def _end_all():
    # Cancel what was spawned and still runs, and wait for its end.
    global _all_ended
    engine.unlisten()
    cancelled = None
    while alive.first is not None:
        for p in alive.each():
            p.cancel()
        _all_ended = Join()
        try:
            await _parked(_all_ended)
        except CancelledError as er:
            cancelled = er
        _all_ended = None
    if cancelled is not None:
        raise cancelled


@coroutine
def _parked(parked):
    yield engine.park(parked)


def _abandon(group):
    # After an interrupt; what to run next.
    engine.set_watch(None)
    engine.unlisten()
    group.left = -1  # nobody is to be woken at its end
    group.exception = None
    return _end_interrupted()


async def _end_interrupted():
    # As _end_all, but what has not ended within half a second stays behind.
    for i in range(50):
        if alive.first is None:
            break
        if i == 2:  # the neighbours of who was interrupted have met its poison by now
            for p in alive.each():
                p.cancel()
        await engine.sleep_ms(10)


def _watch():
    from uapycsp.watch import look

    return look()
