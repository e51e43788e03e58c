"""Runs programs of uapycsp under every order of those ready and every place of a cancellation.

    python tests/schedules/tasks.py                     all programs, as the tests do
    python tests/schedules/tasks.py --times 100         a hundred times as many schedules
    python tests/schedules/tasks.py pair timers         these programs
    python tests/schedules/tasks.py pair --decisions 0,1,1    one schedule; prints its history
    python tests/schedules/tasks.py random:7 --seed 5   a random one, of a program made up from 7

A schedule is a list of decisions: where n go on, or may be cancelled, a number below n. All zeros
are asyncio's own order without a cancellation. Deterministic: the same list is the same run.
"""

import argparse
import pathlib
import re
import sys
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
for place in str(ROOT), str(ROOT / "tests" / "schedules"):
    if place not in sys.path:
        sys.path.insert(0, place)

sys.path.append(str(ROOT / "tools"))

import commands  # noqa: E402
from tasks_check import Failure  # noqa: E402
from tasks_decisions import Decisions, given, text  # noqa: E402
from tasks_loop import Schedule  # noqa: E402
from tasks_programs import MANY, PROGRAMS  # noqa: E402
from tasks_random import named  # noqa: E402

LIMIT = 800  # schedules of a program that has too many; of others: all
RANDOM = 400  # random programs in a block
EACH = 2  # random schedules of each
BLOCKS = 8


class Broken(AssertionError):
    """A schedule breaks a rule: what, how to see it again, and its history."""

    def __init__(self, name, failure, decisions, events):
        self.again = "python tests/schedules/tasks.py %s --decisions %s" % (name, decisions)
        AssertionError.__init__(self, "%s\n    %s\n%s" % (failure, self.again, text(events)))


def run(name, decisions):
    """One schedule of a program: its history. Broken if it breaks a rule."""
    return run_world(name, decisions).events


def run_world(name, decisions):
    """As run; the whole world."""
    s = Schedule(named(name, PROGRAMS), decisions)
    try:
        s.run()
    except Failure as er:
        raise Broken(name, er, decisions, s.world.events) from None
    return s.world


def explore(name, times=1):
    """Schedules of a program: how many, and whether these are all.

    Of a program that has too many half are the first of a depth-first search, half random.
    """
    limit = int(LIMIT * times) if name in MANY else 1000000
    n = 0
    start = ()
    while start is not None and n < limit // 2:
        decisions = Decisions(start)
        run(name, decisions)
        n += 1
        start = decisions.next()
    if start is not None:
        for seed in range(limit - n):
            run(name, Decisions((), seed))
        n = limit
    return n, start is None


def explore_random(block, times=1):
    """Random schedules of a block of random programs; how many."""
    n = int(RANDOM * times)
    for number in range(block * n, block * n + n):
        for seed in range(EACH):
            run("random:%d" % number, Decisions((), seed))
    return n * EACH


def has_children(name):
    """Whether a program has more than plain processes and operations."""
    words = "parallel", "sequence", "gather", "spawn", "limit", "keep", "fail", "start"
    return any("'%s'" % word in str(PROGRAMS[name]) for word in words)


def plain(events):
    """A history in the words of histories.py: a cancel that meets no open operation left out."""
    kept = []
    open_ones = {}  # process -> whether its operation was cancelled
    for e in events:
        if e[0] == "call":
            open_ones[e[1]] = False
        elif e[0] == "return":
            del open_ones[e[1]]
        elif e[0] == "cancel":
            if open_ones.get(e[1], True):
                continue
            open_ones[e[1]] = True
        elif e[0] != "parked":
            continue
        kept.append(e)
    return kept


def _decisions(words):
    try:
        return given(words)
    except ValueError:
        raise argparse.ArgumentTypeError("takes numbers with commas, not {!r}".format(words))


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("programs", nargs="*")
    p.add_argument("--decisions", type=_decisions, default="")
    p.add_argument("--seed", type=int)
    p.add_argument("--times", type=commands.whole(1), default=1)
    args = p.parse_args()
    for name in args.programs:
        if name not in PROGRAMS and re.fullmatch("random:[0-9]+", name) is None:
            p.error("no program {!r}; there are: random:NUMBER {}".format(
                name, " ".join(PROGRAMS)))
    warnings.filterwarnings("ignore", "coroutine .* was never awaited")
    if args.decisions or args.seed is not None:
        for name in args.programs:
            print(text(run(name, Decisions(args.decisions, args.seed))))
        return
    total = 0
    begun = time.process_time()
    for name in args.programs or PROGRAMS:
        t = time.process_time()
        n, all_of_them = explore(name, args.times)
        total += n
        words = name, n, "all" if all_of_them else "", time.process_time() - t
        print("%-28s %7d %-3s %6.1f s" % words, flush=True)
    for block in range(0 if args.programs else BLOCKS):
        total += explore_random(block, args.times)
    print("%d schedules in %.1f s" % (total, time.process_time() - begun))


if __name__ == "__main__":
    sys.exit(commands.ended(main))
