"""Waiting queue: what processes that wait on futures cost those that work.

    +---> first ---> second ---+         waiter 1 .. waiter K
    |                          |         each waits on a future
    +--------------------------+

Two successors pass a number back and forth while K processes wait: a rescheduling future takes its
process off the run queue, a yielding one lets it pass through the queue again and again. A thread
waits in a read of a channel of its own, whose variant is called channel. In the end every future
is set, and every waiter has to get its own number.
"""

from benchmarks import libs
from benchmarks.harness import Meter, Table


def bodies(csp, new_future):
    """The processes. `new_future` makes what a waiter waits on, unless it waits on a channel."""
    process = csp.process

    @process
    async def waits_on_channel(number, cin, wakers, ready):
        await ready(0)
        return await cin() == number

    @process
    async def waits_on_future(number, cin, wakers, ready):
        future = new_future()
        wakers[number] = future.set_result
        await ready(0)
        return await future == number

    @process
    async def first(cin, cout, ready, wakers, n, meter):
        for _ in wakers:
            await ready()
        value = 0
        for value in range(0, n // 10, 2):
            await cout(value)
            meter.fault(await cin() != value + 1)
        while meter.slicing(100, 2):
            await cout(value)
            meter.fault(await cin() != value + 1)
        while meter.next():
            meter.start()
            for value in range(0, n, 2):
                await cout(value)
                if await cin() != value + 1:
                    meter.fault()
            meter.stop(n)
        for number in range(len(wakers)):
            if new_future is None:
                await wakers[number](number)
            else:
                wakers[number](number)
        cout.poison()

    @process
    async def second(cin, cout):
        while True:
            await cout(await cin() + 1)

    return (waits_on_channel if new_future is None else waits_on_future), first, second


def _future_maker(lib, kind):
    if kind == "channel":
        return None
    if libs.is_thesis(lib):
        from benchmarks.thesis import uapycsp
        return uapycsp.create_future
    import ufuture
    return ufuture.YieldingFuture if kind == "yielding" else ufuture.Future


def _messages(sizes):
    # There and back: an even number.
    return sizes["n"] + sizes["n"] % 2


def _row(table, lib, api, kind, waiters, sizes):
    csp = libs.load(lib, api, sizes["thesis_queue"])
    if libs.is_plain(lib, api):
        from benchmarks import plain
        processes = plain.waiting_queue(csp)
    else:
        processes = bodies(csp, _future_maker(lib, kind))
    waiter, first, second = processes
    n = _messages(sizes)
    meter = Meter("waiting_queue {} {} {} {}".format(lib, api or "", kind, waiters),
                  sizes["runs"])
    there = csp.Channel("there")
    back = csp.Channel("back")
    ready = csp.Channel("ready")
    channels = [csp.Channel("w{}".format(i)) for i in range(waiters)]
    wakers = [ch.write for ch in channels]
    procs = [first(back.read, there.write, ready.read, wakers, n, meter),
             second(there.read, back.write)]
    for number in range(waiters):
        procs.append(waiter(number, channels[number].read, wakers, ready.write))
    results = csp.run(*procs)
    meter.fault(results[2:] != [True] * waiters)
    base = libs.compared_with(lib)
    base_kind = kind if kind == "channel" else "rescheduling"
    table.row(lib, kind, n, meter, api, ("waiters", waiters), base and (base, base_kind))


def _kinds(lib, futures):
    if lib.endswith("upycsp"):
        return ("channel",)
    if libs.is_thesis(lib):
        kind = lib.split("-")[-1]
        return (kind,) if kind in futures else ()
    return futures


def main(chosen, apis, sizes):
    """Prints a row for each library, future and number of waiters; raises WrongResult."""
    table = Table("waiting_queue", "us per message, n={} runs={}".format(
        _messages(sizes), sizes["runs"]))
    for lib, api in libs.each(chosen, apis):
        for kind in _kinds(lib, sizes["future"]):
            for waiters in sizes["waiters"]:
                _row(table, lib, api, kind, waiters, sizes)
