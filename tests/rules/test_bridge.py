"""Bridges, as each library's own processes see them: the ends `read` and `write`."""

import _thread
import sys

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    LIMIT_MS,
    MICROPYTHON,
    POISONED,
    Log,
    block_ms,
    choose,
    collect,
    give,
    give_from,
    idle,
    join,
    join_all,
    par,
    part,
    posted,
    raises,
    sentence,
    settle,
    skip,
    sleep_ms,
    take,
    until,
    until_blocking,
    waiting_readers,
    waiting_writers,
)
from upycsp.wait import lock

try:
    import micropython
except ImportError:
    micropython = None

Bridge = part("bridge").Bridge


def in_thread(f, *args):
    """Runs f in another thread, which stands for an interrupt, to its end."""
    ended = Log()

    def body():
        f(*args)
        ended.add(True)

    _thread.start_new_thread(body, ())
    while not ended.count():
        block_ms(1)


async def test_values_pass_in_order():
    ch = Bridge("b")
    log = Log()
    await par(give_from(ch.write, (1, 2, 3)), take_three(ch.read, log))
    assert log.items() == [1, 2, 3]
    assert idle(ch)


@csp.process
async def take_three(cin, log):
    for _ in range(3):
        log.add(await cin())


async def test_a_write_waits_for_its_reader():
    ch = Bridge("b")
    (h,) = await waiting_writers(ch, (7,))
    await settle()
    assert not h.done()
    assert await ch.read() == 7
    assert await join(h) == 0
    assert idle(ch)


async def test_readers_and_writers_are_served_first_come_first_served():
    ch = Bridge("b")
    readers = await waiting_readers(ch, 3)
    for v in (1, 2, 3):
        await ch.write(v)
    assert await join_all(readers) == [1, 2, 3]
    writers = await waiting_writers(ch, (4, 5, 6))
    assert [await ch.read(), await ch.read(), await ch.read()] == [4, 5, 6]
    await join_all(writers)
    assert idle(ch)


async def test_a_capacity_lets_writers_go_on():
    ch = Bridge("b", capacity=2)
    await ch.write(1)
    await ch.write(2)
    h = await posted(ch, give(ch.write, 3), 3)
    await settle()
    assert not h.done()
    assert await ch.read() == 1
    await join(h)
    assert ch.queue_len() == 2
    assert [await ch.read(), await ch.read()] == [2, 3]
    assert idle(ch)


async def test_an_unlimited_bridge_takes_all():
    ch = Bridge("b", capacity=None)
    for i in range(40):
        await ch.write(i)
    ch.write.poison()
    log = Log()
    await collect_all(ch.read, log)
    assert log.items() == list(range(40))


async def collect_all(cin, log):
    async for v in cin:
        log.add(v)


async def test_poison_wakes_readers():
    ch = Bridge("b")
    readers = await waiting_readers(ch, 2)
    ch.poison()
    assert await join_all(readers) == [POISONED] * 2
    assert ch.poisoned
    with raises(csp.PoisonException):
        await ch.read()
    with raises(csp.PoisonException):
        await ch.write(1)
    assert idle(ch)


async def test_poison_wakes_writers():
    ch = Bridge("b")
    writers = await waiting_writers(ch, (1, 2))
    ch.read.poison()
    assert await join_all(writers) == [POISONED] * 2
    assert idle(ch)


async def test_close_lets_waiting_writers_be_read():
    ch = Bridge("b")
    writers = await waiting_writers(ch, (1, 2))
    ch.close()
    assert await take_one(give(ch.write, 3)) == POISONED
    log = Log()
    await collect_all(ch.read, log)
    assert log.items() == [1, 2]
    assert await join_all(writers) == [0, 0]
    assert ch.poisoned
    assert idle(ch)


async def take_one(p):
    return (await par(p))[0]


@csp.process
async def dies(cin, cout):
    raise ValueError("as it should")


async def test_a_process_that_dies_poisons_its_ends():
    a, b = Bridge("a"), Bridge("b")
    with raises(ValueError):
        await par(dies(a.read, [b.write]))
    assert a.poisoned and b.poisoned


async def test_iteration_ends_at_poison():
    ch = Bridge("b")
    log = Log()
    h = csp.Spawn(collect(ch.read, log))
    await ch.write(1)
    ch.poison()
    await join(h)
    assert log.items() == [1]


