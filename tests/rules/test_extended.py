"""Extended rendezvous: a writer waits until the reader's block has ended, and exactly so long."""

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    MICROPYTHON,
    POISONED,
    Log,
    asyncio,
    choose,
    give,
    idle,
    join,
    join_all,
    par,
    part,
    posted,
    raises,
    sentence,
    settle,
    skip,
    sleep_ms,
    take,
    until,
    waiting_readers,
    waiting_writers,
)

try:
    import micropython
except ImportError:
    pass


class Broken(Exception):
    pass


@csp.process
async def hold(cin, log, go):
    """In the block until it may go on; its value is what it has read."""
    try:
        async with cin.extended() as v:
            log.add(v)
            await go()
    except csp.PoisonException:
        return POISONED
    return v


@csp.process
async def give_choosing(cout, value):
    g, v = await csp.Alternative(cout.alt_pending_write(value), csp.Timer(1000)).select()
    return v


@csp.process
async def give_fairly(cout, value):
    g, v = await csp.Alternative(cout.alt_pending_write(value)).fair_select()
    return v


@csp.process
async def give_within(cout, value):
    return await cout.within(60000, value)


@csp.process
async def give_together(cout, value):
    results = await par(cout.alt_pending_write(value))
    return results[0]


@csp.process
async def give_beside(cout, value):
    other = csp.Channel("other")
    results = await par(cout.alt_pending_write(value), take(other.read), give(other.write, 1))
    assert results[1:] == [1, 0]
    return results[0]


@csp.process
async def give_counted(cout, value):
    return await cout.join()(value)


WAYS = [give, give_choosing, give_fairly, give_within, give_together, give_beside, give_counted]

if AWAITABLE:

    @csp.process
    async def give_unawaited(cout, value):
        results = await csp.Parallel(cout(value))
        return results[0]

    WAYS.append(give_unawaited)


async def held(way, reader_first, log, go):
    """A channel, its writer, which is held, and its reader."""
    ch = csp.Channel("c")
    if reader_first:
        r = await posted(ch, hold(ch.read, log, go.read), 1)
        w = csp.Spawn(way(ch.write, "v"))
    else:
        w = await posted(ch, way(ch.write, "v"), 1)
        r = csp.Spawn(hold(ch.read, log, go.read))
    await until(lambda: log.count() == 1 and go.queue_len() == 1)
    await settle()
    assert not w.done() and not r.done()
    assert idle(ch)
    return ch, w, r


# The writer waits


async def test_every_way_to_write_waits_for_the_end_of_the_block_whoever_comes_first():
    for way in WAYS:
        for reader_first in (False, True):
            log, go = Log(), csp.Channel("go")
            ch, w, r = await held(way, reader_first, log, go)
            await go.write(None)
            assert await join(w) == 0
            assert await join(r) == "v"
            assert idle(ch, go)


async def test_a_channel_is_as_before_after_an_extended_read():
    log, go = Log(), csp.Channel("go")
    ch, w, r = await held(give, False, log, go)
    (other,) = await waiting_writers(ch, ("next",))
    assert await ch.read() == "next"
    assert await join(other) == 0
    (other,) = await waiting_readers(ch, 1)
    assert await ch.write("third") == 0
    assert await join(other) == "third"
    assert not w.done()
    await go.write(None)
    await join_all((w, r))


async def test_writers_and_readers_of_both_kinds_are_served_first_come_first_served():
    ch, go, log = csp.Channel("c"), csp.Channel("go"), Log()
    first = await posted(ch, take(ch.read), 1)
    second = await posted(ch, hold(ch.read, log, go.read), 2)
    third = await posted(ch, take(ch.read), 3)
    fourth = await posted(ch, hold(ch.read, log, go.read), 4)
    ch.verify()
    assert await ch.write(1) == 0
    w = csp.Spawn(give(ch.write, 2))
    await until(lambda: ch.queue_len() == 2)
    assert await ch.write(3) == 0
    x = csp.Spawn(give_choosing(ch.write, 4))
    await until(lambda: go.queue_len() == 2)
    assert not w.done() and not x.done()
    await go.write(None)
    await go.write(None)
    assert await join_all((first, second, third, fourth)) == [1, 2, 3, 4]
    assert await join_all((w, x)) == [0, 0]
    handles = await waiting_writers(ch, (5, 6, 7))
    async with ch.read.extended() as v:
        assert v == 5
    assert await ch.read() == 6
    async with ch.read.extended() as v:
        assert v == 7
    assert await join_all(handles) == [0, 0, 0]
    assert idle(ch)


