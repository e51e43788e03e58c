"""gather: the results of several awaitables, in order, and nothing left running behind it."""

from ufuture_support import (
    KINDS,
    MICROPYTHON,
    CancelledError,
    Outcome,
    asyncio,
    fails,
    raises,
    renew_loop,
    returns,
    settle,
    sleep_ms,
    ticks_diff,
    ticks_ms,
    until,
)

from ufuture import Future, YieldingFuture, create_future, gather, wait_for_ms
from ufuture.loop import engine


class Log(list):
    """What happened, told by coroutines."""

    async def value(self, value):
        self.append(("begin", value))
        return value

    async def after(self, fut, value):
        await fut
        self.append(("end", value))
        return value

    async def fails(self, fut, exception):
        await fut
        raise exception

    async def cancelled(self, fut, name):
        try:
            await fut
        except CancelledError:
            self.append(("cancelled", name))
            raise


def task(coro):
    return asyncio.get_event_loop().create_task(coro)


# Results


async def test_no_awaitable_gives_an_empty_list():
    assert await gather() == []
    assert await gather(return_exceptions=True) == []


async def test_results_stand_in_the_order_of_the_awaitables():
    for kind in KINDS:
        log = Log()
        futures = [create_future() for _ in range(3)]
        t = kind(gather(*[log.after(futures[i], i) for i in range(3)]))
        await settle()
        for i in (1, 2, 0):
            futures[i].set_result(None)
            await until(lambda: ("end", i) in log)
        assert await t.end() == [0, 1, 2]
        assert log == [("end", 1), ("end", 2), ("end", 0)]


async def test_all_begin_together_in_order():
    log = Log()
    await gather(log.value(1), log.value(2), log.value(3))
    assert log == [("begin", 1), ("begin", 2), ("begin", 3)]


async def test_nothing_begins_before_gather_is_awaited():
    log = Log()
    g = gather(log.value(1))
    await settle()
    assert log == []
    assert await g == [1]


async def test_everything_that_can_be_awaited_may_be_gathered():
    log = Log()
    fut, yielding, done, event = Future(), YieldingFuture(), Future(), asyncio.Event()
    done.set_result("done")
    done_task = task(log.value("done task"))
    await settle()

    async def waits():
        await event.wait()
        return "event"

    t = Outcome(
        gather(
            log.value("coroutine"),
            task(log.after(fut, "task")),
            done_task,
            fut,
            yielding,
            done,
            waits(),
            sleep_ms(2),
            gather(log.value("nested"), fut),
            generator(),
        )
    )
    await settle()
    fut.set_result("future")
    yielding.set_result("yielding")
    event.set()
    assert await t.end() == [
        "coroutine",
        "task",
        "done task",
        "future",
        "yielding",
        "done",
        "event",
        None,
        ["nested", "future"],
        "generator",
    ]


@engine.coroutine
def generator():
    yield engine.again()
    return "generator"


async def test_an_awaitable_given_twice_runs_once():
    log = Log()
    fut = Future()
    coro, t = log.value("coroutine"), task(log.after(fut, "task"))
    g = Outcome(gather(coro, t, fut, coro, t, fut))
    await settle()
    fut.set_result("future")
    assert await g.end() == ["coroutine", "task", "future"] * 2
    assert log == [("begin", "coroutine"), ("end", "task")]


async def test_what_cannot_be_awaited_is_a_type_error_and_nothing_begins():
    log = Log()
    coro = log.value(1)
    for wrong in (5, None, "text", log.value):
        with raises(TypeError):
            await gather(coro, wrong)
    await settle()
    assert log == []
    assert await coro == 1


async def test_a_gather_of_many():
    fut = Future()
    n = 500
    t = Outcome(gather(*[Log().after(fut, i) for i in range(n)]))
    await settle()
    fut.set_result(None)
    assert await t.end() == list(range(n))


def test_gather_in_the_main_task():
    async def main():
        return await gather(sleep_then(3, "a"), sleep_then(1, "b"))

    renew_loop()
    assert asyncio.run(main()) == ["a", "b"]
    assert asyncio.run(main()) == ["a", "b"]


async def sleep_then(ms, value):
    await sleep_ms(ms)
    return value


# Exceptions


async def test_an_exception_reaches_the_caller_after_all_others_have_ended():
    for kind in KINDS:
        log = Log()
        early, late = Future(), Future()
        t = kind(gather(log.after(late, "late"), log.fails(early, KeyError("k"))))
        await settle()
        early.set_result(None)
        await settle()
        assert not t.ends and log == []
        late.set_result(None)
        with raises(KeyError):
            await t.end()
        assert log == [("end", "late")]


