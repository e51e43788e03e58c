"""CommsTime and choice, side by side with what a user would pick instead.

    python tools/peers.py               # five minutes; writes docs/results/peers.{json,md,png}
    python tools/peers.py --quick --out /tmp/peers

Every row is measured by interpreters of its own, in several rounds that each go through all rows.
What is not there (Trio, Go) is left out, which is said. benchmarks/peers has the programs.
"""

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import commands  # noqa: E402
import report  # noqa: E402
import report_machine  # noqa: E402
import report_page  # noqa: E402

ROOT = report_machine.ROOT

FULL = {"rounds": 5, "commstime": {"n": 5000, "runs": 50}, "stressed_alt": {"n": 5000, "runs": 50}}
QUICK = {"rounds": 1, "commstime": {"n": 100, "runs": 2}, "stressed_alt": {"n": 100, "runs": 2}}
SHAPES = ((5, 2), (100, 5))

# (library, port) of each row; all that runs on one port is compared with uapycsp there.
ROWS = (
    ("uapycsp", "micropython"), ("upycsp", "micropython"), ("asyncio-queue", "micropython"),
    ("uapycsp", "cpython"), ("upycsp", "cpython"), ("asyncio-queue", "cpython"),
    ("trio-channels", "cpython"), ("thread-queue", "cpython"), ("go-channels", "go"),
)
LIBRARIES = ("uapycsp", "upycsp")
PORTS = {"micropython": "MicroPython", "cpython": "CPython", "go": "Go"}

# What stands for a choice in each.
CHOICES = {
    ("uapycsp", "micropython"): "`Alternative`", ("upycsp", "micropython"): "`Alternative`",
    ("uapycsp", "cpython"): "`Alternative`", ("upycsp", "cpython"): "`Alternative`",
    ("asyncio-queue", "micropython"): "one event for all queues, which are then looked through",
    ("asyncio-queue", "cpython"): "`asyncio.wait` for a task at each queue",
    ("trio-channels", "cpython"): "none: one channel for all",
    ("thread-queue", "cpython"): "none: one queue for all",
    ("go-channels", "go"): "`select` of 5, `reflect.Select` of 100",
}


