"""upycsp, further: who runs on which thread, what can't be started, what an interrupt ends."""

import sys
from _thread import allocate_lock, get_ident, start_new_thread

import upycsp
import uthreading
from cspcore.channel import DEAD, DRAINED, WAITING
from uthreading import clock, kept
from upycsp import (
    Alternative,
    Channel,
    DeadlockError,
    Guard,
    Parallel,
    Sequence,
    Skip,
    Spawn,
    Timer,
    process,
    run,
)
from upycsp.isr import InterruptChannel

from test_cover_interrupted import elsewhere, interrupted, is_well, starts
from uthreading_support import MICROPYTHON, raises, until

if MICROPYTHON:
    import micropython

PROCESS = sys.modules["upycsp.process"]  # the package has another `process`
WAIT = sys.modules["upycsp.wait"]
EARLY = __import__("upycsp.early", None, None, ("*",))
WATCH = upycsp.watch
# As they are until one of them is called: that loads a module which puts others in their places.
FIRST_LIMITED = [getattr(upycsp.channel, name).within for name in ("ReadEnd", "WriteEnd")]


class Oops(Exception):
    pass


class replaced:
    """In this block an attribute has another value."""

    def __init__(self, owner, name, value):
        self.owner = owner
        self.name = name
        self.old = getattr(owner, name)
        setattr(owner, name, value)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        setattr(self.owner, self.name, self.old)


def no_memory(*args):
    raise MemoryError("no memory for it")


def all_have_ended():
    return PROCESS._alive.is_empty() and not kept.counts()[1]


def own():
    with WAIT.lock:
        return WAIT.own()


@process
def ident(*ends):
    return get_ident()


@process
def returns(v, *ends):
    return v


@process
def reads(cin):
    return cin()


@process
def fails():
    raise Oops("fails")


# Threads


@process
def idents(n):
    inner = [returns(None), idents(n - 1) if n else ident()]
    return [get_ident()] + Parallel(*inner).run().retval[1:]


def test_the_last_process_runs_on_the_thread_of_who_waits_but_not_within_one_that_does():
    @process
    def outer():
        me = get_ident()
        for _ in range(2):
            first, last = Parallel(ident(), ident()).run().retval
            assert last == me and first != me
            here, deeper = Parallel(returns(0), idents(0)).run().retval[1]
            assert here == me and deeper != me
        return True

    assert run(outer())
    assert Parallel(ident()).run().retval != [get_ident()]


def test_where_the_main_thread_polls_no_process_runs_within_another():
    old = kept.polls()
    try:
        for flag in (True, False):
            kept.poll_in_main(flag)
            assert WAIT.Offer(-1).nests == (not flag)
    finally:
        kept.poll_in_main(old)


class starting:
    """In this block the n-th start of a thread from now on fails."""

    def __init__(self, n, error):
        self.n = n
        self.error = error
        self.replaced = replaced(kept, "start", self.start)

    def start(self, *args):
        self.n -= 1
        if self.n == 0:
            raise self.error
        self.replaced.old(*args)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.replaced.__exit__(*args)


def test_if_a_member_has_no_thread_the_later_ones_do_not_run_the_one_here_included():
    ends = [Channel(name) for name in "abcd"]
    ran = []

    @process
    def runs(i, cin):
        ran.append(i)

    @process
    def outer():
        members = [runs(i, ends[i].read) for i in range(4)]
        with starting(2, RuntimeError("no thread")):
            assert raises(RuntimeError, Parallel(*members).run) == "no thread"
        return "done"

    assert run(outer()) == "done"
    assert ran == [0]
    assert [ch.poisoned for ch in ends] == [False, True, True, True]
    until(all_have_ended)


def test_what_stands_in_a_nest_that_has_no_thread_poisons_its_ends():
    a, b, c = [Channel(name) for name in "abc"]
    begun = reads(c.read)
    h = Spawn(begun)
    until(lambda: c.queue_len() == 1)
    nest = Parallel(reads(a.read), Sequence(reads(b.read)), begun)
    with starting(1, RuntimeError("no thread")):
        raises(RuntimeError, Parallel(nest).run)
    assert a.poisoned and b.poisoned and not c.poisoned
    c.write(1)
    assert h.join() == 1


def test_a_process_that_was_spawned_without_a_thread_has_failed_at_once():
    a = Channel("a")

    @process
    def spawns():
        with starting(1, RuntimeError("no thread")):
            return raises(RuntimeError, Spawn, reads(a.read))

    assert run(spawns()) == "no thread"  # and nothing is left for `run` to raise
    assert a.poisoned
    until(all_have_ended)


def test_without_a_thread_for_the_watchdog_the_network_runs_and_the_next_one_has_it():
    until(all_have_ended)
    with starting(1, RuntimeError("no thread")):
        assert run(returns(1)) == 1
    assert "later" in raises(DeadlockError, run, reads(Channel("later").read))


def test_what_keeps_the_watchdog_s_thread_from_starting_does_so_for_this_run_alone():
    until(all_have_ended)
    with starting(1, KeyboardInterrupt("amid the start")):
        raises(KeyboardInterrupt, run, returns(1))
    assert "later" in raises(DeadlockError, run, reads(Channel("later").read))


def test_a_spawned_process_whose_thread_has_no_memory_to_begin_is_a_failure_that_run_raises():
    ch = Channel("c")

    @process
    def spawns():
        p = reads(ch.read)
        p._enter = no_memory
        until(Spawn(p).done)

    raises(MemoryError, run, spawns())
    assert ch.poisoned


def test_a_process_whose_thread_has_no_memory_to_begin_ends_once():
    # That tells its end; who has started it may hear of something else.
    p = reads(Channel("c").read)
    p._enter = no_memory
    start = kept.start

    def starts_late(fn, after):
        start(fn, after)
        until(lambda: p._older is None)
        raise RuntimeError("interrupted")

    parallel = Parallel(p, returns(1))
    with replaced(kept, "start", starts_late):
        raises((MemoryError, RuntimeError), parallel.run)
    assert parallel.left == 0


def test_a_thread_that_begins_though_its_start_has_failed_does_nothing():
    told = []
    late = []

    def refuses(fn, after):
        late.append((fn, after))
        raise RuntimeError("interrupted")

    with replaced(uthreading, "excepthook", lambda args: told.append(args.exc_type)):
        with replaced(kept, "start", refuses):
            raises(RuntimeError, run, tells(told))
        kept.start(*late[0])
        until(lambda: kept.counts()[1] == 0)
        kept.start(lambda: None)  # it begins when the other has told its end
        until(lambda: kept.counts()[1] == 0)
    assert told == []


@process
def tells(log):
    log.append("ran")


def test_a_process_whose_ends_can_not_be_poisoned_has_failed_as_it_did():
    told = []
    p = fails()
    p.die = no_memory
    with replaced(uthreading, "excepthook", lambda args: told.append(args.exc_type)):
        raises(Oops, run, p)
    assert told == [MemoryError]
    assert p.retval is None


def test_what_has_ended_keeps_nothing_alive():
    a, b = Channel("a"), Channel("b")

    @process
    def writes(cout, v):
        cout(v)

    @process
    def closes():
        until(lambda: a.queue_len() == 2)
        a.close()
        return sorted([a.read(), a.read()])

    p = reads(b.read)
    inner = Parallel(returns(5), returns(6))
    got = run(writes(a.write, 1), writes(a.write, 2), closes(), p, writes(b.write, 3), inner)
    assert got == [None, None, [1, 2], 3, None, [5, 6]]
    assert inner.retval == [5, 6]
    assert p._older is None and p._newer is None
    assert DEAD.prev is None and DRAINED.prev is None
    until(all_have_ended)
    mine = own()
    with WAIT.lock:
        others = [o for o in WAIT.offers.values() if o is not mine]
    assert others and all(o.runs is None and o.channel is None for o in others)
    assert mine.on is None


