from typing import Any, Generic, TypeVar

from cspcore import _awaited, _plain

_T = TypeVar("_T")

class TaskSide(Generic[_T]):
    read: _awaited.ReadEnd[_T]
    write: _awaited.WriteEnd[_T]

class ThreadSide(Generic[_T]):
    read: _plain.ReadEnd[_T]
    write: _plain.WriteEnd[_T]

class BaseBridge(Generic[_T]):
    name: Any
    capacity: int | None
    isr: int
    lost: int
    tasks: TaskSide[_T]
    def __init__(self, name: object = "", capacity: int | None = 0, isr: int = 0) -> None: ...
    @property
    def poisoned(self) -> bool: ...
    def from_isr(self, value: _T) -> bool: ...
    def poison(self, strength: int | None = None) -> Any: ...
    def close(self) -> Any: ...
    def queue_len(self) -> int: ...
    def verify(self) -> None: ...

class Bridge(BaseBridge[_T]):
    threads: ThreadSide[_T]
    read: _plain.ReadEnd[_T]
    write: _plain.WriteEnd[_T]
