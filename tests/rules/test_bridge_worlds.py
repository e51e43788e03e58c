"""Bridges between the worlds: processes of uapycsp and asyncio's tasks here, threads there."""

import csp
import uthreading
import upycsp
from uapycsp.bridged import bell
from ufuture.loop import engine

from rules_support import (
    MICROPYTHON,
    POISONED,
    Log,
    asyncio,
    block_ms,
    choose,
    give,
    idle,
    join,
    join_all,
    posted,
    raises,
    sentence,
    settle,
    skip,
    sleep_ms,
    take,
    until,
    waiting_readers,
    waiting_writers,
)

try:
    import micropython
except ImportError:
    micropython = None

VARIANTS = ("uapycsp",)

Bridge = csp.bridge.Bridge
N = 20000 if MICROPYTHON else 4000


class Thread:
    """A thread that runs f(*args) and keeps what that returns, or POISONED."""

    def __init__(self, f, *args):
        self.value = None
        self.ended = False
        self._f = f
        self._args = args
        self._thread = uthreading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            self.value = self._f(*self._args)
        except csp.PoisonException:
            self.value = POISONED
        self.ended = True

    async def join(self):
        await until(lambda: self.ended)
        self._thread.join()
        return self.value


def writes(cout, first, last):
    for v in range(first, last):
        cout(v)


def reads(cin, n):
    return [cin() for _ in range(n)]


def reads_in_order(cin):
    n = 0
    for v in cin:
        if v != n:
            return "%d came after %d" % (v, n - 1)
        n += 1
    return n


# Messages


async def test_a_thread_writes_and_a_process_reads():
    ch = Bridge("b")
    t = Thread(writes, ch.threads.write, 0, 50)
    for i in range(50):
        assert await ch.read() == i
    await t.join()
    assert idle(ch)


async def test_a_process_writes_and_a_thread_reads():
    ch = Bridge("b")
    t = Thread(reads, ch.threads.read, 50)
    for i in range(50):
        assert await ch.write(i) == 0
    assert await t.join() == list(range(50))
    assert idle(ch)


async def test_a_choice_does_not_overtake_a_thread_that_waits():
    ch = Bridge("b")
    writes = csp.Spawn(choose(ch.write.alt_pending_write(4)))
    await settle()
    t = Thread(reads, ch.threads.read, 1)
    while not ch.queue_len():
        block_ms(1)  # the loop does not learn of it
    g, v = await csp.Alternative(ch.read, csp.Skip()).select()
    assert isinstance(g, csp.Skip), v
    assert await t.join() == [4]
    await join(writes)
    assert idle(ch)
    assert not ch.wanted


async def test_two_choices_meet_when_a_thread_took_what_kept_them_apart():
    for op in 0, 1:
        ch = Bridge("b")
        guards = [ch.read, ch.write.alt_pending_write(3)]
        threads = [(writes, ch.threads.write, 1, 2), (reads, ch.threads.read, 1)]
        waits = csp.Spawn(choose(guards[op]))
        await settle()
        older = Thread(*threads[op])  # what came before the second choice
        while not ch.queue_len():
            block_ms(1)  # the loop does not learn of it
        gone = Amid(*threads[1 - op])
        g, v = await csp.Alternative(guards[1 - op], gone).select()
        assert g is guards[1 - op]
        assert sorted([v, (await join(waits))[1]]) == [0, 3]
        assert [await older.join(), await gone.thread.join()].count([1]) == 1
        assert idle(ch)
        assert not ch.wanted


class Amid(csp.Guard):
    """Runs a thread amid a choice, after the guards before it were looked at."""

    def __init__(self, *args):
        self.args = args

    def enable(self, alt):
        self.thread = Thread(*self.args)
        while not self.thread.ended:
            block_ms(1)
        return False, None


async def test_many_messages_go_there_and_come_back():
    there, back = Bridge("there", capacity=50), Bridge("back", capacity=50)

    def echoes(cin, cout):
        for v in cin:
            cout(v)
        cout.poison()

    t = Thread(echoes, there.threads.read, back.threads.write)

    @csp.process
    async def sends(cout):
        for i in range(N):
            await cout(i)
        cout.poison()

    h = csp.Spawn(sends(there.write))
    n = 0
    async for v in back.read:
        assert v == n, (v, n)
        n += 1
    assert n == N
    await join(h)
    await t.join()
    assert idle(there, back)


