"""The k-th new thread can't be had, for every k: the watchdog's, a process's, the clock's.

`run` raises one clear error, or does without (the watchdog), and the next `run` works.
"""

import pytest
from harness import interpreters

from faults import support

CASES = [("timers", "upycsp"), ("nested", "upycsp"), ("spawned", "upycsp.aio")]
if support.FULL:
    names = ("timers", "nested", "spawned", "sequences", "close", "operations", "crowd")
    CASES = [(name, variant) for name in names for variant in ("upycsp", "upycsp.aio")]


@pytest.mark.parametrize("alone", ["alone", "all"])
@pytest.mark.parametrize("network, variant", CASES)
@pytest.mark.parametrize("interpreter", interpreters.NAMES)
def test_whichever_thread_cannot_be_had(tmp_path, interpreter, network, variant, alone):
    words = interpreters.command(interpreter)
    if words is None:
        pytest.skip("no MicroPython")
    words = [*words, str(support.HERE / "fewthreads.py"), variant, network]
    outcomes = []
    while not outcomes or outcomes[-1] != "PASSED":
        more = [str(len(outcomes) + 1), alone, *support.paths(variant, tmp_path)]
        status, out = support.watch(words + more, 20)
        assert status == 0, out[-2000:]
        outcomes.append(out.split()[-1])
        assert len(outcomes) < 20, outcomes
    # The first is the watchdog's.
    assert "FAILED" in outcomes and len(outcomes) >= 3, outcomes
    assert alone == "all" or outcomes[0] == "SURVIVED", outcomes
