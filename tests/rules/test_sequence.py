"""Sequence: one member after the other, results in order."""

import csp

from rules_support import Log, idle, join, par, posted, seq, settle, take, until


@csp.process
async def adds(log, v):
    log.add(v)
    return v


async def test_members_run_one_after_the_other():
    log = Log()
    assert await seq(*[adds(log, i) for i in range(20)]) == list(range(20))
    assert log.items() == list(range(20))


async def test_a_member_starts_only_when_the_one_before_has_ended():
    ch = csp.Channel("c")
    log = Log()
    h = csp.Spawn(two_steps(ch, log))
    await until(lambda: ch.queue_len() == 1)
    await settle()
    assert log.items() == [] and not h.done()
    await ch.write("v")
    assert await join(h) == ["v", 2]
    assert log.items() == [2]


@csp.process
async def two_steps(ch, log):
    return await seq(take(ch.read), adds(log, 2))


async def test_an_empty_sequence_ends_with_no_results():
    assert await seq() == []


async def test_a_poisoned_member_gives_none_and_poisons_its_ends():
    a = csp.Channel("a")
    b = csp.Channel("b")
    a.poison()
    log = Log()
    assert await seq(adds(log, 1), relays(a.read, b.write), adds(log, 3)) == [1, None, 3]
    assert b.poisoned
    assert log.items() == [1, 3]


@csp.process
async def relays(cin, cout):
    while True:
        await cout(await cin())


async def test_sequences_run_in_parallel_with_each_other():
    ch = csp.Channel("c")
    res = await par(
        csp.Sequence(writes(ch.write, 1), reads(ch.read)),
        csp.Sequence(reads(ch.read), writes(ch.write, 2)),
    )
    assert res == [[0, 2], [1, 0]]
    assert idle(ch)


@csp.process
async def writes(cout, v):
    return await cout(v)


@csp.process
async def reads(cin):
    return await cin()


async def test_a_sequence_is_a_process_for_spawn():
    ch = csp.Channel("c")
    log = Log()
    h = await posted(ch, csp.Sequence(adds(log, 1), take(ch.read), adds(log, 2)), 1)
    assert log.items() == [1]
    await ch.write("v")
    assert await join(h) == [1, "v", 2]
