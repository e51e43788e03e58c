"""plugnplay: what is loaded and when, what the reference says of it, and how times are kept."""

import ast
import re
import subprocess

import pytest

from cspcore import plugs
from cspcore.timers import Beat
from harness import interpreters, patience
from old_micropython import copy_without_getattr

ROOT = interpreters.ROOT
MODULES = ("uapycsp.plugnplay", "upycsp.plugnplay", "upycsp.aio_plugnplay")
SOURCES = (*sorted((ROOT / "cspcore").glob("plugs_*.py")), ROOT / "cspcore" / "plugnplay.py")


def printed(interpreter, program, folder=ROOT):
    command = interpreters.command(interpreter)
    if command is None:
        pytest.skip("no MicroPython")
    program = "import sys\nsys.path.insert(0, {!r})\n".format(str(folder)) + program
    done = patience.run(
        [*command, "-c", program], cwd=folder, env=interpreters.environment(), text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=180)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout.splitlines()


LOADED = 'print(sorted([m for m in sys.modules if "plugs_" in m or m == "upycsp.awaited"]))\n'


# --- what is loaded, and when


@pytest.mark.parametrize("interpreter", interpreters.NAMES)
@pytest.mark.parametrize("module", MODULES)
def test_a_group_is_loaded_when_one_of_it_is_first_used(interpreter, module):
    program = "from {} import Identity\n".format(module) + LOADED
    program += "from {} import Plus\n".format(module) + LOADED
    awaited = ", 'upycsp.awaited'" if module == "upycsp.plugnplay" else ""
    assert printed(interpreter, program) == [
        "[]", "['cspcore.plugs_numbers'" + awaited + "]"]


@pytest.mark.parametrize("interpreter", interpreters.NAMES)
@pytest.mark.parametrize("module", MODULES)
def test_every_name_can_be_had_and_an_unknown_one_loads_no_group(interpreter, module):
    program = """
from {} import Identity
module = sys.modules[{!r}]
print(hasattr(module, "no_such_name"))
""".format(module, module) + LOADED + """
print([name for name in {!r} if not hasattr(module, name)])
print(module.Plus is module.Plus, module.Delta2 is module.ParDelta2)
""".format(plugs.every())
    assert printed(interpreter, program) == [
        "False", "[]", "[]", "True True"]


@pytest.mark.parametrize("module", MODULES)
def test_import_star_gives_all_names(module):
    program = "from {} import *\nprint([n for n in {!r} if n not in globals()])".format(
        module, plugs.every())
    assert printed("cpython", program) == ["[]"]


@pytest.mark.parametrize("package, modules", (
    ("uapycsp", MODULES[:1]), ("upycsp", MODULES[1:])))
def test_without_getattr_in_modules_all_names_are_there_after_the_import(
        tmp_path, package, modules):
    copy_without_getattr(tmp_path)
    program = "import {}\nfor m in {!r}:\n    names = sys.modules[m].__dict__\n".format(
        package, modules)
    program += "    print([n for n in {!r} if n not in names])\n".format(plugs.every())
    program += NETWORK.format(package)
    assert printed("micropython", program, tmp_path) == ["[]"] * len(modules) + ["[1, 4, 9]"]


NETWORK = """
from {} import Channel, plugnplay, run
a = Channel("a")
print(run(plugnplay.Squares(a.write), plugnplay.Collect(a.read, 3))[1])
"""

STARTED = """
from upycsp import Channel, process, run
from {} import Identity

@process
def looks(cout):
    cout.poison()

run(looks(Channel().write))
print(len([m for m in sys.modules if "plugs_" in m]))
"""


@pytest.mark.parametrize("module", MODULES[1:])
def test_where_threads_must_not_load_modules_all_is_loaded_before_the_first_one(module):
    groups = len(list((ROOT / "cspcore").glob("plugs_*.py")))
    assert printed("micropython", STARTED.format(module)) == [str(groups)]
    assert printed("cpython", STARTED.format(module)) == ["0"]
    unused = STARTED.replace("from {} import Identity", "")
    assert printed("micropython", unused) == ["0"]


# --- the reference


def signatures():
    """{name: its arguments as the sources have them}."""
    found = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (
                    node.decorator_list or node.name == "poison_chans"):
                found[node.name] = ast.unparse(node.args)
    return found


def test_the_reference_lists_every_process_with_its_arguments():
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    section = text.split("### plugnplay")[1].split("\n## ")[0]
    listed = dict(re.findall(r"^\| `(\w+)\((.*?)\)`", section, re.M))
    found = {name: args.replace("'", '"') for name, args in signatures().items()}
    assert listed == found
    assert {*found, "Delta2"} == set(plugs.every())
    assert "`Delta2`" in section


# --- time


class Clock:
    def __init__(self):
        self.now = 1000

    def ticks_ms(self):
        return self.now

    def ticks_add(self, ticks, ms):
        return ticks + ms

    def ticks_diff(self, end, start):
        return end - start


@pytest.fixture
def clock():
    return Clock()


def test_the_moments_of_a_beat_do_not_drift(clock):
    beat = Beat(clock, 100)
    assert beat.rest_ms() == 100
    for late in (0, 3, 99, 40):
        clock.now = beat.due + late
        assert beat.rest_ms() == -late
        assert beat.skip() == 1
        assert beat.rest_ms() == 100 - late
        assert beat.due % 100 == 0


def test_moments_that_were_missed_are_skipped(clock):
    beat = Beat(clock, 100)
    clock.now = 1000 + 357
    assert beat.skip() == 3
    assert (beat.due, beat.rest_ms()) == (1400, 43)
    assert beat.skip() == 0  # it has not come yet
    assert beat.due == 1400


def test_a_beat_begins_anew_when_the_clock_tells_nothing_any_more(clock):
    for now in (1000 + (1 << 28), -(1 << 28)):
        clock.now = 1000
        beat = Beat(clock, 100)
        clock.now = now
        assert beat.skip() == 1
        assert beat.rest_ms() == 100
