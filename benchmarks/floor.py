"""The floors under CommsTime: what the interpreter and its port take for one communication.

floor: a read and a write are at least a generator each, and one of them waits, so that it is
resumed through two levels, the process's and its own. asyncio-switch: from one task of asyncio to
another, which is what a communication through asyncio's own queue takes at least. lock-handoff:
from one thread to another through a lock, and back. lock-ring: the same round a ring of as many
threads as CommsTime has processes; a network of threads that wait for one another in turn takes
no less, because each hand-over wakes a thread that sleeps.
"""

try:
    import asyncio
except ImportError:     # before MicroPython 1.21
    import uasyncio as asyncio


def _empty():
    return 0
    yield


def _waits():
    yield


def _coroutine(n):
    for _ in range(n):
        # MicroPython's allocator remembers where it was only after a piece of one block; without
        # this tuple it goes over all garbage for each generator, which takes ten times as long.
        (n,)
        yield from _empty()
        yield from _waits()


def resumes(n, meter):
    """n times two operations, one of which waits."""
    resume = _coroutine(n).send
    meter.start()
    for _ in range(n):
        resume(None)
    meter.stop(n)


async def _yields(n):
    for _ in range(n):
        await asyncio.sleep(0)


async def _two_tasks(n, meter):
    other = asyncio.create_task(_yields(n))
    await asyncio.sleep(0)  # till it has begun
    meter.start()
    await _yields(n)
    meter.stop(2 * n)
    await other


def switches(n, meter):
    """n times from one task to the other, and back."""
    asyncio.run(_two_tasks(n, meter))


_RING = 4   # threads: as many as CommsTime has processes


def _passes_on(mine, other, n, ended):
    for _ in range(n):
        mine.acquire()
        other.release()
    ended.release()


def _hand_round(threads, n, meter):
    import _thread
    locks = []
    for _ in range(2 * threads - 1):
        lock = _thread.allocate_lock()
        lock.acquire()
        locks.append(lock)
    ended = locks[threads:]
    for i in range(1, threads):
        _thread.start_new_thread(
            _passes_on, (locks[i], locks[(i + 1) % threads], n, ended[i - 1]))
    mine = locks[0]
    other = locks[1]
    meter.start()
    for _ in range(n):
        other.release()
        mine.acquire()
    meter.stop(threads * n)
    for lock in ended:
        lock.acquire()


def handovers(n, meter):
    """n times from one thread to another, and back."""
    _hand_round(2, n, meter)


def rounds(n, meter):
    """n times round a ring of threads."""
    _hand_round(_RING, n, meter)


# The rows for each name that `lib` takes.
BY_NAME = {
    "floor-asyncio": (("floor", resumes), ("asyncio-switch", switches)),
    "floor-threads": (("lock-handoff", handovers), ("lock-ring", rounds)),
}
