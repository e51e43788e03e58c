"""The models of tests/models hold, their seeded faults are caught, and they stand for the code.

In the bounded sizes; `make model` searches the full ones. See docs/models.md.
"""

import functools
import os
import re
import shutil
import subprocess
import sys

import pytest

from harness import interpreters, patience

ROOT = interpreters.ROOT
sys.path.insert(0, str(ROOT / "tools"))

import models  # noqa: E402

MODELS = models.models()
PARTS = models.parts(MODELS)
FAULTS = [pytest.param(m, f, id=m.name + "-" + f.name) for m in MODELS for f in m.faults]
PAGE = models.PAGE.read_text(encoding="utf-8")

needs_spin = pytest.mark.skipif(models.missing() is not None, reason=str(models.missing()))


@functools.lru_cache(None)
def result(model):
    """(what was covered, the rows) of a model in bounded size."""
    coverage = models.Coverage()
    return coverage, list(models.check(model, True, coverage))


@needs_spin
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_model_holds(model):
    _, rows = result(model)
    assert rows and all(row.good and row.states > 1 for row in rows), "\n".join(map(str, rows))


@needs_spin
@pytest.mark.parametrize("model, fault", FAULTS)
def test_a_seeded_fault_is_caught(model, fault):
    # What caught it when the page was written most likely does today.
    row = models.check_fault(model, fault, size_on_page(model, fault))
    assert row.good and row.verdict.startswith("caught: "), str(row)


@needs_spin
@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_what_models_share_is_reached(part):
    coverage = models.Coverage()
    for model in MODELS:
        if part.name in [p.name for p in model.parts]:
            coverage.add(result(model)[0])
    assert [str(row) for row in coverage.rows(part)] == []


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_fault_of_a_shared_file_is_named_by_a_model(part):
    named = {fault.name for model in MODELS for fault in model.faults}
    assert models.faults_in(part.code) <= named


@pytest.mark.parametrize("model", [*PARTS, *MODELS], ids=lambda model: model.name)
def test_steps_stand_for_lines_of_the_library(model):
    for m in model.maps:
        assert m.line() > 0


def table(name):
    """A table of the page."""
    return re.search("<!-- {0} -->\n\n(.*?)\n<!-- /{0} -->".format(name), PAGE, re.S).group(1)


def results():
    """(model, size, claim or fault) of each row of the page."""
    rows = [line.split(" | ") for line in table("states").splitlines()[2:]]
    return [(row[0].lstrip("| "), row[1], row[3].partition(":")[0].rstrip(" |")) for row in rows]


def size_on_page(model, fault):
    """The configuration that caught a fault when the page was written; None if it has no row."""
    sizes = {(name, what): size for name, size, what in results()}
    return sizes.get((model.name, fault.name))


def test_the_page_has_the_steps_of_today():
    assert table("steps") == models.maps_table(MODELS), "run tools/models.py --table --write"


def test_the_page_has_a_result_for_every_model_size_and_fault():
    said = results()
    expected = []
    for m in MODELS:
        for macros in m.full:
            for claim in ["holds", *m.claims]:
                expected.append((m.name, " ".join(macros), claim))
        expected += [(m.name, None, fault.name) for fault in m.faults]
    assert [(name, what) for name, _, what in said] == [(name, what) for name, _, what in expected]
    for (name, size, _), (_, wanted, _) in zip(said, expected):
        assert wanted is None or size == wanted, (name, "run tools/models.py --write")


# The checker itself

GOOD = """/*
MODEL Two processes count.
RULE 2: nothing is lost (assertion), all are counted in the end (claim)
FULL -DN=3
BOUNDED -DN=2
FAULT TORN others come between
FAULT HANGS -DN=2 one waits
    for ever
MAPS add | cspcore/channel.py:take | v = w.value
*/
byte n;

inline add(v) {
  v = v + 1
}

proctype P() {
  byte l;
#ifdef FAULT_TORN
  l = n;
  n = l + 1;
#else
  add(n);
#endif
#ifdef FAULT_HANGS
  n == 77;
#endif
  l = 0
}

init {
  byte i;
  atomic {
    do
    :: i < N ->
       run P();
       i++
    :: else ->
       break
    od
  }
  _nr_pr == 1;
  assert(n == N)
}

ltl ends { <> (n == N) }
"""

NEVER = """  if
  :: l == 9 ->
     l = 1
  :: else
  fi;
  l = 0
"""


def small(folder, old="", new="", text=GOOD):
    """The small model with one text replaced by another."""
    assert old in text
    path = folder / "small.pml"
    path.write_text(text.replace(old, new, 1) if old else text, encoding="utf-8")
    return models.models(["small"], folder)[0]


def rows(model):
    coverage = models.Coverage()
    found = list(models.check(model, True, coverage))
    return found + [models.check_fault(model, fault) for fault in model.faults]


@needs_spin
def test_a_right_model_passes(tmp_path):
    found = rows(small(tmp_path))
    assert all(row.good for row in found), "\n".join(map(str, found))
    assert [row.what for row in found] == ["holds", "ends", "TORN", "HANGS"]
    assert found[2].verdict == "caught: assertion violated (n==2)"
    assert found[3].verdict == "caught: invalid end state"


