"""The names of the package and where they come from: loaded when the first of them is used."""

import sys

from uthreading import alone

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


def every():
    """The names of the library, without plugnplay."""
    return [name for home in _HOMES.split(";") for name in home.split()[1:]]


def get(name, names):
    """What the package, whose names are given, calls so."""
    if name == "__all__":
        return every() + ["plugnplay"]
    if name == "every":
        return every
    return alone(_find, name, names)


def _find(name, names):
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
            _find("process", names)
        from upycsp.wait import load

        return load("upycsp." + name)
    raise AttributeError(name)


def load_all(names):
    """Where nothing can be loaded on demand."""
    for name in every():
        if name not in names:
            get(name, names)
    for name in _MODULES.split()[:3]:
        __import__("upycsp." + name)
