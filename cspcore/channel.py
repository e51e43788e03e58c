"""Channels: who meets whom. Knows no thread and no event loop, takes no lock and wakes nobody.

An *offer* is a party's standing wish to read or to write on one channel. A channel keeps the offers
that wait in two queues, oldest first:

    _readers   None or the oldest waiting reader: a write can proceed exactly if it is not None
    _writers   None or the oldest waiting writer: a read can proceed exactly if it is not None

Invariants, which `verify` checks:
1. At most one of the queues holds waiting offers, except when all of them belong to one alternative.
2. A closed channel has `_readers is DEAD`, and its writers' queue ends in DRAINED.
3. A poisoned channel has `_readers is DEAD`, and `_writers` is DEAD or DRAINED.
4. Given-back values are offers with op GIVEN; they head the writers' queue in the order of their seq.

The markers stand where an offer could stand, so that poison costs the usual path no look of its
own. They differ from real offers in having an `alt`, whose `paired` raises PoisonException.

A queue is linked through the offers: `head.prev` is its last offer, `last.next` is None or DRAINED.
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
    alternative or group the offer belongs to, which knows who waits.
    """

    seq = 0  # order of pairing, among values given back to a channel

    def __init__(self, channel, op, alt=None):
        self.channel = channel
        self.op = op
        self.alt = alt
        self.value = WAITING
        self.next = None
        self.prev = None


class _Refuse:
    def paired(self, offer):
        raise PoisonException("channel is poisoned")


DEAD = Offer(None, MARKER, _Refuse())  # poisoned: values given back are dropped
DRAINED = Offer(None, MARKER, DEAD.alt)  # closed and read empty: a value given back can be read


def forget():
    """Let go of the network that ran last: unlinking sets `prev` of the markers too."""
    DEAD.prev = DRAINED.prev = None


def link(head, offer):
    """Append an offer to the queue that begins at head; return the new head."""
    if head is None:
        offer.prev = offer
        return offer
    last = head.prev
    last.next = offer
    offer.prev = last
    head.prev = offer
    return head


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
    offer.next = None
    return head


def insert_given(head, offer):
    """Put a given-back value before all writers, among its like by seq; return the new head."""
    before = None
    at = head
    while at is not None and at.op == GIVEN and at.seq < offer.seq:
        before = at
        at = at.next
    offer.next = at
    real = at is not None and at.op != MARKER
    if before is None:
        offer.prev = at.prev if real else offer
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


