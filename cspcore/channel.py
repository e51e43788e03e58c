"""Channels: who meets whom. Knows no thread and no event loop, takes no lock and wakes nobody.

An *offer* is a party's standing wish to read or to write on one channel. A channel keeps the
offers that wait in two queues, oldest first:

    _readers   None or the oldest waiting reader: a write can proceed exactly if it is not None
    _writers   None or the oldest waiting writer: a read can proceed exactly if it is not None

Invariants, which `verify` checks:
1. At most one of the queues holds waiting offers, except when all of them are one alternative's.
2. A closed channel has `_readers is DEAD`, and its writers' queue ends in DRAINED.
3. A poisoned channel has `_readers is DEAD`, and `_writers` is DEAD or DRAINED.
4. Given-back values are offers with op GIVEN; they head the writers' queue, in order of their seq.

The markers stand where an offer could stand, so that poison costs the usual path no look of its
own. They have an `alt`, so that they are not taken for plain operations.

A queue is linked through its offers. Of two or more, `head.prev` is the last one, whose `next` is
None or DRAINED; of one alone, `prev` says nothing: nobody stores it for the usual single waiter.
"""

from cspcore.errors import PoisonException

try:
    from micropython import const
except ImportError:

    def const(x):
        return x


READ = const(0)
WRITE = const(1)
GIVEN = const(2)  # a value that a cancelled reader gave back
MARKER = const(3)


# What an offer's value can be:
#   a reader's  WAITING, then the message it was paired with, or POISON
#   a writer's  its message, then TAKEN, or POISON
class _Word:
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


WAITING = _Word("WAITING")
TAKEN = _Word("TAKEN")
POISON = _Word("POISON")


class Offer:
    """A party's standing wish to read or write on a channel.

    `alt` is None for a plain read or write, whose party waits on the offer itself; else it is the
    alternative or group the offer belongs to, which knows who waits. An extended read is its own
    (see cspcore.extended).
    """

    seq = 0  # order of pairing, among values given back to a channel

    def __init__(self, channel, op, alt=None):
        self.channel = channel
        self.op = op
        self.alt = alt
        self.value = WAITING
        self.next = None
        self.prev = None

    def is_queued(self):
        """Whether it stands in a queue of its channel."""
        o = self.channel.queue_of(self.op)
        while o is not None and o is not self:
            o = o.next
        return o is not None


DEAD = Offer(None, MARKER, True)  # poisoned: values given back are dropped
DRAINED = Offer(None, MARKER, DEAD.alt)  # closed and read empty: a value given back can be read


def forget():
    """Let go of the network that ran last: unlinking sets `prev` of the markers too."""
    DEAD.prev = DRAINED.prev = None


def link(head, offer):
    """Append an offer to the queue that begins at head; return the new head."""
    if head is None:
        return offer
    last = last_of(head)
    last.next = None  # as it is: now storing it needs no memory
    offer.prev = last
    head.prev = offer  # these three may need memory: nothing has happened till then
    last.next = offer
    return head


def last_of(head):
    """The last offer of the queue that begins at head."""
    n = head.next
    return head if n is None or n.op == MARKER else head.prev


def unlink(head, offer):
    """Take an offer out of the queue that begins at head; return the new head."""
    n = offer.next
    if offer is head:
        head = n
        if n is not None:
            n.prev = offer.prev
    else:
        offer.prev.next = n
        if n is None or n.op == MARKER:
            head.prev = offer.prev
        else:
            n.prev = offer.prev
    if n is not None:  # else it is None already, and storing it might need memory
        offer.next = None
    return head


def insert_given(head, offer):
    """Put a given-back value before all writers, among its like by seq; return the new head.

    seq goes round, below 2 ** 30: what is less than half of that ahead is later.
    """
    before = None
    at = head
    while at is not None and at.op == GIVEN and offer.seq - at.seq & 0x3FFFFFFF < 0x20000000:
        before = at
        at = at.next
    real = at is not None and at.op != MARKER
    if real:
        at.prev = at.prev  # as in link: nothing has happened yet
    offer.next = at
    if before is None:
        if real:
            offer.prev = last_of(at)
    else:
        before.next = offer
        offer.prev = before
    if real:
        at.prev = offer
    elif before is not None:
        head.prev = offer
    return offer if before is None else head


def in_order(chain):
    """Turn a chain that was made by prepending round, so that it wakes first come first."""
    turned = None
    while chain is not None:
        n = chain.next
        chain.next = turned
        turned = chain
        chain = n
    return turned


def end_before(channel, chain):
    """Poison a channel; whom to wake is put before a chain, for in_order."""
    channel.resists(None)
    party = channel.end_all()
    while party is not None:
        n = party.next
        party.next = chain
        chain = party
        party = n
    return chain


def let_go(channel, chain):
    """As end_before has woken nobody: one who is held by an extended read (see there) goes on.

    Its write has happened, and returns. Whom to wake.
    """
    return channel.release() if chain is None and hasattr(channel, "party") else chain


def count(offer):
    """How many offers stand in the queue that begins at offer."""
    n = 0
    while offer is not None and offer.op != MARKER:
        n += 1
        offer = offer.next
    return n


