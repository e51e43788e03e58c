"""Programs for the watchdog, of plugnplay, of upycsp.aio, and with a guard of a user's."""

import upycsp
from schedules.programs import family, program
from schedules.programs_processes import BOARD, CIN, COUT, raised, reader, writer
from schedules.world import aio, kept, plugnplay
from upycsp import DeadlockError, PoisonException, pool, run
from uthreading import Thread


# The watchdog


@family(BOARD, bound=1, chance=120)
def deadlock(w, polls):
    kept.poll_in_main(polls)
    w.channel("a")
    w.channel("b")
    for ch in "ab":
        w.poisoned_by("watchdog", ch)

    def main():
        p = w.process("p", lambda p: (p.read("a"), p.write("b", 1)), [CIN, ("write", "b")])
        q = w.process("q", lambda p: (p.read("b"), p.write("a", 2)), [("read", "b"), COUT])
        er = raised(DeadlockError, run, p, q)
        w.expect(er and "p reads a" in str(er) and "q reads b" in str(er), "reported: %s" % er)
        w.expect(run(w.process("x", lambda p: 5)) == 5, "wrong value later")

    w.main(main)


@program(chance=200)
def deadlock_of_selects_and_parallels(w):
    for ch in "abc":
        w.channel(ch)
        w.poisoned_by("watchdog", ch)

    def main():
        p = w.process("p", lambda p: p.select(CIN, ("read", "b")))
        q = w.process("q", lambda p: p.parallel(("read", "b"), ("read", "c")))
        er = raised(DeadlockError, run, p, q, reader(w, 1))
        w.expect(er is not None, "run raises no DeadlockError")

    w.main(main)


@program(bound=0, chance=200)
def no_deadlock_while_a_timer_runs(w):
    w.channel()

    def reads(p):
        if p.select(CIN, ("timer", 1200)) is None:
            p.read("a")

    def main():
        s = w.process("s", reads, [CIN])
        t = w.process("t", lambda p: (p.select(("timer", 1700)), p.write("a", 1)), [COUT])
        run(s, t)

    w.main(main)


@family([("external", (True,)), ("by_a_thread", (False,))], bound=1, chance=160)
def no_deadlock_where_others_write(w, external):
    w.channel(external=external)

    def late():
        kept.sleep_ms(1200)
        w.actor("late").write("a", 1)

    def main():
        t = Thread(target=late)
        t.start()
        w.expect(run(reader(w, 1)) == [1], "wrong value")
        t.join()

    w.main(main)


@program(bound=0, chance=400)
def no_deadlock_in_a_slow_network(w):
    w.channel("a")
    w.channel("b")

    def slow(p):
        for v in 1, 2:
            kept.sleep_ms(400)
            p.write("b", p.read("a"))

    def main():
        s = w.process("s", slow, [CIN, ("write", "b")])
        got = run(writer(w, 1, 2), s, reader(w, 2, ch="b"))
        w.expect(got[2] == [1, 2], "wrong values")

    w.main(main)


# The process library


@program(chance=160)
def commstime(w):
    a, b, c, d = [upycsp.Channel(name) for name in "abcd"]

    @upycsp.process
    def consume(cin):
        got = [cin() for _ in range(3)]
        raise PoisonException if got == [0, 1, 2] else ValueError(got)

    def main():
        run(
            plugnplay.Prefix(c.read, a.write, prefixItem=0),
            plugnplay.ParDelta2(a.read, b.write, d.write),
            plugnplay.Successor(b.read, c.write),
            consume(d.read),
        )
        w.expect(all(ch.poisoned for ch in (a, b, c, d)), "a channel lives on")

    w.main(main)


