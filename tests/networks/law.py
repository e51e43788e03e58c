"""The law: what the logs of any network must fulfil, whatever its schedule was.

`violations(network, result)` judges what a program of `source` printed. It knows the rules and
shares no code with the libraries. Of each channel:

- a value that was read had been written there, to none but that reader, and its writer was told
  so: no write that ended by poison, a time limit or a cancel was read;
- a value whose write returned was read, or is found in the channel afterwards, or it was in the
  buffer, or given back by a cancelled reader, when the channel was poisoned by a reader or as a
  whole; or a Parallel read it that another of its operations ended by poison;
- values of one writer come to one reader in the order of their writes, unless one may have been
  on its way back from a cancelled reader meanwhile;
- nobody meets poison that nobody caused, and poison stays;
- afterwards nobody waits there, and the invariants hold.

Of the run: it ends, and all its processes; its results are theirs; it raises what one of them
raised, or reports a deadlock of processes that do wait, where none could have gone on.
"""

import re

from networks.source import ends_of

_WAITS = re.compile(r"\b(p\d+) ((?:reads|writes) c\d+(?: or (?:reads|writes) c\d+)*)")


class _Channel:
    def __init__(self, capacity):
        self.capacity = 0 if capacity == "plain" else capacity
        self.overflows = isinstance(capacity, list)
        if self.overflows:
            self.capacity = None  # as without one, a write never waits
        self.sure = set()  # values whose write returned
        self.perhaps = set()  # of writes in a Parallel that did not end well
        self.never = set()  # of writes that did not happen
        self.reads = []  # (reader, value, when it began, when it was noted)
        self.given_up = []  # (when it began, when it was noted) of reads that were cancelled
        self.lost = 0  # values that a Parallel may have read and that ended by poison
        self.causes = set()  # who may have ended it: "ch", "r", "w" or "close"
        self.known = False  # whether one of them is in the logs
        self.early = set()  # those of them that were there before a deadlock
        self.dropped = 0


