"""Programs of bare threads that read, write, choose, poison and close."""

from schedules.programs import family, program
from schedules.world import PoisonException

A = ("read", "a")
B = ("read", "b")
C = ("read", "c")


def write(ch, value):
    return ("write", ch, value)


def writes(p, *values):
    for v in values:
        p.write("a", v)


def reads(p, n):
    for _ in range(n):
        p.read("a")


def poisons(p, how, ch="a"):
    if how == "close":
        p.close(ch)
    else:
        p.poison(ch, how)


ENDINGS = [(how, (how,)) for how in ("channel", "read", "write", "close")]


# Reads and writes


@program(bound=4, lines=2)
def pair(w):
    w.channel()
    w.thread("w", writes, 1)
    w.thread("r", reads, 1)


@program(bound=3, chance=300, lines=1)
def stream(w):
    w.channel()
    w.thread("w", writes, 1, 2, 3)
    w.thread("r", reads, 3)


@program(bound=2, chance=300)
def two_writers(w):
    w.channel()
    w.thread("v", writes, 1)
    w.thread("w", writes, 2)
    w.thread("r", reads, 2)


@program(bound=2, chance=300)
def two_readers(w):
    w.channel()
    w.thread("q", reads, 1)
    w.thread("r", reads, 1)
    w.thread("w", writes, 1, 2)


@program(bound=2)
def more_writers_than_reads(w):
    w.channel()
    w.thread("v", writes, 1)
    w.thread("w", writes, 2)
    w.thread("r", reads, 1)


@program(chance=2000)
def crowd(w):
    w.channel()
    for i in 1, 2, 3:
        w.thread("w%d" % i, writes, 10 * i, 10 * i + 1)
        w.thread("r%d" % i, reads, 2)


@program(bound=2)
def looking_on(w):
    w.channel()
    w.thread("w", writes, 1)
    w.thread("r", reads, 1)
    w.thread("l", lambda p: p.len("a"))


# Alternatives


@program(bound=2, chance=500)
def select_of_two_writers(w):
    w.channel("a")
    w.channel("b")
    w.thread("v", lambda p: p.write("a", 1))
    w.thread("w", lambda p: p.write("b", 2))
    w.thread("s", lambda p: (p.select(A, B), p.select(A, B)))


@program(bound=2, chance=500)
def select_beside_a_reader(w):
    w.channel("a")
    w.channel("b")
    w.thread("w", lambda p: (p.write("a", 1), p.write("b", 2)))
    w.thread("r", lambda p: p.read("a"))
    w.thread("s", lambda p: p.select(A, B))


@program(bound=2, chance=500)
def two_selects_of_one_writer(w):
    w.channel("a")
    w.channel("b")
    w.thread("s", lambda p: p.select(A, B))
    w.thread("t", lambda p: p.select(B, A))
    w.thread("w", lambda p: (p.write("a", 1), p.write("b", 2)))


@program(bound=2)
def one_guard_twice(w):
    w.channel()
    w.thread("s", lambda p: p.select(A, A))
    w.thread("w", writes, 1)
    w.thread("r", reads, 1)


@program(bound=3, chance=300, lines=1)
def select_meets_select(w):
    w.channel("a")
    w.channel("b")
    w.thread("s", lambda p: (p.select(A, B), p.select(A, B)))
    w.thread("t", lambda p: [p.select(write("a", i), write("b", i + 1)) for i in (1, 3)])


@program(bound=3, chance=300)
def select_meets_select_crosswise(w):
    w.channel("a")
    w.channel("b")
    w.thread("s", lambda p: (p.select(A, write("b", 1)), p.select(A, write("b", 2))))
    w.thread("t", lambda p: (p.select(B, write("a", 3)), p.select(B, write("a", 4))))


@program(bound=2, chance=1000)
def ring_of_three_selects(w):
    for ch in "abc":
        w.channel(ch)
    w.thread("s", lambda p: p.select(A, write("b", 1)))
    w.thread("t", lambda p: p.select(B, write("c", 2)))
    w.thread("u", lambda p: p.select(C, write("a", 3)))


@program(chance=1000)
def selects_of_three(w):
    for ch in "abc":
        w.channel(ch)
    w.thread("s", lambda p: [p.select(A, B, C) for _ in range(3)])
    w.thread("t", lambda p: [p.select(C, B, write("a", i)) for i in (1, 2)])
    w.thread("u", lambda p: [p.select(write("b", i), write("c", i + 1)) for i in (3, 5)])
    w.thread("w", writes, 7)


def self_select(p, value):
    p.select(A, write("a", value))


@program(bound=4)
def self_select_alone(w):
    w.channel()
    w.thread("s", self_select, 1)
    w.thread("l", lambda p: p.len("a"))


@program(bound=3, chance=300, lines=1)
def two_self_selects(w):
    w.channel()
    w.thread("s", self_select, 1)
    w.thread("t", self_select, 2)


@program(bound=2, chance=500)
def three_self_selects(w):
    w.channel()
    for i in 1, 2, 3:
        w.thread("s%d" % i, self_select, i)


