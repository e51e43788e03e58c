"""`make coverage` tells the truth: its marks agree with coverage.py, and with a tracer."""

import json
import pathlib
import sys

import pytest

from harness import interpreters, patience

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOOLS = ROOT / "tools" / "coverage"
sys.path.insert(0, str(TOOLS))

import cross  # noqa: E402
import instrument  # noqa: E402
import covered_report  # noqa: E402
import run  # noqa: E402

PLATFORMS = ("cpython", "micropython")

# Each kind of statement that the libraries use; parts of it are never reached.
PROGRAM = '''"""A docstring."""
import sys

try:
    import no_such_module
except (
    ImportError,
    KeyError,
):
    pass


def decorated(f):
    return f


class Thing:
    """Another docstring."""

    size = 1

    @decorated
    @decorated
    def grows(
        self, n
    ):
        for i in range(n):
            self.size += i
        else:
            self.size += 1
        while self.size > 5:
            self.size -= 2
            if self.size == 4:
                break
        else:
            self.size = -1
        return [x for x in range(n) if x] or (lambda: 0)()

    def never(self):
        return self


def chooses(x):
    if x == 1:
        return "one"
    elif x == 2:
        return "two"
    elif x == 3:
        return "three"
    if x: x = 0
    for _ in ():
        x = 1


def catches(f):
    try:
        f()
    except ValueError:
        return 1
    except (TypeError, KeyError) as er:
        if er is None:
            return 2
    except BaseException:
        raise
    else:
        return 3
    finally:
        if f is None:
            return 4


def fails():
    raise TypeError("x")


async def waits(x):
    if (
        x
        and
        x
    ):
        await other(x)


async def other(x):
    async for y in x:
        return y


def made():
    yield 1
    yield 2


t = Thing()
t.grows(2)
t.grows(9)
chooses(1)
chooses(3)
catches(fails)
catches(int)
next(made())
while True:
    if t:
        break
global_name = 1
with open(sys.argv[0]) as file:
    for line in file:
        if line:
            break
'''


