"""cspcore's channels with neither threads nor a loop: who meets whom, and whom to wake.

Offers are posted by hand, and the chains of those to wake are looked at, as the libraries would.
"""

import sys

from cspcore.buffered import MOST, BaseBufferedChannel
from cspcore.channel import (
    DEAD,
    DRAINED,
    GIVEN,
    MARKER,
    POISON,
    READ,
    TAKEN,
    WAITING,
    WRITE,
    BaseChannel,
    Offer,
)
from cspcore.choice import Choice, End, WriteGuard
from cspcore.errors import PoisonException
from cspcore.isr import Ring
from cspcore.names import is_operation, is_read
from cspcore.older import looping, next_of
from cspcore.process import BaseProcess, Failures, maker
from cspcore.process import Ring as Processes
from cspcore.timers import LONGEST_MS, Beat


class ReadEnd(End):
    op = READ


class Alt(Choice):
    """An alternative that counts how often it is woken."""

    next = None
    wakes = 0

    def party(self):
        self.wakes += 1
        return self


class PlainChannel(BaseChannel):
    """As the libraries' Channel: a choice may read it without `take`."""

    plain = True


def channel():
    return PlainChannel("c")


def read_by_take():
    return BaseChannel("c")


def without_room():
    return BaseBufferedChannel("c", 0)


# What holds for a channel holds for a buffered one of capacity 0, too.
ALIKE = (channel, read_by_take, without_room)


def woken(party):
    """The chain of those to wake as a list; taken apart, as the libraries do."""
    parties = []
    while party is not None:
        n = party.next
        party.next = None
        # A value that was given back has no party; a channel may name its offer all the same.
        if not (isinstance(party, Offer) and party.op == GIVEN):
            parties.append(party)
        party = n
    return parties


def waits(ch, op, value=WAITING):
    """The offer of a plain operation that found no counterpart."""
    assert (ch._writers if op == READ else ch._readers) is None
    o = Offer(ch, op)
    o.value = value
    ch.post(o)
    return o


def read(ch):
    """(value, whom it wakes) of a read that need not wait."""
    assert ch._writers is not None
    v, party = ch.take()
    return v, woken(party)


def write(ch, value):
    """Whom a write wakes that need not wait."""
    assert ch._readers is not None
    return woken(ch.give(value))


def gives_back(ch, value, seq=0):
    o = Offer(ch, READ)
    o.seq = seq
    return woken(ch.give_back(o, value))


def ends(f, *args):
    try:
        f(*args)
    except PoisonException:
        return True
    return False


def queues(ch):
    """The offers that wait to read, and those that wait to write or were given back."""
    if isinstance(ch, BaseBufferedChannel):
        return queue(ch._read_queue), queue(ch._write_queue)
    return queue(ch._readers), queue(ch._writers)


def queue(head):
    offers = []
    o = head
    while o is not None and o.op != MARKER:
        if offers:
            assert o.prev is offers[-1]
        offers.append(o)
        o = o.next
    if len(offers) > 1:
        assert head.prev is offers[-1]
    return offers


def check(ch, readers=(), writers=(), buffered=0):
    """Exactly these wait, in this order, and all invariants hold."""
    ch.verify()
    r, w = queues(ch)
    assert r == list(readers) and w == list(writers)
    assert ch.queue_len() == len(r) + len(w) + buffered


def is_poisoned(ch):
    """Poisoned for whoever looks: nobody waits, and every operation would raise."""
    check(ch)
    assert ch.poisoned is True
    assert ch._readers is not None and ends(ch.give, 1)
    assert ch._writers is not None and ends(ch.take)
    check(ch)
    return True


def permutations(items):
    if not items:
        yield []
    for i in range(len(items)):
        for rest in permutations(items[:i] + items[i + 1 :]):
            yield [items[i]] + rest


# Pairing


def test_a_fresh_channel_lets_nobody_proceed():
    for make in ALIKE:
        ch = make()
        assert ch._readers is None and ch._writers is None
        assert ch.poisoned is False
        check(ch)


def test_a_read_meets_the_oldest_writer():
    for make in ALIKE:
        ch = make()
        ws = [waits(ch, WRITE, v) for v in "abc"]
        check(ch, (), ws)
        for v in "abc":
            w = ws.pop(0)
            assert read(ch) == (v, [w])
            assert w.value is TAKEN and w.next is None
            check(ch, (), ws)
        assert ch._writers is None


def test_a_write_meets_the_oldest_reader():
    for make in ALIKE:
        ch = make()
        rs = [waits(ch, READ) for _ in range(3)]
        check(ch, rs)
        for v in "abc":
            r = rs.pop(0)
            assert write(ch, v) == [r]
            assert r.value == v and r.next is None
            check(ch, rs)
        assert ch._readers is None


