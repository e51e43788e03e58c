"""Futures, gather, time limits and a barrier for asyncio, on MicroPython as on CPython.

    from ufuture import create_future, gather, wait_for

    async def main():
        answer = create_future()
        asyncio.create_task(compute(answer))
        print(await wait_for(answer, 0.5))

They are of use without the CSP libraries, in any task of `asyncio.run(main())`. Names are loaded
when they are first used.
"""

_attrs = {
    "Future": "ufuture.future",
    "YieldingFuture": "ufuture.future",
    "create_future": "ufuture.future",
    "InvalidStateError": "ufuture.future",
    "gather": "ufuture.children",
    "wait_for": "ufuture.timeout",
    "wait_for_ms": "ufuture.timeout",
    "Barrier": "ufuture.barrier",
    "VirtualClock": "ufuture.virtual",
    "CancelledError": "ufuture.loop",
    "TimeoutError": "ufuture.loop",
    "sleep_ms": "ufuture.loop",
}

__all__ = tuple(_attrs)


def __getattr__(name):
    if name == "_lazy":
        return True
    module = _attrs.get(name)
    if module is None:
        raise AttributeError(name)
    module = __import__(module, None, None, (name,))
    value = getattr(module.engine if module.__name__ == "ufuture.loop" else module, name)
    globals()[name] = value
    return value


def _load_all():
    for name in _attrs:
        if name not in globals():
            __getattr__(name)


# Firmware that knows no __getattr__ in modules (Pycom's) gets everything at once.
try:
    __import__("ufuture")._lazy
except AttributeError:
    _load_all()
