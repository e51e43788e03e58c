"""Lock, RLock, Condition, Event, semaphores and Barrier; on CPython its own threading, too."""

import sys
from _thread import allocate_lock

try:
    from time import ticks_diff, ticks_us
except ImportError:
    from time import monotonic_ns

    def ticks_us():
        return monotonic_ns() // 1000

    def ticks_diff(a, b):
        return a - b

import uthreading
from uthreading import clock, kept

from uthreading_support import MODULES, queued, raises, until


def takes(ms, f, *args, **kwargs):
    """f's value; asserts that it took at least ms milliseconds and did not hang."""
    start = clock.ticks_ms()
    value = f(*args, **kwargs)
    took = clock.ticks_diff(clock.ticks_ms(), start)
    assert ms <= took < ms + 30000, "{} ms instead of {}".format(took, ms)
    return value


class Crew:
    """Threads that each call f(i), and their values in the order of their ends."""

    def __init__(self, module, n, f):
        self.lock = allocate_lock()
        self.values = []
        self.errors = []
        self.threads = [module.Thread(target=self.work, args=(f, i)) for i in range(n)]
        for t in self.threads:
            t.start()

    def work(self, f, i):
        try:
            value = f(i)
        except Exception as e:
            with self.lock:
                self.errors.append(e)
        else:
            with self.lock:
                self.values.append(value)

    def join(self):
        for t in self.threads:
            t.join(60)
            assert not t.is_alive(), "a thread hangs"
        assert self.errors == [], self.errors
        return self.values


# Waits until so many threads wait in an object, of ours or of CPython's.
def waiting(module, it, n):
    if module is uthreading:
        until(lambda: queued(it._queue) == n)
    else:
        it = getattr(it, "_cond", it)
        # A lock does not tell; whoever comes to it later is served as well.
        until(lambda: len(getattr(it, "_waiters", [0] * n)) == n)


# Lock


def test_lock_is_held_by_one():
    for m in MODULES:
        lock = m.Lock()
        total = [0]

        def add(i, lock=lock, total=total):
            for _ in range(300):
                with lock:
                    n = total[0]
                    total[0] = n + 1

        Crew(m, 4, add).join()
        assert total == [1200]
        assert not lock.locked()


def test_lock_that_is_taken():
    for m in MODULES:
        lock = m.Lock()
        assert lock.acquire() is True and lock.locked()
        assert lock.acquire(False) is False
        assert lock.acquire(blocking=False) is False
        assert lock.acquire(timeout=0) is False
        assert takes(50, lock.acquire, timeout=0.05) is False
        assert takes(50, lock.acquire, True, 0.05) is False
        lock.release()
        assert lock.acquire(timeout=0.05) is True
        lock.release()
        assert not lock.locked()


def test_lock_that_is_free_cannot_be_released():
    for m in MODULES:
        assert "unlocked" in raises(RuntimeError, m.Lock().release)


def test_lock_refuses_bad_timeouts():
    for m in MODULES:
        for lock in (m.Lock(), m.RLock()):
            raises(ValueError, lock.acquire, False, 1)
            raises(ValueError, lock.acquire, True, -2)
            raises((TypeError, ValueError), lock.acquire, True, "soon")
            assert lock.acquire(False)
            lock.release()


def test_lock_may_be_released_by_another_thread():
    for m in MODULES:
        lock = m.Lock()
        lock.acquire()
        crew = Crew(m, 1, lambda i: lock.release())
        assert lock.acquire(timeout=60)
        crew.join()


def test_lock_goes_to_a_waiter_before_its_timeout():
    for m in MODULES:
        lock = m.Lock()
        lock.acquire()
        crew = Crew(m, 1, lambda i: lock.acquire(timeout=60))
        waiting(m, lock, 1)
        lock.release()
        assert crew.join() == [True]
        assert lock.locked()


def test_lock_goes_to_who_waited_longest():
    lock = uthreading.Lock()
    lock.acquire()
    order = []
    crews = []

    def take(i):
        with lock:
            order.append(i)

    for i in range(5):
        crews.append(Crew(uthreading, 1, lambda _, i=i: take(i)))
        until(lambda i=i: queued(lock._queue) == i + 1)
    lock.release()
    for crew in crews:
        crew.join()
    assert order == [0, 1, 2, 3, 4]


