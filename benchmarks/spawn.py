"""Spawn: the time from making a process until its end is known; the process does nothing.

    parallel    Parallel of so many processes at once
    spawn       so many, each by Spawn, then joined one after the other

us per process. Every value that a process returns is checked. floor-asyncio and floor-threads are
what the port itself has: a task that is awaited, a thread that releases a lock at its end.
"""

import _thread

from benchmarks import libs
from benchmarks.harness import Meter, Table


def bodies(csp):
    """The measuring processes by form."""
    process = csp.process
    Parallel = csp.Parallel
    Spawn = getattr(csp, "Spawn", None)  # the thesis's designs have none

    @process
    async def echo(value):
        return value

    @process
    async def parallel(at_once, n, meter):
        numbers = list(range(at_once))
        for _ in range(n // 10):
            meter.fault(await Parallel(*[echo(i) for i in numbers]) != numbers)
        while meter.slicing(50, at_once):
            meter.fault(await Parallel(*[echo(i) for i in numbers]) != numbers)
        while meter.next():
            meter.start()
            for _ in range(n):
                if await Parallel(*[echo(i) for i in numbers]) != numbers:
                    meter.fault()
            meter.stop(n * at_once)

    @process
    async def spawn(at_once, n, meter):
        numbers = list(range(at_once))
        for _ in range(n // 10):
            handles = [Spawn(echo(i)) for i in numbers]
            for i in numbers:
                meter.fault(await handles[i].join() != i)
        while meter.slicing(50, at_once):
            handles = [Spawn(echo(i)) for i in numbers]
            for i in numbers:
                meter.fault(await handles[i].join() != i)
        while meter.next():
            meter.start()
            for _ in range(n):
                handles = [Spawn(echo(i)) for i in numbers]
                for i in numbers:
                    if await handles[i].join() != i:
                        meter.fault()
            meter.stop(n * at_once)

    return {"parallel": parallel, "spawn": spawn}


async def _echo(value):
    return value


async def _tasks(asyncio, at_once, n, meter):
    while meter.next():
        meter.start()
        for _ in range(n):
            tasks = [asyncio.create_task(_echo(i)) for i in range(at_once)]
            for i in range(at_once):
                meter.fault(await tasks[i] != i)
        meter.stop(n * at_once)


def _return(value, results, ended):
    results[value] = value
    ended.release()


def _threads(at_once, n, meter):
    ended = [_thread.allocate_lock() for _ in range(at_once)]
    results = [None] * at_once
    for lock in ended:
        lock.acquire()
    while meter.next():
        meter.start()
        for _ in range(n):
            for i in range(at_once):
                _thread.start_new_thread(_return, (i, results, ended[i]))
            for i in range(at_once):
                ended[i].acquire()
                meter.fault(results[i] != i)
                results[i] = None
        meter.stop(n * at_once)


def _meter(lib, api, form, at_once, runs):
    return Meter("spawn {} {} {} {}".format(lib, api or "", form, at_once), runs)


def _row(table, lib, api, form, at_once, sizes):
    csp = libs.load(lib, api, sizes["thesis_queue"])
    if libs.is_plain(lib, api):
        from benchmarks import plain
        by_form = plain.spawn(csp)
    else:
        by_form = bodies(csp)
    meter = _meter(lib, api, form, at_once, sizes["runs"])
    csp.run(by_form[form](at_once, sizes["n"], meter))
    base = libs.compared_with(lib)
    table.row(lib, form, sizes["n"], meter, api, ("at_once", at_once), base and (base, form))


def _floor_row(table, name, at_once, sizes):
    meter = _meter(name, None, "spawn", at_once, sizes["runs"])
    if name == "floor-threads":
        _threads(at_once, sizes["n"], meter)
    else:
        asyncio = libs.asyncio()
        asyncio.run(_tasks(asyncio, at_once, sizes["n"], meter))
    table.row(name, "spawn", sizes["n"], meter, None, ("at_once", at_once))


def main(chosen, apis, sizes):
    """Prints a row for each library, form and number at once; raises WrongResult."""
    table = Table("spawn", "us per process, n={} runs={}".format(sizes["n"], sizes["runs"]))
    for lib, api in libs.each(chosen, apis):
        for form in sizes["form"]:
            if form == "spawn" and libs.is_thesis(lib):
                continue
            for at_once in sizes["at_once"]:
                _row(table, lib, api, form, at_once, sizes)
    for lib in chosen:
        if lib in libs.FLOORS:
            for at_once in sizes["at_once"]:
                _floor_row(table, lib, at_once, sizes)
