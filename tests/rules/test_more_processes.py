"""Rules 3, 6 and 8, further: what a choice, poison or a cancellation leaves as it was."""

import csp

from rules_support import LIB, Log, idle, join, join_all, posted, settle, skip, until


@csp.process
async def writes(cout, *values):
    for v in values:
        await cout(v)


# Choice


async def test_select_takes_the_first_ready_guard_each_time():
    a, b = csp.BufferedChannel("a"), csp.BufferedChannel("b")
    for ch in (a, b):
        for i in range(3):
            await ch.write(i)
    alt = csp.Alternative(a.read, b.read)
    for i in range(3):
        g, v = await alt.select()
        assert g is a.read and v == i
    for i in range(3):
        g, v = await alt.select()
        assert g is b.read and v == i


async def test_of_two_timers_that_are_due_together_the_earlier_guard_is_chosen():
    first, second = csp.Timer(ms=20), csp.Timer(ms=20)
    ch = csp.Channel("c", external=True)
    g, v = await csp.Alternative(ch.read, first, second).select()
    assert g is first and v is None
    assert idle(ch)


async def test_fair_select_goes_on_behind_what_a_wait_has_chosen():
    a, b, c = [csp.Channel(name) for name in "abc"]
    alt = csp.Alternative(a.read, b.read, c.read)
    got = []

    @csp.process
    async def chooses():
        got.append((await alt.fair_select())[1])

    for first, behind in ((c, "abc"), (a, "bca"), (b, "cab")):
        h = await posted(first, chooses(), 1)
        await first.write("waited")
        await join(h)
        writers = []
        for ch in (a, b, c):
            writers.append(await posted(ch, writes(ch.write, ch.name), 1))
        for _ in range(3):
            got.append((await alt.fair_select())[1])
        await join_all(writers)
        assert got.pop(0) == "waited"
        assert "".join(got) == behind
        del got[:]
        assert idle(a, b, c)


async def test_a_select_that_finds_a_channel_ready_has_read_whoever_cancels_it_then():
    if LIB != "uapycsp":
        skip("threads can't be cancelled")
    ch = csp.Channel("c")
    w = await posted(ch, writes(ch.write, "v"), 1)
    ends = []

    @csp.process
    async def chooses():
        alt = csp.Alternative(ch.read, csp.Timer(ms=60000), csp.Skip())
        ends.append((await alt.select())[1])

    @csp.process
    async def cancels():
        h.cancel()

    h = csp.Spawn(chooses())
    await csp.Parallel(cancels())
    await join(w)
    assert ends == ["v"]
    assert await h is None


# Poison


async def test_who_met_poison_together_waits_elsewhere_on_its_own():
    for op in ("read", "write"):
        ch = csp.Channel("c")
        others = [csp.Channel("other %d" % i) for i in range(3)]
        got = Log()

        @csp.process
        async def goes_on(other):
            try:
                if op == "read":
                    await ch.read()
                else:
                    await ch.write(0)
            except csp.PoisonException:
                if op == "read":
                    got.add((other.name, await other.read()))
                else:
                    await other.write(other.name)

        handles = []
        for other in others:
            handles.append(await posted(ch, goes_on(other), len(handles) + 1))
        ch.poison()
        for other in others:
            await until(lambda: other.queue_len() > 0)
            await settle()
        for other in others:
            assert other.queue_len() == 1
            other.verify()
        for i, other in enumerate(others):
            if op == "read":
                await other.write(i)
            else:
                assert await other.read() == other.name
        for h in handles:
            await join(h)
        expected = [("other %d" % i, i) for i in range(3)] if op == "read" else []
        assert sorted(got.items()) == expected
        assert idle(*others)


async def test_what_was_poisoned_and_then_cancelled_is_cancelled_once():
    if LIB != "uapycsp":
        skip("threads can't be cancelled")
    from ufuture.loop import engine

    ch = csp.Channel("c")
    starts = {
        "read": lambda: ch.read(),
        "write": lambda: ch.write(1),
        "read guard": lambda: csp.Alternative(ch.read, csp.Timer(ms=60000)).select(),
        "write guard": lambda: csp.Alternative(ch.write.alt_pending_write(1)).select(),
    }
    for kind, start in starts.items():
        ch = csp.Channel("c")
        other = csp.Channel("other")
        events = []

        @csp.process
        async def goes_on():
            try:
                await start()
            except engine.CancelledError:
                events.append("cancelled")
            except csp.PoisonException:
                events.append("poisoned")
            try:
                events.append(await other.read())
            except BaseException as er:
                events.append(type(er))
                raise

        h = await posted(ch, goes_on(), 1)
        ch.poison()
        h.cancel()
        await until(lambda: other.queue_len() == 1)
        await settle()
        assert events == ["cancelled"], kind
        await other.write("v")
        await h
        assert events == ["cancelled", "v"], kind
        assert idle(other)
