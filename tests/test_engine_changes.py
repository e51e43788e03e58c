"""The engine where a small change of it would show: see tools/mutation.py.

What is said of a task holds for those that the engine runs and for those that asyncio does.
"""

import sys

from ufuture_support import (
    KINDS,
    MICROPYTHON,
    CancelledError,
    Foreign,
    Outcome,
    Place,
    SkipTest,
    asyncio,
    block_ms,
    ends_of,
    fails,
    raises,
    renew_loop,
    returns,
    settle,
    sleep_long,
    sleep_ms,
    until,
    waiting,
)

from ufuture.loop import engine


class Serving(engine.Owned):
    """A task that waits on its own state, as the processes of uapycsp do, or on a place."""

    serves = MICROPYTHON

    def __init__(self, coro):
        self.ends = 0
        engine.start(self, coro)

    def ended(self, value, exception):
        self.value = value
        self.exception = exception
        self.ends += 1

    async def end(self):
        await until(lambda: self.ends)
        return self.value


@engine.coroutine
def behind(place):
    wait = engine.park(place)
    place.wake()
    yield wait


def on_micropython():
    if not MICROPYTHON:
        raise SkipTest("the driver is MicroPython's")


# What a subclass gets


async def test_what_does_not_tell_was_not_woken_and_does_nothing_at_its_end():
    p = engine.Parked()
    assert p.cancelled() is False
    assert engine.Owned().ended(1, None) is None
    for kind in KINDS:
        t = kind(at(p))
        await settle()
        engine.wake(p)
        t.cancel()
        with raises(CancelledError):
            await t.end()


@engine.coroutine
def at(parked):
    yield engine.park(parked)


# One place, many kinds of tasks


async def test_a_wake_reaches_who_waits_now_and_not_who_waited_before():
    kinds = (Outcome, Foreign, Serving)
    for first in kinds:
        for second in kinds:
            p, q = Place("p"), Place("q")

            async def one_after_another():
                return await p.wait(), await q.wait()

            t = await waiting(first, p, one_after_another())
            p.wake()
            await until(q.waits)
            u = await waiting(second, p)
            p.wake()
            assert await u.end() == "p"
            assert not t.ends and q.waits()
            q.wake()
            assert await t.end() == ("p", "q")


async def test_what_was_parked_and_unparked_wakes_nobody():
    for kind in KINDS:
        for limit in (None, 60000):
            p, q = Place("p"), Place("q")

            async def waits_elsewhere():
                inner = p.wait() if limit is None else p.wait_ms(limit)
                inner = inner.__await__() if hasattr(inner, "__await__") else inner
                next(inner)
                assert engine.unpark() is p
                inner.close()
                return await q.wait()

            t = await waiting(kind, q, waits_elsewhere())
            engine.unlimit(p)
            engine.wake(p)
            await settle()
            assert not t.ends and q.waits()
            q.wake()
            assert await t.end() == "q"
            if MICROPYTHON:
                assert engine.core._task_queue.peek() is None


async def test_a_look_at_a_place_changes_nothing():
    on_micropython()
    for kind in KINDS:
        p = Place("p")
        t = await waiting(kind, p, p.wait_ms(60000))

        async def looks():
            return bool(p)

        for other in KINDS:
            assert await other(looks()).end() is True
        assert bool(p) is True
        assert p.queued
        p.wake()
        assert await t.end() is True
        assert engine.core._task_queue.peek() is None


async def test_a_limit_that_is_over_changes_nothing_where_the_next_wait_is_cancelled():
    # More others are ready than one round resumes: their turn comes before that of its old wake.
    for kind in KINDS:
        for limit in 60000, 1:
            p = Place("p")
            over = []

            async def withstands():
                try:
                    over.append(await p.wait_ms(limit))
                except CancelledError:
                    over.append("cancelled")
                try:
                    await p.wait()
                except CancelledError:
                    p.woken = False
                return await p.wait()

            t = await waiting(kind, p, withstands())
            if limit > 1:
                t.cancel()
            await until(lambda: over)
            others = [Place(i) for i in range(150)]
            tasks = [Outcome(place.wait()) for place in others]
            await until(lambda: all(place.waits() for place in others))
            for place in others:
                place.wake()
            p.woken = True
            engine.wake(p)  # there is no limit to take back
            t.cancel()
            assert await ends_of(tasks) == list(range(150))
            await settle()
            assert p.waits() and not t.ends and p.cancels[-1] is True
            engine.wake(p)
            assert await t.end() == "p"


