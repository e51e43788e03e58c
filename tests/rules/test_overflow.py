"""Buffers that overflow: a write never waits, and the newest or the oldest value is dropped."""

import csp

from rules_support import (
    POISONED,
    Log,
    choose,
    collect,
    give,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    sentence,
    waiting_readers,
)

WAYS = ("keep_oldest", "keep_newest")


async def filled(overflow, n, capacity=2):
    """A channel with the values 0 .. n - 1 written to it, of which it keeps what it should."""
    ch = csp.BufferedChannel("c", capacity, overflow)
    for i in range(n):
        assert await ch.write(i) == 0
        ch.verify()
        assert ch.queue_len() == min(i + 1, capacity)
    return ch


def kept(overflow, n, capacity=2):
    values = list(range(n))
    return values[:capacity] if overflow == "keep_oldest" else values[-capacity:]


async def drain(ch):
    """What can be read without waiting."""
    values = []
    while ch.queue_len():
        values.append(await ch.read())
        ch.verify()
    return values


async def test_a_write_to_a_full_buffer_drops_its_value_or_the_oldest():
    for overflow in WAYS:
        for capacity in (1, 2, 3, 5):
            for n in range(1, 12):
                ch = await filled(overflow, n, capacity)
                assert await drain(ch) == kept(overflow, n, capacity)
                assert idle(ch)


async def test_reads_between_writes_come_in_the_order_of_writing():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 3, overflow)
        model = []
        for i in range(60):
            if i * i % 7 < 4:
                await ch.write(i)
                if len(model) < 3:
                    model.append(i)
                elif overflow == "keep_newest":
                    model = model[1:] + [i]
            elif model:
                assert await ch.read() == model.pop(0)
            ch.verify()
            assert ch.queue_len() == len(model)
        assert await drain(ch) == model


async def test_without_a_capacity_nothing_is_dropped():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", None, overflow)
        for i in range(100):
            await ch.write(i)
        assert ch.capacity is None and ch.overflow == overflow
        assert await drain(ch) == list(range(100))


async def test_a_waiting_reader_gets_the_value_and_nothing_is_buffered():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 1, overflow)
        readers = await waiting_readers(ch, 2)
        assert await ch.write("a") == 0
        assert await ch.write("b") == 0
        assert await join_all(readers) == ["a", "b"]
        assert idle(ch)
        await ch.write("c")
        await ch.write("d")
        assert await ch.read() == ("c" if overflow == "keep_oldest" else "d")
        assert idle(ch)


async def test_a_write_guard_is_always_ready():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 2, overflow)
        other = csp.Channel("other")
        for i in range(5):
            guard = ch.write.alt_pending_write(i)
            for alt in csp.Alternative(other.read, guard), csp.Alternative(guard, csp.Skip()):
                assert await alt.select() == (guard, 0)
                ch.verify()
        doubled = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
        assert await drain(ch) == (doubled[:2] if overflow == "keep_oldest" else doubled[-2:])
        assert idle(ch, other)


async def test_a_read_guard_is_ready_while_something_is_buffered():
    for overflow in WAYS:
        ch = await filled(overflow, 3)
        alt = csp.Alternative(ch.read, csp.Skip())
        for v in kept(overflow, 3):
            assert await alt.select() == (ch.read, v)
        assert (await alt.select())[1] is None
        assert idle(ch)


async def test_a_waiting_alternative_is_fed_by_a_write():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 1, overflow)
        other = csp.Channel("other")
        h = await posted(ch, choose(other.read, ch.read), 1)
        assert await ch.write("fed") == 0
        assert await join(h) == (ch.read, "fed")
        assert idle(ch, other)


async def test_both_guards_of_one_channel_may_stand_in_an_alternative():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 1, overflow)
        guard = ch.write.alt_pending_write("own")
        alt = csp.Alternative(ch.read, guard)
        assert await alt.select() == (guard, 0)
        assert await alt.select() == (ch.read, "own")
        assert idle(ch)


