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

from harness import amounts, interpreters
from networks import generate, runner, shrink, source

MORE = amounts.number("NETWORKS", 0)
EXAMPLES = MORE or 160
SEED = amounts.number("NETWORKS_SEED", time.time_ns() % 10**6 if MORE else 1)
RUNS = 2  # of each network
RUNS_AFTER = 8  # of each, once one has failed
GROWTH = {"micropython": 48 * 1024, "cpython": 2000}  # bytes, blocks

COMBINATIONS = [(i, v) for i in interpreters.NAMES for v in runner.VARIANTS]


class Failed(AssertionError):
    def __init__(self, network):
        self.network = network


class Trial:
    """The networks of one interpreter and library: what failed, and what happened in all."""

    def __init__(self, interpreter):
        self.interpreter = interpreter
        self.failed = {}  # program -> what was wrong
        self.tried = 0
        self.first = None  # how many had been tried when the first failed
        self.outcomes = collections.Counter()

    def __call__(self, network):
        if self.fails(network):
            raise Failed(network)

    def fails(self, network):
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
        return text in self.failed

    def hunt(self, networks, number, examples):
        """Try so many networks. None, or the text of what failed, as small as it was made."""
        ours = settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
        )

        def one(network):
            self(network)

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", errors.HypothesisWarning)
                seed(number)(ours(given(networks)(one)))()
        except Failed as er:
            return self.report(shrink.reduced(er.network, self.fails))
        return None

    def report(self, network):
        text = source.program(network, self.interpreter.library)
        name = "network-{}-{}.py".format(self.interpreter.name, self.interpreter.library)
        folder = pathlib.Path(os.environ.get("NETWORKS_FOLDER") or tempfile.gettempdir())
        found = "\n".join(self.failed[text])
        (folder / name).write_text("# " + found.replace("\n", "\n# ") + "\n" + text, "utf-8")
        how = "seed {}, found as number {}, {} runs of each; to be run with {}: {}".format(
            SEED, self.first, RUNS, self.interpreter.name, folder / name)
        return "{}\n{}\n\n{}".format(found, how, text)


@pytest.mark.parametrize("name,library", COMBINATIONS)
@pytest.mark.timeout(0)  # a hang is the interpreter's, and found there
def test_the_law_holds(name, library, capsys):
    if interpreters.command(name) is None:
        pytest.skip("no MicroPython")
    interpreter = runner.Interpreter(name, library)
    trial = Trial(interpreter)
    number = SEED * 10 + COMBINATIONS.index((name, library))
    try:
        # What threads still hold at the moment comes and goes; a leak grows with the networks.
        for stage in range(3):
            strategy = generate.networks(library == "uapycsp")
            text = trial.hunt(strategy, number + stage * len(COMBINATIONS), 2**stage * EXAMPLES)
            if text is not None:
                pytest.fail(text, pytrace=False)
            grown = growth(interpreter.memory)
            if grown < GROWTH[name]:
                break
        assert grown < GROWTH[name], "the heap grew by {}: {}".format(grown, interpreter.memory)
    finally:
        interpreter.close()
    if trial.tried >= 40:  # of fewer chance may leave one out
        assert trial.outcomes["returned"] > trial.tried // 8, trial.outcomes
        assert trial.outcomes["raised DeadlockError"] > trial.tried // 8, trial.outcomes
    if MORE:
        with capsys.disabled():
            print("\n{} {} seed {}: {} networks, {} runs each, {}".format(
                name, library, SEED, trial.tried, RUNS, dict(trial.outcomes)))


def growth(memory):
    """By how much the least in use has grown since the first third, in which much is loaded."""
    third = len(memory) // 3
    if third < 10:
        return 0
    return min(memory[-third:]) - min(memory[third : 2 * third])
