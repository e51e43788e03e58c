"""The type stubs in typings say what the packages have; `make types` checks them with pyright.

Names are compared with each module's own `__all__`, methods and their parameters with the classes
themselves. What a stub says of types is held against programs in tests/typing, by pyright.
"""

import ast
import importlib
import inspect
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TYPINGS = ROOT / "typings"
PUBLIC = (
    "uapycsp",
    "uapycsp.plugnplay",
    "upycsp",
    "upycsp.aio",
    "upycsp.plugnplay",
    "upycsp.aio_plugnplay",
    "ufuture",
    "uthreading",
)
# Where what the private modules of the stubs describe stands in fact.
REAL = {"cspcore._awaited": "uapycsp", "cspcore._plain": "upycsp"}
PACKAGES = ("cspcore", "ufuture", "uapycsp", "upycsp", "uthreading")
SUBMODULES = {"upycsp": {"aio", "isr"}}
# Modules of each library, too.
GROUPS = {"adapters", "bridge", "guards", "meeting", "pool", "timers", "virtual"}


def stub(module):
    """The parsed stub of a module."""
    path = TYPINGS.joinpath(*module.split("."))
    path = path / "__init__.pyi" if path.is_dir() else path.with_suffix(".pyi")
    return ast.parse(path.read_text(encoding="utf-8"))


def exported(module):
    """The public names of a stub: what it defines, and what it imports as itself."""
    names = set()
    for node in stub(module).body:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            names |= exported(node.module)
        elif isinstance(node, ast.ImportFrom):
            names |= {a.asname for a in node.names if a.asname}
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {t.id for t in node.targets}
    return {n for n in names if not n.startswith("_")}


def real_class(module, name):
    """The class behind a stub's, or None where there is none of that name."""
    home = importlib.import_module(REAL.get(module, module))
    found = getattr(home, name, None)
    if found is None and module in REAL:
        name = {"BaseChannel": "Channel"}.get(name, name)
        found = getattr(importlib.import_module(REAL[module] + ".channel"), name, None)
    return found if inspect.isclass(found) else None


def methods(node):
    """Pairs of a method's name and its parameters without self; of overloads the last."""
    found = {}
    for part in node.body:
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(getattr(d, "id", "") == "property" for d in part.decorator_list):
                continue
            found[part.name] = parameters(part)[1:]
    return found


def parameters(node):
    a = node.args
    names = [p.arg for p in a.posonlyargs + a.args]
    names += ["*" + a.vararg.arg] if a.vararg else []
    return names + [p.arg for p in a.kwonlyargs]


def real_parameters(f):
    signs = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = inspect.signature(f).parameters.values()
    return [signs.get(p.kind, "") + p.name for p in found]


@pytest.mark.parametrize("module", PUBLIC)
def test_a_stub_has_the_names_of_its_module(module):
    expected = set(importlib.import_module(module).__all__) | SUBMODULES.get(module, set())
    if module in ("uapycsp", "upycsp", "upycsp.aio"):
        expected |= GROUPS
    assert exported(module) == expected


def classes():
    meetings = "uapycsp.meeting", "upycsp.meeting", "uapycsp.pool", "upycsp.pool"
    for module in (*REAL, *meetings, "cspcore.choice", "ufuture"):
        for node in stub(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                if real_class(module, node.name) is not None:
                    yield module, node


@pytest.mark.parametrize("module, node", list(classes()), ids=lambda x: getattr(x, "name", x))
def test_methods_have_the_parameters_that_a_stub_tells(module, node):
    real = real_class(module, node.name)
    for name, expected in methods(node).items():
        f = getattr(real, name, None)
        assert f is not None, name
        found = real_parameters(f)
        if inspect.isfunction(f):
            found = found[1:]  # self, or what a function that was made a method calls it
        if name.startswith("__") and name not in ("__init__", "__call__"):
            continue  # a protocol calls it, not a program
        assert found == expected, name


def test_most_classes_were_compared():
    assert len(list(classes())) > 20


def bodies():
    """The parameters of each process of plugnplay and adapters, from the sources."""
    found = {}
    for path in (*(ROOT / "cspcore").glob("plug*.py"), *ROOT.glob("u*pycsp/adapters.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.setdefault(node.name, parameters(node))
    found["Delta2"] = found["ParDelta2"]
    return found


def test_processes_have_the_parameters_that_a_stub_tells():
    found = bodies()
    for module in ("uapycsp.plugnplay", "uapycsp.adapters", "upycsp.adapters"):
        for node in stub(module).body:
            if isinstance(node, ast.FunctionDef):
                assert parameters(node) == found[node.name], node.name


def test_plugnplay_has_the_same_stub_in_each_library():
    texts = [
        (TYPINGS / name).read_text(encoding="utf-8").replace("_plain", "_awaited")
        for name in ("uapycsp/plugnplay.pyi", "upycsp/plugnplay.pyi")
    ]
    assert texts[0] == texts[1]


def test_a_wheel_brings_the_packages_and_their_types(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in ("README.md", "LICENSE", "pyproject.toml"):
        shutil.copy(ROOT / name, source)
    for name in ("typings", *PACKAGES):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, ignore=ignore)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*pip, "--no-index", "-w", str(tmp_path), str(source)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        found = set(wheel.namelist())
    for package in PACKAGES:
        for path in (ROOT / package).glob("*.py"):
            assert "%s/%s" % (package, path.name) in found
        for path in (TYPINGS / package).iterdir():
            assert "%s-stubs/%s" % (package, path.name) in found
