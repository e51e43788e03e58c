"""The guard Ended: the end of a process that was started by Spawn, as one of several events."""

import csp

from rules_support import (
    LIB,
    Log,
    asyncio,
    idle,
    join,
    par,
    part,
    posted,
    raises,
    sentence,
    settle,
    skip,
    until,
)

Ended = part("guards").Ended


@csp.process(propagate=False)
async def ends_when_told(cin):
    v = await cin()
    if v == "break":
        raise KeyError(v)
    return v


@csp.process
async def chooses(alt):
    return await alt.select()


@csp.process
async def notes_choice(alt, log):
    try:
        log.add(await alt.select())
    except KeyError:
        log.add("broken")


async def test_the_end_of_a_process_is_chosen_with_its_value():
    go, c = csp.Channel("go"), csp.Channel("c")
    h = await posted(go, ends_when_told(go.read), 1)
    ended = Ended(h)
    alt = csp.Alternative(c.read, ended)
    waits = await posted(c, chooses(alt), 1)
    await go.write("value")
    assert await join(waits) == (ended, "value")
    assert await alt.select() == (ended, "value")  # it stays ended
    assert await join(h) == "value"
    assert idle(go, c)


async def test_its_exception_is_raised_by_who_chooses_it_and_not_by_run():
    go, c = csp.Channel("go"), csp.Channel("c")
    for before in (True, False):
        h = await posted(go, ends_when_told(go.read), 1)
        alt = csp.Alternative(c.read, Ended(h))
        if before:
            await go.write("break")
            await until(h.done)
            with raises(KeyError):
                await alt.select()
        else:
            log = Log()
            waits = await posted(c, notes_choice(alt, log), 1)
            await go.write("break")
            await join(waits)
            assert log.items() == ["broken"]
        with raises(KeyError):
            await alt.select()
        assert idle(go, c)


def test_what_was_not_chosen_was_not_asked_and_run_raises_the_exception():
    with raises(KeyError):
        csp.run(does_not_choose())
    csp.run(chooses_it())


@csp.process
async def does_not_choose():
    go, c = csp.Channel("go"), csp.BufferedChannel("c")
    h = await posted(go, ends_when_told(go.read), 1)
    await c.write(1)
    alt = csp.Alternative(c.read, Ended(h))
    g, v = await alt.select()
    assert v == 1
    await go.write("break")
    await until(h.done)


@csp.process
async def chooses_it():
    go = csp.Channel("go")
    h = await posted(go, ends_when_told(go.read), 1)
    alt = csp.Alternative(csp.Channel("c").read, Ended(h))
    await go.write("break")
    with raises(KeyError):
        await alt.select()


async def test_another_guard_leaves_nothing_behind_with_the_process():
    go, c = csp.Channel("go"), csp.Channel("c")
    h = await posted(go, ends_when_told(go.read), 1)
    first, second = Ended(h), Ended(h)
    one, two = csp.Alternative(c.read, first), csp.Alternative(c.read, second)
    for _ in range(3):
        a = await posted(c, chooses(one), 1)
        b = await posted(c, chooses(two), 2)
        joins = csp.Spawn(joins_it(h))
        await settle()
        await c.write("a")
        assert await join(a) == (c.read, "a")
        await c.write("b")
        assert await join(b) == (c.read, "b")
        assert not joins.done()
    a = await posted(c, chooses(one), 1)
    b = await posted(c, chooses(two), 2)
    await go.write("end")
    assert await join(a) == (first, "end")
    assert await join(b) == (second, "end")
    assert await join(joins) == "end"
    assert idle(go, c)


@csp.process
async def joins_it(h):
    return await join(h)


async def test_it_stands_in_its_place_in_the_order_and_may_be_left_out():
    go, c = csp.Channel("go"), csp.BufferedChannel("c")
    h = await posted(go, ends_when_told(go.read), 1)
    await go.write("end")
    await until(h.done)
    await c.write(1)
    ended = Ended(h)
    assert await csp.Alternative(ended, c.read).select() == (ended, "end")
    assert await csp.Alternative(c.read, ended).select() == (c.read, 1)
    skip_ = csp.Skip()
    alt = csp.Alternative(ended, skip_)
    assert await alt.select(ready=[False, True]) == (skip_, None)


