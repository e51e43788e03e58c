"""A small library of processes: cspcore.plugnplay tells what they do.

Identity, Prefix, SeqDelta2, ParDelta2 (= Delta2), Successor, SkipProcess, Mux2, poison_chans.
"""

import uapycsp
from cspcore.plugnplay import build
from uapycsp.wait import NOTHING

globals().update(build(uapycsp, NOTHING))
