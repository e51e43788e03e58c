"""What plain upycsp runs those processes of plugnplay with that are written with async and await.

They are upycsp.aio's, but for this: the ends they are given are of plain channels, and are
exchanged for ends of the same channels whose operations are awaited.
"""

from cspcore.channel import READ
from cspcore.life import CountedEnd
import upycsp.timers as timers  # noqa: F401
from cspcore.process import maker
from upycsp import aio
from upycsp.aio import Alternative, Channel, Parallel, PoisonException, Timer  # noqa: F401
from upycsp.buffered import AnyReadEnd, AnyWriteEnd
from upycsp.channel import ReadEnd, WriteEnd
from upycsp.wait import NOBODY, load

_AWAITED = {
    ReadEnd: aio.ReadEnd,
    WriteEnd: aio.WriteEnd,
    AnyReadEnd: aio.AnyReadEnd,
    AnyWriteEnd: aio.AnyWriteEnd,
}


def _awaited(x, deep=4):
    # What holds no ends stays the object it is: it may be a value. Lists of lists of them are few.
    if isinstance(x, (list, tuple)):
        parts = [_awaited(part, deep - 1) for part in x] if deep else x
        for i in range(len(x)):
            if parts[i] is not x[i]:
                return parts
        return x
    kind = _AWAITED.get(type(x))
    if kind is None and isinstance(x, CountedEnd):
        counted = load("upycsp.aio_counted")
        kind = counted.ReadEnd if x.op == READ else counted.WriteEnd
    if kind is None and isinstance(x, AnyWriteEnd):
        kind = aio.AnyWriteEnd  # of a bridge
    if kind is not None:
        x = kind(x._channel)  # a counted end's is its Share, which retires with both
        x._me = NOBODY
    return x


class _Process(aio.Process):
    def call(self):
        self._args = _awaited(self._args)
        if self._kwargs:
            self._kwargs = {name: _awaited(self._kwargs[name]) for name in self._kwargs}
        return aio.Process.call(self)


process = maker(_Process)