async def test_writes_posted_together_all_happen():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 2, overflow)
        assert await par(*[ch.write.alt_pending_write(i) for i in range(4)]) == [0] * 4
        ch.verify()
        assert await drain(ch) == kept(overflow, 4)
        assert await par(ch.write.alt_pending_write(7), give(ch.write, 8)) == [0, 0]
        assert await drain(ch) == [7, 8] and idle(ch)


async def test_poison_by_a_writer_lets_readers_drain():
    for overflow in WAYS:
        ch = await filled(overflow, 4)
        ch.write.poison()
        with raises(csp.PoisonException):
            await ch.write(9)
        with raises(csp.PoisonException):
            await csp.Alternative(ch.write.alt_pending_write(9)).select()
        log = Log()
        await par(collect(ch.read, log))
        assert log.items() == kept(overflow, 4)
        assert ch.poisoned and idle(ch)


async def test_poison_by_a_reader_or_of_the_channel_drops_what_is_buffered():
    for overflow in WAYS:
        for poison in (lambda ch: ch.poison(), lambda ch: ch.read.poison()):
            ch = await filled(overflow, 4)
            poison(ch)
            assert ch.poisoned and idle(ch)
            with raises(csp.PoisonException):
                await ch.read()
            with raises(csp.PoisonException):
                await ch.write(9)
            assert idle(ch)


async def test_poison_wakes_waiting_readers():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 2, overflow)
        readers = await waiting_readers(ch, 2)
        ch.write.poison()
        assert await join_all(readers) == [POISONED] * 2
        assert idle(ch)


async def test_close_drains():
    for overflow in WAYS:
        ch = await filled(overflow, 4)
        ch.close()
        with raises(csp.PoisonException):
            await ch.write(9)
        assert not ch.poisoned
        assert [await ch.read(), await ch.read()] == kept(overflow, 4)
        assert ch.poisoned
        with raises(csp.PoisonException):
            await ch.read()
        assert idle(ch)


async def test_the_attribute_says_how_it_overflows():
    assert csp.BufferedChannel("c", 2).overflow == "block"
    assert csp.BufferedChannel().overflow == "block"
    for overflow in WAYS + ("block",):
        ch = csp.BufferedChannel("c", 2, overflow=overflow, external=True)
        assert ch.overflow == overflow and ch.capacity == 2 and ch.external
    assert csp.BufferedChannel("c", 0, "block").capacity == 0


async def test_an_unknown_overflow_is_a_value_error():
    for overflow in ("", "drop", "BLOCK", None, True, 0, [], b"block"):
        with raises(ValueError) as e:
            csp.BufferedChannel("c", 2, overflow)  # pyright: ignore
        assert sentence(e.value)


async def test_a_capacity_of_0_with_an_overflow_is_a_value_error():
    for overflow in WAYS:
        with raises(ValueError) as e:
            csp.BufferedChannel("c", 0, overflow)
        assert sentence(e.value)
        with raises(ValueError) as e:
            csp.BufferedChannel("c", -1, overflow)
        assert sentence(e.value)


# Several writers and readers at once


@csp.process
async def writes_from(cout, first, n):
    for i in range(n):
        await cout(first + i)


@csp.process
async def ascends(cin, log, of):
    """Reads to the end: what one writer wrote comes in its order."""
    last = [-1] * of
    async for v in cin:
        assert v % 1000 > last[v // 1000], v
        last[v // 1000] = v % 1000
        log.add(v)


@csp.process
async def then_close(processes, ch):
    await par(*processes)
    ch.close()


async def test_many_writers_and_readers_lose_only_what_overflows():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 3, overflow)
        log = Log()
        writers = [writes_from(ch.write, 1000 * w, 60) for w in range(3)]
        await par(then_close(writers, ch), *[ascends(ch.read, log, 3) for _ in range(2)])
        items = log.items()
        assert len(set(items)) == len(items)
        assert len(items) >= 3
        assert set(items) <= {1000 * w + i for w in range(3) for i in range(60)}
        assert ch.poisoned and idle(ch)
