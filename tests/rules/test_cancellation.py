"""Rule 8: cancellation is atomic. No message is lost, none delivered twice, no dead offer stays.

Each claim is tried with the two kinds of tasks: those that the library started, and those that
asyncio did ("foreign"). Everything runs in one loop, so plain lists do as logs.
"""

import csp

import ufuture
from rules_support import (
    POISONED,
    asyncio,
    block_ms,
    choose,
    give,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    settle,
    skip,
    sleep_ms,
    take,
    ticks_diff,
    ticks_ms,
    until,
    waiting_readers,
    waiting_writers,
)

VARIANTS = ("uapycsp",)
HEAP = "8M"

KINDS = ("own", "foreign")


class Party:
    """A task that does one operation, then something that suspends; notes what happens."""

    def __init__(self, kind, operation):
        self.operation = operation
        self.events = []
        self.task = None
        if kind == "own":
            csp.Spawn(self.body())
        else:
            asyncio.get_event_loop().create_task(self.body())

    async def body(self):
        self.task = asyncio.current_task()
        try:
            self.events.append(await self.operation())
            await sleep_ms(0)
            self.events.append("after")
        except asyncio.CancelledError:
            self.events.append("cancelled")
        except csp.PoisonException:
            self.events.append(POISONED)
        except asyncio.TimeoutError:
            self.events.append("late")
        self.events.append("end")

    def cancel(self):
        return self.task.cancel()

    async def ended(self):
        await until(lambda: self.events and self.events[-1] == "end")
        return self.events[:-1]


async def reader(kind, ch, n):
    """A Party that waits to read, as the n-th in the queue."""
    p = Party(kind, ch.read)
    await until(lambda: ch.queue_len() == n)
    return p


async def writer(kind, ch, value, n):
    p = Party(kind, lambda: ch.write(value))
    await until(lambda: ch.queue_len() == n)
    return p


async def selecting(kind, ch, n, *guards):
    p = Party(kind, lambda: csp.Alternative(*guards).select())
    await until(lambda: ch.queue_len() == n)
    return p


async def just_begun(ch, operation, ms):
    """A Party that waits as the only one on a channel, for less than ms so far."""
    while True:
        start = ticks_ms()
        p = Party("own", operation)
        await until(lambda: ch.queue_len() == 1 or p.events)
        if ticks_diff(ticks_ms(), start) < ms:
            return p
        p.cancel()  # the machine stood still
        await p.ended()


async def readers(kind, ch, n):
    parties = []
    for i in range(n):
        parties.append(await reader(kind, ch, i + 1))
    return parties


async def writers(kind, ch, values):
    parties = []
    for v in values:
        parties.append(await writer(kind, ch, v, len(parties) + 1))
    return parties


# Not paired yet: nothing is left behind


async def test_a_cancelled_read_that_was_not_paired_leaves_nothing():
    for kind in KINDS:
        ch = csp.Channel("c")
        p = await reader(kind, ch, 1)
        p.cancel()
        assert idle(ch)
        assert await p.ended() == ["cancelled"]
        (w,) = await waiting_writers(ch, ("for the next",))
        assert await ch.read() == "for the next"
        assert await join(w) == 0


async def test_a_cancelled_write_that_was_not_paired_leaves_nothing():
    for kind in KINDS:
        ch = csp.Channel("c")
        p = await writer(kind, ch, "never", 1)
        p.cancel()
        assert idle(ch)
        assert await p.ended() == ["cancelled"]
        (r,) = await waiting_readers(ch, 1)
        await ch.write("real")
        assert await join(r) == "real"


async def test_a_cancelled_select_followed_by_writes_takes_none_of_them():
    for kind in KINDS:
        a, b, c = [csp.Channel(n) for n in "abc"]
        p = await selecting(kind, c, 1, a.read, b.write.alt_pending_write("never"), c.read)
        assert a.queue_len() == 1 and b.queue_len() == 1
        p.cancel()
        assert idle(a, b, c)
        assert await p.ended() == ["cancelled"]
        for ch in (a, b, c):
            (w,) = await waiting_writers(ch, ("kept",))
            assert await ch.read() == "kept"
            assert await join(w) == 0
        assert idle(a, b, c)


async def test_a_cancelled_alternative_with_both_guards_on_a_channel_leaves_nothing():
    for kind in KINDS:
        ch = csp.Channel("c")
        p = await selecting(kind, ch, 2, ch.read, ch.write.alt_pending_write("never"))
        p.cancel()
        assert idle(ch)
        assert await p.ended() == ["cancelled"]


async def test_a_cancelled_select_leaves_its_alternative_usable():
    for kind in KINDS:
        a, b = csp.Channel("a"), csp.Channel("b")
        alt = csp.Alternative(a.read, b.read)
        for i in range(3):
            p = Party(kind, alt.select)
            await until(lambda: b.queue_len() == 1)
            p.cancel()
            assert await p.ended() == ["cancelled"]
        (w,) = await waiting_writers(b, (1,))
        assert await alt.select() == (b.read, 1)
        assert await join(w) == 0


async def test_a_cancelled_select_disables_its_guards():
    log = []

    class Noting(csp.Guard):
        def enable(self, alt):
            log.append("enable")
            self.alt = alt
            return False, None

        def disable(self, alt):
            log.append("disable")

    for kind in KINDS:
        del log[:]
        ch = csp.Channel("c")
        g = Noting()
        guards = g, ch.read, csp.Timer(ms=20)
        while True:
            start = ticks_ms()
            p = Party(kind, lambda: csp.Alternative(*guards).select())
            await until(lambda: ch.queue_len() == 1 or p.events)
            p.cancel()
            if ticks_diff(ticks_ms(), start) < 20:
                break
            await p.ended()  # the machine stood still
            del log[:]
        assert await p.ended() == ["cancelled"]
        assert log == ["enable", "disable"]
        assert not g.alt.schedule(g, 1)
        # Its timer must not fire into anything.
        await sleep_ms(40)
        assert idle(ch)


async def test_a_cancelled_operation_leaves_the_middle_of_the_queue():
    for kind in KINDS:
        ch = csp.Channel("c")
        ps = await readers(kind, ch, 3)
        ps[1].cancel()
        ch.verify()
        assert ch.queue_len() == 2
        await ch.write(1)
        await ch.write(3)
        assert await ps[0].ended() == [1, "after"]
        assert await ps[1].ended() == ["cancelled"]
        assert await ps[2].ended() == [3, "after"]
        assert idle(ch)


