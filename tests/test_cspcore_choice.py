"""cspcore's choice and groups with neither threads nor a loop, and all of cspcore at random.

The last part plays long random sequences against a model, which knows lists of who waits.
"""

from cspcore.buffered import BaseBufferedChannel
from cspcore.channel import GIVEN, POISON, READ, TAKEN, WAITING, WRITE, BaseChannel, Offer
from cspcore.choice import Choice, Guard, Skip, Timer, WriteGuard
from cspcore.errors import PoisonException
from cspcore.group import Group

from test_cspcore import (
    ALIKE,
    Alt,
    ReadEnd,
    channel,
    check,
    ends,
    gives_back,
    is_poisoned,
    queues,
    read,
    values,
    waits,
    woken,
    write,
)


class Own(Guard):
    """A user's guard that counts how often it is asked and let go."""

    def __init__(self, ready=False, value="own"):
        self.ready = ready
        self.value = value
        self.enabled = self.disabled = 0

    def enable(self, alt):
        self.enabled += 1
        return self.ready, self.value if self.ready else None

    def disable(self, alt):
        self.disabled += 1


class Broken(Own):
    def enable(self, alt):
        raise KeyError("broken")


class Stubborn(Own):
    def disable(self, alt):
        Own.disable(self, alt)
        raise KeyError("stubborn")


def subsets(n):
    for bits in range(1 << n):
        yield [bits >> i & 1 for i in range(n)]


def committed(alt, i):
    """(value, whom it wakes) of a guard that is ready."""
    party = alt.commit(i)
    value = alt._value
    alt._value = None
    return value, party


def ready_channel(op):
    """A channel whose reads, or writes, need not wait."""
    ch = channel()
    waits(ch, WRITE if op == READ else READ, "v" if op == READ else WAITING)
    return ch


# Polling and committing


def orders(n):
    for start in range(n):
        turned = [i % n for i in range(start, start + n)]
        yield turned
        yield turned[::-1]


def poll_in(order, alt):
    """The guard that a fair selection finds if it looks at the guards in that order."""
    assert sorted(order) == list(range(len(alt.guards)))
    alt._order = list(order)
    i = alt.poll(True)
    assert alt._order == order
    return i


def test_poll_takes_the_first_ready_guard_in_any_order():
    for kinds in ("rrrr", "wwww", "rwrw", "rowo", "oooo"):
        for ready in subsets(4):
            guards = []
            for kind, is_ready in zip(kinds, ready):
                if kind == "o":
                    guards.append(Own(is_ready == 1))
                    continue
                op = READ if kind == "r" else WRITE
                ch = ready_channel(op) if is_ready else channel()
                guards.append(ReadEnd(ch) if op == READ else WriteGuard(ch, 1))
            alt = Alt(*guards)
            expected = [i for i in range(4) if ready[i]]
            assert alt.poll(False) == (expected[0] if expected else -1)
            alt.disable_all()
            for order in orders(4):
                expected = [i for i in order if ready[i]]
                assert poll_in(order, alt) == (expected[0] if expected else -1)
                alt.disable_all()
            for g in guards:
                if isinstance(g, Own):
                    assert g.disabled == (0 if g.ready else g.enabled)


def test_poll_leaves_no_trace():
    for ready in subsets(2):
        chans = [ready_channel(READ) if r else channel() for r in ready]
        before = [ch.queue_len() for ch in chans]
        alt = Alt(ReadEnd(chans[0]), WriteGuard(channel(), 1), ReadEnd(chans[1]))
        for order in (None, [0, 1, 2], [2, 1, 0]):
            alt.poll(False) if order is None else poll_in(order, alt)
            assert not alt.waits and alt._chosen is None
            assert [ch.queue_len() for ch in chans] == before
            for ch in chans:
                ch.verify()


def test_the_shorter_loop_for_inputs_finds_what_the_general_one_finds():
    def poisoned():
        ch = channel()
        ch.end_all()
        return ch

    def drained():
        ch = BaseBufferedChannel("c", 1)
        ch.end_close()
        return ch

    def buffered():
        ch = BaseBufferedChannel("c", 1)
        ch.give("v")
        return ch

    def given():
        ch = channel()
        gives_back(ch, "v")
        return ch

    def with_a_reader():
        ch = channel()
        waits(ch, READ)
        return ch

    for make in (lambda: ready_channel(READ), poisoned, drained, buffered, given):
        for ready in subsets(4):
            ends_ = [ReadEnd(make() if r else with_a_reader()) for r in ready]
            alt = Alt(*ends_)
            assert alt._inputs is not None
            general = Alt(*ends_)
            general._inputs = None
            expected = ready.index(1) if 1 in ready else -1
            assert alt.poll(False) == general.poll(False) == expected
            assert poll_in([0, 1, 2, 3], alt) == expected
    assert Alt(ReadEnd(channel()), Skip())._inputs is None
    assert Alt(ReadEnd(channel()), WriteGuard(channel(), 1))._inputs is None


def fairly(alt):
    # What the libraries' fair_select does.
    alt._order = alt._order or list(range(len(alt.guards)))
    i = alt.poll(True)
    alt.last(i)
    assert committed(alt, i) == (i, None)
    return i


def test_guards_that_are_always_ready_take_turns():
    for n in (1, 2, 3, 5):
        alt = Alt(*[Own(True, i) for i in range(n)])
        assert [fairly(alt) for _ in range(3 * n)] == list(range(n)) * 3


def test_a_guard_that_is_ready_now_and_then_is_passed_over_once_per_other_guard():
    guards = [Own(False, i) for i in range(5)]
    alt = Alt(*guards)
    over = [[0] * 5 for _ in guards]  # how often each was passed over for each, since its turn
    seed = 12345
    for _ in range(2000):
        seed = (seed * 1103515245 + 12345) & 0x3FFFFFFF
        ready = seed >> 8 & 31 or 31
        for i in range(5):
            guards[i].ready = ready >> i & 1 == 1
        chosen = fairly(alt)
        over[chosen] = [0] * 5
        for i in range(5):
            if guards[i].ready and i != chosen:
                over[i][chosen] += 1
                assert over[i][chosen] == 1
    # Who is ready in every second selection only: taking turns by the guards' places starves it.
    alt = Alt(*guards)
    chosen = []
    for ready in ([0, 1, 2], [2]) * 4:
        for i in range(5):
            guards[i].ready = i in ready
        chosen.append(fairly(alt))
    assert chosen == [0, 2, 1, 2, 0, 2, 1, 2]


