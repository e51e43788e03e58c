"""Rule 9: close forbids new writes; what was promised before stays readable, then comes poison."""

import csp

from rules_support import (
    LIB,
    POISONED,
    Log,
    asyncio,
    choose,
    collect,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    settle,
    skip,
    take,
    until,
    waiting_readers,
    waiting_writers,
)


async def test_closing_an_empty_channel_poisons_it():
    ch = csp.Channel("c")
    ch.close()
    assert ch.poisoned
    with raises(csp.PoisonException):
        await ch.read()
    with raises(csp.PoisonException):
        await ch.write(1)
    assert idle(ch)


async def test_a_write_after_close_raises():
    ch = csp.Channel("c")
    (h,) = await waiting_writers(ch, (1,))
    ch.close()
    with raises(csp.PoisonException):
        await ch.write(2)
    with raises(csp.PoisonException):
        await csp.Alternative(ch.write.alt_pending_write(2)).select()
    assert not ch.poisoned
    assert ch.queue_len() == 1
    assert await ch.read() == 1
    assert await join(h) == 0


async def test_waiting_writers_stay_readable_in_order():
    ch = csp.Channel("c")
    writers = await waiting_writers(ch, (1, 2, 3))
    ch.close()
    await settle()
    assert [h.done() for h in writers] == [False] * 3
    assert [await ch.read(), await ch.read(), await ch.read()] == [1, 2, 3]
    assert ch.poisoned
    with raises(csp.PoisonException):
        await ch.read()
    assert await join_all(writers) == [0, 0, 0]
    assert idle(ch)


async def test_the_channel_is_poisoned_when_the_last_value_is_taken_and_not_before():
    ch = csp.Channel("c")
    writers = await waiting_writers(ch, (1, 2))
    ch.close()
    assert not ch.poisoned
    await ch.read()
    assert not ch.poisoned
    await ch.read()
    assert ch.poisoned
    await join_all(writers)


async def test_waiting_write_guards_stay_readable():
    ch = csp.Channel("c")
    other = csp.Channel("other")
    guard = ch.write.alt_pending_write("by guard")
    h = await posted(ch, choose(other.read, guard), 1)
    ch.close()
    assert not ch.poisoned
    assert await ch.read() == "by guard"
    assert await join(h) == (guard, 0)
    assert ch.poisoned
    assert idle(ch, other)


async def test_a_withdrawn_write_guard_was_the_last_so_the_channel_is_poisoned():
    ch = csp.Channel("c")
    other = csp.Channel("other")
    h = await posted(ch, choose(other.read, ch.write.alt_pending_write("never read")), 1)
    ch.close()
    await other.write("away")
    assert await join(h) == (other.read, "away")
    assert ch.poisoned
    with raises(csp.PoisonException):
        await ch.read()
    assert idle(ch, other)


async def test_a_closed_channel_with_a_waiting_writer_is_a_ready_guard():
    ch = csp.Channel("c")
    (h,) = await waiting_writers(ch, (1,))
    ch.close()
    assert await csp.Alternative(ch.read, csp.Skip()).select() == (ch.read, 1)
    assert await join(h) == 0
    assert ch.poisoned


async def test_readers_waiting_at_the_moment_of_closing_are_poisoned_at_once():
    ch = csp.Channel("c")
    readers = await waiting_readers(ch, 3)
    ch.close()
    assert ch.poisoned and ch.queue_len() == 0
    assert await join_all(readers) == [POISONED] * 3


async def test_tasks_that_are_no_processes_are_poisoned_by_close_as_processes_are():
    if LIB != "uapycsp":
        skip("upycsp has no tasks")
    for make in (csp.Channel, csp.BufferedChannel):
        ch = make("c")
        log = Log()
        handles = await waiting_readers(ch, 1)
        foreign = foreign_task(logs_poison(ch.read, log))
        await until(lambda: ch.queue_len() == 2)
        handles.append(await posted(ch, take(ch.read), 3))
        handles.append(await posted(ch, choose(ch.read), 4))
        other = foreign_task(logs_poison(csp.Alternative(ch.read).select, log))
        await until(lambda: ch.queue_len() == 5)
        ch.close()
        assert ch.poisoned and idle(ch)
        assert await join_all(handles) == [POISONED] * 3
        await foreign
        await other
        assert log.items() == [POISONED, POISONED]


