"""`make board`: from a clone to figures, and one sentence for whatever goes wrong."""

import contextlib
import functools
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from serial.tools.list_ports_common import ListPortInfo

from board import driver
from harness import patience

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import board_link  # noqa: E402
import board_main  # noqa: E402
import board_results  # noqa: E402

QUICKLY = ("--n", "5", "--set", "runs=1 delta=seq")


@pytest.fixture(autouse=True, scope="module")
def compiled_once():
    """Most of a call's time would go into compiling the same again."""
    project = board_main.project
    once = functools.cache(project)
    board_main.project = lambda packages, version: dict(once(tuple(packages), version))
    yield
    board_main.project = project


@pytest.fixture
def make(capsys, tmp_path):
    """Does what make board does; its exit status, output and complaints."""

    def call(port, *words):
        capsys.readouterr()
        words = ("--port", str(port), "--out", str(tmp_path / "out.json"), "--wait", "120", *words)
        return (board_main.main(words), *capsys.readouterr())

    return call


TINY = """
import json
def main(words):
    print("RESULT " + json.dumps({"bench": "commstime", "lib": "uapycsp", "variant": "seq",
        "n": 5, "runs": 1, "us_min": 1.0, "us_avg": 1.0, "us_max": 1.0, "bytes_per_op": None,
        "port": "pty", "version": "1", "heap": 1}))
    return 0
"""


@pytest.fixture
def tiny(monkeypatch):
    """Lets boards get one package alone, and a main.py of that text."""
    project = board_main.project
    monkeypatch.setattr(
        board_main, "project", lambda packages, version: project(("cspcore",), version))

    def becomes(text=TINY):
        signed = board_main.board_files.signed

        def other(data):
            return signed(text.encode() if data.startswith(b'"""Runs a benchmark') else data)

        monkeypatch.setattr(board_main.board_files, "signed", other)

    return becomes


def until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def sentence(done, *parts, status=1):
    """What failed said one sentence with those parts."""
    assert done[0] == status, done
    error = done[2]
    assert error.count("\n") == 1 and error.endswith("\n") and "Traceback" not in error, error
    for part in parts:
        assert part in error, error


def stored(path):
    return json.loads(path.read_text())


@pytest.fixture
def flash(tmp_path):
    return driver.littlefs(tmp_path / "flash.img")


