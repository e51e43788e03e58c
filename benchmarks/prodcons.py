"""Producers and consumers: the time of a message from one or several to one or several.

    producer 0    ---+              +---> consumer 0
    ...              +---> data ----+     ...
    producer P-1  ---+              +---> consumer C-1

Shapes are 1-1, 1-n, n-1 and n-n, where n stands for `others`; `data` is a Channel (rendezvous) or
a BufferedChannel that holds `capacity` values (buffered), which the thesis's designs lack. A
director, which measures, lets all of them begin and waits for the consumers: that takes a message
for each producer and two for each consumer, beside the n it measures. Each consumer reads the same
share of them. Every value has to come exactly once.
"""

from benchmarks import libs
from benchmarks.harness import Meter, Table


class Ledger:
    """Which of the values from 0 to n - 1 have come: a reader does `marks[value] += 1`."""

    def __init__(self, n):
        self.marks = bytearray(n)

    def close(self, n, meter):
        """Each of the first n has come exactly once, or it is a fault; from now on none has."""
        marks = self.marks
        for value in range(n):
            if marks[value] != 1:
                meter.fault()
            marks[value] = 0


def bodies(csp):
    """The director, the producer and the consumer."""
    process = csp.process

    @process
    async def producer(go, cout, first, step):
        while True:
            for value in range(first, await go(), step):
                await cout(value)

    @process
    async def consumer(go, cin, done, marks, among, meter):
        while True:
            share = await go() // among
            try:
                for i in range(share):
                    marks[await cin()] += 1
            except (IndexError, TypeError, ValueError):  # a value that nobody has written
                meter.fault()
                for _ in range(i + 1, share):  # the producers go on
                    await cin()
            await done(0)

    @process
    async def director(starts, done, consumers, channels, ledger, sizes, meter):
        warm, part, n = sizes

        async def exchange(total):
            for start in starts:
                await start(total)
            for _ in range(consumers):
                await done()

        await exchange(warm)
        ledger.close(warm, meter)
        while meter.slicing(10, part):
            await exchange(part)
            ledger.close(part, meter)
        while meter.next():
            meter.start()
            await exchange(n)
            meter.stop(n)
            ledger.close(n, meter)
        for ch in channels:
            ch.poison()

    return director, producer, consumer


def _parties(shape, others):
    return [1 if word == "1" else others for word in shape.split("-")]


def _messages(sizes):
    # Whole shares for each party.
    others = sizes["others"]
    return (sizes["n"] + others - 1) // others * others


def _row(table, lib, api, form, shape, sizes):
    csp = libs.load(lib, api, sizes["thesis_queue"])
    if libs.is_plain(lib, api):
        from benchmarks import plain_prodcons
        processes = plain_prodcons.bodies(csp)
    else:
        processes = bodies(csp)
    director, producer, consumer = processes
    others = sizes["others"]
    producers, consumers = _parties(shape, others)
    capacity = 0 if form == "rendezvous" else sizes["capacity"]
    # What is counted in bytes has to fit a board's heap.
    n = _messages(sizes)
    warm = (n // 10 + others - 1) // others * others
    part = min(n, max(1, min(1000, n // 2) // others) * others)
    variant = "{}-{}".format(form, shape)
    meter = Meter("prodcons {} {} {}".format(lib, api or "", variant), sizes["runs"])
    ledger = Ledger(n)
    data = csp.BufferedChannel("data", capacity) if capacity else csp.Channel("data")
    done = csp.Channel("done")
    goes = [csp.Channel("go{}".format(i)) for i in range(producers + consumers)]
    procs = [director([go.write for go in goes], done.read, consumers, [data, done] + goes,
                      ledger, (warm, part, n), meter)]
    for i in range(producers):
        procs.append(producer(goes[i].read, data.write, i, producers))
    for i in range(consumers):
        procs.append(consumer(goes[producers + i].read, data.read, done.write, ledger.marks,
                              consumers, meter))
    csp.run(*procs)
    base = libs.compared_with(lib)
    table.row(lib, variant, n, meter, api, ("others", others), base and (base, variant),
              more=(("capacity", capacity),))


def main(chosen, apis, sizes):
    """Prints a row for each library, form and shape; raises WrongResult."""
    table = Table("prodcons", "us per message, n={} runs={} others={} capacity={}".format(
        _messages(sizes), sizes["runs"], sizes["others"], sizes["capacity"]))
    if "buffered" in sizes["form"]:
        for lib, api in libs.each(chosen, apis):
            if not libs.is_thesis(lib):
                libs.load(lib, api).BufferedChannel  # like libs.load_early
    for lib, api in libs.each(chosen, apis):
        for form in sizes["form"]:
            if form == "buffered" and libs.is_thesis(lib):
                continue
            for shape in sizes["shape"]:
                _row(table, lib, api, form, shape, sizes)