def test_none_and_false_are_values_like_others():
    for make in ALIKE:
        for v in (None, False, 0, ()):
            ch = make()
            w = waits(ch, WRITE, v)
            assert read(ch) == (v, [w])
            r = waits(ch, READ)
            assert write(ch, v) == [r] and r.value is v
            check(ch)


def test_queues_stay_first_in_first_out_while_they_grow_and_shrink():
    for make in ALIKE:
        for op in (READ, WRITE):
            ch = make()
            waiting = []
            n = 0
            for grow, shrink in ((1, 1), (2, 1), (3, 2), (1, 3), (5, 2), (1, 4), (2, 2)):
                for _ in range(grow):
                    n += 1
                    waiting.append(waits(ch, op, WAITING if op == READ else n))
                    check(ch, *((waiting,) if op == READ else ((), waiting)))
                for _ in range(shrink):
                    o = waiting.pop(0)
                    if op == READ:
                        assert write(ch, n) == [o] and o.value == n
                    else:
                        v = o.value
                        assert read(ch) == (v, [o])
                    check(ch, *((waiting,) if op == READ else ((), waiting)))
            assert waiting == []


def test_offers_are_used_again():
    for make in ALIKE:
        ch = make()
        a, b = Offer(ch, READ), Offer(ch, READ)
        for i in range(5):
            for o in (a, b) if i % 2 else (b, a):
                o.value = WAITING
                ch.post(o)
            check(ch, (a, b) if i % 2 else (b, a))
            assert write(ch, i) == [a if i % 2 else b]
            assert write(ch, i) == [b if i % 2 else a]
            check(ch)


def test_withdrawing_in_any_order_keeps_the_others():
    for make in ALIKE:
        for op in (READ, WRITE):
            for n in (1, 2, 3, 4):
                for order in permutations(list(range(n))):
                    ch = make()
                    offers = [waits(ch, op, WAITING if op == READ else i) for i in range(n)]
                    left = offers[:]
                    for i in order:
                        ch.withdraw(offers[i])
                        left.remove(offers[i])
                        assert offers[i].next is None
                        check(ch, *((left,) if op == READ else ((), left)))
                    assert ch._readers is None and ch._writers is None


def test_who_comes_after_a_withdrawal_stands_last():
    for make in ALIKE:
        for n in (1, 2, 3, 4):
            for i in range(n):
                ch = make()
                offers = [waits(ch, WRITE, v) for v in range(n)]
                ch.withdraw(offers.pop(i))
                offers += [waits(ch, WRITE, "new"), waits(ch, WRITE, "newer")]
                check(ch, (), offers)
                for o in offers:
                    v = o.value
                    assert read(ch) == (v, [o])
                    ch.verify()


def test_verify_finds_what_is_broken():
    def both_wait(ch):
        waits(ch, WRITE, 1)
        ch._readers = Offer(ch, READ)

    def wrong_queue(ch):
        ch._writers = Offer(ch, READ)

    def stranger(ch):
        ch.post(Offer(channel(), READ))

    def not_linked_backwards(ch):
        for _ in range(3):
            last = waits(ch, READ)
        last.prev = ch._readers

    def last_unknown(ch):
        for _ in range(3):
            waits(ch, READ)
        ch._readers.prev = ch._readers

    def a_ready_reader_waits(ch):
        waits(ch, READ).value = 1

    def a_taken_writer_waits(ch):
        waits(ch, WRITE, TAKEN)

    def given_after_writers(ch):
        waits(ch, WRITE, 1)
        waits(ch, WRITE, 2).op = GIVEN

    def given_in_another_order(ch):
        for order in 2, 1:
            offer = waits(ch, WRITE, order)
            offer.op = GIVEN
            offer.seq = order

    def decided(ch):
        class Decided:
            waits = False

        ch.post(Offer(ch, READ, Decided()))

    def a_reader_waits_behind_an_alternative(ch):
        alternative = object()
        for offer in [Offer(ch, READ, alternative), Offer(ch, READ)]:
            ch.post(offer)
        ch._writers = Offer(ch, WRITE, alternative)

    def a_writer_waits_behind_an_alternative(ch):
        alternative = object()
        for offer in [Offer(ch, WRITE, alternative), Offer(ch, WRITE)]:
            ch.post(offer)
        ch._readers = Offer(ch, READ, alternative)

    def lets_writers_in(ch):
        ch._writers = DRAINED

    def no_end_of_writers(ch):
        ch._readers = DEAD

    assert_found(
        channel,
        both_wait,
        wrong_queue,
        stranger,
        not_linked_backwards,
        last_unknown,
        a_ready_reader_waits,
        a_taken_writer_waits,
        given_after_writers,
        given_in_another_order,
        decided,
        a_reader_waits_behind_an_alternative,
        a_writer_waits_behind_an_alternative,
        lets_writers_in,
        no_end_of_writers,
    )