async def test_many_on_both_sides_lose_and_double_nothing():
    ch = Bridge("b", capacity=2)
    log = Log()
    each = 150

    @csp.process
    async def sends(cout, first):
        for v in range(first, first + each):
            await cout(v)

    @csp.process
    async def receives(cin):
        async for v in cin:
            log.add(v)

    def receives_too(cin):
        for v in cin:
            log.add(v)

    writers = [csp.Spawn(sends(ch.write, k * each)) for k in range(3)]
    threads = [Thread(writes, ch.threads.write, k * each, k * each + each) for k in (3, 4, 5)]
    readers = [csp.Spawn(receives(ch.read)) for _ in range(2)]
    others = [Thread(receives_too, ch.threads.read) for _ in range(2)]
    await join_all(writers)
    for t in threads:
        await t.join()
    ch.write.poison()
    await join_all(readers)
    for t in others:
        await t.join()
    assert sorted(log.items()) == list(range(6 * each))
    assert idle(ch)


async def test_tasks_and_threads_are_served_first_come_first_served():
    ch = Bridge("b")
    (first,) = await waiting_readers(ch, 1)
    second = Thread(reads, ch.threads.read, 1)
    await until(lambda: ch.queue_len() == 2)
    third = await posted(ch, take(ch.read), 3)
    for v in (1, 2, 3):
        await ch.write(v)
    assert [await join(first), await second.join(), await join(third)] == [1, [2], 3]


async def test_processes_of_both_libraries_talk():
    there, back = Bridge("there"), Bridge("back")

    @upycsp.process
    def doubles(cin, cout):
        for v in cin:
            cout(2 * v)

    t = Thread(upycsp.run, doubles(there.threads.read, back.threads.write))
    for i in range(20):
        await there.write(i)
        assert await back.read() == 2 * i
    there.poison()
    await t.join()
    back.poison()
    assert idle(there, back)


async def test_a_task_that_is_no_process_uses_a_bridge():
    ch = Bridge("b")
    log = Log()

    async def foreign():
        async for v in ch.tasks.read:
            log.add(v)

    task = asyncio.create_task(foreign())
    t = Thread(writes, ch.threads.write, 0, 30)
    await t.join()
    ch.poison()
    await until(task.done)
    assert log.items() == list(range(30))


# Endings


async def test_poison_reaches_the_other_side():
    for poison in lambda ch: ch.poison(), lambda ch: ch.read.poison():
        ch = Bridge("b")
        t = Thread(writes, ch.threads.write, 0, 1)
        await until(lambda: ch.queue_len() == 1)
        poison(ch)
        assert await t.join() == POISONED
        ch = Bridge("b")
        readers = await waiting_readers(ch, 2)
        t = Thread(poison, ch)
        assert await join_all(readers) == [POISONED] * 2
        await t.join()
        assert idle(ch)


async def test_close_reaches_the_other_side():
    ch = Bridge("b")
    (h,) = await waiting_writers(ch, (4,))
    t = Thread(ch.close)
    await t.join()
    t = Thread(list, ch.threads.read)
    assert await t.join() == [4]
    assert await join(h) == 0
    (h,) = await waiting_readers(Bridge("c"), 1)
    ch = h_channel = Bridge("d")
    h = csp.Spawn(take(ch.read))
    await until(lambda: ch.queue_len() == 1)
    await Thread(h_channel.close).join()
    assert await join(h) == POISONED


async def test_a_process_that_dies_poisons_the_other_side():
    ch = Bridge("b")
    t = Thread(writes, ch.threads.write, 0, 1)

    @csp.process
    async def dies(cin):
        raise ValueError("as it should")

    with raises(ValueError):
        await csp.Parallel(dies([ch.read]))
    assert await t.join() == POISONED

    @upycsp.process
    def dies_too(cin):
        raise ValueError("as it should")

    ch = Bridge("b")
    (h,) = await waiting_writers(ch, (1,))

    def runs():
        try:
            upycsp.run(dies_too(ch.threads.read))
        except ValueError:
            return "died"

    assert await Thread(runs).join() == "died"
    assert await join(h) == POISONED


# Choice


async def test_a_choice_of_a_process_loses_nothing():
    ch, inner = Bridge("b"), csp.Channel("inner")
    n = 300
    t = Thread(writes, ch.threads.write, 0, n)

    @csp.process
    async def local(cout):
        for v in range(n):
            await cout(v)

    h = csp.Spawn(local(inner.write))
    alt = csp.Alternative(ch.read, inner.read)
    seen = {ch.read: 0, inner.read: 0}
    for _ in range(2 * n):
        g, v = await alt.fair_select()
        assert v == seen[g], (g, v)
        seen[g] += 1
    await t.join()
    await join(h)
    assert idle(ch, inner)
    assert not ch.wanted


