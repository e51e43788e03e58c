"""Where a benchmark runs: what each RESULT tells of it."""

import gc
import sys


def port():
    """unix, esp32, ... for MicroPython, and cpython."""
    if sys.implementation.name == "cpython":
        return "cpython"
    return "unix" if sys.platform in ("linux", "darwin", "win32") else sys.platform


def version():
    return ".".join([str(part) for part in sys.implementation.version[:3]])


def heap():
    """The size of Python's heap in bytes; None where it has no limit."""
    return gc.mem_alloc() + gc.mem_free() if hasattr(gc, "mem_alloc") else None