def test_an_interrupt_between_two_starts_leaves_the_first_process_to_itself():
    a, b, c, d, e = [Channel(name) for name in "abcde"]
    t, _ = starts(d.write, "given back")
    until(lambda: d.queue_len() == 1)
    guards = [c.read, d.read, e.write.alt_pending_write(1)]
    with starting(2, KeyboardInterrupt()):
        raises(KeyboardInterrupt, Parallel(*guards + [reads(a.read), reads(b.read)]).run)
    t.join()
    assert b.poisoned and not a.poisoned
    assert (c.queue_len(), d.queue_len(), e.queue_len()) == (0, 1, 0)
    assert d.read() == "given back"
    until(lambda: a.queue_len() == 1)
    a.write(1)
    until(all_have_ended)
    is_well()


def test_of_two_threads_that_start_a_parallel_at_the_same_moment_one_is_told():
    a = Channel("a")
    main = get_ident()
    came = [False, False]
    told = []

    class Both(Parallel):
        def _run_members(self):
            came[get_ident() == main] = True
            until(lambda: all(came))  # each has seen that it had not begun
            return Parallel._run_members(self)

    def starts_it():
        try:
            return group.run().retval
        except Exception as er:
            told.append(str(er))

    group = Both(reads(a.read))
    writer, _ = starts(lambda: (until(lambda: told), a.write(1)))
    t, box = starts(starts_it)
    got = starts_it()
    t.join()
    writer.join()
    assert told == ["a process is started once"]
    assert got == [1] or box == [[1]]
    assert not a.poisoned


def interrupts_after(f):
    def called(*args):
        f(*args)
        raise KeyboardInterrupt

    return called


def test_an_interrupt_while_a_run_begins_leaves_nothing():
    quiet = Channel("quiet")

    @process
    def reads_what_is_no_argument():
        return quiet.read()

    for owner, name in ((PROCESS._alive, "add"), (WATCH, "_nest"), (kept, "start")):
        with replaced(owner, name, interrupts_after(getattr(owner, name))):
            raises(KeyboardInterrupt, run, reads_what_is_no_argument())
        until(all_have_ended)
        assert not PROCESS._runs and quiet.queue_len() == 0
        quiet = Channel("quiet")
        assert "dead" in raises(DeadlockError, run, reads(Channel("dead").read))
        is_well()


class Particular(Exception):
    def __init__(self, text, number):
        super().__init__("a particular " + text)
        self.number = number


class MoreParticular(Particular):
    def __init__(self, text):
        super().__init__(text, 7)


class Told:
    """No exception."""


class ParticularAndTold(Particular, Told):
    pass


class Uncopied(Exception):
    args = 1  # a class as no copy can be made of


def test_no_two_threads_raise_the_same_exception_where_the_interpreter_dies_of_that():
    # To raise it adds to its traceback; without a GIL that is memory two threads write to.
    def caught(f, *args):
        try:
            f(*args)
        except Exception as er:
            return er

    @process
    def fails_with(er):
        raise er

    first = Oops("text", 5)
    first.note = "kept"
    handles = []

    @process
    def asks(er):
        h = Spawn(fails_with(er))
        handles.append(h)
        until(h.done)
        return [caught(h.join), caught(h.join), caught(Alternative(upycsp.guards.Ended(h)).select)]

    second = ParticularAndTold("text", 6)
    third = MoreParticular("text")
    for er in (first, Particular("text", 5), second, third, KeyError(3), Uncopied()):
        got = run(asks(er))
        assert got[0] is er
        if not PROCESS._RACES:
            assert got == [er] * 3
            continue
        for i in (1, 2):
            assert got[i] is not got[0] and got[i] is not got[3 - i]
            if isinstance(er, Uncopied):
                assert type(got[i]) is RuntimeError and got[i].args == (er,)
                continue
            assert type(got[i]) is type(er) and got[i].args == er.args
            assert getattr(got[i], "note", None) == getattr(er, "note", None)
            assert getattr(got[i], "number", None) == getattr(er, "number", None)


def test_two_threads_that_run_one_sequence_do_not_poison_its_ends():
    rounds = 300
    for _ in range(rounds):
        ch = Channel("c")
        sequence = Sequence(returns(1, ch.write), returns(2, ch.write))
        begun = [False, False]
        told = []

        def runs(i):
            begun[i] = True
            while not begun[1 - i]:
                pass
            try:
                sequence.run()
            except RuntimeError as er:
                told.append(str(er))

        t, _ = starts(runs, 1)
        runs(0)
        t.join()
        assert told == ["a process is started once"]
        assert sequence.retval == [1, 2] and not ch.poisoned


# What is loaded late


class forgotten:
    """In this block modules have not been loaded yet."""

    def __init__(self, names):
        self.modules = [(name, sys.modules.pop(name, None)) for name in names]

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        for name, module in self.modules:
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
                package, _, last = name.partition(".")
                setattr(sys.modules[package], last, module)


def test_the_first_operation_with_a_limit_is_like_the_later_ones():
    ch = Channel("c")
    read, write = FIRST_LIMITED
    for ms in (0, 1):
        raises(upycsp.TimeoutError, read, ch.read, ms)
        raises(upycsp.TimeoutError, write, ch.write, ms, "never")
    assert ch.queue_len() == 0
    t, box = starts(ch.read)
    until(lambda: ch.queue_len() == 1)
    assert write(ch.write, 1000000, 1) == 0
    t.join()
    t, _ = starts(ch.write, 2)
    assert box == [1] and read(ch.read, 1000000) == 2
    t.join()


def test_all_that_a_process_may_need_is_loaded_before_the_first_thread_is_started():
    until(all_have_ended)
    __import__("upycsp.aio")
    closed = upycsp.Closed
    late = [name for name in EARLY.LATE if name != "upycsp.watch"]  # there is one watchdog alone
    late += ["upycsp.aio_" + name for name in ("counted", "extended", "closing")]
    late.append("upycsp.closing")

    @process
    def lacks():
        return [name for name in late if name not in sys.modules]

    with replaced(kept, "loads_early", True), replaced(PROCESS, "_loaded", False):
        with forgotten(late):
            del upycsp.Closed
            try:
                assert Parallel(lacks()).run().retval == [[]]
            finally:
                upycsp.Closed = closed


def test_all_of_plugnplay_is_loaded_then_if_it_is_used_and_neither_gil_nor_locks_help():
    from cspcore import plugs

    modules = [upycsp.plugnplay, upycsp.aio_plugnplay]

    @process
    def counts():
        return [len([name for name in plugs.lazy() if name in m.__dict__]) for m in modules]

    plain = len([name for name in plugs.lazy() if name in upycsp.plugnplay.__dict__])
    with replaced(PROCESS, "_loaded", False):
        [loaded] = Parallel(counts()).run().retval
    if MICROPYTHON and sys.platform != "esp32":
        assert loaded == [len(plugs.lazy())] * 2
    else:
        assert loaded == [plain, 0]


