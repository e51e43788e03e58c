"""Rule 3 with strengths: poison acts on a channel whose immunity is less than its strength."""

import csp

from rules_support import (
    Log,
    give,
    give_from,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    sentence,
    settle,
    skip,
    until,
    waiting_readers,
    waiting_writers,
)


@csp.process
async def strength_met(end, *value):
    """Operates once: the strength of the poison it met, or what came of it."""
    try:
        return "no poison", await end(*value)
    except csp.PoisonException as er:
        assert not isinstance(er, csp.RetireException)
        return er.strength


@csp.process
async def strength_chosen(*guards):
    try:
        return "no poison", (await csp.Alternative(*guards).select())[1]
    except csp.PoisonException as er:
        return er.strength


@csp.process
async def strength_together(*members):
    try:
        return "no poison", await par(*members)
    except csp.PoisonException as er:
        return er.strength


def channels(immunity=0):
    return [
        csp.Channel("c", immunity=immunity),
        csp.BufferedChannel("b", 1, immunity=immunity),
        csp.BufferedChannel("o", 1, "keep_newest", immunity=immunity),
        csp.BufferedChannel("u", immunity=immunity),
    ]


WAYS = (
    lambda ch, s: ch.poison(s),
    lambda ch, s: ch.read.poison(s),
    lambda ch, s: ch.write.poison(s),
    lambda ch, s: csp.poison_channel(ch, s),
    lambda ch, s: csp.poison_channel(ch.read, s),
    lambda ch, s: csp.poison_channel(ch.write, strength=s),
)


async def test_poison_that_is_not_stronger_than_the_immunity_changes_nothing():
    for poison in WAYS:
        for immunity in (0, 1, 5):
            for ch in channels(immunity):
                for strength in range(immunity + 1):
                    poison(ch, strength)
                    assert not ch.poisoned
                readers = await waiting_readers(ch, 2)
                poison(ch, immunity)
                await settle()
                assert ch.queue_len() == 2 and not readers[0].done()
                assert await ch.write(1) == 0 and await ch.write(2) == 0
                assert await join_all(readers) == [1, 2]
                assert idle(ch)
            ch = csp.Channel("c", immunity=immunity)
            writers = await waiting_writers(ch, (3, 4))
            poison(ch, immunity)
            await settle()
            assert ch.queue_len() == 2 and not writers[0].done()
            assert [await ch.read(), await ch.read()] == [3, 4]
            assert await join_all(writers) == [0, 0] and idle(ch)


async def test_what_is_buffered_stays_when_poison_does_not_act():
    for poison in WAYS:
        ch = csp.BufferedChannel("b", 2, immunity=1)
        await ch.write(1)
        await ch.write(2)
        poison(ch, 1)
        assert ch.queue_len() == 2
        assert [await ch.read(), await ch.read()] == [1, 2]


async def test_stronger_poison_acts_and_is_told_to_who_waits():
    for poison in WAYS:
        for immunity in (0, 2):
            for ch in channels(immunity):
                reader = await posted(ch, strength_met(ch.read), 1)
                chooser = await posted(ch, strength_chosen(ch.read), 2)
                both = await posted(ch, strength_together(ch.read), 3)
                poison(ch, immunity + 1)
                assert await join_all((reader, chooser, both)) == [immunity + 1] * 3
                assert ch.poisoned and idle(ch)
            for ch in (
                csp.Channel("w", immunity=immunity),
                csp.BufferedChannel("w", 0, immunity=immunity),
            ):
                write = ch.write
                h = [
                    await posted(ch, strength_met(write, 1), 1),
                    await posted(ch, strength_chosen(write.alt_pending_write(2)), 2),
                    await posted(ch, strength_together(write.alt_pending_write(3)), 3),
                ]
                poison(ch, immunity + 1)
                assert await join_all(h) == [immunity + 1] * 3
                assert ch.poisoned and idle(ch)


async def test_who_comes_later_is_told_the_strength():
    for poison in WAYS:
        for ch in channels(2):
            poison(ch, 3)
            cin, cout = ch.read, ch.write
            guard = cout.alt_pending_write(1)
            for late in (
                strength_met(cin),
                strength_met(cout, 1),
                strength_chosen(cin),
                strength_chosen(csp.Channel().read, guard),
                strength_together(cin),
                strength_together(guard),
                strength_together(cin, guard),
                strength_together(guard, give(csp.BufferedChannel().write, 1)),
            ):
                assert await par(late) == [3]
            assert idle(ch)


