"""What ended a channel, and what an operation is told of it. For the programs of tasks_world."""

import uapycsp as csp

RETIRED = -1  # a cause softer than any poison


def hardness(cause):
    return 1000000 if cause is None else cause


class Causes:
    """What ended the channels: strengths of poison, None (the hardest) or RETIRED."""

    def __init__(self, capacities):
        self.capacities = capacities
        self.possible = {}  # name -> all that may have acted on it
        self.hardest = {}  # name -> the hardest that surely has
        self.unsure = False  # if a process has died before it began

    def add(self, name, cause, surely=False):
        immunity = self.capacities.get(("immunity", name), 0)
        if cause is None or cause == RETIRED or cause > immunity:
            self.possible.setdefault(name, []).append(cause)
            if surely:
                self.hardest[name] = max(hardness(cause), self.hardest.get(name, RETIRED))

    def check(self, er, parts):
        """What is wrong with an exception of an operation with these parts, or None."""
        cause = RETIRED if isinstance(er, csp.RetireException) else er.strength
        names = [part[1] for part in parts if len(part) > 1]
        if cause is None and self.unsure or not all(self.is_known(name) for name in names):
            return None
        if cause not in [c for name in names for c in self.possible.get(name, ())]:
            return "of an end by %s, which has not been" % cause
        if len(parts) == 1 and hardness(cause) < self.hardest.get(names[0], RETIRED):
            return "of an end by %s, which is too soft" % cause
        return None

    def is_known(self, name):
        return ("immunity", name) in self.capacities
