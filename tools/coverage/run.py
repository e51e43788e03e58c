"""Lines and branches of the libraries that the test suite reaches; into build/coverage.

    python tools/coverage/run.py [--page] [pytest's arguments]

The tests run once, in a copy of the project. There MicroPython gets the packages with marks (see
instrument.py), whether it runs a network of threads or of coroutines; CPython gets them as they
are, under coverage.py. Exit status 1 if a package, or all together, are reached by less than
GOAL % of lines or branches; tests that fail are told, but are `make test`'s affair. --page writes
the table into docs/results/coverage.md.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import covered_report
from instrument import instrument

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "tools")]

import commands  # noqa: E402
from harness import interpreters  # noqa: E402

BUILD = ROOT / "build" / "coverage"
PAGE = ROOT / "docs" / "results" / "coverage.md"
PACKAGES = ("cspcore", "uapycsp", "ufuture", "upycsp", "uthreading")
# Tests of the tools, the benchmarks, the examples and the pages, which use the packages but say
# little of them; and those that look at the packages' text or size.
LEFT_OUT = (
    "test_models",
    "test_perfcheck",
    "test_sizes",
    "test_make",
    "test_firmware*",
    "test_native",
    "test_gate",
    "test_harness",
    "test_docs",
    "test_board*",
    "test_bench*",
    "test_cover_tool",
    "test_example*",
)

# Tests that say how much memory an import takes, that seed faults into the text of the packages,
# and that let allocations fail (coverage.py's, too).
ALSO_LEFT_OUT = (
    "tests/test_uthreading_exit.py::test_importing_a_package_is_cheap",
    "tests/networks/test_law.py::test_each_fault_can_be_seeded",
    "tests/networks/test_law.py::test_a_fault_in_a_library_is_caught",
    "tests/schedules/test_schedules_threads.py::test_a_fault_is_found_and_shown_again",
    "tests/faults/test_nomemory.py::test_a_task_that_cannot_be_started_does_not_begin",
)

# MicroPython with as much more heap as the marks take, where a test wants a small one.
ROOMY = """#!/bin/sh
case "$1 $2" in
"-X heapsize="*K)
    n=${{2#heapsize=}}
    shift 2
    set -- -X "heapsize=$((${{n%K}} + {room}))K" "$@" ;;
esac
exec "{micropython}" "$@"
"""
ROOM = 40

CONFIG = """
[run]
branch = true
parallel = true
concurrency = thread
data_file = {data}
include = {include}
disable_warnings = no-data-collected, couldnt-parse, module-not-measured

[report]
include = {include}
"""


def sources(root=ROOT):
    """The measured files, relative to the root."""
    return [p.relative_to(root) for name in PACKAGES for p in sorted((root / name).glob("*.py"))]


def copy_project(tree):
    """Copy the project without what was made there."""
    made = shutil.ignore_patterns("build", ".*", "__pycache__", "results")
    shutil.copytree(ROOT, tree, ignore=made, symlinks=True)


def put_marks(tree):
    """Put marks into the packages of a copy; what they mean, by path."""
    meaning = {}
    for path in sources():
        text, marks = instrument((ROOT / path).read_text(encoding="utf-8"), path.as_posix())
        (tree / path).write_text(text, encoding="utf-8")
        meaning[path.as_posix()] = marks
    shutil.copy(pathlib.Path(__file__).with_name("covered_marks.py"), tree)
    return meaning


def environment(build, config):
    """What makes interpreters under test, and those they start, save what they reached."""
    env = dict(os.environ)
    startup = str(pathlib.Path(__file__).with_name("startup"))
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [startup, env.get("PYTHONPATH")]))
    env["COVERAGE_PROCESS_START"] = str(config)
    env["COVERED_ROOT"] = str(ROOT)
    env["COVERED_TREE"] = str(build / "tree")
    env["COVERED_PACKAGES"] = " ".join(PACKAGES)
    env["COVERED_MARKS"] = str(build / "marks")
    micropython = interpreters.micropython()
    if micropython:
        roomy = build / "micropython"
        roomy.write_text(ROOMY.format(room=ROOM, micropython=micropython))
        roomy.chmod(0o755)
        env["MICROPYTHON"] = str(roomy)
    return env


def measure(build, arguments):
    """Run the tests in a copy of the project; what the marks mean, and pytest's exit status."""
    shutil.rmtree(build, ignore_errors=True)
    tree = build / "tree"
    for folder in (build / "marks", build / "cpython"):
        folder.mkdir(parents=True)
    copy_project(tree)
    meaning = put_marks(tree)
    (build / "meaning.json").write_text(json.dumps(meaning))
    config = build / "coveragerc"
    include = ", ".join(str(ROOT / name / "*") for name in PACKAGES)
    config.write_text(CONFIG.format(data=build / "cpython" / "data", include=include))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    words += ["--ignore-glob=*/{}.py".format(name) for name in LEFT_OUT]
    words += ["--deselect={}".format(name) for name in ALSO_LEFT_OUT]
    env = environment(build, config)
    return meaning, subprocess.run([*words, *arguments], cwd=tree, env=env).returncode


def main(arguments):
    asks_page = arguments[:1] == ["--page"]
    page = PAGE if asks_page else None
    if not interpreters.micropython():
        print("There is no MicroPython: only CPython is measured, and no page written.")
        page = None
    _, status = measure(BUILD, arguments[asks_page:])
    return covered_report.main(ROOT, BUILD, status, page)


if __name__ == "__main__":
    sys.exit(commands.ended(main, sys.argv[1:]))
