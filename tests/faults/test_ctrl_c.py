"""Ctrl-C at random moments: `run` raises KeyboardInterrupt, all end, and the next `run` works.

How soon is counted, not timed: the library sleeps no more than half a second till then in all,
though a timer has an hour to go or a thread does not end.

On CPython it is SIGINT. MicroPython gets it as a board does, which only notes it and raises
between two bytecodes of the main thread; with SIGINT the Unix port jumps out of whatever it does,
so there it is sent only while the main thread waits. The moments come from a seed.
"""

import os
import random
import re
import signal
import subprocess
import time

import pytest
from board import wheel
from harness import interpreters
from harness.patience import Patience

from faults import support

TIMES = 40 if support.FULL else 8
NETWORKS = ("busy", "buffered", "idle", "choices", "nests", "computing", "dozing",
            "guarded")
VARIANTS = ("uapycsp", "upycsp", "upycsp.aio") if support.FULL else ("uapycsp", "upycsp")


def threads_of(pid):
    """{thread: (its state, how often it gave up a processor)} of a process."""
    threads = {}
    for thread in os.listdir("/proc/{}/task".format(pid)):
        with open("/proc/{}/task/{}/status".format(pid, thread)) as file:
            lines = dict(line.split(":\t", 1) for line in file if ":\t" in line)
        threads[int(thread)] = lines["State"][0], lines["voluntary_ctxt_switches"]
    return threads


def wait_until_asleep(pid):
    """Until no thread of a process runs, and its main one has slept for 50 ms at a stretch."""
    after = {}
    patience = Patience(20)
    while patience.left() > 0:
        try:
            before = threads_of(pid)
            time.sleep(0.05)
            after = threads_of(pid)
        except OSError:  # a thread has ended meanwhile
            continue
        states = {state for state, _ in [*before.values(), *after.values()]}
        if states == {"S"} and before[pid] == after[pid]:
            return
    raise support.Silent("its threads never slept: {}".format(after))


