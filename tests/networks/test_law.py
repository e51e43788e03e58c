"""The checker of the networks' logs is checked: it lets what is right pass, and nothing else."""

import ast
import copy

import pytest

from harness import interpreters
from networks import law, runner, seeded, shrink, source

# Two processes write to c0 (a buffer of 2) and c1, one reads; c0 is closed in the end.
NETWORK = {
    "channels": [2, "plain"],
    "defs": [
        {"ops": [["loop", 3, [["w", 0]]], ["poison", 0, "close"]], "propagate": True, "pass": 0,
         "hold": []},
        {"ops": [["loop", 2, [["w", 1]]]], "propagate": True, "pass": 1, "hold": []},
        {"ops": [["for", 0, None, []], ["r", 1], ["s", 0, 0, [["r", 1], ["k"]]]],
         "propagate": True, "pass": 2, "hold": []},
    ],
    "members": [["p", 0], ["p", 1], ["p", 2]],
}


def write(c, v):
    return [["w", c, v], ["+", 0]]


def read(c, v, kind="r"):
    return [[kind, c], ["+", v]]


POISONED = ["died", "PoisonException", "channel is poisoned"]


def right():
    """A result of NETWORK in which all is well."""
    first = write(0, 1) + write(0, 2) + write(0, 3) + [["poison", 0, "close"], ["end"]]
    second = write(1, 1001) + write(1, 1002) + [["end"]]
    third = read(0, 1, "f") + read(0, 2, "f") + read(0, 3, "f") + [["f", 0], ["-"]]
    third += read(1, 1001) + [["s", 0, [["r", 1], ["k"]]], ["+", 0, 1002], ["end"]]
    return {
        "outcome": ["returned", [0, 1, 2]],
        "logs": [[0, first], [1, second], [2, third]],
        "before": [[0, None], [0, None]],
        "drained": [[], []],
        "after": [[0, None, True], [0, None, False]],
    }


def judged(change, network=NETWORK):
    result = right()
    change(result)
    return "\n".join(law.violations(network, result))


def events(result, me):
    return result["logs"][me][1]


def test_a_right_result_passes():
    assert judged(lambda r: None) == ""


def test_a_value_left_in_the_channel_passes():
    def change(r):
        events(r, 2)[-2:-1] = [["+", 1, None]]
        r["drained"][1] = [1002]
        r["before"][1] = [1, None]

    assert judged(change) == ""


def test_a_lost_value_is_found():
    def change(r):
        events(r, 2)[-2:-1] = [["+", 1, None]]

    assert "c1: [1002] were written and never read" in judged(change)


def test_a_value_lost_from_the_buffer_of_a_closed_channel_is_found():
    def change(r):
        del events(r, 2)[4:6]

    assert "c0: [3] were written and never read" in judged(change)


def test_what_a_reader_or_a_poisoned_channel_drops_passes():
    for how in ("ch", "r"):

        def change(r):
            del events(r, 2)[4:6]
            events(r, 0)[-2] = ["poison", 0, how]

        assert judged(change) == ""


def test_more_dropped_than_the_buffer_holds_is_found():
    def change(r):
        del events(r, 2)[:6]
        events(r, 0)[-2] = ["poison", 0, "ch"]

    assert "c0: [1, 2, 3] were written and never read (2 may be)" in judged(change)


def test_a_doubled_value_is_found():
    def change(r):
        events(r, 2)[3] = ["+", 1]

    assert "c0: 1 was read twice" in judged(change)


def test_a_value_of_another_channel_is_found():
    def change(r):
        events(r, 2)[3] = ["+", 1001]

    assert "c0: 1001 was read by 2, and nobody wrote it there" in judged(change)


def test_what_is_no_value_at_all_is_found():
    def change(r):
        events(r, 2)[3] = ["+", None]

    assert "c0: None was read by 2, and nobody wrote it there" in judged(change)


def test_the_wrong_order_is_found():
    def change(r):
        events(r, 2)[1] = ["+", 2]
        events(r, 2)[3] = ["+", 1]

    assert "c0: 1 was read by 2 after 2" in judged(change)


def test_a_poisoned_write_that_was_read_is_found():
    def change(r):
        events(r, 0)[5:] = [POISONED]

    assert "c0: 3 was read by 2, but its write did not happen" in judged(change)


