"""Small networks that use every operation, for whatever is to fail in their midst.

Each is a function of a Log that returns (its processes, its channels, what the log holds if all
goes well, and in which order). `point()` stands between the statements of the processes: what is
to happen there is put into `at`.
"""

import csp

from rules_support import LIB, Log, join, par, seq

ANY = "any order"

at = [None]


def point():
    if at[0] is not None:
        at[0]()


@csp.process
async def gives(cout, values):
    point()
    for v in values:
        await cout(v)
        point()
    cout.poison()
    point()


@csp.process
async def takes(cin, log):
    point()
    async for v in cin:
        log.add(v)
        point()


@csp.process
async def takes_plainly(cin, log):
    point()
    while True:
        v = await cin()
        log.add(v)
        point()


@csp.process
async def relays(cin, cout):
    point()
    while True:
        v = await cin()
        point()
        await cout(v)
        point()


def pair(log):
    a = csp.Channel("a")
    return [gives(a.write, (1, 2, 3)), takes(a.read, log)], [a], [1, 2, 3], None


def pipeline(log):
    a, b, c = [csp.Channel(n) for n in "abc"]
    processes = [
        gives(a.write, (1, 2, 3)),
        relays(a.read, b.write),
        relays(b.read, c.write),
        takes_plainly(c.read, log),
    ]
    return processes, [a, b, c], [1, 2, 3], None


def crowd(log):
    a = csp.Channel("a")
    processes = [gives_all(a.write, (10 * i, 10 * i + 1)) for i in range(4)]
    return processes + [takes_n(a.read, log, 8)], [a], [0, 1, 10, 11, 20, 21, 30, 31], ANY


@csp.process
async def gives_all(cout, values):
    point()
    for v in values:
        await cout(v)
        point()


@csp.process
async def takes_n(cin, log, n):
    point()
    for _ in range(n):
        v = await cin()
        log.add(v)
        point()


@csp.process
async def selects(cin1, cin2, log, n, fair):
    point()
    alt = csp.Alternative(cin1, cin2)
    for _ in range(n):
        if fair:
            g, v = await alt.fair_select()
        else:
            g, v = await alt.select()
        log.add(v)
        point()


def choice(log):
    a, b = csp.Channel("a"), csp.Channel("b")
    processes = [
        gives_all(a.write, (1, 2)),
        gives_all(b.write, (3, 4)),
        selects(a.read, b.read, log, 4, False),
    ]
    return processes, [a, b], [1, 2, 3, 4], ANY


def fair_choice(log):
    a, b = csp.Channel("a"), csp.Channel("b")
    processes = [
        selects(a.read, b.read, log, 4, True),
        gives_all(a.write, (1, 2)),
        gives_all(b.write, (3, 4)),
    ]
    return processes, [a, b], [1, 2, 3, 4], ANY


@csp.process
async def selects_in_turn(cin1, cin2, log, n):
    # First this guard is left out, then that.
    point()
    alt = csp.Alternative(cin1, csp.Skip(), cin2)
    for i in range(n):
        g, v = await alt.fair_select(ready=(i != 1, False, i != 0))
        log.add(v)
        point()


def masked_choice(log):
    a, b = csp.Channel("a"), csp.Channel("b")
    processes = [
        gives_all(a.write, (1, 2)),
        selects_in_turn(a.read, b.read, log, 4),
        gives_all(b.write, (3, 4)),
    ]
    return processes, [a, b], [1, 2, 3, 4], ANY


@csp.process
async def offers(cout1, cout2, values):
    # Both guards are a wish to write the same value: one of them is granted.
    point()
    for v in values:
        await csp.Alternative(cout1.alt_pending_write(v), cout2.alt_pending_write(v)).select()
        point()


def choices_of_both(log):
    a, b = csp.Channel("a"), csp.Channel("b")
    processes = [
        offers(a.write, b.write, (1, 2, 3)),
        offers(b.write, a.write, (4, 5, 6)),
        selects(a.read, b.read, log, 6, False),
    ]
    return processes, [a, b], [1, 2, 3, 4, 5, 6], ANY


