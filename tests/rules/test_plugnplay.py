"""The processes of plugnplay, and networks built from them."""

import csp

from rules_support import (
    Log,
    collect,
    give_from,
    idle,
    join,
    par,
    posted,
    raises,
    take,
    until,
    waiting_readers,
    waiting_writers,
)

plug = csp.plugnplay


@csp.process
async def gives(cout, values):
    for v in values:
        await cout(v)
    raise csp.PoisonException()


def three():
    return csp.Channel("a"), csp.Channel("b"), csp.Channel("c")


async def test_identity_copies():
    a, b, c = three()
    log = Log()
    await par(gives(a.write, range(5)), plug.Identity(a.read, b.write), collect(b.read, log))
    assert log.items() == [0, 1, 2, 3, 4]
    assert a.poisoned and b.poisoned


async def test_successor_adds_one():
    a, b, c = three()
    log = Log()
    await par(gives(a.write, range(5)), plug.Successor(a.read, b.write), collect(b.read, log))
    assert log.items() == [1, 2, 3, 4, 5]
    assert b.poisoned


async def test_prefix_writes_its_item_first_then_copies():
    a, b, c = three()
    log = Log()
    await par(gives(a.write, (1, 2)), plug.Prefix(a.read, b.write, "first"), collect(b.read, log))
    assert log.items() == ["first", 1, 2]
    a, b, c = three()
    log = Log()
    await par(
        gives(a.write, (1, 2)), plug.Prefix(a.read, b.write, prefixItem=0), collect(b.read, log)
    )
    assert log.items() == [0, 1, 2]


async def test_the_deltas_copy_to_both_outputs():
    for delta in (plug.SeqDelta2, plug.ParDelta2, plug.Delta2):
        a, b, c = three()
        left = Log()
        right = Log()
        await par(
            gives(a.write, range(30)),
            delta(a.read, b.write, c.write),
            collect(b.read, left),
            collect(c.read, right),
        )
        assert left.items() == list(range(30))
        assert right.items() == list(range(30))
        assert b.poisoned and c.poisoned


async def test_delta2_is_the_parallel_delta():
    assert plug.Delta2 is plug.ParDelta2
    # It offers to both outputs at once, so the second may be read first.
    a, b, c = three()
    h = csp.Spawn(plug.Delta2(a.read, b.write, c.write))
    await a.write("v")
    assert await c.read() == "v"
    assert await b.read() == "v"
    a.poison()
    await join(h)


async def test_seq_delta2_writes_to_its_first_output_first():
    a, b, c = three()
    h = csp.Spawn(plug.SeqDelta2(a.read, b.write, c.write))
    (r,) = await waiting_readers(c, 1)
    await a.write("v")
    await until(lambda: b.queue_len() == 1)
    assert not r.done()
    assert await b.read() == "v"
    assert await join(r) == "v"
    a.poison()
    await join(h)


async def test_it_has_no_other_names():
    with raises(AttributeError):
        plug.NoSuchProcess  # pyright: ignore
    getattr(plug, "*", None)  # loads all
    assert set(plug.__all__) <= set(plug.__dict__)
    assert {"Identity", "Plus", "Merge", "Sampler"} <= set(plug.__all__)


async def test_skip_process_does_nothing():
    assert await par(plug.SkipProcess(), plug.SkipProcess()) == [None, None]


async def test_mux2_merges_and_keeps_each_input_in_order():
    a, b, c = three()
    log = Log()
    h = csp.Spawn(plug.Mux2(a.read, b.read, c.write))
    await par(
        give_from(a.write, [("a", i) for i in range(30)]),
        give_from(b.write, [("b", i) for i in range(30)]),
        takes(c.read, log, 60),
    )
    for name in "ab":
        assert [i for n, i in log.items() if n == name] == list(range(30))
    b.poison()
    assert await join(h) is None
    assert a.poisoned and c.poisoned


@csp.process
async def takes(cin, log, n):
    for _ in range(n):
        log.add(await cin())


@csp.process
async def takes_then_poisons(cin, log, n):
    for _ in range(n):
        log.add(await cin())
    cin.poison()


async def test_poison_chans_of_what_is_no_channel_is_told():
    with raises(TypeError) as e:
        await plug.poison_chans(3)
    assert str(e.value) == "a channel or one of its ends is expected"


