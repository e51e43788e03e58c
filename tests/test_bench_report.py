"""The report: its jobs, its sums, and that a quick one writes everything."""

import json
import re
import subprocess
import sys

import pytest

from harness import interpreters, patience

ROOT = interpreters.ROOT
sys.path.insert(0, str(ROOT / "tools"))

import report  # noqa: E402
import report_page  # noqa: E402

PLOTS = ("commstime.png", "stressed_alt.png", "queues.png", "waiting_queue.png")


def _result(lib, variant, us, bench="commstime", **more):
    result = {"bench": bench, "lib": lib, "variant": variant, "n": 10, "runs": 2, "us_min": us,
              "us_avg": us, "us_max": us, "bytes_per_op": 0.0, "port": "unix",
              "version": "1.29.0", "heap": 2072832}
    result.update(more)
    return result


def _row(lib, variant, us, cpus=2, **more):
    result = _result(lib, variant, us, **more)
    return {"result": result, "us_median": us, "cpus": cpus, "rounds": [us]}


def _report(rows):
    return {"machine": {"cpu": "Abacus", "processors": 2, "memory_mb": 4, "system": "Linux",
                        "kernel": "6", "architecture": "x86_64"},
            "versions": {"micropython": "MicroPython v1", "cpython": "3.11.7"},
            "commit": "0123456789abcdef", "uncommitted_changes": False, "date": "2026-01-02",
            "parameters": dict(report.QUICK), "rows": rows}


def test_rounds_are_pooled_into_one_row():
    results = report.Results()
    job = report.Job("micropython", "commstime", {"lib": "uapycsp", "runs": 4})
    results.add(job, [(_result("uapycsp", "seq", 2.0), [1.0, 3.0])])
    results.add(job, [(_result("uapycsp", "seq", 5.0, bytes_per_op=7.0), [2.0, 8.0])])
    results.add(job, [(_result("uapycsp", "par", 5.0), [9.0])])
    seq, par = results.rows()
    assert seq["us_median"] == 2.5
    merged = seq["result"]
    assert (merged["us_min"], merged["us_avg"], merged["us_max"]) == (1.0, 3.5, 8.0)
    assert (merged["runs"], merged["bytes_per_op"]) == (4, 7.0)
    assert seq["rounds"] == [2.0, 5.0]
    assert par["us_median"] == 9.0


def test_rows_bound_to_one_processor_stay_apart():
    results = report.Results()
    for bound in (False, True):
        job = report.Job("micropython", "commstime", {"lib": "upycsp", "runs": 1}, bound)
        results.add(job, [(_result("upycsp", "seq", 2.0, api="plain"), [2.0])])
    rows = results.rows()
    assert len(rows) == 2 and rows[1]["cpus"] == 1


def test_the_full_report_has_the_parameters_of_the_thesis():
    jobs = report.jobs(report.FULL, report.LIBS, True)
    for port in ("micropython", "cpython"):
        for lib in report.LIBS:
            of = [j for j in jobs if j.port == port and j.keys.get("lib") == lib]
            comms = [j for j in of if j.bench == "commstime" and not j.one_cpu]
            runs = 20 if port == "cpython" and "upycsp" in lib.split("-") else 100
            assert [(j.keys["n"], j.keys["runs"]) for j in comms] == [(5000, runs)]
            shapes = {(j.keys["channels"], j.keys["writers"], j.keys["selects"])
                      for j in of if j.bench == "stressed_alt"}
            assert {("100", "5", 5000), ("5", "2", 5000)} <= shapes
            waiting = [j.keys["waiters"] for j in of if j.bench == "waiting_queue"]
            assert waiting == ["1-30"]
        queues = [j for j in jobs if j.port == port and j.bench == "queues"]
        assert {j.keys["queue"] for j in queues} == {"deque", "list", "cspcore"}
        assert {j.keys["runs"] for j in queues} == {500}
    assert [j for j in jobs if j.one_cpu and j.keys["lib"] == "upycsp" and j.port == "micropython"]


