"""upycsp: an operation whose wait is interrupted (Ctrl-C in the main thread) leaves nothing.

The interrupt comes where it comes on all ports: out of the wait on the thread's own bolt.
"""

from uthreading import Thread, kept
from upycsp import (
    Alternative,
    BufferedChannel,
    Channel,
    Parallel,
    PoisonException,
    Spawn,
    Timer,
    process,
)
from upycsp.wait import lock, own


class interrupted:
    """In this block the calling thread's first wait is interrupted, after meanwhile().

    error: a class, of what a signal's handler raises.
    """

    def __init__(self, meanwhile=None, error=KeyboardInterrupt):
        self.meanwhile = meanwhile
        self.error = error
        self.came = False
        with lock:
            self.me = own()
        self.wait = self.me.wait

    def __enter__(self):
        self.me.wait = self._interrupt
        return self

    def _interrupt(self):
        self.me.wait = self.wait
        self.came = True
        if self.meanwhile is not None:
            self.meanwhile()
        raise self.error

    def __exit__(self, kind, error, traceback):
        self.me.wait = self.wait
        assert kind is self.error and self.came
        return True


def elsewhere(f, *args):
    """f(*args) on another thread; returns what it has returned at its end."""
    box = []
    t = Thread(target=lambda: box.append(f(*args)))
    t.start()
    t.join()
    return box[0]


def until(condition):
    while not condition():
        kept.sleep_ms(1)


def starts(f, *args):
    """f(*args) on another thread: it, and where its result will be."""
    box = []
    t = Thread(target=lambda: box.append(f(*args)))
    t.start()
    return t, box


def is_well():
    """Whether the calling thread still waits and is woken as it should."""
    ch = Channel("well")

    def partner():
        until(lambda: ch.queue_len() == 1)
        ch.verify()
        ch.write("a value")
        until(lambda: ch.queue_len() == 1)
        return ch.read()

    t, box = starts(partner)
    assert ch.read() == "a value"
    assert ch.write("another") == 0
    t.join()
    assert box == ["another"]


def channels():
    return [Channel("c"), BufferedChannel("b", capacity=0), BufferedChannel("u")]


def full_channels():
    full = BufferedChannel("b", capacity=1)
    full.write("first")
    return [Channel("c"), BufferedChannel("b", capacity=0), full]


def test_an_interrupted_read_leaves_no_offer():
    for ch in channels():
        with interrupted():
            ch.read()
        assert ch.queue_len() == 0
        ch.verify()
        is_well()


def test_an_interrupted_read_leaves_those_behind_it_waiting():
    for ch in channels():
        others = []

        def meanwhile():
            others.append(starts(ch.read))
            until(lambda: ch.queue_len() == 2)

        with interrupted(meanwhile):
            ch.read()
        assert ch.queue_len() == 1
        ch.write(1)
        others[0][0].join()
        assert others[0][1] == [1]
        is_well()


def test_an_interrupted_read_behind_others_leaves_them_waiting():
    for ch in channels():
        first, box = starts(ch.read)
        until(lambda: ch.queue_len() == 1)
        with interrupted():
            ch.read()
        assert ch.queue_len() == 1
        ch.write(1)
        first.join()
        assert box == [1]
        is_well()


def test_an_interrupted_write_leaves_no_offer():
    for ch in full_channels():
        before = ch.queue_len()
        with interrupted():
            ch.write("never")
        assert ch.queue_len() == before
        ch.verify()
        is_well()


def test_a_read_interrupted_after_it_was_paired_gives_its_value_back():
    for ch in channels():
        with interrupted(lambda: elsewhere(ch.write, "v")):
            ch.read()
        assert ch.queue_len() == 1
        ch.verify()
        is_well()
        assert ch.read() == "v"
        assert ch.queue_len() == 0


def test_a_value_given_back_goes_to_the_next_reader_that_waits():
    for ch in channels():
        others = []

        def meanwhile():
            elsewhere(ch.write, "v")
            others.append(starts(ch.read))
            until(lambda: ch.queue_len() == 1)

        with interrupted(meanwhile):
            ch.read()
        others[0][0].join()
        assert others[0][1] == ["v"]
        assert ch.queue_len() == 0
        is_well()


def test_a_write_interrupted_after_it_was_taken_has_happened():
    for ch in full_channels():
        got = []
        taken = ch.queue_len() + 1

        def meanwhile():
            for _ in range(taken):
                got.append(elsewhere(ch.read))

        with interrupted(meanwhile):
            ch.write("v")
        assert got[-1] == "v"
        assert ch.queue_len() == 0
        is_well()


def test_an_interrupt_after_poison_gives_nothing_back():
    for ch in channels():
        with interrupted(lambda: elsewhere(ch.poison)):
            ch.read()
        assert ch.poisoned and ch.queue_len() == 0
        is_well()
    for ch in full_channels():
        with interrupted(lambda: elsewhere(ch.poison)):
            ch.write("v")
        is_well()


def test_an_interrupted_select_leaves_no_offer_and_no_timer():
    a, b = Channel("a"), Channel("b")
    alt = Alternative(a.read, b.write.alt_pending_write(1), Timer(ms=100000))
    for select in (alt.select, alt.fair_select):
        with interrupted():
            select()
        assert a.queue_len() == b.queue_len() == 0
        assert alt._alarm.due is None
        is_well()
        # It can be used again.
        t, box = starts(b.read)
        until(lambda: b.queue_len() == 1)
        assert alt.select()[1] == 0
        t.join()
        assert box == [1]


