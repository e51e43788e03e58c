"""An interrupt comes out of `run` once, ends what it is to end, and nothing else is said."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import patience

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
    done = patience.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=180
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["1", exception]


# Who does not wait when the interrupt comes: they would meet, or wait, long after it.
COMPUTES = """
import sys, time
from upycsp import Channel, process, run

log = []

def computes():
    log.append("computes")
    while "interrupted" not in log:
        pass
    log.append("computed")

@process
def reader(cins, again):
    computes()
    cins[0]()
    log.append("read")

@process
def writer(cout, again):
    computes()
    cout(1)
    log.append("wrote")

@process
def server(cin):
    computes()
    cin()
    log.append("read")

@process(propagate=False)
def bystander(cin):
    computes()

@process
def tells():
    while log.count("computes") < 4:
        time.sleep(0.01)
    print("GO", flush=True)

def chans(*names):
    return [Channel(name) for name in names]

c, d, again, other = chans("c", "d", "again", "other")
try:
    run(reader([c.read], again.write), writer(c.write, again=again.read), server(cin=d.read),
        bystander(other.read), tells())
except KeyboardInterrupt:
    print("interrupted")
print(c.poisoned, d.poisoned, again.poisoned, other.poisoned)
log.append("interrupted")
alive = sys.modules["upycsp.process"]._alive
while not alive.is_empty():
    time.sleep(0.01)
print(sorted(log) == sorted(4 * ["computes", "computed"] + ["interrupted"]) or log)
print(run(reader([c.read], None)))
"""


# Not on MicroPython: that port may be in the middle of a collection, which waits for the thread
# that the interrupt has taken away.
def test_who_computes_when_an_interrupt_comes_ends_at_its_next_operation():
    with subprocess.Popen(
        [sys.executable, "-c", COMPUTES], cwd=ROOT, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as running:
        try:
            assert running.stdout.readline() == "GO\n"
            running.send_signal(signal.SIGINT)
            said = running.communicate(timeout=180)[0]
        finally:
            running.kill()
    assert said.splitlines() == ["interrupted", "True True True False", "True", "None"], said


# What a signal's handler raises, here a time limit, is no process's exception.
LIMITED = """
import signal, sys, time
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
@process
def ends(cin):
    cin.poison()

c = Channel("c")
run(writer(c.write), ends(c.read))  # which loads all
for error in (Late, SystemExit):
    Late = error
    c = Channel("c")
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        run(writer(c.write), reader(c.read))
    except error:
        print(error.__name__, c.poisoned)
alive = sys.modules["upycsp.process"]._alive
while not alive.is_empty():
    time.sleep(0.01)
print("ended")
"""


def test_what_a_signal_raises_in_run_ends_the_network():
    done = patience.run(
        [sys.executable, "-c", LIMITED], cwd=ROOT, capture_output=True, text=True, timeout=180
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["Late True", "SystemExit True", "ended"]


# What it raises while a member is started is none's failure to start, if it is to end all.
STARTING = """
import sys, time
from uthreading import kept
from upycsp import Channel, process, run

starts = []
plain_start = kept.start

def start(*args):
    starts.append(1)
    if len(starts) == 4:  # the first is the watchdog's
        raise SystemExit(7)
    return plain_start(*args)

@process
def waits(cin):
    cin()

chans = [Channel(name) for name in "abc"]
kept.start = start
try:
    run(*[waits(ch.read) for ch in chans])
except SystemExit as er:
    print(er.code, [ch.poisoned for ch in chans])
alive = sys.modules["upycsp.process"]._alive
while not alive.is_empty():
    time.sleep(0.01)
print("ended")
"""


def test_what_ends_the_start_of_a_member_ends_those_started():
    done = patience.run(
        [sys.executable, "-c", STARTING], cwd=ROOT, capture_output=True, text=True, timeout=180
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["7 [True, True, True]", "ended"]
