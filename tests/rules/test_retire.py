"""Counted ends: the last writer to retire closes the channel, the last reader ends it."""

import io

import cspcore.process
import csp

from rules_support import (
    AWAITABLE,
    POISONED,
    Log,
    choose,
    give,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    sentence,
    seq,
    settle,
    take,
    until,
)

RETIRED = "retired"


def kind(er):
    return RETIRED if isinstance(er, csp.RetireException) else POISONED


@csp.process
async def ending(end, *value):
    """Operates once: what came of it, or how the channel has ended."""
    try:
        return await end(*value)
    except csp.PoisonException as er:
        assert sentence(er)
        return kind(er)


@csp.process
async def choice_ending(*guards):
    try:
        return (await csp.Alternative(*guards).select())[1]
    except csp.PoisonException as er:
        return kind(er)


@csp.process
async def parallel_ending(*members):
    try:
        return await par(*members)
    except csp.PoisonException as er:
        return kind(er)


def makers():
    return (
        lambda: csp.Channel("c"),
        lambda: csp.BufferedChannel("b", 0),
        lambda: csp.BufferedChannel("b", 1),
        lambda: csp.BufferedChannel("b"),
        lambda: csp.BufferedChannel("b", 1, "keep_oldest"),
        lambda: csp.BufferedChannel("b", 1, "keep_newest"),
    )


async def how_ended(ch):
    """How a channel that has ended tells so, to all who come."""
    told = await par(
        ending(ch.read),
        ending(ch.write, 1),
        choice_ending(ch.read),
        choice_ending(csp.Channel().read, ch.write.alt_pending_write(1)),
        parallel_ending(ch.read),
        parallel_ending(ch.write.alt_pending_write(1)),
        parallel_ending(ch.write.alt_pending_write(1), ch.read),
    )
    assert len(set(told)) == 1, told
    assert ch.poisoned and idle(ch)
    return told[0]


# Ends


async def test_counted_ends_are_new_ones_each_time():
    for make in makers():
        ch = make()
        ends = [ch.reader(), ch.reader(), ch.read.join(), ch.read, ch.reader().join()]
        ends += [ch.writer(), ch.writer(), ch.write.join(), ch.write, ch.writer().join()]
        for i, end in enumerate(ends):
            assert end.channel() is ch
            assert not [other for other in ends[:i] if other is end]
        assert repr(ends[0]) == repr(ch.read)
        assert repr(ends[5]) == repr(ch.write)


async def test_messages_go_through_counted_ends_and_others():
    for make in makers():
        ch = make()
        for cin, cout in (
            (ch.reader(), ch.writer()), (ch.read, ch.writer()), (ch.reader(), ch.write),
        ):
            for first in (0, 1):
                pair = [give(cout, 7), take(cin)]
                assert await par(pair[first], pair[1 - first]) == [[0, 7], [7, 0]][first]
                ch.verify()
        assert idle(ch)


async def test_counted_ends_work_in_alternatives_and_parallels():
    for make in makers():
        ch = make()
        other = csp.Channel("other").reader()
        cin, cout = ch.reader(), ch.writer()
        guard = cout.alt_pending_write("v")
        assert await par(choose(other, cin), choose(other, guard)) == [(cin, "v"), (guard, 0)]
        assert await par(cin, guard) == ["v", 0]
        assert await par(guard, cin) == [0, "v"]
        assert await par(give(cout, "w"), cin) == [0, "w"]
        assert await par(take(cin), guard) == ["v", 0]
        assert idle(ch)


async def test_a_choice_by_a_counted_end_takes_what_is_buffered_first():
    ch = csp.BufferedChannel("b", 1)
    end = ch.reader()
    await ch.write(1)
    h = await posted(ch, give(ch.write, 2), 2)
    for value in 1, 2:
        ((guard, read),) = await par(choose(end))
        assert guard is end and read == value
    await join(h)
    assert idle(ch)


