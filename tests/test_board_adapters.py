"""Adapters of upycsp on a board, whose interrupt handlers run in the main thread."""

import shutil

import pytest

from harness import interpreters

ROOT = interpreters.ROOT

PROGRAM = """
import sys
sys.path.append("/sim")
del sys.modules["machine"]

import micropython
from machine import Pin
from world import world
from upycsp import Channel, process, run
from upycsp import isr
from upycsp.adapters import PinEvents
from uthreading import kept

button = Pin(0, Pin.IN, Pin.PULL_UP)
levels, told = Channel("levels"), Channel("told")

@process
def fingers(cin):
    # As an ESP32's pins do, it lets the main thread call the handler when it can.
    got = []
    while world.line(0).handler is None:
        kept.sleep_ms(1)
    for i in range(20):
        micropython.schedule(world.line(0).set, i & 1)
        got.append(cin())
    cin.poison()
    return got

got = run(fingers(levels.read), PinEvents(button, levels.write))[0]
print(isr.direct, kept.polls(), got == [0, 1] * 10, world.line(0).handler)
"""


@pytest.fixture
def board(switch_on):
    board = switch_on()
    for name in ("cspcore", "uthreading", "upycsp"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, board.flash / name, ignore=ignore)
    (board.flash / "sim").mkdir()
    for name in ("machine.py", "world.py"):
        shutil.copy(ROOT / "examples" / "sim" / name, board.flash / "sim")
    return board


def test_interrupts_reach_threads_while_the_main_thread_polls(board, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    assert board.mpremote("run", str(program)).split() == ["False", "True", "True", "None"]
