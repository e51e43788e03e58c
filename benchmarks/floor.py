"""The floor under CommsTime: what the interpreter itself takes for one communication.

floor-asyncio: a read and a write are at least a call of a generator each, and a process that waits
is resumed once. floor-threads: at least one thread hands over to another through a lock, here to
and fro between two.
"""

import _thread


def _empty():
    return 0
    yield


def _coroutine(n):
    for _ in range(n):
        # MicroPython's allocator remembers where it was only after a piece of one block; without
        # this tuple it goes over all garbage for each generator, which takes ten times as long.
        (n,)
        yield from _empty()
        yield from _empty()
        yield


def resumes(n, meter):
    """n times two empty operations and one resume."""
    resume = _coroutine(n).send
    meter.start()
    for _ in range(n):
        resume(None)
    meter.stop(n)


def _partner(mine, other, n, ended):
    for _ in range(n):
        mine.acquire()
        other.release()
    ended.release()


def handovers(n, meter):
    """n times from one thread to the other, and back."""
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


BY_NAME = {"floor-asyncio": resumes, "floor-threads": handovers}