class _Judge:
    def __init__(self, network, result):
        self.network = network
        self.result = result
        self.channels = [_Channel(c) for c in network["channels"]]
        self.faults = []
        self.met = []  # (process, channel, operation) that ended by poison
        self.cancelled = []  # (process, operation) that ended by a time limit or a cancel
        self.revived = []  # (process, channel) that was read after it had met poison there
        # Only poison ends what waits in a deadlock, if nobody waits for others or starts some.
        self.moments = _moments(result)
        self.flat = not _nested(network)
        self.raised = {}  # name of an exception -> ids of the processes that died of it

    def fault(self, text, *args):
        self.faults.append(text.format(*args))

    # What one process did

    def process(self, me, d, events):
        self.me = me
        self.no_reads = set()
        self.no_writes = set()
        self.has_met = False  # poison
        pending = None
        for event in events:
            kind = event[0]
            self.now = next(self.moments[me])
            if kind == "+":
                self.done(pending, event[1:])
                pending = None
            elif kind == "-":
                self.poisoned(pending)
                pending = None
            elif kind == "late":
                self.given_up(pending)
                pending = None
            elif kind == "poison":
                self.channels[event[1]].causes.add(event[2])
                self.channels[event[1]].known = True
                if self.flat and not self.has_met:
                    self.channels[event[1]].early.add(event[2])
            elif kind == "died":
                self.died(d, pending, event)
            elif kind != "end":
                if pending is not None:
                    self.fault("the log of {} is out of step at {}", self.me, event)
                pending = event
                self.began = self.now
        if not events or events[-1][0] not in ("end", "died"):
            self.fault("process {} has not ended: {}", me, events[-1:])

    def wrote(self, c, value, kind):
        getattr(self.channels[c], kind).add(value)
        if kind == "sure" and c in self.no_writes:
            self.fault("process {} wrote c{} after it had met poison there", self.me, c)

    def read(self, c, value):
        self.channels[c].reads.append((self.me, value, self.began, self.now))
        if c in self.no_reads:
            self.revived.append((self.me, c))

    def done(self, op, outcome):
        if op is None:
            return self.fault("process {}: an outcome of nothing: {}", self.me, outcome)
        kind = op[0]
        if kind in ("r", "f"):
            self.read(op[1], outcome[0])
        elif kind == "w":
            self.wrote(op[1], op[2], "sure")
            self.is_zero(outcome[0])
        elif kind == "P":
            if len(outcome[0]) != len(op[1]):
                return self.fault("a Parallel of {} gave {}", op[1], outcome[0])
            for m, v in zip(op[1], outcome[0]):
                if m[0] == "r":
                    self.read(m[1], v)
                else:
                    self.wrote(m[1], m[2], "sure")
                    self.is_zero(v)
        elif kind == "s":
            self.chosen(op[1], op[2], *outcome)

    def is_zero(self, value):
        if value != 0:
            self.fault("process {}: a write gave {}", self.me, value)

    def chosen(self, fair, guards, index, value):
        if index is None:
            return self.fault("process {}: select gave a guard it did not get", self.me)
        for i, g in enumerate(guards):
            if g[0] == "w":
                self.wrote(g[1], g[2], "sure" if i == index else "never")
        g = guards[index]
        if g[0] == "r":
            self.read(g[1], value)
        elif g[0] == "w":
            self.is_zero(value)
        elif value is not None:
            self.fault("process {}: a Timer or Skip gave {}", self.me, value)
        if not fair and ["k"] in guards[:index]:
            self.fault("process {}: select passed Skip over for {}", self.me, g)

    def nothing(self, op):
        # It ended by poison, a time limit or a cancel.
        if op[0] == "w":
            self.wrote(op[1], op[2], "never")
        elif op[0] == "s":
            for g in op[2]:
                if g[0] == "w":
                    self.wrote(g[1], g[2], "never")
        elif op[0] == "P":
            for m in op[1]:
                if m[0] == "w":
                    self.wrote(m[1], m[2], "perhaps")

    def poisoned(self, op):
        self.has_met = True
        if op is None or op[0] in ("run", "join"):
            return
        self.nothing(op)
        if op[0] in ("r", "f"):
            self.met.append((self.me, {op[1]}, op))
            self.no_reads.add(op[1])
            self.no_writes.add(op[1])
        elif op[0] == "w":
            self.met.append((self.me, {op[1]}, op))
            self.no_writes.add(op[1])
        else:
            members = op[2] if op[0] == "s" else op[1]
            self.met.append((self.me, {m[1] for m in members if m[0] in "rw"}, op))
            self.may_lose(op)

    def may_lose(self, op):
        if op is not None and op[0] == "P":
            for m in op[1]:
                if m[0] == "r":
                    self.channels[m[1]].lost += 1

    def given_up(self, op):
        if op is None or op[0] in ("run", "join"):
            return
        self.nothing(op)
        self.cancelled.append((self.me, op))
        members = {"s": op[-1], "P": op[-1]}.get(op[0], [op])
        for m in members:
            if m[0] in ("r", "f"):
                self.channels[m[1]].given_up.append((self.began, self.now))

    def died(self, d, pending, event):
        _, kind, text = event
        if pending is None and self.flat and not self.has_met:
            if self.network["defs"][d]["propagate"]:
                for end, c in ends_of(self.network["defs"][d]):
                    self.channels[c].early.add(end)
        self.raised.setdefault(kind, set()).add(str(self.me))
        if kind == "PoisonException":
            self.poisoned(pending)
        elif kind == "CancelledError":
            self.given_up(pending)
        elif kind == "Boom":
            # Of a child, for whose end it waited after it had met poison itself.
            self.given_up(pending)
            self.may_lose(pending)
        else:
            self.fault("process {} died of {}: {}", self.me, kind, text)
        if not isinstance(d, list):
            self.may_poison(d, True)

    def may_poison(self, d, known=False):
        if self.network["defs"][d]["propagate"]:
            for kind, c in ends_of(self.network["defs"][d]):
                self.channels[c].causes.add(kind)
                self.channels[c].known |= known

    # Poison that leaves no log

    def unlogged(self):
        failed = self.result["outcome"][0] != "returned"
        if failed:
            for ch in self.channels:  # the watchdog ends who waits for what has failed
                ch.causes.add("ch")
        if failed or set(self.raised) - {"PoisonException"}:
            for m in self.network["members"]:
                self.forgone(m)
        for process in self.network["defs"]:
            self.spawned(process["ops"])

    def forgone(self, member):
        # Members of a Sequence that has failed are not started, and poison their ends.
        if member[0] == "p":
            self.may_poison(member[1])
        else:
            for m in member[1]:
                self.forgone(m)

    def spawned(self, ops):
        for op in ops:
            if op[0] == "spawn":
                self.may_poison(op[1])  # it may be cancelled before it has begun
                self.spawned(op[2])
            elif op[0] == "run":
                for m in op[2]:
                    if op[1] == "seq" or m[0] == "seq":
                        self.forgone(m)
            elif op[0] in ("loop", "task"):
                self.spawned(op[2])
            elif op[0] == "try":
                self.spawned(op[1])
            elif op[0] == "for":
                self.spawned(op[3])

    # Channels

    def channel(self, c, ch):
        writers = dict.fromkeys(ch.never, "never")
        writers.update(dict.fromkeys(ch.perhaps, "perhaps"))
        writers.update(dict.fromkeys(ch.sure, "sure"))
        drained = self.result["drained"][c]
        seen = set()
        for me, v in [r[:2] for r in ch.reads] + [("afterwards", v) for v in drained]:
            if v not in writers:
                self.fault("c{}: {} was read by {}, and nobody wrote it there", c, v, me)
            elif writers[v] == "never":
                self.fault("c{}: {} was read by {}, but its write did not happen", c, v, me)
            if v in seen:
                self.fault("c{}: {} was read twice", c, v)
            seen.add(v)
        ch.dropped = len(ch.sure - seen)
        room = ch.lost
        if ch.causes & {"ch", "r"}:
            room += len(ch.given_up) + (ch.dropped if ch.capacity is None else ch.capacity)
        if ch.dropped > room and not ch.overflows:
            lost = sorted(ch.sure - seen)
            self.fault("c{}: {} were written and never read ({} may be)", c, lost, room)
        self.order(c, ch, drained)
        before, after = self.result["before"][c], self.result["after"][c]
        for moment, state in ("after the run", before), ("in the end", after):
            if state[1] is not None:
                self.fault("c{}: {} the invariants do not hold: {}", c, moment, state[1])
        if before[0] != len(drained) or after[0]:
            text = "c{}: {} are queued after the run, {} can be read, {} are left"
            self.fault(text, c, before[0], len(drained), after[0])
        if ch.known and not after[2]:
            self.fault("c{} was poisoned or closed, and is not so in the end", c)
        if after[2] and not ch.causes:
            self.fault("c{} is poisoned in the end, and nobody did that", c)

    def order(self, c, ch, drained):
        last = {}
        for me, v, began, noted in ch.reads + [("afterwards", v, 0, 0) for v in drained]:
            if not isinstance(v, int):
                continue  # what nobody writes: a fault already
            writer = v // 1000
            older = last.get((me, writer))
            if older is not None and older[0] > v:
                # The younger one came first: v may have been with a reader who gave it back.
                if not any(b < older[2] and n > older[1] for b, n in ch.given_up):
                    self.fault("c{}: {} was read by {} after {}", c, v, me, older[0])
            last[me, writer] = v, began, noted

    def poison(self):
        for me, c in self.revived:
            if not self.channels[c].given_up:  # what is given back to a closed channel can be read
                self.fault("process {} read c{} after it had met poison there", me, c)
        for me, channels, op in self.met:
            if channels and not any(self.channels[c].causes for c in channels):
                self.fault("process {} met poison that nobody caused in {}", me, op)

    # The run

    def outcome(self):
        kind, *what = self.result["outcome"]
        if kind == "returned":
            for name in set(self.raised) - {"PoisonException", "CancelledError"}:
                self.fault("the run returned though processes died of {}", name)
            members = self.network["members"]
            results = what[0] if len(members) > 1 else what
            self.results(members, results)
        elif what[0] == "DeadlockError":
            self.deadlock(what[1])
        elif what[0] != "Boom":
            self.fault("the run raised {}: {}", *what)
        elif what[1] not in self.raised.get("Boom", ()):
            self.fault("the run raised an exception of {}, which raised none", what[1])

    def results(self, members, results):
        if not isinstance(results, list) or len(results) != len(members):
            return self.fault("the results of {} are {}", members, results)
        for (kind, what), r in zip(members, results):
            if kind != "p":
                self.results(what, r)
            elif r is None:
                died = [d for d, events in self.result["logs"] if events[-1][0] == "died"]
                if what not in died:
                    self.fault("p{} gave None, and was not poisoned", what)
            elif self.result["logs"][r][0] != what:
                self.fault("the result of p{} is that of process {}", what, r)

    def deadlock(self, text):
        waits = [(p, w.split(" or ")) for p, w in _WAITS.findall(text)]
        count = text.split(" ", 1)[0]
        if not waits or count != str(len(waits)):
            return self.fault("a report of {} processes that can't be read: {}", count, text)
        ended = [(me, op) for me, _, op in self.met] + self.cancelled
        met = [("p{}".format(self.result["logs"][me][0]), _wishes(op)) for me, op in ended]
        for i, (p, wishes) in enumerate(waits):
            found = [m for m in met if m[0] == p and _fits(wishes, *m[1])]
            if not found:
                self.fault("{} did not wait for that, or not for that alone: {}", p, text)
                continue
            met.remove(found[0])
            others = {w for j, (_, ws) in enumerate(waits) if j != i for w in ws}
            for wish in wishes:
                verb, name = wish.split()
                c = int(name[1:])
                self.stuck(c, verb, self.channels[c], text)
                if ("writes " if verb == "reads" else "reads ") + name in others:
                    self.fault("no deadlock, c{} has a reader and a writer: {}", c, text)

    def stuck(self, c, verb, ch, text):
        n = len(ch.reads)
        if ch.early - (set() if verb == "reads" else {"close"}):
            self.fault("c{} was ended ({}) before the deadlock: {}", c, ch.early, text)
        if verb == "reads" and len(ch.sure) > n + ch.lost and not ch.overflows:
            self.fault("no deadlock, c{} can be read: {}", c, text)
        if verb == "writes" and (
            ch.capacity is None or len(ch.sure) + len(ch.perhaps) - n < ch.capacity
        ):
            self.fault("no deadlock, c{} has room: {}", c, text)


