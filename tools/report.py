"""Runs all benchmarks with the thesis's parameters and writes docs/results: JSON, page and plots.

    python tools/report.py              # an hour on two processors
    python tools/report.py --runs 20    # a quarter of it, for the same sizes
    python tools/report.py --quick --out /tmp/results

Every row is measured by an interpreter of its own. The runs of a row are spread over several
rounds, and every round goes through all rows, so that whatever disturbs the machine for a while
does not hit one row alone. What the rounds measured is pooled.
"""

import argparse
import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import commands  # noqa: E402
import report_machine  # noqa: E402
import report_page  # noqa: E402

ROOT = report_machine.ROOT

LIBS = ("thesis-uapycsp-rescheduling", "thesis-uapycsp-yielding", "uapycsp", "thesis-upycsp",
        "upycsp")
BENCHMARKS = ("commstime", "stressed_alt", "queues", "waiting_queue")
THREADS = ("thesis-upycsp", "upycsp")
FLOORS = "floor-asyncio,floor-threads"

FULL = {
    "rounds": 5,
    "commstime": {"n": 5000, "runs": 100},
    "stressed_alt": {"form": "with,select", "selects": 5000, "runs": 100},
    "queues": {"sizes": "500,1000,2000,4000,8000,16000", "offers": 16000, "runs": 500},
    "waiting_queue": {"waiters": "1-30", "n": 1000, "runs": 100},
    # The thread libraries on CPython take so long that they get fewer runs.
    "runs_cpython_threads": 20,
}
QUICK = {
    "rounds": 2,
    "commstime": {"n": 100, "runs": 4},
    "stressed_alt": {"form": "with,select", "selects": 100, "runs": 4},
    "queues": {"sizes": "50,100,200", "runs": 10},
    "waiting_queue": {"waiters": "1,5,10", "n": 50, "runs": 4},
    "runs_cpython_threads": 4,
}
SHAPES = (("5", "2"), ("100", "5"))
MANY_WRITERS = ("5", "200")     # coroutines only: a thousand threads starve a small machine

# Seconds that one run of the full size takes, roughly, per (benchmark, threads): for the estimate.
_SECONDS = {
    ("commstime", False): 0.4, ("commstime", True): 2.5,
    ("stressed_alt", False): 0.7, ("stressed_alt", True): 0.9,
    ("waiting_queue", False): 0.6, ("waiting_queue", True): 1.2,
    ("queues", False): 0.12,
}


class Failed(Exception):
    """A benchmark ended with another status than 0."""


class Job:
    """One interpreter that measures one library (or kind of queue) in one benchmark."""

    def __init__(self, port, bench, keys, one_cpu=False, heap="2M"):
        self.port = port
        self.bench = bench
        self.keys = keys
        self.one_cpu = one_cpu
        self.heap = heap

    def __str__(self):
        what = self.keys.get("lib") or self.keys.get("queue")
        return "{} {} on {}{}".format(
            self.bench, what, self.port, ", one processor" if self.one_cpu else "")

    def seconds(self):
        threads = self.keys.get("lib") in THREADS
        return self.keys["runs"] * _SECONDS[self.bench, threads]

    def command(self, micropython, rounds):
        keys = dict(self.keys, samples="yes")
        keys["runs"] = max(1, self.keys["runs"] // rounds)
        command = ["taskset", "-c", "0"] if self.one_cpu else []
        if self.port == "micropython":
            command += [micropython, "-X", "heapsize=" + self.heap]
        else:
            command += [sys.executable]
        command += ["main.py", self.bench]
        return command + ["{}={}".format(k, v) for k, v in keys.items()]


def _jobs_of_library(port, lib, sizes, one_cpu):
    def keys(bench, **more):
        found = dict(sizes[bench], lib=lib, **more)
        if port == "cpython" and lib in THREADS:
            found["runs"] = min(found["runs"], sizes["runs_cpython_threads"])
        return found

    yield Job(port, "commstime", keys("commstime"))
    shapes = list(SHAPES)
    if port == "micropython" and lib in ("uapycsp", LIBS[0]):
        shapes.append(MANY_WRITERS)
    for channels, writers in shapes:
        yield Job(port, "stressed_alt", keys("stressed_alt", channels=channels, writers=writers))
    yield Job(port, "waiting_queue", keys("waiting_queue"))
    # Coroutines use one processor in any case.
    if one_cpu and lib in THREADS:
        yield Job(port, "commstime", keys("commstime"), True)
        if port == "micropython":
            for channels, writers in SHAPES:
                more = {"channels": channels, "writers": writers}
                yield Job(port, "stressed_alt", keys("stressed_alt", **more), True)


def jobs(sizes, libs, one_cpu):
    """All jobs of a round, in an order in which rows to be compared are neighbours in time."""
    found = []
    for port in ("micropython", "cpython"):
        for lib in libs:
            found.extend(_jobs_of_library(port, lib, sizes, one_cpu))
        for bound in (False, True)[:1 + one_cpu]:
            found.append(Job(port, "commstime", dict(sizes["commstime"], lib=FLOORS), bound))
        for queue in ("deque", "list", "cspcore"):
            # 16000 offers take more than 2 MB.
            found.append(Job(port, "queues", dict(sizes["queues"], queue=queue), heap="16M"))
    found.sort(key=lambda job: (job.bench, job.port, job.one_cpu, job.keys.get("channels", "")))
    return found


def parse(output):
    """The rows of a benchmark's output, as (fields of RESULT, samples)."""
    found = []
    for line in output.splitlines():
        if line.startswith("RESULT "):
            found.append((json.loads(line[7:]), []))
        elif line.startswith("SAMPLES "):
            found[-1][1].extend(json.loads(line[8:]))
    return found


def run(job, micropython, rounds):
    env = dict(os.environ, MICROPYPATH=".:.frozen", PYTHONDONTWRITEBYTECODE="1")
    command = job.command(micropython, rounds)
    done = subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=3600)
    if done.returncode:
        raise Failed("{} ended with status {}: {}".format(
            job, done.returncode, done.stderr.strip()))
    return parse(done.stdout)