@csp.process
async def looks(cin, log, n):
    # Times out again and again until it has n values.
    point()
    alt = csp.Alternative(cin, csp.Timer(ms=1))
    while n:
        async with alt as (g, v):
            if g is cin:
                log.add(v)
                n -= 1
        point()


@csp.process
async def gives_late(cout, values):
    point()
    for v in values:
        await csp.Alternative(csp.Timer(ms=2)).select()
        point()
        await cout(v)
        point()


def timers(log):
    a = csp.Channel("a")
    return [looks(a.read, log, 2), gives_late(a.write, (1, 2))], [a], [1, 2], None


@csp.process
async def reads_in_time(cin, log, n):
    point()
    while n:
        try:
            v = await cin.within(1)
        except csp.TimeoutError:
            point()
            continue
        log.add(v)
        n -= 1
        point()


@csp.process
async def writes_in_time(cout, values):
    point()
    for v in values:
        sent = False
        while not sent:
            try:
                await cout.within(1, v)
                sent = True
            except csp.TimeoutError:
                point()
        await csp.Alternative(csp.Timer(ms=2)).select()
        point()


def limited(log):
    a = csp.Channel("a")
    return [reads_in_time(a.read, log, 2), writes_in_time(a.write, (1, 2))], [a], [1, 2], None


@csp.process
async def looks_regularly(cin, log, n):
    # Two timers that go on where they were.
    point()
    every = csp.Every(1)
    at = csp.At(csp.timers.ticks_add(csp.timers.ticks_ms(), 2))
    alt = csp.Alternative(cin, every, at)
    moments = 0
    while n or not moments:
        g, v = await alt.select(ready=(n, True, moments))
        if g is cin:
            log.add(v)
            n -= 1
        elif g is every:
            moments += v
        point()


def moments(log):
    a = csp.Channel("a")
    return [looks_regularly(a.read, log, 2), gives_late(a.write, (1, 2))], [a], [1, 2], None


@csp.process
async def polls(cin, log, n):
    # A look that never waits.
    point()
    alt = csp.Alternative(cin, csp.Skip())
    while n:
        g, v = await alt.select()
        if g is cin:
            log.add(v)
            n -= 1
            point()


def skips(log):
    a = csp.Channel("a")
    return [polls(a.read, log, 2), gives_all(a.write, (1, 2))], [a], [1, 2], None


def buffered(log):
    a = csp.BufferedChannel("a", 2)
    b = csp.BufferedChannel("b")
    processes = [
        gives(a.write, range(8)),
        relays(a.read, b.write),
        takes_plainly(b.read, log),
    ]
    return processes, [a, b], list(range(8)), None


def bridges(log):
    a = csp.bridge.Bridge("a")
    b = csp.bridge.Bridge("b", capacity=1)
    processes = [gives(a.write, (1, 2, 3)), relays(a.read, b.write), takes_plainly(b.read, log)]
    return processes, [a, b], [1, 2, 3], None


def bridge_choice(log):
    a, b = csp.bridge.Bridge("a"), csp.bridge.Bridge("b")
    processes = [
        gives_all(a.write, (1, 2)),
        offers(b.write, a.write, (3, 4)),
        selects(a.read, b.read, log, 4, False),
    ]
    return processes, [a, b], [1, 2, 3, 4], ANY


@csp.process
async def together(cin1, cin2, cout, log):
    point()
    for i in range(2):
        res = await csp.Parallel(cin1(), cin2(), cout(i))
        log.add(res[0])
        log.add(res[1])
        point()


@csp.process
async def watches(cout, log):
    point()
    await csp.Closed(cout)()
    log.add("closed")


@csp.process
async def takes_and_closes(cin, log):
    point()
    log.add(await cin())
    log.add(await cin())
    cin.channel().close()


def bridge_operations(log):
    a, b, c = [csp.bridge.Bridge(n) for n in "abc"]
    processes = [
        gives_all(a.write, (10, 11)),
        gives_all(b.write, (20, 21)),
        together(a.read, b.read, c.write, log),
        takes_and_closes(c.read, log),
        watches(c.write, log),
    ]
    return processes, [a, b, c], [10, 11, 20, 21, 0, 1, "closed"], ANY


