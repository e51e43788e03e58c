"""Mutation testing: does a test notice each small change of the code?

    python tools/mutation.py [file ...] [--jobs 4] [--sample 10] [--fresh]

Each mutant (see mutants.py) is tried in a copy of the repository by those functions of the device
tests that reach its line (see mutation_reach.py), until one fails, hangs or crashes; those that
noticed most for their time come first. Verdicts are kept in build/mutation and used again: a
mutant stays noticed until the function that it changes is another, one that survived is tried
again when a test has changed, too; --fresh forgets them. What survived is listed; a reason for it
stands in tools/mutation_survivors.txt ("file | the change | why"). Exit status 1 if under
90 % of a file's mutants were noticed, or a survivor has no reason. Survivors take longest;
--trust counts those that have a reason as survivors without trying them.
"""

import argparse
import ast
import concurrent.futures
import hashlib
import json
import pathlib
import pickle
import queue
import shutil
import subprocess
import sys
import threading

import commands
from mutation_reach import Runner, reached

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "mutation"
SURVIVORS = ROOT / "tools" / "mutation_survivors.txt"
GOAL = 90
COPIED = "cspcore uapycsp ufuture upycsp uthreading benchmarks tests tools".split()

_RULES = "tests/rules/test_*.py tests/regressions/test_*.py"
_COROUTINES = [
    (_RULES, "micropython", "uapycsp"),
    ("tests/test_ufuture*.py tests/test_engine.py tests/test_engine_changes.py"
     " tests/test_engine_loops.py tests/test_contract.py tests/test_heap.py"
     " tests/test_*_coroutines.py tests/test_small_heap.py", "micropython", None),
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
LAST = [
    ("cspcore/*.py", [_MEMORY, _THREAD_SCHEDULES]),
    ("upycsp/*.py", [_MEMORY, _THREAD_SCHEDULES]),
    ("uapycsp/*.py", [_MEMORY, _TASK_SCHEDULES]),
    ("ufuture/micro.py", [_OLD, _MEMORY, _TASK_SCHEDULES]),
    ("*", []),
]
DEFAULT = """
cspcore/channel.py cspcore/buffered.py cspcore/choice.py cspcore/group.py cspcore/process.py
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
        verdicts = self.runner.ask(step, [(n, 10 + 3 * seconds) for n, seconds in names])
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

    def __init__(self, name, sample):
        self.name = name
        self.source = (ROOT / name).read_text()
        self.steps = plan(name)
        self.mutants = list(_made(self.source))[::sample]
        nodes = ast.walk(ast.parse(self.source))
        self.statements = sorted({n.lineno for n in nodes if isinstance(n, ast.stmt)})
        tree = ast.walk(ast.parse(self.source))
        kinds = ast.FunctionDef, ast.AsyncFunctionDef
        self.functions = [(n.lineno, n.end_lineno) for n in tree if isinstance(n, kinds)]

    def statement(self, line):
        """The line on which the statement begins that a line belongs to."""
        return max(n for n in self.statements if n <= line)

    def shown(self, line, text):
        """A mutant in a line: what it changes a line to, or what it leaves out."""
        old = self.source.splitlines()[line - 1].strip()
        return "without " + old if text == "pass" else text

    def key(self, operator, line, text):
        """What stays the same for a mutant while the function it changes does."""
        around = [f for f in self.functions if f[0] <= line <= f[1]]
        first, last = max(around, default=(1, 0))
        lines = self.source.splitlines()[first - 1 : last] if around else []
        body = "\n".join([*lines, operator, str(line - first), text])
        return hashlib.sha256(body.encode()).hexdigest()[:20]


class Verdicts:
    """Who noticed each mutant, kept in a file."""

    def __init__(self, tests, fresh):
        self.tests = tests
        self.path = BUILD / "verdicts.jsonl"
        self.known = {}
        self.lock = threading.Lock()
        if fresh:
            self.path.unlink(missing_ok=True)
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                key, who, against = json.loads(line)
                if who or against == tests:
                    self.known[key] = who

    def add(self, key, who):
        with self.lock, self.path.open("a") as out:
            self.known[key] = who
            out.write(json.dumps([key, who, self.tests]) + "\n")


def _try(file, mutant, tests, copies):
    # Who notices the mutant, or None.
    copy = copies.get()
    target = copy.path / file.name
    try:
        target.write_text(mutant[3])
        for step, names in tests.of(file.name, file.statement(mutant[1]), file.steps):
            name = copy.failing(step, names)
            if name:
                tests.credit(step, name)
                return " ".join([str(word) for word in step if word] + [name])
        for command, seconds in _of(file.name, LAST):
            if copy.fails(command, seconds):
                return command
        return None
    finally:
        target.write_text(file.source)
        copies.put(copy)


def examine(files, verdicts, find_tests, jobs, trusted):
    """Try the mutants that have no verdict yet, but for what is trusted to survive."""
    todo = []
    for file in files:
        for mutant in file.mutants:
            key = file.key(*mutant[:3])
            if key in verdicts.known:
                continue
            if (file.name, file.shown(*mutant[1:3])) in trusted:
                verdicts.known[key] = None
            else:
                todo.append((file, key, mutant))
    if not todo:
        return
    tests = find_tests()
    copies = queue.SimpleQueue()
    for n in range(jobs):
        copies.put(Copy(n))
    copy = copies.get()
    for command in {last for file in files for last in _of(file.name, LAST)}:
        if copy.fails(*command):
            raise SystemExit("`{}` fails without any mutant".format(command[0]))
    copies.put(copy)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {
            pool.submit(_try, file, mutant, tests, copies): key for file, key, mutant in todo
        }
        for n, future in enumerate(concurrent.futures.as_completed(futures)):
            verdicts.add(futures[future], future.result())
            if sys.stderr.isatty() or (n + 1) % 100 == 0:
                print("\r{}/{} ".format(n + 1, len(todo)), end="", file=sys.stderr, flush=True)


def _digest(paths):
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _reached(steps, jobs):
    """What `reached` finds; what it found before, if since then nothing has changed."""
    sources = [path for name in COPIED if name != "tools" for path in (ROOT / name).rglob("*.py")]
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


def report(files, verdicts):
    """Print rates and survivors; true if all is as it should be."""
    reasons = _reasons()
    good = True
    total = caught = 0
    for file in files:
        survivors = [m[:3] for m in file.mutants if verdicts.known[file.key(*m[:3])] is None]
        n = len(file.mutants)
        rate = 100 * (n - len(survivors)) / n
        print("{:24} {:4} mutants, {:4} noticed: {:.1f} %".format(
            file.name, n, n - len(survivors), rate))
        for operator, line, text in survivors:
            text = file.shown(line, text)
            why = reasons.get((file.name, text))
            good = good and why is not None
            print("    {}:{}: {}  ({}; {})".format(
                file.name, line, text, operator, why or "NO REASON GIVEN"))
        total += n
        caught += n - len(survivors)
        good = good and rate >= GOAL
    print("{} mutants, {} noticed: {:.1f} %".format(total, caught, 100 * caught / total))
    return good


def main():
    parser = argparse.ArgumentParser(description="Mutation testing.")
    parser.add_argument("files", nargs="*", default=DEFAULT)
    parser.add_argument("--jobs", type=commands.whole(1), default=4)
    parser.add_argument("--sample", type=commands.whole(1), default=1,
                        help="only each N-th mutant")
    parser.add_argument("--trust", action="store_true", help="try nothing that has a reason")
    parser.add_argument("--fresh", action="store_true", help="forget earlier verdicts")
    args = parser.parse_args()
    for name in args.files:
        if not (ROOT / name).is_file():
            parser.error("there is no file {}".format(name))
    BUILD.mkdir(parents=True, exist_ok=True)
    files = [File(name, args.sample) for name in args.files]
    steps = sorted({step for file in files for step in file.steps}, key=str)
    verdicts = Verdicts(_digest({ROOT / file for file, _, _ in steps}), args.fresh)

    def find_tests():
        return Tests(_reached(steps, args.jobs))

    examine(files, verdicts, find_tests, args.jobs, _reasons() if args.trust else {})
    return 0 if report(files, verdicts) else 1


if __name__ == "__main__":
    sys.exit(commands.ended(main))
