"""Counts the instructions that operations take, and compares them with those that are kept.

    python tools/perfcheck.py [name ...]     # status 1 if one takes over 3 % more than before,
                                             # or of threads over 10 %
    python tools/perfcheck.py --update       # keep what is counted today

Valgrind's cachegrind counts what the interpreter executes: the same each time, where a time would
differ by much on a busy machine. A benchmark runs with two numbers of operations, and the
difference is divided by theirs, so that starting up does not count. What MicroPython takes to
allocate depends on the holes in its heap, which any change of what is loaded before moves, so all
of them are filled before an operation is counted, and the heap is so large that nothing is
collected. What remains is of where objects lie, up to 3 %, and 9 % of a select of tasks, and of
how many names there are, which the interpreter searches in tables; and threads come in another
order each time, and on a busy machine in worse ones, which makes up to 10 %. So what looks worse
is counted up to six times, with objects lying elsewhere and more names each time, and the least
counts; what is kept is the middle of three, so that it is not itself a lucky one. What is kept,
in benchmarks/instructions.json, is of one interpreter: another version is not compared, which is
said and is no failure.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import commands  # noqa: E402
from harness import interpreters, patience  # noqa: E402

KEPT = ROOT / "benchmarks" / "instructions.json"
WORSE = 1.03
WORSE_OF_THREADS = 1.10
BETTER = 0.97
HEAP = "6M"
FILLED = 20000  # blocks: more than there are holes
LIMIT = 600  # seconds, for a hang

# Each warms up with a tenth of its operations. A message of CommsTime is four communications.
# Threads take more of them, for they come in another order each time.
_COMMSTIME = (("commstime", "n={}"), 100, 400, 4.4)
_OF_THREADS = (("commstime", "n={}"), 100, 1000, 4.4)
_SELECT = (("stressed_alt", "form=select", "selects={}"), 200, 800, 1.1)
_SPAWN = (("spawn", "at_once=10", "n={}"), 10, 40, 11)

# Name: (words of main.py, a number and a larger one of what {} stands for, operations of each).
MEASURES = {
    "uapycsp communication, seq": (*_COMMSTIME, "lib=uapycsp", "delta=seq"),
    "uapycsp communication, par": (*_COMMSTIME, "lib=uapycsp", "delta=par"),
    "uapycsp communication, par-proc": (*_COMMSTIME, "lib=uapycsp", "delta=par-proc"),
    "uapycsp select, 5x2": (*_SELECT, "lib=uapycsp", "channels=5", "writers=2"),
    "uapycsp select, 100x5": (*_SELECT, "lib=uapycsp", "channels=100", "writers=5"),
    "uapycsp process, Parallel": (*_SPAWN, "lib=uapycsp", "form=parallel"),
    "uapycsp process, Spawn": (*_SPAWN, "lib=uapycsp", "form=spawn"),
    "upycsp communication, seq": (*_OF_THREADS, "lib=upycsp", "api=plain", "delta=seq"),
    "upycsp communication, par": (*_OF_THREADS, "lib=upycsp", "api=plain", "delta=par"),
    "upycsp.aio communication, seq": (*_OF_THREADS, "lib=upycsp", "api=aio", "delta=seq"),
    "upycsp select, 5x2": (*_SELECT, "lib=upycsp", "api=plain", "channels=5", "writers=2"),
    "upycsp process, Parallel": (*_SPAWN, "lib=upycsp", "api=plain", "form=parallel"),
}


class Failed(Exception):
    """What could not be counted, in a sentence."""


# main.py, which fills the holes before a benchmark makes its network, and again when it begins to
# measure: a tuple of one takes the least that can be allocated.
_PROGRAM = """
import sys

shift = [bytearray(i * 37 % 900) for i in range({shift})]


class Names:
    pass


for i in range({names}):
    setattr(Names, "name%d" % i, i)

import main
from benchmarks import harness


class Meter(harness.Meter):
    filled = None

    def __init__(self, *of):
        super().__init__(*of)
        self.fill()

    def fill(self):
        for _ in range({filled}):
            self.filled = (self.filled,)

    def start(self):
        self.fill()
        super().start()


harness.Meter = Meter
sys.exit(main.main(sys.argv[1:]))
"""


# The wheel's MicroPython is a module of CPython, which starts once: each run is a child of it.
# What came before they parted counts for both runs of a measure.
_CHILDREN = """
import os, sys
import micropython

first = sys.argv.index("--runs")
for words in sys.argv[first + 1:]:
    child = os.fork()
    if not child:
        sys.argv = ["micropython", *sys.argv[1:first], *words.split()]
        sys.exit(micropython.main())
    print("child", child, flush=True)
    if os.waitpid(child, 0)[1]:
        sys.exit(1)
