"""Thread, Timer, local and excepthook; on CPython the same claims hold for its own threading."""

import sys
from _thread import allocate_lock

try:
    import io
except ImportError:
    import uio as io

import uthreading
from uthreading import clock, kept

from uthreading_support import MICROPYTHON, MODULES, raises, until


class Hook:
    """Collects what a module reports while it is in force."""

    def __init__(self, module):
        self.module = module
        self.lock = allocate_lock()
        self.args = []

    def take(self, args):
        with self.lock:
            self.args.append((args.exc_type, str(args.exc_value), args.thread))

    def __enter__(self):
        self.old = self.module.excepthook
        self.module.excepthook = self.take
        return self

    def __exit__(self, *args):
        self.module.excepthook = self.old


class Stopped:
    """A thread that waits until it is let go."""

    def __init__(self, module, **kwargs):
        self.gate = module.Event()
        self.thread = module.Thread(target=self.gate.wait, **kwargs)
        self.thread.start()

    def let_go(self):
        self.gate.set()
        self.thread.join()


def in_thread(module, f):
    """f() called in a thread: its value."""
    values = []
    t = module.Thread(target=lambda: values.append(f()))
    t.start()
    t.join()
    assert values, "the thread failed"
    return values[0]


def test_a_target_gets_its_arguments():
    for m in MODULES:
        seen = []
        t = m.Thread(target=lambda *a, **k: seen.append((a, k)), args=(1, 2), kwargs={"x": 3})
        t.start()
        t.join()
        assert seen == [((1, 2), {"x": 3})]


def test_a_subclass_overrides_run():
    for m in MODULES:

        class Adder(m.Thread):
            def __init__(self, a, b):
                super().__init__(name="adder")
                self.a = a
                self.b = b
                self.sum = None

            def run(self):
                self.sum = self.a + self.b

        t = Adder(3, 4)
        t.start()
        t.join()
        assert t.sum == 7 and t.name == "adder"


def test_a_subclass_that_forgot_init_is_told():
    for m in MODULES:

        class Forgetful(m.Thread):
            def __init__(self):
                pass

        forgetful = Forgetful()

        def becomes_daemon():
            forgetful.daemon = True

        for use in (forgetful.start, forgetful.join, becomes_daemon):
            assert "__init__" in raises(RuntimeError, use)


def test_names_count_from_one():
    # A fresh copy of the counter: other tests have made threads, too.
    module = sys.modules["uthreading.thread"]
    old = module._named
    module._named = 0
    names = [uthreading.Thread().name, uthreading.Thread(name="mine").name]
    names.append(uthreading.Thread().name)
    module._named = max(old, 2)
    assert names == ["Thread-1", "mine", "Thread-2"]


def test_a_name_can_be_set():
    for m in MODULES:
        t = m.Thread(name=7)
        assert t.name == "7"
        t.name = "seven"
        assert t.name == "seven" and "seven" in repr(t)


def test_starting_twice_is_an_error():
    for m in MODULES:
        s = Stopped(m)
        raises(RuntimeError, s.thread.start)
        s.let_go()
        assert "once" in raises(RuntimeError, s.thread.start)


def test_joining_before_the_start_is_an_error():
    for m in MODULES:
        raises(RuntimeError, m.Thread().join)
        raises(RuntimeError, m.Thread().join, 0.1)


def test_joining_oneself_is_an_error():
    for m in MODULES:
        text = in_thread(m, lambda: raises(RuntimeError, m.current_thread().join))
        assert "current thread" in text
        raises(RuntimeError, m.main_thread().join)


def test_join_waits_for_the_end():
    for m in MODULES:
        s = Stopped(m)
        joined = []
        lock = allocate_lock()

        def join():
            s.thread.join()
            with lock:
                joined.append(s.thread.is_alive())

        others = [m.Thread(target=join) for _ in range(3)]
        for t in others:
            t.start()
        assert joined == [] and s.thread.is_alive()
        s.let_go()
        for t in others:
            t.join()
        assert joined == [False] * 3
        s.thread.join()  # at once, and as often as one likes


