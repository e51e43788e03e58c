"""Whether the specification explains a history: what a library was seen to do.

Which order the operations arrived in a history does not say, only that each did so between its
call and its return; `check` looks for an order that explains all outcomes, by depth-first search
with the states already seen left out (Wing and Gong 1993; Lowe, "Testing for linearizability",
2017). `State` is the machine of spec.py with steps to search, and with what is no operation on one
channel: operations posted together, cancellations and interrupts.

A history is a list of events, in the order in which they happened:

    ("call", p, op)         process p (any hashable thing) begins an operation; one at a time
    ("return", p, outcome)  and has ended it; an operation may stay open to the end of the history
    ("parked", p)           p was seen asleep: its operation has arrived by now (may be left out)
    ("cancel", p)           p is cancelled, rule 8: what is unpaired leaves, a paired read gives
                            back in this very moment; a paired write stands, and its process owes
                            a cancellation to a later operation. Without an open operation: owed
    ("interrupt", p)        as cancel, but at any time from now on, or never if p does not wait;
                            a write that stands may end by ("cancelled",), too

Beyond those of spec.py: op ("parallel", (op, ...)), reads and writes, posted together, with the
outcome ("ok", a tuple of values) or ("poison",); and the outcome ("cancelled",).

`check(history, capacities)` returns None or says what cannot be explained. capacities: {ch: n},
None = unlimited; channels not named are rendezvous channels (0). At the end of a history all who
can go on have gone on: what is open then must wait by the rules, too. final=False leaves this out.
"""

# Some import these files by themselves, and one copy of each is enough.
if __name__.startswith("schedules."):
    from schedules.spec import DEAD, POISON, Channel, Machine
else:
    from spec import DEAD, POISON, Channel, Machine

CANCELLED = ("cancelled",)
EITHER = (POISON, CANCELLED)
LOOKS = "skip", "timer", "closed", "ended"
# Events that happen as soon as they can: what could come before one can as well come after it. A
# state that does not allow one of them is not changed by it.
FIRST = ("call", "return", "parked")


