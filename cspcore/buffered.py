"""Buffered channels: who meets whom, with a FIFO between them. See cspcore.channel."""

import sys

from cspcore.channel import (
    DEAD,
    DRAINED,
    GIVEN,
    MARKER,
    READ,
    TAKEN,
    BaseChannel,
    Offer,
    count,
    in_order,
    insert_given,
    link,
    unlink,
)

# The most values in a list: the bytes of more are no word, and MicroPython may die of those.
MOST = sys.maxsize >> 3

# A buffered channel's _readers or _writers when an operation can proceed.
OPEN = Offer(None, MARKER, DEAD.alt)


class BaseBufferedChannel(BaseChannel):
    """The pairing rules of a FIFO buffer between writers and readers.

    Here `_readers` and `_writers` only say whether a write and a read can proceed (None if not,
    else a marker); who waits stands in `_read_queue` and `_write_queue`. Besides those above:
    5. Readers wait only while nothing can be read, writers only while the buffer is full.
    6. What can be read comes in this order: given back, buffered, of waiting writers.
    The buffer is a ring, which an unlimited channel doubles when it is full.

    `_limit` is how many buffered values make writers wait: None where none ever do, the capacity,
    or one more, which are never reached, where the buffer overflows instead: then `_append` drops
    a value, the new one or the oldest. What was given back does not stand in the buffer: it is not
    dropped, and takes no room.
    """

    overflow = "block"

    def __init__(self, name="", capacity=None, overflow="block", external=False):
        if capacity is None and isinstance(name, int):
            raise TypeError("a capacity comes after the name")
        if capacity is not None and not isinstance(capacity, int):
            raise TypeError("a capacity is a whole number")
        if capacity is not None and capacity < 0:
            raise ValueError("a capacity is not negative")
        if capacity is not None and capacity > MOST:
            raise ValueError("a capacity is not larger than any memory")
        BaseChannel.__init__(self, name, external)
        self._limit = capacity
        if overflow != "block":
            self._set_overflow(overflow, capacity)
        self._ring = [None] * (4 if capacity is None else capacity)
        self._first = 0
        self._count = 0
        self._read_queue = None
        self._write_queue = None
        self._refresh()

    def __getattr__(self, name):
        # No attribute: with one more the table of attributes is full, and methods are found later.
        if name == "capacity":
            n = self._limit
            return n if n is None or self.overflow == "block" else n - 1
        return BaseChannel.__getattr__(self, name)

    def _set_overflow(self, overflow, capacity):
        if overflow not in ("keep_oldest", "keep_newest"):
            raise ValueError("an overflow is block, keep_oldest or keep_newest")
        if capacity == 0:
            raise ValueError("a buffer that overflows has room for a value")
        self.overflow = overflow
        if capacity is not None:
            self._limit = capacity + 1

    def _refresh(self):
        if self._readers is not DEAD:
            room = self._limit is None or self._count < self._limit
            self._readers = OPEN if room or self._read_queue is not None else None
        if self._count or self._write_queue is not None:
            self._writers = OPEN
        elif self._writers is not DEAD:
            self._writers = DRAINED if self._readers is DEAD else None

    def _append(self, value):
        ring = self._ring
        n = len(ring)
        if self._count == n:
            if self._limit is None:  # the ring is unrolled into one of twice the size
                ring = ring[self._first :] + ring[: self._first]
                ring.extend([None] * n)
                self._ring = ring
                self._first = 0
            elif self.overflow == "keep_oldest":
                return
            else:
                self._popleft()
        ring[(self._first + self._count) % len(ring)] = value
        self._count += 1

    def _popleft(self):
        i = self._first
        self._ring[i] = None
        self._first = (i + 1) % len(self._ring)
        self._count -= 1

    def queue_of(self, op):
        return self._read_queue if op == READ else self._write_queue

    def queue_len(self):
        return count(self._read_queue) + count(self._write_queue) + self._count

    def verify(self):
        from cspcore.verify import verify_buffered

        verify_buffered(self)

    def take(self):
        w = self._write_queue
        if w is not None and w.op == GIVEN:
            pair = w.value, None
            self._write_queue = unlink(w, w)
        elif self._count:
            v = self._ring[self._first]
            if w is None:
                pair = v, None
                self._popleft()
            else:
                pair = [v, None]
                self._popleft()
                self._append(w.value)
                pair[1] = self._met(w, TAKEN)
        elif w is not None:  # capacity 0
            pair = [w.value, None]
            pair[1] = self._met(w, TAKEN)
        else:
            raise self.ended()
        self._refresh()
        return pair

    def give(self, value):
        if self._readers is DEAD:
            raise self.ended()
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
            return self._met(self._read_queue, value)
        self._write_queue = insert_given(self._write_queue, offer)  # first: it may need memory
        offer.op = GIVEN
        offer.alt = None
        offer.value = value
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
        return chain if self._life is None else self._life.ring(chain)

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
            self._ring.clear()  # a new list would need memory
            self._first = self._count = 0
            self._writers = DEAD
        else:
            self._write_queue = given
            self._refresh()
        return in_order(chain)
