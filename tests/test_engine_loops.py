"""The engine where a loop is left in the middle of something, and what the next one knows of it.

And what is kept alive while nothing runs.
"""

from ufuture_support import (
    KINDS,
    CancelledError,
    Foreign,
    Outcome,
    Place,
    SkipTest,
    asyncio,
    block_ms,
    fails,
    raises,
    renew_loop,
    returns,
    settle,
    sleep_long,
    sleep_ms,
    ticks_ms,
    until,
    waiting,
)

from ufuture.loop import engine

INTERPRETERS = ("micropython",)

core = engine.core


class Serving(engine.Owned):
    """A task that waits on its own state, as the processes of uapycsp do, or on a place."""

    serves = True

    def __init__(self, coro):
        self.ends = 0
        engine.start(self, coro)

    def ended(self, value, exception):
        self.ends += 1


def test_who_waits_first_makes_the_driver_which_a_wake_might_find_no_memory_for():
    async def main():
        place = Place()
        assert engine._driver is None
        t = asyncio.create_task(place.wait())
        await until(place.waits)
        assert engine._driver is not None
        place.wake()
        await t

    renew_loop()
    asyncio.run(main())


def test_who_asks_a_loop_that_has_ended_is_answered():
    answers = []

    async def main():
        engine.listen()
        await sleep_ms(1)

    def asks():
        answers.append(engine.ask(answers.append, "called"))

    renew_loop()
    asyncio.run(main())
    engine._thread.start_new_thread(asks, ())
    start = ticks_ms()
    while not answers and engine.ticks_diff(ticks_ms(), start) < 30000:
        block_ms(10)  # asyncio's loop ends without a word: it takes seconds
    engine.unlisten()
    renew_loop()
    assert answers == [False]


def before_the_driver(coro):
    """Makes a task that has been due for so long that the engine's own task comes after it."""
    engine._push_at(core.Task(coro), engine.ticks_add(ticks_ms(), -2000))


async def interrupts():
    raise KeyboardInterrupt


def interrupted(coro):
    """Runs a coroutine, which an interrupt ends, in a new loop."""
    renew_loop()
    with raises(KeyboardInterrupt):
        asyncio.run(coro)


def in_two_loops(f):
    """Runs f() in a new loop, and in another one."""
    for _ in range(2):
        renew_loop()
        asyncio.run(f())
    renew_loop()


def test_what_a_loop_leaves_takes_no_room_for_ever():
    async def leaves():
        for _ in range(6):
            Outcome(sleep_long())
        await sleep_ms(1)

    for i in range(40):
        renew_loop()
        asyncio.run(leaves())
        if i == 0:
            room = engine._room
    assert engine._alive == 6
    assert engine._room == room
    renew_loop()


# Cancellations that are due


async def test_who_cancelled_itself_first_is_cancelled_first():
    order = []

    async def cancels_itself(name, next_one=None):
        engine.cancel_later()
        if next_one is not None:
            before_the_driver(next_one)
        try:
            await sleep_long()
        except CancelledError:
            order.append(name)

    await Outcome(returns(1)).end()
    Foreign(cancels_itself("first", cancels_itself("second", cancels_itself("third"))))
    await until(lambda: len(order) == 3)
    assert order == ["first", "second", "third"]


def test_who_cancelled_itself_before_an_interrupt_is_left_alone_by_the_next_loop():
    events = []

    async def cancels_itself():
        engine.cancel_later()
        before_the_driver(interrupts())
        try:
            await sleep_long()
        finally:
            events.append("resumed")

    async def main():
        await Outcome(returns(1)).end()
        Foreign(cancels_itself())
        await sleep_long()

    interrupted(main())
    renew_loop()
    asyncio.run(wakes_an_owned_task())
    assert events == []
    renew_loop()


async def wakes_an_owned_task():
    p = Place("p")
    t = await waiting(Outcome, p)
    p.wake()
    assert await t.end() == "p"
    await settle()


def test_a_self_cancel_is_kept_until_the_first_round_of_a_new_loop():
    events = []

    async def main():
        t = Outcome(returns(1))
        engine.cancel_later()
        try:
            await sleep_long()
        except CancelledError:
            events.append("cancelled")
        await t.end()

    in_two_loops(main)
    assert events == ["cancelled", "cancelled"]


def test_a_self_cancel_may_be_the_first_thing_that_the_engine_does_in_a_new_loop():
    events = []

    async def main():
        engine.cancel_later()
        try:
            await sleep_long()
        except CancelledError:
            events.append("cancelled")

    in_two_loops(main)
    assert events == ["cancelled", "cancelled"]


