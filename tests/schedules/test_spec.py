"""The sequential specification of tests/schedules itself: right histories pass, wrong ones do not.

Each wrong history is one that a faulty library could have made.
"""

import pytest

from schedules.histories import check

OK = ("ok", 0)
DONE = ("ok", None)
POISON = ("poison",)
CANCELLED = ("cancelled",)
A = ("read", "a")
B = ("read", "b")


def write(v, ch="a"):
    return ("write", ch, v)


def poison(how="channel", ch="a"):
    return ("poison", ch, how)


def got(v):
    return ("ok", v)


def chose(i, v):
    return ("chosen", i, v)


def call(p, *op):
    return ("call", p, op[0] if isinstance(op[0], tuple) else op)


def ret(p, outcome):
    return ("return", p, outcome)


def alone(p, op, outcome):
    """An operation during which nothing else happens."""
    return [call(p, op), ret(p, outcome)]


def parked(p, op):
    return [call(p, op), ("parked", p)]


def select(*guards, fair=False):
    return ("select", guards, fair)


def both(*parts):
    return ("parallel", parts)


def join(*parts):
    history = []
    for part in parts:
        history += part if isinstance(part, list) else [part]
    return history


def now_and_then(i, value, writer):
    """A fair choice passes b over, finds it not ready, and then ready again."""
    return join(
        parked("v", write(1)),
        parked("w", write(2, "b")),
        alone("s", select(A, B, fair=True), chose(0, 1)),
        alone("r", B, got(2)),
        join(ret("v", OK), ret("w", OK), parked("v", write(3))),
        alone("s", select(A, B, fair=True), chose(0, 3)),
        join(ret("v", OK), parked("v", write(4)), parked("w", write(5, "b"))),
        alone("s", select(A, B, fair=True), chose(i, value)),
        ret(writer, OK),
    )


PAIR = [call("w", write(1)), call("r", A)]

# name: (history, capacities)
RIGHT = {
    "nothing": ([], {}),
    "a pair": (join(PAIR, ret("r", got(1)), ret("w", OK)), {}),
    "a reader that waits": (parked("r", A), {}),
    "two writers that came at once, in one order": (
        join(call("v", write(1)), call("w", write(2)), alone("r", A, got(1)), ret("v", OK)),
        {},
    ),
    "and in the other": (
        join(call("v", write(1)), call("w", write(2)), alone("r", A, got(2)), ret("w", OK)),
        {},
    ),
    "select prefers the earlier guard": (
        join(
            parked("w", write(1)),
            parked("v", write(2, "b")),
            alone("s", select(B, A), chose(0, 2)),
            ret("v", OK),
        ),
        {},
    ),
    "a select that waited": (
        join(parked("s", select(A, B)), alone("w", write(1, "b"), OK), ret("s", chose(1, 1))),
        {},
    ),
    "two self selects pair": (
        join(
            parked("s", select(A, write(1))),
            alone("t", select(A, write(2)), chose(0, 1)),
            ret("s", chose(1, 0)),
        ),
        {},
    ),
    "a self select waits alone": (parked("s", select(A, write(1))), {}),
    "a timer": (join(parked("s", select(A, ("timer",))), ret("s", chose(1, None))), {}),
    "skip": (alone("s", select(A, ("skip",)), chose(1, None)), {}),
    "a buffer": (
        join(
            alone("w", write(1), OK),
            alone("w", write(2), OK),
            parked("w", write(3)),
            alone("r", A, got(1)),
            ret("w", OK),
            alone("r", A, got(2)),
            alone("r", A, got(3)),
        ),
        {"a": 2},
    ),
    "poison from a write end leaves the buffer": (
        join(
            alone("w", write(1), OK),
            alone("w", poison("write"), DONE),
            alone("r", A, got(1)),
            alone("r", A, POISON),
        ),
        {"a": None},
    ),
    "close leaves waiting writers": (
        join(
            parked("w", write(1)),
            alone("c", ("close", "a"), DONE),
            alone("v", write(2), POISON),
            alone("r", A, got(1)),
            alone("r", A, POISON),
            ret("w", OK),
        ),
        {},
    ),
    "poison after a pairing": (
        join(PAIR, ret("w", OK), alone("p", poison(), DONE), ret("r", got(1))),
        {},
    ),
    "poison that a dying process gives": (
        join(call("w", poison("write")), alone("r", A, POISON)),
        {},
    ),
    "a parallel": (
        join(
            parked("g", both(write(1), write(2, "b"))),
            alone("r", B, got(2)),
            alone("r", A, got(1)),
            ret("g", ("ok", (0, 0))),
        ),
        {},
    ),
    "a parallel that pairs with itself": (
        alone("g", both(A, write(1)), ("ok", (1, 0))),
        {},
    ),
    "a parallel that met poison ends last": (
        join(
            parked("g", both(A, B)),
            alone("p", poison(), DONE),
            alone("w", write(1, "b"), OK),
            ret("g", POISON),
        ),
        {},
    ),
    "a cancelled read": (
        join(parked("r", A), ("cancel", "r"), call("w", write(1)), ret("r", CANCELLED)),
        {},
    ),
    "a value given back": (
        join(
            parked("r", A),
            alone("w", write(1), OK),
            ("cancel", "r"),
            parked("v", write(2)),
            alone("q", A, got(1)),
            ret("r", CANCELLED),
            alone("q", A, got(2)),
            ret("v", OK),
        ),
        {},
    ),
    "a write that stands": (
        join(
            parked("w", write(1)),
            alone("r", A, got(1)),
            ("cancel", "w"),
            ret("w", OK),
            call("w", write(2)),
            ret("w", CANCELLED),
        ),
        {},
    ),
    "cancelled after poison": (
        join(parked("r", A), alone("p", poison(), DONE), ("cancel", "r"), ret("r", CANCELLED)),
        {},
    ),
    "poison before cancelled": (
        join(parked("r", A), alone("p", poison(), DONE), ("cancel", "r"), ret("r", POISON)),
        {},
    ),
    "an interrupted read": (
        join(parked("r", A), ("interrupt", "r"), alone("w", write(1), OK), ret("r", CANCELLED)),
        {},
    ),
    "an interrupt that came before the writer": (
        join(parked("r", A), ("interrupt", "r"), call("w", write(1)), ret("r", CANCELLED)),
        {},
    ),
    "fair": (
        join(
            parked("v", write(1)),
            parked("w", write(2, "b")),
            alone("s", select(A, B, fair=True), chose(0, 1)),
            ret("v", OK),
            parked("v", write(3)),
            alone("s", select(A, B, fair=True), chose(1, 2)),
            ret("w", OK),
        ),
        {},
    ),
    "fair to who is ready now and then": (now_and_then(1, 5, "w"), {}),
    "queue_len": (join(parked("w", write(1)), alone("l", ("len", "a"), got(1))), {}),
}

