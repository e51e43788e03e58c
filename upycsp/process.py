"""Processes as threads: alone, in parallel, in sequence, in the background.

    @process
    def producer(cout): ...

    ch = Channel()
    run(producer(ch.write), consumer(ch.read))
    Parallel(producer(ch.write), consumer(ch.read)).run().retval   # the same: the list of results

Threads are kept: a process that ends leaves its thread to the next one (uthreading.kept).
"""

import sys
from _thread import get_ident

from uthreading import kept
from uthreading.report import excepthook, report
from cspcore.channel import POISON, READ, WAITING, Offer, const
from cspcore.choice import End, WriteGuard, home_of, refuse_other
from cspcore.errors import PoisonException
from cspcore.group import Group
from cspcore.process import (
    FAILED,
    SHORT,
    WELL,
    BaseComposite,
    BaseProcess,
    Failures,
    Ring,
    forgo_all,
    maker,
    started_twice,
    unchanged,
)
from upycsp.wait import Given, load, load_all, lock, offers, own, wake_chain

_GUARDS = const(-0x10000)  # Parallel.left before it is started, if it has write guards alone
_MIXED = const(-0x10001)  # the same, if it has others

# Among a module's own names they are found 460 to 820 instructions sooner than as builtins.
type = type
isinstance = isinstance
len = len
list = list

# Guarded by lock: the processes that have a thread, the runs that have not returned, the Spawns
# whose process has failed and that nobody joined, and those whose failure is being told.
_alive = Ring()
_runs = []
_failures = Failures()
_telling = Failures()
_loaded = False  # whether all of upycsp is
# To raise an exception adds to its traceback. Where there is no GIL the interpreter dies of two
# threads that do so with the same one.
_RACES = (sys.implementation.name == "micropython"
          and getattr(sys.implementation, "_thread", "unsafe") == "unsafe")


def _unrun():
    async def waits():
        pass

    def yields():
        yield

    for it in (waits(), yields()):
        it.close()
        yield type(it)


_UNRUN = tuple(_unrun())  # the types of what has not begun when its function was called


def _only_makes(f):
    # Whether to call f only makes a generator or coroutine.
    flags = getattr(getattr(f, "__code__", None), "co_flags", None)
    if flags is None:
        return "<generator>" in str(f)  # MicroPython, of a closure too
    return flags & 0xA0 != 0  # CO_GENERATOR, CO_COROUTINE


class Runnable:
    """What can be run: `run()` waits for its end and returns it, `retval` is its result."""

    retval = None
    as_member = None  # of a Parallel or Sequence: the process that runs it within another

    def run(self):
        self.retval = Parallel(self).run().retval[0]
        return self


