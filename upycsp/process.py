"""Processes as threads: alone, in parallel, in sequence, in the background.

    @process
    def producer(cout): ...

    ch = Channel()
    run(producer(ch.write), consumer(ch.read))
    Parallel(producer(ch.write), consumer(ch.read)).run().retval   # the same: the list of results

Threads are kept: a process that ends leaves its thread to the next one (uthreading.kept).
"""

from _thread import get_ident

import upycsp
from uthreading import kept
from uthreading.report import report as report_exception
from cspcore.channel import POISON, READ, Offer, forget
from cspcore.choice import Choice, End, WriteGuard
from cspcore.errors import DeadlockError, PoisonException
from cspcore.group import Group
from cspcore.names import report
from cspcore.process import ENDED, STARTED, Alive, BaseProcess, maker
from upycsp import wait
from upycsp.wait import Given, lock, offers, own, wake_chain

_WATCH_MS = 500

# Guarded by lock: the processes that have a thread, and the runs that have not returned.
_alive = Alive()
_runs = []
_failed = []  # Spawns whose process ended by an exception, first in time
_loaded = False  # whether all of upycsp is
_watches = False  # whether the watchdog's thread is there


class Runnable:
    """What can be run: `run()` waits for its end and returns it, `retval` is its result."""

    retval = None

    def run(self):
        self.retval = Parallel(self).wait_all()[0]
        return self


class Process(BaseProcess, Runnable):
    """A process function with its arguments; not started yet."""

    def __init__(self, f, args=()):
        BaseProcess.__init__(self, f, args)
        self.retval = None
        self._exception = None
        self._ident = None  # of its thread
        self._inner = None  # the member of a Sequence that runs on this thread now

    def start(self):
        """Give it a thread; None, or why there is none. Its group hears of its end in any case."""
        global _loaded
        if not _loaded:
            upycsp._load_all()
            _loaded = True
        with lock:
            self._state = STARTED
            _alive.add(self)
        try:
            kept.start(self._work, self._tell)
        except BaseException as er:
            self.fail(er)
            return er

    def fail(self, exception):
        """It can't be started: that is its end."""
        started = self._state == STARTED
        self._exception = self.forgo(exception)
        self._tell(started)

    def _work(self):
        self._ident = get_ident()
        self.perform()

    def perform(self):
        try:
            self.retval = self.call()
        except BaseException as er:
            self._exception = self.die(er)

    def _tell(self, started=True):
        with lock:
            if started:
                _alive.remove(self)
                me = offers.get(self._ident)
                if me is not None:
                    me.channel = me.prev = None  # a kept thread keeps nothing else alive
            self._state = ENDED
            party = self._group.member_ended(self)
        wake_chain(party)

    def perform_in(self, outer):
        """Run on the thread of a Sequence's process; its value. Raises its exception."""
        with lock:
            self._ident = outer._ident
            self._state = STARTED
            _alive.add(self)
            outer._inner = self
        self.perform()
        with lock:
            _alive.remove(self)
            self._state = ENDED
            outer._inner = None
        if self._exception is not None:
            raise self._exception
        return self.retval


class _Composite(Process):
    # A Parallel or Sequence as a process.
    name = "a Parallel or Sequence"

    def __init__(self, body):
        Process.__init__(self, body)

    def call(self):
        self._f.retval = value = self._f.perform_in(self)
        return value

    def forgo(self, exception):
        self._state = ENDED
        for m in self._f.parts():
            m.forgo(exception)
        return exception


process = maker(Process)


def as_process(x):
    """What a Parallel starts for x; TypeError if that is no process."""
    if isinstance(x, Process):
        return x
    if isinstance(x, (Parallel, Sequence)):
        return _Composite(x)
    raise TypeError("a process is expected: a call of a @process function")


def is_guard(x):
    """Whether x is a channel guard."""
    return isinstance(x, End) and x.op == READ or isinstance(x, WriteGuard)


