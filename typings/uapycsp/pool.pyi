from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, Literal, TypeVar

from cspcore._awaited import Process, ReadEnd, WriteEnd

_T = TypeVar("_T")
_R = TypeVar("_R")

class Failure(Generic[_T]):
    value: _T
    exception: BaseException
    def __init__(self, value: _T, exception: BaseException) -> None: ...

def Farm(
    function: Callable[[_T], Awaitable[_R] | _R],
    n: int,
    ordered: bool = True,
    failures: Literal["end", "report"] = "end",
) -> Callable[[ReadEnd[_T], WriteEnd[_R]], Process[None]]: ...
def pmap(
    function: Callable[[_T], Awaitable[_R] | _R], values: Iterable[_T], n: int
) -> Process[list[_R]]: ...