async def test_write_guards_alone_meet_readers_that_wait():
    for make in makers():
        ch, other = make(), csp.BufferedChannel("other")
        cout = ch.writer()
        for round in range(2):
            guards = cout.alt_pending_write(round), other.write.alt_pending_write(round)
            h = await posted(ch, take(ch.read), 1)
            assert await par(guards[0]) == [0]
            assert await join(h) == round
            h = await posted(ch, take(ch.read), 1)
            assert await par(*guards) == [0, 0]
            assert await join(h) == round
            assert idle(ch)


async def test_order_is_kept_among_counted_ends_and_others():
    ch = csp.Channel("c")
    a, b = ch.writer(), ch.writer()
    handles = []
    for i, cout in enumerate((a, ch.write, b, a, ch.write)):
        handles.append(await posted(ch, give(cout, i), i + 1))
        ch.verify()
    cin = ch.reader()
    for i in range(5):
        assert await (cin if i % 2 else ch.read)() == i
        ch.verify()
    assert await join_all(handles) == [0] * 5


# Retiring


async def test_the_last_writer_closes_the_channel():
    for make in makers():
        ch = make()
        a, b = ch.writer(), ch.write.join()
        reader = await posted(ch, ending(ch.read), 1)
        again = await posted(ch, ending(ch.reader()), 2)
        a.retire()
        await settle()
        assert not ch.poisoned and ch.queue_len() == 2
        await b(5)
        assert await join(reader) == 5
        b.retire()
        assert await join(again) == RETIRED
        assert await how_ended(ch) == RETIRED


async def test_what_is_buffered_or_waits_can_still_be_read():
    for capacity in (0, 1, 2, None):
        ch = csp.BufferedChannel("b", capacity)
        cout = ch.writer()
        writers = []
        for i in range(4):
            writers.append(csp.Spawn(give(ch.write, i)))
            await until(lambda: ch.queue_len() == i + 1)
        cout.retire()
        assert not ch.poisoned
        assert await par(ending(ch.write, 9)) == [RETIRED]
        cin = ch.reader()
        for i in range(4):
            assert await cin() == i
        assert await join_all(writers) == [0] * 4
        assert await how_ended(ch) == RETIRED


async def test_the_last_reader_ends_the_channel_at_once():
    for make in makers():
        ch = make()
        a, b = ch.reader(), ch.read.join()
        cout = ch.writer()
        a.retire()
        assert not ch.poisoned
        assert await par(give(cout, 1), take(b)) == [0, 1]
        b.retire()
        assert ch.poisoned
        assert await how_ended(ch) == RETIRED
        assert await par(ending(cout, 1)) == [RETIRED]


async def test_the_last_reader_ends_who_waits_to_write():
    for make in makers()[:2]:
        ch = make()
        cin = ch.reader()
        cout = ch.writer()
        h = [
            await posted(ch, ending(ch.write, 1), 1),
            await posted(ch, ending(cout, 1), 2),
            await posted(ch, choice_ending(cout.alt_pending_write(2)), 3),
            await posted(ch, parallel_ending(cout.alt_pending_write(3)), 4),
        ]
        cin.retire()
        assert await join_all(h) == [RETIRED] * 4
        assert await how_ended(ch) == RETIRED


async def test_the_last_reader_drops_what_is_buffered():
    ch = csp.BufferedChannel("b", 2)
    await ch.write(1)
    await ch.write(2)
    ch.reader().retire()
    assert await how_ended(ch) == RETIRED


async def test_retiring_twice_is_harmless():
    for make in makers():
        ch = make()
        a, b = ch.writer(), ch.writer()
        r, s = ch.reader(), ch.reader()
        for _ in range(3):
            a.retire()
            r.retire()
        assert not ch.poisoned
        assert await par(give(b, 1), take(s)) == [0, 1]
        b.retire()
        b.retire()
        s.retire()
        s.retire()
        assert await how_ended(ch) == RETIRED


async def test_iteration_just_ends():
    for make in makers():
        ch = make()
        cout = ch.writer()
        log = Log()
        h = await posted(ch, iterates(ch.reader(), log), 1)
        await cout(1)
        await until(lambda: log.count() == 1)
        cout.retire()
        assert await join(h) == "ended"
        assert await par(iterates(ch.read, log)) == ["ended"]
        assert log.items() == [1]