def test_a_timed_out_wait_leaves_the_queue_to_the_next():
    lock = uthreading.Lock()
    lock.acquire()
    for seconds in (0.02, 0.2, 2):
        crew = Crew(uthreading, 1, lambda i, s=seconds: lock.acquire(timeout=s))
        until(lambda c=crew: queued(lock._queue) == 1 or c.values)
        if not crew.values:
            break  # it waits before the other
    other = Crew(uthreading, 1, lambda i: lock.acquire(timeout=60))
    assert crew.join() == [False]
    until(lambda: queued(lock._queue) == 1)
    lock.release()
    assert other.join() == [True]
    assert lock._queue.first is None and clock._armed == []


# RLock


def test_rlock_may_be_taken_again_by_its_owner():
    for m in MODULES:
        lock = m.RLock()
        for _ in range(3):
            assert lock.acquire()
        assert lock.acquire(False) and lock.acquire(timeout=1)
        for _ in range(4):
            lock.release()
        assert Crew(m, 1, lambda i: lock.acquire(False)).join() == [False]
        lock.release()
        raises(RuntimeError, lock.release)

        def take(i):
            with lock:
                with lock:
                    return lock.acquire(False) and lock.release()

        assert Crew(m, 1, take).join() == [None]


def test_rlock_can_only_be_released_by_its_owner():
    for m in MODULES:
        lock = m.RLock()
        raises(RuntimeError, lock.release)
        with lock:
            Crew(m, 1, lambda i: raises(RuntimeError, lock.release)).join()
            assert Crew(m, 1, lambda i: takes(40, lock.acquire, timeout=0.04)).join() == [False]
        raises(RuntimeError, lock.release)


def test_rlock_excludes_other_threads():
    for m in MODULES:
        lock = m.RLock()
        total = [0]

        def add(i, lock=lock, total=total):
            for _ in range(200):
                with lock:
                    with lock:
                        n = total[0]
                        total[0] = n + 1

        Crew(m, 4, add).join()
        assert total == [800]


def test_an_uncontended_lock_allocates_nothing():
    if sys.implementation.name != "micropython":
        return
    import micropython

    locks = (uthreading.Lock(), uthreading.RLock(), uthreading.Semaphore(), uthreading.Condition())

    def use():
        for lock in locks:
            for _ in range(50):
                with lock:
                    pass
                lock.acquire(False)
                lock.release()

    use()
    micropython.heap_lock()
    try:
        use()
        failed = None
    except MemoryError as e:
        failed = e
    micropython.heap_unlock()
    assert failed is None


# Condition


def test_condition_wants_its_lock_held():
    for m in MODULES:
        for lock in (None, m.Lock(), m.RLock(), allocate_lock()):
            c = m.Condition(lock)
            raises(RuntimeError, c.wait)
            raises(RuntimeError, c.wait, 0.1)
            raises(RuntimeError, c.notify)
            raises(RuntimeError, c.notify_all)
            with c:
                c.notify()
                c.notify_all()
        c = m.Condition(m.RLock())
        with c:  # held, but by another thread
            Crew(m, 1, lambda i: raises(RuntimeError, c.notify)).join()


def test_condition_wait_times_out_holding_the_lock():
    for m in MODULES:
        for lock in (None, m.Lock(), m.RLock(), allocate_lock()):
            c = m.Condition(lock)
            with c:
                assert takes(40, c.wait, 0.04) is False
                assert c.wait(0) is False
                assert c.wait(-1) is False
                c.notify()
            raises(RuntimeError, c.notify)


def test_condition_wait_lets_go_of_the_lock_however_often_it_was_taken():
    for m in MODULES:
        c = m.Condition()
        seen = []

        def wait(i):
            with c:
                with c:
                    seen.append(i)
                    assert c.wait(60)
                    c.notify()  # still held
                c.notify()

        crew = Crew(m, 1, wait)
        until(lambda: seen)
        with c:
            c.notify()
        crew.join()


def test_notify_wakes_as_many_as_it_says():
    for m in MODULES:
        c = m.Condition()
        entered = []
        woken = []

        def wait(i):
            with c:
                entered.append(i)
                assert c.wait(60)
                woken.append(i)

        crew = Crew(m, 6, wait)
        until(lambda: len(entered) == 6)
        for n, total in ((1, 1), (2, 3), (0, 3)):
            with c:
                c.notify(n)
            until(lambda total=total: len(woken) >= total)
            kept.sleep_ms(5)
            assert len(woken) == total
        with c:
            c.notify_all()
        crew.join()
        assert sorted(woken) == list(range(6))
        with c:
            c.notify(3)  # nobody waits, nothing is kept for later
            assert c.wait(0.01) is False


