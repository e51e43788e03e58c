"""The benchmark of memory and tools/memory.py: figures, checks, what may be missing."""

import ast
import re
import sys

import pytest

from harness import interpreters
from test_bench import LIBS, ROOT, _is_one_wrong_result, extras, results, rows_of, run
from test_bench import _ASYNC_READ, _PLAIN_READ, _SCRIPT, check

sys.path.insert(0, str(ROOT / "tools"))

import memory  # noqa: E402

SMALL = ("n=6", "threads=3", "messages=20", "runs=2")

needs_micropython = pytest.mark.skipif(interpreters.micropython() is None, reason="no MicroPython")


def variants(lib, api=None):
    """The rows of a library that is loaded fresh."""
    found = ["import", "channel", "channel-ends", "buffered", "alternative", "parallel", "process",
             "first", "waiting", "communication", "select"]
    if api == "plain":
        found += ["stack-" + what
                  for what in ("read", "write", "select", "parallel", "processes", "end")]
    if lib.startswith("thesis"):
        found = [v for v in found if v not in ("buffered", "parallel")]
        if lib.endswith("yielding"):
            found.remove("import")      # its file is the one of the rescheduling futures
    if api == "aio":
        found = [v for v in found if v not in ("first", "waiting")]
    return found


@needs_micropython
@pytest.mark.parametrize("lib", LIBS)
def test_memory_has_a_row_for_each_kind(lib):
    for api in ("plain", "aio") if lib == "upycsp" else (None,):
        words = ["api=" + api] if api else []
        rows, _ = rows_of("micropython", "memory", "lib=" + lib, *words, *SMALL)
        for row in rows:
            check(row, "micropython", "memory", extras(lib))
            once = row["variant"] in ("import", "first") or row["variant"][:6] == "stack-"
            assert row["runs"] == 1 if once else row["runs"] == 2
            # A list among the objects is nothing, but objects are.
            if row["variant"] != "communication" or lib != "upycsp":
                assert row["bytes_per_op"] > 0
        assert [r["variant"] for r in rows] == variants(lib, api)


@needs_micropython
def test_the_stack_that_an_operation_needs_does_not_change_with_the_stacks_size():
    found, calls = [], set()
    for size in ("0", "65536"):
        rows, output = rows_of("micropython", "memory", "lib=upycsp", "api=plain",
                               "stack=" + size, *SMALL)
        found.append({r["variant"]: r["bytes_per_op"] for r in rows if "stack" in r["variant"]})
        calls.update(re.findall(r"and (\d+) for each call around it", output))
    call = int(calls.pop())
    assert not calls
    needs, again = found
    # The deepest of several tries is the same but for what neighbours on the machine hold up.
    assert all(abs(needs[name] - again[name]) <= 3 * call for name in needs)
    # All that a process does begins in its body, and a Parallel goes deeper than a read.
    assert all(1000 < need < 12000 for need in needs.values())
    assert needs["stack-read"] < needs["stack-parallel"]
    # An ESP32's own stack has room for about 16 calls, of which a process wants some for itself.
    assert all(min(needs[name], again[name]) <= 12 * call for name in needs), (needs, again, call)


@needs_micropython
def test_an_import_is_measured_only_where_nothing_of_it_was_loaded():
    rows, output = rows_of("micropython", "memory", "lib=upycsp", *SMALL)
    assert [r["api"] for r in rows if r["variant"] == "import"] == ["plain"]
    assert "no import of upycsp aio: parts of it were loaded before\n" in output


_KNOWN = """
import sys
sys.path.insert(0, {root!r})
from benchmarks import harness, memory

for size in (1, 10, 100):
    meter = harness.Meter("", 1)
    memory._objects(lambda: bytearray(32 * size), 50, meter)
    print(round(meter.bytes_per_op) - 32 * size)
"""


@needs_micropython
def test_what_is_measured_is_what_an_object_takes(tmp_path):
    script = tmp_path / "known.py"
    script.write_text(_KNOWN.format(root=str(ROOT)))
    status, output, errors = run("micropython", str(script))
    # The array's own object, of one block.
    assert (status, output.split()) == (0, ["32", "32", "32"]), errors


