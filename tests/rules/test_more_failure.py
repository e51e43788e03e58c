"""Rules 4 and 5, further: members that are never started, and handles of what failed."""

import sys

import csp

from rules_support import AWAITABLE, LIB, Log, idle, join, join_all, raises, skip, take, until


class Oops(Exception):
    pass


@csp.process
async def fails(*ends):
    raise Oops("fails")


@csp.process
async def returns(v, *ends):
    return v


async def compose(kind, *members):
    x = kind(*members)
    return await x if AWAITABLE else x.run().retval


async def test_what_a_failed_sequence_does_not_start_poisons_its_ends():
    a, b, c = csp.Channel("a"), csp.Channel("b"), csp.Channel("c")
    inner = csp.Sequence(returns(1, b.write), csp.Parallel(returns(2, c.read)))
    with raises(Oops):
        await compose(csp.Sequence, returns(0), fails(), returns(1, a.read), inner)
    assert a.poisoned and b.poisoned and c.poisoned


async def test_what_is_refused_a_member_runs_none_and_poisons_the_ends_of_those_that_are_free():
    for kind in (csp.Parallel, csp.Sequence):
        a, b, c, d = [csp.Channel(name) for name in "abcd"]
        ran = Log()

        @csp.process
        async def reads(cin):
            ran.add(cin)
            return await cin()

        started = reads(b.read)
        other = reads(d.read)
        handles = [csp.Spawn(started), csp.Spawn(other)]
        await until(lambda: b.queue_len() == d.queue_len() == 1)
        with raises(RuntimeError):
            await compose(kind, reads(a.read), started, reads(c.read), other)
        assert ran.count() == 2, ran.items()
        assert a.poisoned and c.poisoned and not b.poisoned and not d.poisoned
        await b.write(1)
        await d.write(2)
        assert await join_all(handles) == [1, 2]


async def test_what_has_a_member_twice_runs_none():
    for kind in (csp.Parallel, csp.Sequence):
        ch = csp.Channel("c")
        p = returns(1, ch.read)
        with raises(RuntimeError):
            await compose(kind, p, p)
        assert ch.poisoned


async def test_what_a_failed_sequence_has_run_keeps_its_ends():
    a, b = csp.Channel("a"), csp.Channel("b")
    with raises(Oops):
        await compose(csp.Sequence, returns(0, a.read), fails(b.read), returns(1))
    assert b.poisoned and not a.poisoned


async def test_a_sequence_inside_a_sequence_has_its_own_results():
    inner = csp.Sequence(returns(1), csp.Parallel(returns(2), returns(3)))
    assert await compose(csp.Sequence, returns(0), inner) == [0, [1, [2, 3]]]


async def test_a_handle_of_a_failed_process_raises_each_time_it_is_asked():
    h = csp.Spawn(fails())
    await until(h.done)
    for _ in range(2):
        with raises(Oops):
            await join(h)


async def test_a_spawned_process_can_be_cancelled():
    if LIB != "uapycsp":
        skip("threads can't be cancelled")
    ch = csp.Channel("c")

    @csp.process
    async def waits(cin, cout):
        await cin()

    other = csp.Channel("other")
    h = csp.Spawn(waits(ch.read, other.write))
    await until(lambda: ch.queue_len() == 1)
    h.cancel()
    await until(h.done)
    assert ch.queue_len() == 0
    assert ch.poisoned and other.poisoned
    h.cancel()  # once more: nothing


def joined_by(h):
    """How many wait for the end of a spawned process."""
    n = 0
    j = h._waiting
    while j is not None:
        n += 1
        j = j.next
    return n


async def test_a_join_that_is_cancelled_leaves_the_others_and_the_process():
    if LIB != "uapycsp":
        skip("threads can't be cancelled")
    ch = csp.Channel("c")
    h = csp.Spawn(take(ch.read))

    async def joins(results):
        results.append(await h.join())

    first, second = [], []
    a = csp.Spawn(joins(first))
    b = csp.Spawn(joins(second))
    await until(lambda: ch.queue_len() == 1 and joined_by(h) == 2)
    a.cancel()
    await until(a.done)
    await ch.write("v")
    await b
    assert (first, second) == ([], ["v"])
    assert await h == "v"


async def test_a_join_cancelled_after_the_end_does_not_hold_up_the_others():
    if LIB != "uapycsp":
        skip("threads can't be cancelled")
    ch = csp.Channel("c")
    h = csp.Spawn(take(ch.read))

    async def joins(results):
        results.append(await h.join())

    got = []
    a = csp.Spawn(joins([]))
    b = csp.Spawn(joins(got))
    await until(lambda: ch.queue_len() == 1 and joined_by(h) == 2)

    await ch.write("v")
    while not h.done():
        await csp.Alternative(csp.Skip()).select()
    a.cancel()
    await until(a.done)
    await b
    assert got == ["v"]
    assert idle(ch)


@csp.process
async def writes(cout):
    await cout(1)


def test_what_run_has_no_memory_to_begin_poisons_its_ends():
    module = csp if LIB == "aio" else sys.modules[LIB + ".process"]
    kept = csp.Parallel

    class Scarce(csp.Parallel):
        def __init__(self, *members):
            raise MemoryError("none is left")

    a, b, c = csp.Channel("a"), csp.Channel("b"), csp.Channel("c")
    begun = csp.Channel("begun")
    mixed: list = [writes(begun.write), None]
    module.Parallel = Scarce
    try:
        with raises(MemoryError):
            csp.run(writes(a.write), csp.Sequence(writes(b.write), writes(c.write)))
        with raises(TypeError):
            csp.run(*mixed)
    finally:
        module.Parallel = kept
    assert a.poisoned and b.poisoned and c.poisoned and not begun.poisoned


class ScarceClock:
    """A clock that finds no memory before anything has begun."""

    def run(self, coro, after=None):
        coro.close()
        raise MemoryError("none is left")

    def run_group(self, group, processes):
        raise MemoryError("none is left")


def test_what_the_loop_has_no_memory_to_begin_poisons_its_ends():
    a, b, c = csp.Channel("a"), csp.Channel("b"), csp.Channel("c")
    scarce: dict = {"clock": ScarceClock()}
    with raises(MemoryError):
        csp.run(writes(a.write), csp.Sequence(writes(b.write), writes(c.write)), **scarce)
    assert a.poisoned and b.poisoned and c.poisoned
    d = csp.Channel("d")
    assert csp.run(writes(d.write), take(d.read)) == [None, 1]
