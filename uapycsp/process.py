"""Processes as coroutines: alone, in parallel, in sequence, in the background.

    @process
    async def producer(cout): ...

    async def main():
        ch = Channel()
        await Parallel(producer(ch.write), consumer(ch.read))

    run(main())
"""

import sys

from ufuture.loop import cancel, engine, note_older
from cspcore.channel import POISON, READ, TAKEN, WRITE, const, forget
from cspcore.channel import Offer as BaseOffer
from cspcore.choice import WRITES, End, PendingWrite, WriteGuard, refuse_other
from cspcore.errors import DeadlockError, PoisonException
from cspcore.group import Group
from cspcore.names import is_operation
from cspcore.process import (
    BaseComposite,
    BaseProcess,
    Failures,
    Ring,
    forgo_all,
    maker,
    started_twice,
    unchanged,
)
from uapycsp.wait import Composed, Join, Offer, Waiting, coroutine, given

CancelledError = engine.CancelledError

# Among a module's own names they are found 460 to 820 instructions sooner than as builtins.
isinstance = isinstance
hasattr = hasattr
type = type
len = len

_EAGER = not hasattr(engine, "core")  # CPython may let a task begin before there is its object
_DROPPED = CancelledError()  # made once: there may be no memory for it

_WRITE = const(1)  # as cspcore's
NEW = const(4)
ENDED = const(5)
FAILED = const(6)
SHORT = const(7)  # failed by a MemoryError

