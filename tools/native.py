"""A native build: the same sources, their hot functions compiled to machine code.

    python tools/native.py                       # build/native/x64, for the MicroPython found here
    python tools/native.py --march xtensawin     # build/native/xtensawin, for an ESP32
    python tools/native.py --test                # ... and the tests of the rules with it
    python tools/native.py --measure             # ... what is gained, into docs/results/native.md

HOT names the functions, and what was gained by each.

Measured: the .mpy files of both builds, made by the same compiler, in turns; instructions as in
tools/perfcheck.py, where there is Valgrind.
"""

import argparse
import ast
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import firmware_mpy  # noqa: E402
import memory  # noqa: E402
import perfcheck  # noqa: E402
import report  # noqa: E402
import report_machine  # noqa: E402
import report_page  # noqa: E402
from harness import interpreters  # noqa: E402

# Path: {qualified name: what it is part of, and what share of that its instructions fall by}. What
# gains less than 1.5 % for a KB (x64) of code stays bytecode. Each was looked through for what
# machine code does otherwise: it reads a name that was never set as if it were an object, does not
# look for Ctrl-C and scheduled functions, lets no other thread run, and allocates slices.
HOT = {
    "ufuture/micro.py": {
        # Ctrl-C and what is scheduled come in the processes, and in asyncio after 64 of them.
        "_drive": "communications of uapycsp: 6.2 %",
        "start": "processes of uapycsp: 5.0 %, with Process.start",
        "_tell": "processes of uapycsp: 4.5 %, with _ended, ended and member_ended",
        "_ended": "see _tell",
    },
    "uapycsp/channel.py": {
        "ReadEnd.csp_read": "communications of uapycsp: 9.9 %, with csp_write",
        "WriteEnd.csp_write": "see csp_read",
    },
    "uapycsp/process.py": {
        "Process.start": "see start in ufuture/micro.py",
        "Process.ended": "see _tell in ufuture/micro.py",
        "Parallel.member_ended": "see _tell in ufuture/micro.py",
    },
    "upycsp/channel.py": {
        "ReadEnd.__call__": "communications of upycsp: 12 %, with the write",
        "WriteEnd.__call__": "see ReadEnd.__call__",
    },
    "upycsp/alternative.py": {
        # Its state as bytecode takes heap in each call, under a lock that all threads contend for.
        "Alternative.select": "selections of upycsp: 60 %",
    },
    "upycsp/aio.py": {
        "_operations.<locals>.reader.<locals>.csp_read": "communications of upycsp.aio: 3.4 %",
        "_operations.<locals>.writer.<locals>.csp_write": "see csp_read",
    },
    "cspcore/choice.py": {
        "Choice.paired": "selections of uapycsp: 3.5 %, with all of cspcore that is here",
        "Choice._decide": "see paired",
        "Choice.withdraw": "see paired",
    },
    "cspcore/channel.py": {
        "BaseChannel.withdraw": "see paired in cspcore/choice.py",
        "unlink": "see paired in cspcore/choice.py",
    },
}
_MARK = "@micropython.native"
_RAISED = "raised_"


class Failed(Exception):
    """What could not be built, in a sentence."""


def marked(path, text):
    """A source's text with @micropython.native before the functions that HOT names for its path.

    The decorator takes the place of an empty line or a comment where one stands before the
    function, so that line numbers stay; the compiler itself knows it, so no import is needed. A
    bare `raise`, which machine code can't do, becomes one of the exception by a name.
    """
    functions = dict(_functions(ast.parse(text, path).body, ""))
    lines = text.split("\n")
    found = []
    for name in HOT.get(path, ()):
        if name not in functions:
            raise Failed("{} has no function {}, which tools/native.py names".format(path, name))
        found.append(functions[name])
    # From the end, so that the positions of what comes before stay right.
    for f in sorted(found, key=lambda f: -f.lineno):
        for row, column, words in sorted(_named_raises(f.body, None), reverse=True):
            line = lines[row - 1].encode()
            lines[row - 1] = (line[:column] + words.encode() + line[column:]).decode()
        row = min([f.lineno] + [d.lineno for d in f.decorator_list])
        before = lines[row - 2].strip() if row > 1 else "code"
        if before and not before.startswith("#"):
            lines.insert(row - 1, "")
            row += 1
        lines[row - 2] = " " * f.col_offset + _MARK
    return "\n".join(lines)


def _functions(body, prefix):
    # (Qualified name, node) of each function among these statements.
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node
            yield from _functions(node.body, prefix + node.name + ".<locals>.")
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, prefix + node.name + ".")
        else:
            for part in ("body", "handlers", "orelse", "finalbody"):
                yield from _functions(getattr(node, part, ()), prefix)


