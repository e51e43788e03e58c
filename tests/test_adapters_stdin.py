"""StdinLines of the adapters, in a process whose standard input is a pipe."""

import os
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


def program(interpreter, library, most, after=""):
    command = interpreters.command(interpreter)
    if command is None:
        pytest.skip("no MicroPython")
    text = PROGRAM.replace("LIBRARY", library).replace("MOST", str(most))
    if library == "upycsp":
        text = text.replace("async ", "").replace("await ", "")
    return [*command, "-c", text + after]


def start(interpreter, library, most, after=""):
    return subprocess.Popen(
        program(interpreter, library, most, after),
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


@anywhere
@with_each
@pytest.mark.parametrize("text", ("", "one\ntwo\n"))
def test_a_file_is_read_like_a_pipe(tmp_path, interpreter, library, text):
    path = tmp_path / "input"
    path.write_text(text)
    words = program(interpreter, library, 100)
    with (open(os.devnull) if text == "" else path.open()) as file:
        done = subprocess.run(words, cwd=interpreters.ROOT, env=interpreters.environment(),
                              stdin=file, capture_output=True, text=True, timeout=60)
    lines = [repr(line.encode()) for line in text.splitlines(True)]
    assert (done.stdout.splitlines(), done.stderr) == (lines + ["end"], "")


AFTER = """
import gc, os, sys
gc.collect()
print(os.get_blocking(0), flush=True)
print(sys.stdin.readline())
"""


@with_each
def test_the_standard_input_can_be_used_after_it(library):
    with start("cpython", library, 1, AFTER) as p:
        p.stdin.write("one\n")
        p.stdin.flush()
        for line in ("b'one\\n'", "end", "True"):
            assert p.stdout.readline().strip() == line
        text, _ = p.communicate("two\n", timeout=60)
    assert (text.split(), p.returncode) == (["two"], 0)