class Parallel(Group, Runnable):
    """Processes and channel guards that run together; `run()` waits for all, `retval` is the list.

    Raises the exception that was first in time; else poison, if an operation met it.
    """

    _as_process = staticmethod(as_process)
    deadlock = None

    def __init__(self, *members):
        self.members = None
        self._args = [m if is_guard(m) else self._as_process(m) for m in members]
        self._me = None

    def run(self):
        self.retval = self.wait_all()
        return self

    def perform_in(self, outer):
        return self.wait_all()

    def parts(self):
        return [m for m in self._args or () if isinstance(m, Process)]

    def wait_all(self):
        """Start all members and wait for their ends; their results."""
        chain = None
        with lock:
            if self._args is None:
                raise RuntimeError("a process is started once")
            for m in self._args:
                if isinstance(m, Process):
                    m.claim(self)
            self.begin(self._args)
            self._args = None
            self.left += 1  # itself, so that nobody wakes it before it waits
            self._me = me = own()
            for i in range(len(self.members)):
                chain = self._post(i, chain)
        wake_chain(chain)
        failed = None
        for m in self.members:
            if isinstance(m, Process):
                if failed is None:
                    failed = m.start()
                else:
                    m.fail(failed)  # no more are started after one that could not be
        with lock:
            self.left -= 1
            if self.left:
                me.on = self
            else:
                me = None
        if me is not None:
            try:
                me.bolt.acquire()
            except BaseException:
                self._interrupted(me)
                raise
        results = [m.retval if isinstance(m, Process) else self.value_of(m) for m in self.members]
        if self.exception is not None:
            raise self.exception
        if self.poisoned:
            raise PoisonException("channel is poisoned")
        return results

    def _post(self, i, chain):
        m = self.members[i]
        if isinstance(m, Process):
            return chain
        if isinstance(m, End):
            o = Offer(m._channel, READ)
            pending = None
        else:
            o = WriteGuard(m.channel, m.pending)
            pending = m.pending
        self.members[i] = o
        party = self.post(o, pending)
        if party is not None:
            party.next = chain
            chain = party
        return chain

    # What cspcore and the members call, under lock

    def party(self):
        me = self._me
        me.on = None
        return me

    def member_ended(self, p):
        if p._exception is not None:
            self.fail(p._exception)
        self.left -= 1
        return None if self.left else self.party()

    def offers(self):
        """The offers of operations that still wait."""
        return [m for m in self.members if isinstance(m, Offer) and m.alt is self]

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
                    o.value = POISON
                elif o.op == READ and o.value is not POISON:
                    party = o.channel.give_back(Given(o.channel, READ), o.value)
                    if party is not None:
                        party.next = chain
                        chain = party
            self.left = -1  # nobody is to be woken at its end
        if ended:
            me.bolt.acquire()
        wake_chain(chain)


class Sequence(Runnable):
    """Processes one after another; `run()` waits for the last, `retval` is the list of results.

    It stops at an exception and goes on after a member that ended by poison (its result is None).
    """

    _as_process = staticmethod(as_process)

    def __init__(self, *members):
        self._members = [self._as_process(m) for m in members]

    def parts(self):
        return self._members or ()

    def perform_in(self, outer):
        members = self._members
        if members is None:
            raise RuntimeError("a process is started once")
        self._members = None
        with lock:
            for m in members:
                m.claim(self)
        results = []
        try:
            for m in members:
                results.append(m.perform_in(outer))
        except BaseException as er:
            for m in members[len(results) + 1 :]:
                m.forgo(er)
            raise
        return results


class Spawn:
    """Starts a process in the background: `h.join()` waits for its value.

    Joining raises its exception; if nobody asked, the enclosing `run` raises it at its end.
    """

    _as_process = staticmethod(as_process)

    def __init__(self, p):
        self._waiting = None  # a chain of offers
        self._asked = False
        self._process = p = self._as_process(p)
        with lock:
            p.claim(self)
        failed = p.start()
        if failed is not None:
            raise failed

    def done(self):
        """Whether the process has ended."""
        return self._process._state == ENDED

    def join(self):
        """Wait for the process's end; its value. Raises its exception."""
        p = self._process
        with lock:
            self._asked = True
            me = None
            if p._state != ENDED:
                me = own()
                me.on = self
                me.next = self._waiting
                self._waiting = me
        if me is not None:
            try:
                me.bolt.acquire()
            except BaseException:
                self._interrupted(me)
                raise
        if p._exception is not None:
            raise p._exception
        return p.retval

    def member_ended(self, p):
        chain = self._waiting
        self._waiting = None
        o = chain
        while o is not None:
            o.on = None
            o = o.next
        if p._exception is not None and not self._asked and p._ident is not None:
            if _runs:
                _failed.append(self)
            else:
                report_exception(p._exception, None)
        return chain

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
        if not waits:
            me.bolt.acquire()