def test_a_bound_job_is_started_with_taskset():
    job = report.Job("micropython", "commstime", {"lib": "upycsp", "runs": 100}, True)
    assert job.command("mp", 5) == [
        "taskset", "-c", "0", "mp", "-X", "heapsize=2M", "main.py", "commstime", "lib=upycsp",
        "runs=20", "samples=yes"]


def test_gains_are_ratios_of_medians():
    rows = [_row("thesis-uapycsp-rescheduling", "seq", 6.0), _row("uapycsp", "seq", 1.5),
            _row("thesis-upycsp", "seq", 12.0, 1), _row("upycsp", "seq", 3.0, 1, api="plain"),
            _row("thesis-upycsp", "seq", 15.0), _row("upycsp", "seq", 5.0, api="plain"),
            _row("upycsp", "seq", 99.0, api="aio"),
            _row("uapycsp", "100x5-select", 8.0, bench="stressed_alt"),
            _row("uapycsp", "5x2-select", 2.0, bench="stressed_alt")]
    text = report_page.page(_report(rows))
    for line in (
            "| CommsTime seq: uapycsp against thesis-uapycsp-rescheduling, times faster "
            "| >= 4 | 4.00 |",
            "| CommsTime seq: upycsp against thesis-upycsp, one processor, times faster "
            "| >= 3.5 | 4.00 |",
            "| CommsTime seq: upycsp against thesis-upycsp, 2 processors, times faster "
            "| >= 2.3 | 3.00 |",
            "| Stressed alternatives: uapycsp, 100x5 costs that many times 5x2 | <= 8 | 4.00 |"):
        assert line in text, text
    assert "Abacus" in text and "0123456789ab" in text


def test_queues_are_told_in_time_for_all_elements():
    rows = [_row("list", "append", 0.5, bench="queues", size=500)]
    assert "| list | MicroPython | 500 | 250 |" in report_page.page(_report(rows))


@pytest.mark.parametrize("value, text", (
    (0.1234, "0.12"), (9.876, "9.88"), (12.34, "12.3"), (251.05, "251"), (0, "0.00"), (None, "")))
def test_figures_have_three_digits(value, text):
    assert report_page.figure(value) == text


def test_a_quick_report_writes_json_page_and_plots(tmp_path):
    if interpreters.micropython() is None:
        pytest.skip("no MicroPython")
    out = tmp_path / "results"
    done = patience.run(
        [sys.executable, str(ROOT / "tools" / "report.py"), "--quick", "--rounds", "1", "--out",
         str(out), "--lib", "thesis-uapycsp-rescheduling,uapycsp,upycsp"],
        cwd=tmp_path, text=True, timeout=240, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=interpreters.environment())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\r" not in done.stdout
    stored = json.loads((out / "report.json").read_text())
    assert report.dump(stored) == (out / "report.json").read_text()
    for key in ("machine", "versions", "commit", "date", "parameters", "rows"):
        assert key in stored
    found = {(row["result"]["bench"], row["result"]["lib"], row["result"]["port"])
             for row in stored["rows"]}
    for port in ("unix", "cpython"):
        for bench in ("commstime", "stressed_alt", "waiting_queue"):
            for lib in ("thesis-uapycsp-rescheduling", "uapycsp", "upycsp"):
                assert (bench, lib, port) in found
        for queue in ("deque", "list", "cspcore"):
            assert ("queues", queue, port) in found
    page = (out / "README.md").read_text()
    for name in PLOTS:
        assert "({})".format(name) in page
        image = (out / name).read_bytes()
        assert image.startswith(b"\x89PNG") and len(image) > 10000
    assert "uaPyCSP, Unix | 22.1 | 22.3 | 23.0 | 13.5 | 13.6 | 13.8" in page
    assert not re.search(r"\{|None|nan", page)


def test_a_failing_benchmark_ends_the_report_with_its_words(tmp_path, monkeypatch):
    if interpreters.micropython() is None:
        pytest.skip("no MicroPython")
    monkeypatch.setitem(report.QUICK["commstime"], "n", 0)
    with pytest.raises(SystemExit) as ended:
        report.main(["--quick", "--out", str(tmp_path / "results"), "--lib", "uapycsp"])
    said = str(ended.value)
    assert "status 2" in said and "n takes whole numbers from 1, not '0'" in said
    assert not (tmp_path / "results").exists()