def joined(*ends):
    """Of channel a, one after another, before anything else."""
    return [e for p, how in ends for e in alone(p, ("join", "a", how), DONE)]


def retires(p, how):
    return alone(p, ("retire", "a", how), DONE)


TWO_WRITERS = joined(("v", "write"), ("w", "write"))
TWO_READERS = joined(("q", "read"), ("r", "read"))
OLDEST = {"a": ("keep_oldest", 1)}
NEWEST = {"a": ("keep_newest", 1)}
TWO_WRITTEN = alone("w", write(1), OK) + alone("w", write(2), OK)

RIGHT.update({
    "the oldest is kept": (join(TWO_WRITTEN, alone("r", A, got(1))), OLDEST),
    "the newest is kept": (join(TWO_WRITTEN, alone("r", A, got(2))), NEWEST),
    "a reader that waits takes it before anything overflows": (
        join(parked("r", A), alone("w", write(1), OK), ret("r", got(1)), TWO_WRITTEN,
             alone("r", A, got(1))),
        OLDEST,
    ),
    "one of two writers retires": (join(TWO_WRITERS, retires("v", "write"), parked("r", A)), {}),
    "the last writer retires": (
        join(TWO_WRITERS, retires("v", "write"), parked("r", A), retires("w", "write"),
             ret("r", POISON)),
        {},
    ),
    "what is buffered outlives the last writer": (
        join(TWO_WRITERS, retires("v", "write"), alone("w", write(1), OK), retires("w", "write"),
             alone("p", ("join", "a", "write"), POISON), alone("p", ("join", "a", "read"), DONE),
             alone("r", A, got(1)), alone("r", A, POISON)),
        {"a": 1},
    ),
    "the last reader ends who waits to write": (
        join(TWO_READERS, parked("w", write(1)), retires("r", "read"), retires("q", "read"),
             ret("w", POISON)),
        {},
    ),
})

