"""An interrupt that leaves a process comes out of `run` once, and nothing else is said."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
from {lib} import Channel, process, run

@process
{a}def interrupted(cout):
    {w}cout(1)
    raise {exception}

@process
{a}def reader(cin):
    {a}for v in cin:
        print(v)

c = Channel("c")
try:
    run(interrupted(c.write), reader(c.read))
except {exception}:
    print("{exception}")
"""


@pytest.mark.parametrize("exception", ["KeyboardInterrupt", "SystemExit"])
@pytest.mark.parametrize("lib", ["uapycsp", "upycsp", "upycsp.aio"])
def test_an_interrupt_of_a_process_is_told_once(lib, exception):
    words = ("", "") if lib == "upycsp" else ("async ", "await ")
    program = PROGRAM.format(lib=lib, exception=exception, a=words[0], w=words[1])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=180
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["1", exception]
