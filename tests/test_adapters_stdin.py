"""StdinLines of the adapters, in a process whose standard input is a pipe."""

import os
import subprocess
import threading

import pytest

from harness import interpreters, patience

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


@with_each
def test_a_long_line_of_a_pipe(library):
    line = "x" * 200000
    with start("cpython", library, 100) as p:
        text, _ = p.communicate(line + "\n" + "last", timeout=60)
    assert text.splitlines() == ["b'{}\\n'".format(line), "b'last'", "end"]
    assert p.returncode == 0


@anywhere
@with_each
def test_poison_ends_it_while_the_input_is_open(interpreter, library):
    with start(interpreter, library, 1) as p:
        p.stdin.write("one\n")
        p.stdin.flush()
        assert p.wait(60) == 0
        assert p.stdout.read().splitlines() == ["b'one\\n'", "end"]


@with_each
def test_the_return_key_of_a_terminal_ends_a_line(library):
    with start("micropython", library, 100) as p:
        text, _ = p.communicate("one\rtwo\r\nthree\n\rfour\r", timeout=60)
    lines = ["b'one\\n'", "b'two\\n'", "b'three\\n'", "b'\\n'", "b'four\\n'", "end"]
    assert text.splitlines() == lines


@with_each
def test_a_return_and_its_newline_may_come_apart(library):
    with start("micropython", library, 100) as p:
        p.stdin.write("one\r")
        p.stdin.flush()
        assert p.stdout.readline() == "b'one\\n'\n"
        text, _ = p.communicate("\ntwo\n\r", timeout=60)
    assert text.splitlines() == ["b'two\\n'", "b'\\n'", "end"]


QUESTIONS = """
@csp.process
async def first(cin):
    line = await cin()
    cin.poison()
    return line

for question in ("name", "age"):
    lines = csp.Channel("lines")
    print(question, csp.run(csp.adapters.StdinLines(lines.write), first(lines.read))[1])
"""


@with_each
@pytest.mark.parametrize("typed", (("Ann\r\n", "42\r\n"), ("Ann\r", "\n42\r")))
def test_the_next_one_gets_no_newline_of_a_return_before(library, typed):
    text = "import {} as csp\n".format(library) + QUESTIONS
    if library == "upycsp":
        text = text.replace("async ", "").replace("await ", "")
    command = interpreters.command("micropython")
    if command is None:
        pytest.skip("no MicroPython")
    with subprocess.Popen(
        [*command, "-c", text],
        cwd=interpreters.ROOT, env=interpreters.environment(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as p:
        p.stdin.write(typed[0])
        p.stdin.flush()
        assert p.stdout.readline() == "name b'Ann\\n'\n"
        text, _ = p.communicate(typed[1], timeout=60)
    assert text == "age b'42\\n'\n"


BEATS = """
@csp.process
async def beats(stop):
    every = csp.Every(10)
    beat = csp.Alternative(stop, every)
    while (await beat.select())[0] is every:
        print("beat")

@csp.process
async def hears(lines, stop):
    print(repr(await lines()))
    lines.poison()
    await stop(None)

ch, stop = csp.Channel("lines"), csp.Channel("stop")
csp.run(csp.adapters.StdinLines(ch.write), hears(ch.read, stop.write), beats(stop.read))
"""


@anywhere
@with_each
def test_others_go_on_while_a_line_is_typed(interpreter, library):
    text = BEATS if library != "upycsp" else BEATS.replace("async ", "").replace("await ", "")
    command = interpreters.command(interpreter)
    if command is None:
        pytest.skip("no MicroPython")
    with subprocess.Popen(
        [*command, "-c", "import {} as csp\n".format(library) + text],
        cwd=interpreters.ROOT, env=interpreters.environment(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as p:
        hang = threading.Timer(60, p.kill)
        hang.start()
        try:
            for typed, beats in ("", 1), ("o", 50), ("n", 50):
                p.stdin.write(typed)
                p.stdin.flush()
                for _ in range(beats):
                    assert p.stdout.readline() == "beat\n"
            text, _ = p.communicate("e\n")
        finally:
            hang.cancel()
    assert text.replace("beat\n", "") == "b'one\\n'\n"


@anywhere
@with_each
@pytest.mark.parametrize("text", ("", "one\ntwo\n"))
def test_a_file_is_read_like_a_pipe(tmp_path, interpreter, library, text):
    path = tmp_path / "input"
    path.write_text(text)
    words = program(interpreter, library, 100)
    with (open(os.devnull) if text == "" else path.open()) as file:
        done = patience.run(words, cwd=interpreters.ROOT, env=interpreters.environment(),
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