async def test_a_choice_takes_the_first_that_is_ready():
    a, b = Bridge("a"), Bridge("b")
    writers = [await posted(a, give(a.write, 1), 1), await posted(b, give(b.write, 2), 1)]
    alt = csp.Alternative(b.read, a.read)
    g, v = await alt.select()
    assert g is b.read and v == 2
    g, v = await alt.select()
    assert g is a.read and v == 1
    await join_all(writers)
    assert idle(a, b)


async def test_a_choice_waits_and_leaves_nothing():
    a, b = Bridge("a"), Bridge("b")
    h = csp.Spawn(choose(a.read, b.read))
    await settle()
    await b.write(5)
    g, v = await join(h)
    assert g is b.read and v == 5
    assert idle(a, b)
    assert not a.wanted and not b.wanted


async def test_a_choice_writes():
    ch = Bridge("b")
    guard = ch.write.alt_pending_write(9)
    h = csp.Spawn(choose(guard))
    await settle()
    assert await ch.read() == 9
    g, v = await join(h)
    assert g is guard and v == 0
    (r,) = await waiting_readers(ch, 1)
    await choose_now(guard)
    assert await join(r) == 9
    assert idle(ch)


async def choose_now(*guards):
    return await csp.Alternative(*guards).select()


async def test_two_choices_meet():
    ch = Bridge("b")
    reads = csp.Spawn(choose(ch.read))
    await settle()
    g, v = await csp.Alternative(ch.write.alt_pending_write(3)).select()
    assert v == 0
    assert (await join(reads))[1] == 3
    writes = csp.Spawn(choose(ch.write.alt_pending_write(4)))
    await settle()
    g, v = await csp.Alternative(ch.read).select()
    assert v == 4
    assert (await join(writes))[1] == 0
    assert idle(ch)
    assert not ch.wanted


async def test_a_choice_does_not_overtake_what_is_buffered():
    for capacity in (1, 2, 3):
        ch = Bridge("b", capacity)
        log = Log()
        h = csp.Spawn(chooses_three(ch.read, log))
        await settle()
        for i in range(3):
            await ch.write.within(LIMIT_MS, i)
        await join(h)
        assert log.items() == [0, 1, 2]
        assert idle(ch)
        assert not ch.wanted


@csp.process
async def chooses_three(cin, log):
    alt = csp.Alternative(cin, csp.Timer(ms=LIMIT_MS))
    for _ in range(3):
        log.add((await alt.select())[1])


async def test_a_choice_does_not_overtake_an_interrupt():
    ch = Bridge("b", isr=2)
    log = Log()
    h = csp.Spawn(chooses_three(ch.read, log))
    await settle()
    ch.from_isr(1)
    ch.from_isr(2)
    await ch.write.within(LIMIT_MS, 3)
    await join(h)
    assert log.items() == [1, 2, 3]
    assert idle(ch)


def plainly(ch):
    async def write():
        await ch.write(2)

    return write


def within(ch):
    async def write():
        await ch.write.within(LIMIT_MS, 2)

    return write


def by_choice(ch):
    alt = csp.Alternative(ch.write.alt_pending_write(2), csp.Timer(ms=LIMIT_MS))

    async def write():
        g, v = await alt.select()
        assert g is not alt.guards[1]

    return write


def by_guard(ch):
    guard = ch.write.alt_pending_write(2)

    async def write():
        await par(guard)

    return write


def by_operation(ch):
    async def write():
        await par(ch.write(2))

    return write


def by_counted_end(ch):
    cout = ch.writer()

    async def write():
        await cout(2)

    return write


def ways_to_write():
    ways = [plainly, within, by_choice]
    if LIB != "uapycsp":
        ways += [by_guard, by_counted_end]
    if AWAITABLE:
        ways.append(by_operation)
    return ways


async def test_no_write_overtakes_an_interrupt_that_came_before():
    for capacity in (0, 1):
        for reads in (reads_two, chooses_two):
            for way in ways_to_write():
                ch = Bridge("b", capacity, isr=2)
                log = Log()
                write = way(ch)
                h = csp.Spawn(reads(ch.read, log))
                await settle()
                ch._told = True  # and the call that was scheduled is late
                with lock:  # held by somebody when the interrupt comes
                    ch.from_isr(1)
                await write()
                await join(h)
                assert log.items() == [1, 2], (capacity, reads, way)
                assert idle(ch)


async def test_a_process_of_plugnplay_writes_to_a_bridge():
    if LIB == "uapycsp":
        skip("there the ends of tasks are no other ones")
    a, b = csp.Channel("a"), Bridge("b", 1)
    h = csp.Spawn(csp.plugnplay.Identity(a.read, b.write))
    await a.write(1)
    assert await b.read() == 1
    a.poison()
    await join(h)
    assert b.poisoned


