"""The networks of the soak, written once: read with async and await left out for plain upycsp.

Each takes a slot and chance, runs to its end, and settles the accounts of its channels. The kinds
in LONG run until the soak stops.
"""

import uapycsp as csp

from ledger import Chance, Ledger, Loss, Planned

THREADS = csp.__name__ == "upycsp"

if THREADS:

    def par(*processes):
        return csp.Parallel(*processes).run().retval

    def seq(*processes):
        return csp.Sequence(*processes).run().retval

    def join(handle):
        return handle.join()

else:

    async def par(*processes):
        return await csp.Parallel(*processes)

    async def seq(*processes):
        return await csp.Sequence(*processes)

    async def join(handle):
        return await handle


# Processes


@csp.process
async def sends(cout, out, n):
    for _ in range(n):
        await cout(out.value)
        out.value += 1


@csp.process
async def sends_then_ends(ch, out, n, how):
    for _ in range(n):
        await ch.write(out.value)
        out.value += 1
    how(ch)


@csp.process
async def sends_until_poisoned(cout, out):
    while True:
        await cout(out.value)
        out.value += 1


@csp.process
async def relays(cin, inn, cout, out):
    while True:
        inn.take(await cin())
        await cout(out.value)
        out.value += 1


@csp.process
async def reads_all(cin, inn):
    async for v in cin:
        inn.take(v)


@csp.process
async def reads_n(cin, inn, n):
    for _ in range(n):
        inn.take(await cin())


@csp.process
async def reads_then_poisons(cin, inn, n):
    for _ in range(n):
        inn.take(await cin())
    cin.poison()


@csp.process
async def closes(ch):
    ch.close()


@csp.process
async def returns(v):
    return v


@csp.process
async def fails_after(cin, inn, cout, out, n):
    """A relay that dies of an exception of its own."""
    for _ in range(n):
        inn.take(await cin())
        await cout(out.value)
        out.value += 1
    raise Planned("as planned")


@csp.process
async def fails(v):
    raise Planned(v)


def poison_writing(ch):
    ch.write.poison()


def close(ch):
    ch.close()


def some_channel(chance, name, kinds=6):
    """A channel, or a buffered one of some capacity; of six kinds the last is unlimited."""
    kind = chance.below(kinds)
    if kind < 3:
        return csp.Channel(name)
    return csp.BufferedChannel(name, (0, chance.between(1, 5), None)[kind - 3])


def buffered(ch):
    return hasattr(ch, "capacity")


# Networks


async def pipeline(slot, chance):
    """source -> relays -> sink, ended by source, sink, a bystander or a failure."""
    length = chance.between(1, 4)
    n = chance.between(5, 60)
    end = chance.below(5)
    kinds = 6 if end < 2 else 5  # else the source never stops by itself
    chans = [some_channel(chance, "pipeline %d" % i, kinds) for i in range(length + 1)]
    books = [Ledger(ch, drops=end >= 2 and buffered(ch)) for ch in chans]
    slot.begin(*books)
    # 0: poisoned by its source, 1: closed by it, 2: poisoned by its sink, 3: by a bystander,
    # 4: a relay fails
    first, last = chans[0], chans[-1]
    if end < 2:
        parties = [sends_then_ends(first, books[0].out, n, (poison_writing, close)[end])]
    else:
        parties = [sends_until_poisoned(first.write, books[0].out)]
    failing = chance.below(length) if end == 4 else -1
    for i in range(length):
        a, b = books[i], books[i + 1]
        if i == failing:
            relay = fails_after(chans[i].read, a.inn, chans[i + 1].write, b.out, n)
        else:
            relay = relays(chans[i].read, a.inn, chans[i + 1].write, b.out)
        parties.append(relay)
    if end == 2:
        parties.append(reads_then_poisons(last.read, books[-1].inn, n))
    else:
        parties.append(reads_all(last.read, books[-1].inn))
    if end == 3:
        parties.append(bystander(chans[chance.below(length + 1)], chance.between(1, 4)))
    if chance.below(2):
        parties.reverse()
    failed = False
    try:
        await par(*parties)
    except Planned:
        failed = True
    if failed != (end == 4):
        raise Loss("the failure of a relay was lost" if end == 4 else "an unplanned failure")
    if end < 2 and books[0].inn.n != n:
        raise Loss("%d of %d messages entered the pipeline" % (books[0].inn.n, n))
    slot.settle(books)