# From a clone to figures


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_make_board_brings_all_to_a_new_board_and_keeps_its_figures(switch_on, flash, tmp_path):
    board = switch_on(flash)
    out = tmp_path / "some board.json"
    done = patience.run(
        ["make", "board", "PORT=" + board.port, "N=20", "SET=runs=3 delta=seq,par",
         "OUT={}".format(out), "ARGS=--wait 120"],
        cwd=ROOT, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    text = done.stdout
    assert re.search(r"^/dev/\S+: .*, MicroPython ", text, re.M), text
    assert "heap 220 KB" in text and "filesystem 2048 KB, 2040 KB free" in text
    assert "uapycsp, commstime; .mpy files of version 6\n" in text
    copied, of = map(int, re.search(r"copied (\d+) of (\d+) files", text).groups())
    assert copied == of > 60
    assert re.search(r"^uapycsp +seq ", text, re.M) and "RESULT" not in text
    assert re.search(r"^commstime +uapycsp +par +\S+ +\S+ +\d+ +\S+$", text, re.M), text

    kept = stored(out)
    assert kept["platform"] == "esp32" and kept["micropython"].startswith("MicroPython ")
    assert [row["result"]["variant"] for row in kept["rows"]] == ["seq", "par"]
    for row in kept["rows"]:
        assert row["result"]["runs"] == 3 and row["result"]["n"] == 20 and row["us_median"] > 0
        assert row["mpy"] == 6 and re.fullmatch("[0-9a-f]{40}", row["commit"]) and row["date"]
    assert (tmp_path / "some board-commstime.png").read_bytes().startswith(b"\x89PNG")

    # From now on it does so at each start.
    board.mpremote("reset")
    with board.terminal() as terminal:
        text = terminal.until(">>> ")
    assert '"variant": "par", "n": 20, "runs": 3' in text and "Traceback" not in text


def test_only_what_changed_travels(switch_on, make):
    board = switch_on()
    assert make(board.port, *QUICKLY)[0] == 0
    status, out, _ = make(board.port, *QUICKLY)
    assert status == 0 and re.search(r"copied 0 of \d+ files, 0 bytes\n", out)
    # Another run is another config.py.
    status, out, _ = make(board.port, "--run", "spawn", "--n", "2", "--set", "runs=1")
    assert status == 0 and re.search(r"copied 1 of \d+ files, \d+ bytes\n", out)
    # One that was damaged, and one that would be imported in the place of a newer one.
    board.mpremote("exec", "open('cspcore/errors.mpy', 'w').close()\n"
                   "open('uapycsp/channel.py', 'w').close()\n"
                   "open('uapycsp/mine.txt', 'w').close()")
    status, out, _ = make(board.port, "--run", "spawn", "--n", "2", "--set", "runs=1")
    assert status == 0 and re.search(r"copied 1 of \d+ files, \d+ bytes; removed 1 others\n", out)
    assert "mine.txt" in board.mpremote("ls", "uapycsp")
    # Sources replace what was compiled.
    status, out, _ = make(board.port, *QUICKLY, "--mpy", "no")
    assert status == 0 and "; sources\n" in out
    listed = board.mpremote("ls", "uapycsp")
    assert "channel.py" in listed and ".mpy" not in listed


@pytest.mark.parametrize("lib", ["uapycsp", "upycsp"])
def test_both_libraries_run_at_esp32_sizes_from_mpy_files(switch_on, make, lib, tmp_path):
    board = switch_on()
    for run, more, variants in (
            ("commstime", "", {"seq", "par", "par-proc"}),
            ("stressed_alt", "form=with,select", {"5x2-with", "5x2-select"})):
        words = ("--lib", lib, "--run", run, "--set", "runs=1 " + more)
        status, out, error = make(board.port, *words)
        assert status == 0, out + error
        rows = [row["result"] for row in stored(tmp_path / "out.json")["rows"]]
        rows = [row for row in rows if row["bench"] == run]
        assert {row["variant"] for row in rows} == variants
        assert {row["lib"] for row in rows} == {lib}
        assert all(row["n"] == 200 and row["heap"] <= 222 * 1024 for row in rows)
    assert not list(board.flash.rglob("channel.py"))
    # The figures of both runs are in the file.
    assert {row["result"]["bench"] for row in stored(tmp_path / "out.json")["rows"]} == {
        "commstime", "stressed_alt"}


def test_a_users_own_program_is_kept_and_said_so(switch_on, make, tiny):
    tiny()
    board = switch_on(main="print('mine')\n")
    status, out, _ = make(board.port, *QUICKLY)
    assert status == 0
    assert "main.py on the board is not of make board: it is kept there as main.py.bak\n" in out
    assert (board.flash / "main.py.bak").read_text() == "print('mine')\n"


def test_the_project_as_mpremote_copied_it_needs_no_backup(switch_on, make, tiny):
    tiny()
    board = switch_on(main=(ROOT / "main.py").read_text(), config=(ROOT / "config.py").read_text())
    status, out, _ = make(board.port, *QUICKLY)
    assert status == 0 and "kept" not in out
    assert not list(board.flash.glob("*.bak*"))


# What a board can run


FOUND = {"version": (1, 20, 0), "threads": True, "asyncio": True}


@pytest.mark.parametrize("more, wanted, lib", [
    ({}, "", "uapycsp"),
    ({}, "upycsp", "upycsp"),
    ({"threads": False}, "", "uapycsp"),
    ({"asyncio": False}, "", "upycsp"),
    ({"version": (1, 15, 0)}, "", "upycsp"),
])
def test_the_library_is_one_that_the_board_can_run(more, wanted, lib):
    found = dict(FOUND, **more)
    assert board_main.libraries(found, wanted, "uapycsp")[0] == lib


@pytest.mark.parametrize("more, wanted, said", [
    ({"threads": False}, "upycsp", "upycsp needs threads, and the board has no _thread"),
    ({"asyncio": False}, "uapycsp", "uapycsp needs asyncio, and the board has none"),
    ({"version": (1, 15, 0)}, "uapycsp", "needs MicroPython 1.16, and the board has 1.15.0"),
    ({"asyncio": False, "threads": False}, "", "no _thread, and uapycsp needs asyncio"),
])
def test_what_can_not_run_is_said(more, wanted, said):
    with pytest.raises(board_link.Failed, match=said):
        board_main.libraries(dict(FOUND, **more), wanted, "uapycsp")


@pytest.mark.parametrize("number, version", [
    (0xB06, 6),                 # today's Unix port
    (0x0206, 6),
    (10 << 10 | 0x205, 5),      # an ESP32 with 1.16
    (0x305, None),              # a cache in the bytecode
    (0x005, None),              # no Unicode
    (4, None), (7, None), (0, None),
])
def test_mpy_files_are_of_the_version_that_the_board_loads(number, version):
    assert board_main.mpy_version(number) == version


FAKE = """
import sys
class Fake:
    def __init__(self, real, **more):
        self._real = real
        for name in more:
            setattr(self, name, more[name])
    def __getattr__(self, name):
        return getattr(self._real, name)
def fake(**more):
    sys.modules["sys"] = Fake(sys, implementation=Fake(sys.implementation, **more))
def hide(*names):
    import builtins
    old = builtins.__import__
    def hiding(name, *a):
        if name in names:
            raise ImportError(name)
        return old(name, *a)
    builtins.__import__ = hiding
"""


def test_a_board_without_threads_gets_what_it_can_run(switch_on, make):
    board = switch_on(boot=FAKE + "hide('_thread')\n")
    (board.flash / "upycsp").mkdir()
    (board.flash / "upycsp" / "channel.py").write_text("")
    status, out, error = make(board.port, *QUICKLY)
    assert status == 0, out + error
    assert "uapycsp, commstime" in out and "removed 1 others" in out
    assert (board.flash / "uapycsp").exists()
    assert not (board.flash / "upycsp").exists() and not (board.flash / "uthreading").exists()
    sentence(make(board.port, "--lib", "upycsp"), "upycsp needs threads")


@pytest.mark.parametrize("boot, said", [
    ("fake(version=(1, 10, 0))", "MicroPython 1.10.0 is too old: 1.11 is the oldest"),
    ("fake(name='circuitpython')", "There is circuitpython on the board, not MicroPython"),
    ("fake(version=(1, 13, 0))\nhide('_thread')", "1.16, and the board has 1.13.0"),
])
def test_a_board_that_is_unfit_is_said_so_and_left_as_it_is(switch_on, make, boot, said):
    board = switch_on(boot=FAKE + boot + "\n")
    sentence(make(board.port), said)
    assert [path.name for path in board.flash.iterdir()] == ["boot.py"]


# What can go wrong with the port


def test_the_only_port_is_taken_and_of_several_one_is_to_be_named():
    one, other = ListPortInfo("/dev/ttyX0"), ListPortInfo("/dev/ttyX1")
    assert board_link.choose("", [one]) == "/dev/ttyX0"
    assert board_link.choose("/dev/ttyX2", [one, other]) == "/dev/ttyX2"
    with pytest.raises(board_link.Failed, match="several .*: /dev/ttyX0 .*, /dev/ttyX1 "):
        board_link.choose("", [one, other])
    with pytest.raises(board_link.Failed, match="There is no serial port: plug the board in"):
        board_link.choose("", [])


def test_a_port_that_is_none_is_said(make, tmp_path):
    sentence(make(tmp_path / "ttyUSB7"), "There is no port {}".format(tmp_path / "ttyUSB7"))
    (tmp_path / "file").write_text("")
    sentence(make(tmp_path / "file"), "is no serial port that can be opened")
    sentence(make("bogus://x"), "bogus://x is no port")


def test_a_port_that_another_program_holds_is_said(switch_on, make):
    board = switch_on()
    with driver.held(board.port):
        sentence(make(board.port), board.port, "in use by another program")


def test_a_port_where_nothing_answers_is_said(make):
    with driver.mute() as port:
        sentence(make(port, "--wait", "2"), "Nothing at {} answers".format(port))


def test_an_endless_main_is_interrupted(switch_on, make, tiny):
    tiny()
    board = switch_on(main="while True:\n    print('busy')\n")
    assert make(board.port, *QUICKLY)[0] == 0


@pytest.mark.parametrize("main, said", [
    # Neither comes back to the interpreter, which looks for Ctrl-C.
    ("any(map(print, range(1 << 60)))", "does not let itself be interrupted by Ctrl-C"),
    ("sum(range(1 << 60))", "does what runs there let itself be interrupted by Ctrl-C?"),
])
def test_a_main_that_can_not_be_interrupted_is_said(switch_on, make, main, said):
    board = switch_on(main="open('begun', 'w').close()\n" + main)
    until((board.flash / "begun").exists)
    sentence(make(board.port, "--wait", "1"), board.port, said)
    assert sorted(path.name for path in board.flash.iterdir()) == ["begun", "main.py"]


def test_a_boot_that_does_not_end_is_said(switch_on, make, monkeypatch):
    # The first time it ends; after the soft reset it does not.
    board = switch_on(boot="import os, time\nwhile 'seen' in os.listdir():\n    time.sleep(9)\n"
                      "open('seen', 'w').close()\n")
    monkeypatch.setattr(board_link, "RESTART", 3)
    sentence(make(board.port), "does not come back from a soft reset", "boot.py")


# What can go wrong on the way


@pytest.mark.parametrize("powered", [False, True])
def test_a_cable_that_is_pulled_while_files_are_copied(switch_on, flash, make, tiny, powered):
    tiny()
    board = switch_on(flash)
    old = board.port
    board.unplug(after=10000, powered=powered)
    sentence(make(old, *QUICKLY), "The connection to {} broke while files were copied".format(old),
             "run the command again")
    board.plug()
    assert "main.py" not in board.mpremote("ls").replace("main.py.new", "")
    status, out, error = make(board.port, *QUICKLY)
    assert status == 0, out + error
    assert ".new" not in board.mpremote("tree")


def test_a_board_that_comes_back_at_another_port(switch_on, make, tiny, tmp_path):
    tiny()
    board = switch_on()
    link = tmp_path / "ttyBOARD"
    link.symlink_to(board.port)
    board.unplug(after=10000)
    sentence(make(link, *QUICKLY), "broke")
    # Whoever still holds the old name keeps it from being given again.
    board.plug()
    with driver.mute() as other:
        board.unplug()
        board.plug()
        assert board.port != other
        link.unlink()
        link.symlink_to(board.port)
        assert make(link, *QUICKLY)[0] == 0


@contextlib.contextmanager
def endless(board):
    """A make board in a terminal, whose run does not end, once it runs."""
    host, terminal = pty.openpty()
    words = [sys.executable, str(ROOT / "tools" / "board_main.py"), "--port", board.port, "--wait",
             "120", "--out", str(board.flash.parent / "out.json"), "--n", "100", "--set",
             "runs=100000 delta=seq samples=no"]
    process = subprocess.Popen(words, stdout=terminal, stderr=subprocess.PIPE, text=True)
    os.close(terminal)
    try:
        text = ""
        while " of 100000" not in text:
            text += os.read(host, 4096).decode()
        assert re.search(r"copying \d+ of \d+: uapycsp/channel\.mpy", text)
        threading.Thread(target=drain, args=(host,), daemon=True).start()
        yield process
    finally:
        process.kill()
        process.communicate()


def drain(host):
    """Reads to the end what a terminal shows."""
    with contextlib.suppress(OSError):
        while os.read(host, 4096):
            pass
    os.close(host)


def test_a_cable_that_is_pulled_during_the_run(switch_on):
    board = switch_on()
    with endless(board) as process:
        board.unplug()
        error = process.communicate(timeout=120)[1]
    sentence((process.returncode, "", error), "broke during the run", "No figure was kept")
    assert not (board.flash.parent / "out.json").exists()
    # It was complete before.
    board.plug()
    assert "main.py" in board.mpremote("ls")


def test_ctrl_c_during_the_run_leaves_a_prompt(switch_on):
    board = switch_on()
    with endless(board) as process:
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=120)[1]
    said = "Interrupted; the board is at its prompt"
    sentence((process.returncode, "", error), said, status=130)
    assert board.mpremote("resume", "exec", "print(6*7)") == "42\n"