def test_a_select_interrupted_after_it_chose_a_read_gives_the_value_back():
    a, b = Channel("a"), Channel("b")
    alt = Alternative(a.read, b.read)
    with interrupted(lambda: elsewhere(b.write, "v")):
        alt.select()
    assert (a.queue_len(), b.queue_len()) == (0, 1)
    is_well()
    g, v = alt.select()
    assert g is b.read and v == "v"


def test_a_value_that_a_select_gives_back_goes_to_a_reader_that_waits():
    a, b = Channel("a"), Channel("b")
    others = []

    def meanwhile():
        elsewhere(b.write, "v")
        others.append(starts(b.read))
        until(lambda: b.queue_len() == 1)

    with interrupted(meanwhile):
        Alternative(a.read, b.read).select()
    others[0][0].join()
    assert others[0][1] == ["v"]
    is_well()


def test_a_select_interrupted_after_it_chose_a_write_has_written():
    a, b = Channel("a"), Channel("b")
    got = []
    with interrupted(lambda: got.append(elsewhere(b.read))):
        Alternative(a.read, b.write.alt_pending_write("v")).select()
    assert got == ["v"]
    assert a.queue_len() == b.queue_len() == 0
    is_well()


def test_a_select_interrupted_after_it_met_poison_gives_nothing_back():
    a, b = Channel("a"), Channel("b")
    with interrupted(lambda: elsewhere(b.poison)):
        Alternative(a.read, b.read).select()
    assert a.queue_len() == b.queue_len() == 0
    is_well()


def test_a_timer_that_is_late_chooses_nothing():
    a = Channel("a")
    alt = Alternative(a.read, Timer(ms=100000))
    t, _ = starts(a.write, 1)
    assert alt.select()[1] == 1
    t.join()
    alt._due(alt._alarm)  # the timer thread had begun the call when the value came
    t, _ = starts(a.write, 2)
    assert alt.select()[1] == 2
    t.join()


def test_an_interrupted_parallel_of_guards_leaves_no_offer_and_gives_reads_back():
    a, b, c, d = [Channel(name) for name in "abcd"]
    others = []

    def meanwhile():
        elsewhere(b.write, "vb")
        elsewhere(d.write, "vd")
        others.append(starts(d.read))
        until(lambda: d.queue_len() == 1)

    guards = [a.read, b.read, c.write.alt_pending_write(1), d.read]
    with interrupted(meanwhile):
        Parallel(*guards).run()
    assert (a.queue_len(), b.queue_len(), c.queue_len()) == (0, 1, 0)
    others[0][0].join()
    assert others[0][1] == ["vd"]
    is_well()
    assert b.read() == "vb"


def test_an_interrupted_parallel_write_leaves_no_offer():
    a, b = Channel("a"), Channel("b")
    got = []
    with interrupted(lambda: got.append(elsewhere(a.read))):
        Parallel(a.write.alt_pending_write(1), b.write.alt_pending_write(2)).run()
    assert got == [1]
    assert a.queue_len() == b.queue_len() == 0
    is_well()


def test_a_parallel_interrupted_after_all_was_paired_leaves_its_thread_well():
    a, b = Channel("a"), Channel("b")

    def meanwhile():
        elsewhere(a.write, 1)
        elsewhere(b.write, 2)

    with interrupted(meanwhile):
        Parallel(a.read, b.read).run()
    assert a.queue_len() == b.queue_len() == 1
    is_well()
    assert (a.read(), b.read()) == (1, 2)


def test_the_processes_of_an_interrupted_parallel_go_on_and_tell_nobody_of_their_end():
    a, b = Channel("a"), Channel("b")

    @process
    def reads(cin):
        return cin()

    for before, behind in ([], []), ([a.read], []), ([], [a.read]):
        with interrupted(lambda: until(lambda: b.queue_len() == 1)):
            Parallel(*before + [reads(b.read)] + behind).run()
        assert (a.queue_len(), b.queue_len()) == (0, 1)
        b.write(1)
        until(lambda: kept.counts()[1] == 0)
        is_well()


def test_an_interrupted_join_leaves_the_other_joins_waiting():
    ch = Channel("c")

    @process
    def reads(cin):
        return cin()

    for first in (True, False):
        h = Spawn(reads(ch.read))
        others = []

        def another_joins():
            before = h._waiting
            others.append(starts(h.join))
            until(lambda: h._waiting is not before)

        another_joins()
        # Those who came later head the chain.
        if first:
            with interrupted():
                h.join()
        else:
            with interrupted(lambda: (another_joins(), another_joins())):
                h.join()
        is_well()
        ch.write("v")
        for t, box in others:
            t.join()
            assert box == ["v"]
        assert h.join() == "v"
        is_well()


def test_a_join_interrupted_after_the_end_leaves_its_thread_well():
    ch = Channel("c")

    @process
    def reads(cin):
        return cin()

    h = Spawn(reads(ch.read))

    def meanwhile():
        elsewhere(ch.write, "v")
        until(h.done)

    with interrupted(meanwhile):
        h.join()
    is_well()
    assert h.join() == "v"


def test_poison_ends_iteration_after_an_interrupt_was_caught():
    ch = Channel("c")
    with interrupted():
        ch.read()
    ch.poison()
    try:
        ch.read()
    except PoisonException:
        return
    raise AssertionError("no poison")