async def test_blocks_may_be_nested():
    a, b = csp.Channel("a"), csp.Channel("b")
    log = Log()
    handles = [csp.Spawn(give_logged(a.write, i, log)) for i in range(2)]
    await until(lambda: a.queue_len() == 2)
    handles.append(csp.Spawn(give_logged(b.write, 2, log)))
    async with a.read.extended() as v:
        async with a.read.extended() as w:
            async with b.read.extended() as x:
                await settle()
                assert sorted((v, w)) == [0, 1] and x == 2 and log.count() == 0
            await until(lambda: log.items() == [2])
        await until(lambda: log.items() == [2, w])
        await settle()
        assert log.count() == 2
    await join_all(handles)
    assert log.items() == [2, w, v]
    assert idle(a, b)


@csp.process
async def give_logged(cout, value, log):
    await cout(value)
    log.add(value)


async def test_a_chain_of_blocks_lets_nobody_go_before_the_last():
    a, b, c, go = [csp.Channel() for _ in range(4)]
    log = Log()

    @csp.process
    async def forward(cin, cout):
        async with cin.extended() as v:
            await cout(v)

    handles = [csp.Spawn(forward(a.read, b.write)), csp.Spawn(forward(b.read, c.write))]
    handles += [csp.Spawn(give(a.write, 7)), csp.Spawn(hold(c.read, log, go.read))]
    await until(lambda: log.items() == [7])
    await settle()
    assert not any(h.done() for h in handles)
    await go.write(None)
    assert await join_all(handles) == [None, None, 0, 7]


async def test_an_alternative_that_was_held_can_be_used_again():
    ch, d, go, log = csp.Channel("c"), csp.Channel("d"), csp.Channel("go"), Log()

    @csp.process
    async def chooser():
        out = ch.write.alt_pending_write("v")
        alt = csp.Alternative(d.read, out)
        for _ in range(3):
            g, v = await alt.select()
            log.add(v if g is d.read else "out")

    h = csp.Spawn(chooser())
    await until(lambda: ch.queue_len() == 1)
    async with ch.read.extended() as v:
        assert v == "v" and idle(ch, d)
        w = await posted(d, give(d.write, 8), 1)
        await settle()
        assert log.count() == 0 and not w.done()
    await join(w)
    await until(lambda: ch.queue_len() == 1)
    r = csp.Spawn(hold(ch.read, Log(), go.read))
    await go.write(None)
    await join_all((h, r))
    assert log.items() == ["out", 8, "out"]
    assert idle(ch, d, go)


async def test_an_input_that_was_not_chosen_is_withdrawn_while_the_output_is_held():
    for reader_first in (False, True):
        ch, d, go, log = csp.Channel("c"), csp.Channel("d"), csp.Channel("go"), Log()
        guards = d.read, ch.write.alt_pending_write("v")
        if reader_first:
            r = await posted(ch, hold(ch.read, log, go.read), 1)
            w = csp.Spawn(choose(*guards))
        else:
            w = await posted(ch, choose(*guards), 1)
            r = csp.Spawn(hold(ch.read, log, go.read))
        await until(lambda: go.queue_len() == 1)
        assert idle(ch, d) and not w.done()
        await go.write(None)
        assert await join(w) == (guards[1], 0)
        await join(r)


