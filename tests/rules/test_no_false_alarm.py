"""Rule 12, the other half: while anything might still wake a process, there is no alarm.

A watchdog may look twice a second, so each of these waits for PAUSE_MS before it goes on.
"""

import _thread

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    MICROPYTHON,
    POISONED,
    Log,
    asyncio,
    block_ms,
    join,
    listen,
    new_address,
    par,
    raises,
    skip,
    sleep_ms,
    take,
    ticks_diff,
    ticks_ms,
    until,
)

if LIB != "uapycsp":
    import uthreading

if MICROPYTHON:
    import micropython

PAUSE_MS = 1250


@csp.process
async def returns(v):
    return v


@csp.process
async def reads(cin):
    return await cin()


@csp.process
async def sleeps_then_writes(cout):
    await sleep_ms(PAUSE_MS)
    await cout("late")


def test_a_process_that_sleeps_may_still_write():
    a = csp.Channel("a")
    assert csp.run(reads(a.read), sleeps_then_writes(a.write)) == ["late", None]


def test_a_spawned_process_that_sleeps_may_still_write():
    assert csp.run(reads_what_is_spawned()) == "late"


@csp.process
async def reads_what_is_spawned():
    a = csp.Channel("a")
    csp.Spawn(sleeps_then_writes(a.write))
    return await a.read()


def test_a_timer_guard_may_still_fire():
    a = csp.Channel("a")
    b = csp.Channel("b")
    assert csp.run(reads(a.read), selects_then_writes(b.read, a.write)) == ["timer", None]


@csp.process
async def selects_then_writes(cin, cout):
    await csp.Alternative(cin, csp.Timer(ms=PAUSE_MS)).select()
    await cout("timer")


def test_a_process_that_computes_for_long_may_still_write():
    a = csp.Channel("a")
    assert csp.run(reads(a.read), blocks_then_writes(a.write)) == ["late", None]


@csp.process
async def blocks_then_writes(cout):
    block_ms(PAUSE_MS)
    await cout("late")


def test_a_process_that_waits_on_an_external_channel_is_never_deadlocked():
    a = csp.Channel("a")
    outside = csp.Channel("outside", external=True)
    result = csp.run(take(a.read), starts_interrupt_and_reads(outside, a.write))
    assert result == [POISONED, None]


def test_nor_one_that_waits_on_such_a_channel_among_others():
    for waits in (chooses, reads_twice):
        a, b = csp.Channel("a"), csp.Channel("b")
        outside = csp.Channel("outside", external=True)
        result = csp.run(take(a.read), starts_interrupt_and(waits, b, outside, a.write))
        assert result == [POISONED, None]


async def chooses(b, outside):
    await csp.Alternative(b.read, outside.read).select()


async def reads_twice(b, outside):
    await par(outside.read, outside.read)


@csp.process
async def starts_interrupt_and(waits, b, outside, cout):
    interrupts_later(outside)
    await waits(b, outside)


@csp.process
async def starts_interrupt_and_reads(outside, cout):
    interrupts_later(outside)
    await outside.read()


def interrupts_later(outside):
    # What an interrupt handler does: it acts in the main thread, between two steps of the loop.
    if LIB != "uapycsp":
        poison = outside.poison
    elif MICROPYTHON:

        def poison():
            micropython.schedule(lambda ch: ch.poison(), outside)

    else:
        loop = asyncio.get_running_loop()

        def poison():
            loop.call_soon_threadsafe(outside.poison)

    def later():
        block_ms(PAUSE_MS)
        poison()

    _thread.start_new_thread(later, ())


def test_a_user_s_guard_may_be_scheduled_from_outside():
    a = csp.Channel("a")
    assert csp.run(reads(a.read), waits_for_guard(a.write)) == ["scheduled", None]


class Late(csp.Guard):
    def enable(self, alt):
        _thread.start_new_thread(schedule_late, (self, alt))
        return False, None

    def disable(self, alt):
        pass


def schedule_late(guard, alt):
    block_ms(PAUSE_MS)
    assert alt.schedule(guard, "scheduled")


@csp.process
async def waits_for_guard(cout):
    b = csp.Channel("b")
    g, v = await csp.Alternative(b.read, Late()).select()
    await cout(v)


def test_a_raw_thread_may_write_to_an_external_channel():
    if LIB != "upycsp":
        skip("a raw thread uses plain calls")
    outside = csp.Channel("outside", external=True)

    def later():
        block_ms(PAUSE_MS)
        outside.write("from outside")

    _thread.start_new_thread(later, ())
    assert csp.run(reads(outside.read)) == "from outside"


def test_a_uthreading_thread_may_still_act():
    if LIB == "uapycsp":
        skip("threads act on upycsp's channels")
    a = csp.Channel("a")

    def later():
        block_ms(PAUSE_MS)
        a.poison()

    t = uthreading.Thread(target=later)
    t.start()
    assert csp.run(take(a.read)) == POISONED
    t.join()