@needs_micropython
def test_a_row_tells_its_goal_and_whether_it_is_met():
    rows, output = rows_of("micropython", "memory", "lib=uapycsp", "baselines=no", *SMALL)
    goals = memory.goals()
    lines = [line for line in output.splitlines() if line.startswith("uapycsp ")]
    for row, line in zip(rows, lines):
        goal = goals.get(("uapycsp", row["variant"]))
        if goal is None:
            assert "at most" not in line
        else:
            met = "met" if row["bytes_per_op"] <= goal + 0.5 else "missed"
            assert line.endswith("at most {}: {}".format(goal, met))
    assert len([line for line in lines if "at most" in line]) == 6


def test_on_cpython_it_is_one_sentence():
    status, output, errors = run("cpython", "main.py", "memory", *SMALL)
    assert (status, results(output)) == (1, [])
    assert errors == "memory: this port does not tell how much of its heap is in use\n"


@needs_micropython
@pytest.mark.parametrize("lib", LIBS)
def test_processes_that_do_not_fit_the_heap_end_with_status_1(lib):
    heaps = ("112K", 113280), ("128K", 129536)
    if lib == "thesis-upycsp":  # 116K is enough for it, and 104K if its threads come one by one
        heaps = ("80K", 80896), ("92K", 93056)
    for heap, total in heaps:
        status, output, errors = run("micropython", "main.py", "memory", "lib=" + lib, heap=heap)
        assert status == 1, output + errors
        said = "memory: these sizes do not fit the heap of {} bytes".format(total)
        assert errors.splitlines()[-1:] == [said], errors


_ENDS_EARLY = """
import sys
sys.path.insert(0, {root!r})
from benchmarks import libs, memory, waiter
from benchmarks.harness import WrongResult
csp = libs.load({lib!r}, {api!r})
plain = libs.is_plain({lib!r}, {api!r})
kind = memory.Threads if plain else memory.Coroutines
one = [True]

def fails(waits):
    # Of the processes the second ends at once.
    def made(cin):
        one[0] = not one[0]
        return ends(cin) if one[0] else waits(cin)
    return made

if plain:
    @csp.process
    def ends(cin):
        {ends}
else:
    memory.load_asyncio()
    @csp.process
    async def ends(cin):
        {ends}

many = kind(csp, fails(waiter.of(csp, plain)))

async def starts():
    await many.start(2)

try:
    many.start(2) if plain else csp.run(starts())
except (WrongResult, KeyError) as e:
    print(type(e).__name__, e)
"""


@needs_micropython
@pytest.mark.parametrize("lib", LIBS)
@pytest.mark.parametrize("ends, said", (
    ("cin.poison()", "WrongResult a process that was to wait has ended"),
    ("raise KeyError('broken')", "KeyError"),
))
def test_a_process_that_ends_before_it_waits_is_not_waited_for(tmp_path, lib, ends, said):
    script = tmp_path / "early.py"
    api = "plain" if lib == "upycsp" else None
    script.write_text(_ENDS_EARLY.format(root=str(ROOT), lib=lib, api=api, ends=ends))
    status, output, errors = run("micropython", str(script))
    assert status == 0 and output.startswith(said), output + errors


@needs_micropython
@pytest.mark.parametrize("lib", LIBS)
def test_a_wrong_value_of_one_that_waited_ends_with_status_1(tmp_path, lib):
    read = _PLAIN_READ if "upycsp" in lib.split("-") else _ASYNC_READ
    read = read.replace("self.poison = ch.poison", "self.poison = ch.poison\n"
                        "            if hasattr(ch, 'queue_len'):\n"
                        "                self.queue_len = ch.queue_len\n"
                        "            else:\n"
                        "                self.queue = ch.queue")
    script = tmp_path / "faulty.py"
    script.write_text(_SCRIPT.format(
        root=str(ROOT), fault="def broken(value):\n    return 7\n",
        patch=read.format(name="c") + "    if hasattr(csp, 'Spawn'):\n"
        "        module.Spawn = csp.Spawn\n",
        arguments=["memory", "lib=" + lib, "api=plain", *SMALL]))
    status, output, errors = run("micropython", str(script))
    rows = len(results(output))
    _is_one_wrong_result((status, output, errors), "memory", rows)
    assert "first" not in [row["variant"] for row in results(output)]


# --- tools/memory.py