"""


def executed(runs, compiled=None, layout=0):
    """How many instructions each of these runs of main.py executes; a run is its words, a text.

    compiled: a folder of .mpy files that come before the sources; layout: a number, and with
    another one all objects lie elsewhere.
    """
    program, *options = interpreters.command("micropython", HEAP)
    options += ["-c", _PROGRAM.format(shift=20 * layout, names=7 * layout, filled=FILLED)]
    python = python_of(program)
    if python is None:
        counted = [_valgrind([program, *options, *run.split()], run, compiled)[1] for run in runs]
        return [max(of_one.values()) for of_one in counted]
    said, counted = _valgrind([python, "-I", "-c", _CHILDREN, *options, "--runs", *runs],
                              ", ".join(runs), compiled)
    return [counted[int(child)] for child in re.findall(r"^child (\d+)$", said, re.M)]


def python_of(program):
    """The CPython that starts a MicroPython of the wheel; None if the program is another."""
    with open(program, "rb") as file:
        head = file.read(2000)
    if not head.startswith(b"#!") or b"from micropython import main" not in head:
        return None
    # It lies beside it; the first line may be a shell's, for a path with a space.
    beside = pathlib.Path(program).absolute().parent / "python3"
    return str(beside) if beside.exists() else head.partition(b"\n")[0][2:].decode().strip()


def _valgrind(words, what, folder):
    # What a program prints, and how many instructions each of its processes executes.
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
            "--fair-sched=yes"]
    # Hashes of CPython differ each time. The folder that a program runs in comes before
    # MICROPYPATH.
    done = patience.run(tool + words, cwd=str(folder or ROOT),
                        env=dict(interpreters.environment(), PYTHONHASHSEED="0"), text=True,
                        stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
    found = re.findall(r"==(\d+)== I +refs: +([\d,]+)", done.stderr)
    if done.returncode or not found:
        raise Failed("main.py {} failed under valgrind: {}".format(
            what, (done.stderr.strip().splitlines() or ["it said nothing"])[-1]))
    return done.stdout, {int(process): int(n.replace(",", "")) for process, n in found}


def counts(names, compiled=None, layout=0):
    """{name: instructions per operation} of some measures; compiled, layout: see `executed`."""
    runs = []
    for name in names:
        words, small, large, _, *more = MEASURES[name]
        more += ["runs=1", "bytes=no", "baselines=no"]
        runs += [" ".join([*words, *more]).format(n) for n in (small, large)]
    found = iter(executed(runs, compiled, layout))
    result = {}
    for name in names:
        _, small, large, each, *_ = MEASURES[name]
        few, many = next(found), next(found)
        result[name] = round((many - few) / ((large - small) * each))
    return result


def counted_again(names, before):
    """{name: the least of up to six counts that are worse than before, or the middle of three}.

    Each in another layout of the heap; the middle one where nothing is known from before.
    """
    found = {name: [] for name in names}
    for layout in range(6):
        wanted = [name for name in names if _is_wanted(name, found[name], before.get(name))]
        if not wanted:
            break
        for name, n in counts(wanted, layout=layout).items():
            found[name].append(n)
    return {name: min(of_one) if before.get(name) else sorted(of_one)[1]
            for name, of_one in found.items()}


def _is_wanted(name, counted, before):
    if before is None:
        return len(counted) < 3
    return not counted or is_worse(name, min(counted), before)


def is_worse(name, n, before):
    """Whether a count is so much more than the one before that it is no chance."""
    return n > before * (WORSE_OF_THREADS if name.startswith("upycsp") else WORSE)


def interpreter():
    """What the counts hold for."""
    done = subprocess.run(
        [*interpreters.command("micropython"), "-c",
         "import sys; print(sys.version, sys.implementation._machine)"],
        env=interpreters.environment(), text=True, capture_output=True, check=True)
    return "{} {}".format(done.stdout.strip(), os.uname().machine)


def compare(counted, kept):
    """Print a line for each count; the names of those that got worse, and of those better."""
    worse, better = [], []
    for name, n in counted.items():
        before = kept.get(name)
        verdict = "new"
        if before:
            verdict = "{:+.1f} %".format((n / before - 1) * 100)
            if is_worse(name, n, before):
                worse.append(name)
                verdict += ", worse"
            elif n < before * BETTER:
                better.append(name)
                verdict += ", better"
        print("{:<36}{:>9}{:>9}  {}".format(name, n, before or "", verdict))
    return worse, better


def main(arguments=None):
    """The exit status."""
    parser = argparse.ArgumentParser(description="Instructions per operation.")
    parser.add_argument("names", nargs="*", help="which; none: all")
    parser.add_argument("--update", action="store_true", help="keep what is counted today")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in MEASURES]
    if unknown:
        print("no measure {!r}; there are: {}".format(unknown[0], "; ".join(MEASURES)))
        return 2
    if not shutil.which("valgrind"):
        print("valgrind is missing (apt-get install valgrind): no instructions were counted")
        return 0
    problem = interpreters.missing()
    if problem:
        print(problem)
        return 1
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"interpreter": None, "counts": {}}
    here = interpreter()
    if kept["interpreter"] != here and not options.update:
        print("the counts kept are of {}, not of {}: nothing was compared".format(
            kept["interpreter"], here))
        return 0
    names = options.names or list(MEASURES)
    same = kept["counts"] if kept["interpreter"] == here and not options.update else {}
    try:
        groups = [names[i :: os.cpu_count()] for i in range(os.cpu_count())]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            found = pool.map(lambda group: counted_again(group, same), filter(None, groups))
            counted = {name: n for of_group in found for name, n in of_group.items()}
            counted = {name: counted[name] for name in names}
    except Failed as er:
        print(er)
        return 1
    worse, better = compare(counted, kept["counts"])
    if options.update:
        others = kept["counts"] if kept["interpreter"] == here else {}
        counts = {name: counted.get(name, others.get(name)) for name in MEASURES}
        kept = {"interpreter": here, "counts": {k: v for k, v in counts.items() if v}}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
        return 0
    if better:
        print("better: keep it with tools/perfcheck.py --update")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(commands.ended(main))
