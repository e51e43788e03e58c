"""CSP for MicroPython's asyncio: processes are coroutines, joined by channels.

    from uapycsp import Channel, Parallel, process, run

    @process
    async def hello(cout):
        await cout("hello")

    @process
    async def world(cin):
        print(await cin(), "world")

    ch = Channel()
    run(hello(ch.write), world(ch.read))

Names are loaded when they are first used.
"""

# A module, and the names that come from it. Texts take a third of the memory of a dictionary.
_HOMES = (
    "uapycsp.channel Channel poison_channel;uapycsp.buffered BufferedChannel;"
    "uapycsp.alternative Alternative;cspcore.choice Guard Skip Timer;"
    "uapycsp.process process Parallel run run_CSP CSP;uapycsp.spawn Sequence Spawn;"
    "cspcore.errors PoisonException ChannelPoisonException RetireException DeadlockError;"
    "uapycsp.within TimeoutError;uapycsp.timers At Every;"
    "uapycsp.closing Closed"
)
_GROUPS = "plugnplay meeting pool"
_MODULES = (
    _GROUPS + " channel buffered counted extended alternative wait spawn watch within timers"
    " closing virtual adapters guards bridge bridged bridged_member operation"
)


def every():
    """The names of the library, without plugnplay."""
    return [name for home in _HOMES.split(";") for name in home.split()[1:]]


def __getattr__(name):
    if name == "_lazy":
        return True
    if name == "__all__":
        return every() + ["plugnplay"]
    names = globals()
    for home in _HOMES.split(";"):
        home = home.split()
        if name in home:
            # The largest module first: compiled last, it would need a larger heap.
            __import__("uapycsp.process")
            names[name] = value = getattr(__import__(home[0], None, None, (name,)), name)
            # Importing the file process.py has bound that name to the file.
            if hasattr(names.get("process"), "Process"):
                names["process"] = names["process"].process
            return value
    if name in _MODULES.split():
        return __import__("uapycsp." + name, None, None, ("*",))
    raise AttributeError(name)


# Firmware that knows no __getattr__ in modules (Pycom's) gets everything at once.
try:
    __import__("uapycsp")._lazy
except AttributeError:
    for name in every():
        if name not in globals():
            __getattr__(name)
    for name in _GROUPS.split():
        __import__("uapycsp." + name)
    __all__ = tuple(every())
