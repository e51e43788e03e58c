"""An image's sources with short private names: what they do stays, and what others see of them."""

import ast
import pathlib
import re
import subprocess
import sys

import pytest

from harness import interpreters, patience

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

import firmware_images as images  # noqa: E402
import firmware_mpy as mpy  # noqa: E402
import firmware_names as names  # noqa: E402


def test_a_private_name_is_the_same_in_all_sources():
    found = names.shortened({
        "p/a.py": "class End:\n    def put(self, v):\n        self._waiting = v\n",
        "p/b.py": 'def look(x):\n    return x._waiting, hasattr(x, "_waiting"), "is _waiting"\n'})
    assert found == {
        "p/a.py": "class End:\n    def put(self, v):\n        self._0 = v\n",
        "p/b.py": 'def look(x):\n    return x._0, hasattr(x, "_0"), "is _waiting"\n'}


def test_functions_classes_modules_and_names_of_others_stay():
    text = ("import _thread\nfrom _made import _given\n\n\nclass _Held:\n    _thread = None\n\n\n"
            "def _held():\n    _given._lazy\n    return _Held._thread\n")
    assert names.shortened({"a.py": text}) == {"a.py": text}


def test_names_of_one_module_alone_take_those_of_attributes_elsewhere():
    found = names.shortened({
        "a.py": "_count = []\nclass A:\n    def f(self):\n        self._length = _count\n",
        "b.py": "_total = []\nprint(_total)\n"})
    assert found == {
        "a.py": "_0 = []\nclass A:\n    def f(self):\n        self._0 = _0\n",
        "b.py": "_0 = []\nprint(_0)\n"}


def test_a_class_with_an_attribute_of_its_own_does_not_hide_a_modules_name():
    found = names.shortened({
        "a.py": "_count = []\nclass A:\n    _length = None\n    kept = _count\n"
                "    def f(self):\n        return self._length\n"})
    assert "_0 = None\n    kept = _1\n" in found["a.py"]


def test_a_short_name_is_none_that_is_there_already():
    found = names.shortened({"a.py": "def f(x):\n    x._0 = x._waiting = x._1 = None\n"})
    assert found == {"a.py": "def f(x):\n    x._0 = x._2 = x._1 = None\n"}


def test_what_is_not_ascii_stands_before_a_name():
    found = names.shortened({"a.py": 'def f(x):\n    x._waiting = "µ", x._waiting  # µs\n'})
    assert found == {"a.py": 'def f(x):\n    x._0 = "µ", x._0  # µs\n'}


def test_imported_constants_stand_where_they_are_used():
    found = names.shortened({
        "p/a.py": "from micropython import const\nREAD = const(0)\nWRITE = const(1 << 2)\nx = 5\n",
        "p/b.py": "from p.a import (\n    READ,  # first\n    WRITE,\n    const,\n    x,\n)\n"
                  "_OWN = const(3)\ny = [READ, x, -WRITE, _OWN]\n",
        "p/c.py": "from p.a import READ\ndef f(READ):\n    return READ\n"})
    assert found == {
        "p/a.py": "pass\nREAD = const(0)\nWRITE = const(1 << 2)\nx = 5\n",
        "p/b.py": "from .a import x\n_0 = const(3)\ny = [0, x, -4, _0]\n",
        "p/c.py": "from .a import READ\ndef f(READ):\n    return READ\n"}


def test_a_package_imports_from_itself_without_its_name():
    found = names.shortened({
        "p/a.py": "x = 1\n",
        "p/b.py": "from p.a import x as y\nfrom q.a import z\nfrom p import a\nimport p.a\n"
                  "def f():\n    from p.a import x\n"})
    assert found["p/b.py"] == (
        "from .a import x as y\nfrom q.a import z\nfrom p import a\nimport p.a\n"
        "def f():\n    from p.a import x\n")


