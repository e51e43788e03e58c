"""CommsTime: the time of one communication, from a number going round.

    Prefix ---- a ---> Delta2 ---- d ---> consumer
      ^                   |
      c                   b
      |                   v
      +---- Successor <---+

Each message the consumer reads took four communications. The delta writes its two outputs one
after the other (seq), or both at once: as two guards posted together (par), or as two writer
processes for each message (par-proc), which is what the thesis's designs do for par.

Beside the network any number of idle processes may wait, each at a channel of its own.

The process bodies are written once, with async and await; `benchmarks.plain` has those for plain
calls. Every value is checked.
"""

from benchmarks import libs, waiter
from benchmarks.harness import Meter, Table


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


def _thesis_delta(lib, delta):
    # The thesis's one parallel delta, in the cheapest form that its library offers.
    if delta == "seq":
        return delta
    return "par-proc" if lib == "thesis-upycsp" else "operations"


def measured(lib, api, delta, sizes):
    """The Meter of a row."""
    csp = libs.load(lib, api, sizes["thesis_queue"])
    if libs.is_plain(lib, api):
        from benchmarks import plain
        processes = plain.commstime(csp)
        by_name = plain.commstime_deltas(csp)
    else:
        processes = bodies(csp)
        by_name = deltas(csp)
    thesis = libs.is_thesis(lib)
    form = by_name[_thesis_delta(lib, delta) if thesis else delta]
    n = sizes["n"]
    title = "commstime {} {} {}".format(lib, api or "", delta)
    idle = sizes["idle"], waiter.of(csp, libs.is_plain(lib, api))
    warm = Meter(title)
    csp.run(*network(csp, processes, form, max(1, n // 10), warm, *idle))
    meter = Meter(title, sizes["runs"])
    meter.warmed(warm)
    while meter.next():
        csp.run(*network(csp, processes, form, n, meter, *idle))
    return meter


def _row(table, lib, api, delta, sizes):
    meter = measured(lib, api, delta, sizes)
    base = libs.compared_with(lib)
    idle = ("idle", sizes["idle"]) if sizes["idle"] else None
    table.row(lib, delta, sizes["n"], meter, api, idle,
              base=base and (base, delta if delta in ("seq", "par-proc") else "par"))


def _floor_rows(table, lib, sizes):
    from benchmarks import floor
    n = sizes["n"]
    for name, measure in floor.BY_NAME[lib]:
        meter = Meter("commstime " + name, sizes["runs"])
        while meter.next():
            measure(n, meter)
        table.row(name, "seq", n, meter)


def main(chosen, apis, sizes):
    """Prints a row for each library and delta; raises WrongResult."""
    table = Table("commstime", "us per communication (a cycle / 4), n={} runs={}".format(
        sizes["n"], sizes["runs"]))
    for lib, api in libs.each(chosen, apis):
        for delta in sizes["delta"]:
            _row(table, lib, api, delta, sizes)
    if "seq" in sizes["delta"]:
        for lib in chosen:
            if lib in libs.FLOORS:
                _floor_rows(table, lib, sizes)
