"""Starts tasks on CPython with each allocation failing in turn: see test_nomemory.py.

    starting.py PATH..    prints how many allocations have failed
"""

import asyncio
import sys

import _testcapi

sys.path[:1] = sys.argv[1:]

from ufuture.loop import engine  # noqa: E402


class Child(engine.Owned):
    told = None

    def ended(self, value, exception):
        self.told = value, exception


async def body(begun):
    begun.append(True)
    return "value"


async def attempt(k):
    """Starts a task with the k-th allocation failing; whether it could not be started."""
    child = Child()
    begun = []
    coro = body(begun)
    failed = False
    _testcapi.set_nomemory(k - 1, k)
    try:
        engine.start(child, coro)
    except MemoryError:
        failed = True
    _testcapi.remove_mem_hooks()
    for _ in range(3):
        await asyncio.sleep(0)
    if failed:
        assert not begun and child.told is None, (k, begun, child.told)
        assert coro.cr_running is False and coro.cr_frame is None, "it is left to be run"
    else:
        assert begun and child.told == ("value", None), (k, begun, child.told)
    return failed


async def main():
    await attempt(1 << 30)
    n = 0
    failures = 0
    while n < 60:
        n += 1
        failures += await attempt(n)
    print("FAILURES", failures)


engine.run(main())
