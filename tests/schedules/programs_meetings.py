"""Programs of bare threads that meet at barriers, alting barriers, buckets and in calls.

Their operations stand in no history. What was agreed on is checked by a referee of their own: it
plays the meetings that the threads say they have had once more, one after another.
"""

from schedules.programs import family, program
from schedules.world import PoisonException, meeting, upycsp

class Referee:
    """Notes who has met where; parties: {place: the names of all who have to be there}."""

    def __init__(self, world, parties):
        self.world = world
        self.parties = parties
        self.had = {}  # name -> places, in order
        self.wants = {}  # name -> the places offered by who waits
        self.others = []  # (name, what else happened)
        world.at_end(self.judge)

    def meet(self, p, places, operation):
        """operation() waits for one of the places and returns which, or None for another guard."""
        self.wants[p.name] = places
        try:
            place = operation()
        except (PoisonException, KeyboardInterrupt):
            del self.wants[p.name]
            raise
        del self.wants[p.name]
        if place is None:
            self.others.append(p.name)
        else:
            self.had.setdefault(p.name, []).append(place)

    def judge(self):
        left = {name: places[:] for name, places in self.had.items()}
        again = True
        while again:
            again = False
            for place, names in self.parties.items():
                if all(left.get(name, [None])[:1] == [place] for name in names):
                    again = True
                    for name in names:
                        del left[name][0]
        left = {name: places for name, places in left.items() if places}
        self.world.expect(not left, "met by themselves: %r of %r" % (left, self.had))
        for place, names in self.parties.items():
            stuck = all(place in self.wants.get(name, ()) for name in names)
            self.world.expect(not stuck, "all wait at %s: %r" % (place, self.wants))

    def met(self):
        """How many meetings there were at each place."""
        counts = {}
        for place, names in self.parties.items():
            counts[place] = self.had.get(names[0], []).count(place)
        return counts


def barriers(w, parties):
    """(a Referee, the ends: {name: {place: end}})"""
    ends = {}
    for place, names in parties.items():
        for name, end in zip(names, meeting.AltingBarrier.create(len(names), place)):
            ends.setdefault(name, {})[place] = end
    return Referee(w, parties), ends


def select(p, referee, ends, *more, fair=False):
    """Chooses among p's ends at all its places, and other guards."""
    mine = ends[p.name]
    places = list(mine)
    alt = p.alternatives.get(places[0])
    if alt is None:
        alt = upycsp.Alternative(*[mine[x] for x in places], *more)
        p.alternatives[places[0]] = alt

    def operation():
        g, v = alt.fair_select() if fair else alt.select()
        found = [x for x in places if mine[x] is g]
        return found[0] if found else None

    referee.meet(p, places, operation)


def sync(p, referee, ends, place):
    referee.meet(p, [place], lambda: (ends[p.name][place].sync(), place)[1])


def empty(w, ends, *places):
    """At the end nobody is offered at these places."""

    def check():
        for mine in ends.values():
            for place in places:
                if place in mine:
                    n = mine[place].waiting()
                    w.expect(not n, "%d are offered at %s" % (n, place))

    w.at_end(check)


# Barriers


@program(bound=2, chance=200)
def barrier_rounds(w):
    b = meeting.Barrier(3)
    log = []

    def goes(p):
        for i in range(2):
            log.append(i)
            b.sync()
            w.expect(log.count(i) == 3, "%s passed round %d before all were there" % (p.name, i))

    for name in "pqr":
        w.thread(name, goes)
    w.must_end()


@program(bound=2, chance=200)
def barrier_and_one_who_resigns(w):
    b = meeting.Barrier(3)
    w.thread("p", lambda p: b.sync())
    w.thread("q", lambda p: b.sync())
    w.thread("r", lambda p: b.resign())
    w.must_end()
    w.at_end(lambda: w.expect(b.waiting() == 0 and b.parties() == 2, "somebody waits"))


