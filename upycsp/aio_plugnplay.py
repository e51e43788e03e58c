"""The processes of plugnplay for upycsp.aio: cspcore.plugnplay and cspcore.plugs have them."""

import upycsp
from cspcore.plugnplay import build
from uthreading import alone
from upycsp import aio
from upycsp.wait import load_rest

globals().update(build(aio, aio.NOTHING))


def __getattr__(name):
    return alone(_find, name)


def _find(name):
    from cspcore import plugs

    return plugs.find(name, globals(), "upycsp.aio")


# Firmware that knows no __getattr__ in modules (Pycom's) gets everything at once.
if not hasattr(upycsp, "_lazy"):
    __getattr__("*")

load_rest()
