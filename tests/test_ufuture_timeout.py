"""wait_for and wait_for_ms: what completed wins over its timeout, the rest leaves nothing behind.

The operation here stands for a channel's: it is complete the moment `finish` is called, though its
task has not run since, and a cancel then gives its value back, or lets it stand if it is a write.
"""

from ufuture_support import (
    KINDS,
    MICROPYTHON,
    CancelledError,
    Outcome,
    asyncio,
    block_ms,
    raises,
    renew_loop,
    settle,
    sleep_ms,
    ticks_diff,
    ticks_ms,
    until,
)

from ufuture import Future, TimeoutError, YieldingFuture, gather, wait_for, wait_for_ms
from ufuture.loop import engine

LONG = 60000


class Operation(engine.Parked):
    """What a task waits for. given_back: values that were there, but nobody will take."""

    def __init__(self, stands=False):
        self.value = None
        self.stands = stands
        self.waits = False
        self.given_back = []
        self.withdrawn = 0

    def finish(self, value):
        assert self.waits, "nobody waits any more"
        self.waits = False
        self.value = value
        engine.wake(self)

    @engine.coroutine
    def wait(self):
        self.waits = True
        try:
            yield engine.park(self)
        except CancelledError:
            if not self.stands or self.value is None:
                raise
            engine.cancel_later()
        return self.value

    def cancelled(self):
        if self.waits:
            self.waits = False
            self.withdrawn += 1
            return False
        if not self.stands:
            self.given_back.append(self.value)
        return True


async def operating(op, kind, coro):
    t = kind(coro)
    await until(lambda: op.waits)
    return t


async def held_up(kind, make, ms=20):
    """An Operation, and the task of make(it), which waits for it within ms.

    The loop has been held up until that has passed: it has not noticed yet.
    """
    while True:
        op = Operation()
        start = ticks_ms()
        t = await operating_or_ended(op, kind, make(op))
        if ticks_diff(ticks_ms(), start) < ms:
            block_ms(ms + 10)
            return op, t
        await stood_still(t)


async def operating_or_ended(op, kind, coro):
    t = kind(coro)
    await until(lambda: op.waits or t.ends)
    return t


async def stood_still(t):
    # The machine has, and the limit may have been noticed: once more.
    if not t.ends:
        t.cancel()
    await until(lambda: t.ends)


async def value(v):
    return v


def limits(aw, ms):
    """The same limit in both units."""
    return wait_for_ms(aw(), ms), wait_for(aw(), None if ms is None else ms / 1000)


# In time


async def test_the_value_of_what_ends_in_time():
    for kind in KINDS:
        op = Operation()
        t = await operating(op, kind, wait_for_ms(op.wait(), LONG))
        op.finish("v")
        assert await t.end() == "v"
        assert await kind(wait_for(value(1), 60)).end() == 1


async def test_exceptions_come_through():
    async def fails():
        await sleep_ms(1)
        raise KeyError("k")

    for kind in KINDS:
        for limit in limits(fails, LONG):
            with raises(KeyError) as e:
                await kind(limit).end()
            assert e.value.args == ("k",)


async def test_a_timeout_error_of_the_awaitable_itself_comes_through_at_once():
    mine = TimeoutError("its own")

    async def fails():
        raise mine

    for kind in KINDS:
        start = ticks_ms()
        with raises(TimeoutError) as e:
            await kind(wait_for_ms(fails(), LONG)).end()
        assert e.value is mine
        assert ticks_diff(ticks_ms(), start) < 30000


async def test_a_cancelled_error_of_the_awaitable_itself_comes_through():
    async def fails():
        raise CancelledError()

    for kind in KINDS:
        with raises(CancelledError):
            await kind(wait_for_ms(fails(), LONG)).end()


async def test_none_or_an_infinite_one_is_no_limit():
    for endless in (None, float("inf")):
        for limit in limits(lambda: value(7), endless):
            assert await limit == 7
        for limit in (wait_for, wait_for_ms):
            op = Operation()
            t = await operating(op, Outcome, limit(op.wait(), endless))
            op.finish("v")
            assert await t.end() == "v"


async def test_what_ended_in_time_leaves_no_timer():
    op = Operation()
    t = await operating(op, Outcome, wait_for_ms(op.wait(), LONG))
    op.finish("v")
    await t.end()
    if MICROPYTHON:
        assert engine.core._task_queue.peek() is None
    else:
        assert not [h for h in asyncio.get_running_loop()._scheduled if not h.cancelled()]


