from collections.abc import Callable
from typing import Any, Protocol, TypeVar, overload

from cspcore._plain import Process, ReadEnd, WriteEnd

_T = TypeVar("_T")

class LineReader(Protocol):
    def readline(self) -> bytes | None: ...

class Reader(Protocol):
    def read(self, n: int, /) -> bytes | None: ...

class Receiver(Protocol):  # a socket
    def recv(self, n: int, /) -> bytes: ...

class Writer(Protocol):
    def write(self, data: Any, /) -> int | None: ...

class Sender(Protocol):
    def send(self, data: Any, /) -> int: ...

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