def test_poison_that_nobody_caused_is_found():
    def change(r):
        events(r, 1)[:] = [["w", 1, 1001], POISONED]
        events(r, 2)[8:] = [["r", 1], POISONED]
        r["outcome"] = ["returned", [0, None, None]]
        network["defs"][1]["propagate"] = network["defs"][2]["propagate"] = False

    network = copy.deepcopy(NETWORK)
    said = judged(change, network)
    assert "process 1 met poison that nobody caused in ['w', 1, 1001]" in said
    assert "process 2 met poison" in said


def test_poison_that_did_not_come_is_found():
    assert "c0 was poisoned or closed, and is not so in the end" in judged(
        lambda r: r["after"].__setitem__(0, [0, None, False])
    )


def test_poison_that_does_not_stay_is_found():
    def change(r):
        events(r, 2)[8:8] = read(0, 3)
        del events(r, 2)[4:6]

    assert "process 2 read c0 after it had met poison there" in judged(change)


def test_a_loser_that_happened_all_the_same_is_found():
    def change(r):
        events(r, 2)[-3:] = [["s", 0, [["r", 1], ["w", 1, 2001]]], ["+", 0, 1002], ["end"]]
        r["drained"][1] = [2001]
        r["before"][1] = [1, None]

    assert "c1: 2001 was read by afterwards, but its write did not happen" in judged(change)


def test_a_guard_behind_skip_that_was_chosen_is_found():
    def change(r):
        events(r, 2)[-3:] = [["s", 0, [["k"], ["r", 1]]], ["+", 1, 1002], ["end"]]

    assert "select passed Skip over" in judged(change)


def test_a_process_that_has_not_ended_is_found():
    assert "process 1 has not ended" in judged(lambda r: events(r, 1).pop())


def test_an_exception_that_nobody_knows_is_found():
    def change(r):
        events(r, 1)[-1] = ["died", "TypeError", "of the library"]

    assert "process 1 died of TypeError" in judged(change)


def test_a_failure_that_was_swallowed_is_found():
    def change(r):
        events(r, 1)[-1] = ["died", "Boom", "1"]

    assert "the run returned though processes died of Boom" in judged(change)


def test_an_offer_left_behind_is_found():
    assert "1 are queued after the run, 0 can be read" in judged(
        lambda r: r["before"].__setitem__(1, [1, None])
    )


def test_broken_invariants_are_found():
    assert "c1: after the run the invariants do not hold: a queue" in judged(
        lambda r: r["before"].__setitem__(1, [0, "a queue"])
    )


def test_a_result_of_another_process_is_found():
    assert "the result of p0 is that of process 1" in judged(
        lambda r: r.__setitem__("outcome", ["returned", [1, 0, 2]])
    )


# Deadlocks


def stuck(text, *logs):
    def change(r):
        r["outcome"] = ["raised", "DeadlockError", text]
        r["logs"] = [[d, log] for d, log in enumerate(logs)]
        r["after"] = [[0, None, True], [0, None, True]]

    return judged(change)


TWO = write(0, 1) + write(0, 2)


def test_a_deadlock_passes():
    text = "2 processes wait: p0 writes c0, p2 reads c1"
    assert stuck(text, TWO + [["w", 0, 3], POISONED], [["end"]], [["r", 1], POISONED]) == ""


def test_a_false_alarm_is_found():
    text = "2 processes wait: p1 writes c1, p2 reads c1"
    said = stuck(text, TWO + [["end"]], [["w", 1, 1001], POISONED], [["r", 1], POISONED])
    assert "no deadlock, c1 has a reader and a writer" in said


def test_an_alarm_though_there_is_room_or_something_to_read_is_found():
    text = "1 process waits: p0 writes c0"
    assert "no deadlock, c0 has room" in stuck(text, [["w", 0, 1], POISONED], [["end"]], [["end"]])
    text = "1 process waits: p2 reads c0"
    said = stuck(text, write(0, 1) + [["end"]], [["end"]], [["f", 0], POISONED])
    assert "no deadlock, c0 can be read" in said


def test_an_alarm_for_a_channel_that_was_closed_is_found():
    text = "1 process waits: p2 reads c0"
    said = stuck(text, [["poison", 0, "close"], ["end"]], [["end"]], [["f", 0], POISONED])
    assert "c0 was ended ({'close'}) before the deadlock" in said