def test_commit_lets_a_ready_read_happen():
    for make in ALIKE:
        ch, other = make(), make()
        ws = [waits(ch, WRITE, v) for v in "ab"]
        alt = Alt(ReadEnd(other), ReadEnd(ch))
        assert alt.poll(False) == 1
        assert committed(alt, 1) == ("a", ws[0])
        assert ws[0].value is TAKEN
        check(ch, (), ws[1:])
        check(other)


def test_commit_lets_a_ready_write_happen():
    for make in ALIKE:
        ch, other = make(), make()
        rs = [waits(ch, READ) for _ in range(2)]
        alt = Alt(ReadEnd(other), WriteGuard(ch, "v"))
        assert alt.poll(False) == 1
        assert committed(alt, 1) == (0, rs[0])
        assert rs[0].value == "v"
        check(ch, rs[1:])
        check(other)


def test_commit_takes_a_guards_own_value():
    ch = channel()
    alt = Alt(ReadEnd(ch), Own(True, "mine"))
    assert alt.poll(False) == 1 and committed(alt, 1) == ("mine", None)
    alt = Alt(ReadEnd(ch), Skip())
    assert alt.poll(False) == 1 and committed(alt, 1) == (None, None)
    check(ch)


def test_an_ended_channel_is_ready_in_its_place_and_raises():
    for make in ALIKE:
        for how in ("end_all", "end_writing", "end_close"):
            for end in (ReadEnd, lambda ch: WriteGuard(ch, 1)):
                ch = make()
                getattr(ch, how)()
                own = Own()
                good = ready_channel(READ)
                alt = Alt(ReadEnd(make()), own, end(ch), ReadEnd(good))
                assert alt.poll(False) == 2
                assert own.enabled == 1
                assert ends(alt.commit, 2)
                assert own.disabled == 1
                assert poll_in([0, 1, 2, 3], alt) == 2
                alt.last(2)
                assert ends(alt.commit, 2)
                assert alt.poll(True) == 3
                alt.disable_all()
                assert own.disabled == own.enabled == 3
                assert good.queue_len() == 1
                assert is_poisoned(ch)


def test_a_closed_channel_with_writers_is_ready_to_read_and_refuses_a_write():
    for make in ALIKE:
        ch = make()
        w = waits(ch, WRITE, "v")
        ch.end_close()
        alt = Alt(WriteGuard(ch, 1), ReadEnd(ch))
        assert alt.poll(False) == 0 and ends(alt.commit, 0)
        assert poll_in([1, 0], alt) == 1 and committed(alt, 1) == ("v", w)
        assert is_poisoned(ch)


# Waiting


def test_post_leaves_one_offer_with_every_channel():
    for make in ALIKE:
        a, b, c = make(), make(), make()
        guards = ReadEnd(a), WriteGuard(b, "b"), Own(), ReadEnd(c), WriteGuard(c, "c")
        alt = Alt(*guards)
        assert alt.poll(False) == -1
        alt.post()
        assert alt.waits and alt._chosen is None and alt.wakes == 0
        o = alt._offers
        assert o[2] is None
        check(a, [o[0]])
        check(b, (), [o[1]])
        check(c, [o[3]], [o[4]])
        assert [o[i].value for i in (0, 1, 3, 4)] == [WAITING, "b", WAITING, "c"]


def test_alternatives_stand_in_a_queue_among_plain_operations():
    for make in ALIKE:
        ch = make()
        first = waits(ch, READ)
        alt = Alt(ReadEnd(ch))
        alt.post()
        last = waits(ch, READ)
        for i, who in enumerate((first, alt, last)):
            assert write(ch, i) == [who]
            ch.verify()
        assert (first.value, alt.result(), last.value) == (0, 1, 2)
        check(ch)


def test_meeting_one_guard_withdraws_all_the_others():
    for make in ALIKE:
        for met in range(4):
            chans = [make() for _ in range(4)]
            alt = Alt(*[WriteGuard(c, i) if i % 2 else ReadEnd(c) for i, c in enumerate(chans)])
            alt.post()
            # Others stand behind it: what is withdrawn is the head of a longer queue.
            others = []
            for i, ch in enumerate(chans):
                others.append(waits(ch, WRITE, -i) if i % 2 else waits(ch, READ))
            if met % 2:
                assert read(chans[met]) == (met, [alt])
                assert alt._offers[met].value is TAKEN and alt.result() == 0
            else:
                assert write(chans[met], "v") == [alt]
                assert alt.result() == "v"
            assert alt._chosen == met and not alt.waits and alt.wakes == 1
            for i, ch in enumerate(chans):
                check(ch, *(((), others[i : i + 1]) if i % 2 else (others[i : i + 1],)))


def test_several_guards_on_one_channel_count_as_one_choice():
    for make in ALIKE:
        ch = make()
        guards = [WriteGuard(ch, v) for v in "abc"]
        first = waits(ch, WRITE, "first")
        alt = Alt(*guards)
        alt.post()
        last = waits(ch, WRITE, "last")
        check(ch, (), [first] + alt._offers + [last])
        assert read(ch) == ("first", [first])
        assert read(ch) == ("a", [alt])
        check(ch, (), [last])
        assert alt._chosen == 0 and alt.result() == 0


def test_an_alternative_is_used_again():
    for make in ALIKE:
        a, b = make(), make()
        alt = Alt(ReadEnd(a), WriteGuard(b, "out"))
        for i in range(6):
            alt.post()
            assert alt.waits and alt._chosen is None
            check(a, alt._offers[:1])
            check(b, (), alt._offers[1:])
            if i % 2:
                assert read(b) == ("out", [alt]) and alt.result() == 0
            else:
                assert write(a, i) == [alt] and alt.result() == i
            assert alt._chosen == i % 2 and alt.wakes == i + 1
            check(a)
            check(b)


