"""Counted ends of channels whose operations are awaited: see cspcore.life."""

from cspcore.life import join  # noqa: F401
from upycsp import counted
from upycsp.aio import NOTHING, _reader, _Reading, _writer, _Writing


class _Counted:
    def retire(self):
        self.plain_retire()
        return NOTHING


class ReadEnd(_Counted, _Reading, counted.ReadEnd):
    plain = counted.ReadEnd.__call__
    __call__ = _reader(plain)
    plain_poison = counted.ReadEnd.poison
    plain_retire = counted.ReadEnd.retire


class WriteEnd(_Counted, _Writing, counted.WriteEnd):
    __call__ = _writer(counted.WriteEnd.__call__)
    plain_poison = counted.WriteEnd.poison
    plain_retire = counted.WriteEnd.retire
