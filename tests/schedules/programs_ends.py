"""Programs of bare threads where a channel ends at any moment, and with buffers."""

from schedules.programs import family, program
from schedules.programs_channels import (
    A,
    B,
    ENDINGS,
    SIZES,
    poisons,
    reads,
    self_select,
    write,
    writes,
)
from schedules.world import PoisonException


# Ends of channels


@family(ENDINGS, bound=2, chance=60)
def ends_beside_a_pair(w, how):
    w.channel()
    w.thread("w", writes, 1)
    w.thread("r", reads, 1)
    w.thread("p", poisons, how)


@family(ENDINGS, bound=2, chance=60)
def ends_by_the_writer(w, how):
    w.channel()
    w.thread("w", lambda p: (p.write("a", 1), poisons(p, how), p.write("a", 2)))
    w.thread("q", reads, 2)
    w.thread("r", reads, 1)


@family(ENDINGS, chance=240)
def ends_in_a_crowd(w, how):
    w.channel()
    w.thread("v", writes, 1, 2)
    w.thread("w", writes, 3)
    w.thread("q", reads, 2)
    w.thread("r", reads, 2)
    w.thread("p", poisons, how)


@family(ENDINGS, bound=2, chance=60)
def ends_beside_a_select(w, how):
    w.channel("a")
    w.channel("b")
    w.thread("s", lambda p: (p.select(A, B), p.select(A, B)))
    w.thread("w", lambda p: (p.write("b", 1), p.write("a", 2)))
    w.thread("p", poisons, how)


@family(ENDINGS, bound=2, chance=60)
def ends_beside_self_selects(w, how):
    w.channel()
    w.thread("s", self_select, 1)
    w.thread("t", self_select, 2)
    w.thread("p", poisons, how)


@family(ENDINGS, bound=1, chance=80)
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


@family(SIZES, bound=2, chance=80)
def buffer(w, n):
    w.channel(capacity=n, buffered=True)
    w.thread("w", writes, 1, 2, 3)
    w.thread("r", reads, 3)


@family(SIZES, chance=240)
def buffer_in_a_crowd(w, n):
    w.channel(capacity=n, buffered=True)
    w.thread("v", writes, 1, 2)
    w.thread("w", writes, 3, 4)
    w.thread("q", reads, 2)
    w.thread("r", reads, 1)
    w.thread("l", lambda p: p.len("a"))


@family(SIZES, bound=2, chance=80)
def buffer_and_selects(w, n):
    w.channel(capacity=n, buffered=True)
    w.channel("b")
    w.thread("s", lambda p: (p.select(A, B), p.select(B, A)))
    w.thread("t", lambda p: (p.select(write("a", 1), write("b", 2)), p.write("a", 3)))


@family(SIZES, bound=2, chance=80)
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
    chance=60,
)
def buffer_ends(w, n, how):
    w.channel(capacity=n, buffered=True)
    w.thread("w", writes, 1, 2, 3)
    w.thread("r", reads, 3)
    w.thread("p", poisons, how)


def fairly(p, times):
    for _ in range(times):
        try:
            p.select(A, B, fair=True)
        except PoisonException:
            pass


@family(ENDINGS, bound=2, chance=60)
def fair_selects_beside_an_end(w, how):
    w.channel("a")
    w.channel("b")
    w.thread("s", fairly, 4)
    w.thread("w", lambda p: (p.write("b", 1), p.write("b", 2)))
    w.thread("p", poisons, how)