async def test_a_choice_beside_a_timer_loses_nothing():
    ch = Bridge("b")
    n = 100

    def writes_now_and_then():
        for v in range(n):
            block_ms(v % 3)
            ch.threads.write(v)

    t = Thread(writes_now_and_then)
    alt = csp.Alternative(ch.read, csp.Timer(ms=1))
    expected = 0
    while expected < n:
        g, v = await alt.select()
        if g is ch.read:
            assert v == expected
            expected += 1
    await t.join()
    assert idle(ch)


async def test_a_choice_of_writes_happens_exactly_once():
    a, b = Bridge("a"), Bridge("b")
    n = 200
    readers = [Thread(list, a.threads.read), Thread(list, b.threads.read)]
    for i in range(n):
        alt = csp.Alternative(a.write.alt_pending_write(i), b.write.alt_pending_write(i))
        await alt.fair_select()
    a.write.poison()
    b.write.poison()
    got = await readers[0].join() + await readers[1].join()  # pyright: ignore
    assert sorted(got) == list(range(n))
    assert idle(a, b)


async def test_choices_on_both_sides_meet():
    a, b = Bridge("a"), Bridge("b")
    n = 100

    def chooses():
        alt = upycsp.Alternative(a.threads.read, b.threads.read)
        return [alt.fair_select()[1] for _ in range(n)]

    def offers(first):
        for i in range(first, first + n):
            g = upycsp.Alternative(
                a.threads.write.alt_pending_write(i), b.threads.write.alt_pending_write(i)
            )
            g.select()

    t = Thread(chooses)
    for i in range(n):
        await csp.Alternative(b.write.alt_pending_write(i), a.write.alt_pending_write(i)).select()
    assert await t.join() == list(range(n))
    t = Thread(offers, 5)
    alt = csp.Alternative(a.read, b.read)
    for i in range(n):
        assert (await alt.fair_select())[1] == 5 + i
    await t.join()
    assert idle(a, b)


async def test_poison_from_any_side_at_any_moment_loses_nothing_that_was_written():
    for moment in (3, 20, 70):
        for poison in (
            lambda ch: ch.threads.read.poison,
            lambda ch: ch.tasks.write.poison,
            lambda ch: ch.poison,
        ):
            for in_loop in (False, True):
                await poisoned_at(moment, poison, in_loop)


async def poisoned_at(moment, poison, in_loop):
    a, b = Bridge("a"), Bridge("b")
    written, read = Log(), Log()

    @csp.process
    async def task_writes(name, ch, how):
        for i in range(60):
            if how:
                one, other = a.write.alt_pending_write((name, i)), b.write.alt_pending_write(None)
                if (await csp.Alternative(one, other).select())[0] is other:
                    continue
            else:
                await ch.write((name, i))
            written.add((name, i))

    @csp.process
    async def task_reads(ch, how):
        while True:
            if how:
                v = (await csp.Alternative(b.read, a.read).fair_select())[1]
            else:
                v = await ch.read()
            read.add(v)

    def thread_writes(name, ch):
        for i in range(60):
            ch.threads.write((name, i))
            written.add((name, i))

    def thread_reads(ch, how):
        while True:
            if how:
                v = upycsp.Alternative(a.threads.read, b.threads.read).fair_select()[1]
            else:
                v = ch.threads.read()
            read.add(v)

    threads = [Thread(thread_writes, "t", a), Thread(thread_writes, "u", b)]
    threads += [Thread(thread_reads, a, False), Thread(thread_reads, b, True)]
    tasks = [csp.Spawn(task_writes("v", a, False)), csp.Spawn(task_writes("w", b, True))]
    tasks += [csp.Spawn(task_reads(a, True)), csp.Spawn(task_reads(b, False))]
    await until(lambda: read.count() >= moment)
    for ch in a, b:
        if in_loop:
            poison(ch)()
        else:
            await Thread(poison(ch)).join()
    await join_all(tasks)
    for t in threads:
        await t.join()
    assert idle(a, b)
    got = [v for v in read.items() if v is not None]
    assert len(set(got)) == len(got)
    assert set(written.items()) <= set(got)


# Parallels and the end of a bridge