def test_a_look_at_a_place_needs_no_loop():
    on_micropython()
    renew_loop()
    engine.core.cur_task = None  # as before the first run
    assert bool(Place()) is True


# Orders


async def test_the_order_of_a_wake_stays_when_it_is_handed_to_asyncio():
    # Some rounds of all kinds of entries; tasks end in the middle of each.
    for n in (5, 63, 64, 65, 200):
        places = [Place(i) for i in range(n)]
        for i in range(n):
            await waiting(KINDS[i % 3 == 1], places[i])
        last = Place("last")
        seen = []

        async def looks():
            await last.wait()
            for p, order in at_wake:
                if MICROPYTHON and p.foreign is not None and p.queued:
                    seen.append((engine.order_of(p), order))

        t = await waiting(Outcome, last, looks())
        at_wake = []
        for p in places:
            p.wake()
            at_wake.append((p, engine.order_of(p)))
        last.wake()
        after = engine.order()
        await t.end()
        assert after > at_wake[-1][1]
        for now, before in seen:
            assert now == before
        assert seen or not MICROPYTHON or n > 60
        await settle()


async def test_orders_without_a_wake_go_up_between_two_wakes():
    p = Place()
    await waiting(Outcome, p)
    orders = [engine.order() for _ in range(100)]
    p.wake()
    assert engine.woken() is p
    orders.append(engine.order_of(p))
    orders += [engine.order() for _ in range(100)]
    assert orders == sorted(orders)
    assert len(set(orders)) == len(orders)


async def test_orders_go_round_and_stay_small_ints_of_31_bits():
    on_micropython()
    n = 70
    for before in (3, 20, 66):
        places = [Place(i) for i in range(n)]
        for i in range(n):
            await waiting(KINDS[i % 3 == 1], places[i])
        await settle()
        engine._base = (1 << 26) - before
        orders = []
        for p in places:
            p.wake()
            orders.append(engine.order_of(p))
            orders += [engine.order(), engine.order()]
        assert all(0 <= order < 1 << 30 for order in orders)
        assert orders != sorted(orders)
        for i in range(len(orders) - 1):
            assert 0 < orders[i + 1] - orders[i] & 0x3FFFFFFF < 1 << 29
        await settle()
        assert 0 <= engine._base < 1 << 26


async def test_values_are_given_back_in_order_when_orders_go_round():
    on_micropython()
    from uapycsp import Channel, Parallel

    async def reads_beside(cin, never):
        await Parallel(cin, never)

    for before in range(1, 9):
        c, d = Channel("c"), Channel("d")
        loop = asyncio.get_event_loop()
        tasks = [loop.create_task(reads_beside(c.read, d.read)) for _ in range(5)]
        await until(lambda: c.queue_len() == 5)
        await settle()
        engine._base = (1 << 26) - before
        for v in range(5):
            await c.write(v)
            await settle()
        for i in (3, 0, 4, 2, 1):
            tasks[i].cancel()
            await settle()
        c.verify()
        for v in range(5):
            assert await c.read() == v


def test_what_asyncio_loads_late_is_found_where_modules_ask_no_getattr():
    on_micropython()

    class Module:
        there = 1

    asked = []

    def late(name):
        # The first to ask is hasattr, which does not in Pycom's firmware.
        asked.append(name)
        if asked.count(name) < 2 or name != "late":
            raise AttributeError(name)
        return 2

    module = Module()
    setattr(module, "__getattr__", late)
    asyncio, engine.asyncio = engine.asyncio, module
    try:
        assert [engine.of_asyncio(name) for name in ("there", "late", "none")] == [1, 2, None]
    finally:
        engine.asyncio = asyncio


# Rounds of the driver


