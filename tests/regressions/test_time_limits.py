"""Cancels and time limits that lost something in other libraries, asked of uapycsp and ufuture."""

import csp
import ufuture

from rules_support import (
    Log,
    asyncio,
    block_ms,
    idle,
    join,
    posted,
    raises,
    settle,
    sleep_ms,
    ticks_diff,
    ticks_ms,
    until,
    waiting_readers,
    waiting_writers,
)

VARIANTS = ("uapycsp",)
KINDS = ("own", "foreign")


def spawn(kind, coro):
    """A task of the library's, or one of asyncio's."""
    if kind == "own":
        return csp.Spawn(coro)
    return asyncio.get_event_loop().create_task(coro)


async def read_for(cin, ms, got):
    """One read with a time limit: whether it got something."""
    try:
        got.append(await ufuture.wait_for_ms(cin(), ms))
    except asyncio.TimeoutError:
        return False
    return True


# aPyCSP: a read that timed out under asyncio's wait_for stayed in the channel's queue, and
# swallowed the next message that was written.


async def test_a_read_that_timed_out_swallows_no_message():
    for wait_for in (ufuture.wait_for, asyncio.wait_for):
        for kind in KINDS:
            ch = csp.Channel("c")
            ended = Log()

            async def tries():
                with raises(asyncio.TimeoutError):
                    await wait_for(wrapped(ch.read), 0.002)
                ended.add(1)

            spawn(kind, tries())
            await until(lambda: ch.queue_len() == 1)
            await until(ended.count)
            assert idle(ch)
            (w,) = await waiting_writers(ch, ("kept",))
            assert await ch.read() == "kept"
            assert await join(w) == 0


async def wrapped(operation):
    return await operation()


async def test_a_write_that_timed_out_delivers_nothing_later():
    ch = csp.Channel("c")
    with raises(asyncio.TimeoutError):
        await ufuture.wait_for_ms(ch.write("never"), 2)
    assert idle(ch)
    (r,) = await waiting_readers(ch, 1)
    await ch.write("real")
    assert await join(r) == "real"


# AnyIO's memory streams once: a receiver that tries again and again with a time limit drops items
# at random, because the tries that were given up still count as receivers.


async def test_a_receiver_with_repeated_time_limits_drops_no_item():
    for kind in KINDS:
        for make in (csp.Channel, lambda: csp.BufferedChannel("b", 2)):
            ch = make()
            got, late = [], [0]

            async def receives():
                while True:
                    if not await read_for(ch.read, 2, got):
                        late[0] += 1

            task = spawn(kind, receives())
            for i in range(12):
                before = late[0]
                await until(lambda: late[0] > before + i % 3)
                await ch.write(i)
            await until(lambda: len(got) == 12)
            task.cancel()
            assert got == list(range(12))
            await settle()
            assert idle(ch)


async def test_time_limits_that_race_with_messages_lose_and_double_none():
    """The limit passes in the same millisecond as the message comes, again and again."""
    for kind in KINDS:
        ch = csp.Channel("c")
        got = []
        n = 60

        async def writes():
            for i in range(n):
                await sleep_ms(i % 3)
                await ch.write(i)

        async def receives():
            while len(got) < n:
                await read_for(ch.read, 1, got)

        spawn(kind, writes())
        spawn(kind, receives())
        await until(lambda: len(got) == n)
        assert got == list(range(n))
        assert idle(ch)


async def test_a_message_in_the_moment_of_the_limit_is_read_or_stays():
    """The message is written before the timed-out reader runs: it wins over the limit."""
    for kind in KINDS:
        ch = csp.Channel("c")

        async def reads():
            outcome.append(await read_for(ch.read, 5, got))

        while True:
            got, outcome = [], []
            start = ticks_ms()
            spawn(kind, reads())
            await until(lambda: ch.queue_len() == 1 or outcome)
            if ticks_diff(ticks_ms(), start) < 5:
                break
            await until(lambda: outcome)  # the machine stood still: the limit was noticed
        block_ms(10)
        await ch.write("in time")
        await until(lambda: outcome)
        assert outcome == [True] and got == ["in time"]
        assert idle(ch)


# MicroPython's wait_for of old: a task that was cancelled just when what it waited for had
# completed went on as if it had never been cancelled.


async def test_a_cancel_that_meets_the_completion_in_wait_for_is_not_lost():
    for kind in KINDS:
        for laps in range(8):
            events = []

            async def inner():
                events.append("inner")

            async def outer():
                events.append("begun")
                try:
                    await ufuture.wait_for(inner(), 60)
                    await sleep_ms(60000)
                    events.append("not to be reached")
                finally:
                    events.append("end")

            task = spawn(kind, outer())
            while not events:
                await sleep_ms(0)
            for _ in range(laps):
                await sleep_ms(0)
            task.cancel()
            await until(lambda: "end" in events)
            await settle()
            assert "not to be reached" not in events, laps


async def test_a_cancel_that_meets_the_message_in_wait_for_loses_neither():
    """The read is paired, then its task is cancelled: the cancel is raised, the value stays."""
    for kind in KINDS:
        for laps in range(8):
            ch = csp.Channel("c")
            got, events = [], []

            async def reads():
                try:
                    got.append(await ufuture.wait_for(ch.read(), 60))
                    await sleep_ms(60000)
                    events.append("not to be reached")
                finally:
                    events.append("end")

            task = spawn(kind, reads())
            await until(lambda: ch.queue_len() == 1)
            await ch.write("v")
            for _ in range(laps):
                await sleep_ms(0)
            task.cancel()
            await until(lambda: events)
            assert events == ["end"], laps
            if not got:
                assert ch.queue_len() == 1
                got.append(await ch.read())
            assert got == ["v"]
            assert idle(ch)


# A wait for the first of several, which cancels the others: what those had been given was lost.


async def test_cancelling_the_losers_of_a_race_of_reads_loses_no_message():
    for kind in KINDS:
        for laps in range(6):
            chans = [csp.Channel("c%d" % i) for i in range(3)]
            got = []

            async def reads(i):
                got.append((i, await chans[i].read()))

            tasks = [spawn(kind, reads(i)) for i in range(3)]
            await until(lambda: sum(ch.queue_len() for ch in chans) == 3)
            for i in (1, 0, 2):
                await chans[i].write(i)
            for _ in range(laps):
                if got:
                    break
                await sleep_ms(0)
            for task in tasks:
                task.cancel()
            await settle()
            for i in range(3):
                if (i, i) not in got:
                    assert chans[i].queue_len() == 1
                    got.append((i, await chans[i].read()))
            assert sorted(got) == [(0, 0), (1, 1), (2, 2)]
            assert idle(*chans)


async def test_a_choice_with_a_time_limit_takes_one_of_two_messages():
    a, b = csp.Channel("a"), csp.Channel("b")
    outcome = []

    async def chooses():
        outcome.append(await ufuture.wait_for_ms(csp.Alternative(a.read, b.read).select(), 60000))

    await posted(b, chooses(), 1)
    await a.write("first")
    (w,) = await waiting_writers(b, ("second",))
    await until(lambda: outcome)
    assert outcome == [(a.read, "first")]
    assert not w.done() and await b.read() == "second"
    assert await join(w) == 0