@csp.process
async def iterates(cin, log):
    async for v in cin:
        log.add(v)
    return "ended"


# Use after it has retired


async def test_a_retired_end_can_not_be_used():
    for make in makers():
        ch = make()
        cin, cout = ch.reader(), ch.writer()
        others = ch.reader(), ch.writer()
        guard = cout.alt_pending_write("never")
        alt_in = csp.Alternative(csp.Channel().read, cin)
        alt_out = csp.Alternative(guard, csp.Skip())
        assert (await csp.Alternative(cin, csp.Skip()).select())[1] is None
        cin.retire()
        cout.retire()
        for alt in (alt_in, alt_out, csp.Alternative(cin), csp.Alternative(guard)):
            for select in (alt.select, alt.fair_select):
                with raises(csp.RetireException) as e:
                    await select()
                assert sentence(e.value)
        for operation in (
            ending(cin), ending(cout, "never"), parallel_ending(cin), parallel_ending(guard),
            parallel_ending(guard, cin), parallel_ending(cout.alt_pending_write("never")),
            parallel_ending(guard, give(csp.BufferedChannel().write, 1)),
        ):
            assert await par(operation) == [RETIRED]
        log = Log()
        assert await par(iterates(cin, log)) == ["ended"]
        assert log.items() == [] and idle(ch) and not ch.poisoned
        assert await par(give(others[1], "v"), take(others[0])) == [0, "v"]
        for end in (cin, cout):
            assert end.channel() is ch
            end.poison()
            end.poison(3)
            assert not ch.poisoned  # it is no end of this channel any more


async def test_a_value_that_a_retired_end_does_not_read_is_there_for_others():
    ch = csp.BufferedChannel("b")
    cin, other = ch.reader(), ch.reader()
    await ch.write(1)
    cin.retire()
    assert await par(ending(cin)) == [RETIRED]
    assert await other() == 1


async def test_an_operation_that_waits_goes_on_when_its_end_retires():
    ch = csp.Channel("c")
    cin, other = ch.reader(), ch.reader()
    h = await posted(ch, ending(cin), 1)
    chooser = await posted(ch, choice_ending(cin), 2)
    together = await posted(ch, parallel_ending(cin), 3)
    cin.retire()
    ch.verify()
    for v in range(3):
        await ch.write(v)
    assert await join_all((h, chooser, together)) == [0, 1, [2]]
    assert idle(ch) and not ch.poisoned
    other.retire()


@csp.process
async def strength_met(operate):
    with raises(csp.PoisonException) as e:
        await operate()
    return kind(e.value), e.value.strength


async def test_what_ends_an_operation_whose_end_has_retired_meanwhile_is_told():
    def choosing(guard):
        return csp.Alternative(guard, csp.Channel().read).select

    for write in (False, True):
        ch = csp.Channel("c")
        ends = [ch.writer() if write else ch.reader() for _ in range(4)]
        guards = [end.alt_pending_write("never") if write else end for end in ends]
        operations = (
            lambda: ends[0](*["never"][:write]),
            choosing(guards[1]),
            lambda: par(guards[2]),
        )
        handles = []
        for operation in operations:
            handles.append(await posted(ch, strength_met(operation), len(handles) + 1))
        for end in ends[:3]:
            end.retire()
        ch.poison(3)
        assert await join_all(handles) == [(POISONED, 3)] * 3
        assert await par(strength_met(operations[0])) == [(POISONED, 3)]  # it is harder


async def test_a_writer_whose_end_has_retired_meets_the_poison_of_another():
    ch = csp.BufferedChannel("b", 1)
    await ch.write("kept")
    mine, other = ch.writer(), ch.writer()
    h = await posted(ch, strength_met(lambda: mine("never")), 2)
    mine.retire()
    other.poison(3)
    assert await join(h) == (POISONED, 3)
    assert await ch.read() == "kept"


