"""uapycsp in MicroPython: schedules of its driver with cancellations after every resume.

micro_tasks tells what a schedule decides there. SCHEDULES=10: ten times as many.
"""

import pathlib
import subprocess
import sys

import pytest

from harness import amounts, interpreters, patience

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import tasks  # noqa: E402, F401  (finds the library)
from tasks_faults import FAULTS  # noqa: E402

TIMES = amounts.number("SCHEDULES", 1)


def micropython(*words):
    program = interpreters.command("micropython", "64M")
    if program is None:
        pytest.skip("no MicroPython")
    env = interpreters.environment()
    env["MICROPYPATH"] = "{0}:{0}/tests/schedules:.frozen".format(interpreters.ROOT)
    script = str(interpreters.ROOT / "tests" / "schedules" / "micro_tasks.py")
    command = program + [script, *map(str, words)]
    p = patience.run(
        command,
        env=env,
        cwd=interpreters.ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=250 * TIMES,
    )
    return p.returncode, p.stdout


@pytest.mark.parametrize("part", range(4))
def test_schedules_in_micropython_keep_the_rules(part):
    status, output = micropython("all:%d/4" % part, 50 * TIMES)
    assert status == 0 and output.endswith(" schedules\n"), output


@pytest.mark.parametrize("part", range(4))
def test_random_schedules_in_micropython_keep_the_rules(part):
    first = part * 200 * TIMES
    status, output = micropython("random:%d-%d" % (first, first + 200 * TIMES - 1), 4)
    assert status == 0 and output == "%d schedules\n" % (800 * TIMES), output


@pytest.mark.parametrize("name, seed", [("sleeper", 1), ("sleeper", 2), ("timer_again", 4)])
def test_a_schedule_is_the_same_however_slow_the_machine_is(name, seed):
    histories = [micropython(name, "--seed", seed, "--slow", ms) for ms in (0, 3, 7)]
    assert histories[0][0] == 0, histories[0][1]
    assert histories[1:] == histories[:1] * 2


# A timer left armed puts a task twice into asyncio's queue, which is C there and may crash.
@pytest.mark.parametrize(
    "fault", [f.__name__ for f in FAULTS if f.__name__ != "timer_not_disarmed"]
)
def test_a_fault_is_found_in_micropython(fault):
    (name, *_) = FAULTS[getattr(sys.modules["tasks_faults"], fault)]
    status, output = micropython(name, 4000, "--fault", fault)
    assert status == 1 and "Broken: " in output, output
    decisions = output.split(" --decisions ")[1].split()[0]
    status, output = micropython(name, "--decisions", decisions, "--fault", fault)
    assert status == 1 and "Broken: " in output, output
    status, output = micropython(name, "--decisions", decisions)
    assert status == 0 or "Misfit: " in output, output  # it may go another way