def run(*processes):
    """Run a process (its value), or several in parallel (their list). Also inside a process.

    Raises what the first of them, or one spawned that nobody asked about, raised; DeadlockError
    when all wait for one another.
    """
    return run_group(Parallel(*[as_process(p) for p in processes]), processes)


run_CSP = CSP = run


def run_group(group, processes):
    """Run a Parallel of processes under the watchdog; one's result, or the list of several's."""
    if not processes:
        raise ValueError("run needs at least one process")
    failed = ()
    with lock:
        _runs.append(group)
    try:
        _start_watch()
        try:
            results = group.wait_all()
        except (KeyboardInterrupt, SystemExit):
            if get_ident() == kept.main_ident:
                _abandon()
            raise
        except BaseException:
            if group.deadlock is None:
                raise
    finally:
        with lock:
            _runs.remove(group)
            if not _runs:
                forget()
                failed = _failed[:]
                del _failed[:]
    if group.deadlock is not None:
        raise DeadlockError(group.deadlock)
    for h in failed:
        if not h._asked:
            raise h._process._exception
    return results if len(processes) > 1 else results[0]


# The watchdog (rule 12)


def _start_watch():
    global _watches
    if not kept.may_block():
        wait.look = _look  # on a board the main thread looks, between its slices of sleep
        return
    with lock:
        needed = not _watches
        _watches = True
    if needed:
        try:
            kept.start(_watch)
        except RuntimeError:
            _watches = False  # a deadlock will not be reported; the network may still run


def _watch():
    global _watches
    while True:
        kept.sleep_ms(_WATCH_MS)
        with lock:
            if not _runs:
                _watches = False
                return
        _look()


def _look():
    with lock:
        chain = _find_deadlock() if _runs else None
    wake_chain(chain)


def _find_deadlock():
    # Under lock. Poisons what waits if nothing else can go on; whom to wake.
    waits = []
    failed = False  # an exception waits for the others: the deadlock is only its consequence
    for group in _runs:
        failed = failed or group.exception is not None
    for p in _alive.each():
        if p._inner is None:
            found = _offers_of(p._ident)
            if found is None:
                return None
            if found:
                waits.append((p, found))
            on = offers[p._ident].on
            failed = failed or isinstance(on, Parallel) and on.exception is not None
    if not waits or _threads_run():
        return None
    if not failed:
        text = report(waits)
        for group in _runs:
            group.deadlock = group.deadlock or text
    chain = None
    for p, found in waits:
        chain = _end(found, chain)
    return chain


def _end(found, chain):
    # Poison the channels that offers wait on; whom to wake is put before chain.
    for o in found:
        party = o.channel.end_all()
        while party is not None:
            n = party.next
            party.next = chain
            chain = party
            party = n
    return chain


def _offers_of(ident):
    # What a thread waits for: its offers, [] for the end of others, None if it may be running.
    me = offers.get(ident)
    if me is None:
        return None
    on = me.on
    if on is None:
        if not me.waits():
            return None
        found = [me]
    elif isinstance(on, Parallel):
        found = on.offers()
    elif isinstance(on, Choice):
        if on._own:
            return None
        found = on._offers
    else:
        found = []
    for o in found:
        if o.channel.external:
            return None
    return found


def _threads_run():
    # Whether a thread that is no process runs outside of our operations.
    if _offers_of(kept.main_ident) is None:
        return True
    with kept.lock:
        for t in kept.alive:
            if _offers_of(t.ident) is None:
                return True
    return False


def _abandon():
    # After an interrupt: poison whatever waits, for up to half a second; the rest stays behind.
    for _ in range(50):
        chain = None
        with lock:
            for p in _alive.each():
                chain = _end(_offers_of(p._ident) or (), chain)
            if _alive.first is None:
                return
        wake_chain(chain)
        kept.sleep_ms(10)
