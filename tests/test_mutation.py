"""tools/mutation.py: which of its verdicts are used again."""

import sys

import pytest

from harness import interpreters

sys.path.append(str(interpreters.ROOT / "tools"))

import mutation  # noqa: E402
import mutation_reach  # noqa: E402

OLD = "def f(x):\n    return x + 1\n\n\ndef g(x):\n    return x + 1\n"
FILE = "cspcore/choice.py"


@pytest.fixture
def verdicts(tmp_path):
    def opened(tests="t1", fresh=False):
        return mutation.Verdicts(tests, fresh, tmp_path / "kept", tmp_path / "newer")

    return opened


@pytest.mark.parametrize("written", (True, False))
def test_verdicts_are_found_again(verdicts, written):
    first = verdicts()
    first.add(FILE, "a1", "tests/test_a.py test_one")
    first.add(FILE, "b2", "tests/test_a.py test_one")
    first.add(FILE, "c3", None)
    if written:
        first.write({FILE: {"a1", "b2", "c3"}})
    assert verdicts().known == {
        "a1": "tests/test_a.py test_one", "b2": "tests/test_a.py test_one", "c3": None}
    assert verdicts(fresh=True).known == {}


def test_what_survived_other_tests_is_tried_again(verdicts):
    first = verdicts()
    first.add(FILE, "a1", None)
    first.add(FILE, "b2", "tests/test_a.py test_one")
    assert set(verdicts("t2").known) == {"b2"}
    second = verdicts("t2")
    second.add(FILE, "a1", "tests/test_a.py test_two")
    second.write({FILE: {"a1", "b2"}})
    assert verdicts("t1").known == {
        "a1": "tests/test_a.py test_two", "b2": "tests/test_a.py test_one"}


def test_mutants_that_are_no_more_are_forgotten_but_in_files_not_looked_at(verdicts):
    first = verdicts()
    for file, key in (FILE, "a1"), (FILE, "b2"), ("cspcore/pool.py", "c3"):
        first.add(file, key, "tests/test_a.py test_one")
    first.write({FILE: {"b2"}})
    assert set(verdicts().known) == {"b2", "c3"}


def _keys(monkeypatch, tmp_path, source, *mutants, name="cspcore/some.py"):
    (tmp_path / "cspcore").mkdir(exist_ok=True)
    (tmp_path / name).write_text(source)
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    monkeypatch.setattr(mutation, "plan", lambda name: [])
    monkeypatch.setattr(mutation, "_made", lambda source: mutants)
    file = mutation.File(name)
    return [file.key(*mutant) for mutant in mutants]


def _mutant(line, source):
    lines = source.splitlines()
    lines[line - 1] = lines[line - 1].replace("+", "-")
    return "Minus", line, lines[line - 1].strip(), "\n".join(lines) + "\n"


def test_a_mutant_is_the_same_while_its_function_is(monkeypatch, tmp_path):
    first, second = _keys(monkeypatch, tmp_path, OLD, _mutant(2, OLD), _mutant(6, OLD))
    assert first != second
    longer = "import sys\n" + OLD.replace("def f(x):\n", "def f(x):\n    x += 1\n")
    third, fourth = _keys(monkeypatch, tmp_path, longer, _mutant(4, longer), _mutant(8, longer))
    assert third != first and fourth == second
    other, = _keys(monkeypatch, tmp_path, OLD, _mutant(6, OLD), name="cspcore/other.py")
    assert other != second


def test_two_mutants_of_a_line_differ(monkeypatch, tmp_path):
    source = "def f(x):\n    return (x + 1) * (x + 1)\n"
    left = source.replace("(x + 1) *", "(x - 1) *")
    right = source.replace("* (x + 1)", "* (x - 1)")
    keys = _keys(monkeypatch, tmp_path, source, ("Minus", 2, "x - 1", left),
                 ("Minus", 2, "x - 1", right))
    assert len(set(keys)) == 2


def test_the_report_tells_what_was_not_tried_and_what_has_no_reason(
        monkeypatch, tmp_path, verdicts):
    mutants = _mutant(2, OLD), _mutant(6, OLD)
    first, second = _keys(monkeypatch, tmp_path, OLD, *mutants)
    file = mutation.File("cspcore/some.py")
    reasons = tmp_path / "reasons"
    monkeypatch.setattr(mutation, "SURVIVORS", reasons)
    monkeypatch.setattr(mutation, "GOAL", 50)
    told = verdicts()

    def counts():
        rows, survivors, good = mutation.report([file], told)
        assert rows[1].split()[1:] == rows[-1].split()[1:]
        return rows[1].split()[1:], survivors, good

    assert counts() == (["2", "0", "0", "0", "2", "-"], [], False)
    told.add(file.name, first, "tests/test_a.py test_one")
    assert counts() == (["2", "1", "0", "0", "1", "100.0", "%"], [], False)
    told.add(file.name, second, None)
    survivor = "cspcore/some.py:6: return x - 1  (Minus; {})"
    assert counts() == (
        ["2", "1", "0", "1", "0", "50.0", "%"], [survivor.format("NO REASON GIVEN")], False)
    reasons.write_text("# why\n\ncspcore/some.py | return x - 1 | as good\n")
    assert counts() == (["2", "1", "1", "0", "0", "50.0", "%"], [survivor.format("as good")], True)
    monkeypatch.setattr(mutation, "GOAL", 51)
    assert not counts()[2]


LOADED_LATE = """N = 1


class C:
    n = N

    def f(self, x=2):
        def inner(y=3):
            return x + y

        return inner


def g():
    return C()
"""


def test_what_a_file_does_when_it_is_loaded_counts_for_whoever_reaches_it():
    loading = mutation_reach.at_load(LOADED_LATE)
    assert loading == {1, 4, 5, 7, 8, 14}
    file = "cspcore/late.py"
    meaning = {file: [(-1, n) for n in range(20)]}
    verdicts = [
        ("", "pass", 0, "", ""),
        ("loads_it", "pass", 1, "", file + " 1 4 5 7 14 15"),
        ("uses_it", "pass", 2, "", file + " 8 11"),
        ("does_not", "pass", 3, "", file + " "),
    ]
    found = dict(mutation_reach._functions(None, verdicts, meaning, {file: loading}))
    assert found["loads_it"] == (1, {file: loading | {15}})
    assert found["uses_it"] == (2, {file: loading | {11}})
    assert found["does_not"] == (3, {file: set()})
