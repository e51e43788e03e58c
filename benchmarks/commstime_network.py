"""The network of CommsTime, for any library; see benchmarks.commstime.

The process bodies are written once, with async and await; `benchmarks.plain` has those for plain
calls. Every value is checked.
"""


def deltas(csp):
    """The deltas by name."""
    process = csp.process
    Parallel = csp.Parallel

    @process
    async def seq_delta(cin, cout0, cout1):
        while True:
            v = await cin()
            await cout0(v)
            await cout1(v)

    @process
    async def par_delta(cin, cout0, cout1):
        while True:
            v = await cin()
            await Parallel(cout0.alt_pending_write(v), cout1.alt_pending_write(v))

    @process
    async def writer(cout, v):
        await cout(v)

    @process
    async def par_proc_delta(cin, cout0, cout1):
        while True:
            v = await cin()
            await Parallel(writer(cout0, v), writer(cout1, v))

    @process
    async def operations_delta(cin, cout0, cout1):
        # The asyncio ancestor's: an operation is a coroutine, so it needs no process around it.
        while True:
            v = await cin()
            await Parallel(cout0(v), cout1(v))

    return {"seq": seq_delta, "par": par_delta, "par-proc": par_proc_delta,
            "operations": operations_delta}


def bodies(csp):
    """The other processes."""
    process = csp.process

    @process
    async def prefix(cin, cout):
        await cout(0)
        while True:
            await cout(await cin())

    @process
    async def successor(cin, cout):
        while True:
            await cout(await cin() + 1)

    @process
    async def consumer(cin, channels, n, meter):
        first = await cin() + 1
        if meter.warming:
            for value in range(first, first + n):
                meter.fault(await cin() != value)
            value = first + n
            while meter.slicing(200, 4):
                meter.fault(await cin() != value)
                value += 1
        else:
            meter.start()
            for value in range(first, first + n):
                if await cin() != value:
                    meter.fault()
            meter.stop(4 * n)
        for ch in channels:
            ch.poison()

    return prefix, successor, consumer


def ring(csp, prefix, delta, successor):
    """(Its four channels, the last of which is to be read; its processes but for the reader)."""
    channels = a, b, c, d = [csp.Channel(name) for name in "abcd"]
    return channels, [prefix(c.read, a.write), delta(a.read, b.write, d.write),
                      successor(b.read, c.write)]


def network(csp, processes, delta, n, meter, idle=0, waits=None):
    """Its four processes, and so many idle ones, to be run."""
    prefix, successor, consumer = processes
    channels, others = ring(csp, prefix, delta, successor)
    quiet = [csp.Channel("idle") for _ in range(idle)]
    others.extend([waits(ch.read) for ch in quiet])
    return others + [consumer(channels[3].read, channels + quiet, n, meter)]