async def test_everything_that_can_be_awaited_may_be_limited():
    done, fut, yielding = Future(), Future(), YieldingFuture()
    done.set_result("done")
    task = asyncio.get_event_loop().create_task(value("task"))

    async def sets():
        fut.set_result("future")
        yielding.set_result("yielding")

    for aw, expected in (
        (done, "done"),
        (task, "task"),
        (gather(fut, yielding, sets()), ["future", "yielding", None]),
        (wait_for(value("nested"), 60), "nested"),
        (sleep_ms(1), None),
    ):
        assert await wait_for_ms(aw, LONG) == expected


async def test_what_cannot_be_awaited_is_a_type_error():
    for wrong in (5, None, "text", value):
        with raises(TypeError):
            await wait_for_ms(wrong, 5)


async def test_a_part_of_a_millisecond_is_rounded_up():
    for ms in (0.5, 1.5):
        op = Operation()
        with raises(TimeoutError):
            await wait_for_ms(op.wait(), ms)
        assert not op.waits
        assert await wait_for_ms(soon(), ms) == "soon"


async def soon():
    return "soon"


async def test_what_is_no_time_is_a_type_error_and_begins_nothing():
    for limit in (wait_for, wait_for_ms):
        op = Operation()
        coro = op.wait()
        with raises(TypeError):
            await limit(coro, "soon")
        await settle()
        assert not op.waits
        coro.close()


def test_a_limit_in_the_main_task():
    async def main():
        with raises(TimeoutError):
            await wait_for_ms(Future(), 5)
        with raises(TimeoutError):
            await wait_for(asyncio.sleep(60), 0.005)
        return await wait_for(value(7), 60)

    renew_loop()
    for _ in range(3):
        assert asyncio.run(main()) == 7


# Too late


async def test_what_takes_too_long_is_cancelled_and_leaves_nothing():
    for kind in KINDS:
        for in_seconds in range(2):
            op = Operation()
            limit = wait_for(op.wait(), 0.005) if in_seconds else wait_for_ms(op.wait(), 5)
            t = kind(limit)
            with raises(TimeoutError) as e:
                await t.end()
            assert str(e.value)
            assert op.withdrawn == 1 and op.given_back == []


async def test_the_time_is_kept():
    for kind in KINDS:
        start = ticks_ms()
        with raises(TimeoutError):
            await kind(wait_for_ms(Future(), 50)).end()
        assert ticks_diff(ticks_ms(), start) >= 45


async def test_a_positive_limit_in_seconds_is_never_rounded_to_none():
    op = Operation()
    t = Outcome(wait_for(op.wait(), 0.0004))
    await until(lambda: t.ends)
    assert isinstance(t.exception, TimeoutError)
    limits = []
    timeout = __import__("ufuture.timeout", None, None, ("wait_for",))
    kept = timeout._wait_for
    timeout._wait_for = lambda coro, ms: limits.append(ms)
    coro = value(1)
    try:
        for ms in range(1, 3000):
            wait_for(coro, ms / 1000)
            assert limits.pop() == ms
        for seconds in (1e-9, 0.0004, 0.001, 1, 2.5, 0, -1, float("-inf"), 3600, 30 * 86400):
            wait_for(coro, seconds)
    finally:
        timeout._wait_for = kept
        coro.close()
    assert limits[:6] == [1, 1, 1, 1000, 2500, 0]
    assert limits[6] <= 0 and limits[7] <= 0 and limits[8:] == [3600000, 30 * 86400000]


async def test_a_limit_longer_than_ticks_can_count_is_waited_for_in_parts():
    timeout = __import__("ufuture.timeout", None, None, ("wait_for",))
    op = Operation()
    t = await operating(op, Outcome, wait_for(op.wait(), 30 * 86400))
    op.finish("v")
    assert await t.end() == "v"
    kept = timeout.engine.LONGEST_MS
    timeout.engine.LONGEST_MS = 10
    try:
        start = ticks_ms()
        with raises(TimeoutError):
            await wait_for_ms(Future(), 45)
        assert ticks_diff(ticks_ms(), start) >= 40
        op = Operation()
        t = await operating(op, Outcome, wait_for_ms(op.wait(), LONG))
        await sleep_ms(30)
        op.finish("v")
        assert await t.end() == "v"
    finally:
        timeout.engine.LONGEST_MS = kept


async def test_the_timeout_comes_after_the_awaitable_has_ended():
    for kind in KINDS:
        fut = Future()
        log = []

        async def slow():
            try:
                await Future()
            except CancelledError:
                await fut
                log.append("cleaned up")
                raise

        t = kind(wait_for_ms(slow(), 5))
        await sleep_ms(20)
        assert not t.ends
        fut.set_result(None)
        with raises(TimeoutError):
            await t.end()
        assert log == ["cleaned up"]


