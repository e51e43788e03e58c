"""What latency measures in an asyncio task: sleeps, and a stream that a thread writes to.

In a file of its own, to spare a board's heap where processes are threads.
"""

import _thread
import sys
import time

from benchmarks import latency

try:
    import asyncio
except ImportError:  # MicroPython before 1.21
    import uasyncio as asyncio

if hasattr(asyncio, "sleep_ms"):
    sleep_ms = asyncio.sleep_ms
else:

    def sleep_ms(ms):
        """As MicroPython's, to be awaited."""
        return asyncio.sleep(ms / 1000)


async def sleeps(ms, watch, samples, n):
    """Takes n samples of sleeps of ms milliseconds."""
    for _ in range(n):
        begun = watch.read_us()
        await sleep_ms(ms)
        samples.take(int(watch.read_us() - begun) - 1000 * ms)


async def reads(ms, watch, samples, n):
    """Takes n samples of bytes that a thread writes every ms milliseconds."""
    mine, other = sockets()
    stamps = [0] * n
    if hasattr(asyncio, "open_connection") and sys.implementation.name == "cpython":
        reader, writer = await asyncio.open_connection(sock=mine)
    else:
        reader = asyncio.StreamReader(mine)
        writer = mine
    _thread.start_new_thread(_writes, (other, ms, watch, stamps))
    try:
        for i in range(n):
            byte = await reader.readexactly(1)
            samples.take(int(watch.read_us() - stamps[i]))
            samples.fault(byte[0] != i & 255)
    finally:
        writer.close()


def _writes(sock, ms, watch, stamps):
    try:
        for i in range(len(stamps)):
            latency.sleep_ms(ms)
            stamps[i] = watch.read_us()
            sock.send(bytes([i & 255]))
    except OSError:     # who reads has failed, and says so
        pass
    finally:
        sock.close()


def sockets():
    """Two sockets that are connected; OSError where there is no way to."""
    try:
        import socket
    except ImportError:
        raise OSError("there are no sockets")
    if hasattr(socket, "socketpair"):
        return socket.socketpair()
    listener = socket.socket()
    try:
        address = _bind(socket, listener)
        listener.listen(1)
        other = socket.socket()
        other.connect(address)
        mine = listener.accept()[0]
    finally:
        listener.close()
    # TCP_NODELAY: else a byte is held back until the one before is acknowledged, up to 40 ms.
    other.setsockopt(6, 1, 1)
    return mine, other


def _bind(socket, listener):
    # To a free port from which on depends on the time: others may look for one, too.
    first = 20000 + time.ticks_us() % 20000
    for port in range(first, first + 100):
        address = socket.getaddrinfo("127.0.0.1", port)[0][-1]
        try:
            listener.bind(address)
        except OSError:
            if port == first + 99:
                raise
        else:
            return address


async def _gives_way(going):
    count = 0
    while going[0]:
        count += 1
        await sleep_ms(0)
    return count


async def _beside_a_task(waits, ms, watch, samples, n):
    going = [True]
    task = asyncio.create_task(_gives_way(going))
    await waits(ms, watch, samples, n)
    going[0] = False
    return await task


def floor(waits, ms, watch, samples, n):
    """Waits beside a task that gives way for ever; how often that one did."""
    return asyncio.run(_beside_a_task(waits, ms, watch, samples, n))


def in_task(csp, waits):
    """A process that waits in an asyncio task, and then says that it has."""

    @csp.process
    async def body(quiet, ms, watch, samples, going, n):
        await asyncio.create_task(waits(ms, watch, samples, n))
        going[0] = False

    return body