async def test_poison_without_a_strength_is_stronger_than_any_immunity():
    for poison in WAYS:
        for ch in channels(1000000):
            h = await posted(ch, strength_met(ch.read), 1)
            poison(ch, None)
            assert await join(h) is None
            assert await par(strength_met(ch.write, 1)) == [None]
    for ch in channels(7):
        ch.poison()
        assert ch.poisoned
        assert await par(strength_met(ch.read)) == [None]


async def test_iteration_ends_whatever_the_strength():
    for ch in channels(1):
        log = Log()
        h = await posted(ch, iterates(ch.read, log), 1)
        ch.poison(2)
        assert await join(h) == "ended"
    ch = csp.BufferedChannel()
    await ch.write(1)
    ch.write.poison(1)
    log = Log()
    assert await par(iterates(ch.read, log)) == ["ended"]
    assert log.items() == [1]


@csp.process
async def iterates(cin, log):
    async for v in cin:
        log.add(v)
    return "ended"


async def test_poison_by_a_writer_with_a_strength_lets_readers_drain():
    ch = csp.BufferedChannel("b", 3, immunity=1)
    await ch.write(1)
    await ch.write(2)
    ch.write.poison(1)
    assert await ch.write(3) == 0
    ch.write.poison(2)
    assert await par(strength_met(ch.write, 4)) == [2]
    assert [await ch.read(), await ch.read(), await ch.read()] == [1, 2, 3]
    assert await par(strength_met(ch.read)) == [2]
    assert ch.poisoned and idle(ch)


async def test_the_hardest_poison_counts():
    for first, second, told in (
        (2, 3, 3), (3, 2, 3), (2, None, None), (None, 2, None), (3, 3, 3),
    ):
        for ch in channels():
            ch.poison(first)
            ch.poison(second)
            assert await par(strength_met(ch.read), strength_met(ch.write, 1)) == [told, told]
        ch = csp.BufferedChannel()
        await ch.write(1)
        ch.write.poison(first)
        ch.read.poison(second)
        assert await par(strength_met(ch.read)) == [told]


async def test_counted_ends_make_no_channel_immune():
    for ch in channels():
        assert ch.reader() is not ch.writer()
        ch.poison(0)
        assert not ch.poisoned
        ch.poison(1)
        assert await par(strength_met(ch.read)) == [1]


async def test_a_closed_channel_has_no_strength():
    for ch in channels():
        ch.close()
        ch.poison(3)
        assert await par(strength_met(ch.read)) == [None]


async def test_of_operations_together_the_hardest_poison_is_raised():
    for strengths, told in (((1, 2), 2), ((2, 1), 2), ((None, 4), None), ((4, None), None)):
        for wait in (False, True):
            chans = [csp.Channel("a"), csp.Channel("b")]
            if not wait:
                for ch, s in zip(chans, strengths):
                    ch.poison(s)
            h = csp.Spawn(strength_together(chans[0].read, chans[1].read))
            if wait:
                await until(lambda: chans[1].queue_len() == 1)
                for ch, s in zip(chans, strengths):
                    ch.poison(s)
            assert await join(h) == told
            assert idle(*chans)


# Propagation


@csp.process
async def relay(cin, cout):
    while True:
        await cout(await cin())


@csp.process
async def raises_strength(strength, *ends, by_name=None):
    er = csp.PoisonException("as strong as that")
    er.strength = strength
    raise er


@csp.process
async def breaks(*ends):
    raise KeyError("broken")


async def test_a_process_poisons_its_ends_with_the_strength_it_ended_by():
    chans = [csp.Channel("c", immunity=i) for i in range(6)]
    ends = [ch.read for ch in chans[:3]], [[ch.write for ch in chans[3:]]]
    assert await par(raises_strength(3, *ends)) == [None]
    assert [ch.poisoned for ch in chans] == [True] * 3 + [False] * 3
    assert await par(strength_met(chans[2].write, 1)) == [3]
    assert await par(raises_strength(None, *ends)) == [None]
    assert [ch.poisoned for ch in chans] == [True] * 6


async def test_a_part_of_a_network_is_shut_down_and_the_rest_lives():
    border = csp.Channel("border", immunity=1)
    log = Log()
    reader = csp.Spawn(iterates(border.read, log))
    for round in range(3):
        source, inner = csp.Channel("source"), csp.Channel("inner")
        part = [
            csp.Spawn(relay(source.read, inner.write)), csp.Spawn(relay(inner.read, border.write)),
        ]
        await par(give_from(source.write, [round, round + 10]))
        await until(lambda: log.count() == 2 * round + 2)
        source.poison(1)
        assert await join_all(part) == [None, None]
        assert inner.poisoned and not border.poisoned
        assert await par(strength_met(inner.read)) == [1]
    border.poison(2)
    assert await join(reader) == "ended"
    assert log.items() == [0, 10, 1, 11, 2, 12]
    assert idle(source, inner, border)


