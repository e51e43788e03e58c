"""The processes of plugnplay for upycsp.aio: cspcore.plugnplay tells what they do."""

from cspcore.plugnplay import build
from upycsp import aio

globals().update(build(aio, aio.NOTHING))