async def test_operations_in_a_parallel():
    a, b, plain = Bridge("a"), Bridge("b"), csp.Channel("plain")
    t = Thread(lambda: (a.threads.write(1), b.threads.read()))
    assert await csp.Parallel(a.read(), b.write(2), plain.read(), plain.write(3)) == [1, 0, 3, 0]
    assert await t.join() == (0, 2)
    t = Thread(a.poison, 5)
    with raises(csp.PoisonException) as e:
        await csp.Parallel(a.read(), a.write(1), a.read())
    assert e.value.strength == 5
    await t.join()
    with raises(csp.PoisonException) as e:
        await csp.Parallel(b.read(), b.write(1), a.read())
    assert e.value.strength == 5
    assert idle(a, b, plain)


async def test_operations_in_a_parallel_keep_their_order_however_many_came_before():
    for shift in range(4):  # of 64 in a row that need not wait, one gives the others a turn
        ch = Bridge("b", 4)
        for _ in range(shift):
            await ch.write("first")
            await ch.read()
        for k in range(0, 140, 2):
            await ch.write(k)
            await ch.write(k + 1)
            assert await csp.Parallel(ch.read(), ch.read()) == [k, k + 1]
            await csp.Parallel(ch.write(k), ch.write(k + 1))
            assert [await ch.read(), await ch.read()] == [k, k + 1]


async def test_an_operation_is_a_member_once():
    ch = Bridge("b")
    for op in ch.read(), ch.write(1):
        with raises(RuntimeError):
            await csp.Parallel(op, op)
        assert idle(ch)
        if hasattr(op, "close"):
            op.close()  # nobody has awaited it
    h = csp.Spawn(take(ch.read))
    op = ch.write(1)
    await op
    await join(h)
    with raises(RuntimeError):
        await csp.Parallel(op)
    h = csp.Spawn(give(ch.write, None))
    op = ch.read()
    assert await op is None
    await join(h)
    with raises(RuntimeError):
        await csp.Parallel(op)
    assert idle(ch)


async def test_a_thread_that_takes_an_end_for_tasks_is_refused():
    ch = Bridge("b")

    def uses(f, *args):
        try:
            f(*args).send(None)
        except TypeError as er:
            return str(er)

    for f, args in ((ch.read, ()), (ch.write, (1,))):
        t = Thread(uses, f, *args)
        assert sentence(await t.join())
        assert idle(ch)
    t = Thread(writes, ch.threads.write, 0, 1)  # the bridge is as before
    assert await ch.read() == 0
    await t.join()


def test_a_task_that_a_run_has_left_goes_on_in_the_next_one():
    if not MICROPYTHON:
        skip("tasks end with their loop")
    ch = Bridge("b")
    log = Log()

    async def left():
        log.add(await ch.read())

    @csp.process
    async def begins():
        asyncio.create_task(left())
        await until(lambda: ch.queue_len() == 1)

    @csp.process
    async def waits():
        await until(log.count)

    csp.run(begins())
    t = Thread(writes, ch.threads.write, 7, 8)
    csp.run(waits())
    t._thread.join()
    assert log.items() == [7]


async def test_a_parallel_whose_write_has_happened_returns_before_it_is_cancelled():
    ch = Bridge("b")
    log = Log()

    async def two():
        log.add(await csp.Parallel(ch.write(1)))
        await sleep_ms(60000)

    h = csp.Spawn(two())
    await until(lambda: ch.queue_len() == 1)
    t = Thread(reads, ch.threads.read, 1)
    while not t.ended:
        block_ms(1)  # the loop does not learn of it
    h.cancel()
    with raises(asyncio.CancelledError):
        await h
    assert log.items() == [[0]]
    assert await t.join() == [1]


async def test_a_bridge_s_guard_is_not_scheduled():
    ch = Bridge("b")
    alt = csp.Alternative(ch.read, csp.Timer(0.05))
    h = csp.Spawn(selects(alt))
    await until(lambda: alt.waits)
    assert alt.schedule(ch.read, "never written") is False
    g, v = await join(h)
    assert isinstance(g, csp.Timer) and v is None


@csp.process
async def selects(alt):
    return await alt.select()


async def test_the_ends_for_threads_are_refused_by_tasks():
    ch = Bridge("b")
    read, write = ch.threads.read, ch.threads.write

    def refuses(*uses):
        for use, x in uses:
            with raises(TypeError) as e:
                use(x)
            assert sentence(e.value)
            assert ch.queue_len() == 1

    t = Thread(read)
    await until(lambda: ch.queue_len() == 1)
    put = write.alt_pending_write(1)
    refuses((csp.Alternative, put), (csp.Parallel, put), (csp.Closed, write))
    await ch.write(5)
    assert await t.join() == 5
    t = Thread(write, 7)
    await until(lambda: ch.queue_len() == 1)
    refuses((csp.Alternative, read), (csp.Parallel, read))
    assert await ch.read() == 7
    assert await t.join() == 0
    assert idle(ch)


