from typing import Any, TypeVar

from cspcore._awaited import Spawn
from cspcore.choice import BaseGuard

_R = TypeVar("_R")

def On(event: Any) -> BaseGuard[None]: ...

class Readable(BaseGuard[None]):
    def __init__(self, stream: Any) -> None: ...

class Writable(Readable): ...

class Ended(BaseGuard[_R]):
    def __init__(self, handle: Spawn[_R]) -> None: ...
