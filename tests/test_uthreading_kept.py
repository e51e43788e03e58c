"""Kept threads: reused, clean after each job, and nothing left behind when there is none."""

import _thread
import sys
from _thread import allocate_lock, get_ident

import uthreading
from uthreading import kept

from uthreading_support import MICROPYTHON, count_starts, run_and_wait, until


def all_idle():
    return kept.counts()[1] == 0


class Held:
    """Starts n jobs that wait until they are let go."""

    def __init__(self, n):
        self.lock = allocate_lock()
        self.gates = []
        self.running = 0
        self.started = 0
        self.more(n)

    def more(self, n):
        for _ in range(n):
            gate = allocate_lock()
            gate.acquire()
            kept.start(lambda gate=gate: self.job(gate))
            self.gates.append(gate)
            self.started += 1

    def job(self, gate):
        with self.lock:
            self.running += 1
        gate.acquire()

    def let_go(self):
        until(lambda: self.running == self.started)
        for gate in self.gates:
            gate.release()
        until(all_idle)


class Hook:
    """Collects what is reported while it is in force."""

    def __enter__(self):
        self.lock = allocate_lock()
        self.args = []
        self.old = uthreading.excepthook
        uthreading.excepthook = self.take
        return self

    def take(self, args):
        with self.lock:
            self.args.append(args)

    def __exit__(self, *args):
        uthreading.excepthook = self.old


def test_a_job_runs_in_another_thread():
    seen = []
    run_and_wait(lambda: seen.append(get_ident()))
    assert len(seen) == 1 and seen[0] != get_ident()


def test_5000_short_jobs_need_one_thread():
    run_and_wait(lambda: None)
    total = [0]

    def job():
        total[0] += 1

    def rounds():
        for _ in range(5000):
            run_and_wait(job)

    assert count_starts(rounds) == 0
    assert total == [5000]


def test_5000_pairs_of_jobs_need_a_handful_of_threads():
    lock = allocate_lock()
    total = [0]

    def job():
        with lock:
            total[0] += 1

    def rounds():
        done = allocate_lock()
        done.acquire()
        for _ in range(2500):
            kept.start(job, done.release)
            run_and_wait(job)
            done.acquire()

    assert count_starts(rounds) <= 2
    assert total == [5000]


def test_after_comes_when_the_thread_is_idle_again():
    run_and_wait(lambda: None)
    before = kept.counts()
    seen = []
    done = allocate_lock()
    done.acquire()

    def after():
        seen.append(kept.counts())
        done.release()

    kept.start(lambda: seen.append(kept.counts()), after)
    done.acquire()
    assert seen == [(before[0] - 1, before[1] + 1), before]


def test_a_job_may_be_started_while_after_still_runs():
    order = []
    done = allocate_lock()
    done.acquire()

    def second():
        order.append("second")
        done.release()

    def after():
        kept.start(second)  # goes to this very thread: it fell idle last
        order.append("after")

    kept.start(lambda: order.append("first"), after)
    done.acquire()
    assert order == ["first", "after", "second"]
    until(all_idle)


def test_the_thread_that_fell_idle_last_is_used_first():
    held = Held(3)
    held.let_go()
    idents = []

    def job():
        idents.append(get_ident())

    for _ in range(20):
        run_and_wait(job)
    assert len(set(idents)) == 1


def test_counts_follow_the_jobs():
    until(all_idle)
    idle, _ = kept.counts()
    held = Held(idle + 2)
    assert kept.counts() == (0, idle + 2)
    held.let_go()
    assert kept.counts() == (idle + 2, 0)


def with_failing_start(k, error, f):
    """Runs f() while the k-th start of a new thread fails; returns the RuntimeError's text."""
    calls = [0]

    def start_new_thread(function, args):
        calls[0] += 1
        if calls[0] == k:
            raise error("no thread")
        return old(function, args)

    old = kept.set_starter(start_new_thread)
    try:
        f()
    except RuntimeError as e:
        return str(e)
    finally:
        kept.set_starter(old)
    assert False, "the failure went unnoticed"


def test_whichever_thread_cannot_be_started_nothing_is_left_behind():
    for error in (OSError, MemoryError, RuntimeError):
        for k in range(1, 6):
            until(all_idle)
            idle, _ = kept.counts()
            held = Held(0)
            text = with_failing_start(k, error, lambda: held.more(idle + 5))
            assert held.started == idle + k - 1
            assert kept.counts() == (0, idle + k - 1)
            assert (
                "can't start a new thread: {} run, stack size default;".format(idle + k - 1)
                in text
            )
            held.let_go()
            assert held.running == held.started  # the job that was refused never ran
            assert kept.counts() == (idle + k - 1, 0)


def test_the_error_names_the_stack_size():
    until(all_idle)
    held = Held(kept.counts()[0])
    old = uthreading.stack_size(65536)
    try:
        text = with_failing_start(1, OSError, lambda: kept.start(until))
    finally:
        uthreading.stack_size(old)
    held.let_go()
    assert "stack size 65536 bytes; use fewer, or a smaller uthreading.stack_size()" in text