def buffered_choice(log):
    a, b = csp.BufferedChannel("a", 1), csp.BufferedChannel("b", 1)
    processes = [
        offers(a.write, b.write, (1, 2, 3)),
        gives_all(b.write, (4, 5, 6)),
        selects(a.read, b.read, log, 6, True),
    ]
    return processes, [a, b], [1, 2, 3, 4, 5, 6], ANY


@csp.process
async def nests(a, b, log):
    point()
    await par(
        gives(a.write, (1, 2)),
        relays(a.read, b.write),
        csp.Sequence(tells(log, "first"), takes(b.read, log), tells(log, "last")),
    )
    point()
    log.add("end")


@csp.process
async def tells(log, what):
    point()
    log.add(what)


def nested(log):
    a, b = csp.Channel("a"), csp.Channel("b")
    return [nests(a, b, log)], [a, b], ["first", 1, 2, "last", "end"], None


@csp.process
async def guards(cin1, cin2, cout1, cout2, log):
    # Reads and writes posted together; and writes alone.
    point()
    for i in range(2):
        res = await par(cin1, cout1.alt_pending_write(i), cin2)
        log.add(res[0])
        log.add(res[2])
        point()
    await par(cout1.alt_pending_write(2), cout2.alt_pending_write(10))
    point()


def operations(log):
    a, b, c, d = [csp.Channel(n) for n in "abcd"]
    processes = [
        gives_all(a.write, (100, 101)),
        guards(a.read, b.read, c.write, d.write, log),
        takes_n(c.read, log, 3),
        takes_n(d.read, log, 1),
        gives_all(b.write, (200, 201)),
    ]
    return processes, [a, b, c, d], [0, 1, 2, 10, 100, 101, 200, 201], ANY


@csp.process
async def spawns(a, b, log, *ends):
    point()
    h = csp.Spawn(relays(a.read, b.write))
    point()
    other = csp.Spawn(gives(a.write, (1, 2)))
    point()
    async for v in b.read:
        log.add(v)
        point()
    await join(h)
    point()
    await join(other)
    point()


@csp.process
async def waits_for_ends(a, b, log, *ends):
    # Its values, and the ends of the processes, in a choice.
    point()
    handles = [csp.Spawn(relays(a.read, b.write)), csp.Spawn(gives(a.write, (1, 2)))]
    point()
    guards = [b.read] + [csp.guards.Ended(h) for h in handles]
    alt = csp.Alternative(*guards)
    ready = [True] * 3
    while ready[1] or ready[2]:
        try:
            g, v = await alt.select(ready=ready)
            if g is b.read:
                log.add(v)
            else:
                ready[guards.index(g)] = False
        except csp.PoisonException:
            ready[0] = False
        point()


def ends_of_processes(log):
    a, b = csp.Channel("a"), csp.Channel("b")
    return [waits_for_ends(a, b, log, a.read, b.write)], [a, b], [1, 2], None


def spawned(log):
    a, b = csp.Channel("a"), csp.Channel("b")
    return [spawns(a, b, log, a.read, b.write)], [a, b], [1, 2], None


@csp.process
async def in_sequence(a, b, log):
    point()
    await par(
        csp.Sequence(gives_all(a.write, (1,)), gives_all(a.write, (2,)), gives_all(b.write, (3,))),
        csp.Sequence(takes_n(a.read, log, 2), takes_n(b.read, log, 1)),
    )
    point()
    await seq(tells(log, 4), tells(log, 5))
    point()


def sequences(log):
    a, b = csp.Channel("a"), csp.Channel("b")
    return [in_sequence(a, b, log)], [a, b], [1, 2, 3, 4, 5], None


@csp.process
async def poisons_when(ch, n):
    point()
    while ch.queue_len() < n and not ch.poisoned:
        await csp.Alternative(csp.Timer(ms=1)).select()
        point()
    ch.poison()
    point()


@csp.process
async def waits_for_poison(cin, log):
    point()
    try:
        await cin()
    except csp.PoisonException:
        log.add("poisoned")
        raise


