"""Runs a benchmark in a fresh interpreter of the same kind and heap, where there can be one."""

import gc
import os
import sys


def _text(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join([str(v) for v in value])
    return str(value)


def _words(program, name, libraries, values):
    # The command that runs one benchmark in an interpreter of the same kind and heap.
    words = [sys.executable]
    if sys.implementation.name == "micropython":
        # What the heap's own tables take is not in its size.
        size = (gc.mem_alloc() + gc.mem_free()) * 1036 // 1024
        words.extend(["-X", "heapsize={}".format((size + 1023) // 1024 * 1024)])
        if sys.path[0] == "":  # by `-m`: what stands here, a build, comes before the sources
            words.append("-m")
            program = program.split("/")[-1].split(".")[0]
    words.extend([program, name])
    if libraries:
        words.append("lib=" + _text(libraries))
    for key in sorted(values):
        words.append("{}={}".format(key, _text(values[key])))
    return words


def possible():
    """True where this interpreter can start others."""
    return sys.platform != "win32" and bool(
        hasattr(os, "system") and getattr(sys, "executable", None))


def run(program, name, libraries, values):
    """The exit status of a fresh interpreter in which the program ran a benchmark.

    Kept threads, and pieces of heap that the one before left, would cost the next one time.
    """
    if hasattr(sys.stdout, "flush"):
        sys.stdout.flush()
    words = _words(program, name, libraries, values)
    quoted = ["'" + word.replace("'", "'\\''") + "'" for word in words]
    status = os.system(" ".join(quoted))
    return status >> 8 if status & 255 == 0 else 128 + (status & 127)
