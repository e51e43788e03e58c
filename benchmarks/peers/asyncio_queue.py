"""asyncio alone, on MicroPython and CPython."""

import asyncio

from benchmarks import peers

LIB = "asyncio-queue"

if hasattr(asyncio, "Queue"):
    Queue = asyncio.Queue
else:

    class Queue:
        """A queue of one element, for one reader: a slot and two events."""

        def __init__(self, maxsize=1, put=None):
            self._items = []
            self._maxsize = maxsize
            self._put = put or asyncio.Event()
            self._taken = asyncio.Event()

        async def get(self):
            while not self._items:
                self._put.clear()
                await self._put.wait()
            return self.get_nowait()

        async def put(self, value):
            while len(self._items) >= self._maxsize:
                self._taken.clear()
                await self._taken.wait()
            self._items.append(value)
            self._put.set()

        def empty(self):
            return not self._items

        def get_nowait(self):
            value = self._items.pop(0)
            self._taken.set()
            return value


# --- CommsTime

async def prefix(c, a):
    await a.put(0)
    while True:
        await a.put(await c.get())


async def delta(a, b, d):
    while True:
        v = await a.get()
        await b.put(v)
        await d.put(v)


async def successor(b, c):
    while True:
        await c.put(await b.get() + 1)


async def consumer(d, n, meter):
    first = await d.get() + 1
    meter.start()
    for value in range(first, first + n):
        if await d.get() != value:
            meter.fault()
    meter.stop(4 * n)


async def ring(n, meter):
    a, b, c, d = [Queue(1) for _ in range(4)]
    others = [asyncio.create_task(coro)
              for coro in (prefix(c, a), delta(a, b, d), successor(b, c))]
    await consumer(d, n, meter)
    await end(others)


async def end(tasks):
    for task in tasks:
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass


def commstime(n, runs):
    """Prints its row."""
    peers.measure("commstime", LIB, "seq", n, runs, peers.each_run(
        lambda n, meter: asyncio.run(ring(n, meter))))


# --- choice

class Waits:
    """The first value that any of several queues has, on CPython: a task waits for each."""

    def __init__(self, count):
        self.queues = [Queue(1) for _ in range(count)]
        self._tasks = {}
        self._done = []

    async def select(self):
        """(Which queue, its value)."""
        if not self._tasks:
            for i, q in enumerate(self.queues):
                self._tasks[asyncio.create_task(q.get())] = i
        if not self._done:
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            self._done.extend(done)
        task = self._done.pop()
        i = self._tasks.pop(task)
        self._tasks[asyncio.create_task(self.queues[i].get())] = i
        return i, task.result()

    async def rest(self):
        """The values that nobody has selected yet."""
        found = [q.get_nowait() for q in self.queues if not q.empty()]
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        for value in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(value, BaseException):
                found.append(value)
        return found


class Polls:
    """The same on MicroPython, which has no asyncio.wait: the queues share the event of a put."""

    def __init__(self, count):
        self._put = asyncio.Event()
        self.queues = [Queue(1, self._put) for _ in range(count)]

    async def select(self):
        while True:
            for i, q in enumerate(self.queues):
                if not q.empty():
                    return i, q.get_nowait()
            self._put.clear()
            await self._put.wait()

    async def rest(self):
        return [q.get_nowait() for q in self.queues if not q.empty()]


async def writer(q, written):
    value = 0
    while True:
        await q.put(value)
        written[0] += 1
        written[1] += value
        value += 1


async def reader(choice, n, meter):
    count = total = 0
    for _ in range(n // 10):
        i, v = await choice.select()
        total += v
        count += 1
    while meter.next():
        meter.start()
        for _ in range(n):
            i, v = await choice.select()
            total += v
        meter.stop(n)
        count += n
    return count, total


async def choose(channels, writers, n, meter):
    choice = (Waits if hasattr(asyncio, "wait") else Polls)(channels)
    written = []
    tasks = []
    for q in choice.queues:
        for _ in range(writers):
            written.append([0, 0])
            tasks.append(asyncio.create_task(writer(q, written[-1])))
    count, total = await reader(choice, n, meter)
    await end(tasks)
    rest = await choice.rest()
    peers.compare(meter, (count + len(rest), total + sum(rest)), written)


def stressed_alt(channels, writers, selects, runs):
    """Prints its row."""
    peers.measure("stressed_alt", LIB, "{}x{}-select".format(channels, writers), selects, runs,
                  lambda n, meter: asyncio.run(choose(channels, writers, n, meter)))
