"""Which lines of the libraries each function of the device tests reaches, and how long it takes.

The functions run once in a copy of the repository with marks (see coverage/instrument.py), which
are read and cleared after each of them.
"""

import ast
import concurrent.futures
import json
import pathlib
import queue
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools" / "coverage"))

import run as coverage_run  # noqa: E402

MARKS = """
_tables = {}


def marks(path, count):
    if path not in _tables:
        _tables[path] = bytearray(count)
    return _tables[path]


def tell_reached():
    for path, table in _tables.items():
        print(path, " ".join([str(n) for n in range(len(table)) if table[n]]))
        for n in range(len(table)):
            table[n] = 0
"""


class Runner:
    """A process that runs functions of the tests of a copy of the repository."""

    def __init__(self, path, env=None):
        command = [sys.executable, str(path / "tools" / "mutation_step.py")]
        self.process = subprocess.Popen(command, cwd=path, env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, step, names, ask=None):
        """What mutation_step.py answers for a step (file, interpreter, variant)."""
        file, interpreter, variant = step
        words = {"file": file, "interpreter": interpreter, "variant": variant}
        words.update({"names": names, "ask": ask})
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def reached(steps, build, jobs):
    """{step: {function: (seconds, {path: lines})}}; a step is (file, interpreter, variant).

    What the import of a file reaches counts for each of its functions, and what a file of the
    library does when it is loaded for each function that reaches that file: a file that is loaded
    late is so by the first of them alone. Functions that are skipped, or that bear no marks (they
    weigh an import), are left out.
    """
    shutil.rmtree(build, ignore_errors=True)
    tree = build / "tree"
    coverage_run.copy_project(tree)
    meaning = coverage_run.put_marks(tree)
    (tree / "covered_marks.py").write_text(MARKS)
    for file in sorted({file for file, _, _ in steps}):
        with (tree / file).open("a") as out:
            out.write("\n\nfrom covered_marks import tell_reached  # noqa\n")
    env = coverage_run.environment(build, build / "none")
    for name in "COVERAGE_PROCESS_START", "COVERED_MARKS", "PYTHONPATH":
        env.pop(name, None)

    loading = {path: at_load((ROOT / path).read_text()) for path in meaning}
    runners = queue.SimpleQueue()
    for _ in range(jobs):
        runners.put(Runner(tree, env))

    def one(step):
        runner = runners.get()
        try:
            verdicts = runner.ask(step, None, "tell_reached")
            return step, dict(_functions(step, verdicts, meaning, loading))
        finally:
            runners.put(runner)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return {step: functions for step, functions in pool.map(one, steps) if functions}


def at_load(source):
    """The lines of what a file does when it is loaded, and of all that makes a function."""
    nodes = list(ast.walk(ast.parse(source)))
    functions = [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inner = {n.lineno for f in functions for n in ast.walk(f) if isinstance(n, ast.stmt)}
    lines = {n.lineno for n in nodes if isinstance(n, ast.stmt)}
    return lines - inner | {f.lineno for f in functions}


def _functions(step, verdicts, meaning, loading):
    imported = {}
    for name, kind, seconds, text, said in verdicts:
        if kind == "fail":
            print("{} {}: not used, it fails with marks: {}".format(
                " ".join(map(str, step)), name, text.splitlines()[0]), file=sys.stderr)
        elif not name:
            imported = _lines(said, meaning)
        elif kind == "pass":
            lines = _lines(said, meaning)
            for path in lines:
                if lines[path]:
                    lines[path] |= loading[path]
            for path in imported:
                lines[path] = lines.get(path, set()) | imported[path]
            yield name, (seconds, lines)


def _lines(said, meaning):
    lines = {}
    for line in said.splitlines():
        path, _, numbers = line.partition(" ")
        if path in meaning:
            lines[path] = {abs(meaning[path][int(n)][1]) for n in numbers.split()}
    return lines
