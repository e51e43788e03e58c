"""Un-awaited operations as members of a Parallel: `await Parallel(cin(), cout(v))`."""

from sys import modules

from ufuture.loop import engine
from cspcore.channel import POISON, READ, WRITE
from cspcore.errors import PoisonException
from cspcore.names import is_read
from uapycsp import channel as channels
from uapycsp.wait import Offer

Operation = modules["uapycsp.process"].Operation  # see uapycsp.watch


def once(holds):
    """RuntimeError, if an operation is not awaited for the first time."""
    if not holds:
        raise RuntimeError("an operation is awaited once")


class Stepped(Operation):
    """An operation whose generator runs in the Parallel's own task.

    If it waits, its offer tells the Parallel; if it happens at once, it stands for that offer.
    """

    channel = alt = next = prev = offer = None

    def __init__(self, generator):
        self.generator = generator
        self.op = READ if is_read(generator) else WRITE
        self.value = None

    def begin(self, group):
        before = engine.woken()
        channels.taker = self
        try:
            while engine.aside(self.step, group):
                parked = engine.unpark()
                if isinstance(parked, Offer):
                    self.offer = parked
                    parked.alt = group
                    return
        finally:
            channels.taker = None
        if self.op != READ:
            once(self.value is not None)
        elif self.value is not POISON:
            if self.channel is None:
                writer = engine.woken()
                once(writer is not before)
                self.channel = writer.channel
            self.seq = engine.order()
        group.left -= 1

    def step(self, group):
        # Runs it on; whether it waits.
        try:
            self.value = self.generator.send(None)
            return True
        except StopIteration as er:
            self.value = er.value
        except PoisonException as er:
            group.met_end(er)
            self.value = POISON
        return False

    def result(self, group):
        if self.offer is not None:
            self.step(group)
        return None if self.value is POISON else self.value