alive = Ring()  # the processes that are tasks
_all_ended = None  # what `run` waits on until there is none
failures = Failures()
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

    It is the offer, too, that its plain operations queue: the engine's `me`. Its `op` says what it
    does: NEW, READ, WRITE or MARKER (see wait.Composed), then ENDED, FAILED or SHORT.
    """

    # An object that gets twelve attributes grows seven times. They come when it is made, all of
    # them: what grew while its neighbours waited, or was only made, left gaps that nobody could
    # use, and 200 waiting processes took 5 % more of a heap of 222 KB.
    serves = True
    _kwargs = None

    def __init__(self, f, args):
        # All that is stored later stands here already: the end of a process allocates nothing.
        self._f = f
        self._args = args
        self._group = None  # whom to tell of the end; False when it has ended
        self.channel = self.alt = self.next = self.prev = self._older = self._newer = None
        self.value = POISON  # it has not waited yet; in the end: what it has returned or raised
        self.op = NEW
        self.task = None

    def _call(self):
        # Its coroutine.
        return self._f if self._args is None else self.call()

    @coroutine
    def _await(self):
        return (yield from Parallel(self)._await())[0]

    def claim(self, group):
        """Say who will be told of its end; RuntimeError the second time."""
        if self._group is not None:
            started_twice()
        self._group = group

    def start(self):
        """Let it run, after those who are ready."""
        self.op = READ
        coro = self._f(*self._args) if self._kwargs is None and self._args else self._call()
        if not hasattr(coro, "send"):
            raise TypeError("a process function is an async def")
        engine.start(self, coro)
        self._newer = alive
        self._older = last = alive._older
        last._newer = alive._older = self

    def ended(self, value, exception):
        older = self._older
        newer = self._newer
        older._newer = newer
        newer._older = older
        if exception is not None:
            self._leave()
        self.op = ENDED
        self.value = value
        if exception is not None:
            self.fail(self._die(exception))
        group = self._group
        self._group = False
        # What refers to a process that has ended keeps nothing else alive but its function, which
        # names it.
        if self._args is None:
            self._f = None
        self._args = self._older = self._newer = self.channel = self.prev = None
        group.member_ended(self)
        self.task = None
        if older is newer is alive and _all_ended is not None:
            engine.wake(_all_ended)

    def _die(self, exception):
        try:
            return self.die(exception)
        except BaseException as er:  # not even its ends could be poisoned
            return er if isinstance(exception, PoisonException) else exception

    def _leave(self):
        # An interrupt may have come between the moment when it queued itself and its wait.
        ch = self.channel
        if ch is not None and self.op <= WRITE:
            o = ch.queue_of(self.op)
            while o is not None and o is not self:
                o = o.next
            if o is self:
                ch.withdraw(self)

    def fail(self, exception):
        """It has ended by an exception, or (None) by poison."""
        if exception is not None:
            self.value = exception
            self.op = SHORT if isinstance(exception, MemoryError) else FAILED

    def has_ended(self):
        return self.op >= ENDED

    def exception(self):
        """What it has raised, or None."""
        if self.op < FAILED:
            return None
        return unchanged(self.value, self.op == SHORT)

    def cancel(self):
        """Cancel its task."""
        if self.op < NEW and (self.task is not None or _EAGER):
            cancel(self)

    def undo(self):
        """After that: an operation of a bridge gives back what it has read."""


class _Named(Process):
    # One that has keyword arguments. That the others need not look spares 0.5 % of a process.
    def ended(self, value, exception):
        Process.ended(self, value, exception)
        self._kwargs = None


class Composite(Awaitable):
    """A Parallel or a Sequence."""

    as_member = None  # the process that runs it within another

    def refuse_claimed(self, by):
        """RuntimeError if another process has been started to run it, and has yet to begin."""
        p = self.as_member
        if p is not by and p._group is not None:
            started_twice()

    def claimed(self):
        """`as_member` has been claimed."""


class _Composite(BaseComposite, Process):
    def claim(self, group):
        Process.claim(self, group)
        self.refuse_begun()
        self._f.claimed()

    def _call(self):
        return self._f._await(self)


process = maker(Process, _Named)


def as_process(x):
    if isinstance(x, Process):
        return x
    if isinstance(x, Composite):
        if x.as_member is None:
            x.as_member = _Composite(x, None)
        return x.as_member
    if hasattr(x, "send") and hasattr(x, "throw"):
        return Process(x, None)
    raise TypeError("a process is expected: a call of a @process function, or a coroutine")


class Operation(BaseOffer):
    """An un-awaited operation in a Parallel; what there is of it until one is used."""


def _offer_of(m):
    # What stands for a member that is an operation, or None.
    if isinstance(m, Operation) and m.offer is not None:
        return m.offer
    return m if isinstance(m, BaseOffer) else None


class Parallel(Composed, engine.Parked, Group, Composite):
    """Processes, channel guards and un-awaited operations that run together.

    `await Parallel(...)` waits until all have ended; the list of their results, in order. Raises
    the exception that was first in time; else poison, if an operation met it.
    """

    next = None
    members = ()
    _writes = False  # _args is a list, but all are write guards

    def __init__(self, *members):
        for m in members:
            if m.__class__ is not PendingWrite:  # 400 instructions less than by type(m)
                members = [m if type(m) is Process else self._member(m, members) for m in members]
                break
        self._args = members  # a tuple: all are write guards

    def _member(self, m, members):
        if isinstance(m, WRITES):
            refuse_other(m.channel, "tasks")
            return m
        if isinstance(m, End) and m.op == READ:
            refuse_other(m._channel, "tasks")
            return m
        plain = is_operation(m)
        if plain or is_operation(m, "'bridge_"):
            from uapycsp.operation import Stepped, once

            once(members.count(m) < 2)
            if plain:
                return Stepped(m)
            from uapycsp.bridged_member import Member

            return Member(m)
        return as_process(m)

    @coroutine
    def _await(self, by=None):
        if Composed.unwaited > 63:
            yield from self._give_way()
        guards = self._args
        if guards is None:
            started_twice()
        if guards.__class__ is list:
            self.refuse_claimed(by)
            if not self._writes:
                self._args = None
                return (yield from self._run(guards))
        self._args = None
        # Write guards alone: a parallel delta makes a Parallel of them for each message. As long
        # as a reader waits for each they are written as by csp_write, and so is the last that has
        # to wait; else they are offers as in any other Parallel.
        names = engine.names
        waits = None
        met_end = False
        i = 0
        for m in guards:
            ch = m.channel
            r = ch._readers
            if r is not None and r.alt is None:
                n = r.next
                ch._readers = n
                if n is not None:
                    n.prev = r.prev
                    r.next = None
                r.value = m.pending
                names["wake"](r)
            elif r is not None and r.alt is not r:
                if self._meets_end(m):
                    met_end = True
            elif waits is None:  # nobody is there, or an extended read, which makes it wait
                waits = m
            else:
                break
            i += 1
        if waits is None:
            Composed.unwaited += 1
        elif met_end or i < len(guards):
            # Several wait, or one whose end may be milder than the one that was met.
            yield from self._run([waits] + list(guards[i:]))
        else:
            ch = waits.channel
            o = names["me"]
            if o is None or ch._readers is not None or not ch.plain:
                yield from ch.write(waits.pending)
            else:
                o.channel = ch
                o.op = _WRITE
                o.value = waits.pending
                if ch._writers is None:
                    ch._writers = o
                else:
                    ch.post(o)
                yield o
                if o.value is not TAKEN:
                    raise ch.ended()
        if met_end:
            raise self.poisoned
        n = len(guards)
        return [0, 0] if n == 2 else [0] * n  # 700 instructions less for a delta

    @coroutine
    def _give_way(self):
        # Or who never waits in a Parallel would let nobody else run. Not written out above, where
        # a `try` would make the generator larger.
        Composed.unwaited = 0
        try:
            yield self.turn()
        except BaseException as er:
            forgo_all(self._args or (), 0, None, er)
            raise

    if hasattr(engine, "core"):
        __iter__ = _await  # found at once, where MicroPython would go through all the bases

    def _meets_end(self, m):
        # Write to who waits in other ways; whether the channel has ended.
        try:
            party = m.channel.give(m.pending)
        except PoisonException as er:
            self.met_end(er)
            return True
        if party is not None:
            engine.wake(party)
        return False

    @coroutine
    def _run(self, members):
        self._start_all(members)
        if self.left <= 0:
            Composed.unwaited += 1
        cancelled = False
        while self.left > 0:
            self._waits = True
            try:
                yield self.rest()
            except CancelledError as er:
                if self._waits:  # else `cancelled` has done it
                    self._cancel_members()
                if self.exception is not None and engine.ends_loop(self.exception):
                    self.exception = er  # it has done so: not once more, where its tasks are ended
                if self.exception is None or self.exception is _DROPPED:
                    self.exception = er  # `cancelled` has noted when it came
                cancelled = True
            except BaseException:
                self._waits = False  # nobody is woken at its end; `cancelled` may have no memory
                self.cancelled()
                self._close()
                raise
        if self.exception is not None:
            er = unchanged(self.exception, self._short)
            if not (isinstance(er, CancelledError) and self._all_written()):
                self._close()
                if cancelled and not isinstance(er, CancelledError):
                    engine.cancel_later()  # it was cancelled after a member had failed
                    note_older(er)
                raise er
            engine.cancel_later()
        results = [m.value if type(m) is Process else self._result(m) for m in self.members]
        self.members = ()
        if self.poisoned is not None:
            raise self.poisoned
        return results

    def _start_all(self, args):
        try:
            self._claim_all(args)
        except BaseException as er:
            forgo_all(args, 0, self, er)
            raise
        self.left += 1  # itself, so that nobody wakes it before it waits
        failed = None
        members = self.members
        for i in range(len(args)):
            m = members[i]
            if failed is None:
                try:
                    if type(m) is Process:
                        m.start()
                    else:
                        self._start(i)
                    continue
                except BaseException as er:
                    failed = er  # no more are started after one that could not be
            if isinstance(m, Process):
                m.forgo(failed)
            self.fail(failed)
            self.left -= 1
        if failed is not None:
            self._withdraw_all()
        self.left -= 1

    def _claim_all(self, args):
        self.exception = self._me = None  # they stand here already, as in Process.start
        self._waits = self._short = False
        self.poisoned = self.poisoned  # likewise; _await may have met poison
        self.begin(args)
        for m in args:
            if isinstance(m, Process):
                m.claim(self)

    def _start(self, i):
        m = self.members[i]
        if isinstance(m, Process):
            m.start()
        elif isinstance(m, Operation):
            m.begin(self)
        elif isinstance(m, WRITES):
            self._post(i, WriteGuard(m.channel, m.pending), m.pending)
        else:
            self._post(i, Offer(m._channel, READ), None)

    def _withdraw_all(self):
        # One could not be started: operations that wait do so no more.
        for m in self.members:
            if isinstance(m, Operation):
                m = m.offer
            if isinstance(m, BaseOffer) and m.alt is self:
                if m.is_queued():
                    m.channel.withdraw(m)
                    self.left -= 1
                m.alt = None
                m.value = POISON

    def _post(self, i, offer, pending):
        self.members[i] = offer
        party = self.post(offer, pending)
        if party is not None:
            engine.wake(party)

    def _close(self):
        for m in self.members:
            if isinstance(m, Operation):
                if m.offer is not None:
                    m.offer.value = POISON  # it has happened: nothing of it is given back
                m.generator.close()

    def _result(self, m):
        if isinstance(m, Process):
            return m.value
        if isinstance(m, Operation):
            return m.result(self)
        return self.value_of(m)

    def member_ended(self, p):
        if p.op >= FAILED:
            er = p.exception()
            if p.before is er and (self.exception is _DROPPED
                                   or isinstance(self.exception, CancelledError)):
                self.exception = None
            self.fail(er)
        self.left -= 1
        if not self.left and self._waits:
            engine.wake(self._me)

    def _cancel_members(self):
        for m in self.members:
            if isinstance(m, Process):
                m.cancel()
        self._waits = False  # not before: it waits on if there is no memory for that

    def parts(self):
        return self._args

    def claimed(self):
        if self._args.__class__ is tuple:
            self._writes = True
            self._args = list(self._args)  # of which _await asks who begins

    def _all_written(self):
        # Whether all members are writes that have happened.
        for m in self.members:
            o = _offer_of(m)
            if o is None:
                if not hasattr(m, "writes") or m.value != 0:
                    return False  # no write to a bridge that has happened
            elif o.op == READ or o.value is POISON:
                return False
        return True

    # What the engine and cspcore call

    def stamp(self, offer):
        offer.seq = engine.order()

    def cancelled(self):
        woken = not self.left
        # First what needs memory: till then nothing has happened. A chain, the first one first.
        values = None
        i = len(self.members)
        while i:
            i -= 1
            o = _offer_of(self.members[i])
            if o is None or o.channel is None or o.alt is not None:
                continue  # no operation, or one that has not begun, or that waits
            if o.op == READ and o.value is not POISON:
                v = given(o.channel)
                v.value = o
                v.seq = o.seq
                v.next = values
                values = v
        for m in self.members:
            o = _offer_of(m)
            if o is not None and o.alt is not None:
                o.channel.withdraw(o)
                o.alt = None
                if o.value is not TAKEN:  # else it was held by an extended read
                    o.value = POISON
                self.left -= 1
        # Not before all are withdrawn: a value could go to another read of this Parallel.
        while values is not None:
            v = values
            values = v.next
            o = v.value
            party = v.channel.give_back(v, o.value)
            o.value = POISON
            if party is not None:
                engine.wake(party)
        if not woken:
            if self.exception is None:
                self.exception = _DROPPED  # what its members raise now comes later
            self._cancel_members()
        for m in self.members:
            if isinstance(m, Process):
                m.undo()
        return woken


def note_failure(handle, p):
    """A spawned process has ended by an exception, and nobody has asked yet."""
    if isinstance(p.exception(), CancelledError):
        return
    if _root is None or not failures.note(handle):
        engine.report(p.task, p.exception())


def run(*processes, clock=None):
    """From ordinary code: run a process (its value), or several in parallel (their list).

    clock: a VirtualClock, to run by its time.

    Raises what the first of them, or one spawned that nobody asked about, raised; DeadlockError
    when all wait for one another.
    """
    global _deadlock, _root, _all_ended
    if engine.is_busy():
        raise RuntimeError("an event loop runs already: await the process")
    if not processes:
        raise ValueError("run needs at least one process")
    if clock is not None and (isinstance(clock, type) or not hasattr(clock, "run")):
        raise TypeError("the clock is no VirtualClock of this library")
    runs = (clock or engine).run
    members = processes
    try:
        from uapycsp.watch import look  # not later, when there may be no memory for it

        members = [as_process(p) for p in processes]
        group = Parallel(*members)
        members = None  # it is long, if they are many
    except MemoryError as er:
        forgo_all(members, 0, None, er)
        raise
    if not hasattr(engine, "core"):
        engine.claim()
    alive.clear()
    _deadlock = None
    _root = group
    Composed.unwaited = 0
    Composed.hearing = ()
    try:
        results = runs(_main(group, look), lambda: _abandon(group))
    except MemoryError as er:
        forgo_all(group.parts() or (), 0, None, er)  # the loop may have had none to begin
        raise
    finally:
        if not alive.is_empty() and hasattr(engine, "drop_all"):
            _drop_all()
        _root = _all_ended = None
        _forget_stay()
        forget()
        alive.clear()
        failures.clear()
        engine.set_watch(None)
        if not hasattr(engine, "core"):
            engine.release()
    return results if len(processes) > 1 else results[0]


run_CSP = CSP = run


async def _main(group, look):
    engine.set_watch(look)
    if hasattr(engine, "core"):  # CPython's tasks end with their loop
        bridged = sys.modules.get("uapycsp.bridged")
        if bridged:
            bridged.bell.resume()
    try:
        results = await group
    except BaseException as er:
        if _root is not group:
            raise  # the run is long over: a garbage collection closes what was left of it
        short = isinstance(er, MemoryError)
        await _end_all()
        if _deadlock:
            raise DeadlockError(_deadlock)
        if unchanged(er, short) is not er:
            raise unchanged(er, short)
        raise
    await _end_all()
    if _deadlock:
        raise DeadlockError(_deadlock)
    if failures.first is not None:
        raise failures.first.unasked()
    return results


async def _end_all():
    # Cancel what was spawned and still runs, and wait for its end; it may wait for threads.
    global _all_ended
    cancelled = None
    try:
        while not alive.is_empty():
            for p in alive.each():
                p.cancel()
            _all_ended = Join()
            try:
                await _parked(_all_ended)
            except CancelledError as er:
                cancelled = er
    finally:
        engine.unlisten()
    if cancelled is not None:
        raise cancelled


@coroutine
def _parked(parked):
    yield engine.park(parked)


def _drop_all():
    # The loop itself has run out of memory, or some would not end: they do so without it.
    while not alive.is_empty():
        p = alive.oldest()
        engine.close(p.task)
        try:
            p.ended(None, _DROPPED)
        except Exception:
            pass
        if alive.oldest() is p:
            alive._newer = p._newer
            p._newer._older = alive
    engine.drop_all()


def _forget_stay():
    # The interrupt may have come between a writer's meeting with an extended read and its wait.
    extended = sys.modules.get("uapycsp.extended")
    if extended is not None:
        extended.channels.stays = None


def _abandon(group):
    # After an interrupt; what to run next.
    _forget_stay()
    engine.set_watch(None)
    engine.unlisten()
    group.left = -1  # nobody is to be woken at its end
    group.exception = CancelledError()  # what the main task ends by, not by the interrupt again
    return _end_interrupted()


async def _end_interrupted():
    # As _end_all, but what has not ended within half a second stays behind.
    for i in range(50):
        if alive.is_empty():
            break
        if i == 2:  # the neighbours of who was interrupted have met its poison by now
            for p in alive.each():
                p.cancel()
        await engine.sleep_ms(10)
    # The main task may have been woken before the interrupt: asyncio gets it from the driver in
    # the first of these turns, and lets it end in the second.
    for _ in range(2):
        await engine.sleep_ms(0)