class BaseChannel:
    """The pairing rules of a rendezvous channel; the libraries add how a party waits.

    The methods return whom to wake: an offer or an alternative, a chain of them linked by `next`,
    or None.
    """

    def __init__(self, name="", external=False):
        self.name = name
        self.external = external
        self._readers = None
        self._writers = None
        self._read = None
        self._write = None

    # Looking

    @property
    def poisoned(self):
        """True once every operation raises PoisonException."""
        w = self._writers
        return w is DEAD or w is DRAINED

    def queue_len(self):
        """The number of operations that wait, of values buffered and of values given back."""
        return _count(self._readers) + _count(self._writers)

    def verify(self):
        """Raise AssertionError where the channel's invariants do not hold."""
        for queue, ops in (self._readers, (READ,)), (self._writers, (WRITE, GIVEN)):
            _verify_queue(self, queue, ops)
        r = self._readers
        w = self._writers
        if w is DEAD or w is DRAINED or (w is not None and _last(w) is DRAINED):
            assert r is DEAD, "a closed channel lets writers in"
        elif r is DEAD:
            assert False, "a channel without writers is not marked as closed"
        if r is not None and w is not None and r is not DEAD:
            alt = r.alt
            assert alt is not None, "a reader and a writer wait for each other"
            for o in _each(r):
                assert o.alt is alt, "a reader and a writer wait for each other"
            for o in _each(w):
                assert o.alt is alt, "a reader and a writer wait for each other"

    # Meeting

    def take(self):
        """Read from whoever waits first; return (value, whom to wake). _writers is not None."""
        w = self._writers
        v = w.value
        if w.alt is None:
            self._writers = unlink(w, w)
            w.value = TAKEN
            return v, w
        party = w.alt.paired(w)
        w.value = TAKEN
        return v, party

    def give(self, value):
        """Write to whoever waits first; return whom to wake. _readers is not None."""
        r = self._readers
        if r.alt is None:
            self._readers = unlink(r, r)
            r.value = value
            return r
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
        """A paired read was cancelled: its value goes to the next reader or waits before all writers.

        The channel keeps the offer. Returns whom to wake.
        """
        if self._writers is DEAD:
            return None
        if self._readers is not None and self._readers is not DEAD:
            return self.give(value)
        offer.op = GIVEN
        offer.alt = None
        offer.value = value
        self._writers = insert_given(self._writers, offer)
        return None

    # Ending

    def end_all(self):
        """Poison: every waiting offer ends, every value is dropped. Returns whom to wake."""
        return self._end(DEAD)

    def end_writing(self):
        """Poison by a writer: what can be read without a waiting writer can still be read."""
        return self._end(DRAINED)

    def end_close(self):
        """Close: no new writes, waiting writers stay. Returns whom to wake: the waiting readers."""
        if self._readers is DEAD:
            return None
        chain = self._end_readers(None)
        w = self._writers
        if w is None:
            self._writers = DRAINED
        else:
            w.prev.next = DRAINED
        return in_order(chain)

    def _end_readers(self, chain):
        while self._readers is not None and self._readers is not DEAD:
            chain = self._end_offer(self._readers, chain)
        self._readers = DEAD
        return chain

    def _end_offer(self, offer, chain):
        # Poison one offer; the chain grows by whoever is to wake. An alternative withdraws all its
        # offers, which may change both queues: callers look at a queue's head anew each time.
        if offer.alt is None:
            self.withdraw(offer)
            party = offer
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
            given.prev.next = last
            self._writers = given
        return in_order(chain)


# A buffered channel's _readers or _writers when an operation can proceed.
OPEN = Offer(None, MARKER)