def _named_raises(body, handler):
    # What to insert, as a set of (row, column in bytes, words), where a bare raise stands among
    # the statements of an exception's handler.
    found = set()
    for node in body:
        if isinstance(node, ast.Raise) and node.exc is None:
            found.add((node.end_lineno, node.end_col_offset, " " + (handler.name or _RAISED)))
            if handler.type is None:
                column = handler.col_offset + len("except")
                found.add((handler.lineno, column, " BaseException as " + _RAISED))
            elif handler.name is None:
                end = handler.type
                found.add((end.end_lineno, end.end_col_offset, " as " + _RAISED))
        inside = node if isinstance(node, ast.ExceptHandler) else handler
        for part in ("body", "handlers", "orelse", "finalbody"):
            found |= _named_raises(getattr(node, part, ()), inside)
    return found


# --- building

ROOT = firmware_mpy.ROOT
# What `--test` runs: all that runs inside MicroPython and uses the packages.
TESTS = ("tests/rules", "tests/regressions", "tests/test_more_coroutines.py",
         "tests/test_more_threads.py", "tests/test_cspcore.py", "tests/test_cspcore_choice.py",
         "tests/test_engine.py", "tests/test_engine_changes.py", "tests/test_engine_loops.py",
         "tests/test_heap.py", "tests/test_heap_edge.py", "tests/test_late_import.py",
         "tests/test_small_heap.py", "tests/test_odd_threads.py", "tests/test_ufuture.py",
         "tests/test_ufuture_csp.py", "tests/test_ufuture_gather.py",
         "tests/test_ufuture_timeout.py")
# As sys.implementation._mpy numbers them.
ARCHITECTURES = (None, "x86", "x64", "armv6", "armv6m", "armv7m", "armv7em", "armv7emsp",
                 "armv7emdp", "xtensa", "xtensawin", "rv32imc", "rv64imc")


def own_architecture():
    """That of the MicroPython found here, None if it loads no machine code. Raises Failed."""
    command = interpreters.command("micropython")
    if command is None:
        raise Failed("there is no MicroPython: name one in MICROPYTHON")
    done = firmware_mpy.ran(
        "MicroPython", [*command, "-c", "import sys; print(sys.implementation._mpy >> 10 & 15)"])
    return ARCHITECTURES[int(done.stdout)]


def build(folder, march):
    """Write the packages as .mpy files into a folder, whole or not at all; None: as bytecode."""
    folder = pathlib.Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        made = pathlib.Path(name) / "made"
        firmware_mpy.compiled(made, firmware_mpy.PACKAGES, native=march)
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)


def sizes(folder):
    """{package: bytes of its .mpy files}."""
    return {name: sum(p.stat().st_size for p in (folder / name).rglob("*.mpy"))
            for name in firmware_mpy.PACKAGES}


def table_of_sizes(bytecode, native):
    """Two lists of sizes as Markdown."""
    rows = [(name, bytecode[name], native[name]) for name in bytecode]
    rows.append(("all", sum(bytecode.values()), sum(native.values())))
    return report_page.table(
        ("bytes of .mpy files", "bytecode", "with machine code", ""),
        [(*row, "{:.2f} x".format(row[2] / row[1])) for row in rows], 1)


# --- measuring

FULL = {"rounds": 5, "runs": 8, "times": 2, "counts": True}
QUICK = {"rounds": 1, "runs": 1, "times": 0.02, "counts": False}
HEAP = "2M"


def _timed(name, folder, sizes, micropython):
    # (Samples in us, bytes of heap per operation) of a measure of tools/perfcheck.py.
    words, _, large, _, *more = perfcheck.MEASURES[name]
    words = [word.format(round(large * sizes["times"])) for word in words]
    program, cwd = interpreters.main_program(folder)
    bound = ["taskset", "-c", "0"] if name.startswith("upycsp") and shutil.which("taskset") else []
    done = firmware_mpy.ran(
        name, [*bound, micropython, "-X", "heapsize=" + HEAP, *program, *words, *more,
               "runs={}".format(sizes["runs"]), "samples=yes", "baselines=no"],
        cwd=cwd, env=interpreters.environment())
    [(result, samples)] = report.parse(done.stdout)
    return samples, result["bytes_per_op"]


def gains(folders, sizes, micropython):
    """{operation: {"us", "bytes", "instructions": (of bytecode, with machine code)}}.

    folders: of the two builds. Their interpreters run in turns; us are medians.
    """
    names = list(perfcheck.MEASURES)
    samples = {(name, folder): [] for name in names for folder in folders}
    found = {name: {"bytes": [None, None], "instructions": [None, None]} for name in names}
    for _ in range(sizes["rounds"]):
        for name in names:
            for i, folder in enumerate(folders):
                us, found[name]["bytes"][i] = _timed(name, folder, sizes, micropython)
                samples[name, folder] += us
    for name in names:
        found[name]["us"] = [report_page.median(samples[name, folder]) for folder in folders]
    return found


