"""Parallel: results in order, composable, and operations posted together."""

import sys

try:
    import micropython
except ImportError:
    pass

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    POISONED,
    Log,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    sentence,
    seq,
    settle,
    skip,
    take,
    until,
    waiting_readers,
    waiting_writers,
)


@csp.process
async def returns(v):
    return v


@csp.process
async def adds(log, v):
    log.add(v)
    return v


async def test_results_come_in_the_order_of_the_arguments():
    assert await par(returns(1), returns("b"), returns(None), returns([4])) == [1, "b", None, [4]]


async def test_results_are_in_order_even_if_the_processes_end_in_another():
    a, b, c = [csp.Channel(n) for n in "abc"]
    res = await par(ends_after(None, b, 1), ends_after(c, a, 2), ends_after(b, c, 3))
    assert res == [1, 2, 3]


@csp.process
async def ends_after(cin, cout, v):
    # Poison passes the turn on: each ends when the one before it has.
    if cin is not None:
        async for _ in cin.read:
            pass
    cout.poison()
    return v


async def test_members_run_at_the_same_time():
    a = csp.Channel("a")
    b = csp.Channel("b")
    assert await par(swap(a.read, b.write, 1, True), swap(b.read, a.write, 2, False)) == [2, 1]


@csp.process
async def swap(cin, cout, v, write_first):
    if write_first:
        await cout(v)
        return await cin()
    got = await cin()
    await cout(v)
    return got


async def test_parallel_waits_for_all_its_members():
    a = csp.Channel("a")
    b = csp.Channel("b")
    h = csp.Spawn(parallel_of_takes(a, b))
    await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
    await a.write(1)
    await settle()
    assert not h.done()
    await b.write(2)
    assert await join(h) == [1, 2]


@csp.process
async def parallel_of_takes(a, b):
    return await par(take(a.read), take(b.read))


async def test_an_empty_parallel_ends_with_no_results():
    assert await par() == []


async def test_parallel_and_sequence_nest():
    log = Log()
    res = await par(
        returns(0),
        csp.Sequence(
            adds(log, 1), csp.Parallel(adds(log, 2), adds(log, 3), csp.Sequence(adds(log, 4)))
        ),
        csp.Parallel(),
    )
    assert res == [0, [1, [2, 3, [4]]], []]
    assert log.items()[0] == 1
    assert sorted(log.items()) == [1, 2, 3, 4]


async def test_parallel_inside_a_sequence_ends_before_the_next_member():
    log = Log()
    res = await seq(
        csp.Parallel(adds(log, 1), adds(log, 1)),
        adds(log, 2),
        csp.Parallel(adds(log, 3), adds(log, 3)),
    )
    assert res == [[1, 1], 2, [3, 3]]
    assert log.items() == [1, 1, 2, 3, 3]


async def test_plain_run_returns_the_parallel_and_retval_holds_the_list():
    if LIB != "upycsp":
        skip("plain upycsp only")
    p = csp.Parallel(returns(1), returns(2))
    assert p.run() is p
    assert p.retval == [1, 2]
    s = csp.Sequence(returns(3), returns(4))
    assert s.run() is s
    assert s.retval == [3, 4]


async def test_a_plain_coroutine_is_a_process():
    if not AWAITABLE:
        skip("plain upycsp has no coroutines")
    ch = csp.Channel("c")
    res = await par(coroutine(ch.write, 5), returns(1), coroutine_reads(ch.read))
    assert res == [0, 1, 5]
    assert await seq(coroutine_returns(1), coroutine_returns(2)) == [1, 2]
    assert await csp.Spawn(coroutine_returns(3)) == 3


async def coroutine(cout, v):
    return await cout(v)


async def coroutine_reads(cin):
    return await cin()


async def coroutine_returns(v):
    return v


async def test_a_process_may_be_awaited_directly():
    if not AWAITABLE:
        skip("plain upycsp awaits nothing")
    assert await returns(7) == 7
    ch = csp.Channel("c")
    (h,) = await waiting_writers(ch, ("v",))
    assert await take(ch.read) == "v"
    assert await join(h) == 0


# Guards as members: posted together, none of them a process


async def test_parallel_takes_read_ends():
    a, b, c = [csp.Channel(n) for n in "abc"]
    writers = []
    for ch, v in ((a, 1), (b, 2), (c, 3)):
        writers += await waiting_writers(ch, (v,))
    assert await par(a.read, b.read, c.read) == [1, 2, 3]
    assert await join_all(writers) == [0, 0, 0]
    assert idle(a, b, c)


