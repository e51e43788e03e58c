"""How the offers of this library wait: on ufuture's engine."""

import sys

from ufuture.loop import engine
from cspcore.channel import GIVEN, MARKER, POISON, READ, TAKEN, WAITING, WRITE
from cspcore.channel import Offer as BaseOffer

CancelledError = engine.CancelledError

if sys.implementation.version < (1, 21):  # MicroPython's
    from cspcore.older import looping, next_of  # noqa: F401
else:

    def next_of(read):
        """What `async for` calls of the end that `looping` gives."""
        return read

    def looping(end, loop):
        """What `async for` reads an end through: another end, by whose end the loop ends."""
        loop.ended = StopAsyncIteration
        return loop


if hasattr(engine, "core"):

    def coroutine(f):
        return f  # a generator function is what MicroPython makes of an async def

    NOTHING = ()  # `await ()` is None there, without an allocation

else:
    from types import coroutine  # noqa: F401

    class _Nothing:
        def __await__(self):
            return iter(())

    NOTHING = _Nothing()  # for `await ch.poison()`, which has acted before it is awaited


class Waiting:
    """What a plain operation waits on is an offer, too: this is what becomes of it in the end."""

    def stands(self):
        """Whether it is a write that has happened: its process goes on before it is cancelled."""
        if self.op == MARKER:
            return self.channel.stands
        return self.value is TAKEN and self.op == WRITE

    def cancelled(self):
        if self.op == MARKER:
            return self.channel.cancelled()
        value = self.value
        if value is POISON:
            return True
        if self.op == READ:
            if value is not WAITING:
                give_back(self.channel, value, engine.order_of(self))
                self.value = POISON  # nobody will take it here
                return True
        elif value is TAKEN:
            return True  # the write stands
        self.channel.withdraw(self)
        self.value = POISON
        return False


class Turn(engine.Parked):
    def cancelled(self):
        return True


def turn():
    """`yield turn()` lets everybody else who is ready go first."""
    t = Turn()
    wait = engine.park(t)
    engine.wake(t)
    return wait


class Composed:
    """What has several offers, an Alternative or a Parallel, and how its process waits on it."""

    stands = False  # it sees to that itself
    _me = None
    # Parallels that had not to wait, since the last turn, and how to take one. Both are here, for
    # with more names of its own process.py takes 2 % more instructions to spawn a process.
    unwaited = 0
    turn = staticmethod(turn)
    hearing = ()  # MicroPython: Alternatives with a user's guard, of tasks that are no processes

    def rest(self):
        """`yield x.rest()` waits until x.party() is woken."""
        me = engine.names["me"]
        if me is None:
            self._me = self
            return engine.park(self)
        me.op = MARKER
        me.channel = self
        self._me = me
        return me

    def party(self):
        """Whom to wake."""
        return self._me

    if not hasattr(engine, "core"):

        @property
        def outside(self):
            """CPython's engine asks it of what any task waits on: whether others may end that."""
            return sys.modules["uapycsp.watch"].may_go_on(self)


class Offer(Waiting, engine.Parked, BaseOffer):
    """What an operation waits on whose task has no offer of its own, as a Process is one."""

    def __init__(self, channel, op):
        BaseOffer.__init__(self, channel, op)
        self.seq = 0  # who meets it stores here, and may have no memory to make the attribute


@coroutine
def wait_in_queue(end, value):
    """Queue an offer for an end's operation and wait; the operation's value."""
    ch = end._channel
    o = wait = engine.names["me"]
    if o is None:
        o = Offer(ch, end.op)
        if ch.external:
            o.outside = True
    else:
        o.channel = ch
        o.op = end.op
    o.value = value
    ch.post(o)  # which may refuse it: nobody waits on it before
    try:
        if wait is None:
            wait = engine.park(o)
        yield wait
    except CancelledError:
        if o.value is not TAKEN:
            raise
        engine.cancel_later()
    except BaseException:
        o.cancelled()
        raise
    v = o.value
    if v is TAKEN:
        return 0
    if v is POISON or o.op != READ:
        raise end.ended()
    return v


def given(channel):
    """An offer for a value that is to be given back, which needs no more memory then."""
    w = channel.queue_of(WRITE)
    if w is not None:
        w.prev = w.prev  # see cspcore.channel.insert_given
    return Offer(channel, GIVEN)


def give_back(channel, value, order):
    """Give back a value whose reader was cancelled, and was paired in that order among all."""
    o = Offer(channel, GIVEN)
    o.seq = order
    party = channel.give_back(o, value)
    if party is not None:
        engine.wake(party)


def wake_chain(party):
    """Wake a chain that is linked by next."""
    while party is not None:
        n = party.next
        party.next = None
        engine.wake(party)
        party = n


class Join(engine.Parked):
    """What one waits on for the end of processes."""

    def __init__(self):
        # Not in the class: then storing it would need memory.
        self.woken = False

    def cancelled(self):
        return self.woken
