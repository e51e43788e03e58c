"""Rule 12: when every process waits on a channel, run says so, and nothing stays behind."""

import csp

from rules_support import (
    AWAITABLE,
    POISONED,
    Log,
    idle,
    join,
    par,
    raises,
    skip,
    sleep_ms,
    ticks_diff,
    ticks_ms,
    until,
    until_blocking,
)


def channels(names):
    return [csp.Channel(n) for n in names]


@csp.process
async def prefix(cin, cout):
    while True:
        await cout(await cin())


@csp.process
async def delta2(cin, cout1, cout2):
    while True:
        v = await cin()
        await cout1(v)
        await cout2(v)


@csp.process
async def consumer(cin):
    async for _ in cin:
        pass


@csp.process
async def producer(cout):
    await cout(1)


@csp.process
async def returns(v):
    return v


@csp.process
async def mux(*ends):
    await csp.Alternative(*ends).select()


def test_the_report_names_processes_channels_and_directions_in_the_order_of_their_start():
    a, b, c, d = channels("abcd")
    start = ticks_ms()
    with raises(csp.DeadlockError) as e:
        csp.run(
            prefix(c.read, a.write), delta2(a.read, b.write, d.write), returns(1), consumer(d.read)
        )
    text = "3 processes wait: prefix reads c, delta2 reads a, consumer reads d"
    assert str(e.value) == text, str(e.value)
    assert ticks_diff(ticks_ms(), start) < 30000
    assert idle(a, b, c, d)
    assert csp.run(returns(1)) == 1


def test_the_report_says_writes_and_counts_one():
    a, b = channels("ab")
    with raises(csp.DeadlockError) as e:
        csp.run(producer(a.write), consumer(b.read))
    assert str(e.value) == "2 processes wait: producer writes a, consumer reads b", str(e.value)
    (a,) = channels("a")
    with raises(csp.DeadlockError) as e:
        csp.run(producer(a.write))
    text = str(e.value)
    assert text.startswith("1 process") and text.endswith(": producer writes a"), text
    assert idle(a)


def test_several_that_wait_on_one_channel_are_all_reported_and_ended():
    a, b = channels("ab")
    with raises(csp.DeadlockError) as e:
        csp.run(producer(a.write), mux(a.write.alt_pending_write(1)), producer(b.write))
    text = "3 processes wait: producer writes a, mux writes a, producer writes b"
    assert str(e.value) == text, str(e.value)
    assert idle(a, b)


def test_all_channels_that_are_reported_are_poisoned_before_anybody_goes_on():
    a, b = channels("ab")
    log = Log()
    with raises(csp.DeadlockError) as e:
        csp.run(looks_at(a.read, b, log), mux(a.read, b.read))
    assert str(e.value) == "2 processes wait: looks_at reads a, mux reads a or reads b"
    assert log.items() == [True]


@csp.process
async def looks_at(cin, ch, log):
    try:
        await cin()
    except csp.PoisonException:
        log.add(ch.poisoned)


def test_the_report_names_all_guards_of_an_alternative():
    a, b, c = channels("abc")
    with raises(csp.DeadlockError) as e:
        csp.run(mux(a.read, b.read), mux(a.read, c.write.alt_pending_write(1)))
    text = "2 processes wait: mux reads a or reads b, mux reads a or writes c"
    assert str(e.value) == text, str(e.value)
    assert idle(a, b, c)


def test_a_buffered_channel_is_reported_like_others():
    full = csp.BufferedChannel("full", 1)
    empty = csp.BufferedChannel("empty", 1)
    with raises(csp.DeadlockError) as e:
        csp.run(writes_two(full.write), consumer(empty.read))
    text = "2 processes wait: writes_two writes full, consumer reads empty"
    assert str(e.value) == text, str(e.value)


@csp.process
async def writes_two(cout):
    await cout(1)
    await cout(2)


def test_a_process_that_waits_for_its_children_is_not_what_waits():
    a, b = channels("ab")
    with raises(csp.DeadlockError) as e:
        csp.run(outer(a, b))
    # Either of the two may be started first.
    start, _, rest = str(e.value).partition(": ")
    assert start == "2 processes wait", str(e.value)
    assert sorted(rest.split(", ")) == ["consumer reads a", "consumer reads b"], str(e.value)
    assert idle(a, b)


@csp.process
async def outer(a, b):
    await par(csp.Sequence(returns(1), consumer(a.read)), csp.Parallel(consumer(b.read)))


def test_members_of_a_parallel_of_guards_are_reported_with_their_process():
    a, b = channels("ab")
    with raises(csp.DeadlockError) as e:
        csp.run(posts_both(a.read, b.write))
    text = str(e.value)
    assert text.startswith("1 process") and "posts_both reads a" in text and "writes b" in text, (
        text
    )
    assert idle(a, b)


@csp.process
async def posts_both(cin, cout):
    await par(cin, cout.alt_pending_write(1))


def test_members_of_a_parallel_of_write_guards_alone_are_reported_with_their_process():
    a, b = channels("ab")
    with raises(csp.DeadlockError) as e:
        csp.run(writes_both(a.write, b.write))
    assert str(e.value) == "1 process waits: writes_both writes a or writes b", str(e.value)
    assert idle(a, b)