def test_an_interrupt_while_a_task_is_cancelled_ends_the_run():
    # The driver cancels a task which cancelled itself, and asks what that waits on.
    class Interrupts(Place):
        def cancelled(self):
            raise KeyboardInterrupt

    async def cancels_itself():
        await sleep_ms(0)
        tasks[0].cancel()
        await Interrupts().wait()

    async def cancels_itself_in_the_driver():
        engine.cancel_later()
        await Interrupts().wait()

    async def main(coro):
        tasks.append(Outcome(coro))
        await until(lambda: tasks[0].ends)

    for coro in cancels_itself(), cancels_itself_in_the_driver():
        tasks = []
        interrupted(main(coro))
        assert not engine.is_running()
        renew_loop()
        asyncio.run(wakes_an_owned_task())
    renew_loop()


# Time limits


async def test_a_limit_of_nothing_lets_only_those_go_first_who_are_ready():
    for kind in KINDS:
        passes = []
        t = kind(Place().wait_ms(0))
        while not t.ends:
            passes.append(1)
            await sleep_ms(0)
        assert await t.end() is False
        assert len(passes) <= 4, len(passes)


async def test_who_is_woken_before_a_time_limit_has_its_order_among_the_others():
    for kind in KINDS:
        places = [Place(i) for i in range(10)]
        for p in places:
            await waiting(kind, p, p.wait_ms(60000) if p.name & 1 else p.wait())
        orders = []
        for p in places:
            p.wake()
            orders.extend([engine.order_of(p), engine.order()])
        assert orders == sorted(orders) and len(set(orders)) == 20
        await settle()


def test_after_is_called_if_the_loop_fails_and_not_the_main_task():
    # As it does when there is no memory to go on; or when the user's handler fails.
    calls = []

    def handler(loop, context):
        raise KeyError("the handler")

    async def main():
        core.create_task(fails(ValueError("nobody asks")))
        await sleep_long()

    async def after():
        calls.append("after")

    renew_loop()
    loop = asyncio.get_event_loop()
    loop.set_exception_handler(handler)
    try:
        with raises(KeyError):
            engine.run(main(), after)
    finally:
        loop.set_exception_handler(None)
    assert calls == ["after"]
    renew_loop()


# Rounds


async def turns(make):
    """How many are resumed between two turns of a task of asyncio's: make(n, note) wakes them."""
    passes = [0]
    seen = []
    n = 5 * engine.LIMIT

    async def spins():
        while len(seen) < n:
            passes[0] += 1
            await sleep_ms(0)

    t = Foreign(spins())
    await settle()
    await make(n, lambda: seen.append(passes[0]))
    await t.end()
    return [seen.count(i) for i in sorted(set(seen))]


async def test_asyncio_has_its_turn_after_a_round_of_resumes_of_any_kind():
    def resumes(kind):
        async def make(n, note):
            async def notes(p):
                await p.wait()
                note()

            places = [Place(i) for i in range(n)]
            tasks = [kind(notes(p)) for p in places]
            await until(lambda: all(p.waits() for p in places))
            await settle()
            for p in places:
                p.wake()
            return tasks

        return make

    async def ends(n, note):
        async def notes():
            note()

        return [Outcome(notes()) for _ in range(n)]

    for make in ends, resumes(Outcome), resumes(Foreign):
        assert await turns(make) == [engine.LIMIT] * 5


# Whose turn it is


def test_a_loop_begun_within_a_task_of_another_one_has_tasks_of_its_own():
    seen = []

    async def inner():
        assert await Outcome(returns(5)).end() == 5
        seen.append(engine.names["me"])

    async def begins_another():
        assert engine.names["me"] is serving[0]
        renew_loop()
        core.run_until_complete(core.create_task(inner_main()))
        raise KeyboardInterrupt

    async def inner_main():
        Outcome(inner())
        seen.append(engine.names["me"])
        engine.cancel_later()
        try:
            await sleep_long()
        except CancelledError:
            seen.append("cancelled")
        await until(lambda: len(seen) == 3)

    async def main():
        serving.append(Serving(begins_another()))
        await sleep_long()

    serving = []
    interrupted(main())
    assert seen == [None, "cancelled", None]
    renew_loop()


async def test_whether_a_loop_runs_is_known_while_the_watch_looks():
    p = Place("main")
    seen = []

    def look():
        if p.waits() and not p.woken:
            seen.append(engine.is_running())
            p.wake()
        return True

    engine.set_watch(look)
    Outcome(returns(1))  # the driver runs and finds all idle
    await p.wait()
    engine.set_watch(None)
    assert seen == [True]


async def test_whom_the_watch_has_woken_runs_before_the_next_look_is_due():
    p, end = Place("woken"), Place("end")
    events = []
    usual = engine._push_at

    def look():
        if end.waits() and not p.woken:
            events.append("look")
            p.wake()
        return True

    def push_at(task, when):
        events.append("timer")
        usual(task, when)

    async def waits():
        await p.wait(events)
        end.wake()

    engine._push_at = push_at
    engine.set_watch(look)
    try:
        Outcome(waits())
        await end.wait()
    finally:
        engine.set_watch(None)
        engine._push_at = usual
    assert events[events.index("look") :][:2] == ["look", "woken"], events