@program(bound=2, chance=500)
def self_select_between(w):
    w.channel()
    w.thread("s", self_select, 1)
    w.thread("w", writes, 2)
    w.thread("r", reads, 1)


@program(bound=1, chance=1000)
def fair_selects(w):
    w.channel("a")
    w.channel("b")
    w.thread("v", lambda p: (p.write("a", 1), p.write("a", 2)))
    w.thread("w", lambda p: (p.write("b", 3), p.write("b", 4)))
    w.thread("s", lambda p: [p.select(A, B, fair=True) for _ in range(4)])


@program(bound=2, chance=300)
def select_with_a_timer(w):
    w.channel()
    w.thread("s", lambda p: (p.select(A, ("timer", 1)), p.select(A, ("timer", 2))))
    w.thread("w", writes, 1)


@program(bound=2, chance=500)
def select_with_two_timers(w):
    w.channel()
    w.thread("s", lambda p: p.select(A, ("timer", 2), ("timer", 1)))
    w.thread("t", lambda p: p.select(("timer", 1), write("a", 1)))


@program(bound=3)
def select_with_skip(w):
    w.channel()
    w.thread("s", lambda p: (p.select(A, ("skip",)), p.read("a")))
    w.thread("w", writes, 1, 2)


# Ends of channels


@family(ENDINGS, bound=2, chance=150)
def ends_beside_a_pair(w, how):
    w.channel()
    w.thread("w", writes, 1)
    w.thread("r", reads, 1)
    w.thread("p", poisons, how)


@family(ENDINGS, bound=2, chance=150)
def ends_by_the_writer(w, how):
    w.channel()
    w.thread("w", lambda p: (p.write("a", 1), poisons(p, how), p.write("a", 2)))
    w.thread("q", reads, 2)
    w.thread("r", reads, 1)


@family(ENDINGS, chance=600)
def ends_in_a_crowd(w, how):
    w.channel()
    w.thread("v", writes, 1, 2)
    w.thread("w", writes, 3)
    w.thread("q", reads, 2)
    w.thread("r", reads, 2)
    w.thread("p", poisons, how)


@family(ENDINGS, bound=2, chance=150)
def ends_beside_a_select(w, how):
    w.channel("a")
    w.channel("b")
    w.thread("s", lambda p: (p.select(A, B), p.select(A, B)))
    w.thread("w", lambda p: (p.write("b", 1), p.write("a", 2)))
    w.thread("p", poisons, how)


@family(ENDINGS, bound=2, chance=150)
def ends_beside_self_selects(w, how):
    w.channel()
    w.thread("s", self_select, 1)
    w.thread("t", self_select, 2)
    w.thread("p", poisons, how)


@family(ENDINGS, bound=1, chance=200)
def ends_and_goes_on(w, how):
    w.channel("a")
    w.channel("b")

    def goes_on(p):
        try:
            p.read("a")
        except PoisonException:
            p.read("b")

    w.thread("q", goes_on)
    w.thread("r", goes_on)
    w.thread("w", lambda p: (p.write("b", 1), p.write("b", 2)))
    w.thread("p", poisons, how)


@program(bound=2)
def ends_of_all_kinds(w):
    w.channel()
    w.thread("p", lambda p: (poisons(p, "close"), poisons(p, "write")))
    w.thread("q", lambda p: (poisons(p, "write"), poisons(p, "channel")))
    w.thread("w", writes, 1)


# Buffers

SIZES = [("of_%s" % n, (n,)) for n in (0, 1, 2, None)]


@family(SIZES, bound=2, chance=200)
def buffer(w, n):
    w.channel(capacity=n, buffered=True)
    w.thread("w", writes, 1, 2, 3)
    w.thread("r", reads, 3)


@family(SIZES, chance=600)
def buffer_in_a_crowd(w, n):
    w.channel(capacity=n, buffered=True)
    w.thread("v", writes, 1, 2)
    w.thread("w", writes, 3, 4)
    w.thread("q", reads, 2)
    w.thread("r", reads, 1)
    w.thread("l", lambda p: p.len("a"))


@family(SIZES, bound=2, chance=200)
def buffer_and_selects(w, n):
    w.channel(capacity=n, buffered=True)
    w.channel("b")
    w.thread("s", lambda p: (p.select(A, B), p.select(B, A)))
    w.thread("t", lambda p: (p.select(write("a", 1), write("b", 2)), p.write("a", 3)))


@family(SIZES, bound=2, chance=200)
def buffer_and_self_selects(w, n):
    w.channel(capacity=n, buffered=True)
    w.thread("s", self_select, 1)
    w.thread("t", self_select, 2)


@family(
    [
        ("of_%d_%s" % (n, how), (n, how))
        for n in (0, 1, 2)
        for how in ("channel", "read", "write", "close")
    ],
    bound=1,
    chance=150,
)
def buffer_ends(w, n, how):
    w.channel(capacity=n, buffered=True)
    w.thread("w", writes, 1, 2, 3)
    w.thread("r", reads, 3)
    w.thread("p", poisons, how)


# Operations together


