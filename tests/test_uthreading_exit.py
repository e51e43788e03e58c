"""A program that used threads ends promptly and with the right status."""

import shutil
import subprocess
import time

import pytest

from harness import interpreters, patience

if interpreters.micropython() is None:
    NAMES = ("cpython",)
else:
    NAMES = interpreters.NAMES

pytestmark = pytest.mark.parametrize("name", NAMES)

# Threads of all kinds that are idle, parked or asleep when the main thread ends.
LEFTOVERS = """
import sys
import uthreading
from uthreading import clock, kept
for _ in range(5):
    kept.start(uthreading.Event().wait)
t = uthreading.Thread(target=lambda: None)
t.start()
t.join()
clock.Alarm(print).start(600000)
uthreading.Thread(target=uthreading.Event().wait, args=(600,), daemon=True).start()
"""


def run(name, script, timeout=120):
    """(exit status, stdout, stderr, seconds) of a script."""
    start = time.monotonic()
    done = patience.run(
        [*interpreters.command(name), "-c", script],
        capture_output=True,
        cwd=interpreters.ROOT,
        env=interpreters.environment(),
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=timeout,
    )
    return done.returncode, done.stdout, done.stderr, time.monotonic() - start


@pytest.mark.parametrize(
    "end, status",
    [("", 0), ("sys.exit(3)", 3), ("1 / 0", 1)],
    ids=["normal", "exit", "exception"],
)
def test_kept_and_daemon_threads_do_not_hold_up_the_end(name, end, status):
    code, out, err, seconds = run(name, LEFTOVERS + end)
    assert code == status, err
    assert seconds < 60  # far less than what still waits
    assert ("ZeroDivisionError" in out + err) == (status == 1)


def test_an_exception_in_a_thread_is_told_whatever_module_traceback_is_there(name, tmp_path):
    # As micropython-lib's, which knows no __traceback__ either.
    (tmp_path / "traceback.py").write_text("def print_exception(*args, **more):\n    1 / 0\n")
    script = "import sys\nimport uthreading\n"
    if name == "micropython":
        script += "sys.path.insert(0, {!r})\n".format(str(tmp_path))
    script += "t = uthreading.Thread(target=lambda: {}['lost'])\nt.start()\nt.join()\n"
    code, out, err, seconds = run(name, script)
    assert code == 0
    assert "Exception in thread Thread-1" in err and "KeyError" in err and "line " in err, err


@pytest.mark.parametrize("end, status", [("", 0), ("1 / 0", 1)], ids=["normal", "exception"])
def test_the_end_waits_for_threads_that_are_no_daemons(name, end, status):
    script = """
import uthreading
from uthreading import kept

def late():
    kept.sleep_ms(100)
    uthreading.Thread(target=later).start()

def later():
    kept.sleep_ms(100)
    print("all done")

uthreading.Thread(target=late).start()
"""
    # CPython 3.12 and later start no new thread then, but the kept ones serve.
    code, out, err, _ = run(name, script + "kept.start(int)\n" + end)
    assert code == status and out.endswith("all done\n"), out + err


def test_the_end_asks_no_subclass_how_it_joins_or_what_is_equal(name):
    script = """
import uthreading
from uthreading import kept

class Odd(uthreading.Thread):
    def join(self, how):
        raise ValueError(how)

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1

told = uthreading.Event()

def work(ms):
    if ms > 1:
        told.wait()
    kept.sleep_ms(ms)
    print("done", ms)

threads = [Odd(target=work, args=(ms,)) for ms in (300, 1)]
for t in threads:
    t.start()
while threads[1].is_alive():
    kept.sleep_ms(1)
print([t is threads[0] for t in uthreading.enumerate() if t is not uthreading.main_thread()])
told.set()
"""
    code, out, err, _ = run(name, script)
    assert (code, out) == (0, "done 1\n[True]\ndone 300\n"), out + err


def test_a_thread_that_joins_the_main_thread_sees_its_end(name):
    script = """
import uthreading
def work():
    uthreading.main_thread().join()
    print(uthreading.main_thread().is_alive())
uthreading.Thread(target=work).start()
"""
    code, out, err, _ = run(name, script)
    assert (code, out) == (0, "False\n"), err


