"""uthreading where things go wrong: hooks that fail, memory that ends, subclasses that raise."""

import _thread

import uthreading
from uthreading import clock, kept, report

from uthreading_support import MICROPYTHON, raises, until


def test_wait_for_waits_without_a_limit_until_the_predicate_is_true():
    c = uthreading.Condition()
    values = []

    def waits():
        with c:
            values.append(c.wait_for(lambda: len(values) and values[0]))

    t = uthreading.Thread(target=waits)
    t.start()
    until(lambda: c._queue.first)
    with c:
        c.notify()  # for nothing: the predicate is not true
    until(lambda: c._queue.first)
    with c:
        values.append("first")
        c.notify()
    t.join()
    assert values == ["first", "first"]


def test_a_bounded_semaphore_takes_one_or_more():
    s = uthreading.BoundedSemaphore(2)
    assert "one or more" in raises(ValueError, s.release, 0)
    assert s.acquire() and s.acquire() and not s.acquire(False)


def test_a_thread_has_no_group():
    assert "group" in raises(ValueError, uthreading.Thread, group=1)


def test_a_thread_says_that_it_is_a_daemon():
    t = uthreading.Thread(name="d", daemon=True)
    assert repr(t) == "<Thread(d, initial daemon)>"
    t.start()  # without a target it ends at once
    t.join()
    assert repr(t) == "<Thread(d, stopped daemon)>"


def test_the_default_hook_is_silent_about_an_exit():
    printed = []
    old = report._print
    report._print = printed.append
    try:
        uthreading.excepthook(uthreading.ExceptHookArgs(SystemExit, SystemExit(), None, None))
        assert not printed
        error = ValueError("told")
        report._print = lambda er: printed.append(er)
        uthreading.excepthook(uthreading.ExceptHookArgs(ValueError, error, None, None))
        assert printed == [error]
    finally:
        report._print = old


def fails(*args):
    raise MemoryError("no memory for it")


def test_an_exception_is_printed_even_if_the_hooks_fail_and_a_failing_print_ends_nothing():
    printed = []
    hook, default, prints = uthreading.excepthook, report._default, report._print
    uthreading.excepthook = report._default = fails
    report._print = printed.append
    error = ValueError("of a thread")
    try:
        report.report(error, None)
        assert printed[-1] is error
        report._print = fails
        report.report(error, None)
        t = uthreading.Thread(target=fails)
        t.start()
        t.join()
    finally:
        uthreading.excepthook, report._default, report._print = hook, default, prints
    assert not t.is_alive()


class Counts(uthreading.local):
    fails = [True]

    def __init__(self, start):
        if self.fails[0]:
            raise ValueError("not yet")
        self.n = start


def test_a_local_whose_init_fails_in_a_thread_is_made_anew_at_the_next_use():
    Counts.fails[0] = False
    mine = Counts(5)
    got = []

    def uses():
        Counts.fails[0] = True
        got.append(raises(ValueError, lambda: mine.n))
        Counts.fails[0] = False
        got.append(mine.n)

    t = uthreading.Thread(target=uses)
    t.start()
    t.join()
    assert got == ["not yet", 5]
    assert len(mine._spaces) == 1


def test_the_timer_thread_tries_again_when_memory_has_ended():
    rang = []
    failed = []
    alarm = clock.Alarm(rang.append)
    alarm.start(1)
    until(lambda: rang)
    next_one = clock._next

    def fails_once():
        if not failed:
            failed.append(1)
            raise MemoryError
        return next_one()

    clock._next = fails_once
    try:
        alarm.start(1)
        until(lambda: len(rang) == 2)
        assert failed
    finally:
        clock._next = next_one


def test_a_foreign_thread_s_name_and_locals_do_not_pass_to_a_kept_thread():
    # Where idents are used again, a kept thread may get that of a foreign one that has ended.
    seen = uthreading.local()
    seen.value = "main"
    kept.records[-7] = [None, [seen]]
    seen._spaces[-7] = {"value": "left behind"}
    kept._forget(-7)
    assert -7 not in kept.records and -7 not in seen._spaces
    kept._forget(-7)
    assert seen.value == "main"


if not MICROPYTHON:  # there nobody can tell: docs/reference.md says so

    def test_a_raw_thread_sees_nothing_of_one_that_has_ended():
        seen = uthreading.local()
        seen.value = "main"
        got = []

        def uses():
            me = uthreading.get_ident()
            kept.records[me] = [None, [seen]]
            seen._spaces[me] = {"value": "left behind"}
            got.append(getattr(seen, "value", None))
            seen.value = "mine"
            got.append(seen.value)

        for n in (2, 4):
            _thread.start_new_thread(uses, ())
            until(lambda: len(got) == n)
        assert got == [None, "mine"] * 2 and seen.value == "main"


def test_a_thread_that_can_not_begin_for_want_of_memory_lets_its_starter_go():
    class Unlucky(uthreading.Thread):
        def _body(self):
            raise MemoryError

    told = []
    hook = uthreading.excepthook
    uthreading.excepthook = lambda args: told.append(args.exc_type)
    try:
        t = Unlucky(target=fails)
        t.start()
        t.join()
    finally:
        uthreading.excepthook = hook
    assert told == [MemoryError]
    assert not t.is_alive() and t not in uthreading.enumerate()


def test_only_the_owner_of_an_rlock_lets_go_of_it_for_a_wait():
    lock = uthreading.RLock()
    assert "un-acquired" in raises(RuntimeError, lock._release_save)
    assert "un-acquired" in raises(RuntimeError, uthreading.Condition(lock).wait)
