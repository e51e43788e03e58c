"""What tests on stand-ins for old MicroPythons share."""

from harness import interpreters

TESTS = interpreters.ROOT / "tests"
PACKAGES = ("cspcore", "ufuture", "uthreading", "uapycsp", "upycsp")
NAMES = (TESTS / "old_asyncio", TESTS / "old_names")  # come first in MICROPYPATH


def copy_without_getattr(folder):
    """Writes the packages as they act where a module's __getattr__ is a function like others."""
    for package in PACKAGES:
        for path in sorted((interpreters.ROOT / package).rglob("*.py")):
            text = path.read_text()
            if "\ndef __getattr__(" in text:
                text = text.replace("__getattr__", "_getattr_")
            copy = folder / path.relative_to(interpreters.ROOT)
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(text)