def test_join_times_out():
    for m in MODULES:
        s = Stopped(m)
        start = clock.ticks_ms()
        s.thread.join(0.05)
        took = clock.ticks_diff(clock.ticks_ms(), start)
        assert s.thread.is_alive() and 50 <= took < 30000, took
        s.thread.join(0)
        s.thread.join(-1)
        assert s.thread.is_alive()
        s.let_go()
        s.thread.join(60)
        assert not s.thread.is_alive()


def test_a_join_that_timed_out_leaves_nothing_in_the_queue():
    s = Stopped(uthreading)
    s.thread.join(0.01)
    assert s.thread._joiners.first is None
    s.let_go()


def test_is_alive_between_start_and_end():
    for m in MODULES:
        t = m.Thread(target=lambda: None)
        assert not t.is_alive()
        s = Stopped(m)
        assert s.thread.is_alive()
        s.let_go()
        assert not s.thread.is_alive()


def test_ident_is_known_once_started():
    for m in MODULES:
        assert m.Thread().ident is None
        s = Stopped(m)
        ident = s.thread.ident
        assert ident not in (None, m.get_ident())
        s.let_go()
        assert s.thread.ident == ident
        ident, own = in_thread(m, lambda: (m.get_ident(), m.current_thread().ident))
        assert ident == own


def test_current_and_main_thread():
    for m in MODULES:
        assert m.current_thread() is m.main_thread()
        assert m.main_thread().name == "MainThread" and not m.main_thread().daemon
        t = m.Thread(target=lambda: seen.append(m.current_thread()))
        seen = []
        t.start()
        t.join()
        assert seen == [t]


def test_enumerate_lists_what_runs():
    for m in MODULES:
        before = m.enumerate()
        assert m.main_thread() in before and m.active_count() == len(before)
        stopped = [Stopped(m) for _ in range(3)]
        now = m.enumerate()
        assert len(now) == len(before) + 3 == m.active_count()
        assert all(s.thread in now for s in stopped)
        for s in stopped:
            s.let_go()
        assert m.enumerate() == before


def test_daemon_is_inherited_and_fixed_by_the_start():
    for m in MODULES:
        assert not m.Thread().daemon
        t = m.Thread(daemon=True)
        assert t.daemon
        t.daemon = False
        assert not t.daemon
        s = Stopped(m, daemon=True)
        raises(RuntimeError, setattr, s.thread, "daemon", False)
        s.let_go()
        seen = []
        t = m.Thread(target=lambda: seen.append(m.Thread().daemon), daemon=True)
        t.start()
        t.join()
        assert seen == [True]


def test_a_thread_that_cannot_be_started_is_not_started():
    idle = kept.counts()[0]
    stopped = [Stopped(uthreading) for _ in range(idle)]
    before = uthreading.enumerate()

    def start_new_thread(function, args):
        raise OSError("can't create thread")

    ran = []
    t = uthreading.Thread(target=lambda: ran.append(1))
    old = kept.set_starter(start_new_thread)
    text = raises(RuntimeError, t.start)
    kept.set_starter(old)
    assert text.startswith("can't start a new thread: {} run, ".format(idle))
    assert uthreading.enumerate() == before and not t.is_alive() and t.ident is None
    assert kept.counts() == (0, idle)
    raises(RuntimeError, t.join)
    t.start()  # it may be tried again
    t.join()
    for s in stopped:
        s.let_go()
    assert ran == [1]


def test_2000_short_threads_need_one_kept_thread():
    in_thread(uthreading, lambda: None)
    before = kept.counts()
    total = [0]

    def add():
        total[0] += 1

    for _ in range(2000):
        t = uthreading.Thread(target=add)
        t.start()
        t.join()
    assert total == [2000]
    assert kept.counts() == before