async def test_a_cancelled_writer_leaves_the_head_and_the_tail_of_the_queue():
    for kind in KINDS:
        ch = csp.Channel("c")
        ps = await writers(kind, ch, range(3))
        ps[0].cancel()
        ps[2].cancel()
        ch.verify()
        assert ch.queue_len() == 1
        assert await ch.read() == 1
        assert await ps[1].ended() == [0, "after"]
        assert idle(ch)


async def test_a_writer_cancelled_while_it_waits_for_room_writes_nothing():
    for kind in KINDS:
        ch = csp.BufferedChannel("c", 1)
        await ch.write("kept")
        p = await writer(kind, ch, "never", 2)
        p.cancel()
        assert ch.queue_len() == 1
        ch.verify()
        assert await p.ended() == ["cancelled"]
        assert await ch.read() == "kept"
        assert idle(ch)


async def test_a_cancelled_last_writer_of_a_closed_channel_leaves_it_drained():
    for kind in KINDS:
        ch = csp.Channel("c")
        p = await writer(kind, ch, "never", 1)
        ch.close()
        assert not ch.poisoned
        p.cancel()
        assert ch.poisoned
        assert await p.ended() == ["cancelled"]


async def test_an_operation_cancelled_before_it_began_posts_nothing():
    ch = csp.Channel("c")

    async def reads():
        return await ch.read()

    task = asyncio.get_event_loop().create_task(reads())
    task.cancel()
    with raises(asyncio.CancelledError):
        await task
    assert idle(ch)


# A paired read gives its value back


async def test_a_paired_read_gives_its_value_back_at_the_moment_of_the_cancel():
    for kind in KINDS:
        ch = csp.Channel("c")
        p = await reader(kind, ch, 1)
        assert await ch.write("v") == 0
        assert ch.queue_len() == 0 and p.events == []
        p.cancel()
        assert ch.queue_len() == 1
        ch.verify()
        assert await p.ended() == ["cancelled"]
        assert ch.queue_len() == 1
        assert await ch.read() == "v"
        assert idle(ch)


async def test_a_value_given_back_goes_to_the_next_waiting_reader():
    for kind in KINDS:
        ch = csp.Channel("c")
        ps = await readers(kind, ch, 2)
        await ch.write("v")
        ps[0].cancel()
        assert ch.queue_len() == 0
        ch.verify()
        assert await ps[0].ended() == ["cancelled"]
        assert await ps[1].ended() == ["v", "after"]
        assert idle(ch)


async def test_a_value_given_back_goes_to_a_waiting_alternative():
    for kind in KINDS:
        ch, other = csp.Channel("c"), csp.Channel("other")
        p = await reader(kind, ch, 1)
        h = await posted(ch, choose(other.read, ch.read), 2)
        await ch.write("v")
        p.cancel()
        assert idle(ch, other)
        assert await join(h) == (ch.read, "v")
        assert await p.ended() == ["cancelled"]


async def test_a_value_given_back_twice_goes_on_to_the_third_reader():
    for kind in KINDS:
        ch = csp.Channel("c")
        ps = await readers(kind, ch, 3)
        await ch.write("v")
        ps[0].cancel()
        ps[1].cancel()
        assert ch.queue_len() == 0
        assert await ps[2].ended() == ["v", "after"]
        assert await ps[0].ended() == ["cancelled"]
        assert await ps[1].ended() == ["cancelled"]
        assert idle(ch)


async def test_values_given_back_keep_the_order_of_their_pairing():
    for kind in KINDS:
        for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
            ch = csp.Channel("c")
            ps = await readers(kind, ch, 3)
            for v in (10, 11, 12):
                await ch.write(v)
            for i in order:
                ps[i].cancel()
                ch.verify()
            assert ch.queue_len() == 3
            assert [await ch.read(), await ch.read(), await ch.read()] == [10, 11, 12]
            for p in ps:
                assert await p.ended() == ["cancelled"]
            assert idle(ch)


async def test_values_of_own_and_foreign_readers_are_given_back_in_the_order_of_their_pairing():
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)):
        for first in (0, 1):
            ch = csp.Channel("c")
            ps = []
            for i in range(4):
                ps.append(await reader(KINDS[(i + first) % 2], ch, i + 1))
            for v in range(4):
                await ch.write(v)
            for i in order:
                ps[i].cancel()
            assert ch.queue_len() == 4
            got = [await ch.read(), await ch.read(), await ch.read(), await ch.read()]
            assert got == [0, 1, 2, 3]
            for p in ps:
                assert await p.ended() == ["cancelled"]
            assert idle(ch)


async def test_only_the_cancelled_readers_give_back():
    for kind in KINDS:
        ch = csp.Channel("c")
        ps = await readers(kind, ch, 3)
        for v in (10, 11, 12):
            await ch.write(v)
        ps[2].cancel()
        ps[0].cancel()
        assert ch.queue_len() == 2
        assert [await ch.read(), await ch.read()] == [10, 12]
        assert await ps[1].ended() == [11, "after"]
        assert idle(ch)


async def test_a_value_given_back_waits_before_all_writers():
    for kind in KINDS:
        ch, go, stop = csp.Channel("c"), csp.Channel("go"), csp.Channel("stop")
        p = await reader(kind, ch, 1)
        seen = []
        w = await posted(go, writes_when_told(go, ch, "of the writer"), 1)
        k = await posted(stop, cancels_when_told(stop, p, ch, seen), 1)
        # The three are woken in this order: the writer waits when the reader is cancelled.
        await go.write(1)
        await stop.write(1)
        await ch.write("given back")
        assert await join(k) is None
        assert seen == [1, 2]
        assert [await ch.read(), await ch.read()] == ["given back", "of the writer"]
        assert await join(w) == 0
        assert await p.ended() == ["cancelled"]
        assert idle(ch)


@csp.process
async def writes_when_told(go, ch, value):
    await go.read()
    return await ch.write(value)


@csp.process
async def cancels_when_told(go, party, ch, seen):
    await go.read()
    assert party.events == []
    seen.append(ch.queue_len())
    party.cancel()
    seen.append(ch.queue_len())