def test_an_exception_in_a_thread_goes_to_stderr_and_changes_nothing_else(name):
    script = """
import uthreading
def bomb():
    raise ValueError("boom")
uthreading.Thread(target=bomb, name="bomber").start()
"""
    code, out, err, _ = run(name, script)
    assert (code, out) == (0, "")
    assert err.startswith("Exception in thread bomber:\nTraceback ") and "boom" in err


def test_another_exit_function_still_runs(name):
    script = """
import sys
try:
    import atexit
    register = atexit.register
except ImportError:
    register = sys.atexit
import uthreading
register(lambda: print("mine"))
uthreading.Thread(target=print, args=("thread",)).start()
"""
    code, out, err, _ = run(name, script)
    assert (code, sorted(out.split())) == (0, ["mine", "thread"]), err


def test_without_memory_for_ours_another_exit_function_stays(name):
    if name == "cpython":
        pytest.skip("its heap can't be locked")
    script = """
import micropython, sys
sys.atexit(lambda: print("mine"))
from uthreading import Thread, thread
failed = False
micropython.heap_lock()
try:
    thread._hook_exit()
except MemoryError:
    failed = True
micropython.heap_unlock()
print(failed)
Thread(target=print, args=("thread",)).start()
"""
    code, out, err, _ = run(name, script)
    assert (code, out) == (0, "True\nthread\nmine\n"), err


def test_ctrl_c_reaches_a_main_thread_that_waits(name):
    script = """
import uthreading
uthreading.Thread(target=uthreading.Event().wait, daemon=True).start()
try:
    print("ready")
    uthreading.Event().wait(600)
except KeyboardInterrupt:
    print("interrupted")
"""
    process = subprocess.Popen(
        [*interpreters.command(name), "-c", script],
        stdout=subprocess.PIPE,
        cwd=interpreters.ROOT,
        env=interpreters.environment(),
        stdin=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        until_asleep(process.pid)
        process.send_signal(2)
        out, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "interrupted\n")


def until_asleep(pid):
    """Until a process's main thread has slept for 0.3 s; elsewhere than on Linux just that long.

    On the Unix port an interrupt is safe while the main thread waits, and only then.
    """
    seen = None
    while True:
        try:
            with open("/proc/{}/status".format(pid)) as file:
                words = [line for line in file if line.startswith(("State", "volun", "nonvol"))]
        except OSError:
            words = ["State: S"]
        if words == seen and words[0].split()[1] == "S":
            return
        seen = words
        time.sleep(0.3)


@pytest.mark.parametrize("package", ("uthreading", "upycsp", "uapycsp"))
def test_importing_a_package_is_cheap(name, package):
    if name == "cpython":
        script = "import sys, {}\nprint('uthreading.kept' in sys.modules)".format(package)
        assert run(name, script)[1] == "False\n"
        return
    script = """
import gc
gc.collect()
before = gc.mem_alloc()
import {}
gc.collect()
print(gc.mem_alloc() - before)
""".format(package)
    code, out, err, _ = run(name, script)
    assert code == 0 and int(out) < 3072, out + err


# What Pycom's firmware does: it never asks a module for a name that it lacks.
def test_without_module_getattr_everything_is_imported(name, tmp_path):
    shutil.copytree(interpreters.ROOT / "uthreading", tmp_path / "uthreading")
    init = tmp_path / "uthreading" / "__init__.py"
    text = init.read_text(encoding="utf-8")
    assert text.count("__getattr__(") == 2
    init.write_text(text.replace("__getattr__(", "_load("), encoding="utf-8")
    script = """
import sys
sys.path.insert(0, {!r})
import uthreading
names = dir(uthreading)
print([n for n in uthreading.__all__ if n not in names])
from uthreading import Thread, kept, local
t = Thread(target=print, args=("runs",))
t.start()
t.join()
print(uthreading.__file__.startswith({!r}), isinstance(local, type))
""".format(str(tmp_path), str(tmp_path))
    code, out, err, _ = run(name, script)
    assert (code, out) == (0, "[]\nruns\nTrue True\n"), err