@program(bound=2, chance=300)
def parallel_writes(w):
    w.channel("a")
    w.channel("b")
    w.thread("g", lambda p: (p.parallel(write("a", 1), write("b", 2)), p.write("a", 3)))
    w.thread("q", lambda p: (p.read("a"), p.read("a")))
    w.thread("r", lambda p: p.read("b"))


@program(bound=2, chance=300)
def parallel_reads(w):
    w.channel("a")
    w.channel("b")
    w.thread("g", lambda p: (p.parallel(A, B), p.read("a")))
    w.thread("v", lambda p: (p.write("a", 1), p.write("a", 2)))
    w.thread("w", lambda p: p.write("b", 3))


@program(bound=2, chance=500)
def parallel_meets_select(w):
    w.channel("a")
    w.channel("b")
    w.thread("g", lambda p: p.parallel(write("a", 1), B))
    w.thread("s", lambda p: (p.select(A, write("b", 2)), p.select(A, write("b", 3))))


@program(bound=2, chance=500)
def parallel_meets_parallel(w):
    w.channel("a")
    w.channel("b")
    w.thread("g", lambda p: p.parallel(write("a", 1), B))
    w.thread("h", lambda p: p.parallel(A, write("b", 2)))
    w.thread("k", lambda p: p.parallel(A, write("a", 3)))


@program(bound=2)
def parallel_on_one_channel(w):
    w.channel()
    w.thread("g", lambda p: p.parallel(write("a", 1), write("a", 2)))
    w.thread("h", lambda p: p.parallel(A, A))


@program(bound=2, chance=300)
def parallel_on_buffers(w):
    w.channel("a", 1)
    w.channel("b", 0, buffered=True)
    w.thread("g", lambda p: p.parallel(write("a", 1), write("b", 2), write("a", 3)))
    w.thread("r", lambda p: (p.read("b"), p.read("a"), p.read("a")))


@family(ENDINGS, bound=2, chance=150)
def parallel_ends(w, how):
    w.channel("a")
    w.channel("b")
    w.thread("g", lambda p: p.parallel(A, write("b", 2)))
    w.thread("w", lambda p: (p.write("a", 1), p.read("b")))
    w.thread("p", poisons, how)


# Interrupts of a thread that sleeps in an operation


def interrupts(p, name):
    p.world.interrupt(name)


def interrupts_late(p, name):
    p.len("a")
    p.world.interrupt(name, late=True) or p.len("a")
    p.world.interrupt(name, late=True)


MOMENTS = [("asleep", (interrupts,)), ("woken", (interrupts_late,))]


@family(MOMENTS, bound=2, chance=300)
def interrupted_read(w, moment):
    w.channel()
    w.thread("q", survives, lambda p: p.read("a"))
    w.thread("w", writes, 1)
    w.thread("r", reads, 1)
    w.thread("i", moment, "q")


@family(MOMENTS, bound=2, chance=300)
def interrupted_write(w, moment):
    w.channel()
    w.thread("v", survives, lambda p: p.write("a", 1))
    w.thread("w", writes, 2)
    w.thread("r", reads, 1)
    w.thread("i", moment, "v")


@family(MOMENTS, bound=2, chance=300)
def interrupted_select(w, moment):
    w.channel("a")
    w.channel("b")
    w.thread("s", survives, lambda p: p.select(A, write("b", 1)))
    w.thread("w", lambda p: p.select(write("a", 2), B))
    w.thread("r", reads, 1)
    w.thread("i", moment, "s")


@program(bound=1, chance=500)
def interrupted_select_with_a_timer(w):
    w.channel()
    w.thread("s", survives, lambda p: p.select(A, ("timer", 1)))
    w.thread("w", writes, 1)
    w.thread("i", interrupts, "s")


@family(MOMENTS, bound=2, chance=300)
def interrupted_parallel(w, moment):
    w.channel("a")
    w.channel("b")
    w.thread("g", survives, lambda p: p.parallel(A, write("b", 1)))
    w.thread("w", lambda p: (p.write("a", 2), p.read("b")))
    w.thread("i", moment, "g")


@family(SIZES, bound=1, chance=200)
def interrupted_on_a_buffer(w, n):
    w.channel(capacity=n, buffered=True)
    w.thread("q", survives, lambda p: p.read("a"))
    w.thread("v", survives, lambda p: writes(p, 1, 2, 3))
    w.thread("r", reads, 1)
    w.thread("i", lambda p: (interrupts(p, "q"), interrupts(p, "v")))


def survives(p, operation):
    """Do an operation that may be interrupted, and another one after."""
    try:
        operation(p)
    except KeyboardInterrupt:
        p.len("a")


def fairly(p, times):
    for _ in range(times):
        try:
            p.select(A, B, fair=True)
        except PoisonException:
            pass


@family(ENDINGS, bound=2, chance=150)
def fair_selects_beside_an_end(w, how):
    w.channel("a")
    w.channel("b")
    w.thread("s", fairly, 4)
    w.thread("w", lambda p: (p.write("b", 1), p.write("b", 2)))
    w.thread("p", poisons, how)
