"""Stressed alternatives: the time of one select among channels whose writers write for ever.

    W writers ==> channel 0   ---+
    W writers ==> channel 1   ---+---> reader, which selects over all of them
    ...                          |
    W writers ==> channel C-1 ---+

The reader waits until all writers run, and selects: `with alt as (g, v)` or with `alt.select()`,
which take the first channel that is ready, or with `alt.fair_select()`, which the thesis's designs
do not have. It poisons the channels in the end. Every writer then says how many writes succeeded
and their sum, and all of them together have to be what the reader got.

The form `most` looks for how many processes there may be: it deals more and more writers to the
channels until there is no memory or no thread for them. It gives up at `at_most` processes, of
upycsp at `threads`.
"""

import gc

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
    """The reader and its writers, to be run; shape: (channels, writers of each)."""
    return _network(csp, processes, shape[0], shape[0] * shape[1], shape[1], form, n, meter)


def _network(csp, processes, channels, writers, in_a_row, form, n, meter):
    # The writers are dealt to the channels, so many in a row to each.
    writer, reader = processes
    ready = csp.Channel("ready")
    channels = [csp.Channel("c{}".format(i)) for i in range(channels)]
    alt = csp.Alternative(*[ch.read for ch in channels])
    procs = [reader(alt, ready.read, writers, channels, form, n, meter)]
    for i in range(writers):
        procs.append(writer(channels[i // in_a_row % len(channels)].write, ready.write))
    return procs


def verify(results, meter):
    """What the reader got is what the writers wrote, or it is a fault."""
    count, total = results[0]
    meter.fault(count != sum([r[0] for r in results[1:]]))
    meter.fault(total != sum([r[1] for r in results[1:]]))


def _load(lib, api, sizes):
    csp = libs.load(lib, api, sizes["thesis_queue"])
    if libs.is_plain(lib, api):
        from benchmarks import plain
        return csp, plain.stressed_alt(csp)
    return csp, bodies(csp)


def measured(lib, api, shape, form, sizes):
    """The Meter of a row."""
    csp, processes = _load(lib, api, sizes)
    meter = Meter("stressed_alt {} {} {}".format(lib, api or "", variant(shape, form)),
                  sizes["runs"])
    verify(csp.run(*network(csp, processes, shape, form, sizes["selects"], meter)), meter)
    return meter


def variant(shape, form):
    """The name of a row."""
    return "{}x{}-{}".format(shape[0], shape[1], form)


def _try(csp, processes, channels, writers, n):
    # The Meter of a network of so many processes, and None; or None and why there is none.
    try:
        gc.collect()
        meter = Meter("stressed_alt, {} processes".format(writers + 1), 1)
        verify(csp.run(*_network(csp, processes, channels, writers, 1, "select", n, meter)), meter)
    except MemoryError:
        return None, "no memory for more"
    except (RuntimeError, OSError) as e:
        if "thread" not in str(e):
            raise
        return None, str(e)
    finally:
        gc.enable()  # the meter may have been amidst a slice
    return meter, None


def most(csp, processes, channels, at_most, n):
    """Finds the largest network: (number of processes, its Meter, what stopped the search).

    None instead of a Meter if not even one writer fits. What is tried grows by half, so that a
    machine is not asked for much more than it has; then what lies between is halved.
    """
    fits, best, stop = 1, None, None
    beyond = at_most + 1
    tried = min(channels + 1, at_most)
    while tried > fits:
        meter, why = _try(csp, processes, channels, tried - 1, n)
        if meter is None:
            beyond, stop = tried, why
        else:
            fits, best = tried, meter
        tried = (fits + beyond) // 2 if stop else min(fits * 3 // 2 + 1, at_most)
    return fits, best, stop or "no more were tried"


def _most_row(table, lib, api, sizes):
    csp, processes = _load(lib, api, sizes)
    n = max(1, sizes["selects"] // 10)
    at_most = sizes["threads" if lib == "upycsp" else "at_most"]
    # To tell what was found, for what threads have in use stays so: a row takes 5 KB till it is
    # printed. A heap may lack large pieces.
    reserve = [bytearray(512) for _ in range(20)]
    count, meter, stop = most(csp, processes, sizes["channels"][0], at_most, n)
    del reserve
    if meter is None:
        raise MemoryError("two processes")
    table.row(lib, "most", n, meter, api, more=(("processes", count),),
              remark="{} processes; {}".format(count, stop))


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
                if form == "most" or form == "fair" and libs.is_thesis(lib):
                    continue
                _row(table, lib, api, shape, form, sizes)
    # Last of all, for the threads that were found stay. Both ways to use upycsp have the same.
    if "most" in sizes["form"]:
        for lib, api in libs.each(chosen, apis[:1]):
            if not libs.is_thesis(lib):
                _most_row(table, lib, api, sizes)
