"""Programs made up from a number: more processes and channels than those written by hand."""

from tasks_decisions import Random

CAPACITIES = (None, None, None, 0, 1, 1, 2, ("keep_oldest", 1), ("keep_newest", 2))
NAMES = "ABCDEF"


def named(name, programs):
    """The program of a name: one of those given, or "random:5"."""
    return programs[name] if name in programs else program(int(name.split(":")[1]))


def program(seed):
    """A program; the same from the same seed, everywhere."""
    r = Random(seed)
    channels = {}
    for name in "cde"[: 1 + r.below(3)]:
        channels[name] = r.one_of(CAPACITIES)
    made = Maker(r, sorted(channels))
    processes = {}
    for name in NAMES[: 3 + r.below(4)]:
        processes[name] = [made.action(2) for _ in range(1 + r.below(3))]
    return {"channels": channels, "processes": processes, "cancels": r.below(4)}


class Maker:
    def __init__(self, random, channels):
        self.random = random
        self.channels = channels

    def part(self):
        kind = "read" if self.random.below(2) else "write"
        return kind, self.random.one_of(self.channels)

    def parts(self):
        return [self.part() for _ in range(1 + self.random.below(3))]

    def action(self, depth):
        """An action; depth: how deep children may nest in it."""
        r = self.random
        n = r.below(24 if depth else 18)
        if n < 9:
            return self.part()
        if n < 10:
            return "within", 5 * r.below(3), self.part()
        if n < 13:
            guards = self.parts()
            if not r.below(4):
                guards.append(("timer", 5 * (1 + r.below(2))))
            if not r.below(6):
                guards.append(("closed", r.one_of(self.channels)))
            if not r.below(4):
                digits = "".join([r.one_of("01") for _ in guards[1:]])
                return ("masked", "1" + digits) + tuple(guards)
            return ("fair" if r.below(3) == 0 else "select",) + tuple(guards)
        if n < 15:
            guards = self.parts()
            if not r.below(6):
                guards.append(("closed", r.one_of(self.channels)))
            return ("guards",) + tuple(guards)
        if n < 16:
            return ("operations",) + tuple(self.parts())
        if n == 16:
            if r.below(2):
                return "close", r.one_of(self.channels)
            return "poison", r.one_of(self.channels), r.one_of(("channel", "read", "write"))
        if n == 17:
            return "sleep", 5
        if n < 20:
            return ("keep",) + tuple([self.action(depth - 1) for _ in range(2)])
        kind = r.one_of(("parallel", "gather", "sequence", "spawn", "limit"))
        if kind == "spawn":
            return kind, self.actions(depth)
        if kind == "limit":
            return kind, 5, self.actions(depth)
        return kind, self.actions(depth), self.actions(depth)

    def actions(self, depth):
        return [self.action(depth - 1) for _ in range(1 + self.random.below(2))]