def test_notify_wakes_who_waited_longest():
    c = uthreading.Condition()
    order = []
    crews = []

    def wait(i):
        with c:
            assert c.wait(60)
            order.append(i)

    for i in range(4):
        crews.append(Crew(uthreading, 1, lambda _, i=i: wait(i)))
        waiting(uthreading, c, i + 1)
    for i in range(4):
        with c:
            c.notify()
        until(lambda i=i: len(order) == i + 1)
    for crew in crews:
        crew.join()
    assert order == [0, 1, 2, 3]


def test_a_condition_that_timed_out_takes_no_later_notify():
    for m in MODULES:
        c = m.Condition()
        crew = Crew(m, 1, lambda i: held_wait(c, 0.02))
        assert crew.join() == [False]
        crew = Crew(m, 1, lambda i: held_wait(c, 5))
        waiting(m, c, 1)
        with c:
            c.notify()
        assert crew.join() == [True]


def held_wait(condition, timeout):
    with condition:
        return condition.wait(timeout)


def test_condition_refuses_a_timeout_that_is_no_number():
    c = uthreading.Condition()
    with c:
        raises(TypeError, c.wait, "soon")
    assert c._queue.first is None
    event = uthreading.Event()
    raises(TypeError, event.wait, "soon")
    raises(OverflowError, event.wait, float("inf"))
    assert event._queue.first is None


def test_wait_for_a_predicate():
    for m in MODULES:
        c = m.Condition()
        box = []

        def put(i, c=c, box=box):
            for v in range(3):
                with c:
                    box.append(v)
                    c.notify()

        with c:
            crew = Crew(m, 1, put)
            assert c.wait_for(lambda: len(box) == 3 and box, 5) == [0, 1, 2]
            assert c.wait_for(lambda: 7) == 7
            assert takes(40, c.wait_for, lambda: 0, 0.04) == 0
            assert c.wait_for(lambda: "", timeout=0) == ""
        crew.join()


def test_wait_for_lets_go_of_the_lock_also_when_it_is_not_to_wait():
    for module in MODULES:
        c = module.Condition()
        box = []

        def sets(i):
            with c:
                box.append(i)
                c.notify()

        with c:
            crew = Crew(module, 1, sets)
            while not c.wait_for(lambda: box, 0):
                pass
        crew.join()
        raises(RuntimeError, lambda: c.wait_for(lambda: False, 0))


def test_wait_for_asks_what_its_timeout_is_only_when_it_is_to_wait():
    for m in MODULES:
        c = m.Condition()
        with c:
            for timeout in (float("inf"), float("nan"), "soon"):
                assert c.wait_for(lambda: 7, timeout) == 7
            raises(OverflowError, c.wait_for, lambda: False, float("inf"))
            raises(TypeError, c.wait_for, lambda: False, "soon")
            assert c.wait_for(lambda: 0, float("-inf")) == 0


def test_wait_for_is_not_early_when_it_is_notified_in_vain():
    for module in MODULES:
        c = module.Condition()
        ends = []

        def notifies(i):
            while not ends:
                with c:
                    c.notify_all()

        crew = Crew(module, 1, notifies)
        with c:
            for _ in range(20):
                assert takes_us(10000, c.wait_for, lambda: False, 0.01) is False
        ends.append(True)
        crew.join()


def takes_us(us, f, *args):
    """f's value; asserts that it took at least us microseconds."""
    start = ticks_us()
    value = f(*args)
    took = ticks_diff(ticks_us(), start)
    assert took >= us, "{} us instead of {}".format(took, us)
    return value


class StoodClock:
    """Stands for `clock`: its time is what a test makes it."""

    FAR_MS = clock.FAR_MS
    to_ms = staticmethod(clock.to_ms)
    ticks_diff = staticmethod(clock.ticks_diff)
    now = 0

    def ticks_ms(self):
        return self.now


def test_wait_for_does_not_count_the_first_call_against_its_timeout():
    stood = StoodClock()
    waited = []

    class Noted(uthreading.Condition):
        def wait(self, timeout=None):
            waited.append(timeout)
            stood.now += 100

    calls = []

    def true_at_the_third():
        calls.append(1)
        if len(calls) == 1:
            stood.now += 1000
        return len(calls) == 3

    module = sys.modules["uthreading.sync"]
    module.clock = stood
    try:
        assert Noted().wait_for(true_at_the_third, 0.25)
        assert waited == [0.251, 0.151]
        calls.clear()
        assert not Noted().wait_for(true_at_the_third, 0.05)  # but the second counts
        assert waited[2:] == [0.051]
    finally:
        module.clock = clock