async def test_the_end_of_a_bridge_is_waited_for():
    for poison in (
        lambda ch: ch.threads.read.poison(),
        lambda ch: ch.threads.write.poison(),
        lambda ch: ch.poison(3),
        lambda ch: ch.close(),
    ):
        ch = Bridge("b", capacity=2, isr=2)
        await ch.write(1)
        end = csp.Closed(ch.write)
        alt = csp.Alternative(end, ch.read)
        assert (await alt.select())[1] == 1
        h = csp.Spawn(choose(end, csp.Timer(60)))
        both = csp.Spawn(both_ends(csp.Closed(ch.write), end))
        await until(lambda: ch.wanted == 1)
        t = Thread(lambda: poison(ch))
        assert await join(h) == (end, None)
        assert await join(both) == [None, None]
        await t.join()
        assert await end() is None
        assert (await alt.select())[0] is end
        assert not ch.wanted
        assert idle(ch)


@csp.process
async def both_ends(a, b):
    return await csp.Parallel(a(), b())


async def test_who_waits_for_the_end_of_a_bridge_may_be_cancelled():
    ch = Bridge("b")
    for wait in csp.Closed(ch.write)(), csp.Alternative(csp.Closed(ch.write)).select():
        task = asyncio.create_task(within_task(wait))
        await settle()
        assert await cancelled(task) == "cancelled"
        assert not ch.wanted
    t = Thread(ch.poison)
    await csp.Closed(ch.write)()
    await t.join()


async def within_task(wait):
    return await wait


async def test_an_adapter_writes_to_a_bridge():
    ch = Bridge("b")
    t = Thread(reads_three, ch.threads.read)
    await csp.Parallel(csp.adapters.Samples(lambda: 7, ch.write, 1))
    assert await t.join() == [7, 7, 7]
    assert ch.poisoned


def reads_three(cin):
    got = reads(cin, 3)
    cin.poison()
    return got


# Cancellation


async def cancelled(h):
    """Cancels a task and waits; whether it was cancelled, or what it has returned."""
    h.cancel()
    try:
        return await h
    except asyncio.CancelledError:
        return "cancelled"


async def test_a_cancelled_operation_leaves_nothing():
    ch = Bridge("b")

    async def read():
        return await ch.tasks.read()

    async def write():
        return await ch.tasks.write(1)

    async def select():
        return await csp.Alternative(ch.tasks.read).select()

    async def select_to_write():
        return await csp.Alternative(ch.tasks.write.alt_pending_write(1)).select()

    for operation in read, write, select, select_to_write:
        task = asyncio.create_task(operation())
        await settle()
        assert await cancelled(task) == "cancelled"
        assert idle(ch)
        assert not ch.wanted


async def test_a_value_that_was_paired_goes_back_at_the_cancel():
    for how in "read", "parallel", "select":
        ch = Bridge("b")

        async def read():
            if how == "read":
                return await ch.tasks.read()
            if how == "parallel":
                return await csp.Parallel(ch.tasks.read())
            return (await csp.Alternative(ch.tasks.read).select())[1]

        task = asyncio.create_task(read())
        if how != "select":
            await until(lambda: ch.queue_len() == 1)
        else:
            await until(lambda: ch.wanted == 1)
        log = Log()

        def writes_two():
            ch.threads.write(0)
            log.add("written")
            ch.threads.write(1)

        t = uthreading.Thread(target=writes_two)
        t.start()
        if how != "select":
            while not log.count() or ch.queue_len() != 1:  # blocks the loop, which knows nothing
                block_ms(1)
        task.cancel()
        if how != "select":
            assert ch.queue_len() == 2
        try:
            await task
            assert False
        except asyncio.CancelledError:
            pass
        assert [await ch.read(), await ch.read()] == [0, 1]
        t.join()
        assert idle(ch)


async def test_a_value_that_goes_back_at_the_cancel_is_for_a_thread_that_waits_behind():
    for how in "read", "member", "ended member":
        ch, other = Bridge("b"), Bridge("other")

        async def reads():
            if how == "read":
                return await ch.tasks.read()
            return await csp.Parallel(ch.tasks.read(), other.tasks.read())

        task = asyncio.create_task(reads())
        await until(lambda: ch.queue_len() == 1 and (how == "read" or other.queue_len() == 1))
        writer = Thread(ch.threads.write, 7)
        while not writer.ended:  # blocks the loop, which knows nothing
            block_ms(1)
        if how == "ended member":
            await until(lambda: bell.waiting == 1)  # the other member
        reader = Thread(ch.threads.read)
        while not ch.queue_len():
            block_ms(1)
        assert await cancelled(task) == "cancelled"
        await reader.join()
        await writer.join()
        assert reader.value == 7
        assert idle(ch) and idle(other)


