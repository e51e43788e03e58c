"""main.py and config.py: what they accept, and what they say to the rest."""

import os
import subprocess

import config
import pytest

from benchmarks import keys, plan
from harness import interpreters, patience
from test_bench import PORTS, ROOT, command, results, run


def _refused(port, *arguments):
    status, output, errors = run(port, "main.py", *arguments)
    assert status == 2, output + errors
    assert output == ""
    return errors


@pytest.mark.parametrize("port", PORTS)
def test_an_unknown_run_gets_the_list_of_runs(port):
    errors = _refused(port, "nosuch")
    assert "no run 'nosuch'" in errors
    for name in ("commstime", "stressed_alt", "queues", "waiting_queue", "spawn", "workers",
                 "matmul", "prodcons", "latency", "memory", "bridge", "quick", "all"):
        assert name in errors


@pytest.mark.parametrize("port", PORTS)
def test_an_unknown_key_gets_the_list_of_keys(port):
    first = _refused(port, "commstime", "sizes=3").splitlines()[0]
    assert first.startswith("commstime takes no 'sizes'")
    for key in ("lib", "delta", "n", "runs", "api"):
        assert " " + key in first


@pytest.mark.parametrize("port", PORTS)
def test_an_unknown_library_gets_the_list_of_libraries(port):
    first = _refused(port, "commstime", "lib=pycsp").splitlines()[0]
    assert first.startswith("no lib 'pycsp'")
    assert "uapycsp" in first and "thesis-upycsp" in first


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("arguments, said", (
    (("commstime", "n=0"), "n takes whole numbers from 1"),
    (("commstime", "n=-5"), "n takes whole numbers from 1"),
    (("commstime", "n=many"), "n takes whole numbers from 1"),
    (("commstime", "runs="), "runs takes whole numbers from 1"),
    (("commstime", "delta=seq,none"), "no delta 'none'"),
    (("commstime", "api=c"), "no api 'c'"),
    (("commstime", "n"), "commstime takes no 'n'"),
    (("commstime", "samples=maybe"), "no samples 'maybe'"),
    (("commstime", "thesis_queue=tree"), "no thesis_queue 'tree'"),
    (("queues", "queue=tree"), "no queue 'tree'"),
    (("queues", "lib=uapycsp"), "queues takes no 'lib'"),
    (("bridge", "api=aio"), "bridge takes no 'api'"),
    (("bridge", "way=back"), "no way 'back'"),
    (("bridge", "form=select"), "no form 'select'"),
    (("queues", "sizes=10,,20"), "sizes takes whole numbers from 1"),
    (("waiting_queue", "waiters=5-2"), "waiters takes a range upwards"),
    (("waiting_queue", "waiters=1,5-2"), "waiters takes a range upwards, not '5-2'"),
    (("waiting_queue", "future=channel"), "no future 'channel'"),
    (("spawn", "form=with"), "no form 'with'"),
    (("commstime", "idle=-1"), "idle takes whole numbers from 0, not '-1'"),
    (("commstime", "idle=few"), "idle takes whole numbers from 0, not 'few'"),
    (("commstime", "n=1,2"), "n takes whole numbers from 1"),
    (("workers", "work=idle"), "no work 'idle'"),
    (("workers", "emitter=asm"), "no emitter 'asm'"),
    (("workers", "workers=0"), "workers takes whole numbers from 1"),
    (("workers", "n=1,2"), "n takes one number, or as many as work takes names"),
    (("workers", "work=fib", "n=1,2"), "n takes one number, or as many as work takes names"),
    (("matmul", "element=complex"), "no element 'complex'"),
    (("matmul", "size=5,6"), "size takes whole numbers from 1"),
    (("matmul", "n=5"), "matmul takes no 'n'"),
    (("prodcons", "form=spawn"), "no form 'spawn'"),
    (("prodcons", "shape=1-2"), "no shape '1-2'"),
    (("stressed_alt", "stack=small"), "stack takes whole numbers from 0"),
    (("memory", "threads=0"), "threads takes whole numbers from 1"),
    (("stressed_alt", "threads=1"), "threads takes whole numbers from 2"),
    (("stressed_alt", "at_most=1"), "at_most takes whole numbers from 2"),
    (("latency", "what=wait"), "no what 'wait'"),
    (("prodcons", "capacity=0"), "capacity takes whole numbers from 1"),
    (("stressed_alt", "channels=5,6", "writers=2"), "channels and writers take equally many"),
    (("quick", "n=3"), "quick takes no 'n'"),
    (("quick", "lib=pycsp"), "no lib 'pycsp'"),
))
def test_a_bad_value_is_named(port, arguments, said):
    assert _refused(port, *arguments).startswith(said)


