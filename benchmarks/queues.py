"""Queues: what a queue of waiting operations costs, as a deque, a list, and the channels' own.

    append N elements;  pop N from the head;  filter: go through N and take one of them out

The thesis's designs keep a list or a deque and filter it whenever an alternative withdraws. The
channels here (cspcore) link the offers themselves, so that an alternative takes its offer out
without looking at the others: that is the variant withdraw, of all N in another order than they
stand in; their filter is only for comparison. What is left after each step is checked.
"""

from benchmarks.harness import Meter, Table
from cspcore.channel import READ, BaseChannel, Offer

try:
    from collections import deque
except ImportError:  # Pycom's firmware
    from ucollections import deque


class _Deque:
    def __init__(self, size):
        self.queue = deque((), size)

    def append(self, elements):
        append = self.queue.append
        for e in elements:
            append(e)

    def popleft(self, n):
        popleft = self.queue.popleft
        for _ in range(n):
            popleft()

    def filter(self, unwanted):
        # A deque can only be passed round.
        queue = self.queue
        for _ in range(len(queue)):
            e = queue.popleft()
            if e is not unwanted:
                queue.append(e)

    def content(self):
        found = []
        for _ in range(len(self.queue)):
            e = self.queue.popleft()
            found.append(e)
            self.queue.append(e)
        return found


class _List:
    def __init__(self, size):
        self.queue = []

    def append(self, elements):
        append = self.queue.append
        for e in elements:
            append(e)

    def popleft(self, n):
        pop = self.queue.pop
        for _ in range(n):
            pop(0)

    def filter(self, unwanted):
        self.queue = [e for e in self.queue if e is not unwanted]

    def content(self):
        return self.queue


class _Offers:
    """The queue of readers of a channel, through the methods the libraries use."""

    def __init__(self, size):
        self.channel = BaseChannel("queue")

    def append(self, elements):
        post = self.channel.post
        for e in elements:
            post(e)

    def popleft(self, n):
        give = self.channel.give
        for _ in range(n):
            give(None)

    def filter(self, unwanted):
        e = self.channel._readers
        while e is not None:
            following = e.next
            if e is unwanted:
                self.channel.withdraw(e)
            e = following

    def withdraw(self, elements):
        withdraw = self.channel.withdraw
        for e in elements:
            withdraw(e)

    def content(self):
        found = []
        e = self.channel._readers
        while e is not None:
            found.append(e)
            e = e.next
        return found


_KINDS = {"deque": _Deque, "list": _List, "cspcore": _Offers}


def _elements(kind, size):
    if kind == "cspcore":
        channel = BaseChannel("queue")
        return [Offer(channel, READ) for _ in range(size)]
    return list(range(size))


def _pass(queue, elements, others, meters):
    # One pass over all variants, each timed, starting and ending with an empty queue.
    size = len(elements)
    middle = elements[size // 2]

    def timed(variant, work, argument, left):
        meter = meters[variant]
        if meter.warming:
            while meter.slicing(1, size):
                work(argument)
        else:
            meter.start()
            work(argument)
            meter.stop(size)
        meter.fault(queue.content() != left)

    timed("append", queue.append, elements, elements)
    timed("filter", queue.filter, middle, [e for e in elements if e is not middle])
    timed("popleft", queue.popleft, size - 1, [])
    if "withdraw" in meters:
        queue.append(elements)
        timed("withdraw", queue.withdraw, others, [])


def _rows(table, kind, size, runs):
    elements = _elements(kind, size)
    others = elements[1::2] + elements[::2]
    queue = _KINDS[kind](size)
    variants = ["append", "popleft", "filter"]
    if kind == "cspcore":
        variants.append("withdraw")
    title = "queues {} {}".format(kind, size)
    warm = {v: Meter(title) for v in variants}
    _pass(queue, elements, others, warm)
    meters = {v: Meter(title, runs) for v in variants}
    while meters["append"].next():
        _pass(queue, elements, others, meters)
    for v in variants:
        meters[v].warmed(warm[v])
        base = None if kind == "list" else ("list", v)
        table.row(kind, v, size, meters[v], extra=("size", size), base=base)


def main(chosen, apis, sizes):
    """Prints rows for each size and kind of queue that fits the heap.

    Raises WrongResult, and in the end MemoryError if not all of them fitted.
    """
    table = Table("queues", "us per element, runs={}, cspcore up to offers={}".format(
        sizes["runs"], sizes["offers"]))
    too_large = []
    for size in sizes["sizes"]:
        for kind in sizes["queue"]:
            if kind == "cspcore" and size > sizes["offers"]:
                continue
            try:
                _rows(table, kind, size, sizes["runs"])
            except MemoryError:
                # An offer takes more room than an element of a list: go on with the others.
                too_large.append("{} {}".format(kind, size))
    if too_large:
        raise MemoryError(", ".join(too_large))
