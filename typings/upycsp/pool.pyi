from collections.abc import Callable, Iterable
from typing import Generic, Literal, TypeVar

from cspcore._plain import Process, ReadEnd, WriteEnd

_T = TypeVar("_T")
_R = TypeVar("_R")

class Failure(Generic[_T]):
    value: _T
    exception: BaseException
    def __init__(self, value: _T, exception: BaseException) -> None: ...

def Farm(
    function: Callable[[_T], _R],
    n: int,
    ordered: bool = True,
    failures: Literal["end", "report"] = "end",
) -> Callable[[ReadEnd[_T], WriteEnd[_R]], Process[None]]: ...
def pmap(
    function: Callable[[_T], _R], values: Iterable[_T], n: int
) -> list[_R]: ...