WRONG = {
    "a value from nowhere": (join(PAIR, ret("r", got(2))), {}),
    "a lost value": (
        join(PAIR, ret("w", OK)),
        {},
    ),
    "a doubled value": (
        join(call("w", write(1)), call("r", A), call("q", A), ret("r", got(1)), ret("q", got(1))),
        {},
    ),
    "a write nobody took": (join(call("w", write(1)), ret("w", OK)), {}),
    "a write that returned before its reader came": (
        join(alone("w", write(1), OK), alone("r", A, got(1))),
        {},
    ),
    "writers overtake": (
        join(parked("v", write(1)), parked("w", write(2)), alone("r", A, got(2)), ret("w", OK)),
        {},
    ),
    "readers overtake": (
        join(parked("q", A), parked("r", A), alone("w", write(1), OK), ret("r", got(1))),
        {},
    ),
    "a pair left waiting": (PAIR, {}),
    "a pair left waiting beside an alternative": (
        join(parked("s", select(A, B)), call("w", write(1, "b"))),
        {},
    ),
    "a writer left waiting beside room": (call("w", write(1)), {"a": 1}),
    "a select that took two": (
        join(
            parked("s", select(A, B)),
            alone("v", write(1), OK),
            alone("w", write(2, "b"), OK),
            ret("s", chose(0, 1)),
        ),
        {},
    ),
    "a select that took another's value": (
        join(parked("s", select(A, B)), alone("v", write(1), OK), ret("s", chose(1, 1))),
        {},
    ),
    "a select that chose the later of two ready guards": (
        join(
            parked("v", write(1)),
            parked("w", write(2, "b")),
            alone("s", select(A, B), chose(1, 2)),
            ret("w", OK),
        ),
        {},
    ),
    "a select that paired with itself": (
        alone("s", select(A, write(1)), chose(0, 1)),
        {},
    ),
    "self selects that both read": (
        join(
            parked("s", select(A, write(1))),
            alone("t", select(A, write(2)), chose(0, 1)),
            ret("s", chose(0, 2)),
        ),
        {},
    ),
    "two self selects left waiting": (
        join(call("s", select(A, write(1))), call("t", select(A, write(2)))),
        {},
    ),
    "a dead offer": (
        join(
            parked("s", select(A, B)),
            alone("v", write(1), OK),
            ret("s", chose(0, 1)),
            alone("w", write(2, "b"), OK),
        ),
        {},
    ),
    "unfair": (
        join(
            parked("v", write(1)),
            parked("w", write(2, "b")),
            alone("s", select(A, B, fair=True), chose(0, 1)),
            ret("v", OK),
            parked("v", write(3)),
            alone("s", select(A, B, fair=True), chose(0, 3)),
        ),
        {},
    ),
    "unfair to who is ready now and then": (now_and_then(0, 4, "v"), {}),
    "a timer that never came": (parked("s", select(A, ("timer",))), {}),
    "skip that waits": (call("s", select(A, ("skip",))), {}),
    "a buffer out of order": (
        join(alone("w", write(1), OK), alone("w", write(2), OK), alone("r", A, got(2))),
        {"a": 2},
    ),
    "a buffer too full": (
        join(alone("w", write(1), OK), alone("w", write(2), OK)),
        {"a": 1},
    ),
    "poison that undid a pairing": (
        join(
            parked("r", A),
            alone("w", write(1), OK),
            alone("p", poison(), DONE),
            ret("r", POISON),
        ),
        {},
    ),
    "poison of which a waiting reader did not hear": (
        join(parked("r", A), alone("p", poison(), DONE)),
        {},
    ),
    "a write that poison did not stop": (
        join(alone("p", poison("write"), DONE), call("r", A), alone("w", write(1), OK)),
        {},
    ),
    "poison from a read end leaves the buffer": (
        join(alone("w", write(1), OK), alone("p", poison("read"), DONE), alone("r", A, got(1))),
        {"a": 1},
    ),
    "poison from a write end empties the buffer": (
        join(alone("w", write(1), OK), alone("p", poison("write"), DONE), alone("r", A, POISON)),
        {"a": 1},
    ),
    "close poisons a waiting writer": (
        join(parked("w", write(1)), alone("c", ("close", "a"), DONE), ret("w", POISON)),
        {},
    ),
    "close lets a write in": (
        join(alone("c", ("close", "a"), DONE), call("w", write(1)), alone("r", A, got(1))),
        {},
    ),
    "poison without a cause": (join(call("r", A), ret("r", POISON)), {}),
    "a parallel that ended early": (
        join(call("g", both(A, B)), alone("w", write(1), OK), ret("g", ("ok", (1, 2)))),
        {},
    ),
    "a parallel that mixed up its values": (
        join(
            parked("g", both(A, B)),
            alone("v", write(1), OK),
            alone("w", write(2, "b"), OK),
            ret("g", ("ok", (2, 1))),
        ),
        {},
    ),
    "a cancelled read took a value": (
        join(parked("r", A), ("cancel", "r"), alone("w", write(1), OK), ret("r", CANCELLED)),
        {},
    ),
    "a given-back value lost": (
        join(
            parked("r", A),
            alone("w", write(1), OK),
            ("cancel", "r"),
            ret("r", CANCELLED),
            parked("q", A),
        ),
        {},
    ),
    "a given-back value behind a writer": (
        join(
            parked("r", A),
            alone("w", write(1), OK),
            ("cancel", "r"),
            parked("v", write(2)),
            alone("q", A, got(2)),
        ),
        {},
    ),
    "given-back values out of order": (
        join(
            parked("q", A),
            parked("r", A),
            alone("w", write(1), OK),
            alone("w", write(2), OK),
            ("cancel", "r"),
            ("cancel", "q"),
            alone("s", A, got(2)),
        ),
        {},
    ),
    "a write that was both taken and cancelled": (
        join(parked("w", write(1)), alone("r", A, got(1)), ("cancel", "w"), ret("w", CANCELLED)),
        {},
    ),
    "a cancelled write was taken": (
        join(
            parked("w", write(1)),
            ("cancel", "w"),
            ret("w", CANCELLED),
            alone("r", A, got(1)),
        ),
        {},
    ),
    "an owed cancellation forgotten": (
        join(
            parked("w", write(1)),
            alone("r", A, got(1)),
            ("cancel", "w"),
            ret("w", OK),
            parked("w", write(2)),
        ),
        {},
    ),
    "cancelled by nobody": (join(parked("r", A), ret("r", CANCELLED)), {}),
    "an interrupted reader's value lost": (
        join(
            parked("r", A),
            alone("w", write(1), OK),
            ("interrupt", "r"),
            ret("r", CANCELLED),
            parked("q", A),
        ),
        {},
    ),
    "queue_len too long": (alone("l", ("len", "a"), got(1)), {}),
    "queue_len counts one who left": (
        join(
            parked("s", select(A, B)),
            alone("w", write(1), OK),
            alone("l", ("len", "b"), got(1)),
            ret("s", chose(0, 1)),
        ),
        {},
    ),
}


