"""The packages go onto a board with mpremote, and it boots the benchmark that config.py names."""

import json
import re
import shutil
import time

import pytest

from harness import interpreters

ROOT = interpreters.ROOT
PACKAGES = ("cspcore", "uthreading", "ufuture", "upycsp", "uapycsp", "benchmarks")
FILES = ("config.py", "main.py")
# As docs/boards.md says it.
COPY = ("cp", "-r", *PACKAGES, ":", "+", "cp", *FILES, ":")

# More runs than end, long ones so that their times take little memory, and what is said meanwhile.
MANY = 100000
RUNS = " of {}".format(MANY)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A clean clone's files: what CPython left in a work tree is not for a board."""
    folder = tmp_path_factory.mktemp("checkout") / "clone"
    folder.mkdir()
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="module")
def board(module_board, checkout):
    module_board.mpremote(*COPY, cwd=checkout)
    # What main.py loads while it runs leaves more gaps in the heap than what is there before.
    (module_board.flash / "boot.py").write_text("from uthreading import kept\n")
    yield module_board
    # A SystemExit would make the board start main.py again.
    assert "exit" not in module_board.log


def configure(board, checkout, **values):
    """Copies config.py with other values, as an editor would; runs=3 sets all that is so named."""
    text = (checkout / "config.py").read_text()
    for name, value in values.items():
        if name.isupper():
            text, found = re.subn(
                r"(?m)^{} = .*".format(name), "{} = {!r}".format(name, value), text
            )
        else:
            text, found = re.subn(
                r'"{}": ("[^"]*"|[^,}}]+)'.format(name), '"{}": {}'.format(name, value), text
            )
        assert found, name
    edited = checkout / "edited"
    edited.mkdir(exist_ok=True)
    (edited / "config.py").write_text(text)
    board.mpremote("cp", "config.py", ":", cwd=edited)


def results(text):
    return [json.loads(line) for line in re.findall(r"^RESULT (.*)\r$", text, re.M)]


def until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("lib", ["uapycsp", "upycsp"])
def test_a_soft_reset_boots_the_configured_benchmark(board, checkout, lib):
    for name in PACKAGES:
        assert (board.flash / name / "__init__.py").exists()
    configure(board, checkout, LIB=lib, RUN="commstime", n=20, runs=2)
    with board.terminal() as terminal:
        terminal.prompt()
        terminal.send("\x04")
        terminal.until("MPY: soft reboot")
        text = terminal.until(">>> ", seconds=240)
    rows = results(text)
    assert {row["lib"] for row in rows} == {lib}, text
    assert {row["bench"] for row in rows} == {"commstime"}
    assert {row["variant"] for row in rows} == {"seq", "par", "par-proc"}
    assert all(row["runs"] == 2 and row["heap"] <= 222 * 1024 for row in rows)
    assert "Traceback" not in text


NAMES = ("stressed_alt", "waiting_queue", "workers", "matmul", "prodcons", "latency", "memory")
OTHERS = [(run, lib) for run in NAMES for lib in ("uapycsp", "upycsp")]


# The queues know no library.
@pytest.mark.parametrize("run, lib", [*OTHERS, ("queues", "uapycsp")])
def test_each_benchmark_runs_in_the_heap_of_an_esp32(board, checkout, lib, run):
    # As much of everything as config.py says, but waits and sleeps (latency's) are short.
    configure(board, checkout, LIB=lib, RUN=run, runs=1, ms=2)
    board.mpremote("reset")
    with board.terminal() as terminal:
        text = terminal.until(">>> ", seconds=120)
    assert {row["bench"] for row in results(text)} == {run}, text
    assert "Traceback" not in text


@pytest.mark.parametrize("lib", ["uapycsp", "upycsp"])
def test_ctrl_c_during_a_run_leaves_a_working_prompt(board, checkout, lib):
    configure(board, checkout, LIB=lib, RUN="commstime", n=20000, runs=MANY)
    board.mpremote("reset")
    with board.terminal() as terminal:
        terminal.until(RUNS)
        terminal.send("\x03")
        assert "Traceback" in terminal.until("KeyboardInterrupt")
        terminal.until(">>> ")
        terminal.send("print(6*7)\r")
        terminal.until("\r\n42\r\n>>> ")
    # The prompt is of the same interpreter, with what the run left there.
    assert board.mpremote("resume", "exec", "print(6*7)") == "42\n"
    assert board.mpremote("exec", "print(6*7)") == "42\n"


@pytest.mark.parametrize("lib", ["uapycsp", "upycsp"])
def test_a_soft_reset_during_a_run(board, checkout, lib):
    configure(board, checkout, LIB=lib, RUN="commstime", n=20000, runs=MANY)
    board.mpremote("reset")
    with board.terminal() as terminal:
        terminal.until(RUNS)
        terminal.send("\x03")
        terminal.until("KeyboardInterrupt")
        terminal.until(">>> ")
        terminal.send("\x04")
        terminal.until("MPY: soft reboot")
        terminal.until(RUNS)
    ended = len(board.log)
    # mpremote interrupts the run and resets; from its raw REPL that is one without main.py.
    board.mpremote("soft-reset")
    until(lambda: len(board.log) > ended)
    assert board.mpremote("resume", "exec", "print(6*7)") == "42\n"


@pytest.mark.parametrize("lib", ["uapycsp", "upycsp"])
def test_the_library_can_be_used_again_after_ctrl_c(board, checkout, lib):
    configure(board, checkout, LIB=lib, RUN="commstime", n=20000, runs=MANY)
    board.mpremote("reset")
    with board.terminal() as terminal:
        terminal.until(RUNS)
        terminal.send("\x03")
        terminal.until("KeyboardInterrupt")
        terminal.until(">>> ")
    program = """
import config
csp = config.csp()
c = csp.Channel('c')

@csp.process
async def producer(cout):
    for i in range(5):
        await cout(i)

@csp.process
async def consumer(cin):
    total = 0
    for i in range(5):
        total += await cin()
    return total

print(csp.run(producer(c.write), consumer(c.read)))
"""
    assert board.mpremote("resume", "exec", program) == "[None, 10]\n"


def test_a_wrong_config_is_a_sentence_and_a_prompt(board, checkout):
    configure(board, checkout, LIB="nosuch", RUN="commstime")
    board.mpremote("reset")
    with board.terminal() as terminal:
        text = terminal.until(">>> ")
    assert "nosuch" in text and "Traceback" not in text
    configure(board, checkout, RUN="nosuch")
    board.mpremote("reset")
    with board.terminal() as terminal:
        text = terminal.until(">>> ")
    assert "nosuch" in text and "stressed_alt" in text and "Traceback" not in text
