# As CPython's threading, whose types they have; what MicroPython's own types lack stands here.

from threading import Barrier as Barrier
from threading import BoundedSemaphore as BoundedSemaphore
from threading import BrokenBarrierError as BrokenBarrierError
from threading import Condition as Condition
from threading import Event as Event
from threading import Lock as Lock
from threading import RLock as RLock
from threading import Semaphore as Semaphore
from threading import Thread as Thread
from threading import Timer as Timer
from threading import active_count as active_count
from threading import current_thread as current_thread
from threading import enumerate as enumerate
from threading import get_ident as get_ident
from threading import main_thread as main_thread
from threading import stack_size as stack_size
from types import TracebackType
from typing import Any, NamedTuple

class ExceptHookArgs(NamedTuple):
    exc_type: type[BaseException]
    exc_value: BaseException | None
    exc_traceback: TracebackType | None
    thread: Thread | None

def excepthook(args: ExceptHookArgs) -> None: ...

class local:
    def __getattribute__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __delattr__(self, name: str) -> None: ...
