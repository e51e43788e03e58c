"""What tests on stand-ins for old MicroPythons share."""

import re

from harness import interpreters

TESTS = interpreters.ROOT / "tests"
PACKAGES = ("cspcore", "ufuture", "uthreading", "uapycsp", "upycsp")
NAMES = (TESTS / "old_asyncio", TESTS / "old_names")  # come first in MICROPYPATH

# As until 1.12: it does not catch the AttributeError of a class's own __getattr__.
_GETATTR = """
import builtins

def getattr(x, name, *default):
    if default and hasattr(type(x), "__getattr__"):
        default = ()
    return builtins.getattr(x, name, *default)
"""


def hide(folder, *names):
    """Writes modules that can't be imported: with the folder first in MICROPYPATH there are none.

    MicroPython's own of that name with a `u` before it can be had.
    """
    for name in names:
        (folder / (name + ".py")).write_text("raise ImportError\n")


def copy_without_getattr(folder, version="(1, 20)"):
    """Writes the packages as they act where a module's __getattr__ is a function like others.

    Nor does the builtin getattr more than that of 1.11 there, and `collections` has its old name
    alone, as in Pycom's firmware. version: what they are told of it.
    """
    hide(folder, "collections")
    (folder / "old_getattr.py").write_text(_GETATTR)
    for package in PACKAGES:
        for path in sorted((interpreters.ROOT / package).rglob("*.py")):
            text = path.read_text()
            if "\ndef __getattr__(" in text:
                text = text.replace("__getattr__", "_getattr_")
            if re.search(r"(?<![\w.])getattr\(", text):
                text = "from old_getattr import getattr\n" + text
            text = re.sub(r"(sys\.)?implementation\.version", version, text)
            copy = folder / path.relative_to(interpreters.ROOT)
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(text)