async def test_tasks_that_are_no_processes_write_what_waits_at_the_moment_of_closing():
    if LIB != "uapycsp":
        skip("upycsp has no tasks")
    ch = csp.Channel("c")
    log = Log()
    handles = await waiting_writers(ch, (1,))
    foreign = foreign_task(logs_poison(lambda: ch.write(2), log))
    await until(lambda: ch.queue_len() == 2)
    guard = ch.write.alt_pending_write(3)
    other = foreign_task(logs_poison(lambda: csp.Parallel(guard), log))
    await until(lambda: ch.queue_len() == 3)
    handles += await waiting_writers(ch, (4,))
    ch.close()
    await settle()
    assert log.items() == [] and not ch.poisoned
    for i in range(1, 5):
        assert await ch.read() == i
    assert ch.poisoned and idle(ch)
    assert await join_all(handles) == [0, 0]
    await foreign
    await other
    assert log.items() == [0, [0]]


def foreign_task(coroutine):
    return asyncio.get_event_loop().create_task(coroutine)


async def logs_poison(operation, log):
    try:
        log.add(await operation())
    except csp.PoisonException:
        log.add(POISONED)


async def test_a_select_waiting_at_the_moment_of_closing_is_poisoned_at_once():
    ch = csp.Channel("c")
    other = csp.Channel("other")
    h = await posted(ch, choose(other.read, ch.read), 1)
    ch.close()
    assert await join(h) == POISONED
    assert idle(ch, other)
    assert not other.poisoned


async def test_an_alternative_with_both_guards_is_poisoned_by_close():
    ch = csp.Channel("c")
    h = await posted(ch, choose(ch.write.alt_pending_write(1), ch.read), 2)
    ch.close()
    assert await join(h) == POISONED
    assert ch.poisoned
    assert idle(ch)


async def test_iteration_ends_when_the_closed_channel_is_drained():
    ch = csp.Channel("c")
    writers = await waiting_writers(ch, (1, 2, 3))
    ch.close()
    log = Log()
    assert await par(collect(ch.read, log)) == [None]
    assert log.items() == [1, 2, 3]
    assert await join_all(writers) == [0, 0, 0]


async def test_a_waiting_iteration_ends_when_the_channel_is_closed():
    ch = csp.Channel("c")
    log = Log()
    h = await posted(ch, collect(ch.read, log), 1)
    await ch.write(1)
    await until(lambda: ch.queue_len() == 1)
    ch.close()
    assert await join(h) is None
    assert log.items() == [1]


async def test_a_reader_paired_before_close_gets_its_value():
    ch = csp.Channel("c")
    (h,) = await waiting_readers(ch, 1)
    await ch.write("paired")
    ch.close()
    assert await join(h) == "paired"
    assert ch.poisoned


async def test_closing_twice_changes_nothing():
    ch = csp.Channel("c")
    writers = await waiting_writers(ch, (1, 2))
    ch.close()
    ch.close()
    assert [await ch.read(), await ch.read()] == [1, 2]
    assert await join_all(writers) == [0, 0]
    ch.close()
    assert ch.poisoned


async def test_poison_after_close_wakes_the_waiting_writers():
    ch = csp.Channel("c")
    writers = await waiting_writers(ch, (1, 2))
    ch.close()
    ch.poison()
    assert ch.poisoned
    assert await join_all(writers) == [POISONED] * 2
    assert idle(ch)


async def test_close_of_a_buffered_channel_lets_it_be_drained():
    ch = csp.BufferedChannel("c")
    for i in range(3):
        await ch.write(i)
    ch.close()
    with raises(csp.PoisonException):
        await ch.write(3)
    assert not ch.poisoned and ch.queue_len() == 3
    assert await ch.read() == 0
    assert await csp.Alternative(ch.read).select() == (ch.read, 1)
    assert not ch.poisoned
    assert await ch.read() == 2
    assert ch.poisoned
    with raises(csp.PoisonException):
        await ch.read()


async def test_close_of_a_full_buffered_channel_keeps_buffer_then_writers_in_order():
    ch = csp.BufferedChannel("c", 2)
    await ch.write(0)
    await ch.write(1)
    writers = await waiting_writers(ch, (2, 3))
    ch.close()
    log = Log()
    await par(collect(ch.read, log))
    assert log.items() == [0, 1, 2, 3]
    assert await join_all(writers) == [0, 0]
    assert ch.poisoned and idle(ch)


async def test_close_of_an_empty_buffered_channel_poisons_its_readers():
    ch = csp.BufferedChannel("c", 2)
    readers = await waiting_readers(ch, 2)
    ch.close()
    assert await join_all(readers) == [POISONED] * 2
    assert ch.poisoned
