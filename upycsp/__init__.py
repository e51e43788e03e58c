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
    raise ImportError("upycsp needs threads, and this MicroPython lacks _thread: use uapycsp")

# A module, and the names that come from it. Texts take a third of the memory of a dictionary.
_HOMES = (
    "upycsp.channel Channel poison_channel;upycsp.buffered BufferedChannel;"
    "upycsp.alternative Alternative;cspcore.choice Guard Skip Timer;"
    "upycsp.process process Parallel Sequence Spawn run run_CSP CSP;"
    "cspcore.errors PoisonException ChannelPoisonException RetireException DeadlockError;"
    "upycsp.within TimeoutError;upycsp.timers At Every;upycsp.closing Closed"
)
# The first three of them are imported where nothing can be loaded on demand.
_MODULES = (
    "plugnplay meeting pool aio aio_plugnplay aio_meeting aio_pool aio_bridge aio_counted"
    " aio_closing aio_extended awaited channel buffered counted extended alternative wait within"
    " timers closing virtual guards bridge isr streams adapters aio_adapters watch"
)


_first = _thread.allocate_lock()
_alone = None  # uthreading.alone, once a name was used


def every():
    """The names of the library, without plugnplay."""
    return [name for home in _HOMES.split(";") for name in home.split()[1:]]


def __getattr__(name):
    if name == "_lazy":
        return True
    if name == "__all__":
        return every() + ["plugnplay"]
    if _alone is None:
        with _first:
            _begin()
    return _alone(_find, name)


def _begin():
    global _alone
    if _alone is None:  # once: a second import would look for modules beside who loads some
        from uthreading import alone

        _alone = alone


def _find(name):
    names = globals()
    if name in names:  # another thread has just loaded it
        return names[name]
    for home in _HOMES.split(";"):
        home = home.split()
        if name in home:
            # The largest module first: compiled last, it would need a larger heap.
            __import__("upycsp.process")
            from upycsp.wait import load

            names[name] = value = getattr(load(home[0]), name)
            # Importing the file process.py has bound that name to the file.
            if hasattr(names.get("process"), "Process"):
                names["process"] = names["process"].process
            return value
    if name in _MODULES.split():
        if "upycsp.process" not in sys.modules:
            __getattr__("process")
        from upycsp.wait import load

        return load("upycsp." + name)
    raise AttributeError(name)


# Firmware that knows no __getattr__ in modules (Pycom's) gets everything at once.
try:
    __import__("upycsp")._lazy
except AttributeError:
    for name in every():
        if name not in globals():
            __getattr__(name)
    for name in _MODULES.split()[:3]:
        __import__("upycsp." + name)
    __all__ = tuple(every())