async def test_asyncio_is_served_between_many_wakes_of_its_own_tasks():
    on_micropython()
    order = []
    places = [Place(i) for i in range(300)]
    for p in places:
        await waiting(Foreign, p, p.wait(order))
    last = Place("last")
    t = await waiting(Outcome, last, last.wait(order))
    for p in places:
        p.wake()
    last.wake()
    await t.end()
    await until(lambda: len(order) == 301)
    assert order.index("last") > 0, "none of asyncio's tasks was resumed for 300 wakes"
    order.remove("last")
    assert order == list(range(300))


async def test_asyncio_is_served_between_the_ends_of_many_tasks():
    on_micropython()
    passes = []
    seen = []

    async def spins():
        while len(seen) < 300:
            passes.append(1)
            await sleep_ms(0)

    async def ends():
        seen.append(len(passes))

    f = Foreign(spins())
    await until(lambda: passes)
    tasks = [Outcome(ends()) for _ in range(300)]
    await f.end()
    assert seen[-1] > seen[0], "asyncio was not served while 300 tasks ended"
    assert {t.ends for t in tasks} == {1}


async def test_each_is_resumed_once_when_there_is_no_memory_to_end_a_round():
    on_micropython()
    import micropython

    places = [Place(i) for i in range(10)]
    counts = [0] * 10
    ends = []

    @engine.coroutine
    def counts_wakes(i):
        while not ends:
            yield engine.park(places[i])
            counts[i] += 1

    tasks = []
    for i in range(10):
        tasks.append(await waiting(Outcome, places[i], counts_wakes(i)))
    first, last = Place("first"), Place("last")

    @engine.coroutine
    def locks():
        yield engine.park(first)
        yield engine.park(first)
        for p in places:
            p.wake()
        last.wake()

    @engine.coroutine
    def locks_last():
        yield engine.park(last)
        yield engine.park(last)
        micropython.heap_lock()
        locked.append(1)
        yield engine.park(last)

    locked = []
    a, b = await waiting(Outcome, first, locks()), await waiting(Outcome, last, locks_last())
    first.wake()
    last.wake()
    await until(lambda: first.waits() and last.waits())
    del locked[:]
    first.wake()
    while not locked:
        await sleep_ms(0)
    micropython.heap_unlock()
    await settle()
    assert counts == [1] * 10
    assert a.ends == 1 and not b.ends
    last.wake()
    await b.end()
    ends.append(1)
    for p in places:
        p.wake()
    for t in tasks:
        await t.end()
    assert counts == [2] * 10


async def test_waking_all_that_wait_takes_no_memory():
    on_micropython()
    import micropython

    # The room must follow those who live, be it that many have come and gone before.
    for _ in range(20):
        tasks = [Outcome(returns(1)) for _ in range(30)]
        for t in tasks:
            await t.end()
    places = []
    tasks = []
    while len(places) < 600 or engine._alive < engine._room:  # the next one would make more room
        p = Place()
        places.append(p)
        tasks.append(Outcome(p.wait()))
        while not p.waits():
            await sleep_ms(0)
    failed = False
    micropython.heap_lock()
    try:
        for p in places:
            engine.wake(p)
    except MemoryError:
        failed = True
    micropython.heap_unlock()
    assert not failed, "to wake all who wait took memory"
    for t in tasks:
        await t.end()


async def test_waking_all_that_wait_behind_a_whole_round_takes_no_memory():
    on_micropython()
    import micropython

    failed = []

    @engine.coroutine
    def wakes_all(own, places):
        yield engine.park(own)
        micropython.heap_lock()
        try:
            for p in places:
                engine.wake(p)
        except MemoryError:
            failed.append(True)
        finally:
            micropython.heap_unlock()

    @engine.coroutine
    def waits_twice(p):
        yield engine.park(p)
        yield engine.park(p)

    failed.append(None)  # room for an entry
    failed.pop()
    own = Place()
    places = []
    tasks = [Outcome(wakes_all(own, places))]
    while len(places) < 600 or engine._alive < engine._room:
        p = Place()
        places.append(p)
        tasks.append(Outcome(waits_twice(p)))
        while not p.waits():
            await sleep_ms(0)
    for p in places[: engine.LIMIT - 1] + [own]:  # those of one round; its last one wakes all
        engine.wake(p)
    await settle()
    assert not failed, "to wake all who wait took memory"
    for p in places[engine.LIMIT - 1 :]:
        engine.wake(p)
    for t in tasks:
        await t.end()