async def test_what_a_choice_has_read_as_it_is_cancelled_is_for_a_thread_that_waits_behind():
    ch, first = Bridge("b"), Bridge("first")
    readers = []

    async def chooses():
        await csp.Alternative(ch.tasks.read).select()

    async def cancels():  # is woken with the choice, and before it
        await first.tasks.read()
        readers.append(Thread(ch.threads.read))
        while not ch.queue_len():
            block_ms(1)
        choice.cancel()

    choice = asyncio.create_task(chooses())
    await until(lambda: ch.wanted == 1)
    task = asyncio.create_task(cancels())
    await until(lambda: first.queue_len() == 1)

    def writes_both():
        first.threads.write(0)
        ch.threads.write(7)

    writer = Thread(writes_both)
    while not ch.queue_len():  # blocks the loop, which knows nothing
        block_ms(1)
    await task
    try:
        await choice
        assert False, "it was not cancelled"
    except asyncio.CancelledError:
        pass
    await readers[0].join()
    await writer.join()
    assert readers[0].value == 7
    assert idle(ch) and not ch.wanted


async def test_those_cancelled_before_the_loop_hears_give_back_and_the_others_are_woken():
    for gone in (0,), (1,), (2,), (0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1), (2, 1, 0):
        channels = [Bridge("b{}".format(i)) for i in range(4)]
        got = []

        async def read(i):
            got.append((i, await channels[i].tasks.read()))

        def write(*numbers):
            t = Thread(lambda: [channels[i].threads.write(10 * i) for i in numbers])
            while not t.ended:  # blocks the loop, which knows nothing
                block_ms(1)
            return t

        tasks = [asyncio.create_task(read(i)) for i in range(4)]
        await until(lambda: all(ch.queue_len() == 1 for ch in channels))
        threads = [write(0, 1, 2)]
        for i in gone:
            tasks[i].cancel()
        threads.append(write(3))
        await until(lambda: len(got) == 4 - len(gone))
        assert got == [(i, 10 * i) for i in range(4) if i not in gone]
        for i in gone:
            assert await channels[i].read() == 10 * i
        for t in threads:
            await t.join()
        assert all(idle(ch) for ch in channels)


async def test_what_a_choice_was_given_by_another_one_goes_back_once_when_it_is_cancelled():
    for closed in (False, True):
        ch = Bridge("b")
        got = []

        async def select():
            got.append(await csp.Alternative(ch.tasks.read).select())

        async def drives():
            it = csp.Alternative(ch.tasks.read).select()
            it.send(None)
            parked = engine.unpark()
            await gives()
            parked.cancelled()
            it.close()  # as what an interrupt has cancelled is

        async def gives():
            guard = ch.tasks.write.alt_pending_write(7)
            assert await csp.Alternative(guard).select() == (guard, 0)

        if closed:
            await asyncio.create_task(drives())
        else:
            task = asyncio.create_task(select())
            await until(lambda: ch.wanted == 1)
            await gives()
            task.cancel()
            assert ch.queue_len() == 1
            assert await cancelled(task) == "cancelled"
        assert not got
        assert await ch.tasks.read() == 7
        with raises(csp.TimeoutError):
            await ch.tasks.read.within(0)
        assert idle(ch) and not ch.wanted


async def test_a_choice_that_has_written_is_cancelled_when_it_waits_again():
    ch, log = Bridge("b"), Log()

    async def select():
        guard = ch.tasks.write.alt_pending_write(7)
        assert await csp.Alternative(guard).select() == (guard, 0)
        log.add("written")
        await ch.tasks.read()

    task = asyncio.create_task(select())
    await until(lambda: ch.wanted == 1)
    assert await csp.Alternative(ch.tasks.read).select() == (ch.tasks.read, 7)
    assert await cancelled(task) == "cancelled"
    assert log.items() == ["written"]
    assert idle(ch) and not ch.wanted