async def test_joining_a_channel_that_has_ended_raises():
    for make in makers():
        for end, told in (
            (lambda ch: ch.reader().retire(), csp.RetireException),
            (lambda ch: ch.writer().retire(), csp.RetireException),
            (lambda ch: ch.poison(), csp.PoisonException),
            (lambda ch: ch.poison(3), csp.PoisonException),
        ):
            ch = make()
            end(ch)
            for join_it in (ch.reader, ch.writer, ch.read.join, ch.write.join):
                with raises(told) as e:
                    join_it()
                assert isinstance(e.value, csp.RetireException) == (told is csp.RetireException)
            with raises(told):
                await ch.read()


async def test_what_is_left_of_a_closed_channel_can_be_read_by_who_joins():
    for close in (
        lambda ch: ch.writer().retire(), lambda ch: ch.close(), lambda ch: ch.write.poison(),
    ):
        ch = csp.BufferedChannel("b")
        await ch.write(1)
        close(ch)
        with raises(csp.PoisonException):
            ch.writer()
        cin = ch.reader()
        assert await cin() == 1
        with raises(csp.PoisonException):
            await cin()
        with raises(csp.PoisonException):
            ch.reader()
        cin.retire()


async def test_operations_within_a_time():
    for make in makers()[:3]:
        ch = make()
        cin, cout = ch.reader(), ch.writer()
        hold = ch.reader(), ch.writer()
        with raises(csp.TimeoutError):
            await cin.within(1)
        h = csp.Spawn(give(cout, 1))
        assert await cin.within(10000) == 1
        assert await join(h) == 0
        h = csp.Spawn(take(cin))
        assert await cout.within(10000, 2) == 0
        assert await join(h) == 2
        cin.retire()
        cout.retire()
        with raises(csp.RetireException):
            await cin.within(1)
        with raises(csp.RetireException):
            await cout.within(1, 3)
        assert idle(ch) and not ch.poisoned
        hold[0].retire()


async def test_who_watches_the_end_of_a_channel_hears_of_retirement():
    ch = csp.Channel("c")
    a, b = ch.reader(), ch.reader()
    h = csp.Spawn(choose(csp.Closed(ch.writer())))
    a.retire()
    await settle()
    assert not h.done()
    b.retire()
    assert (await join(h))[1] is None
    ch = csp.Channel("c")
    cout = ch.writer()
    h = csp.Spawn(choose(csp.Closed(ch.write)))
    cout.retire()
    assert (await join(h))[1] is None


# Poison and retirement


async def test_poison_is_harder_than_retirement():
    for make in makers():
        for retire in (lambda ch: ch.reader().retire(), lambda ch: ch.writer().retire()):
            ch = make()
            retire(ch)
            ch.poison()
            assert await how_ended(ch) == POISONED
            ch = make()
            cin, cout = ch.reader(), ch.writer()
            ch.poison(2)
            cin.retire()
            cout.retire()
            assert await how_ended(ch) == POISONED
            with raises(csp.PoisonException) as e:
                await ch.read()
            assert e.value.strength == 2


async def test_a_counted_end_can_be_poisoned_for_all():
    for make in makers():
        for end, strength in (("reader", None), ("writer", None), ("reader", 1), ("writer", 1)):
            ch = make()
            others = ch.reader(), ch.writer()
            getattr(ch, end)().poison(strength)
            assert await how_ended(ch) == POISONED
            assert await par(ending(others[0]), ending(others[1], 1)) == [POISONED] * 2


async def test_a_counted_end_of_an_immune_channel():
    ch = csp.Channel("c", immunity=2)
    cin, cout = ch.reader(), ch.writer()
    cin.poison(2)
    cout.poison(1)
    assert await par(give(cout, 1), take(cin)) == [0, 1]
    cin.poison(3)
    assert await how_ended(ch) == POISONED


async def test_after_close_it_is_no_retirement():
    ch = csp.BufferedChannel("b")
    cin, cout = ch.reader(), ch.writer()
    ch.close()
    cout.retire()
    cin.retire()
    assert await how_ended(ch) == POISONED


