"""The board that the other tests of boards use does what an ESP32 does."""

import time

import pytest

from board import wheel
from harness import interpreters

TICKS = """
import time
n = 0
while True:
    n += 1
    print("tick", n)
    time.sleep_ms(5)
"""


def until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_mpremote_gets_an_answer(switch_on):
    board = switch_on()
    assert board.mpremote("exec", "print(6*7)") == "42\n"
    assert "ZeroDivisionError" in board.mpremote("exec", "1/0", ok=False)


def test_boot_and_main_run_at_the_start_and_leave_their_names(switch_on):
    board = switch_on(boot="print('boot')", main="print('main', __name__)\nx = 5")
    with board.terminal() as terminal:
        text = terminal.until(">>> ")
        assert text.startswith("boot\r\nmain __main__\r\nMicroPython ")
        terminal.send("print(x)\r")
        terminal.until("print(x)\r\n5\r\n>>> ")


def test_it_looks_like_a_board(switch_on):
    board = switch_on(boot="import sys\nargs = list(sys.argv)")
    asked = (
        "import gc, os, sys; print(gc.mem_alloc() + gc.mem_free(), os.getcwd(), sys.path, args)"
    )
    size, rest = board.mpremote("resume", "exec", asked).split(" ", 1)
    assert 200 * 1024 < int(size) <= 222 * 1024
    assert rest == "/ ['', '.frozen', '/lib'] []\n"


def test_files_go_there_and_back(switch_on, tmp_path):
    board = switch_on()
    source = tmp_path / "pack" / "sub"
    source.mkdir(parents=True)
    data = bytes(range(256)) * 40
    (source / "data.bin").write_bytes(data)
    (source.parent / "__init__.py").write_text("x = 3\n")
    board.mpremote("cp", "-r", "pack", ":", cwd=tmp_path)
    assert (board.flash / "pack/sub/data.bin").read_bytes() == data
    assert board.mpremote("exec", "import pack; print(pack.x)") == "3\n"
    board.mpremote("cp", ":pack/sub/data.bin", "back.bin", cwd=tmp_path)
    assert (tmp_path / "back.bin").read_bytes() == data
    assert "data.bin" in board.mpremote("tree")
    board.mpremote("rm", "-r", ":pack")
    assert "pack" not in board.mpremote("ls")
    assert board.mpremote("mount", "pack", "exec", "import os; print(os.listdir())", cwd=tmp_path)


def test_ctrl_c_breaks_into_an_endless_main(switch_on):
    board = switch_on(main=TICKS)
    with board.terminal() as terminal:
        terminal.until("tick 3\r\n")
        terminal.send("\x03")
        assert 'File "main.py", line 7' in terminal.until("KeyboardInterrupt: \r\n")
        terminal.until(">>> ")
        # With nothing to interrupt there is a new prompt.
        terminal.send("\x03")
        terminal.until("\r\n>>> ")
    assert int(board.mpremote("resume", "exec", "print(n)")) >= 3
    assert board.log == []


def test_ctrl_c_breaks_nothing(switch_on):
    # As a signal it would come amidst an allocation, one time in twenty.
    if not wheel.interpreter(interpreters.micropython()):
        pytest.skip("only the wheel can be interrupted as a board is")
    board = switch_on(boot="def busy():\n    print('busy')\n    while True:\n        [1, 2, 3]\n")
    with board.terminal() as terminal:
        terminal.until(">>> ")
        for _ in range(100):
            terminal.send("busy()\r")
            terminal.until("\r\nbusy\r\n")
            terminal.send("\x03")
            terminal.until("KeyboardInterrupt")
            terminal.until(">>> ")
        terminal.send("print(len([[i] for i in range(1000)]))\r")
        terminal.until("\r\n1000\r\n>>> ")


