"""Operations that are posted together and awaited together: the channel part of a Parallel."""

from cspcore.channel import POISON, READ, Offer
from cspcore.errors import PoisonException


class Group:
    """Counts the members of a Parallel that have not ended. Subclasses say how the party waits.

    `members` holds an offer where the member is an operation; `exception` is the first in time.
    """

    def begin(self, members):
        self.members = members
        self.left = len(members)
        self.exception = None
        self.poisoned = False

    def post(self, offer, pending):
        """Let an operation happen now or queue its offer; return whom to wake."""
        ch = offer.channel
        party = None
        try:
            if offer.op == READ:
                if ch._writers is not None:
                    offer.value, party = ch.take()
                    self.stamp(offer)
                    self.left -= 1
                    return party
            else:
                if ch._readers is not None:
                    party = ch.give(pending)
                    self.left -= 1
                    return party
                offer.value = pending
        except PoisonException:
            offer.value = POISON
            self.left -= 1
            return None
        offer.alt = self
        ch.post(offer)
        return None

    def paired(self, offer):
        """One of the offers has met its counterpart, or ends. Returns whom to wake."""
        offer.channel.withdraw(offer)
        offer.alt = None
        self.stamp(offer)
        self.left -= 1
        return None if self.left else self.party()

    def withdraw(self):
        """Take all offers that wait out of their queues."""
        for o in self.members:
            if isinstance(o, Offer) and o.alt is self:
                o.channel.withdraw(o)
                o.alt = None
                o.value = POISON
                self.left -= 1

    def fail(self, exception):
        """A member has ended by an exception."""
        if self.exception is None:
            self.exception = exception

    def value_of(self, offer):
        """The result of an operation that has ended: a read's value, a write's 0."""
        v = offer.value
        if v is POISON:
            self.poisoned = True
            return None
        return v if offer.op == READ else 0

    def stamp(self, offer):
        """Note the order in which offers are paired, where values can be given back."""