def test_verify_finds_what_is_broken_in_a_buffered_channel():
    def wrong_queue(ch):
        ch._read_queue = Offer(ch, WRITE)
        ch._refresh()

    def wrong_queue_of_writers(ch):
        ch._append(1)
        ch._append(2)
        ch._write_queue = Offer(ch, READ)
        ch._refresh()

    def given_after_writers(ch):
        ch._append(1)
        ch._append(2)
        ch._refresh()
        waits(ch, WRITE, 3)
        waits(ch, WRITE, 4).op = GIVEN

    def a_reader_waits_before_values(ch):
        ch.post(Offer(ch, READ))
        ch._append(1)
        ch._refresh()

    def a_reader_waits_before_what_was_given_back(ch):
        ch.post(Offer(ch, READ))
        ch._write_queue = Offer(ch, GIVEN)
        ch._refresh()

    def a_writer_waits_beside_room(ch):
        ch.post(Offer(ch, WRITE))

    def too_full(ch):
        ch._append(1)
        ch._append(2)
        ch._refresh()
        ch._count = 3

    def closed_to_readers(ch):
        ch._append(1)

    def closed_to_writers(ch):
        ch._readers = None

    def poisoned_for_readers_alone(ch):
        ch._writers = DEAD

    def an_alternative_waits_to_read_what_is_buffered(ch):
        alternative = object()
        ch.post(Offer(ch, READ, alternative))
        for v in 1, 2:
            ch._append(v)
        ch.post(Offer(ch, WRITE, alternative))

    def last_unknown(ch):
        for _ in range(3):
            waits(ch, READ)
        ch._read_queue.prev = ch._read_queue

    assert_found(
        lambda: BaseBufferedChannel("c", 2),
        wrong_queue,
        wrong_queue_of_writers,
        given_after_writers,
        a_reader_waits_before_values,
        a_reader_waits_before_what_was_given_back,
        a_writer_waits_beside_room,
        too_full,
        closed_to_readers,
        closed_to_writers,
        poisoned_for_readers_alone,
        an_alternative_waits_to_read_what_is_buffered,
        last_unknown,
    )

    def others_wait_to_write_what_an_alternative_would_read(ch):
        ch.post(Offer(ch, READ, object()))
        ch.post(Offer(ch, WRITE))

    assert_found(without_room, others_wait_to_write_what_an_alternative_would_read)


def assert_found(make, *faults):
    for fault in faults:
        ch = make()
        ch.verify()
        fault(ch)
        try:
            ch.verify()
            found = False
        except AssertionError:
            found = True
        assert found, fault


def test_a_channel_has_no_other_names():
    for make in ALIKE:
        ch = make()
        assert hasattr(ch, "poisoned") and not hasattr(ch, "toxic")
        assert ch.external is False
    assert BaseChannel("c", True).external is True
    assert BaseBufferedChannel("c", 1, external=True).external is True


# Poison


def test_poison_ends_waiting_readers_first_come_first():
    for make in ALIKE:
        for how in ("end_all", "end_writing", "end_close"):
            for n in (1, 2, 3, 5):
                ch = make()
                rs = [waits(ch, READ) for _ in range(n)]
                assert woken(getattr(ch, how)()) == rs
                assert [r.value for r in rs] == [POISON] * n
                assert is_poisoned(ch)


def test_poison_ends_waiting_writers_first_come_first():
    for make in ALIKE:
        for how in ("end_all", "end_writing"):
            for n in (1, 2, 3, 5):
                ch = make()
                ws = [waits(ch, WRITE, i) for i in range(n)]
                assert woken(getattr(ch, how)()) == ws
                assert [w.value for w in ws] == [POISON] * n
                assert is_poisoned(ch)


def test_poison_of_an_idle_channel_wakes_nobody():
    for make in ALIKE:
        for how in ("end_all", "end_writing", "end_close"):
            ch = make()
            assert getattr(ch, how)() is None
            assert is_poisoned(ch)


def test_an_ended_channel_ends_in_any_other_way_and_wakes_nobody():
    ways = ("end_all", "end_writing", "end_close")
    for make in ALIKE:
        for first in ways:
            for second in ways:
                for third in ways:
                    ch = make()
                    waits(ch, READ)
                    woken(getattr(ch, first)())
                    assert getattr(ch, second)() is None
                    assert is_poisoned(ch)
                    assert getattr(ch, third)() is None
                    assert is_poisoned(ch)


