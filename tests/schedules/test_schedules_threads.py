"""upycsp and uthreading keep their promises in every schedule that explore.py makes them run.

    python tests/schedules/explore.py --most 60 --more 0.6   # the same by hand, with a table
    SCHEDULES=20 make test ARGS="-k schedules"     # all, and 20 times as many by chance

Of a program that has more schedules with as many pre-emptions as it allows the first 60 are run,
beside all with fewer pre-emptions and three fifths of those by chance: about 35 000, and 9 000
with points between lines. `make schedules` leaves out none.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from schedules.faults import FAULTS, LINES

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPLORE = "tests/schedules/explore.py"


def explore(*args):
    command = [sys.executable, EXPLORE, *args]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


BOUND = [] if "SCHEDULES" in os.environ else ["--most", "60", "--more", "0.6"]


def number(output):
    return int(re.search(r"^(\d+) schedules,", output, re.M).group(1))


@pytest.mark.timeout(0 if "SCHEDULES" in os.environ else 1200)
def test_no_schedule_breaks_a_promise():
    status, output = explore(*BOUND)
    print(output)
    assert status == 0
    assert number(output) >= 30000


@pytest.mark.timeout(0 if "SCHEDULES" in os.environ else 1200)
def test_no_schedule_with_points_between_lines_breaks_a_promise():
    status, output = explore("--lines", *BOUND)
    print(output)
    assert status == 0
    assert number(output) >= 8000


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_shown_again(fault):
    program = FAULTS[fault][0]
    mode = ["--lines"] if fault in LINES else []
    status, output = explore(program, "--fault", fault, *mode)
    assert status == 1, output
    again = re.search("^again: python " + EXPLORE + " (.*)", output, re.M).group(1)
    problem = output.splitlines()[1]
    status, output = explore(*shlex.split(again))
    assert status == 1
    assert re.sub("0x[0-9a-f]+", "", problem) in re.sub("0x[0-9a-f]+", "", output)


def test_the_same_schedules_each_time():
    tables = []
    for _ in range(2):
        status, output = explore("crowd", "two_writers", "deadlock_blocks", *BOUND)
        assert status == 0
        tables.append(re.sub(r"\d+\.\d s", "", output))
    assert tables[0] == tables[1]


def test_the_plain_schedule_can_be_seen():
    status, output = explore("pair", "--replay", "none", "--verbose")
    assert status == 0
    assert "acquire lock" in output and "return r ('ok', 1)" in output