@csp.process
async def bystander(ch, ms):
    await csp.Alternative(csp.Timer(ms=ms)).select()
    ch.poison()


async def merging(slot, chance):
    """Several sources, an alternative with a timer or a Skip, one sink."""
    width = chance.between(2, 4)
    n = chance.between(5, 30)
    chans = [some_channel(chance, "merge %d" % i) for i in range(width)]
    merged = some_channel(chance, "merged")
    books = [Ledger(ch) for ch in chans]
    out = Ledger(merged)
    slot.begin(out, *books)
    parties = [sends(chans[i].write, books[i].out, n) for i in range(width)]
    parties.append(mux(chans, books, merged.write, out.out, n, chance.between(1, 5)))
    parties.append(reads_n(merged.read, out.inn, n * width))
    await par(*parties)
    slot.settle(books + [out])


@csp.process
async def mux(chans, books, cout, out, n, step):
    reads = [ch.read for ch in chans]
    waits = csp.Alternative(*(reads + [csp.Timer(ms=step)]))
    polls = csp.Alternative(*(reads + [csp.Skip()]))
    left = n * len(chans)
    turn = 0
    while left:
        turn += 1
        alt = waits if turn % step else polls
        if turn % 2:
            g, v = await alt.select()
        else:
            g, v = await alt.fair_select()
        if v is None:
            continue
        books[reads.index(g)].inn.take(v)
        left -= 1
        await cout(out.value)
        out.value += 1


async def meeting(slot, chance):
    """Players that offer to read and to write on each of some channels; one of them poisons."""
    number = chance.between(2, 4)
    width = chance.between(1, 3)
    n = chance.between(5, 40)
    chans = []
    for i in range(width):
        name = "meeting %d" % i
        chans.append(csp.BufferedChannel(name, 1) if not chance.below(5) else csp.Channel(name))
    books = [Ledger(ch, number, number, drops=buffered(ch)) for ch in chans]
    slot.begin(*books)
    await par(*[player(me, chans, books, n + me) for me in range(number)])
    slot.settle(books)