class Process(BaseProcess, Runnable):
    """A process function with its arguments; not started yet."""

    # One is often made for each message: what is not known before it starts stands in the class
    # (ten attributes take 9200 instructions to make, six 4200, two 900). `claim` makes
    # all that is stored in the end, when there may be no memory.
    _state = WELL
    _group = None
    _me = None  # the offer of its thread
    _awaits = False  # whether its function is an async def

    def __init__(self, f, args=()):
        self._f = f
        self._args = args

    def claim(self, group):
        if self._group is not None:
            started_twice()
        self._group = group
        self._state = WELL
        self._me = self._older = self._newer = None
        self.retval = None  # or, if its state is FAILED, the exception until its group knows it

    def start(self):
        """Give it a thread; None, or why there is none. Its group hears of its end in any case."""
        global _loaded
        try:
            with lock:
                _alive.add(self)
            if not _loaded:
                load_all()
                _loaded = True
            kept.start(self.perform, self._tell)
        except BaseException as er:
            with lock:
                if self._me is not None:  # its thread had begun, which tells
                    return er
                if self._older is not None:
                    _unlink(self)  # should its thread begin yet, it sees that it is not to
            return self.fail(er)

    def fail(self, exception):
        """It can't be started: that is its end. Returns the exception."""
        group = self._group
        self._blame(exception)
        self._note(self.forgo(exception))
        with lock:
            group.member_ended(self)  # nobody waits for it yet, who would have to be woken
        return exception

    # On a board's stack of 5 KB a call more is one in sixteen: what begins, runs and ends a
    # process is one function.

    def perform(self, own_thread=True):
        """Run it, on the calling thread."""
        try:
            if own_thread and not self._enter():
                return
            if self._kwargs is None and self.__class__ is Process:
                value = self._f(*self._args)
            else:
                value = self.call()
            self.retval = value
            if type(value) in _UNRUN and not self._awaits and _only_makes(self._f):
                raise TypeError("a process function is a def without await and yield")
        except BaseException as er:
            self._note(er)  # if not even its ends can be poisoned
            self._blame(er)
            left = self.die(er)
            if left is not er:
                self._note(left)

    def _blame(self, exception):
        # Before its neighbours hear of it, who may fail by that.
        if not isinstance(exception, PoisonException):
            with lock:
                Group.fail(self._group, exception)

    def _enter(self):
        # Whether it is to run.
        with lock:
            if self._older is None:
                return False
            self._me = me = own()
            me.runs = self
        return True

    def perform_here(self, me):
        """Run it on the thread of another process, whose offer is me."""
        outer = me.runs
        me.runs = self
        self.perform(False)
        me.runs = outer

    def _note(self, exception):
        # It has ended by an exception, or (None) by poison.
        self.retval = exception
        if exception is None:
            self._state = WELL
        else:
            self._state = SHORT if isinstance(exception, MemoryError) else FAILED

    def _tell(self):
        with lock:
            if self._older is None:
                return
            _unlink(self)
            me = self._me
            if me is None:
                self._me = self  # there was no memory for it, but the thread has begun
            else:
                me.runs = me.channel = me.prev = None  # a kept thread keeps nothing alive
            me = self._group.member_ended(self)
        if me is not None:
            wake_chain(me)
        # Who goes on then may give a Parallel another attribute: none of its is read here.
        if self._state >= FAILED and isinstance(self._group, Spawn) and self._group._untold:
            try:
                # A user's hook may wait, and this thread is idle already.
                if kept.uthreading.excepthook is not excepthook:
                    kept.start(self._group.tell)
                    return
            except Exception:  # there is no other
                pass
            self._group.tell()

    def exception(self):
        """At its end, under lock: what it has ended by, or None. Its value is None then."""
        if self._state < FAILED:
            return None
        er = unchanged(self.retval, self._state == SHORT)
        self.retval = None
        return er


def live(group):
    """A run, or if it has ended the innermost one around it that goes on; else None, or `rest`."""
    while group is not None and group.within is not group:
        group = group.within
    return group


if _RACES:

    def _copy_of(er):
        try:
            # Not by its own `__init__`, which may take other arguments or change them.
            cls = base = type(er)
            if hasattr(cls, "__init__"):
                while hasattr(base.__bases__[0], "__init__"):
                    base = base.__bases__[0]
                copy = object.__new__(cls)
                super(base, copy).__init__(*er.args)
            else:
                copy = cls(*er.args)
            for name in getattr(er, "__dict__", ()):
                setattr(copy, name, er.__dict__[name])
            return copy
        except Exception:  # its class takes other arguments
            return RuntimeError(er)


def alone(er):
    """What a thread may raise while others raise er: where that races a copy, if it has one."""
    if not _RACES:
        return er
    copy = _copy_of(er)
    return copy if isinstance(copy, type(er)) else er


def _unlink(p):
    p._older._newer = p._newer
    p._newer._older = p._older
    p._older = p._newer = None


class _Composite(BaseComposite, Process):
    def __init__(self, body):
        Process.__init__(self, body)

    def claim(self, group):
        Process.claim(self, group)
        self.refuse_begun()

    def call(self):
        body = self._f
        if isinstance(body, Parallel):
            return body.run().retval
        body.retval = value = body.wait_all()
        return value


process = maker(Process)


def as_process(x, more=""):
    """What a Parallel starts for x; TypeError if that is no process. more: of its sentence."""
    if isinstance(x, Process):
        return x
    if isinstance(x, (Parallel, Sequence)):
        with lock:
            if x.as_member is None:
                x.as_member = _Composite(x)
            return x.as_member
    raise TypeError("a process is expected: a call of a @process function" + more)


