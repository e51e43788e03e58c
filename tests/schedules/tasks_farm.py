"""Farms in the programs of tasks_world: of their operations only what comes out is looked at.

    ("feed", n)                  writes n values to c and poisons it
    ("farm", n, ordered, how)    a farm of n workers between c and d; how: "well"; "fails" at the
                                 second value, "reports" it, or "retries" it
    ("drain",)                   reads what comes out of d
    ("map", n, k)                pmap over k values by n workers

However it ends, and whoever is cancelled: nobody is left when nobody can go on.
"""

import sys

from tasks_check import Failure
from tasks_noted import Failed, csp
from uapycsp import pool
from uapycsp.wait import coroutine, turn

network = sys.modules["uapycsp.process"]


class Farming:
    """The farm of one run: what went in, and what came out."""

    def __init__(self, world):
        self.world = world
        self.written = []
        self.got = []
        self.tried = []  # values whose function was begun
        self.ordered = True
        self.how = "well"
        self.begun = False

    async def do(self, p, kind, *args):
        await getattr(self, kind)(p, *args)

    async def feed(self, p, n):
        cout = self.world.channels["c"].write
        for i in range(n):
            await cout(i)
            self.written.append(i)
        raise csp.PoisonException

    async def farm(self, p, n, ordered, how):
        self.begun = True
        self.ordered = ordered
        self.how = how
        options = {}
        if how == "reports":
            options["failures"] = "report"
        elif how == "retries":
            options["retries"] = 1
        ch = self.world.channels
        await pool.Farm(self.work, n, ordered, **options)(ch["c"].read, ch["d"].write)

    async def drain(self, p):
        cin = self.world.channels["d"].read
        while True:
            v = await cin()
            if isinstance(v, pool.Failure):
                v = "failed", v.value
            self.got.append(v)

    async def map(self, p, n, k):
        got = await pool.pmap(self.work, range(k), n)
        if got != [("done", v) for v in range(k)]:
            self.world.fail("the results are %s" % (got,))

    async def work(self, v):
        self.world.works()
        self.tried.append(v)
        if v != 1:
            self.world.between()
            await _others_first()
            self.world.between()
        elif self.how != "well" and (self.how != "retries" or self.tried.count(v) == 1):
            raise Failed(v)
        return "done", v

    def check(self):
        """Nobody can go on: Failure if anybody is left, or if not the right results came."""
        if not network.alive.is_empty():
            raise Failure("nobody goes on, and a process of the farm is alive")
        if self.ordered:
            wanted = [self.result(v) for v in range(len(self.got))]
        else:
            wanted = [self.result(v) for v in set(self.tried) if self.result(v) in self.got]
        if sorted(self.got) != sorted(wanted) or self.ordered and self.got != wanted:
            raise Failure("out of the farm came %s" % self.got)
        if not self.begun or self.how == "fails" or self.world.causes.unsure:
            return  # unsure: one was cancelled before it began
        cancelled = [p.name for p in self.world.processes if p.cancels]
        if cancelled in ([], ["A"]) and len(self.got) < len(self.written):
            raise Failure("of %s there is but %s" % (self.written, self.got))

    def result(self, v):
        return ("failed" if v == 1 and self.how == "reports" else "done"), v


@coroutine
def _others_first():
    yield turn()
