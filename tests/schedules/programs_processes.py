"""Programs of CSP processes: run, Parallel, Sequence, Spawn, failures, the watchdog, plugnplay."""

import upycsp
from schedules.programs import family, program
from schedules.world import aio, kept, plugnplay, processes, scheduler
from upycsp import DeadlockError, Parallel, PoisonException, Sequence, Spawn, run
from uthreading import Thread

CIN = ("read", "a")
COUT = ("write", "a")


def writer(w, *values, name="w", ch="a"):
    def body(p):
        for v in values:
            p.write(ch, v)

    return w.process(name, body, [("write", ch)])


def reader(w, n, name="r", ch="a"):
    return w.process(name, lambda p: [p.read(ch) for _ in range(n)], [("read", ch)])


def raised(kind, f, *args):
    """The exception of a kind that f(*args) raises, or None."""
    try:
        f(*args)
    except kind as er:
        return er
    return None


BOARD = [("blocks", (False,)), ("polls", (True,))]  # whether the main thread polls, as on a board


@program(bound=2, chance=200, lines=1)
def run_one(w):
    w.main(lambda: w.expect(run(w.process("x", lambda p: 5)) == 5, "wrong value"))


@family(BOARD, bound=1, chance=400)
def run_a_pair(w, polls):
    kept.poll_in_main(polls)
    w.channel()

    def main():
        w.expect(run(writer(w, 1, 2), reader(w, 2)) == [None, [1, 2]], "wrong results")

    w.main(main)


@program(chance=800)
def run_twice(w):
    w.channel()

    def main():
        for v in 1, 2:
            w.expect(run(writer(w, v), reader(w, 1)) == [None, [v]], "wrong results")

    w.main(main)


@program(bound=1, chance=400)
def parallel_in_a_process(w):
    w.channel()

    def outer(p):
        return Parallel(writer(w, 1), reader(w, 1)).run().retval

    w.main(lambda: w.expect(run(w.process("o", outer)) == [None, [1]], "wrong results"))


@program(chance=800)
def parallels_nested(w):
    for ch in "abc":
        w.channel(ch)

    def inner(p):
        p.write("b", 2)
        got = Parallel(writer(w, 1), reader(w, 1)).run().retval
        return got + [p.read("c")]

    def other(p):
        got = p.read("b")
        p.write("c", 3)
        return got

    def main():
        i = w.process("i", inner, [("write", "b"), ("read", "c")])
        o = w.process("o", other, [("read", "b"), ("write", "c")])
        w.expect(run(Parallel(i, o)) == [[None, [1], 3], 2], "wrong results")

    w.main(main)


@program(chance=400)
def processes_beside_guards(w):
    a, b = w.channel("a"), w.channel("b")
    w.capacities.clear()

    def main():
        w.history.clear()
        w.channels.clear()
        cout = upycsp.process(lambda cout: cout(1))(a.write)
        cin = upycsp.process(lambda cin: cin())(b.read)
        got = Parallel(a.read, cout, b.write.alt_pending_write(2), cin).run().retval
        w.expect(got == [1, 0, 0, 2], "wrong results %r" % (got,))

    w.main(main)


@program(bound=1, chance=400)
def sequence_beside_a_process(w):
    w.channel()

    def main():
        s = Sequence(writer(w, 1), writer(w, 2, name="x"))
        w.expect(run(s, reader(w, 2)) == [[None, None], [1, 2]], "wrong results")

    w.main(main)


# Spawn


@family(BOARD, bound=1, chance=400)
def spawn_and_join(w, polls):
    kept.poll_in_main(polls)
    w.channel()

    def main():
        h = Spawn(reader(w, 1))
        w.actor("main").write("a", 1)
        w.expect(h.join() == [1] and h.done(), "wrong value")
        w.expect(h.join() == [1], "wrong value the second time")

    w.main(main)


@program(bound=0, chance=1000)
def spawn_joined_by_three(w):
    w.channel()

    def main():
        h = Spawn(reader(w, 1))

        def joins(p):
            w.expect(h.join() == [1], "wrong value")

        run(*[w.process("j%d" % i, joins) for i in (1, 2)], writer(w, 1))
        w.expect(h.join() == [1], "wrong value in main")

    w.main(main)


@program(bound=2, chance=300)
def spawn_that_fails(w):
    def fails(p):
        raise ValueError("spawned")

    def main():
        w.reports_expected = True  # until join asks
        h = Spawn(w.process("s", fails))
        w.expect(raised(ValueError, h.join) is not None, "join raises nothing")

    w.main(main)


