"""Keeps and saves the marks of instrument.py, inside MicroPython, where the program ends.

The folder to save into is in the environment; each process writes one file there.
"""

import os
import sys

FOLDER = os.getenv("COVERED_MARKS")
_tables = {}  # path of a source: one byte for each of its marks


def marks(path, count):
    """The marks of a source, all 0 at first."""
    # A test may load a module twice.
    if path not in _tables:
        _tables[path] = bytearray(count)
    return _tables[path]


def _hex(data):
    return "".join(["{:02x}".format(byte) for byte in data])


# All that saving needs is made now: a program may end for want of memory.
_file = open("{}/{}".format(FOLDER, _hex(os.urandom(12))), "wb") if FOLDER else None


def save():
    """Write down what was reached, as path, a blank, count, newline, and the marks."""
    for path, table in _tables.items():
        _file.write("{} {}\n".format(path, len(table)).encode())
        _file.write(table)
    _file.close()


def _at_exit(other):
    def save_last():
        try:
            if other is not None:
                other()
        finally:
            save()

    return save_last


if FOLDER and hasattr(sys, "atexit"):
    sys.atexit(_at_exit(sys.atexit(None)))
elif FOLDER:  # CPython, for the test of the marks
    __import__("atexit").register(save)