async def test_a_failing_process_is_stronger_than_any_immunity():
    ch = csp.Channel("c", immunity=9)
    h = await posted(ch, strength_met(ch.read), 1)
    with raises(KeyError):
        await par(breaks(ch.write))
    assert await join(h) is None


class Scarce(csp.Channel):
    """A channel for which there is no memory to note a strength."""

    def _new_life(self, immunity):
        raise MemoryError("none is left")


async def test_poison_that_can_not_be_noted_has_not_happened():
    ch = Scarce("c")
    for poison in WAYS:
        with raises(MemoryError):
            poison(ch, 2)
        assert not ch.poisoned
    ch.poison()
    assert await par(strength_met(ch.read)) == [None]


async def test_a_process_whose_strength_can_not_be_noted_has_failed():
    for scarce_first in (False, True):
        scarce = Scarce("scarce")
        immune, named = [csp.Channel(name, immunity=5) for name in ("immune", "named")]
        ends = [scarce.read, immune.write] if scarce_first else [immune.write, scarce.read]
        with raises(MemoryError):
            await par(raises_strength(2, *ends, by_name=named.write))
        met = [strength_met(scarce.write, 1), strength_met(immune.read), strength_met(named.read)]
        assert await par(*met) == [None] * 3


async def test_a_process_that_ends_by_poison_of_no_strength_has_failed():
    for strength in (-1, 1.5, "2"):
        first, second, named = [csp.Channel("c", immunity=5) for _ in range(3)]
        h = await posted(first, strength_met(first.read), 1)
        with raises(ValueError) as e:
            await par(raises_strength(strength, first.write, second.read, by_name=named.write))
        assert str(e.value) == "a strength is an int and not negative"
        assert await join(h) is None
        met = [strength_met(second.write, 1), strength_met(named.read)]
        assert await par(*met) == [None] * 2


class Unmade(csp.Channel):
    """A channel whose making was forgotten."""

    def __init__(self):
        pass


@csp.process
async def fails(exception, end=None):
    raise exception


async def test_a_process_with_an_end_of_a_channel_that_was_never_made_ends_all_the_same():
    try:
        end = Unmade().write
    except AttributeError:
        skip("with threads even its ends can't be had")
    with raises(KeyError):
        await par(fails(KeyError("broken"), end))
    with raises(AttributeError):
        await par(fails(csp.PoisonException(), end))
    with raises(AttributeError):
        await par(give(end, 1))


@csp.process
async def writes_together(guards, immune):
    await par(*guards)


async def test_write_guards_together_raise_the_strongest_poison_whichever_of_them_waits():
    for dead_first in (False, True):
        dead, ch = csp.Channel("dead"), csp.Channel("c")
        immune = csp.Channel("immune", immunity=2)
        dead.poison()
        guards = [dead.write.alt_pending_write(1), ch.write.alt_pending_write(2)]
        if not dead_first:
            guards.reverse()
        h = csp.Spawn(writes_together(guards, immune.write))
        await until(lambda: ch.queue_len() == 1)
        ch.poison(1)
        assert await join(h) is None
        assert immune.poisoned


def test_a_deadlock_poisons_what_is_immune():
    a, b = csp.Channel("a", immunity=9), csp.BufferedChannel("b", 1, immunity=9)
    with raises(csp.DeadlockError):
        csp.run(strength_met(a.read), strength_met(b.read))
    assert a.poisoned and b.poisoned


# Bad use


async def test_a_strength_or_immunity_that_is_no_int_or_negative_is_a_value_error():
    for bad in (-1, -100, 1.5, "1", [], b"2"):
        with raises(ValueError) as e:
            csp.Channel("c", immunity=bad)  # pyright: ignore
        assert sentence(e.value)
        with raises(ValueError):
            csp.BufferedChannel("c", 2, immunity=bad)  # pyright: ignore
        for ch in channels(3):
            for poison in WAYS:
                with raises(ValueError) as e:
                    poison(ch, bad)
                assert sentence(e.value)
                assert not ch.poisoned
            assert await par(give_nothing(ch.read.join())) == [None]
    with raises(ValueError):
        csp.Channel("c", immunity=None)  # pyright: ignore


@csp.process
async def give_nothing(end):
    assert end.channel().queue_len() == 0


async def test_the_strength_of_a_plain_exception_is_none():
    assert csp.PoisonException.strength is None
    assert csp.PoisonException("text").strength is None