async def test_what_completes_despite_its_timeout_gives_its_value_or_its_exception():
    async def withstands():
        try:
            await Future()
        except CancelledError:
            return "late"

    async def fails():
        try:
            await Future()
        except CancelledError:
            raise KeyError("late")

    for kind in KINDS:
        assert await kind(wait_for_ms(withstands(), 5)).end() == "late"
        with raises(KeyError):
            await kind(wait_for_ms(fails(), 5)).end()


async def test_a_future_and_its_other_waiters_outlive_a_timeout():
    for F in (Future, YieldingFuture):
        fut = F()
        t = Outcome(wait_for_ms(fut, LONG))
        with raises(TimeoutError):
            await wait_for_ms(fut, 5)
        assert not fut.done()
        fut.set_result("v")
        assert await t.end() == "v"


async def test_a_task_is_cancelled_with_its_timeout():
    async def waits():
        await Future()

    task = asyncio.get_event_loop().create_task(waits())
    with raises(TimeoutError):
        await wait_for_ms(task, 5)
    assert task.done()


# Zero


async def test_zero_or_less_is_one_try():
    for ms in (0, -1, -LONG, float("-inf")):
        for kind in KINDS:
            assert await kind(wait_for_ms(value(7), ms)).end() == 7
            op = Operation()
            with raises(TimeoutError):
                await kind(wait_for_ms(op.wait(), ms)).end()
            assert op.withdrawn == 1
            fut = Future()
            fut.set_result("there")
            assert await kind(wait_for(fut, ms / 1000)).end() == "there"


async def test_zero_is_enough_for_who_lets_others_go_first_once():
    async def polite():
        await behind()
        return "v"

    for kind in KINDS:
        assert await kind(wait_for_ms(polite(), 0)).end() == "v"


@engine.coroutine
def behind():
    place = engine.Parked()
    place.cancelled = lambda: True
    wait = engine.park(place)
    engine.wake(place)
    yield wait


async def test_zero_ends_what_would_poll_for_ever():
    polls = []

    async def polls_for_ever():
        while True:
            polls.append(1)
            await behind()

    for kind in KINDS:
        with raises(TimeoutError):
            await kind(wait_for_ms(polls_for_ever(), 0)).end()
        with raises(TimeoutError):
            await kind(wait_for_ms(polls_for_ever(), 5)).end()


# Completed, but not run since


async def test_a_completed_operation_wins_over_its_timeout():
    # The loop is held up until the limit has passed as well.
    for kind in KINDS:
        for rest in (0, 1):

            async def operates(op):
                v = await op.wait()
                if rest:
                    await behind()
                return v

            op, t = await held_up(kind, lambda op: wait_for_ms(operates(op), 20))
            op.finish("v")
            assert await t.end() == "v"
            assert op.given_back == [] and op.withdrawn == 0


async def test_a_completed_operation_wins_from_within_an_owned_task_too():
    # Whoever completes it runs in a round of the driver, not in asyncio's.
    async def finishes(op, begin, started):
        await begin
        if ticks_diff(ticks_ms(), started) >= 20:
            return False
        block_ms(30)
        op.finish("v")
        return True

    for kind in KINDS:
        while True:
            op, begin = Operation(), Future()
            f = Outcome(finishes(op, begin, ticks_ms()))
            t = await operating_or_ended(op, kind, wait_for_ms(op.wait(), 20))
            begin.set_result(None)
            if await f.end():
                break
            await stood_still(t)
        assert await t.end() == "v"
        assert op.given_back == []


async def test_an_asyncio_event_that_was_set_wins_over_the_timeout():
    async def waits(op, event):
        op.waits = True  # as far as `held_up` is concerned
        await event.wait()
        return "set"

    for kind in KINDS:
        events = []

        def make(op):
            events.append(asyncio.Event())
            return wait_for_ms(waits(op, events[-1]), 20)

        op, t = await held_up(kind, make)
        events[-1].set()
        assert await t.end() == "set"


async def test_who_waits_once_more_after_the_limit_is_cancelled():
    for kind in KINDS:
        second = Operation()

        async def both(first):
            await first.wait()
            await second.wait()

        first, t = await held_up(kind, lambda op: wait_for_ms(both(op), 20))
        first.finish("v")
        with raises(TimeoutError):
            await t.end()
        assert second.withdrawn == 1 and first.given_back == []


