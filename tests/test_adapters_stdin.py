"""StdinLines of the adapters, in a process whose standard input is a pipe."""

import subprocess

import pytest

from harness import interpreters

PROGRAM = """
import LIBRARY as csp

@csp.process
async def show(cin, most):
    n = 0
    async for line in cin:
        print(repr(line))
        n += 1
        if n == most:
            cin.poison()
    print("end")

ch = csp.Channel("lines")
csp.run(csp.adapters.StdinLines(ch.write), show(ch.read, MOST))
"""

anywhere = pytest.mark.parametrize("interpreter", interpreters.NAMES)
with_each = pytest.mark.parametrize("library", ("uapycsp", "upycsp.aio", "upycsp"))


def start(interpreter, library, most):
    command = interpreters.command(interpreter)
    if command is None:
        pytest.skip("no MicroPython")
    program = PROGRAM.replace("LIBRARY", library).replace("MOST", str(most))
    if library == "upycsp":
        program = program.replace("async ", "").replace("await ", "")
    return subprocess.Popen(
        [*command, "-c", program],
        cwd=interpreters.ROOT,
        env=interpreters.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@anywhere
@with_each
def test_lines_until_the_input_ends(interpreter, library):
    with start(interpreter, library, 100) as p:
        text, _ = p.communicate("one\ntwo\nthree", timeout=60)
    assert text.splitlines() == ["b'one\\n'", "b'two\\n'", "b'three'", "end"]
    assert p.returncode == 0


@anywhere
@with_each
def test_poison_ends_it_while_the_input_is_open(interpreter, library):
    with start(interpreter, library, 1) as p:
        p.stdin.write("one\n")
        p.stdin.flush()
        assert p.wait(60) == 0
        assert p.stdout.read().splitlines() == ["b'one\\n'", "end"]