async def test_what_a_cancelled_parallel_has_read_goes_back_in_its_order():
    ch, never = Bridge("b", capacity=3), Bridge("never")
    for i in range(3):
        await ch.write(i)

    async def reads_together():
        await csp.Parallel(ch.read(), ch.read(), never.read(), ch.read(), ch.read())

    task = asyncio.create_task(reads_together())
    await until(lambda: ch.queue_len() == 1 and never.queue_len() == 1)
    t = Thread(ch.threads.write, 3)
    await t.join()
    await settle()
    task.cancel()
    assert ch.queue_len() == 4
    assert await cancelled(task) == "cancelled"
    assert reads(ch.threads.read, 4) == [0, 1, 2, 3]
    assert idle(ch, never)


async def test_a_write_that_was_paired_stands():
    ch = Bridge("b")
    log = Log()

    async def write():
        await ch.tasks.write(7)
        log.add("written")
        await sleep_ms(60000)

    task = asyncio.create_task(write())
    await until(lambda: ch.queue_len() == 1)
    t = uthreading.Thread(target=lambda: log.add(ch.threads.read()))
    t.start()
    while ch.queue_len():
        block_ms(1)
    assert await cancelled(task) == "cancelled"
    t.join()
    assert sorted(log.items(), key=str) == [7, "written"]


async def test_cancels_at_every_moment_lose_and_double_nothing():
    ch = Bridge("b")
    n = 400
    log = Log()
    t = Thread(writes, ch.threads.write, 0, n)

    async def read():
        log.add(await ch.tasks.read())

    async def select():
        log.add((await csp.Alternative(ch.tasks.read, csp.Timer(seconds=60)).select())[1])

    k = 0
    while log.count() < n:
        task = asyncio.create_task(select() if k & 1 else read())
        for _ in range(k % 5):
            await sleep_ms(0)
        if k % 7 == 0:
            block_ms(1)
        await cancelled(task)
        k += 1
    await t.join()
    assert log.items() == list(range(n)), log.items()
    assert idle(ch)
    assert not ch.wanted


async def test_cancelled_writes_happen_at_most_once():
    ch = Bridge("b")
    t = Thread(list, ch.threads.read)
    sent = []

    async def write(v):
        await ch.tasks.write(v)
        sent.append(v)

    async def select(v):
        await csp.Alternative(ch.tasks.write.alt_pending_write(v)).select()
        sent.append(v)

    for v in range(300):
        task = asyncio.create_task(select(v) if v & 1 else write(v))
        for _ in range(v % 4):
            await sleep_ms(0)
        await cancelled(task)
    ch.write.poison()
    assert await t.join() == sent
    assert idle(ch)


async def test_a_time_limit_loses_nothing():
    from ufuture import TimeoutError, wait_for_ms

    ch = Bridge("b")
    n = 40

    def writes_slowly():
        for v in range(n):
            block_ms(v % 4)
            ch.threads.write(v)

    t = Thread(writes_slowly)
    expected = 0
    while expected < n:
        try:
            v = await wait_for_ms(ch.tasks.read(), 1)
        except TimeoutError:
            continue
        assert v == expected
        expected += 1
    await t.join()
    assert idle(ch)


# Interrupts, which a thread stands for


async def test_many_values_of_an_interrupt():
    ch = Bridge("b", isr=50)
    n = 3000

    def interrupts():
        refused = 0
        for v in range(n):
            while not ch.from_isr(v):
                refused += 1
                block_ms(1)
        return refused

    t = Thread(interrupts)
    for v in range(n):
        assert await ch.read() == v
    assert await t.join() == ch.lost
    t = Thread(interrupts)
    other = Thread(reads, ch.threads.read, n)
    assert await other.join() == list(range(n))
    await t.join()
    assert idle(ch)


async def test_an_interrupt_wakes_threads_and_processes_in_turn():
    ch = Bridge("b", isr=8)
    other = csp.Channel("other", external=True)
    for i in range(10):
        t = Thread(lambda: upycsp.Alternative(ch.threads.read).select()[1])
        await until(lambda: ch.queue_len() == 1)
        h = csp.Spawn(choose(other.read, ch.read))
        await until(lambda: ch.wanted == 1)
        k = Thread(lambda: [ch.from_isr(v) for v in (i, -i)])
        got = [await t.join(), (await join(h))[1]]
        assert sorted(got) == [-i, i], got
        await k.join()
    assert idle(ch)


# Deadlock


