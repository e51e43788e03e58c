"""Mutation testing: does a test notice each small change of the code?

    python tools/mutation.py [file ...] [--jobs 4] [--minutes 60] [--sample 10] [--fresh]

Each mutant (see mutants.py) is tried in a copy of the repository by those functions of the device
tests that reach its line (see mutation_reach.py), until one fails, hangs or crashes; those that
noticed most for their time come first. Verdicts are kept in tools/mutation_verdicts.txt ("file |
who noticed | which mutants") and used again: a mutant stays noticed until the function that it
changes is another, one that survived is tried again when a test has changed, too; --fresh forgets
them. So hours of work can be done in parts: --minutes ends one (0: only the report), and the
mutants are tried in an order that makes each part a random sample. What survived is listed; a
reason for it stands in tools/mutation_survivors.txt ("file | the change | why").
docs/results/mutation.md tells the state of the default files. Exit status 1 if a mutant has been
neither noticed nor excused by a reason, or under 90 % were noticed. Survivors take longest;
--trust does not try those that have a reason.
"""

import argparse
import ast
import concurrent.futures
import copy
import datetime
import functools
import hashlib
import json
import pathlib
import pickle
import queue
import random
import shutil
import subprocess
import sys
import threading
import time

import commands
from mutation_reach import Runner, reached

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "mutation"
SURVIVORS = ROOT / "tools" / "mutation_survivors.txt"
VERDICTS = ROOT / "tools" / "mutation_verdicts.txt"
PAGE = ROOT / "docs" / "results" / "mutation.md"
GOAL = 90
COPIED = "cspcore uapycsp ufuture upycsp uthreading benchmarks tests tools".split()

_RULES = "tests/rules/test_*.py tests/regressions/test_*.py"
_COROUTINES = [
    (_RULES, "micropython", "uapycsp"),
    ("tests/test_ufuture*.py tests/test_engine.py tests/test_engine_changes.py"
     " tests/test_engine_loops.py tests/test_contract.py tests/test_heap.py"
     " tests/test_*_coroutines.py tests/test_small_heap.py tests/test_half_changed.py",
     "micropython", None),
]
_THREADS = [
    (_RULES, "micropython", "upycsp"), (_RULES, "micropython", "aio"),
    ("tests/test_uthreading*.py tests/test_heap.py tests/test_cover_threads.py"
     " tests/test_cover_board.py tests/test_cover_interrupted.py tests/test_more_threads.py",
     "micropython", None),
]
_ON_CPYTHON = [
    (_RULES, "cpython", "uapycsp"),
    ("tests/test_ufuture*.py tests/test_engine.py tests/test_engine_changes*.py"
     " tests/test_*_coroutines.py tests/test_cover_interrupted.py", "cpython", None),
]
_THREADS_ON_CPYTHON = [
    (_RULES, "cpython", "upycsp"),
    ("tests/test_uthreading*.py tests/test_cover_board.py tests/test_cover_interrupted.py"
     " tests/test_more_threads.py", "cpython", None),
]
# Whose mutants which tests should notice: (files, interpreter, variant of the library or None).
PLANS = [
    ("cspcore/*.py", [("tests/test_cspcore*.py", "cpython", None), *_COROUTINES, *_THREADS]),
    ("uapycsp/*.py", [*_COROUTINES, *_ON_CPYTHON]),
    ("ufuture/cpython.py", _ON_CPYTHON),
    ("ufuture/*.py", [*_COROUTINES, *_ON_CPYTHON]),
    ("upycsp/*.py", [*_THREADS, *_THREADS_ON_CPYTHON]),
    ("uthreading/*.py", [*_THREADS, *_THREADS_ON_CPYTHON]),
]
# What is tried last, with those that survived: commands and the seconds that they usually take.
_PYTEST = "-m pytest -q -x -p no:cacheprovider "
_MEMORY = (_PYTEST + "tests/faults/test_exhaustion.py", 30)
_THREAD_SCHEDULES = (
    "tests/schedules/explore.py interrupted_read_woken interrupted_write_woken"
    " interrupted_select_woken interrupted_parallel_woken interrupted_join_woken parallel_reads"
    " two_writers parallel_meets_select select_meets_select spawn_that_fails timer_and_cancel", 20)
