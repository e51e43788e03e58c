"""Programs of uthreading alone: kept threads, and what threads wait for, with timeouts."""

from schedules.programs import family, program
from schedules.world import clock, kept, scheduler
from uthreading import (
    Barrier,
    BrokenBarrierError,
    Condition,
    Event,
    Lock,
    RLock,
    Semaphore,
    Thread,
    Timer,
)
from uthreading_support import queued

# Kept threads


@program(bound=2, chance=120)
def threads_one_after_another(w):
    done = []

    def main():
        for i in range(3):
            t = Thread(target=done.append, args=(i,))
            t.start()
            t.join()
            w.expect(not t.is_alive(), "alive after join")
            w.expect(kept.counts() == (1, 0), "threads: %r" % (kept.counts(),))
        w.expect(done == [0, 1, 2], "done: %r" % done)

    w.main(main)


@program(bound=0, chance=400)
def threads_started_by_two(w):
    done = []

    def starts(p, first):
        a, b = [Thread(target=done.append, args=(first + i,)) for i in (0, 1)]
        a.start()
        a.join()
        b.start()
        b.join()

    w.thread("p", starts, 0)
    w.thread("q", starts, 10)
    w.must_end()
    w.at_end(lambda: w.expect(sorted(done) == [0, 1, 10, 11], "done: %r" % done))
    w.at_end(lambda: w.expect(kept.counts()[0] <= 2, "too many threads"))


@program(bound=2, chance=120)
def jobs_with_an_after(w):
    done = []

    def main():
        kept.start(lambda: done.append(1), lambda: kept.start(lambda: done.append(2)))
        kept.start(lambda: done.append(3))

    w.main(main)
    w.must_end()
    w.at_end(lambda: w.expect(sorted(done) == [1, 2, 3], "done: %r" % done))


@program(bound=2, chance=120)
def join_by_three(w):
    t = []
    done = []

    def main():
        t.append(Thread(target=done.append, args=(1,)))
        t[0].start()
        joiners = [Thread(target=joins) for _ in range(2)]
        for j in joiners:
            j.start()
        joins()

    def joins():
        t[0].join()
        w.expect(done == [1] and not t[0].is_alive(), "joined too early")

    w.main(main)
    w.must_end()


@program(bound=2, chance=160)
def join_with_a_timeout(w):
    def main():
        t = Thread(target=lambda: kept.sleep_ms(2))
        t.start()
        t.join(0.002)
        t.join()
        w.expect(not t.is_alive(), "alive after join")

    w.main(main)
    w.must_end()


# Waiting


@program(bound=2, chance=120)
def event_set_while_two_wait(w):
    e = Event()
    w.thread("p", lambda p: w.expect(e.wait() is True, "wait is false"))
    w.thread("q", lambda p: w.expect(e.wait() is True, "wait is false"))
    w.thread("s", lambda p: e.set())
    w.must_end()


@program(bound=2, chance=160)
def event_with_a_timeout(w):
    e = Event()
    got = []
    w.thread("p", lambda p: got.append(e.wait(0.001)))
    w.thread("s", lambda p: e.set())
    w.must_end()
    w.at_end(lambda: w.expect(got in ([True], [False]), "got %r" % got))
    w.at_end(lambda: w.expect(e._queue.first is None, "a waiter is left"))


def exclusive(w, lock, held, n):
    for _ in range(n):
        with lock:
            held.append(1)
            w.expect(len(held) == 1, "two hold the lock")
            kept.sleep_ms(1)
            held.pop()


@family([("lock", (Lock,)), ("rlock", (RLock,)), ("semaphore", (Semaphore,))], bound=2, chance=80)
def exclusion_by(w, kind):
    lock = kind()
    held = []
    for name, n in ("p", 2), ("q", 1), ("r", 1):
        w.thread(name, lambda p, n: exclusive(w, lock, held, n), n)
    w.must_end()


@program(bound=1, chance=160)
def lock_with_a_timeout(w):
    lock = Lock()
    got = []

    def tries(p):
        if lock.acquire(timeout=0.001):
            got.append(1)
            lock.release()

    def holds(p):
        with lock:
            kept.sleep_ms(1)

    w.thread("h", holds)
    w.thread("p", tries)
    w.thread("q", tries)
    w.must_end()
    w.at_end(lambda: w.expect(not lock.locked(), "the lock is held for ever"))
    w.at_end(lambda: w.expect(lock._queue.first is None, "a waiter is left"))


@program(bound=1, chance=160)
def semaphore_permits(w):
    s = Semaphore(0)
    got = []
    w.thread("p", lambda p: got.append(s.acquire(timeout=0.001)))
    w.thread("q", lambda p: got.append(s.acquire(timeout=0.001)))
    w.thread("r", lambda p: s.release())
    w.must_end()

    def judge():
        w.expect(got.count(True) + s._free == 1, "permits: %r, %d free" % (got, s._free))

    w.at_end(judge)