async def test_the_exception_is_the_first_in_time():
    for kind in KINDS:
        first, second = Future(), Future()
        log = Log()
        t = kind(gather(log.fails(second, ValueError()), log.fails(first, KeyError())))
        await settle()
        first.set_result(None)
        await settle()
        second.set_result(None)
        with raises(KeyError):
            await t.end()


async def test_two_sleeps_are_two_or_refused():
    for limited in (False, True):
        first = sleep_ms(20)
        try:
            second = sleep_ms(1)
        except AssertionError:  # an asyncio that was compiled with its own check
            first.state = None
            break
        if limited:
            second = wait_for_ms(second, 1000)
        if MICROPYTHON:  # both are asyncio's only one, of which the first time is lost
            with raises(RuntimeError) as e:
                gather(first, second)
            assert "async def" in str(e.value)
        else:
            assert await gather(first, second) == [None, None]
    start = ticks_ms()
    assert await gather(sleep_ms(20), returns(5)) == [None, 5]
    assert ticks_diff(ticks_ms(), start) >= 19


async def test_return_exceptions_puts_each_in_its_place():
    for kind in KINDS:
        fut, cancelled, failed = Future(), Future(), Future()
        cancelled.cancel()
        failed.set_exception(KeyError("future"))
        log = Log()
        t = kind(
            gather(
                log.value(1),
                log.fails(fut, ValueError("coroutine")),
                failed,
                cancelled,
                log.after(fut, 5),
                return_exceptions=True,
            )
        )
        await settle()
        fut.set_result(None)
        results = await t.end()
        assert results[0] == 1 and results[4] == 5
        assert isinstance(results[1], ValueError)
        assert isinstance(results[2], KeyError)
        assert isinstance(results[3], CancelledError)


async def test_a_member_that_is_cancelled_alone_raises_after_the_others():
    for kind in KINDS:
        fut = Future()
        log = Log()
        victim = task(log.cancelled(Future(), "victim"))
        t = kind(gather(victim, log.after(fut, "other")))
        await settle()
        victim.cancel()
        await settle()
        assert not t.ends
        fut.set_result(None)
        with raises(CancelledError):
            await t.end()
        assert log == [("cancelled", "victim"), ("end", "other")]


async def test_a_member_that_cannot_be_started_ends_the_others_and_raises():
    # With a start that fails for the k-th, for every k.
    start = engine.start
    for k in range(3):
        log = Log()
        started = []

        def failing(owned, coro):
            if len(started) == k:
                coro.close()
                raise MemoryError()
            started.append(1)
            start(owned, coro)

        coros = [log.cancelled(Future(), i) for i in range(3)]
        engine.start = failing
        try:
            with raises(MemoryError):
                await gather(*coros)
        finally:
            engine.start = start
        assert len(started) == k
        await settle()
        for c in coros[k:]:
            c.close()


def test_an_interrupt_in_a_member_comes_out_of_the_run_once():
    async def interrupts(exception, sleeps):
        if sleeps:  # asyncio resumes it
            await sleep_ms(0)
        raise exception()

    async def next_main():
        await settle()
        return await gather(sleep_then(1, "next"))

    for exception in (KeyboardInterrupt, SystemExit):
        for sleeps in (False, True):
            for kind in (None,) + KINDS:

                async def main():
                    g = gather(interrupts(exception, sleeps))
                    if kind is None:
                        await g
                    kind(g)
                    await sleep_ms(60000)

                renew_loop()
                with raises(exception):
                    asyncio.run(main())
                if MICROPYTHON:
                    # In the same loop: who waited for that must not raise it again.
                    assert asyncio.run(next_main()) == ["next"]
                renew_loop()
                assert asyncio.run(next_main()) == ["next"]


# Cancellation


async def test_a_cancelled_gather_cancels_its_members_and_waits_for_them():
    for kind in KINDS:
        log = Log()
        fut = Future()

        async def slow():
            try:
                await Future()
            except CancelledError:
                await fut
                log.append("slow")
                raise

        t = kind(gather(log.cancelled(Future(), "a"), slow(), log.cancelled(Future(), "b")))
        await settle()
        t.cancel()
        await settle()
        assert log == [("cancelled", "a"), ("cancelled", "b")]
        assert not t.ends
        fut.set_result(None)
        with raises(CancelledError):
            await t.end()
        assert log[2:] == ["slow"]