@pytest.mark.parametrize("how", ["reset", "soft_reset"])
def test_a_board_that_resets_itself_in_a_run(switch_on, make, tiny, tmp_path, how):
    tiny("import machine\ndef main(words):\n    print('begun')\n    machine.{}()\n".format(how))
    sentence(make(switch_on().port), "The board reset itself during the run", "No figure was kept")
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("body, said", [
    ("raise ValueError('odd')", "The run raised ValueError: odd"),
    ("print('commstime: wrong result: 3')\n    return 1", "failed: commstime: wrong result: 3"),
])
def test_a_run_that_fails_is_said(switch_on, make, tiny, tmp_path, body, said):
    tiny("def main(words):\n    {}\n".format(body))
    sentence(make(switch_on().port), said)
    assert not (tmp_path / "out.json").exists()


def test_a_run_that_does_not_fit_the_heap_ends_with_its_own_sentence(switch_on, make):
    board = switch_on()
    sentence(make(board.port, "--run", "queues", "--set", "sizes=30000 queue=list runs=1"),
             "do not fit the heap")


def test_a_run_that_falls_silent_is_given_up(switch_on, make, tiny, monkeypatch):
    tiny("import time\ndef main(words):\n    time.sleep(1000)\n")
    monkeypatch.setattr(board_main.run, "__defaults__", (2,))
    board = switch_on()
    sentence(make(board.port), "answers no more, during the run")