def test_an_alarm_for_one_who_then_died_of_its_child_passes():
    text = "1 process waits: p2 reads c1"
    waits = [["r", 1], ["died", "Boom", "0"]]
    assert stuck(text, [["died", "Boom", "0"]], [["end"]], waits) == ""


def test_a_report_of_who_does_not_wait_is_found():
    waits = TWO + [["w", 0, 3], POISONED]
    text = "2 processes wait: p0 writes c0, p2 reads c1"
    assert "p2 did not wait for that" in stuck(text, waits, [["end"]], [["end"]])
    timer = [["s", 0, [["r", 1], ["t"]]], POISONED]
    assert "p2 did not wait for that" in stuck(text, waits, [["end"]], timer)
    assert "can't be read" in stuck("2 processes wait: somebody", waits, [["end"]], [["end"]])


# The host's side, and faults in the libraries. `seeded` has more, to be run by hand.


@pytest.fixture
def micropython():
    if interpreters.command("micropython") is None:
        pytest.skip("no MicroPython")
    interpreter = runner.Interpreter("micropython", "upycsp")
    yield interpreter
    interpreter.close()


def test_a_program_that_hangs_or_crashes_is_found(micropython, monkeypatch):
    monkeypatch.setattr(runner, "LIMIT", 1)
    with pytest.raises(runner.Gone, match="it hangs"):
        micropython.run("while True: pass")
    with pytest.raises(runner.Gone, match="ended by KeyError"):
        micropython.run("print('LOG 1')\nraise KeyError(1)")
    cpython = runner.Interpreter("cpython", "upycsp")
    with pytest.raises(runner.Gone, match="it ended with status 3"):
        cpython.run("import os\nos._exit(3)")


def test_an_interpreter_is_started_again(micropython):
    with pytest.raises(runner.Gone):
        micropython.run("nonsense")
    assert micropython.run("print('LOG [1]')", 2) == [[1], [1]]


@pytest.mark.parametrize("name,library", [
    (n, v) for n in interpreters.NAMES for v in runner.VARIANTS
])
def test_the_checked_network_runs(name, library):
    if interpreters.command(name) is None:
        pytest.skip("no MicroPython")
    interpreter = runner.Interpreter(name, library)
    try:
        found, result = runner.faults(interpreter, NETWORK)
    finally:
        interpreter.close()
    assert not found
    assert sorted(d for d, _ in result["logs"]) == [0, 1, 2]


def test_a_failing_network_is_made_as_small_as_can_be():
    def fails(network):
        ops = [op for process in network["defs"] for op in process["ops"]]
        assert all(op != ["loop", None, []] for op in ops)
        return any("['w', 0]" in str(op) for op in ops)

    network = copy.deepcopy(NETWORK)
    network["defs"][2]["ops"].append(["loop", None, [["r", 1]]])
    network["defs"].insert(0, {"ops": [], "propagate": True, "pass": 0, "hold": [["r", 1]]})
    network["members"] = [["par", [["p", 1], ["p", 2]]], ["seq", [["p", 3]]], ["p", 0]]
    small = shrink.reduced(network, fails)
    assert small["members"] == [["par", [["p", 0]]]] and len(small["channels"]) == 1
    assert [process["ops"] for process in small["defs"]] == [[["w", 0]]]


def test_a_program_keeps_to_the_syntax_of_the_boards():
    for library in runner.VARIANTS:
        for node in ast.walk(ast.parse(source.program(NETWORK, library))):
            assert not isinstance(node, (ast.JoinedStr, ast.NamedExpr, ast.AnnAssign))


@pytest.mark.parametrize("name", [
    "a buffered take leaves the waiting writer outside",
    "a value is not given back",
    "a loser's offers are not withdrawn",
])
def test_a_fault_in_a_library_is_caught(name, monkeypatch):
    if interpreters.command("micropython") is None:
        pytest.skip("no MicroPython")
    monkeypatch.setattr(runner, "LIMIT", 6)
    tried, said = seeded.hunt(name)
    assert said is not None, "not caught by {} networks".format(tried)


@pytest.mark.parametrize("name", list(seeded.FAULTS))
def test_each_fault_can_be_seeded(name, tmp_path):
    seeded.copy(tmp_path, *seeded.FAULTS[name][1:])


def test_a_fault_that_is_not_there_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        seeded.main(["no such fault"])
    assert ended.value.code == 2
    assert "no fault is named 'no such fault'; there are: " in capsys.readouterr().err