async def test_parallel_takes_write_guards():
    a, b = csp.Channel("a"), csp.Channel("b")
    readers = await waiting_readers(a, 1) + await waiting_readers(b, 1)
    assert await par(a.write.alt_pending_write("x"), b.write.alt_pending_write("y")) == [0, 0]
    assert await join_all(readers) == ["x", "y"]
    assert idle(a, b)


async def test_guards_are_posted_together_and_end_in_any_order():
    a, b, c = [csp.Channel(n) for n in "abc"]
    h = csp.Spawn(parallel_of(a.read, b.write.alt_pending_write("b"), c.read))
    await until(lambda: [ch.queue_len() for ch in (a, b, c)] == [1, 1, 1])
    await c.write(3)
    assert await b.read() == "b"
    await settle()
    assert not h.done()
    a.verify()
    await a.write(1)
    assert await join(h) == [1, 0, 3]
    assert idle(a, b, c)


@csp.process(propagate=False)
async def parallel_of(*members):
    return await par(*members)


async def test_read_and_write_of_one_channel_in_one_parallel_meet():
    ch = csp.Channel("c")
    assert await par(ch.read, ch.write.alt_pending_write(5)) == [5, 0]
    assert await par(ch.write.alt_pending_write(6), ch.read) == [0, 6]
    assert idle(ch)


async def test_two_guards_on_one_channel_keep_their_order():
    ch = csp.Channel("c")
    h = csp.Spawn(parallel_of(ch.write.alt_pending_write(1), ch.write.alt_pending_write(2)))
    await until(lambda: ch.queue_len() == 2)
    assert [await ch.read(), await ch.read()] == [1, 2]
    assert await join(h) == [0, 0]
    h = csp.Spawn(parallel_of(ch.read, ch.read))
    await until(lambda: ch.queue_len() == 2)
    await ch.write("a")
    await ch.write("b")
    assert await join(h) == ["a", "b"]
    assert idle(ch)


async def test_guards_and_processes_mix():
    a, b = csp.Channel("a"), csp.Channel("b")
    res = await par(a.read, writes(a.write, 1), take(b.read), b.write.alt_pending_write(2))
    assert res == [1, 0, 2, 0]
    assert idle(a, b)


@csp.process
async def writes(cout, v):
    return await cout(v)


async def test_poison_of_a_guard_is_raised_when_all_have_ended():
    a, b = csp.Channel("a"), csp.Channel("b")
    h = csp.Spawn(guards_until_poison(a, b))
    await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
    a.poison()
    await settle()
    assert not h.done() and b.queue_len() == 1
    await b.write("still taken")
    assert await join(h) == POISONED
    assert idle(a, b)


@csp.process
async def guards_until_poison(a, b):
    try:
        await par(a.read, b.read)
    except csp.PoisonException:
        return POISONED


async def test_a_guard_on_a_poisoned_channel_lets_the_others_happen_first():
    a, b = csp.Channel("a"), csp.Channel("b")
    a.poison()
    (h,) = await waiting_readers(b, 1)
    with raises(csp.PoisonException):
        await par(a.read, b.write.alt_pending_write("v"))
    assert await join(h) == "v"
    assert idle(a, b)


async def test_guards_work_on_buffered_channels():
    ch = csp.BufferedChannel("c", 2)
    assert await par(ch.write.alt_pending_write(1), ch.write.alt_pending_write(2)) == [0, 0]
    assert ch.queue_len() == 2
    assert await par(ch.read, ch.read) == [1, 2]
    assert idle(ch)


async def test_a_delta_of_guards_delivers_every_message_to_both():
    a, b, c = [csp.Channel(n) for n in "abc"]
    left = Log()
    right = Log()
    await par(
        gives(a.write, 200),
        delta(a.read, b.write, c.write),
        logs(b.read, left),
        logs(c.read, right),
    )
    assert left.items() == list(range(200))
    assert right.items() == list(range(200))


@csp.process
async def gives(cout, n):
    for i in range(n):
        await cout(i)
    raise csp.PoisonException()


@csp.process
async def delta(cin, out0, out1):
    while True:
        v = await cin()
        await par(out0.alt_pending_write(v), out1.alt_pending_write(v))