@pytest.mark.parametrize("arguments, heap", (
    (("queues", "queue=deque", "sizes=1000000"), "2M"),
    (("queues", "queue=cspcore", "sizes=1000000", "offers=1000000"), "2M"),
    (("stressed_alt", "lib=uapycsp", "channels=100", "writers=100"), "2M"),
    (("stressed_alt", "lib=thesis-uapycsp-rescheduling", "channels=100", "writers=100"), "2M"),
    (("waiting_queue", "lib=uapycsp", "waiters=5000"), "1M"),
    (("workers", "lib=uapycsp", "work=none", "n=1000000"), "2M"),
    (("matmul", "lib=uapycsp", "element=float", "size=400"), "2M"),
    (("waiting_queue", "waiters=1-99999999"), "1M"),
    (("commstime", "lib=uapycsp"), "64K"),
))
def test_a_size_that_does_not_fit_the_heap_is_one_sentence(arguments, heap):
    status, _, errors = run("micropython", "main.py", *arguments, heap=heap)
    assert status == 1, errors
    assert errors.startswith(arguments[0] + ": "), errors
    assert " do not fit the heap of " in errors and errors.count("\n") == 1, errors


@pytest.mark.parametrize("port, arguments", (
    ("micropython", ("commstime", "lib=upycsp", "n=2", "runs=1", "stack=")),
    ("cpython", ("commstime", "lib=upycsp", "n=2", "runs=1", "stack=")),
    ("micropython", ("waiting_queue", "lib=uapycsp", "n=2", "runs=1", "waiters=")),
))
def test_a_size_that_is_no_word_is_one_sentence(port, arguments):
    status, _, errors = run(port, "main.py", *arguments[:-1], arguments[-1] + "9" * 25)
    assert (status, errors) == (1, arguments[0] + ": no size may be as large as that\n")


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("arguments", (
    ("prodcons", "lib=uapycsp", "n=4", "runs=1"), ("prodcons", "lib=upycsp", "n=4", "runs=1"),
    ("bridge", "n=4", "runs=1"),
))
def test_a_capacity_that_no_memory_has_is_one_sentence(port, arguments):
    status, _, errors = run(port, "main.py", *arguments, "capacity=" + "9" * 25)
    assert (status, errors) == (
        1, arguments[0] + ": a capacity is not larger than any memory\n")


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("arguments", (
    ("stressed_alt", "lib=thesis-upycsp", "form=fair"),
    ("commstime", "lib=floor-asyncio", "delta=par"),
    ("bridge", "way=interrupt", "form=flag"),
))
def test_what_has_no_rows_is_said(port, arguments):
    assert run(port, "main.py", *arguments) == (
        0, arguments[0] + ": no rows for these values\n", "")


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("arguments, n", (
    (("waiting_queue", "n=5", "waiters=1", "future=rescheduling"), 6),  # there and back
    (("prodcons", "n=7", "others=3", "form=rendezvous", "shape=1-n"), 9),
))
def test_a_number_of_messages_that_is_rounded_up_is_told_so_everywhere(port, arguments, n):
    status, output, errors = run(port, "main.py", *arguments, "lib=uapycsp", "runs=1")
    assert (status, errors) == (0, "")
    assert ", n={} runs=1".format(n) in output
    assert [row["n"] for row in results(output)] == [n]


@pytest.mark.parametrize("heap", ("300K", "400K"))
@pytest.mark.parametrize("writers", range(1, 9))
def test_at_the_edge_of_the_heap_a_size_is_measured_or_one_sentence(heap, writers):
    status, output, errors = run(
        "micropython", "main.py", "stressed_alt", "lib=uapycsp", "form=select", "channels=50",
        "writers={}".format(writers), "selects=100", "runs=1", heap=heap, limit=20)
    if status == 0:
        assert len(results(output)) == 1 and errors == ""
    else:
        assert status == 1, errors
        assert errors.startswith("stressed_alt: "), errors
        assert " do not fit the heap of " in errors and errors.count("\n") == 1, errors