def test_what_is_being_loaded_may_load_more_and_other_threads_wait_for_it():
    until(all_have_ended)
    loaded = []

    def imports(name, *rest):
        assert uthreading._loading.locked() == MICROPYTHON  # CPython's imports lock
        if name == "first":
            WAIT.load("what that needs")
        loaded.append(name)
        return name

    WAIT.__import__ = imports
    try:
        assert WAIT.load("first") == "first"
        assert WAIT.load("second") == "second"
    finally:
        del WAIT.__import__
    assert loaded == ["what that needs", "first", "second"]
    assert not uthreading._loading.locked()


def test_whatever_threads_load_one_of_them_loads_at_a_time():
    until(all_have_ended)
    loaded = []

    def loads():
        assert uthreading._loading.locked() == MICROPYTHON
        loaded.append(1)

    with replaced(WAIT, "_load_all", loads), replaced(PROCESS, "_loaded", False):
        assert run(returns(1), returns(2)) == [1, 2]
    assert loaded
    loaded.clear()
    if MICROPYTHON:  # CPython's imports have locks of their own
        with replaced(uthreading, "_load_all", loads), replaced(kept, "_unloaded", True):
            gates = [allocate_lock() for _ in range(kept.counts()[0] + 1)]
            for gate in gates:
                gate.acquire()
                kept.start(gate.acquire)
            for gate in gates:
                gate.release()
        until(all_have_ended)
        assert loaded

    loaded.clear()
    skip = upycsp.Skip()
    with replaced(upycsp.alternative, "load", lambda name: loaded.append(WAIT.lock.locked())):
        assert Alternative(skip).select(ready=[True])[0] is skip
    assert loaded == [False]


def test_a_choice_gets_no_attributes_by_being_used():
    # Another thread may look into it to call `schedule`, while its dictionary would grow.
    for kind in (Alternative, upycsp.aio.Alternative):
        alt = kind(upycsp.Skip(), Guard())
        names = list(alt.__dict__)
        for selects in (alt.select, alt.fair_select):
            selected = selects()
            if kind is not Alternative:
                raises(StopIteration, selected.send, None)
        assert list(alt.__dict__) == names


def test_a_channel_gets_no_attributes_by_being_used():
    # Nor may it: see above.
    for kind in Channel, upycsp.BufferedChannel, upycsp.aio.Channel:
        ch = kind("c")
        names = list(ch.__dict__)
        assert ch.read is ch.read and ch.write is ch.write
        assert ch.read.channel() is ch.write.channel() is ch
        assert not ch.poisoned
        raises(AttributeError, lambda: ch.reads)
        assert list(ch.__dict__) == names


def test_of_two_ends_that_threads_make_at_the_same_moment_one_is_the_channel_s():
    for name in "read", "write":
        main = get_ident()
        came = [False, False]
        made = []

        class Both(Channel):
            def _slow(self, kind):
                came[get_ident() == main] = True
                until(lambda: all(came))  # each has seen that there is none
                made.append(kind(self))
                return made[-1]

            def _read_end(self, _):
                return self._slow(upycsp.channel.ReadEnd)

            def _write_end(self, _):
                return self._slow(upycsp.channel.WriteEnd)

        ch = Both("c")
        t, box = starts(lambda: getattr(ch, name))
        end = getattr(ch, name)
        t.join()
        assert box == [end] and end in made and len(made) == 2
        assert getattr(ch, name) is end


def test_a_guard_may_ask_for_ends_when_it_is_enabled():
    # Which it is under the lock.
    ch = Channel("c")

    class Own(Guard):
        def enable(self, alt):
            return ch.read.channel() is ch.write.channel(), "both"

    assert Alternative(Own()).select()[1] == "both"


# Too little memory


def test_write_guards_that_can_not_all_be_posted_are_withdrawn():
    a, b, c = [Channel(name) for name in "abc"]
    t, box = starts(c.read)
    until(lambda: c.queue_len() == 1)
    waits = a.write.alt_pending_write(1)
    guards = [c.write.alt_pending_write("met"), waits, waits, b.write.alt_pending_write(2)]
    with replaced(b, "post", no_memory):
        raises(MemoryError, Parallel(*guards).run)
    t.join()
    assert box == ["met"]  # what had been paired stands
    assert a.queue_len() == b.queue_len() == 0
    assert waits.alt is None
    assert own().on is None
    is_well()

    with replaced(PROCESS, "own", no_memory):
        raises(MemoryError, Parallel(*guards[1:]).run)
    assert a.queue_len() == b.queue_len() == 0
    is_well()


def test_a_parallel_that_can_not_post_its_guards_poisons_the_ends_of_its_processes():
    a, b, c, d = [Channel(name) for name in "abcd"]
    t, _ = starts(c.write, "met")
    until(lambda: c.queue_len() == 1)
    with replaced(b, "post", no_memory):
        raises(MemoryError, Parallel(c.read, reads(d.read), a.read, b.read).run)
    t.join()
    assert (a.queue_len(), b.queue_len(), c.queue_len()) == (0, 0, 0)
    assert d.poisoned and not a.poisoned
    is_well()


def test_a_member_that_another_has_started_is_not_ended_for_want_of_memory():
    a, b = Channel("a"), Channel("b")
    p = reads(a.read)
    h = Spawn(p)
    until(lambda: a.queue_len() == 1)
    group = Parallel(p, reads(b.read))
    with replaced(PROCESS, "own", no_memory):
        raises(MemoryError, group.run)
    assert not a.poisoned
    a.write(3)
    assert h.join() == 3


def test_a_sequence_that_can_not_claim_its_members_poisons_their_ends():
    a, b = Channel("a"), Channel("b")
    members = [reads(a.read), reads(b.read)]
    members[1].claim = no_memory
    raises(MemoryError, run, Sequence(*members))
    assert a.poisoned and b.poisoned


class Never(Guard):
    """Is never ready; counts how many enable it."""

    enabled = 0

    def enable(self, alt):
        self.enabled += 1
        return False, None

    def disable(self, alt):
        self.enabled -= 1


def test_a_select_that_can_not_post_disables_its_guards():
    a, b = Channel("a"), Channel("b")
    mine = Never()
    alt = Alternative(a.read, mine, Timer(ms=100000), b.read)
    with replaced(b, "post", no_memory):
        raises(MemoryError, alt.select)
    assert mine.enabled == 0
    assert alt._alarm.due is None
    assert a.queue_len() == b.queue_len() == 0
    t, _ = starts(b.write, "v")
    assert alt.select() == (b.read, "v")
    assert mine.enabled == 0
    t.join()


def test_a_select_that_is_interrupted_when_it_has_posted_leaves_nothing():
    a, b = Channel("a"), Channel("b")
    alt = Alternative(a.read, b.read)

    def post():
        upycsp.Alternative.post(alt)
        raise KeyboardInterrupt

    alt.post = post
    raises(KeyboardInterrupt, alt.select)
    del alt.post
    assert a.queue_len() == b.queue_len() == 0
    t, _ = starts(b.write, "v")
    assert alt.select() == (b.read, "v")
    t.join()


def test_a_guard_that_can_not_be_noted_as_enabled_is_disabled():
    class Full(list):
        def append(self, guard):
            raise MemoryError

    mine = Never()
    alt = Alternative(Channel("a").read, mine)
    alt._enabled = Full()
    raises(MemoryError, alt.select)
    assert mine.enabled == 0