async def test_a_write_beside_a_value_that_nobody_has_read():
    for way in ways_to_write():
        ch = Bridge("b", 1, isr=2)
        ch.from_isr(1)
        await way(ch)()
        assert [await ch.read(), await ch.read()] == [1, 2]
        assert idle(ch)


@csp.process
async def reads_two(cin, log):
    log.add(await cin())
    log.add(await cin())


@csp.process
async def chooses_two(cin, log):
    alt = csp.Alternative(cin, csp.Timer(ms=LIMIT_MS))
    for _ in range(2):
        log.add((await alt.select())[1])


async def test_a_choice_does_not_meet_itself():
    ch = Bridge("b")
    g, v = await csp.Alternative(ch.read, ch.write.alt_pending_write(1), csp.Skip()).select()
    assert isinstance(g, csp.Skip)
    both = csp.Spawn(choose(ch.read, ch.write.alt_pending_write(1)))
    await settle()
    assert not both.done()
    assert await ch.read() == 1
    assert (await join(both))[1] == 0
    assert idle(ch)


async def test_a_timer_ends_a_choice():
    ch = Bridge("b")
    alt = csp.Alternative(ch.read, csp.Timer(ms=5))
    g, v = await alt.select()
    assert g is not ch.read
    await settle()
    assert idle(ch)
    assert not ch.wanted
    h = csp.Spawn(give(ch.write, 2))
    g, v = await csp.Alternative(csp.Timer(seconds=60), ch.read).select()
    assert v == 2
    await join(h)


async def test_poison_ends_a_choice():
    ch = Bridge("b")
    other = csp.Channel()
    h = csp.Spawn(choose(other.read, ch.read))
    await settle()
    ch.poison()
    assert await join(h) == POISONED
    assert await take_one(choose(other.read, ch.write.alt_pending_write(1))) == POISONED
    assert idle(other)
    g, v = await csp.Alternative(csp.Skip(), ch.read).select()
    assert v is None


async def test_fair_choice_serves_both():
    a, b = Bridge("a", capacity=10), Bridge("b", capacity=10)
    for i in range(10):
        await a.write(i)
        await b.write(i)
    alt = csp.Alternative(a.read, b.read)
    seen = []
    for _ in range(10):
        g, v = await alt.fair_select()
        seen.append(g is a.read)
    assert seen == [True, False] * 5


async def test_a_parallel_of_operations():
    ch = Bridge("b")
    results = await par(take(ch.read), give(ch.write, 4))
    assert results == [4, 0]


# Interrupts


async def test_values_of_an_interrupt_are_read_in_order():
    ch = Bridge("b", isr=3)
    for i in range(3):
        assert ch.from_isr(i)
    assert not ch.from_isr(3)
    assert ch.lost == 1
    assert ch.queue_len() == 3
    ch.verify()
    assert [await ch.read(), await ch.read(), await ch.read()] == [0, 1, 2]
    assert idle(ch)
    for i in range(10):  # round and round
        assert ch.from_isr(i)
        assert await ch.read() == i
    assert ch.lost == 1


async def test_an_interrupt_wakes_who_reads():
    ch = Bridge("b", isr=2)
    for i in range(3):
        readers = await waiting_readers(ch, 1)
        in_thread(ch.from_isr, i)
        assert await join_all(readers) == [i]
    assert idle(ch)


async def test_an_interrupt_as_on_a_board_wakes_who_reads():
    isr = __import__("upycsp.isr", None, None, ("*",))
    ch = Bridge("b", isr=2)
    other = csp.Channel("other", external=True)
    assert isr.direct
    isr.direct = False  # then the schedule, or the timer thread, brings the value to a thread
    try:
        for i in range(3):
            readers = await waiting_readers(ch, 1)
            in_thread(ch.from_isr, i)
            assert await join_all(readers) == [i]
            h = csp.Spawn(choose(other.read, ch.read))
            await settle()
            in_thread(ch.from_isr, -i)
            assert (await join(h))[1] == -i
            in_thread(ch.from_isr, i)
            assert await ch.read() == i
    finally:
        isr.direct = True
    assert idle(ch, other)


async def test_an_interrupt_wakes_a_choice():
    ch = Bridge("b", isr=2)
    never = csp.Channel("never", external=True)
    for i in range(3):
        h = csp.Spawn(choose(never.read, ch.read))
        await settle()
        in_thread(ch.from_isr, i)
        assert (await join(h))[1] == i
    assert ch.from_isr(9)
    assert (await csp.Alternative(never.read, ch.read).select())[1] == 9
    assert idle(ch, never)
    assert not ch.wanted


