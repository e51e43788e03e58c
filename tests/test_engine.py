"""The engine below the libraries: how a task waits, is woken, cancelled, and ends.

What is said of a task holds for those that the engine runs and for those that asyncio does.
"""

from ufuture_support import (
    KINDS,
    MICROPYTHON,
    CancelledError,
    Foreign,
    Outcome,
    Place,
    SkipTest,
    asyncio,
    ends_of,
    fails,
    raises,
    renew_loop,
    returns,
    settle,
    sleep_long,
    sleep_ms,
    ticks_diff,
    ticks_ms,
    until,
    waiting,
)

from ufuture.loop import engine


# The end of an owned task


async def test_an_owned_task_tells_its_value():
    assert await Outcome(returns(5)).end() == 5


async def test_an_owned_task_tells_its_exception():
    t = Outcome(fails(KeyError("k")))
    with raises(KeyError):
        await t.end()
    t = Outcome(fails(CancelledError()))
    with raises(CancelledError):
        await t.end()


async def test_an_owned_task_that_asyncio_resumed_last_tells_its_end_once():
    async def sleeps(how):
        await sleep_ms(1)
        return how

    async def sleeps_and_fails():
        await asyncio.sleep(0.001)
        raise KeyError("k")

    t = Outcome(sleeps("value"))
    assert await t.end() == "value"
    f = Outcome(sleeps_and_fails())
    with raises(KeyError):
        await f.end()
    await settle()
    assert t.ends == f.ends == 1


async def test_an_owned_task_is_counted_until_its_end_however_that_comes():
    if not MICROPYTHON:
        raise SkipTest("CPython's asyncio has its own room")
    others = engine._alive

    async def cancelled():
        t = Outcome(sleep_long())
        await settle()
        assert engine._alive == others + 1
        engine.cancel(t)
        await t.end()

    async def cancelled_at_once():
        t = Outcome(sleep_long())
        engine.cancel(t)
        await t.end()

    assert await Outcome(returns(1)).end() == 1
    assert engine._alive == others
    with raises(KeyError):
        await Outcome(fails(KeyError("k"))).end()
    assert engine._alive == others
    for end in cancelled, cancelled_at_once:
        with raises(CancelledError):
            await end()
        assert engine._alive == others


async def test_an_owned_task_may_wait_for_all_that_asyncio_has():
    event = asyncio.Event()
    order = []

    async def waits():
        await event.wait()
        order.append("event")
        await asyncio.get_event_loop().create_task(returns(1))
        order.append("task")
        place = Place("place")
        engine_wakes.append(place)
        order.append(await place.wait())
        await sleep_ms(1)
        order.append("sleep")

    engine_wakes = []
    t = Outcome(waits())
    await settle()
    assert order == []
    event.set()
    await until(lambda: engine_wakes)
    await until(engine_wakes[0].waits)
    assert order == ["event", "task"]
    engine_wakes[0].wake()
    await t.end()
    assert order == ["event", "task", "place", "sleep"]


# Waking


async def test_who_is_woken_first_runs_first():
    for kind in KINDS:
        places = [Place(i) for i in range(100)]
        order = []
        for p in places:
            await waiting(kind, p, p.wait(order))
        woken = [(i * 37) % 100 for i in range(100)]
        for i in woken:
            places[i].wake()
        await until(lambda: len(order) == 100)
        assert order == woken


async def test_the_order_of_wakes_is_known_until_they_have_run():
    # Of owned and foreign tasks mixed, and over several looks at asyncio.
    for kinds in (KINDS, (Outcome,), (Foreign,)):
        places = [Place(i) for i in range(200)]
        for i in range(200):
            await waiting(kinds[i % len(kinds)], places[i])
        for p in places:
            p.wake()
        orders = [engine.order_of(p) for p in places]
        assert orders == sorted(orders)
        assert len(set(orders)) == 200
        assert engine.order() > orders[-1]
        await settle()


async def test_what_is_paired_without_a_wake_has_its_order_between_the_wakes():
    for kind in KINDS:
        for others in (0, 5):
            places = [Place(i) for i in range(10)]
            for p in places:
                await waiting(kind, p)
            for _ in range(others):
                await behind(Place())
            orders = []
            for p in places:
                orders.extend([engine.order(), engine.order()])
                p.wake()
            for i in range(10):
                orders.insert(3 * i + 2, engine.order_of(places[i]))
            assert orders == sorted(orders)
            assert len(set(orders)) == 30
            await settle()