async def test_a_task_that_waits_for_a_thread_may_bring_something():
    ch = Bridge("b")
    inner = csp.Channel("inner")

    async def foreign():
        await inner.write(await ch.tasks.read())

    task = asyncio.create_task(foreign())
    h = csp.Spawn(take(inner.read))
    for _ in range(14):
        await sleep_only_at_the_bridge(ch)
    assert not h.done()
    t = Thread(ch.threads.write, 3)
    assert await join(h) == 3
    await t.join()
    await until(task.done)


async def sleep_only_at_the_bridge(ch):
    """Waits 100 ms in a way that leaves no timer, of which the watchdog would know."""
    bell = Bridge("bell")
    import _thread

    def later():
        block_ms(100)
        bell.threads.write(0)

    _thread.start_new_thread(later, ())
    await bell.read()


# Runs


def test_bridges_outlive_runs():
    ch = Bridge("b")

    @csp.process
    async def gets(cin):
        return await cin()

    for i in range(3):
        t = uthreading.Thread(target=ch.threads.write, args=(i,))
        t.start()
        assert csp.run(gets(ch.read)) == i
        t.join()

        async def main():
            return await ch.tasks.read()

        t = uthreading.Thread(target=ch.threads.write, args=(-i,))
        t.start()
        assert asyncio.run(main()) == -i
        t.join()
        if i and hasattr(asyncio, "new_event_loop"):
            asyncio.new_event_loop()
    assert idle(ch)


class Offered(csp.Guard):
    alt = None

    def enable(self, alt):
        self.alt = alt
        return False, None


def test_threads_are_heard_until_a_run_has_ended():
    ch = Bridge("b")
    guard = Offered()
    log = Log()

    async def takes():
        log.add(await ch.read())

    async def chooses():
        log.add((await csp.Alternative(guard).select())[1])

    def hands():
        ch.threads.write(7)
        while not guard.alt.schedule(guard, 8) and log.count() < 2:
            block_ms(1)

    @csp.process
    async def background():
        tasks = [asyncio.create_task(takes()), asyncio.create_task(chooses())]
        try:
            await sleep_ms(3600000)
        finally:  # nobody is waited for now but this one
            t = Thread(hands)
            for task in tasks:
                await task
            await t.join()

    @csp.process
    async def main():
        csp.Spawn(background())
        await until(lambda: ch.queue_len() == 1 and guard.alt is not None)

    csp.run(main())
    assert sorted(log.items()) == [7, 8]
    assert idle(ch)


def test_a_loop_in_another_thread():
    there, back = Bridge("there"), Bridge("back")

    @csp.process
    async def echoes(cin, cout):
        async for v in cin:
            await cout(v)

    t = uthreading.Thread(target=csp.run, args=(echoes(there.read, back.write),))
    t.start()
    for i in range(50):
        there.threads.write(i)
        assert back.threads.read() == i
    there.poison()
    t.join()


# Bad use


async def test_a_blocking_end_in_the_loop_is_refused():
    ch = Bridge("b")
    t = Thread(writes, ch.threads.write, 0, 1)
    assert await ch.read() == 0
    h = csp.Spawn(take(ch.read))
    await until(lambda: ch.queue_len() == 1)
    await ch.write(1)
    await join(h)
    with raises(RuntimeError):
        ch.threads.read()
    with raises(RuntimeError):
        ch.threads.write(1)
    await t.join()
    assert idle(ch)


def test_a_choice_of_threads_refuses_the_ends_for_tasks():
    ch = Bridge("b")
    with raises(TypeError):
        upycsp.Alternative(ch.tasks.read).select()
    with raises(TypeError):
        upycsp.Alternative(ch.tasks.write.alt_pending_write(1)).select()
    with raises(TypeError):
        csp.Parallel(ch.tasks.read)
    assert idle(ch)


# Memory


async def test_too_little_memory_leaves_the_bridge_valid():
    if not hasattr(micropython, "heap_lock"):
        skip("CPython's heap can't be locked")
    ch = Bridge("b")
    # The loop listens from then on: MicroPython dies if a ThreadSafeFlag finds no memory twice.
    h = csp.Spawn(give(ch.write, 0))
    assert await ch.read() == 0
    await join(h)
    read, write = ch.read(), ch.write(1)
    alt = csp.Alternative(ch.read, ch.write.alt_pending_write(1))
    select = alt.select()
    for operation in read, write, select:
        micropython.heap_lock()
        try:
            operation.send(None)
            result = "it waits"
        except MemoryError:
            result = "MemoryError"
        finally:
            micropython.heap_unlock()
        assert result == "MemoryError", result
        assert idle(ch)
        assert not ch.wanted
    h = csp.Spawn(give(ch.write, 2))
    assert await ch.read() == 2
    await join(h)