def test_after_a_failure_threads_start_again():
    held = Held(kept.counts()[0])
    with_failing_start(1, OSError, lambda: kept.start(until))
    seen = []
    run_and_wait(lambda: seen.append(1))
    held.let_go()
    assert seen == [1]


# What loads modules on an ESP32


class Aside:
    """In a kept job calls f(*args) aside; notes what came of it and how threads were started."""

    def __init__(self, f, *args, error=None):
        self.error = error
        self.sizes = []  # of the stacks of threads that were asked for meanwhile
        self.args = args
        self.f = f
        self.here = self.there = self.value = self.raised = None
        self.loader = uthreading._loader
        run_and_wait(lambda: None)  # it goes to that thread
        self.old = kept.set_starter(self.starts)
        try:
            run_and_wait(self.job)
        finally:
            kept.set_starter(self.old)
            uthreading._loader = self.loader

    def starts(self, function, args):
        self.sizes.append(self.stack_size())
        if self.error:
            raise self.error("no thread")
        return self.old(function, args)

    def job(self):
        self.here = get_ident()
        before = self.stack_size()
        try:
            self.value = kept.aside(self.loads, self.args)
        except Exception as er:
            self.raised = er
        assert self.stack_size() == before

    @staticmethod
    def stack_size():
        size = _thread.stack_size()  # MicroPython sets it to 0, too
        _thread.stack_size(size)
        return size

    def loads(self, *args):
        self.there = get_ident()
        assert self.there == self.here or uthreading._loader == self.there
        kept.sleep_ms(20)  # who does not wait for it is gone by then
        return self.f(*args)


def test_a_module_is_loaded_on_a_thread_with_stack_enough():
    it = Aside(lambda *args: args, "no.such", "module")
    assert it.value == ("no.such", "module") and it.raised is None
    assert it.there != it.here
    assert len(it.sizes) == 1 and it.sizes[0] >= (65536 if sys.maxsize >> 31 else 16384)


def test_what_loading_aside_raises_its_caller_gets():
    def fails(name):
        raise ImportError(name)

    it = Aside(fails, "no.such")
    assert type(it.raised) is ImportError and it.raised.args == ("no.such",)
    assert it.there != it.here


def test_where_no_thread_can_be_had_a_module_is_loaded_here():
    for error in (OSError, MemoryError, RuntimeError):
        it = Aside(lambda *args: args, "no.such", error=error)
        assert it.value == ("no.such",) and it.there == it.here and len(it.sizes) == 1


def test_what_is_loaded_already_and_what_names_no_module_needs_no_thread():
    for args in ((), ("uthreading.kept",), ("uthreading.kept", "no.such")):
        it = Aside(lambda *args: args, *args)
        assert it.value == args and it.there == it.here and it.sizes == []
    assert Aside(lambda *args: args, "no.such", "uthreading.kept").there != it.here


def test_the_main_thread_has_stack_enough_to_load():
    idents = []
    assert kept.aside(lambda name: idents.append(get_ident()) or name, ("no.such",)) == "no.such"
    assert idents == [get_ident()]


def test_an_exception_in_a_job_is_reported_and_the_thread_kept():
    def job():
        raise ValueError("from a job")

    run_and_wait(lambda: None)
    before = kept.counts()
    with Hook() as hook:
        run_and_wait(job)
        assert kept.counts() == before
        run_and_wait(job)
    assert [type(a.exc_value) for a in hook.args] == [ValueError, ValueError]
    assert hook.args[0].exc_type is ValueError and hook.args[0].thread is None
    assert kept.counts() == before


def test_an_exception_in_after_is_reported_and_the_thread_kept():
    def after():
        raise ValueError("from after")

    before = kept.counts()
    with Hook() as hook:
        kept.start(lambda: None, after)
        until(lambda: len(hook.args) == 1)
    run_and_wait(lambda: None)
    assert kept.counts() == before


def test_exit_in_a_job_is_silent():
    with Hook() as hook:
        run_and_wait(lambda: sys.exit())
    assert hook.args == []


def test_a_job_leaves_no_local_data_behind():
    mine = uthreading.local()
    idents = []
    found = []

    def job():
        idents.append(get_ident())
        found.append(getattr(mine, "x", "nothing"))
        mine.x = 1
        found.append(mine.x)

    run_and_wait(job)
    run_and_wait(job)
    assert idents[0] == idents[1]
    assert found == ["nothing", 1, "nothing", 1]


def test_a_job_that_is_no_thread_has_a_dummy_of_its_own():
    found = []

    def job():
        found.append(uthreading.current_thread())
        found.append(uthreading.current_thread())
        found.append(uthreading.enumerate())

    run_and_wait(job)
    run_and_wait(job)
    first, again, listed, second, _, _ = found
    assert first is again and first is not second
    assert isinstance(first, uthreading.Thread) and first.name.startswith("Dummy-")
    assert first.daemon and first.is_alive()
    assert listed == [uthreading.main_thread()]
    try:
        first.join()
    except RuntimeError:
        pass
    else:
        assert False, "a dummy can't be joined"


