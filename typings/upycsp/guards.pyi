from typing import Any

from cspcore import _awaited, _plain
from cspcore.choice import BaseGuard

class Ended(BaseGuard[Any]):
    def __init__(self, handle: _plain.Spawn[Any] | _awaited.Spawn[Any]) -> None: ...