async def test_a_write_guard_of_a_parallel_serves_again():
    ch = csp.Channel("c")
    guard = ch.write.alt_pending_write("v")

    @csp.process
    async def writer():
        for _ in range(4):
            assert await par(guard) == [0]

    h = csp.Spawn(writer())
    for i in range(4):
        if i & 1:
            await until(lambda: ch.queue_len() == 1)
        async with ch.read.extended() as v:
            assert v == "v"
            await settle()
            assert idle(ch)
    await join(h)
    assert guard.channel is ch


@csp.process
async def together(*guards):
    return await par(*guards)


@csp.process
async def beside_a_process(guard):
    return await par(guard, idles())


@csp.process
async def idles():
    pass


async def test_a_write_guard_that_is_held_may_be_used_again_meanwhile():
    for again in (together, beside_a_process, choose):
        ch, go, log = csp.Channel("c"), csp.Channel("go"), Log()
        guard = ch.write.alt_pending_write("v")
        r = await posted(ch, hold(ch.read, log, go.read), 1)
        first = csp.Spawn(together(guard))
        await until(lambda: go.queue_len() == 1)
        second = csp.Spawn(again(guard))
        await until(lambda: second.done() or ch.queue_len() == 1)
        assert not second.done()
        readers = [r, csp.Spawn(hold(ch.read, log, go.read))]
        await until(lambda: go.queue_len() == 2)
        await settle()
        assert not first.done() and not second.done()
        for _ in readers:
            await go.write(None)
        assert await join_all(readers) == ["v", "v"]
        assert await join(first) == [0]
        values = {together: [0], beside_a_process: [0, None], choose: (guard, 0)}
        assert await join(second) == values[again]
        assert idle(ch) and guard.channel is ch


async def test_a_write_guard_used_twice_in_one_parallel_may_be_held_twice():
    ch, go, log = csp.Channel("c"), csp.Channel("go"), Log()
    guard = ch.write.alt_pending_write("v")
    r = await posted(ch, hold(ch.read, log, go.read), 1)
    w = csp.Spawn(together(guard, guard))
    await until(lambda: w.done() or ch.queue_len() == go.queue_len() == 1)
    assert not w.done()
    readers = [r, csp.Spawn(hold(ch.read, log, go.read))]
    await until(lambda: go.queue_len() == 2)
    for _ in readers:
        await go.write(None)
    assert await join_all(readers) == ["v", "v"]
    assert await join(w) == [0, 0]
    assert idle(ch)


async def test_of_several_writes_of_one_parallel_each_may_be_held():
    for reader_first in (False, True):
        a, b, go, log = csp.Channel("a"), csp.Channel("b"), csp.Channel("go"), Log()

        @csp.process
        async def writer():
            return await par(a.write.alt_pending_write(1), b.write.alt_pending_write(2), b.read)

        if reader_first:
            readers = [await posted(a, hold(a.read, log, go.read), 1)]
            readers.append(await posted(b, hold(b.read, log, go.read), 1))
            w = csp.Spawn(writer())
        else:
            w = await posted(a, writer(), 1)
            readers = [csp.Spawn(hold(x.read, log, go.read)) for x in (a,)]
        await until(lambda: go.queue_len() == len(readers))
        await settle()
        assert not w.done()
        for _ in readers:
            await go.write(None)
        await join_all(readers)
        if reader_first:
            await b.write(3)
            assert await join(w) == [0, 0, 3]
        else:  # the parallel has met itself
            assert await join(w) == [0, 0, 2]
        assert idle(a, b)


async def test_a_write_of_a_parallel_that_fails_to_start_is_held_no_more():
    ch, go, log = csp.Channel("c"), csp.Channel("go"), Log()
    first, second = csp.meeting.AltingBarrier.create(2)
    r = await posted(ch, hold(ch.read, log, go.read), 1)
    h = csp.Spawn(syncs(first))
    await until(lambda: first.waiting() == 1)
    with raises(RuntimeError):  # another process is at that end
        await par(ch.write.alt_pending_write("v"), first)
    await until(lambda: go.queue_len() == 1)
    await go.write(None)
    assert await join(r) == "v"
    await second.sync()
    await join(h)
    assert idle(ch)


@csp.process
async def syncs(end):
    await end.sync()


