"""A child of os.fork() may use uthreading, and upycsp if it was not forked within a run."""

import os
import subprocess

import pytest

from harness import interpreters, patience

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system knows no fork")

HEAD = """
import os, signal, sys, time
import uthreading
from uthreading import kept

def forked(f):
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        signal.alarm(120)  # instead of hanging
        f()
        sys.exit()
    assert os.waitpid(pid, 0)[1] == 0
"""
# Here in the parent threads are idle, wait, hold locks and are to end before the program may.
UTHREADING = HEAD + """
def works():
    done = []
    threads = [lib.Thread(target=done.append, args=(i,)) for i in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    lib.Timer(0.01, done.append, (3,)).start()
    while len(done) < 4:
        time.sleep(0.001)
    assert sorted(done) == [0, 1, 2, 3]
    assert lib.Event().wait(0.01) is False

def in_child(me=None):
    main = lib.main_thread()
    assert main is (me or lib.current_thread()) and main.is_alive()
    assert lib.enumerate() == [main]
    assert not waits.is_alive()
    waits.join()
    works()

for lib in (uthreading, __import__("threading")):
    works()
    gate = lib.Event()
    waits = lib.Thread(target=gate.wait, args=(600,))
    waits.start()
    forked(in_child)
    def forks():
        me = lib.current_thread()
        pid = os.fork()
        if not pid:
            signal.alarm(120)
            in_child(me)
            os._exit(0)
        ends.append(os.waitpid(pid, 0)[1])
    ends = []
    t = lib.Thread(target=forks)
    t.start()
    t.join()
    assert ends == [0]
    assert waits.is_alive() and waits in lib.enumerate()
    gate.set()
    waits.join()
    works()
"""
# In the child each of the library's locks may have been held by a thread that is gone.
HELD = HEAD + """
from uthreading import clock, report
import upycsp.wait
from upycsp import Channel, channel, run  # with what a fork does

def holds(lock):
    with lock:
        begun.release()
        end.acquire()

def in_child():
    assert not uthreading.Event().wait(0.01)
    t = uthreading.Thread(target=lambda: 1 / 0)
    t.start()
    t.join()
    assert Channel().read.channel().write is not None

for lock in (clock._lock, report._printing):
    begun, end = kept.allocate_lock(), kept.allocate_lock()
    begun.acquire(), end.acquire()
    kept.start(lambda: holds(lock))
    begun.acquire()
    forked(in_child)
    end.release()
for lock in (kept.lock, upycsp.wait.lock, channel.making):  # these are waited for
    begun, end = kept.allocate_lock(), kept.allocate_lock()
    begun.acquire(), end.acquire()
    kept._start_new_thread(holds, (lock,))
    begun.acquire()
    kept._start_new_thread(lambda: (time.sleep(0.05), end.release()), ())
    forked(in_child)
"""
UPYCSP = HEAD + """
from upycsp import Alternative, Channel, DeadlockError, Spawn, Timer, process, run

@process
def counts(cout, n):
    for i in range(n):
        cout(i)
    cout.poison()

@process
def adds(cin):
    alt = Alternative(cin, Timer(ms=10000))
    return sum([alt.select()[1] for i in range(4)])

@process
def reads(cin):
    cin()

def network():
    ch = Channel("ch")
    assert run(counts(ch.write, 4), adds(ch.read))[1] == 6

def works():
    network()
    try:
        run(reads(Channel("nobody's").read))
    except DeadlockError as er:
        assert "nobody's" in str(er)
    else:
        assert False
    network()

network()
forked(works)  # the watchdog still looks
ch = Channel("spawned", external=True)
h = Spawn(reads(ch.read))
begun = Channel("begun")
Spawn(counts(begun.write, 1))
forked(works)
forked(lambda: forked(works))
ch.write(1)
h.join()
works()
"""


@pytest.mark.parametrize("script", [UTHREADING, HELD, UPYCSP],
                         ids=["uthreading", "held", "upycsp"])
def test_a_child_of_fork_goes_on(script):
    done = patience.run(
        # From 3.12 on CPython warns of a fork where there are threads.
        [*interpreters.command("cpython"), "-W", "ignore", "-c", script],
        capture_output=True,
        cwd=interpreters.ROOT,
        env=interpreters.environment(),
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    if script is HELD:
        assert done.stderr.count("Traceback") == done.stderr.count("ZeroDivisionError") == 5
    else:
        assert done.stderr == ""
