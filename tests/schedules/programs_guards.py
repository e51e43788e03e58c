"""Programs of bare threads with time limits, masks, and guards for ends of channels, processes."""

import upycsp
from schedules.programs import family, program
from schedules.programs_channels import A, B, ENDINGS, SIZES, poisons, reads, write, writes
from schedules.programs_processes import CIN, raised
from upycsp import Spawn, guards, run

END = ("closed", "a")


# Time limits of operations


@program(bound=2, chance=80, lines=1)
def within(w):
    w.channel()
    w.thread("r", lambda p: p.within(2, A))
    w.thread("w", lambda p: p.within(2, write("a", 1)))
    w.must_end()


@program(bound=2, chance=80)
def within_no_time(w):
    w.channel()
    w.thread("r", lambda p: (p.within(0, A), p.read("a")))
    w.thread("w", lambda p: (p.within(0, write("a", 1)), p.write("a", 2)))


@program(bound=1, chance=100)
def within_among_others(w):
    w.channel("a")
    w.channel("b")
    w.thread("v", lambda p: p.within(1, write("a", 1)))
    w.thread("w", writes, 2)
    w.thread("r", lambda p: p.within(1, A))
    w.thread("s", lambda p: p.select(A, B))


@family(SIZES, bound=1, chance=60)
def within_a_buffer(w, n):
    w.channel(capacity=n, buffered=True)
    w.thread("v", lambda p: [p.within(1, write("a", v)) for v in (1, 2)])
    w.thread("w", lambda p: p.within(1, write("a", 3)))
    w.thread("r", lambda p: p.within(1, A))
    w.must_end()


@family(ENDINGS, bound=1, chance=60)
def within_and_an_end(w, how):
    w.channel()
    w.thread("r", lambda p: p.within(1, A))
    w.thread("w", lambda p: p.within(1, write("a", 1)))
    w.thread("p", poisons, how)
    w.must_end()


# Masks


@program(bound=2, chance=80)
def masked(w):
    w.channel("a")
    w.channel("b")
    w.thread("s", lambda p: [p.select(A, B, ready=ready) for ready in ("01", "11", "10")])
    w.thread("v", writes, 1, 2)
    w.thread("w", lambda p: (p.write("b", 3), p.write("b", 4)))


@program(bound=2, chance=80)
def masks_meet(w):
    w.channel("a")
    w.channel("b")
    w.thread("s", lambda p: p.select(A, write("b", 1), ready="01"))
    w.thread("t", lambda p: p.select(B, write("a", 2), ("timer", 1), ready="101"))
    w.thread("u", lambda p: p.select(B, write("a", 3), ready="10"))


# Ends of channels


@family(ENDINGS, bound=1, chance=60)
def closed_in_all_ways(w, how):
    w.channel("a")
    w.channel("b")
    w.thread("s", lambda p: (p.select(B, END), p.select(END, write("a", 1))))
    w.thread("t", lambda p: p.parallel(B, END))
    w.thread("v", lambda p: (p.write("b", 2), p.write("b", 3)))
    w.thread("p", poisons, how)


@program(bound=2, chance=80)
def closed_while_others_read(w):
    w.channel("a")
    w.thread("q", lambda p: p.select(END, A))
    w.thread("r", reads, 2)
    w.thread("w", lambda p: (p.write("a", 1), p.close("a")))
    w.must_end()


# Ends of processes


@program(bound=2, chance=120)
def ended(w):
    w.channel()

    def main():
        h = Spawn(w.process("s", lambda p: p.read("a"), [CIN]))
        w.actor("m").write("a", 1)
        alt = upycsp.Alternative(guards.Ended(h))
        for _ in range(2):
            g, v = alt.select()
            w.expect(g is alt.guards[0] and v == 1, "the value of the process is %r" % (v,))

    w.main(main)


@program(bound=0, chance=300)
def ended_for_two(w):
    w.channel()
    got = []

    def main():
        h = Spawn(w.process("s", lambda p: p.read("a"), [CIN]))

        def waits(p):
            got.append(upycsp.Alternative(guards.Ended(h)).select()[1])

        writer = w.process("w", lambda p: p.write("a", 1))
        run(w.process("i", waits), w.process("j", waits), writer)
        w.expect(h.join() == 1, "wrong value of join")

    w.main(main)
    w.at_end(lambda: w.expect(got == [1, 1], "told are %r" % got))


@program(bound=1, chance=200)
def ended_or_a_message(w):
    w.channel("a")
    b = upycsp.Channel("b")
    chosen = []

    def main():
        h = Spawn(w.process("s", lambda p: p.read("a"), [CIN]))
        ends = guards.Ended(h)
        w.actor("m").write("a", 1)
        for _ in range(2):
            g, v = upycsp.Alternative(b.read, ends).select()
            chosen.append(v)
        w.expect(h._waiting is None, "a guard is left in the chain of a handle")

    w.main(main)
    w.thread("v", lambda p: upycsp.Alternative(b.write.alt_pending_write(2)).select())
    # Once ended always ended, and the message comes at most once.
    w.at_end(lambda: w.expect(sorted(chosen) in ([1, 1], [1, 2]), "chosen: %r" % chosen))
    w.at_end(lambda: w.expect(b.queue_len() == 1 - chosen.count(2), "an offer is left"))


@program(bound=1, chance=200)
def ended_by_a_failure(w):
    w.reports_expected = True  # until somebody asks

    def fails(p):
        raise ValueError("spawned")

    def main():
        h = Spawn(w.process("s", fails))
        alt = upycsp.Alternative(upycsp.Timer(ms=2), guards.Ended(h))
        told = False
        while not told:
            told = raised(ValueError, alt.select) is not None
        w.expect(raised(ValueError, h.join) is not None, "join raises nothing")

    w.main(main)