@program(bound=1, chance=160)
def condition_queue(w):
    c = Condition()
    items = []

    def puts(p, *values):
        for v in values:
            with c:
                items.append(v)
                c.notify()

    def takes(p):
        with c:
            while not items:
                c.wait()
            items.pop(0)

    w.thread("p", takes)
    w.thread("q", takes)
    w.thread("w", puts, 1, 2)
    w.must_end()


@program(bound=1, chance=400)
def condition_with_a_timeout(w):
    c = Condition()
    woken = []

    def waits(p, seconds):
        with c:
            woken.append(p.name)
            woken.append((p.name, c.wait(seconds)))

    def notifies(p):
        with c:
            woken.append(("patient", "q" in woken))
            c.notify()

    w.thread("p", waits, 0.001)
    w.thread("q", waits, None)
    w.thread("n", notifies)

    def judge():
        # If one waits without a time limit, the notification reaches somebody.
        notified = len([e for e in woken if e[1:] == (True,) and e[0] != "patient"])
        patient = ("patient", True) in woken
        w.expect(notified == 1 or notified == 0 and not patient, "woken: %r" % (woken,))

    w.at_end(judge)


MOMENTS = [("asleep", (False,)), ("woken", (True,))]


def interrupts(p, name, late):
    for _ in range(3):
        if p.world.interrupt_any(name, late):
            return
        kept.sleep_ms(1)


@family(MOMENTS, bound=1, chance=200)
def interrupted_condition(w, late):
    c = Condition(scheduler.allocate_lock())  # RLock's taking back sleeps on a bolt, too
    woken = []

    def waits(p):
        try:
            with c:
                c.wait()
        except KeyboardInterrupt:
            woken.append("interrupted")
        else:
            woken.append("notified")

    def notifies(p):
        with c:
            n = queued(c._queue)
            c.notify()
        woken.append(n)

    w.thread("p", waits)
    w.thread("q", waits)
    w.thread("n", notifies)
    w.thread("i", interrupts, "p", late)

    def judge():
        n = [x for x in woken if isinstance(x, int)][0]
        lost = n - woken.count("interrupted") > 0 and not woken.count("notified")
        w.expect(not lost, "a notification was lost: %r" % woken)

    w.at_end(judge)


@family(MOMENTS, bound=0, chance=280)
def interrupted_lock(w, late):
    lock = Lock()

    def tries(p):
        try:
            with lock:
                kept.sleep_ms(1)
        except KeyboardInterrupt:
            pass

    for name in "pqr":
        w.thread(name, tries)
    w.thread("i", interrupts, "q", late)
    w.must_end()
    w.at_end(lambda: w.expect(not lock.locked(), "the lock is held for ever"))


@program(bound=1, chance=160)
def barrier_of_two_twice(w):
    b = Barrier(2)
    order = []

    def waits(p):
        for i in 1, 2:
            order.append(i)
            b.wait()
            w.expect(order.count(i) == 2, "let go too early")

    w.thread("p", waits)
    w.thread("q", waits)
    w.must_end()


@program(bound=2, chance=160)
def barrier_with_a_timeout(w):
    b = Barrier(2)
    got = []

    def waits(p, seconds):
        try:
            got.append(b.wait(seconds))
        except BrokenBarrierError:
            got.append("broken")

    w.thread("p", waits, 0.001)
    w.thread("q", waits, None)
    w.must_end()
    w.at_end(lambda: w.expect(sorted(got, key=str) in ([0, 1], ["broken"] * 2), "got %r" % got))


@program(chance=240)
def barrier_of_three_and_a_reset(w):
    b = Barrier(3)
    got = []

    def waits(p):
        try:
            got.append(b.wait())
        except BrokenBarrierError:
            got.append("broken")

    for name in "pqr":
        w.thread(name, waits)
    w.thread("x", lambda p: b.reset())

    def judge():
        waits_still = b.n_waiting
        n = len([x for x in got if x != "broken"])
        w.expect(n in (0, 3) and len(got) + waits_still == 3, "got %r" % got)

    w.at_end(judge)


@program(bound=2, chance=160)
def timer_and_cancel(w):
    called = []

    def main():
        t = Timer(0.001, called.append, (1,))
        t.start()
        t.cancel()
        t.join()
        n = len(called)
        kept.sleep_ms(20)
        w.expect(len(called) == n <= 1, "called after the end")

    w.main(main)
    w.must_end()


@program(bound=2, chance=160)
def alarms(w):
    rung = []
    stopped = []
    a = clock.Alarm(lambda alarm: rung.append("a"))
    b = clock.Alarm(lambda alarm: rung.append("b"))
    w.thread("p", lambda p: (a.start(2), b.start(1)))
    w.thread("q", lambda p: stopped.append(a.stop()))

    def judge():
        w.expect(rung.count("b") == 1, "b rang %d times" % rung.count("b"))
        w.expect(rung.count("a") == (0 if stopped == [True] else 1), "a: %r %r" % (rung, stopped))

    w.at_end(judge)