def test_withdrawing_an_alternative_leaves_nothing():
    for make in ALIKE:
        a, b = make(), make()
        r = waits(a, READ)
        alt = Alt(ReadEnd(a), WriteGuard(b, 1), ReadEnd(a), ReadEnd(b))
        alt.post()
        assert a.queue_len() == 3 and b.queue_len() == 2
        alt.withdraw()
        assert not alt.waits and alt._chosen is None and alt.wakes == 0
        check(a, [r])
        check(b)


def pair_of(ch, value, write_first):
    guards = [ReadEnd(ch), WriteGuard(ch, value)]
    return Alt(*(reversed(guards) if write_first else guards))


def test_an_alternative_with_both_guards_never_meets_itself():
    for make in ALIKE:
        for write_first in (False, True):
            ch = make()
            alt = pair_of(ch, "mine", write_first)
            assert alt.poll(False) == poll_in([1, 0], alt) == -1
            alt.post()
            ch.verify()
            assert alt.waits and alt._chosen is None and ch.queue_len() == 2
            alt.withdraw()
            check(ch)


def test_an_alternative_with_both_guards_meets_a_reader_or_a_writer():
    for make in ALIKE:
        for write_first in (False, True):
            ch = make()
            alt = pair_of(ch, "mine", write_first)
            alt.post()
            assert read(ch) == ("mine", [alt])
            assert alt.result() == 0 and alt._chosen == (0 if write_first else 1)
            check(ch)
            alt.post()
            assert write(ch, "theirs") == [alt]
            assert alt.result() == "theirs" and alt._chosen == (1 if write_first else 0)
            check(ch)
            alt.post()
            assert gives_back(ch, "back") == [alt] and alt.result() == "back"
            check(ch)


def test_two_alternatives_with_both_guards_meet():
    for make in ALIKE:
        for first in (False, True):
            for second in (False, True):
                for order in ([0, 1], [1, 0]):
                    ch = make()
                    one, two = pair_of(ch, "one", first), pair_of(ch, "two", second)
                    one.post()
                    i = poll_in(order, two)
                    assert i == order[0]
                    writes = (i == 0) == second
                    value, party = committed(two, i)
                    assert woken(party) == [one] and one.wakes == 1 and two.wakes == 0
                    if writes:
                        assert value == 0 and one.result() == "two"
                    else:
                        assert value == "one" and one.result() == 0
                    assert one._chosen == (1 if writes == first else 0)
                    check(ch)


# Poison while an alternative waits


def test_poison_of_one_guard_withdraws_the_others_and_raises():
    for make in ALIKE:
        for how in ("end_all", "end_writing", "end_close"):
            for hit in range(3):
                chans = [make() for _ in range(3)]
                alt = Alt(*[ReadEnd(ch) for ch in chans])
                alt.post()
                assert woken(getattr(chans[hit], how)()) == [alt]
                assert alt._chosen == hit and not alt.waits and alt.wakes == 1
                assert ends(alt.result)
                for i in range(3):
                    if i == hit:
                        assert is_poisoned(chans[i])
                    else:
                        check(chans[i])
                        assert not chans[i].poisoned


def test_poison_of_an_output_guard_raises_and_close_lets_it_wait():
    for make in ALIKE:
        for how in ("end_all", "end_writing"):
            a, b = make(), make()
            alt = Alt(ReadEnd(a), WriteGuard(b, "v"))
            alt.post()
            assert b.end_close() is None
            check(b, (), alt._offers[1:])
            assert alt.waits and not b.poisoned
            assert woken(getattr(b, how)()) == [alt]
            assert alt._chosen == 1 and ends(alt.result)
            check(a)
            assert is_poisoned(b)


def test_a_write_guard_on_a_closed_channel_can_be_read_or_withdrawn():
    for make in ALIKE:
        for met in (False, True):
            a, b = make(), make()
            alt = Alt(ReadEnd(a), WriteGuard(b, "v"))
            alt.post()
            b.end_close()
            if met:
                assert read(b) == ("v", [alt]) and alt.result() == 0
            else:
                assert write(a, 1) == [alt] and alt.result() == 1
            check(a)
            assert is_poisoned(b)


def test_poison_of_several_channels_wakes_an_alternative_once():
    for make in ALIKE:
        a, b = make(), make()
        one, two = Alt(ReadEnd(a), ReadEnd(b)), Alt(WriteGuard(channel(), 1), ReadEnd(b))
        one.post()
        two.post()
        assert woken(a.end_all()) == [one]
        assert woken(b.end_all()) == [two]
        assert one._chosen == 0 and two._chosen == 1
        assert one.wakes == two.wakes == 1


def test_a_result_is_given_after_poison_of_what_was_paired_before():
    for make in ALIKE:
        a, b = make(), make()
        alt = Alt(ReadEnd(a), ReadEnd(b))
        alt.post()
        assert write(a, "v") == [alt]
        assert a.end_all() is None and b.end_all() is None
        assert alt.result() == "v" and alt._chosen == 0


# Users' guards


def test_schedule_is_chosen_once_and_only_while_the_alternative_waits():
    for make in ALIKE:
        ch = make()
        own, stranger = Own(), Own()
        alt = Alt(ReadEnd(ch), own, WriteGuard(ch, 1))
        assert not alt.schedule_core(own, "early")
        assert alt.poll(False) == -1
        assert not alt.schedule_core(own, "before it waits")
        alt.post()
        assert not alt.schedule_core(stranger, "whose")
        assert alt.waits and ch.queue_len() == 2
        assert alt.schedule_core(own, "now")
        check(ch)
        assert not alt.schedule_core(own, "again")
        alt.disable_all()
        assert alt._chosen == 1 and alt.result() == "now"
        assert own.enabled == own.disabled == 1 and stranger.enabled == 0
        assert alt.wakes == 0  # whoever calls it wakes the party


