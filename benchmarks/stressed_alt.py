"""Stressed alternatives: the time of one select among channels whose writers write for ever.

    W writers ==> channel 0   ---+
    W writers ==> channel 1   ---+---> reader, which selects over all of them
    ...                          |
    W writers ==> channel C-1 ---+

The reader waits until all writers run, and selects: `with alt as (g, v)` or with `alt.select()`,
which take the first channel that is ready, or with `alt.fair_select()`, which the thesis's designs
do not have. It poisons the channels in the end. Every writer then says how many writes succeeded
and their sum, and all of them together have to be what the reader got.
"""

from benchmarks import libs
from benchmarks.harness import Meter, Table


def bodies(csp):
    """The writer and the reader."""
    process = csp.process
    PoisonException = csp.PoisonException

    @process
    async def writer(cout, ready):
        value = total = 0
        try:
            await ready(0)
            while True:
                await cout(value)
                total += value
                value += 1
        except PoisonException:
            return value, total

    @process
    async def reader(alt, ready, writers, channels, form, n, meter):
        count = total = 0
        for _ in range(writers):
            await ready()
        for _ in range(n // 10):
            g, v = await alt.select()
            total += v
            count += 1
        while meter.slicing(min(n, 1000), 1):
            g, v = await alt.select()
            total += v
            count += 1
        while meter.next():
            meter.start()
            if form == "with":
                for _ in range(n):
                    async with alt as (g, v):
                        total += v
            elif form == "fair":
                for _ in range(n):
                    g, v = await alt.fair_select()
                    total += v
            else:
                for _ in range(n):
                    g, v = await alt.select()
                    total += v
            meter.stop(n)
            count += n
        for ch in channels:
            ch.poison()
        return count, total

    return writer, reader


def network(csp, processes, shape, form, n, meter):
    """The reader and its writers, to be run."""
    writer, reader = processes
    ready = csp.Channel("ready")
    channels = [csp.Channel("c{}".format(i)) for i in range(shape[0])]
    alt = csp.Alternative(*[ch.read for ch in channels])
    procs = [reader(alt, ready.read, shape[0] * shape[1], channels, form, n, meter)]
    for ch in channels:
        for _ in range(shape[1]):
            procs.append(writer(ch.write, ready.write))
    return procs


def verify(results, meter):
    """What the reader got is what the writers wrote, or it is a fault."""
    count, total = results[0]
    meter.fault(count != sum([r[0] for r in results[1:]]))
    meter.fault(total != sum([r[1] for r in results[1:]]))


def measured(lib, api, shape, form, sizes):
    """The Meter of a row."""
    csp = libs.load(lib, api, sizes["thesis_queue"])
    if libs.is_plain(lib, api):
        from benchmarks import plain
        processes = plain.stressed_alt(csp)
    else:
        processes = bodies(csp)
    meter = Meter("stressed_alt {} {} {}".format(lib, api or "", variant(shape, form)),
                  sizes["runs"])
    verify(csp.run(*network(csp, processes, shape, form, sizes["selects"], meter)), meter)
    return meter


def variant(shape, form):
    """The name of a row."""
    return "{}x{}-{}".format(shape[0], shape[1], form)


def _row(table, lib, api, shape, form, sizes):
    meter = measured(lib, api, shape, form, sizes)
    base = libs.compared_with(lib)
    name = variant(shape, form)
    table.row(lib, name, sizes["selects"], meter, api, base=base and (base, name))


def main(chosen, apis, sizes):
    """Prints a row for each library, channels x writers and form; raises WrongResult."""
    table = Table("stressed_alt", "us per select, channels x writers, selects={} runs={}".format(
        sizes["selects"], sizes["runs"]))
    for lib, api in libs.each(chosen, apis):
        for shape in zip(sizes["channels"], sizes["writers"]):
            for form in sizes["form"]:
                if form == "fair" and libs.is_thesis(lib):
                    continue
                _row(table, lib, api, shape, form, sizes)