def test_who_selects_next_does_not_take_what_was_chosen_before():
    a, b = Channel("a"), Channel("b")
    alt = Alternative(a.read, b.read)
    first = []

    class Slow:
        exits = 0

        def __enter__(self):
            WAIT.lock.acquire()

        def __exit__(self, *args):
            WAIT.lock.release()
            if first == [get_ident()]:
                self.exits += 1
                if self.exits == 2:  # its wait is over
                    until(lambda: b.queue_len() == 1)

    def selects_first():
        first.append(get_ident())
        return alt.select()

    def selects_next():
        while True:
            try:
                return alt.select()
            except RuntimeError:  # used by the first
                kept.sleep_ms(1)

    with replaced(sys.modules["upycsp.alternative"], "lock", Slow()):
        t, box = starts(selects_first)
        until(lambda: a.queue_len() == 1)
        u, other = starts(selects_next)
        a.write("first")
        t.join()
        b.write("next")
        u.join()
    assert box == [(a.read, "first")] and other == [(b.read, "next")]


# Guards


def test_what_an_interrupt_brings_while_the_lock_is_busy_is_ready():
    ch = InterruptChannel("i", isr=2)
    for value, read in ((1, lambda: ch.read.within(0)),
                        (2, lambda: Alternative(ch.read, Skip()).select()[1])):
        with WAIT.lock:
            assert ch.from_isr(value)
        assert read() == value


def test_a_write_guard_used_twice_among_others_waits_twice():
    a, b, c = [Channel(name) for name in "abc"]
    g = c.write.alt_pending_write(7)
    guards = [g, a.write.alt_pending_write(1), g, b.write.alt_pending_write(2)]
    t, box = starts(lambda: Parallel(*guards).run().retval)
    until(lambda: b.queue_len() == 1)
    assert (a.queue_len(), c.queue_len()) == (1, 2)
    assert [a.read(), c.read(), b.read(), c.read()] == [1, 7, 2, 7]
    t.join()
    assert box == [[0, 0, 0, 0]]


def test_a_timer_that_was_made_longer_does_not_fire_after_its_former_time():
    a = Channel("a")
    timer = Timer(ms=1)
    alt = Alternative(a.read, timer)
    assert alt.select()[0] is timer
    timer.ms = 1000000
    t, box = starts(alt.select)
    until(lambda: a.queue_len() == 1)
    with WAIT.lock:
        assert clock.ticks_diff(alt._alarm.due, clock.ticks_ms()) > 500000
    a.write("v")
    t.join()
    assert box == [(a.read, "v")]


def test_a_guard_is_told_under_the_lock_that_it_was_chosen():
    # Two threads may ask for one handle, or for a beat, at the same moment.
    ch = Channel("c")
    held = []

    class Ended(upycsp.guards.Ended):
        def _happened(self, value):
            held.append(WAIT.lock.locked())
            return super()._happened(value)

    alt = Alternative(Channel("never").read, Ended(Spawn(reads(ch.read))))
    t, _ = starts(lambda: (until(lambda: alt.waits), ch.write(1)))
    assert alt.select()[1] == 1
    t.join()
    assert alt.select()[1] == 1
    assert held == [True, True]


def test_a_choice_that_has_been_made_keeps_no_value():
    ch = Channel("c")
    h = Spawn(reads(ch.read))
    alt = Alternative(ch.read, upycsp.guards.Ended(h))
    until(lambda: ch.queue_len() == 1)
    ch.write("to the process")
    h.join()
    assert alt.select()[1] == "to the process"
    assert alt._value is None
    for waits_first in (True, False):
        alt = Alternative(ch.read, Timer(ms=1000000))
        t, _ = starts(lambda: (until(lambda: alt.waits or not waits_first), ch.write("v")))
        until(lambda: waits_first or ch.queue_len() == 1)
        assert alt.select() == (ch.read, "v")
        t.join()
        assert alt._value is None and alt._offers[0].value is WAITING


def test_verify_finds_readers_and_writers_that_wait_for_each_other():
    ch = Channel("c")
    t, _ = starts(ch.read)
    until(lambda: ch.queue_len() == 1)
    ch.verify()
    ch._writers = ch._readers
    raises(AssertionError, ch.verify)
    ch._writers = None
    ch.write(1)
    t.join()


# Runs and what was spawned


def test_a_run_inside_a_process_has_its_own_results_and_leaves_failures_to_the_outer_one():
    @process
    def outer():
        h = Spawn(fails())
        until(h.done)
        got.append(run(returns(1)))
        got.append(run(returns(2), returns(3)))

    got = []
    raises(Oops, run, outer())
    assert got == [1, [2, 3]]
    assert run(returns(4)) == 4


@process
def spawns_what_fails():
    h = Spawn(fails())
    until(h.done)


def test_what_fails_in_a_run_inside_a_process_is_raised_by_that_run():
    @process
    def outer():
        raises(Oops, run, spawns_what_fails())
        return run(returns(1))

    assert run(outer()) == 1
    is_well()


def test_what_fails_in_one_run_is_no_affair_of_another_that_goes_on_or_ends_before():
    for first in (True, False):
        gate = allocate_lock()
        gate.acquire()
        got = []

        @process
        def goes_on():
            gate.acquire()
            return 2

        def other():
            if first:
                got.append(raises(Oops, run, spawns_what_fails()))
                gate.release()
            else:
                got.append(run(goes_on()))

        t = uthreading.Thread(target=other, daemon=True)

        @process
        def begins():
            t.start()
            until(lambda: len(PROCESS._runs) == 2 or got)

        if first:
            assert run(begins(), goes_on()) == [None, 2]
        else:
            raises(Oops, run, begins(), spawns_what_fails())
            gate.release()
        t.join()
        assert len(got) == 1 and (first or got == [2])
    is_well()


def test_what_a_member_of_a_sequence_spawns_belongs_to_the_run_around_it():
    @process
    def outer():
        raises(Oops, run, Sequence(Parallel(returns(1)), Sequence(spawns_what_fails())))
        raises(Oops, run, Parallel(returns(1), Parallel(spawns_what_fails(), returns(1))))
        return run(returns(1))

    assert run(outer()) == 1
    is_well()


def test_what_fails_after_its_run_is_raised_by_the_run_around_that():
    gate = allocate_lock()
    gate.acquire()
    got = []

    @process
    def fails_later():
        gate.acquire()
        run(returns(1))
        spawns_what_fails().call()

    @process
    def leaves_it():
        return Spawn(fails_later())

    @process
    def outer():
        h = run(leaves_it())
        gate.release()
        until(h.done)
        got.append(run(returns(2)))

    raises(Oops, run, outer())
    assert got == [2]
    is_well()


def test_runs_that_have_ended_keep_nothing_for_who_was_spawned_there():
    gates = [allocate_lock() for _ in range(3)]
    for gate in gates:
        gate.acquire()

    @process
    def stays(i):
        run(starts_next(i))
        gates[i].acquire()

    @process
    def starts_next(i):
        if i < 2:
            handles.append(Spawn(stays(i + 1)))
            until(lambda: len(handles) == 3)
        return bytearray(10)

    handles = []

    @process
    def outer():
        handles.append(Spawn(stays(0)))
        until(lambda: len(handles) == 3)

    run(outer())
    ends = [h.within for h in handles]
    for gate in gates:
        gate.release()
    until(all_have_ended)
    assert all(group.members == () for group in ends)
    assert all(WATCH.live(group) is WATCH.rest for group in ends)
    assert all(h.within is None for h in handles)
    is_well()


def test_a_failure_that_was_asked_for_keeps_nothing_of_its_run():
    @process
    def outer():
        h = Spawn(fails())
        until(h.done)
        assert WATCH.live(h.within) is not WATCH.rest
        raises(Oops, h.join)
        return h

    assert run(outer()).within is None


