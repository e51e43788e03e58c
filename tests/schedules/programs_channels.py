"""Programs of bare threads that read, write and choose; and words that others use, too."""

from schedules.programs import program

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
SIZES = [("of_%s" % n, (n,)) for n in (0, 1, 2, None)]


# Reads and writes


@program(bound=4, lines=2)
def pair(w):
    w.channel()
    w.thread("w", writes, 1)
    w.thread("r", reads, 1)


@program(bound=3, chance=120, lines=1)
def stream(w):
    w.channel()
    w.thread("w", writes, 1, 2, 3)
    w.thread("r", reads, 3)


@program(bound=2, chance=120)
def two_writers(w):
    w.channel()
    w.thread("v", writes, 1)
    w.thread("w", writes, 2)
    w.thread("r", reads, 2)


@program(bound=2, chance=120)
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


@program(chance=400)
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


@program(bound=2, chance=200)
def select_of_two_writers(w):
    w.channel("a")
    w.channel("b")
    w.thread("v", lambda p: p.write("a", 1))
    w.thread("w", lambda p: p.write("b", 2))
    w.thread("s", lambda p: (p.select(A, B), p.select(A, B)))


@program(bound=2, chance=200)
def select_beside_a_reader(w):
    w.channel("a")
    w.channel("b")
    w.thread("w", lambda p: (p.write("a", 1), p.write("b", 2)))
    w.thread("r", lambda p: p.read("a"))
    w.thread("s", lambda p: p.select(A, B))


@program(bound=2, chance=200)
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


@program(bound=3, chance=120, lines=1)
def select_meets_select(w):
    w.channel("a")
    w.channel("b")
    w.thread("s", lambda p: (p.select(A, B), p.select(A, B)))
    w.thread("t", lambda p: [p.select(write("a", i), write("b", i + 1)) for i in (1, 3)])


@program(bound=3, chance=120)
def select_meets_select_crosswise(w):
    w.channel("a")
    w.channel("b")
    w.thread("s", lambda p: (p.select(A, write("b", 1)), p.select(A, write("b", 2))))
    w.thread("t", lambda p: (p.select(B, write("a", 3)), p.select(B, write("a", 4))))


@program(bound=2, chance=400)
def ring_of_three_selects(w):
    for ch in "abc":
        w.channel(ch)
    w.thread("s", lambda p: p.select(A, write("b", 1)))
    w.thread("t", lambda p: p.select(B, write("c", 2)))
    w.thread("u", lambda p: p.select(C, write("a", 3)))


@program(chance=400)
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


@program(bound=3, chance=120, lines=1)
def two_self_selects(w):
    w.channel()
    w.thread("s", self_select, 1)
    w.thread("t", self_select, 2)


@program(bound=2, chance=200)
def three_self_selects(w):
    w.channel()
    for i in 1, 2, 3:
        w.thread("s%d" % i, self_select, i)


@program(bound=2, chance=200)
def self_select_between(w):
    w.channel()
    w.thread("s", self_select, 1)
    w.thread("w", writes, 2)
    w.thread("r", reads, 1)


@program(bound=1, chance=400)
def fair_selects(w):
    w.channel("a")
    w.channel("b")
    w.thread("v", lambda p: (p.write("a", 1), p.write("a", 2)))
    w.thread("w", lambda p: (p.write("b", 3), p.write("b", 4)))
    w.thread("s", lambda p: [p.select(A, B, fair=True) for _ in range(4)])


@program(bound=2, chance=120)
def select_with_a_timer(w):
    w.channel()
    w.thread("s", lambda p: (p.select(A, ("timer", 1)), p.select(A, ("timer", 2))))
    w.thread("w", writes, 1)


@program(bound=1, chance=200)
def select_with_two_timers(w):
    w.channel()
    w.thread("s", lambda p: p.select(A, ("timer", 2), ("timer", 1)))
    w.thread("t", lambda p: p.select(("timer", 1), write("a", 1)))


@program(bound=3)
def select_with_skip(w):
    w.channel()
    w.thread("s", lambda p: (p.select(A, ("skip",)), p.read("a")))
    w.thread("w", writes, 1, 2)
