"""What channels and alternatives promise, as a sequential machine, and a check of histories by it.

Written from the rules alone; shares no code with the libraries. An operation *arrives* in one
atomic step: it pairs with the oldest waiting counterpart, or queues. Which order the operations
arrived in a history does not say, only that each did so between its call and its return; `check`
looks for an order that explains all outcomes, by depth-first search with the states already seen
left out (Wing and Gong 1993; Lowe, "Testing for linearizability", 2017).

A history is a list of events, in the order in which they happened:

    ("call", p, op)         process p (any hashable thing) begins an operation; one at a time
    ("return", p, outcome)  and has ended it; an operation may stay open to the end of the history
    ("parked", p)           p was seen asleep: its operation has arrived by now (may be left out)
    ("cancel", p)           p is cancelled, rule 8: what is unpaired leaves, a paired read gives
                            back in this very moment; a paired write stands, and its process owes
                            a cancellation to a later operation. Without an open operation: owed
    ("interrupt", p)        as cancel, but at any time from now on, or never if p does not wait;
                            a write that stands may end by ("cancelled",), too

op:      ("read", ch)   ("write", ch, v)   ("len", ch) = queue_len
         ("select", (guard, ...), fair)    guard: a read or write op, ("skip",) or ("timer",);
             fair: False, or what names the alternative (its fairness has a memory); True: p's own
         ("parallel", (op, ...))           reads and writes, posted together
         ("poison", ch, how)               how: "channel", "read" or "write" (by which end)
         ("close", ch)
outcome: ("ok", value)   value: of a read; 0 of a write; None of poison and close; a number of
                         len; a tuple of parallel's values
         ("chosen", i, value)   guard i; value of the read, 0 of a write, None of skip and timer
         ("poison",)   ("cancelled",)

`check(history, capacities)` returns None or says what cannot be explained. capacities: {ch: n},
None = unlimited; channels not named are rendezvous channels (0). At the end of a history all who
can go on have gone on: what is open then must wait by the rules, too. final=False leaves this out.
"""

OPEN, CLOSED, DEAD = range(3)
POISON = ("poison",)
CANCELLED = ("cancelled",)
EITHER = (POISON, CANCELLED)


