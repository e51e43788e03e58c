"""What has a file of its own each, used together: the rules hold for the combinations, too."""

import csp

from rules_support import (
    LIB,
    POISONED,
    asyncio,
    choose,
    give,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    sleep_ms,
    take,
)

plug = csp.plugnplay
meeting = csp.meeting


class Numbers:
    """Numbers below n that look random and are the same each time."""

    def __init__(self, seed):
        self._last = seed * 7919 + 12345

    def below(self, n):
        self._last = (self._last * 1103515245 + 12345) & 0x7FFFFFFF
        return (self._last >> 8) % n


# Buffers that overflow, choices of both directions, and all ways to end


async def test_a_choice_of_both_ends_of_a_buffer_that_overflows_drains_it_after_poison():
    for overflow, kept in ("keep_newest", [3, 4]), ("keep_oldest", [0, 1]):
        ch = csp.BufferedChannel("b", 2, overflow)  # pyright: ignore
        write = ch.write.alt_pending_write("w")
        for v in range(5):
            await ch.write(v)
        read_first, write_first = csp.Alternative(ch.read, write), csp.Alternative(write, ch.read)
        ch.write.poison()
        with raises(csp.PoisonException):
            await write_first.select()
        assert [(await read_first.select())[1], await ch.read.within(0)] == kept
        with raises(csp.PoisonException):
            await read_first.select(ready=[1, 0])
        assert ch.poisoned and idle(ch)


async def test_counted_ends_of_an_immune_buffer():
    ch = csp.BufferedChannel("b", 2, "keep_newest", immunity=2)
    first, second, cin = ch.writer(), ch.writer(), ch.reader()
    for v in range(4):
        await first(v)
    first.poison(2)
    assert not ch.poisoned
    first.retire()
    for use in (lambda: first(4), lambda: first.within(10, 4), lambda: par(guard)):
        guard = first.alt_pending_write(4)
        with raises(csp.RetireException):
            await use()
    await second(9)
    second.poison(3)
    assert [await cin(), await cin.within(10)] == [3, 9]
    with raises(csp.PoisonException) as e:
        await cin()
    assert e.value.strength == 3 and not isinstance(e.value, csp.RetireException)


async def test_the_last_reader_retires_while_it_waits_in_a_choice():
    ch, other = csp.Channel("c"), csp.Channel("other")
    cin = ch.reader()
    h = await posted(ch, choose(other.read, cin), 1)
    cin.retire()
    assert await join(h) == POISONED and idle(ch, other)


async def test_a_reader_retires_in_the_block_of_its_extended_read():
    ch = csp.Channel("c")
    cin, cout = ch.reader(), ch.writer()
    h = await posted(ch, give(cout, 5), 1)
    async with cin.extended() as v:
        cin.retire()  # the last one: the channel has ended
        assert v == 5 and ch.poisoned and not h.done()
    assert await join(h) == 0
    with raises(csp.RetireException):
        await cout(6)


# How an end travels


@csp.process
async def gives_four(cout, how):
    for v in range(4):
        await cout(v)
    if how == "close":
        cout.channel().close()
    elif how == "retire":
        cout.retire()
    else:
        cout.poison(how)


@csp.process
async def counts_until_the_end(cin):
    n = 0
    try:
        while True:
            await cin()
            n += 1
    except csp.PoisonException as er:
        return n, er


async def test_every_end_travels_behind_the_values_through_what_copies():
    made = (
        (lambda i, o: plug.Identity(i, o), 4),
        (lambda i, o: plug.Prefix(i, o, 7), 5),
        (lambda i, o: plug.Tail(i, o), 3),
        (lambda i, o: plug.Integrate(i, o), 4),
        (lambda i, o: plug.Pairs(i, o), 3),
        (lambda i, o: plug.Map(i, o, str), 4),
        (lambda i, o: plug.Delta(i, [o]), 4),
        (lambda i, o: plug.Paraplex([i], o), 4),
        (lambda i, o: plug.Multiplex([i], o), 4),
        (lambda i, o: plug.FixedDelay(i, o, 1), 4),
        (lambda i, o: csp.pool.Farm(str, 2)(i, o), 4),
    )
    for make, count in made:
        for how in ("close", "retire", 3, None):
            for a in (csp.Channel("a"), csp.BufferedChannel("a", 2)):
                b = csp.Channel("b")
                ends = a.writer(), a.reader(), b.writer(), b.reader()
                res = await par(
                    gives_four(ends[0], how), make(ends[1], ends[2]), counts_until_the_end(ends[3])
                )
                n, er = res[2]
                assert n == count and a.poisoned and b.poisoned and idle(a, b)
                assert isinstance(er, csp.RetireException) == (how == "retire")
                assert er.strength == (3 if how == 3 else None)


# Values of all ways to read and to write


@csp.process(propagate=False)
async def writes_in_all_ways(ch, seed, values):
    """Which of the values were written, by its own account."""
    numbers = Numbers(seed)
    never = csp.Channel("never")
    written = []
    with ch.writer() as cout:
        for v in values:
            way = numbers.below(4)
            done = True
            try:
                if way == 0:
                    await cout(v)
                elif way == 1:
                    await cout.within(numbers.below(3), v)
                elif way == 2:
                    guards = cout.alt_pending_write(v), never.read, csp.Timer(ms=numbers.below(3))
                    done = (await csp.Alternative(*guards).select(ready=[1, 0, 1]))[1] == 0
                else:
                    await par(cout.alt_pending_write(v))
            except csp.TimeoutError:
                done = False
            if done:
                written.append(v)
    return written