@program(chance=160)
def mux(w):
    a, b, c = [upycsp.Channel(name) for name in "abc"]

    @upycsp.process(propagate=False)
    def numbers(cout, first):
        for i in range(2):
            cout(first + i)

    @upycsp.process
    def consume(cin, *others):
        got = [cin() for _ in range(4)]
        w.expect(sorted(got) == [1, 2, 11, 12], "wrong values %r" % got)
        w.expect([v for v in got if v < 10] == [1, 2], "out of order: %r" % got)
        raise PoisonException

    def main():
        run(
            numbers(a.write, 1),
            numbers(b.write, 11),
            plugnplay.Mux2(a.read, b.read, c.write),
            consume(c.read, a.read, b.read),
        )

    w.main(main)


# Written with await


@program(bound=1, chance=160)
def awaited_operations_together(w):
    a, b = aio.Channel("a"), aio.Channel("b")

    async def left():
        return await aio.Parallel(a.read(), b.write(1))

    async def right():
        return await aio.Parallel(b.read(), a.write(2))

    w.main(lambda: w.expect(aio.run(left(), right()) == [[2, 0], [1, 0]], "wrong values"))


# Users' guards


class Bell(upycsp.Guard):
    def __init__(self):
        self.alt = None

    def enable(self, alt):
        self.alt = alt
        return False, None

    def disable(self, alt):
        self.alt = None


@program(bound=1, chance=200)
def guard_of_a_user(w):
    a = upycsp.Channel()
    bell = Bell()
    events = []

    def selects(p):
        g, v = upycsp.Alternative(a.read, bell).select()
        events.append(("bell" if g is bell else "a", v))
        w.expect(bell.alt is None, "the guard was not disabled")

    def rings(p):
        alt = bell.alt
        rung = alt is not None and alt.schedule(bell, 7)
        events.append(("rung", rung))

    def writes(p):
        upycsp.Alternative(a.write.alt_pending_write(1), upycsp.Timer(ms=5)).select()

    w.thread("s", selects)
    w.thread("b", rings)
    w.thread("w", writes)

    def judge():
        chosen = [e for e in events if e[0] != "rung"]
        rung = ("rung", True) in events
        w.expect(not rung or chosen == [("bell", 7)], "rung, and yet %r" % (events,))
        w.expect(a.queue_len() == (0 if chosen else 1), "offers left: %r" % (events,))

    w.at_end(judge)


# Farms


FAILING = [("well", (None,)), ("failing", (2,))]


@upycsp.process
def feed(cout):
    for v in (1, 2, 3):
        cout(v)
    cout.poison()


@family(FAILING, chance=400)
def farm(w, bad):
    a, b = upycsp.Channel("a"), upycsp.Channel("b")
    got = []

    def work(v):
        if v == bad:
            raise ValueError(v)
        return 10 * v

    def drains(cin):
        for v in cin:
            got.append(v)

    def main():
        drain = upycsp.process(drains)
        network = [feed(a.write), pool.Farm(work, 2)(a.read, b.write), drain(b.read)]
        if bad is None:
            run(*network)
            w.expect(got == [10, 20, 30], "results: %r" % got)
        else:
            w.expect(raised(ValueError, run, *network), "run raises no ValueError")
            w.expect(got in ([], [10]), "results: %r" % got)
        w.expect(a.poisoned and b.poisoned, "a channel of the farm lives")

    w.main(main)


@program(chance=300)
def farm_that_reports(w):
    a, b = upycsp.Channel("a"), upycsp.Channel("b")
    got = []

    def work(v):
        if v == 2:
            raise ValueError(v)
        return 10 * v

    def drains(cin):
        for v in cin:
            got.append(("failed", v.value) if isinstance(v, pool.Failure) else v)

    def main():
        farm = pool.Farm(work, 2, ordered=False, failures="report")
        run(feed(a.write), farm(a.read, b.write), upycsp.process(drains)(b.read))
        w.expect(sorted(got, key=str) == [("failed", 2), 10, 30], "results: %r" % got)

    w.main(main)


@program(chance=300)
def mapped(w):
    def main():
        got = pool.pmap(lambda v: 10 * v, (1, 2, 3), 2)
        w.expect(got == [10, 20, 30], "results: %r" % got)

    w.main(main)