async def test_an_interrupt_makes_no_object():
    ch = Bridge("b", isr=4)
    (r,) = await waiting_readers(ch, 1)
    if micropython is not None and hasattr(micropython, "heap_lock"):
        micropython.heap_lock()
        try:
            for i in range(6):
                ch.from_isr(i)
        finally:
            micropython.heap_unlock()
    else:
        for i in range(6):
            ch.from_isr(i)
    assert ch.lost >= 1  # one may be read meanwhile
    assert await join(r) == 0
    for i in range(6 - ch.lost - 1):
        await ch.read()
    assert idle(ch)


def from_isr(ch, value):
    """ch.from_isr(value) where nothing can be allocated, if that can be had."""
    if not hasattr(micropython, "heap_lock"):
        return ch.from_isr(value)
    micropython.heap_lock()
    try:
        return ch.from_isr(value)
    finally:
        micropython.heap_unlock()


async def test_an_interrupt_makes_no_object_whatever_it_brings_and_however_full_the_ring_is():
    values = [0, -1, (1 << 29) + 1, 1 << 80, None, "text", (1, 2), [3], 2.5, print]
    for size in (1, 2, 3):
        ch = Bridge("b", isr=size)
        lost = k = 0
        for i in range(3 * len(values)):
            left = []
            for _ in range(i % (size + 3)):  # none, some, as many as there is room for, more
                v = values[k % len(values)]
                k += 1
                if from_isr(ch, v):
                    left.append(v)
                else:
                    lost += 1
            assert len(left) == min(i % (size + 3), size) == ch.queue_len()
            for v in left:
                assert (await ch.read()) is v
        assert ch.lost == lost and idle(ch)
    ch.poison()
    assert from_isr(ch, values[3]) is False


def test_an_interrupt_leaves_its_value_though_nothing_more_can_be_scheduled():
    if not hasattr(micropython, "schedule"):
        return
    isr = sys.modules["upycsp.isr"]
    ch = Bridge("b", isr=2)
    came = []

    def nothing(_):
        pass

    def handler(_):
        # While this lasts nothing scheduled is called.
        try:
            while True:
                micropython.schedule(nothing, None)
        except RuntimeError:
            pass
        came.append(from_isr(ch, 5))
        came.append(ch._told)

    direct = isr.direct
    isr.direct = False  # as on a board
    try:
        micropython.schedule(handler, None)
        until_blocking(lambda: len(came) == 2)
    finally:
        isr.direct = direct
    assert came == [True, False] and ch.queue_len() == 1
    until_blocking(lambda: from_isr(ch, 6))  # and again, when there is room
    assert ch.queue_len() == 2
    ch.poison()


async def test_a_scheduled_handler_may_come_in_the_middle_of_an_operation():
    if not hasattr(micropython, "schedule"):
        return
    ch = Bridge("b", isr=60)
    n = 50
    handed = [0]
    busy = _thread.allocate_lock()

    def handler(_):
        if not busy.acquire(0):  # the main thread and this one: a handler comes one at a time
            return
        micropython.heap_lock()
        try:
            ch.from_isr(handed[0])
        finally:
            micropython.heap_unlock()
        handed[0] += 1
        busy.release()

    @csp.process
    async def reads(cin):
        got = []
        for _ in range(n):
            got.append(await cin())
        return got

    h = csp.Spawn(reads(ch.read))
    # The schedule is served by the main thread, which on this port may be blocked: from here.
    while handed[0] < n:
        before = handed[0]
        try:
            micropython.schedule(handler, None)
        except RuntimeError:
            pass
        for _ in range(3):
            ch.queue_len()
        if handed[0] == before:
            handler(None)
    got = await join(h)
    assert sorted(got) == got and len(got) == n, got


async def test_poison_and_close_with_values_of_interrupts():
    ch = Bridge("b", isr=3)
    ch.from_isr(1)
    ch.poison()
    assert await take_one(take(ch.read)) == POISONED
    assert not ch.from_isr(2)
    assert ch.lost == 0
    assert idle(ch)
    for end in "close", "poison of the write end":
        ch = Bridge("b", isr=3)
        ch.from_isr(1)
        ch.from_isr(2)
        if end == "close":
            ch.close()
        else:
            ch.write.poison()
        assert not ch.from_isr(3)
        for v in (1, 2, POISONED):
            assert await take_one(take(ch.read)) == v
        assert ch.poisoned
        assert idle(ch)