async def test_a_stream_of_completed_operations_is_ended_by_the_limit_and_loses_nothing():
    for kind in KINDS:
        for stands in (False, True):
            # On a machine that stands still few come before a short limit.
            for ms in (5, 50, 500, 5000):
                op = Operation(stands)
                taken, given = [], []

                async def takes():
                    while True:
                        op.value = None
                        taken.append(await op.wait())

                async def gives():
                    while not t.ends:
                        if op.waits:
                            given.append(len(given))
                            op.finish(given[-1])
                        await behind()

                t = kind(wait_for_ms(takes(), ms))
                g = Outcome(gives())
                with raises(TimeoutError):
                    await t.end()
                await g.end()
                assert taken + op.given_back == given
                if len(given) > 10:
                    break
            assert len(given) > 10


# Cancelled from outside


async def test_a_cancelled_limit_cancels_the_operation_at_once():
    for kind in KINDS:
        op = Operation()
        t = await operating(op, kind, wait_for_ms(op.wait(), LONG))
        t.cancel()
        assert op.withdrawn == 1
        with raises(CancelledError):
            await t.end()


async def test_a_cancel_gives_back_what_was_completed_but_not_run():
    for kind in KINDS:
        op = Operation()
        t = await operating(op, kind, wait_for_ms(op.wait(), LONG))
        op.finish("v")
        t.cancel()
        assert op.given_back == ["v"]
        with raises(CancelledError):
            await t.end()


async def test_what_has_happened_stands_and_the_cancellation_comes_later():
    for kind in KINDS:
        op = Operation(stands=True)
        log = []

        async def writes():
            log.append(await wait_for_ms(op.wait(), LONG))
            await sleep_ms(LONG)

        t = await operating(op, kind, writes())
        op.finish("v")
        t.cancel()
        with raises(CancelledError):
            await t.end()
        assert log == ["v"]


async def test_the_value_of_what_has_ended_is_not_lost_by_a_cancel():
    # The awaitable has ended, but whoever waits for it has not run since.
    for kind in KINDS:
        op = Operation()
        log = []

        async def operates():
            v = await op.wait()
            log.append("ended")
            return v

        async def limited():
            log.append(await wait_for_ms(operates(), LONG))
            try:
                await Future()
            except CancelledError:
                log.append("later")
                raise

        t = await operating(op, kind, limited())

        async def cancels():
            while not log:
                await behind()
            t.cancel()

        c = Outcome(cancels())
        op.finish("v")
        with raises(CancelledError):
            await t.end()
        await c.end()
        assert log == ["ended", "v", "later"]
        assert op.given_back == []


async def test_a_cancel_together_with_the_timeout_is_a_cancellation():
    # In the tick of the limit: before it is noticed, and while the operation is being ended.
    for kind in KINDS:
        op, t = await held_up(kind, lambda op: wait_for_ms(op.wait(), 20))
        t.cancel()
        with raises(CancelledError):
            await t.end()
        assert op.withdrawn == 1
        assert t.ends == 1


async def test_a_cancel_while_the_timeout_ends_the_operation_is_a_cancellation():
    for kind in KINDS:
        fut = Future()
        log = []

        async def slow():
            try:
                await Future()
            except CancelledError:
                log.append("ending")
                try:
                    await fut
                except CancelledError:
                    log.append("cancelled again")
                    raise

        t = kind(wait_for_ms(slow(), 5))
        await until(lambda: log)
        await settle()
        t.cancel()
        with raises(CancelledError):
            await t.end()
        assert log == ["ending", "cancelled again"]


async def test_a_cancel_in_every_step_after_the_limit_is_a_cancellation():
    # The steps that wait_for takes after the limit, one after another.
    for kind in KINDS:
        for steps in range(6):
            op, t = await held_up(kind, lambda op: wait_for_ms(op.wait(), 10), 10)
            for _ in range(steps):
                await sleep_ms(0)
            before = t.ends
            t.cancel()
            try:
                await t.end()
            except CancelledError:
                assert not before
            except TimeoutError:
                # It had come to its end.
                assert before or steps
            assert op.withdrawn == 1 and t.ends == 1
            await settle()
            assert t.ends == 1


async def test_a_cancel_after_a_completion_in_every_step_loses_nothing():
    for kind in KINDS:
        for steps in range(6):
            got = []

            async def takes(op):
                got.append(await wait_for_ms(op.wait(), 10))
                await sleep_ms(LONG)

            op, t = await held_up(kind, takes, 10)
            op.finish("v")
            for _ in range(steps):
                await sleep_ms(0)
            t.cancel()
            with raises(CancelledError):
                await t.end()
            assert got + op.given_back == ["v"], (kind, steps)