def count_instructions(found, folders):
    """Add the instructions to what `gains` found."""
    jobs = [(name, i) for name in found for i in (0, 1)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = pool.map(lambda job: perfcheck.count(job[0], folders[job[1]]), jobs)
        for (name, i), n in zip(jobs, counted):
            found[name]["instructions"][i] = n


def table_of_gains(found):
    """What `gains` found, as Markdown."""
    rows = []
    for name, f in found.items():
        row = [name]
        for kind in ("us", "instructions", "bytes"):
            a, b = f[kind]
            row += [report_page.figure(a), report_page.figure(b)]
            if kind != "bytes":
                row.append("" if a is None else "{:.2f} x".format(a / b))
        rows.append(row)
    return report_page.table(
        ("", "us", "native", "gain", "instructions", "native", "gain", "bytes", "native"), rows, 1)


def table_of_heap(folders):
    """What imports take of the heap, as Markdown."""
    rows = []
    for lib in memory.LIBS:
        statement = memory.FIVE.format(lib)
        rows.append((statement, *(memory.imported(statement, f)[0] for f in folders)))
    return report_page.table(("bytes of heap", "bytecode", "with machine code"), rows, 1)


def measure(folders, sizes):
    """All that the page tells, of the two builds."""
    micropython = report_machine.need_micropython()
    result = report_machine.surroundings(micropython)
    result["parameters"] = sizes
    result["gains"] = gains(folders, sizes, micropython)
    result["counted"] = sizes["counts"] and bool(shutil.which("valgrind"))
    if result["counted"]:
        count_instructions(result["gains"], folders)
    return result


def page(result, tables):
    """docs/results/native.md."""
    m = result["machine"]
    lines = ["# A native build", "", "`make native ARGS=--measure` printed this on {}: {}, {} "
             "processors, {} {} {}; {}; commit {}{}.".format(
                 result["date"], m["cpu"], m["processors"], m["system"], m["kernel"],
                 m["architecture"], result["versions"]["micropython"],
                 (result["commit"] or "unknown")[:12],
                 ", with uncommitted changes" if result["uncommitted_changes"] else ""),
             "Times are medians over {} rounds of both builds in turns, in a heap of {}; rows of "
             "upycsp on one processor.".format(result["parameters"]["rounds"], HEAP)]
    if not result["counted"]:
        lines.append("Instructions were not counted, for which it takes Valgrind and full sizes.")
    return "\n".join([*lines, "", table_of_gains(result["gains"]), *tables])


def run_tests(folder):
    """Run the tests of the rules with a build; pytest's exit status."""
    env = dict(os.environ, CSP_PACKAGES=str(folder))
    words = ["-m", "pytest", "-q", "-n", "2", "-k", "micropython and not cpython", *TESTS]
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=env).returncode


def main(arguments=None):
    """The exit status."""
    parser = argparse.ArgumentParser(description="Machine code for hot functions.")
    parser.add_argument("--march", choices=ARCHITECTURES[1:], metavar="ARCHITECTURE",
                        help="of the machine code, else that of the MicroPython here: %(choices)s")
    parser.add_argument("--out", help="the folder; build/native/ARCHITECTURE if not given")
    parser.add_argument("--test", action="store_true", help="run the tests of the rules with it")
    parser.add_argument("--measure", action="store_true", help="measure what is gained")
    parser.add_argument("--quick", action="store_true", help="in small sizes, to try it out")
    parser.add_argument("--results", default=str(ROOT / "docs" / "results"),
                        help="where --measure writes")
    options = parser.parse_args(arguments)
    try:
        return _make(options)
    except (Failed, firmware_mpy.Failed, perfcheck.Failed, memory.Failed) as er:
        print(er, file=sys.stderr)
    except OSError as er:
        print("can't write {}: {}".format(er.filename, er.strerror), file=sys.stderr)
    return 1


def _make(options):
    march = options.march
    if march is None or options.test or options.measure:
        own = own_architecture()
        march = march or own
        if march is None:
            raise Failed("the MicroPython here runs no machine code: name the architecture of "
                         "another in --march")
        if (options.test or options.measure) and march != own:
            raise Failed("the MicroPython here runs {}, not {}".format(
                own or "no machine code", march))
    folder = pathlib.Path(options.out or ROOT / "build" / "native" / march).resolve()
    build(folder, march)
    with tempfile.TemporaryDirectory() as name:
        bytecode = pathlib.Path(name)
        firmware_mpy.compiled(bytecode, firmware_mpy.PACKAGES)
        tables = [table_of_sizes(sizes(bytecode), sizes(folder))]
        print("{}: {}\n\n{}".format(march, folder, tables[0]))
        if options.measure:
            folders = bytecode, folder
            tables.append(table_of_heap(folders))
            result = measure(folders, QUICK if options.quick else FULL)
            out = pathlib.Path(options.results)
            out.mkdir(parents=True, exist_ok=True)
            (out / "native.json").write_text(json.dumps(result, indent=1) + "\n")
            (out / "native.md").write_text(page(result, tables))
            print(page(result, tables[1:]))
            print("wrote", out / "native.md")
    return run_tests(folder) if options.test else 0


if __name__ == "__main__":
    sys.exit(main())