def test_poison_ends_plain_operations_and_alternatives_in_one_order():
    for make in ALIKE:
        for how in ("end_all", "end_writing"):
            for op in (READ, WRITE):
                ch, other = make(), make()
                first = waits(ch, op)
                end = ReadEnd(ch) if op == READ else WriteGuard(ch, 1)
                alt = Alt(ReadEnd(other), end, end)
                alt.post()
                last = waits(ch, op)
                assert len(queues(ch)[0] + queues(ch)[1]) == 4 and other.queue_len() == 1
                assert woken(getattr(ch, how)()) == [first, alt, last]
                assert alt.wakes == 1 and alt._chosen == 1 and ends(alt.result)
                assert is_poisoned(ch)
                check(other)


def test_poison_ends_an_alternative_with_both_guards_once():
    for make in ALIKE:
        for how in ("end_all", "end_writing", "end_close"):
            for write_first in (False, True):
                ch = make()
                pair = [ReadEnd(ch), WriteGuard(ch, 1)]
                alt = Alt(*(reversed(pair) if write_first else pair))
                alt.post()
                ch.verify()
                assert ch.queue_len() == 2
                assert woken(getattr(ch, how)()) == [alt]
                assert alt.wakes == 1 and ends(alt.result)
                assert is_poisoned(ch)


# Whom a channel wakes


def test_an_alternative_refuses_a_channel_that_wakes_others():
    ch, other = channel(), channel()
    other.serves = "threads"
    for guard in ReadEnd(other), WriteGuard(other, 1):
        try:
            Alt(ReadEnd(ch), guard)
        except TypeError as er:
            assert "an end for threads" in str(er)
        else:
            assert False, "it was taken"
    other.serves = None
    Alt(ReadEnd(ch), ReadEnd(other))


# Close


def test_close_lets_waiting_writers_be_read_and_nobody_write():
    for make in ALIKE:
        for n in (1, 2, 3):
            ch = make()
            ws = [waits(ch, WRITE, i) for i in range(n)]
            assert ch.end_close() is None
            check(ch, (), ws)
            for i in range(n):
                assert ch.poisoned is False
                assert ends(ch.give, 1)
                assert read(ch) == (i, [ws[i]])
                assert ws[i].value is TAKEN and ws[i].next is None
                check(ch, (), ws[i + 1 :])
            assert is_poisoned(ch)


def test_close_twice_is_close_once():
    for make in ALIKE:
        ch = make()
        ws = [waits(ch, WRITE, i) for i in range(2)]
        assert ch.end_close() is None and ch.end_close() is None
        check(ch, (), ws)
        assert read(ch) == (0, ws[:1])
        assert ch.end_close() is None
        assert read(ch) == (1, ws[1:])
        assert is_poisoned(ch)


def test_a_closed_channel_whose_writers_withdraw_is_poisoned():
    for make in ALIKE:
        for order in permutations([0, 1, 2]):
            ch = make()
            ws = [waits(ch, WRITE, i) for i in range(3)]
            left = ws[:]
            ch.end_close()
            for i in order:
                assert ch.poisoned is False
                ch.withdraw(ws[i])
                left.remove(ws[i])
                check(ch, (), left)
            assert is_poisoned(ch)


def test_close_then_poison_ends_the_writers_left():
    for make in ALIKE:
        for how in ("end_all", "end_writing"):
            ch = make()
            ws = [waits(ch, WRITE, i) for i in range(4)]
            ch.end_close()
            assert read(ch) == (0, ws[:1])
            assert woken(getattr(ch, how)()) == ws[1:]
            assert [w.value for w in ws] == [TAKEN, POISON, POISON, POISON]
            assert is_poisoned(ch)


# Values given back


def test_a_value_given_back_goes_to_the_oldest_waiting_reader():
    for make in ALIKE:
        ch = make()
        rs = [waits(ch, READ) for _ in range(2)]
        assert gives_back(ch, "v") == rs[:1]
        assert [r.value for r in rs] == ["v", WAITING]
        check(ch, rs[1:])


def test_a_value_given_back_goes_to_a_waiting_alternative():
    for make in ALIKE:
        ch, other = make(), make()
        alt = Alt(ReadEnd(other), WriteGuard(ch, 1), ReadEnd(ch))
        alt.post()
        assert gives_back(ch, "v") == [alt]
        assert alt._chosen == 2 and alt.result() == "v"
        check(ch)
        check(other)


def test_a_value_given_back_stands_before_all_writers():
    for make in ALIKE:
        for n in (0, 1, 2, 3):
            ch = make()
            ws = [waits(ch, WRITE, i) for i in range(n)]
            o = Offer(ch, READ)
            o.seq = 7
            assert ch.give_back(o, "v") is None
            assert o.op == GIVEN and o.alt is None and o.value == "v"
            check(ch, (), [o] + ws)
            assert ch.poisoned is False
            ws.append(waits(ch, WRITE, n))
            check(ch, (), [o] + ws)
            assert read(ch) == ("v", [])
            check(ch, (), ws)
            for i in range(n + 1):
                assert read(ch) == (i, ws[i : i + 1])
            check(ch)