def test_threads_of_threads():
    for m in MODULES:

        def tree(depth):
            if depth == 0:
                return 1
            values = []
            lock = allocate_lock()

            def branch():
                n = tree(depth - 1)
                with lock:
                    values.append(n)

            threads = [m.Thread(target=branch) for _ in range(3)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            return sum(values)

        assert tree(3) == 27


def test_an_exception_is_reported_with_its_thread():
    def fail():
        raise ValueError("boom")

    for m in MODULES:
        with Hook(m) as hook:
            t = m.Thread(target=fail, name="bomb")
            t.start()
            t.join()
        assert hook.args == [(ValueError, "boom", t)]


def test_exit_in_a_thread_is_silent():
    for m in MODULES:
        with Hook(m) as hook:
            t = m.Thread(target=sys.exit)
            t.start()
            t.join()
        assert [a for a in hook.args if not issubclass(a[0], SystemExit)] == []


def with_stderr(f):
    """What is written to stderr while f() runs."""
    report = sys.modules["uthreading.report"]
    text = io.StringIO()

    class Sys:
        stderr = text
        print_exception = getattr(sys, "print_exception", None)

    old = report.sys
    report.sys = Sys
    try:
        f()
    finally:
        report.sys = old
    return text.getvalue()


def test_the_default_hook_names_the_thread_and_prints_the_traceback():
    def fail():
        raise ValueError("boom")

    def run():
        t = uthreading.Thread(target=fail, name="bomb")
        t.start()
        t.join()

    text = with_stderr(run)
    assert text.startswith("Exception in thread bomb:\nTraceback ")
    assert "in fail" in text and "ValueError: boom" in text


def test_a_hook_that_fails_loses_nothing():
    def fail():
        raise ValueError("boom")

    def bad_hook(args):
        raise KeyError("bad hook")

    def run():
        t = uthreading.Thread(target=fail, name="bomb")
        uthreading.excepthook = bad_hook
        t.start()
        t.join()

    old = uthreading.excepthook
    try:
        text = with_stderr(run)
    finally:
        uthreading.excepthook = old
    assert "bad hook" in text and "Exception in thread bomb:" in text and "boom" in text


def test_the_target_is_not_kept_alive():
    t = uthreading.Thread(target=lambda x: None, args=([],))
    t.start()
    t.join()
    assert t._target is None and t._args is None and t._kwargs is None


def test_timer_calls_once_its_time_is_up():
    for m in MODULES:
        called = []
        start = clock.ticks_ms()
        t = m.Timer(0.03, lambda *a, **k: called.append((a, k)), (1,), {"x": 2})
        assert isinstance(t, m.Thread)
        t.start()
        waits = t.is_alive() and called == []
        assert waits or clock.ticks_diff(clock.ticks_ms(), start) >= 30
        t.join()
        assert called == [((1,), {"x": 2})] and t.finished.is_set()
        assert clock.ticks_diff(clock.ticks_ms(), start) >= 30


def test_a_cancelled_timer_ends_at_once_and_calls_nothing():
    for m in MODULES:
        called = []
        t = m.Timer(60, called.append, (1,))
        t.start()
        t.cancel()
        t.join(60)
        assert not t.is_alive() and called == []
        t = m.Timer(0, called.append, (1,))
        t.cancel()
        t.start()
        t.join()
        assert called == []


def test_a_timer_that_is_cancelled_when_its_time_is_over_calls_nothing():
    for m in MODULES:
        called = []
        t = m.Timer(0, called.append, (1,))

        def wait(timeout, t=t):  # its time is over, but its thread does not run yet
            t.cancel()
            return False

        t.finished.wait = wait
        t.start()
        t.join()
        assert called == []


def test_local_is_seen_by_its_thread_alone():
    for m in MODULES:
        mine = m.local()
        mine.x = "main"
        seen = []

        def look():
            seen.append(getattr(mine, "x", "nothing"))
            mine.x = "other"
            seen.append(mine.x)
            del mine.x
            raises(AttributeError, getattr, mine, "x")
            raises(AttributeError, delattr, mine, "x")
            return True

        assert in_thread(m, look)
        assert seen == ["nothing", "other"] and mine.x == "main"


def test_local_init_runs_in_each_thread():
    for m in MODULES:

        class Mine(m.local):
            kind = "class attribute"

            def __init__(self, start, step=1):
                self.n = start
                self.step = step

            def next(self):
                self.n += self.step
                return self.n

        mine = Mine(10, step=5)
        assert mine.next() == 15

        def count():
            return mine.next(), mine.next(), mine.kind

        assert in_thread(m, count) == (15, 20, "class attribute")
        assert mine.next() == 20
        raises(TypeError, m.local, 1)


def test_a_subclass_of_local_may_have_a_getattr_of_its_own():
    for m in MODULES:

        class Settings(m.local):
            def __getattr__(self, name):
                if MICROPYTHON:  # which asks it first
                    try:
                        return super().__getattr__(name)
                    except AttributeError:
                        pass
                if name == "none":
                    raise AttributeError(name)
                return "default"

        mine = Settings()
        mine.level = 5

        def look():
            before = mine.level
            mine.level = 6
            return before, mine.level

        assert in_thread(m, look) == ("default", 6)
        assert (mine.level, mine.other, hasattr(mine, "none")) == (5, "default", False)


if not MICROPYTHON:  # where it is read-only

    def test_a_thread_begins_with_a_context_of_its_own():
        import contextvars
        import decimal

        import upycsp

        word = contextvars.ContextVar("word", default="none")
        word.set("main")

        def look():
            found = word.get(), decimal.getcontext().prec
            word.set("a thread")
            decimal.getcontext().prec = 3
            return found

        for m in MODULES:
            for _ in range(3):
                assert in_thread(m, look) == ("none", decimal.DefaultContext.prec)
        looks = upycsp.process(look)
        for _ in range(3):
            assert upycsp.Spawn(looks()).join() == ("none", decimal.DefaultContext.prec)
        assert word.get() == "main"

    def test_the_dict_of_a_local_is_its_threads_own():
        for m in MODULES:

            class Mine(m.local):  # as the example of CPython's _threading_local
                def __init__(self, **kwargs):
                    self.__dict__.update(kwargs)

            mine = Mine(color="red", number=3)

            def change():
                mine.number = 11
                mine.__dict__["color"] = "blue"
                return mine.color, mine.__dict__

            assert in_thread(m, change) == ("blue", {"color": "blue", "number": 11})
            assert (mine.color, mine.number) == ("red", 3)
            assert vars(mine) == {"color": "red", "number": 3}


def test_local_data_goes_with_its_thread():
    mine = uthreading.local()
    mine.x = 1
    s = [uthreading.Thread(target=lambda: setattr(mine, "x", 2)) for _ in range(4)]
    for t in s:
        t.start()
    for t in s:
        t.join()
    until(lambda: kept.counts()[1] == 0)
    assert list(mine._spaces) == [kept.main_ident]
    assert list(kept.records) == [kept.main_ident]


if not MICROPYTHON:  # whose instances have no `__del__`

    def test_local_data_may_use_the_module_when_it_dies():
        for m in MODULES:
            gone = []

            class Thing:
                def __del__(self):
                    gone.append(m.current_thread().name)

            mine, other = m.local(), m.local()

            def store():
                mine.x = Thing()
                other.x = Thing()

            t = m.Thread(target=store)
            t.start()
            t.join(30)
            assert not t.is_alive()
            until(lambda: len(gone) == 2)


def test_many_locals_in_many_threads():
    things = [uthreading.local() for _ in range(10)]
    bad = []

    def use(i):
        for n in range(50):
            for k, it in enumerate_builtin(things):
                it.x = (i, k, n)
            for k, it in enumerate_builtin(things):
                if it.x != (i, k, n):
                    bad.append(it.x)

    enumerate_builtin = enumerate
    threads = [uthreading.Thread(target=use, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert bad == []


def test_who_joins_a_thread_that_can_not_be_started_is_told():
    module = sys.modules["uthreading.thread"]
    told = []

    def joins():
        until(t.is_alive)
        told.append(raises(RuntimeError, t.join))

    def can_not():
        until(lambda: t._joiners.first)
        raise RuntimeError("no thread can be had")

    t = uthreading.Thread(target=list)
    joiner = uthreading.Thread(target=joins)
    joiner.start()
    before = module._hook_exit
    module._hook_exit = can_not  # it is called when the thread counts as alive already
    try:
        raises(RuntimeError, t.start)
    finally:
        module._hook_exit = before
    joiner.join()
    assert told == ["cannot join thread before it is started"]
    t.start()  # it may be tried again
    t.join()


def test_every_name_is_there_and_loads():
    for name in uthreading.__all__:
        assert getattr(uthreading, name) is not None
    names = {}
    exec("from uthreading import *", names)
    raises(AttributeError, getattr, uthreading, "no_such_name")


def test_cpython_has_all_of_these_names():
    for m in MODULES:
        for name in uthreading.__all__:
            assert hasattr(m, name), name