@csp.process
async def logs(cin, log):
    async for v in cin:
        log.add(v)


# Write guards alone, of which some must wait


def guards_of(channels):
    """A write guard for each channel, which writes its number."""
    return [ch.write.alt_pending_write(i) for i, ch in enumerate(channels)]


def lengths(channels):
    return [ch.queue_len() for ch in channels]


async def test_one_write_guard_used_twice_writes_twice():
    ch = csp.Channel("c")
    guard = ch.write.alt_pending_write("v")
    for _ in range(2):
        h = csp.Spawn(parallel_of(guard, guard))
        await until(lambda: ch.queue_len() == 2)
        ch.verify()
        assert [await ch.read(), await ch.read()] == ["v", "v"]
        assert await join(h) == [0, 0]
        assert idle(ch)


async def test_one_write_guard_used_twice_happens_once_and_waits_once():
    ch = csp.Channel("c")
    guard = ch.write.alt_pending_write("v")
    for _ in range(2):
        (reader,) = await waiting_readers(ch, 1)
        h = csp.Spawn(parallel_of(guard, guard))
        assert await join(reader) == "v"
        await until(lambda: ch.queue_len() == 1)
        assert not h.done()
        assert await ch.read() == "v"
        assert await join(h) == [0, 0]
        assert idle(ch)


async def test_one_write_guard_waits_in_two_parallels_at_once():
    a, b = csp.Channel("a"), csp.Channel("b")
    shared = a.write.alt_pending_write("a")
    first = csp.Spawn(parallel_of(shared, b.write.alt_pending_write(1)))
    await until(lambda: lengths([a, b]) == [1, 1])
    second = csp.Spawn(parallel_of(b.write.alt_pending_write(2), shared))
    await until(lambda: lengths([a, b]) == [2, 2])
    a.verify()
    assert [await b.read(), await b.read()] == [1, 2]
    assert [await a.read(), await a.read()] == ["a", "a"]
    assert await join_all([first, second]) == [[0, 0], [0, 0]]
    assert idle(a, b)


@csp.process
async def parallel_or_poison(*guards):
    try:
        return await par(*guards)
    except csp.PoisonException:
        return POISONED


async def test_a_write_guard_that_has_waited_in_one_parallel_may_be_poisoned_in_another():
    for first_ends in ("first", "last"):
        a, b, c = [csp.Channel(n) for n in "abc"]
        shared = a.write.alt_pending_write("a")
        first = csp.Spawn(parallel_or_poison(shared, b.write.alt_pending_write(1)))
        await until(lambda: lengths([a, b]) == [1, 1])
        assert await a.read() == "a"
        await only_the_second_is_poisoned(first, first_ends, shared, a, b, c)


async def test_a_write_guard_that_did_not_wait_in_one_parallel_may_be_poisoned_in_another():
    for first_ends in ("first", "last"):
        a, b, c = [csp.Channel(n) for n in "abc"]
        shared = a.write.alt_pending_write("a")
        (reader,) = await waiting_readers(a, 1)
        first = csp.Spawn(parallel_or_poison(shared, b.write.alt_pending_write(1)))
        assert await join(reader) == "a"
        await only_the_second_is_poisoned(first, first_ends, shared, a, b, c)


async def only_the_second_is_poisoned(first, first_ends, shared, a, b, c):
    await until(lambda: lengths([a, b]) == [0, 1])
    second = csp.Spawn(parallel_or_poison(shared, c.write.alt_pending_write(2)))
    await until(lambda: lengths([a, c]) == [1, 1])
    await a.poison()
    if first_ends == "last":
        assert await c.read() == 2
        assert await join(second) == POISONED
    assert await b.read() == 1
    assert await join(first) == [0, 0]
    if first_ends == "first":
        assert await c.read() == 2
        assert await join(second) == POISONED