def test_what_fails_outside_of_a_run_is_told_to_the_excepthook():
    told = []
    with replaced(uthreading, "excepthook", lambda args: told.append(args.exc_type)):
        h = Spawn(fails())
        until(lambda: told)
    assert told == [Oops]
    raises(Oops, h.join)
    assert run(returns(1)) == 1


def test_what_is_told_to_the_excepthook_may_use_channels():
    ch = upycsp.BufferedChannel("errors", 9)

    def writes(args):
        ch.write(args.exc_type)

    with replaced(uthreading, "excepthook", writes):
        Spawn(fails())
        until(lambda: ch.queue_len() == 1)
    assert ch.read() is Oops


def test_while_an_excepthook_runs_it_may_bring_what_others_wait_for():
    def spawns():  # in a thread that the watchdog does not ask
        until(lambda: ch.queue_len() == 1 and WATCH._all_wait())
        with starting(nth, RuntimeError("no thread")):
            Spawn(fails())
            until(lambda: told)

    def writes(args):
        WATCH._look()
        ch.write(args.exc_type)
        told.append(1)

    for nth in 1000, 2:  # a thread of its own to tell in, or none
        ch = Channel("errors")
        told = []
        with replaced(uthreading, "excepthook", writes):
            start_new_thread(spawns, ())
            assert run(reads_from(ch.read)) is Oops
            until(lambda: told)
    until(all_have_ended)


def test_an_excepthook_that_waits_on_a_channel_hides_no_deadlock():
    ch, other = Channel("errors"), Channel("other")
    with replaced(uthreading, "excepthook", lambda args: ch.write(args.exc_type)):
        Spawn(fails())
        until(lambda: ch.queue_len() == 1)
        raises(upycsp.DeadlockError, lambda: run(reads_from(other.read)))
    assert ch.read() is Oops
    until(all_have_ended)


def test_a_failure_that_a_guard_has_told_is_told_by_nobody_else():
    def chooses(h):
        return upycsp.Alternative(upycsp.guards.Ended(h)).select()

    gate, other = Channel("gate"), Channel("other")
    told = []
    with replaced(uthreading, "excepthook", lambda args: told.append(args.exc_type)):
        h = Spawn(fails_after(gate.read))
        t = uthreading.Thread(target=raises, args=(Oops, chooses, h))
        t.start()
        until(lambda: h._waiting is not None)
        gate.write(1)
        t.join()
        until(all_have_ended)
        # Nor does anybody wait for that.
        raises(upycsp.DeadlockError, lambda: run(reads_from(other.read)))
    assert told == []


@process
def reads_from(cin):
    return cin()


@process
def fails_after(cin):
    cin()
    raise Oops


def test_an_excepthook_that_waits_keeps_no_thread_from_others():
    begun = []

    @process
    def begins():
        begun.append(1)

    thread = uthreading.Thread(target=begun.append, args=(1,))
    for start in (lambda: Spawn(begins()), thread.start):
        ch = Channel("errors", external=True)
        begun.clear()
        with replaced(uthreading, "excepthook", lambda args: ch.write(args.exc_type)):
            Spawn(fails())
            until(lambda: ch.queue_len() == 1)
            start_new_thread(start, ())
            until(lambda: begun)
            assert ch.read() is Oops
    until(all_have_ended)


def test_a_user_s_excepthook_has_a_thread_of_its_own_and_the_module_s_needs_none():
    for hook, n in ((lambda args: None, 2), (uthreading.excepthook, 1)):
        started = []
        told = []
        start = kept.start

        def counted(*args):
            started.append(args)
            start(*args)

        with replaced(PROCESS, "report", lambda *args: told.append(args)):
            with replaced(uthreading, "excepthook", hook), replaced(kept, "start", counted):
                Spawn(fails())
                until(lambda: told)
        assert len(started) == n
    until(all_have_ended)


def test_an_excepthook_is_told_also_if_there_is_no_other_thread():
    told = []
    with replaced(uthreading, "excepthook", lambda args: told.append(args.exc_type)):
        with starting(2, RuntimeError("no thread")):
            Spawn(fails())
            until(lambda: told)
    assert told == [Oops]
    until(all_have_ended)


def test_a_run_does_not_raise_what_failed_outside_of_it():
    told = []
    a, b, c = Channel("a"), Channel("b"), Channel("c")

    @process
    def fails_later(cin):
        cin()
        raise Oops

    @process
    def goes_on(ch):
        ch.write(1)
        until(lambda: told)
        return b.read()

    @process
    def spawns():
        return Spawn(fails_later(c.read))

    with replaced(uthreading, "excepthook", lambda args: told.append(args.exc_type)):
        outside = Spawn(fails_later(a.read))
        of_a_run_that_is_over = run(spawns())
        for ch in (a, c):
            t, box = starts(lambda: run(goes_on(ch)))
            until(lambda: told)
            b.write("went on")
            t.join()
            assert box == ["went on"] and told.pop() is Oops and not told
    for h in (outside, of_a_run_that_is_over):
        raises(Oops, h.join)


def test_a_handle_forgets_who_waited_for_it():
    a = Channel("a")
    h = Spawn(reads(a.read))
    waiting = [starts(h.join) for _ in range(2)]
    until(lambda: h._waiting is not None and h._waiting.next is not None)
    a.write(1)
    for t, box in waiting:
        t.join()
        assert box == [1]
    assert h._waiting is None

    h = Spawn(reads(a.read))
    t, _ = starts(lambda: (until(lambda: h._waiting is not None), a.write(2)))
    assert h.join() == 2
    t.join()
    assert own().on is None


def test_a_failure_that_somebody_waits_for_is_told_once():
    a = Channel("a")

    @process
    def fails_later(cin):
        cin()
        raise Oops

    @process
    def joins():
        h = Spawn(fails_later(a.read))
        t, _ = starts(lambda: (until(lambda: h._waiting is not None), a.write(1)))
        raises(Oops, h.join)
        t.join()
        return "done"

    assert run(joins()) == "done"


def test_a_failure_outside_of_a_run_that_a_choice_has_met_is_told_once():
    @process
    def fails_later(cin):
        cin()
        raise Oops

    told = []
    with replaced(uthreading, "excepthook", told.append):
        for meets in (lambda h: h.join(), lambda h: Alternative(upycsp.guards.Ended(h)).select()):
            a = Channel("a")
            h = Spawn(fails_later(a.read))
            t, _ = starts(lambda: (until(lambda: h._waiting is not None), a.write(1)))
            raises(Oops, meets, h)
            t.join()
            until(h.done)
    assert told == []


def test_want_of_memory_in_a_function_reaches_all_whose_calls_it_answers():
    @process
    def serves(serve):
        while True:
            serve(takes_too_much)

    def takes_too_much():
        raise MemoryError

    @process
    def calls(ch, ended, n):
        met = 0
        for _ in range(n):
            try:
                ch.call()
            except MemoryError:
                met += 1
        with count:
            ended.append(met)
        if len(ended) == 4:
            ch.poison()

    count = allocate_lock()
    for _ in range(5):
        ch = upycsp.meeting.CallChannel("c")
        ended = []
        run(*([calls(ch, ended, 100) for _ in range(4)] + [serves(ch.serve) for _ in range(2)]))
        assert ended == [100] * 4