def test_a_foreign_thread_may_use_everything():
    import _thread

    found = []
    done = allocate_lock()
    done.acquire()
    mine = uthreading.local()

    def foreign():
        mine.x = 1
        found.append(uthreading.current_thread().name[:6])
        found.append(uthreading.Event().wait(0.01))
        run_and_wait(lambda: found.append("job"))
        found.append(mine.x)
        done.release()

    _thread.start_new_thread(foreign, ())
    done.acquire()
    assert found == ["Dummy-", False, "job", 1]


def test_only_the_main_thread_of_a_board_polls():
    answers = []
    old = kept.poll_in_main(True)
    try:
        answers.append(kept.may_block())
        run_and_wait(lambda: answers.append(kept.may_block()))
        kept.poll_in_main(False)
        answers.append(kept.may_block())
    finally:
        kept.poll_in_main(old)
    assert answers == [False, True, True]
    assert old is False


class Bolt:
    """A lock that records how it is asked for."""

    def __init__(self):
        self.lock = allocate_lock()
        self.asked = set()

    def acquire(self, wait=1):
        self.asked.add(wait)
        return self.lock.acquire(wait)


def test_a_polling_main_thread_waits_without_blocking():
    for polls in (True, False):
        bolt = Bolt()
        bolt.lock.acquire()
        old = kept.poll_in_main(polls)
        try:
            kept.start(lambda b=bolt: (kept.sleep_ms(12), b.lock.release()))
            kept.wait(bolt)
        finally:
            kept.poll_in_main(old)
        assert bolt.lock.locked()
        assert bolt.asked == ({0} if polls else {1})


def test_all_primitives_work_in_a_polling_main_thread():
    old = kept.poll_in_main(True)
    try:
        event = uthreading.Event()
        assert not event.wait(0.02)
        kept.start(lambda: (kept.sleep_ms(12), event.set()))
        assert event.wait(60)
        t = uthreading.Thread(target=lambda: kept.sleep_ms(12))
        t.start()
        t.join()
        assert not t.is_alive()
        lock = uthreading.Lock()
        lock.acquire()
        kept.start(lambda: (kept.sleep_ms(12), lock.release()))
        assert lock.acquire()
    finally:
        kept.poll_in_main(old)


class HitBolt:
    """A bolt whose worker is hit by Ctrl-C the first time that it waits."""

    def __init__(self):
        self.lock = allocate_lock()
        self.release = self.lock.release
        self.calls = 0

    def acquire(self, wait=1):
        self.calls += 1
        if self.calls == 2:  # the first is that of its maker
            raise KeyboardInterrupt
        return self.lock.acquire(wait)


def test_ctrl_c_that_comes_to_an_idle_thread_goes_to_a_polling_main_thread():
    # As MicroPython did up to 1.16: it went to whichever thread ran.
    bolts = []
    ran = []

    def allocate():
        bolts.append(HitBolt())
        return bolts[-1]

    size = kept.stack_size(1 << 20)  # which no idle thread has
    old = kept.poll_in_main(True)
    bolt = allocate_lock()
    bolt.acquire()
    kept.allocate_lock = allocate
    try:
        kept.interrupted = False
        kept.start(lambda: ran.append(1))
        try:
            kept.wait(bolt)
        except KeyboardInterrupt:
            ran.append("interrupted")
        assert ran == [1, "interrupted"] and not kept.interrupted
        until(lambda: bolts[0].calls == 3)
        run_and_wait(lambda: ran.append(2))
        assert ran == [1, "interrupted", 2] and len(bolts) == 1
    finally:
        kept.allocate_lock = allocate_lock
        kept.interrupted = False
        kept.poll_in_main(old)
        kept.stack_size(size)


def test_ctrl_c_before_a_thread_tells_of_its_end_does_not_keep_it_from_that():
    clear = kept.clear_locals
    hits = [2]

    def hit(used, ident):
        if hits[0]:
            hits[0] -= 1
            raise KeyboardInterrupt
        clear(used, ident)

    kept.clear_locals = hit
    try:
        t = uthreading.Thread(target=uthreading.get_ident)
        t.start()
        t.join(30)
    finally:
        kept.clear_locals = clear
        kept.interrupted = False
    assert hits == [0] and not t.is_alive()


def test_starting_a_job_on_an_idle_thread_allocates_nothing():
    if not MICROPYTHON:
        return
    import micropython

    done = allocate_lock()
    done.acquire()
    release = done.release

    def nothing():
        pass

    def rounds():
        for _ in range(100):
            start(nothing, release)
            acquire()

    start = kept.start
    acquire = done.acquire
    rounds()
    micropython.heap_lock()
    try:
        rounds()
        failed = None
    except MemoryError as e:
        failed = e
    micropython.heap_unlock()
    assert failed is None