async def test_return_exceptions_does_not_hide_the_cancellation():
    for kind in KINDS:
        log = Log()
        t = kind(gather(log.cancelled(Future(), "a"), log.value(1), return_exceptions=True))
        await settle()
        t.cancel()
        with raises(CancelledError):
            await t.end()
        assert ("cancelled", "a") in log


async def test_return_exceptions_raises_no_member_s_exception_however_old_it_is():
    for kind in KINDS:
        # Of a gather within, which passes it on when it is cancelled.
        for others in ((), (Future(),)):
            nested = gather(fails(KeyError("old")), Future())
            got = []

            async def gathers():
                got.extend(await gather(nested, *others, return_exceptions=True))
                await Future()

            t = kind(gathers())
            await settle()
            t.cancel()
            with raises(CancelledError):
                await t.end()
            # Who is alone has completed nevertheless.
            assert [type(er) for er in got] == ([] if others else [KeyError])


async def test_members_are_cancelled_at_the_moment_of_the_cancel():
    for kind in KINDS:
        moments = []

        class Place(engine.Parked):
            def cancelled(self):
                moments.append("at once")
                return False

        t = kind(gather(parks(Place()), gather(parks(Place()))))
        await settle()
        t.cancel()
        assert moments == ["at once", "at once"]
        with raises(CancelledError):
            await t.end()


@engine.coroutine
def parks(place):
    yield engine.park(place)


async def test_what_had_failed_before_a_cancel_is_not_mixed_up_while_others_clean_up():
    for kind in KINDS:
        log = []

        async def member(n):
            try:
                await gather(fails(KeyError(n)), Future())
            finally:
                try:
                    await Future()
                except CancelledError:
                    await sleep_ms(3 * n)

        async def gathers(n):
            try:
                await gather(member(n), Future())
            except KeyError as er:
                log.append((n, er.args))

        tasks = [kind(gathers(n)) for n in range(3)]
        await settle()
        for t in tasks:
            t.cancel()
        for t in tasks:
            try:
                await t.end()
            except CancelledError:  # it does not wait any more
                pass
        assert sorted(log) == [(n, (n,)) for n in range(3)]


async def test_a_failure_after_a_cancel_is_none_that_came_before_an_earlier_one():
    # Both raise one exception: that of a future, or one that is made once.
    for kind in KINDS:
        shared = Future()
        shared.set_exception(KeyError("shared"))

        async def fails_first():
            await shared

        async def fails_when_cancelled():
            try:
                await Future()
            except CancelledError:
                await shared

        for _ in range(2):
            t = kind(gather(gather(fails_first(), Future()), Future()))
            await settle()
            t.cancel()
            with raises(KeyError):
                await t.end()
            t = kind(gather(fails_when_cancelled(), Future()))
            await settle()
            t.cancel()
            with raises(CancelledError):
                await t.end()


async def test_a_gather_cancelled_twice_cancels_its_members_again():
    for kind in KINDS:
        log = Log()

        async def stubborn():
            try:
                await Future()
            except CancelledError:
                log.append("first")
            await log.cancelled(Future(), "second")

        t = kind(gather(stubborn()))
        await settle()
        t.cancel()
        await until(lambda: log)
        await settle()
        assert not t.ends
        t.cancel()
        with raises(CancelledError):
            await t.end()
        assert log == ["first", ("cancelled", "second")]


async def test_a_gather_cancelled_before_it_began_begins_nothing():
    log = Log()
    member = log.value(1)
    t = Outcome(gather(member))
    t.cancel()
    with raises(CancelledError):
        await t.end()
    await settle()
    assert log == []
    assert await member == 1


async def test_a_gather_cancelled_before_its_members_began_begins_none_of_them():
    for kind in KINDS:
        log = Log()
        members = [log.value(1), log.value(2)]

        async def cancels():
            await fut
            t.cancel()

        async def gathers():
            await fut
            await gather(*members)

        fut = Future()
        t = kind(gathers())
        await settle()
        c = kind(cancels())
        await settle()
        fut.set_result(None)
        with raises(CancelledError):
            await t.end()
        await c.end()
        assert log == []
        for m in members:
            m.close()


async def test_futures_and_their_other_waiters_outlive_a_cancelled_gather():
    for kind in KINDS:
        fut = Future()
        t = kind(gather(fut, fut))
        other = kind(Log().after(fut, "other"))
        await settle()
        t.cancel()
        with raises(CancelledError):
            await t.end()
        assert not fut.done()
        fut.set_result(None)
        assert await other.end() == "other"


