"""A short soak of each library and of both together; and the soak finds what it is made to do."""

import pathlib
import subprocess
import sys

import pytest
from harness import interpreters, patience

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "soak")]

import soak  # noqa: E402
from ledger import SHIFT, Chance, Ledger, Loss  # noqa: E402

SECONDS = 20
needs_micropython = pytest.mark.skipif(not interpreters.micropython(), reason="needs MicroPython")


def run_soak(*words):
    """Runs the soak as `make soak` does; its exit status and what it printed."""
    done = patience.run(
        [sys.executable, str(ROOT / "tools" / "soak.py"), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
    )
    return done.returncode, done.stdout


@needs_micropython
@pytest.mark.parametrize("library", soak.LIBRARIES)
def test_many_networks_lose_nothing_and_leave_nothing(library, tmp_path):
    log = tmp_path / "soak.log"
    length = ("--seconds", str(SECONDS), "--looks", str(soak.LEAST_LOOKS))
    status, text = run_soak("--libs", library, *length, "--log", str(log))
    assert status == 0, text
    assert "no fault" in text.splitlines()[-1]
    looks = [line for line in log.read_text().splitlines() if " networks, heap " in line]
    assert len(looks) >= soak.LEAST_LOOKS, text


@pytest.mark.parametrize("library", soak.LIBRARIES)
def test_the_same_networks_run_on_cpython(library):
    status, text = run_soak("--libs", library, "--seconds", "2", "--interpreter", "cpython")
    assert status == 0, text


# What it must find


# A fault that leaves no trace in the figures takes as long as the limit to be found.
QUICK = ("--look-ms", "100", "--looks", "12", "--limit", "4", "--seconds")


@needs_micropython
@pytest.mark.parametrize(
    "fault, library, said",
    [
        ("loss", "upycsp", "Loss loses: got 5 of writer 0 after 3"),
        ("loss", "uapycsp", "Loss loses: got 5 of writer 0 after 3"),
        ("stuck", "upycsp", "reads sticks"),
        ("stuck", "uapycsp", "reads sticks"),
        ("mute", "uapycsp", "hang: no sign of life"),
        ("leak", "uapycsp", "the heap grew from"),
        ("leak", "upycsp", "the heap grew from"),
        ("threads", "upycsp", "threads, 104 at most are of use"),
        ("thread", "upycsp", "threads at work after the end: 1"),
        ("thread", "both", "threads at work after the end: 1"),
        ("crash", "upycsp", "the interpreter died of SIGSEGV"),
        ("crash", "uapycsp", "the interpreter died of SIGSEGV"),
    ],
)
def test_it_finds(fault, library, said):
    # What grows or is left is found in the looks, the rest as soon as it happens, which takes a
    # slow machine as long as it takes.
    seconds = "1" if fault in ("leak", "threads", "thread") else "100"
    status, text = run_soak("--libs", library, "--seed", "5", "--fault", fault, *QUICK, seconds)
    assert status == 1, text
    assert said in text and "FAULT {}: ".format(library) in text, text
    assert "seed 5; at last there ran:" in text, text
    assert "no fault" not in text


class FakeChannel:
    def __init__(self, left=0):
        self.name = "c"
        self.left = left

    def verify(self):
        pass

    def queue_len(self):
        return self.left


def account(sent, got, readers=1, ordered=True, drops=False, left=0):
    """A ledger of one writer who sent so many, and of readers who got these."""
    book = Ledger(FakeChannel(left), 1, readers, ordered, drops)
    book.out.value += sent
    for reader, k in got:
        book.ins[reader].take(k)
    return book.settle()


def test_the_accounts_agree():
    assert account(3, [(0, 0), (0, 1), (0, 2)]) == 3
    assert account(3, [(0, 1), (1, 0), (1, 2)], 2) == 3
    assert account(3, [(0, 1), (0, 0), (1, 2)], 2, ordered=False) == 3
    assert account(3, [(0, 0)], drops=True) == 1


@pytest.mark.parametrize(
    "more",
    [
        {"sent": 2, "got": [(0, 0)]},
        {"sent": 1, "got": [(0, 0), (0, 1)]},
        {"sent": 1, "got": [(0, 0), (0, 1)], "drops": True},
        {"sent": 2, "got": [(0, 1)]},
        {"sent": 2, "got": [(0, 0), (0, 0)]},
        {"sent": 2, "got": [(0, 0), (0, 0)], "readers": 2},
        {"sent": 2, "got": [(0, 0), (1, 0)], "readers": 2},
        {"sent": 2, "got": [(0, 1), (0, 0)], "readers": 2},
        {"sent": 3, "got": [(0, 0), (1, 2)], "readers": 2, "drops": True},
        {"sent": 3, "got": [(0, 0), (1, 2)], "readers": 2},
        {"sent": 1, "got": [(0, 0)], "left": 1},
        {"sent": 1, "got": [(0, 1 << SHIFT)], "readers": 1},
    ],
)
def test_the_accounts_find_what_is_lost_doubled_or_left(more):
    with pytest.raises((Loss, IndexError)):
        account(**more)


def test_growth_is_told_from_noise():
    assert soak.growth("x", [100] * 8 + [10000], 1.2, 0) is None
    assert soak.growth("x", [100, 900, 100] * 10, 1.2, 0) is None
    assert soak.growth("x", [0, 50, 90] + [100] * 9, 1.2, 0) is None
    assert soak.growth("x", [100] * 6 + [100, 500, 900] * 2 + [900, 800, 150] * 2, 1.2, 50) is None
    assert soak.growth("x", range(100, 1000, 10), 1.2, 0) == "x grew from 400 to 700"
    assert soak.growth("x", [100] * 6 + [100, 900] * 3 + [400, 900] * 3, 1.2, 50)
    assert soak.growth("x", range(100, 1000, 10), 1.2, 500) is None


def test_chance_is_the_same_everywhere():
    chance = Chance(7)
    numbers = [chance.below(10) for _ in range(300)]
    assert numbers[:12] == [2, 5, 4, 6, 4, 7, 3, 8, 4, 6, 6, 8]
    assert all(numbers.count(i) > 10 for i in range(10))
