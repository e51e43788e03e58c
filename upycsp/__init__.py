"""CSP for MicroPython's threads: processes are threads, joined by channels.

    from upycsp import Channel, Parallel, process, run

    @process
    def hello(cout):
        cout("hello")

    @process
    def world(cin):
        print(cin(), "world")

    ch = Channel()
    run(hello(ch.write), world(ch.read))

Names are loaded when they are first used.
"""

import sys

try:
    import _thread
except ImportError:
    raise ImportError("upycsp needs _thread, which this MicroPython lacks: use uapycsp")

_first = _thread.allocate_lock()
_main = _thread.get_ident()  # uthreading may be loaded by a thread of the program's own
_names = None  # upycsp.names, once a name was used: to import the package costs little


def __getattr__(name):
    if name == "_lazy":
        return True
    if _names is None:
        with _first:
            _begin()
    return _names.get(name, globals())


def _begin():
    global _names
    if _names is None:  # once: a second import would look for modules beside who loads some
        __import__("upycsp.names")
        _names = sys.modules["upycsp.names"]


# As uthreading.rooms does, which would cost more: the names that are loaded beside threads.
def _room(names, n):
    for i in range(n):
        names[i] = None
    for i in range(n):
        del names[i]


if sys.implementation.name != "cpython" and sys.platform != "esp32":
    _room(globals(), 56)

# Firmware that knows no __getattr__ in modules (Pycom's) gets everything at once.
try:
    __import__("upycsp")._lazy
except AttributeError:
    _begin()
    every = _names.every
    _names.load_all(globals())
    __all__ = tuple(every())