async def test_one_write_guard_in_two_parallels_writes_as_often_as_it_stands_in_them():
    for ways in range(4):
        a, b, c = [csp.Channel(n) for n in "abc"]
        shared = a.write.alt_pending_write("a")
        (reader,) = await waiting_readers(a, 1)
        members = [shared, b.write.alt_pending_write(1), shared]
        first = csp.Spawn(parallel_or_poison(*members[ways & 1 :]))
        assert await join(reader) == "a"
        await until(lambda: lengths([a, b]) == [1 - (ways & 1), 1])
        second = csp.Spawn(parallel_or_poison(shared, c.write.alt_pending_write(2), shared))
        await until(lambda: lengths([a, c]) == [3 - (ways & 1), 1])
        for _ in range(3 - (ways & 1)):
            assert await a.read() == "a"
        for ch in (c, b) if ways & 2 else (b, c):
            await ch.read()
        assert await join_all([first, second]) == [[0] * (3 - (ways & 1)), [0, 0, 0]]
        (reader,) = await waiting_readers(a, 1)
        assert await par(shared) == [0]
        assert await join(reader) == "a"
        assert idle(a, b, c)


async def test_one_write_guard_used_twice_beside_other_members():
    a, b = csp.Channel("a"), csp.Channel("b")
    guard = a.write.alt_pending_write("v")
    h = csp.Spawn(parallel_of(guard, b.read, guard, returns("r")))
    await until(lambda: lengths([a, b]) == [2, 1])
    await b.write("b")
    assert [await a.read(), await a.read()] == ["v", "v"]
    assert await join(h) == [0, "b", 0, "r"]
    assert idle(a, b)


async def test_whichever_write_guards_must_wait_the_others_happen():
    for waiting in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        for backwards in (False, True):
            channels = [csp.Channel(n) for n in "abc"]
            readers = []
            for i in range(3):
                if i not in waiting:
                    readers += await waiting_readers(channels[i], 1)
            h = csp.Spawn(parallel_of(*guards_of(channels)))
            wanted = [int(i in waiting) for i in range(3)]
            assert await join_all(readers) == [i for i in range(3) if i not in waiting]
            await until(lambda: lengths(channels) == wanted)
            for i in reversed(waiting) if backwards else waiting:
                await settle()
                assert not h.done()
                assert await channels[i].read() == i
            assert await join(h) == [0, 0, 0]
            assert idle(*channels)


async def test_write_guards_wait_for_room_in_buffered_channels():
    for waits in range(3):
        channels = [csp.BufferedChannel(n, 1) for n in "abc"]
        await channels[waits].write("before")
        h = csp.Spawn(parallel_of(*guards_of(channels)))
        await until(lambda: sum(lengths(channels)) == 4)
        await settle()
        assert not h.done()
        assert await channels[waits].read() == "before"
        assert await join(h) == [0, 0, 0]
        for i in range(3):
            assert await channels[i].read() == i
        assert idle(*channels)


async def test_write_guards_meet_the_guards_of_alternatives():
    for waits in range(3):
        channels = [csp.Channel(n) for n in "abc"]
        choices = []
        for i in range(3):
            if i != waits:
                choices.append(await posted(channels[i], chooses(channels[i].read), 1))
        h = csp.Spawn(parallel_of(*guards_of(channels)))
        assert await join_all(choices) == [i for i in range(3) if i != waits]
        await until(lambda: channels[waits].queue_len() == 1)
        assert not h.done()
        assert await chooses_now(channels[waits].read) == waits
        assert await join(h) == [0, 0, 0]
        assert idle(*channels)


async def chooses_now(*guards):
    g, v = await csp.Alternative(*guards).select()
    return v


@csp.process
async def chooses(*guards):
    return await chooses_now(*guards)


async def test_a_write_guard_poisoned_while_another_waits_is_raised_when_all_have_ended():
    for poisoned in range(3):
        for waits in range(3):
            if waits == poisoned:
                continue
            channels = [csp.Channel(n) for n in "abc"]
            (reader,) = await waiting_readers(channels[3 - poisoned - waits], 1)
            h = csp.Spawn(writes_until_poison(*guards_of(channels)))
            assert await join(reader) == 3 - poisoned - waits
            await until(lambda: channels[poisoned].queue_len() == 1)
            await until(lambda: channels[waits].queue_len() == 1)
            channels[poisoned].poison()
            await settle()
            assert not h.done() and channels[waits].queue_len() == 1
            assert await channels[waits].read() == waits
            assert await join(h) == POISONED
            assert idle(*channels)


async def test_a_write_guard_on_a_poisoned_channel_waits_for_one_that_waits():
    for poisoned in range(3):
        for waits in range(3):
            if waits == poisoned:
                continue
            channels = [csp.Channel(n) for n in "abc"]
            channels[poisoned].poison()
            (reader,) = await waiting_readers(channels[3 - poisoned - waits], 1)
            h = csp.Spawn(writes_until_poison(*guards_of(channels)))
            assert await join(reader) == 3 - poisoned - waits
            await until(lambda: channels[waits].queue_len() == 1)
            await settle()
            assert not h.done()
            assert await channels[waits].read() == waits
            assert await join(h) == POISONED
            assert idle(*channels)


