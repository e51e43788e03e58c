"""Rule 3: poison is final and immediate, and undoes no communication that was paired."""

import csp

from rules_support import (
    POISONED,
    Log,
    choose,
    give,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    settle,
    take,
    until,
    waiting_readers,
    waiting_writers,
)


async def test_poison_wakes_a_waiting_reader():
    ch = csp.Channel("c")
    (h,) = await waiting_readers(ch, 1)
    ch.poison()
    assert await join(h) == POISONED
    assert idle(ch)


async def test_poison_wakes_a_waiting_writer():
    ch = csp.Channel("c")
    (h,) = await waiting_writers(ch, (1,))
    ch.poison()
    assert await join(h) == POISONED
    assert idle(ch)


async def test_poison_wakes_everyone_who_waits():
    ch = csp.Channel("c")
    readers = await waiting_readers(ch, 5)
    ch.poison()
    assert await join_all(readers) == [POISONED] * 5
    ch = csp.Channel("c")
    writers = await waiting_writers(ch, range(5))
    ch.poison()
    assert await join_all(writers) == [POISONED] * 5
    assert idle(ch)


async def test_poison_wakes_a_select_on_an_input_guard():
    a = csp.Channel("a")
    b = csp.Channel("b")
    h = await posted(b, choose(a.read, b.read), 1)
    b.poison()
    assert await join(h) == POISONED
    assert idle(a, b)
    assert not a.poisoned


async def test_poison_wakes_a_select_on_an_output_guard():
    a = csp.Channel("a")
    b = csp.Channel("b")
    h = await posted(b, choose(a.read, b.write.alt_pending_write(1)), 1)
    b.poison()
    assert await join(h) == POISONED
    assert idle(a, b)
    assert not a.poisoned


async def test_poison_ends_a_waiting_iteration_without_an_exception():
    ch = csp.Channel("c")
    log = Log()
    h = await posted(ch, iterate(ch.read, log), 1)
    await ch.write(1)
    await until(lambda: ch.queue_len() == 1)
    ch.poison()
    assert await join(h) == "ended"
    assert log.items() == [1]


@csp.process
async def iterate(cin, log):
    async for v in cin:
        log.add(v)
    return "ended"


async def test_operations_after_poison_raise():
    ch = csp.Channel("c")
    ch.poison()
    for _ in range(2):
        with raises(csp.PoisonException):
            await ch.read()
        with raises(csp.PoisonException):
            await ch.write(1)
        with raises(csp.PoisonException):
            await csp.Alternative(ch.read).select()
        with raises(csp.PoisonException):
            await csp.Alternative(ch.write.alt_pending_write(1)).fair_select()
        with raises(csp.PoisonException):
            async with csp.Alternative(ch.read) as (g, v):
                raise AssertionError("the body of with was entered")
    assert idle(ch)


async def test_iteration_over_a_poisoned_channel_ends_at_once():
    ch = csp.Channel("c")
    ch.poison()
    async for _ in ch.read:
        raise AssertionError("a value came from a poisoned channel")


async def test_poisoned_says_whether_the_channel_is_poisoned():
    ch = csp.Channel("c")
    assert ch.poisoned is False or ch.poisoned == 0
    ch.poison()
    assert ch.poisoned


async def test_poisoning_twice_does_nothing_more():
    ch = csp.Channel("c")
    ch.poison()
    ch.poison()
    ch.read.poison()
    ch.write.poison()
    ch.close()
    assert ch.poisoned and idle(ch)


async def test_an_end_poisons_its_channel():
    ch = csp.Channel("c")
    (h,) = await waiting_writers(ch, (1,))
    ch.read.poison()
    assert ch.poisoned
    assert await join(h) == POISONED
    ch = csp.Channel("c")
    (h,) = await waiting_readers(ch, 1)
    ch.write.poison()
    assert ch.poisoned
    assert await join(h) == POISONED


async def test_poison_channel_poisons_the_channel_it_is_given():
    ch = csp.Channel("c")
    (h,) = await waiting_readers(ch, 1)
    csp.poison_channel(ch)
    assert ch.poisoned
    assert await join(h) == POISONED


