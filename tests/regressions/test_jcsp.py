"""JCSP: a defect of its poisonable channels that carries its finder's name, Sputh's bug.

A writer that poisoned right after its write could overtake the reader, which had been handed the
message but had not come back yet: it raised poison although the communication was complete.
"""

import csp

from rules_support import POISONED, Log, idle, join, par, posted, take, until

ROUNDS = 150


@csp.process
async def writes_then_poisons(cout, n, log):
    for k in range(n):
        await cout(k)
        log.add(k)
    cout.poison()


@csp.process
async def reads_then_poisons(cin, n):
    got = []
    for _ in range(n):
        got.append(await cin())
    cin.poison()
    return got


@csp.process
async def reads_all(cin, log):
    try:
        while True:
            log.add(await cin())
    except csp.PoisonException:
        return POISONED


@csp.process
async def loops_over_all(cin, log):
    async for v in cin:
        log.add(v)
    return POISONED


@csp.process
async def selects_all(cin, log):
    alt = csp.Alternative(cin)
    try:
        while True:
            _, v = await alt.select()
            log.add(v)
    except csp.PoisonException:
        return POISONED


async def test_a_reader_is_not_poisoned_after_a_completed_communication():
    for reader in (reads_all, loops_over_all, selects_all):
        for i in range(ROUNDS):
            ch = csp.Channel("c")
            sent, got = Log(), Log()
            parties = [reader(ch.read, got), writes_then_poisons(ch.write, 1 + i % 3, sent)]
            if i % 2:
                parties.reverse()
            results = await par(*parties)
            assert results[i % 2] == POISONED
            assert got.items() == sent.items() == list(range(1 + i % 3))
            assert idle(ch)


async def test_a_reader_known_to_wait_gets_what_was_written_before_the_poison():
    for _ in range(ROUNDS):
        ch = csp.Channel("c")
        h = await posted(ch, take(ch.read), 1)
        await ch.write("v")
        ch.write.poison()
        assert await join(h) == "v"
        assert idle(ch)


async def test_a_writer_is_not_poisoned_after_a_completed_communication():
    """The same from the other side: the reader poisons what it has just read from."""
    for i in range(ROUNDS):
        ch = csp.Channel("c")
        n = 1 + i % 3
        sent = Log()
        parties = [reads_then_poisons(ch.read, n), writes_until_poisoned(ch.write, sent)]
        if i % 2:
            parties.reverse()
        results = await par(*parties)
        assert results[i % 2] == list(range(n))
        assert results[1 - i % 2] == POISONED
        assert sent.items() == list(range(n))
        assert idle(ch)


@csp.process
async def writes_until_poisoned(cout, log):
    k = 0
    try:
        while True:
            await cout(k)
            log.add(k)
            k += 1
    except csp.PoisonException:
        return POISONED


async def test_poison_that_spreads_does_not_overtake_a_message():
    """A process that ends by an exception right after its write poisons its end by itself."""
    for _ in range(ROUNDS // 2):
        a, b = csp.Channel("a"), csp.Channel("b")
        got = Log()
        await par(passes_one_on(a.read, b.write), gives_one(a.write), reads_all(b.read, got))
        assert got.items() == ["v"]
        assert idle(a, b)


@csp.process
async def gives_one(cout):
    await cout("v")
    raise csp.PoisonException()


@csp.process
async def passes_one_on(cin, cout):
    while True:
        await cout(await cin())


async def test_poison_by_a_third_party_does_not_undo_a_write_that_returned():
    for _ in range(ROUNDS // 2):
        ch = csp.Channel("c")
        sent, got = Log(), Log()
        await par(writes_until_poisoned(ch.write, sent), reads_all(ch.read, got), stops(ch, sent))
        # What has been written has been read; all but the writer know of nothing else.
        assert got.items() == sent.items()
        assert idle(ch)


@csp.process
async def stops(ch, log):
    await until(lambda: log.count() >= 3)
    ch.poison()