async def test_a_writer_waits_behind_values_given_back():
    for kind in KINDS:
        ch = csp.Channel("c")
        p = await reader(kind, ch, 1)
        await ch.write(1)
        p.cancel()
        (w,) = await waiting_writers(ch, (2,))
        assert ch.queue_len() == 2 and not w.done()
        assert [await ch.read(), await ch.read()] == [1, 2]
        assert await join(w) == 0
        assert idle(ch)


async def test_a_value_given_back_makes_guards_ready_and_feeds_iterations():
    for kind in KINDS:
        ch = csp.Channel("c")
        ps = await readers(kind, ch, 2)
        await ch.write(1)
        await ch.write(2)
        ps[0].cancel()
        ps[1].cancel()
        assert await csp.Alternative(ch.read, csp.Skip()).select() == (ch.read, 1)
        async for v in ch.read:
            assert v == 2
            break
        assert idle(ch)


async def test_a_cancelled_iteration_gives_its_value_back():
    for kind in KINDS:
        ch = csp.Channel("c")

        async def iterate():
            async for v in ch.read:
                return v

        p = Party(kind, iterate)
        await until(lambda: ch.queue_len() == 1)
        await ch.write("v")
        p.cancel()
        assert ch.queue_len() == 1
        assert await p.ended() == ["cancelled"]
        assert await ch.read() == "v"
        assert idle(ch)


async def test_a_select_that_chose_a_read_gives_its_value_back():
    for kind in KINDS:
        a, b = csp.Channel("a"), csp.Channel("b")
        p = await selecting(kind, b, 1, a.read, b.read)
        assert await b.write("v") == 0
        p.cancel()
        assert a.queue_len() == 0 and b.queue_len() == 1
        assert await p.ended() == ["cancelled"]
        assert await b.read() == "v"
        assert idle(a, b)


async def test_plain_reads_and_selects_give_back_in_the_order_of_their_pairing():
    for kind in KINDS:
        for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
            ch, other = csp.Channel("c"), csp.Channel("other")
            ps = [
                await selecting(kind, ch, 1, other.read, ch.read),
                await reader(kind, ch, 2),
                await selecting(kind, ch, 3, ch.read, other.read),
            ]
            for v in range(3):
                await ch.write(v)
            for i in order:
                ps[i].cancel()
            assert ch.queue_len() == 3
            assert [await ch.read(), await ch.read(), await ch.read()] == [0, 1, 2]
            for p in ps:
                assert await p.ended() == ["cancelled"]
            assert idle(ch, other)


async def test_reads_of_a_parallel_give_back_in_the_order_of_their_pairing():
    for kind in KINDS:
        for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (1, 0, 2)):
            for members in (
                lambda c, o: (c.read, o.read, c.read),
                lambda c, o: (c.read(), o.read(), c.read()),
            ):
                ch, other = csp.Channel("c"), csp.Channel("other")
                ps = [await reader(kind, ch, 1)]
                ps.append(Party(kind, lambda: par(*members(ch, other))))
                await until(lambda: ch.queue_len() == 3)
                ps.append(await reader(kind, ch, 4))
                for v in range(4):
                    await ch.write(v)
                for i in order:
                    ps[i].cancel()
                for p in ps:
                    assert await p.ended() == ["cancelled"]
                assert ch.queue_len() == 4
                got = [await ch.read(), await ch.read(), await ch.read(), await ch.read()]
                assert got == [0, 1, 2, 3]
                assert idle(ch, other)


async def test_a_value_given_back_to_a_buffered_channel_is_read_before_the_buffer():
    for kind in KINDS:
        for capacity in (2, None):
            ch = csp.BufferedChannel("c", capacity)
            ps = await readers(kind, ch, 2)
            for v in range(4):
                await ch.write(v)
            assert ch.queue_len() == 2
            ps[1].cancel()
            ps[0].cancel()
            ch.verify()
            assert ch.queue_len() == 4
            got = [await ch.read(), await ch.read(), await ch.read(), await ch.read()]
            assert got == [0, 1, 2, 3]
            for p in ps:
                assert await p.ended() == ["cancelled"]
            assert idle(ch)


async def test_a_full_buffer_with_values_given_back_keeps_the_order_of_waiting_writers():
    for kind in KINDS:
        ch = csp.BufferedChannel("c", 1)
        p = await reader(kind, ch, 1)
        await ch.write(0)
        await ch.write(1)
        p.cancel()
        (w,) = await waiting_writers(ch, (2,))
        assert ch.queue_len() == 3 and not w.done()
        assert [await ch.read(), await ch.read(), await ch.read()] == [0, 1, 2]
        assert await join(w) == 0
        assert idle(ch)


# Poison and close, and values given back


async def test_poison_discards_values_given_back():
    for kind in KINDS:
        for poison in (lambda ch: ch.poison(), lambda ch: ch.read.poison()):
            for make in (csp.Channel, csp.BufferedChannel):
                ch = make("c")
                p = await reader(kind, ch, 1)
                await ch.write("discarded")
                p.cancel()
                poison(ch)
                assert ch.poisoned and ch.queue_len() == 0
                with raises(csp.PoisonException):
                    await ch.read()
                assert await p.ended() == ["cancelled"]


async def test_a_value_given_back_after_poison_is_discarded():
    for kind in KINDS:
        for make in (csp.Channel, csp.BufferedChannel):
            ch = make("c")
            p = await reader(kind, ch, 1)
            await ch.write("discarded")
            ch.poison()
            p.cancel()
            assert ch.poisoned and idle(ch)
            with raises(csp.PoisonException):
                await ch.read()
            assert await p.ended() == ["cancelled"]


async def test_poisoning_the_write_end_of_a_buffered_channel_keeps_values_given_back():
    for kind in KINDS:
        ch = csp.BufferedChannel("c")
        p = await reader(kind, ch, 1)
        await ch.write(0)
        await ch.write(1)
        p.cancel()
        ch.write.poison()
        assert [await ch.read(), await ch.read()] == [0, 1]
        with raises(csp.PoisonException):
            await ch.read()
        assert ch.poisoned and idle(ch)


