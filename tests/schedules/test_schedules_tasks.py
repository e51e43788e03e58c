"""uapycsp under every order of those ready and with a cancellation at every await.

Here CPython's engine, in a loop whose every step is a decision (tasks_loop). Of programs that have
too many schedules 160 are run, and 1280 of 640 random programs: a fifth of what `tasks.py` runs by
hand. SCHEDULES=10 in the environment: ten times what that runs.
"""

import contextlib
import gc
import pathlib
import sys

import pytest

from harness import amounts

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import histories  # noqa: E402
import tasks  # noqa: E402
from tasks_check import Failure, conserve, follow  # noqa: E402
from tasks_decisions import Decisions, Misfit, given  # noqa: E402
from tasks_faults import FAULTS  # noqa: E402
from tasks_programs import MANY, PROGRAMS, W  # noqa: E402

TIMES = amounts.number("SCHEDULES", 0) or 0.2
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
FAULTY = [(fault.__name__, program) for fault in FAULTS for program in FAULTS[fault]]


@pytest.fixture(scope="module", autouse=True)
def rest_collected():
    """What is left where a fault was found is collected while that is no warning."""
    yield
    gc.collect()


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_schedule_of_a_program_keeps_the_rules(name):
    n, all_of_them = tasks.explore(name, TIMES)
    assert n > 10 and (all_of_them or n == tasks.LIMIT * TIMES)
    assert all_of_them or name in MANY


@pytest.mark.parametrize("block", range(tasks.BLOCKS))
def test_random_schedules_of_random_programs_keep_the_rules(block):
    assert tasks.explore_random(block, TIMES) == tasks.RANDOM * tasks.EACH * TIMES


def test_a_read_end_that_is_two_guards_may_seem_to_be_either(monkeypatch):
    choices = [("fair", ("read", "c"), ("read", "c"))] * 2
    program = dict(PROGRAMS["pair"], processes={"A": [W], "B": [W], "C": choices})
    monkeypatch.setitem(PROGRAMS, "twice", program)
    n, all_of_them = tasks.explore("twice")
    assert n > 10 and all_of_them


@pytest.mark.parametrize("fault,name", FAULTY)
def test_a_fault_is_found_and_seen_again(fault, name):
    take_out = getattr(sys.modules["tasks_faults"], fault)()
    try:
        with pytest.raises(tasks.Broken) as e:
            tasks.explore(name)
        command, decisions = e.value.again.split(" --decisions ")
        assert command == "python tests/schedules/tasks.py " + name
        with pytest.raises(tasks.Broken) as again:
            tasks.run(name, Decisions(given(decisions)))
        assert str(again.value) == str(e.value)
    finally:
        take_out()
    with contextlib.suppress(Misfit):  # without the fault it may go another way
        tasks.run(name, Decisions(given(decisions)))


def test_the_same_decisions_are_the_same_run():
    for seed in range(20):
        decisions = Decisions((), seed)
        events = tasks.run("random:7", decisions)
        assert tasks.run("random:7", Decisions((), seed)) == events
        assert tasks.run("random:7", Decisions(given(str(decisions)))) == events


def test_the_depth_first_search_meets_each_schedule_once():
    start = ()
    seen = []
    while start is not None:
        decisions = Decisions(start)
        tasks.run("two_writers", decisions)
        seen.append(tuple(d for d, _ in decisions.made))
        start = decisions.next()
    assert seen == sorted(set(seen)) and len(seen) > 100


@pytest.mark.parametrize("seed", range(20))
def test_an_altered_history_is_refused(seed):
    decisions = Decisions((), seed)
    world = tasks.run_world("two_each", decisions)
    returns = [i for i, e in enumerate(world.events) if e[0] == "return" and e[2][0] == "ok"]
    reads = [i for i in returns if isinstance(world.events[i][2][1], str)]
    for i in returns:
        for outcome in ("ok", "another value"), ("poison",), ("cancelled",):
            assert refused(world, i, ("return", world.events[i][1], outcome))
    for i in reads:
        assert refused(world, i, None)
    for i, j in zip(reads, reads[1:]):
        assert refused(world, i, ("return", world.events[i][1], world.events[j][2]))


def refused(world, i, event):
    events = list(world.events)
    events[i : i + 1] = [event] if event else []
    try:
        follow(events, world.capacities)
        conserve(events)
    except (Failure, KeyError, TypeError, ValueError):
        return True
    return False


def test_a_value_that_is_lost_doubled_or_made_up_is_seen_without_the_specification():
    calls = [("call", "A", ("write", "c", 1)), ("call", "B", ("read", "c"))]
    wrote = ("return", "A", ("ok", 0))
    for events, word in (
        ([calls[0], wrote, ("drained", None)], "lost"),
        ([calls[1], ("return", "B", ("ok", "x"))], "never written"),
    ):
        with pytest.raises(Failure, match=word):
            conserve(events)
    twice = [("call", "A", ("write", "c", "v")), wrote]
    twice += 2 * [calls[1], ("return", "B", ("ok", "v"))]
    with pytest.raises(Failure, match="twice"):
        conserve(twice)


# The step by step check and the search for an explanation agree on what the programs do.
@pytest.mark.parametrize("name", [n for n in PROGRAMS if not tasks.has_children(n)])
def test_the_specification_s_own_search_explains_the_histories(name):
    for seed in range(10):
        world = tasks.run_world(name, Decisions((), seed))
        assert histories.check(tasks.plain(world.events), world.capacities) is None