def test_a_process_that_waits_on_a_lock_may_still_write():
    if LIB == "uapycsp":
        skip("a lock would block the loop")
    a = csp.Channel("a")
    lock = _thread.allocate_lock()
    lock.acquire()

    def later():
        block_ms(PAUSE_MS)
        lock.release()

    _thread.start_new_thread(later, ())
    assert csp.run(reads(a.read), locks_then_writes(lock, a.write)) == ["unlocked", None]


@csp.process
async def locks_then_writes(lock, cout):
    lock.acquire()
    await cout("unlocked")


def test_a_foreign_task_may_still_write():
    if LIB != "uapycsp":
        skip("tasks are uapycsp's")
    assert csp.run(reads_from_foreign_task()) == "foreign"


@csp.process
async def reads_from_foreign_task():
    a = csp.Channel("a")
    task = asyncio.create_task(writes_late(a))
    v = await a.read()
    await task
    return v


async def writes_late(ch):
    # Neither timer nor channel: it goes round and round in the loop.
    await sleep_ms(PAUSE_MS // 2)
    block_ms(PAUSE_MS // 2)
    await ch.write("foreign")


def test_a_foreign_task_may_wait_for_a_user_s_guard():
    if LIB != "uapycsp":
        skip("tasks are uapycsp's")
    for others in ([], [csp.Channel("never").read]):
        assert csp.run(reads_from_task_with(lambda: chosen(others + [Late()]))) == "scheduled"
        assert csp.run(reads_from_task_with(lambda: gathered(others + [Late()]))) == "scheduled"


@csp.process
async def reads_from_task_with(source):
    a = csp.Channel("a")

    async def foreign():
        await a.write(await source())

    task = asyncio.create_task(foreign())
    v = await a.read()
    await task
    return v


async def gathered(guards):
    from ufuture import gather

    return (await gather(chosen(guards)))[0]


async def chosen(guards):
    return (await csp.Alternative(*guards).select())[1]


def test_when_its_guard_has_been_scheduled_it_is_in_doubt_no_more():
    if LIB != "uapycsp":
        skip("tasks are uapycsp's")
    with raises(csp.DeadlockError):
        csp.run(reads_from_task_with(lambda: chosen_and_read([Late()])))


async def chosen_and_read(guards):
    await chosen(guards)
    return await csp.Channel("never").read()


def test_a_foreign_task_may_wait_for_an_external_channel():
    if LIB != "uapycsp" or MICROPYTHON:
        skip("tasks of uapycsp that another thread starts are CPython's")
    for choose in (False, True):
        assert csp.run(reads_from_task_with(lambda: from_outside(choose))) == "outside"


async def from_outside(choose):
    outside = csp.Channel("outside", external=True)
    loop = asyncio.get_running_loop()

    def later():
        block_ms(PAUSE_MS)
        asyncio.run_coroutine_threadsafe(written(outside), loop)

    _thread.start_new_thread(later, ())
    return await (chosen([outside.read]) if choose else outside.read())


async def written(ch):
    await ch.write("outside")


def test_who_polls_with_a_time_limit_is_in_no_deadlock():
    if LIB != "uapycsp":
        skip("it is ufuture's")
    assert csp.run(polls(csp.Channel("a").read)) == "over"


@csp.process
async def polls(cin):
    from ufuture import wait_for_ms

    start = ticks_ms()
    while ticks_diff(ticks_ms(), start) < 2 * PAUSE_MS:
        try:
            await wait_for_ms(cin(), 2)
        except csp.TimeoutError:
            pass
    return "over"


def test_a_foreign_task_that_waits_for_an_event_is_in_doubt():
    if LIB != "uapycsp":
        skip("tasks are uapycsp's")
    assert csp.run(reads_after_event()) == "event"


@csp.process
async def reads_after_event():
    a = csp.Channel("a")
    event = asyncio.Event()
    task = asyncio.create_task(writes_after(event, a))
    starter = asyncio.create_task(sets_late(event))
    v = await a.read()
    await task
    await starter
    return v


async def writes_after(event, ch):
    await event.wait()
    await ch.write("event")


async def sets_late(event):
    await sleep_ms(PAUSE_MS)
    event.set()


def test_a_stream_may_still_bring_something():
    if LIB != "uapycsp":
        skip("streams are uapycsp's; a thread that reads a socket runs")
    assert csp.run(reads_what_the_network_brings()) == [b"hello\n", None]


@csp.process
async def reads_what_the_network_brings():
    a = csp.Channel("a")
    return await par(reads(a.read), writes_a_line(a.write))


def say_hello_late(s):
    conn, _address = s.accept()
    block_ms(PAUSE_MS)
    conn.send(b"hello\n")
    conn.close()
    s.close()


@csp.process
async def writes_a_line(cout):
    s, host, port = listen()
    _thread.start_new_thread(say_hello_late, (s,))
    reader, writer = await asyncio.open_connection(host, port)
    line = await reader.readline()
    writer.close()
    await cout(line)


def test_a_server_may_still_be_called():
    if LIB != "uapycsp":
        skip("asyncio's servers are uapycsp's")
    assert csp.run(reads_what_a_client_brings()) == b"hello\n"


@csp.process
async def reads_what_a_client_brings():
    a = csp.Channel("a")

    async def serves(reader, writer):
        line = await reader.readline()
        writer.close()
        await writer.wait_closed()
        await a.write(line)

    host, port = new_address()
    server = await asyncio.start_server(serves, host, port)
    _thread.start_new_thread(call_late, (host, port))
    try:
        return await a.read()
    finally:
        server.close()
        await server.wait_closed()


def call_late(host, port):
    import socket

    block_ms(PAUSE_MS)
    s = socket.socket()
    s.connect(socket.getaddrinfo(host, port)[0][-1])
    s.send(b"hello\n")
    s.close()


def test_a_line_server_may_still_be_called():
    host, port = new_address()
    conns = csp.Channel("conns")
    server = csp.adapters.LineServer(host, port, conns.write)
    _thread.start_new_thread(call_late, (host, port))
    assert csp.run(server, reads_a_line(conns.read))[1] == b"hello\n"


@csp.process
async def reads_a_line(conns):
    cin, cout = await conns()
    line = await cin()
    for end in (cin, cout, conns):
        end.poison()
    return line


def test_a_time_limit_of_asyncio_s_may_still_end_a_wait():
    if LIB != "uapycsp":
        skip("asyncio is uapycsp's")
    assert csp.run(limited(lambda aw: asyncio.wait_for(aw, PAUSE_MS / 1000))) == "late"
    if hasattr(asyncio, "timeout"):
        assert csp.run(limited(within_timeout)) == "late"


@csp.process
async def limited(limits):
    try:
        return await limits(reads_plainly(csp.Channel("a")))
    except asyncio.TimeoutError:
        return "late"


async def reads_plainly(ch):
    return await ch.read()


async def within_timeout(aw):
    async with asyncio.timeout(PAUSE_MS / 1000):
        return await aw


def test_a_callback_of_the_loop_s_may_still_poison():
    if LIB != "uapycsp" or MICROPYTHON:
        skip("a loop that calls later is CPython's")
    assert csp.run(reads_until(lambda loop, stop: loop.call_later(PAUSE_MS / 1000, stop))) == []


@csp.process
async def reads_until(begins):
    a = csp.Channel("a")
    begins(asyncio.get_event_loop(), a.poison)
    got = []
    async for v in a.read:
        got.append(v)
    return got


def test_a_file_that_the_loop_watches_may_still_bring_something():
    if LIB != "uapycsp" or MICROPYTHON:
        skip("a loop that watches files is CPython's")
    s, host, port = listen()
    _thread.start_new_thread(call_late, (host, port))

    def watches(loop, stop):
        def called():
            loop.remove_reader(s)
            stop()

        loop.add_reader(s, called)

    assert csp.run(reads_until(watches)) == []
    s.close()


def test_slow_traffic_is_no_deadlock():
    a = csp.Channel("a")
    log = Log()
    csp.run(writes_slowly(a.write), logs_all(a.read, log))
    assert log.items() == [0, 1]


@csp.process
async def writes_slowly(cout):
    for i in range(2):
        await sleep_ms(PAUSE_MS // 2)
        await cout(i)
    raise csp.PoisonException()


@csp.process
async def logs_all(cin, log):
    while True:
        log.add(await cin())


def test_busy_traffic_is_no_deadlock():
    # At every moment all but one of them wait; the watchdog looks several times.
    a, b, c, d = [csp.Channel(n) for n in "abcd"]
    plug = csp.plugnplay
    res = csp.run(
        plug.Prefix(c.read, a.write, 0),
        plug.SeqDelta2(a.read, b.write, d.write),
        plug.Successor(b.read, c.write),
        counts_for_a_while(d.read),
    )
    assert res[3] > 0


@csp.process
async def counts_for_a_while(cin):
    start = ticks_ms()
    n = 0
    while ticks_diff(ticks_ms(), start) < 2 * PAUSE_MS:
        assert await cin() == n
        n += 1
    cin.poison()
    return n


def test_main_may_wait_for_a_spawned_process_that_sleeps():
    assert csp.run(waits_for_sleeper()) == "slept"


@csp.process
async def waits_for_sleeper():
    a = csp.Channel("a")
    reader = csp.Spawn(take(a.read))
    await until(lambda: a.queue_len() == 1)
    v = await join(csp.Spawn(sleeps()))
    a.poison()
    assert await join(reader) == POISONED
    return v


@csp.process
async def sleeps():
    await sleep_ms(PAUSE_MS)
    return "slept"


def test_plain_operations_of_the_main_thread_raise_no_alarm_in_others():
    if AWAITABLE:
        skip("the main thread runs no operation of its own")
    a = csp.Channel("a")
    h = csp.Spawn(sleeps_then_writes(a.write))
    assert a.read() == "late"
    h.join()
