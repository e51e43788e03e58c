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
    import _thread  # noqa: F401
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
    "RetireException": "cspcore.errors",
    "DeadlockError": "cspcore.errors",
}

_modules = (
    "channel", "buffered", "alternative", "wait", "counted", "plugnplay", "aio", "aio_counted",
    "aio_plugnplay",
)
__all__ = tuple(_attrs) + ("plugnplay",)


def __getattr__(name):
    if name == "_lazy":
        return True
    if name in _modules:
        return __import__("upycsp." + name, None, None, ("*",))
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
# all names are there before the first process starts. Those of plugnplay are many, and counted
# ends are loaded under the lock: only where nothing else (a GIL, CPython's locks) helps, and
# plugnplay's only if it is used.
def _load_all():
    import sys

    for name in _attrs:
        if name not in globals():
            __getattr__(name)
    if sys.implementation.name == "micropython" and sys.platform != "esp32":
        for name in ("upycsp.plugnplay", "upycsp.aio_plugnplay"):
            getattr(sys.modules.get(name), "*", None)  # its __getattr__ loads all then
        __import__("upycsp.counted")
        if "upycsp.aio" in sys.modules:
            __import__("upycsp.aio_counted")


# Firmware that knows no __getattr__ in modules (Pycom's) gets everything at once.
try:
    __import__("upycsp")._lazy
except AttributeError:
    _load_all()
    __import__("upycsp.plugnplay")