def test_values_given_back_keep_the_order_of_their_pairing():
    for make in ALIKE:
        for n in (0, 1, 2):
            for closed in (False, True):
                for order in permutations([1, 2, 3, 4]):
                    ch = make()
                    ws = [waits(ch, WRITE, i) for i in range(n)]
                    if closed:
                        ch.end_close()
                    for seq in order:
                        assert gives_back(ch, -seq, seq) == []
                        ch.verify()
                        given = queues(ch)[1][:-n] if n else queues(ch)[1]
                        assert [g.seq for g in given] == sorted([g.seq for g in given])
                    check(ch, (), given + ws)
                    for seq in (1, 2, 3, 4):
                        assert read(ch) == (-seq, [])
                        ch.verify()
                    check(ch, (), ws)
                    for i in range(n):
                        assert read(ch) == (i, ws[i : i + 1])
                    assert is_poisoned(ch) if closed else not ch.poisoned


def test_an_earlier_value_comes_back_after_some_were_read_again():
    for make in ALIKE:
        ch = make()
        for seq in (2, 3):
            gives_back(ch, seq, seq)
        assert read(ch) == (2, [])
        gives_back(ch, 5, 5)
        gives_back(ch, 1, 1)
        gives_back(ch, 4, 4)
        w = waits(ch, WRITE, "w")
        for v in (1, 3, 4, 5):
            assert read(ch) == (v, [])
            ch.verify()
        assert read(ch) == ("w", [w])


def test_a_drained_channel_can_be_read_again_when_a_value_comes_back():
    for make in ALIKE:
        for how in ("end_close", "end_writing"):
            ch = make()
            w = waits(ch, WRITE, "v")
            ch.end_close()
            assert read(ch) == ("v", [w])
            assert getattr(ch, how)() is None
            assert is_poisoned(ch)
            assert gives_back(ch, "v") == []
            ch.verify()
            assert ch.poisoned is False and ch.queue_len() == 1
            assert ends(ch.give, 1)
            assert read(ch) == ("v", [])
            assert is_poisoned(ch)


def test_a_value_given_back_to_a_poisoned_channel_is_dropped():
    for make in ALIKE:
        ch = make()
        ch.end_all()
        assert gives_back(ch, "v") == []
        assert is_poisoned(ch)


def test_only_a_writers_poison_spares_values_given_back():
    for make in ALIKE:
        for n in (0, 2):
            for closed in (False, True):
                for spares in (False, True):
                    ch = make()
                    ws = [waits(ch, WRITE, i) for i in range(n)]
                    gives_back(ch, "b", 2)
                    gives_back(ch, "a", 1)
                    if closed:
                        assert ch.end_close() is None
                        assert ch.queue_len() == 2 + n
                    assert woken(ch.end_writing() if spares else ch.end_all()) == ws
                    if spares:
                        ch.verify()
                        assert ch.queue_len() == 2 and not ch.poisoned and ends(ch.give, 1)
                        assert read(ch) == ("a", [])
                        ch.verify()
                        assert read(ch) == ("b", [])
                    assert is_poisoned(ch)


def test_poison_after_a_writers_poison_drops_values_given_back():
    for make in ALIKE:
        ch = make()
        gives_back(ch, "v")
        assert ch.end_writing() is None and ch.end_writing() is None
        assert ch.end_close() is None
        assert ch.queue_len() == 1
        assert ch.end_all() is None
        assert is_poisoned(ch)


# Buffered channels


def values(ch):
    """What is buffered, oldest first; what has left the ring is not kept there."""
    n = len(ch._ring)
    places = [(ch._first + i) % n for i in range(ch._count)]
    for i in range(n):
        assert i in places or ch._ring[i] is None
    return [ch._ring[i] for i in places]


def test_writes_proceed_while_there_is_room_and_then_wait():
    for capacity in (1, 2, 3, 5):
        ch = BaseBufferedChannel("c", capacity)
        assert ch._writers is None
        for i in range(capacity):
            assert write(ch, i) == []
            check(ch, buffered=i + 1)
        assert ch._readers is None
        ws = [waits(ch, WRITE, capacity + i) for i in range(3)]
        check(ch, (), ws, capacity)
        for i in range(capacity + 3):
            moved = ws[i : i + 1]
            assert read(ch) == (i, moved)
            assert [w.value for w in moved] == [TAKEN] * len(moved)
            check(ch, (), ws[i + 1 :], min(capacity, capacity + 2 - i))
        assert ch._writers is None and ch._readers is not None