class Parallel(Group, Runnable):
    """Processes and channel guards that run together; `run()` waits for all, `retval` is the list.

    Raises the exception that was first in time; else poison, if an operation met it.
    """

    _as_process = staticmethod(as_process)
    deadlock = None
    within = None  # the innermost run that its processes belong to

    def __init__(self, *members):
        self.members = members
        self.left = _GUARDS
        for m in members:
            if m.__class__ is not WriteGuard:  # 400 instructions less than by type(m)
                self._convert()
                break

    def _convert(self):
        self.left = _MIXED
        self.members = [m if isinstance(m, Process) else self._member(m) for m in self.members]

    def _member(self, m):
        if isinstance(m, WriteGuard):
            refuse_other(home_of(m), "threads")
        elif isinstance(m, End) and m.op == READ:
            refuse_other(m._channel, "threads")
        else:
            m = self._as_process(m)
        return m

    def parts(self):
        return self.members if self.left <= _GUARDS else None

    def run(self):
        """Start all members and wait for their ends; itself."""
        if self.left == _MIXED:
            self.retval = self._run_members()
            return self
        n = len(self.members)
        with lock:
            chain = self._post_guards()
            me = None
            if self.left:
                me = self._begin_wait(chain)
        wake_chain(chain)
        if me is not None:
            self._wait(me)
            self._results(list(self.members))
        if self.poisoned is not None:
            raise self.poisoned
        self.retval = [0, 0] if n == 2 else [0] * n  # 700 instructions less for a delta
        return self

    # The parts of run need no more than 11 words each: see channel.ReadEnd.

    def _post_guards(self):
        # Write guards alone, which serve as their own offers. Whom to wake.
        if self.left != _GUARDS:
            started_twice()
        self.left = 0
        chain = None
        for m in self.members:
            r = m.channel._readers
            if r is not None and r.alt is None and r.next is None:
                m.channel._readers = None  # Group.post, written out for the usual case
                r.value = m.pending
            else:
                r = self._post_guard(m, chain)
                if r is None:
                    continue
            r.next = chain
            chain = r
        return chain

    def _begin_wait(self, chain):
        try:
            self._me = me = own()
            if self.left < len(self.members):
                self._forget_others()
        except BaseException:
            self._take_back(chain)
            raise
        me.on = self
        return me

    def _forget_others(self):
        # A guard that has happened at once may be another Parallel's when this one ends.
        members = []
        for m in self.members:
            if m.alt is self and m not in members:
                members.append(m)
        self.members = members

    def _post_guard(self, m, chain):
        try:
            if m.alt is not None or m.value is not WAITING:  # another Parallel's
                m = self._again(m)
            self.left += 1
            return self.post(m, m.pending)
        except BaseException:
            self._take_back(chain)
            raise

    def _take_back(self, chain):
        # Under lock. There is too little memory for the rest: what was posted is withdrawn, what
        # has been paired stands.
        for m in self.members:
            if isinstance(m, Offer) and m.alt is self:
                if m.is_queued():
                    m.channel.withdraw(m)
                m.alt = None
        wake_chain(chain)

    def _again(self, guard):
        # It stands in a queue, or who has posted it does not know its end yet: a guard may be used
        # twice.
        m = WriteGuard(home_of(guard), guard.pending)
        self.members = members = list(self.members)
        i = len(members) - 1
        while members[i] is not guard:
            i -= 1
        members[i] = m
        return m

    def _wait(self, me):
        try:
            me.wait()
        except BaseException:
            self._interrupted(me)
            raise

    def _run_members(self):
        try:
            with lock:
                me = own()
                x = self._begin(me)
                if x is None and self.left <= len(self.members):
                    x = self._begin_guards()
        except BaseException as er:
            forgo_all(self.members, 0, self, er)
            raise
        if x is self:
            started_twice()
        wake_chain(x)
        self._start(me)
        with lock:
            self.left -= 1
            if self.left:
                me.on = self
            else:
                me = None
        if me is not None:
            self._wait(me)
        x = self._results(self.members)
        if self.exception is not None:
            raise unchanged(self.exception, self._short)
        if self.poisoned is not None:
            raise self.poisoned
        return x

    def _results(self, members):
        # The list of members, turned into that of their results.
        i = 0
        for m in members:
            if isinstance(m, Process):
                members[i] = m.retval
            else:
                members[i] = self.value_of(m)
                m.value = WAITING  # not before that a guard is free for others
            i += 1
        return members

    def _begin(self, me):
        # Under lock: claim the processes. None; self if it has begun.
        if self.left != _MIXED:
            return self
        self._me = me
        if self.within is None and me.runs is not None:
            self.within = me.runs._group.within
        self.exception = None  # at a member's end there may be no memory to make these attributes
        self._short = False
        n = 1  # itself, so that nobody wakes it before it waits
        for m in self.members:
            if isinstance(m, Process):
                m.claim(self)
                n += 1
        self.left = n
        return None

    def _begin_guards(self):
        chain = None
        members = self.members
        try:
            for i in range(len(members)):
                m = members[i]
                if not isinstance(m, Process):
                    if isinstance(m, WriteGuard):  # which may be an End, too
                        members[i] = o = WriteGuard(home_of(m), m.pending)
                        pending = m.pending
                    else:
                        members[i] = o = Offer(m._channel, READ)
                        pending = None
                    self.left += 1
                    party = self.post(o, pending)
                    if party is not None:
                        party.next = chain
                        chain = party
        except BaseException:
            self._take_back(chain)
            raise
        return chain

    def _start(self, me):
        # The last process runs on the thread of the process that waits for it, which saves two
        # switches of threads. But not within one that does so already, or there would be no end
        # to how deep it goes, and not on a board, where stacks are small.
        p = me.runs
        here = None
        if p is not None and p._me is me and me.nests:
            here = self.members[-1]
        failed = self._start_others(here)
        if failed is not None and not isinstance(failed, Exception):
            self._interrupted(me)  # nobody waits for those that were started
            raise failed
        if here is not None and isinstance(here, Process):
            if failed is None:
                here.perform_here(me)
                self._ended_here(here)
            else:
                here.fail(failed)

    def _start_others(self, here):
        # Why one could not be started, or None; no more are started after it.
        failed = None
        for m in self.members:
            if m is not here and isinstance(m, Process):
                if failed is None:
                    failed = m.start()
                else:
                    m.fail(failed)
        return failed

    def _ended_here(self, p):
        with lock:
            self.member_ended(p)

    # What cspcore and the members call, under lock

    def party(self):
        me = self._me
        me.on = None
        return me

    def member_ended(self, p):
        if p._state >= FAILED:
            self.fail(p.exception())
        self.left -= 1
        return None if self.left else self.party()

    def _interrupted(self, me):
        # An interrupt has ended the wait: operations that wait are withdrawn, reads given back.
        chain = None
        with lock:
            ended = not self.left
            me.on = None
            for o in self.members:
                if not isinstance(o, Offer):
                    continue
                if o.alt is self:
                    o.channel.withdraw(o)
                    o.alt = None
                    o.value = WAITING
                elif o.op == READ and o.value is not POISON:
                    party = o.channel.give_back(Given(o.channel, READ), o.value)
                    if party is not None:
                        party.next = chain
                        chain = party
            self.left = -1  # nobody is to be woken at its end
            if ended:
                me.retire()
        wake_chain(chain)