async def test_tasks_that_come_and_go_leave_no_memory_taken():
    on_micropython()
    import gc

    def taken():
        gc.collect()
        return gc.mem_alloc()

    async def come_and_go(n):
        for _ in range(n):
            tasks = [Outcome(returns(1)) for _ in range(50)]
            for t in tasks:
                await t.end()

    await come_and_go(2)
    before = taken()
    await come_and_go(100)
    assert taken() - before < 20000, "5000 tasks that have ended still take memory"


async def test_a_self_cancel_comes_before_all_others_who_are_ready():
    for kind in KINDS:
        p = Place("p")
        seen = []
        tasks = []

        async def cancels_itself():
            await start.wait()
            engine.cancel(tasks[0])
            await p.wait()

        async def looks():
            await start2.wait()
            seen.append((p.waits(), list(p.cancels)))

        start, start2 = Place("start"), Place("start 2")
        tasks.append(await waiting(Outcome, start, cancels_itself()))
        t = await waiting(kind, start2, looks())
        start.wake()
        start2.wake()
        await t.end()
        assert seen == [(False, [False])], seen
        with raises(CancelledError):
            await tasks[0].end()


# The end


async def test_an_owned_task_that_has_ended_still_gives_its_value_and_its_exception():
    if MICROPYTHON and not engine._ends_tell:
        raise SkipTest("before 1.19 asyncio does not learn how it has ended")
    tasks = []

    async def ends(exception):
        tasks.append(asyncio.current_task())
        if exception is not None:
            raise exception
        return "value"

    await Outcome(ends(None)).end()
    with raises(KeyError):
        await Outcome(ends(KeyError("k"))).end()
    assert tasks[0].done() and tasks[1].done()
    assert await tasks[0] == "value"
    with raises(KeyError):
        await tasks[1]


def test_after_is_called_for_an_interrupt_alone():
    calls = []

    async def after():
        calls.append("after")

    for exception in (KeyError("k"), CancelledError(), MemoryError()):
        renew_loop()
        with raises(type(exception)):
            engine.run(fails(exception), after)
    assert calls == []
    renew_loop()
    assert engine.run(returns(5), after) == 5
    assert calls == []
    for exception in (KeyboardInterrupt(), SystemExit()):
        renew_loop()
        with raises(type(exception)):
            engine.run(fails(exception), after)
    assert calls == ["after", "after"]
    renew_loop()


def test_what_a_failed_run_left_behind_is_there_in_the_next_one():
    on_micropython()
    events = []

    async def leaves_behind(exception):
        engine.core.create_task(later())
        raise exception

    async def later():
        await sleep_ms(1)
        events.append("later")

    async def waits():
        await until(lambda: events)

    for exception in (KeyError("k"), CancelledError()):
        renew_loop()
        with raises(type(exception)):
            engine.run(leaves_behind(exception))
        assert engine.is_running() is False
        engine.run(waits())
        assert events == ["later"]
        del events[:]
    renew_loop()


def test_an_end_that_the_interrupt_itself_comes_out_of_begins_again():
    on_micropython()
    interrupt = KeyboardInterrupt()
    events = []

    async def interrupted():
        raise interrupt

    async def after():
        events.append("after")
        if len(events) == 1:
            raise interrupt

    renew_loop()
    with raises(KeyboardInterrupt):
        engine.run(interrupted(), after)
    assert events == ["after", "after"]
    engine.run(settle())
    assert engine.core._task_queue.peek() is None
    renew_loop()


def test_an_end_that_the_interrupt_comes_into_does_not_go_on_beside_the_next_one():
    on_micropython()
    interrupt = KeyboardInterrupt()
    events = []

    async def is_interrupted_too(turns):
        for _ in range(turns):
            await sleep_ms(0)
        raise interrupt

    async def interrupted(turns):
        engine.core.create_task(is_interrupted_too(turns))
        await sleep_ms(0)
        raise interrupt

    async def after():
        events.append("begins")
        await settle()
        events.append("ends")

    for turns in range(1, 5):  # the first end has not even begun, or has
        renew_loop()
        with raises(KeyboardInterrupt):
            engine.run(interrupted(turns), after)
        engine.run(settle())
        assert events[-1] == "ends" and events.count("ends") == 1, events
        assert engine.core._task_queue.peek() is None
        del events[:]
    renew_loop()