async def test_the_result_of_poison_may_be_awaited():
    for poison in (
        lambda ch: ch.poison(),
        lambda ch: ch.read.poison(),
        lambda ch: ch.write.poison(),
        lambda ch: csp.poison_channel(ch),
        lambda ch: ch.close(),
    ):
        ch = csp.Channel("c")
        await poison(ch)
        assert ch.poisoned


async def test_a_reader_that_was_paired_gets_its_value_in_spite_of_poison():
    ch = csp.Channel("c")
    readers = await waiting_readers(ch, 2)
    assert await ch.write("paired") == 0
    ch.poison()
    assert await join_all(readers) == ["paired", POISONED]


async def test_a_writer_that_was_paired_returns_in_spite_of_poison():
    ch = csp.Channel("c")
    writers = await waiting_writers(ch, ("paired", "late"))
    assert await ch.read() == "paired"
    ch.poison()
    assert await join_all(writers) == [0, POISONED]


async def test_a_select_that_was_paired_gets_its_value_in_spite_of_poison():
    a = csp.Channel("a")
    b = csp.Channel("b")
    h = await posted(b, choose(a.read, b.read), 1)
    await b.write("paired")
    a.poison()
    b.poison()
    assert await join(h) == (b.read, "paired")


async def test_a_select_that_wrote_returns_in_spite_of_poison():
    a = csp.Channel("a")
    b = csp.Channel("b")
    guard = b.write.alt_pending_write("paired")
    h = await posted(b, choose(a.read, guard), 1)
    assert await b.read() == "paired"
    b.poison()
    a.poison()
    assert await join(h) == (guard, 0)


async def test_an_iteration_that_was_paired_gets_its_value_then_ends():
    ch = csp.Channel("c")
    log = Log()
    h = await posted(ch, iterate(ch.read, log), 1)
    await ch.write("paired")
    ch.poison()
    assert await join(h) == "ended"
    assert log.items() == ["paired"]


async def test_poison_withdraws_all_offers_of_an_alternative():
    a = csp.Channel("a")
    b = csp.Channel("b")
    c = csp.Channel("c")
    h = await posted(c, choose(a.read, b.write.alt_pending_write(1), c.read), 1)
    assert a.queue_len() == 1 and b.queue_len() == 1
    b.poison()
    assert await join(h) == POISONED
    assert idle(a, b, c)
    (late,) = await waiting_readers(a, 1)
    await a.write("still works")
    assert await join(late) == "still works"


async def test_poison_on_one_channel_leaves_others_alone():
    a = csp.Channel("a")
    b = csp.Channel("b")
    (h,) = await waiting_readers(b, 1)
    a.poison()
    await settle()
    assert not b.poisoned and not h.done()
    await b.write(1)
    assert await join(h) == 1


async def test_poison_from_a_process_reaches_both_sides_of_a_network():
    a = csp.Channel("a")
    b = csp.Channel("b")
    res = await par(take(a.read), give(b.write, 1), poison_when_both_wait(a, b))
    assert res == [POISONED, POISONED, None]
    assert idle(a, b)


@csp.process
async def poison_when_both_wait(a, b):
    await until(lambda: a.queue_len() == 1 and b.queue_len() == 1)
    a.write.poison()
    b.read.poison()


async def test_poison_while_many_communicate_loses_and_invents_nothing():
    # Every write that returned was read once, every value read was written, everyone ends.
    for round_ in range(20):
        ch = csp.Channel("c")
        written = Log()
        got = Log()
        await par(
            write_until_poison(ch.write, written, 0),
            write_until_poison(ch.write, written, 1000),
            read_until_poison(ch.read, got),
            read_until_poison(ch.read, got),
            poison_after(ch, got, 10 + round_),
        )
        assert sorted(written.items()) == sorted(got.items())
        assert idle(ch)


@csp.process
async def write_until_poison(cout, log, first):
    for v in range(first, first + 1000):  # what is more would fill the heap if poison comes late
        await cout(v)
        log.add(v)


@csp.process
async def read_until_poison(cin, log):
    while True:
        log.add(await cin())


@csp.process
async def poison_after(ch, log, n):
    await until(lambda: log.count() >= n)
    ch.poison()
