from typing import Generic, TypeVar

from cspcore import _awaited, _plain
from upycsp.isr import Interrupts

_T = TypeVar("_T")

class TaskSide(Generic[_T]):
    read: _awaited.ReadEnd[_T]
    write: _awaited.WriteEnd[_T]

class ThreadSide(Generic[_T]):
    read: _plain.ReadEnd[_T]
    write: _plain.WriteEnd[_T]

class BaseBridge(Interrupts[_T]):
    tasks: TaskSide[_T]

class Bridge(BaseBridge[_T]):
    threads: ThreadSide[_T]
    read: _plain.ReadEnd[_T]
    write: _plain.WriteEnd[_T]