@csp.process(propagate=False)
async def reads_in_all_ways(cin, seed, extends):
    numbers = Numbers(seed)
    got = []
    try:
        while True:
            way = numbers.below(4)
            try:
                if way == 0:
                    got.append(await cin())
                elif way == 1:
                    got.append(await cin.within(numbers.below(3)))
                elif way == 2:
                    timer = csp.Timer(ms=numbers.below(3))
                    g, v = await csp.Alternative(timer, cin).select()
                    if g is cin:
                        got.append(v)
                elif extends:
                    async with cin.extended() as v:
                        got.append(v)
                else:
                    got += await par(cin)
            except csp.TimeoutError:
                pass
    except csp.RetireException:
        pass
    return got


async def test_whatever_way_values_are_written_and_read_each_is_read_once():
    for seed in range(6):
        for ch in (csp.Channel("c"), csp.BufferedChannel("b", seed), csp.BufferedChannel("b")):
            first = ch.writer()  # so that none is the last before all have begun
            writers = [
                csp.Spawn(writes_in_all_ways(ch, 10 * seed + i, range(100 * i, 100 * i + 20)))
                for i in range(3)
            ]
            extends = isinstance(ch, csp.Channel)
            readers = [
                csp.Spawn(reads_in_all_ways(ch.reader(), 10 * seed + i, extends))
                for i in range(5, 8)
            ]
            written = [v for part in await join_all(writers) for v in part]
            first.retire()
            got = [v for part in await join_all(readers) for v in part]
            assert sorted(got) == sorted(written)
            assert ch.poisoned and idle(ch)


# What a deadlock is called


@csp.process
async def holds(cin, never):
    async with cin.extended():
        await never()


@csp.process
async def accepts(serve, never):
    request = await serve.accept()
    await never()
    request.answer(None)


@csp.process
async def asks(call):
    await call(1)


@csp.process
async def chooses_of(alt):
    await alt.select(ready=[True, True, False])


@csp.process
async def waits_for(what):
    await what()


def test_a_deadlock_names_all_kinds_of_waits():
    def deadlock(*processes):
        with raises(csp.DeadlockError) as e:
            csp.run(*processes)
        return sorted(str(e.value).split(": ")[1].split(", "))

    ch, never, calls = csp.Channel("ch"), csp.Channel("never"), meeting.CallChannel("calls")
    masked = csp.Alternative(ch.write.alt_pending_write(1), calls.serve, csp.Timer(9))
    assert deadlock(chooses_of(masked)) == ["chooses_of writes ch or waits for a call of calls"]
    ch, calls = csp.Channel("ch"), meeting.CallChannel("calls")
    assert deadlock(
        holds(ch.read, never.read), give(ch.write, 1), asks(calls.call),
        accepts(calls.serve, never.read),
    ) == [
        "accepts reads never", "asks waits for an answer of calls",
        "give is held by a reader of ch", "holds reads never",
    ]  # fmt: skip
    ends, barrier = meeting.AltingBarrier.create(3, "ends"), meeting.Barrier(2, "barrier")
    ch = csp.Channel("ch")
    assert deadlock(
        take(ch.reader()), waits_for(csp.Closed(ch.write)), waits_for(barrier.sync),
        choose(ends[0]), choose(ends[1]),
    ) == [
        "choose syncs at ends", "choose syncs at ends", "take reads ch",
        "waits_for reads the end of ch", "waits_for syncs at barrier",
    ]  # fmt: skip


# Cancellation

if LIB == "uapycsp":

    async def test_clients_cancelled_in_all_phases_of_a_call_leave_nothing():
        async def turns(n):
            for _ in range(n):
                await sleep_ms(0)

        @csp.process(propagate=False)
        async def client(call, k, answers):
            answers[k] = await call(k)

        @csp.process(propagate=False)
        async def server(serve, seed, served):
            numbers = Numbers(seed)

            async def double(k):
                served.append(k)
                await turns(numbers.below(4))
                return 2 * k

            alt = csp.Alternative(serve, csp.Timer(ms=1))
            while True:
                if numbers.below(2):
                    await serve(double)
                    continue
                g, request = await alt.select()
                if g is serve:
                    with request:  # pyright: ignore
                        request.answer(await double(*request.args))

        for seed in range(20):
            numbers = Numbers(seed)
            calls = meeting.CallChannel("calls")
            answers, served = {}, []
            servers = [csp.Spawn(server(calls.serve, seed + i, served)) for i in range(3)]
            clients = [csp.Spawn(client(calls.call, k, answers)) for k in range(12)]
            cancelled = []
            for _ in range(6):
                await turns(numbers.below(3))
                k = numbers.below(12)
                cancelled.append(k)
                clients[k].cancel()
            for k, h in enumerate(clients):
                try:
                    await h
                    assert answers[k] == 2 * k
                except asyncio.CancelledError:
                    assert k in cancelled
            assert len(set(served)) == len(served)
            for h in servers:
                h.cancel()
                with raises(asyncio.CancelledError):
                    await h
            assert not calls.queue_len() and calls._open is None
