"""Every benchmark with every library on both ports: its lines, its checks, its progress."""

import json
import os
import pty
import subprocess

import pytest

from harness import interpreters

ROOT = interpreters.ROOT
PORTS = ("micropython", "cpython")
LIBS = ("uapycsp", "upycsp", "thesis-uapycsp-rescheduling", "thesis-uapycsp-yielding",
        "thesis-upycsp")
FIELDS = ["bench", "lib", "variant", "n", "runs", "us_min", "us_avg", "us_max", "bytes_per_op",
          "port", "version", "heap"]


def command(port, heap=None):
    words = interpreters.command(port, heap)
    if words is None:
        pytest.skip("no MicroPython")
    return words


def run(port, *arguments, heap=None, limit=240):
    """Ends with (status, output, errors)."""
    done = subprocess.run(command(port, heap) + list(arguments), cwd=ROOT, text=True,
                          timeout=limit, env=interpreters.environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


def results(output):
    return [json.loads(line[7:]) for line in output.splitlines() if line.startswith("RESULT ")]


def rows_of(port, *arguments):
    status, output, errors = run(port, "main.py", *arguments)
    assert status == 0, output + errors
    return results(output), output


def check(row, port, bench, extra=()):
    assert list(row) == FIELDS + list(extra)
    assert row["bench"] == bench
    # Five elements can take less than the clock's microsecond.
    assert 0 <= row["us_min"] <= row["us_avg"] <= row["us_max"]
    if port == "cpython":
        assert row["port"] == "cpython"
        assert row["heap"] is None and row["bytes_per_op"] is None
    else:
        assert row["port"] == "unix"
        assert row["heap"] > 100000 and row["bytes_per_op"] >= 0
    assert all(part.isdigit() for part in row["version"].split("."))


def extras(lib):
    return ["api"] if lib == "upycsp" else []


def apis(lib):
    return ["plain", "aio"] if lib == "upycsp" else [None]


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
def test_commstime_has_a_row_for_each_delta(port, lib):
    rows, _ = rows_of(port, "commstime", "lib=" + lib, "n=20", "runs=3")
    for row in rows:
        check(row, port, "commstime", extras(lib))
        assert (row["lib"], row["n"], row["runs"]) == (lib, 20, 3)
    assert [(r["variant"], r.get("api")) for r in rows] == [
        (delta, api) for api in apis(lib) for delta in ("seq", "par", "par-proc")]


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
def test_stressed_alt_has_a_row_for_each_shape_and_form(port, lib):
    rows, _ = rows_of(port, "stressed_alt", "lib=" + lib, "channels=3,5", "writers=2,1",
                      "selects=20", "runs=2")
    for row in rows:
        check(row, port, "stressed_alt", extras(lib))
        assert (row["lib"], row["n"], row["runs"]) == (lib, 20, 2)
    assert [(r["variant"], r.get("api")) for r in rows] == [
        (variant, api) for api in apis(lib)
        for variant in ("3x2-with", "3x2-select", "5x1-with", "5x1-select")]


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
def test_waiting_queue_has_a_row_for_each_number_of_waiters_and_future(port, lib):
    rows, _ = rows_of(port, "waiting_queue", "lib=" + lib, "waiters=1-2,4", "n=10", "runs=2")
    for row in rows:
        check(row, port, "waiting_queue", extras(lib) + ["waiters"])
        assert (row["lib"], row["n"], row["runs"]) == (lib, 10, 2)
    kinds = ["channel"] if "upycsp" in lib.split("-") else [lib.split("-")[-1]]
    if lib == "uapycsp":
        kinds = ["rescheduling", "yielding"]
    assert [(r["waiters"], r["variant"], r.get("api")) for r in rows] == [
        (waiters, kind, api) for api in apis(lib) for kind in kinds for waiters in (1, 2, 4)]


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
def test_spawn_has_a_row_for_each_form_and_number_at_once(port, lib):
    rows, _ = rows_of(port, "spawn", "lib=" + lib, "at_once=1,3", "n=20", "runs=2")
    for row in rows:
        check(row, port, "spawn", extras(lib) + ["at_once"])
        assert (row["lib"], row["n"], row["runs"]) == (lib, 20, 2)
    forms = ("parallel",) if lib.startswith("thesis") else ("parallel", "spawn")
    assert [(r["variant"], r["at_once"], r.get("api")) for r in rows] == [
        (form, at_once, api) for api in apis(lib) for form in forms for at_once in (1, 3)]


@pytest.mark.parametrize("port", PORTS)
def test_the_floors_of_spawn_are_tasks_and_threads(port):
    rows, _ = rows_of(port, "spawn", "lib=floor-asyncio,floor-threads", "n=20", "runs=2",
                      "at_once=2")
    assert [(r["lib"], r["variant"], r["at_once"]) for r in rows] == [
        ("floor-asyncio", "spawn", 2), ("floor-threads", "spawn", 2)]


@pytest.mark.parametrize("port", PORTS)
def test_queues_has_a_row_for_each_size_queue_and_step(port):
    rows, _ = rows_of(port, "queues", "sizes=5,60", "runs=4")
    for row in rows:
        check(row, port, "queues", ["size"])
        assert (row["n"], row["runs"]) == (row["size"], 4)
    steps = ["append", "popleft", "filter"]
    assert [(r["size"], r["lib"], r["variant"]) for r in rows] == [
        (size, queue, step) for size in (5, 60)
        for queue, its in (("deque", steps), ("list", steps), ("cspcore", steps + ["withdraw"]))
        for step in its]


def test_the_channels_queue_is_measured_up_to_offers():
    rows, _ = rows_of("micropython", "queues", "queue=list,cspcore", "sizes=10,20,30", "offers=20",
                      "runs=1")
    assert {r["size"] for r in rows if r["lib"] == "cspcore"} == {10, 20}
    assert {r["size"] for r in rows if r["lib"] == "list"} == {10, 20, 30}


@pytest.mark.parametrize("port", PORTS)
def test_the_configured_library_comes_with_its_baselines(port):
    rows, output = rows_of(port, "commstime", "delta=seq", "n=20", "runs=2")
    assert [row["lib"] for row in rows] == [
        "thesis-uapycsp-rescheduling", "thesis-uapycsp-yielding", "uapycsp"]
    line = [line for line in output.splitlines() if line.startswith("uapycsp ")][0]
    assert line.split()[-1] in ("faster", "slower")
    rows, _ = rows_of(port, "commstime", "delta=seq", "n=20", "runs=2", "baselines=no")
    assert [row["lib"] for row in rows] == ["uapycsp"]


@pytest.mark.parametrize("port", PORTS)
def test_the_floors_are_rows_of_the_sequential_delta(port):
    rows, _ = rows_of(port, "commstime", "lib=floor-asyncio,floor-threads", "n=50", "runs=3")
    assert [(r["lib"], r["variant"]) for r in rows] == [
        ("floor-asyncio", "seq"), ("floor-threads", "seq")]
    for row in rows:
        assert row["bytes_per_op"] is None and row["us_max"] > 0


def test_the_thesis_channels_work_on_a_deque_too():
    rows, _ = rows_of("micropython", "commstime", "lib=thesis-uapycsp-rescheduling",
                      "thesis_queue=deque", "n=20", "runs=2")
    assert len(rows) == 3


@pytest.mark.parametrize("port", PORTS)
def test_samples_are_the_figures_of_the_runs(port):
    rows, output = rows_of(port, "commstime", "lib=thesis-uapycsp-rescheduling", "delta=seq",
                           "n=20", "runs=5", "samples=yes")
    us = json.loads(output.split("SAMPLES ")[1])
    assert len(us) == 5
    assert (min(us), max(us)) == (rows[0]["us_min"], rows[0]["us_max"])


def test_no_communication_of_the_sequential_delta_allocates_in_upycsp():
    rows, _ = rows_of("micropython", "commstime", "lib=upycsp", "api=plain", "delta=seq", "n=200",
                      "runs=1")
    assert rows[0]["bytes_per_op"] == 0


# --- wrong results

_FAULTS = {
    # A read end that gives a message twice.
    "repeats": """
count = 0
def broken(value):
    global count
    count += 1
    return value - 1 if count == 40 else value
""",
    # One that skips a message.
    "loses": """
count = 0
def broken(value):
    global count
    count += 1
    return value + 1 if count == 40 else value
""",
}

_SCRIPT = """
import sys
sys.path.insert(0, {root!r})
import config, main
from benchmarks import libs
{fault}
real = libs.load

class Module:
    pass

def load(lib, api=None, queue="list"):
    csp = real(lib, api, queue)
    module = Module()
    for name in ("Channel", "Alternative", "Parallel", "process", "run", "PoisonException"):
        setattr(module, name, getattr(csp, name))
    {patch}
    return module

libs.load = load
sys.exit(main.main({arguments!r}))
"""

_ASYNC_READ = """
    class Channel:
        def __init__(self, name):
            ch = csp.Channel(name)
            self.read = ch.read
            self.write = ch.write
            self.poison = ch.poison
            if name == {name!r}:
                async def fault():
                    return broken(await ch.read())
                self.read = fault
    module.Channel = Channel
"""
_PLAIN_READ = _ASYNC_READ.replace("async def", "def").replace("await ", "")
_ASYNC_ALT = """
    class Alternative(csp.Alternative):
        async def select(self):
            g, v = await super().select()
            return g, broken(v)
    module.Alternative = Alternative
"""
_ASYNC_PROCESS = """
    def process(f):
        if f.__name__ == "echo":
            async def f(value):
                return broken(value)
        return csp.process(f)
    module.process = process
"""
_PLAIN_PROCESS = _ASYNC_PROCESS.replace("async def", "def")
_PLAIN_ALT = _ASYNC_ALT.replace("async def", "def").replace("await ", "")


def _faulty(tmp_path, port, fault, patch, *arguments):
    script = tmp_path / "faulty.py"
    script.write_text(_SCRIPT.format(root=str(ROOT), fault=_FAULTS.get(fault, fault), patch=patch,
                                     arguments=list(arguments)))
    return run(port, str(script))


def _is_one_wrong_result(outcome, bench, rows=0):
    status, output, errors = outcome
    assert status == 1, output + errors
    assert errors.startswith(bench + ": wrong result: "), errors
    assert errors.count("\n") == 1
    assert len(results(output)) == rows


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
@pytest.mark.parametrize("fault", ("repeats", "loses"))
def test_a_wrong_message_in_commstime_ends_with_status_1(tmp_path, port, lib, fault):
    read = _PLAIN_READ if "upycsp" in lib.split("-") else _ASYNC_READ
    _is_one_wrong_result(
        _faulty(tmp_path, port, fault, read.format(name="d"), "commstime", "lib=" + lib,
                "delta=seq", "n=100", "runs=2", "api=plain"), "commstime")


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
@pytest.mark.parametrize("fault", ("repeats", "loses"))
def test_a_wrong_message_in_stressed_alt_ends_with_status_1(tmp_path, port, lib, fault):
    alt = _PLAIN_ALT if "upycsp" in lib.split("-") else _ASYNC_ALT
    _is_one_wrong_result(
        _faulty(tmp_path, port, fault, alt, "stressed_alt", "lib=" + lib, "channels=3",
                "writers=2", "selects=100", "runs=2", "api=plain", "form=select"), "stressed_alt")


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
def test_a_wrong_value_in_spawn_ends_with_status_1(tmp_path, port, lib):
    process = _PLAIN_PROCESS if "upycsp" in lib.split("-") else _ASYNC_PROCESS
    _is_one_wrong_result(
        _faulty(tmp_path, port, "repeats", process, "spawn", "lib=" + lib, "form=parallel",
                "at_once=2", "n=50", "runs=2", "api=plain"), "spawn")


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
def test_a_wrong_message_in_waiting_queue_ends_with_status_1(tmp_path, port, lib):
    read = _PLAIN_READ if "upycsp" in lib.split("-") else _ASYNC_READ
    _is_one_wrong_result(
        _faulty(tmp_path, port, "repeats", read.format(name="back"), "waiting_queue",
                "lib=" + lib, "waiters=1", "n=100", "runs=2", "api=plain"), "waiting_queue")


@pytest.mark.parametrize("port", PORTS)
def test_a_waiter_that_gets_anothers_number_ends_with_status_1(tmp_path, port):
    broken = "def broken(value):\n    return 7\n"
    _is_one_wrong_result(
        _faulty(tmp_path, port, broken, _PLAIN_READ.format(name="w0"), "waiting_queue",
                "lib=thesis-upycsp", "waiters=2", "n=10", "runs=1"), "waiting_queue")


@pytest.mark.parametrize("port", PORTS)
def test_a_queue_that_loses_an_element_ends_with_status_1(tmp_path, port):
    fault = ("from benchmarks import queues\n"
             "def filter(self, unwanted):\n"
             "    self.queue.pop(0)\n"
             "queues._List.filter = filter\n")
    _is_one_wrong_result(
        _faulty(tmp_path, port, fault, "    pass", "queues", "queue=list", "sizes=10", "runs=2"),
        "queues", 2)        # append and popleft have been right


# --- progress

_LONG = ("main.py", "queues", "queue=cspcore", "sizes=2000", "runs=150")


@pytest.mark.parametrize("port", PORTS)
def test_a_file_gets_no_progress(port):
    status, output, errors = run(port, *_LONG)
    assert status == 0
    assert "\r" not in output and " of 150" not in output
    assert errors == ""


@pytest.mark.parametrize("port", PORTS)
def test_a_terminal_gets_progress_and_result_lines_of_their_own(port):
    parent, child = pty.openpty()
    process = subprocess.Popen(command(port) + list(_LONG), cwd=ROOT, stdin=subprocess.DEVNULL,
                               stdout=child, stderr=subprocess.PIPE,
                               env=interpreters.environment())
    os.close(child)
    output = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:         # the other end is closed
            break
        if not part:
            break
        output += part
    os.close(parent)
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=180) == 0, errors
    text = output.decode()
    assert " of 150" in text and "\r" in text
    assert len(results(text.replace("\r\n", "\n"))) == 4
