"""How the offers of this library wait: on ufuture's engine."""

from ufuture.loop import engine
from cspcore.channel import POISON, READ, GIVEN, TAKEN, WAITING
from cspcore.channel import Offer as BaseOffer

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


class Offer(engine.Parked, BaseOffer):
    """An offer that a coroutine waits on."""

    op = READ

    def __init__(self, channel, op):
        self.channel = channel
        self.alt = None
        self.value = WAITING
        self.next = None
        self.prev = None
        self.task = None
        if op != READ:
            self.op = op

    def cancelled(self):
        value = self.value
        if value is POISON:
            return True
        if self.op == READ and value is not WAITING:
            self.value = POISON  # nobody will take it here
            self.seq = engine.order_of(self)
            party = self.channel.give_back(self, value)
            if party is not None:
                engine.wake(party)
            return True
        if value is TAKEN:
            return True  # the write stands
        self.channel.withdraw(self)
        self.value = POISON
        return False

    def drop(self):
        """The coroutine was closed, or had an exception thrown, while it waited."""
        if self.op != GIVEN:
            self.cancelled()


class Turn(engine.Parked):
    def cancelled(self):
        return True


def turn():
    """`yield turn()` lets everybody else who is ready go first."""
    t = Turn()
    wait = engine.park(t)
    engine.wake(t)
    return wait


def wake_chain(party):
    """Wake a chain that is linked by next."""
    while party is not None:
        n = party.next
        party.next = None
        engine.wake(party)
        party = n


class Join(engine.Parked):
    """What one waits on for the end of processes."""

    woken = False

    def cancelled(self):
        return self.woken