def test_wait_for_counts_its_timeout_once():
    for m in MODULES:
        c = m.Condition()
        stop = []

        def nag(i, c=c, stop=stop):
            while not stop:
                with c:
                    c.notify()
                kept.sleep_ms(2)

        crew = Crew(m, 1, nag)
        with c:
            assert takes(40, c.wait_for, lambda: False, 0.04) is False
        stop.append(1)
        crew.join()


# Event


def test_event_wakes_all_who_wait():
    for m in MODULES:
        event = m.Event()
        assert not event.is_set()
        crew = Crew(m, 5, lambda i: event.wait(i and 60 or None))
        waiting(m, event, 5)
        event.set()
        assert crew.join() == [True] * 5
        assert event.is_set() and event.wait() and event.wait(0) and event.wait(timeout=1)
        event.clear()
        assert not event.is_set()
        assert takes(40, event.wait, 0.04) is False
        assert event.wait(0) is False and event.wait(-1) is False


def test_event_that_is_set_and_cleared_wakes_all_the_same():
    for m in MODULES:
        event = m.Event()
        crew = Crew(m, 3, lambda i: event.wait(60))
        waiting(m, event, 3)
        event.set()
        event.clear()
        assert crew.join() == [True] * 3


# Semaphore


def test_semaphore_admits_its_number():
    for m in MODULES:
        for kind in (m.Semaphore, m.BoundedSemaphore):
            s = kind(3)
            lock = allocate_lock()
            inside = [0, 0]

            def work(i, s=s, lock=lock, inside=inside):
                for _ in range(30):
                    with s:
                        with lock:
                            inside[0] += 1
                            inside[1] = max(inside)
                        with lock:
                            inside[0] -= 1

            Crew(m, 6, work).join()
            assert inside[0] == 0 and 1 <= inside[1] <= 3


def test_semaphore_that_is_empty():
    for m in MODULES:
        s = m.Semaphore(1)
        assert s.acquire() is True
        assert s.acquire(False) is False and s.acquire(blocking=False) is False
        assert s.acquire(timeout=0) is False
        assert takes(40, s.acquire, timeout=0.04) is False
        s.release()
        s.release(2)
        assert [s.acquire(False) for _ in range(4)] == [True, True, True, False]
        raises(ValueError, s.acquire, False, 1)
        raises(ValueError, s.release, 0)
        raises(ValueError, m.Semaphore, -1)


def test_semaphore_release_wakes_as_many():
    for m in MODULES:
        s = m.Semaphore(0)
        crew = Crew(m, 3, lambda i: s.acquire(timeout=60))
        waiting(m, s, 3)
        s.release(5)
        assert crew.join() == [True] * 3
        assert [s.acquire(False) for _ in range(3)] == [True, True, False]


def test_bounded_semaphore_takes_back_no_more_than_it_gave():
    for m in MODULES:
        s = m.BoundedSemaphore(2)
        raises(ValueError, s.release)
        s.acquire()
        s.acquire()
        s.release()
        raises(ValueError, s.release, 2)
        s.release()
        raises(ValueError, s.release)
        assert [s.acquire(False) for _ in range(3)] == [True, True, False]


# Barrier


def test_barrier_lets_all_go_together_again_and_again():
    for m in MODULES:
        actions = []
        b = m.Barrier(4, action=lambda: actions.append(1))
        assert b.parties == 4 and b.n_waiting == 0 and not b.broken
        lock = allocate_lock()
        rounds = [[] for _ in range(30)]

        def work(i, b=b, rounds=rounds, lock=lock):
            for r in range(30):
                index = b.wait(60)
                with lock:
                    # Nobody is a round ahead of one who has not yet passed the barrier before.
                    assert r == 0 or len(rounds[r - 1]) >= 1
                    rounds[r].append(index)

        Crew(m, 4, work).join()
        assert all(sorted(indices) == [0, 1, 2, 3] for indices in rounds)
        assert len(actions) == 30 and b.n_waiting == 0 and not b.broken


def test_barrier_counts_who_waits():
    for m in MODULES:
        b = m.Barrier(3)
        crew = Crew(m, 2, lambda i: b.wait(60))
        until(lambda b=b: b.n_waiting == 2)
        assert b.wait() == 2
        assert sorted(crew.join()) == [0, 1]
        assert b.n_waiting == 0


