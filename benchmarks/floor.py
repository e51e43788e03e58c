"""The floors under CommsTime: what the interpreter and its port take for one communication.

floor: a read and a write are at least a generator each, and one of them waits, so that it is
resumed through two levels, the process's and its own. asyncio-switch: from one task of asyncio to
another, which is what a communication through asyncio's own queue takes at least. lock-handoff:
from one thread to another through a lock.
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


def _partner(mine, other, n, ended):
    for _ in range(n):
        mine.acquire()
        other.release()
    ended.release()


def handovers(n, meter):
    """n times from one thread to the other, and back."""
    import _thread
    mine = _thread.allocate_lock()
    other = _thread.allocate_lock()
    ended = _thread.allocate_lock()
    for lock in (mine, other, ended):
        lock.acquire()
    _thread.start_new_thread(_partner, (other, mine, n, ended))
    meter.start()
    for _ in range(n):
        other.release()
        mine.acquire()
    meter.stop(2 * n)
    ended.acquire()


# The rows for each name that `lib` takes.
BY_NAME = {
    "floor-asyncio": (("floor", resumes), ("asyncio-switch", switches)),
    "floor-threads": (("lock-handoff", handovers),),
}
