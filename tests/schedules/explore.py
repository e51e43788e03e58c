"""Explores the schedules of programs; prints those that fail, and how to see them again.

    python tests/schedules/explore.py                      all programs, as the tests do
    python tests/schedules/explore.py two_writers --bound 3
    python tests/schedules/explore.py two_writers --replay 12:3,17:2 --verbose
    python tests/schedules/explore.py --lines              with points between all lines
    python tests/schedules/explore.py --more 20            20 times as many by chance, or 0.5
    python tests/schedules/explore.py --most 800           of each search no more
"""

import argparse
import contextlib
import os
import sys
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
sys.path.append(os.path.join(os.path.dirname(TESTS), "tools"))

import commands  # noqa: E402
from schedules import faults  # noqa: E402


def as_switches(text):
    if text == "none":
        return []
    try:
        return [(int(step), int(ident)) for step, ident in [s.split(":") for s in text.split(",")]]
    except ValueError:
        raise argparse.ArgumentTypeError(
            "takes what a failure has printed, not {!r}".format(text))


arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
arguments.add_argument("programs", nargs="*", default=[])
arguments.add_argument("--bound", type=commands.whole(0),
                       help="pre-emptions, in place of the program's")
arguments.add_argument("--lines", action="store_true", help="points between lines, too")
arguments.add_argument("--more", type=commands.times, default=os.environ.get("SCHEDULES", "1"),
                       help="times as many by chance")
arguments.add_argument("--most", type=commands.whole(1),
                       help="schedules of one depth-first search")
arguments.add_argument("--replay", type=as_switches,
                       help="a schedule, as a failure has printed it")
arguments.add_argument("--fault", help="a fault of faults.py to be seeded")
arguments.add_argument("--verbose", action="store_true", help="with --replay: all points")
args = arguments.parse_args()
if args.replay is not None and len(args.programs) != 1:
    arguments.error("--replay is for one program")
if args.fault:
    if args.fault not in faults.FAULTS:
        arguments.error("no fault {!r}; there are: {}".format(
            args.fault, "; ".join(faults.FAULTS)))
    faults.seed(args.fault)  # before the library is loaded

from schedules import world  # noqa: E402
for module in ("channels", "ends", "together", "processes", "networks", "threads", "meetings",
               "extended", "virtual", "guards", "immune",
               "interrupted"):
    __import__("schedules.programs_" + module)
from schedules.programs import PROGRAMS  # noqa: E402
from schedules.histories import text  # noqa: E402
from schedules.strategies import Chance, DepthFirst, Replay  # noqa: E402

HERE = os.path.relpath(os.path.abspath(__file__), world.ROOT)


class Failure(Exception):
    """A schedule that should not be."""


def command(program, switches):
    text = "python %s %s --replay %s" % (HERE, program.name, as_text(switches))
    if args.lines:
        text += " --lines"
    return text + (' --fault "%s"' % args.fault if args.fault else "")


def as_text(switches):
    return ",".join(["%d:%d" % s for s in switches]) or "none"


def attempt(program, strategy, known, how):
    """Run one schedule. Raises Failure."""
    problem, w = world.run(program.build, strategy, known)
    if problem:
        again = command(program, strategy.switches)
        raise Failure("%s, %s:\n%s\nagain: %s" % (program.name, how, problem, again))


def depth_first(program, bound, known):
    """All schedules with at most `bound` pre-emptions; how many these are, and if it is all."""
    s = DepthFirst(bound)
    n = 1
    while True:
        how = "schedule %d of those with at most %d pre-emptions" % (n, bound)
        attempt(program, s, known, how)
        if not s.advance():
            return n, True
        if n == args.most:
            return n, False
        n += 1


def by_chance(program, count, known):
    """Schedules by the seeds from 0 on; how many of them were different."""
    attempt(program, Replay([]), known, "the plain schedule")
    points = world.scheduler.steps
    seen = set()
    for seed in range(count):
        s = Chance(seed, points)
        attempt(program, s, known, "seed %d" % seed)
        seen.add(tuple(s.switches))
    return len(seen)


def explore(program):
    """All that belongs to a program; prints a line, returns the number of schedules."""
    known = {}
    start = time.process_time()
    bound = program.line_bound if args.lines else program.bound
    bound = bound if args.bound is None else args.bound
    n = m = 0
    words = []
    if bound is not None:
        for b in range(bound + 1):  # the simplest failure first
            n, ended = depth_first(program, b, known)
        words.append("%s%d with up to %d pre-emptions" % ("" if ended else "first ", n, bound))
    chance = int((program.line_chance if args.lines else program.chance) * args.more)
    if chance:
        m = by_chance(program, chance, known)
        words.append("%d by chance" % m)
    seconds = time.process_time() - start
    print(
        "%-42s %6d schedules (%s), %d histories, %.1f s"
        % (program.name, n + m, ", ".join(words), len(known), seconds)
    )
    return n + m


def replay(program, switches):
    s = Replay(switches)
    problem, w = world.run(program.build, s, {}, args.verbose)
    print(text(w.history))
    print(problem or "nothing is wrong")
    return 1 if problem else 0


def main():
    if hasattr(os, "sched_setaffinity"):
        # One thread runs at a time; from one processor to another the baton takes longer.
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {allowed[os.getpid() % len(allowed)]})
        # Who gets the baton does not run before he who gave it waits, and the GIL is free.
        with contextlib.suppress(OSError):  # musl has none
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    if args.lines:
        folders = [os.path.join(world.ROOT, name) + os.sep for name in world.OWN]
        world.scheduler.trace_lines(tuple(folders))
    for name in args.programs:
        if name not in PROGRAMS:
            arguments.error("no program {!r}; there are: {}".format(name, " ".join(PROGRAMS)))
    chosen = [PROGRAMS[name] for name in args.programs or PROGRAMS]
    if args.replay is not None:
        return replay(chosen[0], args.replay)
    total = 0
    try:
        for p in chosen:
            total += explore(p)
    except Failure as er:
        print(er)
        return 1
    print("%d schedules, %.1f s of processor time" % (total, time.process_time()))
    return 0


if __name__ == "__main__":
    sys.exit(commands.ended(main))