@csp.process
async def player(me, chans, books, n):
    rendezvous = [not buffered(ch) for ch in chans]
    try:
        for turn in range(n):
            guards = []
            for i in range(len(chans)):
                i = (i + turn + me) % len(chans)
                guards.append(chans[i].read)
                guards.append(chans[i].write.alt_pending_write(books[i].outs[me].value))
            alt = csp.Alternative(*guards)
            if turn % 3:
                g, v = await alt.fair_select()
            else:
                g, v = await alt.select()
            i = guards.index(g)
            at = (i // 2 + turn + me) % len(chans)
            if i % 2:
                books[at].outs[me].value += 1
                continue
            if rendezvous[at] and v >> 32 == me:
                raise Loss("%s: a player met itself" % books[at].name)
            books[at].ins[me].take(v)
        for ch in chans:
            ch.poison()
    except csp.PoisonException:
        pass


async def crowd(slot, chance):
    """Many writers and readers on one channel, which is closed behind the last of the writers."""
    writers = chance.between(1, 4)
    readers = chance.between(1, 4)
    n = chance.between(5, 50)
    ch = some_channel(chance, "crowd")
    book = Ledger(ch, writers, readers)
    slot.begin(book)
    source = csp.Parallel(*[sends(ch.write, book.outs[w], n) for w in range(writers)])
    sinks = [reads_all(ch.read, i) for i in book.ins]
    await par(csp.Sequence(source, closes(ch)), *sinks)
    if sum([i.n for i in book.ins]) != n * writers:
        raise Loss("a closed channel was not read to its end")
    slot.settle([book])


async def delta(slot, chance):
    """One source, a delta by Parallel of write guards, and one who reads both by Parallel."""
    n = chance.between(5, 60)
    chans = [some_channel(chance, "delta %s" % name) for name in ("in", "left", "right")]
    books = [Ledger(ch) for ch in chans]
    slot.begin(*books)
    a, left, right = chans
    await par(
        sends(a.write, books[0].out, n),
        splits(a.read, left.write, right.write, books, n),
        joins(left.read, right.read, books, n),
    )
    slot.settle(books)


@csp.process
async def splits(cin, left, right, books, n):
    one, other = books[1].out, books[2].out
    for _ in range(n):
        books[0].inn.take(await cin())
        await par(left.alt_pending_write(one.value), right.alt_pending_write(other.value))
        one.value += 1
        other.value += 1


@csp.process
async def joins(left, right, books, n):
    one, other = books[1].inn, books[2].inn
    for _ in range(n):
        v, w = await par(left, right)
        one.take(v)
        other.take(w)


async def churn(slot, chance):
    """Short processes: in parallel, in sequence, nested, in the background, for each message."""
    ch = some_channel(chance, "churn")
    book = Ledger(ch)
    slot.begin(book)
    for i in range(chance.between(3, 15)):
        if await par(returns(i), returns(-i)) != [i, -i]:
            raise Loss("a result of a Parallel was lost")
        nest = csp.Sequence(returns(i), csp.Parallel(returns(1), csp.Sequence(returns(2))))
        if await seq(nest, returns(3)) != [[i, [1, [2]]], 3]:
            raise Loss("a result of a nest was lost")
        h = csp.Spawn(sends(ch.write, book.out, 2))
        await par(reads_n(ch.read, book.inn, 1))
        book.inn.take(await ch.read())
        if await join(h) is not None or not h.done():
            raise Loss("a spawned process has not ended")
        failing = csp.Spawn(fails(i))
        failed = None
        try:
            await join(failing)
        except Planned as er:
            failed = er.args[0]
        if failed != i:
            raise Loss("the failure of a spawned process was lost")
    slot.settle([book])


async def pacing(slot, chance):
    """Time limits on both sides that race with the messages: alternatives with a Timer."""
    n = chance.between(5, 15)
    ch = some_channel(chance, "paced")
    book = Ledger(ch)
    slot.begin(book)
    one, other = chance.between(0, 2), chance.between(0, 3)
    await par(
        sends_in_time(ch.write, book.out, n, one), reads_in_time(ch.read, book.inn, n, other)
    )
    slot.settle([book])


@csp.process
async def sends_in_time(cout, out, n, ms):
    late = 0
    for i in range(n):
        if i % 3 == 0:
            await csp.Alternative(csp.Timer(ms=i % 4)).select()
        while True:
            guard = cout.alt_pending_write(out.value)
            g, _ = await csp.Alternative(guard, csp.Timer(ms=ms)).select()
            if g is guard:
                out.value += 1
                break
            late += 1
            if late % 8 == 7:  # with no time at all both would poll past each other
                await cout(out.value)
                out.value += 1
                break


@csp.process
async def reads_in_time(cin, inn, n, ms):
    alt = csp.Alternative(cin, csp.Timer(ms=ms))
    late = 0
    while inn.n < n:
        g, v = await alt.fair_select()
        if g is cin:
            inn.take(v)
        else:
            late += 1
            if late % 8 == 7:
                inn.take(await cin())


SHORT = [pipeline, merging, meeting, crowd, delta, churn, pacing]
NAMES = ["pipeline", "merging", "meeting", "crowd", "delta", "churn", "pacing"]


# What the soak must find: for tests of it.


async def loses(slot, chance):
    ch = csp.Channel("loses")
    book = Ledger(ch)
    slot.begin(book)
    await par(sends(ch.write, book.out, 9), skips_one(ch.read, book.inn, 9))
    slot.settle([book])


@csp.process
async def skips_one(cin, inn, n):
    for i in range(n):
        v = await cin()
        if i != 4:
            inn.take(v)


async def sticks(slot, chance):
    ch = csp.Channel("sticks")
    slot.begin(Ledger(ch))
    await par(returns(0), ch.read)


# Networks that run until the soak stops


async def ring(slot, state):
    """CommsTime: prefix, delta and successor in a ring, and a consumer that counts."""
    a, b, c, d = [csp.Channel("ring " + name) for name in "abcd"]
    await par(
        csp.plugnplay.Prefix(c.read, a.write, prefixItem=0),
        csp.plugnplay.SeqDelta2(a.read, b.write, d.write),
        csp.plugnplay.Successor(b.read, c.write),
        counts(d.read, slot, state),
    )
    for ch in (a, b, c, d):
        ch.verify()
        if ch.queue_len():
            raise Loss("%s: %d operations are left" % (ch.name, ch.queue_len()))


@csp.process
async def counts(cin, slot, state):
    k = 0
    while not state.stop:
        for _ in range(25):
            v = await cin()
            if v != k:
                raise Loss("ring: %d came after %d" % (v, k - 1))
            k += 1
        slot.messages += 100
    cin.poison()


async def stream(slot, state):
    """A source, a buffer with input and output guards, a buffered channel, a fair mux, a sink."""
    a, b, c = csp.Channel("stream a"), csp.Channel("stream b"), csp.BufferedChannel("stream c", 8)
    quick = csp.Channel("stream quick")
    books = [Ledger(ch) for ch in (a, b, c, quick)]
    slot.begin(*books[3:])
    await par(
        streams(a, books[0].out, state),
        streams(quick, books[3].out, state),
        buffers(a.read, books[0].inn, b, books[1].out),
        fair_mux(b.read, quick.read, c, books),
        counts_stream(c.read, books[2].inn, slot),
    )
    slot.messages = 0
    slot.settle(books)


@csp.process
async def streams(ch, out, state):
    while not state.stop:
        for _ in range(20):
            await ch.write(out.value)
            out.value += 1
    ch.close()


@csp.process
async def buffers(cin, inn, ch, out):
    """Takes while there is room, gives while there is something: one alternative for both."""
    room = 4
    held = 0
    open_ = True
    while open_ or held:
        guards = []
        if open_ and held < room:
            guards.append(cin)
        if held:
            guards.append(ch.write.alt_pending_write(out.value))
        try:
            g, v = await csp.Alternative(*guards).fair_select()
        except csp.PoisonException:
            open_ = False  # nobody poisons the other side
            continue
        if g is cin:
            inn.take(v)
            held += 1
        else:
            out.value += 1
            held -= 1
    ch.close()


@csp.process
async def fair_mux(one, other, ch, books):
    ins = {one: books[1].inn, other: books[3].inn}
    out = books[2].out
    ends = [one, other]
    while ends:
        alt = csp.Alternative(*ends)
        try:
            while True:
                g, v = await alt.fair_select()
                ins[g].take(v)
                await ch.write(out.value)
                out.value += 1
        except csp.PoisonException:
            ends = [e for e in ends if not e.channel().poisoned]
    ch.close()


@csp.process
async def counts_stream(cin, inn, slot):
    async for v in cin:
        inn.take(v)
        if not inn.n % 64:
            slot.messages = 5 * inn.n // 2  # about; the exact figure comes in the end


LONG = [ring, stream]
LONG_NAMES = ["ring", "stream"]


@csp.process
async def serve(slot, chance, state, names, kinds):
    """What runs in a slot: a long network, or short ones one after another until the stop."""
    try:
        if slot.number < len(LONG):
            slot.kind = LONG_NAMES[slot.number]
            await LONG[slot.number](slot, state)
            slot.networks += 1
            return
        while not state.stop:
            slot.seed = seed = chance.below(1 << 30)
            i = chance.below(len(kinds))
            slot.kind = names[i]
            await kinds[i](slot, Chance(seed))
            slot.networks += 1
    except BaseException as er:
        if state.fault is None:
            state.fault = "%s: %s %s" % (slot, type(er).__name__, er)
        state.stop = True
        raise
    finally:
        slot.ended = True
