"""upycsp's adapters for bodies with async and await."""

from upycsp import process as _load  # noqa: F401
from cspcore.process import maker
from upycsp import aio
from upycsp.adapters import build


class _Process(aio.Process):
    call = aio._plain.Process.call  # its function is an ordinary one


def _plain(end):
    def operation(*values):
        return aio.Process(end, values).call()

    return operation


globals().update(build(maker(_Process), aio.Channel, _plain))