async def test_of_operations_together_poison_is_told_before_retirement():
    for first, second in (
        (lambda ch: ch.reader().retire(), lambda ch: ch.poison(1)),
        (lambda ch: ch.poison(1), lambda ch: ch.reader().retire()),
    ):
        for wait in (False, True):
            a, b = csp.Channel("a"), csp.Channel("b")
            if not wait:
                first(a)
                second(b)
            h = csp.Spawn(parallel_ending(a.read, b.read))
            if wait:
                await until(lambda: b.queue_len() == 1)
                first(a)
                second(b)
            assert await join(h) == POISONED
    a, b = csp.Channel("a"), csp.Channel("b")
    a.writer().retire()
    b.writer().retire()
    assert await par(parallel_ending(a.read, b.read)) == [RETIRED]


# Processes


@csp.process
async def relay(cin, cout):
    while True:
        await cout(await cin())


@csp.process
async def reads_for_ever(cin, log):
    while True:
        log.add(await cin())


@csp.process
async def reads_some(cin, n):
    with cin:
        values = []
        for _ in range(n):
            values.append(await cin())
    return values


@csp.process
async def writes_some(cout, values):
    with cout:
        for v in values:
            await cout(v)


@csp.process
async def writes_for_ever(cout):
    while True:
        await cout(1)


@csp.process
async def ends_by_retirement(*ends, **kwargs):
    raise csp.RetireException("of its own")


@csp.process
async def breaks(*ends):
    raise KeyError("broken")


@csp.process
async def ends_by_poison(strength, *ends):
    er = csp.PoisonException()
    er.strength = strength
    raise er


@csp.process
async def returns(*ends):
    return len(ends)


async def test_a_process_that_ends_by_retirement_retires_its_counted_ends():
    a, b, c, d = [csp.Channel(name) for name in "abcd"]
    left = a.reader(), b.writer(), c.reader()
    assert await par(
        ends_by_retirement(a.reader(), [b.writer(), (c.reader(),)], cout=d.writer())
    ) == [None]
    assert not (a.poisoned or b.poisoned or c.poisoned)
    assert await how_ended(d) == RETIRED
    left[0].retire()
    left[1].retire()
    assert await how_ended(a) == RETIRED
    assert await how_ended(b) == RETIRED
    assert not c.poisoned


async def test_a_process_that_ends_by_retirement_poisons_its_other_ends():
    a, b = csp.Channel("a"), csp.BufferedChannel("b")
    await b.write(1)
    assert await par(ends_by_retirement(a.read, b.write)) == [None]
    assert await how_ended(a) == POISONED
    assert await b.read() == 1
    assert await how_ended(b) == POISONED


async def test_a_process_that_is_poisoned_or_fails_poisons_its_counted_ends():
    for make in makers():
        ch = make()
        others = ch.reader(), ch.writer()
        with raises(KeyError):
            await par(breaks(ch.writer()))
        assert await how_ended(ch) == POISONED
        ch = csp.Channel("c", immunity=1)
        others = ch.reader(), ch.writer()
        assert await par(ends_by_poison(1, ch.reader(), ch.writer())) == [None]
        assert await par(give(others[1], 1), take(others[0])) == [0, 1]
        assert await par(ends_by_poison(2, ch.reader())) == [None]
        assert await how_ended(ch) == POISONED


async def test_a_process_that_ends_normally_retires_nothing():
    ch = csp.Channel("c")
    assert await par(returns(ch.reader(), ch.writer())) == [2]
    assert not ch.poisoned


async def test_a_process_that_does_not_propagate_retires_nothing():
    ch = csp.Channel("c")
    assert await par(keeps(ch.reader(), ch.writer())) == [None]
    assert not ch.poisoned


@csp.process(propagate=False)
async def keeps(*ends):
    raise csp.RetireException("of its own")


