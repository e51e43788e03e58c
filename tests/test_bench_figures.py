"""The table of figures: its sums, its marks, and that a quick one fills it."""

import json
import subprocess
import sys

import pytest

from harness import interpreters

ROOT = interpreters.ROOT
sys.path.insert(0, str(ROOT / "tools"))

import bench  # noqa: E402
import report  # noqa: E402


def row(lib, variant, samples, **more):
    return dict({"lib": lib, "variant": variant, "bytes_per_op": 12.5}, **more), samples


def found_by(what, measured, sizes=bench.QUICK, mpy=()):
    (figure,) = [f for f in bench.figures(measured, sizes, dict(mpy)) if f[0] == what]
    return figure


def test_a_figure_is_a_ratio_of_medians_over_all_rounds():
    m = bench.Measured()
    for us in ([8.0, 90.0], [9.0, 10.0, 11.0]):
        m.add("thesis-uapycsp-rescheduling two", [row(bench.THESIS["uapycsp"], "seq", us)])
    m.add("uapycsp two", [row("uapycsp", "seq", [2.0, 1.0, 3.0])])
    what = "CommsTime seq, uapycsp: the thesis's takes"
    assert found_by(what, m) == (what, ">=", 5, "x", 5.0)
    # Nothing is divided by what was not measured.
    assert found_by("CommsTime par, uapycsp: the thesis's takes", m)[-1] is None


def test_the_slowest_heap_is_compared_with_the_fastest():
    m = bench.Measured()
    what = "CommsTime of uapycsp in heaps of 128K, 2M, 16M: the slowest takes"
    for heap, us in (("128K", 3.0), ("2M", 2.0)):
        m.add("heap " + heap, [row("uapycsp", "seq", [us])])
    assert found_by(what, m)[-1] is None
    m.add("heap 16M", [row("uapycsp", "seq", [4.0])])
    assert found_by(what, m)[-1] == 2.0


@pytest.mark.parametrize("op, goal, value, reached", [
    (">=", 5, 5.0, True), (">=", 5, 4.99, False), (">=", 5, 4.996, True),
    ("<=", 320, 320.4, True), ("<=", 320, 320.6, False), ("<=", 0, 0.004, True),
])
def test_a_figure_is_judged_as_it_is_printed(op, goal, value, reached):
    assert bench.met(op, goal, value) is reached


def test_what_is_missing_is_not_reached():
    text = bench.table([("a", "<=", 1, "x", None), ("b", "<=", 1, "x", 0.5),
                        ("c", "<=", 1, "x", 1.5)])
    assert text.splitlines()[2:] == [
        "| a | <= 1 x | missing | no |", "| b | <= 1 x | 0.50 x | yes |",
        "| c | <= 1 x | 1.50 x | no |"]


def test_a_quick_one_fills_the_table(tmp_path, monkeypatch, capsys):
    if interpreters.micropython() is None:
        pytest.skip("there is no micropython")
    real = report.run

    def run(job, *args):
        if job.bench == "matmul":
            raise report.Failed("matmul: no time for it")
        return real(job, *args)

    monkeypatch.setattr(report, "run", run)
    bench.main(["--quick", "--out", str(tmp_path)])
    result = json.loads((tmp_path / "bench.json").read_text())
    missing = [f[0] for f in result["figures"] if f[-1] is None]
    assert missing == ["two workers against one, upycsp: a matrix product"]
    assert result["missing"]["matmul"] == "matmul: no time for it"
    page = (tmp_path / "bench.md").read_text()
    assert "- matmul: matmul: no time for it\n" in page
    assert "- CommsTime seq on all processors, of row lock-ring, " in page
    assert page in capsys.readouterr().out


@pytest.mark.parametrize("words, heap, status, said", [
    (("20", "3"), "2M", 0, 'RESULT {"bench": "commstime", '),
    (("20",), "2M", 2, "bare takes two whole numbers from 1: n and runs\n"),
    (("0", "x"), "2M", 2, "bare takes two whole numbers from 1: n and runs\n"),
    (("20", "3"), "70K", 1, "bare: CommsTime does not fit this heap\n"),
])
def test_bare_tells_its_samples_or_why_there_are_none(words, heap, status, said):
    if interpreters.micropython() is None:
        pytest.skip("there is no micropython")
    done = subprocess.run(
        [*interpreters.command("micropython", heap), "-m", "benchmarks.bare", *words], cwd=ROOT,
        env=interpreters.environment(), text=True, stdin=subprocess.DEVNULL, capture_output=True)
    assert (done.returncode, done.stderr) == (status, "")
    assert done.stdout.startswith(said)
    if not status:
        ((_, samples),) = report.parse(done.stdout)
        assert len(samples) == 3 and min(samples) > 0
