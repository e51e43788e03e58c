"""The harness reports passes, failures, skips, crashes and hangs of device tests by name."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import types
import threading
import time
import xml.etree.ElementTree

import pytest

from harness import device, interpreters, order, patience, strip

TESTS = pathlib.Path(__file__).parent
needs_micropython = pytest.mark.skipif(not interpreters.micropython(), reason="needs MicroPython")

# Hypothesis, which is not needed here, takes longer to load than the rest.
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest"]

POISON = "class PoisonException(Exception):\n    pass\n"
ASYNC_LIBRARY = POISON + """
try:
    import asyncio
except ImportError:
    import uasyncio as asyncio

def run(p):
    try:
        return asyncio.run(p)
    except PoisonException:
        return None
"""

FILES = {
    "uapycsp/__init__.py": ASYNC_LIBRARY,
    "upycsp/__init__.py": POISON + "def run(p):\n    return p\n",
    "upycsp/aio.py": ASYNC_LIBRARY,
    "tests/rules/rules_support.py": """
        import csp

        LIB = csp.__name__

        class SkipTest(Exception):
            pass

        async def double(x):
            return 2 * x
        """,
    "tests/rules/test_rule.py": """
        import csp
        from rules_support import LIB, SkipTest, double

        async def test_passes():
            assert await double(2) == 4

        def test_runs_by_itself():
            value = csp.run(double(2))
            assert value == 4

        async def test_fails():
            text = "await and async stay in text"
            print("library", LIB, text)
            assert await double(2) == 5  # line 14

        async def test_skips():
            raise SkipTest("not with " + LIB)

        async def test_is_not_under_a_loop_when_plain():
            if LIB == "upycsp":
                assert double(1) == 2

        async def test_ends_by_poison():
            raise csp.PoisonException("met by the test itself")
        """,
    "tests/regressions/test_story.py": """
        import csp
        from rules_support import LIB, double
        VARIANTS = ("uapycsp", "upycsp")

        async def test_story():
            assert await double(2) == 4 and LIB == csp.__name__ != "upycsp.aio"
        """,
    "tests/test_two.py": """
        import sys
        import time
        TIME_LIMIT = 3

        async def test_async():
            pass

        def test_hangs():
            print("so far")
            while True:
                time.sleep(0.01)

        def test_after_the_hang():
            pass

        def test_exits():
            sys.exit(3)

        def test_fails_in_a_helper():
            helper()

        def helper():
            raise ValueError("two\\nlines")
        """,
    "tests/test_crash.py": """
        import os
        import sys
        INTERPRETERS = ("cpython",)

        def test_before():
            pass

        def test_crashes():
            sys.stdout.write("half a line")
            os.kill(os.getpid(), 9)

        def test_leaves():
            os._exit(4)

        def test_after():
            pass
        """,
    "tests/test_import.py": "import nosuch\n\ndef test_a():\n    pass\n",
    "tests/test_heap.py": """
        import gc
        INTERPRETERS = ("micropython",)
        HEAP = "300K"

        def test_heap():
            gc.collect()
            assert gc.mem_free() + gc.mem_alloc() < 310000

        def test_allocates_with_the_heap_locked():
            import micropython
            micropython.heap_lock()
            [None] * 100

        def test_after_that_it_is_unlocked():
            [None] * 100
        """,
    "tests/test_ordinary.py": "import pytest\n\ndef test_ordinary(tmp_path):\n    pass\n",
}


def make_project(folder, files):
    (folder / "tests").mkdir(parents=True)
    shutil.copy(TESTS / "conftest.py", folder / "tests")
    ignore = shutil.ignore_patterns("__pycache__")
    for name in "harness", "board":  # what conftest.py imports
        shutil.copytree(TESTS / name, folder / "tests" / name, ignore=ignore)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -ra\n")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip())
    return folder


def run_pytest(folder, *words, **env):
    """Runs pytest with stdin closed; returns its CompletedProcess and {test id: testcase}."""
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    environment = {**os.environ, "MICROPYTHON": interpreters.micropython() or "", **env}
    environment.pop("PYTEST_ADDOPTS", None)
    if "CI" not in env:
        environment.pop("CI", None)
    done = patience.run(
        [*PYTEST, "-ojunit_logging=all", "--junitxml", str(report), *words],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=400,
    )
    cases = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        cases[case.get("classname") + "." + case.get("name")] = case
    return done, cases


def state(case):
    return next((child.tag for child in case if not child.tag.startswith("system")), "passed")


def details(case):
    return "".join(child.get("message", "") + "\n" + (child.text or "") for child in case)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return make_project(tmp_path_factory.mktemp("a folder") / "a project", FILES)


@pytest.fixture(scope="module", params=[(), ("-n", "2")], ids=["alone", "xdist"])
def outcome(request, project):
    if not interpreters.micropython():
        pytest.skip("needs MicroPython")
    done, cases = run_pytest(project, *request.param)
    assert done.returncode == 1, done.stdout
    return cases


VARIANTS = [i + "-" + v for i in ("micropython", "cpython") for v in ("uapycsp", "aio", "upycsp")]


@pytest.mark.parametrize("group", VARIANTS)
def test_rules_run_for_each_variant(outcome, group):
    prefix = "tests.rules.test_rule.{}.test_".format(group)
    results = {k[len(prefix) :]: state(c) for k, c in outcome.items() if k.startswith(prefix)}
    assert results == {
        "passes": "passed",
        "runs_by_itself": "passed",
        "fails": "failure",
        "skips": "skipped",
        "is_not_under_a_loop_when_plain": "passed",
        "ends_by_poison": "failure",
    }


@pytest.mark.parametrize("group", VARIANTS)
def test_regressions_run_for_each_variant_with_the_helpers_of_the_rules(outcome, group):
    case = outcome.get("tests.regressions.test_story.{}.test_story".format(group))
    if group.endswith("aio"):  # the file leaves it out
        assert case is None
    else:
        assert state(case) == "passed", details(case)


@pytest.mark.parametrize("group", VARIANTS)
def test_a_failure_shows_file_line_source_and_output(outcome, group):
    text = details(outcome["tests.rules.test_rule.{}.test_fails".format(group)])
    assert 'File "tests/rules/test_rule.py", line 14, in test_fails' in text
    assert "assert " in text and "double(2) == 5" in text
    assert "AssertionError" in text.splitlines()[0]
    assert "runner.py" not in text
    library = {"uapycsp": "uapycsp", "aio": "upycsp.aio", "upycsp": "upycsp"}
    printed = "library {} await and async stay in text".format(library[group.split("-")[1]])
    assert printed in text


def test_a_skip_tells_its_reason(outcome):
    text = details(outcome["tests.rules.test_rule.micropython-aio.test_skips"])
    assert "not with upycsp.aio" in text


@pytest.mark.parametrize("group", ["micropython", "cpython"])
def test_a_hang_is_named_and_hides_nothing(outcome, group):
    case = "tests.test_two.{}.test_".format(group)
    assert state(outcome[case + "async"]) == "passed"
    text = details(outcome[case + "hangs"])
    assert "the time limit of 3 s for the file passed in test_hangs" in text
    assert re.search(r'File "tests/test_two.py", line (9|10|11), in test_hangs', text)
    assert "so far" in text
    assert state(outcome[case + "after_the_hang"]) == "passed"


@pytest.mark.parametrize("group", ["micropython", "cpython"])
def test_sys_exit_and_errors_in_helpers_are_failures(outcome, group):
    case = "tests.test_two.{}.test_".format(group)
    assert "SystemExit: 3" in details(outcome[case + "exits"])
    text = details(outcome[case + "fails_in_a_helper"])
    assert 'File "tests/test_two.py", line 20, in test_fails_in_a_helper' in text
    assert 'File "tests/test_two.py", line 23, in helper' in text
    assert "ValueError: two\nlines" in text


def test_a_crash_is_named_and_hides_nothing(outcome):
    case = "tests.test_crash.cpython.test_"
    assert state(outcome[case + "before"]) == "passed"
    text = details(outcome[case + "crashes"])
    assert "died of SIGKILL in test_crashes" in text and "half a line" in text
    assert "ended with exit status 4 in test_leaves" in details(outcome[case + "leaves"])
    assert state(outcome[case + "after"]) == "passed"


@pytest.mark.parametrize("group", ["micropython", "cpython"])
def test_an_import_error_fails_each_function(outcome, group):
    text = details(outcome["tests.test_import.{}.test_a".format(group)])
    assert "the file can't be imported" in text
    assert 'File "tests/test_import.py", line 1' in text and "nosuch" in text


def test_heap_and_ordinary_files(outcome):
    assert state(outcome["tests.test_heap.micropython.test_heap"]) == "passed"
    text = details(outcome["tests.test_heap.micropython.test_allocates_with_the_heap_locked"])
    assert "MemoryError: memory allocation failed, heap is locked" in text
    assert state(outcome["tests.test_heap.micropython.test_after_that_it_is_unlocked"]) == "passed"
    assert state(outcome["tests.test_ordinary.test_ordinary"]) == "passed"


@needs_micropython
def test_node_ids_and_keywords_select(project):
    _, cases = run_pytest(project, "tests/rules/test_rule.py::micropython-aio::test_passes")
    assert list(cases) == ["tests.rules.test_rule.micropython-aio.test_passes"]
    _, cases = run_pytest(project, "-k", "cpython-upycsp and runs_by")
    assert list(cases) == ["tests.rules.test_rule.cpython-upycsp.test_runs_by_itself"]


def test_a_test_in_an_if_runs_where_it_is_defined_and_is_skipped_elsewhere(tmp_path):
    text = """
        import sys

        if sys.implementation.name == "cpython":

            def test_a():
                assert False

        elif sys.implementation.name == "micropython":

            def test_b():
                pass

        if sys.byteorder:

            def test_c():
                pass

        else:

            def test_c():
                pass
        """
    project = make_project(tmp_path / "p", {"tests/test_a.py": text})
    _, cases = run_pytest(project, "-k", "cpython")
    assert {name[-6:]: state(case) for name, case in cases.items()} == {
        "test_a": "failure",
        "test_b": "skipped",
        "test_c": "passed",
    }
    assert "it is not defined here" in details(cases["tests.test_a.cpython.test_b"])


def test_without_micropython_its_tests_are_skipped_and_that_is_said_once(tmp_path):
    files = {"tests/test_a.py": "def test_a():\n    pass\n\ndef test_b():\n    pass\n"}
    project = make_project(tmp_path / "p", files)
    script = "import sys; sys.executable = '/nowhere/python'; import pytest; pytest.main({!r})"
    words = [str(project / "tests"), "-q", "-k", "micropython"]
    for ci, expected in ((False, "2 skipped"), (True, "2 failed")):
        env = {k: v for k, v in os.environ.items() if k not in ("MICROPYTHON", "CI")}
        env["PATH"] = "/nowhere"
        if ci:
            env["CI"] = "true"
        done = patience.run(
            [sys.executable, "-c", script.format(words)],
            cwd=project,
            env=env,
            capture_output=True,
            text=True,
            timeout=180,
        )
        assert expected in done.stdout, done.stdout
        said = [line for line in done.stdout.splitlines() if line.startswith("no MicroPython: ")]
        assert len(said) == 1 if not ci else said


def test_a_named_micropython_that_is_missing_fails(tmp_path):
    project = make_project(tmp_path / "p", {"tests/test_a.py": "def test_a():\n    pass\n"})
    done, cases = run_pytest(project, MICROPYTHON="/nowhere/micropython")
    text = details(cases["tests.test_a.micropython.test_a"])
    assert done.returncode == 1
    assert "the interpreter can't be started" in text and "/nowhere/micropython" in text
    assert state(cases["tests.test_a.cpython.test_a"]) == "passed"


@pytest.mark.parametrize(
    "text, fault",
    [
        ("def test_a(:\n    pass\n", "test_a.py:1: "),
        ("def test_a():\n    pass\n\ndef test_a():\n    pass\n", "test_a is defined twice"),
        ("class TestA:\n    pass\n", "TestA: device tests are functions"),
        ("REAL_TIME = ('test_none',)\n", "REAL_TIME: there is no test_none"),
        ("INTERPRETERS = ('cypthon',)\n", "INTERPRETERS: 'cypthon' is none of"),
    ],
)
def test_a_faulty_file_is_an_error(tmp_path, text, fault):
    project = make_project(tmp_path / "p", {"tests/test_a.py": text})
    done, _ = run_pytest(project)
    assert done.returncode == 2
    assert fault in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_interpreter_ends_with_pytest(tmp_path, number):
    text = """
        import os

        def test_a():
            with open("pid", "w") as file:
                file.write(str(os.getpid()))
            while True:
                pass
        """
    project = make_project(tmp_path / "p", {"tests/test_a.py": text})
    words = [*PYTEST, "-k", "cpython"]
    run = subprocess.Popen(words, cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert until(lambda: (project / "pid").exists() and (project / "pid").read_text())
    run.send_signal(number)
    output = run.communicate(timeout=180)[0]
    assert number == signal.SIGKILL or b"KeyboardInterrupt" in output
    assert until(lambda: not alive(int((project / "pid").read_text())))


# The process by itself


def write(folder, text):
    path = folder / "test_it.py"
    path.write_text(textwrap.dedent(text))
    return path


def test_a_process_that_does_not_end_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.setattr(device, "EXIT_SECONDS", 1)
    test = write(
        tmp_path,
        """
        import threading
        def test_a():
            threading.Thread(target=threading.Event().wait).start()
        """,
    )
    run = device.Device(test, "cpython")
    assert run.ask("call", "test_a").kind == "pass"
    assert "the process did not end within 1 s after test_a" in run.close()


def test_a_crash_at_the_end_is_a_problem(tmp_path):
    test = write(
        tmp_path,
        """
        import atexit, os
        def test_a():
            atexit.register(os.abort)
        """,
    )
    run = device.Device(test, "cpython")
    assert run.ask("call", "test_a").kind == "pass"
    assert "SIGABRT at its end, after test_a" in run.close()


def test_a_death_between_two_functions_is_told_by_the_next(tmp_path):
    test = write(
        tmp_path,
        """
        import os, threading
        def test_a():
            threading.Timer(2, os._exit, (7,)).start()
        def test_b():
            pass
        """,
    )
    run = device.Device(test, "cpython")
    assert run.ask("call", "test_a").kind == "pass"
    process = run._process
    process.wait(60)
    verdict = run.ask("call", "test_b")
    assert verdict.kind == "fail"
    assert "ended with exit status 7 before test_b began (after test_a)" in verdict.text
    assert run.ask("call", "test_b").kind == "pass"
    assert run.close() is None


def test_children_of_a_hanging_test_are_killed(tmp_path):
    test = write(
        tmp_path,
        """
        import signal, subprocess, time
        def test_a():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            child = subprocess.Popen(["sleep", "600"])
            print("child", child.pid)
            while True:
                time.sleep(1)
        """,
    )
    run = device.Device(test, "cpython", limit=1.5)
    verdict = run.ask("call", "test_a")
    assert verdict.kind == "fail" and "the time limit" in verdict.text
    pid = int(re.search(r"child (\d+)", verdict.output).group(1))
    assert until(lambda: not alive(pid))
    assert run.close() is None


def alive(pid):
    try:
        with open("/proc/{}/stat".format(pid)) as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_many_hangs_end_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(device, "MOST_HANGS", 1)
    test = write(tmp_path, "def test_a():\n    while True:\n        pass\n\ndef test_b(): pass\n")
    run = device.Device(test, "cpython", limit=1)
    assert "the time limit" in run.ask("call", "test_a").text
    assert run.ask("call", "test_b").text == "not run: 1 functions of this file hung"
    assert run.close() is None


@needs_micropython
def test_an_endless_printer_is_stopped_and_its_last_output_kept(tmp_path):
    test = write(tmp_path, "def test_a():\n    while True:\n        print('x' * 70)\n")
    run = device.Device(test, "micropython", limit=2)
    verdict = run.ask("call", "test_a")
    assert "the time limit of 2 s for the file passed in test_a" in verdict.text
    assert 1000 < len(verdict.output) <= 2 * device.OUTPUT_KEPT
    assert run.close() is None


@needs_micropython
def test_output_of_threads_does_not_disturb_the_answers(tmp_path):
    test = write(
        tmp_path,
        """
        import _thread
        state = [True, 0]
        def shout():
            while state[0]:
                print("noise")
            state[1] = 1
        def test_a():
            _thread.start_new_thread(shout, ())
        def test_b():
            pass
        def test_c():
            state[0] = False
            while not state[1]:
                pass
        """,
    )
    run = device.Device(test, "micropython")
    assert run.ask("call", "test_a").kind == "pass"
    for _ in range(50):
        assert run.ask("call", "test_b").kind == "pass"
    assert run.ask("call", "test_c").kind == "pass"
    assert run.close() is None


def test_what_is_dealt_first_or_apart_is_there():
    for name in (*order.LONG, *order.APART):
        path, _, test = name.partition("::")
        assert "def " + test in (TESTS.parent / path).read_text()


def test_the_long_files_come_first_and_a_piece_is_a_file_a_process_or_a_test():
    names = ["tests/test_a.py::test_a", order.LONG[1] + "::test_b", order.LONG[0] + "::test_c"]
    assert sorted(names, key=order.place) == names[::-1]
    assert order.piece(names[0]) == "tests/test_a.py"
    device_test = "tests/rules/test_r.py::cpython-aio::test_r"
    assert order.piece(device_test) == "tests/rules/test_r.py::cpython-aio"
    assert order.piece(order.APART[0] + "[one]") == order.APART[0] + "[one]"


def test_two_files_run_at_once(tmp_path):
    test = write(tmp_path, "def test_a():\n    pass\n")
    verdicts = []

    def work():
        run = device.Device(test, "cpython")
        verdicts.append(run.ask("call", "test_a").kind)
        verdicts.append(run.close())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(verdicts, key=str) == [None] * 4 + ["pass"] * 4


def test_stripping_keeps_lines_and_text():
    source = textwrap.dedent(
        '''
        """async text await text"""
        async def f(cin):  # await a comment
            async for v in cin:
                x = [await g(), await  h()]
            async with a as (b, c):
                return await (yield_, )
            asynchronous = awaited = "await"
        '''
    )
    plain = textwrap.dedent(
        '''
        """async text await text"""
        def f(cin):  # await a comment
            for v in cin:
                x = [g(), h()]
            with a as (b, c):
                return (yield_, )
            asynchronous = awaited = "await"
        '''
    )
    assert strip.strip(source) == plain


def test_patience_waits_longer_while_the_machine_is_crowded(monkeypatch):
    now = [100.0]
    crowd = [1]
    monkeypatch.setattr(patience, "crowding", lambda: crowd[0])
    monkeypatch.setattr(patience, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    limit = patience.Patience(10)
    for times, seconds, left in (1, 2, 8), (4, 8, 6), (100, 1, 5.99), (1, 5, 0.99), (2, 2, -0.01):
        crowd[0] = times
        now[0] += seconds
        assert abs(limit.left() - left) < 1e-9


def test_a_command_has_as_much_more_time_as_others_have_used(monkeypatch):
    words = [sys.executable, "-c", "import time; time.sleep(2); print('done')"]
    monkeypatch.setattr(patience, "crowding", lambda: 1e6)
    done = patience.run(words, timeout=1, text=True, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    monkeypatch.setattr(patience, "crowding", lambda: 0.01)
    words[-1] = "import time; time.sleep(600)"
    with pytest.raises(subprocess.TimeoutExpired) as ended:
        patience.run(words, timeout=100)  # waits for the end of what it has killed
    assert ended.value.timeout == 100


def test_what_a_background_job_starts_can_be_interrupted():
    hears = """
import signal, subprocess, sys
from harness import device
if "hear" in sys.argv:
    device.hear_interrupts()
says = "import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"
subprocess.run([sys.executable, "-c", says], check=True)
"""
    words = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-c", hears]
    for more, ignored in ([], "True\n"), (["hear"], "False\n"):
        done = patience.run([*words, *more], cwd=TESTS, text=True, capture_output=True,
                            timeout=60)
        assert (done.stdout, done.stderr) == (ignored, "")