async def test_poison_chans_poisons_all_its_channels():
    a, b, c = three()
    (h,) = await waiting_readers(b, 1)
    await plug.poison_chans(a, b)
    assert a.poisoned and b.poisoned and not c.poisoned
    await join(h)


async def test_poison_at_either_end_leaves_by_the_other():
    for make in (plug.Identity, plug.Successor, plug.Prefix):
        for entry in range(2):
            a, b, c = three()
            h = csp.Spawn(
                make(a.read, b.write, 0) if make is plug.Prefix else make(a.read, b.write)  # pyright: ignore
            )
            if make is plug.Prefix:
                assert await b.read() == 0
            await until(lambda: a.queue_len() == 1)
            (a, b)[entry].poison()
            if entry == 1:
                # It waits for a, and meets the poison when it writes what it has read.
                await a.write(1)
            assert await join(h) is None
            assert a.poisoned and b.poisoned


async def test_poison_at_either_end_wakes_a_process_that_waits_to_write():
    for make in (plug.Identity, plug.Successor):
        for entry in range(2):
            a, b, c = three()
            h = csp.Spawn(make(a.read, b.write))
            await a.write(1)
            await until(lambda: b.queue_len() == 1)
            (a, b)[entry].poison()
            if entry == 0:
                await b.read()
            assert await join(h) is None
            assert a.poisoned and b.poisoned


async def test_poison_at_any_end_leaves_by_all_of_the_deltas_and_mux():
    for make in (
        lambda p, q, r: plug.SeqDelta2(p.read, q.write, r.write),
        lambda p, q, r: plug.ParDelta2(p.read, q.write, r.write),
    ):
        for entry in range(3):
            a, b, c = three()
            (w,) = await waiting_writers(a, (1,))
            await par(make(a, b, c), poisons_when_written(b, c, (a, b, c)[entry]))
            assert a.poisoned and b.poisoned and c.poisoned
            await join(w)
    for entry in range(3):
        a, b, c = three()
        h = await posted(b, plug.Mux2(a.read, b.read, c.write), 1)
        chosen = (a, b, c)[entry]
        chosen.poison()
        if chosen is c:
            await a.write("met by poison")
        await join(h)
        assert a.poisoned and b.poisoned and c.poisoned


@csp.process
async def poisons_when_written(b, c, entry):
    # The delta has read its message and waits to write it.
    await until(lambda: b.queue_len() == 1)
    entry.poison()
    for ch in (b, c):
        try:
            await ch.read()
        except csp.PoisonException:
            pass


async def test_the_processes_of_plugnplay_can_be_run_twice():
    for _ in range(2):
        a, b, c = three()
        h = await posted(a, plug.Identity(a.read, b.write), 1)
        r = csp.Spawn(take(b.read))
        await a.write(1)
        assert await join(r) == 1
        a.poison()
        await join(h)
        assert b.poisoned and idle(a, b)


async def test_commstime_counts():
    for delta in (plug.SeqDelta2, plug.ParDelta2):
        a, b, c, d = [csp.Channel(n) for n in "abcd"]
        log = Log()
        await par(
            plug.Prefix(c.read, a.write, 0),
            delta(a.read, b.write, d.write),
            plug.Successor(b.read, c.write),
            takes_then_poisons(d.read, log, 200),
        )
        assert log.items() == list(range(200))
        assert idle(a, b, c, d)
        assert [bool(ch.poisoned) for ch in (a, b, c, d)] == [True] * 4


async def test_a_value_that_is_a_list_or_tuple_stays_what_it_is():
    ring = []
    ring.append(ring)
    for value in (("a", 1), ["a"], [["a"], ("b",)], (), [], ring):
        ch = csp.Channel("c")
        got = (await par(plug.Generate(ch.write, value), plug.Collect(ch.read, 2)))[1]
        assert got[0] is value and got[1] is value
    a, b, _ = three()
    folds = plug.Fold(a.read, b.write, lambda r, v: r + (v,), ())
    gives_two = gives(a.write, (1, 2))
    assert (await par(gives_two, folds, plug.Collect(b.read)))[2] == [(1,), (1, 2)]


async def test_a_plugged_process_reports_a_wrong_value_loudly():
    a, b, c = three()
    with raises(TypeError):
        await par(give_from(a.write, ("not a number",)), plug.Successor(a.read, b.write))
    assert a.poisoned and b.poisoned