def poison(log):
    a = csp.Channel("a")
    b = csp.Channel("b")
    processes = [waits_for_poison(a.read, log) for _ in range(3)]
    processes += [selects(a.read, b.read, log, 1, False), poisons_when(a, 4)]
    return processes, [a, b], ["poisoned"] * 3, None


@csp.process
async def closes_when(ch, n):
    point()
    while ch.queue_len() < n and not ch.poisoned:
        await csp.Alternative(csp.Timer(ms=1)).select()
        point()
    ch.close()
    point()


def close(log):
    a = csp.Channel("a")
    b = csp.BufferedChannel("b")
    processes = [
        gives_all(a.write, (1,)),
        gives_all(a.write, (2,)),
        csp.Sequence(closes_when(a, 2), takes(a.read, log)),
        csp.Sequence(gives_all(b.write, (3, 4)), closes_when(b, 2), takes(b.read, log)),
    ]
    return processes, [a, b], [1, 2, 3, 4], ANY


@csp.process
async def meets(barrier, end, cin, log, tag):
    point()
    alt = csp.Alternative(cin, end)
    for i in range(2):
        await barrier.sync()
        point()
        g, v = await alt.select()
        log.add((tag, i))
        point()


def meetings(log):
    barrier = csp.meeting.Barrier(3, "barrier")
    ends = csp.meeting.AltingBarrier.create(3, "ends")
    chans = [csp.Channel(str(i)) for i in range(3)]
    processes = [meets(barrier, ends[i], chans[i].read, log, i) for i in range(3)]
    return processes, chans, [(i, k) for i in range(3) for k in range(2)], ANY


@csp.process
async def asks(call, values, log):
    point()
    for v in values:
        log.add(await call(v))
        point()


def tells_back(v):
    return v  # no point: what a function raises is its client's


@csp.process
async def answers(serve):
    point()
    g, first = await csp.Alternative(serve).select()
    point()
    second = await serve.accept()
    point()
    second.answer(second.args[0])
    point()
    first.answer(first.args[0])
    point()
    for _ in range(2):
        await serve(tells_back)
        point()


def calls(log):
    ch = csp.meeting.CallChannel("calls")
    processes = [
        asks(ch.call, (1, 2), log),
        asks(ch.call, (3, 4), log),
        answers(ch.serve),
    ]
    return processes, [], [1, 2, 3, 4], ANY


def farm(log):
    a, b = csp.Channel("a"), csp.Channel("b")
    made = csp.pool.Farm(tells_back, 2)
    processes = [gives(a.write, (1, 2, 3)), made(a.read, b.write), takes(b.read, log)]
    return processes, [a, b], [1, 2, 3], None


@csp.process
async def gives_and_retires(cout, values):
    point()
    with cout:
        for v in values:
            await cout(v)
            point()


def retiring(log):
    a, b = csp.Channel("a"), csp.BufferedChannel("b", 1)
    processes = [
        gives_and_retires(a.writer(), (1, 2)),
        gives_and_retires(a.writer(), (3,)),
        relays(a.reader(), b.writer()),
        relays(a.reader(), b.writer()),
        takes(b.reader(), log),
    ]
    return processes, [a, b], [1, 2, 3], ANY


@csp.process
async def joins(cout, value):
    point()
    with cout.join() as own:
        point()
        cout.retire()
        await csp.Alternative(own.alt_pending_write(value)).select()
        point()


@csp.process
async def takes_and_retires(cin, log, n):
    point()
    with cin:
        for _ in range(n):
            v = await cin()
            log.add(v)
            point()


def joining(log):
    a = csp.Channel("a")
    processes = [joins(a.writer(), 1), joins(a.writer(), 2), takes_and_retires(a.reader(), log, 2)]
    return processes, [a], [1, 2], ANY


@csp.process
async def overflows(ch, log):
    point()
    for v in (1, 2, 3):
        await ch.write(v)
        point()
    for _ in range(2):
        v = await ch.read()
        log.add(v)
        point()


def overflowing(log):
    a, b = csp.BufferedChannel("a", 2, "keep_oldest"), csp.BufferedChannel("b", 2, "keep_newest")
    return [csp.Sequence(overflows(a, log), overflows(b, log))], [a, b], [1, 2, 2, 3], None


