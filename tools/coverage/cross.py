"""Checks the marks against a tracer: settrace, which only MicroPython for WebAssembly has.

    python tools/coverage/cross.py

Runs the same test functions on the Unix port with marks and on the WebAssembly port under settrace
(Node and npm are needed) and compares the lines that each says were reached. Only tests that need
no threads and no event loop of their own: there is no `_thread` there, and asyncio is driven by
JavaScript, without run_until_complete. Exit status 1 if they differ.
"""

import ast
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import mpy_coverage
import covered_report
import run
from coverage.parser import PythonParser

WEB = pathlib.Path(__file__).with_name("web")
PACKAGE = run.ROOT / "build" / "web"  # where npm puts it
# Tests that play for long, by parts of their names: under settrace they take seconds to minutes.
LONG = ("random", "keep_the_order_of_their_pairing", "lets_nobody_proceed")
TESTS = ("test_cspcore", "test_cspcore_choice")


def main(build=run.BUILD / "cross", modules=TESTS):
    """Run the tests of these modules twice; the exit status."""
    problem = install()
    if problem:
        print("No cross-check: " + problem)
        return 0
    tests = [[name, f, is_async] for name in modules for f, is_async in functions(name)]
    marked, branches, status = by_marks(build, modules)
    seen, seen_branches, failed = by_settrace(build, tests, marked)
    for module, name, error in failed:
        print("{}.{} fails on WebAssembly:\n{}".format(module, name, error))
    found = list(differences(marked, seen, branches, seen_branches))
    for difference in found:
        print(difference)
    print(
        "Both ran {} tests and reached {} lines; settrace saw {} of {} branches.".format(
            len(tests) - len(failed),
            sum(len(lines) for lines in marked.values()),
            sum(len(seen_branches[path]) for path in branches),
            sum(len(arcs) for arcs in branches.values()),
        )
    )
    print("{} differences.".format(len(found)))
    return 1 if found or failed or status else 0


def differences(marked, seen, branches, seen_branches):
    """The lines of which one says that they were reached, and branches that only settrace saw.

    It does not see all: MicroPython puts a loop's test behind its body, and tells no line there.
    """
    for path in sorted(marked):
        for line in sorted(marked[path] ^ seen[path]):
            who = "the marks" if line in marked[path] else "settrace"
            yield "{}:{} was reached only according to {}".format(path, line, who)
        for arc in sorted(seen_branches[path] - branches[path]):
            yield "{}: {} -> {} was taken only according to settrace".format(path, *arc)


def install(folder=PACKAGE):
    """Let npm fetch the pinned package; None, or what is missing."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            return "there is no {} on the PATH.".format(program)
    place = folder / "node_modules"
    if place.exists():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    words = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
    words += ["--fetch-retries=0", "--fetch-timeout=30000"]
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        shutil.copy(WEB / "package.json", fresh)
        try:
            subprocess.run(words, cwd=fresh, check=True, capture_output=True, timeout=120)
            pathlib.Path(fresh, "node_modules").rename(place)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired, OSError):
            if not place.exists():  # else somebody was faster
                return "npm could not fetch MicroPython for WebAssembly; is there a network?"
    return None


def functions(module):
    """The test functions of a module: (name, is it async)."""
    sys.path.insert(0, str(run.ROOT / "tests"))
    from harness import collect

    source = collect.Source(run.ROOT / "tests" / (module + ".py"))
    return [(name, is_async) for name, is_async, _ in source.functions
            if not any(part in name for part in LONG)]


def by_marks(build, modules):
    """The lines and the branches that the marks of the Unix port tell, by path."""
    files = ["tests/{}.py".format(name) for name in modules]
    # Hypothesis, which is not needed here, takes longer to load than the rest.
    chosen = " and not ".join(("micropython", *LONG))
    words = [*files, "-k", chosen, "-p", "no:hypothesispytest"]
    meaning, status = run.measure(build, words)
    arcs = covered_report.arcs_of_marks(pathlib.Path(), build / "marks", meaning)
    lines = {path: {to for start, to in found if start < 0} for path, found in arcs.items()}
    taken = {path: {arc for arc in found if arc[0] > 0} for path, found in arcs.items()}
    return lines, taken, status


def by_settrace(build, tests, marked):
    """The same according to settrace, and the tests that failed."""
    paths = run.sources()
    paths += [p.relative_to(run.ROOT) for p in sorted((run.ROOT / "tests").glob("*.py"))]
    files = {p.as_posix(): (run.ROOT / p).read_text(encoding="utf-8") for p in paths}
    tracer = pathlib.Path(mpy_coverage.__file__).with_name("tracer.py")
    files["tracer.py"] = tracer.read_text(encoding="utf-8")
    wishes, answer = build / "wishes.json", build / "answer.json"
    wishes.write_text(json.dumps({"files": files, "tests": tests}))
    words = ["node", str(WEB / "traced.mjs"), str(PACKAGE), str(wishes), str(answer)]
    subprocess.run(words, check=True, timeout=600)
    told = json.loads(answer.read_text())
    lines, taken = {}, {}
    for path in run.sources():
        name = path.as_posix()
        parser = PythonParser(text=files[name] or "\n")
        parser.parse_source()
        executed = told["seen"]["executed"].get("/project/" + name, ())
        lines[name] = parser.first_lines(executed) & parser.statements
        lines[name] -= ends_of_blocks(files[name]) - marked[name]
        arcs = told["seen"]["arcs"].get("/project/" + name, ())
        arcs = parser.translate_arcs([tuple(arc) for arc in arcs])
        ends = {start for start, n in parser.exit_counts().items() if n > 1}
        taken[name] = {arc for arc in arcs & parser.arcs() if arc[0] in ends}
    return lines, taken, told["failed"]


def ends_of_blocks(source):
    """Lines that settrace tells too often: what ends a loop or a `try` has the last line of it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            last = node.body[-1]
        elif isinstance(node, ast.Try) and node.handlers:
            last = node.handlers[-1].body[-1]
        else:
            continue
        while hasattr(last, "body"):
            last = (getattr(last, "orelse", None) or last.body)[-1]
        found.add(last.lineno)
    return found


if __name__ == "__main__":
    sys.exit(run.commands.ended(main))