async def test_however_many_are_paired_between_two_wakes_each_has_its_order():
    for kind in KINDS:
        for n in (14, 15, 16, 17, 31, 32, 33, 100):
            places = [Place(i) for i in range(3)]
            for p in places:
                await waiting(kind, p)
            paired = []
            for p in places:
                paired.append([engine.order() for _ in range(n)])
                p.wake()
            orders = []
            for i in range(3):
                orders.extend(paired[i])
                orders.append(engine.order_of(places[i]))
            assert orders == sorted(orders)
            assert len(set(orders)) == 3 * (n + 1)
            await settle()


async def test_the_order_stays_when_a_running_task_is_to_be_cancelled():
    places = [Place(i) for i in range(6)]
    for p in places:
        await waiting(Outcome, p)
    orders = []

    async def body():
        for p in places[:3]:
            p.wake()
        orders.append(engine.order())
        engine.cancel(t)
        for p in places[3:]:
            p.wake()
        for i in (0, 1, 2, 3, 4, 5):
            orders.insert(i if i < 3 else i + 1, engine.order_of(places[i]))

    t = Outcome(body())
    await t.end()
    assert orders == sorted(orders)
    assert len(set(orders)) == 7


async def test_a_task_may_wake_itself_to_let_the_others_go_first():
    for kind in KINDS:
        order = []

        async def turns(name):
            for i in range(3):
                order.append((i, name))
                p = Place()
                await behind(p)

        first, second = kind(turns("a")), kind(turns("b"))
        await first.end()
        await second.end()
        assert order == [(i, name) for i in range(3) for name in "ab"]


@engine.coroutine
def behind(place):
    wait = engine.park(place)
    place.wake()
    yield wait


async def test_a_wait_is_used_again():
    for kind in KINDS:
        p = Place()
        count = []

        async def waits_often():
            for i in range(5):
                await p.wait()
                count.append(i)

        t = await waiting(kind, p, waits_often())
        for i in range(5):
            p.wake()
            await until(lambda: len(count) == i + 1)
            await settle()
        await t.end()
        assert count == [0, 1, 2, 3, 4]


def test_the_main_task_is_woken_and_its_value_comes_out():
    async def main():
        p = Place("main")

        async def wakes():
            p.wake()

        Outcome(wakes())
        return await p.wait()

    renew_loop()
    assert asyncio.run(main()) == "main"


async def test_the_value_of_a_woken_foreign_task_reaches_who_awaits_it():
    p = Place("foreign")
    task = asyncio.get_event_loop().create_task(as_task(p))
    await until(p.waits)
    p.wake()
    assert await task == "foreign"


async def as_task(place):
    return await place.wait()


# Time limits


async def test_a_time_limit_lets_go_on_without_a_wake():
    for kind in KINDS:
        assert await kind(Place().wait_ms(5)).end() is False


async def test_who_is_woken_before_the_limit_goes_on_once_and_at_once():
    for kind in KINDS:
        p = Place()
        t = await waiting(kind, p, p.wait_ms(60000))
        p.wake()
        assert await t.end() is True
        assert t.ends == 1


async def test_the_main_task_waits_with_a_limit():
    assert await Place().wait_ms(5) is False
    p = Place()

    async def wakes():
        p.wake()

    Outcome(wakes())
    assert await p.wait_ms(60000) is True


async def test_who_was_let_go_by_the_limit_waits_again():
    for kind in KINDS:
        p = Place()

        async def waits_twice():
            return await p.wait_ms(2), await p.wait_ms(60000)

        t = await waiting(kind, p, waits_twice())
        await sleep_ms(10)
        p.wake()
        assert await t.end() == (False, True)


async def test_a_cancel_takes_the_time_limit_back():
    for kind in KINDS:
        p = Place()
        t = await waiting(kind, p, p.wait_ms(60000))
        t.cancel()
        with raises(CancelledError):
            await t.end()
        assert p.cancels == [False]
        if MICROPYTHON:
            assert engine.core._task_queue.peek() is None
        else:
            assert p.timer is None


# Cancellation


async def test_a_task_cancelled_before_it_began_does_nothing_and_tells_its_end():
    events = []

    async def body():
        events.append("begun")

    t = Outcome(body())
    t.cancel()
    with raises(CancelledError):
        await t.end()
    await settle()
    assert events == [] and t.ends == 1


async def test_a_waiting_task_is_asked_at_the_moment_of_its_cancel():
    for kind in KINDS:
        p = Place()
        t = await waiting(kind, p)
        t.cancel()
        assert p.cancels == [False]
        with raises(CancelledError):
            await t.end()