def test_what_an_external_channel_of_a_parallel_may_wake_is_in_no_deadlock():
    # Its last member runs on the same thread, and waits elsewhere.
    def opens():
        until(lambda: gate.queue_len() == inner.queue_len() == 1)
        with WAIT.lock:
            seen.append(WATCH._all_wait())
        inner.write("inner")
        gate.write("gate")

    @process
    def waits(member):
        return Parallel(gate.read, member).run().retval

    gate, inner = Channel("gate", external=True), Channel("inner")
    seen = []
    for member in (reads(inner.read), Sequence(reads(inner.read))):
        start_new_thread(opens, ())
        assert run(waits(member)) == ["gate", member.retval]
    assert seen == [False, False]


def test_a_deadlock_is_told_of_who_runs_a_parallel_that_was_to_be_spawned_too():
    ch = Channel("c")

    @process
    def spawns(box):
        raises(RuntimeError, Spawn, box[0])

    @process
    def outer(cin):
        box = []
        box.append(Parallel(spawns(box), reads(cin)))
        box[0].run()

    assert "reads reads c" in raises(DeadlockError, run, outer(ch.read))


def test_a_deadlock_is_told_where_poison_wakes_nobody_before_who_is_held_goes_on():
    never, ch = Channel("never"), Channel("c")
    extended = ch.read.extended()

    @process
    def holds():
        extended.__enter__()

    @process
    def outer():
        Parallel(never.write.alt_pending_write(2), ch.write.alt_pending_write(1), holds()).run()

    told = raises(DeadlockError, run, outer())
    assert told == "1 process waits: outer writes never or is held by a reader of c"
    assert never.poisoned and not ch.poisoned


def test_a_deadlock_is_found_after_the_watchdog_s_thread_has_ended():
    for name in ("first", "second"):
        assert run(returns(1)) == 1
        until(all_have_ended)
        assert name in raises(DeadlockError, run, reads(Channel(name).read))


# Deadlocks


@process
def selects(*guards):
    return Alternative(*guards).select()


@process
def posts(*guards):
    return Parallel(*guards).run().retval


def test_offers_are_counted_unless_others_may_meet_them():
    outside = Channel("outside", external=True)
    a, b, c, d, e = [Channel(name) for name in "abcde"]
    expected = [
        (reads(a.read), 1),
        (reads(outside.read), None),
        (posts(b.read, c.write.alt_pending_write(1)), 2),
        (posts(b.read, outside.read), None),
        (selects(d.read, e.read), 2),
        (selects(d.read, outside.read), None),
        (selects(d.read, Timer(ms=1000000)), None),
        (returns(1), None),
    ]
    handles = [Spawn(p) for p, _ in expected]
    until(lambda: outside.queue_len() == 3 and d.queue_len() == 3 and c.queue_len() == 1)
    until(lambda: e.queue_len() == 1 and b.queue_len() == 2 and a.queue_len() == 1)
    with WAIT.lock:
        counts = [WATCH._count_offers(p._me) for p, _ in expected]
    assert counts == [n for _, n in expected]
    assert WATCH._count_offers(None) is None
    for ch in (a, b, c, d, e, outside):
        ch.poison()
    for h in handles:
        h.join()
    until(all_have_ended)


def test_what_waits_and_belongs_to_no_run_ends_with_the_outermost_run():
    a = Channel("a")
    h = Spawn(reads(a.read))
    until(lambda: a.queue_len() == 1)
    assert "reads a" in raises(DeadlockError, run, reads(Channel("b").read))
    assert a.poisoned
    assert h.join() is None


def test_a_failure_in_what_belongs_to_no_run_hides_no_later_deadlock():
    a = Channel("a")
    h = Spawn(process(lambda: Parallel(reads(a.read), fails()).run())())
    t, box = starts(raises, Oops, h.join)

    def waits():
        me = h._process._me
        return h._waiting is not None and me is not None and isinstance(me.on, Parallel)

    until(waits)
    # What waits here for a failure is to end first.
    assert run(reads(Channel("b").read)) is None
    t.join()
    assert box == ["fails"] and a.poisoned
    assert "reads c" in raises(DeadlockError, run, reads(Channel("c").read))


def test_a_deadlock_without_memory_to_tell_of_it_still_ends_all_that_wait():
    a, b, c, d, e, met = [Channel(name) for name in "abcdem"]

    @process
    def meets(cin):
        until(lambda: met.queue_len() == 1)
        met.write(1)
        return cin()

    network = [
        reads(a.read),
        selects(b.read, c.write.alt_pending_write(1)),
        process(lambda: Parallel(met.read, d.read).run(), propagate=False)(),
        meets(e.read),
    ]
    with replaced(WATCH, "_offers_of", no_memory):
        assert "memory" in raises(DeadlockError, run, *network)
    assert a.poisoned and d.poisoned and e.poisoned and (b.poisoned or c.poisoned)
    assert not met.poisoned
    assert PROCESS._alive.is_empty()


def test_a_parallel_that_was_refused_as_a_member_and_ran_by_itself_is_reported():
    a, b = Channel("a"), Channel("b")

    @process
    def runs_it():
        parallel = Parallel(reads(a.read), reads(b.read))
        raises(TypeError, Parallel, parallel, 5)
        parallel.run()

    text = raises(DeadlockError, run, runs_it())
    assert "reads a" in text and "reads b" in text


def test_the_watchdog_takes_no_memory_but_for_its_report():
    a, b, c, d, inner = [Channel(name) for name in "abcd"] + [Channel("inner")]
    shorts = []
    plain = WATCH._find_deadlock

    def finds():
        chain = None
        short = False
        if MICROPYTHON:
            micropython.heap_lock()  # this thread's
        try:
            chain = plain()
        except MemoryError:
            short = True
        if MICROPYTHON:
            micropython.heap_unlock()
        if short:
            shorts.append(1)
            chain = plain()
        return chain

    @process
    def nests():
        told = raises(DeadlockError, run, returns(1), Sequence(waits_within()))
        assert not MICROPYTHON or "memory" in told
        return 2

    @process
    def waits_within():
        Parallel(reads(inner.read), selects(inner.read, Channel("i").read)).run()

    network = [
        reads(a.read),
        selects(b.read, c.write.alt_pending_write(1)),
        process(lambda: Parallel(returns(3), reads(d.read)).run(), propagate=False)(),
        nests(),
    ]
    with replaced(WATCH, "_find_deadlock", finds):
        told = raises(DeadlockError, run, *network)
    assert not MICROPYTHON or "memory" in told
    assert inner.poisoned and a.poisoned and d.poisoned and not shorts


def test_a_watchdog_without_memory_looks_again_later():
    a = Channel("a")

    @process
    def looks():
        with replaced(WATCH, "_find_deadlock", no_memory):
            WATCH._look()
        return a.read()

    assert "looks" in raises(DeadlockError, run, looks())


def waits_in_run(ident):
    with WAIT.lock:
        me = WAIT.offers.get(ident)
        return me is not None and me.on in PROCESS._runs


def test_a_run_that_has_not_started_its_processes_is_no_deadlock():
    ch = Channel("c")
    found = []
    plain = WATCH._start_watch

    def looks():
        until(lambda: ch.queue_len() == 1)
        with WAIT.lock:
            found.append((PROCESS._alive.is_empty(), WATCH._find_deadlock()))
        plain()

    def runs():  # on a thread that uthreading does not know
        try:
            found.append(run(returns(1)))
        finally:
            ch.write("ended")

    with replaced(WATCH, "_start_watch", looks):
        start_new_thread(runs, ())
        assert ch.read() == "ended"
    assert found == [(True, None), 1]


