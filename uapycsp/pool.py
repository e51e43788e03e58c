"""A function done by several coroutines at once.

    run(source(a.write), Farm(look_up, 4)(a.read, b.write), sink(b.read))
    pages = await pmap(fetch, addresses, 8)
"""

import uapycsp
from cspcore import pool

Failure = pool.Failure
Farm = pool.farms(uapycsp, pool.call_any)
pmap = pool.maps(uapycsp, pool.call_any)
