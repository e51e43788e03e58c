"""The k-th allocation fails, for every k: MemoryError or success, nobody hangs, nothing is left.

One alone (a large block that is not to be had), three in a row (what handles the first one fails,
too), dozens, or all from the k-th on till `run` has returned. CSP_FAULTS=1: all k of all, in all
variants.
"""

import os
import re
import sys

import pytest
from harness import interpreters

from faults import scarce, support

EVER = "1000000000"
CASES = [
    ("uapycsp", 1, "1"),
    ("uapycsp", 5, "3"),
    ("uapycsp", 11, "12,40"),
    ("uapycsp", 4, EVER),
    ("upycsp", 3, "1"),
    ("upycsp", 7, EVER),
    ("upycsp.aio", 9, "1"),
]
if support.FULL:
    CASES = [(v, 1, m) for v in ("uapycsp", "upycsp", "upycsp.aio") for m in ("1,3", EVER)]
    CASES += [("uapycsp", 1, "12,40")]

STEPS = "children_start gather_waits wait_for_waits wait_for_expires barrier_waits".split()
STEPS += "cancel_parallel cancel_operations cancel_process cancel_gather".split()
STEPS += "barrier_enrols local_begins".split()
SHORT_STEPS = "join_waits read_meets write_meets cancel_task".split()


def in_scarcity(script, words, variant, folder, seconds):
    reason = scarce.unavailable()
    micropython = interpreters.micropython()
    if reason is None and (micropython is None or os.environ.get("MICROPYTHON")):
        reason = "only the MicroPython of the wheel can be made short of memory"
    if reason:
        pytest.skip(reason)
    begin = [sys.executable, scarce.__file__, "-X", "heapsize=2M", str(support.HERE / script)]
    return support.watch(begin + words + support.paths(variant, folder), seconds)


def sweep(folder, variant, step, most, names="all", seconds=30):
    words = [variant, str(step), names, most, "1"]
    return in_scarcity("exhaust.py", words, variant, folder, seconds)


@pytest.mark.parametrize("variant, step, most", CASES)
def test_whichever_allocation_fails_run_ends_and_leaves_nothing(tmp_path, variant, step, most):
    status, out = sweep(tmp_path, variant, step, most)
    assert status == 0, out[-2000:]
    swept = re.findall(r"SWEPT (\w+) \d+ (\d+)", out)
    assert len(swept) >= 16
    # Each network has at least this many allocations, or nothing was made to fail.
    assert min(int(n) for _, n in swept) > 20, swept
    print("{}, {} in a row: {} failures".format(variant, most, out.count("\n") - len(swept)))


def test_whichever_allocation_fails_a_bridge_of_tasks_loses_nothing(tmp_path):
    names = "bridges,bridge_choice,bridge_operations"
    status, out = sweep(tmp_path, "uapycsp", 1 if support.FULL else 3, "1,12", names, seconds=60)
    assert status == 0, out[-2000:]
    assert len(re.findall(r"SWEPT (\w+) \d+ (\d+)", out)) == 6


@pytest.mark.parametrize("variant", ["upycsp", "upycsp.aio"])
def test_whichever_allocation_fails_a_server_forgets_no_client(tmp_path, variant):
    """Not in uapycsp: MicroPython's poll breaks off after a stream that it could not take."""
    most = "1,12," + EVER if support.FULL else "1"
    status, out = sweep(tmp_path, variant, 1, most, "served", seconds=60)
    assert status == 0, out[-2000:]
    swept = re.findall(r"SWEPT served \d+ (\d+)", out)
    assert len(swept) == most.count(",") + 1
    assert min(int(n) for n in swept) > 200, swept


def test_sweeps_again_and_again_leave_nothing(tmp_path):
    status, out = sweep(tmp_path, "uapycsp", 1, "1,1,1", "time_limits,calls,farm")
    assert status == 0, out[-2000:]
    assert len(re.findall(r"SWEPT (\w+) \d+ (\d+)", out)) == 9


@pytest.mark.parametrize("step", STEPS + SHORT_STEPS)
def test_whichever_allocation_fails_a_step_leaves_nobody_waiting(tmp_path, step):
    status, out = in_scarcity("steps.py", [step], "uapycsp", tmp_path, 20)
    assert status == 0, out[-2000:]
    assert int(out.split()[-1]) > (0 if step in SHORT_STEPS else 5), out


def test_a_value_sent_twice_is_found(tmp_path):
    status, out = sweep(tmp_path, "uapycsp", 1, "1", "doubles")
    assert status == 1 and re.search(r"AssertionError: \[1, 1", out), out[-500:]


def test_a_hang_is_found(tmp_path):
    with pytest.raises(support.Silent, match=r"hangs \d+ 1\n$"):
        sweep(tmp_path, "uapycsp", 1, "1", "hangs", seconds=3)


def test_memory_left_behind_is_found(tmp_path):
    status, out = sweep(tmp_path, "uapycsp", 1, "1", "hoards")
    assert status == 1 and "bytes are left behind" in out, out[-500:]
