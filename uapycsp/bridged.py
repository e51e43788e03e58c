"""How asyncio's tasks take part in a bridge: see upycsp.bridge.

A task's offer stands in the same queue as those of threads. Whoever meets it, under the lock, puts
it at the end of the bell's chain and sets a flag, which takes no lock and never blocks. The loop
polls the flag; then it takes the chain and wakes its tasks. The flag is set after the chain has
grown and is cleared before the chain is read, so no wake is lost. Between the two the task may be
cancelled: then it takes its offer out of the chain, under the lock, and gives the value back.

A choice of a task leaves no offer, for its own loop decides what is chosen. It leaves a wish: the
flag is set when the channel becomes ready, and the loop tries again whatever still waits.
"""

from _thread import get_ident

from ufuture.loop import engine
from cspcore.channel import GIVEN, POISON, READ, TAKEN, WAITING, WRITE, Offer
from cspcore.choice import End, Timer, title, whole_ms
from cspcore.errors import PoisonException
from uapycsp.wait import NOTHING, coroutine, looping, next_of, turn
from upycsp.isr import fed
from upycsp.wait import lock, wake_chain

CancelledError = engine.CancelledError

_BURST = 64  # operations of one end in a row that need not wait, before the others get a turn
_FOR_TASKS = "threads take the ends for threads"
_STAMPS = 0x3FFFFFFF  # they go round, as cspcore.channel.insert_given compares them


class Bell:
    """Tells the loop of what others have done. There is one, for there is one loop.

    `first` to `last` is the chain of offers that were met and whose tasks do not know, under lock;
    the rest belongs to the loop's thread.
    """

    def __init__(self):
        self.first = self.last = None
        self.stamp = 0
        self.members = 0  # operations in a Parallel: see uapycsp.bridged_member
        self.begins = False  # one of them takes its first step; the next must not overtake it
        self.read_from = None  # for them: the channel of a task's last read, and its stamp
        self.read_at = 0
        self.flag = None  # set by anybody, interrupts included
        self.waiting = 0  # how many tasks wait with an offer
        self.wishes = []
        self._spare = None  # offers to be used again, a chain

    # From any thread, under lock

    def paired(self, offer):
        """One of the tasks' offers has met its counterpart, or ends."""
        offer.channel.withdraw(offer)
        self.stamp = offer.stamp = self.stamp + 1 & _STAMPS
        if self.first is None:
            self.first = offer
        else:
            self.last.later = offer
        self.last = offer
        self.ring()
        return None  # the flag wakes it

    def ring(self):
        """Set the flag. Interrupts do so without the lock."""
        flag = self.flag
        if flag is not None:
            flag.set()

    # In the loop's thread

    def attach(self):
        """The running task is about to wait: see to it that the flag is looked at. Under lock."""
        if not may_wait():
            raise TypeError(_FOR_TASKS)
        flag = engine.listen()
        if flag is None:
            raise RuntimeError("bridges need asyncio's ThreadSafeFlag")
        if flag is self.flag:
            return
        old = getattr(self.flag, "loop", None)  # CPython may have several
        if old is not None and old is not flag.loop:
            if old.is_running() and (self.waiting or self.wishes):
                raise RuntimeError("tasks that use bridges belong to one event loop")
            self.waiting = 0  # nobody runs those any more
            self.first = self.last = None
            self.wishes.clear()
        flag.answer = self.answer
        self.flag = flag
        flag.set()  # who was met meanwhile hears of it

    def resume(self):
        """A run begins: tasks that an earlier one has left may wait."""
        with lock:
            if self.waiting or self.wishes:
                self.attach()

    def offer(self, channel, op, value):
        """An offer for a task that has to wait."""
        self.attach()
        o = self._spare
        if o is None:
            o = TaskOffer(self)
        else:
            self._spare = o.later
            o.later = None
        o.channel = channel
        o.op = op
        o.value = value
        o.woken = False
        return o

    def release(self, o):
        """What has been waited for is over; nobody else knows the offer."""
        o.value = WAITING
        o.channel = o.task = o.aside = o.foreign = o.future = None
        o.later = self._spare
        self._spare = o

    def forget(self, offer):
        """Take an offer out of the chain, under lock; its task does not wait for it any more."""
        before = None
        o = self.first
        while o is not None and o is not offer:
            before = o
            o = o.later
        if o is None:
            return
        if before is None:
            self.first = o.later
        else:
            before.later = o.later
        if self.last is o:
            self.last = before
        o.later = None

    def answer(self):
        """The flag was set. True if there was too little memory for all; the rest is not lost."""
        try:
            self._answer()
        except MemoryError:
            return True
        return False

    def _answer(self):
        with lock:
            fed.pump()
        while self.first is not None:
            with lock:
                o = self.first
                self.first = o.later
                if o.later is None:
                    self.last = None
            o.later = None
            o.woken = True
            engine.wake(o)
        i = 0
        while i < len(self.wishes):
            wish = self.wishes[i]
            if wish.chooser.waits:
                wish.attempt()
            i += 1


