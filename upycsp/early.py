"""What is loaded before the first thread starts: see wait.load_all. An ESP32 loads none of it."""

import sys

import upycsp
from uthreading import kept

# What has no name among upycsp's.
LATE = ("cspcore.masked", "upycsp.counted", "upycsp.extended", "upycsp.guards",
        "upycsp.watch")
_CPYTHON = sys.implementation.name == "cpython"


def load_all():
    """Load it, or what of it was not there the last time."""
    if kept.loads_early:
        for name in upycsp.every():
            getattr(upycsp, name)
        for name in LATE:
            __import__(name)
        if "upycsp.aio" in sys.modules:
            for name in ("counted", "extended", "closing"):
                __import__("upycsp.aio_" + name)
    if not _CPYTHON:
        for name in ("upycsp.plugnplay", "upycsp.aio_plugnplay"):
            getattr(sys.modules.get(name), "*", None)  # its __getattr__ loads all then