def test_schedule_after_another_guard_was_met_is_not_chosen():
    ch = channel()
    own = Own()
    alt = Alt(own, ReadEnd(ch))
    assert alt.poll(False) == -1
    alt.post()
    assert write(ch, "v") == [alt]
    assert not alt.schedule_core(own, "late")
    alt.disable_all()
    assert alt._chosen == 1 and alt.result() == "v" and own.disabled == 1


def test_a_scheduled_value_is_not_kept():
    own = Own()
    alt = Alt(own)
    alt.poll(False)
    alt.post()
    assert alt.schedule_core(own, "v")
    assert alt.result() == "v" and alt._value is None


def test_guards_are_disabled_exactly_once_each():
    for ready in subsets(3):
        for order in orders(4):
            guards = [Own(r == 1, i) for i, r in enumerate(ready)]
            ch = channel()
            alt = Alt(*(guards + [ReadEnd(ch)]))
            i = poll_in(order, alt)
            if i < 0:
                alt.post()
                assert [g.disabled for g in guards] == [0, 0, 0]
                assert write(ch, "v") == [alt]
                alt.disable_all()
            else:
                assert committed(alt, i) == (i, None)
            asked = [0, 0, 0]
            for k in order:
                if k < 3:
                    asked[k] = 1
                if k == i:
                    break
            let_go = [n if k != i else 0 for k, n in enumerate(asked)]
            assert [g.enabled for g in guards] == asked
            assert [g.disabled for g in guards] == let_go
            alt.disable_all()
            assert [g.disabled for g in guards] == let_go
            check(ch)


def test_a_ready_channel_disables_the_guards_that_were_asked_before():
    ch = ready_channel(READ)
    before, behind = Own(), Own()
    alt = Alt(before, ReadEnd(ch), behind)
    i = alt.poll(False)
    assert (before.enabled, before.disabled) == (1, 0)
    assert committed(alt, i)[0] == "v"
    assert (before.enabled, before.disabled) == (1, 1)
    assert (behind.enabled, behind.disabled) == (0, 0)


def test_all_guards_are_let_go_though_one_of_them_raises():
    guards = [Own(), Stubborn(), Own()]
    alt = Alt(*guards)
    assert alt.poll(False) == -1
    try:
        alt.disable_all()
        raise AssertionError("nothing was raised")
    except KeyError:
        pass
    assert [(g.enabled, g.disabled) for g in guards] == [(1, 1)] * 3


def test_one_guard_in_two_places_is_asked_and_let_go_twice():
    ch = channel()
    own = Own()
    alt = Alt(own, ReadEnd(ch), own)
    assert alt.poll(False) == -1
    alt.post()
    assert alt.schedule_core(own, "v")
    alt.disable_all()
    assert alt._chosen == 0 and alt.result() == "v"
    assert own.enabled == own.disabled == 2
    check(ch)


def test_a_guard_whose_enable_raises_disables_the_others_and_posts_nothing():
    for order in orders(4):
        ch = channel()
        guards = [Own(), ReadEnd(ch), Broken(), Own()]
        alt = Alt(*guards)
        try:
            poll_in(order, alt)
            raised = False
        except KeyError:
            raised = True
        assert raised
        for i in (0, 3):
            asked = order.index(i) < order.index(2)
            assert guards[i].enabled == guards[i].disabled == (1 if asked else 0)
        assert guards[2].disabled == 0
        assert alt._enabled == [] and not alt.waits
        check(ch)


def test_a_timer_of_zero_is_ready_and_another_arms_the_alternative():
    class Armed(Alt):
        armed = None

        def arm(self, ms, guard):
            self.armed = (ms, guard)

        def disarm(self):
            self.armed = None

    timer = Timer(0.5)
    ch = channel()
    alt = Armed(ReadEnd(ch), timer)
    assert alt.poll(False) == -1
    assert alt.armed == (500, timer)
    alt.post()
    assert alt.schedule_core(timer, None)
    alt.disable_all()
    assert alt.armed is None and alt._chosen == 1 and alt.result() is None
    check(ch)
    alt = Armed(timer, Timer(ms=0))
    assert alt.poll(False) == 1 and committed(alt, 1) == (None, None)
    assert alt.armed is None


def test_what_is_no_guard_is_refused():
    ch = channel()
    for bad in (None, 1, ch, Skip, Guard, object(), [ReadEnd(ch)]):
        for guards in ((bad,), (ReadEnd(ch), bad)):
            try:
                Alt(*guards)
                refused = False
            except TypeError:
                refused = True
            assert refused, bad
    try:
        Alt()
        refused = False
    except ValueError:
        refused = True
    assert refused
    check(ch)


# Groups


class Crew(Group):
    """A group that counts its wakes and numbers the reads that were paired."""

    next = None
    wakes = 0

    def __init__(self, *members):
        self.stamps = []
        self.begin(members)

    def party(self):
        self.wakes += 1
        return self

    def stamp(self, offer):
        self.stamps.append(offer)


def reads(ch):
    return Offer(ch, READ)


def writes(ch, value):
    return WriteGuard(ch, value)


def posts(group, offer):
    """Whom an operation wakes that is posted."""
    return woken(group.post(offer, offer.pending if offer.op == WRITE else None))


def test_operations_that_need_not_wait_happen_at_once():
    for make in ALIKE:
        a, b = make(), make()
        ws = [waits(a, WRITE, v) for v in "xy"]
        rs = [waits(b, READ) for _ in range(2)]
        r, w = reads(a), writes(b, "out")
        crew = Crew(r, w)
        assert posts(crew, r) == ws[:1] and crew.left == 1
        assert posts(crew, w) == rs[:1] and crew.left == 0
        assert rs[0].value == "out" and rs[0].next is None and ws[0].value is TAKEN
        assert [crew.value_of(o) for o in (r, w)] == ["x", 0]
        assert crew.wakes == 0 and not crew.poisoned and crew.stamps == [r]
        check(a, (), ws[1:])
        check(b, rs[1:])