def test_a_waiting_reader_gets_the_value_past_the_buffer():
    for capacity in (0, 1, 3, None):
        ch = BaseBufferedChannel("c", capacity)
        rs = [waits(ch, READ) for _ in range(3)]
        for i in range(3):
            assert write(ch, i) == [rs[i]] and rs[i].value == i
            check(ch, rs[i + 1 :])
        assert ch._count == 0


def test_the_ring_goes_round():
    for capacity in (1, 2, 3, 4, 7):
        for fill in range(1, capacity + 1):
            ch = BaseBufferedChannel("c", capacity)
            expected = []
            for i in range(3 * capacity + 5):
                if len(expected) == fill:
                    assert read(ch) == (expected.pop(0), [])
                    check(ch, buffered=len(expected))
                assert write(ch, i) == []
                expected.append(i)
                check(ch, buffered=len(expected))
                assert values(ch) == expected
            assert len(ch._ring) == capacity


def test_the_ring_of_an_unlimited_channel_doubles_at_any_state():
    for passed in range(9):
        ch = BaseBufferedChannel("c")
        for i in range(passed):
            write(ch, i)
            assert read(ch) == (i, [])
        for i in range(35):
            assert write(ch, i) == []
            check(ch, buffered=i + 1)
            assert values(ch) == list(range(i + 1))
        for i in range(35):
            assert read(ch) == (i, [])
            check(ch, buffered=34 - i)
        assert ch._writers is None


def test_a_withdrawn_writer_writes_nothing_into_the_buffer():
    for i in range(3):
        ch = BaseBufferedChannel("c", 1)
        write(ch, "first")
        ws = [waits(ch, WRITE, k) for k in range(3)]
        ch.withdraw(ws.pop(i))
        check(ch, (), ws, 1)
        got = [read(ch)[0] for _ in range(3)]
        assert got == ["first"] + [k for k in range(3) if k != i]
        check(ch)


def test_an_alternatives_write_moves_up_into_the_buffer():
    ch, other = BaseBufferedChannel("c", 1), channel()
    write(ch, 0)
    alt = Alt(ReadEnd(other), WriteGuard(ch, 1), WriteGuard(ch, 2))
    alt.post()
    w = waits(ch, WRITE, 3)
    assert ch.queue_len() == 4
    assert read(ch) == (0, [alt])
    assert alt._chosen == 1 and alt.result() == 0
    check(ch, (), [w], 1)
    check(other)
    assert read(ch) == (1, [w])
    assert read(ch) == (3, [])
    check(ch)


def test_given_back_then_buffered_then_waiting_values_are_read():
    for capacity in (1, 2, 3):
        for order in permutations([1, 2, 3]):
            ch = BaseBufferedChannel("c", capacity)
            for i in range(capacity):
                write(ch, ("buffered", i))
            ws = [waits(ch, WRITE, ("waits", i)) for i in range(2)]
            for seq in order:
                assert gives_back(ch, ("given", seq), seq) == []
                ch.verify()
            assert ch.queue_len() == 3 + capacity + 2
            for seq in (1, 2, 3):
                assert read(ch) == (("given", seq), [])
                ch.verify()
            check(ch, (), ws, capacity)
            got = [read(ch)[0] for _ in range(capacity + 2)]
            assert got[:capacity] == [("buffered", i) for i in range(capacity)]
            assert got[capacity:] == [("waits", 0), ("waits", 1)]
            check(ch)


def test_a_value_given_back_takes_no_room_in_the_buffer():
    ch = BaseBufferedChannel("c", 1)
    gives_back(ch, "given")
    assert ch._readers is not None
    assert write(ch, "buffered") == []
    assert ch._readers is None
    assert read(ch) == ("given", [])
    assert ch._readers is None
    check(ch, buffered=1)


def test_a_closed_buffer_is_drained_with_its_writers():
    for capacity in (1, 3):
        ch = BaseBufferedChannel("c", capacity)
        for i in range(capacity):
            write(ch, i)
        ws = [waits(ch, WRITE, capacity + i) for i in range(2)]
        gives_back(ch, "given")
        assert ch.end_close() is None
        assert ch.end_close() is None
        assert read(ch) == ("given", [])
        for i in range(capacity + 2):
            assert ch.poisoned is False and ends(ch.give, 1)
            assert read(ch) == (i, ws[i : i + 1])
            check(ch, (), ws[i + 1 :], min(capacity, capacity + 1 - i))
        assert is_poisoned(ch)