async def test_poisoning_the_write_end_of_a_plain_channel_keeps_values_given_back():
    # Their writes have returned: they stand, as what is buffered does.
    for kind in KINDS:
        ch = csp.Channel("c")
        ps = await readers(kind, ch, 2)
        await ch.write(0)
        await ch.write(1)
        ps[1].cancel()
        ps[0].cancel()
        ch.write.poison()
        with raises(csp.PoisonException):
            await ch.write(2)
        assert [await ch.read(), await ch.read()] == [0, 1]
        with raises(csp.PoisonException):
            await ch.read()
        assert ch.poisoned and idle(ch)


async def test_close_keeps_values_given_back_before_it():
    for kind in KINDS:
        for make in (csp.Channel, csp.BufferedChannel):
            ch = make("c")
            p = await reader(kind, ch, 1)
            await ch.write("kept")
            p.cancel()
            ch.close()
            with raises(csp.PoisonException):
                await ch.write("too late")
            assert not ch.poisoned
            assert await ch.read() == "kept"
            assert ch.poisoned and idle(ch)


async def test_a_value_given_back_after_close_can_still_be_read():
    for kind in KINDS:
        for make in (csp.Channel, csp.BufferedChannel):
            ch = make("c")
            p = await reader(kind, ch, 1)
            await ch.write("kept")
            ch.close()
            p.cancel()
            assert await p.ended() == ["cancelled"]
            assert ch.queue_len() == 1
            assert await ch.read() == "kept"
            with raises(csp.PoisonException):
                await ch.read()
            assert ch.poisoned and idle(ch)


async def test_a_poisoned_operation_may_be_cancelled_before_it_runs():
    for kind in KINDS:
        ch = csp.Channel("c")
        p = await reader(kind, ch, 1)
        ch.poison()
        p.cancel()
        events = await p.ended()
        assert events in (["cancelled"], [POISONED])
        assert ch.poisoned and idle(ch)


# A paired write has happened


async def test_a_paired_write_stands_and_the_cancellation_comes_at_the_next_await():
    for kind in KINDS:
        ch = csp.Channel("c")
        p = await writer(kind, ch, "v", 1)
        assert await ch.read() == "v"
        assert p.events == []
        p.cancel()
        assert idle(ch)
        assert await p.ended() == [0, "cancelled"]
        assert idle(ch)


async def test_a_select_that_chose_a_write_stands_too():
    for kind in KINDS:
        a, b = csp.Channel("a"), csp.Channel("b")
        guard = b.write.alt_pending_write("v")
        p = await selecting(kind, b, 1, a.read, guard)
        assert await b.read() == "v"
        p.cancel()
        assert idle(a, b)
        assert await p.ended() == [(guard, 0), "cancelled"]
        assert idle(a, b)


async def test_a_select_that_chose_a_guard_of_a_users_is_cancelled_at_once():
    class Quiet(csp.Guard):
        def enable(self, alt):
            self.alt = alt
            return False, None

        def disable(self, alt):
            pass

    for kind in KINDS:
        ch = csp.Channel("c")
        g = Quiet()
        p = await selecting(kind, ch, 1, ch.read, g)
        assert g.alt.schedule(g, "v")
        p.cancel()
        assert await p.ended() == ["cancelled"]
        assert idle(ch)


async def test_a_writer_moved_into_the_buffer_has_written():
    for kind in KINDS:
        ch = csp.BufferedChannel("c", 1)
        await ch.write(0)
        p = await writer(kind, ch, 1, 2)
        assert await ch.read() == 0
        p.cancel()
        assert await p.ended() == [0, "cancelled"]
        assert await ch.read() == 1
        assert idle(ch)


async def test_the_cancellation_waits_for_an_await_that_suspends():
    for kind in KINDS:
        ch, other = csp.Channel("c"), csp.Channel("other")
        buffered = csp.BufferedChannel("b")
        await buffered.write("ready")
        steps = []

        async def operation():
            steps.append(await ch.write("v"))
            # None of these has to wait.
            steps.append(await buffered.read())
            steps.append(await buffered.write("kept"))
            steps.append("suspends now")
            steps.append(await other.read())

        p = Party(kind, operation)
        await until(lambda: ch.queue_len() == 1)
        assert await ch.read() == "v"
        p.cancel()
        assert await p.ended() == ["cancelled"]
        assert steps == [0, "ready", 0, "suspends now"]
        assert buffered.queue_len() == 1
        assert idle(ch, other)


async def test_a_task_that_ends_after_its_paired_write_ends_normally():
    for kind in KINDS:
        ch = csp.Channel("c")
        ended = []

        async def writes():
            ended.append(asyncio.current_task())
            v = await ch.write("v")
            ended.append(v)
            return "value"

        if kind == "own":
            h = csp.Spawn(writes())
        else:
            h = asyncio.get_event_loop().create_task(writes())
        await until(lambda: ch.queue_len() == 1)
        assert await ch.read() == "v"
        ended[0].cancel()
        assert await h == "value"
        assert ended[1:] == [0]
        # The cancellation is not left over for anybody else.
        for _ in range(5):
            await sleep_ms(1)


async def test_cancelling_twice_is_like_cancelling_once():
    for kind in KINDS:
        ch = csp.Channel("c")
        p = await writer(kind, ch, "v", 1)
        assert await ch.read() == "v"
        p.cancel()
        p.cancel()
        assert await p.ended() == [0, "cancelled"]
        p = await reader(kind, ch, 1)
        await ch.write("w")
        p.cancel()
        p.cancel()
        assert ch.queue_len() == 1
        assert await p.ended() == ["cancelled"]
        assert await ch.read() == "w"
        assert idle(ch)


async def test_an_uncancelled_task_is_not_cancelled_later():
    ch = csp.Channel("c")
    if not hasattr(asyncio.current_task(), "uncancel"):
        skip("asyncio has no uncancel here")
    for kind in KINDS:

        async def writes():
            v = await ch.write("v")
            # What the end of `async with asyncio.timeout()` does.
            asyncio.current_task().uncancel()
            return v

        p = Party(kind, writes)
        await until(lambda: ch.queue_len() == 1)
        assert await ch.read() == "v"
        p.cancel()
        assert await p.ended() == [0, "after"]


# A value taken without waiting cannot be cancelled away


