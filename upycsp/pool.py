"""A function done by several threads at once.

    run(source(a.write), Farm(look_up, 4)(a.read, b.write), sink(b.read))
    pages = pmap(fetch, addresses, 8)
"""

from cspcore import pool
from cspcore.choice import End
from upycsp import awaited
from upycsp.aio import _Reading, _Writing

Failure = pool.Failure


async def _call(function, *args):
    v = function(*args)
    # An end that was given as the function is among what was exchanged for awaited ones.
    return await v if isinstance(function, (_Reading, _Writing)) else v


Farm = pool.farms(awaited, _call)
_pmap = pool.maps(awaited, _call)


def pmap(function, values, n):
    """The list of function(v) for each of the values, at most n at once."""
    if isinstance(values, End):
        values = (v for v in values)  # its awaited counterpart is iterated over in another way
    return _pmap(function, values, n).run().retval