@csp.process
async def writes_both(cout0, cout1):
    await par(cout0.alt_pending_write(1), cout1.alt_pending_write(2))


def test_un_awaited_operations_of_a_parallel_are_reported_with_their_process():
    if not AWAITABLE:
        skip("plain calls are processes of their own there")
    a, b = channels("ab")
    with raises(csp.DeadlockError) as e:
        csp.run(awaits_both(a.read, b.write))
    assert "awaits_both reads a or writes b" in str(e.value), str(e.value)
    assert idle(a, b)


@csp.process
async def awaits_both(cin, cout):
    await par(cin(), cout(1))


def test_waiting_for_a_spawned_process_that_waits_is_a_deadlock():
    (a,) = channels("a")
    with raises(csp.DeadlockError) as e:
        csp.run(waits_for_spawned(a))
    assert str(e.value).endswith(": consumer reads a"), str(e.value)
    assert idle(a)


@csp.process
async def waits_for_spawned(a):
    await join(csp.Spawn(consumer(a.read)))


def test_its_processes_are_poisoned_and_end():
    a, b = channels("ab")
    log = Log()
    with raises(csp.DeadlockError):
        csp.run(logs_its_end("x", a.read, log), logs_its_end("y", b.read, log))
    # Nothing to wait for: run has waited for them.
    assert log.count() == 4
    for name in "xy":
        assert [what for n, what in log.items() if n == name] == [POISONED, "end"]
    assert a.poisoned and b.poisoned
    assert idle(a, b)


@csp.process
async def logs_its_end(name, cin, log):
    try:
        await cin()
    except csp.PoisonException:
        log.add((name, POISONED))
    finally:
        log.add((name, "end"))


def test_a_process_that_waits_again_in_its_cleanup_ends_too():
    a, b = channels("ab")
    with raises(csp.DeadlockError):
        csp.run(waits_again(a.read, b.read))
    assert idle(a, b)
    assert csp.run(returns(1)) == 1


@csp.process
async def waits_again(cin, other):
    try:
        await cin()
    except csp.PoisonException:
        await other()


def test_a_deadlock_after_much_work_is_found():
    a, b = channels("ab")
    with raises(csp.DeadlockError) as e:
        csp.run(
            writes_many(a.write, 300), prefix(a.read, b.write), takes(b.read, 300), sleeps(200)
        )
    assert str(e.value).endswith(": prefix reads a"), str(e.value)


@csp.process
async def writes_many(cout, n):
    for i in range(n):
        await cout(i)


@csp.process
async def takes(cin, n):
    for _ in range(n):
        await cin()


@csp.process
async def sleeps(n):
    await sleep_ms(n)


def test_run_works_again_after_a_deadlock():
    for _ in range(2):
        a, b = channels("ab")
        with raises(csp.DeadlockError):
            csp.run(consumer(a.read))
        log = Log()
        assert csp.run(gives(b.write, 20), logs_all(b.read, log)) == [None, None]
        assert log.items() == list(range(20))


@csp.process
async def gives(cout, n):
    for i in range(n):
        await cout(i)
    raise csp.PoisonException()


@csp.process
async def logs_all(cin, log):
    while True:
        log.add(await cin())


def test_unnamed_channels_are_reported_somehow():
    with raises(csp.DeadlockError) as e:
        csp.run(consumer(csp.Channel().read))
    assert "consumer reads " in str(e.value)


def test_a_deadlock_that_comes_of_a_spawned_process_s_failure_does_not_hide_it():
    (a,) = channels("a")
    with raises(ZeroDivisionError):
        csp.run(reads_from_who_fails(a))


@csp.process
async def reads_from_who_fails(ch):
    @csp.process
    async def fails():
        await ch.write(1)  # not an argument: nobody poisons it
        return 1 // 0

    csp.Spawn(fails())
    while True:
        await ch.read()


class Nameless:
    def __str__(self):
        raise ValueError("no name")

    __repr__ = __str__


def test_a_deadlock_on_a_channel_whose_name_cannot_be_told_is_one():
    with raises(csp.DeadlockError):
        csp.run(consumer(csp.Channel(Nameless()).read))


def test_a_select_whose_timer_has_fired_may_deadlock_later():
    (a,) = channels("a")
    with raises(csp.DeadlockError) as e:
        csp.run(selects_then_reads(a.read))
    assert str(e.value).endswith(": selects_then_reads reads a"), str(e.value)


@csp.process
async def selects_then_reads(cin):
    await csp.Alternative(cin, csp.Timer(ms=20)).select()
    await cin()


def test_a_spawned_process_that_waits_as_main_does_is_part_of_the_deadlock():
    a, b = channels("ab")
    log = Log()
    with raises(csp.DeadlockError) as e:
        csp.run(main_reads(a, b, log))
    assert "main_reads reads a" in str(e.value) and "logs_its_end reads b" in str(e.value)
    assert idle(a, b)
    until_blocking(lambda: log.has(("spawned", "end")))  # run does not wait for a spawned thread


@csp.process
async def main_reads(a, b, log):
    csp.Spawn(logs_its_end("spawned", b.read, log))
    await until(lambda: b.queue_len() == 1)
    await a.read()
