"""Who goes on at a point: depth-first search, chance, or what a failure has printed.

`asks(step)` may be false where the thread that runs shall go on if it can: that is quicker;
`asks_line` is asked instead between two lines, where no lock is touched.
`choose(step, threads, free, awake)` picks one; the first `free` of them cost nothing, each other
one is a pre-emption; those after the first `awake` sleep, and would wake early. `switches` then
holds where another than the first was picked: a schedule.
"""

import random


class DepthFirst:
    """All schedules with at most so many pre-emptions.

    The bound is that of iterative context bounding: Musuvathi and Qadeer, "Iterative context
    bounding for systematic testing of multithreaded programs", PLDI 2007 (the tool CHESS). Only a
    switch away from a thread that could go on counts, so the searched schedules are polynomially
    many, and most faults need no more than two.
    """

    def __init__(self, bound):
        self.bound = bound
        self.path = []  # [chosen, how many could be]

    def begin(self):
        self.left = self.bound
        self.at = 0
        self.switches = []

    def asks(self, step):
        return self.left > 0

    asks_line = asks

    def choose(self, step, threads, free, awake):
        n = len(threads) if self.left else free
        if n == 1:
            return threads[0]
        if self.at == len(self.path):
            self.path.append([0, n])
        k, known = self.path[self.at]
        if known != n:
            raise AssertionError("the program does not do the same twice")
        self.at += 1
        if k:
            self.switches.append((step, threads[k].ident))
            if k >= free:
                self.left -= 1
        return threads[k]

    def advance(self):
        """Turn to the next schedule; false if there is none."""
        path = self.path
        while path:
            last = path[-1]
            last[0] += 1
            if last[0] < last[1]:
                return True
            path.pop()
        return False


class Chance:
    """A schedule by a seed; every third one throws dice at each point.

    The others give each thread a priority, and lower that of the running one at a few points:
    Burckhardt and others, "A randomized scheduler with probabilistic guarantees of finding bugs",
    ASPLOS 2010 (PCT). A sleeper is woken early now and then in both.
    """

    def __init__(self, seed, points, depth=4):
        self.seed = seed
        self.points = points  # how many steps a run has, about
        self.depth = depth

    def begin(self):
        self.random = random.Random(self.seed)
        self.dice = self.seed % 3 == 0
        self.priorities = {}
        self.lowest = 0
        n = self.random.randrange(self.depth + 1)
        self.changes = {self.random.randrange(1, self.points + 1) for _ in range(n)}
        self.switches = []

    def asks(self, step):
        return True

    def asks_line(self, step):
        return self.random.randrange(16) == 0 if self.dice else step in self.changes

    def choose(self, step, threads, free, awake):
        r = self.random
        if self.dice:
            k = r.randrange(len(threads))
            if k >= awake and r.randrange(2):
                k = r.randrange(awake)
        else:
            k = self.highest(step, threads, awake)
        if k:
            self.switches.append((step, threads[k].ident))
        return threads[k]

    def highest(self, step, threads, awake):
        p = self.priorities
        for t in threads:
            if t.ident not in p:
                p[t.ident] = self.random.random()
        if step in self.changes:
            self.lowest -= 1
            top = max(threads, key=lambda t: p[t.ident])
            p[top.ident] = self.lowest
            if self.random.randrange(4) == 0:
                return self.random.randrange(len(threads))
        return threads.index(max(threads[:awake], key=lambda t: p[t.ident]))


class Replay:
    """The schedule that a failure has printed: {step: ident of the thread that goes on}."""

    def __init__(self, switches):
        self.wanted = dict(switches)

    def begin(self):
        self.switches = []

    def asks(self, step):
        return step in self.wanted

    asks_line = asks

    def choose(self, step, threads, free, awake):
        wanted = self.wanted.get(step)
        for t in threads:
            if t.ident == wanted:
                self.switches.append((step, wanted))
                return t
        return threads[0]
