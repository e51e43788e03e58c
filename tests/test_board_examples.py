"""Examples run on a board as examples/README.md says it, by `mpremote cp` and `mpremote run`."""

import os
import re
import shutil

import pytest

from board.driver import BoardProcess
from harness import interpreters

ROOT = interpreters.ROOT
PACKAGES = ("cspcore", "ufuture", "uapycsp")

# The hardware that this board has not. Its clock is real; the knob moves by itself, and `pressed`
# says how often it can be read before the stop button is pressed.
BOOT = """
import sys
sys.path.append("/sim")
del sys.modules["machine"]
import machine
from world import world

def knob(pressed={pressed}, reads=[0]):
    reads[0] += 1
    if reads[0] == pressed:
        world.line(27).set(1)
    return min(reads[0], 8) * 4096

world.volts[34] = knob
world.line(25).name = "MOTOR"
world.line(27).level = 0
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A clean clone's files: what CPython left in a work tree is not for a board."""
    folder = tmp_path_factory.mktemp("checkout") / "clone"
    for name in (*PACKAGES, "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "config.py", folder)
    return folder


@pytest.fixture(scope="module")
def board(tmp_path_factory, checkout):
    micropython = interpreters.micropython()
    if not micropython:
        pytest.fail("needs MicroPython") if os.environ.get("CI") else pytest.skip("no MicroPython")
    flash = tmp_path_factory.mktemp("flash")
    (flash / "sim").mkdir()
    for name in ("machine.py", "world.py"):
        shutil.copy(ROOT / "examples" / "sim" / name, flash / "sim")
    board = BoardProcess(flash, micropython)
    board.mpremote("cp", "-r", *PACKAGES, ":", "+", "cp", "config.py", ":", cwd=checkout)
    yield board
    assert board.close() == 0


@pytest.fixture
def run(board, checkout):
    """Runs an example by mpremote; pressed: see BOOT."""

    def start(name, *words, pressed=0):
        # mpremote resets the board first.
        (board.flash / "boot.py").write_text(BOOT.format(pressed=pressed))
        return board.mpremote("run", *words, "examples/{}.py".format(name), cwd=checkout)

    return start


def duties(text):
    return [int(duty) for duty in re.findall(r"MOTOR (\d+) %", text)]


@pytest.mark.parametrize("name, last", [("sieve", "29"), ("philosophers", "eaten 3 times")])
def test_an_example_without_hardware_runs_on_a_board(run, name, last):
    assert run(name).rstrip().endswith(last)


def test_the_stop_button_ends_the_motor_on_a_board(run):
    text = run("motor_stop", pressed=10)
    assert duties(text) == [0, 6, 12, 18, 25, 31, 37, 43, 50, 0], text
    assert "Traceback" not in text


def test_ctrl_c_on_a_board_stops_the_motor(board, run):
    run("motor_stop", "--no-follow")
    with board.terminal() as terminal:
        text = terminal.until("MOTOR 50 %")
        terminal.send("\x03")
        text += terminal.until("KeyboardInterrupt")
    assert duties(text)[-1] == 0, text
    # It can be started again, and the button, pressed now, ends it.
    text = board.mpremote("resume", "exec", "world.line(27).level = 1; main()")
    assert duties(text) == [0], text
