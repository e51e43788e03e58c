"""What takes how much of the heap, on MicroPython: nothing at all where that is promised."""

import gc

import micropython
from uthreading import kept

import uapycsp
import upycsp

INTERPRETERS = ("micropython",)
HEAP = "8M"


@upycsp.process
def answers(cin, cout):
    while True:
        cout(cin())


@upycsp.process
def asks_under_heap_lock(cout, cin, n, failures):
    for i in range(10):
        cout(i)
        cin()
    micropython.heap_lock()
    try:
        for i in range(n):
            cout(i)
            if cin() != i:
                failures[0] += 1
    finally:
        micropython.heap_unlock()
    cout.poison()


def test_reads_and_writes_of_upycsp_allocate_nothing():
    a = upycsp.Channel("a")
    b = upycsp.Channel("b")
    failures = [0]
    upycsp.run(
        answers(a.read, b.write), asks_under_heap_lock(a.write, b.read, 1000, failures)
    )
    assert failures == [0]


@upycsp.process
def answers_under_heap_lock(cin, cout, n):
    for i in range(10):
        cout(cin())
    micropython.heap_lock()
    try:
        for i in range(n):
            cout(cin())
    finally:
        micropython.heap_unlock()


@upycsp.process
def asks(cout, cin, n):
    for i in range(n):
        cout(i)
        assert cin() == i


def test_the_other_side_allocates_nothing_either():
    a = upycsp.Channel("a")
    b = upycsp.Channel("b")
    upycsp.run(answers_under_heap_lock(a.read, b.write, 1000), asks(a.write, b.read, 1010))


def test_a_heap_lock_does_find_an_allocation():
    micropython.heap_lock()
    try:
        found = False
        try:
            upycsp.Channel("a")
        except MemoryError:
            found = True
    finally:
        micropython.heap_unlock()
    assert found


def test_a_kept_thread_is_started_without_a_new_thread():
    @upycsp.process
    def nothing():
        pass

    upycsp.run(nothing())
    before = sum(kept.counts())
    for _ in range(500):
        upycsp.run(nothing())
    # A watchdog that ends just then is not idle yet, and the next one takes another thread.
    assert sum(kept.counts()) <= before + 1


async def _waits(cin):
    return await cin()


async def _network(n):
    chans = [uapycsp.Channel() for _ in range(n)]
    gc.collect()
    before = gc.mem_alloc()
    handles = [uapycsp.Spawn(_waits(c.read)) for c in chans]
    while sum([c.queue_len() for c in chans]) < n:
        await uapycsp.Alternative(uapycsp.Timer(ms=1)).select()
    gc.collect()
    each = (gc.mem_alloc() - before) // n
    for i in range(n):
        await chans[i].write(i)
    for i in range(n):
        assert await handles[i] == i
    return each


def test_two_thousand_processes_wait_in_eight_megabytes():
    assert uapycsp.run(_network(2000)) < 1200