def test_another_interrupt_of_the_end_comes_out():
    on_micropython()

    async def interrupted():
        raise KeyboardInterrupt

    async def after():
        raise SystemExit

    renew_loop()
    with raises(SystemExit):
        engine.run(interrupted(), after)
    renew_loop()


def test_after_an_interrupt_whose_end_fails_nothing_is_left():
    on_micropython()
    events = []

    async def leaves_behind():
        engine.core.create_task(later())
        raise KeyboardInterrupt

    async def later():
        await sleep_ms(1)
        events.append("later")

    async def after():
        if owned:
            Outcome(later())  # for which the driver stands in the loop's queue
        raise ValueError("the end fails")

    for owned in False, True:
        renew_loop()
        with raises(KeyboardInterrupt):
            engine.run(leaves_behind(), after)
        assert engine.core._task_queue.peek() is None
        engine.run(settle())
        assert engine.run(runs_an_owned_task()) == 5
        engine.run(sleep_ms_and(5))
        assert events == []
    renew_loop()


async def runs_an_owned_task():
    return await Outcome(returns(5)).end()


async def sleep_ms_and(ms):
    await sleep_ms(ms)


def test_whether_a_loop_runs_is_told_by_true_or_false():
    async def looks():
        return engine.is_running()

    renew_loop()
    assert engine.is_running() is False
    assert engine.run(looks()) is True
    assert engine.is_running() is False
    if MICROPYTHON:
        # An interrupted run may leave its task.
        engine.core.cur_task = engine.core.Task(returns(1))
        assert engine.is_running() is False
        engine.core.cur_task.coro.close()
        engine.core.cur_task = None


# Loops


def test_a_new_loop_wakes_asyncio_s_tasks_though_the_driver_of_the_old_one_was_to_run():
    on_micropython()

    async def leaves_the_driver_ready():
        p = Place("p")
        await waiting(Foreign, p)
        p.wake()

    async def waits():
        p = Place("p")
        t = await waiting(Foreign, p)
        p.wake()
        return await t.end()

    for _ in range(2):
        renew_loop()
        asyncio.run(leaves_the_driver_ready())
        renew_loop()
        assert asyncio.run(waits()) == "p"
    renew_loop()


def test_what_waited_in_a_loop_that_is_gone_goes_on_in_the_one_where_it_is_woken():
    on_micropython()
    p = Place("p")
    tasks = []

    async def leaves_behind():
        tasks.append(await waiting(Outcome, p))

    async def wakes():
        p.wake()
        assert engine.woken() is p
        return await tasks[0].end()

    renew_loop()
    asyncio.run(leaves_behind())
    renew_loop()
    assert asyncio.run(wakes()) == "p"
    renew_loop()


def test_a_self_cancel_of_the_main_task_after_an_interrupted_run():
    on_micropython()

    async def interrupted():
        p = Place("p")

        async def interrupts():
            await p.wait()
            raise KeyboardInterrupt

        await waiting(Outcome, p, interrupts())
        p.wake()
        await sleep_long()

    async def cancels_itself():
        engine.cancel_later()
        try:
            await sleep_long()
        except CancelledError:
            return "cancelled"

    renew_loop()
    with raises(KeyboardInterrupt):
        asyncio.run(interrupted())
    assert asyncio.run(cancels_itself()) == "cancelled"
    renew_loop()


def test_nobody_is_the_running_task_after_an_interrupt_of_one_that_serves():
    on_micropython()

    async def interrupts():
        raise KeyboardInterrupt

    async def interrupted():
        Serving(interrupts())
        await sleep_long()

    async def looks():
        return engine.names["me"]

    renew_loop()
    with raises(KeyboardInterrupt):
        asyncio.run(interrupted())
    assert engine.names["me"] is None
    assert asyncio.run(looks()) is None
    renew_loop()