def test_a_filesystem_without_room_is_said_and_kept(switch_on, make, tmp_path):
    board = switch_on(driver.littlefs(tmp_path / "small.img", 20))
    sentence(make(board.port), "There is no room on the board's filesystem", "nothing was changed")
    assert board.mpremote("ls").split("\n")[1:] == [""]


# What was asked for


@pytest.mark.parametrize("words, said", [
    (("--run", "nosuch"), "There is no run nosuch: RUN is one of commstime "),
    (("--set", "nosuch=1"), "commstime takes no nosuch=1: its keys are api "),
    (("--set", "runs"), "commstime takes no runs: its keys are api "),
    (("--n", "many"), "n takes whole numbers from 1, not 'many'"),
    (("--lib", "pycsp"), "There is no library pycsp: LIB is upycsp or uapycsp"),
    (("--mpy", "7"), "MPY is yes or no, not 7"),
    (("--board", "toaster"), "There is no section toaster: BOARD is esp32 or esp32-"),
])
def test_wrong_words_are_said_before_a_port_is_opened(make, words, said):
    sentence(make("/dev/nosuch", *words), said)


def test_each_run_can_be_configured():
    text = (ROOT / "config.py").read_text()
    for run in (*board_main.keys.RUNS, "quick", "all"):
        sizes = board_main.settings(run, ["runs=7"])
        names = {}
        exec(board_main.configured(text, "upycsp", run, sizes, "esp32-wifi"), names)
        assert (names["LIB"], names["RUN"]) == ("upycsp", run)
        assert names["BOARD"] == "esp32-wifi"
        table = names["QUICK" if run == "quick" else "SIZES"]
        assert sizes and all(table[name]["runs"] == "7" for name in sizes)
        for name in sizes:
            board_main.keys.values(name, table[name], {})