async def test_a_write_guard_on_a_poisoned_channel_waits_for_all_that_wait():
    for poisoned in range(4):
        channels = [csp.Channel(n) for n in "abcd"]
        channels[poisoned].poison()
        h = csp.Spawn(writes_until_poison(*guards_of(channels)))
        for i in range(4):
            if i != poisoned:
                await until(lambda: channels[i].queue_len() == 1)
                assert not h.done()
                assert await channels[i].read() == i
        assert await join(h) == POISONED
        assert idle(*channels)


async def test_the_only_write_guard_that_waits_is_poisoned():
    for waits in range(3):
        channels = [csp.Channel(n) for n in "abc"]
        readers = []
        for i in range(3):
            if i != waits:
                readers += await waiting_readers(channels[i], 1)
        h = csp.Spawn(writes_until_poison(*guards_of(channels)))
        assert await join_all(readers) == [i for i in range(3) if i != waits]
        await until(lambda: channels[waits].queue_len() == 1)
        channels[waits].poison()
        assert await join(h) == POISONED
        assert idle(*channels)


@csp.process(propagate=False)
async def writes_until_poison(*guards):
    try:
        await par(*guards)
    except csp.PoisonException:
        return POISONED


async def test_a_parallel_of_write_guards_is_started_once():
    for waits in (False, True):
        ch = csp.Channel("c")
        p = csp.Parallel(ch.write.alt_pending_write(1))
        if waits:
            h = await posted(ch, runs(p), 1)
            assert await ch.read() == 1
            assert await join(h) == [0]
        else:
            (reader,) = await waiting_readers(ch, 1)
            assert await run_one(p) == [0]
            assert await join(reader) == 1
        with raises(RuntimeError):
            await run_one(p)
        assert idle(ch)


async def test_a_parallel_of_processes_and_guards_is_started_once():
    ch = csp.Channel("c")
    p = csp.Parallel(returns(4), ch.write.alt_pending_write(1))
    h = await posted(ch, runs(p), 1)
    assert await ch.read() == 1
    assert await join(h) == [4, 0]
    for again in run_one, run_itself:
        with raises(RuntimeError) as e:
            await again(p)
        assert sentence(e.value)
    assert idle(ch)


async def run_itself(p):
    return await p if AWAITABLE else p.run()


async def run_one(p):
    return (await seq(p))[0]


@csp.process
async def runs(p):
    return await run_one(p)


# A last member: in upycsp it may run on the thread of the process that waits


async def test_an_exception_of_the_last_member_comes_when_the_others_have_ended():
    for last in (breaks, breaks_deeper):
        a, b, c = [csp.Channel(n) for n in "abc"]
        log = Log()
        h = csp.Spawn(expects_broken(log, take_when(c.read, a.read, log), last(a.write, [b.read])))
        await until(lambda: a.poisoned and b.poisoned)
        await settle()
        assert not h.done() and log.items() == []
        await c.write("now")
        await join(h)
        assert log.items() == [POISONED, "broken"]
        assert idle(a, b, c)


class Broken(Exception):
    pass


@csp.process
async def breaks(*held):
    raise Broken()


@csp.process
async def breaks_deeper(*held):
    await par(returns(1), csp.Sequence(returns(2), csp.Parallel(returns(3), breaks())))


@csp.process
async def take_when(ready, cin, log):
    await ready()
    try:
        await cin()
    except csp.PoisonException:
        log.add(POISONED)


@csp.process(propagate=False)
async def expects_broken(log, *members):
    try:
        await par(*members)
    except Broken:
        log.add("broken")


async def test_the_first_exception_in_time_counts_also_if_the_last_member_raises():
    for first in range(3):
        ch = csp.Channel("c")
        members = [breaks_in_turn(i, ch.read, i == first) for i in range(3)]
        with raises(Numbered) as e:
            await par(*members)
        assert e.value.args == (first,)


class Numbered(Exception):
    pass


@csp.process
async def breaks_in_turn(number, cin, is_first):
    if is_first:
        await until(lambda: cin.channel().queue_len() == 2)
    else:
        async for _ in cin:  # until the first one has failed, which poisons it
            pass
    raise Numbered(number)


