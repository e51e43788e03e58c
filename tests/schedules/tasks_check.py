"""Checks of what a program of tasks_world has done. Runs in CPython and inside MicroPython.

The history is that of histories.py, with some events of our own, for here the order in which
operations arrive is known: each arrives when it is called. `follow` checks it so.

    ("expired", p, i)  the timer of p's select, its guard i, was what happened
    ("owes", p)        an operation of more tasks has swallowed a cancellation of p, rule 8
    ("paid", p)        a cancellation has come out: nothing is owed any more
    ("over", p)        the process has ended
    ("ended", h, outcome)   the handle of a process tells that it has, and by what
    ("quiet", None)    nobody can go on
    ("drained", None)  nobody can, and what could be read was read
"""

from histories import CANCELLED, POISON, State

_WRITES = "write", "sync"
EITHER = ("either",)  # poison or a cancellation, whichever the operation likes


class Failure(Exception):
    """A rule is broken; the text says what was seen."""


def follow(events, capacities):
    """Failure if the specification, step by step, does not do what the history says."""
    s = State(dict(capacities))
    owed = set()
    for n in range(len(events)):
        wrong = _step(s, owed, events, n)
        if wrong:
            raise Failure("event %d: %s" % (n, wrong))
    if s.ops:
        raise Failure("still open at the end: %s" % s.ops)


def _step(s, owed, events, n):
    kind, p = events[n][:2]
    o = s.ops.get(p)
    if kind == "call":
        op = events[n][2]
        s.take(events[n])
        if op[0] == "select" and op[2]:
            _choose_fair(s, p, events, n)
        else:
            s.arrive(p, op)
        if p in owed and s.ops[p][0] == "queued":
            owed.discard(p)  # this is the next await that suspends
            s.abort(p, False)
    elif kind == "return":
        if o[0] != "done":
            return "should wait"
        outcome = events[n][2]
        if o[2] == EITHER and outcome == POISON:
            owed.add(p)
        elif outcome == CANCELLED and p in owed and _takes_a_turn(o):
            owed.discard(p)
        elif _seen(o[1], o[2]) != outcome and (o[2] != EITHER or outcome != CANCELLED):
            return "should have ended by %s" % (o[2],)
        del s.ops[p]
    elif kind == "expired":
        if o is None or o[0] != "queued":
            return "does not wait any more"
        s.finish(p, events[n][2], ("ok", None))
    elif kind == "cancel":
        # Once more while it is under way changes nothing.
        if o is not None and o[2] not in (CANCELLED, EITHER):
            if o[0] == "done" and _is_written(o[1], o[2]):
                owed.add(p)
            else:
                outcome = EITHER if _is_poisoned_writing(o) else CANCELLED
                s.abort(p, False)
                s.ops[p] = ["done", o[1], outcome, ()]
    elif kind == "ended":
        s.over(p, events[n][2])
    elif kind == "owes":
        owed.add(p)
    elif kind in ("paid", "over"):
        owed.discard(p)
    elif kind == "quiet":
        for q, o in s.ops.items():
            if o[0] != "queued":
                return "%s could go on: %s" % (q, o[2])
    return None


def _is_written(op, outcome):
    # Whether it was nothing but writes, which have happened. To meet at a barrier is one.
    if outcome[0] == "ok":
        return op[0] != "closed" and all(part[0] in _WRITES for part in _parts(op))
    return outcome[0] == "chosen" and op[1][outcome[1]][0] in _WRITES


def _seen(op, outcome):
    # What can be seen of an outcome: a read end that stands twice among the guards is one object.
    if op[0] == "select" and outcome and outcome[0] == "chosen":
        guard = op[1][outcome[1]]
        if guard[0] == "read":
            return ("chosen", op[1].index(guard)) + tuple(outcome[2:])
    return outcome


def _takes_a_turn(o):
    # Whether it has let the others go on though its guard was ready: an await that suspends.
    return o[2][0] == "chosen" and o[1][1][o[2][1]][0] in ("skip", "ended")


def _is_poisoned_writing(o):
    # A Parallel of writes that has ended, by poison: it may raise that or the cancellation.
    if o[0] != "done" or o[2] != POISON or o[1][0] != "parallel":
        return False
    return all(part[0] in _WRITES for part in o[1][1])


def _choose_fair(s, p, events, n):
    # The choice is free, within fairness: which one it was says the return.
    outcome = None
    for e in events[n + 1 :]:
        if e[0] == "return" and e[1] == p:
            outcome = e[2]
            break
    after = s.arrivals(p)
    chosen = after[0]
    for t in after:
        if _seen(t.ops[p][1], t.ops[p][2]) == outcome:
            chosen = t
    s.channels = chosen.channels
    s.ops = chosen.ops
    s.passed = chosen.passed


def conserve(events, lossy=False):
    """Failure if a value was read twice or from nowhere, or is lost. Knows no specification.

    lossy: a value may rightly be nowhere; also if it is discarded, or in a Parallel with poison.
    """
    written = {}  # value -> whether its write has returned
    read = []
    calls = {}
    for e in events:
        if e[0] == "call":
            op = calls[e[1]] = e[2]
            lossy = lossy or (op[0] == "poison" and op[2] != "write")
            lossy = lossy or (op[0] == "retire" and op[2] == "read")
            for part in _parts(op):
                if part[0] == "write":
                    written[part[2]] = False
            if op[0] == "answer":
                written[op[2]] = False  # which its client need not wait for
        elif e[0] == "return":
            op = calls.pop(e[1])
            lossy = lossy or (op[0] == "parallel" and e[2] == POISON)
            for part, v in _happened(op, e[2]):
                if part[0] == "read":
                    read.append(v)
                elif part[0] == "write":
                    written[part[2]] = True
        elif e[0] == "drained" and not lossy:
            if not [op for op in calls.values() if op[0] == "parallel"]:
                lost = [v for v in written if written[v] and v not in read]
                if lost:
                    raise Failure("%s was written and is lost" % lost[0])
    for v in read:
        if v not in written:
            raise Failure("%s was read and never written" % v)
        if read.count(v) > 1 and not v.startswith("again:"):
            raise Failure("%s was read twice" % v)


def _parts(op):
    if op[0] in ("select", "parallel"):
        return op[1]
    return (op,) if op[0] in ("read", "write") else ()


def _happened(op, outcome):
    # The parts of an operation that have happened, each with its value.
    if outcome[0] == "chosen":
        return ((op[1][outcome[1]], outcome[2]),)
    if outcome[0] != "ok":
        return ()
    return zip(op[1], outcome[1]) if op[0] == "parallel" else ((op, outcome[1]),)