def test_barrier_of_one():
    for m in MODULES:
        b = m.Barrier(1)
        assert [b.wait() for _ in range(3)] == [0, 0, 0]
        raises(ValueError, uthreading.Barrier, 0)


def broken_wait(module, barrier, timeout=60):
    try:
        barrier.wait(timeout)
    except module.BrokenBarrierError:
        return "broken"
    return "passed"


def test_a_timeout_breaks_a_barrier_for_all():
    for m in MODULES:
        b = m.Barrier(4)
        crew = Crew(m, 2, lambda i: broken_wait(m, b))
        until(lambda b=b: b.n_waiting == 2)
        assert takes(40, broken_wait, m, b, 0.04) == "broken"
        assert crew.join() == ["broken"] * 2
        assert b.broken and b.n_waiting == 0
        assert broken_wait(m, b) == "broken"
        b.reset()
        assert not b.broken
        crew = Crew(m, 4, lambda i: broken_wait(m, b))
        assert crew.join() == ["passed"] * 4
        assert m.BrokenBarrierError.__bases__ == (RuntimeError,)


def test_a_barriers_own_timeout():
    for m in MODULES:
        b = m.Barrier(2, timeout=0.04)
        assert takes(40, broken_wait, m, b, None) == "broken"


def test_abort_breaks_a_barrier():
    for m in MODULES:
        b = m.Barrier(3)
        crew = Crew(m, 2, lambda i: broken_wait(m, b))
        until(lambda b=b: b.n_waiting == 2)
        b.abort()
        assert crew.join() == ["broken"] * 2
        assert b.broken and broken_wait(m, b) == "broken"


def test_reset_throws_out_who_waits():
    for m in MODULES:
        b = m.Barrier(3)
        crew = Crew(m, 2, lambda i: broken_wait(m, b))
        until(lambda b=b: b.n_waiting == 2)
        b.reset()
        assert crew.join() == ["broken"] * 2
        assert not b.broken and b.n_waiting == 0
        crew = Crew(m, 3, lambda i: broken_wait(m, b))
        assert crew.join() == ["passed"] * 3


def test_an_action_that_fails_breaks_a_barrier():
    def fail():
        raise KeyError("in the action")

    for m in MODULES:
        b = m.Barrier(3, action=fail)
        crew = Crew(m, 2, lambda i: broken_wait(m, b))
        until(lambda b=b: b.n_waiting == 2)
        raises(KeyError, b.wait)
        assert crew.join() == ["broken"] * 2
        assert b.broken and broken_wait(m, b) == "broken"


def test_an_action_that_fails_breaks_a_round_that_is_full_already():
    for m in MODULES:
        gate = allocate_lock()
        gate.acquire()
        calls = []

        def fail(gate=gate, calls=calls):
            calls.append(1)
            gate.acquire()
            gate.release()
            raise KeyError("in the action")

        def work(i, m=m):
            try:
                return broken_wait(m, b)
            except KeyError:
                return "failed"

        b = m.Barrier(2, action=fail)
        first = Crew(m, 2, work)
        until(lambda calls=calls: calls)
        filling = getattr(b, "_round", None)
        second = Crew(m, 2, work)
        if m is uthreading:
            until(lambda: b._round is not filling)
        gate.release()
        assert sorted(first.join()) == ["broken", "failed"]
        assert second.join() == ["broken"] * 2
        assert calls == [1] and b.broken
        b.reset()
        assert not b.broken


def test_a_round_that_is_full_goes_on_although_the_next_one_breaks():
    gate = allocate_lock()
    gate.acquire()
    calls = []

    def action():
        calls.append(1)
        gate.acquire()
        gate.release()

    barrier = uthreading.Barrier(2, action)
    crews = []
    for _ in range(2):
        r = barrier._round
        crews.append(Crew(uthreading, 2, lambda i: broken_wait(uthreading, barrier)))
        until(lambda: barrier._round is not r)
    assert broken_wait(uthreading, barrier, 0) == "broken"
    until(lambda: calls)
    gate.release()
    for crew in crews:
        assert crew.join() == ["passed"] * 2
    assert calls == [1, 1] and barrier.broken


def test_a_barriers_waiters_see_what_its_action_did():
    for m in MODULES:
        box = []
        b = m.Barrier(3, action=lambda: (kept.sleep_ms(10), box.append("done")))

        def work(i, b=b, box=box):
            b.wait(60)
            return list(box)

        assert Crew(m, 3, work).join() == [["done"]] * 3