def test_operations_that_wait_wake_their_group_with_the_last():
    for make in ALIKE:
        for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
            chans = [make() for _ in range(3)]
            members = [reads(chans[0]), writes(chans[1], "out"), reads(chans[2])]
            crew = Crew(*members)
            for m in members:
                assert posts(crew, m) == [] and m.alt is crew
            check(chans[0], members[:1])
            check(chans[1], (), members[1:2])
            left = 3
            for i in order:
                assert crew.left == left and crew.wakes == 0
                left -= 1
                last = [crew] if left == 0 else []
                if i == 1:
                    assert read(chans[1]) == ("out", last)
                else:
                    assert write(chans[i], i) == last
                assert members[i].alt is None and members[i].next is None
                check(chans[i])
            assert crew.left == 0 and crew.wakes == 1
            assert [crew.value_of(m) for m in members] == [0, 0, 2]
            assert crew.stamps == [members[i] for i in order if i != 1]


def test_a_member_that_was_met_leaves_the_other_members_posted():
    for make in ALIKE:
        ch = make()
        members = [writes(ch, v) for v in "abc"]
        crew = Crew(*members)
        for m in members:
            posts(crew, m)
        w = waits(ch, WRITE, "behind")
        check(ch, (), members + [w])
        assert read(ch) == ("a", [])
        check(ch, (), members[1:] + [w])
        assert read(ch) == ("b", [])
        assert read(ch) == ("c", [crew])
        check(ch, (), [w])
        assert crew.wakes == 1


def test_members_of_one_group_meet_each_other():
    for make in ALIKE:
        for write_first in (False, True):
            ch = make()
            r, w = reads(ch), writes(ch, "v")
            members = [w, r] if write_first else [r, w]
            crew = Crew(*members)
            assert posts(crew, members[0]) == [] and crew.left == 2
            # Who posts is told to wake itself: all members have ended.
            assert posts(crew, members[1]) == [crew]
            assert crew.left == 0 and crew.wakes == 1
            assert crew.value_of(r) == "v" and crew.value_of(w) == 0
            check(ch)


def test_two_groups_meet():
    for make in ALIKE:
        a, b = make(), make()
        one = Crew(reads(a), writes(b, "from one"))
        for m in one.members:
            posts(one, m)
        two = Crew(writes(a, "from two"), reads(b))
        assert posts(two, two.members[0]) == [] and (one.left, two.left) == (1, 1)
        assert posts(two, two.members[1]) == [one] and (one.left, two.left) == (0, 0)
        assert [one.value_of(m) for m in one.members] == ["from two", 0]
        assert [two.value_of(m) for m in two.members] == [0, "from one"]
        assert (one.wakes, two.wakes) == (1, 0)
        check(a)
        check(b)


def test_a_group_meets_alternatives():
    for make in ALIKE:
        a, b = make(), make()
        one = Alt(ReadEnd(a), ReadEnd(b))
        one.post()
        w = writes(a, "v")
        crew = Crew(w, reads(b))
        assert posts(crew, w) == [one] and one.result() == "v" and crew.left == 1
        check(b)
        assert posts(crew, crew.members[1]) == []
        two = Alt(ReadEnd(a), WriteGuard(b, "back"))
        assert two.poll(False) == 1
        value, party = committed(two, 1)
        assert value == 0 and woken(party) == [crew]
        assert crew.value_of(crew.members[1]) == "back" and crew.left == 0
        check(a)
        check(b)


def test_poison_ends_some_members_and_the_others_go_on():
    for make in ALIKE:
        for how in ("end_all", "end_writing", "end_close"):
            a, b = make(), make()
            members = [reads(a), writes(b, "out"), reads(a)]
            crew = Crew(*members)
            for m in members:
                posts(crew, m)
            assert getattr(a, how)() is None
            assert crew.left == 1 and crew.wakes == 0
            assert is_poisoned(a)
            check(b, (), members[1:2])
            assert read(b) == ("out", [crew]) and crew.left == 0
            assert not crew.poisoned
            assert [crew.value_of(m) for m in members] == [None, 0, None]
            assert crew.poisoned and crew.wakes == 1


def test_poison_of_the_last_members_wakes_the_group_once_in_its_place():
    for make in ALIKE:
        for op in (READ, WRITE):
            ch = make()
            first = waits(ch, op)
            members = [reads(ch) if op == READ else writes(ch, 1) for _ in range(2)]
            crew = Crew(*members)
            posts(crew, members[0])
            between = waits(ch, op)
            posts(crew, members[1])
            last = waits(ch, op)
            assert woken(ch.end_all()) == [first, between, crew, last]
            assert crew.left == 0 and crew.wakes == 1
            assert [crew.value_of(m) for m in members] == [None, None] and crew.poisoned
            assert is_poisoned(ch)


def test_operations_on_an_ended_channel_end_at_once():
    for make in ALIKE:
        for how in ("end_all", "end_writing", "end_close"):
            ch = make()
            getattr(ch, how)()
            members = [reads(ch), writes(ch, 1)]
            crew = Crew(*members)
            for i, m in enumerate(members):
                assert posts(crew, m) == [] and crew.left == 1 - i
            assert [crew.value_of(m) for m in members] == [None, None] and crew.poisoned
            assert crew.wakes == 0 and crew.stamps == []
            assert is_poisoned(ch)


def test_a_group_reads_what_a_closed_channel_still_holds():
    for make in ALIKE:
        ch = make()
        w = waits(ch, WRITE, "v")
        gives_back(ch, "given")
        ch.end_close()
        members = [reads(ch), writes(ch, 1), reads(ch), reads(ch)]
        crew = Crew(*members)
        assert [posts(crew, m) for m in members] == [[], [], [w], []]
        assert [crew.value_of(m) for m in members] == ["given", None, "v", None]
        assert crew.left == 0 and crew.poisoned and crew.stamps == [members[0], members[2]]
        assert is_poisoned(ch)


