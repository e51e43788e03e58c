"""Every name of the interface, and what can be asked of channels and their ends."""

import sys

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    choose,
    idle,
    join,
    par,
    posted,
    raises,
    skip,
    take,
    waiting_readers,
    waiting_writers,
)

NAMES = """
    Channel BufferedChannel poison_channel Alternative Guard Skip Timer process Parallel Sequence
    Spawn run run_CSP CSP PoisonException ChannelPoisonException DeadlockError plugnplay
"""
PLUGNPLAY = """
    Identity Prefix SeqDelta2 ParDelta2 Delta2 Successor SkipProcess Mux2 poison_chans
"""


def test_every_public_name_is_there():
    for name in NAMES.split():
        assert hasattr(csp, name), name
    for name in PLUGNPLAY.split():
        assert hasattr(csp.plugnplay, name), name


def test_every_name_in_all_can_be_had():
    if LIB == "aio":
        skip("a module, not a package")
    names = list(csp.__all__)
    for name in names:
        getattr(csp, name)
    assert set(NAMES.split()) <= set(names)


def test_an_unknown_name_is_an_attribute_error():
    with raises(AttributeError):
        csp.no_such_name


def test_the_aliases_are_the_same_objects():
    assert csp.run is csp.run_CSP
    assert csp.run is csp.CSP
    assert csp.PoisonException is csp.ChannelPoisonException


def test_uapycsp_loads_nothing_of_upycsp():
    if LIB != "uapycsp":
        skip("uapycsp only")
    for name in NAMES.split():
        getattr(csp, name)
    for name in sys.modules:
        assert name.split(".")[0] != "upycsp", name


def test_errors_are_exceptions():
    assert issubclass(csp.PoisonException, Exception)
    assert issubclass(csp.DeadlockError, Exception)
    assert not issubclass(csp.DeadlockError, csp.PoisonException)
    assert not issubclass(csp.PoisonException, csp.DeadlockError)


async def test_an_end_is_always_the_same_object():
    for ch in (csp.Channel("c"), csp.BufferedChannel("b")):
        assert ch.read is ch.read
        assert ch.write is ch.write
        assert ch.read is not ch.write


async def test_an_end_knows_its_channel():
    for ch in (csp.Channel("c"), csp.BufferedChannel("b")):
        assert ch.read.channel() is ch
        assert ch.write.channel() is ch


async def test_names_may_be_left_out_or_given():
    a = csp.Channel()
    b = csp.Channel("b")
    c = csp.Channel(name="c", external=True)
    d = csp.BufferedChannel()
    for ch in (a, b, c, d):
        (h,) = await waiting_readers(ch, 1)
        await ch.write(1)
        assert await join(h) == 1
    assert b.name == "b" and c.name == "c"


async def test_queue_len_counts_waiting_readers_writers_and_alternatives():
    ch = csp.Channel("c")
    other = csp.Channel("other")
    assert ch.queue_len() == 0
    await waiting_readers(ch, 2)
    await posted(ch, choose(other.read, ch.read), 3)
    ch.verify()
    ch.poison()
    assert ch.queue_len() == 0
    assert other.queue_len() == 0
    ch = csp.Channel("c")
    await waiting_writers(ch, (1, 2))
    await posted(ch, choose(other.read, ch.write.alt_pending_write(3)), 3)
    ch.verify()
    ch.poison()
    assert idle(ch, other)


async def test_queue_len_counts_buffered_values_and_writers_that_wait_for_room():
    ch = csp.BufferedChannel("c", 2)
    await ch.write(1)
    assert ch.queue_len() == 1
    await ch.write(2)
    writers = await waiting_writers(ch, (3, 4))
    assert ch.queue_len() == 4
    ch.verify()
    for left in (3, 2, 1, 0):
        await ch.read()
        assert ch.queue_len() == left
        ch.verify()
    for h in writers:
        assert await join(h) == 0


async def test_verify_holds_in_every_state_of_a_channel():
    ch = csp.Channel("c")
    ch.verify()
    await waiting_readers(ch, 1)
    ch.verify()
    await ch.write(1)
    ch.verify()
    await waiting_writers(ch, (1, 2))
    ch.verify()
    ch.close()
    ch.verify()
    await ch.read()
    ch.verify()
    await ch.read()
    ch.verify()
    ch.poison()
    ch.verify()


async def test_making_ends_and_guards_posts_nothing():
    ch = csp.Channel("c")
    ch.write.alt_pending_write(1)
    csp.Alternative(ch.read, ch.write.alt_pending_write(2))
    take(ch.read)
    csp.Parallel(ch.read, ch.write.alt_pending_write(3))
    csp.Sequence(take(ch.read))
    assert idle(ch)


# Rule 10


async def test_an_operation_created_and_dropped_has_done_nothing():
    if not AWAITABLE:
        skip("in plain upycsp an operation happens when it is called")
    ch = csp.Channel("c")
    ops = [ch.read(), ch.write(1), csp.Alternative(ch.read).select()]
    assert idle(ch)
    for op in ops:
        drop(op)
    ops = None
    assert idle(ch)
    (h,) = await waiting_readers(ch, 1)
    await ch.write("real")
    assert await join(h) == "real"


async def test_dropped_operations_take_nothing_from_those_who_wait():
    if not AWAITABLE:
        skip("in plain upycsp an operation happens when it is called")
    ch = csp.Channel("c")
    (h,) = await waiting_writers(ch, ("kept",))
    drop(ch.read())
    drop(csp.Alternative(ch.read).select())
    drop(csp.Alternative(ch.read).fair_select())
    assert ch.queue_len() == 1
    assert await ch.read() == "kept"
    assert await join(h) == 0


def drop(op):
    # CPython warns of a coroutine that was never awaited, unless it is closed.
    if hasattr(op, "close"):
        op.close()


async def test_an_operation_created_before_another_is_posted_when_it_is_awaited():
    if not AWAITABLE:
        skip("in plain upycsp an operation happens when it is called")
    ch = csp.Channel("c")
    early = ch.read()
    (first,) = await waiting_writers(ch, (1,))
    (second,) = [await posted(ch, writes(ch.write, 2), 2)]
    assert await ch.read() == 1
    assert await early == 2
    assert await join(first) == 0 and await join(second) == 0


@csp.process
async def writes(cout, v):
    return await cout(v)


async def test_a_process_created_and_dropped_has_done_nothing():
    ch = csp.Channel("c")
    writes(ch.write, 1)
    assert idle(ch)
    assert await par(writes(ch.write, 2), take(ch.read)) == [0, 2]


async def test_a_process_called_with_wrong_arguments_is_a_type_error():
    with raises(TypeError):
        await par(writes(1, 2, 3))  # pyright: ignore
