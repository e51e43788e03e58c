"""Programs of bare threads around channels that are immune to poison of some strength."""

from schedules.programs import family, program
from schedules.programs_channels import A, B, reads, write, writes
from schedules.world import PoisonException, upycsp

ENDS = [(how, (how,)) for how in ("channel", "read", "write")]


@family(ENDS, bound=2, chance=60)
def immune(w, how):
    w.channel(immunity=1)
    w.thread("w", writes, 1)
    w.thread("r", reads, 1)
    w.thread("p", lambda p: (p.poison("a", how, 1), p.poison("a", how, 2)))


@program(bound=1, chance=100)
def immune_and_not(w):
    w.channel("a", immunity=1)
    w.channel("b", 1, immunity=2)
    w.thread("s", lambda p: p.select(A, B))
    w.thread("t", lambda p: p.parallel(write("a", 1), write("b", 2)))
    w.thread("p", lambda p: (p.poison("b", "read", 2), p.poison("a", "write", 2)))
    w.thread("q", lambda p: p.poison("b", "write", 3))


@program(bound=2, chance=100)
def the_harder_poison_counts(w):
    w.channel()
    told = []

    def reads_on(p):
        for _ in range(2):
            try:
                p.read("a")
            except PoisonException as er:
                told.append(er.strength)

    w.thread("r", reads_on)
    w.thread("p", lambda p: p.poison("a", "channel", 1))
    w.thread("q", lambda p: p.poison("a", "write", 3))
    w.must_end()
    w.at_end(lambda: w.expect(told in ([1, 1], [1, 3], [3, 3]), "told: %r" % told))
    w.at_end(lambda: w.expect(w.channels["a"].ended().strength == 3, "the softer one counts"))


@program(bound=0, chance=300)
def poison_stops_at_the_border(w):
    w.channel("a")
    w.channel("border", immunity=1)
    got = []

    def copies(p):
        while True:
            p.write("border", p.read("a"))

    def main():
        w.poisoned_by("copies", "a", "read")
        first = w.process("f", lambda p: p.poison("a", "channel", 1))
        second = upycsp.process(lambda cin, cout: copies(w.actor("c")))
        a, border = w.channels["a"], w.channels["border"]
        upycsp.run(first, second(a.read, border.write))
        w.expect(not border.poisoned, "the border was poisoned")
        p = w.actor("m")
        upycsp.run(
            w.process("v", lambda p: p.write("border", 7)),
            w.process("r", lambda p: got.append(p.read("border"))),
        )
        p.poison("border", "channel", 2)

    w.main(main)
    w.at_end(lambda: w.expect(got == [7], "%r came over the border" % got))
