"""Meetings of several processes: barriers, alting barriers, buckets. Takes no lock.

Who waits at one of these writes nothing to what is a channel to all the others: its offer is
withdrawn, cancelled, poisoned, chosen and reported as any writer's. Where the last one comes,
`give` pairs them all. It can return only one of those who are to be woken: the others it wakes.

Why exactly one complete set of alting barriers' offers happens:
1. Each process has a seat of its own at a barrier; its offer stands there while it waits.
2. A seat can be written to (`_readers` is OPEN) exactly while it alone, of all, has no offer.
3. Who finds such a seat among its guards completes that barrier in the same atomic step; who finds
   none leaves its offers, none of which completes a barrier, for it has just looked at them all.
4. To pair an alternative's offer takes all its others out of their seats, in the same step.
5. No alternative has two seats at one barrier, so to pair one offer takes no other of that set.
"""

from cspcore.buffered import OPEN
from cspcore.channel import DEAD, MARKER, TAKEN, WRITE, BaseChannel, Offer, in_order, link, unlink
from cspcore.choice import Choice, End, WriteGuard, title

GONE = Offer(None, MARKER, True)  # `_readers` of a seat that was resigned


class Gathering(BaseChannel):
    """Where processes wait for one another. wake: how the library wakes a party."""

    words = (None, "syncs at ", "an unnamed barrier")  # for reports

    def __init__(self, name, external, wake):
        BaseChannel.__init__(self, name, external)
        self._life = None  # an attribute: later other threads may look into this object
        self.wake = wake

    def release(self, offer, last):
        """Pair an offer that waits here; wakes the one before, returns whom to wake next."""
        if offer.alt is None:
            self.withdraw(offer)
            party = offer
        else:
            party = offer.alt.paired(offer)
        offer.value = TAKEN
        if last is not None:
            self.wake(last)
        return party

    def release_all(self):
        """Pair all who wait here, the oldest first; returns the last one to wake."""
        last = None
        while self._writers is not None:
            last = self.release(self._writers, last)
        return last


class Drops(Gathering):
    """What a Bucket holds."""

    words = (None, "falls into ", "an unnamed bucket")

    def flush(self):
        if self._readers is not None:
            raise self.ended()
        # As in channel.take, the pair is made first: there may be no memory for it.
        pair = [self.queue_len(), None]
        pair[1] = self.release_all()
        return pair


class Rounds(Gathering):
    """A barrier: `_readers` is OPEN while one more completes the round."""

    def __init__(self, parties, name, external, wake):
        Gathering.__init__(self, name, external, wake)
        self.parties = parties
        self._waiting = 0
        self._look()

    def _look(self):
        if self._readers is not DEAD:
            self._readers = OPEN if self._waiting + 1 >= self.parties else None

    def post(self, offer):
        self._writers = link(self._writers, offer)
        self._waiting += 1
        self._look()

    def withdraw(self, offer):
        self._writers = unlink(self._writers, offer)
        self._waiting -= 1
        self._look()

    def give(self, value):
        if self._readers is not OPEN:
            raise self.ended()
        if not self.parties:
            raise RuntimeError("nobody is enrolled in this barrier")
        return self.release_all()

    def enrol(self):
        if self._readers is DEAD:
            self.give(None)
        self.parties += 1
        self._look()

    def resign(self):
        if self._readers is DEAD:
            return None
        if not self.parties:
            self.give(None)  # which tells it
        self.parties -= 1
        self._look()
        return self.release_all() if self._waiting == self.parties else None

    def _end_readers(self, chain):
        self._readers = DEAD
        return chain


class Table:
    """What the seats of an alting barrier share."""

    def __init__(self):
        self.seats = []
        self.waiting = 0  # how many seats have an offer
        self._last = None  # the one that has none, if all the others have
        self.ended = False

    def add(self, seat):
        """It counts from now on."""
        self.seats.append(seat)
        self.look()

    def look(self):
        """Open the seat that alone has no offer."""
        if self._last is not None:
            self._last._readers = None
            self._last = None
        if self.waiting + 1 == len(self.seats) and not self.ended:
            for s in self.seats:
                if s._writers is None:
                    s._readers = OPEN
                    self._last = s

    def changed(self, n):
        self.waiting += n
        self.look()

    def complete(self):
        """Pair all offers; returns the last one to wake."""
        last = None
        for s in self.seats:
            if s._writers is not None:
                last = s.release(s._writers, last)
        return last

    def holds(self, alt):
        """Whether an alternative has an offer at one of the seats."""
        for s in self.seats:
            if s._writers is not None and s._writers.alt is alt:
                return True
        return False

    def end(self):
        chain = None
        self.ended = True
        self.look()  # now: later it would make an ended seat one without an end
        for s in self.seats:
            o = s._writers
            if o is not None and o is not DEAD:
                chain = s._end_offer(o, chain)
            s._readers = s._writers = DEAD
        return in_order(chain)


