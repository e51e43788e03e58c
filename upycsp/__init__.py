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

try:
    from _thread import allocate_lock
except ImportError:
    raise ImportError("upycsp needs threads, and this MicroPython lacks _thread: use uapycsp")

_attrs = {
    "Channel": "upycsp.channel",
    "BufferedChannel": "upycsp.buffered",
    "poison_channel": "upycsp.channel",
    "Alternative": "upycsp.alternative",
    "Guard": "cspcore.choice",
    "Skip": "cspcore.choice",
    "Timer": "cspcore.choice",
    "process": "upycsp.process",
    "Parallel": "upycsp.process",
    "Sequence": "upycsp.process",
    "Spawn": "upycsp.process",
    "run": "upycsp.process",
    "run_CSP": "upycsp.process",
    "CSP": "upycsp.process",
    "PoisonException": "cspcore.errors",
    "ChannelPoisonException": "cspcore.errors",
    "DeadlockError": "cspcore.errors",
}
# These cost nothing until they are used, also when threads run.
_late_attrs = {
    "TimeoutError": "upycsp.within",
    "At": "upycsp.timers",
    "Every": "upycsp.timers",
}

# What operations load when they first need it.
_late = ("cspcore.masked", "upycsp.within", "upycsp.timers")
_loading = allocate_lock()
_modules = (
    "channel", "buffered", "alternative", "wait", "within", "timers", "virtual", "plugnplay",
    "aio", "aio_plugnplay",
)
__all__ = tuple(_attrs) + tuple(_late_attrs) + ("plugnplay",)


def load(module):
    """Load one of the modules that are loaded late, by whichever thread needs it first."""
    with _loading:
        return __import__(module, None, None, ("*",))


def __getattr__(name):
    if name == "_lazy":
        return True
    if name in _modules:
        return __import__("upycsp." + name, None, None, ("*",))
    module = _late_attrs.get(name)
    if module is not None:
        module = load(module)
    else:
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


# Loading a module in one thread while another asks for it fails, or worse where there is no GIL:
# all names are there before the first process starts. Where memory is not scarce, so is what else
# is loaded late, under a lock; of plugnplay all, which is much, only if it is used and where
# nothing (a GIL, CPython's locks) helps.
def _load_all():
    import sys

    for name in _attrs:
        if name not in globals():
            __getattr__(name)
    if sys.platform == "esp32":
        return
    for name in _late:
        __import__(name)
    for name in _late_attrs:
        if name not in globals():
            __getattr__(name)
    if sys.implementation.name == "micropython":
        for name in ("upycsp.plugnplay", "upycsp.aio_plugnplay"):
            getattr(sys.modules.get(name), "*", None)  # its __getattr__ loads all then


# Firmware that knows no __getattr__ in modules (Pycom's) gets everything at once.
try:
    __import__("upycsp")._lazy
except AttributeError:
    _load_all()
    for _name in _late_attrs:
        if _name not in globals():
            __getattr__(_name)
    __import__("upycsp.timers")
    __import__("upycsp.plugnplay")