def test_the_first_thing_that_an_engine_does_may_be_a_self_cancel():
    on_micropython()
    name = "ufuture.micro"
    usual = sys.modules.pop(name)
    try:
        fresh = __import__(name, None, None, ["run"])
    finally:
        sys.modules[name] = usual
    assert fresh is not usual

    async def cancels_itself():
        fresh.cancel_later()
        try:
            await sleep_long()
        except CancelledError:
            return "cancelled"

    assert asyncio.run(cancels_itself()) == "cancelled"
    renew_loop()


# The watch


class Waiter:
    """What the main task waits on while the engine's watch is to be called."""

    def __init__(self):
        self.place = Place("main")
        self.calls = 0

    def look(self):
        self.calls += 1
        if self.place.waits() and not self.place.woken:
            self.place.wake()
        return True

    async def watched(self):
        engine.set_watch(self.look)
        Outcome(returns(1))  # the driver runs and finds all idle
        await self.place.wait()
        engine.set_watch(None)


async def test_the_watch_looks_while_the_loop_listens_to_other_threads():
    if MICROPYTHON and not hasattr(asyncio, "ThreadSafeFlag"):
        raise SkipTest("asyncio has no ThreadSafeFlag here")
    w = Waiter()
    p = Place("an owned task waits")
    t = await waiting(Outcome, p)
    engine.listen()
    try:
        await settle()
        await w.watched()
    finally:
        engine.unlisten()
    assert w.calls
    t.cancel()
    with raises(CancelledError):
        await t.end()


async def test_the_watch_does_not_look_while_a_stream_may_bring_something():
    if not hasattr(asyncio, "ThreadSafeFlag"):
        raise SkipTest("asyncio has no ThreadSafeFlag here")
    for listens in (False, True):
        flag = asyncio.ThreadSafeFlag()
        calls = []
        p, end = Place("p"), Place("end")

        async def waits_for_the_flag():
            await flag.wait()
            calls.append("flag")
            engine.set_watch(None)
            end.wake()

        f = Foreign(waits_for_the_flag())
        t = await waiting(Outcome, p)
        if listens:
            engine.listen()
        await settle()
        engine.set_watch(lambda: calls.append("look"))
        if engine._thread is None:
            raise SkipTest("no threads here")
        engine._thread.start_new_thread(sets_later, (flag,))
        Outcome(returns(1))  # the driver runs and finds all idle
        await end.wait()
        assert calls == ["flag"]
        await f.end()
        engine.unlisten()
        t.cancel()
        with raises(CancelledError):
            await t.end()


def sets_later(flag):
    block_ms(50)
    flag.set()


# Other threads


def threads():
    try:
        import _thread  # noqa: F401
    except ImportError:
        raise SkipTest("no threads here")
    import uthreading

    return uthreading


async def test_an_answer_that_the_loop_had_begun_when_it_listened_no_more_counts():
    on_micropython()
    uthreading = threads()
    answers = []
    looks = []
    usual = engine._sleep_ms

    def sleeps(ms):
        looks.append(1)
        usual(ms)

    def f():
        listener, engine._listener = engine._listener, None
        n = len(looks)
        while len(looks) < n + 3:
            usual(1)
        engine._listener = listener
        return "an answer"

    engine.listen()
    engine._sleep_ms = sleeps
    try:
        t = uthreading.Thread(target=lambda: answers.append(engine.ask(f)))
        t.start()
        await until(lambda: answers)
        t.join()
    finally:
        engine._sleep_ms = usual
        engine.unlisten()
    assert answers == ["an answer"]


async def test_an_answer_that_came_before_the_loop_listened_no_more_counts():
    on_micropython()
    uthreading = threads()
    calls = []
    answers = []
    gone = uthreading.Event()
    usual = engine._sleep_ms

    def f():
        calls.append(1)
        return "an answer"

    engine.listen()
    engine._sleep_ms = lambda ms: gone.wait()  # who asks looks again when nobody listens any more
    try:
        t = uthreading.Thread(target=lambda: answers.append(engine.ask(f)))
        t.start()
        await until(lambda: calls)
        engine.unlisten()
        gone.set()
        t.join()
    finally:
        engine._sleep_ms = usual
        gone.set()
    assert answers == ["an answer"]