async def test_a_gathered_task_is_cancelled_with_the_gather():
    for kind in KINDS:
        log = Log()
        member = task(log.cancelled(Future(), "task"))
        t = kind(gather(member))
        await settle()
        t.cancel()
        with raises(CancelledError):
            await t.end()
        assert member.done() and log == [("cancelled", "task")]


async def test_complete_results_are_not_lost_by_a_cancel_and_that_comes_later():
    # All have ended, but whoever gathers has not run since.
    for kind in KINDS:
        log = Log()
        fut = Future()

        async def gathers():
            results = await gather(log.after(fut, 1), log.after(fut, 2))
            log.append(results)
            try:
                await Future()
            except CancelledError:
                log.append("later")
                raise

        t = kind(gathers())
        await settle()

        async def cancels_when_complete():
            while len(log) < 2:
                await behind()
            t.cancel()

        c = Outcome(cancels_when_complete())
        await settle()
        fut.set_result(None)
        with raises(CancelledError):
            await t.end()
        await c.end()
        assert log == [("end", 1), ("end", 2), [1, 2], "later"]


@engine.coroutine
def behind():
    place = engine.Parked()
    place.cancelled = lambda: True
    wait = engine.park(place)
    engine.wake(place)
    yield wait


async def test_members_that_complete_despite_the_cancel_give_their_results():
    for kind in KINDS:
        log = Log()

        async def withstands(value):
            try:
                await Future()
            except CancelledError:
                return value

        async def gathers():
            log.append(await gather(withstands(1), withstands(2)))
            await sleep_ms(60000)

        t = kind(gathers())
        await settle()
        t.cancel()
        with raises(CancelledError):
            await t.end()
        assert log == [[1, 2]]


async def test_a_member_may_cancel_the_gather_it_is_in():
    for kind in KINDS:
        log = Log()
        tasks = []

        async def cancels():
            await sleep_ms(1)
            tasks[0].cancel()
            log.append("goes on")
            await log.cancelled(Future(), "itself")

        tasks.append(kind(gather(cancels(), log.cancelled(Future(), "other"))))
        with raises(CancelledError):
            await tasks[0].end()
        assert log[0] == "goes on"
        assert sorted(log[1:]) == [("cancelled", "itself"), ("cancelled", "other")]


async def test_gathers_of_gathers_are_cancelled_to_their_leaves():
    for kind in KINDS:
        log = Log()
        leaves = [log.cancelled(Future(), i) for i in range(8)]
        nest = leaves
        while len(nest) > 1:
            nest = [gather(*nest[i : i + 2]) for i in range(0, len(nest), 2)]
        t = kind(nest[0])
        await settle()
        t.cancel()
        with raises(CancelledError):
            await t.end()
        assert sorted(log) == [("cancelled", i) for i in range(8)]


async def test_a_closed_gather_cancels_its_members():
    log = Log()

    async def closes():
        g = gather(log.cancelled(Future(), "a"), log.cancelled(Future(), "b"))
        it = g if MICROPYTHON else g.__await__()
        it.send(None)
        assert engine.unpark() is not None
        await behind()
        it.close()

    await Outcome(closes()).end()
    await settle()
    assert log == [("cancelled", "a"), ("cancelled", "b")]


if not MICROPYTHON:
    # On MicroPython whatever is no Exception ends the loop.

    class Stop(BaseException):
        pass

    async def test_an_exception_of_ones_own_kind_is_raised_like_any_other():
        async def stops():
            raise Stop("at once")

        with raises(Stop):
            await gather(stops())
        with raises(Stop):
            await gather(sleep_then(1, 1), stops())

    def test_what_ends_the_loop_does_so_once_and_lets_others_clean_up():
        cleaned = []

        async def exits():
            await sleep_ms(1)
            raise SystemExit(3)

        async def other():
            try:
                await sleep_ms(5000)
            finally:
                await sleep_ms(1)
                cleaned.append(True)

        async def limited():
            await wait_for_ms(exits(), 5000)

        async def gathered():
            await gather(exits())

        async def together():
            from uapycsp import Parallel, process

            await Parallel(process(exits)())

        for waits in (limited, gathered, together):
            cleaned.clear()

            async def main():
                begun = task(other())
                await waits()
                return begun

            with raises(SystemExit):
                asyncio.run(main())
            assert cleaned == [True]

if MICROPYTHON:

    async def test_a_memory_error_is_kept_as_one_that_nothing_takes_over():
        # MicroPython's own serves for the next exception that finds no memory, too.
        own = MemoryError("MicroPython's")

        async def fails():
            raise own

        with raises(MemoryError) as e:
            await gather(fails(), returns(1))
        assert e.value is not own