class Results:
    """Rows pooled over the rounds."""

    def __init__(self):
        self._rows = {}

    def add(self, job, rows):
        for result, samples in rows:
            cpus = 1 if job.one_cpu else len(os.sched_getaffinity(0))
            key = (job.port, cpus) + tuple(
                result.get(k) for k in ("bench", "lib", "api", "variant", "size", "waiters"))
            row = self._rows.setdefault(key, {"cpus": cpus, "rounds": [], "samples": []})
            row["rounds"].append(result)
            row["samples"].extend(samples)

    def rows(self):
        """Each row's RESULT over all rounds, its median, and each round's average."""
        found = []
        for row in self._rows.values():
            us = row["samples"]
            result = dict(row["rounds"][0], runs=len(us), us_min=min(us), us_max=max(us),
                          us_avg=round(sum(us) / len(us), 3))
            if result["bytes_per_op"] is not None:
                result["bytes_per_op"] = max(r["bytes_per_op"] for r in row["rounds"])
            found.append({"result": result, "us_median": report_page.median(us),
                          "cpus": row["cpus"], "rounds": [r["us_avg"] for r in row["rounds"]]})
        return found


class _Progress:
    def __init__(self, steps, estimate):
        self._steps = steps
        self._done = 0
        self._estimate = estimate
        self._begin = time.monotonic()
        print("{} interpreters to run, about {} minutes".format(
            steps, max(1, round(estimate / 60))), flush=True)

    def show(self, job):
        spent = time.monotonic() - self._begin
        left = self._estimate - spent
        if self._done * 5 > self._steps:
            left = spent / self._done * (self._steps - self._done)
        text = "{} of {}, about {} minutes left: {}".format(
            self._done + 1, self._steps, max(1, round(left / 60)), job)
        self._done += 1
        if sys.stdout.isatty():
            print("\r{:<99}".format(text[:99]), end="", flush=True)

    def end(self):
        if sys.stdout.isatty():
            print("\r{:<99}\r".format(""), end="", flush=True)
        print("measured for {:.0f} s".format(time.monotonic() - self._begin))


def measure(all_jobs, micropython, rounds, estimate):
    results = Results()
    progress = _Progress(len(all_jobs) * rounds, estimate)
    for _ in range(rounds):
        for job in all_jobs:
            progress.show(job)
            results.add(job, run(job, micropython, rounds))
    progress.end()
    return results.rows()


def dump(report):
    """JSON with a line for each row, so that two reports can be compared."""
    head = json.dumps(dict(report, rows=[]), indent=1)
    rows = ",\n".join("  " + json.dumps(row) for row in report["rows"])
    return head.replace('"rows": []', '"rows": [\n' + rows + "\n ]") + "\n"


def _sizes(args):
    sizes = copy.deepcopy(QUICK if args.quick else FULL)
    sizes["rounds"] = args.rounds or sizes["rounds"]
    if args.runs:
        for name in BENCHMARKS:
            sizes[name]["runs"] = min(args.runs, sizes[name]["runs"])
    fewest = min(sizes[name]["runs"] for name in BENCHMARKS)
    sizes["rounds"] = min(sizes["rounds"], fewest, sizes["runs_cpython_threads"])
    return sizes


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the report out")
    parser.add_argument("--out", default=str(ROOT / "docs" / "results"), type=commands.folder,
                        help="where to write")
    parser.add_argument("--lib", default=LIBS, type=commands.among(LIBS),
                        help="only these libraries")
    parser.add_argument("--runs", type=commands.whole(1),
                        help="at most so many runs of each row")
    parser.add_argument("--rounds", type=commands.whole(1),
                        help="how often to go through all rows")
    parser.add_argument("--redraw", action="store_true", help="page and plots from report.json")
    args = parser.parse_args(arguments)
    out = args.out
    stored = out / "report.json"
    if args.redraw:
        report = commands.stored(parser, stored)
    else:
        micropython = report_machine.need_micropython()
        sizes = _sizes(args)
        todo = jobs(sizes, args.lib, shutil.which("taskset") is not None)
        estimate = 30 if args.quick else sum(job.seconds() for job in todo)
        report = report_machine.surroundings(micropython)
        report["parameters"] = sizes
        try:
            report["rows"] = measure(todo, micropython, sizes["rounds"], estimate)
        except Failed as e:
            sys.exit("\n{}".format(e))
        out.mkdir(parents=True, exist_ok=True)
        stored.write_text(dump(report))
    (out / "README.md").write_text(report_page.page(report))
    import report_plots  # what draws takes long to load

    for path in report_plots.draw(report, out):
        print("wrote", path)


if __name__ == "__main__":
    sys.exit(commands.ended(main))