def interrupt(words, number, seed, ready=lambda pid: None, longest=0.02):
    """Runs ctrlc.py and interrupts it after each GO, as soon as ready(its process) returns and a
    moment more; its status and what it said at last."""
    moments = random.Random(seed)
    process = subprocess.Popen(
        words,
        cwd=str(interpreters.ROOT),
        env=interpreters.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        said = []
        ignored = False
        while True:
            line = support.line_of(process, 20, said)
            said.append(line)
            if line == "GO":
                ready(process.pid)
                time.sleep(moments.random() * longest)
                os.kill(process.pid, number)
            elif line.startswith("Exception ignored in"):
                ignored = True
            elif ignored and line.startswith("KeyboardInterrupt"):
                # CPython was in a callback that can raise nothing, and has dropped it.
                ignored = False
                os.kill(process.pid, number)
            elif not line:
                return process.wait(60), [text for text in said if text not in ("GO", "OK")]
    except support.Silent:
        process.send_signal(signal.SIGABRT)  # CPython says then where each thread is
        raise support.Silent(process.stdout.read().decode("utf-8", "replace")[-4000:])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def script(variant, network, how, folder, times=TIMES):
    words = [str(support.HERE / "ctrlc.py"), variant, network, str(times), how]
    return words + support.paths(variant, folder)


def expect(result):
    status, said = result
    assert status == 0 and "DONE" in said, "\n".join(said)[-2000:]
    assert not any("dropped" in line for line in said)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_on_cpython_an_interrupt_at_any_moment_leaves_nothing(tmp_path, variant, network):
    words = [interpreters.cpython(), "-u", *script(variant, network, "", tmp_path)]
    expect(interrupt(words, signal.SIGINT, network))


@pytest.mark.parametrize("network", [name for name in NETWORKS if name != "dozing"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_in_virtual_time_an_interrupt_at_any_moment_leaves_nothing(tmp_path, variant, network):
    words = [interpreters.cpython(), "-u", *script(variant, network, "virtual", tmp_path)]
    expect(interrupt(words, signal.SIGINT, network))


def test_on_cpython_an_interrupt_at_each_moment_of_uapycsp_comes_out_of_run(tmp_path):
    step = 1 if support.FULL else 7
    words = [interpreters.cpython(), "-u", str(support.HERE / "moments.py"), str(step)]
    status, out = support.watch(words + support.paths("uapycsp", tmp_path), 180)
    assert status == 0, out[-2000:]
    assert int(out.split("MOMENTS")[1]) > 500


# What is interrupted, how, and how many moments it has at least.
@pytest.mark.parametrize("what, how, least", [
    ("network", "", 80),
    ("network", "virtual", 120),
    ("network", "cold", 20),
    ("network", "cold virtual", 20),
    ("failing", "", 80),
    ("failing", "virtual", 120),
    ("leaving", "virtual", 80),
    ("thread", "", 10),
    ("thread", "cold", 20),
    ("refused", "cold", 8),
    ("alarm", "", 40),
    ("alarm", "cold", 40),
])
@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != "uapycsp"])
def test_on_cpython_an_interrupt_at_each_moment_of_threads_leaves_nothing(
        tmp_path, variant, what, how, least):
    folder = support.HERE if variant != "upycsp" else tmp_path
    paths = support.paths(variant, tmp_path)
    words = [interpreters.cpython(), "-u", str(folder / "thread_moments.py"), variant, what, how]
    status, out = support.watch(words + paths, 180)
    assert status == 0, out[-2000:]
    assert int(re.search(r"^MOMENTS (\d+)$", out, re.M).group(1)) >= least


@pytest.mark.parametrize("how, network", [("poll", name) for name in NETWORKS] + [
    ("poll virtual", name) for name in ("busy", "idle", "nests")
])
# Not uapycsp: on a board an interrupt comes between any two instructions of an operation, too.
@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != "uapycsp"])
def test_on_a_board_an_interrupt_at_any_moment_leaves_nothing(tmp_path, variant, how, network):
    micropython = interpreters.micropython()
    python = micropython and wheel.interpreter(micropython)
    if not python:
        pytest.skip("only the wheel can be interrupted as a board is")
    words = [python, wheel.__file__, "-X", "heapsize=2M"]
    words += script(variant, network, how, tmp_path)
    expect(interrupt(words, wheel.SIGNAL, network))


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != "uapycsp"])
def test_a_thread_that_does_not_end_is_waited_for_half_a_second(tmp_path, variant):
    words = [interpreters.cpython(), "-u", *script(variant, "deaf", "", tmp_path, 3)]
    expect(interrupt(words, signal.SIGINT, "deaf", lambda pid: time.sleep(0.1)))


@pytest.mark.parametrize("network", ["waiting", "dozing"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_on_the_unix_port_an_interrupt_while_all_wait_leaves_nothing(tmp_path, variant, network):
    micropython = interpreters.micropython()
    if not micropython:
        pytest.skip("no MicroPython")
    words = [micropython, "-X", "heapsize=2M", *script(variant, network, "", tmp_path)]
    if not os.path.exists("/proc/self/task"):
        pytest.skip("no /proc tells whether a thread sleeps")
    expect(interrupt(words, signal.SIGINT, network, wait_until_asleep))


@pytest.mark.parametrize("variant", VARIANTS)
def test_on_the_unix_port_an_interrupt_in_virtual_time_leaves_nothing(tmp_path, variant):
    micropython = interpreters.micropython()
    if not micropython or not os.path.exists("/proc/self/task"):
        pytest.skip("no MicroPython, or no /proc tells whether a thread sleeps")
    words = [micropython, "-X", "heapsize=2M", *script(variant, "waiting", "virtual", tmp_path)]
    expect(interrupt(words, signal.SIGINT, "waiting", wait_until_asleep))


