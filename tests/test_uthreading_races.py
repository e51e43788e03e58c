"""A timeout that races with a release, a notify or a set loses nothing and leaves nothing.

The clock is replaced: an alarm goes off, in a thread of its own, the moment it is started, and
at the same moment another thread releases or notifies. Each round is such a race.
"""

import sys
from _thread import allocate_lock

import uthreading
from uthreading import clock, kept, waiting

from uthreading_support import queued

TIME_LIMIT = 240

# With a GIL a round takes longer, and now and then always the same one wins.
MICROPYTHON = sys.implementation.name == "micropython"
ROUNDS = 10000 if MICROPYTHON else 2000


class Racer:
    """A thread that does one thing whenever it is told to."""

    def __init__(self):
        self.go = allocate_lock()
        self.done = allocate_lock()
        self.go.acquire()
        self.done.acquire()
        self.job = None
        self.thread = uthreading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while True:
            self.go.acquire()
            job = self.job
            if job is None:
                return
            job()
            self.done.release()

    def end(self):
        self.job = None
        self.go.release()
        self.thread.join()


class Race:
    """Replaces the clock while it is in force; `other` is what runs against the timeout."""

    def __init__(self, other):
        self.other = other
        self.won = [0, 0]  # timeouts, grants
        self.swing = 0

    def __enter__(self):
        race = self

        class RacingAlarm:
            def __init__(self, callback):
                self.callback = callback

            def start(self, ms):
                race.start(lambda: self.callback(self))

            def stop(self):
                return False

        self.racers = Racer(), Racer()
        self.old = waiting.Alarm
        waiting.Alarm = RacingAlarm
        return self

    # Sets off both, now one and now the other a little earlier.
    def start(self, expire):
        a, b = self.racers
        a.job = expire
        b.job = self.other
        self.swing = (self.swing * 5 + 3) % 64
        if self.swing & 1:
            a, b = b, a
        a.go.release()
        for _ in range(self.swing >> 1):
            pass
        b.go.release()

    def finish(self, granted):
        """Waits for both; one round is over, in which the waiter got something or did not."""
        for racer in self.racers:
            racer.done.acquire()
        self.won[1 if granted else 0] += 1

    def __exit__(self, *args):
        waiting.Alarm = self.old
        for racer in self.racers:
            racer.end()


def both_happened(race):
    assert sum(race.won) == ROUNDS
    assert min(race.won) > 0 or not MICROPYTHON, "no race: {}".format(race.won)


def test_a_release_of_a_semaphore_against_a_timeout():
    s = uthreading.Semaphore(0)
    with Race(s.release) as race:
        for _ in range(ROUNDS):
            got = s.acquire(timeout=1)
            race.finish(got)
            assert s._queue.first is None
            assert s.acquire(False) is not got  # the permit went to exactly one of the two
    both_happened(race)


def test_a_release_of_a_lock_against_a_timeout():
    lock = uthreading.Lock()
    with Race(lock.release) as race:
        for _ in range(ROUNDS):
            lock.acquire()
            got = lock.acquire(timeout=1)
            race.finish(got)
            assert lock._queue.first is None
            assert lock.locked() is got
            if got:
                lock.release()
    both_happened(race)


def test_a_set_against_a_timeout():
    event = uthreading.Event()
    with Race(event.set) as race:
        for _ in range(ROUNDS):
            got = event.wait(1)
            race.finish(got)
            assert event._queue.first is None and event.is_set()
            event.clear()
    both_happened(race)


def test_a_notify_against_a_timeout():
    c = uthreading.Condition()
    told = [0]

    def notify():
        with c:
            told[0] += queued(c._queue)  # 0 if the timeout came first
            c.notify()

    with Race(notify) as race:
        for _ in range(ROUNDS):
            with c:
                got = c.wait(1)
            race.finish(got)
            assert c._queue.first is None
            assert c._is_owned() is False
    both_happened(race)
    assert race.won[1] <= told[0]


def test_a_notify_that_a_timeout_escapes_reaches_the_next():
    # Two wait, one of them with the racing clock: of one notify per round none may be lost.
    c = uthreading.Condition()
    lock = allocate_lock()
    patient = [0]
    stop = []

    def wait_without_limit():
        while True:
            with c:
                c.wait()
                if stop:
                    return
                with lock:
                    patient[0] += 1

    def notify():
        with c:
            c.notify()

    t = uthreading.Thread(target=wait_without_limit)
    t.start()
    got_both = 0
    with Race(notify) as race:
        for _ in range(ROUNDS // 4):
            until(lambda: queued(c._queue) == 1)
            with lock:
                before = patient[0]
            with c:
                got = c.wait(1)
            race.finish(got)
            until(lambda: queued(c._queue) == 1)  # the patient one waits again
            with lock:
                got_both += got + patient[0] - before
    with c:
        stop.append(1)
        c.notify_all()
    t.join()
    assert got_both == ROUNDS // 4


def until(condition):
    while not condition():
        kept.sleep_ms(0)


def test_a_barrier_that_fills_against_a_timeout():
    outcomes = []

    def other():
        try:
            b.wait(0)  # 0: it does not wait, so it completes the round or breaks it
            outcomes.append(True)
        except uthreading.BrokenBarrierError:
            outcomes.append(False)

    with Race(other) as race:
        for _ in range(ROUNDS):
            b = uthreading.Barrier(2)
            try:
                b.wait(1)
                got = True
            except uthreading.BrokenBarrierError:
                got = False
            race.finish(got)
            assert outcomes == [got]  # both passed or both did not
            assert b.broken is not got
            outcomes.pop()
    both_happened(race)


def test_the_end_of_a_thread_against_a_timeout():
    gate = allocate_lock()
    gate.acquire()
    rounds = ROUNDS // 4
    with Race(gate.release) as race:
        for _ in range(rounds):
            t = uthreading.Thread(target=gate.acquire)
            t.start()
            t.join(1)
            race.finish(t._joiners.first is None)
            t.join()
            assert not t.is_alive()
    assert uthreading.active_count() == 1


def test_timeouts_by_the_real_clock_under_load():
    lock = uthreading.Lock()
    s = uthreading.Semaphore(2)
    counts = [0, 0, 0]  # in the lock now, rounds, timeouts
    guard = allocate_lock()

    def work(seed):
        for i in range(150):
            seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
            if lock.acquire(timeout=(seed >> 8) % 5 / 1000):
                counts[0] += 1
                assert counts[0] == 1
                if i % 5 == 0:
                    kept.sleep_ms(1)
                counts[0] -= 1
                lock.release()
            else:
                with guard:
                    counts[2] += 1
            if s.acquire(timeout=(seed >> 12) % 3 / 1000):
                s.release()
            with guard:
                counts[1] += 1

    failed = []
    old = uthreading.excepthook
    uthreading.excepthook = failed.append
    threads = [uthreading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    uthreading.excepthook = old
    assert failed == [] and counts[:2] == [0, 900]
    assert lock._queue.first is None and s._queue.first is None
    assert [s.acquire(False) for _ in range(3)] == [True, True, False]
    assert not lock.locked() and clock._armed == []
