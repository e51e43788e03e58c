"""What channels and alternatives promise: a sequential machine, written from the rules alone.

It shares no code with the libraries. An operation *arrives* in one atomic step: it pairs with the
oldest waiting counterpart, takes from or adds to the buffer, or queues. `Machine` says what each
such step does; histories.py adds what goes beyond (operations posted together, cancellation), and
says whether some order of steps explains what a library was seen to do.

op:      ("read", ch)   ("write", ch, v)   ("len", ch) = queue_len
         ("select", (guard, ...), fair)    guard: a read, write, closed, ended or sync op,
             ("skip",), ("timer",) or ("hidden",), which is left out this time; fair: False, or
             what names the alternative (its fairness has a memory); True: p's own
         ("poison", ch, how[, strength])   how: "channel", "read" or "write" (by which end)
         ("close", ch)
         ("closed", ch)                    until ch takes no more writes
         ("ended", h)                      until `over` has told that the process of a handle ended
         ("join", ch, how), ("retire", ch, how)   a counted "read" or "write" end comes, or retires
         ("sync", b)   at a barrier, whose "capacity" is ("parties", n); alting barriers, too
         ("enrol", b), ("resign", b)   one party more, or less
         ("fall", b), ("flush", b)   into a bucket, and all out of it
         ("answer", (ch, request), value)   a call: its request is written to ch, then the answer
             is read from (ch, request), which is poisoned with ch until it is answered
outcome: ("ok", value)   value: of a read; 0 of a write; None of poison and close; a number of
             len and flush
         ("chosen", i, value)   guard i; value of the read, 0 of a write, None of skip and timer
         ("poison",)   retirement, too
         whatever else `over` was told
"""

OPEN, CLOSED, DEAD = range(3)
POISON = ("poison",)
WAITS = "read", "write", "closed", "ended", "sync", "fall"  # operations that may have to wait


class Channel:
    """The offers that wait are (p, i, value), the oldest first; i says which guard of p's it is.

    Invariant: nobody waits to read while there is something to read, nor to write while there is
    room, but for the two halves of one alternative.
    """

    def __init__(self):
        self.readers = []
        self.writers = []
        self.watchers = []  # who waits for its end
        self.buffer = []
        self.given = []  # (when it was paired, value) of values given back, rule 8
        self.paired = 0  # reads so far
        self.ended = OPEN
        self.counted = {"read": 0, "write": 0}  # ends that have not retired
        self.enrolled = 0  # parties of a barrier, beyond those from the beginning
        self.result = ("ok", None)  # what its watchers get

    def leave(self, is_one):
        """Withdraw offers."""
        self.readers = [o for o in self.readers if not is_one(o)]
        self.writers = [o for o in self.writers if not is_one(o)]
        self.watchers = [o for o in self.watchers if not is_one(o)]


def _fair(p, op):
    # What names the alternative of a fair select.
    return p if op[2] is True else op[2]