async def test_an_operation_that_does_not_wait_is_not_cancelled():
    ch = csp.BufferedChannel("c")
    got = []

    async def writes_and_reads():
        for i in range(50):
            await ch.write(i)
        for i in range(50):
            got.append(await ch.read())
        await sleep_ms(1000)

    task = asyncio.get_event_loop().create_task(writes_and_reads())
    await until(lambda: len(got) == 50)
    task.cancel()
    with raises(asyncio.CancelledError):
        await task
    assert got == list(range(50))
    assert idle(ch)


# Processes that are cancelled, and Parallels


async def is_cancelled(awaitable):
    try:
        await awaitable
    except asyncio.CancelledError:
        return True


async def test_nobody_meets_a_process_that_has_cancelled_itself():
    # Whatever turn of the driver it is in: asyncio's tasks have theirs after 64 of them.
    alt = csp.Alternative(csp.Skip())
    handles = []

    @csp.process
    async def cancels_itself(turns, cout):
        for _ in range(turns):
            await alt.select()
        handles[0].cancel()
        await cout(1)

    async def reads_what_waits(ch, got):
        while True:
            if ch.queue_len():
                got.append(await ch.read())
            await asyncio.sleep(0)

    for turns in range(66):
        ch = csp.Channel()
        got = []
        foreign = asyncio.create_task(reads_what_waits(ch, got))
        handles[:] = [csp.Spawn(cancels_itself(turns, ch.write))]
        assert await is_cancelled(handles[0])
        foreign.cancel()
        assert await is_cancelled(foreign)
        assert not got, turns


async def test_a_cancelled_process_poisons_its_ends():
    a, b = csp.Channel("a"), csp.Channel("b")
    tasks = []
    h = csp.Spawn(waits_with_ends(a.read, [b.write], tasks))
    n = csp.Spawn(take(b.read))
    await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
    tasks[0].cancel()
    with raises(asyncio.CancelledError):
        await h
    assert a.poisoned and b.poisoned
    assert await join(n) == POISONED
    assert idle(a, b)


@csp.process
async def waits_with_ends(cin, couts, tasks):
    tasks.append(asyncio.current_task())
    await cin()


async def test_a_cancelled_member_makes_its_parallel_raise_when_all_have_ended():
    a, b = csp.Channel("a"), csp.Channel("b")
    tasks = []
    h = csp.Spawn(catches(a, b, tasks))
    await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
    tasks[0].cancel()
    await until(lambda: a.poisoned)
    assert not h.done()
    await b.write("go on")
    assert await join(h) == "cancelled"


@csp.process
async def catches(a, b, tasks):
    try:
        await par(waits_with_ends(a.read, [], tasks), take(b.read))
    except asyncio.CancelledError:
        return "cancelled"


async def test_a_cancelled_parallel_cancels_its_children_and_waits_for_them():
    for kind in KINDS:
        a, b = csp.Channel("a"), csp.Channel("b")
        log = []
        p = Party(kind, lambda: par(cleans_up(a.read, log, 1), cleans_up(b.read, log, 2)))
        await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
        p.cancel()
        assert await p.ended() == ["cancelled"]
        assert sorted(log) == [1, 2]
        assert a.poisoned and b.poisoned
        assert idle(a, b)


@csp.process
async def cleans_up(cin, log, name):
    try:
        await cin()
    finally:
        # The Parallel has to wait for this.
        await sleep_ms(5)
        log.append(name)


async def test_a_cancelled_nest_is_cancelled_to_its_leaves():
    for kind in KINDS:
        a, b, c = [csp.Channel(n) for n in "abc"]
        log = []
        p = Party(
            kind,
            lambda: par(
                csp.Sequence(csp.Parallel(cleans_up(a.read, log, 1), cleans_up(b.read, log, 2))),
                cleans_up(c.read, log, 3),
            ),
        )
        await until(lambda: all(ch.queue_len() == 1 for ch in (a, b, c)))
        p.cancel()
        assert await p.ended() == ["cancelled"]
        assert sorted(log) == [1, 2, 3]
        assert idle(a, b, c)


async def test_a_cancelled_parallel_cancels_its_processes_at_the_moment_of_the_cancel():
    for kind in KINDS:
        a, b = csp.Channel("a"), csp.Channel("b")
        p = Party(kind, lambda: par(take(a.read), take(b.read)))
        await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
        await a.write("given back")  # paired; its reader has not run
        p.cancel()
        assert (a.queue_len(), b.queue_len()) == (1, 0)
        assert await a.read() == "given back"
        assert await p.ended() == ["cancelled"]
        assert idle(a, b)


async def test_a_cancelled_parallel_of_operations_withdraws_them():
    for kind in KINDS:
        a, b = csp.Channel("a"), csp.Channel("b")
        for members in (
            lambda: (a.read, b.write.alt_pending_write("never")),
            lambda: (a.read(), b.write("never")),
        ):
            p = Party(kind, lambda: par(*members()))
            await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
            p.cancel()
            assert idle(a, b)
            assert await p.ended() == ["cancelled"]


async def test_a_cancelled_parallel_of_operations_gives_back_what_it_has_read():
    for kind in KINDS:
        a, b, c = [csp.Channel(n) for n in "abc"]
        for members in (
            lambda: (a.read, b.write.alt_pending_write("stands"), c.read),
            lambda: (a.read(), b.write("stands"), c.read()),
        ):
            p = Party(kind, lambda: par(*members()))
            await until(lambda: all(ch.queue_len() == 1 for ch in (a, b, c)))
            await a.write("given back")
            assert await b.read() == "stands"
            p.cancel()
            assert await p.ended() == ["cancelled"]
            assert a.queue_len() == 1
            assert await a.read() == "given back"
            assert idle(a, b, c)


async def test_a_cancelled_parallel_gives_back_what_it_has_read_at_once():
    for kind in KINDS:
        for make in (
            lambda: csp.Channel("a"),
            lambda: csp.BufferedChannel("a", 0),
            lambda: csp.BufferedChannel("a", 1),
            lambda: csp.BufferedChannel("a"),
        ):
            for write in (
                lambda ch: give(ch.write, "v"),
                lambda ch: choose(ch.write.alt_pending_write("v")),
                lambda ch: par(ch.write("v"), csp.Channel("never").read()),
                lambda ch: par(ch.write.alt_pending_write("v"), csp.Channel("never").read),
            ):
                for members in (lambda a, b: (a.read, b.read), lambda a, b: (a.read(), b.read())):
                    a, b = make(), csp.Channel("b")
                    csp.Spawn(write(a))
                    await until(lambda: a.queue_len() == 1)
                    p = Party(kind, lambda: par(*members(a, b)))
                    await until(lambda: b.queue_len() == 1)
                    assert idle(a)
                    p.cancel()
                    assert idle(b) and a.queue_len() == 1
                    assert await p.ended() == ["cancelled"]
                    assert await a.read() == "v"
                    assert idle(a, b)