async def test_a_poisoned_process_has_ended_with_none():
    go, c = csp.Channel("go"), csp.Channel("c")
    h = await posted(go, ends_when_told(go.read), 1)
    ended = Ended(h)
    waits = await posted(c, chooses(csp.Alternative(c.read, ended)), 1)
    go.poison()
    assert await join(waits) == (ended, None)


async def test_a_cancelled_select_has_not_asked():
    if LIB != "uapycsp":
        skip("there is no cancellation")
    go, c = csp.Channel("go"), csp.Channel("c")
    h = await posted(go, ends_when_told(go.read), 1)
    alt = csp.Alternative(c.read, Ended(h))
    waits = await posted(c, chooses(alt), 1)
    waits.cancel()
    with raises(asyncio.CancelledError):
        await join(waits)
    assert not h.guards and idle(c)
    waits = await posted(c, chooses(alt), 1)
    await go.write("end")
    await until(lambda: h.done() or waits.done())
    waits.cancel()
    try:
        await join(waits)
    except asyncio.CancelledError:
        pass
    assert not h.guards and idle(c)
    g, v = await alt.select()
    assert v == "end"


async def test_bad_use_raises():
    for bad in (None, 1, csp.Channel("c").read, csp.Skip()):
        with raises(TypeError) as e:
            Ended(bad)  # pyright: ignore
        assert sentence(e.value)
    go, c = csp.Channel("go"), csp.Channel("c")
    h = await posted(go, ends_when_told(go.read), 1)
    ended = Ended(h)
    with raises(RuntimeError) as e:
        await csp.Alternative(ended, c.read, ended).select()
    assert sentence(e.value)
    waits = await posted(c, chooses(csp.Alternative(c.read, ended)), 1)
    with raises(RuntimeError):
        await csp.Alternative(ended).select()
    await go.write("end")
    assert await join(waits) == (ended, "end")
    assert idle(go, c)


@csp.process
async def quick(n):
    return n


@csp.process
async def sums_ends(log, n):
    for i in range(n):
        handles = [csp.Spawn(quick(k)) for k in range(3)]
        guards = [Ended(h) for h in handles]
        alt = csp.Alternative(*guards)
        ready = [True] * 3
        while True in ready:
            g, v = await alt.fair_select(ready=ready)
            ready[guards.index(g)] = False
            log.add(v)


async def test_many_ends_are_each_seen_once():
    log = Log()
    await par(sums_ends(log, 20), sums_ends(log, 20), sums_ends(log, 20))
    assert sorted(log.items()) == [0] * 60 + [1] * 60 + [2] * 60


# Deadlock


@csp.process
async def starts_and_chooses(process, *others):
    """Waits for the end of a process, or for the others."""
    handle = csp.Spawn(process)
    return (await csp.Alternative(*([Ended(handle)] + list(others))).select())[1]


def test_who_waits_for_an_end_that_does_not_come_is_a_deadlock():
    go, c, d = [csp.Channel(name) for name in ("go", "c", "d")]
    with raises(csp.DeadlockError) as e:
        csp.run(starts_and_chooses(ends_when_told(go.read)))
    assert str(e.value) == "1 process waits: ends_when_told reads go"
    go = csp.Channel("go")
    with raises(csp.DeadlockError) as e:
        csp.run(starts_and_chooses(ends_when_told(go.read), c.read, d.write.alt_pending_write(1)))
    assert str(e.value) in (
        "2 processes wait: starts_and_chooses reads c or writes d, ends_when_told reads go",
        "2 processes wait: ends_when_told reads go, starts_and_chooses reads c or writes d",
    )
    assert idle(go, c, d)


@csp.process
async def ends_later():
    await csp.Alternative(csp.Timer(ms=1200)).select()
    return "later"


def test_who_waits_for_an_end_that_may_come_is_no_deadlock():
    external = csp.Channel("external", external=True)
    assert csp.run(starts_and_chooses(ends_later())) == "later"
    go = csp.Channel("go")
    timer = csp.Timer(ms=1200)
    assert csp.run(starts_and_chooses(ends_when_told(go.read), timer)) is None
    assert csp.run(starts_and_chooses(ends_when_told(external.read), csp.Timer(ms=1200))) is None