def cells(output, start):
    """The cells of the row that begins so."""
    [line] = [line for line in output.splitlines() if line.startswith(start + "  ")]
    return line[len(start):].split()


@pytest.fixture(scope="module")
def web():
    sys.path.insert(0, str(ROOT / "tools" / "coverage"))
    import cross as found

    problem = found.install()
    if problem:
        pytest.skip(problem)


@needs_micropython
def test_the_tool_tells_both_sizes_of_words_and_what_fits(web, capsys):
    assert memory.main(["-n", "20", "--no-try"]) == 0
    output = capsys.readouterr().out
    assert "Nothing of 32 bits" not in output, output
    for kind in ("channel", "channel-ends", "buffered", "alternative", "parallel", "process"):
        row = cells(output, "uapycsp " + kind)
        assert int(row[0]) == 2 * int(row[-1]), row
    for kind in ("waiting", "communication", "select"):
        row = cells(output, "uapycsp " + kind)
        # Room that lists have too much of differs.
        assert 0.4 < int(row[-1]) / int(row[0]) < 0.6, row
    for statement in memory.IMPORTS:
        wide, wide_rom, narrow, compiled, rom, least = [
            int(cell) for cell in cells(output, statement)]
        assert wide < least * 1024
        # Bytecode stays where it is, all else is as before.
        assert wide > wide_rom > wide / 3 and compiled > rom > compiled / 3
        assert wide > compiled > 1000 and narrow > compiled
        assert wide > narrow or wide < 3000  # of a bare package most is text
    begun = int(cells(output, "in use before, asyncio loaded")[0])
    taken = [int(cell) for cell in cells(output, "uapycsp: its five names, running")]
    left = [int(cell) for cell in cells(output, "uapycsp: left for the program")]
    assert [a + b + begun for a, b in zip(taken, left)] == [memory.ESP32] * 3
    fits = [int(cell) for cell in cells(output, "uapycsp: processes that wait on one channel, "
                                                "at most")]
    assert 100 < fits[0] < fits[1] < fits[2]


@needs_micropython
def test_without_node_the_tool_tells_the_rest_and_what_is_missing(monkeypatch, capsys, tmp_path):
    import shutil

    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "node" else real(name))
    monkeypatch.setattr(memory, "IMPORTS", memory.IMPORTS[:1])
    assert memory.main(["-n", "5"], tmp_path) == 0
    output = capsys.readouterr().out
    assert output.endswith("\nNothing of 32 bits: there is no node on the PATH.\n")
    assert cells(output, "uapycsp channel")[1:] == ["160", "met"]
    assert not re.search("ESP32", output)


def test_the_tool_refuses_no_objects(capsys):
    assert memory.main(["-n", "0"]) == 2
    assert capsys.readouterr().err == "-n takes whole numbers from 1\n"


def test_without_micropython_it_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(memory.interpreters, "command", lambda *_: None)
    assert memory.main([]) == 1
    assert capsys.readouterr().err == "there is no MicroPython: name one in MICROPYTHON\n"


@needs_micropython
def test_a_benchmark_that_fails_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(memory, "HEAP", "64K")
    assert memory.main([]) == 1
    said = capsys.readouterr().err
    assert said.startswith("MicroPython failed: ") and said.count("\n") == 1


@needs_micropython
@pytest.mark.parametrize("lib", memory.LIBS)
def test_the_largest_module_is_compiled_first(lib):
    # Compiled last it needs 155 KB and 169 KB.
    assert memory.fits(["-c", memory.FIVE.format(lib)], "130K")


@needs_micropython
def test_most_finds_where_a_heap_ends():
    few = memory.most("300K", "one", 10)
    many = memory.most("400K", "one", 10)
    assert 50 < few < many


@needs_micropython
def test_most_does_not_take_a_mistake_for_the_end_of_a_heap(monkeypatch):
    monkeypatch.setattr(memory, "_FITS", "raise ValueError('a mistake')")
    with pytest.raises(memory.Failed, match="a mistake"):
        memory.most("300K", "one", 10)


def test_the_goals_are_those_of_the_benchmark():
    text = (ROOT / "benchmarks" / "memory.py").read_text()
    assert memory.goals() == ast.literal_eval(re.search(r"GOALS = ({.*?^})", text, re.M | re.S)[1])
