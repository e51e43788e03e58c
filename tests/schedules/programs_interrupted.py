"""Programs of bare threads whose meetings are poisoned or interrupted: what was agreed stands."""

from schedules.programs import family, program
from schedules.world import meeting

MOMENTS = [("asleep", (False,)), ("woken", (True,))]


def interrupts(p, w, name, late):
    w.channel("beside")
    for _ in range(3):
        if w.interrupt(name, late):
            break
        p.len("beside")


class Log:
    """Who has passed, and who was interrupted."""

    def __init__(self):
        self.passed = []
        self.hit = []

    def does(self, p, operation):
        try:
            operation()
        except KeyboardInterrupt:
            self.hit.append(p.name)
        else:
            self.passed.append(p.name)


@program(bound=2, chance=100)
def bucket_and_poison(w):
    b = meeting.Bucket()
    log = Log()
    flushed = []
    w.thread("p", log.does, b.fall_into)
    w.thread("q", log.does, b.fall_into)
    w.thread("r", lambda p: flushed.append(b.flush()))
    w.thread("s", lambda p: b.poison())
    w.must_end()
    w.at_end(lambda: w.expect(sum(flushed) == len(log.passed), "%r, %r" % (flushed, log.passed)))


@family(MOMENTS, bound=2, chance=100)
def bucket_interrupted(w, late):
    b = meeting.Bucket()
    log = Log()
    flushed = []
    w.thread("p", log.does, b.fall_into)
    w.thread("q", log.does, b.fall_into)
    w.thread("r", lambda p: flushed.append(b.flush()))
    w.thread("i", interrupts, w, "p", late)

    def check():
        held = 2 - len(log.passed) - len(log.hit)
        w.expect(b.holding() == held, "%d are held, not %d" % (b.holding(), held))
        n = sum(flushed)
        w.expect(len(log.passed) <= n <= len(log.passed) + len(log.hit), "%d were flushed" % n)

    w.at_end(check)


@family(MOMENTS, bound=2, chance=100)
def barrier_interrupted(w, late):
    b = meeting.Barrier(2)
    log = Log()
    w.thread("p", log.does, b.sync)
    w.thread("q", log.does, b.sync)
    w.thread("i", interrupts, w, "p", late)

    def check():
        if "q" in log.passed:
            w.expect(b.waiting() == 0, "somebody waits who has met")
        else:
            w.expect(log.hit == ["p"] and b.waiting() == 1, "%r" % log.passed)

    w.at_end(check)


@family(MOMENTS, bound=1, chance=150)
def client_interrupted(w, late):
    ch = meeting.CallChannel()
    log = Log()
    got = []

    def serves(p):
        for _ in range(2):
            ch.serve(lambda x: 10 * x)

    w.thread("c", log.does, lambda: w.expect(ch.call(1) == 10, "the wrong answer"))
    w.thread("d", lambda p: got.append(ch.call(2)))
    w.thread("s", serves)
    w.thread("i", interrupts, w, "c", late)
    w.at_end(lambda: w.expect(got == [20], "the other client got %r" % got))
    w.at_end(lambda: w.expect(len(log.passed + log.hit) == 1, "the client waits for ever"))
    w.at_end(lambda: w.expect(ch._open is None, "a call is kept that was answered"))


@family(MOMENTS, bound=1, chance=150)
def server_interrupted(w, late):
    ch = meeting.CallChannel()
    log = Log()
    got = []
    w.thread("c", lambda p: got.append(ch.call(1)))
    w.thread("s", log.does, lambda: ch.serve(lambda x: 10 * x))
    w.thread("t", lambda p: ch.serve(lambda x: 10 * x))
    w.thread("i", interrupts, w, "s", late)
    w.at_end(lambda: w.expect(got == [10], "the client got %r" % got))
    w.at_end(lambda: w.expect(ch._open is None, "a call is kept that was answered"))


@program(bound=1, chance=150)
def server_that_fails(w):
    ch = meeting.CallChannel()
    told = []

    def asks(p, x):
        try:
            told.append(ch.call(x))
        except ValueError:
            told.append("failed")

    def serves(x):
        if x == 1:
            raise ValueError
        return 10 * x

    w.thread("c", asks, 1)
    w.thread("d", asks, 2)
    w.thread("s", lambda p: [ch.serve(serves) for _ in range(2)])
    w.must_end()
    w.at_end(lambda: w.expect(set(told) == {"failed", 20}, "told: %r" % told))
