"""A native build: the same sources, their hot functions compiled to machine code.

    python tools/native_build.py                     # build/native/x64, on a PC
    python tools/native_build.py --march xtensawin   # for an ESP32
    python tools/native_build.py --test              # and run the tests of the rules
    python tools/native_build.py --measure           # and what is gained, into docs/results

tools/native.py names the functions. What is measured is .mpy files of both builds, in turns, with
the operations of tools/perfcheck.py; their instructions, too, where there is Valgrind.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import commands
import firmware_mpy
import memory
import perfcheck
import report
import report_machine
import report_page
from firmware_mpy import ROOT, Failed
from harness import interpreters

# What `--test` runs, but for CPython: what CSP_PACKAGES can put other packages under.
TESTS = ("tests/rules", "tests/regressions", "tests/test_more_coroutines.py",
         "tests/test_more_threads.py", "tests/test_cspcore.py", "tests/test_cspcore_choice.py",
         "tests/test_engine.py", "tests/test_engine_changes.py", "tests/test_engine_loops.py",
         "tests/test_heap.py", "tests/test_heap_edge.py", "tests/test_late_import.py",
         "tests/test_small_heap.py", "tests/test_odd_threads.py", "tests/test_ufuture.py",
         "tests/test_ufuture_csp.py", "tests/test_ufuture_gather.py",
         "tests/test_ufuture_timeout.py", "tests/faults/test_ctrl_c.py",
         "tests/faults/test_exhaustion.py", "tests/faults/test_threads.py",
         "tests/networks/test_networks.py")
# As sys.implementation._mpy numbers them.
_NUMBERED = (None, "x86", "x64", "armv6", "armv6m", "armv7m", "armv7em", "armv7emsp",
             "armv7emdp", "xtensa", "xtensawin", "rv32imc", "rv64imc")


def own_architecture():
    """That of the MicroPython found here, None if it loads no machine code. Raises Failed."""
    problem = interpreters.missing()
    if problem:
        raise Failed(problem)
    done = firmware_mpy.ran(
        "MicroPython", [*interpreters.command("micropython"), "-c", "import sys; "
                        "print(getattr(sys.implementation, '_mpy', 0) >> 10 & 15)"])
    return _NUMBERED[int(done.stdout)]


def build(folder, march):
    """Write the packages as .mpy files into a folder, in the place of a build that is there.

    Raises Failed, and OSError where it can't be written; then that build stays.
    """
    folder = pathlib.Path(folder)
    for path in folder.rglob("*"):
        package = path.relative_to(folder).parts[0]
        if package not in firmware_mpy.PACKAGES or not (path.is_dir() or path.suffix == ".mpy"):
            raise Failed("{} holds more than a build, which would be lost: name another "
                         "folder".format(folder))
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


def table_of_sizes(found):
    """The sizes of both builds as Markdown."""
    rows = [(name, *(f[name] for f in found)) for name in found[0]]
    rows.append(("all", *(sum(f.values()) for f in found)))
    return report_page.table(
        ("bytes of .mpy files", "bytecode", "with machine code", ""),
        [(*row, "{:.2f} x".format(row[2] / row[1])) for row in rows], 1)


# --- measuring

FULL = {"rounds": 5, "runs": 8, "times": 7.5, "counts": True}
QUICK = {"rounds": 1, "runs": 1, "times": 0.075, "counts": False}
HEAP = "2M"


def _timed(name, folder, parameters, micropython):
    # (Samples in us, bytes of heap per operation) of a measure of tools/perfcheck.py.
    words, _, large, _, *more = perfcheck.MEASURES[name]
    words = [word.format(round(large * parameters["times"])) for word in words]
    program, cwd = interpreters.main_program(folder)
    bound = ["taskset", "-c", "0"] if name.startswith("upycsp") and shutil.which("taskset") else []
    done = firmware_mpy.ran(
        name, [*bound, micropython, "-X", "heapsize=" + HEAP, *program, *words, *more,
               "runs={}".format(parameters["runs"]), "samples=yes", "baselines=no"],
        cwd=cwd, env=interpreters.environment())
    [(result, samples)] = report.parse(done.stdout)
    return samples, result["bytes_per_op"]


def gains(folders, parameters, micropython):
    """{operation: {"us", "bytes", "instructions": (of bytecode, with machine code)}}.

    folders: of the two builds. Their interpreters run in turns; us are minima, which other
    programs disturb least.
    """
    names = list(perfcheck.MEASURES)
    samples = {(name, folder): [] for name in names for folder in folders}
    found = {name: {"bytes": [None, None], "instructions": [None, None]} for name in names}
    for _ in range(parameters["rounds"]):
        for name in names:
            for i, folder in enumerate(folders):
                us, found[name]["bytes"][i] = _timed(name, folder, parameters, micropython)
                samples[name, folder] += us
    for name in names:
        found[name]["us"] = [min(samples[name, folder]) for folder in folders]
    return found


def count_instructions(found, folders):
    """Add the instructions to what `gains` found."""
    jobs = [(name, i) for name in found for i in (0, 1)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = pool.map(lambda job: perfcheck.counts([job[0]], folders[job[1]])[job[0]], jobs)
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


def measure(folders, parameters):
    """All that the page tells, of the two builds: bytecode, then with machine code."""
    micropython = report_machine.need_micropython()
    result = report_machine.surroundings(micropython)
    result["parameters"] = parameters
    result["sizes"] = [sizes(folder) for folder in folders]
    result["imports"] = {}
    for lib in memory.LIBS:
        statement = memory.FIVE.format(lib)
        result["imports"][statement] = [memory.imported(statement, f)[0] for f in folders]
    result["gains"] = gains(folders, parameters, micropython)
    result["counted"] = parameters["counts"] and bool(shutil.which("valgrind"))
    if result["counted"]:
        count_instructions(result["gains"], folders)
    return result


def page(result):
    """docs/results/native.md."""
    lines = ["# A native build", "",
             report_machine.printed("make native ARGS=--measure", result),
             "On the Unix port; times are minima over {} rounds of both builds in turns, in a "
             "heap of {}; rows of upycsp on one processor. The bytes of an operation are those it "
             "takes of the heap.".format(result["parameters"]["rounds"], HEAP)]
    if not result["counted"]:
        lines.append("Instructions were not counted, for which it takes Valgrind and full sizes.")
    imports = report_page.table(
        ("bytes of heap that an import takes", "bytecode", "with machine code"),
        [(statement, *found) for statement, found in result["imports"].items()], 1)
    return "\n".join([*lines, "", table_of_gains(result["gains"]),
                      table_of_sizes(result["sizes"]), imports])


def run_tests(folder):
    """Run the tests of the rules with a build; pytest's exit status."""
    env = dict(os.environ, CSP_PACKAGES=str(folder))
    words = ["-m", "pytest", "-q", "-n", "2", "-k", "not cpython", *TESTS]
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=env).returncode


