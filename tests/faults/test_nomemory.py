"""CPython: a task that can't be started for lack of memory has not begun, whichever step failed.

More is not promised there (docs/promises.md): any call of a function may need memory.
"""

import pytest
from harness import interpreters

from faults import support


def test_a_task_that_cannot_be_started_does_not_begin():
    pytest.importorskip("_testcapi", reason="this CPython has no _testcapi")
    words = [interpreters.cpython(), str(support.HERE / "starting.py"), str(interpreters.ROOT)]
    status, out = support.watch(words, 20)
    assert status == 0, out[-2000:]
    assert int(out.split()[-1]) >= 5, out
