"""Who has sent what, and who has got what, on one channel: nothing lost, nothing doubled.

A value is an integer: its writer's number in the upper bits, that writer's count in the lower. The
parties note what they do in objects of their own, so that threads share nothing; `settle` compares
them when the network has ended.
"""

SHIFT = 32
_COUNT = (1 << SHIFT) - 1


class Loss(Exception):
    """A message was lost, doubled, or came out of order."""


class Planned(Exception):
    """What a process fails by that is made to fail."""


class Out:
    """What one writer sends: `await cout(out.value)`, then `out.value += 1`."""

    def __init__(self, writer):
        self.first = self.value = writer << SHIFT

    def count(self):
        return self.value - self.first


class In:
    """What one reader has got. A channel's only reader must see each writer's values in a row."""

    def __init__(self, name, writers, alone, ordered):
        self.name = name
        self.n = 0
        self.alone = alone
        self.ordered = ordered
        self.last = [-1] * writers
        self.seen = None if alone else [set() for _ in range(writers)]

    def take(self, value):
        writer = value >> SHIFT
        k = value & _COUNT
        last = self.last[writer]
        if self.alone:
            if k != last + 1:
                raise Loss("%s: got %d of writer %d after %d" % (self.name, k, writer, last))
        else:
            if k in self.seen[writer] or k < last and self.ordered:
                raise Loss("%s: %d of writer %d after %d" % (self.name, k, writer, last))
            self.seen[writer].add(k)
        self.last[writer] = k
        self.n += 1


class Ledger:
    """The accounts of one channel.

    ordered: each reader sees each writer's values in order (not where values are given back).
    drops: it is poisoned in a way that discards what is buffered.
    """

    def __init__(self, channel, writers=1, readers=1, ordered=True, drops=False):
        self.channel = channel
        self.name = channel.name
        self.drops = drops
        self.outs = [Out(w) for w in range(writers)]
        self.ins = [In(self.name, writers, readers == 1, ordered) for _ in range(readers)]

    @property
    def out(self):
        return self.outs[0]

    @property
    def inn(self):
        return self.ins[0]

    def settle(self):
        """Compare the two sides; how many messages there were. Raises Loss."""
        for w in range(len(self.outs)):
            self._settle_writer(w, self.outs[w].count())
        self.channel.verify()
        left = self.channel.queue_len()
        if left:
            raise Loss("%s: %d operations or values are left" % (self.name, left))
        return sum([i.n for i in self.ins])

    def _settle_writer(self, w, sent):
        if self.ins[0].alone:
            got = self.ins[0].last[w] + 1
        else:
            got = 0
            all_seen = set()
            for i in self.ins:
                got += len(i.seen[w])
                all_seen |= i.seen[w]
            if len(all_seen) != got:
                raise Loss("%s: a value of writer %d came twice" % (self.name, w))
            if got and max(all_seen) != got - 1:
                raise Loss("%s: a value of writer %d is missing" % (self.name, w))
        if got != sent and not (self.drops and got < sent):
            raise Loss("%s: writer %d sent %d, %d came" % (self.name, w, sent, got))


class Chance:
    """Numbers by chance, the same from the same seed on every interpreter."""

    def __init__(self, seed):
        self._x = seed * 2654435761 % 4294967291 or 1

    def below(self, n):
        self._x = x = (self._x * 279470273) % 4294967291
        return (x >> 7) % n

    def between(self, low, high):
        return low + self.below(high - low + 1)


class Slot:
    """Where networks run one after another. Only its own process writes to it.

    `messages` counts those of networks that have been settled; `ends` are the readers of the one
    that runs now.
    """

    def __init__(self, lib, number):
        self.lib = lib
        self.number = number
        self.messages = 0
        self.networks = 0
        self.kind = "nothing"
        self.seed = 0
        self.ends = ()
        self.ended = False

    def progress(self):
        """A number that changes while something happens."""
        n = self.messages + self.networks
        for i in self.ends:
            n += i.n
        return n

    def begin(self, *ledgers):
        self.ends = tuple([i for book in ledgers for i in book.ins])
        return ledgers

    def settle(self, ledgers):
        n = 0
        for book in ledgers:
            n += book.settle()
        self.ends = ()
        self.messages += n

    def __str__(self):
        return "%s slot %d, %s, seed %d" % (self.lib, self.number, self.kind, self.seed)


class State:
    """What the whole program shares; all of it stands here from the beginning."""

    def __init__(self):
        self.stop = False  # the networks are to end
        self.ended = False  # all has ended
        self.fault = None