async def test_a_task_that_is_cancelled_twice_is_asked_once():
    for kind in KINDS:
        for woken in (False, True):
            p = Place()
            t = await waiting(kind, p)
            if woken:
                p.wake()
            t.cancel()
            t.cancel()
            assert p.cancels == [woken]
            with raises(CancelledError):
                await t.end()
            assert p.cancels == [woken] and t.ends == 1


async def test_a_woken_task_is_asked_too_and_cancelled_once():
    for kind in KINDS:
        events = []
        p = Place("woken")
        t = await waiting(kind, p, p.wait(events))
        p.wake()
        t.cancel()
        assert p.cancels == [True]
        with raises(CancelledError):
            await t.end()
        await settle()
        assert events == [] and t.ends == 1


async def test_a_woken_foreign_task_that_asyncio_has_already_is_cancelled_once():
    # The driver has handed it on to asyncio's queue, but asyncio has not resumed it yet.
    if not MICROPYTHON:
        raise SkipTest("all tasks are asyncio's on CPython")
    p, q = Place("foreign"), Place("owned")
    events = []
    t = await waiting(Foreign, p, p.wait(events))

    async def cancels():
        await q.wait()
        t.cancel()

    await waiting(Outcome, q, cancels())
    p.wake()
    q.wake()
    with raises(CancelledError):
        await t.end()
    assert p.cancels == [True] and events == []


async def test_only_the_cancelled_one_of_many_woken_tasks_is_not_resumed():
    for kind in KINDS:
        places = [Place(i) for i in range(20)]
        order = []
        tasks = []
        for p in places:
            tasks.append(await waiting(kind, p, p.wait(order)))
        for p in places:
            p.wake()
        for i in (0, 7, 19):
            tasks[i].cancel()
        await until(lambda: all(t.ends for t in tasks))
        assert order == [i for i in range(20) if i not in (0, 7, 19)]


async def test_who_withstands_its_cancel_waits_again_and_is_woken():
    for kind in KINDS:
        p, q = Place("p"), Place("q")

        async def withstands():
            try:
                await p.wait()
            except CancelledError:
                return await q.wait()

        t = await waiting(kind, p, withstands())
        p.wake()
        t.cancel()
        await until(q.waits)
        q.wake()
        assert await t.end() == "q"


async def test_who_withstands_its_cancel_may_wait_at_the_same_place():
    for kind in KINDS:
        p = Place("p")
        count = []

        async def withstands():
            while True:
                try:
                    return await p.wait()
                except CancelledError:
                    count.append(1)
                    p.woken = False

        t = await waiting(kind, p, withstands())
        for i in range(3):
            p.wake()
            t.cancel()
            await until(lambda: len(count) == i + 1)
            await until(p.waits)
        await settle()
        assert not t.ends
        p.wake()
        assert await t.end() == "p"


async def test_who_withstands_its_cancel_waits_for_a_new_wake_though_many_are_ready_before_it():
    # More than are resumed in one round: it is cancelled before the turn of its old wake comes.
    for kind in KINDS:
        p = Place("p")

        async def withstands():
            try:
                await p.wait()
            except CancelledError:
                p.woken = False
            return await p.wait()

        t = await waiting(kind, p, withstands())
        others = [Place(i) for i in range(150)]
        tasks = [Outcome(place.wait()) for place in others]
        await until(lambda: all(place.waits() for place in others))
        for place in others:
            place.wake()
        p.wake()
        t.cancel()
        assert await ends_of(tasks) == list(range(150))
        await settle()
        assert p.waits() and not t.ends and p.cancels == [True]
        p.wake()
        assert await t.end() == "p"


async def test_a_sleeping_owned_task_is_cancelled_at_once():
    t = Outcome(sleep_long())
    await settle()
    start = ticks_ms()
    t.cancel()
    with raises(CancelledError):
        await t.end()
    assert ticks_diff(ticks_ms(), start) < 30000


async def test_the_cancel_of_one_that_awaits_a_task_is_handed_on():
    task = asyncio.get_event_loop().create_task(sleep_long())

    async def waits():
        await task

    t = Outcome(waits())
    await settle()
    t.cancel()
    with raises(CancelledError):
        await t.end()
    assert task.done()


async def test_who_cancels_itself_is_cancelled_when_it_waits_again():
    events = []
    tasks = []

    async def body():
        await sleep_ms(0)
        engine.cancel(tasks[0])
        events.append("goes on")
        await sleep_ms(60000)
        events.append("never")

    t = Outcome(body())
    tasks.append(t)
    with raises(CancelledError):
        await t.end()
    assert events == ["goes on"]


