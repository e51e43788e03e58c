"""Networks of coroutines under cancels and time limits: rule 8 says that nothing is lost."""

import asyncio

import uapycsp as csp
import ufuture

from ledger import Ledger, Loss
from networks import some_channel

sleep_ms = getattr(asyncio, "sleep_ms", None)
if sleep_ms is None:

    async def sleep_ms(ms):
        await asyncio.sleep(ms / 1000)


async def limited(slot, chance):
    """Reads and writes with time limits that are tried again until they succeed."""
    writers = chance.between(1, 3)
    n = chance.between(5, 20)
    ch = some_channel(chance, "limited")
    book = Ledger(ch, writers)
    slot.begin(book)
    limits = [chance.below(3) for _ in range(writers + 1)]
    parties = [writes_in_time(ch.write, book.outs[w], n, limits[w]) for w in range(writers)]
    parties.append(reads_in_time(ch.read, book.inn, n * writers, limits[-1]))
    await csp.Parallel(*parties)
    slot.settle([book])


async def in_time(operation, ms):
    """Whether it came about, and its value. Now and then without a limit, or both would miss."""
    try:
        return True, await ufuture.wait_for_ms(operation, ms)
    except asyncio.TimeoutError:
        return False, None


@csp.process
async def writes_in_time(cout, out, n, ms):
    late = 0
    while out.count() < n:
        done, _ = await in_time(cout(out.value), None if late % 4 == 3 else ms)
        if done:
            out.value += 1
        else:
            late += 1
            await sleep_ms(late % 2)


@csp.process
async def reads_in_time(cin, inn, n, ms):
    late = 0
    while inn.n < n:
        done, v = await in_time(cin(), None if late % 4 == 3 else ms)
        if done:
            inn.take(v)
        else:
            late += 1
            await sleep_ms(late % 2)


async def cancelled(slot, chance):
    """Readers, selecting ones and writers that are cancelled at any moment, and replaced."""
    n = chance.between(10, 40)
    tries = chance.between(10, 30)
    a, b = some_channel(chance, "cancelled a"), some_channel(chance, "cancelled b")
    victims = 3
    # The last reader is the one that drains the channel in the end.
    books = [Ledger(ch, 2, victims + 1, ordered=False) for ch in (a, b)]
    slot.begin(*books)
    await csp.Parallel(
        csp.Sequence(
            csp.Parallel(
                sends(a.write, books[0].outs[0], n),
                sends(b.write, books[1].outs[0], n),
                cancels([a, b], books, tries, chance),
            ),
            closes([a, b]),
        ),
        drains(a.read, books[0].ins[-1]),
        drains(b.read, books[1].ins[-1]),
    )
    slot.settle(books)


@csp.process
async def sends(cout, out, n):
    for _ in range(n):
        await cout(out.value)
        out.value += 1
        if out.value % 5 == 0:
            await sleep_ms(0)


@csp.process
async def closes(chans):
    for ch in chans:
        ch.close()


@csp.process
async def drains(cin, inn):
    async for v in cin:
        inn.take(v)
        if inn.n % 3 == 0:
            await sleep_ms(0)


@csp.process
async def cancels(chans, books, tries, chance):
    for _ in range(tries):
        bodies = [
            reads(chans[0].read, books[0].ins[0]),
            selects(chans, books, 1),
            reads_both(chans, books, 2),
            writes(chans[0].write, books[0].outs[1]),
        ]
        own, foreign = [], []
        for body in bodies:
            if chance.below(2):
                own.append(csp.Spawn(body))
            else:
                foreign.append(asyncio.get_event_loop().create_task(body))
        for _ in range(chance.below(5)):
            await sleep_ms(0)
        for task in own + foreign:
            task.cancel()
        for task in own:
            await ended(task)
        for task in foreign:
            await ended(task)


async def ended(task):
    try:
        await task
    except asyncio.CancelledError:
        pass


async def reads(cin, inn):
    for _ in range(3):
        inn.take(await cin())


async def selects(chans, books, me):
    alt = csp.Alternative(chans[0].read, chans[1].read, csp.Timer(ms=1))
    for _ in range(3):
        g, v = await alt.select()
        if v is None:
            continue
        books[0 if g is chans[0].read else 1].ins[me].take(v)


async def reads_both(chans, books, me):
    for i in (0, 1):
        v = await ufuture.wait_for(chans[i].read(), 3600)
        books[i].ins[me].take(v)


async def writes(cout, out):
    for _ in range(2):
        await cout(out.value)
        out.value += 1


async def gathered(slot, chance):
    """Operations by gather, and by Parallel, un-awaited ones too."""
    n = chance.between(3, 30)
    a, b = some_channel(chance, "gathered a"), some_channel(chance, "gathered b")
    books = [Ledger(a), Ledger(b)]
    slot.begin(*books)
    await csp.Parallel(gathers(a, b, books, n), joins(a, b, books, n))
    slot.settle(books)


@csp.process
async def gathers(a, b, books, n):
    one, other = books[0].out, books[1].out
    for _ in range(n):
        if await ufuture.gather(a.write(one.value), b.write(other.value)) != [0, 0]:
            raise Loss("a write has not the value 0")
        one.value += 1
        other.value += 1


@csp.process
async def joins(a, b, books, n):
    for i in range(n):
        if i % 2:
            v, w = await csp.Parallel(a.read(), b.read())
        else:
            v, w = await ufuture.gather(a.read(), b.read())
        books[0].inn.take(v)
        books[1].inn.take(w)


KINDS = {"limited": limited, "cancelled": cancelled, "gathered": gathered}