# Those in which only the end is wrong: somebody waits who need not.
STUCK = (
    "a lost value",
    "a pair left waiting",
    "a pair left waiting beside an alternative",
    "a writer left waiting beside room",
    "two self selects left waiting",
    "a timer that never came",
    "skip that waits",
    "a write waits though the buffer may overflow",
    "poison of which a waiting reader did not hear",
    "a given-back value lost",
    "an interrupted reader's value lost",
    "an owed cancellation forgotten",
    "a barrier is chosen by one",
    "all wait at a barrier",
    "a close is not told",
    "poison that is hard enough does not",
    "a call outlives the poison",
)


WRONG.update({
    "the oldest is dropped": (join(TWO_WRITTEN, alone("r", A, got(2))), OLDEST),
    "the newest is dropped": (join(TWO_WRITTEN, alone("r", A, got(1))), NEWEST),
    "a write waits though the buffer may overflow": (
        join(TWO_WRITTEN, parked("w", write(3))), NEWEST),
    "the first writer that retires ends the channel": (
        join(TWO_WRITERS, parked("r", A), retires("v", "write"), ret("r", POISON)), {}),
    "the first reader that retires ends the channel": (
        join(TWO_READERS, parked("w", write(1)), retires("r", "read"), ret("w", POISON)), {}),
    "a write after the last reader has retired": (
        join(TWO_READERS, retires("r", "read"), retires("q", "read"), alone("w", write(1), OK)),
        {"a": 1},
    ),
    "what was buffered is gone with the last writer": (
        join(TWO_WRITERS, alone("w", write(1), OK), retires("w", "write"), retires("v", "write"),
             alone("r", A, POISON)),
        {"a": 1},
    ),
    "who joins too late": (
        join(TWO_READERS, retires("r", "read"), retires("q", "read"),
             alone("p", ("join", "a", "read"), DONE)),
        {},
    ),
})


# Meetings, calls, ends and immunity