async def test_a_cancel_of_the_task_that_the_cancelled_one_awaits_from_within_that():
    # The task that runs is what the owned one waits for: asyncio would hand the cancel on to it.
    events = []
    owned = []

    async def inner():
        await sleep_ms(1)
        engine.cancel(owned[0])
        events.append("goes on")
        await sleep_ms(60000)

    async def outer():
        await asyncio.get_event_loop().create_task(inner())

    owned.append(Outcome(outer()))
    with raises(CancelledError):
        await owned[0].end()
    assert events == ["goes on"]


async def test_what_has_happened_stands_and_the_cancellation_comes_later():
    for kind in KINDS:
        p = Place("p")
        events = []

        async def writes():
            try:
                await p.wait()
            except CancelledError:
                engine.cancel_later()
            events.append("stands")
            try:
                await sleep_ms(60000)
            except CancelledError:
                events.append("cancelled")
                raise

        t = await waiting(kind, p, writes())
        p.wake()
        t.cancel()
        with raises(CancelledError):
            await t.end()
        assert events == ["stands", "cancelled"]


async def test_the_cancellation_comes_even_if_all_that_follows_completes_at_once():
    # Somebody is always quicker than a cancellation that is only due in the next round.
    for kind in KINDS:
        for other in KINDS:
            p = Place("p")
            count = [0]
            most = [1 << 29]

            async def writes():
                while True:
                    p.woken = False
                    try:
                        await p.wait()
                    except CancelledError:
                        if not p.woken:
                            raise
                        engine.cancel_later()
                    count[0] += 1

            async def wakes():
                while not t.ends and count[0] < most[0]:
                    if p.waits() and not p.woken:
                        p.wake()
                    await (sleep_ms(0) if other is Foreign else behind(Place()))

            t = await waiting(kind, p, writes())
            w = other(wakes())
            await until(lambda: count[0])
            t.cancel()
            most[0] = count[0] + 200
            with raises(CancelledError):
                await t.end()
            await w.end()
            assert count[0] < most[0]


async def test_the_cancellation_comes_to_who_does_not_wait_through_the_engine_too():
    for kind in KINDS:
        p = Place("p")
        event = asyncio.Event()

        async def writes():
            try:
                await p.wait()
            except CancelledError:
                engine.cancel_later()
            await event.wait()

        t = await waiting(kind, p, writes())
        p.wake()
        t.cancel()
        with raises(CancelledError):
            await t.end()


async def test_a_cancellation_that_comes_later_than_the_end_does_no_harm():
    for kind in KINDS:
        p = Place("p")

        async def writes():
            try:
                await p.wait()
            except CancelledError:
                engine.cancel_later()
            return "stands"

        t = await waiting(kind, p, writes())
        p.wake()
        t.cancel()
        assert await t.end() == "stands"
        await settle()


# Beside asyncio


async def ping_pong(count):
    """Two owned tasks that wake each other for ever; how to end them."""
    a, b = Place("a"), Place("b")

    async def plays(mine, other):
        while True:
            await mine.wait()
            count[0] += 1
            other.wake()

    tasks = [await waiting(Outcome, a, plays(a, b)), await waiting(Outcome, b, plays(b, a))]
    a.wake()
    await until(lambda: count[0] > 1000)
    return tasks


async def end_all(tasks):
    for t in tasks:
        t.cancel()
    await until(lambda: all(t.ends for t in tasks))


async def test_asyncio_is_served_while_owned_tasks_never_rest():
    count = [0]
    tasks = await ping_pong(count)
    for _ in range(20):
        before = count[0]
        await sleep_ms(0)
        assert count[0] - before <= 1000, "the others had to wait long"
    await end_all(tasks)


async def test_a_sleeper_wakes_in_time_while_owned_tasks_never_rest():
    count = [0]
    tasks = await ping_pong(count)
    start = ticks_ms()
    await sleep_ms(20)
    assert ticks_diff(ticks_ms(), start) >= 15
    await end_all(tasks)


async def test_a_stream_is_served_while_owned_tasks_never_rest():
    if not hasattr(asyncio, "ThreadSafeFlag"):
        raise SkipTest("asyncio has no ThreadSafeFlag here")
    count = [0]
    tasks = await ping_pong(count)
    flag = asyncio.ThreadSafeFlag()
    t = Foreign(flag.wait())
    await settle()
    assert not t.ends
    flag.set()
    await t.end()
    await end_all(tasks)


async def test_owned_tasks_go_on_while_an_asyncio_task_never_rests():
    ends = []

    async def spins():
        while not ends:
            await sleep_ms(0)

    t = Foreign(spins())
    count = [0]
    tasks = await ping_pong(count)
    await end_all(tasks)
    ends.append(1)
    await t.end()


