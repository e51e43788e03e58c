"""upycsp's farms and pmap for bodies with async and await."""

from cspcore import pool
from upycsp import aio

Failure = pool.Failure
Farm = pool.farms(aio, pool.call_any)
pmap = pool.maps(aio, pool.call_any)
