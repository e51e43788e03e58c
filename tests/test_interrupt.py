"""An interrupt comes out of `run` once, ends what it is to end, and nothing else is said."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from harness import interpreters

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
from {lib} import Channel, process, run

@process
{a}def interrupted(cout):
    {w}cout(1)
    raise {exception}

@process
{a}def reader(cin):
    {a}for v in cin:
        print(v)

c = Channel("c")
try:
    run(interrupted(c.write), reader(c.read))
except {exception}:
    print("{exception}")
"""


@pytest.mark.parametrize("exception", ["KeyboardInterrupt", "SystemExit"])
@pytest.mark.parametrize("lib", ["uapycsp", "upycsp", "upycsp.aio"])
def test_an_interrupt_of_a_process_is_told_once(lib, exception):
    words = ("", "") if lib == "upycsp" else ("async ", "await ")
    program = PROGRAM.format(lib=lib, exception=exception, a=words[0], w=words[1])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=180
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["1", exception]


# Who does not wait when the interrupt comes: they would meet, or wait, long after it.
COMPUTES = """
import time
from upycsp import Channel, process, run

log = []

def computes():
    t = time.time()
    while time.time() - t < 1.5:
        pass

@process
def reader(cins, again):
    computes()
    log.append("computed")
    cins[0]()
    log.append("read")

@process
def writer(cout, again):
    computes()
    log.append("computed")
    cout(1)
    log.append("wrote")

@process
def server(cin):
    computes()
    log.append("computed")
    cin()
    log.append("read")

c, d, again = Channel("c"), Channel("d"), Channel("again")
try:
    print("GO")
    run(reader([c.read], again.write), writer(c.write, again=again.read), server(cin=d.read))
except KeyboardInterrupt:
    print("interrupted")
print(c.poisoned, d.poisoned, again.poisoned)
time.sleep(1.8)
print(log == 3 * ["computed"] or log)
print(run(reader([c.read], None)))
"""


@pytest.mark.parametrize("interpreter", ["micropython", "cpython"])
def test_who_computes_when_an_interrupt_comes_ends_at_its_next_operation(interpreter):
    command = interpreters.command(interpreter, "2M")
    if not command:
        pytest.skip("no " + interpreter)
    with subprocess.Popen(
        [*command, "-c", COMPUTES], cwd=ROOT, env=interpreters.environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as running:
        assert running.stdout.readline() == "GO\n"
        # Not before the main thread waits: the rest of its output tells whether it has begun.
        wait_for_threads(running.pid, 4)
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=180)[0]
    assert said.splitlines() == ["interrupted", "True True True", "True", "None"], said


def wait_for_threads(pid, n):
    if not os.path.exists("/proc/self/task"):
        pytest.skip("no /proc tells how many threads there are")
    while len(os.listdir("/proc/{}/task".format(pid))) < n:
        pass


# What a signal's handler raises, here a time limit, is no process's exception.
LIMITED = """
import signal, sys
from upycsp import Alternative, Channel, Timer, process, run

class Late(Exception):
    pass

def late(*_):
    raise Late

@process
def writer(cout):
    while True:
        cout(1)

@process
def reader(cin):
    while True:
        cin()
        Alternative(Timer(ms=5)).select()

signal.signal(signal.SIGALRM, late)
for error in (Late, SystemExit):
    Late = error
    c = Channel("c")
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        run(writer(c.write), reader(c.read))
    except error:
        print(error.__name__, c.poisoned)
print(len(list(sys.modules["upycsp.process"]._alive.each())))
"""


def test_what_a_signal_raises_in_run_ends_the_network():
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], cwd=ROOT, capture_output=True, text=True, timeout=180
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["Late True", "SystemExit True", "0"]