@needs_spin
@pytest.mark.parametrize("tcc, called", (
    ("is missing", {"spin", "cc", "./pan"}),
    ("compiles", {"spin", "tcc", "./pan"}),
    ("fails", {"spin", "tcc", "cc", "./pan"}),
))
def test_a_short_search_is_compiled_by_tcc_if_it_can(tmp_path, monkeypatch, tcc, called):
    if tcc == "compiles" and not shutil.which("tcc"):
        pytest.skip("tcc is missing")
    programs = set()
    call = models.call

    def noted(command, folder):
        programs.add(command[0])
        if command[0] == "tcc" and tcc == "fails":
            raise models.ModelError("tcc failed")
        return call(command, folder)

    monkeypatch.setattr(shutil, "which", lambda name: None if tcc == "is missing" else name)
    monkeypatch.setattr(models, "call", noted)
    monkeypatch.setattr(models, "KEPT", tmp_path / "kept")
    models.version.cache_clear()
    assert [row.good for row in rows(small(tmp_path))] == [True] * 4
    assert programs == called


@needs_spin
@pytest.mark.parametrize(
    "old, new, wrong",
    [
        ("assert(n == N)", "assert(n < N)", ["holds"]),
        ("  _nr_pr == 1;", "  n > 9;", ["holds"]),
        ("<> (n == N)", "<> (n > N)", ["ends"]),
        ("  l = 0\n", NEVER, ["coverage"]),
        ("  l = 0\n", "  do\n  :: l > 9 ->\n     break\n  od\n", ["holds"]),
        ("  l = n;\n  n = l + 1;", "  add(n);", ["TORN"]),
        ("  n == 77;", "  n < 77;", ["HANGS"]),
    ],
)
def test_a_wrong_model_is_seen(tmp_path, old, new, wrong):
    found = [row.what for row in rows(small(tmp_path, old, new)) if not row.good]
    assert set(wrong) <= set(found), found


@needs_spin
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_tables_hold_the_transitions_that_spin_writes(model, tmp_path):
    (tmp_path / "model.pml").write_text(model.flat()[0], encoding="utf-8")
    models.call(["spin", "-a", "-o3", "-Pcc -E -x c", *model.bounded[0], "model.pml"], tmp_path)
    text = (tmp_path / "pan.t").read_text(encoding="utf-8")
    tables = models.as_tables(text)[len(models.ROWS) :]
    transitions = re.findall(r"\t= settr\((.*)\);| = settr\((.*)\);", text)
    rows = re.findall(r"^\t\{[-\w]+, [-\d]+, (.*)\},$", tables, re.M)
    assert rows == [one or other for one, other in transitions] and len(rows) > 20
    assert tables.count("settr(") == 2  # its declaration and the function itself


@needs_spin
def test_what_can_never_be_reached_may_say_so(tmp_path):
    branch = NEVER.replace("l = 1", "l = 1 /* unreached: why */")
    assert all(row.good for row in rows(small(tmp_path, "  l = 0\n", branch)))


@needs_spin
def test_a_search_that_does_not_end_is_no_proof(tmp_path, monkeypatch):
    endless = "  l = 0;\n  do\n  :: n = n + 1\n  od\n"
    monkeypatch.setattr(models, "SHORT", ("-m20", "-w20"))
    found = models.search(small(tmp_path, "  l = 0\n", endless), ["-DN=2"])
    assert found.trouble == "the search was not deep enough"


@needs_spin
def test_a_model_that_is_no_promela_is_no_caught_fault(tmp_path):
    model = small(tmp_path, "  n == 77;", "  n = = 77;")
    with pytest.raises(models.ModelError, match="spin failed"):
        models.check_fault(model, model.faults[1])


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("FAULT TORN others come between\n", "", "fewer than two faults"),
        ("#ifdef FAULT_TORN", "#ifdef TORN", "named and seeded differ"),
        ("MAPS add", "MAPS sub", "no label or inline sub"),
        ("BOUNDED -DN=2\n", "", "no BOUNDED"),
        ("RULE", "RUEL", "unknown item RUEL"),
        ("atomic", "d_step", "d_step"),
        ("cspcore/channel.py:take |", "", "label | file | text"),
    ],
)
def test_a_head_that_is_wrong_is_refused(tmp_path, old, new, message):
    with pytest.raises(models.ModelError, match=re.escape(message)):
        small(tmp_path, old, new)


@pytest.mark.parametrize(
    "place, message",
    [
        ("cspcore/channel.py:take | v = w.values", "0 lines"),
        ("cspcore/channel.py:BaseChannel | w.value = TAKEN", "2 lines"),
        ("cspcore/channel.py:taken | v = w.value", "0 functions"),
    ],
)
def test_a_step_that_stands_for_no_line_is_refused(tmp_path, place, message):
    model = small(tmp_path, "cspcore/channel.py:take | v = w.value", place)
    with pytest.raises(models.ModelError, match=message):
        models.maps_table([model])


@needs_spin
@pytest.mark.parametrize("good", [True, False])
def test_a_surprise_is_exit_status_1(monkeypatch, capsys, good):
    row = models.Row("small", "holds", "-DN=2", 7, 0.5, "holds" if good else "odd", good)
    monkeypatch.setattr(models, "check_all", lambda chosen, bounded: [row])
    assert models.main(["--bounded"]) == (0 if good else 1)
    last = capsys.readouterr().out.splitlines()[-1]
    said = "hold in all of 7 states" if good else "1 of 1 searches went wrong."
    assert said in last


def test_a_table_is_put_between_its_markers():
    page = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n"
    assert models.replace(page, "x", "new\n") == "a\n<!-- x -->\n\nnew\n\n<!-- /x -->\nb\n"
    with pytest.raises(models.ModelError, match="no place for y"):
        models.replace(page, "y", "new\n")


def test_without_spin_it_says_so():
    done = patience.run(
        [sys.executable, str(ROOT / "tools" / "models.py")],
        env=dict(os.environ, PATH="/nonexistent"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 2
    assert done.stdout == "The models need spin, which is not installed.\n"