def test_a_group_fills_and_empties_a_buffer():
    ch = BaseBufferedChannel("c", 2)
    members = [writes(ch, i) for i in range(3)] + [reads(ch) for _ in range(4)]
    crew = Crew(*members)
    for i in range(3):
        assert posts(crew, members[i]) == []
        assert crew.left == (6, 5, 5)[i]
    check(ch, (), members[2:3], 2)
    assert posts(crew, members[3]) == [] and crew.left == 3
    check(ch, buffered=2)
    for i in (4, 5, 6):
        assert posts(crew, members[i]) == []
    assert crew.left == 1
    check(ch, members[6:])
    assert write(ch, "last") == [crew]
    assert [crew.value_of(m) for m in members] == [0, 0, 0, 0, 1, 2, "last"]


def test_a_group_keeps_the_exception_that_came_first():
    crew = Crew()
    assert crew.exception is None
    errors = [ValueError("first"), ValueError("second")]
    for e in errors:
        crew.fail(e)
    assert crew.exception is errors[0]


# At random, against a model that keeps lists of who waits

ENDED = "ended"


class Line:
    """The model of a channel: an entry of its queues is (number of a party, index of a wish)."""

    def __init__(self, room):
        self.room = room  # None is unlimited
        self.state = "open"
        self.readers = []
        self.writers = []
        self.given = []  # (seq, value)
        self.buffer = []

    def can_read(self):
        return bool(self.given or self.buffer or self.writers or self.state != "open")

    def can_write(self):
        room = self.room is None or len(self.buffer) < self.room
        return bool(self.readers or room or self.state != "open")

    def length(self):
        return len(self.readers) + len(self.writers) + len(self.given) + len(self.buffer)

    def poisoned(self):
        return self.state != "open" and not (self.given or self.buffer or self.writers)


class Party:
    """Who wishes: a wish is (READ or WRITE or None for a user's guard, line, value)."""

    def __init__(self, number, kind, wishes):
        self.number = number
        self.kind = kind
        self.wishes = wishes
        self.left = len(wishes) if kind == "group" else 1
        self.outcomes = {}  # by index: what was read, 0 for a write, ENDED


class Model:
    def __init__(self):
        self.parties = {}  # who waits, by number
        self.woken = []

    def post(self, party, i):
        op, line, value = party.wishes[i]
        self.parties[party.number] = party
        if op is not None:
            (line.readers if op == READ else line.writers).append((party.number, i))

    def remove(self, party, i):
        op, line, value = party.wishes[i]
        if op is not None:
            queue = line.readers if op == READ else line.writers
            if (party.number, i) in queue:
                queue.remove((party.number, i))

    def withdraw(self, party):
        for i in range(len(party.wishes)):
            self.remove(party, i)
        del self.parties[party.number]

    def met(self, entry, outcome):
        number, i = entry
        party = self.parties[number]
        party.outcomes[i] = outcome
        party.left -= 1
        if party.left == 0:
            self.withdraw(party)
            self.woken.append(party)
        else:
            self.remove(party, i)

    def value(self, entry):
        return self.parties[entry[0]].wishes[entry[1]][2]

    def read(self, line):
        if line.given:
            return line.given.pop(0)[1]
        if line.buffer:
            v = line.buffer.pop(0)
            if line.writers:
                line.buffer.append(self.value(line.writers[0]))
                self.met(line.writers[0], 0)
            return v
        if line.writers:
            v = self.value(line.writers[0])
            self.met(line.writers[0], 0)
            return v
        return ENDED

    def write(self, line, value):
        if line.state != "open":
            return ENDED
        if line.readers:
            self.met(line.readers[0], value)
        else:
            line.buffer.append(value)
        return 0

    def is_ready(self, wish):
        op, line, value = wish
        if op is None:
            return value.ready
        return line.can_read() if op == READ else line.can_write()

    def happen(self, wish):
        op, line, value = wish
        if op is None:
            return value.value
        return self.read(line) if op == READ else self.write(line, value)

    def give_back(self, line, seq, value):
        if line.state == "dead":
            return
        if line.readers:
            self.met(line.readers[0], value)
        else:
            line.given = sorted(line.given + [(seq, value)])

    def end(self, line, how):
        if line.state == "dead" or (how == "end_close" and line.state != "open"):
            return
        while line.readers:
            self.met(line.readers[0], ENDED)
        while line.writers and how != "end_close":
            self.met(line.writers[0], ENDED)
        line.state = "closed"
        if how == "end_all":
            line.given = []
            line.buffer = []
            line.state = "dead"


