"""tools/repeat.py: counts, ends at the first failure, and leaves no process behind."""

import datetime
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from harness import patience

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import repeat as repeat_tool  # noqa: E402

LINE = (
    r"\d{4}-\d\d-\d\d \d\d:\d\d UTC  (?:[0-9a-f]{7,}\+?|no commit)  run (\d+): "
    r"(\d+) passed, (\d+) failed, (\d+) skipped in \d+ s, load \d+\.\d"
)
SUITE = """
import pathlib
import pytest

RUNS = pathlib.Path(__file__).with_name("runs")


def test_passes():
    pass


def test_is_skipped():
    pytest.skip("so it is")


def test_passes_but_in_the_second_run():
    RUNS.touch()
    RUNS.write_text(RUNS.read_text() + "x")
    assert len(RUNS.read_text()) != 2, "the second run"
"""
HANGING = """
import os
import pathlib
import time


def test_never_ends():
    pathlib.Path(__file__).with_name("pid").write_text(str(os.getpid()))
    time.sleep(600)
"""


def command(folder, suite, *words):
    (folder / "test_tiny.py").write_text(suite)
    (folder / "pytest.ini").write_text("[pytest]\n")
    words = [str(ROOT / "tools" / "repeat.py"), "--log", str(folder / "log"), *words]
    words += ["-c", str(folder / "pytest.ini"), "-p", "no:cacheprovider"]
    words += ["-p", "no:hypothesispytest"]  # not needed, and takes longer to load than the rest
    return [sys.executable, *words, str(folder / "test_tiny.py")]


def repeat(folder, *words):
    """The exit status, the counts in the log's lines, and what stands beside it."""
    words = command(folder, SUITE, "--loops", "0", "-n", "0", *words)
    done = patience.run(words, capture_output=True, text=True, timeout=280)
    assert done.stderr == ""
    lines = (folder / "log").read_text().splitlines()
    assert done.stdout.splitlines()[: len(lines)] == lines
    counts = [tuple(int(n) for n in re.fullmatch(LINE, line).groups()) for line in lines]
    failures = folder / "log.failures"
    return done.returncode, counts, failures.read_text() if failures.exists() else ""


def test_a_suite_that_passes_is_run_so_often(tmp_path):
    words = ("--times", "2", "-k", "not second")
    assert repeat(tmp_path, *words) == (0, [(1, 1, 0, 1), (2, 1, 0, 1)], "")


def test_the_first_failure_is_the_end(tmp_path):
    status, counts, failures = repeat(tmp_path, "--times", "3")
    assert (status, counts) == (1, [(1, 2, 0, 1), (2, 1, 1, 1)])
    assert re.match(LINE + "\n\ntest_tiny::test_passes_but_in_the_second_run\n", failures)
    assert "AssertionError: the second run" in failures


def test_it_goes_on_if_told_to(tmp_path):
    status, counts, failures = repeat(tmp_path, "--times", "3", "--go-on")
    assert (status, counts) == (1, [(1, 2, 0, 1), (2, 1, 1, 1), (3, 2, 0, 1)])
    assert failures.count("AssertionError: the second run") == 1


def test_a_run_without_a_report_has_failed(tmp_path):
    status, counts, failures = repeat(tmp_path, "--times", "2", "--no-such-option")
    assert (status, counts) == (1, [(1, 0, 1, 0)])
    assert "pytest ended with status 4\n" in failures and "--no-such-option" in failures


def test_what_was_interrupted_goes_on_after_the_runs_of_the_same_commit():
    now = datetime.datetime(2026, 1, 2)
    kinds = [("a" * 10, 0), ("b" * 10, 1), ("b" * 10, 0), ("b" * 10, 0)]
    form = "{:%Y-%m-%d %H:%M} UTC  {}  run 1: 5 passed, {} failed, 3 skipped in 2 s, load 1.0"
    lines = [form.format(now, *kind) for kind in kinds]
    assert all(re.fullmatch(LINE, text) for text in lines)
    assert repeat_tool.passed_before(lines, "b" * 10) == 2
    assert repeat_tool.passed_before(lines[:1], "a" * 10) == 1
    assert repeat_tool.passed_before(lines, "a" * 10) == 0
    # Files that differ from their commit may differ in another way today; so may those without.
    for unsure in ("b" * 10 + "+", ""):
        assert repeat_tool.passed_before([form.format(now, unsure, 0)], unsure) == 0
    assert repeat_tool.passed_before([], "b" * 10) == 0


def test_results_make_no_other_commit(tmp_path):
    def git(*words):
        told = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *told, *words], cwd=tmp_path, check=True, capture_output=True)

    def written(name, text):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert repeat_tool.commit(tmp_path) == ""
    git("init")
    written("docs/guide.md", "one")
    git("add", ".")
    git("commit", "-m", "first")
    first = repeat_tool.commit(tmp_path)
    assert re.fullmatch("[0-9a-f]{10}", first)
    written("docs/results/repeat.log", "run 1")
    assert repeat_tool.commit(tmp_path) == first
    git("add", ".")
    git("commit", "-m", "second")
    assert repeat_tool.commit(tmp_path) == first
    written("docs/guide.md", "two")
    assert repeat_tool.commit(tmp_path) == first + "+"
    git("commit", "-a", "-m", "third")
    assert repeat_tool.commit(tmp_path) not in (first, first + "+")


def test_a_resumed_one_runs_what_is_left(tmp_path, monkeypatch):
    class Run:
        passed, skipped, seconds, failures = 5, 0, 1, {}

        def __init__(self, words):
            pass

    monkeypatch.setattr(repeat_tool, "Run", Run)
    monkeypatch.setattr(repeat_tool, "commit", lambda: "b" * 10)
    log = tmp_path / "log"
    for times, numbers in (("1", "1"), ("3", "123"), ("3", "123")):
        words = ["--loops", "0", "--log", str(log), "--resume", "--times", times]
        assert repeat_tool.main(words) == 0
        assert "".join(re.findall("run (.):", log.read_text())) == numbers


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_loops_and_tests_end_with_it(tmp_path, number):
    tool = subprocess.Popen(command(tmp_path, HANGING), stdout=subprocess.DEVNULL)
    pid = tmp_path / "pid"
    try:
        until(lambda: pid.exists() and pid.read_text())
        children = children_of(tool.pid)
        assert len([c for c in children if "--busy-loop" in words_of(c)]) == 2
        assert len(children) == 3
        for loop in children[:2]:
            used = processor_time(loop)
            until(lambda c=loop, t=used: processor_time(c) > t)
        tool.send_signal(number)
        assert tool.wait(120) == {2: 130, 15: 143, 9: -9}[number]
        for child in [*children, int(pid.read_text())]:
            until(lambda c=child: not alive(c))
    finally:
        tool.kill()
        tool.wait()


def until(condition):
    limit = patience.Patience(60)
    while not condition():
        assert limit.left() > 0
        time.sleep(0.01)


def children_of(pid):
    text = pathlib.Path("/proc/{0}/task/{0}/children".format(pid)).read_text()
    return [int(word) for word in text.split()]


def words_of(pid):
    return pathlib.Path("/proc/{}/cmdline".format(pid)).read_text().split("\0")


def fields_of(pid):
    text = pathlib.Path("/proc/{}/stat".format(pid)).read_text()
    return text.rpartition(")")[2].split()


def processor_time(pid):
    return int(fields_of(pid)[11])


def alive(pid):
    try:
        os.kill(pid, 0)
        return fields_of(pid)[0] != "Z"
    except OSError:
        return False