async def test_where_there_is_no_memory_for_another_order_the_last_one_serves_again():
    on_micropython()

    def no_memory(parked):
        raise MemoryError

    p = Place()
    await waiting(Outcome, p)
    p.wake()
    usual = engine.names["wake"]
    engine.names["wake"] = no_memory
    try:
        orders = [engine.order() for _ in range(40)]
    finally:
        engine.names["wake"] = usual
    assert orders == sorted(orders) and orders[-1] == orders[-2]
    assert engine.order_of(p) < orders[0] and engine.order() > orders[-1]
    await settle()


async def test_nobody_listens_where_asyncio_has_no_flag_for_threads():
    on_micropython()
    engine.unlisten()
    usual = engine._flag, engine.of_asyncio
    engine._flag = None
    engine.of_asyncio = lambda name: None
    try:
        assert engine.listen() is None and engine._listener is None
    finally:
        engine._flag, engine.of_asyncio = usual
    assert not engine.ask(returns, 1)


def test_a_new_loop_listens_though_the_old_one_was_left_listening():
    uthreading = threads()
    answers = []

    async def leaves():
        engine.listen()
        await settle()

    async def listens(first):
        if first:  # nothing has waited in this loop yet
            engine.listen()
        p = Place("p")
        t = await waiting(Outcome, p)
        if not first:
            engine.listen()
        thread = uthreading.Thread(target=lambda: answers.append(engine.ask(p.wake)))
        thread.start()
        await t.end()
        await until(lambda: answers)
        thread.join()
        engine.unlisten()

    for first in False, True:
        renew_loop()
        asyncio.run(leaves())
        renew_loop()
        asyncio.run(listens(first))
        assert answers == [None]
        del answers[:]
    renew_loop()


async def test_who_answers_that_memory_was_too_little_is_asked_again_when_others_have_run():
    threads()
    asked = []
    frees = []

    async def others():
        frees.append(1)

    def answer():
        asked.append(1)
        if len(asked) == 1:
            Foreign(others())
        return not frees and len(asked) < 1000

    flag = engine.listen()
    usual, flag.answer = flag.answer, answer
    try:
        flag.set()
        await until(lambda: frees and len(asked) > 1)
    finally:
        flag.answer = usual
        engine.unlisten()
    assert len(asked) < 1000, "nobody else ran"


async def test_a_flag_that_finds_no_memory_to_be_waited_for_lets_others_run():
    on_micropython()
    threads()
    refused = []
    frees = []
    answers = []
    io = engine.core._io_queue
    usual = io.queue_read

    async def others():
        frees.append(1)

    def queue_read(stream):
        if frees or len(refused) == 1000:
            return usual(stream)
        refused.append(1)
        if len(refused) == 1:
            Foreign(others())
        raise MemoryError

    flag = engine.listen()
    usual_answer, flag.answer = flag.answer, lambda: answers.append(1)
    io.queue_read = queue_read
    try:
        await until(lambda: frees and answers)
        del answers[:]
        flag.set()
        await until(lambda: answers)
    finally:
        io.queue_read = usual
        flag.answer = usual_answer
        engine.unlisten()
    assert 0 < len(refused) < 1000, "nobody else ran"


class ShortOfMemory:
    """The poller of the loop's streams; it takes none the first time."""

    def __init__(self, poller):
        self.poller = poller
        self.modify = poller.modify
        self.ipoll = poller.ipoll
        self.refused = False
        self.streams = []

    def register(self, stream, mask):
        if not self.refused:
            self.refused = True
            raise MemoryError
        self.poller.register(stream, mask)
        self.streams.append(stream)

    def unregister(self, stream):
        self.poller.unregister(stream)
        self.streams.remove(stream)


