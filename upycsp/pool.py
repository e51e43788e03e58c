"""A function done by several threads at once.

    run(source(a.write), Farm(look_up, 4)(a.read, b.write), sink(b.read))
    pages = pmap(fetch, addresses, 8)
"""

from cspcore import pool
from upycsp import awaited

Failure = pool.Failure
Farm = pool.farms(awaited, pool.call)
_pmap = pool.maps(awaited, pool.call)


def pmap(function, values, n):
    """The list of function(v) for each of the values, at most n at once."""
    return _pmap(function, values, n).run().retval