def test_queues_that_fit_are_measured_beside_one_that_does_not():
    status, output, errors = run("micropython", "main.py", "queues", "sizes=20,1600", "runs=2",
                                 heap="222K")
    assert (status, errors) == (1, "queues: cspcore 1600 do not fit the heap of {} bytes\n".format(
        results(output)[0]["heap"]))
    assert [(r["lib"], r["size"]) for r in results(output)][-6:] == (
        [("deque", 1600)] * 3 + [("list", 1600)] * 3)


_NO_THREAD = """
import sys
sys.path.insert(0, {root!r})
import main
from uthreading import kept
import _thread
count = 0
def fails(*args):
    global count
    count += 1
    if count > 2:
        raise OSError("can't create thread")
    return real(*args)
real = kept.set_starter(fails)
sys.exit(main.main(["commstime", "lib=upycsp", "api=plain", "n=10", "runs=1"]))
"""


@pytest.mark.parametrize("port", PORTS)
def test_a_thread_that_can_not_be_had_is_one_sentence(tmp_path, port):
    script = tmp_path / "no_thread.py"
    script.write_text(_NO_THREAD.format(root=str(ROOT)))
    status, _, errors = run(port, str(script))
    assert status == 1, errors
    assert "thread" in errors and errors.count("\n") == 1, errors


def test_quick_runs_everything():
    # As make run calls it: all libraries on MicroPython.
    status, output, errors = run("micropython", "main.py", "quick", limit=900)  # 20 s, alone
    assert status == 0, output + errors
    rows = results(output)
    assert {row["bench"] for row in rows} == {
        "commstime", "stressed_alt", "queues", "waiting_queue"}
    assert {row["lib"] for row in rows} == {
        "uapycsp", "upycsp", "thesis-uapycsp-rescheduling", "thesis-uapycsp-yielding",
        "thesis-upycsp", "floor", "asyncio-switch", "lock-handoff", "lock-ring", "deque", "list",
        "cspcore"}


@pytest.mark.parametrize("heap", ("1500K", "3M"))
def test_libraries_measured_apart_have_the_same_heap(heap):
    arguments = ("commstime", "delta=seq", "n=5", "runs=1", "api=plain")
    status, output, errors = run("micropython", "main.py", *arguments, "lib=all", heap=heap)
    assert status == 0, output + errors
    apart = results(output)
    assert {"thesis-uapycsp-yielding", "uapycsp", "thesis-upycsp", "upycsp"} <= {
        row["lib"] for row in apart}
    status, output, errors = run("micropython", "main.py", *arguments, "lib=uapycsp", heap=heap)
    assert {row["heap"] for row in apart} == {results(output)[0]["heap"]}


def test_one_that_fails_apart_ends_the_run_with_its_status():
    status, output, errors = run("micropython", "main.py", "quick", heap="64K")
    assert status == 1, output
    assert " do not fit the heap of " in errors and errors.count("\n") == 1, errors


# --- as on a board

# A board boots main.py with a config.py that finds no PC; what else there is does not matter.
_BOARD = """
import sys
sys.path.insert(0, {root!r})
sys.path.insert(0, {folder!r})
import config
assert not config.ON_PC and not config.BASELINES
config.LIB = {lib!r}
config.SIZES[config.RUN].update({sizes!r})
with open({main!r}) as f:
    exec(compile(f.read(), "main.py", "exec"), {{"__name__": "__main__"}})
print("the prompt")
"""


def _board(tmp_path, port, lib, **sizes):
    text = (ROOT / "config.py").read_text()
    asked = 'sys.platform in ("linux", "darwin", "win32")'
    assert asked in text
    (tmp_path / "config.py").write_text(text.replace(asked, "False"))
    script = tmp_path / "board.py"
    script.write_text(_BOARD.format(root=str(ROOT), folder=str(tmp_path), lib=lib, sizes=sizes,
                                    main=str(ROOT / "main.py")))
    return run(port, str(script), "nosuch", "n=0")


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib", ("uapycsp", "upycsp"))
def test_on_a_board_config_alone_decides(tmp_path, port, lib):
    status, output, errors = _board(tmp_path, port, lib, n=5, runs=2, delta="seq")
    assert status == 0, output + errors
    assert {row["lib"] for row in results(output)} == {lib}
    assert output.endswith("the prompt\n")