def test_mpremote_breaks_into_an_endless_main(switch_on):
    board = switch_on(main=TICKS)
    assert board.mpremote("exec", "print(6*7)") == "42\n"
    # It reset the board, and with the raw REPL that does without main.py.
    assert board.log == ["ended 0"]
    assert "NameError" in board.mpremote("resume", "exec", "print(n)", ok=False)


def test_ctrl_c_interrupts_what_mpremote_started(switch_on):
    board = switch_on()
    program = "import time\nx = 1\nwhile True:\n    print('runs')\n    time.sleep(0.1)"
    board.mpremote("exec", "--no-follow", program)
    with board.terminal() as terminal:
        terminal.until("runs")  # before it does, the prompt may take a Ctrl-C for a key
        terminal.send("\x03")
        terminal.until("KeyboardInterrupt")
    assert board.mpremote("resume", "exec", "print(x)") == "1\n"


def test_a_soft_reset_at_the_prompt_runs_main_again(switch_on):
    board = switch_on(main="try:\n    x += 1\nexcept NameError:\n    x = 0\nprint('x is', x)")
    with board.terminal() as terminal:
        terminal.until(">>> ")
        terminal.send("x = 7\r\x04")
        assert "MPY: soft reboot\r\nx is 0\r\n" in terminal.until("x is 0\r\n")
    assert board.log == ["ended 0"]


def test_a_soft_reset_in_the_raw_repl_is_one_without_main(switch_on):
    board = switch_on(boot="print('boot')", main=TICKS)
    with board.terminal() as terminal:
        terminal.until("tick 2\r\n")
        terminal.send("\x03\x01")
        terminal.until("raw REPL; CTRL-B to exit\r\n>")
        terminal.send("\x04")
        text = terminal.until("raw REPL; CTRL-B to exit\r\n>")
        assert text == "OK\r\nMPY: soft reboot\r\nboot\r\n\r\nraw REPL; CTRL-B to exit\r\n>"
        terminal.send("\x02")
        terminal.until(">>> ")
        terminal.send("\x04")
        terminal.until("tick 2\r\n")


def test_a_hard_reset_runs_main(switch_on):
    board = switch_on(main="print('main')")
    with board.terminal() as terminal:
        terminal.until("main\r\n")
    board.mpremote("reset")
    until(lambda: "reset" in board.log)
    with board.terminal() as terminal:
        terminal.until("main\r\n")


def test_sys_exit_in_main_is_a_soft_reset(switch_on):
    board = switch_on(main="import sys\nprint('main')\nsys.exit(2)")
    until(lambda: board.log[:2] == ["exit", "exit"])
    with board.terminal() as terminal:
        terminal.until("main\r\nMPY: soft reboot\r\nmain\r\n")


def test_an_error_in_main_leaves_a_prompt(switch_on):
    board = switch_on(main="x = 5\nx.no_such_name")
    with board.terminal() as terminal:
        text = terminal.until(">>> ")
        assert 'File "main.py", line 2' in text and "AttributeError" in text
    assert board.mpremote("resume", "exec", "print(x)") == "5\n"


def test_what_comes_during_the_start_is_kept(switch_on):
    board = switch_on(boot="import time\ntime.sleep_ms(100)")
    with board.terminal() as terminal:
        terminal.send("print(6*7)\r")
        terminal.until("42\r\n>>> ")


def test_output_that_nobody_reads_does_not_stop_the_board(switch_on):
    text = "for i in range(20000):\n    print('line', i, 'x' * 40)\nopen('done', 'w').close()"
    board = switch_on(main=text)
    until((board.flash / "done").exists)
    with board.terminal() as terminal:
        # Some of it is lost, but not the end.
        assert len(terminal.until("line 19999 ").splitlines()) < 19999


def test_input_that_nobody_reads_does_not_stop_the_board(switch_on):
    board = switch_on(main=TICKS)
    with board.terminal() as terminal:
        terminal.until("tick 1\r\n")
        for _ in range(20):
            terminal.send("x" * 1000)
        terminal.send("\x03")
        terminal.until("KeyboardInterrupt")