def test_a_writers_poison_leaves_the_buffer_and_ends_the_writers():
    for capacity in (1, 3):
        for closed in (False, True):
            ch = BaseBufferedChannel("c", capacity)
            for i in range(capacity):
                write(ch, i)
            ws = [waits(ch, WRITE, "lost") for _ in range(2)]
            gives_back(ch, "given")
            if closed:
                ch.end_close()
            assert woken(ch.end_writing()) == ws
            assert [w.value for w in ws] == [POISON, POISON]
            assert ch.end_writing() is None
            ch.verify()
            assert ch.queue_len() == capacity + 1 and not ch.poisoned and ends(ch.give, 1)
            assert read(ch) == ("given", [])
            for i in range(capacity):
                assert read(ch) == (i, [])
                check(ch, buffered=capacity - 1 - i)
            assert is_poisoned(ch)


def test_poison_drops_the_buffer():
    for capacity in (1, 3, None):
        for before in (None, "end_close", "end_writing"):
            ch = BaseBufferedChannel("c", capacity)
            for i in range(capacity or 10):
                write(ch, i)
            ws = [waits(ch, WRITE, i) for i in range(2)] if capacity else []
            gives_back(ch, "given")
            if before == "end_writing":
                assert woken(ch.end_writing()) == ws
                ws = []
            elif before:
                ch.end_close()
            assert woken(ch.end_all()) == ws
            assert is_poisoned(ch)
            assert ch.end_writing() is None and ch.end_close() is None
            assert is_poisoned(ch)


def test_a_negative_capacity_is_refused():
    for capacity in (-1, -7):
        try:
            BaseBufferedChannel("c", capacity)
            refused = False
        except ValueError:
            refused = True
        assert refused


def test_a_capacity_is_refused_only_if_no_memory_can_be_so_large():
    for capacity, error in (MOST, MemoryError), (MOST + 1, ValueError):
        try:
            BaseBufferedChannel("c", capacity)
            raised = None
        except (MemoryError, ValueError) as er:
            raised = type(er)
        assert raised is error


def test_a_channel_is_external_only_if_told():
    for Channel in BaseChannel, BaseBufferedChannel:
        assert Channel().external is Channel("c").external is False
        assert Channel("c", external=True).external is True
    assert BaseBufferedChannel("c", 3).external is False


def test_an_offer_knows_whether_it_is_queued():
    for new in ALIKE:
        for op in READ, WRITE:
            ch = new()
            first, second = waits(ch, op, 1), waits(ch, op, 2)
            assert first.is_queued() and second.is_queued()
            assert not Offer(ch, op).is_queued()
            ch.withdraw(first)
            assert not first.is_queued() and second.is_queued()


def test_what_an_offer_holds_says_its_name():
    assert [str(word) for word in (WAITING, TAKEN, POISON)] == ["WAITING", "TAKEN", "POISON"]


def named(f):
    p = BaseProcess()
    p._f = f
    return p.name


class Handle:
    later = within = None


def noted(failures):
    handles = []
    h = failures.first
    while h is not None:
        handles.append(h)
        h = h.later
    return handles


def test_failures_are_kept_in_their_order_until_asked_for():
    for gone in range(4):
        failures = Failures()
        handles = [Handle() for _ in range(4)]
        for h in handles:
            failures.note(h)
        assert noted(failures) == handles
        for _ in range(2):  # who asks twice, or was never noted, changes nothing
            failures.forget(handles[gone])
            failures.forget(Handle())
            assert noted(failures) == handles[:gone] + handles[gone + 1 :]
            assert handles[gone].later is None  # who keeps it keeps no other
        last = Handle()
        failures.note(last)
        assert noted(failures) == handles[:gone] + handles[gone + 1 :] + [last]


def test_what_will_never_be_started_has_poisoned_its_ends_and_belongs_to_nobody():
    channels = [channel() for _ in range(3)]
    ends = []
    for ch in channels:
        ends.append(ReadEnd(ch))
        ends[-1].poison = lambda strength, ch=ch: ch.end_all()
    p = BaseProcess()
    p._args = (ends[0], 7, [ends[1], (None, ends[2])])
    error = KeyError("why")
    assert p.forgo(error) is error
    assert p._group is False and all(is_poisoned(ch) for ch in channels)
    assert p.forgo(PoisonException()) is None


def test_only_cpython_closes_a_coroutine_that_will_never_be_started():
    class Coroutine:
        closed = False

        def close(self):
            self.closed = True

    p = BaseProcess()
    p._args = None
    p._f = Coroutine()
    p.forgo(KeyError("why"))
    assert p._f.closed == (sys.implementation.name == "cpython")  # which would warn of it


def test_before_micropython_1_21_an_end_is_its_own_loop_which_ends_by_poison():
    class End:
        def __call__(self):
            yield "waits"
            raise PoisonException

    end = End()
    assert looping(end) is end
    step = next_of(end)(end)
    assert next(step) == "waits"
    try:
        next(step)
    except StopAsyncIteration:
        return
    assert False, "the loop goes on"