class WithoutPend:
    """Something that a user may give for a coroutine: it can be resumed and no more."""

    def __init__(self, exception):
        self.exception = exception

    def send(self, value):
        raise self.exception

    def throw(self, *args):
        raise args[0]

    def __iter__(self):
        return self

    def __next__(self):
        return self.send(None)


def test_no_loop_runs_after_an_interrupt_by_an_object_that_is_no_generator():
    async def main():
        Outcome(WithoutPend(KeyboardInterrupt()))
        await sleep_long()

    interrupted(main())
    assert not engine.is_running()
    renew_loop()


def test_what_was_ready_in_a_loop_that_is_gone_does_not_run_in_the_one_where_another_is_woken():
    # An interrupt ends the driver, and there is no memory for another one.
    p, q, late = Place("p"), Place("q"), Place("late")
    events = []
    usual = core.create_task

    def refuses(coro):
        coro.close()
        raise MemoryError

    @engine.coroutine
    def interrupts_without_memory():
        yield engine.park(p)
        core.create_task = refuses
        raise KeyboardInterrupt

    async def main():
        await waiting(Outcome, p, interrupts_without_memory())
        await waiting(Outcome, q, q.wait(events))
        await waiting(Outcome, late, late.wait(events))
        p.wake()
        q.wake()
        await settle()

    async def wakes():
        late.wake()
        await until(lambda: events)
        await settle()

    renew_loop()
    loop = asyncio.get_event_loop()
    loop.set_exception_handler(lambda loop, context: None)
    try:
        with raises(KeyboardInterrupt):
            asyncio.run(main())
    finally:
        core.create_task = usual
        loop.set_exception_handler(None)
    assert events == []
    renew_loop()
    asyncio.run(wakes())
    assert events == ["late"]
    renew_loop()


# Threads


def threads():
    try:
        import _thread
    except ImportError:
        raise SkipTest("no threads here")
    if not hasattr(asyncio, "ThreadSafeFlag"):
        raise SkipTest("asyncio has no ThreadSafeFlag here")
    return _thread


def test_a_loop_is_busy_for_other_threads_though_it_rests():
    _thread = threads()
    seen = []
    told = []

    def looks():
        while len(seen) < 50:
            seen.append(engine.is_busy())
            block_ms(1)
        told.append(1)

    async def main():
        _thread.start_new_thread(looks, ())
        await until(lambda: told)

    renew_loop()
    engine.run(main())
    assert seen == [True] * 50
    assert engine.is_busy() is False
    del told[:]
    _thread.start_new_thread(looks_once, (told,))
    while not told:
        block_ms(1)
    assert told == [False]


def looks_once(told):
    told.append(engine.is_busy())


def test_a_loop_that_an_interrupt_ended_in_its_last_moment_is_not_busy():
    threads()
    left = []

    async def main():
        left.append(engine._runner)

    renew_loop()
    engine.run(main())
    engine._runner = left[0]
    try:
        assert engine.is_busy() is False
    finally:
        engine._runner = None
    renew_loop()


async def test_who_asked_first_is_answered_first():
    _thread = threads()
    calls = []
    answers = []

    def asks(i):
        answers.append(engine.ask(calls.append, i))

    engine.listen()
    try:
        for i in range(3):
            _thread.start_new_thread(asks, (i,))
            while len(engine._asked) <= i:
                block_ms(1)
        await until(lambda: len(answers) == 3)
    finally:
        engine.unlisten()
    assert calls == [0, 1, 2]


async def test_who_listens_already_polls_no_second_flag():
    threads()
    for _ in range(2):
        for _ in range(3):
            engine.listen()
            await settle()
        assert len(core._io_queue.map) == 1
        engine.unlisten()
        await settle()
        assert not core._io_queue.map


# What is kept


async def test_who_waits_where_nobody_can_wake_it_is_not_kept_by_the_driver_that_ran_it():
    import gc

    def taken():
        gc.collect()
        return gc.mem_alloc()

    @engine.coroutine
    def waits_by_park():
        kept = bytearray(200000)
        yield engine.park(Place())
        return kept

    @engine.coroutine
    def waits_on_itself():
        kept = bytearray(200000)
        yield engine.names["me"]
        return kept

    for kind, body in (Outcome, waits_by_park), (Serving, waits_on_itself):
        await Outcome(returns(1)).end()
        await settle()
        before = taken()
        kind(body())
        await settle()
        assert taken() - before < 100000, body


async def test_room_for_many_tasks_is_made_in_few_steps():
    made = []
    usual = engine._make_room

    def make_room():
        made.append(1)
        usual()

    engine._make_room = make_room
    try:
        tasks = [Outcome(sleep_long()) for _ in range(1000)]
    finally:
        engine._make_room = usual
    assert len(made) <= 10
    for t in tasks:
        t.cancel()
    await until(lambda: all(t.ends for t in tasks))