def main(arguments=None):
    """The exit status."""
    parser = argparse.ArgumentParser(description="Machine code for hot functions.")
    parser.add_argument("--march", choices=firmware_mpy.ARCHITECTURES, metavar="ARCHITECTURE",
                        help="of the machine code, else that of the MicroPython here: %(choices)s")
    parser.add_argument("--out", help="the folder; build/native/ARCHITECTURE if not given")
    parser.add_argument("--test", action="store_true", help="run the tests of the rules with it")
    parser.add_argument("--measure", action="store_true", help="measure what is gained")
    parser.add_argument("--quick", action="store_true", help="in small sizes, to try it out")
    parser.add_argument("--results", default=str(ROOT / "docs" / "results"), type=commands.folder,
                        help="where --measure writes")
    options = parser.parse_args(arguments)
    try:
        return _make(options)
    except (Failed, perfcheck.Failed) as er:
        print(er, file=sys.stderr)
    except OSError as er:
        print("can't write {}: {}".format(er.filename or "the build", er.strerror),
              file=sys.stderr)
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
        folders = bytecode, folder
        print("{}: {}\n\n{}".format(march, folder, table_of_sizes([sizes(f) for f in folders])))
        if options.measure:
            result = measure(folders, QUICK if options.quick else FULL)
            out = options.results
            out.mkdir(parents=True, exist_ok=True)
            (out / "native.json").write_text(json.dumps(result, indent=1) + "\n")
            (out / "native.md").write_text(page(result))
            print(page(result))
            print("wrote", out / "native.md")
    return run_tests(folder) if options.test else 0


if __name__ == "__main__":
    sys.exit(commands.ended(main))
