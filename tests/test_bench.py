"""Every benchmark with every library on both ports: its lines, its checks, its progress."""

import json
import os
import pty
import subprocess

import pytest

from benchmarks import keys, work
from harness import interpreters, patience

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
    done = patience.run(command(port, heap) + list(arguments), cwd=ROOT, text=True,
                        timeout=limit, env=interpreters.environment(), stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


def results(output):
    return [json.loads(line[7:]) for line in output.splitlines() if line.startswith("RESULT ")]


def rows_of(port, *arguments):
    status, output, errors = run(port, "main.py", *arguments)
    assert status == 0, output + errors
    return results(output), output


def check(row, port, bench, extra=(), counts=True):
    assert list(row) == FIELDS + list(extra)
    assert row["bench"] == bench
    # Five elements can take less than the clock's microsecond.
    assert 0 <= row["us_min"] <= row["us_avg"] <= row["us_max"]
    if port == "cpython":
        assert row["port"] == "cpython"
        assert row["heap"] is None and row["bytes_per_op"] is None
    else:
        assert row["port"] == "unix"
        assert row["heap"] > 100000
        assert row["bytes_per_op"] >= 0 if counts else row["bytes_per_op"] is None
    assert all(part.isdigit() for part in row["version"].split("."))


def extras(lib):
    return ["api"] if lib == "upycsp" else []


def apis(lib):
    return ["plain", "aio"] if lib == "upycsp" else [None]


# Tells which modules are loaded after the first row.
_WATCHING = """
import sys
import main
from benchmarks import harness

row = harness.Table.row
early = []

def watched(*args, **others):
    early.extend(sys.modules)
    harness.Table.row = row
    row(*args, **others)

harness.Table.row = watched
status = main.main(sys.argv[1:])
print("LATE", status, harness.rows, *[name for name in sys.modules if name not in early])
"""


# Where there is more room, upycsp loads all of itself beside the first thread.
@pytest.mark.parametrize("lib", LIBS[:2])
@pytest.mark.parametrize("words", (
    "commstime n=20", "stressed_alt channels=5 writers=2 selects=20 threads=9",
    "waiting_queue n=20 waiters=1,9", "spawn n=20", "workers work=fib n=2 workers=1,2",
    "matmul size=4", "prodcons n=20", "latency ms=2 n=5 idle_ms=2"))
def test_in_a_heap_like_a_boards_the_library_is_loaded_before_the_first_row(words, lib):
    name, *values = words.split()
    done = patience.run(
        [*command("micropython", "400k"), "-c", _WATCHING, name, "lib=" + lib, "runs=1", *values],
        cwd=ROOT, text=True, timeout=120, env=interpreters.environment(),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, status, rows, *late = done.stdout.splitlines()[-1].split()
    assert (status, done.stderr) == ("0", ""), done.stdout
    assert int(rows) > 1
    packages = {"cspcore", "ufuture", "uapycsp", "upycsp", "uthreading"}
    assert not [module for module in late if module.split(".")[0] in packages]


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
                      "form=with,select", "selects=20", "runs=2")
    for row in rows:
        check(row, port, "stressed_alt", extras(lib))
        assert (row["lib"], row["n"], row["runs"]) == (lib, 20, 2)
    assert [(r["variant"], r.get("api")) for r in rows] == [
        (variant, api) for api in apis(lib)
        for variant in ("3x2-with", "3x2-select", "5x1-with", "5x1-select")]


def most(rows):
    return [row for row in rows if row["variant"] == "most"]


@pytest.mark.parametrize("lib", ("uapycsp", "upycsp"))
def test_stressed_alt_finds_how_many_processes_the_heap_holds(lib):
    found = []
    for heap in ("222K", "333K"):
        status, output, errors = run("micropython", "main.py", "stressed_alt", "lib=" + lib,
                                     "form=select,most", "channels=5", "writers=2", "selects=20",
                                     "runs=2", heap=heap)
        assert status == 0, output + errors
        [row] = most(results(output))
        check(row, "micropython", "stressed_alt", extras(lib) + ["processes"])
        assert "{} processes; no memory for more\n".format(row["processes"]) in output
        found.append(row["processes"])
    # Half of the heap more, and the library takes no more than before.
    assert 11 < found[0] < found[0] * 1.5 < found[1]


@pytest.mark.parametrize("port", PORTS)
def test_stressed_alt_tries_no_more_processes_than_it_is_told_to(port):
    rows, output = rows_of(port, "stressed_alt", "lib=uapycsp,upycsp,thesis-upycsp", "form=most",
                           "channels=3", "writers=1", "at_most=17", "threads=9", "selects=20",
                           "runs=2")
    assert [(r["lib"], r["variant"], r["processes"]) for r in rows] == [
        ("uapycsp", "most", 17), ("upycsp", "most", 9)]
    assert output.count("processes; no more were tried\n") == 2


_FEW_THREADS = """
import gc, sys
sys.path.insert(0, {root!r})
import main
from uthreading import kept
count = 0
def fails(*args):
    global count
    if count == {threads}:
        raise OSError("can't create thread")
    count += 1
    return real(*args)
real = kept.set_starter(fails)
status = main.main(["stressed_alt", "lib=upycsp", "form=most", "channels=5", "writers=1",
                    "selects=20", "runs=1"])
assert gc.isenabled()
sys.exit(status)
"""


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("threads", (9, 15))
def test_stressed_alt_finds_how_many_threads_there_are(tmp_path, port, threads):
    script = tmp_path / "few_threads.py"
    script.write_text(_FEW_THREADS.format(root=str(ROOT), threads=threads))
    status, output, errors = run(port, str(script))
    assert status == 0, output + errors
    [row] = results(output)
    # The watchdog has one of the threads, the main thread runs a process where it may block.
    assert row["processes"] in (threads - 1, threads, threads + 1)
    assert "can't start a new thread: {} run, stack size default".format(threads) in output


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
@pytest.mark.parametrize("lib", LIBS)
def test_workers_has_a_row_for_each_work_emitter_and_number_of_workers(port, lib):
    rows, output = rows_of(port, "workers", "lib=" + lib, "workers=1,3", "n=12", "runs=2")
    for row in rows:
        counts = not row["variant"].startswith("blocks")
        check(row, port, "workers", (extras(row["lib"]) + ["workers"]), counts)
        assert (row["n"], row["runs"]) == (12, 2)
    missing = "".join([line for line in output.splitlines() if "no rows for " in line])
    emitters = ["bytecode"] + [e for e in ("native", "viper") if e not in missing]
    if port == "cpython":
        assert emitters == ["bytecode"]
    assert [(r["lib"], r["variant"], r["workers"], r.get("api")) for r in rows] == [
        (name, work + "-" + emitter, workers, api)
        for work in ("none", "sqrt", "fib", "recursive", "blocks") for emitter in emitters
        for name, api, workers in [("no-library", None, 1)] + [
            (lib, api, workers) for api in apis(lib) for workers in (1, 3)]]


@pytest.mark.parametrize("port", PORTS)
def test_every_emitter_missing_is_said_and_is_no_failure(port):
    status, output, errors = run(port, "main.py", "workers", "emitter=native,viper", "work=none",
                                 "workers=1", "n=5", "runs=1")
    assert (status, errors) == (0, "")
    assert bool(results(output)) != ("no rows for native and viper" in output)


def test_the_works_of_the_workers_give_what_is_expected_of_them():
    upto = {"none": 50, "sqrt": 2000, "fib": 200, "recursive": 18, "blocks": 520}
    for name, n in upto.items():
        compute = work.compiled(name, "bytecode")
        assert [compute(k) for k in range(n + 1)] == work.expected(name, n), name


def test_each_work_has_the_number_of_messages_beside_it_or_the_one_given():
    beside = {"work": "fib,none,blocks", "n": "7,8,9"}

    def numbers(**given):
        return keys.values("workers", beside, given)["n"]

    assert numbers() == [7, 8, 9]
    assert numbers(work="blocks,fib") == [9, 7]
    assert numbers(n="5") == [5, 5, 5]
    assert numbers(work="recursive,fib", n="5") == [5, 5]
    assert numbers(work="recursive,fib", n="5,6") == [5, 6]
    with pytest.raises(keys.Usage):
        numbers(work="recursive")


def test_workers_measured_apart_have_the_same_numbers():
    rows, _ = rows_of("micropython", "workers", "lib=uapycsp,upycsp", "api=plain", "workers=2",
                      "emitter=bytecode", "work=fib,none", "n=5,6", "runs=1", "baselines=no")
    assert [(r["lib"], r["variant"], r["n"]) for r in rows] == [
        (lib, variant, n) for lib in ("uapycsp", "upycsp")
        for variant, n in (("fib-bytecode", 5), ("none-bytecode", 6))]


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
def test_matmul_has_a_row_for_each_element_and_number_of_workers(port, lib):
    # With 20 workers 13 rows do not give each of them one.
    rows, _ = rows_of(port, "matmul", "lib=" + lib, "size=13", "workers=1,3,20", "runs=2")
    for row in rows:
        check(row, port, "matmul", (extras(row["lib"]) + ["workers"]))
        assert (row["n"], row["runs"]) == (13, 2)
    assert [(r["lib"], r["variant"], r["workers"], r.get("api")) for r in rows] == [
        (name, element, workers, api) for element in ("int", "float")
        for name, api, workers in [("no-library", None, 1)] + [
            (lib, api, workers) for api in apis(lib) for workers in (1, 3, 20)]]


def test_a_product_of_integers_allocates_nothing_and_one_of_floats_four_for_each_two():
    rows, _ = rows_of("micropython", "matmul", "lib=uapycsp", "size=10", "workers=1", "runs=1")
    by_element = {row["variant"]: row["bytes_per_op"] for row in rows}
    assert by_element["int"] == 0
    assert by_element["float"] >= 10 ** 3 * 4 * 16


@pytest.mark.parametrize("bench", ("workers", "matmul"))
def test_rows_without_a_library_are_a_baseline(bench):
    small = {"workers": ("n=4", "work=none", "emitter=bytecode"), "matmul": ("size=5",)}[bench]
    rows, output = rows_of("micropython", bench, "lib=uapycsp", "workers=2", "runs=1", *small)
    assert rows[0]["lib"] == "no-library"
    lines = output.splitlines()
    assert [line.split()[-1] for line in lines if line.startswith("uapycsp ")][0] in (
        "faster", "slower")
    assert not [line for line in lines if line.startswith("no-library ") and "er" in line[60:]]
    rows, _ = rows_of("micropython", bench, "lib=uapycsp", "workers=2", "runs=1", "baselines=no",
                      *small)
    assert {row["lib"] for row in rows} == {"uapycsp"}


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
def test_prodcons_has_a_row_for_each_form_and_shape(port, lib):
    rows, _ = rows_of(port, "prodcons", "lib=" + lib, "others=3", "capacity=2", "n=20", "runs=2")
    for row in rows:
        check(row, port, "prodcons", [*extras(lib), "others", "capacity"])
        # Each of three consumers reads as many.
        assert (row["lib"], row["n"], row["runs"], row["others"]) == (lib, 21, 2, 3)
        assert row["capacity"] == (2 if row["variant"].startswith("buffered") else 0)
    forms = ("rendezvous",) if lib.startswith("thesis") else ("rendezvous", "buffered")
    assert [(r["variant"], r.get("api")) for r in rows] == [
        ("{}-{}".format(form, shape), api) for api in apis(lib) for form in forms
        for shape in ("1-1", "1-n", "n-1", "n-n")]


@pytest.mark.parametrize("port", PORTS)
def test_bridge_has_a_row_for_each_way_and_form(port):
    rows, _ = rows_of(port, "bridge", "capacity=3", "n=30", "runs=2")
    for row in rows:
        check(row, port, "bridge", ["capacity"])
        assert (row["n"], row["runs"]) == (30, 2)
    forms = [("bridge", 0), ("bridge", 3), ("flag", 0), ("queue", 3)]
    forms = forms[:2] if port == "cpython" else forms
    assert [(r["variant"], r["lib"], r["capacity"]) for r in rows] == [
        (way, lib, capacity) for way in ("to-task", "to-thread", "interrupt")
        for lib, capacity in forms if way != "interrupt" or capacity]


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
@pytest.mark.parametrize("lib", ("uapycsp", "upycsp"))
def test_idle_processes_may_wait_beside_the_network(port, lib):
    rows, _ = rows_of(port, "commstime", "lib=" + lib, "delta=seq", "n=20", "runs=2", "idle=7")
    assert {(r["lib"], r["variant"], r["idle"]) for r in rows} == {(lib, "seq", 7)}
    rows, _ = rows_of(port, "commstime", "lib=" + lib, "delta=seq", "n=20", "runs=2")
    assert [r for r in rows if "idle" in r] == []


@pytest.mark.parametrize("port", PORTS)
def test_a_fair_choice_is_the_libraries_alone(port):
    rows, _ = rows_of(port, "stressed_alt", "lib=upycsp,uapycsp,thesis-upycsp", "form=fair",
                      "channels=3", "writers=2", "selects=20", "runs=2")
    assert [(r["lib"], r.get("api"), r["variant"]) for r in rows] == [
        ("uapycsp", None, "3x2-fair"), ("upycsp", "plain", "3x2-fair"),
        ("upycsp", "aio", "3x2-fair")]


@pytest.mark.parametrize("port", PORTS)
def test_the_floors_are_rows_of_the_sequential_delta(port):
    rows, _ = rows_of(port, "commstime", "lib=floor-asyncio,floor-threads", "n=50", "runs=3")
    assert [(r["lib"], r["variant"]) for r in rows] == [
        ("floor", "seq"), ("asyncio-switch", "seq"), ("lock-handoff", "seq"),
        ("lock-ring", "seq")]
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
    # The watchdog's thread may be held up, and take its first frames while the bytes are counted:
    # then once more. What a communication allocates shows each time.
    for _ in range(5):
        rows, _ = rows_of("micropython", "commstime", "lib=upycsp", "api=plain", "delta=seq",
                          "n=200", "runs=1")
        if rows[0]["bytes_per_op"] == 0:
            break
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
    # One that gives what nobody has written.
    "invents": """
count = 0
def broken(value):
    global count
    count += 1
    return 10 ** 6 if count == 40 else value
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
    module.BufferedChannel = getattr(csp, "BufferedChannel", None)
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
            ch = self.ch = csp.Channel(name)
            if name == {name!r}:
                async def fault():
                    return broken(await ch.read())
                self.read = fault
        def __getattr__(self, name):
            return getattr(self.ch, name)
    module.Channel = Channel
"""
_ASYNC_BUFFER = """
    class BufferedChannel(csp.BufferedChannel):
        def __init__(self, name, capacity):
            super().__init__(name, capacity)
            read = self.read
            async def fault():
                return broken(await read())
            self.read = fault
    module.BufferedChannel = BufferedChannel
"""
_PLAIN_BUFFER = _ASYNC_BUFFER.replace("async def", "def").replace("await ", "")
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
@pytest.mark.parametrize("field, right, wrong", (
    ("number", 7, 8), ("result", 13, 21), ("worker", 1, 0)))
def test_a_wrong_answer_of_workers_ends_with_status_1(tmp_path, port, lib, field, right, wrong):
    fault = "def broken(value):\n    return value.replace('\"{0}\": {1}', '\"{0}\": {2}')\n"
    read = _PLAIN_READ if "upycsp" in lib.split("-") else _ASYNC_READ
    _is_one_wrong_result(
        _faulty(tmp_path, port, fault.format(field, right, wrong), read.format(name="from1"),
                "workers", "lib=" + lib, "work=fib", "emitter=bytecode", "n=30", "workers=2",
                "runs=2", "api=plain", "baselines=no"), "workers")


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("bench, fault, sizes", (
    ("workers", "from benchmarks import work\nwork._root = lambda n: 3\n", ("work=sqrt", "n=30")),
    ("matmul", "from benchmarks import matmul\nmatmul.element = lambda row, column: 3\n",
     ("size=5",)),
))
def test_wrong_work_without_a_library_ends_with_status_1(tmp_path, port, bench, fault, sizes):
    _is_one_wrong_result(_faulty(tmp_path, port, fault, "    pass", bench, "lib=uapycsp",
                                 "workers=1", "runs=1", *sizes), bench)


_ROWS = {
    "one twice": "(i ^ 1 if i == 4 else i, row)",
    "all exchanged": "(i ^ 1, row)",
    "one element wrong": "(i, row[:-1] + type(row)('i', [row[-1] + (i == 4)]))",
    "one row's elements exchanged": "(i, row[1:] + row[:1] if i == 4 else row)",
}


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
@pytest.mark.parametrize("fault", _ROWS)
def test_a_wrong_product_of_matmul_ends_with_status_1(tmp_path, port, lib, fault):
    broken = "def broken(value):\n    i, row = value\n    return {}\n".format(_ROWS[fault])
    read = _PLAIN_READ if "upycsp" in lib.split("-") else _ASYNC_READ
    _is_one_wrong_result(
        _faulty(tmp_path, port, broken, read.format(name="products"), "matmul", "lib=" + lib,
                "element=int", "size=20", "workers=2", "runs=2", "api=plain", "baselines=no"),
        "matmul")


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", LIBS)
@pytest.mark.parametrize("fault", ("repeats", "loses", "invents"))
def test_a_wrong_message_in_prodcons_ends_with_status_1(tmp_path, port, lib, fault):
    read = _PLAIN_READ if "upycsp" in lib.split("-") else _ASYNC_READ
    _is_one_wrong_result(
        _faulty(tmp_path, port, fault, read.format(name="data"), "prodcons", "lib=" + lib,
                "shape=n-n", "form=rendezvous", "n=100", "runs=2", "api=plain"), "prodcons")


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", ("uapycsp", "upycsp"))
def test_a_wrong_message_of_a_buffer_ends_with_status_1(tmp_path, port, lib):
    patch = _PLAIN_BUFFER if lib == "upycsp" else _ASYNC_BUFFER
    _is_one_wrong_result(
        _faulty(tmp_path, port, "repeats", patch, "prodcons", "lib=" + lib, "shape=1-1",
                "form=buffered", "n=100", "runs=2", "api=plain"), "prodcons")


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


def test_a_lost_item_of_a_bridge_ends_with_status_1(tmp_path):
    fault = ("from benchmarks import bridge\n"
             "right = bridge._Queue._popleft\n"
             "bridge._Queue._popleft = lambda self: right(self) and 0\n")
    _is_one_wrong_result(
        _faulty(tmp_path, "micropython", fault, "    pass", "bridge", "form=queue", "n=20",
                "runs=1", "way=to-task"), "bridge")


def test_a_bridge_that_fails_leaves_no_thread_that_keeps_the_program(tmp_path):
    fault = ("from benchmarks import bridge\n"
             "def get(self):\n"
             "    raise MemoryError()\n"
             "bridge._Queue.get = get\n")
    status, output, errors = _faulty(tmp_path, "micropython", fault, "    pass", "bridge",
                                     "form=queue", "n=20", "runs=1", "way=to-task")
    assert (status, results(output)) == (1, [])
    assert errors.startswith("bridge: these sizes do not fit the heap of ")


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
