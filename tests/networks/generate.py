"""Descriptions of networks, drawn by hypothesis: see `source` for what they are made of.

Three kinds. *Wired* networks carry messages from sources to sinks, through relays, deltas,
multiplexers, time limits; they end by poison from the sources, as programs do, unless one of the
guests that are put among them reads, writes, fails or poisons where it should not. *Loose* ones
join processes of any kind to any channels; most of them deadlock, sooner or later. In *struck*
ones processes are cancelled, which only `uapycsp` does, in or near the moment in which they meet.

All end: only loops that wait for a message of a wired network may be without a count.
"""

from hypothesis import strategies as st

_CAPACITIES = st.sampled_from(
    ["plain", "plain", 0, 1, 1, 2, 3, None, None, ["keep_oldest", 1], ["keep_newest", 2]]
)
_COUNTS = st.integers(1, 6)
_MS = st.sampled_from([1, 0, 2])
_TURN = [["s", 0, 0, [["k"]]]]
_FLAG = st.sampled_from([0, 1])


def _chance(draw, one_in):
    return draw(st.integers(0, one_in - 1)) == one_in - 1


class _Builder:
    def __init__(self, draw):
        self.draw = draw
        self.channels = []
        self.defs = []
        self.free = []  # processes that nobody runs yet

    def new_channel(self):
        self.channels.append(self.draw(_CAPACITIES))
        return len(self.channels) - 1

    def channel(self):
        return self.draw(st.integers(0, len(self.channels) - 1))

    def process(self, ops, hold=()):
        draw = self.draw
        self.defs.append(
            {
                "ops": ops,
                "propagate": not _chance(draw, 8),
                "pass": draw(st.sampled_from([0, 0, 1, 2])),
                "hold": [list(e) for e in hold],
            }
        )
        self.free.append(len(self.defs) - 1)

    # Operations

    def guard(self):
        kind = self.draw(st.sampled_from("rrrwwtk"))
        if kind in "rw":
            return [kind, self.channel()]
        return ["t", self.draw(_MS)] if kind == "t" else ["k"]

    def select(self, *guards):
        return ["s", self.draw(_FLAG), self.draw(_FLAG), [list(g) for g in guards]]

    def parallel(self, *members):
        return ["P", [[kind, c, self.draw(_FLAG)] for kind, c in members]]

    def simple(self):
        draw = self.draw
        kind = draw(st.sampled_from("rrrwwwssPli"))
        if kind in "rw":
            return [kind, self.channel()]
        if kind == "s":
            return self.select(*[self.guard() for _ in range(draw(st.integers(1, 4)))])
        if kind == "P":
            members = [(draw(st.sampled_from("rw")), self.channel())]
            for _ in range(draw(st.integers(0, 2))):
                members.append((draw(st.sampled_from("rw")), self.channel()))
            return self.parallel(*members)
        if kind == "l":
            return self.limited(self.wish())
        return ["spin", draw(st.sampled_from([0, 100, 1000]))]

    def wish(self):
        kind = self.draw(st.sampled_from("rrwsP"))
        if kind in "rw":
            return [kind, self.channel()]
        if kind == "s":
            return self.select(*[self.guard() for _ in range(self.draw(st.integers(1, 3)))])
        other = (self.draw(st.sampled_from("rw")), self.channel())
        return self.parallel(("r", self.channel()), other)

    def limited(self, op):
        return ["limit", self.draw(_MS), op]

    def deed(self):
        # What ends something.
        kind = self.draw(st.sampled_from("ppppcbx"))
        if kind == "p":
            return ["poison", self.channel(), self.draw(st.sampled_from(["w", "r", "ch"]))]
        if kind == "c":
            return ["poison", self.channel(), "close"]
        return ["raise", "boom" if kind == "b" else "poison"]

    def ops(self, most):
        ops = [self.simple() for _ in range(self.draw(st.integers(1, most)))]
        if _chance(self.draw, 4):
            ops.append(self.deed())
        if _chance(self.draw, 6):
            ops = [["try", ops]]
        return ops

    def random_ops(self):
        kind = self.draw(st.sampled_from("lllof"))
        if kind == "l":
            ops = [["loop", self.draw(_COUNTS), self.ops(3)]]
        elif kind == "f":
            ops = [["for", self.channel(), self.draw(_COUNTS), self.ops(2)[:1]]]
        else:
            ops = []
        if kind == "o" or _chance(self.draw, 3):
            ops += self.ops(4)
        return ops

    # Processes of a wired network

    def source(self, c):
        draw = self.draw
        write = ["w", c]
        if _chance(draw, 4):
            write = self.select(["w", c], ["t", draw(_MS)])
        elif _chance(draw, 5):
            write = self.parallel(("w", c), ("w", c))
        elif _chance(draw, 5):
            write = self.limited(["w", c])
        ops = [["loop", draw(st.integers(1, 12)), [write]]]
        if _chance(draw, 3):  # twice, with time to read in between
            ops = [["loop", 2, ops + self.turns(3)]]
        end = draw(st.sampled_from(["w", "w", "poison", "close", "boom", "ch", ""]))
        if end in ("boom", "poison"):
            ops.append(["raise", end])
        elif end:
            ops.append(["poison", c, end])
        self.process(ops)

    def stage(self, inputs):
        # A process between the channels `inputs` and new ones; returns these.
        draw = self.draw
        a = inputs[0]
        b = self.new_channel()
        kind = draw(st.sampled_from(["relay", "delta", "mux", "newest", "late", "for"]))
        n = draw(st.sampled_from([None, None, None, 3, 8]))
        if kind == "relay":
            ops = [["loop", n, [["r", a], ["w", b]]]]
        elif kind == "for":
            ops = [["for", a, n, [["w", b]]], ["poison", b, draw(st.sampled_from(["w", "close"]))]]
        elif kind == "delta":
            c = self.new_channel()
            both = [self.parallel(("w", b), ("w", c))]
            if draw(_FLAG):
                both = [["w", b], ["w", c]]
            ops = [["loop", n, [["r", a]] + both]]
            self.process(ops)
            return [b, c]
        elif kind == "mux":
            ops = [["loop", n, [self.select(*[("r", c) for c in inputs]), ["w", b]]]]
            if draw(_FLAG):
                ops = [["loop", n, [self.parallel(*[("r", c) for c in inputs]), ["w", b]]]]
        elif kind == "newest":
            ops = [["loop", 10, [self.select(("r", a), ("w", b))]], ["poison", b, "w"]]
        else:
            wait = self.limited(["r", a]) if draw(_FLAG) else self.select(["r", a], ["t", 1])
            ops = [["loop", 10, [wait, ["w", b]]], ["raise", "poison"]]
        self.process(ops)
        return [b]

    def sink(self, inputs):
        draw = self.draw
        kind = draw(st.sampled_from(["read", "for", "two", "select", "late", "few"]))
        a = inputs[0]
        if kind == "read":
            self.process([["loop", None, [["r", a]]]])
        elif kind == "two":
            self.process([["loop", None, [["r", a]]]])
            self.process([["for", a, None, []]])
        elif kind == "select":
            self.process([["loop", None, [self.select(*[("r", c) for c in inputs])]]])
            inputs = inputs[:1]
        elif kind == "late":
            self.process([["loop", 12, [self.limited(["r", a])]], ["loop", None, [["r", a]]]])
        elif kind == "few":
            self.process([["loop", draw(_COUNTS), [["r", a]]], self.deed()])
        else:
            self.process([["for", a, None, []]])

    def wired(self):
        draw = self.draw
        open_ends = []
        for _ in range(draw(st.integers(1, 3))):
            if open_ends and _chance(draw, 3):
                self.source(open_ends[-1])  # several writers
            else:
                c = self.new_channel()
                self.source(c)
                open_ends.append(c)
        for _ in range(draw(st.integers(0, 3))):
            k = draw(st.integers(0, len(open_ends) - 1))
            inputs = open_ends[k:] + open_ends[:k]
            used = inputs[: draw(st.integers(1, min(3, len(inputs))))]
            open_ends = [c for c in open_ends if c not in used[:1]] + self.stage(used)
        for c in open_ends:
            self.sink([c] + [x for x in open_ends if x != c][:1])
        for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
            self.process(self.random_ops())

    def loose(self):
        for _ in range(self.draw(st.integers(1, 4))):
            self.new_channel()
        for _ in range(self.draw(st.integers(1, 6))):
            hold = ()
            if _chance(self.draw, 5):
                hold = [(self.draw(st.sampled_from("rw")), self.channel())]
            self.process(self.random_ops(), hold)

    def struck(self):
        draw = self.draw
        self.new_channel()
        for _ in range(draw(st.integers(0, 2))):
            op = self.on(draw(st.sampled_from("rw")), self.channel())
            self.process(self.turns(3) + [["loop", draw(_COUNTS), [op]]])
        for _ in range(draw(st.integers(1, 3))):
            self.strike()

    def strike(self):
        # One who waits on c, somebody who may meet him there, and one who cancels him about then.
        draw = self.draw
        c = self.new_channel() if draw(st.integers(0, 2)) else self.channel()
        op, other = draw(st.sampled_from(["rw", "rw", "wr"]))
        n = draw(_COUNTS)
        moment = draw(st.integers(1, 4))
        if draw(_FLAG):
            self.process(self.about(moment) + [["loop", n, [[other, c]]]])
        self.process([["loop", draw(st.sampled_from([1, 1, 3])), [self.on(op, c)]]])
        d = self.free.pop()
        # A victim that poisons its read end drops what it gives back.
        self.defs[d]["propagate"] = _chance(draw, 4)
        beside = self.about(moment)
        if _chance(draw, 3):
            beside.append([other, c])
        then = draw(st.sampled_from(["task", "cancel", "cancel"]))
        ops = [["task", d, beside] if then == "task" else ["spawn", d, beside, then]]
        if draw(st.integers(0, 2)):
            ops.append(["loop", n, [[op, c]]])
        self.process(ops)

    def about(self, moment):
        return [["loop", moment + self.draw(st.sampled_from([0, 0, 0, 1, 2])), _TURN]]

    def turns(self, most):
        # As often all others run meanwhile.
        n = self.draw(st.integers(0, most))
        return [["loop", n, _TURN]] if n else []

    def on(self, op, c):
        # An operation on a channel, alone or as one of several.
        draw = self.draw
        kind = draw(st.sampled_from("...sPl"))
        other = (draw(st.sampled_from("rw")), self.channel())
        if kind == "s":
            guards = [(op, c), other]
            return self.select(*guards[:: draw(st.sampled_from([1, -1]))])
        if kind == "P":
            return self.parallel((op, c), other)
        return self.limited([op, c]) if kind == "l" else [op, c]

    # Who runs whom

    def take(self):
        return self.free.pop(self.draw(st.integers(0, len(self.free) - 1)))

    def some(self):
        return [self.take() for _ in range(self.draw(st.integers(1, min(3, len(self.free)))))]

    def parent(self):
        # A process that runs others; it is free in their place.
        draw = self.draw
        kind = draw(st.sampled_from(["run", "spawn", "spawn", "task", "task", "again"]))
        if kind == "run":
            members = [["p", d] for d in self.some()]
            ops = [["run", draw(st.sampled_from(["par", "par", "seq"])), members]]
            if _chance(draw, 4):
                ops += self.ops(2)
        elif kind == "again":
            d = self.take()
            how = draw(st.sampled_from(["one", "par", "seq"]))
            ops = [["loop", draw(st.integers(1, 3)), [["run", how, [["p", d]]]]]]
        else:
            d = self.take()
            beside = self.turns(5)
            if draw(_FLAG):
                beside += self.ops(3)
            if kind == "spawn":
                ops = [["spawn", d, beside, draw(st.sampled_from(["join", "cancel", "leave"]))]]
            else:
                ops = [["task", d, beside]]
        self.process(ops)

    def members(self):
        draw = self.draw
        members = [["p", d] for d in self.free]
        if len(members) > 1 and _chance(draw, 3):
            k = draw(st.integers(0, len(members) - 1))
            how = draw(st.sampled_from(["par", "par", "seq"]))
            members = members[:k] + [[how, members[k:]]]
        if len(members) > 2 and _chance(draw, 6):
            members = [["par", members[:2]]] + members[2:]
        return members

    def network(self, kind):
        getattr(self, kind)()
        for _ in range(self.draw(st.sampled_from([0, 0, 1, 2]))):
            leaves = [d for d in self.free if not _nests(self.defs[d]["ops"])]
            if not leaves:
                break
            others = [d for d in self.free if d not in leaves]
            self.free = leaves
            self.parent()
            self.free += others
        return {"channels": self.channels, "defs": self.defs, "members": self.members()}


def _nests(ops):
    return any(op[0] in ("run", "spawn", "task") for op in ops) or any(
        op[0] == "loop" and _nests(op[2]) for op in ops
    )


@st.composite
def networks(draw, cancels):
    """Descriptions of networks; cancels: of cancelled processes, too."""
    kinds = ["wired", "loose", "struck", "struck"] if cancels else ["wired", "loose"]
    return _Builder(draw).network(draw(st.sampled_from(kinds)))