def _wishes(op):
    # (what an operation wishes, as in a report; whether some of it may have happened already)
    members = op[-1] if op[0] in ("s", "P") else [op]
    return [_WISH[m[0]].format(*m[1:]) for m in members], op[0] == "P"


_WISH = {"r": "reads c{}", "f": "reads c{}", "w": "writes c{}", "t": "waits", "k": "skips"}


def _fits(reported, wished, in_part):
    if not in_part:
        return reported == wished
    return all(w in wished for w in reported)


def _nested(network):
    text = str(network)
    return any("'{}'".format(word) in text for word in ("seq", "run", "spawn", "task"))


def _moments(result):
    # Of each process, the moments of its events; where there is one thread they count for all.
    moments = [[] for _ in result["logs"]]
    order = result.get("order")
    if order is None:
        return [iter(range(len(events))) for _, events in result["logs"]]
    for moment, me in enumerate(order):
        moments[me].append(moment)
    return [iter(m) for m in moments]


def violations(network, result):
    """What is wrong with a result, as a list of sentences."""
    judge = _Judge(network, result)
    for me, (d, events) in enumerate(result["logs"]):
        judge.process(me, d, events)
    judge.unlogged()
    for c, ch in enumerate(judge.channels):
        judge.channel(c, ch)
    judge.poison()
    judge.outcome()
    return judge.faults
