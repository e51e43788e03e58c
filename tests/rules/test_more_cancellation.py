"""Rule 8 where buffers overflow: what is given back is not dropped, and takes no room."""

import csp

from rules_support import asyncio, idle, join, raises, until, waiting_readers

VARIANTS = ("uapycsp",)

WAYS = ("keep_oldest", "keep_newest")


async def given_back(overflow, values, capacity=2):
    """A channel with the values given back, and nothing else."""
    ch = csp.BufferedChannel("c", capacity, overflow)
    readers = await waiting_readers(ch, len(values))
    for v in values:
        assert await ch.write(v) == 0
    for h in readers:
        h.cancel()
    assert ch.queue_len() == len(values)
    ch.verify()
    for h in readers:
        with raises(asyncio.CancelledError):
            await join(h)
    return ch


async def test_given_back_values_take_no_room_and_are_not_dropped():
    for overflow in WAYS:
        ch = await given_back(overflow, ["a", "b", "c"])
        for i in range(5):
            assert await ch.write(i) == 0
            ch.verify()
            assert ch.queue_len() == 3 + min(i + 1, 2)
        got = []
        while ch.queue_len():
            got.append(await ch.read())
            ch.verify()
        assert got == ["a", "b", "c"] + ([0, 1] if overflow == "keep_oldest" else [3, 4])
        assert idle(ch)


async def test_a_value_given_back_to_a_full_buffer_is_read_first():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 1, overflow)
        (h,) = await waiting_readers(ch, 1)
        await ch.write("first")
        await ch.write("second")
        h.cancel()
        ch.verify()
        assert ch.queue_len() == 2
        assert await csp.Alternative(ch.read).select() == (ch.read, "first")
        assert await ch.read() == "second"
        assert idle(ch)


async def test_a_cancelled_read_gives_its_value_to_the_next_reader():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 1, overflow)
        first, second = await waiting_readers(ch, 2)
        await ch.write("a")
        first.cancel()
        assert await join(second) == "a"
        assert idle(ch)


async def test_poison_of_the_channel_drops_what_was_given_back_that_of_a_writer_does_not():
    for overflow in WAYS:
        ch = await given_back(overflow, ["a"], 1)
        ch.write.poison()
        assert await ch.read() == "a"
        assert ch.poisoned
        ch = await given_back(overflow, ["a"], 1)
        ch.poison()
        assert ch.poisoned and idle(ch)


async def test_a_cancelled_select_gives_back_what_it_chose():
    for overflow in WAYS:
        ch = csp.BufferedChannel("c", 1, overflow)
        other = csp.Channel("other")
        task = asyncio.get_event_loop().create_task(
            csp.Alternative(other.read, ch.read).select()  # pyright: ignore
        )
        await until(lambda: ch.queue_len() == 1)
        await ch.write("chosen")
        task.cancel()
        assert await ch.write("later") == 0
        with raises(asyncio.CancelledError):
            await task
        assert await ch.read() == "chosen"
        assert await ch.read() == "later"
        assert idle(ch, other)
