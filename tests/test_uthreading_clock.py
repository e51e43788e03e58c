"""Alarms: in order, never early, movable, and cheap to have: counted, not timed."""

import gc
import os
import sys
import time
from _thread import allocate_lock, get_ident

import uthreading
from uthreading import clock, kept
from uthreading.clock import Alarm

from uthreading_support import MICROPYTHON, until

PROC = sys.platform == "linux"  # says how often each thread has slept
REAL_SLEEP_MS = kept.sleep_ms
REAL_TICKS_MS = clock.ticks_ms


class Bell:
    """Alarms that note when they went off, under a lock."""

    def __init__(self):
        self.lock = allocate_lock()
        self.rung = []

    def alarm(self, label):
        def ring(a):
            with self.lock:
                self.rung.append((label, clock.ticks_ms(), get_ident()))

        return Alarm(ring)

    def labels(self):
        with self.lock:
            return [label for label, _, _ in self.rung]


def test_an_alarm_goes_off_once_and_not_early():
    bell = Bell()
    a = bell.alarm("a")
    start = clock.ticks_ms()
    a.start(30)
    until(lambda: bell.rung)
    kept.sleep_ms(20)
    ((_, when, ident),) = bell.rung
    assert clock.ticks_diff(when, start) >= 30
    assert ident != get_ident()
    assert a.stop() is False


def test_no_alarm_is_a_fraction_of_a_millisecond_early():
    far = Alarm(lambda a: None)
    far.start(60000)  # so that the timer thread is in the middle of its slices
    for i in range(30):
        rung = []
        done = allocate_lock()
        done.acquire()

        def ring(a, rung=rung, done=done):
            rung.append(microseconds())
            done.release()

        a = Alarm(ring)
        # Starts at any moment of a tick, not just behind its beginning.
        start = microseconds() + i * 370 % 1000
        while microseconds() < start:
            pass
        start = microseconds()
        a.start(12)  # more than a slice
        done.acquire()
        assert rung[0] - start >= 12000
    far.stop()


def microseconds():
    return time.time_ns() // 1000 if MICROPYTHON else time.monotonic_ns() // 1000


def test_the_callback_gets_its_alarm():
    seen = []
    a = Alarm(seen.append)
    a.start(1)
    until(lambda: seen)
    assert seen == [a]


def test_a_stopped_alarm_stays_silent():
    bell = Bell()
    a = bell.alarm("a")
    assert a.stop() is False
    with TimeStandsStill():
        a.start(10)
        assert a.stop() is True
    assert a.stop() is False
    b = bell.alarm("b")
    b.start(30)
    until(lambda: bell.rung)
    assert bell.labels() == ["b"]


def test_starting_again_moves_an_alarm():
    bell = Bell()
    a = bell.alarm("a")
    with TimeStandsStill():
        a.start(20)
        start = clock.ticks_ms()
        a.start(60)
    until(lambda: bell.rung)
    assert clock.ticks_diff(bell.rung[0][1], start) >= 60
    a.start(60000)
    a.start(0)
    until(lambda: len(bell.rung) == 2)
    assert a.stop() is False


