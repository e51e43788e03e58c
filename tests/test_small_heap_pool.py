"""uapycsp's pmap in a heap like that of a small board."""

import gc

from uapycsp import run
from uapycsp.pool import pmap

INTERPRETERS = ("micropython",)
HEAP = "222K"


def test_results_leave_room_for_their_list():
    n = 500
    gc.collect()
    assert run(pmap(lambda v: v + 1, range(n), 2)) == list(range(1, n + 1))