# Interrupts: what a waiting main thread gets when Ctrl-C is pressed.


class Interrupted(BaseException):
    pass


def interrupt_in_wait(f, before=None):
    """f(), in which the wait on a bare lock is interrupted, after before() was called."""

    def wait(bolt):
        if before is not None:
            before()
        raise Interrupted

    old = kept.wait
    kept.wait = wait
    try:
        f()
    except Interrupted:
        return
    finally:
        kept.wait = old
    assert False, "the interrupt was lost"


def test_an_interrupted_wait_leaves_nothing_behind():
    lock = uthreading.Lock()
    lock.acquire()
    semaphore = uthreading.Semaphore(0)
    event = uthreading.Event()
    condition = uthreading.Condition()
    for f in (
        lock.acquire,
        lambda: lock.acquire(timeout=60),
        semaphore.acquire,
        event.wait,
        lambda: held_wait(condition, None),
        lambda: held_wait(condition, 60),
    ):
        interrupt_in_wait(f)
    for it in (lock, semaphore, event, condition):
        assert it._queue.first is None
    assert clock._armed == []
    assert condition.acquire(False)
    barrier = uthreading.Barrier(2)
    interrupt_in_wait(barrier.wait)
    assert barrier.broken


def test_a_grant_that_an_interrupt_crossed_is_passed_on():
    lock = uthreading.Lock()
    lock.acquire()
    interrupt_in_wait(lock.acquire, lock.release)
    assert not lock.locked()

    semaphore = uthreading.Semaphore(0)
    interrupt_in_wait(semaphore.acquire, semaphore.release)
    assert semaphore.acquire(False)

    condition = uthreading.Condition()
    crew = []

    def notify():
        kept.wait = wait  # for the other waiter
        crew.append(Crew(uthreading, 1, lambda i: held_wait(condition, 60)))
        waiting(uthreading, condition, 2)
        with condition:
            condition.notify()

    wait = kept.wait
    interrupt_in_wait(lambda: held_wait(condition, None), notify)
    assert crew[0].join() == [True]


def test_an_interrupt_while_the_action_is_waited_for_breaks_a_barrier():
    class Turn:
        def acquire(self):
            raise KeyboardInterrupt

    barrier = uthreading.Barrier(1, lambda: None)
    barrier._turn = Turn()
    raises(KeyboardInterrupt, barrier.wait)
    assert barrier.broken
    raises(uthreading.BrokenBarrierError, barrier.wait)


def test_who_comes_too_late_to_leave_a_full_barrier_waits_for_its_action():
    class Woken:
        # As a waiter whose time has ended just before the last one came.
        def sleep_for(self, timeout):
            return False

    for fails in (False, True):
        gate = allocate_lock()
        gate.acquire()

        def action():
            gate.acquire()
            if fails:
                raise ValueError("action")

        def passes(f, *args):
            try:
                f(*args)
                has_passed = True
            except (uthreading.BrokenBarrierError, ValueError):
                has_passed = False
            with lock:
                passed.append(has_passed)

        lock = allocate_lock()
        passed = []
        barrier = uthreading.Barrier(1, action)
        r = barrier._round
        last = uthreading.Thread(target=passes, args=(barrier.wait,))
        last.start()
        until(lambda: r.acting.locked())
        late = uthreading.Thread(target=passes, args=(barrier._wait_for_rest, r, Woken(), 1))
        late.start()
        kept.sleep_ms(20)
        assert passed == []
        gate.release()
        last.join()
        late.join()
        assert passed == [not fails] * 2


def test_actions_of_a_barrier_come_one_after_another():
    # The next round is full before the action of the one before has ended.
    gate = allocate_lock()
    gate.acquire()
    inside = []
    most = []

    def action():
        inside.append(1)
        most.append(len(inside))
        gate.acquire()
        inside.pop()
        gate.release()

    barrier = uthreading.Barrier(2, action)
    crew = [uthreading.Thread(target=barrier.wait) for _ in range(4)]
    for t in crew[:2]:
        t.start()
    until(lambda: inside)
    first = barrier._round
    for t in crew[2:]:
        t.start()
    until(lambda: barrier._round is not first)
    kept.sleep_ms(20)
    assert most == [1]
    gate.release()
    for t in crew:
        t.join()
    assert most == [1, 1] and not barrier.broken
