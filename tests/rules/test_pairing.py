"""Rule 1: an operation pairs with the oldest waiting counterpart, or is the last in the queue."""

import csp

from rules_support import (
    choose,
    idle,
    join,
    join_all,
    par,
    posted,
    settle,
    take,
    waiting_readers,
    waiting_writers,
)


async def test_a_write_pairs_with_the_oldest_reader():
    ch = csp.Channel("c")
    readers = await waiting_readers(ch, 3)
    for v in (10, 11, 12):
        assert await ch.write(v) == 0
    assert await join_all(readers) == [10, 11, 12]
    assert idle(ch)


async def test_a_read_pairs_with_the_oldest_writer():
    ch = csp.Channel("c")
    writers = await waiting_writers(ch, (20, 21, 22))
    got = [await ch.read(), await ch.read(), await ch.read()]
    assert got == [20, 21, 22]
    assert await join_all(writers) == [0, 0, 0]
    assert idle(ch)


async def test_a_paired_operation_leaves_the_queue_at_once():
    ch = csp.Channel("c")
    readers = await waiting_readers(ch, 3)
    left = []
    for v in range(3):
        await ch.write(v)
        ch.verify()
        left.append(ch.queue_len())
    assert left == [2, 1, 0]
    await join_all(readers)


async def test_a_newcomer_joins_the_end_of_the_queue():
    ch = csp.Channel("c")
    first = await waiting_readers(ch, 2)
    await ch.write("a")
    late = await posted(ch, take(ch.read), 2)
    await ch.write("b")
    await ch.write("c")
    assert await join_all(first + [late]) == ["a", "b", "c"]
    assert idle(ch)


async def test_every_kind_of_value_travels_as_the_same_object():
    ch = csp.Channel("c")
    values = (
        None,
        False,
        0,
        "",
        (),
        [1],
        {"a": 1},
        ch.read,
        ch,
        object(),
        ValueError("v"),
        csp.PoisonException("a value"),
        csp.PoisonException,
    )
    for v in values:
        h = await posted(ch, take(ch.read), 1)
        assert await ch.write(v) == 0
        assert await join(h) is v
        (h,) = await waiting_writers(ch, (v,))
        assert await ch.read() is v
        assert await join(h) == 0
    assert idle(ch)


async def test_an_alternative_keeps_its_place_among_readers():
    a = csp.Channel("a")
    b = csp.Channel("b")
    first = await posted(a, take(a.read), 1)
    second = await posted(a, choose(b.read, a.read), 2)
    third = await posted(a, take(a.read), 3)
    for v in (1, 2, 3):
        await a.write(v)
    assert await join(first) == 1
    assert await join(second) == (a.read, 2)
    assert await join(third) == 3
    assert idle(a, b)


async def test_an_alternative_keeps_its_place_among_writers():
    a = csp.Channel("a")
    b = csp.Channel("b")
    first = (await waiting_writers(a, (1,)))[0]
    guard = a.write.alt_pending_write(2)
    second = await posted(a, choose(b.read, guard), 2)
    third = (await waiting_writers(a, (3,)))[0]
    got = [await a.read(), await a.read(), await a.read()]
    assert got == [1, 2, 3]
    assert await join(first) == 0
    assert await join(second) == (guard, 0)
    assert await join(third) == 0
    assert idle(a, b)


async def test_a_withdrawn_offer_leaves_the_middle_of_the_queue():
    a = csp.Channel("a")
    b = csp.Channel("b")
    first = await posted(a, take(a.read), 1)
    second = await posted(a, choose(a.read, b.read), 2)
    third = await posted(a, take(a.read), 3)
    await b.write("other")
    assert await join(second) == (b.read, "other")
    a.verify()
    assert a.queue_len() == 2
    await a.write("x")
    await a.write("y")
    assert await join_all([first, third]) == ["x", "y"]
    assert idle(a, b)


async def test_a_withdrawn_offer_leaves_head_and_tail_of_the_queue():
    a = csp.Channel("a")
    b = csp.Channel("b")
    head = await posted(a, choose(a.read, b.read), 1)
    middle = await posted(a, take(a.read), 2)
    tail = await posted(a, choose(b.read, a.read), 3)
    await b.write("head")
    await b.write("tail")
    assert await join(head) == (b.read, "head")
    assert await join(tail) == (b.read, "tail")
    a.verify()
    assert a.queue_len() == 1
    late = await posted(a, take(a.read), 2)
    await a.write(1)
    await a.write(2)
    assert await join_all([middle, late]) == [1, 2]
    assert idle(a, b)


async def test_channels_do_not_mix_their_messages():
    a = csp.Channel("a")
    b = csp.Channel("b")
    h = await posted(a, take(a.read), 1)
    (w,) = await waiting_writers(b, ("for b",))
    await settle()
    assert not h.done() and not w.done()
    await a.write("for a")
    assert await join(h) == "for a"
    assert await b.read() == "for b"
    assert await join(w) == 0


async def test_a_reader_and_a_writer_started_together_meet():
    for _ in range(200):
        ch = csp.Channel("c")
        assert await par(give_once(ch.write, 7), take(ch.read)) == [0, 7]
        assert idle(ch)


@csp.process
async def give_once(cout, v):
    return await cout(v)