@pytest.mark.parametrize("words, said", [
    (["work=recursive"], "8"),
    (["work=recursive,none", "runs=3"], "8,50"),
    (["work=blocks,none", "n=4"], "4,4"),
    (["n=4"], "4,4,4,4"),
])
def test_each_work_comes_with_its_number_as_a_board_has_only_its_config(words, said):
    assert board_main.settings("workers", words)["workers"]["n"] == said


def test_a_work_that_boards_do_not_do_by_themselves_needs_a_number():
    with pytest.raises(board_main.Failed, match="^n takes one number, or as many as work takes"):
        board_main.settings("workers", ["work=blocks"])


@pytest.mark.parametrize("newline", (b"\n", b"\r\n"))
def test_a_run_is_shown_without_what_is_for_programs(monkeypatch, capsys, newline):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    output = board_main._Output()
    said = (b"a table\na: 1 of 2 \ra: 2 of 2 \r         \rRESULT {}\nSAMPLES []\na row\n"
            b"\x04run ended with status 0\n")
    for i in said.replace(b"\n", newline):
        output(bytes((i,)))
    assert output.text == "a table\nRESULT {}\nSAMPLES []\na row\nrun ended with status 0\n"
    shown = capsys.readouterr().out
    assert shown.count("1 of 2") == shown.count("2 of 2") == 1
    shown = [line.split("\r") for line in shown.split("\n")]
    assert [[part for part in line if part.strip()][-1:] for line in shown] == [
        ["a table"], ["a row"], []]
    assert not [part for line in shown for part in line if part.startswith(("RES", "SAM", "run"))]