class Job:
    """One interpreter, or Go program, that measures one row."""

    one_cpu = False

    def __init__(self, lib, port, bench, shape, sizes, go):
        self.lib = lib
        self.port = port
        self.bench = bench
        self.shape = shape
        self.n = sizes[bench]["n"]
        self.runs = sizes[bench]["runs"]
        self.go = go

    def __str__(self):
        return "{} {} on {}".format(self.bench, self.lib, PORTS[self.port])

    def command(self, micropython, rounds):
        runs = max(1, self.runs // rounds)
        if self.port == "go":
            return [str(self.go), self.bench] + [
                str(v) for v in (*(self.shape or ()), self.n, runs)]
        command = [sys.executable]
        if self.port == "micropython":
            command = [micropython, "-X", "heapsize=2M"]
        if self.lib in LIBRARIES:
            keys = {"lib": self.lib, "api": "plain", "baselines": "no", "runs": runs,
                    "samples": "yes"}
            if self.shape:
                keys.update(channels=self.shape[0], writers=self.shape[1], selects=self.n,
                            form="select")
            else:
                keys.update(n=self.n, delta="seq")
            return command + ["main.py", self.bench] + ["{}={}".format(*kv) for kv in keys.items()]
        call = "{}({})".format(self.bench, ", ".join(
            str(v) for v in (*(self.shape or ()), self.n, runs)))
        return command + ["-c", "from benchmarks.peers import {} as peer; peer.{}".format(
            self.lib.replace("-", "_"), call)]


def build_go():
    """The Go program, or None where there is no go that can build it."""
    go = shutil.which("go")
    if go is None:
        return None
    program = ROOT / "build" / "peers-go"
    done = subprocess.run(
        [go, "build", "-o", str(program), "."], cwd=ROOT / "benchmarks" / "peers" / "go",
        env=dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-mod=mod"), stdin=subprocess.DEVNULL)
    return program if done.returncode == 0 else None


def jobs(sizes, rows, go):
    """All jobs of a round; rows to be compared are neighbours in time."""
    found = []
    for bench, shape in [("commstime", None)] + [("stressed_alt", shape) for shape in SHAPES]:
        found.extend(Job(lib, port, bench, shape, sizes, go) for lib, port in rows)
    return found


def columns(rows):
    """{(lib, port): {"seq": row, "5x2-select": row, ...}} in the order of ROWS."""
    found = {}
    ports = {"unix": "micropython"}
    for row in rows:
        r = row["result"]
        found.setdefault((r["lib"], ports.get(r["port"], r["port"])), {})[r["variant"]] = row
    return {key: found[key] for key in ROWS if key in found}


VARIANTS = ("seq",) + tuple("{}x{}-select".format(*shape) for shape in SHAPES)


def table(measured):
    """The table as Markdown: medians in us, and how much faster uapycsp is on the same port."""
    head = ("", "port", "choice by", "CommsTime", "") + tuple(
        cell for c, w in SHAPES for cell in ("{} x {}".format(c, w), ""))
    lines = []
    for (lib, port), row in measured.items():
        line = [lib, PORTS[port], CHOICES[lib, port]]
        for variant in VARIANTS:
            us = row[variant]["us_median"]
            own = measured.get(("uapycsp", port), {}).get(variant)
            line.append(report_page.figure(us))
            line.append("" if own is None or lib == "uapycsp" else
                        "{:.2f} x".format(us / own["us_median"]))
        lines.append(line)
    return report_page.table(head, lines, 3)


def page(result):
    """The page docs/results/peers.md."""
    m, v = result["machine"], result["versions"]
    versions = ["{} {}".format(name, v[key]) for name, key in (
        ("CPython", "cpython"), ("Trio", "trio"), ("Go", "go")) if v.get(key)]
    commit = (result["commit"] or "unknown")[:12] + (
        ", with uncommitted changes" if result["uncommitted_changes"] else "")
    p = result["parameters"]
    return """# Beside what a user would pick instead

`make bench-peers` printed this: medians in µs of a communication of CommsTime (sequential delta,
n={n}, {runs} runs) and of a choice among 5 channels with 2 writers each and 100 with 5
(n={selects}, {alt_runs} runs), in {rounds} round(s) that each went through all rows. Beside each
median: how many times uapycsp's on the same port it is. A queue of one element is no rendezvous:
its writer goes on, so it asks less. `benchmarks/peers` has the programs.

{table}
![CommsTime and choice beside peers](peers.png)

{cpu}, {processors} processors, {system} {kernel} {architecture}; {micropython}, heap 2 MB,
{versions}; commit {commit}, {date}.
""".format(n=p["commstime"]["n"], runs=p["commstime"]["runs"], selects=p["stressed_alt"]["n"],
           alt_runs=p["stressed_alt"]["runs"], rounds=p["rounds"],
           table=table(columns(result["rows"])), micropython=v["micropython"],
           versions=", ".join(versions), commit=commit, date=result["date"],
           **{k: m[k] for k in ("cpu", "processors", "system", "kernel", "architecture")})


def draw(measured, path):
    """The plot: a panel for CommsTime and one for choice, both logarithmic."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import ScalarFormatter

    colours = {"uapycsp": "#08519c", "upycsp": "#a63603", "asyncio-queue": "#6baed6",
               "trio-channels": "#74c476", "thread-queue": "#fdae6b", "go-channels": "#969696"}
    figure, panels = plt.subplots(1, 2, figsize=(12, 5), sharey=True)
    keys = list(measured)[::-1]
    for axes, variants, title in (
            (panels[0], VARIANTS[:1], "CommsTime, sequential delta"),
            (panels[1], VARIANTS[1:], "choice: 5 channels x 2 writers; hatched 100 x 5")):
        height = 0.8 / len(variants)
        for at, key in enumerate(keys):
            for i, variant in enumerate(variants):
                us = measured[key][variant]["us_median"]
                y = at + 0.4 - (i + 0.5) * height
                axes.barh(y, us, height * 0.92, color=colours[key[0]], edgecolor="white",
                          hatch="///" if i else "", linewidth=0.5)
                axes.text(us, y, " " + report_page.figure(us), va="center", fontsize=8)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.margins(x=0.1)
        axes.set_xlabel("µs (median), logarithmic")
        axes.set_title(title, fontsize=10)
        axes.grid(axis="x", linewidth=0.3)
        axes.set_axisbelow(True)
    panels[0].set_yticks(range(len(keys)))
    panels[0].set_yticklabels(["{}\n{}".format(lib, PORTS[port]) for lib, port in keys],
                              fontsize=8)
    figure.tight_layout()
    figure.savefig(str(path), dpi=110, bbox_inches="tight")
    plt.close(figure)


def _version(command):
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return done.stdout.strip()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    parser.add_argument("--out", default=str(ROOT / "docs" / "results"), type=commands.folder,
                        help="where to write")
    parser.add_argument("--redraw", action="store_true", help="page and plot from peers.json")
    args = parser.parse_args(arguments)
    out = args.out
    stored = out / "peers.json"
    if args.redraw:
        result = commands.stored(parser, stored)
    else:
        micropython = report_machine.need_micropython()
        go = build_go()
        trio = importlib.util.find_spec("trio") is not None
        rows = [(lib, port) for lib, port in ROWS
                if (go or port != "go") and (trio or lib != "trio-channels")]
        for there, name in ((trio, "Trio"), (go, "Go")):
            if not there:
                print("no {} here: its row is left out".format(name))
        sizes = QUICK if args.quick else FULL
        result = report_machine.surroundings(micropython)
        result["parameters"] = sizes
        if trio:
            result["versions"]["trio"] = _version(
                [sys.executable, "-c", "import trio; print(trio.__version__)"])
        if go:
            result["versions"]["go"] = _version(["go", "env", "GOVERSION"]).replace("go", "")
        try:
            result["rows"] = report.measure(jobs(sizes, rows, go), micropython, sizes["rounds"],
                                            20 if args.quick else 420)
        except report.Failed as e:
            sys.exit("\n{}".format(e))
        out.mkdir(parents=True, exist_ok=True)
        stored.write_text(report.dump(result))
    measured = columns(result["rows"])
    print(table(measured))
    (out / "peers.md").write_text(page(result))
    draw(measured, out / "peers.png")
    for name in ("peers.md", "peers.png"):
        print("wrote", out / name)


if __name__ == "__main__":
    sys.exit(commands.ended(main))
