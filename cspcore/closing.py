"""Who waits for the end of a channel: the guard `Closed(cout)`, and what it reads from.

A Watch is a channel from which None can be read once another channel takes no more writes. It
hangs on that channel's Life. Its readers wait in a queue of its own; the moment in which the other
one's waiting readers are poisoned, which all ways to end have in common, pairs them. So a watch is
chosen like any read, and what waits on it alone is found by the report of deadlocks.
"""

from cspcore.buffered import OPEN
from cspcore.channel import DEAD, WRITE, BaseChannel, in_order
from cspcore.choice import End, WriteGuard, refuse_other, title
from cspcore.life import Life


class Watch(BaseChannel):
    """See above. Made under the library's lock."""

    isr = 0  # a bridge's may have values of interrupts

    def __init__(self, channel):
        BaseChannel.__init__(self, "the end of " + title(channel), channel.external)
        self.serves = channel.serves
        if channel._readers is DEAD:
            self._writers = OPEN

    def take(self):
        return None, None

    def give_back(self, offer, value):
        return None  # it can be read again

    def ring(self, chain):
        """The channel ends; whom to wake is put before a chain, for in_order."""
        self._writers = OPEN
        while self._readers is not None:
            offer = self._readers
            if offer.alt is None:
                self.withdraw(offer)
                party = offer
            else:
                party = offer.alt.paired(offer)
            offer.value = None
            if party is not None:
                party.next = chain
                chain = party
        return chain

    def resists(self, strength):
        return True  # the end of a process that only watched

    def end_all(self):
        chain = self._end_readers(None)  # for the report of a deadlock, which does not ask
        self._readers = None
        return in_order(chain)

    def verify(self):
        pass


def watch(cout, users):
    """The Watch of a write end's channel, which serves users. Under the library's lock."""
    writes = isinstance(cout, End) and cout.op == WRITE and not isinstance(cout, WriteGuard)
    return watch_of(cout.channel() if writes else None, users)


def watch_of(ch, users):
    """The Watch of a channel. Under the library's lock."""
    if not hasattr(ch, "_life") or hasattr(ch, "words"):
        raise TypeError("a write end of a channel is expected")
    refuse_other(ch, users)
    life = ch._life
    if life is None:
        life = ch._life = Life()
    if life.watch is None:
        life.watch = Watch(ch)
    return life.watch
