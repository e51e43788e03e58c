"""Programs of CSP processes: run, Parallel, Sequence, Spawn, failures, the watchdog, plugnplay."""

import upycsp
from schedules.programs import family, program
from schedules.world import kept, scheduler, watch
from upycsp import DeadlockError, Parallel, PoisonException, Sequence, Spawn, run

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


@program(bound=2, chance=80, lines=1)
def run_one(w):
    w.main(lambda: w.expect(run(w.process("x", lambda p: 5)) == 5, "wrong value"))


@family(BOARD, bound=1, chance=160)
def run_a_pair(w, polls):
    kept.poll_in_main(polls)
    w.channel()

    def main():
        w.expect(run(writer(w, 1, 2), reader(w, 2)) == [None, [1, 2]], "wrong results")

    w.main(main)


@program(chance=320)
def run_twice(w):
    w.channel()

    def main():
        for v in 1, 2:
            w.expect(run(writer(w, v), reader(w, 1)) == [None, [v]], "wrong results")

    w.main(main)


@program(bound=1, chance=160)
def parallel_in_a_process(w):
    w.channel()

    def outer(p):
        return Parallel(writer(w, 1), reader(w, 1)).run().retval

    w.main(lambda: w.expect(run(w.process("o", outer)) == [None, [1]], "wrong results"))


@program(chance=320)
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


@program(chance=160)
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


@program(bound=1, chance=160)
def sequence_beside_a_process(w):
    w.channel()

    def main():
        s = Sequence(writer(w, 1), writer(w, 2, name="x"))
        w.expect(run(s, reader(w, 2)) == [[None, None], [1, 2]], "wrong results")

    w.main(main)


# Spawn


@family(BOARD, bound=1, chance=160)
def spawn_and_join(w, polls):
    kept.poll_in_main(polls)
    w.channel()

    def main():
        h = Spawn(reader(w, 1))
        w.actor("main").write("a", 1)
        w.expect(h.join() == [1] and h.done(), "wrong value")
        w.expect(h.join() == [1], "wrong value the second time")

    w.main(main)


@program(bound=0, chance=400)
def spawn_joined_by_three(w):
    w.channel()

    def main():
        h = Spawn(reader(w, 1))

        def joins(p):
            w.expect(h.join() == [1], "wrong value")

        run(*[w.process("j%d" % i, joins) for i in (1, 2)], writer(w, 1))
        w.expect(h.join() == [1], "wrong value in main")

    w.main(main)


@program(bound=2, chance=120)
def spawn_that_fails(w):
    def fails(p):
        raise ValueError("spawned")

    def main():
        w.reports_expected = True  # until join asks
        h = Spawn(w.process("s", fails))
        w.expect(raised(ValueError, h.join) is not None, "join raises nothing")

    w.main(main)


@program(bound=1, chance=200)
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


@family(BOARD, chance=400)
def failure_beside_a_neighbour(w, polls):
    kept.poll_in_main(polls)
    if not polls:
        watch._watches = True  # nobody helps: no watchdog is started
    w.channel()

    def fails(p):
        p.write("a", 1)
        raise ValueError("fails")

    def main():
        failing = w.process("f", fails, [COUT])
        er = raised(ValueError, run, failing, reader(w, 3), reader(w, 1, name="q"))
        w.expect(er is not None, "run raises nothing")

    w.main(main)


@program(chance=320)
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


@program(bound=0, chance=400)
def two_failures(w):
    w.channel()

    def fails(p):
        raise ValueError(p.name)

    def main():
        f, g = [w.process(name, fails, [COUT]) for name in "fg"]
        w.expect(raised(ValueError, run, f, g, reader(w, 1)), "run raises nothing")

    w.main(main)


@program(chance=320)
def no_thread_to_be_had(w):
    w.channel()
    start = kept.set_starter(None)
    left = [2]

    def starts(*args):
        if not left[0]:
            raise RuntimeError("no more")
        left[0] -= 1
        return start(*args)

    kept.set_starter(starts)

    def main():
        for end in "read", "write":
            w.poisoned_by("nobody", "a", end)
        er = raised(RuntimeError, run, writer(w, 1, 2), reader(w, 2), reader(w, 1, name="q"))
        w.expect(er is not None, "run raises nothing")
        left[0] = 9
        w.expect(run(w.process("x", lambda p: 5)) == 5, "wrong value later")

    w.main(main)


@family([("asleep", (False,)), ("woken", (True,))], bound=0, chance=240)
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


@family([("asleep", (False,)), ("woken", (True,))], bound=1, chance=200)
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