@program(bound=2, chance=200)
def barrier_and_one_who_enrols(w):
    b = meeting.Barrier(2)
    passed = []

    def more(p):
        b.enrol()
        b.sync()

    for name in "pq":
        w.thread(name, lambda p: (b.sync(), passed.append(p.name)))
    w.thread("r", more)
    # Two have met before it enrolled, or all three did after.
    w.at_end(lambda: w.expect((len(passed), b.waiting()) in ((2, 0), (2, 1)), "%r" % passed))


@program(bound=2, chance=200)
def barrier_and_poison(w):
    b = meeting.Barrier(2)
    passed = []

    def syncs(p):
        b.sync()
        passed.append(p.name)

    w.thread("p", syncs)
    w.thread("q", syncs)
    w.thread("r", lambda p: b.poison())
    w.must_end()
    w.at_end(lambda: w.expect(len(passed) in (0, 2), "passed: %r" % passed))


# Alting barriers


RING = {"a": "pq", "b": "qr", "c": "rp"}


@program(bound=2, chance=300)
def alting_ring_once(w):
    referee, ends = barriers(w, RING)
    for name in "pqr":
        w.thread(name, select, referee, ends)
    w.at_end(lambda: w.expect(sum(referee.met().values()) == 1, "%r" % referee.met()))


@program(bound=1, chance=300)
def alting_ring_twice(w):
    referee, ends = barriers(w, RING)
    for name in "pqr":
        w.thread(name, lambda p: [select(p, referee, ends, fair=True) for _ in range(2)])
    w.at_end(lambda: w.expect(sum(referee.met().values()) >= 2, "%r" % referee.met()))


@program(bound=2, chance=300)
def alting_all_or_pairs(w):
    referee, ends = barriers(w, {"all": "pqr", "a": "pq", "b": "qr"})
    for name in "pqr":
        w.thread(name, select, referee, ends)
    w.at_end(lambda: w.expect(sum(referee.met().values()) == 1, "%r" % referee.met()))


@program(bound=2, chance=300)
def alting_beside_a_channel(w):
    referee, ends = barriers(w, {"a": "pq", "b": "qr"})
    w.channel("ch")
    cin, cout = w.channels["ch"].read, w.channels["ch"].write
    w.thread("p", sync, referee, ends, "a")
    w.thread("q", lambda p: select(p, referee, ends, cin))
    w.thread("r", lambda p: select(p, referee, ends, cout.alt_pending_write(1)))

    def check():
        met = sum(referee.met().values())
        # q has met p, or r at the barrier, or r by the channel.
        w.expect((met, sorted(referee.others)) in ((1, []), (0, ["q", "r"])), referee.others)

    w.at_end(check)


@program(bound=2, chance=300)
def alting_with_time_limits(w):
    referee, ends = barriers(w, {"a": "pq"})
    for name in "pq":
        w.thread(name, lambda p: select(p, referee, ends, upycsp.Timer(ms=2)))
    empty(w, ends, "a")
    w.must_end()


@program(bound=2, chance=200)
def alting_and_one_who_resigns(w):
    referee, ends = barriers(w, {"a": "pqr"})
    referee.parties = {"a": "pq"}
    w.thread("p", select, referee, ends)
    w.thread("q", sync, referee, ends, "a")
    w.thread("r", lambda p: ends["r"]["a"].resign())
    empty(w, ends, "a")
    w.must_end()


@program(bound=1, chance=400)
def alting_and_poison(w):
    referee, ends = barriers(w, RING)
    for name in "pqr":
        w.thread(name, select, referee, ends)
    w.thread("s", lambda p: ends["p"]["a"].poison())

    def check():
        for mine in ends.values():
            for place, end in mine.items():
                w.expect(place != "a" or not end.waiting(), "somebody waits at what is poisoned")

    w.at_end(check)


