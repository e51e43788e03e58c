"""The event loop's part that fits the interpreter, as `engine`."""

import sys

# Not `from ufuture import ...`: MicroPython asks the package's __getattr__ first.
if sys.implementation.name == "micropython":
    import ufuture.micro as engine
else:
    import ufuture.cpython as engine  # noqa: F401
