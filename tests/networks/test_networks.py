"""Random networks under each library and interpreter: the law holds, whatever the schedule.

    NETWORKS=10000 python -m pytest tests/networks -k micropython-upycsp    # as many, of any seed

Here they are the same each time, by the seeds below; with NETWORKS each run has seeds of its own,
which it prints. A failure is shrunk, and printed as a program that runs by itself. Threads are
scheduled as they please, so a program counts as failing if one of several runs did.
"""

import collections
import os
import pathlib
import tempfile
import time
import warnings

import pytest
from hypothesis import HealthCheck, Phase, errors, given, seed, settings

from harness import interpreters
from networks import generate, runner, source

MORE = int(os.environ.get("NETWORKS", "0"))
EXAMPLES = MORE or 400
SEED = int(os.environ.get("NETWORKS_SEED", time.time_ns() % 10**6 if MORE else "1"))
RUNS = 2  # of each network
RUNS_AFTER = 8  # of each, once one has failed
GROWTH = {"micropython": 48 * 1024, "cpython": 2000}  # bytes, blocks

COMBINATIONS = [(i, v) for i in interpreters.NAMES for v in runner.VARIANTS]


class Failed(AssertionError):
    pass


class Trial:
    """The networks of one interpreter and library: what failed, and what happened in all."""

    def __init__(self, interpreter):
        self.interpreter = interpreter
        self.failed = {}  # program -> what was wrong
        self.tried = 0
        self.first = None  # how many had been tried when the first failed
        self.outcomes = collections.Counter()

    def __call__(self, network):
        text = source.program(network, self.interpreter.library)
        # What failed once is not asked again: with threads it might not fail then.
        if text not in self.failed:
            self.tried += 1
            times = RUNS if self.first is None else RUNS_AFTER
            found, result = runner.faults(self.interpreter, network, times)
            if result:
                self.outcomes[" ".join(result["outcome"][:-1])] += 1
            if found:
                self.failed[text] = found
                self.first = self.first or self.tried
        if text in self.failed:
            raise Failed(self.report(text))

    def report(self, text):
        name = "{}-{}.py".format(self.interpreter.name, self.interpreter.library)
        folder = pathlib.Path(os.environ.get("NETWORKS_FOLDER") or tempfile.gettempdir())
        path = folder / ("network-" + name)
        # As when it was found: the watchdog of a program that runs by itself takes its time.
        found = "\n".join(self.failed[text])
        path.write_text("# " + found.replace("\n", "\n# ") + "\n" + text, encoding="utf-8")
        how = "seed {}, failed first as number {}, after {} runs at most each; run {} with {}"
        how = how.format(SEED, self.first, RUNS, path, self.interpreter.name)
        return "{}\n{}\n\n{}".format(found, how, text)


@pytest.mark.parametrize("name,library", COMBINATIONS)
@pytest.mark.timeout(0)  # a hang is the interpreter's, and found there
def test_the_law_holds(name, library, capsys):
    if interpreters.command(name) is None:
        pytest.skip("no MicroPython")
    interpreter = runner.Interpreter(name, library)
    trial = Trial(interpreter)
    number = SEED * 10 + COMBINATIONS.index((name, library))
    ours = settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.HypothesisWarning)
            seed(number)(ours(given(generate.networks(library == "uapycsp"))(trial_of(trial))))()
        grown = growth(interpreter.memory)
        assert grown < GROWTH[name], "the heap grew by {}: {}".format(grown, interpreter.memory)
    finally:
        interpreter.close()
    assert trial.outcomes["returned"] > trial.tried // 8, trial.outcomes
    assert trial.outcomes["raised DeadlockError"] > trial.tried // 8, trial.outcomes
    if MORE:
        with capsys.disabled():
            print("\n{} {} seed {}: {} networks, {} runs each, {}".format(
                name, library, SEED, trial.tried, RUNS, dict(trial.outcomes)))


def trial_of(trial):
    def one(network):
        __tracebackhide__ = True
        trial(network)

    return one


def growth(memory):
    """By how much the least in use has grown since the first third, in which much is loaded."""
    third = len(memory) // 3
    if third < 10:
        return 0
    return min(memory[-third:]) - min(memory[third : 2 * third])
