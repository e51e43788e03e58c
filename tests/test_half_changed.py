"""What ends for want of memory has changed nothing: MicroPython, with its heap locked.

Where several allocations follow one another, faults/test_exhaustion.py lets each of them fail.
"""

import micropython

from cspcore.buffered import BaseBufferedChannel
from cspcore.channel import DEAD, DRAINED, READ, BaseChannel, Offer
from cspcore.choice import WriteGuard
from cspcore.group import Group
from cspcore.life import join
from cspcore.process import no_memory, unchanged
from cspcore.verify import verify

INTERPRETERS = ("micropython",)


class Party(Group):
    """A Parallel of nothing but guards, which waits."""

    def __init__(self, *guards):
        self.begin(guards)
        self.pending = [self.post(g, g.pending) for g in guards]

    def stamp(self, offer):
        pass

    def party(self):
        return None


class End:
    """A counted end."""

    op = None

    def __init__(self, channel):
        self._channel = channel


class Writer(End):
    op = 1 - READ


def without_memory(f):
    """Whether f() raises MemoryError where nothing can be allocated."""
    micropython.heap_lock()
    try:
        f()
    except MemoryError:
        return True
    finally:
        micropython.heap_unlock()
    return False


def with_a_lone_guard(ch=None):
    # Its own attributes are as few as a guard has that waits with no other.
    ch = ch or BaseChannel("c")
    ch._life = None
    guard = WriteGuard(ch, 7)
    assert Party(guard).pending == [None] and ch.queue_len() == 1
    return ch, guard


def test_a_close_without_memory_has_closed_nothing():
    ch, guard = with_a_lone_guard()
    assert without_memory(ch.end_close)
    assert ch._readers is None and ch._writers is guard
    verify(ch)
    ch.end_close()
    verify(ch)
    assert ch._readers is DEAD and ch._writers is guard
    assert ch.take()[0] == 7
    assert ch._writers is DRAINED


def test_a_writer_that_finds_no_memory_to_retire_has_not_retired():
    ch, guard = with_a_lone_guard()
    first, last = join(ch, Writer)._channel, join(ch, Writer)._channel
    first.retire()
    assert without_memory(last.retire)
    assert not last.retired and ch._life.writers == 1 and ch._readers is None
    verify(ch)
    last.retire()
    assert last.retired and ch._life.writers == 0 and ch._readers is DEAD
    assert ch.take()[0] == 7
    assert ch._writers is DRAINED


def test_a_value_that_finds_no_memory_to_be_given_back_can_be_given_back_later():
    for ch in (BaseChannel("c"), BaseBufferedChannel("c", 0)):
        with_a_lone_guard(ch)
        given = Offer(ch, READ)
        assert without_memory(lambda: ch.give_back(given, 1))
        assert given.op == READ and given.next is None and ch.queue_len() == 1
        verify(ch)
        ch.give_back(given, 1)
        assert [ch.take()[0] for _ in range(2)] == [1, 7]


def while_there_is_none(f):
    """What f gives where nothing can be allocated."""
    micropython.heap_lock()
    try:
        return f()
    finally:
        micropython.heap_unlock()


def test_a_memory_error_that_is_to_stay_one_is_not_that_of_all_exceptions():
    of_all = while_there_is_none(MemoryError)
    kept = while_there_is_none(no_memory)
    assert kept is not of_all and kept is while_there_is_none(no_memory)
    # Another exception comes, and nobody can tell what the kept one was but who has noted it.
    assert while_there_is_none(ValueError) is of_all and not isinstance(of_all, MemoryError)
    assert isinstance(kept, MemoryError)
    assert unchanged(of_all, False) is of_all and isinstance(unchanged(of_all, True), MemoryError)


def test_while_there_is_memory_each_memory_error_is_its_own():
    assert no_memory() is not no_memory()
    error = MemoryError()
    assert unchanged(error, True) is error


def test_a_memory_error_that_others_may_change_is_not_raised_while_they_may():
    of_all = while_there_is_none(MemoryError)
    assert unchanged(of_all, True) is of_all
    kept = while_there_is_none(lambda: unchanged(of_all, True))
    assert kept is while_there_is_none(no_memory)
