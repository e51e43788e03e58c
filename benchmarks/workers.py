"""Workers: JSON messages to several workers and back, with work between.

              +---- to0 ---> worker 0 ---- from0 ---+
    asker ----+---- to1 ---> worker 1 ---- from1 ---+---> asker
              +---- ...                             |

For each number the asker writes a message to every worker, then reads every worker's answer; all
of them are made into JSON before they are sent, and parsed after. What the workers do in between
is in `benchmarks.work`, compiled to bytecode, native code and viper code. us per pair of messages,
of which there are so many times n in a run; so twice as many workers take half of it where they
run at once.

The rows of no-library do the same without CSP: one process calls a function with the same JSON.
Every answer is checked.
"""

from benchmarks import libs, plain_workers
from benchmarks.harness import Meter, Table
from benchmarks.work import answer, compiled, expected, is_right, question


def bodies(csp):
    """The worker and the asker."""
    process = csp.process

    @process
    async def worker(cin, cout, work):
        while True:
            await cout(answer(await cin(), work))

    @process
    async def asker(couts, cins, results, channels, counts, meter):
        workers = range(len(couts))
        n = len(results) - 1

        async def exchange(numbers):
            for number in numbers:
                for w in workers:
                    await couts[w](question(w, number))
                for w in workers:
                    if not is_right(await cins[w](), w, number, results[number]):
                        meter.fault()

        await exchange(range(1, n // 10 + 1))
        number = 0
        while counts and meter.slicing(min(n, 50), len(couts)):
            number += 1
            await exchange((number,))
        while meter.next():
            meter.start()
            await exchange(range(1, n + 1))
            meter.stop(n * len(couts))
        for ch in channels:
            ch.poison()

    return worker, asker


def _counts(name):
    # The bytes are counted while nothing is collected, and the blocks would fill the heap.
    return name != "blocks"


def _row(table, lib, api, case, workers, sizes, base):
    name, emitter, work, results = case
    csp = libs.load(lib, api, sizes["thesis_queue"])
    worker, asker = (plain_workers.workers if libs.is_plain(lib, api) else bodies)(csp)
    variant = name + "-" + emitter
    meter = Meter("workers {} {} {} {}".format(lib, api or "", variant, workers), sizes["runs"])
    to = [csp.Channel("to{}".format(w)) for w in range(workers)]
    back = [csp.Channel("from{}".format(w)) for w in range(workers)]
    csp.run(asker([ch.write for ch in to], [ch.read for ch in back], results, to + back,
                  _counts(name), meter),
            *[worker(to[w].read, back[w].write, work) for w in range(workers)])
    table.row(lib, variant, len(results) - 1, meter, api, ("workers", workers), base)


def _exchange(numbers, work, results, meter):
    for number in numbers:
        if not is_right(answer(question(0, number), work), 0, number, results[number]):
            meter.fault()


def _no_library_row(table, case, sizes, base):
    name, emitter, work, results = case
    variant = name + "-" + emitter
    n = len(results) - 1
    meter = Meter("workers {} {}".format(libs.NO_LIBRARY, variant), sizes["runs"])
    _exchange(range(1, n // 10 + 1), work, results, meter)
    number = 0
    while _counts(name) and meter.slicing(min(n, 50), 1):
        number += 1
        _exchange((number,), work, results, meter)
    while meter.next():
        meter.start()
        _exchange(range(1, n + 1), work, results, meter)
        meter.stop(n)
    table.row(libs.NO_LIBRARY, variant, n, meter, None, ("workers", 1),
              base if variant != base[1] else None)


def main(chosen, apis, sizes):
    """Prints a row for each work, emitter, library and number of workers; raises WrongResult.

    An emitter that this interpreter's compiler lacks has no rows, which is said.
    """
    table = Table("workers", "us per pair of messages, runs={}".format(sizes["runs"]),
                  "against no library's bytecode")
    missing = [e for e in sizes["emitter"] if compiled("none", e) is None]
    for name, n in zip(sizes["work"], sizes["n"]):
        results = expected(name, n)
        base = (libs.NO_LIBRARY, name + "-bytecode", ("workers", 1))
        for emitter in sizes["emitter"]:
            if emitter in missing:
                continue
            case = name, emitter, compiled(name, emitter), results
            if sizes["baselines"]:
                _no_library_row(table, case, sizes, base)
            for lib, api in libs.each(chosen, apis):
                for workers in sizes["workers"]:
                    _row(table, lib, api, case, workers, sizes, base)
    if missing:
        print("\nworkers: no rows for {}, which this interpreter's compiler does not have".format(
            " and ".join(missing)))