class State:
    """Channels: readers, writers [(p, i, value)], buffer, given [(stamp, value)], ended, count.

    Processes: [phase, op, outcome, its paired reads as a list of (stamp, channel, value)]. A
    parallel's outcome is a list until it is complete. Stamps count the reads paired on a channel.
    Owed cancellations: "soft", "hard" (an interrupt), "may" (if poison came first: or none).
    """

    def __init__(self, capacities):
        self.capacities = capacities
        self.channels = {}
        self.ops = {}
        self.passed = {}  # alternative -> {guard: those chosen while it was ready}
        self.owed = {}

    def copy(self):
        s = State(self.capacities)
        for k, (r, w, b, g, e, n) in self.channels.items():
            s.channels[k] = [r[:], w[:], b[:], g[:], e, n]
        for k, v in self.ops.items():
            s.ops[k] = [v[0], v[1], v[2][:] if isinstance(v[2], list) else v[2], v[3]]
        s.passed = self.passed.copy()
        s.owed = self.owed.copy()
        return s

    def key(self):
        return repr((self.channels, self.ops, self.passed, self.owed))

    def channel(self, ch):
        if ch not in self.channels:
            self.channels[ch] = [[], [], [], [], OPEN, 0]
        return self.channels[ch]

    # The steps

    def arrivals(self, p):
        """The states after p's operation has arrived: several, if a fair choice is free."""
        op = self.ops[p][1]
        if op[0] != "select" or not op[2]:
            s = self.copy()
            s.arrive(p, op)
            return [s]
        name = p if op[2] is True else op[2]
        ready = [i for i, g in enumerate(op[1]) if self.ready(g)]
        after = []
        for i in ready or [None]:
            passed = {j: self.passed.get(name, {}).get(j, ()) for j in ready if j != i}
            if all(i not in others for others in passed.values()):
                s = self.copy()
                s.passed[name] = {j: passed[j] + (i,) for j in sorted(passed)}
                s.choose(p, op[1], i)
                after.append(s)
        return after

    def arrive(self, p, op):
        kind = op[0]
        self.ops[p][0] = "queued"
        if kind == "select":
            ready = [i for i, g in enumerate(op[1]) if self.ready(g)]
            self.choose(p, op[1], ready[0] if ready else None)
        elif kind == "parallel":
            self.ops[p][2] = [None] * len(op[1])
            for i, part in enumerate(op[1]):
                self.operate(p, i, part)
        elif kind in ("read", "write"):
            self.operate(p, None, op)
        else:
            value = None
            if kind == "len":
                value = sum(map(len, self.channel(op[1])[:4]))
            else:
                self.end(op[1], op[2] if kind == "poison" else "close")
            self.ops[p] = ["done", op, ("ok", value), ()]

    def choose(self, p, guards, i):
        self.ops[p][0] = "queued"
        if i is None:
            for i, g in enumerate(guards):
                if g[0] in ("read", "write"):
                    self.queue(p, i, g)
        elif guards[i][0] == "skip":
            self.finish(p, i, ("ok", None))
        else:
            self.operate(p, i, guards[i])

    def ready(self, op):
        if op[0] not in ("read", "write"):
            return op[0] == "skip"
        readers, writers, buffer, given, ended, _ = self.channel(op[1])
        if op[0] == "read":
            return bool(writers or buffer or given or ended)
        return bool(readers or ended or self.room(op[1]))

    def room(self, ch):
        capacity = self.capacities.get(ch, 0)
        return capacity is None or len(self.channel(ch)[2]) < capacity

    def operate(self, p, i, op):
        """Part i (None: all) of p's operation happens, if it is ready, or queues."""
        c = readers, writers, buffer, given, ended, _ = self.channel(op[1])
        if not self.ready(op):
            self.queue(p, i, op)
        elif op[0] == "write":
            if ended:
                self.finish(p, i, POISON)
                return
            if readers:
                q, j, _ = readers[0]
                self.received(q, j, op[1], op[2])
            else:
                buffer.append(op[2])
            self.finish(p, i, ("ok", 0))
        elif given:
            self.received(p, i, op[1], given.pop(0)[1])
        elif buffer or writers:
            if writers:
                q, j, v = writers[0]
                self.finish(q, j, ("ok", 0))
                buffer.append(v)
            self.received(p, i, op[1], buffer.pop(0))
        else:
            assert c[4]
            self.finish(p, i, POISON)

    def queue(self, p, i, op):
        c = self.channel(op[1])
        c[0 if op[0] == "read" else 1].append((p, i, op[2] if op[0] == "write" else None))

    def received(self, p, i, ch, value):
        c = self.channel(ch)
        c[5] += 1
        self.finish(p, i, ("ok", value), ((c[5], ch, value),))

    def finish(self, p, i, outcome, reads=()):
        op = self.ops[p][1]
        for c in self.channels.values():
            for k in 0, 1:
                c[k][:] = [o for o in c[k] if o[0] != p or op[0] == "parallel" and o[1] != i]
        if op[0] == "parallel":
            self.ops[p][2][i] = outcome
            self.ops[p][3] += reads
            self.complete(p)
            return
        if op[0] == "select" and outcome is not POISON:
            outcome = ("chosen", i, outcome[1])
        self.ops[p] = ["done", op, outcome, reads]

    def complete(self, p):
        _, op, parts, reads = self.ops[p]
        if None not in parts:
            values = None if POISON in parts else tuple([value for _, value in parts])
            self.ops[p] = ["done", op, POISON if values is None else ("ok", values), reads]

    def end(self, ch, how):
        c = readers, writers, buffer, given, _, _ = self.channel(ch)
        while readers:
            self.finish(readers[0][0], readers[0][1], POISON)
        while writers and how != "close":
            self.finish(writers[0][0], writers[0][1], POISON)
        if how in ("channel", "read"):
            del buffer[:], given[:]
            c[4] = DEAD
        else:
            c[4] = max(c[4], CLOSED)

    def abort(self, p, hard):
        """A cancellation reaches p's open operation; whether it has ended by it."""
        phase, op, outcome, reads = self.ops[p]
        for c in self.channels.values():
            for k in 0, 1:
                c[k][:] = [o for o in c[k] if o[0] != p]
        stands = phase == "done" and not reads and not hard
        if not stands:
            self.ops[p] = ["done", op, CANCELLED, ()]
        elif outcome == POISON:
            self.ops[p][2] = EITHER
        for stamp, ch, value in sorted(reads):
            self.give_back(ch, stamp, value)
        return not stands

    def give_back(self, ch, stamp, value):
        readers, _, _, given, ended, _ = self.channel(ch)
        if ended == DEAD:
            return
        if readers:
            self.received(readers[0][0], readers[0][1], ch, value)
        else:
            given.append((stamp, value))
            given.sort()

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


def check(history, capacities=(), final=True):
    """None if some order of the operations explains a history, else what it is that none does."""
    n = len(history)
    furthest = -1
    seen = set()
    stack = [(0, State(dict(capacities)))]
    while stack:
        i, s = stack.pop()
        if (i, s.key()) in seen:
            continue
        seen.add((i, s.key()))
        if i == n:
            if not final or s.is_final():
                return None
        else:
            after = s.copy()
            taken = after.take(history[i])
            if taken:
                stack.append((i + 1, after))
                if history[i][0] in ("call", "return", "parked"):
                    continue  # what could come before it can as well come after it
        furthest = max(furthest, i)
        if i < n and taken is False:
            continue
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