@program(bound=1, chance=500)
def spawn_that_fails_unasked(w):
    w.channel()

    def fails(p):
        p.read("a")
        raise ValueError("spawned")

    def starts(p):
        Spawn(w.process("s", fails, [CIN]))
        p.write("a", 1)
        p.write("a", 2)  # poisoned by the end of s

    def main():
        er = raised(ValueError, run, w.process("p", starts, [COUT]))
        told.append(er is not None)

    w.main(main)
    w.reports_expected = True
    told = []
    # run does not wait for s: what it does not hear in time is reported.
    w.at_end(lambda: w.expect(told[0] + len(w.reports) == 1, "raised or reported not once"))


# Ends by exceptions


@family(BOARD, chance=1000)
def failure_beside_a_neighbour(w, polls):
    kept.poll_in_main(polls)
    if not polls:
        processes._watches = True  # nobody helps: no watchdog is started
    w.channel()

    def fails(p):
        p.write("a", 1)
        raise ValueError("fails")

    def main():
        failing = w.process("f", fails, [COUT])
        er = raised(ValueError, run, failing, reader(w, 3), reader(w, 1, name="q"))
        w.expect(er is not None, "run raises nothing")

    w.main(main)


@program(chance=800)
def poison_through_a_chain(w):
    for ch in "abc":
        w.channel(ch)

    def copies(cin, cout):
        def body(p):
            while True:
                p.write(cout, p.read(cin))

        return w.process(cin + cout, body, [("read", cin), ("write", cout)])

    def ends(p):
        p.write("a", 1)
        raise PoisonException

    def main():
        first = w.process("f", ends, [COUT])
        got = run(first, copies("a", "b"), copies("b", "c"), reader(w, 2, ch="c"))
        w.expect(got == [None] * 4, "wrong results %r" % (got,))

    w.main(main)


@program(bound=0, chance=1000)
def two_failures(w):
    w.channel()

    def fails(p):
        raise ValueError(p.name)

    def main():
        f, g = [w.process(name, fails, [COUT]) for name in "fg"]
        w.expect(raised(ValueError, run, f, g, reader(w, 1)), "run raises nothing")

    w.main(main)


@program(chance=800)
def no_thread_to_be_had(w):
    w.channel()
    start = kept.set_start_new_thread(None)
    left = [2]

    def starts(*args):
        if not left[0]:
            raise RuntimeError("no more")
        left[0] -= 1
        return start(*args)

    kept.set_start_new_thread(starts)

    def main():
        for end in "read", "write":
            w.poisoned_by("nobody", "a", end)
        er = raised(RuntimeError, run, writer(w, 1, 2), reader(w, 2), reader(w, 1, name="q"))
        w.expect(er is not None, "run raises nothing")
        left[0] = 9
        w.expect(run(w.process("x", lambda p: 5)) == 5, "wrong value later")

    w.main(main)


@family([("asleep", (False,)), ("woken", (True,))], bound=0, chance=600)
def interrupted_run(w, late):
    w.channel()
    w.poisoned_by("interrupt", "a")
    told = []

    def main():
        try:
            told.append(run(writer(w, 1, 2), reader(w, 3)))  # one more than there are
        except (KeyboardInterrupt, DeadlockError) as er:
            told.append(er)
        w.expect(run(w.process("x", lambda p: 5)) == 5, "wrong value later")

    def interrupts(p):
        for _ in range(4):
            if not told and w.interrupt("main", late):
                return
            kept.sleep_ms(1)

    w.main(main)
    w.thread("i", interrupts)


@family([("asleep", (False,)), ("woken", (True,))], bound=1, chance=500)
def interrupted_join(w, late):
    w.channel()

    def main():
        h = Spawn(reader(w, 1))
        w.actor("w").write("a", 1)
        try:
            joins.append(1)
            h.join()
        except KeyboardInterrupt:
            joins.clear()
        w.expect(h.join() == [1], "wrong value")

    def interrupts(p):
        while scheduler.now < 3 and not (joins and w.interrupt("main", late)):
            kept.sleep_ms(1)

    joins = []
    w.main(main)
    w.thread("i", interrupts)


# The watchdog


@family(BOARD, bound=1, chance=300)
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


@program(chance=500)
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


@program(bound=0, chance=1000)
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


@family([("external", (True,)), ("by_a_thread", (False,))], bound=1, chance=400)
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


@program(bound=0, chance=1000)
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


@program(chance=400)
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


@program(chance=400)
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


@program(bound=1, chance=400)
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


@program(bound=1, chance=500)
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