@pytest.mark.parametrize("text, short", [
    ("_SLICE_MS = 5\nprint(_SLICE_MS)\n", "_0 = const(5)\nprint(_0)\n"),
    ("_FAR = -(1 << 28)\nprint(_FAR)\n", "_0 = const(-(1 << 28))\nprint(_0)\n"),
    # It changes, is used before, or is looked up in the module.
    ("_n = 5\ndef f():\n    global _n\n    _n = 6\n",
     "_0 = 5\ndef f():\n    global _0\n    _0 = 6\n"),
    ("def f():\n    return _n\n_n = 5\n", "def f():\n    return _0\n_0 = 5\n"),
    ("import a\n_n = 5\nprint(a._n)\n", "import a\n_0 = 5\nprint(a._0)\n"),
    ('_n = 5\nprint(globals()["_n"])\n', '_0 = 5\nprint(globals()["_0"])\n'),
    # No whole number of literals.
    ("_yes = True\n_s = 0.5\n", "_0 = True\n_s = 0.5\n"),
])
def test_private_numbers_are_constants(text, short):
    assert names.shortened({"a.py": text.replace("_n", "_number")}) == {"a.py": short}


@pytest.fixture(scope="module")
def texts():
    """(Before, after) of the image for an ESP32, each {path: source}."""
    known = {**mpy.FOR_MICROPYTHON, **mpy.FOR_MPY_6, **mpy.FOR_ESP32}
    leaves_out = images.ROMFS_LEAVES_OUT + images.ESP32_LEAVES_OUT
    after = mpy.image_texts(mpy.PACKAGES, None, known, leaves_out)
    found = mpy.image_texts(mpy.PACKAGES, None, known, None)
    return {path: found[path] for path in after}, after


def renamed(texts):
    """All names of the image that are others now."""
    before, after = [{token.string for text in found.values() for token in names.tokens(text)}
                     for found in texts]
    return {name for name in before - after if name.isidentifier()}


def test_only_private_names_and_imported_constants_are_gone(texts):
    public = {name for name in renamed(texts) if not name.startswith("_")}
    assert public <= {"READ"}


def test_what_a_source_imports_from_another_is_there(texts):
    after = texts[1]
    modules = {names._module(path): text for path, text in after.items()}
    asked = 0
    for path, text in after.items():
        for node in ast.walk(ast.parse(text)):
            package = path.partition("/")[0] + "." if getattr(node, "level", 0) else ""
            if isinstance(node, ast.ImportFrom) and package + (node.module or "") in modules:
                made = modules[package + node.module]
                found = {token.string for token in names.tokens(made)}
                for alias in node.names:
                    place = "{}.{}".format(node.module, alias.name)
                    asked += 1
                    assert alias.name in found or place in modules or "__getattr__" in found, path
    assert asked > 300


def test_programs_use_none_of_the_names_that_are_gone(texts):
    gone = renamed(texts)
    for folder in ("benchmarks", "examples", "tests/board"):
        for path in (mpy.ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if "thesis" not in path.parts:  # its own libraries
                assert not gone & set(re.findall(r"(?<!\bself)\.(_\w+)", text)), path


@pytest.mark.skipif(interpreters.micropython() is None, reason="no MicroPython")
def test_micropythons_own_names_stay(texts):
    program = """
import asyncio, asyncio.core, asyncio.event, asyncio.lock, asyncio.stream, _thread, sys, select
import gc, io, micropython, socket, time
core = asyncio.core
found = [asyncio, core, asyncio.event, asyncio.lock, asyncio.stream, _thread, sys, select, gc, io]
found += [micropython, socket, time, core.Task, core.TaskQueue, core.IOQueue, core.Loop, object]
found += [asyncio.Event, asyncio.Lock, asyncio.ThreadSafeFlag, asyncio.StreamReader, type, OSError]
print(" ".join(" ".join(dir(x)) for x in found))
"""
    done = patience.run(
        [*interpreters.command("micropython"), "-c", program], env=interpreters.environment(),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    theirs = set(done.stdout.split())
    assert {"_task_queue", "_io_queue"} <= theirs
    assert not theirs & renamed(texts)