class BaseBufferedChannel(BaseChannel):
    """The pairing rules of a FIFO buffer between writers and readers.

    Here `_readers` and `_writers` only say whether a write and a read can proceed (None if not,
    else a marker); who waits stands in `_read_queue` and `_write_queue`. Besides those above:
    5. Readers wait only while nothing can be read, writers only while the buffer is full.
    6. What can be read comes in this order: given back, buffered, of waiting writers.
    The buffer is a ring, which an unlimited channel doubles when it is full.
    """

    def __init__(self, name="", capacity=None, external=False):
        if capacity is not None and capacity < 0:
            raise ValueError("a capacity is not negative")
        BaseChannel.__init__(self, name, external)
        self.capacity = capacity
        self._ring = [None] * (4 if capacity is None else capacity)
        self._first = 0
        self._count = 0
        self._read_queue = None
        self._write_queue = None
        self._refresh()

    def _refresh(self):
        if self._readers is not DEAD:
            room = self.capacity is None or self._count < self.capacity
            self._readers = OPEN if room or self._read_queue is not None else None
        if self._count or self._write_queue is not None:
            self._writers = OPEN
        elif self._writers is not DEAD:
            self._writers = DRAINED if self._readers is DEAD else None

    def _append(self, value):
        ring = self._ring
        n = len(ring)
        if self._count == n:  # unlimited: the ring is unrolled into one of twice the size
            ring = ring[self._first :] + ring[: self._first]
            ring.extend([None] * n)
            self._ring = ring
            self._first = 0
        ring[(self._first + self._count) % len(ring)] = value
        self._count += 1

    def _popleft(self):
        i = self._first
        value = self._ring[i]
        self._ring[i] = None
        self._first = (i + 1) % len(self._ring)
        self._count -= 1
        return value

    def queue_len(self):
        return _count(self._read_queue) + _count(self._write_queue) + self._count

    def verify(self):
        _verify_queue(self, self._read_queue, (READ,))
        _verify_queue(self, self._write_queue, (WRITE, GIVEN))
        r = self._readers
        w = self._writers
        self._refresh()
        assert r is self._readers and w is self._writers, "can't tell whether it can proceed"
        if self._read_queue is not None and w is not None:
            alt = self._read_queue.alt
            assert alt is not None, "a reader waits though there is something to read"
            for o in _each(self._write_queue):
                assert o.alt is alt, "a reader waits though there is something to read"
        for o in _each(self._write_queue):
            assert o.op == GIVEN or self._count == self.capacity, "a writer waits beside room"
        if w is DEAD:
            assert r is DEAD and not self._count, "a poisoned channel keeps values"

    def take(self):
        w = self._write_queue
        if w is not None and w.op == GIVEN:
            self._write_queue = unlink(w, w)
            v = w.value
            party = None
        elif self._count:
            v = self._popleft()
            party = None
            if w is not None:
                self._append(w.value)
                party = self._met(w, TAKEN)
        elif w is not None:  # capacity 0
            v = w.value
            party = self._met(w, TAKEN)
        else:
            raise PoisonException("channel is poisoned")
        self._refresh()
        return v, party

    def give(self, value):
        if self._readers is DEAD:
            raise PoisonException("channel is poisoned")
        party = None
        if self._read_queue is not None:
            party = self._met(self._read_queue, value)
        else:
            self._append(value)
        self._refresh()
        return party

    def _met(self, offer, value):
        if offer.alt is None:
            self.withdraw(offer)
            party = offer
        else:
            party = offer.alt.paired(offer)
        offer.value = value
        return party

    def post(self, offer):
        if offer.op == READ:
            self._read_queue = link(self._read_queue, offer)
        else:
            self._write_queue = link(self._write_queue, offer)
        self._refresh()

    def withdraw(self, offer):
        if offer.op == READ:
            self._read_queue = unlink(self._read_queue, offer)
        else:
            self._write_queue = unlink(self._write_queue, offer)
        self._refresh()

    def give_back(self, offer, value):
        if self._writers is DEAD:
            return None
        if self._read_queue is not None:
            party = self._met(self._read_queue, value)
            self._refresh()
            return party
        offer.op = GIVEN
        offer.alt = None
        offer.value = value
        self._write_queue = insert_given(self._write_queue, offer)
        self._refresh()
        return None

    def end_close(self):
        if self._readers is DEAD:
            return None
        chain = self._end_readers(None)
        self._refresh()
        return in_order(chain)

    def _end_readers(self, chain):
        while self._read_queue is not None:
            chain = self._end_offer(self._read_queue, chain)
        self._readers = DEAD
        return chain

    def _end(self, last):
        chain = self._end_readers(None)
        given = None
        while self._write_queue is not None:
            o = self._write_queue
            if o.op == GIVEN:
                self._write_queue = unlink(o, o)
                given = link(given, o)
            else:
                chain = self._end_offer(o, chain)
        if last is DEAD:
            self._ring = []
            self._first = self._count = 0
            self._writers = DEAD
        else:
            self._write_queue = given
            self._refresh()
        return in_order(chain)


def _each(offer):
    while offer is not None and offer.op != MARKER:
        yield offer
        offer = offer.next


def _count(offer):
    n = 0
    while offer is not None and offer.op != MARKER:
        n += 1
        offer = offer.next
    return n


def _last(offer):
    while offer.next is not None:
        offer = offer.next
    return offer


def _verify_queue(channel, head, ops):
    last = None
    for o in _each(head):
        assert o.op in ops, "an offer stands in the wrong queue"
        assert o.op == GIVEN or o.channel is channel, "an offer of another channel"
        assert last is None or o.prev is last, "a queue is not linked backwards"
        assert last is None or o.op != GIVEN or last.op == GIVEN, "a value given back after a writer"
        assert o.op != READ or o.value is WAITING, "a reader waits though it has a value"
        assert o.op == READ or o.value is not TAKEN, "a writer waits though its value was taken"
        last = o
    assert last is None or head.prev is last, "a queue's head does not know its last"
