from collections.abc import Callable
from typing import Any, TypeVar, overload

from cspcore._awaited import Process, ReadEnd, WriteEnd
from upycsp.adapters import LineReader, Reader, Receiver, Sender, Writer

_T = TypeVar("_T")

def PinEvents(
    pin: Any, cout: WriteEnd[int], trigger: int | None = None, size: int = 16
) -> Process[None]: ...
def TimerTicks(timer: Any, cout: WriteEnd[int], period_ms: int) -> Process[None]: ...
def Samples(
    read: Callable[[], _T], cout: WriteEnd[_T], interval_ms: int
) -> Process[None]: ...
@overload
def FromStream(
    stream: LineReader | Receiver, cout: WriteEnd[bytes], n: None = None
) -> Process[None]: ...
@overload
def FromStream(
    stream: Reader | Receiver, cout: WriteEnd[bytes], n: int
) -> Process[None]: ...
def ToStream(cin: ReadEnd[bytes], stream: Writer | Sender) -> Process[None]: ...
def StdinLines(cout: WriteEnd[bytes]) -> Process[None]: ...
def LineServer(
    host: str,
    port: int,
    cout: WriteEnd[tuple[ReadEnd[bytes], WriteEnd[bytes]]],
    backlog: int = 5,
) -> Process[None]: ...