async def test_a_pipeline_ends_when_its_writers_have_retired():
    for make in makers()[:4]:
        a, b, c = make(), make(), make()
        log = Log()
        await par(
            writes_some(a.writer(), range(5)),
            writes_some(a.writer(), range(100, 105)),
            *[relay(a.reader(), b.writer()) for _ in range(3)]
            + [relay(b.reader(), c.writer()) for _ in range(2)]
            + [reads_for_ever(c.reader(), log)]
        )
        assert sorted(log.items()) == [0, 1, 2, 3, 4, 100, 101, 102, 103, 104]
        for ch in (a, b, c):
            assert await how_ended(ch) == RETIRED


async def test_a_pipeline_ends_when_its_readers_have_retired():
    for make in makers()[:4]:
        a, b, c = make(), make(), make()
        res = await par(
            writes_for_ever(a.writer()),
            writes_for_ever(a.writer()),
            *[relay(a.reader(), b.writer()) for _ in range(3)]
            + [relay(b.reader(), c.writer()) for _ in range(2)]
            + [reads_some(c.reader(), 4), reads_some(c.reader(), 2)]
        )
        assert res == [None] * 7 + [[1] * 4, [1] * 2]
        for ch in (a, b, c):
            assert await how_ended(ch) == RETIRED


async def test_a_ring_ends_both_ways_round():
    a, b, c = csp.Channel("a"), csp.Channel("b"), csp.Channel("c")
    got = await par(
        relay(a.reader(), b.writer()), relay(b.reader(), c.writer()),
        rounds(c.reader(), a.writer(), 5),
    )
    assert got == [None, None, 5]
    for ch in (a, b, c):
        assert await how_ended(ch) == RETIRED


@csp.process
async def rounds(cin, cout, n):
    with cin:
        with cout:
            for i in range(n):
                await cout(i)
                assert await cin() == i
    return n


async def test_a_sequence_goes_on_after_a_retired_member():
    ch = csp.Channel("c")
    assert await seq(ends_by_retirement(ch.reader()), returns()) == [None, 0]
    assert await how_ended(ch) == RETIRED


def test_verbose_poison_tells_of_retirement():
    @csp.process(verbose_poison=True)
    async def tells():
        raise csp.RetireException("of its own")

    stderr = io.StringIO()
    kept = cspcore.process.sys
    cspcore.process.sys = Stderr(stderr)
    try:
        csp.run(tells())
    finally:
        cspcore.process.sys = kept
    assert "ended by retirement" in stderr.getvalue()


class Stderr:
    def __init__(self, stderr):
        self.stderr = stderr


# with


async def test_with_retires_at_the_end_of_the_block():
    for make in makers():
        ch = make()
        with ch.writer() as cout:
            with ch.reader() as cin:
                assert await par(give(cout, 1), take(cin)) == [0, 1]
            assert ch.poisoned
        assert await how_ended(ch) == RETIRED


async def test_with_retires_on_retirement_and_poisons_on_other_exceptions():
    for exception, told in (
        (csp.RetireException("x"), RETIRED),
        (csp.PoisonException("x"), POISONED),
        (KeyError("x"), POISONED),
    ):
        for end in ("reader", "writer"):
            ch = csp.Channel("c")
            with raises(type(exception)):
                with getattr(ch, end)():
                    raise exception
            assert await how_ended(ch) == told


async def test_with_poisons_with_the_strength_of_the_exception():
    for immunity, poisoned in ((1, True), (2, False)):
        ch = csp.Channel("c", immunity=immunity)
        er = csp.PoisonException("x")
        er.strength = 2
        with raises(csp.PoisonException):
            with ch.writer():
                raise er
        assert ch.poisoned == poisoned


# Deadlock


def test_a_deadlock_names_counted_ends_and_poisons():
    a, b = csp.Channel("a"), csp.BufferedChannel("b", 1)
    cin, cout = b.reader(), a.writer()
    with raises(csp.DeadlockError) as e:
        csp.run(ending(a.reader()), choice_ending(cin), parallel_ending(b.read))
    text = str(e.value)
    assert "reads a" in text and "reads b" in text and text.startswith("3 processes")
    assert cout.channel().poisoned and b.poisoned
    ch = csp.Channel("w")
    cout = ch.writer()
    with raises(csp.DeadlockError) as e:
        csp.run(ending(cout, 1))
    assert "writes w" in str(e.value)
    assert idle(a, b, ch)