SYNC = ("sync", "m")
TWO = {"m": ("parties", 2)}
END = ("closed", "a")
IMMUNE = {("immunity", "a"): 1}
CLOSED = alone("p", ("close", "a"), DONE)
HIDDEN = select(("hidden",), A)
ANSWER = ("read", ("k", "x"))
ASKED = join(parked("c", write("x", "k")), alone("s", ("read", "k"), got("x")), ret("c", OK))
ANSWERED = alone("s", ("answer", ("k", "x"), 5), DONE)
POISONED = alone("p", poison(ch="k"), DONE)


def soft(n):
    return alone("p", ("poison", "a", "channel", n), DONE)


def synced(one, other):
    """Two choose a barrier, or not: (guards, outcome) of who comes first, and of the second."""
    choices = select(*one[0]), select(*other[0])
    second = alone("t", choices[1], other[1]) if other[1] else parked("t", choices[1])
    return join(parked("s", choices[0]), second, ret("s", one[1]) if one[1] else [])


RIGHT.update({
    "a barrier is chosen by both": (
        synced(((SYNC, A), chose(0, 0)), ((B, SYNC), chose(1, 0))),
        TWO,
    ),
    "who resigns completes a barrier": (
        join(parked("s", SYNC), alone("t", ("resign", "m"), DONE), ret("s", OK)),
        TWO,
    ),
    "who enrols is waited for": (
        join(alone("u", ("enrol", "m"), DONE), parked("s", SYNC), parked("t", SYNC)),
        TWO,
    ),
    "a close is told": (
        join(parked("s", select(END, B)), CLOSED, ret("s", chose(0, None))),
        {},
    ),
    "poison that is too soft": (join(parked("r", A), soft(1)), IMMUNE),
    "poison that is not": (join(parked("r", A), soft(2), ret("r", POISON)), IMMUNE),
    "what is hidden is not chosen": (
        join(parked("w", write(1)), alone("s", HIDDEN, chose(1, 1)), ret("w", OK)),
        {},
    ),
    "an answer that came before the poison": (
        join(ASKED, ANSWERED, POISONED, alone("c", ANSWER, got(5))),
        {},
    ),
    "a call that is never answered": (
        join(ASKED, parked("c", ANSWER), POISONED, ret("c", POISON)),
        {},
    ),
})
WRONG.update({
    "a barrier is chosen by one": (synced(((SYNC, A), None), ((B, SYNC), chose(1, 0))), TWO),
    "all wait at a barrier": (synced(((SYNC, A), None), ((B, SYNC), None)), TWO),
    "who enrols is forgotten": (
        join(alone("u", ("enrol", "m"), DONE), parked("s", SYNC), alone("t", SYNC, OK)),
        TWO,
    ),
    "an end is told that was not": (alone("s", select(END, B), chose(0, None)), {}),
    "a close is not told": (join(parked("s", select(END, B)), CLOSED), {}),
    "poison acts on what is immune": (join(parked("r", A), soft(1), ret("r", POISON)), IMMUNE),
    "poison that is hard enough does not": (join(parked("r", A), soft(2)), IMMUNE),
    "an answer to another question": (
        join(ASKED, ANSWERED, alone("c", ("read", ("k", "y")), got(5))),
        {},
    ),
    "poison undoes an answer": (
        join(ASKED, ANSWERED, POISONED, alone("c", ANSWER, POISON)),
        {},
    ),
    "a call outlives the poison": (join(ASKED, parked("c", ANSWER), POISONED), {}),
})


@pytest.mark.parametrize("name", RIGHT)
def test_accepts_what_the_rules_allow(name):
    history, capacities = RIGHT[name]
    assert check(join(history), capacities) is None


@pytest.mark.parametrize("name", WRONG)
def test_rejects_what_the_rules_forbid(name):
    history, capacities = WRONG[name]
    final = name in STUCK
    assert check(join(history), capacities, final) is not None
    if final:
        assert check(join(history), capacities, False) is None


def test_an_unfinished_history_may_leave_a_pair_waiting():
    assert check(PAIR, {}, final=False) is None


def test_tells_the_event_that_has_no_explanation():
    history = join(PAIR, ret("w", OK), ret("r", got(2)))
    assert ">  3  return r ('ok', 2)" in check(history)


@pytest.mark.parametrize(
    "history", [[ret("r", OK)], [call("r", A), call("r", A)], [("nonsense", "r")]]
)
def test_refuses_what_is_no_history(history):
    with pytest.raises(ValueError):
        check(history)