@csp.process
async def holds(cin, log):
    point()
    while True:
        async with cin.extended() as v:
            point()
            log.add(v)
            point()


@csp.process
async def gives_in_all_ways(cout):
    point()
    await cout(1)
    point()
    await csp.Alternative(cout.alt_pending_write(2)).select()
    point()
    await par(cout.alt_pending_write(3))
    point()
    cout.poison()


def extended(log):
    a = csp.Channel("a")
    return [gives_in_all_ways(a.write), holds(a.read, log)], [a], [1, 2, 3], None


@csp.process
async def drives(cout, cin, log, v):
    point()
    await cout(v)
    point()
    v = await cin()
    log.add(v)
    cout.poison(1)
    point()


@csp.process
async def shuts_down(border, log):
    point()
    for v in (1, 2):
        part = csp.Channel("part")
        await par(relays(part.read, border.write), drives(part.write, border.read, log, v))
        point()


def strengths(log):
    border = csp.BufferedChannel("border", 1, immunity=1)
    return [shuts_down(border, log)], [border], [1, 2], None


ALL = [
    pair,
    pipeline,
    crowd,
    choice,
    fair_choice,
    masked_choice,
    choices_of_both,
    timers,
    limited,
    moments,
    skips,
    buffered,
    buffered_choice,
    nested,
    operations,
    spawned,
    ends_of_processes,
    sequences,
    poison,
    close,
    meetings,
    calls,
    farm,
    retiring,
    joining,
    overflowing,
    strengths,
    extended,
]

# Not in all of uapycsp's: without any memory nobody polls the flag that a bridge's tasks wait for.
BRIDGED = [bridges, bridge_choice]

if LIB != "uapycsp":
    ALL += BRIDGED
else:
    BRIDGED.append(bridge_operations)
    import ufuture

    @csp.process
    async def takes_in_time(cin, log, n):
        # Cancels itself again and again: what it had read goes back.
        point()
        while n:
            try:
                v = await ufuture.wait_for_ms(cin(), 1)
            except ufuture.TimeoutError:
                point()
                continue
            log.add(v)
            n -= 1
            point()

    def time_limits(log):
        a = csp.Channel("a")
        processes = [takes_in_time(a.read, log, 2), gives_late(a.write, (1, 2))]
        return processes, [a], [1, 2], None

    @csp.process
    async def takes_both(cin1, cin2, log):
        point()
        for v in await par(cin1(), cin2()):
            log.add(v)
            point()

    @csp.process
    async def gathers(cin1, cin2, log):
        point()
        for v in await ufuture.gather(cin1(), cin2()):
            log.add(v)
            point()

    def unawaited(log):
        a, b = csp.Channel("a"), csp.Channel("b")
        processes = [
            csp.Sequence(takes_both(a.read, b.read, log), gathers(a.read, b.read, log)),
            gives_all(a.write, (1, 2)),
            gives_all(b.write, (3, 4)),
        ]
        return processes, [a, b], [1, 2, 3, 4], ANY

    @csp.process
    async def cancels(ch, log, *ends):
        point()
        h = csp.Spawn(takes_n(ch.read, Log(), 9))
        point()
        while ch.queue_len() < 1 and not ch.poisoned:
            await csp.Alternative(csp.Timer(ms=1)).select()
            point()
        await ch.write(1)
        h.cancel()  # it has not run since: its value goes back
        point()
        try:
            await h
        except ufuture.CancelledError:
            log.add("cancelled")
        point()

    def cancellation(log):
        a = csp.Channel("a")
        return [cancels(a, log, a.read)], [], ["cancelled"], None

    ALL += [time_limits, unawaited, cancellation]


def right(got, wanted, order):
    """Whether a log is that of a network in which nothing went wrong."""
    if order is ANY:
        return sorted(got, key=str) == sorted(wanted, key=str)
    return got == wanted


def honest(got, wanted):
    """Whether a log of a network that failed holds nothing twice and nothing that was not sent."""
    for v in got:
        if got.count(v) > wanted.count(v):
            return False
    return True


__all__ = ("ALL", "ANY", "BRIDGED", "Log", "at", "right", "honest")