async def test_each_write_of_a_parallel_is_read_once_whoever_waits_for_which():
    for case in range(27):
        kinds = [case // 9, case // 3 % 3, case % 3]  # nobody, a reader, one with a block
        chans = [csp.Channel(name) for name in "abc"]
        go, log = csp.Channel("go"), Log()

        @csp.process
        async def writer():
            return await par(*[ch.write.alt_pending_write(ch.name) for ch in chans])

        readers = []
        for ch, kind in zip(chans, kinds):
            if kind:
                reader = take(ch.read) if kind == 1 else hold(ch.read, log, go.read)
                readers.append(await posted(ch, reader, 1))
        w = csp.Spawn(writer())
        await until(lambda: go.queue_len() == kinds.count(2))
        await until(lambda: [ch.queue_len() for ch in chans] == [int(not kind) for kind in kinds])
        await settle()
        assert not w.done() or kinds == [1, 1, 1]
        for _ in range(kinds.count(2)):
            await go.write(None)
        assert await join_all(readers) == [ch.name for ch, kind in zip(chans, kinds) if kind]
        for ch, kind in zip(chans, kinds):
            if not kind:
                assert await ch.read() == ch.name
        assert await join(w) == [0, 0, 0]
        assert idle(*chans)


# How the block ends


async def test_an_exception_in_the_block_completes_the_rendezvous():
    for way in WAYS:
        for reader_first in (False, True):
            ch = csp.Channel("c")

            @csp.process(propagate=False)
            async def breaks(cin):
                async with cin.extended() as v:
                    assert v == "v"
                    raise Broken

            if reader_first:
                r = await posted(ch, breaks(ch.read), 1)
                w = csp.Spawn(way(ch.write, "v"))
            else:
                w = await posted(ch, way(ch.write, "v"), 1)
                r = csp.Spawn(breaks(ch.read))
            with raises(Broken):
                await join(r)
            assert await join(w) == 0
            assert way is give_counted or not ch.poisoned
            ch.verify()


async def test_a_process_that_dies_in_the_block_has_read_and_then_poisons():
    ch = csp.Channel("c")

    @csp.process
    async def breaks(cin):
        async with cin.extended():
            raise Broken

    log = Log()

    @csp.process
    async def writes_twice(cout):
        log.add(await cout(1))
        await cout(2)

    with raises(Broken):
        await par(breaks(ch.read), writes_twice(ch.write))
    assert log.items() == [0]
    assert ch.poisoned


async def test_return_and_break_end_the_block():
    ch = csp.Channel("c")

    @csp.process
    async def reader(cin):
        while True:
            async with cin.extended() as v:
                if v == 2:
                    break
        async with cin.extended() as v:
            return v

    h = csp.Spawn(reader(ch.read))
    for v in (1, 2, 3):
        assert await ch.write(v) == 0
    assert await join(h) == 3


# Ends of the channel


async def test_what_was_taken_is_written_whatever_ends_the_channel_meanwhile():
    for end in (0, 1, 2, 3):
        for reader_first in (False, True):
            log, go = Log(), csp.Channel("go")
            ch, w, r = await held(give, reader_first, log, go)
            (ch.poison, ch.read.poison, ch.write.poison, ch.close)[end]()
            await settle()
            assert not w.done()
            with raises(csp.PoisonException):
                await ch.write(2)
            await go.write(None)
            assert await join(w) == 0
            assert await join(r) == "v"
            ch.verify()


async def test_poison_of_the_block_is_that_of_its_process():
    ch, go = csp.Channel("c"), csp.Channel("go")

    @csp.process
    async def reader(cin, go):
        async with cin.extended():
            await go()

    h = csp.Spawn(reader(ch.read, go.read))
    w = csp.Spawn(give(ch.write, 1))
    await until(lambda: go.queue_len() == 1)
    go.poison()
    assert await join(w) == 0
    assert await join(h) is None
    assert ch.poisoned


async def test_the_end_of_the_channel_reaches_who_waits_in_an_extended_read():
    for end in (0, 1, 2, 3):
        ch, log = csp.Channel("c"), Log()
        handles = [await posted(ch, hold(ch.read, log, ch.read), 1)]
        handles.append(await posted(ch, take(ch.read), 2))
        handles.append(await posted(ch, hold(ch.read, log, ch.read), 3))
        (ch.poison, ch.read.poison, ch.write.poison, ch.close)[end]()
        assert await join_all(handles) == [POISONED] * 3
        assert log.count() == 0
        with raises(csp.PoisonException):
            async with ch.read.extended():
                pass
        ch.verify()


async def test_a_closed_channel_is_drained_by_extended_reads():
    ch = csp.Channel("c")
    handles = await waiting_writers(ch, (1, 2))
    ch.close()
    for v in (1, 2):
        async with ch.read.extended() as x:
            assert x == v
    with raises(csp.PoisonException):
        async with ch.read.extended():
            pass
    assert await join_all(handles) == [0, 0]


async def test_counted_ends_have_extended_reads():
    ch = csp.Channel("c")
    cin, cout = ch.reader(), ch.writer()
    h = await posted(ch, give(cout, 1), 1)
    async with cin.extended() as v:
        assert v == 1
        await settle()
        assert not h.done()
        cout.retire()
    assert await join(h) == 0
    with raises(csp.RetireException):
        async with cin.extended():
            pass
    cin.retire()
    with raises(csp.RetireException):
        async with cin.extended():
            pass


# Bad use


async def test_only_a_rendezvous_channel_has_extended_reads():
    for ch in (csp.BufferedChannel("b"), csp.BufferedChannel("b", 0)):
        with raises(TypeError) as e:
            ch.read.extended()
        assert sentence(e.value)
        with raises(TypeError):
            ch.reader().extended()
    with raises(TypeError):
        csp.Closed(csp.Channel().write).extended()
    with raises(AttributeError):
        csp.Channel().write.extended()


async def test_an_extended_read_is_used_once_and_stands_nowhere_else():
    ch = csp.Channel("c")
    x = ch.read.extended()
    h = await posted(ch, give(ch.write, 1), 1)
    async with x as v:
        assert v == 1
    with raises(RuntimeError) as e:
        async with x:
            pass
    assert sentence(e.value)
    await join(h)
    with raises(TypeError):
        csp.Alternative(ch.read.extended())  # pyright: ignore
    with raises(TypeError):
        await par(ch.read.extended())
    assert idle(ch)


async def test_an_extended_read_that_was_not_entered_has_done_nothing():
    ch = csp.Channel("c")
    ch.read.extended()
    h = await posted(ch, give(ch.write, 1), 1)
    ch.read.extended()
    assert await ch.read() == 1
    await join(h)


# Deadlocks


def test_a_deadlock_names_who_is_held():
    for way in WAYS:
        if way is give_choosing or way is give_within:
            continue  # they have a time limit
        for reader_first in (False, True):
            ch, go = csp.Channel("c"), csp.Channel("go")
            ps = [hold(ch.read, Log(), go.read), way(ch.write, "v")]
            with raises(csp.DeadlockError) as e:
                csp.run(*(ps if reader_first else [ps[1], ps[0]]))
            text = str(e.value)
            assert "hold reads go" in text, text
            assert "is held by a reader of c" in text, text


@csp.process
async def holds_the_last_one(ch):
    # In the block it waits for the end of who is held.
    h = csp.Spawn(give(ch.write, 1))
    async with ch.read.extended():
        await csp.Alternative(part("guards").Ended(h)).select()


def test_who_is_held_by_nobody_that_could_be_ended_goes_on_before_the_deadlock_is_told():
    # Nobody waits on a channel but who is held: there is nothing to poison.
    ch = csp.Channel("c")
    with raises(csp.DeadlockError) as e:
        csp.run(holds_the_last_one(ch))
    assert str(e.value) == "1 process waits: give is held by a reader of c"
    assert idle(ch)


@csp.process
async def is_held_elsewhere(ch, go):
    # Who is in the block is no process.
    async def reads():
        try:
            async with ch.read.extended():
                await go.read()
        except csp.PoisonException:
            pass

    if LIB == "uapycsp":
        asyncio.get_event_loop().create_task(reads())
    else:
        import uthreading

        uthreading.Thread(target=reads).start()
    await ch.write(1)
    await ch.write(2)


def test_who_is_held_by_no_process_goes_on_before_the_deadlock_is_told():
    if LIB == "aio":
        skip("a thread awaits nothing")
    ch, go = csp.Channel("c"), csp.Channel("go")
    with raises(csp.DeadlockError) as e:
        csp.run(is_held_elsewhere(ch, go))
    assert str(e.value) == "1 process waits: is_held_elsewhere is held by a reader of c"
    assert ch.poisoned and ch.queue_len() == 0 and not go.poisoned
    go.poison()


def test_the_innermost_run_in_which_somebody_is_held_tells_a_deadlock():
    if LIB == "uapycsp":
        skip("a run within a run is a RuntimeError")
    ch, go = csp.Channel("c"), csp.Channel("go")

    @csp.process
    async def runs():
        with raises(csp.DeadlockError) as e:
            csp.run(give(ch.write, 1))
        await go.write(None)
        return str(e.value)

    told, v = csp.run(runs(), hold(ch.read, Log(), go.read))
    assert "give is held by a reader of c" in told and "hold reads go" in told
    assert v == 1


def test_who_waits_in_an_extended_read_is_reported():
    ch = csp.Channel("c")
    with raises(csp.DeadlockError) as e:
        csp.run(hold(ch.read, Log(), ch.read))
    assert str(e.value) == "1 process waits: hold reads c"


def test_a_block_that_works_is_no_deadlock():
    ch = csp.Channel("c")

    @csp.process
    async def reader(cin):
        async with cin.extended():
            await sleep_ms(700)

    for way in (give, give_choosing, give_together):
        assert csp.run(way(ch.write, 1), reader(ch.read)) == [0, None]


def test_nobody_waits_for_ever_for_an_external_channel():
    ch, go = csp.Channel("c"), csp.Channel("go", external=True)

    @csp.process
    async def later(cout):
        await sleep_ms(700)
        await cout(None)

    assert csp.run(give(ch.write, 1), hold(ch.read, Log(), go.read), later(go.write))[0] == 0


# Many


class Desk:
    """What each writer says that it is writing; the reader looks while it has the value."""

    def __init__(self, n):
        self.on = [None] * n


@csp.process
async def writes_many(desk, me, cout, n, way):
    for i in range(n):
        desk.on[me] = i
        v = me, i
        if way == 0:
            await cout(v)
        elif way == 1:
            await csp.Alternative(cout.alt_pending_write(v)).select()
        elif way == 2:
            await par(cout.alt_pending_write(v))
        else:
            await cout.within(60000, v)
        assert desk.on[me] == i
        desk.on[me] = None


@csp.process
async def reads_many(desk, cin, n, every):
    seen = 0
    for i in range(n):
        if every and i % every == 0:
            seen += 1 if await cin() else 0
            continue
        async with cin.extended() as v:
            me, k = v
            assert desk.on[me] == k
            if i & 1:
                await sleep_ms(0)
            assert desk.on[me] == k
            seen += 1
    return seen


async def test_many_writers_of_all_kinds_are_never_let_go_too_early():
    n = 60
    desk = Desk(8)
    ch = csp.Channel("c")
    writers = [writes_many(desk, i, ch.write, n, i & 3) for i in range(8)]
    readers = [reads_many(desk, ch.read, 2 * n, every) for every in (0, 0, 3, 5)]
    results = await par(*(writers + readers))
    assert sum(results[8:]) == 8 * n
    assert idle(ch)


async def test_too_little_memory_leaves_the_channel_valid():
    if not MICROPYTHON or LIB != "uapycsp":
        skip("one thread can lock the heap of all")
    ch = csp.Channel("c")
    x = ch.read.extended()
    entering = x.__aenter__()
    h = await posted(ch, give(ch.write, 1), 1)
    micropython.heap_lock()
    try:
        entering.send(None)
        result = None
    except StopIteration as er:
        result = er.value
    except MemoryError:
        result = MemoryError
    finally:
        micropython.heap_unlock()
    assert result in (1, MemoryError)
    ch.verify()
    if result == 1:
        await x.__aexit__(None, None, None)
        assert await join(h) == 0
    else:
        assert await ch.read() == 1


# Cancellation

if LIB == "uapycsp":

    def spawn(coro):
        return asyncio.create_task(coro)

    async def outcome(task):
        try:
            return await task
        except asyncio.CancelledError:
            return "cancelled"

    async def test_a_reader_cancelled_while_it_waits_leaves_nothing():
        ch = csp.Channel("c")
        for _ in range(2):
            task = spawn(extends(ch.read, Log()))
            await until(lambda: ch.queue_len() == 1)
            task.cancel()
            assert await outcome(task) == "cancelled"
            assert idle(ch)

    async def extends(cin, log):
        async with cin.extended() as v:
            log.add(v)
            await sleep_ms(60000)
        return v

    async def then_waits(awaitable, log):
        log.add(await awaitable)
        await sleep_ms(60000)

    def writes_of(ch):
        alt = csp.Alternative(ch.write.alt_pending_write("v"))
        return (
            ch.write("v"),
            ch.write.within(60000, "v"),
            ch.writer()("v"),
            alt.select(),
            csp.Parallel(ch.write.alt_pending_write("v")),
            csp.Parallel(ch.write("v")),
        )

    async def test_a_reader_cancelled_in_the_block_has_read():
        for as_process in (False, True):
            ch, log = csp.Channel("c"), Log()
            w = csp.Spawn(give(ch.write, 1))
            if as_process:
                h = asyncio.create_task(in_process(ch.read, log))
            else:
                h = spawn(extends(ch.read, log))
            await until(lambda: log.count() == 1)
            h.cancel()
            assert await outcome(h) == "cancelled"
            assert await join(w) == 0
            ch.verify()

    async def in_process(cin, log):
        await csp.Parallel(csp.process(extends)(cin, log))

    async def test_a_writer_cancelled_while_it_is_held_has_written():
        for i in range(6):
            for reader_first in (False, True):
                ch, log, go, out = csp.Channel("c"), Log(), csp.Channel("go"), Log()
                if reader_first:
                    r = await posted(ch, hold(ch.read, log, go.read), 1)
                    w = spawn(then_waits(writes_of(ch)[i], out))
                else:
                    w = spawn(then_waits(writes_of(ch)[i], out))
                    await until(lambda: ch.queue_len() == 1)
                    r = csp.Spawn(hold(ch.read, log, go.read))
                await until(lambda: go.queue_len() == 1)
                assert out.count() == 0
                w.cancel()
                assert await outcome(w) == "cancelled"
                assert out.count() == 1, (i, reader_first)
                await go.write(None)
                assert await join(r) == "v"
                assert idle(ch, go)

    async def test_a_process_cancelled_while_it_is_held_has_written():
        @csp.process
        async def writer(cout, out):
            out.add(await cout("v"))
            await sleep_ms(60000)

        @csp.process
        async def chooser(cout, out):
            g, v = await csp.Alternative(cout.alt_pending_write("v")).select()
            out.add(v)
            await sleep_ms(60000)

        async def together(p):
            await csp.Parallel(p)

        for body in (writer, chooser):
            for reader_first in (False, True):
                ch, log, go, out = csp.Channel("c"), Log(), csp.Channel("go"), Log()
                cout = ch.write
                if reader_first:
                    r = await posted(ch, hold(ch.read, log, go.read), 1)
                    w = spawn(together(body(cout, out)))
                else:
                    w = spawn(together(body(cout, out)))
                    await until(lambda: ch.queue_len() == 1)
                    r = csp.Spawn(hold(ch.read, log, go.read))
                await until(lambda: go.queue_len() == 1)
                w.cancel()
                assert await outcome(w) == "cancelled"
                assert out.items() == [0]
                await go.write(None)
                assert await join(r) == "v"
                ch.verify()

    async def test_who_was_cancelled_while_held_is_not_woken_by_the_end_of_the_block():
        for as_process in (False, True):
            ch, d, out = csp.Channel("c"), csp.Channel("d"), Log()
            alt = csp.Alternative(ch.write.alt_pending_write("v"), d.read)

            async def chooses_again():
                try:
                    await alt.select()
                    await sleep_ms(60000)
                except asyncio.CancelledError:
                    pass
                g, v = await alt.select()
                out.add(v)

            # In a task of asyncio's the alternative is what is woken, in a process that process.
            p = csp.process(chooses_again)() if as_process else chooses_again()
            h = csp.Spawn(p) if as_process else spawn(p)
            await until(lambda: ch.queue_len() == 1)
            async with ch.read.extended():
                await settle()
                (p if as_process else h).cancel()
                await until(lambda: ch.queue_len() == 1)
            await settle()
            assert out.count() == 0 and not h.done()
            await d.write(5)
            await h
            assert out.items() == [5]
            assert idle(ch, d)

    async def test_a_reader_cancelled_before_it_knows_gives_back_and_lets_the_writer_go():
        for other in (None, "plain", "extended"):
            ch, log = csp.Channel("c"), Log()
            r = spawn(extends(ch.read, log))
            await until(lambda: ch.queue_len() == 1)
            if other == "plain":
                (o,) = await posted_second(ch, take(ch.read))
            elif other == "extended":
                (o,) = await posted_second(ch, hold(ch.read, log, ch.read))
            w = spawn(writes_and_cancels(ch.write, r))
            assert await outcome(r) == "cancelled"
            assert await outcome(w) == 0
            if other is None:
                assert ch.queue_len() == 1 and log.count() == 0
                ch.verify()
                async with ch.read.extended() as v:
                    assert v == 1
            elif other == "plain":
                assert await join(o) == 1
            else:
                await until(lambda: log.items() == [1])
                ch.poison()
                await join(o)

    async def posted_second(ch, p):
        return (await posted(ch, p, 2),)

    async def writes_and_cancels(cout, reader):
        # The reader is woken behind this task, which cancels it first.
        @csp.process
        async def cancels():
            reader.cancel()

        results = await csp.Parallel(give(cout, 1), cancels())
        return results[0]

    async def test_cancellation_at_every_moment_loses_nothing():
        # A reader is cancelled after so many steps of the loop; then another reads the rest.
        for way in (give, give_choosing, give_together):
            for steps in range(12):
                for reader_first in (False, True):
                    ch, log, got = csp.Channel("c"), Log(), Log()
                    if reader_first:
                        r = spawn(extends(ch.read, got))
                        for _ in range(steps // 2):
                            await sleep_ms(0)
                    w = csp.Spawn(way(ch.write, 1))
                    if not reader_first:
                        r = spawn(extends(ch.read, got))
                    for _ in range(steps):
                        await sleep_ms(0)
                    r.cancel()
                    await outcome(r)
                    await settle()
                    if got.count() == 0:
                        async with ch.read.extended() as v:
                            log.add(v)
                    assert log.items() + got.items() == [1]
                    assert await join(w) == 0
                    assert idle(ch)

    async def test_a_writer_cancelled_at_every_moment_is_exact():
        for way in (give, give_choosing, give_together, give_within):
            for steps in range(12):
                ch, log, go = csp.Channel("c"), Log(), csp.Channel("go")
                r = csp.Spawn(hold(ch.read, log, go.read))
                for _ in range(steps // 3):
                    await sleep_ms(0)
                out = Log()
                w = spawn(then_waits(way(ch.write, 1), out))
                for _ in range(steps):
                    await sleep_ms(0)
                w.cancel()
                await outcome(w)
                await settle()
                if log.count() == 0:
                    if not ch.poisoned:
                        ch.poison()
                else:
                    await go.write(None)
                await join(r)
                ch.verify()