class State(Machine):
    """An operation's fourth item is its paired reads: (when, channel, value), in a tuple.

    A parallel's outcome is a list until it is complete. Owed cancellations: "soft", "hard" (an
    interrupt), "may" (if poison came first: or none).
    """

    def __init__(self, capacities):
        super().__init__(capacities)
        self.owed = {}

    def copy(self):
        s = State(self.capacities)
        for k, c in self.channels.items():
            s.channels[k] = d = Channel()
            d.readers, d.writers, d.watchers = c.readers[:], c.writers[:], c.watchers[:]
            d.enrolled, d.result = c.enrolled, c.result
            d.buffer, d.given = c.buffer[:], c.given[:]
            d.paired, d.ended = c.paired, c.ended
            d.counted = c.counted.copy()
        for k, v in self.ops.items():
            s.ops[k] = [v[0], v[1], v[2][:] if isinstance(v[2], list) else v[2], v[3]]
        s.passed = self.passed.copy()
        s.owed = self.owed.copy()
        return s

    def key(self):
        channels = [
            (k, c.readers, c.writers, c.watchers, c.buffer, c.given)
            + (c.paired, c.ended, c.counted, c.enrolled, c.result)
            for k, c in self.channels.items()
        ]
        return repr((channels, self.ops, self.passed, self.owed))

    # Operations posted together

    def arrive(self, p, op, choice=0):
        if op[0] != "parallel":
            super().arrive(p, op, choice)
            return
        self.ops[p][0] = "queued"
        self.ops[p][2] = [None] * len(op[1])
        for i, part in enumerate(op[1]):
            self.operate(p, i, part)

    def received(self, p, i, ch, value):
        super().received(p, i, ch, value)
        self.ops[p][3] += ((self.channel(ch).paired, ch, value),)

    def finish(self, p, i, outcome):
        _, op, parts, reads = self.ops[p]
        if op[0] != "parallel":
            super().finish(p, i, outcome)
            return
        for c in self.channels.values():
            c.leave(lambda o: o[:2] == (p, i))
        parts[i] = outcome
        if None not in parts:
            values = None if POISON in parts else tuple([value for _, value in parts])
            self.ops[p] = ["done", op, POISON if values is None else ("ok", values), reads]

    # Cancellation

    def abort(self, p, hard):
        """A cancellation reaches p's open operation; whether it has ended by it."""
        phase, op, outcome, reads = self.ops[p]
        for c in self.channels.values():
            c.leave(lambda o: o[0] == p)
        stands = phase == "done" and not reads and not hard and not _has_looked(op, outcome)
        if not stands:
            self.ops[p] = ["done", op, CANCELLED, ()]
        elif outcome == POISON:
            self.ops[p][2] = EITHER
        for stamp, ch, value in sorted(reads):
            self.give_back(ch, stamp, value)
        return not stands

    def give_back(self, ch, stamp, value):
        c = self.channel(ch)
        if c.ended == DEAD:
            return
        if c.readers:
            self.received(c.readers[0][0], c.readers[0][1], ch, value)
        else:
            c.given.append((stamp, value))
            c.given.sort()

    # The steps

    def arrivals(self, p):
        """The states after p's operation has arrived: several, if a fair choice is free."""
        op = self.ops[p][1]
        after = []
        for n in range(len(self.choices(p, op))):
            s = self.copy()
            s.arrive(p, op, n)
            after.append(s)
        return after

    def steps(self):
        """All states that one step of one process leads to."""
        for p, (phase, op, outcome, _) in self.ops.items():
            if phase == "new":
                yield from self.arrivals(p)
            elif phase == "queued" and op[0] == "select":
                for i, g in enumerate(op[1]):
                    if g[0] == "timer":
                        s = self.copy()
                        s.finish(p, i, ("ok", None))
                        yield s
            owed = self.owed.get(p)
            if owed == "hard" or owed and phase != "new":
                s = self.copy()
                if s.abort(p, owed == "hard"):
                    del s.owed[p]
                    yield s

    # The events

    def take(self, event):
        """Let an event happen if the state allows it: True, False, None = not yet."""
        kind, p = event[:2]
        o = self.ops.get(p)
        if kind == "call":
            if o is not None:
                raise ValueError("%s calls while it calls" % (p,))
            self.ops[p] = ["new", event[2], None, ()]
        elif kind == "return":
            if o is None:
                raise ValueError("%s returns without a call" % (p,))
            if o[0] != "done":
                return None
            if o[2] is EITHER and event[2] in EITHER:
                if event[2] == POISON:
                    self.owed[p] = "may"
            elif o[2] != event[2]:
                return None if p in self.owed else False
            del self.ops[p]
        elif kind == "parked":
            return None if o is not None and o[0] == "new" else True
        elif kind == "interrupt":
            self.owed[p] = "hard"
        elif kind == "cancel":
            if o is None or not self.abort(p, False):
                self.owed[p] = "soft"
        else:
            raise ValueError(kind)
        return True

    def is_final(self):
        for p, (phase, op, _, _) in self.ops.items():
            timed = op[0] == "select" and ("timer",) in op[1]
            if phase == "queued" and not timed and self.owed.get(p, "may") == "may":
                continue
            if phase == "done" and op[0] in ("poison", "close"):
                continue  # done by a process that then ended
            return False
        return True


def _has_looked(op, outcome):
    # Whether something was waited for that nobody else knows of.
    if outcome[0] == "chosen":
        return op[1][outcome[1]][0] in LOOKS
    parts = op[1] if op[0] == "parallel" else (op,)
    return outcome[0] == "ok" and any(part[0] in LOOKS for part in parts)


def check(history, capacities=(), final=True):
    """None if some order of the operations explains a history, else what it is that none does."""
    n = len(history)
    furthest = -1
    seen = set()
    stack = [(0, State(dict(capacities)))]
    while stack:
        i, s = stack.pop()
        taken = True
        while i < n and history[i][0] in FIRST:
            taken = s.take(history[i])
            if not taken:
                break
            i += 1
        furthest = max(furthest, i)
        if taken is False:
            continue
        key = (i, s.key())
        if key in seen:
            continue
        seen.add(key)
        if i == n:
            if not final or s.is_final():
                return None
        elif taken:
            after = s.copy()
            after.take(history[i])
            stack.append((i + 1, after))
        stack.extend([(i, t) for t in s.steps()])
    if furthest == n:
        return "by the rules something could go on that waits for ever:\n" + text(history)
    return "event %d cannot be explained:\n%s" % (furthest, text(history, furthest))


def text(history, mark=None):
    """A history, one event a line."""
    lines = []
    for i, event in enumerate(history):
        words = " ".join([str(x) for x in event])
        lines.append("%s%3d  %s" % (">" if i == mark else " ", i, words))
    return "\n".join(lines)