async def test_values_read_at_once_and_later_are_given_back_in_the_order_of_their_pairing():
    for kind in KINDS:
        a, b = csp.Channel("a"), csp.Channel("b")
        await waiting_writers(a, [0, 1])
        p = Party(kind, lambda: par(a.read(), b.read(), a.read(), a.read()))
        await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
        await a.write(2)
        p.cancel()
        assert await p.ended() == ["cancelled"]
        for i in range(3):
            assert await a.read() == i
        assert idle(a, b)


async def test_writes_of_a_parallel_that_have_all_happened_stand_also_if_one_did_at_once():
    for kind in KINDS:
        a, b = csp.Channel("a"), csp.Channel("b")
        (reader,) = await waiting_readers(a, 1)
        p = Party(kind, lambda: par(a.write(1), b.write(2)))
        await until(lambda: b.queue_len() == 1)
        assert await b.read() == 2
        p.cancel()
        assert await p.ended() == [[0, 0], "cancelled"]
        assert await join(reader) == 1
        assert idle(a, b)


async def test_a_cancelled_parallel_gives_nothing_back_to_its_own_reads():
    for kind in KINDS:
        for reads in (1, 2, 3):
            ch = csp.Channel("c")
            for members in (
                lambda: [ch.read for _ in range(4)],
                lambda: [ch.read() for _ in range(4)],
            ):
                p = Party(kind, lambda: par(*members()))
                await until(lambda: ch.queue_len() == 4)
                for i in range(reads):
                    await ch.write(i)
                p.cancel()
                assert ch.queue_len() == reads
                assert await p.ended() == ["cancelled"]
                for i in range(reads):
                    assert await ch.read() == i
                assert idle(ch)


def write_guards(channels):
    return [ch.write.alt_pending_write(i) for i, ch in enumerate(channels)]


async def test_cancelled_write_guards_that_wait_are_withdrawn_and_the_others_stand():
    for kind in KINDS:
        for waiting in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
            channels = [csp.Channel(n) for n in "abc"]
            handles = []
            for i in range(3):
                if i not in waiting:
                    handles += await waiting_readers(channels[i], 1)
            p = Party(kind, lambda: csp.Parallel(*write_guards(channels)))
            assert await join_all(handles) == [i for i in range(3) if i not in waiting]
            wanted = [int(i in waiting) for i in range(3)]
            await until(lambda: [ch.queue_len() for ch in channels] == wanted)
            p.cancel()
            assert idle(*channels)
            assert await p.ended() == ["cancelled"]
            assert idle(*channels)


async def test_a_write_guard_that_was_taken_stands_though_the_others_are_cancelled():
    for kind in KINDS:
        for taken in range(3):
            channels = [csp.Channel(n) for n in "abc"]
            p = Party(kind, lambda: csp.Parallel(*write_guards(channels)))
            await until(lambda: [ch.queue_len() for ch in channels] == [1, 1, 1])
            assert await channels[taken].read() == taken
            p.cancel()
            assert idle(*channels)
            assert await p.ended() == ["cancelled"]
            assert idle(*channels)


async def test_write_guards_that_have_all_happened_stand_and_the_cancellation_comes_later():
    for kind in KINDS:
        for waiting in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
            channels = [csp.Channel(n) for n in "abc"]
            handles = []
            for i in range(3):
                if i not in waiting:
                    handles += await waiting_readers(channels[i], 1)
            p = Party(kind, lambda: csp.Parallel(*write_guards(channels)))
            wanted = [int(i in waiting) for i in range(3)]
            await until(lambda: [ch.queue_len() for ch in channels] == wanted)
            for i in waiting:
                assert await channels[i].read() == i
            p.cancel()
            assert await p.ended() == [[0, 0, 0], "cancelled"]
            await join_all(handles)
            assert idle(*channels)


@csp.process(propagate=False)
async def fails_after(cin, error):
    await cin()
    raise error


async def test_of_failures_before_a_cancellation_the_first_is_raised_however_deep_it_was():
    for deep_first in (False, True):
        a, b, never = csp.Channel("a"), csp.Channel("b"), csp.Channel("never")
        flat, deep = ValueError("flat"), KeyError("deep")
        inner = csp.Parallel(fails_after(b.read, deep), take(never.read))
        t = asyncio.get_event_loop().create_task(together(fails_after(a.read, flat), inner))
        await until(lambda: [ch.queue_len() for ch in (a, b, never)] == [1, 1, 1])
        for ch in (b, a) if deep_first else (a, b):
            await ch.write(1)
            await settle()
        t.cancel()
        with raises(ValueError, KeyError) as e:
            await t
        assert e.value is (deep if deep_first else flat)
        assert idle(a, b, never)


async def together(*members):
    return await csp.Parallel(*members)


@csp.process
async def returns(v):
    return v


async def test_a_process_beside_a_write_guard_is_no_write_though_its_value_is_that_of_one():
    for kind in KINDS:
        ch = csp.Channel("c")
        p = Party(kind, lambda: csp.Parallel(returns(0), ch.write.alt_pending_write("v")))
        await until(lambda: ch.queue_len() == 1)
        await settle()
        assert await ch.read() == "v"
        p.cancel()
        assert await p.ended() == ["cancelled"]
        assert idle(ch)


async def test_a_write_guard_that_has_waited_in_a_cancelled_parallel_is_used_again():
    for kind in KINDS:
        a, b = csp.Channel("a"), csp.Channel("b")
        guards = a.write.alt_pending_write("a"), b.write.alt_pending_write("b")
        p = Party(kind, lambda: csp.Parallel(*guards))
        await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
        p.cancel()
        assert await p.ended() == ["cancelled"]
        p = Party(kind, lambda: csp.Parallel(*guards))
        await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
        assert [await a.read(), await b.read()] == ["a", "b"]
        assert await p.ended() == [[0, 0], "after"]
        assert idle(a, b)


