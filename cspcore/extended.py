"""Extended rendezvous: the writer waits until the reader has done something with the value.

Why a writer whose value was taken by an extended read is let go exactly once:
1. An extended read is an offer that is its own `alt`; so no way to write takes it for a plain one,
   and whatever else meets it, an end or a value given back, can tell that there is nobody to hold.
2. A writer that waits already stays as it waits: it is taken out of the queue and is not woken.
   One that comes later learns from `paired`, or `met_by`, that it has to stay.
3. The Hold knows whom to wake; it forgets that in the step in which it tells, be it because the
   block ends, or because the writer is cancelled or interrupted.
4. What an extended read has taken was written (rule 8): poison of the channel does not undo it.
"""

from cspcore.channel import GIVEN, MARKER, READ, TAKEN, WRITE, Offer
from cspcore.group import Group


class Hold:
    """What a held writer waits on, in place of the channel."""

    words = (None, "is held by a reader of ", "an unnamed channel")  # for reports
    _readers = None  # for who posts a held guard once more

    def __init__(self, channel):
        self.home = None  # the channel of that offer
        self.name = channel.name
        self.external = channel.external
        self.party = None  # whom to wake, or an offer of a Group
        self._offers = (Offer(self, WRITE, self),)  # for reports

    # keep(party), which holds who waited in a plain write or an alternative, is the libraries'.

    def keep_part(self, offer):
        """Hold one operation of a Group, whose value has been taken."""
        self.home = offer.channel
        offer.channel = self
        self.party = offer

    def release(self):
        """Whom to wake, once."""
        party = self.party
        self.party = None
        group = getattr(party, "alt", None)
        return party if group is None else group.paired(party)

    # As of a channel

    def queue_of(self, op):
        return self.party

    def withdraw(self, offer):
        self.party = None
        offer.channel = self.home

    def resists(self, strength):
        return True  # who is held waits for the reader's end alone

    def end_all(self):
        return None


class Extended(Offer):
    """One extended read: an offer, and what holds the writer that it meets."""

    def __init__(self, end, hold, kind):
        ch = end._channel
        if not isinstance(ch.real if hasattr(ch, "real") else ch, kind):
            raise TypeError("an extended read needs a rendezvous channel")
        Offer.__init__(self, ch, READ, self)
        self.end = end
        self.hold = hold(ch)
        self.used = False
        self._offers = (self,)  # for reports

    def begin(self):
        """Take a value, or wait for it in the queue; whether it has one."""
        if self.used:
            raise RuntimeError("an extended read is used once")
        self.used = True
        ch = self.channel
        w = ch._writers
        if w is None:
            ch.post(self)
            return False
        if w.op == MARKER:
            raise self.end.ended()
        self.value = w.value
        alt = w.alt
        if alt is None or isinstance(alt, Group):
            ch.withdraw(w)
            w.value = TAKEN
            if alt is not None:
                self.hold.keep_part(w)
            elif w.op != GIVEN:
                self.hold.keep(w)
        else:
            party = alt.paired(w)
            w.value = TAKEN
            self.hold.keep(party)
        return True

    def alone(self):
        """It waits no more, and nobody is held. Returns whom to wake."""
        self.channel.withdraw(self)
        return self

    def met_by(self, group, offer, value):
        """An operation of a Group that is posted meets it. Returns whom to wake."""
        offer.alt = group
        offer.value = TAKEN  # these two may need memory: nothing has happened till then
        self.alone()
        self.value = value
        self.hold.keep_part(offer)
        return self
