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

_attrs = {
    "Channel": "uapycsp.channel",
    "BufferedChannel": "uapycsp.buffered",
    "poison_channel": "uapycsp.channel",
    "Alternative": "uapycsp.alternative",
    "Guard": "cspcore.choice",
    "Skip": "cspcore.choice",
    "Timer": "cspcore.choice",
    "process": "uapycsp.process",
    "Parallel": "uapycsp.process",
    "Sequence": "uapycsp.spawn",
    "Spawn": "uapycsp.spawn",
    "run": "uapycsp.process",
    "run_CSP": "uapycsp.process",
    "CSP": "uapycsp.process",
    "PoisonException": "cspcore.errors",
    "ChannelPoisonException": "cspcore.errors",
    "DeadlockError": "cspcore.errors",
    "TimeoutError": "uapycsp.within",
    "At": "uapycsp.timers",
    "Every": "uapycsp.timers",
}

__all__ = tuple(_attrs) + ("plugnplay",)


def __getattr__(name):
    if name == "_lazy":
        return True
    if name in ("channel", "buffered", "alternative", "wait", "spawn", "watch", "within", "timers",
                "virtual", "plugnplay"):
        return __import__("uapycsp." + name, None, None, ("*",))
    module = _attrs.get(name)
    if module is None:
        raise AttributeError(name)
    module = __import__(module, None, None, (name,))
    names = globals()
    names[name] = value = getattr(module, name)
    # Importing the file process.py has bound that name to the file.
    if hasattr(names.get("process"), "Process"):
        names["process"] = names["process"].process
    return value


def _load_all():
    for name in _attrs:
        if name not in globals():
            __getattr__(name)


# Firmware that knows no __getattr__ in modules (Pycom's) gets everything at once.
try:
    __import__("uapycsp")._lazy
except AttributeError:
    _load_all()
    __import__("uapycsp.timers")
    __import__("uapycsp.plugnplay")
