"""Buffered channels: first in, first out; None is unlimited, 0 a Channel; poison and buffers."""

import csp

from rules_support import (
    POISONED,
    Log,
    choose,
    collect,
    give_from,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    settle,
    waiting_readers,
    waiting_writers,
)


async def test_writes_do_not_wait_while_there_is_room():
    ch = csp.BufferedChannel("c", 3)
    for i in range(3):
        assert await ch.write(i) == 0
        ch.verify()
        assert ch.queue_len() == i + 1
    assert [await ch.read(), await ch.read(), await ch.read()] == [0, 1, 2]
    assert idle(ch)


async def test_a_full_buffer_makes_writers_wait():
    ch = csp.BufferedChannel("c", 2)
    await ch.write(0)
    await ch.write(1)
    writers = await waiting_writers(ch, (2, 3))
    await settle()
    assert not writers[0].done() and not writers[1].done()
    ch.verify()
    assert await ch.read() == 0
    assert await join(writers[0]) == 0
    await settle()
    assert not writers[1].done()
    assert ch.queue_len() == 3
    ch.verify()
    assert [await ch.read(), await ch.read(), await ch.read()] == [1, 2, 3]
    assert await join(writers[1]) == 0
    assert idle(ch)


async def test_a_read_of_an_empty_buffer_waits():
    ch = csp.BufferedChannel("c", 2)
    readers = await waiting_readers(ch, 2)
    await settle()
    assert not readers[0].done()
    await ch.write("a")
    await ch.write("b")
    assert await join_all(readers) == ["a", "b"]
    assert idle(ch)


async def test_no_capacity_means_no_limit():
    for ch in (csp.BufferedChannel("c"), csp.BufferedChannel("c", None)):
        for i in range(300):
            await ch.write(i)
        assert ch.queue_len() == 300
        ch.verify()
        for i in range(300):
            assert await ch.read() == i
        assert idle(ch)


async def test_an_unlimited_buffer_keeps_its_order_while_it_grows():
    # It grows at every state of a ring: after any number of values has passed through it.
    for passed in range(20):
        ch = csp.BufferedChannel("c")
        for i in range(passed):
            await ch.write(i)
            assert await ch.read() == i
        for i in range(40):
            await ch.write(i)
            ch.verify()
        got = []
        for i in range(40):
            got.append(await ch.read())
        assert got == list(range(40))
        assert idle(ch)


async def test_capacity_may_be_given_by_keyword():
    ch = csp.BufferedChannel(name="c", capacity=1)
    await ch.write(1)
    (h,) = await waiting_writers(ch, (2,))
    assert [await ch.read(), await ch.read()] == [1, 2]
    assert await join(h) == 0


async def test_capacity_zero_is_a_channel():
    ch = csp.BufferedChannel("c", 0)
    (h,) = await waiting_writers(ch, ("v",))
    await settle()
    assert not h.done()
    assert await ch.read() == "v"
    assert await join(h) == 0
    (h,) = await waiting_readers(ch, 1)
    await ch.write("w")
    assert await join(h) == "w"
    assert idle(ch)


async def test_order_is_kept_through_buffer_and_waiting_writers():
    for capacity in (1, 2, 7, None):
        ch = csp.BufferedChannel("c", capacity)
        log = Log()
        await par(give_from(ch.write, range(200)), takes(ch.read, 200, log))
        assert log.items() == list(range(200))
        assert idle(ch)


@csp.process
async def takes(cin, n, log):
    for _ in range(n):
        log.add(await cin())


async def test_many_writers_and_readers_share_a_buffer_without_loss():
    ch = csp.BufferedChannel("c", 3)
    log = Log()
    await par(
        give_from(ch.write, range(100)),
        give_from(ch.write, range(100, 200)),
        give_from(ch.write, range(200, 300)),
        takes(ch.read, 150, log),
        takes(ch.read, 150, log),
    )
    assert sorted(log.items()) == list(range(300))
    assert idle(ch)


async def test_none_may_be_buffered():
    ch = csp.BufferedChannel("c", 2)
    await ch.write(None)
    await ch.write(False)
    assert ch.queue_len() == 2
    assert await csp.Alternative(ch.read, csp.Skip()).select() == (ch.read, None)
    assert await ch.read() is False
    assert idle(ch)


# Poison