def test_a_process_function_keeps_its_docstring_where_functions_have_one():
    made = maker(BaseProcess)(some_coroutine)
    if hasattr(some_coroutine, "__doc__"):
        assert (made.__name__, made.__doc__) == ("some_coroutine", "Does nothing.")


def some_coroutine():
    """Does nothing."""
    yield


class Odd:
    """Says what it likes of itself, as coroutines do where they have no name."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text


def test_a_process_has_the_name_of_its_function_or_coroutine():
    assert named(named) == "named"
    assert named(some_coroutine()) == "some_coroutine"
    assert named(Odd("<odd 'what' at 7>")) == "what"
    assert named(Odd("<it's odd>")) == "a process"
    assert named(object()) == "a process"
    try:
        BaseProcess().other
        raise KeyError("it has an attribute `other`")
    except AttributeError as er:
        assert "other" in str(er)


# Operations by name


def csp_read():
    yield


def csp_write():
    yield


def bridge_read():
    yield


def test_an_operation_is_known_by_the_name_of_its_generator():
    for operation, prefix, reads in (
        (csp_read(), "'csp_", True),
        (csp_write(), "'csp_", False),
        (bridge_read(), "'bridge_", True),
    ):
        assert is_operation(operation, prefix) and is_read(operation) is reads
        assert is_operation(operation) is (prefix == "'csp_")
    for other in some_coroutine(), csp_read, "'csp_read'", None:
        assert not is_operation(other)


# Values of interrupts


def test_a_ring_without_room_counts_what_it_loses():
    ring = Ring(0)
    for n in 1, 2:
        assert not ring.put("v")
        assert ring.lost == n and ring.is_empty() and ring.count() == 0


def test_a_ring_keeps_as_many_values_as_it_has_room_for_in_their_order():
    for size in (1, 2, 3):
        ring = Ring(size)
        n = 0
        for _ in range(2 * size + 3):
            assert [ring.put(n + i) for i in range(size + 1)] == [True] * size + [False]
            assert ring.count() == size
            assert [ring.take() for _ in range(size)] == [n + i for i in range(size)]
            assert ring.is_empty()
            n += size
        assert ring.lost == 2 * size + 3


# Moments


class Clock:
    """Ticks that pass when they are told to, round at the same number as a board's."""

    PERIOD = 1 << 29

    def __init__(self):
        self.now = self.PERIOD - 7

    def ticks_ms(self):
        return self.now

    def ticks_add(self, ticks, ms):
        return (ticks + ms) % self.PERIOD

    def ticks_diff(self, end, start):
        half = self.PERIOD // 2
        return (end - start + half) % self.PERIOD - half

    def passes(self, ms):
        self.now = self.ticks_add(self.now, ms)


def test_a_beat_tells_how_many_of_its_moments_have_come_and_does_not_drift():
    clock = Clock()
    beat = Beat(clock, 10)
    for ms, come, rest in (
        (0, 0, 10), (9, 0, 1), (1, 1, 10), (10, 1, 10), (14, 1, 6), (5, 0, 1), (31, 4, 10),
        (29, 2, 1),
    ):
        clock.passes(ms)
        assert (beat.skip(), beat.rest_ms()) == (come, rest)


def test_a_beat_that_nobody_has_looked_at_for_too_long_begins_anew():
    for ms in (LONGEST_MS + 2000, Clock.PERIOD - 1, Clock.PERIOD // 2 + 1):
        clock = Clock()
        beat = Beat(clock, 1000)
        clock.passes(ms)
        assert beat.skip() == 1
        assert beat.rest_ms() == 1000 and beat.skip() == 0


# The ring of the processes that live


class Linked:
    def leave(self):
        self._older._newer = self._newer
        self._newer._older = self._older
        self._older = self._newer = None


def ring_of(n):
    ring = Processes()
    members = [Linked() for _ in range(n)]
    for p in members:
        ring.add(p)
    return ring, members


def test_a_process_may_leave_its_ring_while_it_is_looked_at():
    ring, members = ring_of(3)
    seen = []
    for p in ring.each():
        seen.append(p)
        p.leave()
    assert seen == members and ring.is_empty()


def test_others_may_leave_a_ring_meanwhile():
    ring, members = ring_of(5)
    seen = []
    for p in ring.each():
        seen.append(p)
        if p is members[0]:
            members[1].leave()
        if p is members[2]:
            members[0].leave()
            members[3].leave()
    assert seen == [members[0], members[2], members[4]]
    assert list(ring.each()) == [members[2], members[4]] and ring.oldest() is members[2]
