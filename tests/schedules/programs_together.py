"""Programs of bare threads with operations posted together, and with interrupts."""

from schedules.programs import family, program
from schedules.programs_channels import A, B, ENDINGS, SIZES, poisons, reads, write, writes


# Operations together


@program(bound=2, chance=120)
def parallel_writes(w):
    w.channel("a")
    w.channel("b")
    w.thread("g", lambda p: (p.parallel(write("a", 1), write("b", 2)), p.write("a", 3)))
    w.thread("q", lambda p: (p.read("a"), p.read("a")))
    w.thread("r", lambda p: p.read("b"))


@program(bound=2, chance=120)
def parallel_reads(w):
    w.channel("a")
    w.channel("b")
    w.thread("g", lambda p: (p.parallel(A, B), p.read("a")))
    w.thread("v", lambda p: (p.write("a", 1), p.write("a", 2)))
    w.thread("w", lambda p: p.write("b", 3))


@program(bound=2, chance=200)
def parallel_meets_select(w):
    w.channel("a")
    w.channel("b")
    w.thread("g", lambda p: p.parallel(write("a", 1), B))
    w.thread("s", lambda p: (p.select(A, write("b", 2)), p.select(A, write("b", 3))))


@program(bound=2, chance=200)
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


@program(bound=2, chance=120)
def parallel_on_buffers(w):
    w.channel("a", 1)
    w.channel("b", 0, buffered=True)
    w.thread("g", lambda p: p.parallel(write("a", 1), write("b", 2), write("a", 3)))
    w.thread("r", lambda p: (p.read("b"), p.read("a"), p.read("a")))


@family(ENDINGS, bound=2, chance=60)
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


@family(MOMENTS, bound=1, chance=200)
def interrupted_read(w, moment):
    w.channel()
    w.thread("q", survives, lambda p: p.read("a"))
    w.thread("w", writes, 1)
    w.thread("r", reads, 1)
    w.thread("i", moment, "q")


@family(MOMENTS, bound=1, chance=200)
def interrupted_write(w, moment):
    w.channel()
    w.thread("v", survives, lambda p: p.write("a", 1))
    w.thread("w", writes, 2)
    w.thread("r", reads, 1)
    w.thread("i", moment, "v")


@family(MOMENTS, bound=1, chance=200)
def interrupted_select(w, moment):
    w.channel("a")
    w.channel("b")
    w.thread("s", survives, lambda p: p.select(A, write("b", 1)))
    w.thread("w", lambda p: p.select(write("a", 2), B))
    w.thread("r", reads, 1)
    w.thread("i", moment, "s")


@program(bound=1, chance=200)
def interrupted_select_with_a_timer(w):
    w.channel()
    w.thread("s", survives, lambda p: p.select(A, ("timer", 1)))
    w.thread("w", writes, 1)
    w.thread("i", interrupts, "s")


@family(MOMENTS, bound=2, chance=120)
def interrupted_parallel(w, moment):
    w.channel("a")
    w.channel("b")
    w.thread("g", survives, lambda p: p.parallel(A, write("b", 1)))
    w.thread("w", lambda p: (p.write("a", 2), p.read("b")))
    w.thread("i", moment, "g")


@family(SIZES, bound=1, chance=80)
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