@pytest.mark.parametrize("port", PORTS)
def test_on_a_board_a_mistake_in_config_is_named_and_ends_at_the_prompt(tmp_path, port):
    status, output, errors = _board(tmp_path, port, "pycsp")
    assert (status, output) == (0, "the prompt\n")
    assert errors.startswith("no lib 'pycsp'")


@pytest.mark.parametrize("baselines, count", (("True", 3), ("'yes'", 3), ("'no'", 1), ("None", 1)))
def test_baselines_in_config_may_be_words_as_on_the_command_line(tmp_path, baselines, count):
    text = (ROOT / "config.py").read_text() + "BASELINES = {}\n".format(baselines)
    (tmp_path / "config.py").write_text(text)
    script = tmp_path / "baselines.py"
    script.write_text(
        "import sys\nsys.path[:0] = [{!r}, {!r}]\n"
        "import main\nmain.main(['commstime', 'delta=seq', 'n=5', 'runs=1'])\n".format(
            str(tmp_path), str(ROOT)))
    status, output, errors = run("micropython", str(script))
    assert (status, errors, len(results(output))) == (0, "", count)


_CHANGED = """
import sys
sys.path[:0] = [{folder!r}, {root!r}]
import main
sys.exit(main.main({arguments!r}))
"""


def _changed(tmp_path, port, change, *arguments):
    # main.py with a line at the end of config.py.
    (tmp_path / "config.py").write_text((ROOT / "config.py").read_text() + change + "\n")
    script = tmp_path / "changed.py"
    script.write_text(_CHANGED.format(folder=str(tmp_path), root=str(ROOT), arguments=arguments))
    return run(port, str(script))


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("change, arguments, said", (
    ("del SIZES['commstime']['n']", ("commstime",), "config.SIZES has no 'n' of commstime"),
    ("del SIZES['workers']['work']", ("workers",), "config.SIZES has no 'work' of workers"),
    ("del SIZES['stressed_alt']['writers']", ("all",),
     "config.SIZES has no 'writers' of stressed_alt"),
    ("del SIZES['queues']", ("queues",), "config.SIZES has no 'queue' of queues"),
    ("del SIZES['queues']", ("commstime", "n=0"), "n takes whole numbers from 1"),
    ("SIZES['spawn']['n'] = None", ("spawn",), "n takes whole numbers from 1, not 'None'"),
    ("LIB = None", (), "no lib 'None'; there are: "),
    ("LIB = 5", ("commstime",), "no lib '5'; there are: "),
    ("RUN = None", (), "no run None"),
    ("ON_PC = False; BOARD = 'esp8266'", (), "no BOARD 'esp8266'; there are: "),
    ("del LIB", (), "config has no LIB\n"),
    ("del RUN", (), "config has no RUN\n"),
    ("del ON_PC", (), "config has no ON_PC\n"),
    ("del STACK", ("queues",), "config has no STACK\n"),
    ("del BOARDS", ("quick",), "config has no BOARDS\n"),
    ("SIZES = []", (), "config.SIZES is no dict: []\n"),
    ("QUICK = 3", (), "config.QUICK is no dict: 3\n"),
    ("BOARDS = None", (), "config.BOARDS is no dict: None\n"),
    ("BOARDS['esp32'] = 'mine'", (), "config.BOARDS['esp32'] is no dict: 'mine'\n"),
    ("SIZES['spawn'] = 5", (), "config.SIZES of spawn is no dict: 5\n"),
    ("SIZES['commstime']['m'] = 5", (),
     "config.SIZES of commstime has 'm'; its keys are: delta idle n runs\n"),
    ("QUICK['comstime'] = {}", (), "config.QUICK has 'comstime'; there are: commstime "),
    ("BOARDS['esp32']['stak'] = 0", (),
     "config.BOARDS['esp32'] has 'stak'; there are: commstime "),
    ("BOARDS['esp32']['matmul'] = {'sise': 3}", (),
     "config.BOARDS['esp32'] of matmul has 'sise'; its keys are: element runs size workers\n"),
    ("BOARD = ['esp32']", (), "config.BOARD is neither None nor a name: ['esp32']\n"),
    ("BASELINES = 'maybe'", (), "no baselines 'maybe'; there are: yes no\n"),
    ("THESIS_QUEUE = 'set'", (), "no thesis_queue 'set'; there are: list deque\n"),
))
def test_a_mistake_in_config_is_named(tmp_path, port, change, arguments, said):
    status, output, errors = _changed(tmp_path, port, change, *arguments)
    assert (status, output) == (2, ""), errors
    assert errors.startswith(said) and "Traceback" not in errors, errors


