"""uthreading where memory ends: who waits is reached, and no state is half done.

A thread whose heap is locked stands for one that finds no memory.
"""

import _thread

import micropython
import uthreading
from uthreading import kept, waiting

from uthreading_support import queued, raises, until

INTERPRETERS = ("micropython",)


def without_memory(f):
    """What f gives, or the MemoryError."""
    micropython.heap_lock()
    try:
        return f()
    except MemoryError as er:
        return er
    finally:
        micropython.heap_unlock()


class Short(uthreading.Thread):
    """A thread that has no memory to end."""

    def _ended(self):
        assert without_memory(lambda: uthreading.Thread._ended(self)) is None


class Shorter(Short):
    """Nor has it any to begin."""

    def _body(self):
        raise without_memory(lambda: uthreading.Thread._body(self))


def start(f):
    t = uthreading.Thread(target=f, daemon=True)
    t.start()
    return t


def test_a_release_reaches_who_waits():
    for make in (uthreading.Lock, uthreading.RLock, uthreading.Semaphore):
        it = make()
        queue = it._lock._queue if make is uthreading.RLock else it._queue
        it.acquire()
        t = start(it.acquire)
        until(lambda q=queue: queued(q) == 1)
        assert without_memory(it.release) is None
        t.join()


def test_all_who_wait_for_an_event_are_woken():
    it = uthreading.Event()
    threads = [start(it.wait) for _ in range(3)]
    until(lambda: queued(it._queue) == 3)
    assert without_memory(it.set) is None
    for t in threads:
        t.join()


def test_a_thread_that_ends_is_joined():
    go = uthreading.Event()
    t = Short(target=go.wait)
    t.start()
    joins = start(t.join)
    until(lambda: queued(t._joiners) == 1)
    go.set()
    joins.join()
    assert not t.is_alive()


def test_start_returns_though_the_thread_has_no_memory_to_begin():
    t = Shorter(target=print)
    t.start()
    t.join()
    assert not t.is_alive() and t.ident is None


def test_a_wait_that_cannot_let_go_of_its_lock_is_not_queued():
    c = uthreading.Condition()
    with c:
        let_go = c._let_go

        def fails():
            raise MemoryError

        c._let_go = fails
        raises(MemoryError, c.wait)
        c._let_go = let_go
        assert c._queue.first is None and c._queue.last is None


def test_a_wait_returns_with_its_lock_though_it_cannot_queue_for_it():
    sleep_ms = kept.sleep_ms
    for lock in (uthreading.RLock(), uthreading.Lock()):
        c = uthreading.Condition(lock)
        told = []
        who = [None, False]  # the thread that waits; whether it asks for the lock again and again

        def waits(c=c, told=told, who=who):
            who[0] = _thread.get_ident()
            with c:
                take_back = c._take_back
                c._take_back = lambda saved: without_memory(lambda: take_back(saved))
                told.append(c.wait())
                c._take_back = take_back
                told.append(c._is_owned())

        def sleeps(ms, who=who):
            if _thread.get_ident() == who[0]:
                who[1] = True
            sleep_ms(ms)

        t = start(waits)
        until(lambda c=c: queued(c._queue) == 1)
        kept.sleep_ms = sleeps
        try:
            with c:
                c.notify()
                until(lambda who=who: who[1])
        finally:
            kept.sleep_ms = sleep_ms
        t.join()
        assert told == [True, True]


def test_a_sleep_needs_no_memory():
    def fails(ms):
        raise MemoryError  # as the first call of a poll's `ipoll` does

    old = kept._ipoll
    kept._ipoll = fails
    try:
        assert without_memory(lambda: kept.sleep_ms(1)) is None
    finally:
        kept._ipoll = old


def test_who_finds_no_memory_at_a_barrier_has_not_come():
    for others in (0, 1):
        b = uthreading.Barrier(2)
        threads = [start(b.wait) for _ in range(others)]
        until(lambda b=b, n=others: b.n_waiting == n)
        assert isinstance(without_memory(b.wait), MemoryError)
        assert b.n_waiting == others and not b.broken
        threads += [start(b.wait) for _ in range(2 - others)]
        for t in threads:
            t.join()


def test_a_thread_that_was_started_is_not_told_to_be_none():
    # With a stack size of its own: what told it was made before it was known to be needed.
    def starts(f, args):
        _thread.start_new_thread(f, args)
        micropython.heap_lock()

    size = uthreading.stack_size(96 * 1024)
    old = kept.set_starter(starts)
    done = []
    try:
        t = uthreading.Thread(target=lambda: done.append(1))
        try:
            t.start()
        finally:
            micropython.heap_unlock()
    finally:
        kept.set_starter(old)
        uthreading.stack_size(size)
    t.join()
    assert done == [1]


def test_who_leaves_a_queue_leaves_the_others_in_their_order():
    for leaves in range(3):
        q = waiting.Queue()
        with q.mutex:
            waiters = [q.enter() for _ in range(3)]
        assert waiters[leaves].leave() and not waiters[leaves].leave()
        gone = waiters.pop(leaves)
        with q.mutex:
            waiters.append(q.enter())  # behind who was last, or has been
        assert queued(q) == 3
        with q.mutex:
            assert q.grant(0) is None
            first = q.grant(2)
        assert first is waiters[0] and first.next is waiters[1] and waiters[1].next is None
        assert [w.granted() for w in waiters + [gone]] == [True, True, False, False]
        assert not waiters[0].leave() and queued(q) == 1
        with q.mutex:
            assert q.grant_all() is waiters[2] and q.grant_all() is None
        assert q.first is None and q.last is None
