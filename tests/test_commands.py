"""tools/commands.py: what is no option is told in a sentence; who reads no further ends a tool."""

import os
import subprocess
import sys

import pytest

from harness import interpreters, patience

ROOT = interpreters.ROOT
sys.path.insert(0, str(ROOT / "tools"))

import commands  # noqa: E402
import peers  # noqa: E402

NOWHERE = "/proc/nowhere/x"


def _tool(words, **options):
    return patience.run(
        [sys.executable, *words], cwd=ROOT, text=True, timeout=120, stdin=subprocess.DEVNULL,
        env=interpreters.environment(), **options)


@pytest.mark.parametrize("words, said", (
    (("tools/repeat.py", "--times", "0"), "--times: takes whole numbers from 1, not '0'"),
    (("tools/repeat.py", "--times", "abc"), "--times: takes whole numbers from 1, not 'abc'"),
    (("tools/repeat.py", "--loops", "-1"), "--loops: takes whole numbers from 0, not '-1'"),
    (("tools/repeat.py", "--log", NOWHERE), "--log: can't make the folder /proc/nowhere: "),
    (("tools/repeat.py", "--log", "tests"), "--log: can't write to tests"),
    (("tools/repeat.py", "--log", "/proc/x"), "--log: can't write to /proc/x"),
    (("tools/soak.py", "--libs", "both,pycsp"), "--libs: takes of "),
    (("tools/soak.py", "--seconds", "abc"), "--seconds: takes whole numbers from 1, not 'abc'"),
    (("tools/soak.py", "--seconds", "0"), "--seconds: takes whole numbers from 1, not '0'"),
    (("tools/soak.py", "--messages", "-1"), "--messages: takes whole numbers from 0, not '-1'"),
    (("tools/soak.py", "--limit", "0"), "--limit: takes whole numbers from 1, not '0'"),
    (("tools/soak.py", "--look-ms", "-1"), "--look-ms: takes whole numbers from 1, not '-1'"),
    (("tools/soak.py", "--looks", "x"), "--looks: takes whole numbers from 0, not 'x'"),
    (("tools/soak.py", "--log", NOWHERE), "--log: can't "),
    (("tools/bench.py", "--out", NOWHERE), "--out: can't make the folder {}: ".format(NOWHERE)),
    (("tools/bench.py", "--out", "main.py"), "--out: can't make the folder main.py: File exists"),
    (("tools/peers.py", "--out", NOWHERE), "--out: can't make the folder"),
    (("tools/peers.py", "--redraw", "--out", "tests"), " tests/peers.json can't be read: No such"),
    (("tools/report.py", "--out", NOWHERE), "--out: can't make the folder"),
    (("tools/report.py", "--redraw", "--out", "tests"), " tests/report.json can't be read: "),
    (("tools/report.py", "--runs", "0"), "--runs: takes whole numbers from 1, not '0'"),
    (("tools/report.py", "--lib", "pycsp"), "--lib: takes of thesis-uapycsp-rescheduling, "),
    (("tools/sizes.py", "nope"), " unrecognized arguments: nope"),
    (("tools/check_types.py", "--nope"), " unrecognized arguments: --nope"),
    (("tools/firmware.py", "--chip", "vax"), "no chip vax is known, only esp32, esp32c2, "),
    (("tools/report.py", "--rounds", "-1"), "--rounds: takes whole numbers from 1, not '-1'"),
    (("tools/native_build.py", "--results", NOWHERE), "--results: can't make the folder"),
    (("tools/memory.py", "-n", "abc"), "-n: invalid int value: 'abc'"),
    (("tools/mutation.py", "nope.py"), " there is no file nope.py"),
    (("tools/mutation.py", "--jobs", "0"), "--jobs: takes whole numbers from 1, not '0'"),
    (("tools/mutation.py", "--sample", "0"), "--sample: takes whole numbers from 1, not '0'"),
    (("tools/board_main.py", "--out", NOWHERE), "--out: can't make the folder"),
    (("tools/board_main.py", "--wait", "inf"), "--wait: takes seconds above 0, not 'inf'"),
    (("tools/board_images.py", "rom", "--wait", "-1"), "--wait: takes seconds above 0, not '-1'"),
    (("tests/schedules/explore.py", "nope"), " no program 'nope'; there are: "),
    (("tests/schedules/explore.py", "--fault", "nope"), " no fault 'nope'; there are: "),
    (("tests/schedules/explore.py", "--bound", "-1"), "--bound: takes whole numbers from 0"),
    (("tests/schedules/explore.py", "--most", "0"), "--most: takes whole numbers from 1"),
    (("tests/schedules/explore.py", "--more", "many"), "--more: takes numbers from 0, not 'many'"),
    (("tests/schedules/explore.py", "--more", "-0.5"), "--more: takes numbers from 0, not '-0.5'"),
    (("tests/schedules/explore.py", "two_writers", "--replay", "abc"),
     "--replay: takes what a failure has printed, not 'abc'"),
    (("tests/schedules/explore.py", "--replay", "none"), " --replay is for one program"),
    (("tests/schedules/tasks.py", "nope"), " no program 'nope'; there are: "),
    (("tests/schedules/tasks.py", "random:x"), " no program 'random:x'; there are: "),
    (("tests/schedules/tasks.py", "--times", "0"), "--times: takes whole numbers from 1"),
    (("tests/schedules/tasks.py", "pair", "--decisions", "a"),
     "--decisions: takes numbers with commas, not 'a'"),
))
def test_what_is_no_option_is_told_in_a_sentence(words, said):
    done = _tool(words, capture_output=True)
    assert done.returncode == 2, done.stderr
    assert "error: " in done.stderr.splitlines()[-1], done.stderr
    assert said in done.stderr.splitlines()[-1], done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not interpreters.micropython(), reason="needs MicroPython")