@program(bound=2, chance=200)
def alting_in_a_parallel(w):
    referee, ends = barriers(w, {"a": "pq", "b": "pr"})

    referee.parties = {"a": "q", "b": "r"}  # p is at both
    mine = ends["p"]
    w.thread("p", lambda p: upycsp.Parallel(mine["a"], mine["b"]).run())
    w.thread("q", lambda p: select(p, referee, ends))
    w.thread("r", sync, referee, ends, "b")
    empty(w, ends, "a", "b")
    w.must_end()


MOMENTS = [("asleep", (False,)), ("woken", (True,))]


@family(MOMENTS, bound=2, chance=200)
def alting_interrupted(w, late):
    # Whoever is interrupted when all have agreed has met the others all the same.
    referee, ends = barriers(w, {"a": "pq"})
    hit = []

    def survives(p):
        try:
            select(p, referee, ends)
        except KeyboardInterrupt:
            hit.append(p.name)

    def interrupts(p):
        for _ in range(3):
            if w.interrupt("p", late):
                break
            p.len("ch")

    w.channel("ch")
    w.thread("p", survives)
    w.thread("q", sync, referee, ends, "a")
    w.thread("i", interrupts)

    def check():
        if not hit:
            return
        met = "q" not in referee.wants
        referee.had["p"] = ["a"] if met else []
        w.expect(ends["q"]["a"].waiting() == (0 if met else 1), "an offer is left")

    w.expected.insert(0, check)  # before the referee


# Buckets


@program(bound=2, chance=200)
def bucket(w):
    b = meeting.Bucket()
    flushed = []
    fell = []

    def falls(p):
        b.fall_into()
        fell.append(p.name)

    w.thread("p", falls)
    w.thread("q", falls)
    w.thread("r", lambda p: (flushed.append(b.flush()), flushed.append(b.flush())))
    w.at_end(lambda: w.expect(sum(flushed) == len(fell), "%r %r" % (flushed, fell)))
    w.at_end(lambda: w.expect(b.holding() == 2 - len(fell), "%d are held" % b.holding()))


# Calls


@program(bound=1, chance=300)
def calls(w):
    ch = meeting.CallChannel()
    got = {}

    def asks(p, x):
        got[x] = ch.call(x)

    w.thread("c", asks, 1)
    w.thread("d", asks, 2)
    w.thread("s", lambda p: ch.serve(lambda x: 10 * x))
    w.thread("t", lambda p: ch.serve(lambda x: 10 * x))
    w.must_end()
    w.at_end(lambda: w.expect(got == {1: 10, 2: 20}, "%r" % got))


@program(bound=2, chance=300)
def calls_and_poison(w):
    ch = meeting.CallChannel()
    got = []
    answered = []

    def asks(p):
        got.append(ch.call(1))

    def serves(p):
        request = ch.serve.accept()
        request.answer(2)
        answered.append(1)

    w.thread("c", asks)
    w.thread("s", serves)
    w.thread("p", lambda p: ch.poison())
    w.must_end()
    w.at_end(lambda: w.expect(got in ([], [2]), "%r" % got))
    w.at_end(lambda: w.expect(answered or not got, "an answer came from nowhere"))


@program(bound=2, chance=300)
def calls_that_are_answered_out_of_order(w):
    ch = meeting.CallChannel()
    got = {}

    def asks(p, x):
        got[x] = ch.call(x)

    def serves(p):
        g, first = upycsp.Alternative(ch.serve).select()
        second = ch.serve.accept()
        for r in second, first:
            r.answer(-r.args[0])

    w.thread("c", asks, 1)
    w.thread("d", asks, 2)
    w.thread("s", serves)
    w.must_end()
    w.at_end(lambda: w.expect(got == {1: -1, 2: -2}, "%r" % got))


@program(bound=2, chance=200)
def a_server_that_dies(w):
    ch = meeting.CallChannel()
    got = []

    def asks(p):
        try:
            ch.call(1)
        except PoisonException:
            got.append("poison")

    def dies(p):
        ch.serve.accept()
        ch.serve.poison()

    w.thread("c", asks)
    w.thread("s", dies)
    w.must_end()
    w.at_end(lambda: w.expect(got == ["poison"], "%r" % got))
