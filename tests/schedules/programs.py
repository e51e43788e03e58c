"""The register of programs whose schedules are explored."""

PROGRAMS = {}


class Program:
    """build(world); explored with up to `bound` pre-emptions, and `chance` times by chance.

    With points between lines, too: up to `lines` pre-emptions, and 60 times by chance.
    """

    def __init__(self, name, build, bound, chance, lines):
        self.name = name
        self.build = build
        self.bound = bound
        self.chance = chance
        self.line_bound = lines
        self.line_chance = 60


def program(bound=None, chance=0, lines=None, name=None, args=()):
    """Register build(world, *args), a program: it is called anew for every schedule."""

    def register(build):
        title = name or build.__name__
        assert title not in PROGRAMS, title
        PROGRAMS[title] = Program(title, lambda w: build(w, *args), bound, chance, lines)
        return build

    return register


def family(variants, bound=None, chance=0, lines=None):
    """Register build(world, *args) for each (name, args)."""

    def register(build):
        for name, args in variants:
            program(bound, chance, lines, "%s_%s" % (build.__name__, name), args)(build)
        return build

    return register