async def test_a_last_member_that_ends_by_poison_has_no_value():
    a, b = csp.Channel("a"), csp.Channel("b")
    a.poison()
    assert await par(returns(1), reads(a.read, b.write)) == [1, None]
    assert b.poisoned
    assert await par(returns(1), csp.Sequence(reads(a.read), returns(2))) == [1, [None, 2]]
    assert await par(returns(1), csp.Parallel(returns(2), reads(a.read))) == [1, [2, None]]


@csp.process
async def reads(cin, *held):
    return await cin()


async def test_a_last_member_is_a_nest():
    a, b = csp.Channel("a"), csp.Channel("b")
    res = await par(
        reads(a.read),
        csp.Parallel(
            reads(b.read),
            csp.Sequence(writes(b.write, 2), csp.Parallel(returns(3), writes(a.write, 1))),
        ),
    )
    assert res == [1, [2, [0, [3, 0]]]]
    res = await par(returns(1), csp.Sequence(returns(2), csp.Sequence(par_of(3), par_of(4))))
    assert res == [1, [2, [[3, 3], [4, 4]]]]
    assert idle(a, b)


@csp.process
async def par_of(v):
    return await par(returns(v), returns(v))


async def test_a_last_member_meets_the_others_both_ways():
    # It talks to those started before it, and starts some itself, in turn.
    a, b = csp.Channel("a"), csp.Channel("b")
    assert await par(echoes(a.read, b.write, 100), asks(a.write, b.read, 100)) == [None, 4950]
    assert await par(asks(a.write, b.read, 100), echoes(a.read, b.write, 100)) == [4950, None]
    assert idle(a, b)


@csp.process
async def echoes(cin, cout, n):
    for _ in range(n):
        await par(returns(1), writes(cout, await cin()))


@csp.process
async def asks(cout, cin, n):
    total = 0
    for i in range(n):
        await cout(i)
        total += (await par(returns(1), reads(cin)))[1]
    return total


def test_a_last_member_that_waits_is_named_in_the_report_of_a_deadlock():
    for how in range(4):
        a, b = csp.Channel("a"), csp.Channel("b")
        with raises(csp.DeadlockError) as e:
            csp.run(waits_in_a_nest(how, a, b))
        start, _, rest = str(e.value).partition(": ")
        assert start == "2 processes wait", str(e.value)
        assert sorted(rest.split(", ")) == ["reads reads a", "writes writes b"], str(e.value)
        assert idle(a, b)
        assert csp.run(returns(1)) == 1


@csp.process
async def waits_in_a_nest(how, a, b):
    first = reads(a.read)
    last = writes(b.write, 1)
    if how == 0:
        await par(first, last)
    elif how == 1:
        await par(first, csp.Sequence(returns(1), last))
    elif how == 2:
        await par(returns(1), csp.Parallel(first, last))
    else:
        await par(csp.Sequence(first), csp.Sequence(returns(1), csp.Parallel(returns(2), last)))


def depth_of_stack():
    """In bytes, or calls where it can't be told."""
    if hasattr(sys, "_getframe"):
        n = 0
        frame = sys._getframe()
        while frame is not None:
            n += 1
            frame = frame.f_back
        return n
    return micropython.stack_use()


async def test_thousands_of_starts_one_after_another_do_not_deepen_the_stack():
    before = [await nest_deep(3, [])]
    depths = []
    for _ in range(1000):
        await nest_deep(3, depths)
    assert len(depths) == 4000
    spread = max(depths[2000:]) - max(depths[:2000])
    assert spread <= 0, (before, spread)


async def test_nested_starts_do_not_deepen_the_stack_each_time():
    few = []
    many = []
    await nest_deep(6, few)
    await nest_deep(24, many)
    assert len(many) == 25
    assert max(many) <= max(few), (few, many)


async def nest_deep(depth, depths):
    return await par(returns(depth), nests(depth, depths))


@csp.process
async def nests(depth, depths):
    depths.append(depth_of_stack())
    if depth:
        await nest_deep(depth - 1, depths)


# Un-awaited operations as members


