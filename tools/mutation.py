"""Mutation testing: does a test notice each small change of the code?

    python tools/mutation.py [file ...] [--jobs 2] [--sample 10] [--fresh]

Each mutant (see mutants.py) is tried in a copy of the repository, by the tests that are about its
file, one file and interpreter at a time, until one fails, hangs or crashes. Those that found most
for their time come first. Verdicts are kept in build/mutation and used again as long as neither
the file nor its tests have changed; --fresh forgets them. What survived is listed; a reason for
it stands in tools/mutation_survivors.txt ("file | the changed line | why"). Exit status 1 if under
90 % of a file's mutants were noticed.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import mutants

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "mutation"
SURVIVORS = ROOT / "tools" / "mutation_survivors.txt"
GOAL = 90
COPIED = "cspcore uapycsp ufuture upycsp uthreading benchmarks tests tools".split()

_RULES = "tests/rules/test_*.py"
_MICRO_RULES = [(_RULES, "micropython", "uapycsp")]
_THREADS = [(_RULES, "micropython", "upycsp"), (_RULES, "micropython", "aio")]
_UFUTURE = "tests/test_ufuture*.py"
# Whose mutants which tests should notice: (files, interpreter, variant of the library or None).
PLANS = [
    ("cspcore/*.py", [
        ("tests/test_cspcore*.py", "cpython", None),
        *_MICRO_RULES, _THREADS[0],
    ]),
    ("upycsp/*.py", _THREADS + [("tests/test_heap.py", "micropython", None)]),
    ("uapycsp/*.py", [
        *_MICRO_RULES, (_UFUTURE, "micropython", None),
        ("tests/test_heap.py", "micropython", None), (_RULES, "cpython", "uapycsp"),
    ]),
    ("ufuture/cpython.py", [(_RULES, "cpython", "uapycsp"), (_UFUTURE, "cpython", None)]),
    ("ufuture/*.py", [
        (_UFUTURE, "micropython", None), ("tests/test_engine.py", "micropython", None),
        ("tests/test_contract.py", "micropython", None), *_MICRO_RULES,
    ]),
    ("uthreading/*.py", [
        ("tests/test_uthreading*.py", "micropython", None),
        ("tests/test_uthreading*.py", "cpython", None), _THREADS[0],
    ]),
]
DEFAULT = """
cspcore/channel.py cspcore/buffered.py cspcore/choice.py cspcore/group.py cspcore/process.py
upycsp/channel.py upycsp/alternative.py upycsp/wait.py
uapycsp/channel.py uapycsp/alternative.py uapycsp/wait.py
ufuture/micro.py ufuture/cpython.py
""".split()


def _plan(file):
    for pattern, plan in PLANS:
        if pathlib.PurePath(file).match(pattern):
            for files, interpreter, variant in plan:
                for path in sorted(ROOT.glob(files)):
                    yield str(path.relative_to(ROOT)), interpreter, variant
            return
    raise SystemExit("no tests are named for {}: see PLANS in tools/mutation.py".format(file))


class Copy:
    """A copy of the repository, where one mutant at a time is tried."""

    def __init__(self, number):
        self.path = BUILD / "copy{}".format(number)
        shutil.rmtree(self.path, ignore_errors=True)
        ignore = shutil.ignore_patterns("__pycache__")
        for name in COPIED:
            shutil.copytree(ROOT / name, self.path / name, ignore=ignore)
        for name in "config.py", "main.py":
            shutil.copy(ROOT / name, self.path)

    def run(self, step, limit):
        """Run a file of tests: (None or what it said of a failure, seconds)."""
        started = time.monotonic()
        words = [sys.executable, str(self.path / "tools" / "mutation_step.py"), str(limit)]
        done = subprocess.run(words + [str(word) for word in step], cwd=self.path,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        failure = done.stdout.decode("utf-8", "replace") if done.returncode else None
        return failure, time.monotonic() - started


class Order:
    """The tests for a file: those that noticed most for their time come first."""

    usual = {}  # the seconds that a step takes without any mutant

    def __init__(self, steps, copy):
        self.noticed = {}
        self.lock = threading.Lock()
        for step in steps:
            if step not in self.usual:
                failure, self.usual[step] = copy.run(step, 300)
                if failure is not None:
                    raise SystemExit("{} fails without any mutant: {}".format(step, failure))
            self.noticed[step] = 0.5

    def steps(self):
        with self.lock:
            return sorted(self.noticed, key=lambda s: self.usual[s] / self.noticed[s])

    def limit(self, step):
        return 5 + 4 * self.usual[step]

    def credit(self, step):
        with self.lock:
            self.noticed[step] += 1


def _try(file, mutated, copies, order):
    # The step that notices the mutant, or None.
    copy = copies.pop()
    target = copy.path / file
    original = (ROOT / file).read_text()
    try:
        target.write_text(mutated)
        for step in order.steps():
            if copy.run(step, order.limit(step))[0] is not None:
                order.credit(step)
                return " ".join(str(word) for word in step if word)
        return None
    finally:
        target.write_text(original)
        copies.append(copy)


def _key(file, steps):
    digest = hashlib.sha256((ROOT / file).read_bytes())
    for step in steps:
        digest.update(repr(step).encode() + (ROOT / step[0]).read_bytes())
    return digest.hexdigest()[:16]


def examine(file, copies, sample, fresh):
    """Try the mutants of a file; a list of (operator, line, text, who noticed it or None)."""
    steps = list(_plan(file))
    kept = BUILD / "{}.jsonl".format(file.replace("/", "."))
    key = _key(file, steps)
    known = {}
    if kept.exists() and not fresh:
        lines = [json.loads(line) for line in kept.read_text().splitlines()]
        known = {(r[1], r[2], r[3]): r[4] for r in lines if r[0] == key}
    every = list(mutants.mutants((ROOT / file).read_text()))[::sample]
    todo = [m for m in every if m[:3] not in known]
    if todo:
        order = Order(steps, copies[0])
        with kept.open("a") as out, concurrent.futures.ThreadPoolExecutor(len(copies)) as pool:
            futures = {pool.submit(_try, file, m[3], copies, order): m[:3] for m in todo}
            for n, future in enumerate(concurrent.futures.as_completed(futures)):
                m = futures[future]
                known[m] = future.result()
                out.write(json.dumps([key, *m, known[m]]) + "\n")
                out.flush()
                if sys.stderr.isatty():
                    print("\r{} {}/{} ".format(file, n + 1, len(todo)), end="", file=sys.stderr)
    return [(*m[:3], known[m[:3]]) for m in every]


def _reasons():
    reasons = {}
    if SURVIVORS.exists():
        for line in SURVIVORS.read_text().splitlines():
            if line and not line.startswith("#"):
                file, text, why = [part.strip() for part in line.split(" | ")]
                reasons[file, text] = why
    return reasons


def main():
    parser = argparse.ArgumentParser(description="Mutation testing.")
    parser.add_argument("files", nargs="*", default=DEFAULT)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int, default=1, help="only each N-th mutant")
    parser.add_argument("--fresh", action="store_true", help="forget earlier verdicts")
    args = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    copies = [Copy(n) for n in range(args.jobs)]
    reasons = _reasons()
    below = False
    total = caught = 0
    for file in args.files:
        results = examine(file, copies, args.sample, args.fresh)
        survivors = [r for r in results if r[3] is None]
        n = len(results)
        noticed = n - len(survivors)
        rate = 100 * noticed / n
        print("{:24} {:4} mutants, {:4} noticed: {:.1f} %".format(file, n, noticed, rate))
        for operator, line, text, _ in survivors:
            why = reasons.get((file, text), "NO REASON GIVEN")
            print("    {}:{}: {}  ({}; {})".format(file, line, text, operator, why), flush=True)
        total += n
        caught += noticed
        below = below or rate < GOAL
    print("{} mutants, {} noticed: {:.1f} %".format(total, caught, 100 * caught / total))
    sys.exit(1 if below else 0)


if __name__ == "__main__":
    main()