async def test_an_owned_task_may_pass_through_asyncio_s_queue():
    passes = []

    async def passing():
        while len(passes) < 10:
            passes.append(1)
            await through()

    assert await Outcome(passing()).end() is None
    assert len(passes) == 10


@engine.coroutine
def through():
    yield engine.again()


# Loops


def test_many_runs_one_after_another():
    renew_loop()
    for i in range(20):
        assert asyncio.run(wakes_each_other()) == 100


async def wakes_each_other():
    p, q = Place(), Place()

    async def first():
        for _ in range(100):
            await p.wait()
            q.wake()
        return 100

    async def second():
        for _ in range(100):
            p.wake()
            await q.wait()

    t = await waiting(Outcome, p, first())
    Outcome(second())
    return await t.end()


def test_a_new_loop_knows_nothing_of_what_waited_in_the_old_one():
    resumed = []

    async def leaves_behind(places):
        for p in places:
            await waiting(Outcome, p, p.wait(resumed))
        places[0].wake()  # nor of what was woken there

    for kind in range(3):
        renew_loop()
        places = [Place(i) for i in range(3)]
        asyncio.run(leaves_behind(places))
        del resumed[:]
        renew_loop()
        assert asyncio.run(wakes_each_other()) == 100
        assert resumed == []


def test_a_run_works_after_one_that_was_interrupted():
    for exception in (KeyboardInterrupt, SystemExit):
        for renews in (False, True):
            for interrupts in (interrupted_by_an_owned_task, interrupted_by_the_main_task):
                renew_loop()
                with raises(exception):
                    asyncio.run(interrupts(exception))
                if renews:
                    renew_loop()
                assert not engine.is_running()
                assert asyncio.run(wakes_each_other()) == 100


async def interrupted_by_an_owned_task(exception):
    p = Place()

    async def interrupts():
        await p.wait()
        raise exception()

    await waiting(Outcome, p, interrupts())
    p.wake()
    await sleep_long()


async def interrupted_by_the_main_task(exception):
    count = [0]
    await ping_pong(count)
    raise exception()


def test_what_was_ready_behind_an_interrupt_runs_in_the_next_run_of_the_same_loop():
    if not MICROPYTHON:
        raise SkipTest("a loop ends with its run on CPython")
    order = []

    async def interrupted():
        p, q = Place("p"), Place("q")

        async def interrupts():
            await p.wait()
            raise KeyboardInterrupt()

        await waiting(Outcome, p, interrupts())
        await waiting(Outcome, q, q.wait(order))
        p.wake()
        q.wake()
        while True:
            await sleep_ms(1)

    renew_loop()
    with raises(KeyboardInterrupt):
        asyncio.run(interrupted())
    assert asyncio.run(wakes_each_other()) == 100
    assert order == ["q"]
    renew_loop()


def test_whether_a_loop_runs_is_known():
    renew_loop()
    assert not engine.is_running()
    seen = []

    async def looks():
        seen.append(engine.is_running())

    async def main():
        await looks()
        await Outcome(looks()).end()
        await Foreign(looks()).end()

    asyncio.run(main())
    assert seen == [True, True, True]
    assert not engine.is_running()


# Awaitables


async def test_anything_that_can_be_awaited_becomes_a_coroutine():
    class Awaitable:
        def __await__(self):
            return engine.as_coroutine(returns("object")).__await__()

        def __iter__(self):
            return engine.as_coroutine(returns("object"))

    for awaitable, value in (
        (returns("coroutine"), "coroutine"),
        (asyncio.get_event_loop().create_task(returns("task")), "task"),
        (Awaitable(), "object"),
        (generator(), "generator"),
        (sleep_ms(1), None),
    ):
        coro = engine.as_coroutine(awaitable)
        assert hasattr(coro, "send") and hasattr(coro, "throw")
        assert await coro == value


@engine.coroutine
def generator():
    yield engine.again()
    return "generator"


async def test_what_cannot_be_awaited_is_a_type_error():
    for x in (5, None, "text", [returns], {}, returns):
        with raises(TypeError):
            engine.as_coroutine(x)


async def test_a_sleep_that_is_awaited_later_lets_others_sleep():
    start = ticks_ms()
    first = engine.as_coroutine(sleep_ms(30))
    second = engine.as_coroutine(asyncio.sleep(0.02))
    await sleep_ms(1)
    await second
    await first
    assert ticks_diff(ticks_ms(), start) >= 25
