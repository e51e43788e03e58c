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
"""

import gc

from benchmarks import libs, waiter
from benchmarks.commstime_network import bodies, deltas, network
from benchmarks.harness import Meter, Table


def _thesis_delta(lib, delta):
    # The thesis's one parallel delta, in the cheapest form that its library offers.
    if delta == "seq":
        return delta
    return "par-proc" if lib == "thesis-upycsp" else "operations"


def measured(lib, api, delta, sizes):
    """The Meter of a row."""
    csp = libs.load(lib, api, sizes["thesis_queue"])
    if libs.is_plain(lib, api):
        gc.collect()  # in an ESP32's heap it has no room beside garbage
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