def test_a_main_thread_that_runs_may_end_the_wait_of_others():
    ch = Channel("c")
    got = []
    t = uthreading.Thread(target=lambda: got.append(run(reads(ch.read))))
    t.start()
    until(lambda: ch.queue_len() == 1 and waits_in_run(t.ident))
    with WAIT.lock:
        assert WATCH._find_deadlock() is None
    ch.write(1)
    t.join()
    assert got == [1]


def test_the_watchdog_sleeps_between_two_looks():
    looks = []
    start = clock.ticks_ms()
    with replaced(WATCH, "_find_deadlock", lambda: looks.append(None)):
        run(selects(Timer(ms=700)))
    passed = clock.ticks_diff(clock.ticks_ms(), start)
    assert len(looks) <= passed // 500 + 1


# Interrupts


def test_after_an_interrupt_a_thread_waits_on_nothing():
    a, b = Channel("a"), Channel("b")
    alt = Alternative(a.read, b.read)
    guards = Parallel(a.read, b.write.alt_pending_write(1))
    h = Spawn(reads(Channel("c").read))
    for wait in (alt.select, guards.run, h.join):
        me = own()
        with interrupted():
            wait()
        assert own().on is None and me.on is None
    h._process._args[0].poison()
    assert h.join() is None

    g = a.write.alt_pending_write("pending")
    with interrupted():
        Parallel(g, g).run()
    assert a.queue_len() == 0
    assert g.alt is None and g.value is WAITING
    is_well()


def test_all_values_that_a_parallel_gives_back_go_to_readers_that_wait():
    channels = [Channel(name) for name in "abc"]
    others = []

    def meanwhile():
        for i in range(3):
            elsewhere(channels[i].write, i)
            others.append(starts(channels[i].read))
            until(lambda: channels[i].queue_len() == 1)

    with interrupted(meanwhile):
        Parallel(*[ch.read for ch in channels]).run()
    for i in range(3):
        others[i][0].join()
        assert others[i][1] == [i]
    is_well()


def test_an_end_forgets_the_offer_that_was_interrupted_after_it_was_chosen():
    ch = Channel("c")
    with interrupted(lambda: elsewhere(ch.write, 1)):
        ch.read()
    assert ch.read() == 1
    for v in (2, 3):
        t, _ = starts(lambda: (until(lambda: ch.queue_len() == 1), ch.write(v)))
        assert ch.read() == v
        t.join()

    with interrupted(lambda: elsewhere(ch.read)):
        ch.write(4)
    for v in (5, 6):
        t, box = starts(lambda: (until(lambda: ch.queue_len() == 1), ch.read())[1])
        ch.write(v)
        t.join()
        assert box == [v]


def test_a_process_that_caught_an_interrupt_is_part_of_a_deadlock():
    a, b = Channel("a"), Channel("b")

    @process
    def catches(cin, other):
        with interrupted(lambda: elsewhere(a.write, 1)):
            cin()
        return other()

    assert "catches" in raises(DeadlockError, run, catches(a.read, b.read))
    assert a.poisoned and b.poisoned


def test_an_interrupted_run_ends_all_that_waits_and_nothing_else():
    a, b, c, d, e, met = [Channel(name) for name in "abcdem"]

    @process(propagate=False)
    def posts():
        Parallel(reads(c.read), met.read, d.read).run()

    def meanwhile():
        until(lambda: met.queue_len() == 1)
        elsewhere(met.write, 1)
        until(lambda: all(ch.queue_len() == 1 for ch in (a, b, c, d, e)))

    network = [selects(a.read, b.write.alt_pending_write(1)), posts(), reads(e.read)]
    with interrupted(meanwhile):
        run(*network)
    until(lambda: PROCESS._alive.is_empty())
    for ch in (a, b, c, d, e):
        assert ch.queue_len() == 0
    assert c.poisoned and d.poisoned and e.poisoned
    assert not met.poisoned
    is_well()
    assert run(returns(1)) == 1


def test_an_interrupted_run_ends_choices_that_no_channel_is_in():
    ch = Channel("c", external=True)
    never = Never()
    hour = Timer(ms=3600000)
    timed = Alternative(hour)
    owned = Alternative(never, hour)
    masked = Alternative(ch.read, never, hour)
    ended, lock = [], allocate_lock()

    @process
    def waits(alt, ready):
        while True:
            try:
                alt.select(ready=ready)
            finally:
                with lock:
                    ended.append(alt)

    def meanwhile():
        until(lambda: timed.waits and owned.waits and masked.waits)

    with interrupted(meanwhile):
        run(waits(timed, None), waits(owned, None), waits(masked, [False, True, True]))
    until(all_have_ended)
    assert len(ended) == 3 and all(alt in ended for alt in (timed, owned, masked))
    assert never.enabled == 0 and ch.queue_len() == 0 and not ch.poisoned
    for alt in (timed, owned, masked):
        assert alt._alarm.due is None and len(alt.guards) == len(alt._offers)
    t, _ = starts(ch.write, 1)
    assert masked.select() == (ch.read, 1)
    t.join()
    is_well()


def test_an_interrupted_run_ends_choices_later_for_which_there_is_no_memory():
    poison = sys.modules["upycsp.alternative"]._Poison
    ch = Channel("c")
    alt = Alternative(Timer(ms=3600000))
    failing = [1, 2, 3]

    class Enabled(list):
        def append(self, x):
            if x is poison and failing:
                failing.pop()
                raise MemoryError
            super().append(x)

    alt._enabled = Enabled()
    with interrupted(lambda: until(lambda: alt.waits and ch.queue_len() == 1)):
        run(reads(ch.read), process(alt.select)())
    until(all_have_ended)
    assert ch.poisoned and not failing and not alt.waits
    is_well()


class stubborn:
    """A run with a process that poison does not end, interrupted; `slept`: its sleeps then, in ms.

    The process ends at the n-th sleep.
    """

    def __init__(self, n):
        self.n = n
        self.slept = []
        gate = allocate_lock()
        gate.acquire()
        begun = []

        @process
        def waits():
            begun.append(1)
            gate.acquire()

        def sleep_ms(ms):
            if get_ident() != kept.main_ident or not begun:
                return old(ms)
            self.slept.append(ms)
            if len(self.slept) == n:
                gate.release()
                while not PROCESS._alive.is_empty():
                    old(1)

        old = kept.sleep_ms

        def meanwhile():
            until(lambda: begun)
            kept.sleep_ms = sleep_ms

        try:
            with interrupted(meanwhile):
                run(waits())
        finally:
            kept.sleep_ms = old
            if len(self.slept) < n:
                gate.release()
        until(all_have_ended)


def test_an_interrupted_run_waits_for_its_processes_but_half_a_second_at_most():
    assert stubborn(3).slept == [10, 10, 10]
    assert sum(stubborn(1000).slept) == 500
    is_well()


class Late(Exception):
    pass


def test_what_a_signals_handler_raises_ends_the_processes_of_a_run():
    for error in (Late, SystemExit):
        ch = Channel("c")
        with interrupted(lambda: until(lambda: ch.queue_len() == 1), error):
            run(reads(ch.read))
        until(PROCESS._alive.is_empty)
        assert ch.poisoned


def test_an_interrupt_that_another_thread_got_in_an_earlier_run_is_forgotten():
    assert get_ident() == kept.main_ident
    kept.interrupted = True
    run(returns(1))
    assert not kept.interrupted


