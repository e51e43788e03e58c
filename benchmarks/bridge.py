"""Between the worlds: the time of an item from a thread to a task of asyncio, and back.

    to-task:    thread --- item ---> task        interrupt: handler --- item ---> task
    to-thread:  task   --- item ---> thread

What carries the items: `rendezvous` and `buffered` are a Bridge, `flag` is a shared variable with
a ThreadSafeFlag one way and a lock the other way, as one writes it without a library, and `queue`
a ring with a ThreadSafeFlag, where a thread that finds it full or empty sleeps a millisecond. In
the rows with a capacity of 0 each item is waited for before the next one: their time is the
latency. A thread stands for the interrupt, and sleeps a millisecond when there is no room. Every
item has to come, in order. CPython's asyncio lacks ThreadSafeFlag: no flag and no queue there.
"""

import _thread
import time

from benchmarks.harness import Meter, Table
from uapycsp import process, run
from uapycsp.bridge import Bridge
from uthreading import Thread

try:
    import asyncio
except ImportError:
    import uasyncio as asyncio

Flag = getattr(asyncio, "ThreadSafeFlag", None)


def _rest():
    time.sleep(0.001)


# What carries items. Each has put and get for a task, put_from_thread and get_in_thread for a
# thread; from_isr, where there is one, is True if there was room.


class _Bridged:
    def __init__(self, capacity, way):
        if way == "interrupt":
            self.ch = ch = Bridge("items", isr=capacity)
        else:
            self.ch = ch = Bridge("items", capacity)
        self.get, self.put = ch.tasks.read, ch.tasks.write
        self.get_in_thread, self.put_from_thread = ch.threads.read, ch.threads.write
        self.from_isr = ch.from_isr

    def verify(self):
        self.ch.verify()
        return self.ch.queue_len() == 0


class _Flagged:
    # One item at a time; each is waited for.

    def __init__(self, capacity, way):
        self._item = None
        self._arrived = Flag()
        self._taken = _thread.allocate_lock()
        self._taken.acquire()

    def put_from_thread(self, item):
        self._item = item
        self._arrived.set()
        self._taken.acquire()

    async def get(self):
        await self._arrived.wait()
        item = self._item
        self._taken.release()
        return item

    async def put(self, item):
        self._item = item
        self._taken.release()
        await self._arrived.wait()

    def get_in_thread(self):
        self._taken.acquire()
        item = self._item
        self._arrived.set()
        return item

    def verify(self):
        return True


class _Queue:
    # Of one producer and one consumer, each of which stores one index.

    def __init__(self, capacity, way):
        self._items = [None] * (capacity + 1)
        self._first = self._end = 0
        self._changed = Flag()

    def _later(self, i):
        return (i + 1) % len(self._items)

    def _append(self, item):
        self._items[self._end] = item
        self._end = self._later(self._end)

    def _popleft(self):
        item = self._items[self._first]
        self._first = self._later(self._first)
        return item

    def from_isr(self, item):
        if self._later(self._end) == self._first:
            return False
        self._append(item)
        self._changed.set()
        return True

    def put_from_thread(self, item):
        while not self.from_isr(item):
            _rest()

    async def get(self):
        while self._first == self._end:
            await self._changed.wait()
        return self._popleft()

    async def put(self, item):
        while self._later(self._end) == self._first:
            await self._changed.wait()
        self._append(item)

    def get_in_thread(self):
        while self._first == self._end:
            _rest()
        item = self._popleft()
        self._changed.set()
        return item

    def verify(self):
        return self._first == self._end


_FORMS = {
    "rendezvous": ("bridge", _Bridged),
    "buffered": ("bridge", _Bridged),
    "flag": ("flag", _Flagged),
    "queue": ("queue", _Queue),
}


class _Other:
    # The thread: does work(n) for each n that it is given, until that is 0.

    def __init__(self, work):
        self._work = work
        self._n = 0
        self._go = _thread.allocate_lock()
        self._go.acquire()
        self.done = Bridge("done")
        # A daemon: where a row fails, it waits for ever, and the program has to end.
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def begin(self, n):
        self._n = n
        self._go.release()

    def _serve(self):
        while True:
            self._go.acquire()
            if not self._n:
                return
            self._work(self._n)
            self.done.threads.write(None)

    def end(self):
        self.begin(0)
        self._thread.join()


@process
async def _measures(carrier, capacity, way, sizes, meter):
    c = carrier(capacity, way)

    def writes(n):
        put = c.put_from_thread
        for item in range(n):
            put(item)

    def interrupts(n):
        put = c.from_isr
        for item in range(n):
            while not put(item):
                _rest()

    def reads(n):
        get = c.get_in_thread
        for item in range(n):
            meter.fault(get() != item)

    async def exchange(n):
        other.begin(n)
        if way == "to-thread":
            put = c.put
            for item in range(n):
                await put(item)
        else:
            get = c.get
            for item in range(n):
                meter.fault(await get() != item)
        await other.done.tasks.read()
        meter.fault(not c.verify())

    warm, part, n = sizes
    other = _Other({"to-task": writes, "to-thread": reads, "interrupt": interrupts}[way])
    await exchange(warm)
    while meter.slicing(10, part):
        await exchange(part)
    while meter.next():
        meter.start()
        await exchange(n)
        meter.stop(n)
    other.end()


def main(chosen, apis, sizes):
    """Prints a row for each way and form; raises WrongResult."""
    n = sizes["n"]
    table = Table("bridge", "us per item, n={} runs={}".format(n, sizes["runs"]), "")
    for way in sizes["way"]:
        for form in sizes["form"]:
            lib, carrier = _FORMS[form]
            if way == "interrupt" and form in ("rendezvous", "flag"):
                continue
            if lib != "bridge" and Flag is None:
                continue
            capacity = sizes["capacity"] if form in ("buffered", "queue") else 0
            meter = Meter("bridge {} {}".format(way, form), sizes["runs"])
            # Not more in the parts that count bytes, for which nothing is collected.
            counts = max(1, min(1000, n // 10)), max(1, min(1000, n // 5)), n
            run(_measures(carrier, capacity, way, counts, meter))
            table.row(lib, way, n, meter, extra=("capacity", capacity))