async def test_write_guards_on_a_poisoned_channel_and_one_that_waits_are_cancelled():
    for kind in KINDS:
        a, b = csp.Channel("a"), csp.Channel("b")
        a.poison()
        p = Party(kind, lambda: csp.Parallel(*write_guards((a, b))))
        await until(lambda: b.queue_len() == 1)
        p.cancel()
        assert await p.ended() == ["cancelled"]
        assert idle(a, b)


async def test_a_cancelled_reader_in_a_chain_loses_no_message_of_the_chain():
    # A timed-out relay is replaced by another; every message arrives, in order.
    a, b = csp.Channel("a"), csp.Channel("b")
    got = []
    w = csp.Spawn(gives(a.write, 30))
    r = csp.Spawn(collects(b.read, got, 30))
    while len(got) < 30:
        tasks = []
        h = csp.Spawn(relays(a, b, tasks))
        n = len(got)
        await until(lambda: len(got) >= min(30, n + 2))
        tasks[0].cancel()
        with raises(asyncio.CancelledError):
            await h
        if tasks[1:]:
            # It held a message between its read and its write.
            await b.write(tasks[1])
    await join(r)
    await join(w)
    assert got == list(range(30))


@csp.process
async def gives(cout, n):
    for i in range(n):
        await cout(i)


@csp.process
async def collects(cin, got, n):
    for _ in range(n):
        got.append(await cin())


@csp.process
async def relays(a, b, tasks):
    tasks.append(asyncio.current_task())
    while True:
        v = await a.read()
        tasks.append(v)
        await b.write(v)
        tasks.pop()


# Timeouts and gather


async def test_a_read_that_timed_out_leaves_the_next_write_for_the_next_reader():
    ch = csp.Channel("c")

    async def reads():
        return await ch.read()

    for wait_for in waits():
        for operation in (reads, ch.read):
            with raises(asyncio.TimeoutError):
                await wait_for(operation())
            assert idle(ch)
            (w,) = await waiting_writers(ch, ("kept",))
            assert await ch.read() == "kept"
            assert await join(w) == 0


def waits():
    """All that can limit the time of an operation, to 10 ms here."""
    ways = [
        lambda aw: asyncio.wait_for(aw, 0.01),
        lambda aw: ufuture.wait_for(aw, 0.01),
        lambda aw: ufuture.wait_for_ms(aw, 10),
    ]
    if hasattr(asyncio, "wait_for_ms"):
        ways.append(lambda aw: asyncio.wait_for_ms(aw, 10))
    if hasattr(asyncio, "timeout"):
        ways.append(with_timeout)
    return ways


async def with_timeout(aw):
    async with asyncio.timeout(0.01):
        return await aw


async def test_a_write_or_select_that_timed_out_leaves_nothing():
    for wait_for in waits():
        a, b = csp.Channel("a"), csp.Channel("b")
        with raises(asyncio.TimeoutError):
            await wait_for(a.write("never"))
        assert idle(a)
        alt = csp.Alternative(a.read, b.write.alt_pending_write("never"))
        with raises(asyncio.TimeoutError):
            await wait_for(alt.select())
        with raises(asyncio.TimeoutError):
            await wait_for(alt.fair_select())
        with raises(asyncio.TimeoutError):
            await wait_for(par(a.read, b.read))
        with raises(asyncio.TimeoutError):
            await wait_for(par(a.read(), give(b.write, 1)))
        assert a.queue_len() == 0
        a.verify()


async def test_what_ends_in_time_gives_its_value_and_its_exceptions():
    for wait_for in long_waits():
        ch = csp.Channel("c")
        (w,) = await waiting_writers(ch, ("in time",))
        assert await wait_for(ch.read()) == "in time"
        assert await join(w) == 0
        ch.poison()
        with raises(csp.PoisonException):
            await wait_for(ch.read())
        with raises(csp.PoisonException):
            await wait_for(ch.write(1))
        with raises(KeyError):
            await wait_for(fails())


async def fails():
    raise KeyError("in time")


async def test_poison_during_the_time_limit_comes_through():
    for wait_for in long_waits():
        ch = csp.Channel("c")

        async def reads():
            try:
                return await wait_for(ch.read())
            except csp.PoisonException:
                return POISONED

        h = csp.Spawn(reads())
        await until(lambda: ch.queue_len() == 1)
        ch.poison()
        assert await h == POISONED


async def test_cancelling_a_task_with_a_time_limit_withdraws_its_operation():
    for kind in KINDS:
        for wait_for in long_waits():
            ch = csp.Channel("c")
            p = Party(kind, lambda: wait_for(ch.read()))
            await until(lambda: ch.queue_len() == 1)
            p.cancel()
            assert await p.ended() == ["cancelled"]
            assert idle(ch)


def long_waits():
    return [
        lambda aw: asyncio.wait_for(aw, 100),
        lambda aw: ufuture.wait_for(aw, 100),
        lambda aw: ufuture.wait_for_ms(aw, 100000),
    ]


async def test_messages_racing_with_ufuture_s_timeouts_are_neither_lost_nor_doubled():
    for kind in range(2):
        ch = csp.Channel("c")
        got = []

        async def reads():
            while len(got) < 80:
                try:
                    if kind:
                        got.append(await ufuture.wait_for(ch.read(), 0.002))
                    else:
                        got.append(await ufuture.wait_for_ms(ch.read(), 2))
                except asyncio.TimeoutError:
                    pass

        await par(reads(), writes_with_pauses(ch.write, 80))
        assert got == list(range(80))
        assert idle(ch)


@csp.process
async def writes_with_pauses(cout, n):
    for i in range(n):
        if i % 3:
            await sleep_ms(i % 4)
        await cout(i)


async def test_writes_racing_with_ufuture_s_timeouts_are_delivered_exactly_if_they_return():
    ch = csp.Channel("c")
    sent = []
    got = []

    async def writes():
        for i in range(80):
            try:
                assert await ufuture.wait_for_ms(ch.write(i), 2) == 0
                sent.append(i)
            except asyncio.TimeoutError:
                pass
        ch.poison()

    async def reads():
        i = 0
        while True:
            await sleep_ms(i % 5)
            i += 1
            got.append(await ch.read())

    h = csp.Spawn(reads())
    await writes()
    assert await h is None
    assert got == sent
    assert idle(ch)