async def test_a_flag_that_found_too_little_memory_to_be_polled_is_so_later():
    on_micropython()
    threads()
    answers = []
    io = engine.core._io_queue
    usual = io.poller
    io.poller = poller = ShortOfMemory(usual)
    flag = engine.listen()
    usual_answer, flag.answer = flag.answer, lambda: answers.append(1)
    try:
        await until(lambda: poller.refused and poller.streams == [flag])
        del answers[:]
        flag.set()
        await until(lambda: answers)
    finally:
        flag.answer = usual_answer
        engine.unlisten()
        await settle()
        io.poller = usual
    assert poller.streams == [] and not io.map


# The names that a module keeps


async def test_a_module_loaded_by_a_running_task_knows_it_from_the_next_round_on():
    on_micropython()
    usual = engine.names

    async def loads():
        for names in {}, usual:
            engine.bind(names)
            assert names["me"] is None
            for _ in range(1000):
                await behind(Place())
                if names["me"] is not None:
                    break
            assert names["me"] is t
            assert names["wake"] is engine.names["wake"]

    t = Serving(loads())
    try:
        await t.end()
    finally:
        if engine.names is not usual:
            engine.bind(usual)
    assert t.exception is None and usual["me"] is None


# Reports


async def test_a_report_reaches_the_handler_of_the_loop():
    contexts = []
    loop = asyncio.get_event_loop()
    loop.set_exception_handler(lambda loop, context: contexts.append(context))
    er = KeyError("k")
    try:
        engine.report("task", er)
        engine.report("task", er, "said")
    finally:
        loop.set_exception_handler(None)
    assert contexts == [
        {"message": "exception in a task", "exception": er, "future": "task"},
        {"message": "said", "exception": er, "future": "task"},
    ]


# What comes after what, at the ends of rounds


async def test_the_cancellation_comes_first_wherever_the_driver_s_round_ends():
    # A round ends after LIMIT resumes: then asyncio's tasks have their turn.
    on_micropython()
    ended = []

    async def is_always_ready():
        while not ended:
            await behind(Place())

    other = Outcome(is_always_ready())
    for turns in range(130):
        p = Place("p")

        async def goes_on_and_waits():
            for _ in range(turns):
                await behind(Place())
            engine.cancel_later()
            await p.wait()

        async def pairs():
            while not t.ends:
                if p.waits():
                    p.wake()
                await sleep_ms(0)

        t = Outcome(goes_on_and_waits())
        partner = Foreign(pairs())
        with raises(CancelledError):
            await t.end()
        await partner.end()
        assert p.cancels in ([], [False]), turns
    ended.append(True)
    await other.end()


async def test_who_parks_behind_a_sleeper_that_is_due_lets_it_run_first():
    on_micropython()  # elsewhere it is not woken until the loop looks at its timers

    @engine.coroutine
    def park_behind(place, owned):
        yield engine.park_behind(place, owned)

    async def sleeps(ms):
        await sleep_ms(ms)
        return "slept"

    async def parks(owned):
        block_ms(10)
        await park_behind(Place("p"), owned)
        return owned.ends

    for kind in KINDS:
        sleeper = Outcome(sleeps(5))
        await sleep_ms(0)
        t = kind(parks(sleeper))
        assert await t.end() == 1
        assert await sleeper.end() == "slept"


async def test_one_thread_asks_many_times_and_nothing_is_polled_when_nobody_listens():
    try:
        import uthreading
    except ImportError:
        raise SkipTest("no threads")
    calls = []
    answers = []

    def asks():
        for i in range(20):
            answers.append(engine.ask(calls.append, i))
        answers.append(engine.ask(len, calls))

    engine.listen()
    t = uthreading.Thread(target=asks)
    t.start()
    await until(lambda: len(answers) == 21)
    t.join()
    engine.unlisten()
    await settle()
    assert calls == list(range(20)) and answers[20] == 20
    if MICROPYTHON:
        assert not engine.core._io_queue.map


async def test_a_task_that_can_not_be_made_leaves_no_coroutine_open():
    if MICROPYTHON:
        raise SkipTest("only another loop's factory can refuse")

    def refuses(*args, **kwargs):
        raise RuntimeError("no more tasks")

    loop = asyncio.get_running_loop()
    coro = sleep_long()
    loop.set_task_factory(refuses)
    try:
        with raises(RuntimeError):
            Outcome(coro)
    finally:
        loop.set_task_factory(None)
    assert coro.cr_frame is None