def by_coverage(tmp_path):
    """coverage.py's lines and branches of the program."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    words = [sys.executable, "-m", "coverage", "run", "--branch", "program.py"]
    patience.run(words, cwd=tmp_path, check=True, timeout=180)
    return shares_of(tmp_path, tmp_path / ".coverage", path)


def shares_of(tmp_path, data, path):
    words = [sys.executable, "-m", "coverage", "json", "-q", "--data-file", data, "-o", "x.json"]
    patience.run(words, cwd=tmp_path, check=True, timeout=180)
    (file,) = json.loads((tmp_path / "x.json").read_text())["files"].values()
    return file["executed_lines"], file["executed_branches"]


def by_marks(tmp_path, platform):
    text, meaning = instrument.instrument(PROGRAM, "program.py")
    path = tmp_path / "program.py"
    path.write_text(text)
    marks = tmp_path / "marks"
    marks.mkdir()
    env = interpreters.environment()
    env.update(COVERED_MARKS=str(marks), PYTHONPATH=str(TOOLS))
    env["MICROPYPATH"] = "{}:.frozen".format(TOOLS)
    words = [*interpreters.command(platform), str(path)]
    patience.run(words, env=env, cwd=tmp_path, check=True, timeout=180)
    arcs = covered_report.arcs_of_marks(tmp_path, marks, {"program.py": meaning})
    path.write_text(PROGRAM)
    data = covered_report.write_data(tmp_path / "data", arcs)
    return shares_of(tmp_path, data, path)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_marks_tell_what_coverage_py_tells(tmp_path, platform):
    if interpreters.command(platform) is None:
        pytest.skip("no MicroPython")
    lines, branches = by_coverage(tmp_path)
    text = PROGRAM.splitlines()
    assert 1 + text.index("            self.size = -1") in lines
    assert 1 + text.index("        return self") not in lines
    assert by_marks(tmp_path, platform) == (lines, branches)


def test_a_branch_without_a_mark_is_refused(monkeypatch):
    monkeypatch.delattr(instrument._Marker, "visit_While")
    with pytest.raises(ValueError, match="no mark for"):
        instrument.instrument("while x:\n    x = f(x)\n", "a.py")


def test_the_marks_of_all_processes_count_and_a_torn_file_does_not(tmp_path):
    (tmp_path / "1").write_bytes(b"a.py 3\n\1\0\0b.py 1\n\0")
    (tmp_path / "2").write_bytes(b"a.py 3\n\0\0\1b.py 9\n\1")
    assert covered_report.read_marks(tmp_path) == {"a.py": b"\1\0\1", "b.py": b"\0"}


def figure(lines, reached, branches=0, taken=0):
    summary = {"num_statements": lines, "covered_lines": reached}
    summary.update(num_branches=branches, covered_branches=taken)
    return {"summary": summary, "missing_lines": [], "executed_lines": [], "missing_branches": []}


@pytest.mark.parametrize(
    "other, short",
    [
        (figure(100, 95, 20, 19), []),
        (figure(100, 94, 20, 20), ["b"]),
        (figure(100, 100, 20, 18), ["b"]),
        (figure(900, 800, 20, 20), ["b", "all"]),
    ],
)
def test_each_package_must_reach_the_goal_by_itself(other, short):
    files = {"a/x.py": figure(100, 100, 20, 20), "b/y.py": other}
    by_file = {path: dict.fromkeys(covered_report.PLATFORMS, file) for path, file in files.items()}
    assert covered_report.table(by_file, say=lambda text: None) == short


def test_what_is_missing_is_told_in_runs_of_lines():
    file = {"missing_lines": [3, 5, 9], "executed_lines": [1, 7, 11]}
    file["missing_branches"] = [[9, 10], [11, 3], [1, -1]]
    assert covered_report.missing(file) == "3-5 9 11->3 1->exit"


def test_tests_are_measured_on_both_platforms(tmp_path):
    if interpreters.micropython() is None:
        pytest.skip("no MicroPython")
    words = ["tests/test_uthreading_thread.py", "-k", "ident", "-p", "no:hypothesispytest"]
    meaning, status = run.measure(tmp_path / "build", words)
    assert status == 0
    arcs = covered_report.collect(run.ROOT, tmp_path / "build", meaning)
    path = str(run.ROOT / "uthreading" / "thread.py")
    text = (ROOT / "uthreading" / "thread.py").read_text()
    line = 1 + text.splitlines().index("        begun.release()")
    for platform in PLATFORMS:
        # In a thread that `_thread` started.
        assert line in {to for _, to in arcs[platform][path]}
        assert not arcs[platform][str(run.ROOT / "uapycsp" / "channel.py")]


def test_marks_agree_with_settrace(tmp_path, capfd):
    if interpreters.micropython() is None:
        pytest.skip("no MicroPython")
    problem = cross.install()
    if problem:
        pytest.skip(problem)
    assert cross.main(tmp_path / "build", ("test_cspcore",)) == 0
    assert "0 differences." in capfd.readouterr().out


def test_a_line_or_branch_that_only_one_tells_is_a_difference():
    lines, branches = {"a.py": {1, 2}}, {"a.py": {(1, 2)}}
    told = cross.differences(lines, {"a.py": {1, 3}}, branches, {"a.py": {(1, 3)}})
    assert list(told) == [
        "a.py:2 was reached only according to the marks",
        "a.py:3 was reached only according to settrace",
        "a.py: 1 -> 3 was taken only according to settrace",
    ]
    assert not list(cross.differences(lines, lines, branches, {"a.py": set()}))


def test_the_jump_at_the_end_of_a_loop_is_no_line():
    source = (
        "for x in y:\n    if x:\n        f()\n    elif y:\n        g()\n    else:\n        h()\n"
    )
    assert cross.ends_of_blocks(source) == {7}


def test_the_page_has_the_table_and_says_whether_tests_failed():
    rows = ["a.py  100.0  ", "b.py   90.0  3-5"]
    assert "```text\na.py  100.0\nb.py   90.0  3-5\n```" in covered_report.page_of(rows, 0)
    assert covered_report.FAILED not in covered_report.page_of(rows, 0)
    assert covered_report.FAILED in covered_report.page_of(rows, 1)