class Player:
    """Plays the same random steps on channels and on their model."""

    ACTIONS = ("read", "write", "choose") * 5 + ("group", "withdraw", "give_back") * 3
    ACTIONS += ("schedule",) * 3 + ("end",) * 2 + ("renew",) * 3
    MOST_WAITING = 12

    def __init__(self, seed, rooms):
        self.seed = self._random = seed
        self.rooms = rooms  # "no": a Channel; else the capacity of a buffered one
        self.model = Model()
        self.chans = [self.new_channel(room) for room in rooms]
        self.lines = [self.new_line(room) for room in rooms]
        self.real = {}  # of who waits, by number: the offer, alternative or group
        self.back = []  # reads that could be cancelled: (seq, value, channel number, offer)
        self.step = 0
        self.seq = 0
        self.action = ""
        self.seen = {}  # how often what has happened: else the sequence shows nothing

    def new_channel(self, room):
        return channel() if room == "no" else BaseBufferedChannel("c", room)

    def new_line(self, room):
        return Line(0 if room == "no" else room)

    def random(self, n):
        self._random = (self._random * 1103515245 + 12345) & 0x7FFFFFFF
        return (self._random >> 12) % n

    def any_of(self, items):
        return items[self.random(len(items))]

    def same(self, what, expected, got):
        if expected != got:
            raise AssertionError("%s: expected %r, got %r" % (what, expected, got))

    def saw(self, what):
        self.seen[what] = self.seen.get(what, 0) + 1

    def play(self, steps):
        for self.step in range(steps):
            self.action = self.any_of(self.ACTIONS)
            if len(self.real) > self.MOST_WAITING:
                self.action = "withdraw"
            try:
                self.model.woken = []
                getattr(self, self.action)()
                self.compare()
            except Exception as e:
                raise AssertionError(
                    "seed %d, channels %r, step %d, %s: %s: %s"
                    % (self.seed, self.rooms, self.step, self.action, type(e).__name__, e)
                )

    # What is the same on both sides

    def happened(self, chain):
        """Those woken, and what became of them, are the same."""
        expected = self.model.woken
        got = woken(chain)
        self.same("woken", [p.number for p in expected], [x.number for x in got])
        self.model.woken = []
        for party, real in zip(expected, got):
            self.saw("woken " + party.kind)
            self.ended(party, real)

    def ended(self, party, real):
        self.real.pop(party.number, None)
        if party.kind == "group":
            got = [(i, self.outcome(o)) for i, o in enumerate(real.members)]
            self.same("left", 0, real.left)
        elif party.kind == "choice":
            real.disable_all()
            self.same("waits", False, real.waits)
            try:
                got = [(real._chosen, real.result())]
            except PoisonException:
                got = [(real._chosen, ENDED)]
            self.let_go(party)
        else:
            got = [(0, self.outcome(real))]
        self.same("outcome of %d" % party.number, sorted(party.outcomes.items()), got)
        for i, v in got:
            op, line, _ = party.wishes[i]
            if v == ENDED:
                self.saw("ended " + party.kind)
            elif op == READ and line in self.lines:
                self.seq += 1
                n = self.lines.index(line)
                offer = real if party.kind == "plain" else Offer(self.chans[n], READ)
                self.back = self.back[-7:] + [(self.seq, v, n, offer)]

    def outcome(self, o):
        if o.value is POISON:
            return ENDED
        return o.value if o.op == READ else 0

    def let_go(self, party):
        for op, line, own in party.wishes:
            if op is None:
                self.same("let go", own.enabled - (1 if own.ready else 0), own.disabled)

    def compare(self):
        self.same("woken but not looked at", [], [p.number for p in self.model.woken])
        for ch, line in zip(self.chans, self.lines):
            ch.verify()
            r, w = queues(ch)
            self.same("readers", line.readers, [self.entry(o) for o in r])
            given = [(o.seq, o.value) for o in w if o.op == GIVEN]
            self.same("given back", line.given, given)
            self.same("writers", line.writers, [self.entry(o) for o in w[len(given) :]])
            self.same("queue_len", line.length(), ch.queue_len())
            self.same("poisoned", line.poisoned(), ch.poisoned)
            self.same("can read", line.can_read(), ch._writers is not None)
            self.same("can write", line.can_write(), ch._readers is not None)
            if line.buffer or isinstance(ch, BaseBufferedChannel):
                self.same("buffered", line.buffer, values(ch))
        self.same("who waits", sorted(self.model.parties), sorted(self.real))

    def entry(self, o):
        if o.alt is None or isinstance(o.alt, Group):
            return o.number, o.index
        return o.alt.number, o.index

    # Steps

    def read(self):
        self.operate(READ)

    def write(self):
        self.operate(WRITE)

    def operate(self, op):
        n = self.random(len(self.chans))
        ch, line = self.chans[n], self.lines[n]
        wish = (op, line, self.step)
        if self.model.is_ready(wish):
            expected = self.model.happen(wish)
            try:
                if op == READ:
                    got, chain = ch.take()
                else:
                    got, chain = 0, ch.give(self.step)
            except PoisonException:
                got, chain = ENDED, None
            self.same("value", expected, got)
            self.happened(chain)
        else:
            o = waits(ch, op, WAITING if op == READ else self.step)
            o.number, o.index = self.step, 0
            self.real[self.step] = o
            self.model.post(Party(self.step, "plain", [wish]), 0)

    def wishes(self, most, own):
        wishes = []
        for _ in range(1 + self.random(most)):
            if own and self.random(6) == 0:
                guard = Own(self.random(3) == 0, "own %d" % self.step)
                wishes.append((None, None, guard))
            else:
                line = self.any_of(self.lines)
                value = self.step * 10 + len(wishes)
                wishes.append((self.any_of((READ, WRITE)), line, value))
        return wishes

    def end_of(self, wish):
        op, line, value = wish
        if op is None:
            return value
        ch = self.chans[self.lines.index(line)]
        return ReadEnd(ch) if op == READ else WriteGuard(ch, value)

    def choose(self):
        wishes = self.wishes(4, True)
        party = Party(self.step, "choice", wishes)
        alt = Alt(*[self.end_of(wish) for wish in wishes])
        alt.number = self.step
        order = list(range(len(wishes)))
        fair = self.random(2) == 1
        if fair:
            for _ in wishes:
                order.append(order.pop(self.random(len(order))))
            alt._order = order
        ready = [i for i in order if self.model.is_ready(wishes[i])]
        expected = (ready + [-1])[0]
        i = alt.poll(fair)
        self.same("first ready", expected, i)
        if i >= 0:
            expected = self.model.happen(wishes[i])
            try:
                got, chain = committed(alt, i)
            except PoisonException:
                got, chain = ENDED, None
            self.same("value", expected, got)
            for op, line, own in wishes:
                if op is None and not own.ready:
                    self.same("let go", own.enabled, own.disabled)
            self.happened(chain)
            return
        alt.post()
        self.real[self.step] = alt
        for i in range(len(wishes)):
            self.model.post(party, i)
        pairs = [(op, self.lines.index(line)) for op, line, _ in wishes if op is not None]
        if [1 for op, n in pairs if op == READ and (WRITE, n) in pairs]:
            self.saw("both guards on one channel")

    def group(self):
        wishes = self.wishes(3, False)
        party = Party(self.step, "group", wishes)
        members = []
        for i, wish in enumerate(wishes):
            o = self.end_of(wish)
            if wish[0] == READ:
                o = Offer(o.channel(), READ)
            o.number, o.index = self.step, i
            members.append(o)
        crew = Crew(*members)
        crew.number = self.step
        self.model.parties[self.step] = party
        self.real[self.step] = crew
        for i, wish in enumerate(wishes):
            if self.model.is_ready(wish):
                party.left -= 1
                party.outcomes[i] = self.model.happen(wish)
            else:
                self.model.post(party, i)
            chain = crew.post(members[i], wish[2])
            self.same("left", party.left, crew.left)
            if party in self.model.woken:
                # Its last member has met another one of its own.
                self.saw("group met itself")
            self.happened(chain)
        if party.left == 0 and self.step in self.real:
            del self.model.parties[self.step]
            self.ended(party, crew)

    def withdraw(self):
        if not self.real:
            return
        number = self.any_of(sorted(self.real))
        real = self.real.pop(number)
        party = self.model.parties[number]
        self.model.withdraw(party)
        if party.kind == "plain":
            real.channel.withdraw(real)
        elif party.kind == "choice":
            real.withdraw()
            real.disable_all()
            self.let_go(party)
        else:
            for o in real.members:
                if o.alt is real:
                    o.channel.withdraw(o)
        self.saw("withdrawn " + party.kind)

    def give_back(self):
        if not self.back:
            return
        seq, value, n, offer = self.back.pop(self.random(len(self.back)))
        self.model.give_back(self.lines[n], seq, value)
        offer.seq = seq
        self.saw("given back")
        self.happened(self.chans[n].give_back(offer, value))

    def schedule(self):
        waiting = [n for n in sorted(self.real) if isinstance(self.real[n], Choice)]
        if not waiting:
            return
        number = self.any_of(waiting)
        alt, party = self.real[number], self.model.parties[number]
        for i, wish in enumerate(party.wishes):
            if wish[0] is None:
                self.same("chosen", True, alt.schedule_core(wish[2], self.step))
                self.same("chosen again", False, alt.schedule_core(wish[2], -1))
                self.model.met((number, i), self.step)
                self.happened(alt.party())
                self.saw("scheduled")
                return

    def end(self):
        n = self.random(len(self.chans))
        how = self.any_of(("end_all", "end_writing", "end_close", "end_close"))
        self.model.end(self.lines[n], how)
        self.saw(how)
        self.happened(getattr(self.chans[n], how)())

    def renew(self):
        """Ended channels give way to fresh ones."""
        for n, line in enumerate(self.lines):
            if line.state != "open":
                self.model.end(line, "end_all")
                self.happened(self.chans[n].end_all())
                self.chans[n] = self.new_channel(self.rooms[n])
                self.lines[n] = self.new_line(self.rooms[n])
                self.back = [b for b in self.back if b[2] != n]


