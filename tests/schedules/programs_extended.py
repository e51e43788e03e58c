"""Programs of bare threads with extended reads: a held writer is let go at the end of the block.

They stand in no history. A referee notes who writes what, and looks while a reader has the value.
"""

from schedules.programs import family, program
from schedules.world import PoisonException, upycsp


class Referee:
    """Looks that a writer stays while its value is in a block, and that each value comes once."""

    def __init__(self, w):
        self.w = w
        self.writing = []  # the values whose write has begun and not ended
        self.written = []
        self.read = []
        w.at_end(lambda: w.expect(sorted(self.read) == sorted(set(self.read)), "read twice"))
        w.at_end(lambda: w.expect(set(self.written) <= set(self.read), "a value is lost"))

    def write(self, p, ch, v, how="plain"):
        cout = self.w.channels[ch].write
        self.writing.append(v)
        if how == "plain":
            cout(v)
        elif how == "select":
            upycsp.Alternative(cout.alt_pending_write(v)).select()
        elif how == "within":
            cout.within(50, v)
        else:
            upycsp.Parallel(cout.alt_pending_write(v)).run()
        self.writing.remove(v)
        self.written.append(v)

    def hold(self, p, ch, block=None):
        with self.w.channels[ch].read.extended() as v:
            self.read.append(v)
            self.look(v)
            self.w.channels[ch].queue_len()  # others may run here
            self.look(v)
            if block is not None:
                block(v)
            self.look(v)

    def look(self, v):
        self.w.expect(v in self.writing, "the writer of %r was let go too early" % v)

    def take(self, p, ch):
        self.read.append(self.w.channels[ch].read())


WAYS = [(how, (how,)) for how in ("plain", "select", "within", "parallel")]


@family(WAYS, bound=2, chance=100, lines=1)
def held(w, how):
    w.channel()
    r = Referee(w)
    w.thread("w", r.write, "a", 1, how)
    w.thread("r", r.hold, "a")
    w.must_end()


@family(WAYS, bound=1, chance=150)
def held_in_a_crowd(w, how):
    w.channel()
    r = Referee(w)
    w.thread("v", lambda p: (r.write(p, "a", 1), r.write(p, "a", 2, how)))
    w.thread("w", r.write, "a", 3, how)
    w.thread("r", lambda p: (r.hold(p, "a"), r.take(p, "a")))
    w.thread("s", r.hold, "a")
    w.must_end()


@program(bound=2, chance=150)
def held_in_two_channels(w):
    w.channel("a")
    w.channel("b")
    r = Referee(w)
    guards = [w.channels[x].write.alt_pending_write(x) for x in "ab"]

    def writes(p):
        r.writing += "ab"
        upycsp.Parallel(*guards).run()
        r.writing.clear()
        r.written += "ab"

    w.thread("w", writes)
    w.thread("r", r.hold, "a")
    w.thread("s", r.hold, "b")
    w.must_end()


@program(bound=2, chance=150)
def held_by_a_chain(w):
    w.channel("a")
    w.channel("b")
    r = Referee(w)
    log = []
    w.thread("v", r.write, "a", 1)
    w.thread("r", lambda p: (r.hold(p, "a", lambda v: r.write(p, "b", 2)), log.append(1)))
    w.thread("s", lambda p: r.hold(p, "b", lambda v: w.expect(not log, "let go too early")))
    w.must_end()


@program(bound=2, chance=150)
def held_and_poison(w):
    w.channel()
    r = Referee(w)
    w.thread("v", r.write, "a", 1)
    w.thread("r", r.hold, "a")
    w.thread("p", lambda p: w.channels["a"].poison())
    w.must_end()


@program(bound=1, chance=150)
def held_and_close(w):
    w.channel()
    r = Referee(w)
    w.thread("v", r.write, "a", 1)
    w.thread("w", r.write, "a", 2, "select")
    w.thread("r", lambda p: (r.hold(p, "a"), r.hold(p, "a")))
    w.thread("p", lambda p: w.channels["a"].close())
    w.must_end()


@program(bound=2, chance=150)
def held_beside_a_select(w):
    w.channel("a")
    w.channel("b")
    r = Referee(w)
    chosen = []

    def selects(p):
        a = w.channels["a"].write.alt_pending_write("a")
        r.writing.append("a")
        g, v = upycsp.Alternative(a, w.channels["b"].read).select()
        r.writing.remove("a")
        chosen.append(g is a)

    w.thread("s", selects)
    w.thread("r", r.hold, "a")
    w.thread("t", lambda p: w.channels["b"].write("b"))
    w.at_end(lambda: w.expect(len(chosen) == 1, "not chosen"))
    w.at_end(lambda: w.expect(chosen == [bool(r.read)], "chosen: %r, read: %r" % (chosen, r.read)))


def interrupts(p, w, name, late):
    for _ in range(3):
        if w.interrupt(name, late):
            break
        w.channels["a"].queue_len()


MOMENTS = [("asleep", (False,)), ("woken", (True,))]


@family(MOMENTS, bound=2, chance=150)
def held_and_interrupted(w, late):
    w.channel()
    r = Referee(w)

    def survives(p):
        for v in 1, 2:
            try:
                r.write(p, "a", v)
            except (KeyboardInterrupt, PoisonException):
                pass

    def holds(p):
        with w.channels["a"].read.extended() as v:
            w.channels["a"].queue_len()
            r.read.append(v)
        w.channels["a"].poison()

    w.thread("w", survives)
    w.thread("r", holds)
    w.thread("i", interrupts, w, "w", late)
    w.must_end()


@family(MOMENTS, bound=2, chance=150)
def held_by_one_who_is_interrupted(w, late):
    w.channel()
    log = []

    def holds(p):
        try:
            with w.channels["a"].read.extended() as v:
                log.append(v)
        except KeyboardInterrupt:
            log.append(w.channels["a"].read())

    w.thread("w", lambda p: w.channels["a"].write(1))
    w.thread("r", holds)
    w.thread("i", interrupts, w, "r", late)
    w.must_end()
    w.at_end(lambda: w.expect(1 in log, "%r" % log))
