"""What makes a schedule: a list of decisions. Runs in CPython and inside MicroPython."""


class Random:
    """The same numbers everywhere: the linear congruential generator of C's standard."""

    def __init__(self, seed):
        self.state = seed
        for _ in range(3):
            self.below(2)

    def below(self, n):
        self.state = (self.state * 1103515245 + 12345) & 0x7FFFFFFF
        return (self.state >> 8) % n

    def one_of(self, things):
        return things[self.below(len(things))]


class Misfit(ValueError):
    """A list of decisions is of another program, or of another library."""


class Decisions:
    """Those given first; then 0, or what the seed says. Notes what was decided, out of how many.

    Called with a number of possibilities it gives one of them, below that number; a seed gives
    those from `common` on, cancellations, rarely.
    """

    def __init__(self, given=(), seed=None):
        self.given = given
        self.random = None if seed is None else Random(seed)
        self.made = []

    def __call__(self, n, common=0):
        i = len(self.made)
        if i < len(self.given):
            d = self.given[i]
            if d >= n:
                raise Misfit("decision %d is %d out of %d" % (i, d, n))
        elif self.random is None:
            d = 0
        elif common and self.random.below(8):
            d = self.random.below(common)
        else:
            d = self.random.below(n)
        self.made.append((d, n))
        return d

    def next(self):
        """The decisions of the schedule that follows in depth-first order, or None."""
        made = self.made
        for i in range(len(made) - 1, -1, -1):
            d, n = made[i]
            if d + 1 < n:
                return [m[0] for m in made[:i]] + [d + 1]
        return None

    def __str__(self):
        made = [d for d, _ in self.made]
        while made and not made[-1]:
            made.pop()
        return ",".join([str(d) for d in made]) or "0"


def given(words):
    """The decisions that a text lists."""
    return [int(d) for d in words.split(",") if d]


def text(events):
    """A history, one event a line."""
    lines = []
    for i in range(len(events)):
        lines.append("%4d  %s" % (i, " ".join([str(x) for x in events[i]])))
    return "\n".join(lines)