def test_what_is_asked_for_goes_before_what_is_said_of_a_board():
    sizes = board_main.settings("stressed_alt", ["channels=4", "writers=1"])
    names = {}
    exec(board_main.configured((ROOT / "config.py").read_text(), "uapycsp", "stressed_alt", sizes),
         names)
    found = dict(names["SIZES"]["stressed_alt"])
    found.update(names["BOARDS"]["esp32-wifi"]["stressed_alt"])
    assert (found["channels"], found["writers"]) == ("4", "1")


# Figures


def test_figures_of_another_board_or_program_are_not_overwritten(switch_on, make, tmp_path):
    board = switch_on()
    out = tmp_path / "out.json"
    for text, said in (("{}", "has no figures of a board"), ("nonsense", "has no figures"),
                       ('{"machine": "other", "rows": []}', "of another board, other")):
        out.write_text(text)
        sentence(make(board.port), said)
        assert out.read_text() == text
        assert list(board.flash.iterdir()) == []


def row(us, **fields):
    result = {"bench": "commstime", "lib": "uapycsp", "variant": "seq", "us_avg": us, "us_min": us,
              "us_max": us, "bytes_per_op": None, "n": 200, "port": "esp32"}
    return {"result": dict(result, **fields), "us_median": us, "cpus": 1}


def test_new_figures_take_the_place_of_those_of_the_same_row_alone():
    old = [row(1.0), row(2.0, variant="par"), row(3.0, lib="upycsp", api="plain")]
    rows = board_results.merged(old, [row(4.0, n=100), row(5.0, lib="upycsp", api="aio")])
    assert [board_results.us(r) for r in rows] == [4.0, 2.0, 3.0, 5.0]


def test_rows_stand_beside_those_of_the_unix_port_on_one_processor():
    unix = board_results.unix_rows()
    text = board_results.table([row(100.0), row(300.0, lib="upycsp", api="plain"),
                                row(5.0, bench="spawn", at_once=3)], unix)
    asyncio, threads, alone = text.splitlines()[1:]
    assert re.fullmatch(r"commstime  uapycsp  seq +100 +0\.\d+ +\d+", asyncio)
    key = ("commstime", "upycsp", "plain", "seq") + (None,) * 7
    assert unix[key]["cpus"] == 1
    assert board_results.report_page.figure(unix[key]["us_median"]) in threads
    assert re.fullmatch(r"spawn +uapycsp  seq at_once=3 +5\.00", alone)


def test_a_machines_figures_have_a_file_of_its_name():
    path = board_results.path_of("Generic ESP32 module with ESP32")
    assert path.name == "generic-esp32-module-with-esp32.json"
    assert path.parent == ROOT / "docs" / "results" / "boards"
