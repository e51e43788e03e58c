from typing import TypeVar

from cspcore._awaited import ReadEnd, WriteEnd
from upycsp.bridge import BaseBridge, ThreadSide

_T = TypeVar("_T")

class Bridge(BaseBridge[_T]):
    threads: ThreadSide[_T]
    read: ReadEnd[_T]
    write: WriteEnd[_T]
