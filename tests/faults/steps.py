"""Runs a step of a program with each of its allocations failing: test_exhaustion.py.

    scarce.py steps.py STEP PATH.. ADDRESS

Says how many have failed.
"""

import struct
import sys

import uctypes

CONTROL = uctypes.bytearray_at(int(sys.argv[-1]), 24)
STEP = sys.argv[1]
sys.path[:1] = sys.argv[2:-1]

from uapycsp import Channel, Parallel, Spawn, process, run  # noqa: E402
from ufuture import Barrier, TimeoutError, gather, sleep_ms, wait_for_ms  # noqa: E402
from ufuture.children import Children  # noqa: E402
from ufuture.loop import engine  # noqa: E402
from uapycsp.meeting import AltingBarrier  # noqa: E402
from uthreading import kept, local  # noqa: E402

_FAILS = b"\0\0\0\0\0\0\0\0"


class Short:
    """`with Short(k):` the k-th allocation in it fails; MemoryError ends it and not more."""

    def __init__(self, k):
        self.k = k
        self.ended = False  # by MemoryError

    def __enter__(self):
        struct.pack_into("<q", CONTROL, 0, self.k)
        struct.pack_into("<q", CONTROL, 16, 0)
        struct.pack_into("<q", CONTROL, 8, 1)
        return self

    def __exit__(self, kind, value, traceback):
        self.over()
        self.ended = kind is MemoryError
        return self.ended

    def over(self):
        """No allocation fails from here on."""
        CONTROL[8:16] = _FAILS

    def failed(self):
        return struct.unpack_from("<q", CONTROL, 16)[0] > 0


async def returns():
    pass


async def over(short):
    short.over()


async def none_waits(h, channels):
    """A process ends once its channels are written to, and reads nothing behind its end."""
    for _ in range(20):
        await sleep_ms(0)
    for ch in channels:
        if ch.queue_len():
            assert not h.done(), "a read is left behind"
            await ch.write(1)
    await h.join()


# The steps: each gets a Short


async def children_start(short):
    group = Children()
    coros = [returns() for _ in range(6)]
    begun = []
    with short:
        for coro in coros:
            begun.append(group.start(coro))
    await group.wait()
    assert group.left == 0 and [c for c in group.children if not c.has_ended] == []


async def gather_waits(short):
    @process(propagate=False)
    async def gathers():
        with short:
            await gather(*[ch.read() for ch in channels], over(short))

    channels = [Channel(str(i)) for i in range(6)]
    await none_waits(Spawn(gathers()), channels)


async def wait_for_waits(short):
    @process(propagate=False)
    async def limits():
        with short:
            await wait_for_ms(gather(ch.read(), over(short)), 10000)

    ch = Channel("ch")
    await none_waits(Spawn(limits()), [ch])


async def wait_for_expires(short):
    @process(propagate=False)
    async def limits():
        with short:
            try:
                await wait_for_ms(ch.read(), 1)
            except TimeoutError:
                pass

    ch = Channel("ch", external=True)
    h = Spawn(limits())
    await h.join()
    await none_waits(h, [ch])


async def barrier_waits(short):
    @process(propagate=False)
    async def waits():
        with short:
            await barrier.wait()

    barrier = Barrier(2)
    h = Spawn(waits())
    Spawn(over(short))
    for _ in range(20):
        await sleep_ms(0)
    assert barrier.n_waiting == (0 if h.done() else 1), "who could not wait is counted"
    if not h.done():
        await barrier.wait()
    await h.join()


async def cancel(short, f):
    """Cancels who waits for two reads of which one has happened; twice, if memory ends at once."""
    for twice in (False, True):
        a, b = Channel("a"), Channel("b")
        h = Spawn(process(propagate=False)(f)(a, b))
        while not a.queue_len() or not b.queue_len():
            await sleep_ms(0)
        await a.write(1)
        with short:
            h.cancel()
        if short.ended and twice:
            h.cancel()
        for _ in range(20):
            await sleep_ms(0)
        if short.ended and not twice and b.queue_len():
            await b.write(2)
            for _ in range(20):
                await sleep_ms(0)
        assert h.done() and not b.queue_len(), "it waits for good"
        if twice:
            assert await a.read.within(0) == 1


async def cancel_parallel(short):
    async def both(a, b):
        await Parallel(a.read, b.read)

    await cancel(short, both)


async def cancel_operations(short):
    async def both(a, b):
        await Parallel(a.read(), b.read())

    await cancel(short, both)


async def cancel_process(short):
    async def both(a, b):
        await Parallel(read(a), read(b))

    @process(propagate=False)
    async def read(ch):
        await ch.read()

    await cancel(short, both)


async def cancel_gather(short):
    async def both(a, b):
        await gather(a.read(), b.read())

    await cancel(short, both)


async def barrier_enrols(short):
    ends = AltingBarrier.create(2)
    with short:
        ends.append(ends[0].enrol())
    assert ends[0].parties() == len(ends), "a seat that nobody has"
    await Parallel(*[end.sync() for end in ends])


async def local_begins(short):
    class Mine(local):
        def __init__(self):
            self.n = 5

    def begins():
        with short:
            mine.n
        seen.append(mine.n)
        mine.own = True

    def another():
        seen.append(hasattr(mine, "own"))

    mine = Mine()
    seen = []
    for job in (begins, another):
        ended = kept.allocate_lock()
        ended.acquire()
        kept.start(job, ended.release)
        ended.acquire()
    assert seen == [5, False], seen


async def read_meets(short):
    @process(propagate=False)
    async def writes(cout):
        for i in range(3):
            await cout(i)

    ch = Channel("ch")
    got = []
    h = Spawn(writes(ch.write))
    while not ch.queue_len():
        await sleep_ms(0)
    with short:
        got.append(await ch.read())
    while len(got) < 3:
        got.append(await ch.read())
    assert got == [0, 1, 2], got
    await h.join()


async def write_meets(short):
    @process(propagate=False)
    async def reads(cin):
        got.append(await cin())

    ch = Channel("ch")
    got = []
    h = Spawn(reads(ch.read))
    while not ch.queue_len():
        await sleep_ms(0)
    with short:
        await ch.write(1)
    if short.ended:
        assert ch.queue_len() == 1, "it was written all the same"
        await ch.write(1)
    await h.join()
    assert got == [1]


async def join_waits(short):
    @process(propagate=False)
    async def waits(cin):
        await cin()

    @process(propagate=False)
    async def joins():
        with short:
            await h.join()

    ch = Channel("ch")
    h = Spawn(waits(ch.read))
    waiter = Spawn(joins())
    Spawn(over(short))
    while not ch.queue_len():
        await sleep_ms(0)
    assert not waiter.done() or h._asked == 0, "it counts as told to whom it is not"
    await ch.write(1)
    await waiter.join()
    while not h.done():
        await sleep_ms(0)


async def cancel_task(short):
    async def reads():
        got.append(await ch.read())

    ch = Channel("ch", external=True)
    got = []
    t = engine.core.create_task(reads())
    while not ch.queue_len():
        await sleep_ms(0)
    o = t.data
    await ch.write(1)
    while not o.queued and not t.done():
        await sleep_ms(0)
    with short:
        t.cancel()
    for _ in range(20):
        await sleep_ms(0)
    assert t.done(), "it waits for good"
    assert got or await ch.read.within(0) == 1


@process(propagate=False)
async def main(k):
    short = Short(k)
    await globals()[STEP](short)
    return short.failed()


run(main(0))
n = 1
while run(main(n)):
    n += 1
print("FAILURES", n - 1)
