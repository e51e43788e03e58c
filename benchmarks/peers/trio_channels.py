"""Trio's memory channels without a buffer, which are rendezvous channels (CPython)."""

import trio

from benchmarks import peers

LIB = "trio-channels"


# --- CommsTime

async def prefix(c, a):
    await a.send(0)
    async for v in c:
        await a.send(v)


async def delta(a, b, d):
    async for v in a:
        await b.send(v)
        await d.send(v)


async def successor(b, c):
    async for v in b:
        await c.send(v + 1)


async def consumer(d, n, meter):
    first = await d.receive() + 1
    meter.start()
    for value in range(first, first + n):
        if await d.receive() != value:
            meter.fault()
    meter.stop(4 * n)


async def ring(n, meter):
    (to_a, a), (to_b, b), (to_c, c), (to_d, d) = [trio.open_memory_channel(0) for _ in range(4)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(prefix, c, to_a)
        nursery.start_soon(delta, a, to_b, to_d)
        nursery.start_soon(successor, b, to_c)
        await consumer(d, n, meter)
        nursery.cancel_scope.cancel()


def commstime(n, runs):
    """Prints its row."""
    peers.measure("commstime", LIB, "seq", n, runs, peers.each_run(
        lambda n, meter: trio.run(ring, n, meter)))


# --- choice: Trio has none; all writers send into one channel

async def writer(source, send, written):
    value = 0
    while True:
        await send.send((source, value))
        written[0] += 1
        written[1] += value
        value += 1


async def choose(channels, writers, n, meter):
    send, receive = trio.open_memory_channel(0)
    written = []
    count = total = 0
    async with trio.open_nursery() as nursery:
        for source in range(channels):
            for _ in range(writers):
                written.append([0, 0])
                nursery.start_soon(writer, source, send, written[-1])
        for _ in range(n // 10):
            _, v = await receive.receive()
            total += v
            count += 1
        while meter.next():
            meter.start()
            for _ in range(n):
                _, v = await receive.receive()
                total += v
            meter.stop(n)
            count += n
        nursery.cancel_scope.cancel()
    peers.compare(meter, (count, total), written)


def stressed_alt(channels, writers, selects, runs):
    """Prints its row."""
    peers.measure("stressed_alt", LIB, "{}x{}-select".format(channels, writers), selects, runs,
                  lambda n, meter: trio.run(choose, channels, writers, n, meter))
