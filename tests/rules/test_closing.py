"""Closed: a guard that waits until nobody takes what a write end would write."""

import csp

from rules_support import THREADS, idle, join, par, posted, raises, settle, until

Closed = csp.Closed


@csp.process
async def waits(cout):
    return await Closed(cout)()


@csp.process
async def chooses(cout, cin):
    g, v = await csp.Alternative(cin, Closed(cout)).select()
    return ("read", v) if g is cin else ("closed", v)


def ends(ch):
    return (ch.poison, ch.read.poison, ch.write.poison, ch.close)


async def waiting(process, cout, n=1):
    """Starts a process that waits for the end of a channel, and returns its handle."""
    h = csp.Spawn(process)
    queue = Closed(cout).channel()
    await until(lambda: queue.queue_len() == n)
    return h


async def test_every_way_to_end_is_noticed():
    for make in (csp.Channel, csp.BufferedChannel):
        for i in range(4):
            ch = make("c")
            h = await waiting(waits(ch.write), ch.write)
            ends(ch)[i]()
            assert await join(h) is None
            assert await Closed(ch.write)() is None  # and stays so
            assert idle(ch)


async def test_what_ended_before_is_noticed():
    for i in range(4):
        ch = csp.Channel("c")
        ends(ch)[i]()
        g, v = await csp.Alternative(Closed(ch.write), csp.Skip()).select()
        assert g is not None and v is None and Closed(ch.write).channel().queue_len() == 0
        assert await Closed(ch.write)() is None


async def test_it_is_not_ready_before():
    ch = csp.Channel("c")
    closed = Closed(ch.write)
    skip = csp.Skip()
    alt = csp.Alternative(closed, skip)
    assert (await alt.select())[0] is skip
    h = await posted(ch, waits_to_write(ch.write), 1)
    assert (await alt.select())[0] is skip
    assert await ch.read() == 1
    assert await join(h) == 0
    ch.poison()
    assert (await alt.select())[0] is closed


@csp.process
async def waits_to_write(cout):
    return await cout(1)


async def test_a_choice_leaves_nothing_behind():
    ch, other = csp.Channel("c"), csp.Channel("other")
    h = await waiting(chooses(ch.write, other.read), ch.write)
    await other.write(5)
    assert await join(h) == ("read", 5)
    assert Closed(ch.write).channel().queue_len() == 0
    h = await waiting(chooses(ch.write, other.read), ch.write)
    assert other.queue_len() == 1
    ch.close()
    assert await join(h) == ("closed", None)
    assert idle(ch, other)


async def test_all_who_wait_are_told():
    ch = csp.BufferedChannel("c", 2)
    await ch.write(1)
    handles = []
    for i in range(3):
        handles.append(await waiting(waits(ch.write), ch.write, i + 1))
    handles.append(await waiting(chooses(ch.write, csp.Channel().read), ch.write, 4))
    ch.write.poison()
    for h in handles[:3]:
        assert await join(h) is None
    assert await join(handles[3]) == ("closed", None)
    assert await ch.read() == 1  # poison by a writer lets it be read


async def test_who_waits_to_read_gets_poison_at_the_same_time():
    ch = csp.Channel("c")
    reads = await posted(ch, reads_on(ch.read), 1)
    h = await waiting(waits(ch.write), ch.write)
    ch.close()
    assert await join(h) is None
    assert await join(reads) == []


@csp.process
async def reads_on(cin):
    got = []
    async for v in cin:
        got.append(v)
    return got


async def test_a_process_that_dies_ends_nothing_by_it():
    ch = csp.Channel("c")
    closed = Closed(ch.write)
    with raises(ValueError):
        await par(dies(closed))
    closed.poison()
    skip = csp.Skip()
    assert not ch.poisoned and (await csp.Alternative(closed, skip).select())[0] is skip


@csp.process
async def dies(end):
    raise ValueError("it dies")


async def test_the_last_counted_end_closes():
    ch = csp.Channel("c")
    first, second = ch.reader(), ch.reader()
    h = await waiting(waits(ch.write), ch.write)
    first.retire()
    await settle()
    assert not h.done()
    second.retire()
    assert await join(h) is None
    with raises(csp.RetireException):
        await ch.write(1)


async def test_immunity_counts():
    ch = csp.Channel("c", immunity=2)
    h = await waiting(waits(ch.write), ch.write)
    ch.poison(1)
    await settle()
    assert not h.done()
    ch.poison(3)
    assert await join(h) is None


async def test_it_wants_a_write_end():
    ch = csp.Channel("c")
    barrier = csp.meeting.AltingBarrier.create(1)[0]
    write = ch.write.alt_pending_write(1)
    for wrong in (ch.read, ch, None, write, csp.meeting.Barrier(1), barrier):
        with raises(TypeError) as e:
            Closed(wrong)  # pyright: ignore
        assert str(e.value) == "a write end of a channel is expected"


def test_a_network_that_waits_for_an_end_is_a_deadlock():
    ch = csp.Channel("c")
    with raises(csp.DeadlockError) as e:
        csp.run(waits(ch.write))
    assert str(e.value) == "1 process waits: waits reads the end of c"


if not THREADS:

    async def test_a_cancelled_wait_leaves_nothing():
        ch = csp.Channel("c")
        h = await waiting(waits(ch.write), ch.write)
        h.cancel()
        with raises(BaseException):
            await h
        assert Closed(ch.write).channel().queue_len() == 0
        ch = csp.Channel("c")  # the first one was poisoned by the process's end
        h = await waiting(waits(ch.write), ch.write)
        ch.poison()
        h.cancel()  # it had been told already
        with raises(BaseException):
            await h
        assert await Closed(ch.write)() is None