def test_1000_alarms_go_off_in_order():
    bell = Bell()
    delays = [(i * 617) % 1000 for i in range(1000)]
    alarms = [bell.alarm(d) for d in delays]
    with TimeStandsStill():
        for a, d in zip(alarms, delays):
            a.start(100 + d // 4)
    until(lambda: len(bell.labels()) == 1000)
    order = [label // 4 for label in bell.labels()]
    assert order == sorted(order)
    assert clock._armed == []


class TimeStandsStill:
    """The clock shows one time while this is in force, and goes on where it should be."""

    def __enter__(self):
        now = clock.ticks_ms()
        self.old = clock.ticks_ms
        clock.ticks_ms = lambda: now

    def __exit__(self, *args):
        clock.ticks_ms = self.old


def test_alarms_due_together_go_off_in_the_order_of_their_start():
    bell = Bell()
    with TimeStandsStill():
        alarms = [bell.alarm(i) for i in range(50)]
        for a in alarms:
            a.start(20)
        alarms[7].stop()
        assert len({a.due for a in alarms if a.due is not None}) == 1
    until(lambda: len(bell.labels()) == 49)
    assert bell.labels() == [i for i in range(50) if i != 7]


def test_of_1000_alarms_any_can_be_stopped():
    bell = Bell()
    alarms = [bell.alarm(i) for i in range(1000)]
    for i, a in enumerate(alarms):
        a.start(60000 + (i * 37) % 100)
    assert all(alarms[i].stop() for i in range(0, 1000, 2))
    for i in range(1, 1000, 2):
        alarms[i].start(0)
    until(lambda: len(bell.labels()) == 500)
    assert bell.labels() == list(range(1, 1000, 2))


def test_a_callback_may_start_and_stop_alarms():
    bell = Bell()
    victim = bell.alarm("victim")
    victim.start(60000)
    seen = []

    def again(a):
        seen.append(victim.stop())
        if len(seen) < 4:
            a.start(1)

    Alarm(again).start(1)
    until(lambda: len(seen) == 4)
    assert seen == [True, False, False, False] and bell.rung == []


def test_stop_does_not_wait_for_a_running_callback():
    gate = allocate_lock()
    gate.acquire()
    inside = []

    def callback(a):
        inside.append(1)
        gate.acquire()
        inside.append(2)

    a = Alarm(callback)
    a.start(1)
    until(lambda: inside == [1])
    assert a.stop() is False
    assert inside == [1]
    gate.release()
    until(lambda: inside == [1, 2])


def test_an_exception_in_a_callback_is_reported_and_the_timer_goes_on():
    bell = Bell()
    reported = []
    old = uthreading.excepthook
    uthreading.excepthook = lambda args: reported.append(args.exc_value)
    try:

        def fail(a):
            raise ValueError("from an alarm")

        Alarm(fail).start(1)
        bell.alarm("next").start(5)
        until(lambda: bell.rung)
    finally:
        uthreading.excepthook = old
    assert [type(e) for e in reported] == [ValueError]


class Gate:
    """A lock whose acquire is hit by Ctrl-C `hits` times."""

    def __init__(self, lock):
        self.lock = lock
        self.hits = 0
        self.release = lock.release

    def acquire(self, wait=1):
        if self.hits:
            self.hits -= 1
            raise KeyboardInterrupt
        return self.lock.acquire(wait)


def test_ctrl_c_that_comes_to_the_timer_thread_is_handed_on():
    # As MicroPython did up to 1.16: it went to whichever thread ran.
    bell = Bell()
    bell.alarm("before").start(0)
    until(lambda: bell.rung)
    gate = clock._gate
    sleep_ms = kept.sleep_ms
    main = get_ident()
    hits = [2]

    def sleeps(ms):
        if get_ident() != main and hits[0]:
            hits[0] -= 1
            raise KeyboardInterrupt
        sleep_ms(ms)

    clock._gate = Gate(gate)
    kept.sleep_ms = sleeps
    kept.interrupted = False
    try:
        slept = 0
        while hits[0]:  # again, if the machine was so slow that it had no time to sleep twice
            slept += 1
            bell.alarm("slept").start(20 << slept)
            until(lambda: len(bell.rung) == 1 + slept)
        assert kept.interrupted
        until(lambda: clock._parked)
        kept.interrupted = False
        clock._gate.hits = 2
        bell.alarm("parks").start(0)
        until(lambda: kept.interrupted and not clock._gate.hits)
        bell.alarm("parked").start(0)
        until(lambda: len(bell.rung) == 3 + slept)
        until(lambda: clock._parked)
    finally:
        kept.interrupted = False
        kept.sleep_ms = sleep_ms
        clock._gate = gate
    bell.alarm("after").start(0)
    until(lambda: len(bell.rung) == 4 + slept)
    assert bell.labels() == ["before"] + ["slept"] * slept + ["parks", "parked", "after"]


def test_a_gate_is_open_when_a_start_lets_go_of_its_lock():
    # Who starts an alarm may be interrupted from there on.
    bell = Bell()
    until(lambda: clock._parked)
    lock = clock._lock

    class Interrupted:
        def __enter__(self):
            lock.acquire()

        def __exit__(self, *args):
            lock.release()
            if get_ident() == main:
                raise KeyboardInterrupt

    main = get_ident()
    clock._lock = Interrupted()
    try:
        try:
            bell.alarm("interrupted").start(0)
            assert False
        except KeyboardInterrupt:
            pass
    finally:
        clock._lock = lock
    until(lambda: bell.rung)
    bell.alarm("next").start(0)
    until(lambda: len(bell.rung) == 2)


def test_ctrl_c_just_before_a_callback_loses_no_alarm():
    bell = Bell()
    hits = [2]

    def hit(x, kind):
        if hits[0] and isinstance(x, Alarm):
            hits[0] -= 1
            raise KeyboardInterrupt
        return isinstance(x, kind)

    clock.isinstance = hit
    try:
        bell.alarm("hit").start(0)
        until(lambda: bell.rung)
    finally:
        del clock.isinstance
        kept.interrupted = False
    assert hits == [0] and bell.labels() == ["hit"]


def test_ticks_may_wrap_around():
    if not MICROPYTHON:
        return  # its clock does not
    real = clock.ticks_ms
    # 40 ms before the jump from the largest tick to the smallest
    zero = None  # it stands still until all are started

    def ticks():
        return time.ticks_add(0 if zero is None else time.ticks_diff(real(), zero), -40)

    clock.ticks_ms = ticks
    try:
        bell = Bell()
        before = clock.ticks_ms()
        for label in (100, 20, 60, 0, 80, 40):
            bell.alarm(label).start(label)
        zero = real()
        until_real(real, lambda: len(bell.rung) == 6)
        after = clock.ticks_ms()
    finally:
        clock.ticks_ms = real
    assert bell.labels() == [0, 20, 40, 60, 80, 100]
    assert after < before  # it did wrap


def until_real(real, condition):
    end = time.ticks_add(real(), 30000)
    while not condition():
        assert time.ticks_diff(end, real()) > 0, "the alarms never went off"
        kept.sleep_ms(1)


def test_an_alarm_farther_away_than_ticks_reach_goes_by_stages():
    old = clock.FAR_MS
    clock.FAR_MS = 10
    try:
        bell = Bell()
        start = clock.ticks_ms()
        bell.alarm("far").start(55)
        bell.alarm("near").start(15)
        until(lambda: len(bell.rung) == 2)
    finally:
        clock.FAR_MS = old
    # If the machine stands still both are due, and their stages say who comes first.
    rung = {label: when for label, when, _ in bell.rung}
    assert clock.ticks_diff(rung["near"], start) >= 15
    assert clock.ticks_diff(rung["far"], start) >= 55


def test_a_year_can_be_armed_and_stopped():
    a = Alarm(lambda a: None)
    a.start(365 * 24 * 3600 * 1000)
    assert a.stop() is True and clock._armed == []


def test_if_the_timer_cannot_be_started_nothing_is_armed():
    # As if no alarm had been used yet, and no thread were idle.
    gates = []
    for _ in range(kept.counts()[0]):
        gate = allocate_lock()
        gate.acquire()
        gates.append(gate)
        kept.start(gate.acquire)

    def start_new_thread(function, args):
        raise OSError("can't create thread")

    started = clock._started
    clock._started = False
    old = kept.set_starter(start_new_thread)
    a = Alarm(lambda a: None)
    try:
        for wait in (lambda: a.start(10), lambda: uthreading.Event().wait(0.01)):
            try:
                wait()
            except RuntimeError as e:
                assert "can't start a new thread" in str(e)
            else:
                assert False, "the failure went unnoticed"
        assert a.due is None and clock._armed == [] and a.stop() is False
        lock = uthreading.Lock()
        lock.acquire()
        condition = uthreading.Condition()
        semaphore = uthreading.Semaphore(0)
        for f in (
            lambda: lock.acquire(timeout=0.01),
            lambda: semaphore.acquire(timeout=0.01),
            lambda: held_wait(condition),
        ):
            try:
                f()
            except RuntimeError:
                pass
            else:
                assert False, "the failure went unnoticed"
        for it in (lock, condition, semaphore):
            assert it._queue.first is None
        with condition:
            pass  # nobody holds it
    finally:
        clock._started = started
        kept.set_starter(old)
        for gate in gates:
            gate.release()
    until(lambda: kept.counts()[1] == 0)


def held_wait(condition):
    with condition:
        condition.wait(0.01)


def test_the_timer_thread_is_not_counted():
    before = kept.counts()
    a = Alarm(lambda a: None)
    a.start(1000)
    idle, busy = kept.counts()
    a.stop()
    assert busy == 0 and idle <= before[0]


def test_the_timer_sleeps_in_slices_and_not_at_all_when_idle():
    count = [0, 0]  # slices, and the longest

    def sleep_ms(ms):
        count[0] += 1  # the timer thread alone comes here
        count[1] = max(count[1], ms)
        REAL_SLEEP_MS(ms)

    a = Alarm(lambda a: None)
    a.start(1)
    until_idle()
    kept.sleep_ms = sleep_ms
    try:
        a.start(600000)
        for _ in range(30000):
            if count[0] >= 10:
                break
            REAL_SLEEP_MS(1)
        assert count[0] >= 10 and count[1] == 5, count
        a.stop()
        until_idle()
        n = count[0]
        REAL_SLEEP_MS(40)
        assert count[0] == n
    finally:
        kept.sleep_ms = REAL_SLEEP_MS


def until_idle():
    for _ in range(30000):
        if clock._parked or not clock._started:
            return
        REAL_SLEEP_MS(1)
    assert False, "the timer never parked"


def tasks():
    """The state of each thread but the main one, and how often it gave up a processor."""
    if not PROC:
        return {}
    with open("/proc/self/stat") as file:
        main = file.read().split()[0]
    threads = {}
    for tid in os.listdir("/proc/self/task"):
        if tid != main:
            with open("/proc/self/task/{}/status".format(tid)) as file:
                lines = file.read().split("\n")
            threads[tid] = [line for line in lines if "ctxt_switches" in line]
            threads[tid] += [line.split()[1] for line in lines if line.startswith("State:")]
    return threads


class Counted:
    """Counts what the timer thread does while this is in force."""

    def __init__(self):
        self.main = get_ident()
        self.slices = self.looks = self.short = 0

    def __enter__(self):
        self.ticks_ms = clock.ticks_ms
        self.sleep_ms = kept.sleep_ms
        gc.collect()
        gc.disable()  # on MicroPython a collection wakes all threads
        clock.ticks_ms = self.look
        kept.sleep_ms = self.slice
        return self

    def __exit__(self, *args):
        clock.ticks_ms = self.ticks_ms
        kept.sleep_ms = self.sleep_ms
        gc.enable()

    def look(self):
        if get_ident() != self.main:
            self.looks += 1
        return self.ticks_ms()

    def slice(self, ms):
        start = REAL_TICKS_MS()
        self.sleep_ms(ms)
        if get_ident() != self.main:
            # On a slow machine a slice takes longer, never less.
            if ms < 5 or clock.ticks_diff(REAL_TICKS_MS(), start) < ms:
                self.short += 1
            self.slices += 1


def unrest(timer, tries=150):
    """What keeps the threads from sleeping, in words; timer: whether the timer may wake.

    Waits for 200 ms in which nothing does: what had begun before may go on at first.
    """
    fault = "no try"
    while tries and fault:
        tries -= 1
        fault = unrest_now(timer)
    return fault


def notices(fault, timer):
    """Whether each look finds something, and one this fault: before it may come what starts."""
    for _ in range(150):
        found = unrest_now(timer)
        if found == fault or not found:
            break
    return found == fault


def unrest_now(timer):
    with Counted() as count:
        before = tasks()
        REAL_SLEEP_MS(200)
        if timer:  # where the machine stands still it may not have come by yet
            until(lambda: count.slices >= 10, "the timer's tenth slice")
        slices = count.slices
        looks = count.looks
        short = count.short
        after = tasks()
    awake = [t for t in after if after[t][-1] != "S" or after[t] != before.get(t)]
    if len(awake) > timer:
        return "threads that do not sleep"
    if not timer:
        return "a timer that wakes" if looks or slices else ""
    if short:
        return "a timer that sleeps too short"
    return "a timer that looks without a sleep" if looks > slices + 2 else ""


class Waiting:
    """20 threads that wait for an event, with a time limit far away."""

    def __enter__(self):
        self.events = [uthreading.Event() for _ in range(20)]
        self.threads = [uthreading.Thread(target=e.wait, args=(600,)) for e in self.events]
        for t in self.threads:
            t.start()

    def __exit__(self, *args):
        for e in self.events:
            e.set()
        for t in self.threads:
            t.join()


def test_who_waits_sleeps_and_the_timer_alone_wakes_every_5_ms():
    with Waiting():
        assert unrest(True) == ""


def test_idle_threads_sleep():
    until_idle()
    assert unrest(False) == ""


def unrest_beside(act, timer):
    """The same while one more thread does act() again and again."""
    ended = []

    def again():
        while not ended:
            act()

    t = uthreading.Thread(target=again)
    t.start()
    try:
        return unrest(timer, 3)
    finally:
        ended.append(True)
        t.join()


def test_a_thread_that_spins_or_polls_would_be_noticed():
    if not PROC:
        return
    for act in (lambda: None, lambda: REAL_SLEEP_MS(1)):
        until_idle()
        assert unrest_beside(act, False) == "threads that do not sleep"
        with Waiting():
            assert unrest_beside(act, True) == "threads that do not sleep"


def test_a_timer_that_spins_or_does_not_park_would_be_noticed():
    def busy(ms):
        end = clock.ticks_ms() + ms
        while clock.ticks_diff(end, clock.ticks_ms()) > 0:
            pass

    for sleep_ms, fault in (
        (lambda ms: None, "a timer that sleeps too short"),  # a kernel under load makes 4 ms of 0
        (busy, "a timer that looks without a sleep"),
    ):
        kept.sleep_ms = sleep_ms
        try:
            with Waiting():
                assert notices(fault, True)
        finally:
            kept.sleep_ms = REAL_SLEEP_MS
    far = Alarm(lambda a: None)
    far.start(600000)
    noticed = notices("threads that do not sleep" if PROC else "a timer that wakes", False)
    far.stop()
    assert noticed


def test_seconds_are_rounded_up():
    for seconds, ms in ((0, 0), (0.0001, 1), (0.001, 1), (0.0015, 2), (1, 1000), (2.5, 2500)):
        assert clock.to_ms(seconds) == ms


def test_alarms_of_many_threads():
    bell = Bell()
    alarms = [[bell.alarm((k, i)) for i in range(60)] for k in range(6)]
    stopped = [0] * 6

    def use(k):
        for i, a in enumerate(alarms[k]):
            a.start(i % 7)
            if i % 3 == 0 and a.stop():
                stopped[k] += 1

    threads = [uthreading.Thread(target=use, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    until(lambda: len(bell.labels()) + sum(stopped) == 360)
    assert len(set(bell.labels())) == len(bell.labels()) and clock._armed == []