SHOWN = (
    "woken plain",
    "woken choice",
    "woken group",
    "ended plain",
    "ended choice",
    "ended group",
    "withdrawn plain",
    "withdrawn choice",
    "withdrawn group",
    "given back",
    "scheduled",
    "end_all",
    "end_writing",
    "end_close",
)


def play(rooms, seeds, steps=3000, shown=SHOWN):
    for seed in seeds:
        player = Player(seed, rooms)
        player.play(steps)
        for what in shown:
            assert player.seen.get(what, 0), "seed %d never saw: %s" % (seed, what)


def test_random_play_on_channels_agrees_with_the_model():
    play(("no", "no", "no"), (1, 2, 3), shown=SHOWN + ("both guards on one channel",))


def test_random_play_on_channels_without_room_agrees_with_the_model():
    play(("no", 0, 0), (4, 5), shown=SHOWN + ("both guards on one channel", "group met itself"))


def test_random_play_on_mixed_channels_agrees_with_the_model():
    play(("no", 0, 2), (6, 7))


def test_random_play_on_buffered_channels_agrees_with_the_model():
    play((1, 3, None), (8, 9))


class Armed:
    """Notes for how long it was armed, as an alternative that a Timer is enabled by."""

    ms = None

    def arm(self, ms, guard):
        self.ms = ms

    def disarm(self):
        self.ms = None


def test_a_timer_is_armed_for_its_time_unless_that_has_passed():
    for timer, ms in (
        (Timer(1), 1000),
        (Timer(2.5), 2500),
        (Timer(0.001), 1),
        (Timer(ms=1), 1),
        (Timer(ms=7), 7),
    ):
        alt = Armed()
        assert timer.enable(alt) == (False, None)
        assert alt.ms == ms
        timer.disable(alt)
        assert alt.ms is None
    for timer in Timer(0), Timer(-1), Timer(ms=0), Timer(ms=-3):
        assert timer.enable(Armed()) == (True, None)


class Exhausted(BaseChannel):
    """A channel where an operation finds no memory."""

    def post(self, *args):
        raise MemoryError

    take = post
    give = post


def test_an_alternative_that_finds_no_memory_leaves_no_offer():
    for n in range(3):
        channels = [channel() for _ in range(3)]
        channels.insert(n, Exhausted("full"))
        own = Own()
        alt = Alt(*[ReadEnd(ch) for ch in channels], own)
        assert alt.poll(False) == -1
        fails_for_memory(alt.post)
        assert not alt.waits
        assert all(ch.queue_of(READ) is None for ch in channels)
        assert alt.schedule_core(own, "late") is False


def fails_for_memory(f, *args):
    try:
        f(*args)
    except MemoryError:
        return
    raise KeyError("no MemoryError")


class All(Group):
    def party(self):
        return self


def test_a_group_that_finds_no_memory_waits_for_as_many_as_before():
    for op in READ, WRITE:
        ch = Exhausted("full")
        # A counterpart that is an alternative's: who writes to a plain reader needs no memory.
        other = Alt(WriteGuard(ch, "v") if op == READ else ReadEnd(ch))
        offer = Offer(ch, WRITE if op == READ else READ, other)
        offer.index = 0
        BaseChannel.post(ch, offer)
        group = All()
        group.begin((1, 2))
        left = group.left
        fails_for_memory(group.post, Offer(ch, op), "w")
        assert group.left == left
        assert ch.queue_of(op) is None and other.wakes == 0