if hasattr(engine, "core"):

    def is_here():
        """Whether this thread runs the loop, as far as can be known: of `run` it can."""
        return engine._runner == get_ident()

    def may_wait():
        """Whether a task runs, and in this thread as far as can be known."""
        return is_here() or not engine._runner and engine.is_running()

else:
    is_here = may_wait = engine.is_running

bell = Bell()


class TaskOffer(engine.Parked, Offer):
    """What a task waits on. Threads use it, too: it has all its attributes from the start."""

    outside = True  # others may wake it

    def __init__(self, alt):
        Offer.__init__(self, None, READ, alt)
        self.seq = self.stamp = 0
        self.later = None
        self.woken = False  # by the engine
        self.task = self.aside = self.foreign = self.future = self.timer = None
        self.queued = False

    def cancelled(self):
        party = None
        with lock:
            value = self.value
            if value is WAITING if self.op == READ else value is not TAKEN and value is not POISON:
                if self.op != GIVEN:
                    self.channel.withdraw(self)
            else:
                if self.op == READ and value is not POISON:
                    self.seq = self.stamp
                    party = self.channel.give_back(self, value)  # which keeps this offer
                bell.forget(self)  # not before: there may be no memory for that
        if party is not None:
            party.wake()
        return self.woken


@coroutine
def _wait(o):
    # Wait until a queued offer is met; its value.
    bell.waiting += 1
    try:
        yield engine.park(o)
    except CancelledError:
        if o.value is not TAKEN:
            raise
        engine.cancel_later()
    except BaseException:
        o.cancelled()
        raise
    finally:
        bell.waiting -= 1
    value = o.value
    bell.release(o)
    return value


@coroutine
def _within(guard, timer):
    from uapycsp.alternative import Alternative

    g, v = yield from Alternative(guard, timer).select()
    if g is timer:
        raise engine.TimeoutError("the time limit has passed")
    return v


class _TaskEnd(End):
    # `op` is none of cspcore's: it is a guard of its own in a choice, and no plain end.

    def __init__(self, channel):
        End.__init__(self, channel)
        self._burst = _BURST

    def bridge(self):
        """What rings the bell when `channel` changes."""
        return self._channel

    def disable(self, alt):
        _disable(self, alt)

    def _happened(self, value):
        return _unpoisoned(self._channel, value)

    def _within(self, guard, ms):
        return _within(guard, Timer(ms=whole_ms(ms)))

    def __repr__(self):
        return "<%s end of %s for tasks>" % (self.kind, title(self._channel))


class ReadEnd(_TaskEnd):
    """The reading end of a bridge for tasks; also a guard of a choice."""

    kind = "read"
    op = -1

    @coroutine
    def bridge_read(self):
        self._burst -= 1
        if self._burst <= 0 and not bell.begins:
            self._burst = _BURST
            yield turn()
        bell.begins = False
        ch = self._channel
        o = party = None
        with lock:
            if ch.isr and ch.has_isr():
                ch.drain()
            if ch._writers is None:
                o = bell.offer(ch, READ, WAITING)
                wait = _wait(o)  # not later, when there may be no memory for it
                ch.post(o)
            elif ch.poisoned:
                raise self.ended()
            else:
                v, party = ch.take()
                bell.stamp = bell.read_at = bell.stamp + 1 & _STAMPS
        if o is not None:
            self._burst = _BURST
            v = yield from wait
            if v is POISON:
                raise self.ended()
            bell.read_at = o.stamp
        elif party is not None:
            party.wake()
        if bell.members:
            bell.read_from = ch
        return v

    __call__ = bridge_read

    def within(self, ms):
        """A call of at most ms: else TimeoutError, and nothing was read. 0 or less: one try."""
        return self._within(self, ms)

    __anext__ = next_of(bridge_read)

    def __aiter__(self):
        return looping(self, ReadEnd(self._channel))

    def poison(self, strength=None):
        """Poison the channel at once; what is buffered is dropped."""
        ch = self._channel
        with lock:
            chain = None if ch.resists(strength) else ch.end_all()
        wake_chain(chain)
        return NOTHING

    # As a guard

    def enable(self, alt):
        pair = [True, None]  # later there may be no memory for it
        wish = _Wish(self, alt, READ, WAITING)
        ch = self._channel
        party = None
        with lock:
            if ch.isr and ch.has_isr():
                ch.drain()
            if ch._writers is None:
                pair[0] = wish.begin()
            else:
                pair[1], party = ch.take()
        if party is not None:
            party.wake()
        if not pair[0]:
            other = wish.match()
            if other is not None:
                wish.end()
                pair[0] = True
                pair[1] = other.pending
        return pair

    def _undo(self, alt, value):
        """The choice of a read is cancelled."""
        wish = _find(self, alt)
        with lock:
            wish.seq = wish.stamp
            party = self._channel.give_back(wish, value)
        if party is not None:
            party.wake()


class ClosedEnd(ReadEnd):
    """`Closed` of a write end for tasks."""

    def __init__(self, watch, bridge):
        ReadEnd.__init__(self, watch)
        self._bridge = bridge

    def bridge(self):
        return self._bridge


