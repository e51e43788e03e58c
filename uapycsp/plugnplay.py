"""A small library of processes; docs/reference.md lists them.

Identity, Prefix, SeqDelta2, ParDelta2 (= Delta2), Successor, Mux2 and poison_chans stand in
cspcore.plugnplay. The others are loaded in groups when they are first used: cspcore.plugs tells
from where.
"""

import uapycsp
from cspcore.plugnplay import build
from uapycsp.wait import NOTHING

globals().update(build(uapycsp, NOTHING))


def __getattr__(name):
    from cspcore import plugs

    return plugs.find(name, globals(), "uapycsp")


# Firmware that knows no __getattr__ in modules (Pycom's) gets everything at once.
if not hasattr(uapycsp, "_lazy"):
    __getattr__("*")
