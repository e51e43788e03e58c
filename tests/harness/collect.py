"""The pytest side: device tests become items, one for each interpreter and variant.

A device test is a function `test_...` in a file tests/**/test_*.py that does not import pytest,
at the top or in an `if` there: where that does not define it, it is skipped.
It runs in each interpreter; in tests/rules and tests/regressions it runs for each variant of the
library, too, which the file imports as `csp`, with the helpers of tests/rules. Constants at the
head of such a file say more:

    INTERPRETERS = ("micropython",)    not in the others
    VARIANTS = ("uapycsp",)            not for the others (those two folders only)
    TIME_LIMIT = 20                    seconds for the whole file, 180 if not given
    HEAP = "222K"                      MicroPython's heap
    VIRTUAL_TIME = True                its coroutines run by a clock that jumps, where one is: see
                                       rules_support
    REAL_TIME = ("test_x",)            but not these
"""

import ast
import functools
import os
import pathlib
import re

import pytest

from . import device, interpreters

_TIME_LIMIT = 180
_CONSTANTS = ("INTERPRETERS", "VARIANTS", "TIME_LIMIT", "HEAP", "VIRTUAL_TIME", "REAL_TIME")
_VARIED = ("rules", "regressions")  # folders whose tests run for each variant of the library


class Source:
    """What the harness must know of a test file, without importing it."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text, str(path))
        # Most files do not name it, and a walk over all of a tree takes longer than parsing.
        named = "pytest" in text
        self.ordinary = named and any(_imports_pytest(node) for node in ast.walk(tree))
        self.functions = []  # (name, is it async, line)
        self.classes = []
        self.obscure = []
        constants = {}
        if self.ordinary:
            return
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._add(node)
            elif isinstance(node, ast.If):
                self._add_conditional(node)
            elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                self.classes.append(node.name)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if name in _CONSTANTS:
                    constants[name] = self._literal(name, node.value)
        self.rules = path.parent.name in _VARIED
        self.interpreters = constants.get("INTERPRETERS") or interpreters.NAMES
        self.variants = constants.get("VARIANTS") or tuple(device.LIBRARIES)
        self.limit = constants.get("TIME_LIMIT") or _TIME_LIMIT
        self.heap = constants.get("HEAP")
        self.virtual_time = constants.get("VIRTUAL_TIME", False)
        self.real_time = constants.get("REAL_TIME") or ()

    def _add(self, node):
        if node.name.startswith("test"):
            is_async = isinstance(node, ast.AsyncFunctionDef)
            self.functions.append((node.name, is_async, node.lineno))

    def _add_conditional(self, node):
        # Where a function is not defined its test is skipped. Both branches may have one.
        names = set()
        for part in node.body + node.orelse:
            if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if part.name not in names:
                    names.add(part.name)
                    self._add(part)
            elif isinstance(part, ast.If):
                self._add_conditional(part)

    def _literal(self, name, node):
        try:
            return ast.literal_eval(node)
        except ValueError:
            self.obscure.append(name)
            return None

    def faults(self):
        for name in self.obscure:
            yield "{} must be a literal".format(name)
        names = [name for name, _, _ in self.functions]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield "{} is defined twice".format(name)
        for name in self.classes:
            yield "{}: device tests are functions, not classes".format(name)
        for name in set(self.real_time) - set(names):
            yield "REAL_TIME: there is no {}".format(name)
        for name in set(self.interpreters) - set(interpreters.NAMES):
            yield "INTERPRETERS: {!r} is none of {}".format(name, ", ".join(interpreters.NAMES))
        for name in set(self.variants) - set(device.LIBRARIES):
            yield "VARIANTS: {!r} is none of {}".format(name, ", ".join(device.LIBRARIES))


@functools.lru_cache(None)  # some tests ask for all files once more
def source_of(path):
    """The Source of a file."""
    return Source(path)


def how(is_async, variant, virtual_time=False):
    """In which way the runner calls a function."""
    if is_async and virtual_time:
        return "virtual"
    if not is_async or variant == "upycsp":
        return "call"
    return "csp" if variant else "asyncio"


def _imports_pytest(node):
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == "pytest" for alias in node.names)
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pytest"


class DeviceFile(pytest.File):
    """A file of device tests."""

    source = None

    def collect(self):
        if isinstance(self.source, SyntaxError):
            raise self.CollectError("{0.filename}:{0.lineno}: {0.msg}".format(self.source))
        faults = list(self.source.faults())
        if faults:
            raise self.CollectError("\n".join("{}: {}".format(self.path, f) for f in faults))
        for interpreter in self.source.interpreters:
            for variant in self.source.variants if self.source.rules else (None,):
                name = interpreter + ("-" + variant if variant else "")
                group = DeviceGroup.from_parent(self, name=name)
                group.interpreter, group.variant = interpreter, variant
                yield group


class DeviceGroup(pytest.Collector):
    """The tests of a file under one interpreter and variant: one process, started when asked."""

    interpreter = None
    variant = None
    device = None

    def collect(self):
        for name, is_async, line in self.parent.source.functions:
            item = DeviceTest.from_parent(self, name=name)
            item.is_async, item.line = is_async, line
            # The file has its own time limit.
            item.add_marker(pytest.mark.timeout(0))
            yield item

    def setup(self):
        source = self.parent.source
        packages = interpreters.packages() if self.interpreter == "micropython" else None
        self.device = device.Device(
            self.path, self.interpreter, self.variant, source.limit, source.heap, packages
        )

    def teardown(self):
        problem = self.device.close()
        if problem:
            pytest.fail(problem, pytrace=False)


class DeviceTest(pytest.Item):
    """One function in one interpreter."""

    is_async = False
    line = 0

    def runtest(self):
        if interpreters.command(self.parent.interpreter) is None:
            if os.environ.get("CI"):
                pytest.fail(_MISSING, pytrace=False)
            raise pytest.skip.Exception(_MISSING, _use_item_location=True)
        source = self.parent.parent.source
        virtual_time = source.virtual_time and self.name not in source.real_time
        asked = how(self.is_async, self.parent.variant, virtual_time)
        verdict = self.parent.device.ask(asked, self.name)
        if verdict.output:
            self.add_report_section("call", "stdout", verdict.output)
        if verdict.kind == "skip":
            raise pytest.skip.Exception(verdict.text, _use_item_location=True)
        if verdict.kind != "pass":
            pytest.fail(_headed(verdict.text), pytrace=False)

    def repr_failure(self, excinfo):
        return self._repr_failure_py(excinfo, style="short")

    def reportinfo(self):
        return self.path, self.line - 1, "{}::{}".format(self.parent.name, self.name)


def _headed(text):
    """A traceback with the exception and its place first: pytest's summary shows one line."""
    lines = text.splitlines()
    places = re.findall(r'^  File "(.+)", line (\d+)', text, re.M)
    if not lines[0].startswith("Traceback") or not places:
        return text
    return "{} at {}:{}\n{}".format(lines[-1].strip(" :"), *places[-1], text)


_MISSING = "no MicroPython: `make test` installs one, or name yours in MICROPYTHON"


def make_collector(module_path, parent):
    """The collector of a file of device tests, None for an ordinary one."""
    if not module_path.name.startswith("test_"):
        return None
    try:
        source = source_of(pathlib.Path(module_path))
    except SyntaxError as error:
        source = error
    else:
        if source.ordinary:
            return None
    file = DeviceFile.from_parent(parent, path=pathlib.Path(module_path))
    file.source = source
    return file


def missing_line():
    """One sentence for the end of the run if an interpreter is missing, else None."""
    return None if interpreters.micropython() else _MISSING