class Seat(Gathering):
    """One process's place at an alting barrier; has its offer, or none."""

    def __init__(self, table, name, external, wake):
        Gathering.__init__(self, name, external, wake)
        self.table = table

    def ended(self):
        if self._readers is GONE:
            return RuntimeError("this end has resigned")
        return Gathering.ended(self)

    def post(self, offer):
        if self._writers is not None:
            raise RuntimeError("an end is used by one process at a time")
        if isinstance(offer.alt, Choice) and self.table.holds(offer.alt):
            raise ValueError("an alternative has one end of a barrier")
        self._writers = offer
        self.table.changed(1)

    def withdraw(self, offer):
        self._writers = None
        self.table.changed(-1)

    def give(self, value):
        if self._readers is OPEN:
            return self.table.complete()
        raise self.ended()

    def enrol(self, seat):
        """Another seat counts from now on, too."""
        if self.table.ended:
            raise Gathering.ended(self)  # also if this one was resigned
        self.table.add(seat)

    def resign(self):
        if self._readers is GONE or self._readers is DEAD:
            return None
        if self._writers is not None:
            raise RuntimeError("a process waits at this end")
        table = self.table
        table.seats.remove(self)
        table.look()
        self._readers = GONE
        return table.complete() if table.waiting == len(table.seats) else None

    def resists(self, strength):
        if self._readers is GONE:
            return True
        resists = False
        for s in self.table.seats:  # each notes what it ends by
            resists = Gathering.resists(s, strength)
        return resists

    def _end(self, last):
        return self.table.end()


# What users see. A library adds: serves, as a channel's; write_end, an end for any kind of
# channel; wake(party); atomically(f, *args), which calls f under its lock; nothing, what its
# `poison` returns.


class _Front(End):
    op = WRITE

    def __init__(self, channel):
        End.__init__(self, channel)
        self._write = self.write_end(channel)

    def __repr__(self):
        return "<%s %s>" % (type(self).__name__, title(self._channel, "without a name"))

    def poison(self, strength=None):
        """Poison it at once: who waits or comes later gets PoisonException."""
        return self._write.poison(strength)

    def _resign(self):
        party = self.atomically(self._channel.resign)
        if party is not None:
            self.wake(party)
        return self.nothing


def _positive(parties):
    if not isinstance(parties, int):
        raise TypeError("a whole number of parties is expected")
    if parties < 1:
        raise ValueError("a barrier needs at least one party")
    return parties


class Barrier(_Front):
    """Where so many processes wait for one another, round after round: `[await] b.sync()`."""

    def __init__(self, parties, name="", external=False):
        _Front.__init__(self, Rounds(_positive(parties), name, external, self.wake))

    def sync(self):
        """Wait until all parties are here; returns 0."""
        return self._write(None)

    def enrol(self):
        """From now on one party more is needed."""
        self.atomically(self._channel.enrol)
        return self.nothing

    def resign(self):
        """From now on one party less is needed, which may complete the round."""
        return self._resign()

    def parties(self):
        """How many are needed."""
        return self._channel.parties

    def waiting(self):
        """How many wait."""
        return self._channel._waiting


class AltingBarrier(_Front, WriteGuard):
    """One process's end of a barrier that is a guard, too: `[await] end.sync()`."""

    pending = None

    def __init__(self, seat):
        if not isinstance(seat, Seat):
            raise TypeError("ends of an alting barrier are made by create")
        _Front.__init__(self, seat)
        self.channel = seat  # as a guard's
        seat.serves = self.serves

    @classmethod
    def create(cls, n, name="", external=False):
        """The ends of a new barrier: a list, one for each of n processes."""
        table = Table()
        ends = [cls(Seat(table, name, external, cls.wake)) for _ in range(_positive(n))]
        for end in ends:
            table.add(end._channel)
        return ends

    def sync(self):
        """Wait until all ends are offered at the same moment; returns 0."""
        return self._write(None)

    def enrol(self):
        """A new end, which is needed from now on, too."""
        mine = self._channel
        seat = Seat(mine.table, mine.name, mine.external, mine.wake)
        end = type(self)(seat)  # not behind enrol: there may be no memory for it
        self.atomically(mine.enrol, seat)
        return end

    def resign(self):
        """This end is needed no more, which may complete the barrier."""
        return self._resign()

    def parties(self):
        """How many ends are needed."""
        return len(self._channel.table.seats)

    def waiting(self):
        """How many are offered."""
        return self._channel.table.waiting


class Bucket(_Front):
    """Where processes wait until somebody flushes it: `[await] b.fall_into()`."""

    def __init__(self, name="", external=False):
        _Front.__init__(self, Drops(name, external, self.wake))

    def fall_into(self):
        """Wait for the next flush; returns 0."""
        return self._write(None)

    def flush(self):
        """Let all who wait go on; how many. Acts at once, never waits."""
        n, party = self.atomically(self._channel.flush)
        if party is not None:
            self.wake(party)
        return n

    def holding(self):
        """How many wait."""
        return self.atomically(self._channel.queue_len)
