"""uapycsp.adapters.StdinLines, in a process whose standard input is a pipe."""

import subprocess

import pytest

from harness import interpreters

PROGRAM = """
from uapycsp import Channel, process, run
from uapycsp.adapters import StdinLines

@process
async def show(cin, most):
    n = 0
    async for line in cin:
        print(repr(line))
        n += 1
        if n == most:
            cin.poison()
    print("end")

ch = Channel("lines")
run(StdinLines(ch.write), show(ch.read, MOST))
"""


def start(interpreter, most):
    command = interpreters.command(interpreter)
    if command is None:
        pytest.skip("no MicroPython")
    return subprocess.Popen(
        [*command, "-c", PROGRAM.replace("MOST", str(most))],
        cwd=interpreters.ROOT,
        env=interpreters.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize("interpreter", interpreters.NAMES)
def test_lines_until_the_input_ends(interpreter):
    with start(interpreter, 100) as p:
        text, _ = p.communicate("one\ntwo\nthree", timeout=60)
    assert text.splitlines() == ["b'one\\n'", "b'two\\n'", "b'three'", "end"]
    assert p.returncode == 0


@pytest.mark.parametrize("interpreter", interpreters.NAMES)
def test_poison_ends_it_while_the_input_is_open(interpreter):
    with start(interpreter, 1) as p:
        p.stdin.write("one\n")
        p.stdin.flush()
        assert p.wait(60) == 0
        assert p.stdout.read().splitlines() == ["b'one\\n'", "end"]