def test_an_interrupt_while_a_run_ends_leaves_nothing_of_it():
    usual = WATCH._failed_within
    came = []

    def failed_within(group):
        if not came:
            came.append(group)
            raise KeyboardInterrupt
        return usual(group)

    with replaced(WATCH, "_failed_within", failed_within):
        raises(KeyboardInterrupt, run, returns(1))
    assert came and came[0].within is not came[0]
    assert came[0] not in WATCH._runs and run(returns(2)) == 2


def test_an_interrupt_that_the_watchdogs_thread_gets_is_noted_and_it_goes_on():
    came = []
    asks = get_ident()
    old = kept.sleep_ms

    def sleep_ms(ms):
        if ms > 100 and not came and get_ident() != asks:
            came.append(ms)
            raise KeyboardInterrupt
        old(ms)

    ch = Channel("c")
    with replaced(kept, "sleep_ms", sleep_ms):
        t, result = starts(run, reads(ch.read))
        end = clock.ticks_ms() + 30000
        while not kept.interrupted and clock.ticks_diff(end, clock.ticks_ms()) > 0:
            old(1)  # not by uthreading: that would raise it
        noted, kept.interrupted = kept.interrupted, False
        ch.write("a value")
        t.join()
    assert noted and len(came) == 1 and result == ["a value"]


def test_an_interrupt_poisons_what_processes_that_compute_were_given():
    given, named, own_affair = Channel("given"), Channel("named"), Channel("its own affair")
    gate = uthreading.Event()

    def computes(cin=None, cout=None):
        gate.wait()

    spawned = [
        Spawn(process(computes)(given.read)),
        Spawn(process(computes)(cout=named.write)),
        Spawn(process(computes, propagate=False)(own_affair.read)),
    ]
    WATCH._forsake_all(KeyboardInterrupt())
    poisoned = [ch.poisoned for ch in (given, named, own_affair)]
    gate.set()
    for spawn in spawned:
        spawn.join()
    assert poisoned == [True, True, False]


def test_an_interrupt_before_the_wait_itself_leaves_no_offer():
    # As it is when the interrupt comes between the statement that queues and the one that waits.
    ch = Channel("c")
    with WAIT.lock:
        me = WAIT.own()
        me.channel = ch
        me.op = 0
        ch.post(me)
    assert ch.queue_len() == 1
    WATCH._abandon(KeyboardInterrupt())
    assert ch.queue_len() == 0
    assert own() is not me
    is_well()

    alt = Alternative(ch.read, Timer(ms=1000000))
    with WAIT.lock:
        assert alt.poll(False) == -1
        me = alt._begin()
    WATCH._abandon(KeyboardInterrupt())
    assert ch.queue_len() == 0 and alt._alarm.due is None
    assert own() is not me and me.on is None
    is_well()
    t, _ = starts(ch.write, 1)
    assert alt.select() == (ch.read, 1)
    t.join()

    extended = ch.read.extended()
    with WAIT.lock:
        assert not extended.begin()
        extended._me = me = WAIT.own()
        me.on = extended
    WATCH._abandon(KeyboardInterrupt())
    assert ch.queue_len() == 0
    assert own() is not me and me.on is None
    is_well()

    group = Parallel(reads(ch.read))
    with WAIT.lock:
        me = WAIT.own()
        group._begin(me)
        me.on = group
    WATCH._abandon(KeyboardInterrupt())
    assert group.left < 0
    assert own() is not me and me.on is None
    is_well()


# Bolts


def test_the_main_thread_of_a_board_sleeps_in_slices_and_looks_twice_a_second():
    slept = []
    looks = []
    bolt = allocate_lock()
    bolt.acquire()

    def look():
        looks.append(sum(slept))
        if len(looks) == 3:
            bolt.release()

    with replaced(kept, "sleep_ms", slept.append), replaced(WAIT, "look", look):
        WAIT._PolledBolt(bolt).acquire()
    assert looks == [500, 1000, 1500]
    assert max(slept) <= 5

    del slept[:]

    def sleeps(ms):
        slept.append(ms)
        if len(slept) == 250:
            bolt.release()

    with replaced(kept, "sleep_ms", sleeps), replaced(WAIT, "look", None):
        WAIT._PolledBolt(bolt).acquire()
    assert len(slept) == 250


def test_the_main_thread_of_cpython_looks_for_interrupts_and_others_do_not():
    class Bolt:
        limits = []

        def acquire(self, blocking, limit):
            self.limits.append(limit)
            return len(self.limits) == 3

    WAIT._TimedBolt(Bolt()).acquire()
    assert len(Bolt.limits) == 3
    assert all(0 < limit <= 0.5 for limit in Bolt.limits)

    made = []

    class Made:
        def __init__(self, bolt):
            made.append(self)

        def acquire(self):
            pass

    old = kept.polls()
    try:
        for polled in (False, True):
            kept.poll_in_main(polled)
            with replaced(WAIT, "_PolledBolt" if polled else "_TimedBolt", Made):
                WAIT.Offer(kept.main_ident)
                assert len(made) == (1 if polled or not MICROPYTHON else 0)
                WAIT.Offer(-1)
            assert len(made) == (1 if polled or not MICROPYTHON else 0)
            del made[:]
    finally:
        kept.poll_in_main(old)


def test_a_failure_comes_before_what_it_makes_fail():
    @process
    def fails(cout):
        raise Oops("the cause")

    @process
    def follows(cin):
        try:
            cin()
        finally:
            raise ValueError("what came of it")

    die = PROCESS.Process.die

    def slow(self, exception):
        left = die(self, exception)
        if self.name == "fails":
            until(lambda: group.left == 1)  # all but this have ended
        return left

    for nest in (lambda p: p, Sequence, Parallel, lambda p: Parallel(Sequence(Parallel(p)))):
        a = Channel("a")
        group = Parallel(nest(fails(a.write)), follows(a.read))
        with replaced(PROCESS.Process, "die", slow):
            raises(Oops, group.run)


def test_that_there_is_no_thread_comes_before_what_that_makes_fail():
    a = Channel("a")

    @process
    def follows(cin):
        try:
            cin()
        finally:
            raise ValueError("what came of it")

    @process
    def never_starts(cout):
        pass

    group = Parallel(follows(a.read), never_starts(a.write))
    die = PROCESS.Process.die

    def slow(self, exception):
        left = die(self, exception)
        if self.name == "never_starts":
            until(lambda: group.left == 2)  # it, and who starts the others
        return left

    with replaced(PROCESS.Process, "die", slow), starting(2, RuntimeError("no thread")):
        assert raises(RuntimeError, group.run) == "no thread"


def test_a_write_that_is_refused_leaves_nothing_in_its_threads_offer():
    from upycsp.meeting import AltingBarrier

    first, _ = AltingBarrier.create(2)
    ch = Channel("c")

    @process
    def waits():
        raises(upycsp.PoisonException, first.sync)

    @process
    def is_refused(cin):
        until(lambda: first.waiting() == 1)
        raises(RuntimeError, first.sync)
        return cin()

    @process
    def looks(cout):
        until(lambda: ch.queue_len() == 1)
        ch.verify()
        cout(1)
        first.poison()

    assert run(waits(), is_refused(ch.read), looks(ch.write)) == [None, 1, None]


if MICROPYTHON:

    def test_without_memory_for_the_watchdog_a_run_goes_on_without_it():
        def start(job):
            raise error

        for error in (MemoryError(), RuntimeError("no thread")):
            with replaced(kept, "start", start), replaced(WATCH, "_watches", False):
                micropython.heap_lock()
                try:
                    WATCH._start_watch()
                finally:
                    micropython.heap_unlock()
                assert WATCH._watches is False