def test_what_quick_lacks_in_config_is_that_of_the_whole_run(monkeypatch):
    monkeypatch.delitem(config.QUICK, "queues")
    monkeypatch.setitem(config.QUICK, "commstime", {"n": 7})
    values = {name: found for name, _, found in plan.make("quick", {"lib": "uapycsp"})}
    assert values["queues"]["offers"] == config.SIZES["queues"]["offers"]
    assert values["commstime"]["n"] == 7
    assert values["commstime"]["runs"] == config.SIZES["commstime"]["runs"]


def test_the_sizes_that_a_run_needs_are_those_of_config():
    for name in keys.RUNS:
        assert sorted(keys._NEEDED[name].split()) == sorted(config.SIZES[name])


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("arguments", (
    ("commstime", "lib=uapycsp", "n=5", "runs=1"),
    ("commstime", "lib=upycsp", "n=5", "runs=1"),
    ("waiting_queue", "lib=thesis-upycsp,uapycsp", "n=2", "runs=1"),
    ("quick", "lib=upycsp"),
    ("bridge", "way=interrupt", "form=flag"),
))
@pytest.mark.parametrize("both", (False, True))
def test_who_reads_no_further_ends_it_quietly(port, arguments, both):
    inlet, outlet = os.pipe()
    os.close(inlet)
    with open(outlet, "w") as nobody:
        done = patience.run(
            command(port) + ["main.py", *arguments], cwd=ROOT, env=interpreters.environment(),
            stdin=subprocess.DEVNULL, stdout=nobody, text=True, timeout=240,
            stderr=nobody if both else subprocess.PIPE)
    assert (done.returncode, done.stderr) == (141, None if both else "")


@pytest.mark.parametrize("port", PORTS)
def test_no_room_for_what_is_printed_is_one_sentence(port):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w") as full:
        done = patience.run(
            command(port) + ["main.py", "commstime", "lib=uapycsp", "n=5", "runs=1"], cwd=ROOT,
            env=interpreters.environment(), stdin=subprocess.DEVNULL, stdout=full, text=True,
            timeout=240, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, "there is no room for what is printed\n")


@pytest.mark.parametrize("lib", ("thesis-upycsp", "floor-threads"))
def test_a_thread_that_the_thesis_s_designs_can_t_have_is_one_sentence(lib):
    status, _, errors = run("micropython", "main.py", "commstime", "lib=" + lib, "n=5", "runs=1",
                            "stack=99999999999999")
    assert (status, errors) == (1, "commstime: can't start a new thread\n")


_SECTION = """
import sys
sys.path.insert(0, {root!r})
sys.path.insert(0, {folder!r})
import config
config.BOARD = {board!r}
config.STACK = {stack!r}
import main
if {wifi!r}:
    class network:
        STA_IF = 0
        class WLAN:
            def __init__(self, interface):
                assert interface == network.STA_IF
            def active(self, on):
                print("WiFi", on)
    sys.modules["network"] = network
else:
    sys.modules["network"] = None
from benchmarks import keys, plan
status = main.main(["commstime", "lib=upycsp", "api=plain", "delta=seq", "n=5", "runs=1"])
import uthreading
print(sorted(keys.sizes("matmul").items()), uthreading.stack_size())
sys.exit(status)
"""


def _section(tmp_path, port, board, wifi=True, heap=None, stack=None):
    (tmp_path / "config.py").write_text(
        (ROOT / "config.py").read_text().replace('sys.platform in ("linux"', '() in ("linux"'))
    script = tmp_path / "section.py"
    script.write_text(_SECTION.format(root=str(ROOT), folder=str(tmp_path), board=board,
                                      wifi=wifi, stack=stack))
    return run(port, str(script), heap=heap)


@pytest.mark.parametrize("port", PORTS)
def test_a_board_with_wifi_switches_it_on_and_its_stacks_have_the_size_of_config(tmp_path, port):
    status, output, errors = _section(tmp_path, port, "esp32-wifi", stack=4096)
    assert status == 0, output + errors
    assert output.startswith("WiFi True\n") and len(results(output)) == 1
    # CPython takes no less than 32 KB.
    assert output.endswith({"micropython": " 4096\n", "cpython": " 32768\n"}[port])


