"""The benchmark of latency: its rows, its checks, its percentiles, what a port may lack."""

import pytest

from test_bench import (
    _ASYNC_READ, _FAULTS, _PLAIN_READ, _SCRIPT, FIELDS, LIBS, PORTS, ROOT, _is_one_wrong_result,
    apis, extras, results, rows_of, run)

SMALL = ("n=4", "ms=2", "idle_ms=40")
MORE = ["p50_us", "p99_us", "messages"]


def check(row, port, more=()):
    assert list(row) == [*FIELDS, *more, *MORE]
    assert (row["bench"], row["port"]) == ("latency", "unix" if port == "micropython" else port)
    assert row["us_min"] <= row["p50_us"] <= row["p99_us"] <= row["us_max"]
    # asyncio's sleep counts whole milliseconds and can be one too early; nothing else is.
    assert row["us_min"] >= (-1100 if row["variant"] == "sleep" else 0)
    assert row["bytes_per_op"] is None


def waits(lib):
    found = ["sleep", "timer", "stream", "idle"]
    if lib.startswith("thesis"):
        found.remove("timer")
    if lib.endswith("-upycsp") or lib == "upycsp":
        found.remove("stream")
    return found


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
def test_latency_has_a_row_for_each_wait(port, lib):
    rows, _ = rows_of(port, "latency", "lib=" + lib, "runs=2", *SMALL)
    for row in rows:
        check(row, port, extras(lib))
        idle = row["variant"] == "idle"
        assert (row["lib"], row["n"], row["runs"]) == (lib, 1 if idle else 4, 2)
        # The network went on meanwhile.
        assert row["messages"] == 0 if idle else row["messages"] >= 8
    assert [(r["variant"], r.get("api")) for r in rows] == [
        (what, api) for api in apis(lib) for what in waits(lib)]


@pytest.mark.parametrize("port", PORTS)
def test_the_floors_of_latency_have_a_bare_loop_beside_them(port):
    rows, _ = rows_of(port, "latency", "lib=floor-asyncio,floor-threads", "runs=1", *SMALL)
    for row in rows:
        check(row, port)
        assert row["messages"] > 0
    assert [(r["lib"], r["variant"]) for r in rows] == [
        ("floor-asyncio", "sleep"), ("floor-asyncio", "stream"), ("floor-threads", "sleep")]


@pytest.mark.parametrize("port", PORTS)
def test_a_row_tells_the_goal_and_whether_it_is_met(port):
    rows, output = rows_of(port, "latency", "lib=uapycsp", "what=timer,idle", *SMALL)
    lines = [line for line in output.splitlines() if line.startswith("uapycsp ")]
    for row, line, goal, said in zip(rows, lines, (2000, 20000), ("p99 up to 2000", "under 2 %")):
        assert line.endswith(", goal {}: {}".format(
            said, "met" if row["p99_us"] <= goal else "missed"))


def _with(tmp_path, port, fault, patch, *arguments):
    script = tmp_path / "faulty.py"
    script.write_text(_SCRIPT.format(root=str(ROOT), fault=fault, patch=patch,
                                     arguments=["latency", *arguments]))
    return run(port, str(script))


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
def test_a_wrong_message_beside_the_wait_ends_with_status_1(tmp_path, port, lib):
    read = _PLAIN_READ if "upycsp" in lib.split("-") else _ASYNC_READ
    _is_one_wrong_result(
        _with(tmp_path, port, _FAULTS["loses"],
              read.format(name="d") + "    module.Timer = getattr(csp, 'Timer', None)\n",
              "lib=" + lib, "what=sleep", "n=50", "ms=2", "api=plain"), "latency")


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
def test_a_waiter_that_gets_a_wrong_number_ends_with_status_1(tmp_path, port, lib):
    read = _PLAIN_READ if "upycsp" in lib.split("-") else _ASYNC_READ
    _is_one_wrong_result(
        _with(tmp_path, port, "def broken(value):\n    return 7\n", read.format(name="w3"),
              "lib=" + lib, "what=idle", "idle_ms=30", "api=plain"), "latency")


@pytest.mark.parametrize("port", PORTS)
def test_a_byte_that_is_not_the_one_written_ends_with_status_1(tmp_path, port):
    fault = ("from benchmarks import latency_asyncio as latency\n"
             "real_writes = latency._writes\n"
             "class Sock:\n"
             "    def __init__(self, sock):\n"
             "        self.send = lambda data: sock.send(b'x')\n"
             "        self.close = sock.close\n"
             "def writes(sock, *args):\n"
             "    real_writes(Sock(sock), *args)\n"
             "latency._writes = writes\n")
    _is_one_wrong_result(_with(tmp_path, port, fault, "pass", "lib=floor-asyncio",
                               "what=stream", *SMALL), "latency")


@pytest.mark.parametrize("port", PORTS)
def test_what_the_port_lacks_is_said_and_has_no_row(tmp_path, port):
    fault = ("from benchmarks import latency, latency_asyncio\n"
             "latency.processor_us = lambda: None\n"
             "def sockets():\n"
             "    raise OSError('there are no sockets')\n"
             "latency_asyncio.sockets = sockets\n")
    status, output, errors = _with(tmp_path, port, fault, "pass",
                                   "lib=thesis-uapycsp-yielding", *SMALL)
    assert (status, errors) == (0, "")
    assert "no stream: two sockets can't be connected here (there are no sockets)\n" in output
    assert "no idle: this port does not tell how much processor time it has taken\n" in output
    assert [row["variant"] for row in results(output)] == ["sleep"]


_BUSY = """
import sys
sys.path.insert(0, {root!r})
from benchmarks.samples import Samples
from benchmarks.latency import Usage, processor_us

samples = Samples("", 1, 1)
usage = Usage(samples)
usage.begin()
until = processor_us() + 200000
while processor_us() < until:
    pass
usage.end()
print(samples.us[0])
"""


@pytest.mark.parametrize("port", PORTS)
def test_a_busy_process_is_not_idle(tmp_path, port):
    script = tmp_path / "busy.py"
    script.write_text(_BUSY.format(root=str(ROOT)))
    status, output, errors = run(port, str(script))
    assert status == 0, errors
    assert int(output) > 20000


_PERCENTILES = """
import sys
sys.path.insert(0, {root!r})
from benchmarks.samples import Samples

for n in (1, 2, 50, 100, 1000):
    samples = Samples("", n, 1)
    for i in range(n):
        samples.take((i * 7 + 3) % n - 5)       # each from -5 on once, if 7 does not divide n
    print(samples.percentiles(1, 50, 99, 100))
"""


@pytest.mark.parametrize("port", PORTS)
def test_percentiles_are_of_all_samples(tmp_path, port):
    script = tmp_path / "percentiles.py"
    script.write_text(_PERCENTILES.format(root=str(ROOT)))
    status, output, errors = run(port, str(script))
    assert status == 0, errors
    assert output.splitlines() == [
        "[-5, -5, -5, -5]", "[-5, -5, -4, -4]", "[-5, 19, 44, 44]", "[-5, 44, 93, 94]",
        "[4, 494, 984, 994]"]
