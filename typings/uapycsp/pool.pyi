from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, Literal, TypeVar, overload

from cspcore._awaited import Process, ReadEnd, WriteEnd

_T = TypeVar("_T")
_R = TypeVar("_R")
_S = TypeVar("_S")

class Failure(Generic[_T]):
    value: _T
    exception: BaseException
    def __init__(self, value: _T, exception: BaseException) -> None: ...

@overload
def Farm(
    function: Callable[[_T], Awaitable[_R] | _R],
    n: int,
    ordered: bool = True,
    failures: Literal["end", "report"] = "end",
    retries: int = 0,
    setup: None = None,
) -> Callable[[ReadEnd[_T], WriteEnd[_R]], Process[None]]: ...
@overload
def Farm(
    function: Callable[[_S, _T], Awaitable[_R] | _R],
    n: int,
    ordered: bool = True,
    failures: Literal["end", "report"] = "end",
    retries: int = 0,
    *,
    setup: Callable[[], Awaitable[_S] | _S],
) -> Callable[[ReadEnd[_T], WriteEnd[_R]], Process[None]]: ...
def pmap(
    function: Callable[[_T], Awaitable[_R] | _R], values: Iterable[_T], n: int
) -> Process[list[_R]]: ...
