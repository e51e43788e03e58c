"""uthreading in uses that few think of, and a `run` of uapycsp that another thread has begun."""

from _thread import get_ident

import uthreading
import upycsp
from uapycsp import process, run
from ufuture import sleep_ms
from ufuture.loop import engine
from uthreading import kept

from uthreading_support import MODULES, raises, until


def woken_by(module, n):
    # How many of three threads that wait go on after notify(n).
    changed = module.Condition()
    woken = []
    begun = []

    def waits():
        with changed:
            begun.append(1)
            changed.wait()
            woken.append(1)

    threads = [module.Thread(target=waits) for _ in range(3)]
    for t in threads:
        t.start()
    until(lambda: len(begun) == 3)
    with changed:  # which the last one has let go of: all of them wait
        changed.notify(n)
    until(lambda: len(woken) >= n)
    kept.sleep_ms(50)  # for those who should not
    m = len(woken)
    with changed:
        changed.notify_all()
    for t in threads:
        t.join()
    return m


def test_notify_of_less_than_nobody_wakes_nobody():
    for module in MODULES:
        for n in (0, -1, -2, -5):
            assert woken_by(module, n) == 0, (module, n)
        assert woken_by(module, 2) == 2


class Counts(uthreading.local):
    step = 2

    def __init__(self):
        self.n = 0

    def count(self):
        self.n += self.step


def test_what_stands_in_the_class_of_a_local_is_not_set_in_silence():
    mine = Counts()
    assert "step" in raises(AttributeError, setattr, mine, "step", 3)
    assert "count" in raises(AttributeError, setattr, mine, "count", None)
    mine.count()
    seen = []

    def looks():
        mine.count()
        mine.count()
        seen.append(mine.n)

    t = uthreading.Thread(target=looks)
    t.start()
    t.join()
    assert seen == [4] and mine.n == 2 and mine.step == 2


@process
async def waits_for(events):
    while not events:
        await sleep_ms(1)
    return "waited"


def test_a_run_in_another_thread_than_the_one_that_runs_is_a_runtime_error():
    events = []

    def runs():
        try:
            run(waits_for([1]))
        except RuntimeError as er:
            events.append(str(er))
        except BaseException as er:
            events.append(repr(er))
        else:
            events.append("no error")

    @process
    async def starts():
        t = uthreading.Thread(target=runs)
        t.start()
        result = await waits_for(events)
        t.join()
        return result

    assert run(starts()) == "waited"
    assert "runs already" in events[0], events
    # When it has ended, the other thread may.
    del events[:]
    t = uthreading.Thread(target=runs)
    t.start()
    t.join()
    assert events == ["no error"]
    assert run(waits_for([1])) == "waited"


def test_a_run_in_another_thread_is_refused_also_while_the_loop_sleeps():
    told = []

    @process
    async def sleeps():
        t = uthreading.Thread(target=asks)
        t.start()
        await sleep_ms(50)
        t.join()
        return engine.is_busy()

    def asks():
        # The loop is asleep soon: no task of it runs then.
        for _ in range(20):
            told.append(engine.is_busy())
            kept.sleep_ms(1)

    assert run(sleeps()) is True
    assert told == [True] * 20, told
    assert engine.is_busy() is False


# Ctrl-C in the library's own threads, as up to MicroPython 1.16


@upycsp.process
def reads(cin):
    cin()


def test_ctrl_c_that_comes_to_the_watchdog_does_not_end_it():
    sleep_ms = kept.sleep_ms
    main = get_ident()
    hits = [1]

    def sleeps(ms):
        if get_ident() != main and hits[0]:
            hits[0] = 0
            raise KeyboardInterrupt
        sleep_ms(ms)

    kept.sleep_ms = sleeps
    try:
        for _ in range(2):
            p = reads(upycsp.Channel("c").read)
            said = raises(upycsp.DeadlockError, upycsp.run, p)
            assert said == "1 process waits: reads reads c"
    finally:
        kept.sleep_ms = sleep_ms
        kept.interrupted = False
    assert hits == [0]


def test_a_run_within_a_run_leaves_ctrl_c_to_the_main_thread():
    @upycsp.process
    def nothing():
        pass

    @upycsp.process
    def nests():
        kept.interrupted = True
        upycsp.run(nothing())
        told.append(kept.interrupted)
        kept.interrupted = False

    told = []
    upycsp.run(nests(), nothing())
    assert told == [True]