async def test_poisoning_the_write_end_lets_what_is_buffered_be_read_first():
    ch = csp.BufferedChannel("c")
    for i in range(3):
        await ch.write(i)
    ch.write.poison()
    with raises(csp.PoisonException):
        await ch.write(3)
    assert await ch.read() == 0
    assert await csp.Alternative(ch.read).select() == (ch.read, 1)
    assert await ch.read() == 2
    with raises(csp.PoisonException):
        await ch.read()
    assert ch.poisoned and idle(ch)


async def test_poisoning_the_write_end_of_an_empty_buffer_wakes_readers():
    ch = csp.BufferedChannel("c", 2)
    readers = await waiting_readers(ch, 2)
    ch.write.poison()
    assert await join_all(readers) == [POISONED] * 2
    assert ch.poisoned


async def test_poisoning_the_write_end_poisons_writers_that_wait_for_room():
    ch = csp.BufferedChannel("c", 2)
    await ch.write(0)
    await ch.write(1)
    writers = await waiting_writers(ch, (2, 3))
    ch.write.poison()
    assert await join_all(writers) == [POISONED] * 2
    log = Log()
    await par(collect(ch.read, log))
    assert log.items() == [0, 1]
    assert ch.poisoned and idle(ch)


async def test_poisoning_channel_or_read_end_discards_what_is_buffered():
    for poison in (
        lambda ch: ch.poison(),
        lambda ch: ch.read.poison(),
        lambda ch: csp.poison_channel(ch),
    ):
        ch = csp.BufferedChannel("c")
        await ch.write(1)
        await ch.write(2)
        poison(ch)
        assert ch.poisoned and ch.queue_len() == 0
        with raises(csp.PoisonException):
            await ch.read()
        with raises(csp.PoisonException):
            await ch.write(1)
        assert idle(ch)


async def test_poisoning_the_read_end_wakes_writers_that_wait_for_room():
    ch = csp.BufferedChannel("c", 1)
    await ch.write(0)
    writers = await waiting_writers(ch, (1, 2))
    ch.read.poison()
    assert await join_all(writers) == [POISONED] * 2
    assert idle(ch)


async def test_poison_of_the_whole_channel_overrides_poison_of_the_write_end():
    ch = csp.BufferedChannel("c")
    await ch.write(1)
    ch.write.poison()
    ch.poison()
    with raises(csp.PoisonException):
        await ch.read()
    assert idle(ch)


async def test_propagation_through_a_write_end_lets_what_is_buffered_be_read():
    ch = csp.BufferedChannel("c")
    assert await par(writes_then_is_poisoned(ch.write)) == [None]
    log = Log()
    await par(collect(ch.read, log))
    assert log.items() == [0, 1, 2]
    assert ch.poisoned


@csp.process
async def writes_then_is_poisoned(cout):
    for i in range(3):
        await cout(i)
    raise csp.PoisonException()


async def test_propagation_through_a_read_end_discards_what_is_buffered():
    ch = csp.BufferedChannel("c")
    await ch.write(1)
    await par(is_poisoned(ch.read))
    assert ch.poisoned
    with raises(csp.PoisonException):
        await ch.read()
    assert idle(ch)


@csp.process
async def is_poisoned(end):
    raise csp.PoisonException()


async def test_a_pipeline_poisoned_at_its_head_delivers_what_was_in_its_buffers():
    a = csp.BufferedChannel("a", 4)
    b = csp.BufferedChannel("b", 4)
    log = Log()
    res = await par(
        writes_then_is_poisoned(a.write), relay(a.read, b.write), reads_to_the_end(b.read, log)
    )
    assert res == [None, None, None]
    assert log.items() == [0, 1, 2]


@csp.process
async def relay(cin, cout):
    while True:
        await cout(await cin())


@csp.process
async def reads_to_the_end(cin, log):
    while True:
        log.add(await cin())


async def test_a_write_guard_waiting_for_room_is_poisoned_with_the_write_end():
    ch = csp.BufferedChannel("c", 1)
    other = csp.Channel("other")
    await ch.write("kept")
    h = await posted(other, choose(ch.write.alt_pending_write("lost"), other.read), 1)
    ch.write.poison()
    assert await join(h) == POISONED
    assert await ch.read() == "kept"
    assert ch.poisoned and idle(ch, other)
