"""tools/perfcheck.py: nothing takes more instructions than before, and how it would say so."""

import json
import shutil
import sys

import pytest

from harness import interpreters

sys.path.insert(0, str(interpreters.ROOT / "tools"))

import perfcheck  # noqa: E402

NAME = "uapycsp communication, seq"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The file of counts, another than the project's; what is counted is 1000, then 990, 980."""
    path = tmp_path / "instructions.json"
    monkeypatch.setattr(perfcheck, "KEPT", path)
    monkeypatch.setattr(perfcheck, "interpreter", lambda: "this one")
    monkeypatch.setattr(shutil, "which", lambda name: name)
    numbers = iter(range(1000, 0, -10))
    monkeypatch.setattr(perfcheck, "counts", lambda names, layout: {
        name: next(numbers) for name in names})

    def keep(n, of="this one"):
        path.write_text(json.dumps({"interpreter": of, "counts": {NAME: n}}))
        return path

    return keep


@pytest.mark.parametrize("before, status, said", (
    (1000, 0, "+0.0 %"),
    (975, 0, "+2.6 %"),
    (952, 0, "+2.9 %"),  # the third: 980
    (925, 0, "+2.7 %"),  # the sixth: 950
    (920, 1, "+3.3 %, worse"),
    (1100, 0, "better: keep it with tools/perfcheck.py --update"),
))
def test_what_takes_more_than_three_percent_more_is_worse(kept, capsys, before, status, said):
    kept(before)
    assert perfcheck.main([NAME]) == status
    assert said in capsys.readouterr().out


def test_of_threads_ten_percent_more_are_no_chance():
    assert not perfcheck.is_worse("upycsp communication, par", 1099, 1000)
    assert perfcheck.is_worse("upycsp communication, par", 1101, 1000)
    assert perfcheck.is_worse("uapycsp communication, par", 1031, 1000)


def test_update_keeps_the_middle_one_of_three(kept, capsys):
    path = kept(5)
    assert perfcheck.main([NAME, "--update"]) == 0
    assert json.loads(path.read_text()) == {"interpreter": "this one", "counts": {NAME: 990}}


def test_update_for_another_interpreter_forgets_what_was_counted_with_the_old(kept, capsys):
    path = kept(5, "an old one")
    name = "upycsp communication, seq"
    assert perfcheck.main([name, "--update"]) == 0
    assert json.loads(path.read_text()) == {"interpreter": "this one", "counts": {name: 990}}


def test_counts_of_another_interpreter_are_not_compared(kept, capsys):
    kept(5, "an old one")
    assert perfcheck.main([NAME]) == 0
    assert capsys.readouterr().out == (
        "the counts kept are of an old one, not of this one: nothing was compared\n")


def test_an_unknown_measure_gets_the_list(kept, capsys):
    assert perfcheck.main(["uapycsp dance"]) == 2
    said = capsys.readouterr().out
    assert said.startswith("no measure 'uapycsp dance'; there are: ") and NAME in said


def test_without_valgrind_nothing_is_counted(kept, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert perfcheck.main([NAME]) == 0
    assert capsys.readouterr().out.startswith("valgrind is missing")


def test_what_fails_under_valgrind_is_said(kept, capsys, monkeypatch):
    def counts(names, layout):
        raise perfcheck.Failed("main.py failed")

    kept(5)
    monkeypatch.setattr(perfcheck, "counts", counts)
    assert perfcheck.main([NAME]) == 1
    assert capsys.readouterr().out == "main.py failed\n"


@pytest.mark.timeout(0)  # what runs under valgrind has a limit
def test_no_operation_takes_more_instructions_than_before(capfd):
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is missing: no instructions were counted")
    if interpreters.command("micropython") is None:
        pytest.skip("no MicroPython")
    here = perfcheck.interpreter()
    if json.loads(perfcheck.KEPT.read_text())["interpreter"] != here:
        pytest.skip("the counts kept are not of " + here)
    assert perfcheck.main([]) == 0, capfd.readouterr().out


def test_the_python_of_a_wheel_is_found_in_a_folder_whose_name_has_a_space(tmp_path):
    folder = tmp_path / "sp ace"
    folder.mkdir()
    script = folder / "micropython"
    shell = "#!/bin/sh\n"  # so pip writes it there
    script.write_text(shell + "exec python3\nfrom micropython import main\n")
    (folder / "python3").write_text("")
    assert perfcheck.python_of(script) == str(folder / "python3")
    script.write_text(shell + "exec micropython\n")
    assert perfcheck.python_of(script) is None
