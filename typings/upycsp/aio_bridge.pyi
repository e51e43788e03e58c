from typing import TypeVar

from cspcore._awaited import ReadEnd, WriteEnd
from upycsp.bridge import BaseBridge, TaskSide

_T = TypeVar("_T")

class Bridge(BaseBridge[_T]):
    threads: TaskSide[_T]  # with operations that are awaited
    read: ReadEnd[_T]
    write: WriteEnd[_T]