_OLD = (_PYTEST + "tests/test_engine_old.py", 60)
_TASK_SCHEDULES = (_PYTEST + "tests/schedules/test_schedules_tasks_micro.py", 30)
_IMPORTS = (_PYTEST + "tests/test_late_import.py", 20)
LAST = [
    ("cspcore/*.py", [_MEMORY, _THREAD_SCHEDULES]),
    ("upycsp/wait.py", [_MEMORY, _THREAD_SCHEDULES, _IMPORTS]),
    ("upycsp/*.py", [_MEMORY, _THREAD_SCHEDULES]),
    ("uapycsp/*.py", [_MEMORY, _TASK_SCHEDULES]),
    ("ufuture/micro.py", [_OLD, _MEMORY, _TASK_SCHEDULES]),
    ("ufuture/cpython.py", [(_PYTEST + "tests/test_adapters_stdin.py", 10)]),
    ("*", []),
]
_NOTHING_TO_CHANGE = "__init__.py", "errors.py"
DEFAULT = sorted([str(path.relative_to(ROOT)) for path in ROOT.glob("cspcore/*.py")
                  if path.name not in _NOTHING_TO_CHANGE])
DEFAULT += """
upycsp/channel.py upycsp/alternative.py upycsp/wait.py upycsp/process.py upycsp/watch.py
uapycsp/channel.py uapycsp/alternative.py uapycsp/wait.py uapycsp/process.py
ufuture/micro.py ufuture/cpython.py
""".split()


def plan(file):
    """The steps (file of tests, interpreter, variant) for a source file."""
    return [
        (str(path.relative_to(ROOT)), interpreter, variant)
        for files, interpreter, variant in _of(file, PLANS)
        for pattern in files.split()
        for path in sorted(ROOT.glob(pattern))
    ]


def _of(file, table):
    for pattern, entry in table:
        if pathlib.PurePath(file).match(pattern):
            return entry
    raise SystemExit("no tests are named for {}: see PLANS in tools/mutation.py".format(file))


