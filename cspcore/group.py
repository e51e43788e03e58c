"""Operations that are posted together and awaited together: the channel part of a Parallel."""

from cspcore.channel import POISON, READ
from cspcore.errors import PoisonException, RetireException


class Group:
    """Counts the members of a Parallel that have not ended. Subclasses say how the party waits.

    `members` holds an offer where the member is an operation; `exception` is the first in time;
    `left` counts the members that have not ended. `poisoned` is None, or what operations raise
    whose channel has ended: of several the hardest.
    """

    exception = None
    poisoned = None
    _short = False  # see process.unchanged

    def begin(self, members):
        self.members = members
        self.left = len(members)

    def post(self, offer, pending):
        """Let an operation happen now or queue its offer; return whom to wake."""
        ch = offer.channel
        if offer.op == READ:
            if ch._writers is not None:
                return self._take(offer)
        else:
            r = ch._readers
            if r is not None:
                if r.alt is None and r.op == READ:
                    self.left -= 1
                    ch.withdraw(r)
                    r.value = pending
                    return r
                return self._give(offer, pending)
            offer.value = pending
        offer.alt = self
        ch.post(offer)
        return None

    def _take(self, offer):
        self.left -= 1
        try:
            offer.value, party = offer.channel.take()
        except PoisonException as er:
            return self._refused(offer, er)
        except BaseException:
            self.left += 1  # there was no memory for it
            raise
        self.stamp(offer)
        return party

    def _give(self, offer, pending):
        r = offer.channel._readers
        if r.alt is r:
            return r.met_by(self, offer, pending)
        self.left -= 1
        try:
            return offer.channel.give(pending)
        except PoisonException as er:
            return self._refused(offer, er)
        except BaseException:
            self.left += 1
            raise

    def _refused(self, offer, exception):
        self.met_end(exception)
        offer.value = POISON

    def met_end(self, exception):
        """The channel of an operation has ended."""
        if self.poisoned is None or _is_harder(exception, self.poisoned):
            self.poisoned = exception

    def paired(self, offer):
        """One of the offers has met its counterpart, or ends. Returns whom to wake."""
        offer.channel.withdraw(offer)
        offer.alt = None
        if offer.op == READ:
            self.stamp(offer)
        self.left = left = self.left - 1
        return None if left else self.party()

    def fail(self, exception):
        """A member has ended by an exception. self: or what else has members, as a Sequence."""
        # What this is a member of ends by the same, but later: its other members must not come
        # before with what they raise because of that.
        while self is not None:
            if isinstance(self, Group):
                if self.exception is not None:
                    return
                self.exception = exception
                self._short = isinstance(exception, MemoryError)
            p = getattr(self, "as_member", None)
            self = None if p is None else p._group

    def value_of(self, offer):
        """The result of an operation that has ended: a read's value, a write's 0."""
        v = offer.value
        if v is POISON:
            self.met_end(offer.channel.ended())
            return None
        return v if offer.op == READ else 0

    def stamp(self, offer):
        """Note the order in which offers are paired, where values can be given back."""


def _is_harder(exception, other):
    # Poison than retirement, stronger poison than weaker.
    if isinstance(exception, RetireException) or isinstance(other, RetireException):
        return not isinstance(exception, RetireException)
    if exception.strength is None or other.strength is None:
        return other.strength is not None
    return exception.strength > other.strength
