# What the libraries' alternatives share. `_V_co` is what choosing a guard gives: what a read end
# reads, 0 for a write guard, None for Skip and Timer.

from typing import Any, Generic, Literal, Protocol, TypeVar

_V_co = TypeVar("_V_co", covariant=True)

Ready = list[Any] | tuple[Any, ...]  # a truth value for each guard
Overflow = Literal["block", "keep_oldest", "keep_newest"]

class Scheduler(Protocol):
    """The alternative that a guard of one's own is enabled in."""

    def schedule(self, guard: Any, value: object = None) -> bool: ...

class BaseGuard(Generic[_V_co]):
    """What an alternative chooses from."""

class Guard(BaseGuard[Any]):
    def enable(self, alt: Scheduler) -> tuple[bool, Any]: ...
    def disable(self, alt: Scheduler) -> object: ...

class Skip(BaseGuard[None]): ...

class Timer(BaseGuard[None]):
    def __init__(self, seconds: float | None = None, ms: float | None = None) -> None: ...

class At(BaseGuard[None]):
    ticks: int
    def __init__(self, ticks: int) -> None: ...
    def set(self, ticks: int) -> None: ...

class Every(BaseGuard[int]):
    ms: int
    def __init__(self, ms: int) -> None: ...

class WriteGuard(BaseGuard[int]): ...

class LikeGuard(Protocol):
    """Anything with the two methods of a Guard may stand among the guards."""

    def enable(self, alt: Any) -> tuple[bool, Any]: ...
    def disable(self, alt: Any) -> object: ...