class BaseChannel:
    """The pairing rules of a rendezvous channel; the libraries add how a party waits.

    The methods return whom to wake: an offer or an alternative, a chain of them linked by `next`,
    or None.
    """

    external = False
    plain = False  # whether it can be read without `take` while a plain write waits
    _life = None  # what cspcore.life keeps of some
    isr = 0  # how many values of interrupts it holds; if any, who writes drains them: upycsp.isr
    serves = None  # who can wait here: "tasks" or "threads"

    def __init__(self, name="", external=False):
        self.name = name
        if external:
            self.external = True
        self._readers = None
        self._writers = None

    # Looking

    def __getattr__(self, name):
        # `poisoned` is True once every operation raises PoisonException. It is no property: where
        # a class has one, MicroPython looks through all bases each time an attribute is stored.
        if name == "poisoned":
            w = self._writers
            return w is DEAD or w is DRAINED
        raise AttributeError(name)

    def queue_of(self, op):
        """The oldest offer that waits to read, or to write."""
        return self._readers if op == READ else self._writers

    def queue_len(self):
        """The number of operations that wait, of values buffered and of values given back."""
        return count(self._readers) + count(self._writers)

    def verify(self):
        """Raise AssertionError where the channel's invariants do not hold."""
        from cspcore.verify import verify

        verify(self)

    # Counted ends, which the libraries make

    def reader(self):
        """A new read end that counts: when the last of them has retired, the channel has ended."""
        return self._join("ReadEnd")

    def writer(self):
        """A new write end that counts: when the last of them has retired, the channel closes."""
        return self._join("WriteEnd")

    # Meeting

    def take(self):
        """Read from whoever waits first; return (value, whom to wake). _writers is not None."""
        # The pair is made first: there may be no memory for it, and then nothing has happened.
        w = self._writers
        if w.alt is None:
            pair = w.value, w
            self._writers = unlink(w, w)
            w.value = TAKEN
            return pair
        if w.op == MARKER:
            raise self.ended()
        pair = [w.value, None]
        pair[1] = w.alt.paired(w)
        w.value = TAKEN
        return pair

    def give(self, value):
        """Write to whoever waits first; return whom to wake. _readers is not None."""
        r = self._readers
        if r.alt is None:
            self._readers = unlink(r, r)
            r.value = value
            return r
        if r is DEAD:
            raise self.ended()
        party = r.alt.paired(r)
        r.value = value
        return party

    def post(self, offer):
        """Queue an offer that found no counterpart."""
        if offer.op == READ:
            self._readers = link(self._readers, offer)
        else:
            self._writers = link(self._writers, offer)

    def withdraw(self, offer):
        """Take an offer out of its queue."""
        if offer.op == READ:
            self._readers = unlink(self._readers, offer)
        else:
            self._writers = unlink(self._writers, offer)

    def give_back(self, offer, value):
        """A paired read was cancelled: its value goes to the next reader, or before all writers.

        The channel keeps the offer. Returns whom to wake.
        """
        if self._writers is DEAD:
            return None
        r = self._readers
        if r is not None and r is not DEAD:
            if r.alt is not r:
                return self.give(value)
            party = r.alone()
            r.value = value
            return party
        self._writers = insert_given(self._writers, offer)  # first: it may need memory
        offer.op = GIVEN
        offer.alt = None
        offer.value = value
        return None

    # Ending

    def resists(self, strength):
        """Whether poison does not act on it. To be asked before; else the strength is noted."""
        if self._life is None and strength is None:
            return False
        return (self._life or self._new_life(0)).resists(self, strength)

    def _new_life(self, immunity):
        from cspcore.life import Life

        return Life(immunity)

    def ended(self):
        """The exception that operations raise now that the channel has ended."""
        if self._life is None:
            return PoisonException("channel is poisoned")
        return self._life.ended()

    def end_all(self):
        """Poison: every waiting offer ends, every value is dropped. Returns whom to wake."""
        return self._end(DEAD)

    def end_writing(self):
        """Poison by a writer: what can be read without a waiting writer can still be read."""
        return self._end(DRAINED)

    def end_close(self):
        """Close: no new writes, waiting writers stay. Returns whom to wake: waiting readers."""
        if self._readers is DEAD:
            return None
        w = self._writers
        if w is not None:
            last_of(w).next = None  # as in link: nothing has happened yet
        chain = self._end_readers(None)
        w = self._writers
        if w is None:
            self._writers = DRAINED
        else:
            last_of(w).next = DRAINED
        return in_order(chain)

    def _end_readers(self, chain):
        while self._readers is not None and self._readers is not DEAD:
            chain = self._end_offer(self._readers, chain)
        self._readers = DEAD
        return chain if self._life is None else self._life.ring(chain)

    def _end_offer(self, offer, chain):
        # Poison one offer; the chain grows by whoever is to wake. An alternative withdraws all its
        # offers, which may change both queues: callers look at a queue's head anew each time.
        if offer.alt is None:
            self.withdraw(offer)
            party = offer
        elif offer.alt is offer:
            party = offer.alone()
        else:
            party = offer.alt.paired(offer)
        offer.value = POISON
        if party is None:
            return chain
        party.next = chain
        return party

    def _end(self, last):
        chain = self._end_readers(None)
        if self._writers is DEAD:
            return in_order(chain)
        given = None
        while self._writers is not None and self._writers.op != MARKER:
            o = self._writers
            if o.op == GIVEN:
                self._writers = unlink(o, o)
                if last is DRAINED:
                    given = link(given, o)
            else:
                chain = self._end_offer(o, chain)
        if given is None:
            self._writers = last
        else:
            last_of(given).next = last
            self._writers = given
        return in_order(chain)


def poison_channel(channel, strength=None):
    """Poison a channel, given it or one of its ends."""
    if not hasattr(channel, "poison"):
        raise TypeError("a channel or one of its ends is expected")
    return channel.poison(strength)