async def test_a_completed_operation_wins_over_its_timeout():
    # The loop is held up until the time limit has passed too; the read has its value by then.
    for wait in (lambda aw: ufuture.wait_for(aw, 0.02), lambda aw: ufuture.wait_for_ms(aw, 20)):
        ch = csp.Channel("c")
        p = await just_begun(ch, lambda: wait(ch.read()), 20)
        assert await ch.write("v") == 0
        block_ms(40)
        assert await p.ended() == ["v", "after"]
        p = await just_begun(ch, lambda: wait(ch.write("w")), 20)
        assert await ch.read() == "w"
        block_ms(40)
        assert await p.ended() == [0, "after"]
        assert idle(ch)


async def test_a_cancelled_gather_withdraws_its_operations():
    for kind in KINDS:
        for gather in (asyncio.gather, ufuture.gather):
            a, b = csp.Channel("a"), csp.Channel("b")

            async def gathers():
                return await gather(a.read(), b.write("never"))

            p = Party(kind, gathers)
            await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
            p.cancel()
            assert await p.ended() == ["cancelled"]
            await until(lambda: a.queue_len() == 0 and b.queue_len() == 0)
            assert idle(a, b)
            (w,) = await waiting_writers(a, ("kept",))
            assert await a.read() == "kept"
            assert await join(w) == 0


async def test_a_cancelled_gather_gives_back_what_was_paired_but_not_run():
    for gather in (asyncio.gather, ufuture.gather):
        a, b = csp.Channel("a"), csp.Channel("b")

        async def gathers():
            return await gather(a.read(), b.read())

        p = Party("own", gathers)
        await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
        await a.write("given back")
        p.cancel()
        assert await p.ended() == ["cancelled"]
        await until(lambda: b.queue_len() == 0)
        assert a.queue_len() == 1
        assert await a.read() == "given back"
        assert idle(a, b)


async def test_gather_gives_results_of_operations_in_order():
    for gather in (asyncio.gather, ufuture.gather):
        a, b = csp.Channel("a"), csp.Channel("b")
        (w,) = await waiting_writers(a, ("in",))
        (r,) = await waiting_readers(b, 1)
        assert list(await gather(a.read(), b.write("out"))) == ["in", 0]
        assert await join_all([w, r]) == [0, "out"]


# Everything together, at random


class Chaos:
    def __init__(self, seed):
        self.seed = seed

    def below(self, n):
        self.seed = (self.seed * 1103515245 + 12345) & 0x3FFFFFFF
        return (self.seed >> 12) % n


async def test_random_cancellations_lose_and_double_nothing():
    for seed in (1, 2, 3):
        await cancel_at_random(seed, [csp.Channel("a"), csp.Channel("b")])
        await cancel_at_random(seed, [csp.BufferedChannel("a", 2), csp.Channel("b")])


async def cancel_at_random(seed, chans):
    chaos = Chaos(seed)
    sent = []
    got = []
    tasks = [None] * 8
    running = [True]
    ended = []

    async def work(me):
        tasks[me] = asyncio.current_task()
        k = 0
        while running[0]:
            k += 1
            try:
                await one_operation(me, k, chaos, chans, sent, got)
                if chaos.below(2):
                    await sleep_ms(0)
            except asyncio.CancelledError:
                pass
        ended.append(me)

    for me in range(8):
        if me % 2:
            csp.Spawn(work(me))
        else:
            asyncio.get_event_loop().create_task(work(me))
    await until(lambda: None not in tasks)
    for _ in range(300):
        for _ in range(chaos.below(6)):
            tasks[chaos.below(8)].cancel()
        await sleep_ms(0)
        for ch in chans:
            ch.verify()
    running[0] = False

    def all_have_ended():
        for me in range(8):
            if me not in ended:
                tasks[me].cancel()
        return len(ended) == 8

    await until(all_have_ended)
    for ch in chans:
        while ch.queue_len():
            g, v = await csp.Alternative(ch.read, csp.Skip()).select()
            assert g is ch.read
            got.append(v)
        ch.verify()
    assert len(sent) > 50, len(sent)
    assert sorted(sent) == sorted(got)


async def one_operation(me, k, chaos, chans, sent, got):
    one = chans[chaos.below(2)]
    two = chans[chaos.below(2)]
    what = chaos.below(5)
    message = me + 8 * k
    if what == 0:
        got.append(await one.read())
    elif what == 1:
        await one.write(message)
        sent.append(message)
    elif what == 2:
        g, v = await csp.Alternative(one.read, two.read).select()
        got.append(v)
    elif what == 3:
        guard = one.write.alt_pending_write(message)
        other = two.write.alt_pending_write(message)
        await csp.Alternative(guard, other).select()
        sent.append(message)
    else:
        guard = one.write.alt_pending_write(message)
        g, v = await csp.Alternative(two.read, guard).select()
        if g is guard:
            sent.append(message)
        else:
            got.append(v)


async def test_random_cancellations_of_readers_deliver_every_message_of_a_writer():
    for kind in KINDS:
        for n in (1, 3):
            got = await cancel_readers_at_random(kind, n, csp.Channel("c"))
            if n == 1:
                # A value given back is read again before any later one.
                assert got == list(range(300))
            assert sorted(got) == list(range(300))


async def cancel_readers_at_random(kind, n, ch):
    chaos = Chaos(7)
    got = []
    stopped = []
    tasks = []

    async def reads():
        tasks.append(asyncio.current_task())
        while True:
            try:
                got.append(await ch.read())
            except asyncio.CancelledError:
                if stopped:
                    return

    for _ in range(n):
        if kind == "own":
            csp.Spawn(reads())
        else:
            asyncio.get_event_loop().create_task(reads())
    await until(lambda: len(tasks) == n)
    for i in range(300):
        await ch.write(i)
        if chaos.below(2):
            tasks[chaos.below(n)].cancel()
    await until(lambda: len(got) == 300)
    stopped.append(True)
    for t in tasks:
        t.cancel()
    await until(lambda: ch.queue_len() == 0)
    assert idle(ch)
    return got