class WriteEnd(_TaskEnd):
    """The writing end of a bridge for tasks."""

    kind = "write"
    op = -2

    @coroutine
    def bridge_write(self, value):
        self._burst -= 1
        if self._burst <= 0 and not bell.begins:
            self._burst = _BURST
            yield turn()
        bell.begins = False
        ch = self._channel
        o = party = None
        with lock:
            ch.drain()
            if ch._readers is None:
                o = bell.offer(ch, WRITE, value)
                wait = _wait(o)
                ch.post(o)
            else:
                party = ch.give(value)
        if o is not None:
            self._burst = _BURST
            if (yield from wait) is POISON:
                raise self.ended()
        elif party is not None:
            party.wake()
        return 0

    __call__ = bridge_write

    def within(self, ms, value):
        """A call of at most ms: else TimeoutError, nothing was written. 0 or less: one try."""
        return self._within(self.alt_pending_write(value), ms)

    def __aiter__(self):
        raise TypeError("a write end can't be read")

    def alt_pending_write(self, value):
        """A guard that writes value when it is chosen."""
        return TaskWriteGuard(self._channel, value)

    def closed(self):
        """See uapycsp.closing."""
        from cspcore.closing import watch_of

        with lock:
            return ClosedEnd(watch_of(self._channel, "threads"), self._channel)

    def poison(self, strength=None):
        """Poison the channel at once; what is buffered can still be read."""
        ch = self._channel
        with lock:
            chain = None if ch.resists(strength) else ch.end_writing()
        wake_chain(chain)
        return NOTHING


class TaskWriteGuard:
    """The wish of a task's choice to write one value to a bridge."""

    _writes = True  # has written, once it is chosen

    def __init__(self, channel, pending):
        self._channel = channel
        self.pending = pending

    def bridge(self):
        return self._channel

    def enable(self, alt):
        pair = [True, 0]
        wish = _Wish(self, alt, WRITE, self.pending)
        ch = self._channel
        party = None
        with lock:
            ch.drain()
            if ch._readers is None:
                pair[0] = wish.begin()
            else:
                party = ch.give(self.pending)
        if party is not None:
            party.wake()
        if not pair[0] and wish.match() is not None:
            wish.end()
            pair[0] = True
        return pair

    def disable(self, alt):
        _disable(self, alt)

    def _happened(self, value):
        return _unpoisoned(self._channel, value)


class _Wish(Offer):
    # What a guard leaves while a task's choice waits. It is an offer only to be given back.

    def __init__(self, guard, chooser, op, pending):
        if not isinstance(chooser, engine.Parked):
            raise TypeError(_FOR_TASKS)
        Offer.__init__(self, guard._channel, op)
        self.seq = self.stamp = 0
        self.guard = guard
        self.bridge = guard.bridge()
        self.chooser = chooser
        self.pending = pending

    def begin(self):
        # Under lock. False: it is not ready.
        bell.attach()
        bell.wishes.append(self)
        self.bridge.wanted += 1
        if self.op == READ and self.channel.isr:
            fed.add(self.channel)
        return False

    def match(self):
        # The wish of another choice in this loop that this one meets; neither has an offer. None
        # while there is something older to be read, or who has waited longer to read.
        ch = self.channel
        for other in bell.wishes:
            if other.channel is ch and other.op == 1 - self.op:
                alt = other.chooser
                if alt is not self.chooser and alt.waits:
                    with lock:
                        if self.op == READ:
                            older = ch._readers
                        else:
                            ch.drain()
                            older = ch._writers
                        if older is not None:
                            break
                        other.mark()
                    alt.schedule_core(other.guard, 0 if other.op == WRITE else self.pending)
                    engine.wake(alt.party())
                    return other
        return None

    def mark(self):
        # Under lock: it happens now.
        bell.stamp = self.stamp = bell.stamp + 1 & _STAMPS

    def attempt(self):
        ch = self.channel
        value = 0
        party = None
        ready = True
        with lock:
            try:
                if self.op == READ:
                    ready = ch._writers is not None
                    if ready:
                        value, party = ch.take()
                else:
                    ready = ch._readers is not None
                    if ready:
                        party = ch.give(self.pending)
            except PoisonException:
                value = POISON
            self.mark()
        if not ready:  # what kept two wishes apart may have gone to somebody else
            other = self.match()
            if other is None:
                return
            if self.op == READ:
                value = other.pending
        self.chooser.schedule_core(self.guard, value)
        engine.wake(self.chooser.party())
        if party is not None:
            party.wake()

    def end(self):
        bell.wishes.remove(self)
        with lock:
            self.bridge.wanted -= 1


def _unpoisoned(channel, value):
    # The value of a guard that was chosen.
    if value is POISON:
        raise channel.ended()
    return value


def _find(guard, alt):
    for wish in bell.wishes:
        if wish.guard is guard and wish.chooser is alt:
            return wish


def _disable(guard, alt):
    wish = _find(guard, alt)
    if wish is not None:  # a loop that came later may have forgotten it
        wish.end()