class Copy:
    """A copy of the repository, where one mutant at a time is tried."""

    def __init__(self, number):
        self.path = BUILD / "copy{}".format(number)
        shutil.rmtree(self.path, ignore_errors=True)
        ignore = shutil.ignore_patterns("__pycache__")
        for name in COPIED:
            shutil.copytree(ROOT / name, self.path / name, ignore=ignore)
        for name in "config.py", "main.py", "pyproject.toml":
            shutil.copy(ROOT / name, self.path)
        self.runner = Runner(self.path)

    def failing(self, step, names):
        """The function that fails of those named, each with its usual seconds; None if none."""
        verdicts = self.runner.ask(step, [(n, 4 + 3 * seconds) for n, seconds in names])
        return verdicts[-1][0] if verdicts and verdicts[-1][1] == "fail" else None

    def fails(self, command, seconds):
        """Whether a command of LAST fails or hangs."""
        words = [sys.executable, *command.split()]
        try:
            done = subprocess.run(words, cwd=self.path, timeout=60 + 5 * seconds,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


class Tests:
    """The functions that reach a line: those that noticed most for their time come first."""

    STARTING = 0.15  # seconds
    SLOW = 0.1  # what takes longer is tried behind the others of its file

    def __init__(self, steps):
        self.steps = steps
        self.noticed = {}
        self.lock = threading.Lock()

    def of(self, file, line, chosen):
        """[(step, [(name, seconds)])] of the steps chosen, in the order to try them in."""
        groups = []
        with self.lock:
            for step in chosen:
                functions = [
                    (seconds, self.noticed.get((step, name), 0), name)
                    for name, (seconds, lines) in self.steps.get(step, {}).items()
                    if line in lines.get(file, ())
                ]
                quick = [f for f in functions if f[0] < self.SLOW]
                slow = [f for f in functions if f[0] >= self.SLOW]
                for group in filter(None, (quick, slow)):
                    group.sort(key=lambda f: (-f[1], f[0]))
                    cost = self.STARTING + sum(f[0] for f in group)
                    cost /= 1 + sum(f[1] for f in group)
                    groups.append((cost, step, [(name, seconds) for seconds, _, name in group]))
        return [group[1:] for group in sorted(groups, key=lambda group: group[0])]

    def credit(self, step, name):
        with self.lock:
            self.noticed[step, name] = self.noticed.get((step, name), 0) + 1


def _made(source):
    try:
        import mutants
    except ImportError as er:
        raise SystemExit("there is no {}: `make mutation` installs it".format(er.name))
    return mutants.mutants(source)


class File:
    """A source file: its mutants, and the functions that these change."""

    def __init__(self, name):
        self.name = name
        self.source = (ROOT / name).read_text()
        self.steps = plan(name)
        self.mutants = list(_made(self.source))
        nodes = ast.walk(ast.parse(self.source))
        self.statements = sorted({n.lineno for n in nodes if isinstance(n, ast.stmt)})
        tree = ast.walk(ast.parse(self.source))
        kinds = ast.FunctionDef, ast.AsyncFunctionDef
        self.functions = [(n.lineno, n.end_lineno) for n in tree if isinstance(n, kinds)]

    def sampled(self, n):
        """The same with each n-th mutant only."""
        part = copy.copy(self)
        part.mutants = self.mutants[::n]
        return part

    def keys(self):
        """Those of all mutants."""
        return {self.key(*mutant) for mutant in self.mutants}

    def statement(self, line):
        """The line on which the statement begins that a line belongs to."""
        return max(n for n in self.statements if n <= line)

    def shown(self, line, text):
        """A mutant in a line: what it changes a line to, or what it leaves out."""
        old = self.source.splitlines()[line - 1].strip()
        return "without " + old if text == "pass" else text

    def key(self, operator, line, text, changed):
        """What stays the same for a mutant while the function it changes does."""
        around = [f for f in self.functions if f[0] <= line <= f[1]]
        first, last = max(around, default=(1, 0))
        lines = self.source.splitlines()[first - 1 : last] if around else []
        lines += [operator, str(line - first), text, *changed.splitlines()[line - 1 : line]]
        body = "\n".join([self.name, *lines])
        return hashlib.sha256(body.encode()).hexdigest()[:12]


@functools.cache
def whole(name):
    """The File of that name; making its mutants takes a while."""
    return File(name)


class Verdicts:
    """Who noticed each mutant: in a file of the repository, and since it was written in another.

    `known` has who noticed a mutant, or None, by its key; `kept` all that was ever told, with the
    digest of the tests that it survived.
    """

    SURVIVED = "survived "

    def __init__(self, tests, fresh=False, path=VERDICTS, newer=BUILD / "verdicts.jsonl"):
        self.tests = tests
        self.path = path
        self.newer = newer
        self.kept = {}
        self.known = {}
        self.lock = threading.Lock()
        if fresh:
            self.newer.unlink(missing_ok=True)
        else:
            self._read()

    def _read(self):
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                file, who, keys = line.split(" | ")
                for key in keys.split():
                    self._take(file, key, who)
        if self.newer.exists():
            for line in self.newer.read_text().splitlines():
                self._take(*json.loads(line))

    def _take(self, file, key, who):
        self.kept[key] = file, who
        if not who.startswith(self.SURVIVED):
            self.known[key] = who
        elif who == self.SURVIVED + self.tests:
            self.known[key] = None

    def add(self, file, key, who):
        """Who noticed a mutant of a file, or None."""
        with self.lock, self.newer.open("a") as out:
            said = file, key, who or self.SURVIVED + self.tests
            self._take(*said)
            out.write(json.dumps(said) + "\n")

    def write(self, mutants):
        """Keeps what is told of the mutants that there are, {file: keys}, and of other files."""
        groups = {}
        for key, (file, who) in self.kept.items():
            if file not in mutants or key in mutants[file]:
                groups.setdefault((file, who), []).append(key)
        lines = [" | ".join((*group, " ".join(sorted(groups[group])))) for group in sorted(groups)]
        self.path.write_text("".join([line + "\n" for line in lines]))
        self.newer.unlink(missing_ok=True)


def _try(file, mutant, tests, copies):
    # Who notices the mutant, or None.
    tried = copies.get()
    target = tried.path / file.name
    try:
        target.write_text(mutant[3])
        for step, names in tests.of(file.name, file.statement(mutant[1]), file.steps):
            name = tried.failing(step, names)
            if name:
                tests.credit(step, name)
                return " ".join([str(word) for word in step if word] + [name])
        for command, seconds in _of(file.name, LAST):
            if tried.fails(command, seconds):
                return command
        return None
    finally:
        target.write_text(file.source)
        copies.put(tried)


def examine(files, verdicts, find_tests, jobs, trusted, until):
    """Try the mutants that have no verdict yet, but for what is trusted to survive.

    No more are begun when time.monotonic() is past `until`.
    """
    todo = []
    for file in files:
        for mutant in file.mutants:
            key = file.key(*mutant)
            if key in verdicts.known:
                continue
            if (file.name, file.shown(*mutant[1:3])) not in trusted:
                todo.append((file, key, mutant))
    if not todo or time.monotonic() >= until:
        return
    random.Random(1).shuffle(todo)
    todo.sort(key=lambda entry: entry[1] not in verdicts.kept)  # survivors of other tests first
    tests = find_tests()
    copies = queue.SimpleQueue()
    for n in range(jobs):
        copies.put(Copy(n))
    first = copies.get()
    for command in {last for file in files for last in _of(file.name, LAST)}:
        if first.fails(*command):
            raise SystemExit("`{}` fails without any mutant".format(command[0]))
    copies.put(first)

    def one(file, key, mutant):
        if time.monotonic() < until:
            verdicts.add(file.name, key, _try(file, mutant, tests, copies))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(one, *entry) for entry in todo]
        try:
            for n, future in enumerate(concurrent.futures.as_completed(futures)):
                future.result()
                if sys.stderr.isatty() or (n + 1) % 100 == 0:
                    print("\r{}/{} ".format(n + 1, len(todo)), end="", file=sys.stderr, flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _digest(paths):
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _reached(steps, jobs):
    """What `reached` finds; what it found before, if since then nothing has changed."""
    sources = [path for name in COPIED if name != "tools" for path in (ROOT / name).rglob("*.py")]
    sources.append(ROOT / "tools" / "mutation_reach.py")
    key = _digest(sources), steps
    kept = BUILD / "reached.pickle"
    if kept.exists():
        before, found = pickle.loads(kept.read_bytes())
        if before == key:
            return found
    found = reached(steps, BUILD / "reach", jobs)
    kept.write_bytes(pickle.dumps((key, found)))
    return found


def _reasons():
    reasons = {}
    if SURVIVORS.exists():
        for line in SURVIVORS.read_text().splitlines():
            if line and not line.startswith("#"):
                file, text, why = [part.strip() for part in line.split(" | ")]
                reasons[file, text] = why
    return reasons


_ROW = "{:24} {:>7} {:>7} {:>8} {:>8} {:>7} {:>8}"


def _row(name, *counts):
    noticed, excused, survived, left = counts
    n = sum(counts)
    tried = noticed + survived
    # What is left is taken to be like what was tried.
    share = 100 * (n - excused) / n * noticed / tried if tried else 0
    shown = "{:.1f} %".format(share) if tried or n and not left else "-"
    return _ROW.format(name, n, noticed, excused, survived, left, shown), share


def report(files, verdicts):
    """(The table of rates, the survivors, whether all is as it should be); lists of lines."""
    reasons = _reasons()
    rows = [_ROW.format("file", "mutants", "noticed", "excused", "survived", "left", "noticed")]
    survivors = []
    total = [0, 0, 0, 0]
    for file in files:
        counts = [0, 0, 0, 0]
        for mutant in file.mutants:
            operator, line, text, _ = mutant
            text = file.shown(line, text)
            key = file.key(*mutant)
            who = verdicts.known.get(key)
            why = None if who else reasons.get((file.name, text))
            kind = 0 if who else 1 if why else 2 if key in verdicts.kept else 3
            counts[kind] += 1
            if not who and kind != 3:
                survivors.append("{}:{}: {}  ({}; {})".format(
                    file.name, line, text, operator, why or "NO REASON GIVEN"))
        rows.append(_row(file.name, *counts)[0])
        total = [a + b for a, b in zip(total, counts)]
    row, share = _row("all", *total)
    return [*rows, row], survivors, total[2:] == [0, 0] and share >= GOAL


_PAGE = """# Which small changes the tests notice

`make mutation`, {date:%Y-%m-%d}. A mutant is the source with one operator, constant, branch or
statement changed. Which of the tests has noticed it is kept in
[tools/mutation_verdicts.txt](../../tools/mutation_verdicts.txt); why it may survive, which excuses
it, in [tools/mutation_survivors.txt](../../tools/mutation_survivors.txt). What is left was not
tried yet; it is a random part of each file, and the share is that of all mutants if it is like
the rest.

```text
{rows}
```

Survivors without a reason, of these tests or of earlier ones:

```text
{without}
```
"""


def page(verdicts):
    """What docs/results/mutation.md says."""
    rows, survivors, _ = report([whole(name) for name in DEFAULT], verdicts)
    without = [line for line in survivors if "NO REASON GIVEN" in line]
    return _PAGE.format(date=datetime.date.today(), rows="\n".join(rows),
                        without="\n".join(without) or "none")


def main():
    parser = argparse.ArgumentParser(description="Mutation testing.")
    parser.add_argument("files", nargs="*", default=DEFAULT)
    parser.add_argument("--jobs", type=commands.whole(1), default=4)
    parser.add_argument("--minutes", type=commands.whole(0), help="begin no mutant after so many")
    parser.add_argument("--sample", type=commands.whole(1), default=1,
                        help="only each N-th mutant")
    parser.add_argument("--trust", action="store_true", help="try nothing that has a reason")
    parser.add_argument("--fresh", action="store_true", help="forget earlier verdicts")
    args = parser.parse_args()
    for name in args.files:
        if not (ROOT / name).is_file():
            parser.error("there is no file {}".format(name))
    until = float("inf") if args.minutes is None else time.monotonic() + 60 * args.minutes
    BUILD.mkdir(parents=True, exist_ok=True)
    files = [whole(name).sampled(args.sample) for name in args.files]
    steps = sorted({step for file in files for step in file.steps}, key=str)
    tests = {ROOT / step[0] for name in DEFAULT for step in plan(name)}
    verdicts = Verdicts(_digest(tests), args.fresh)

    def find_tests():
        return Tests(_reached(steps, args.jobs))

    try:
        examine(files, verdicts, find_tests, args.jobs, _reasons() if args.trust else {}, until)
    finally:
        verdicts.write({name: whole(name).keys() for name in {*DEFAULT, *args.files}})
        PAGE.write_text(page(verdicts))
    rows, survivors, good = report(files, verdicts)
    print("\n".join(rows + survivors))
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(commands.ended(main))
    except KeyboardInterrupt:
        sys.exit(130)