async def test_parallel_takes_operations_that_were_not_awaited():
    if not AWAITABLE:
        skip("in plain upycsp an operation happens when it is called")
    a, b = csp.Channel("a"), csp.Channel("b")
    (w,) = await waiting_writers(a, ("in",))
    (r,) = await waiting_readers(b, 1)
    assert await par(a.read(), b.write("out")) == ["in", 0]
    assert await join_all([w, r]) == [0, "out"]
    assert idle(a, b)


async def test_operations_in_a_parallel_are_posted_together():
    if not AWAITABLE:
        skip("in plain upycsp an operation happens when it is called")
    a, b = csp.Channel("a"), csp.Channel("b")
    h = csp.Spawn(posts_operations(a, b))
    await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
    assert await b.read() == "out"
    assert not h.done()
    await a.write("in")
    assert await join(h) == ["in", 0]
    ch = csp.Channel("c")
    assert await par(ch.read(), ch.write(1)) == [1, 0]
    assert idle(a, b, ch)


@csp.process
async def posts_operations(a, b):
    return await par(a.read(), b.write("out"))


async def test_operations_guards_coroutines_and_processes_mix():
    if not AWAITABLE:
        skip("in plain upycsp an operation happens when it is called")
    a, b = csp.Channel("a"), csp.Channel("b")
    res = await par(a.read(), coroutine(a.write, 1), take(b.read), b.write(2), returns(3))
    assert res == [1, 0, 2, 0, 3]
    assert idle(a, b)


async def test_poison_of_an_operation_is_raised_when_all_have_ended():
    if not AWAITABLE:
        skip("in plain upycsp an operation happens when it is called")
    a, b = csp.Channel("a"), csp.Channel("b")
    (r,) = await waiting_readers(b, 1)
    a.poison()
    with raises(csp.PoisonException):
        await par(a.read(), b.write(1), returns(2))
    assert await join(r) == 1
    assert idle(a, b)


async def test_what_is_read_beside_a_member_that_fails_is_read():
    a, b = csp.Channel("a"), csp.Channel("b")
    reads = [lambda: a.read] + ([lambda: a.read()] if AWAITABLE else [])
    for read in reads:
        for waits in (False, True):
            if not waits:
                writers = await waiting_writers(a, (1, 2))
            h = csp.Spawn(reads_beside_failure(read, b))
            await until(lambda: a.queue_len() == 1)
            if waits:
                assert await a.write(1) == 0
                writers = await waiting_writers(a, (2,))
            await b.write("fail")
            assert await join(h) == "failed"
            assert await a.read() == 2
            assert await join_all(writers) == [0] * len(writers)
            assert idle(a, b)


@csp.process
async def reads_beside_failure(read, b):
    try:
        await par(read(), fails_when_told(b.read))
    except ZeroDivisionError:
        return "failed"


@csp.process(propagate=False)
async def fails_when_told(cin):
    await cin()
    raise ZeroDivisionError


async def test_an_operation_is_posted_once():
    if not AWAITABLE:
        skip("in plain upycsp an operation happens when it is called")
    ch = csp.Channel("c")
    (h,) = await waiting_writers(ch, (1,))
    op = ch.read()
    assert await par(op) == [1]
    assert await join(h) == 0
    assert idle(ch)
    h = await posted(ch, posts_one(ch), 1)
    await ch.write(2)
    assert await join(h) == [2]
    assert idle(ch)


@csp.process
async def posts_one(ch):
    return await par(ch.read())


def test_run_of_several_processes_gives_the_list():
    assert csp.run(returns(1), returns(2)) == [1, 2]
    assert csp.run(returns(1)) == 1
    ch = csp.Channel("c")
    assert csp.run(take(ch.read), writes(ch.write, 4)) == [4, 0]


def test_run_accepts_parallel_and_sequence():
    assert csp.run(csp.Parallel(returns(1), returns(2))) == [1, 2]
    assert csp.run(csp.Sequence(returns(1), returns(2)), returns(3)) == [[1, 2], 3]


async def test_poison_is_raised_where_no_write_guard_waits():
    for channels in ([csp.Channel("a")], [csp.Channel("a"), csp.Channel("b")]):
        for ch in channels:
            ch.poison()
        assert await join(csp.Spawn(writes_until_poison(*guards_of(channels)))) == POISONED
    a, b = csp.Channel("a"), csp.Channel("b")
    b.poison()
    (reader,) = await waiting_readers(a, 1)
    h = csp.Spawn(writes_until_poison(*guards_of([a, b])))
    assert await join(reader) == 0
    assert await join(h) == POISONED