class Sequence(Runnable):
    """Processes one after another; `run()` waits for the last, `retval` is the list of results.

    It stops at an exception and goes on after a member that ended by poison (its result is None).
    """

    _as_process = staticmethod(as_process)
    within = None  # as a Parallel's

    def __init__(self, *members):
        self._members = [self._as_process(m) for m in members]

    def parts(self):
        return self._members

    def wait_all(self):
        """Run them on the calling thread, which is a process's; their results."""
        results = []
        with lock:
            members = self._members
            self._members = None
        if members is None:
            started_twice()
        n = 0  # how many were run
        try:
            with lock:
                me = own()
                self.within = me.runs._group.within
                for m in members:
                    m.claim(self)
            for m in members:
                n += 1
                m.perform_here(me)
                er = m.exception()
                if er is not None:
                    raise er
                results.append(m.retval)
        except BaseException as er:
            forgo_all(members, n, self, er)
            raise
        return results


class Spawn:
    """Starts a process in the background: `h.join()` waits for its value.

    Joining raises its exception; if nobody asked, the enclosing `run` raises it at its end.
    """

    _as_process = staticmethod(as_process)
    as_member = None  # as a Parallel's: nothing runs it within another

    def __init__(self, p):
        self._waiting = None  # a chain of offers
        self._asked = False
        self._ended = False
        self._exception = None
        self._short = False
        self.later = None  # of the handles whose process has failed: the next one
        self.within = None  # as a Parallel's, until nobody need know
        # It has failed, and no run goes on that would raise it: True, or the thread that tells it.
        self._untold = False
        self._given = False  # somebody has got the exception itself
        self._process = p = self._as_process(p)
        with lock:
            p.claim(self)
            me = offers.get(get_ident())
            if me is not None and me.runs is not None:
                self.within = me.runs._group.within
        failed = p.start()
        if failed is not None:
            raise failed

    def done(self):
        """Whether the process has ended."""
        return self._ended

    def join(self):
        """Wait for the process's end; its value. Raises its exception."""
        p = self._process
        with lock:
            me = None if self._ended else own()  # first: there may be no memory for it
            self._asked = True
            if me is None:
                if self._exception is not None:
                    _failures.forget(self)
                    self.within = None
            else:
                me.on = self
                me.next = self._waiting
                self._waiting = me
        if me is not None:
            try:
                me.wait()
            except BaseException:
                self._interrupted(me)
                raise
        if self._exception is not None:
            raise self.asked()
        return p.retval

    def asked(self):
        """What who asks is to raise."""
        with lock:
            return self.raised()

    def raised(self):
        """The same under lock."""
        er = unchanged(self._exception, self._short)
        if self._given and _RACES:
            return _copy_of(er)
        self._given = True
        return er

    def member_ended(self, p):
        self._ended = True
        self._exception = er = p.exception()
        self._short = isinstance(er, MemoryError)
        chain = self._waiting
        self._waiting = None
        o = chain
        while o is not None:
            o.on = None
            o = o.next
        if er is not None and not self._asked and p._me is not None:
            self.within = live(self.within)
            if isinstance(self.within, Parallel) and _failures.note(self):
                return chain
            self._untold = True
            _telling.add(self)
        self.within = None
        return chain

    def tell(self):
        """Not under lock, for what is told may use channels."""
        try:
            with lock:
                self._untold = get_ident()
        except MemoryError:  # it counts as a thread that runs
            pass
        try:
            report(self.asked(), None)
        finally:
            with lock:
                _telling.forget(self)

    def _interrupted(self, me):
        with lock:
            waits = me.on is self
            if waits:
                me.on = None
                if self._waiting is me:
                    self._waiting = me.next
                else:
                    o = self._waiting
                    while o.next is not me:
                        o = o.next
                    o.next = me.next
                me.next = None
            else:
                me.retire()


def run(*processes, clock=None):
    """Run a process (its value), or several in parallel (their list). Also inside a process.

    clock: a VirtualClock, to run by its time.

    Raises what the first of them, or one spawned that nobody asked about, raised; DeadlockError
    when all wait for one another.
    """
    return run_all(processes, clock, Parallel, as_process)


def run_all(processes, clock, Parallel, as_process):
    """`run`, of what as_process and a class of Parallels make of the processes."""
    members = processes
    group = None
    try:
        runs = _runner(clock)
        members = [as_process(p) for p in processes]
        group = Parallel(*members)
        members = None  # it is long, if they are many
        return runs(group, processes)
    except MemoryError as er:  # there may have been none to begin
        forgo_all(members if group is None else group.parts() or (), 0, None, er)
        raise


def _runner(clock):
    """What runs a Parallel by a clock, or without one as watch.run_group."""
    if clock is None:
        return load("upycsp.watch").run_group  # not later, when there may be no memory for it
    if isinstance(clock, type) or not hasattr(clock, "run_group"):
        raise TypeError("the clock is no VirtualClock of this library")
    return clock.run_group


run_CSP = CSP = run

if sys.implementation.name == "cpython":
    __import__("upycsp.fork")