@pytest.mark.parametrize("port", PORTS)
def test_wifi_that_a_board_lacks_is_one_sentence(tmp_path, port):
    status, output, errors = _section(tmp_path, port, "esp32-wifi", wifi=False)
    assert status == 1 and not results(output)
    assert errors.startswith("config.BOARD wants WiFi switched on, which failed: ")
    assert errors.count("\n") == 1


_FEW_THREADS = """
import sys
sys.path[:0] = [{folder!r}, {root!r}]
import config
config.LIB = "upycsp"
config.RUN = {run!r}
config.BOARD = {board!r}
config.BOARDS[config.BOARD]["wifi"] = False
sizes = config.SIZES[config.RUN]
sizes["runs"] = 1
for key in ("n", "messages", "selects"):
    if key in sizes and config.RUN != "workers":
        sizes[key] = 4
from uthreading import kept
kept.poll_in_main(True)  # as on a board, where it runs no process itself
left = [{threads}]
def start(f, args):
    left[0] -= 1
    if left[0] < 0:
        raise OSError("can't create thread")
    return usual(f, args)
usual = kept.set_starter(start)
import main
sys.exit(main.main([]))
"""


# The numbers of threads are those of docs/boards.md.
@pytest.mark.parametrize("board, threads", (("esp32", 15), ("esp32-wifi", 8)))
@pytest.mark.parametrize("name", [n for n in keys.RUNS if n not in keys.WITHOUT_LIBRARY])
def test_a_board_has_threads_enough_for_each_benchmark(tmp_path, board, threads, name):
    (tmp_path / "config.py").write_text(
        (ROOT / "config.py").read_text().replace('sys.platform in ("linux"', '() in ("linux"'))
    script = tmp_path / "few.py"
    script.write_text(_FEW_THREADS.format(
        root=str(ROOT), folder=str(tmp_path), run=name, board=board, threads=threads))
    status, output, errors = run("micropython", str(script), heap="2M")
    assert status == 0, output + errors
    assert results(output)


@pytest.mark.parametrize("board, heap, size", (
    (None, "222K", 30), (None, "4M", 60), ("esp32-spiram", "222K", 60), ("esp32", "4M", 30),
))
def test_the_section_of_a_board_is_that_of_its_heap_or_the_named_one(tmp_path, board, heap, size):
    status, output, errors = _section(tmp_path, "micropython", board, heap=heap)
    assert status == 0, output + errors
    assert "('size', {})".format(size) in output and "WiFi" not in output
    assert output.endswith(" 0\n")


def test_an_unknown_section_is_named(tmp_path):
    status, output, errors = _section(tmp_path, "micropython", "esp8266")
    assert errors.startswith("no BOARD 'esp8266'; there are: esp32 esp32-spiram esp32-wifi\n")
    assert "Traceback" not in errors


_CSP = """
import sys
sys.path.insert(0, {root!r})
import config
loaded = [name for name in sys.modules if "csp" in name or name == "asyncio"]
assert not loaded, loaded
config.LIB = {lib!r}
try:
    csp = config.csp()
except ValueError as e:
    print(e)
else:
    ch = csp.Channel("c")

    @csp.process
    async def writer(cout):
        await cout(5)

    @csp.process
    async def reader(cin):
        return await cin()

    print(csp.__name__, csp.run(writer(ch.write), reader(ch.read)))
"""


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("lib, said", (
    ("uapycsp", "uapycsp [None, 5]"), ("upycsp", "upycsp.aio [None, 5]"),
    ("pycsp", "no library 'pycsp'"), (None, "no library None"),
))
def test_csp_is_the_configured_library_and_is_awaited(tmp_path, port, lib, said):
    script = tmp_path / "which.py"
    script.write_text(_CSP.format(root=str(ROOT), lib=lib))
    status, output, errors = run(port, str(script))
    assert status == 0, errors
    assert output == said + "\n"


def test_each_interpreter_of_several_takes_a_build_that_stands_before_the_sources(tmp_path):
    (tmp_path / "uapycsp.py").write_text("raise ValueError('the build')\n")
    words = ["commstime", "lib=uapycsp,upycsp", "api=plain", "n=2", "runs=1", "delta=seq"]
    done = patience.run(
        [*command("micropython"), "-m", "main", *words], cwd=tmp_path, capture_output=True,
        text=True, timeout=120, env={**os.environ, "MICROPYPATH": str(ROOT) + ":.frozen"})
    assert done.returncode == 1 and "the build" in done.stdout + done.stderr