def test_poison_by_a_deadlock_is_harder_than_retirement():
    ch = csp.Channel("c")
    told = Log()
    with raises(csp.DeadlockError):
        csp.run(tells_how_it_ended(ch.write, told), retires_late(ch, ch.writer()))
    assert told.items() == [POISONED]


@csp.process
async def tells_how_it_ended(cout, told):
    for how in await par(ending(cout, 1)):
        told.add(how)


@csp.process
async def retires_late(ch, cout):
    await until(lambda: ch.queue_len() == 1)
    cout.retire()


# plugnplay


def test_the_processes_of_plugnplay_pass_retirement_on():
    plug = csp.plugnplay
    a, b, c, d = [csp.Channel(name) for name in "abcd"]
    got = csp.run(
        writes_some(a.writer(), [1, 2, 3]),
        plug.Identity(a.reader(), b.writer()),
        plug.Map(b.reader(), c.writer(), lambda v: v * v),
        plug.Plus(c.reader(), d.reader(), csp.BufferedChannel("sums").writer()),
        plug.Numbers(d.writer()),
    )
    assert got == [None] * 5
    for ch in (a, b, c, d):
        assert ch.poisoned
        with raises(csp.RetireException):
            ch.reader()


# Many at once


async def test_many_workers_join_and_retire_while_others_work():
    a, b = csp.Channel("a"), csp.BufferedChannel("b", 3)
    log = Log()
    hold = a.reader(), b.writer()  # until all workers have come
    parts = [
        writes_some(a.writer(), range(0, 200)),
        writes_some(a.writer(), range(200, 400)),
        reads_for_ever(b.reader(), log),
        shifts(a, b, hold, 10),
    ]
    assert await par(*parts) == [None] * 4
    assert sorted(log.items()) == list(range(400))
    assert await how_ended(a) == RETIRED
    assert await how_ended(b) == RETIRED


@csp.process
async def shifts(a, b, hold, n):
    """Workers that come while others have retired; those of the last shift work to the end."""
    for _ in range(n):
        await par(*[works(a.reader(), b.writer(), 4) for _ in range(3)])
    workers = [works(a.reader(), b.writer(), 1000) for _ in range(3)]
    for end in hold:
        end.retire()
    await par(*workers)


@csp.process
async def works(cin, cout, n):
    with cin:
        with cout:
            for _ in range(n):
                await cout(await cin())


async def test_ends_that_retire_at_once_end_the_channel_once():
    for _ in range(10):
        ch = csp.Channel("c")
        couts = [ch.writer() for _ in range(4)]
        readers = [csp.Spawn(ending(ch.read)) for _ in range(2)]
        await until(lambda: ch.queue_len() == 2)
        await par(*[retires(cout, cout) for cout in couts])
        assert await join_all(readers) == [RETIRED] * 2
        assert await how_ended(ch) == RETIRED


@csp.process
async def retires(*ends):
    for end in ends:
        end.retire()


if AWAITABLE:

    async def test_the_result_of_retire_may_be_awaited():
        ch = csp.Channel("c")
        cin = ch.reader()
        await cin.retire()
        await cin.retire()
        await ch.poison(0)
        await ch.read.poison(0)
        await ch.write.poison(0)
        assert await how_ended(ch) == RETIRED

    async def test_operations_of_counted_ends_that_are_not_awaited():
        for make in makers():
            ch = make()
            cin, cout = ch.reader(), ch.writer()
            assert await par(cout("v"), cin()) == [0, "v"]
            assert await par(cin(), cout("v")) == ["v", 0]
            cin.retire()
            assert await par(parallel_ending(cout("v"))) == [RETIRED]
            assert idle(ch)


async def test_the_class_is_one_and_a_poison_exception():
    from cspcore.errors import RetireException

    assert csp.RetireException is RetireException
    assert issubclass(RetireException, csp.PoisonException)
    assert csp.RetireException("text").strength is None
