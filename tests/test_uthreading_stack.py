"""Stack sizes. In a file of its own: threads with other stacks stay, and would disturb others."""

from _thread import get_ident

import uthreading
from uthreading import kept

from uthreading_support import MICROPYTHON, count_starts, run_and_wait


def test_a_thread_with_less_stack_than_asked_for_is_not_used():
    def idents(size):
        found = []
        old = uthreading.stack_size(size)
        try:
            run_and_wait(lambda: found.append(get_ident()))
        finally:
            assert uthreading.stack_size(old) == size
        return found[0]

    big = 8 * 1024 * 1024
    assert count_starts(lambda: idents(big)) == 1  # those before had the default
    assert count_starts(lambda: idents(2 * big)) == 1
    assert count_starts(lambda: idents(2 * big)) == 0
    assert count_starts(lambda: idents(big)) == 0
    assert idents(0) not in (idents(big), idents(2 * big))  # the default may be larger
    assert count_starts(lambda: idents(0)) == 0
    assert kept.counts()[1] == 0


def test_a_stack_size_is_really_used():
    if not MICROPYTHON:
        return  # CPython's own limit on recursion comes first

    def dive(depth):
        return 1 + dive(depth - 1) if depth else 0

    # With the default stack this is a RuntimeError; with this one it is far from the limit.
    reached = []
    old = uthreading.stack_size(4 * 1024 * 1024)
    try:
        run_and_wait(lambda: reached.append(dive(2000)))
    finally:
        uthreading.stack_size(old)
    assert reached == [2000]


def test_stack_size_refuses_a_negative_size():
    try:
        uthreading.stack_size(-1)
    except ValueError:
        assert uthreading.stack_size() == 0
    else:
        assert False, "accepted"


def test_a_small_stack_size_is_rounded_up():
    old = uthreading.stack_size(4096)
    seen = []
    try:
        run_and_wait(lambda: seen.append(1))
    finally:
        uthreading.stack_size(old)
    assert seen == [1]