async def test_who_swallows_the_cancellation_of_a_cancelled_limit_gives_its_value_first():
    async def withstands():
        try:
            await Future()
        except CancelledError:
            return "late"

    for kind in KINDS:
        log = []

        async def limited():
            log.append(await wait_for_ms(withstands(), LONG))
            await sleep_ms(LONG)

        t = kind(limited())
        await settle()
        t.cancel()
        with raises(CancelledError):
            await t.end()
        assert log == ["late"]


async def test_what_had_failed_before_a_cancel_comes_through_the_limits_around_it():
    # Several that are cancelled at once: each meets its own.
    for kind in KINDS:
        log = []

        async def fails(n):
            raise KeyError(n)

        async def limited(n):
            inner = wait_for_ms(gather(fails(n), Future()), LONG)
            if n % 2:
                inner = wait_for_ms(gather(inner), LONG)
            try:
                await gather(inner, Future())
            except KeyError as er:
                log.append(er.args[0])
            await sleep_ms(LONG)

        tasks = [kind(limited(n)) for n in range(4)]
        await settle()
        for t in tasks:
            t.cancel()
        for t in tasks:
            with raises(CancelledError):
                await t.end()
        assert sorted(log) == [0, 1, 2, 3]


async def test_a_failure_just_before_a_cancel_of_its_limit_came_first():
    # The awaitable has failed, but whoever limits it has not run since.
    for kind in KINDS:
        log = []
        failed = []

        async def fails(fut):
            await fut
            failed.append(1)
            raise KeyError("old")

        async def limited(fut):
            try:
                await gather(wait_for_ms(fails(fut), LONG), Future())
            except KeyError:
                log.append("failed")
            await sleep_ms(LONG)

        async def cancels():
            while not failed:
                await behind()
            t.cancel()

        fut = Future()
        t = kind(limited(fut))
        await settle()
        c = Outcome(cancels())
        await settle()
        fut.set_result(None)
        with raises(CancelledError):
            await t.end()
        await c.end()
        assert log == ["failed"]


async def test_an_operation_cancelled_before_its_limit_began_does_nothing():
    op = Operation()
    t = Outcome(wait_for_ms(op.wait(), LONG))
    t.cancel()
    with raises(CancelledError):
        await t.end()
    await settle()
    assert not op.waits and op.withdrawn == 0


# Nested


async def test_the_shorter_of_nested_limits_counts():
    for kind in KINDS:
        for outer, inner in ((5, LONG), (LONG, 5), (5, 5)):
            op = Operation()
            t = kind(wait_for_ms(wait_for_ms(op.wait(), inner), outer))
            with raises(TimeoutError):
                await t.end()
            assert op.withdrawn == 1


async def test_who_catches_the_inner_timeout_goes_on_under_the_outer_one():
    for kind in KINDS:
        log = []

        async def tries():
            while True:
                try:
                    await wait_for_ms(Future(), 5)
                except TimeoutError:
                    log.append(1)

        # A machine that stands still may let the first limits end together.
        for ms in (60, 600, 6000):
            log.clear()
            with raises(TimeoutError):
                await kind(wait_for_ms(tries(), ms)).end()
            assert len(log) <= ms // 5
            if len(log) >= 2:
                break
        assert len(log) >= 2


async def test_a_cancel_goes_through_nested_limits_at_once():
    for kind in KINDS:
        op = Operation()
        limit = wait_for_ms(wait_for_ms(gather(wait_for_ms(op.wait(), LONG)), LONG), LONG)
        t = await operating(op, kind, limit)
        op.finish("v")
        t.cancel()
        assert op.given_back == ["v"]
        with raises(CancelledError):
            await t.end()


async def test_a_limit_inside_of_asyncio_s_own_and_around_it():
    op = Operation()
    with raises(TimeoutError):
        await asyncio.wait_for(wait_for_ms(op.wait(), LONG), 0.005)
    await until(lambda: op.withdrawn == 1)
    op = Operation()
    with raises(TimeoutError):
        await wait_for_ms(asyncio.wait_for(op.wait(), 60), 5)
    await until(lambda: op.withdrawn == 1)


async def test_many_limits_at_once():
    futures = [Future() for _ in range(200)]
    tasks = [KINDS[i % 2](wait_for_ms(futures[i], 30 if i % 3 else LONG)) for i in range(200)]
    await settle()
    for i in range(0, 200, 3):
        futures[i].set_result(i)
    for i in range(200):
        if i % 3 == 0:
            assert await tasks[i].end() == i
        else:
            with raises(TimeoutError):
                await tasks[i].end()
