"""What MicroPython's asyncio has and CPython's has not: ThreadSafeFlag, streams of a UART."""

import asyncio


class ThreadSafeFlag:
    """For one task that waits; the simulated interrupt calls `set`, in the loop's thread."""

    def __init__(self):
        self._set = False
        self._waits = None

    def set(self):
        self._set = True
        if self._waits is not None and not self._waits.done():
            self._waits.set_result(None)

    def clear(self):
        self._set = False

    async def wait(self):
        while not self._set:
            self._waits = asyncio.get_running_loop().create_future()
            await self._waits
        self._set = False


class Stream:
    def __init__(self, s, e=None):
        self._uart = s
        self._out = b""
        self._arrived = ThreadSafeFlag()
        s._wire.arrived.append(self._arrived.set)

    async def read(self, n=-1):
        while not self._uart.any():
            await self._arrived.wait()
        return self._uart.read(n)

    def write(self, buf):
        self._out += buf

    async def drain(self):
        await asyncio.sleep(0)
        out, self._out = self._out, b""
        self._uart.write(out)


def install():
    """asyncio.open_connection has names of its own for CPython's streams."""
    asyncio.ThreadSafeFlag = ThreadSafeFlag
    asyncio.StreamReader = asyncio.StreamWriter = Stream