async def test_a_value_that_an_interrupt_leaves_in_the_moment_of_the_poison_is_dropped():
    ch = Bridge("b", isr=3)
    put = ch._left.put

    def slow(value):  # it looked before the poison, and leaves its value after it
        ch._left.put = put
        ch.poison()
        return put(value)

    ch._left.put = slow
    ch.from_isr(1)
    ch.verify()
    assert ch.queue_len() == 0 and ch.poisoned
    assert not ch.from_isr(2)


async def test_values_of_interrupts_come_before_those_of_writers():
    ch = Bridge("b", isr=3)
    writers = await waiting_writers(ch, (10,))
    ch.from_isr(1)
    assert [await ch.read(), await ch.read()] == [1, 10]
    await join_all(writers)


async def test_who_only_looks_sees_a_value_of_an_interrupt():
    ch = Bridge("b", isr=4)
    alt = csp.Alternative(ch.read, csp.Skip())
    for i in range(3):
        in_thread(ch.from_isr, i)
        g, v = await alt.select()
        while g is not ch.read:
            await sleep_ms(0)
            g, v = await alt.select()
        assert v == i
        in_thread(ch.from_isr, -i)
        while True:
            try:
                assert await ch.read.within(0) == -i
                break
            except csp.TimeoutError:
                await sleep_ms(0)
    assert idle(ch)


async def test_time_limits():
    ch = Bridge("b")
    for ms in 0, 5:
        with raises(csp.TimeoutError):
            await ch.read.within(ms)
        with raises(csp.TimeoutError):
            await ch.write.within(ms, 1)
        assert idle(ch)
    with raises(TypeError):
        await ch.read.within(None)  # pyright: ignore
    (h,) = await waiting_writers(ch, (1,))
    assert await ch.read.within(0) == 1
    await join(h)
    (h,) = await waiting_readers(ch, 1)
    assert await ch.write.within(60000, 2) == 0
    assert await join(h) == 2
    h = csp.Spawn(take(ch.read))
    assert await ch.write.within(60000, 3) == 0
    assert await join(h) == 3
    ch.poison()
    with raises(csp.PoisonException):
        await ch.read.within(5)
    assert not ch.wanted


# Bad use


async def test_bad_use_is_told_at_once():
    for make in (
        lambda: Bridge("b", capacity=-1),
        lambda: Bridge("b", isr=-1),
        lambda: Bridge("b", capacity=10**25),
        lambda: Bridge("b", isr=10**25),
    ):
        with raises(ValueError) as e:
            make()
        assert sentence(e.value)
    ch = Bridge("b")
    with raises(RuntimeError) as e:
        ch.from_isr(1)
    assert sentence(e.value)
    with raises(TypeError):
        await ch.read(1)  # pyright: ignore
    with raises(TypeError):
        async for v in ch.write:  # pyright: ignore
            pass
    assert idle(ch)


async def test_the_ends_of_the_other_side_are_refused():
    ch = Bridge("b")
    other = ch.threads if LIB == "uapycsp" else ch.tasks
    with raises(TypeError) as e:
        await csp.Alternative(other.read).select()
    assert sentence(e.value)
    assert idle(ch)
    assert "of b" in repr(ch.tasks.read) and "of b" in repr(ch.threads.read)
    assert ch.tasks.read.channel() is ch


async def test_a_network_that_waits_for_a_bridge_is_no_deadlock():
    ch = Bridge("b", isr=1)
    log = Log()
    plain = csp.Channel("plain")
    h = csp.Spawn(take_into_two(ch.read, plain.write, log))
    reader = csp.Spawn(take(plain.read))
    for _ in range(14):
        await sleep_ms(100)
    assert not h.done()
    in_thread(ch.from_isr, 5)
    await join(h)
    assert await join(reader) == 5


@csp.process
async def take_into_two(cin, cout, log):
    await cout(await cin())


async def test_none_of_many_is_lost():
    ch = Bridge("b", capacity=3)
    n = 300 if MICROPYTHON or LIB == "uapycsp" else 100
    log = Log()
    writers = [csp.Spawn(give_from(ch.write, range(k, n, 3))) for k in range(3)]
    readers = [csp.Spawn(collect(ch.read, log)) for _ in range(3)]
    await join_all(writers)
    ch.write.poison()
    await join_all(readers)
    assert sorted(log.items()) == list(range(n))
    assert idle(ch)
    await until(lambda: ch.poisoned)
