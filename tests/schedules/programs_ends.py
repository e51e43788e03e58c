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
from schedules.world import PoisonException, upycsp
from upycsp import closing


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


# Buffers that overflow

OVERFLOWS = [("keep_oldest", ("keep_oldest",)), ("keep_newest", ("keep_newest",))]


@family(OVERFLOWS, bound=2, chance=80)
def overflow(w, how):
    w.channel(capacity=1, overflow=how)
    w.thread("v", writes, 1, 2)
    w.thread("w", writes, 3)
    w.thread("r", reads, 1)


@family(OVERFLOWS, bound=2, chance=80)
def overflow_and_selects(w, how):
    w.channel(capacity=1, overflow=how)
    w.channel("b")
    w.thread("s", lambda p: (p.select(A, B), p.select(B, A)))
    w.thread("t", lambda p: (p.select(write("b", 2), write("a", 1)), p.write("a", 3)))
    w.thread("l", lambda p: p.len("a"))


@family(
    [(o + "_" + how, (o, how)) for o, _ in OVERFLOWS for how, _ in ENDINGS], bound=1, chance=60
)
def overflow_ends(w, how, end):
    w.channel(capacity=2, overflow=how)
    w.thread("w", writes, 1, 2, 3)
    w.thread("r", reads, 3)
    w.thread("p", poisons, end)


# Counted ends


def counted(w, name, how, body, *args):
    """A thread that does body(actor, *args) with a counted end of a, and retires."""
    end = w.actor(name)
    end.join("a", how)

    def does(p):
        p.ends = end.ends
        try:
            body(p, *args)
        finally:
            p.retire("a", how)

    w.thread(name, does)


@family(SIZES, bound=2, chance=80, lines=1)
def writers_retire(w, n):
    w.channel(capacity=n, buffered=True)
    counted(w, "v", "write", writes, 1)
    counted(w, "w", "write", writes, 2)
    w.thread("r", reads, 3)
    w.must_end()


@family(SIZES, bound=2, chance=80)
def readers_retire(w, n):
    w.channel(capacity=n, buffered=True)
    counted(w, "q", "read", reads, 1)
    counted(w, "r", "read", reads, 1)
    w.thread("w", writes, 1, 2, 3)


@program(bound=2, chance=120, lines=1)
def both_retire(w):
    w.channel()
    counted(w, "v", "write", writes, 1, 2)
    counted(w, "r", "read", reads, 1)
    w.must_end()


@program(bound=2, chance=120)
def one_joins_as_one_retires(w):
    w.channel()
    counted(w, "v", "write", writes, 1)
    w.thread("w", lambda p: (p.join("a", "write"), p.write("a", 2), p.retire("a", "write")))
    w.thread("r", reads, 3)
    w.must_end()


@program(bound=2, chance=120)
def selects_retire(w):
    w.channel("a")
    w.channel("b")
    counted(w, "s", "read", lambda p: p.select(B, A))
    counted(w, "t", "write", lambda p: p.select(write("a", 1)))
    w.thread("p", lambda p: p.select(A, B))
    w.must_end()


@program(bound=2, chance=120)
def operations_together_retire(w):
    w.channel("a")
    w.channel("b")
    counted(w, "s", "read", lambda p: p.parallel(A, write("b", 1)))
    counted(w, "t", "write", lambda p: p.parallel(B, write("a", 2)))
    w.must_end()


@family(ENDINGS, bound=2, chance=60)
def ends_beside_one_that_retires(w, how):
    w.channel(capacity=1)
    counted(w, "v", "write", writes, 1, 2)
    counted(w, "r", "read", reads, 2)
    w.thread("p", poisons, how)
    w.must_end()


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


# Who waits for the end of a channel


@family(ENDINGS, bound=1, chance=100)
def closed_is_told(w, how):
    w.channel("a")
    w.channel("b")
    ended = closing.Closed(w.channels["a"].write)
    told = []

    def chooses(p):
        g, v = upycsp.Alternative(w.channels["b"].read, ended).select()
        w.expect(g is ended and v is None, "%r was chosen" % (g,))
        told.append(p.name)

    def waits(p):
        w.expect(ended() is None, "it has a value")
        told.append(p.name)

    w.thread("s", chooses)
    w.thread("t", waits)
    w.thread("p", poisons, how)
    w.must_end()
    w.at_end(lambda: w.expect(sorted(told) == ["s", "t"], "told are %r" % told))


@program(bound=2, chance=120)
def closed_is_told_by_the_last_to_retire(w):
    w.channel("a")
    ended = closing.Closed(w.channels["a"].write)
    told = []
    retired = []

    def waits(p):
        ended()
        told.append(p.name)
        w.expect(len(retired) == 2, "%r have retired" % retired)

    for name in "vw":
        counted(w, name, "write", lambda p: retired.append(p.name))
    w.thread("s", waits)
    w.must_end()
    w.at_end(lambda: w.expect(told == ["s"], "told are %r" % told))


@program(bound=2, chance=120)
def closed_beside_a_message(w):
    w.channel("a")
    w.channel("b")
    got = []

    def chooses(p):
        cin = w.channels["b"].read
        alt = upycsp.Alternative(closing.Closed(w.channels["a"].write), cin)
        for _ in range(2):
            g, v = alt.select()
            got.append(v)

    w.thread("s", chooses)
    w.thread("w", lambda p: w.channels["b"].write(1))
    w.thread("p", lambda p: p.close("a"))
    # What is ready once stays ready, and a message is taken at most once.
    w.at_end(lambda: w.expect(sorted(map(str, got)) in (["1", "None"], ["None", "None"]), got))