@pytest.mark.parametrize("named", ("/bin/true", "/nowhere/micropython", sys.executable))
@pytest.mark.parametrize("words", (
    ("tools/report.py", "--quick"), ("tools/bench.py", "--quick"), ("tools/peers.py", "--quick"),
    ("tools/soak.py",), ("tools/memory.py",), ("tools/native_build.py",), ("tools/perfcheck.py",),
))
def test_what_micropython_names_has_to_be_one(monkeypatch, tmp_path, words, named):
    monkeypatch.setenv("MICROPYTHON", named)
    out = ("--out", str(tmp_path)) if "--quick" in words else ()
    done = _tool([*words, *out], capture_output=True)
    said = done.stdout + done.stderr
    if not said.startswith("valgrind is missing "):
        assert said == "MICROPYTHON names no MicroPython: {}\n".format(named)
        assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name, value, least", (
    ("NETWORKS", "abc", 1), ("NETWORKS", "0", 1), ("NETWORKS", "-1", 1),
    ("NETWORKS_SEED", "abc", 0), ("NETWORKS_LIMIT", "0", 1), ("SCHEDULES", "0.5", 1),
))
def test_what_is_no_number_in_the_environment_is_told_in_a_sentence(monkeypatch, name, value,
                                                                   least):
    monkeypatch.setenv(name, value)
    done = _tool(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_commands.py"],
                 capture_output=True)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.strip() == "ERROR: {} takes whole numbers from {}, not '{}'".format(
        name, least, value)


@pytest.mark.parametrize("words", (
    ("tools/models.py", "--table"),
    ("tools/perfcheck.py", "nope"),
    ("tests/schedules/explore.py", "two_writers", "--bound", "0"),
    ("tests/schedules/tasks.py", "pair"),
))
def test_who_reads_no_further_ends_a_tool_quietly(words):
    inlet, outlet = os.pipe()
    os.close(inlet)
    with open(outlet, "w") as nobody:
        done = _tool(words, stdout=nobody, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_folder_that_is_not_there_is_made_when_it_is_needed(tmp_path):
    with pytest.raises(SystemExit):
        peers.main(["--redraw", "--out", str(tmp_path / "a" / "b")])
    assert list(tmp_path.iterdir()) == []
    assert commands.folder(str(tmp_path / "a" / "b")) == tmp_path / "a" / "b"
    assert commands.file(str(tmp_path / "a" / "b")) == tmp_path / "a" / "b"
    assert commands.file("") is None
    assert list(tmp_path.iterdir()) == []


def test_what_can_not_be_read_again_is_told(tmp_path, capsys):
    (tmp_path / "peers.json").write_text("{")
    with pytest.raises(SystemExit) as e:
        peers.main(["--redraw", "--out", str(tmp_path)])
    assert e.value.code == 2
    assert capsys.readouterr().err.endswith("peers.json is no JSON\n")
