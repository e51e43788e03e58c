"""Explores the schedules of programs; prints those that fail, and how to see them again.

    python tests/schedules/explore.py                      all programs, as the tests do
    python tests/schedules/explore.py two_writers --bound 3
    python tests/schedules/explore.py two_writers --replay 12:3,17:2 --verbose
"""

import argparse
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from schedules import world  # noqa: E402
from schedules import programs_channels, programs_processes, programs_threads  # noqa: E402, F401
from schedules.programs import PROGRAMS  # noqa: E402
from schedules.spec import text  # noqa: E402
from schedules.strategies import Chance, DepthFirst, Replay  # noqa: E402

HERE = os.path.relpath(os.path.abspath(__file__), world.ROOT)


class Failure(Exception):
    """A schedule that should not be."""


def command(program, switches, fault):
    text = "python %s %s --replay %s" % (HERE, program.name, as_text(switches))
    return text + (" --fault " + fault if fault else "")


def as_text(switches):
    return ",".join(["%d:%d" % s for s in switches]) or "none"


def as_switches(text):
    if text == "none":
        return []
    return [tuple([int(n) for n in s.split(":")]) for s in text.split(",")]


def attempt(program, strategy, known, fault, how):
    """Run one schedule; its World. Raises Failure."""
    problem, w = world.run(program.build, strategy, known)
    if problem:
        again = command(program, strategy.switches, fault)
        raise Failure("%s, %s:\n%s\nagain: %s" % (program.name, how, problem, again))
    return w


def depth_first(program, bound, known, fault, most=None):
    """All schedules with at most `bound` pre-emptions; (how many, whether these are all)."""
    s = DepthFirst(bound)
    n = 0
    while True:
        n += 1
        how = "schedule %d of those with at most %d pre-emptions" % (n, bound)
        attempt(program, s, known, fault, how)
        if not s.advance():
            return n, True
        if most is not None and n >= most:
            return n, False


def by_chance(program, first, count, known, fault):
    attempt(program, Replay([]), known, fault, "the plain schedule")
    points = world.scheduler.steps
    for seed in range(first, first + count):
        attempt(program, Chance(seed, points), known, fault, "seed %d" % seed)
    return count


def explore(program, more=1, bound=None, fault=None):
    """All that belongs to a program; prints a line, returns the number of schedules."""
    known = {}
    start = time.process_time()
    n = 0
    words = []
    bound = program.bound if bound is None else bound
    if bound is not None:
        for b in range(bound + 1):
            n, _ = depth_first(program, b, known, fault)
        words.append("%d with up to %d pre-emptions" % (n, bound))
    chance = program.chance * more
    if chance:
        by_chance(program, 0, chance, known, fault)
        words.append("%d by chance" % chance)
    print(
        "%-28s %7d schedules (%s), %d histories, %.1f s"
        % (program.name, n + chance, ", ".join(words), len(known), time.process_time() - start)
    )
    return n + chance


def replay(program, switches, verbose):
    s = Replay(switches)
    problem, w = world.run(program.build, s, {}, verbose)
    print(text(w.history))
    print(problem or "nothing is wrong")
    return 1 if problem else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", default=[])
    parser.add_argument("--bound", type=int)
    parser.add_argument("--more", type=int, default=int(os.environ.get("SCHEDULES", "1")))
    parser.add_argument("--replay")
    parser.add_argument("--fault")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    if args.fault:
        from schedules import faults

        faults.FAULTS[args.fault].seed()
    chosen = [PROGRAMS[name] for name in args.programs or PROGRAMS]
    if args.replay:
        return replay(chosen[0], as_switches(args.replay), args.verbose)
    total = 0
    try:
        for p in chosen:
            total += explore(p, args.more, args.bound, args.fault)
    except Failure as er:
        print(er)
        return 1
    print("%d schedules, %.1f s of processor time" % (total, time.process_time()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
