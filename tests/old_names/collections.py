"""MicroPython's collections as they were up to 1.20: a deque is added to and taken from, no more.

It has append, popleft, a length, a maximum that it needs, and truth; no pop, no appendleft, no
extend, no index and no iteration.
"""

from ucollections import OrderedDict, namedtuple  # noqa: F401
from ucollections import deque as _Deque


class deque:
    def __init__(self, iterable, maxlen, flags=0):
        if iterable != ():
            raise ValueError
        self._deque = deque_ = _Deque((), maxlen, flags)
        self.append = deque_.append
        self.popleft = deque_.popleft

    def __len__(self):
        return len(self._deque)

    def __bool__(self):
        return bool(self._deque)