class Machine:
    """The state of all channels, and of the operation of each process that has one."""

    def __init__(self, capacities):
        # channel -> most values it buffers, None = unlimited; ("keep_oldest" or "keep_newest", n)
        # ("immunity", channel) -> the greatest strength of poison that does not act on it
        self.capacities = capacities
        self.channels = {}
        self.ops = {}  # process -> [phase, op, outcome, ()]; phase: "new", "queued" or "done"
        self.passed = {}  # alternative -> {guard: those chosen before it, while it was ready}

    def channel(self, ch):
        if ch not in self.channels:
            self.channels[ch] = c = Channel()
            if isinstance(ch, tuple) and self.channel(ch[0]).ended:
                c.ended = DEAD
        return self.channels[ch]

    def ready(self, op):
        """Whether an operation, or a guard, need not wait; what is poisoned is ready, rule 6."""
        if op[0] in ("skip", "timer", "hidden"):
            return op[0] == "skip"
        c = self.channel(op[1])
        if op[0] in ("closed", "ended"):
            return bool(c.ended)
        if op[0] == "sync":
            return bool(c.ended or len(c.writers) + 1 >= self.parties(op[1]))
        if op[0] == "read":
            return bool(c.writers or c.buffer or c.given or c.ended)
        capacity = self.capacities.get(op[1], 0)
        if capacity is None or isinstance(capacity, tuple):
            return True
        return bool(c.readers or c.ended or len(c.buffer) < capacity)

    def choices(self, p, op):
        """The guards that a select may choose now; [None]: it waits. Rule 6."""
        ready = [i for i, g in enumerate(op[1]) if self.ready(g)] if op[0] == "select" else []
        if not ready or not op[2]:
            return ready[:1] or [None]
        # Fair: a guard is not chosen again before a ready one that was passed over for it.
        passed = self.passed.get(_fair(p, op), {})
        return [i for i in ready if all(i not in passed.get(j, ()) for j in ready if j != i)]

    def arrive(self, p, op, choice=0):
        """p's operation takes effect; `choice` is which of several allowed choices it makes."""
        self.ops[p][0] = "queued"
        if op[0] == "select":
            self.select(p, op, self.choices(p, op)[choice])
        elif op[0] in WAITS:
            self.operate(p, None, op)
        elif op[0] == "len":
            c = self.channel(op[1])
            n = len(c.readers) + len(c.writers) + len(c.buffer) + len(c.given)
            self.finish(p, None, ("ok", n))
        elif op[0] == "flush":
            n = len(self.channel(op[1]).writers)
            poisoned = self.channel(op[1]).ended
            self.release(op[1])
            self.finish(p, None, POISON if poisoned else ("ok", n))
        elif op[0] in ("enrol", "resign"):
            self.finish(p, None, self.change(op[1], 1 if op[0] == "enrol" else -1))
        elif op[0] == "answer":
            self.answer(op[1], op[2])
            self.finish(p, None, ("ok", None))
        elif op[0] == "join":
            self.join(p, op[1], op[2])
        elif op[0] == "retire":
            self.retire(op[1], op[2])
            self.finish(p, None, ("ok", None))
        else:
            if len(op) < 4 or op[3] > self.capacities.get(("immunity", op[1]), 0):
                self.end(op[1], op[2] if op[0] == "poison" else "close")
            self.finish(p, None, ("ok", None))

    def select(self, p, op, chosen):
        if op[2] and chosen is not None:
            name = _fair(p, op)
            self.passed[name] = passed = dict(self.passed.get(name, {}))
            for j, g in enumerate(op[1]):
                if j != chosen and self.ready(g):
                    passed[j] = passed.get(j, ()) + (chosen,)
        if chosen is None:
            for i, g in enumerate(op[1]):
                if g[0] in WAITS:
                    self.queue(p, i, g)
        elif op[1][chosen][0] == "skip":
            self.finish(p, chosen, ("ok", None))
        else:
            self.operate(p, chosen, op[1][chosen])

    def operate(self, p, i, op):
        """p reads, writes or waits, by guard i or plainly: it pairs, meets the end, or queues."""
        c = self.channel(op[1])
        if op[0] == "fall" and not c.ended or not self.ready(op):
            self.queue(p, i, op)
        elif op[0] in ("closed", "ended"):
            self.finish(p, i, c.result)
        elif op[0] in ("sync", "fall"):
            self.release(op[1])
            self.finish(p, i, POISON if c.ended else ("ok", 0))
        elif op[0] == "write":
            if c.ended:
                self.finish(p, i, POISON)
                return
            if c.readers:
                q, j, _ = c.readers[0]
                self.received(q, j, op[1], op[2])
            else:
                c.buffer.append(op[2])
                self.overflow(op[1])
            self.finish(p, i, ("ok", 0))
        elif c.given:
            self.received(p, i, op[1], c.given.pop(0)[1])
        elif c.buffer or c.writers:
            if c.writers:  # there is room for the oldest of them, or nothing is buffered at all
                q, j, value = c.writers[0]
                self.finish(q, j, ("ok", 0))
                c.buffer.append(value)
            self.received(p, i, op[1], c.buffer.pop(0))
        else:
            self.finish(p, i, POISON)

    def overflow(self, ch):
        capacity = self.capacities.get(ch, 0)
        if isinstance(capacity, tuple):
            how, n = capacity
            if len(self.channel(ch).buffer) > n:
                self.channel(ch).buffer.pop(0 if how == "keep_newest" else n)

    def join(self, p, ch, how):
        c = self.channel(ch)
        if c.ended and (how == "write" or not (c.given or c.buffer or c.writers)):
            self.finish(p, None, POISON)
        else:
            c.counted[how] += 1
            self.finish(p, None, ("ok", None))

    def retire(self, ch, how):
        c = self.channel(ch)
        c.counted[how] -= 1
        if not c.counted[how]:
            self.end(ch, "channel" if how == "read" else "close")

    # Who waits at a barrier, or in a bucket, does so as a writer.

    def parties(self, b):
        return self.capacities[b][1] + self.channel(b).enrolled

    def release(self, b):
        c = self.channel(b)
        while c.writers:
            self.finish(c.writers[0][0], c.writers[0][1], ("ok", 0))

    def change(self, b, n):
        c = self.channel(b)
        if c.ended:
            return POISON if n > 0 else ("ok", None)
        c.enrolled += n
        if len(c.writers) >= self.parties(b):
            self.release(b)
        return ("ok", None)

    def answer(self, ch, value):
        c = self.channel(ch)
        if not c.ended:
            c.ended = CLOSED
            c.buffer.append(value)
            if c.readers:
                self.received(c.readers[0][0], None, ch, c.buffer.pop())

    def over(self, h, outcome):
        """The process of a handle has ended, and who waits for that gets this."""
        self.channel(h).result = outcome
        self.end(h, "channel")

    def queue(self, p, i, op):
        c = self.channel(op[1])
        if op[0] == "read":
            c.readers.append((p, i, None))
        elif op[0] in ("closed", "ended"):
            c.watchers.append((p, i, None))
        else:
            c.writers.append((p, i, op[2] if op[0] == "write" else None))

    def received(self, p, i, ch, value):
        self.channel(ch).paired += 1
        self.finish(p, i, ("ok", value))

    def finish(self, p, i, outcome):
        """p's operation has happened, by guard i: its other offers are withdrawn. Rule 6."""
        op = self.ops[p][1]
        for c in self.channels.values():
            c.leave(lambda o: o[0] == p)
        if op[0] == "select":
            name = _fair(p, op)
            if name in self.passed:
                others = self.passed[name].items()
                self.passed[name] = {j: over for j, over in others if j != i}
            if outcome[0] == "ok":
                outcome = ("chosen", i, outcome[1])
        self.ops[p] = ["done", op, outcome, ()]

    def end(self, ch, how):
        """Rules 3 and 9. Who waits is poisoned; close lets waiting writers be read first."""
        c = self.channel(ch)
        while c.readers:
            self.finish(c.readers[0][0], c.readers[0][1], POISON)
        while c.watchers:
            self.finish(c.watchers[0][0], c.watchers[0][1], c.result)
        while c.writers and how != "close":
            self.finish(c.writers[0][0], c.writers[0][1], POISON)
        if how in ("channel", "read"):
            c.buffer, c.given = [], []
            c.ended = DEAD
        else:
            c.ended = max(c.ended, CLOSED)
        for k in list(self.channels):
            if isinstance(k, tuple) and k[0] == ch and not self.channels[k].ended:
                self.end(k, "channel")
