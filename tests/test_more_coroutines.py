"""uapycsp's processes in the corners: what could not be started, what is thrown, closed or
interrupted where it waits, what ends late."""

import sys

from ufuture_support import (
    MICROPYTHON,
    CancelledError,
    Outcome,
    SkipTest,
    asyncio,
    raises,
    renew_loop,
    settle,
    sleep_ms,
    until,
)

from uapycsp import (
    Alternative,
    Channel,
    DeadlockError,
    Guard,
    Parallel,
    PoisonException,
    Sequence,
    Spawn,
    Timer,
    process,
    run,
)
from uapycsp.meeting import AltingBarrier
from ufuture import Future, loop
from ufuture.loop import engine


class Oops(Exception):
    pass


@process
async def reads(cin):
    return await cin()


@process
async def chooses_to_write(ch, value):
    await Alternative(ch.write.alt_pending_write(value)).select()


# What has ended


def test_what_failed_outside_of_a_run_is_not_raised_by_the_next_one():
    contexts = []

    @process
    async def fails():
        raise Oops("outside")

    async def outside():
        loop = asyncio.get_event_loop()
        loop.set_exception_handler(lambda loop, context: contexts.append(context))
        h = Spawn(fails())
        await until(h.done)
        loop.set_exception_handler(None)
        return h

    renew_loop()
    h = asyncio.run(outside())
    assert [type(c["exception"]) for c in contexts] == [Oops]
    assert run(succeeds()) == 6
    assert h.done()


@process
async def succeeds():
    return 6


async def test_a_choice_that_has_been_made_keeps_no_value():
    ch = Channel("c")
    alt = Alternative(Channel("never").read, ch.read)
    h = Spawn(writes(ch.write, "v"))
    await until(lambda: ch.queue_len() == 1)
    assert await alt.select() == (ch.read, "v")
    assert alt._value is None
    await h


async def test_of_many_who_join_a_process_each_may_be_cancelled():
    for cancelled in range(4):
        ch = Channel("c")
        h = Spawn(reads(ch.read))
        joins = [Outcome(joined(h)) for _ in range(4)]
        await settle()
        joins[cancelled].cancel()
        with raises(CancelledError):
            await joins[cancelled].end()
        await ch.write(7)
        del joins[cancelled]
        for t in joins:
            assert await t.end() == 7


async def joined(handle):
    return await handle.join()


# What could not be started


def no_coroutine():
    return 1


def cannot_start():
    return process(no_coroutine)()


async def test_what_a_parallel_could_not_start_is_not_cancelled_with_the_rest():
    a, b, c = Channel("a"), Channel("b"), Channel("c")
    events = []

    @process
    async def lingers(cin):
        try:
            await cin()
        except CancelledError:
            events.append("cancelled")
            await sleep_ms(1)
            events.append("ended")
            raise

    async def starts():
        await Parallel(a.read, b.write(1), lingers(c.read), cannot_start())

    t = Outcome(starts())
    await until(lambda: c.queue_len() == 1)
    assert a.queue_len() == b.queue_len() == 0  # withdrawn: it only waits for what has begun
    assert not t.ends
    t.cancel()
    with raises(TypeError):
        await t.end()
    assert events == ["cancelled", "ended"]
    for ch in (a, b, c):
        assert ch.queue_len() == 0
        ch.verify()
    assert not a.poisoned and not b.poisoned and c.poisoned


async def test_an_operation_that_could_not_begin_gives_nothing_back():
    a, b, c = Channel("a"), Channel("b"), Channel("c")
    used = a.read()
    assert await Parallel(used, a.write(1)) == [1, 0]
    writer = Spawn(writes(b.write, 2))
    await until(lambda: b.queue_len() == 1)
    h = Spawn(parallel_of(reads(c.read), b.read(), a.read(), used, a.read()))
    await until(lambda: c.queue_len() == 1)
    assert b.queue_len() == a.queue_len() == 0
    h.cancel()
    with raises(RuntimeError):
        await h
    await writer
    assert c.poisoned and a.queue_len() == 0 and await b.read() == 2
    for ch in (a, b, c):
        ch.verify()


async def test_a_parallel_with_an_operation_that_was_refused_is_cancelled_alone():
    ends = AltingBarrier.create(2)
    c = Channel("c")
    first = Spawn(syncs(ends[0]))
    await until(lambda: ends[0].waiting() == 1)
    h = Spawn(parallel_of(reads(c.read), ends[0].sync()))
    await until(lambda: c.queue_len() == 1)
    h.cancel()
    assert ends[0].waiting() == 1
    with raises(RuntimeError):
        await h
    await ends[1].sync()
    assert await first == 0
    assert c.poisoned and not c.queue_len()


@process
async def syncs(end):
    return await end.sync()


async def test_what_was_to_run_in_a_parallel_that_cannot_start_is_not_started_later():
    a, b, c = Channel("a"), Channel("b"), Channel("c")
    inner, running = reads(a.read), reads(b.read)
    h = Spawn(running)
    await until(lambda: b.queue_len() == 1)
    with raises(TypeError):
        await Parallel(cannot_start(), Parallel(inner, running, c.read))
    assert a.poisoned and not b.poisoned and not c.poisoned
    with raises(RuntimeError):
        await inner
    await b.write("v")
    assert await h == "v"


async def test_a_parallel_that_cannot_claim_its_members_starts_none():
    a, b, c = Channel("a"), Channel("b"), Channel("c")
    events = []

    @process
    async def notes(cin):
        events.append("begun")
        return await cin()

    def no_memory(group):
        raise MemoryError("made up")

    running = notes(c.read)
    h = Spawn(running)
    await until(lambda: c.queue_len() == 1)
    short = notes(b.read)
    short.claim = no_memory
    with raises(MemoryError):
        await Parallel(notes(a.read), short, running)
    await settle()
    assert events == ["begun"]  # by the one that ran before
    assert a.poisoned and b.poisoned and not c.poisoned
    await c.write("v")
    assert await h == "v"


# What is thrown, closed or interrupted where it waits


async def test_a_process_that_fails_between_queueing_itself_and_its_wait_leaves_the_queue():
    if not MICROPYTHON:
        raise SkipTest("a process is no offer there")

    def queue(it):
        it.send(None)

    for others in range(3):
        ch = Channel("c")

        @process
        async def fails():
            queue(ch.read())
            raise Oops("fails")

        handles = [Spawn(reads(ch.read)) for _ in range(others)]
        await until(lambda: ch.queue_len() == others)
        with raises(Oops):
            await fails()
        assert ch.queue_len() == others
        ch.verify()
        for i in range(others):
            await ch.write(i)
        for i in range(others):
            assert await handles[i] == i


async def test_a_cancellation_that_is_thrown_into_a_parallel_reaches_its_processes():
    ch = Channel("c")
    events = []

    @process
    async def notes(cin):
        try:
            await cin()
        finally:
            events.append("ended")

    async def both():
        await Parallel(notes(ch.read), notes(ch.read))

    inner = both()

    async def drives():
        inner.send(None)
        engine.unpark()
        await until(lambda: ch.queue_len() == 2)
        inner.throw(CancelledError())  # it goes on waiting, for their end
        engine.unpark()
        await until(lambda: len(events) == 2)
        await settle()
        with raises(CancelledError):
            inner.send(None)

    await Outcome(drives()).end()
    assert ch.queue_len() == 0


async def test_a_cancelled_parallel_waits_for_its_processes_beside_each_operation():
    a, b, c = Channel("a"), Channel("b"), Channel("c")
    events = []

    @process
    async def lingers(cin, turns):
        try:
            await cin()
        finally:
            for _ in range(turns):
                await sleep_ms(1)
            events.append(turns)

    async def mixed():
        members = [lingers(a.read, turns) for turns in (1, 10, 20)]
        await Parallel(b.read, c.read(), *members)

    t = Outcome(mixed())
    await until(lambda: a.queue_len() == 3 and b.queue_len() == 1 and c.queue_len() == 1)
    t.cancel()
    with raises(CancelledError):
        await t.end()
    assert events == [1, 10, 20]


async def test_what_is_cancelled_and_then_closed_gives_back_and_leaves_once():
    for start in (
        lambda ch: ch.read(),
        lambda ch: Alternative(ch.read).select(),
        lambda ch: Parallel(ch.read)._await(),
    ):
        for paired in (False, True):
            ch = Channel("c")

            async def drives():
                handles = []
                if not paired:
                    handles.append(Spawn(reads(ch.read)))
                    await until(lambda: ch.queue_len() == 1)
                it = start(ch)
                it.send(None)
                parked = engine.unpark()
                if paired:
                    await ch.write("v")
                else:
                    for i in range(2):
                        handles.append(Spawn(reads(ch.read)))
                        await until(lambda: ch.queue_len() == i + 3)
                parked.cancelled()
                assert ch.queue_len() == (1 if paired else 3)
                it.close()
                ch.verify()
                assert ch.queue_len() == (1 if paired else 3)
                for h in handles:
                    await ch.write("w")
                    assert await h == "w"
                if paired:
                    assert await ch.read() == "v"
                assert ch.queue_len() == 0

            await Outcome(drives()).end()


async def test_what_one_parallel_has_read_is_not_given_back_to_where_others_read_later():
    a, b, c = Channel("a"), Channel("b"), Channel("c")
    written = [Spawn(chooses_to_write(ch, ch.name)) for ch in (a, c)]
    await until(lambda: a.queue_len() == 1 and c.queue_len() == 1)

    async def both():
        await Parallel(b.read(), a.read())

    t = Outcome(both())
    await until(lambda: b.queue_len() == 1)
    assert a.queue_len() == 0
    assert await c.read() == "c"
    t.cancel()
    with raises(CancelledError):
        await t.end()
    assert a.queue_len() == 1 and b.queue_len() == c.queue_len() == 0
    assert await a.read() == "a"
    for h in written:
        await h


# The end of a process, and of a run


async def test_a_process_that_has_ended_keeps_nothing_else_alive():
    ch = Channel("c")
    p = reads(cin=ch.read)
    h = Spawn(p)
    await until(lambda: ch.queue_len() == 1)
    others = [Spawn(reads(ch.read)) for _ in range(2)]  # which makes it the head of a queue
    await until(lambda: ch.queue_len() == 3)
    for i in range(3):
        await ch.write(i)
    assert await h == 0
    for i in range(2):
        assert await others[i] == i + 1
    assert p.name == "reads"
    own = "future", "value", "op", "_f"
    kept = [value for name, value in p.__dict__.items() if name not in own]
    assert not [value for value in kept if value not in (None, False, True)], kept


async def test_a_parallel_that_is_cancelled_before_it_begins_poisons_its_members_ends():
    # In the turn that it gives the others after many that had not to wait.
    a, b = Channel("a"), Channel("b")

    async def cancels(h):
        assert not a.poisoned and not b.poisoned
        h.cancel()

    sys.modules["uapycsp.wait"].Composed.unwaited = 64
    h = Spawn(parallel_of(reads(a.read), reads(b.read)))
    Spawn(cancels(h))
    with raises(CancelledError):
        await h
    assert a.poisoned and b.poisoned and a.queue_len() == b.queue_len() == 0


async def test_a_parallel_that_is_awaited_again_may_be_cancelled_before_it_says_so():
    p = Parallel(reads(Channel("a").read))
    p._args = None  # as when it has begun
    sys.modules["uapycsp.wait"].Composed.unwaited = 64
    h = Spawn(awaits(p))
    Spawn(cancelling(h))
    with raises(CancelledError):
        await h


@process
async def awaits(p):
    await p


@process
async def cancelling(h):
    h.cancel()


@process
async def parallel_of(*members):
    await Parallel(*members)


async def test_a_thread_that_asks_for_the_truth_of_an_alternative_is_not_the_loop():
    if not MICROPYTHON:
        raise SkipTest("the driver is MicroPython's")
    try:
        import _thread
    except ImportError:
        raise SkipTest("no threads here")
    alt = Alternative(Guard())
    engine.listen()  # as a selection does
    alt.queued = True
    task = engine.core.cur_task
    seen = []

    def asks():
        seen.append(bool(alt))
        seen.append(task.data is alt and alt.queued)

    own, task.data = task.data, alt  # as when the loop has set cur_task
    try:
        _thread.start_new_thread(asks, ())
        while len(seen) < 2:
            engine._sleep_ms(1)
        assert seen == [True, True]
        assert bool(alt) is False  # as the loop asks
        assert task.data is None and not alt.queued and alt
    finally:
        task.data = own
        engine.unlisten()


def test_what_ends_is_told_in_whichever_thread_the_loop_runs():
    try:
        import _thread
    except ImportError:
        raise SkipTest("no threads here")
    import time

    from uapycsp.guards import Ended

    class Ready(Guard):
        def enable(self, alt):
            return True, 1

        def disable(self, alt):
            pass

    async def selects():
        return (await Alternative(Ready()).select())[1]

    async def chooses():
        h = Spawn(fails_after(1))
        with raises(Oops):
            await Alternative(Ended(h), Timer(ms=2000)).select()
        return 2

    def runs(f):
        renew_loop()
        values.append(asyncio.run(f()))

    values = []
    _thread.start_new_thread(runs, (selects,))
    deadline = time.time() + 60
    while not values and time.time() < deadline:
        time.sleep(0.01)
    runs(chooses)
    assert values == [1, 2]
    renew_loop()


def test_a_thread_that_schedules_when_the_run_is_over_gets_false_at_once():
    try:
        import _thread
    except ImportError:
        raise SkipTest("no threads here")
    import time

    class Asked(Guard):
        def enable(self, alt):
            return False, None

        def disable(self, alt):
            pass

    guard, ch = Asked(), Channel("c", external=True)
    alt = Alternative(guard, ch.read)

    @process
    async def selects():
        await alt.select()

    @process
    async def ends(how):
        h = Spawn(selects())
        await until(lambda: ch.queue_len() == 1)
        if how is not None:
            raise how
        return h

    for how in (None, Oops, KeyboardInterrupt):
        renew_loop()
        if how is None:
            run(ends(how))
        else:
            with raises(how):
                run(ends(how))
        answers = []
        _thread.start_new_thread(lambda: answers.append(alt.schedule(guard, "v")), ())
        deadline = time.time() + 60
        while not answers and time.time() < deadline:
            time.sleep(0.01)
        assert answers == [False]
    renew_loop()


def test_a_run_leaves_the_tasks_of_others_alone():
    if not MICROPYTHON:
        raise SkipTest("a loop ends with its run on CPython")
    tasks = []

    async def begins():
        tasks.append(asyncio.create_task(sleeps()))

    async def sleeps():
        await sleep_ms(1)
        return "slept"

    async def waits():
        return await tasks[0]

    renew_loop()
    run(begins())
    assert run(waits()) == "slept"


def test_a_run_waits_for_the_end_of_what_it_cancels():
    events = []
    ch = Channel("c", external=True)

    @process
    async def lingers():
        try:
            await ch.read()
        finally:
            for _ in range(3):
                await sleep_ms(1)
            events.append("ended")

    @process
    async def begins(how):
        handles = [Spawn(lingers()) for _ in range(3)]
        await until(lambda: ch.queue_len() == len(handles))
        if how is not None:
            raise how
        return "begun"

    for how in (None, Oops()):
        renew_loop()
        if how is None:
            assert run(begins(how)) == "begun"
        else:
            with raises(Oops):
                run(begins(how))
        assert events == ["ended"] * 3
        assert ch.queue_len() == 0
        del events[:]
    renew_loop()


def test_a_run_ends_though_what_it_cancels_has_members_that_have_just_ended():
    @process
    async def passes(cin):
        await cin()
        await sleep_ms(0)

    async def main():
        ch = Channel("c")
        Spawn(Parallel(passes(ch.read), reads(Channel("d").read)))
        await until(lambda: ch.queue_len() == 1)
        await ch.write(1)
        return "done"

    assert run(main()) == "done"


def test_a_run_raises_what_it_meets_when_it_cancels_the_rest():
    ch = Channel("c", external=True)

    @process
    async def fails():
        try:
            await ch.read()
        except CancelledError:
            await sleep_ms(1)
            raise Oops("at its end")

    @process
    async def begins():
        Spawn(fails())
        await until(lambda: ch.queue_len() == 1)

    renew_loop()
    with raises(Oops):
        run(begins())
    renew_loop()


def test_an_interrupt_while_a_run_waits_for_what_it_cancels_is_one():
    if MICROPYTHON:
        raise SkipTest("there a signal is raised in the middle of whatever runs")
    import signal

    ch = Channel("c", external=True)
    events = []

    @process
    async def lingers():
        try:
            await ch.read()
        finally:
            signal.raise_signal(signal.SIGINT)
            try:
                await sleep_ms(60000)
            finally:
                events.append("ended")

    @process
    async def begins():
        Spawn(lingers())
        await until(lambda: ch.queue_len() == 1)

    with raises(KeyboardInterrupt):
        run(begins())
    assert events == ["ended"]


def test_a_run_whose_loop_cannot_begin_starts_nothing():
    if not MICROPYTHON:
        raise SkipTest("CPython closes what has not begun")
    core = engine.core
    begins_loop = core.run_until_complete
    started = []

    @process
    async def starts():
        started.append("started")

    def fails_before(main):
        core.run_until_complete = begins_loop
        raise MemoryError("none for the loop")

    def fails_as_it_resumes(main):
        core.run_until_complete = begins_loop
        queue = core._task_queue
        core.cur_task = (queue.pop if hasattr(queue, "pop") else queue.pop_head)()
        assert core.cur_task is main
        raise KeyboardInterrupt

    for fails, exception in (fails_before, MemoryError), (fails_as_it_resumes, KeyboardInterrupt):
        renew_loop()
        core.run_until_complete = fails
        with raises(exception):
            run(starts())
        assert started == [] and not engine.is_running()
        assert run(starts()) is None
        assert started == ["started"]
        del started[:]
    renew_loop()


def test_an_interrupt_when_all_have_just_ended_leaves_nobody_to_be_resumed():
    if not MICROPYTHON:
        raise SkipTest("a loop ends with its run on CPython")

    async def interrupts():
        raise KeyboardInterrupt

    @process
    async def fails():
        raise Oops("nobody asks")

    @process
    async def ends(with_failure, others):
        if with_failure:
            await until(Spawn(fails()).done)
        ch = Channel("c")
        for _ in range(others):
            asyncio.create_task(reads_once(ch))
        await until(lambda: ch.queue_len() == others)
        await sleep_ms(1)  # so that asyncio resumes it, and the driver is in no round
        asyncio.create_task(interrupts())
        for i in range(others):
            await ch.write(i)

    async def reads_once(ch):
        await ch.read()

    reports = []
    more = 3 * getattr(engine, "LIMIT", 64) // 2  # than the driver resumes before it gives way
    for with_failure, others in (False, 0), (True, 0), (False, more), (True, more):
        renew_loop()
        loop = asyncio.get_event_loop()
        loop.set_exception_handler(lambda loop, context: reports.append(context))
        try:
            with raises(KeyboardInterrupt):
                run(ends(with_failure, others))
        finally:
            loop.set_exception_handler(None)
        assert not engine._ready
        assert engine.core._task_queue.peek() is None
        assert not reports
    renew_loop()


def test_who_is_behind_an_interrupted_process_meets_its_poison_before_a_cancellation():
    if not MICROPYTHON:
        raise SkipTest("there each of them takes a turn of the loop, and so time")
    met = {}

    @process
    async def interrupts(cout):
        await until(lambda: all(ch.queue_len() for ch in chans[:-1]))
        last = Channel("last")
        Spawn(writes(last.write, "all wait"))
        await last.read()  # so that the engine resumes it
        raise KeyboardInterrupt

    @process(propagate=False)
    async def notes(cin, cout, i):
        try:
            await cin()
        except (PoisonException, CancelledError) as er:
            met[i] = type(er)
            cout.poison()
            raise

    @process
    async def begins(n):
        for i in range(n):
            Spawn(notes(chans[i + 1].read, chans[i + 2].write, i + 1))

    n = 100  # more than the engine resumes before asyncio's tasks have their turn
    chans = [Channel("c%d" % i) for i in range(n + 2)]
    renew_loop()
    with raises(KeyboardInterrupt):
        run(begins(n), interrupts(chans[0].write), notes(chans[0].read, chans[1].write, 0))
    assert met == dict.fromkeys(range(n + 1), PoisonException)
    renew_loop()


def test_who_withstands_its_cancel_after_an_interrupt_may_still_wait_while_it_is_closed():
    if not MICROPYTHON:
        raise SkipTest("asyncio itself waits for all tasks there")
    a, b = Channel("a"), Channel("b", external=True)
    events = []

    async def withstands(waits):
        try:
            while True:
                try:
                    await waits()
                except CancelledError:
                    pass
        finally:
            events.append("closed")
            try:
                await waits()
            finally:
                try:
                    await b.read()
                finally:
                    events.append("ended")
                    while True:  # it is not awaited for ever
                        try:
                            await sleep_ms(1000)
                        except BaseException:
                            pass

    @process
    async def interrupts(*waits):
        for w in waits:
            Spawn(withstands(w))
        await sleep_ms(5)
        raise KeyboardInterrupt

    async def sleeps():
        await asyncio.sleep(1000)

    async def sleeps_twice():
        await asyncio.sleep_ms(0)
        await asyncio.sleep(1000)

    renew_loop()
    with raises(KeyboardInterrupt):
        run(interrupts(a.read, sleeps, sleeps_twice, b.read))
    assert sorted(events) == ["closed"] * 4 + ["ended"] * 4
    assert b.queue_len() == 0
    assert engine.core.cur_task is None
    assert engine.core._task_queue.peek() is None
    assert run(interrupts_nobody()) == "well"
    renew_loop()


@process
async def interrupts_nobody():
    await sleep_ms(1)
    return "well"


def test_who_withstands_its_cancel_after_an_interrupt_has_ended_when_the_run_has():
    if not MICROPYTHON:
        raise SkipTest("asyncio itself waits for all tasks there")
    a, b = Channel("a"), Channel("b")
    handles = []
    events = []

    @process
    async def withstands(cin, cout):
        try:
            while True:
                try:
                    await cin()
                except CancelledError:
                    events.append("cancelled")
        finally:
            events.append("ended")

    @process
    async def interrupts():
        for _ in range(2):
            handles.append(Spawn(withstands(a.read, b.write)))
        await until(lambda: a.queue_len() == 2)
        raise KeyboardInterrupt

    renew_loop()
    with raises(KeyboardInterrupt):
        run(interrupts())
    assert sorted(events) == ["cancelled"] * 2 + ["ended"] * 2
    assert [h.done() for h in handles] == [True] * 2
    assert a.poisoned and b.poisoned
    renew_loop()


# An interrupt, or too little memory, when a writer has met an extended read


@process
async def writes_on(cout):
    while True:
        await cout(1)


@process
async def holds_on(cin):
    while True:
        async with cin.extended():
            pass


@process
async def reads_both(first, second):
    return await Parallel(first, second)


@process
async def writes(cout, value):
    return await cout(value)


def test_a_network_is_not_held_by_what_an_interrupt_left():
    from uapycsp import extended

    wake, left = engine.wake, [1]

    def interrupted(parked):
        wake(parked)
        if left and isinstance(parked, extended.Extended):
            left.pop()
            raise KeyboardInterrupt

    paired = extended.Extended.paired

    def met(self, offer):
        paired(self, offer)
        if left:
            left.pop()
            raise KeyboardInterrupt

    for holder, name, mock in ((engine, "wake", interrupted), (extended.Extended, "paired", met)):
        old = getattr(holder, name)
        left[:] = [1]
        setattr(holder, name, mock)
        try:
            with raises(KeyboardInterrupt):
                ch = Channel("ch")
                run(writes_on(ch.write), holds_on(ch.read))
        finally:
            setattr(holder, name, old)
        assert not left
        a, b = Channel("a"), Channel("b")
        assert run(reads_both(a.read, b.read), writes(a.write, 1), writes(b.write, 2)) == [
            [1, 2], 0, 0]


if MICROPYTHON:

    async def test_a_write_without_memory_to_wake_an_extended_reader_has_not_happened():
        from uapycsp import channel

        def full(parked):
            raise MemoryError

        log = []

        async def reads_in_a_block(cin):
            async with cin.extended() as v:
                log.append(v)

        ch = Channel("ch")
        reader = asyncio.create_task(reads_in_a_block(ch.read))
        await settle()
        wake = engine.wake
        engine.wake = full
        try:
            with raises(MemoryError):
                await ch.write(1)
        finally:
            engine.wake = wake
        assert channel.stays is None
        ch.verify()
        assert await ch.write(2) == 0
        await reader
        assert log == [2]


class FailingEngine:
    """Whose task n is cancelled with n + 1, which it waits for; one cancel fails."""

    def __init__(self, last, failing):
        self.last, self.failing = last, failing
        self.cancelled = []

    def cancel(self, n):
        self.cancelled.append(n)
        if n < self.last:
            loop.cancel(n + 1)
            loop.cancel(n + 1000)
        if n == self.failing:
            raise MemoryError("no room for it")


def test_a_cancel_that_fails_far_inside_leaves_nobody_out():
    real = loop.engine
    for failing in range(30):
        loop.engine = engine = FailingEngine(30, failing)
        try:
            loop.cancel(0)
            raise AssertionError("it has not failed")
        except MemoryError:
            pass
        finally:
            loop.engine = real
        below = [n for n in engine.cancelled if n < 1000]
        assert below == list(range(31)) and not loop._deeper and loop._depth == 0


@process
async def fails_after(ms):
    await sleep_ms(ms)
    raise Oops


def test_a_failure_that_somebody_waited_for_in_vain_is_raised_by_the_run():
    from ufuture import TimeoutError, wait_for_ms

    @process
    async def gives_up(waits):
        h = Spawn(fails_after(20))
        if waits:
            with raises(TimeoutError):
                await wait_for_ms(h, 1)
        else:  # another one goes on waiting, and is told
            told = Outcome(catches(h))
            with raises(TimeoutError):
                await wait_for_ms(h, 1)
            assert await told.end() == "told"
        while not h.done():
            await sleep_ms(1)

    async def catches(h):
        try:
            await h
        except Oops:
            return "told"

    with raises(Oops):
        run(gives_up(True))
    run(gives_up(False))


@process
async def cancels(cin, handles):
    # Poisoned, it goes on after those who wait for its writer have been woken, and before they do.
    try:
        await cin()
    except PoisonException:
        for h in handles:
            h.cancel()


def test_a_failure_whose_waiters_were_cancelled_when_they_had_been_woken_is_raised_by_the_run():
    @process
    async def fails(cin, cout):
        await cin()
        raise Oops

    @process
    async def waits(h, told):
        try:
            await h
        except Oops:
            told.append("told")

    async def network(cancelled, told):
        c, d = Channel("c"), Channel("d")
        h = Spawn(fails(c.read, d.write))
        waiting = [Spawn(waits(h, told)) for _ in range(3)]
        handles = [waiting[i] for i in cancelled]
        one = Spawn(cancels(d.read, handles))
        await until(lambda: d.queue_len() == 1 and c.queue_len() == 1)
        await c.write(1)
        for x in waiting:
            try:
                await x
            except CancelledError:
                pass
        await one
        assert h.done()

    for cancelled in ((0,), (1,), (2,), (0, 1), (1, 2)):
        told = []
        run(network(cancelled, told))
        assert told == ["told"] * (3 - len(cancelled))
    with raises(Oops):
        run(network((0, 1, 2), []))


async def test_who_is_cancelled_when_told_of_a_failure_meets_the_cancellation():
    @process
    async def fails(cin):
        await cin()
        raise Oops

    @process
    async def cancels_at_a_message(cin, task):
        await cin()
        task.cancel()

    async def waits(h):
        await h

    contexts = []
    c, d = Channel("c"), Channel("d")
    h = Spawn(fails(c.read))
    waiting = asyncio.create_task(waits(h))
    one = Spawn(cancels_at_a_message(d.read, waiting))
    await until(lambda: d.queue_len() == 1 and c.queue_len() == 1)
    running_loop = asyncio.get_event_loop()
    running_loop.set_exception_handler(lambda _, context: contexts.append(context))
    try:
        await c.write(1)
        await d.write(1)
        with raises(CancelledError):
            await waiting
        await one
    finally:
        running_loop.set_exception_handler(None)
    assert [type(c["exception"]) for c in contexts] == [Oops]
    assert MICROPYTHON is (contexts[0]["future"] is not None)


def compositions(p):
    return p, Parallel(p), Sequence(p), Parallel(Sequence(p), reads(Channel("d").read))


async def test_who_is_cancelled_before_what_it_waits_for_fails_meets_the_cancellation():
    from ufuture import TimeoutError, wait_for_ms

    @process
    async def fails_when_cancelled(cin):
        try:
            await cin()
        except CancelledError:
            raise Oops

    async def goes_on(waits_for, log):
        try:
            await waits_for
        except Oops:
            log.append("failed")
        await sleep_ms(1)
        log.append("went on")

    for i in range(4):
        log = []
        c = Channel("c")
        h = Spawn(goes_on(compositions(fails_when_cancelled(c.read))[i], log))
        await until(lambda: c.queue_len() == 1)
        h.cancel()
        with raises(CancelledError):
            await h
        with raises(TimeoutError):
            await wait_for_ms(compositions(fails_when_cancelled(Channel("c").read))[i], 5)
        assert log == []


async def test_who_is_cancelled_after_what_it_waits_for_has_failed_meets_both():
    @process
    async def fails(cin, cout, handles):
        await cin()
        for h in handles:
            h.cancel()
        raise Oops

    async def goes_on(waits_for, log):
        try:
            await waits_for
        except Oops:
            log.append("failed")
        await sleep_ms(1)
        log.append("went on")

    for i in range(3):
        for itself in (False, True):
            log = []
            c, d = Channel("c"), Channel("d")
            handles = []
            p = fails(c.read, d.write, handles if itself else ())
            other = Spawn(cancels(d.read, () if itself else handles))
            h = Spawn(goes_on(compositions(p)[i], log))
            handles.append(h)
            await until(lambda: c.queue_len() == 1 and d.queue_len() == 1)
            await c.write(1)
            with raises(CancelledError):
                await h
            await other
            assert "went on" not in log, (i, itself)


async def test_a_failure_before_a_cancellation_comes_through_all_that_is_around_it():
    from ufuture import TimeoutError, gather, wait_for_ms

    @process
    async def fails(f):
        await f
        raise Oops

    @process
    async def stage(depth, f):
        if depth:
            await Parallel(stage(depth - 1, f), sleeps())
        else:
            await Parallel(fails(f), sleeps())

    @process
    async def sleeps():
        await sleep_ms(60000)

    def shapes(f):
        return (stage(2, f), Parallel(stage(1, f), stage(0, Future())), Sequence(stage(1, f)),
                gather(fails(f), sleeps()), gather(stage(1, f), sleeps()))

    async def goes_on(waits_for, log):
        try:
            await waits_for
        except Oops:
            log.append("failed")
        await sleep_ms(1)
        log.append("went on")

    for i in range(5):
        f, log = Future(), []
        h = Spawn(goes_on(shapes(f)[i], log))
        await settle()
        f.set_result(None)
        await settle()
        assert not h.done()
        h.cancel()
        with raises(CancelledError):
            await h
        assert log == ["failed"], i
        f = Future()
        f.set_result(None)
        with raises(Oops):
            await wait_for_ms(shapes(f)[i], 20)
        with raises(TimeoutError):
            await wait_for_ms(shapes(Future())[i], 5)


async def test_of_several_that_are_cancelled_at_once_each_meets_its_own_failure():
    from ufuture import gather

    async def fails(n):
        raise Oops(n)

    async def sleeps():
        await sleep_ms(60000)

    for around in (gather, Parallel):
        waiting = [asyncio.create_task(waits_for(around(fails(n), sleeps()), sleeps()))
                   for n in range(3)]
        await settle()
        for t in waiting:
            t.cancel()
        for n in range(3):
            with raises(Oops) as e:
                await waiting[n]
            assert e.value.args == (n,), (around, n)


async def waits_for(first, second):
    from ufuture import gather

    await gather(first, second)


async def test_who_is_cancelled_in_the_turn_in_which_what_it_waits_for_fails_meets_the_failure():
    @process
    async def fails(f):
        await f
        raise Oops

    for turns in range(6):
        f, log = Future(), []

        async def waits():
            try:
                await Parallel(fails(f))
            except Oops:
                log.append("failed")
                raise
            except CancelledError:
                log.append("cancelled")
                raise

        h = Spawn(waits())
        await settle()
        f.set_result(None)
        for _ in range(turns):
            await sleep_ms(0)
        h.cancel()
        with raises(Oops if turns else CancelledError):
            await h
        assert log == ["failed" if turns else "cancelled"], turns


async def test_a_read_whose_cancellation_was_taken_back_too_late_is_cancelled():
    if not hasattr(asyncio.current_task(), "uncancel"):
        raise SkipTest("CPython from 3.11 on")

    async def waits(operation):
        return await operation()

    for choice in (False, True):
        ch = Channel("c")
        t = asyncio.create_task(waits(Alternative(ch.read).select if choice else ch.read))
        await until(lambda: ch.queue_len() == 1)
        await ch.write(7)
        t.cancel("why")
        t.uncancel()
        with raises(CancelledError):
            await t
        assert await ch.read() == 7


def test_what_an_asyncio_run_left_behind_does_not_hide_a_deadlock():
    @process
    async def sleeps():
        await sleep_ms(50)

    async def leaves():
        Spawn(sleeps())

    asyncio.run(leaves())
    with raises(DeadlockError):
        run(reads(Channel("a").read))
    renew_loop()


async def test_a_process_that_cancels_itself_is_cancelled_at_the_next_await():
    went_on = []

    @process
    async def cancels_itself(box):
        box[0].cancel()
        await sleep_ms(0)
        await sleep_ms(5)
        went_on.append(True)

    box = [None]
    box[0] = h = Spawn(cancels_itself(box))
    with raises(CancelledError):
        await h
    assert not went_on


if not MICROPYTHON:
    import os
    import signal
    import threading

    def test_a_loop_with_a_handler_of_a_signal_is_not_in_a_deadlock():
        ch = Channel("signals")

        @process
        async def waits_for_a_signal(cin):
            asyncio.get_running_loop().add_signal_handler(
                signal.SIGUSR1, lambda: asyncio.ensure_future(ch.write("came")))
            threading.Timer(0.8, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            return await cin()

        assert run(waits_for_a_signal(ch.read)) == "came"


# A Parallel or Sequence that is started twice


async def seven():
    return 7


@process
async def writes_one(cout):
    await cout(1)


def spawned_and_awaited(make):
    # What awaiting it raises, and what the one that was spawned gives.
    async def main():
        body = make()
        h = Spawn(body)
        with raises(RuntimeError):
            await body
        return await h

    return run(main())


def test_what_was_spawned_and_has_not_begun_is_not_awaited_too():
    ch = Channel("c", external=True)
    assert spawned_and_awaited(lambda: Parallel(seven())) == [7]
    assert spawned_and_awaited(lambda: Sequence(seven(), seven())) == [7, 7]
    assert spawned_and_awaited(
        lambda: Parallel(seven(), Parallel(reads(ch.read), ch.write.alt_pending_write(4)))
    ) == [7, [4, 0]]
    assert spawned_and_awaited(lambda: Parallel(ch.read, ch.write.alt_pending_write(5))) == [5, 0]


def test_write_guards_that_were_spawned_are_not_awaited_too():
    a, b = Channel("a"), Channel("b")

    async def main():
        body = Parallel(a.write.alt_pending_write(1), b.write.alt_pending_write(2))
        h = Spawn(body)
        with raises(RuntimeError):
            await body
        got = [await a.read(), await b.read()]
        assert await h == [0, 0]
        with raises(RuntimeError):
            await body
        return got

    assert run(main()) == [1, 2]


def test_a_spawned_parallel_that_is_cancelled_before_it_begins_poisons_the_ends_of_its_members():
    a, b = Channel("a"), Channel("b")

    async def main():
        h = Spawn(Parallel(writes_one(a.write), b.write.alt_pending_write(1)))
        h.cancel()
        with raises(CancelledError):
            await h
        return a.poisoned, b.poisoned

    assert run(main()) == (True, False)


# No memory when it parks


def test_after_a_wait_that_found_no_memory_the_next_one_can_be_cancelled():
    if not MICROPYTHON:
        raise SkipTest("its heap can be locked")
    import micropython

    def parks_in_vain(cin, attributes):
        extended = cin.extended()
        for i in range(attributes):  # its table of attributes is full after some number of them
            setattr(extended, "x%d" % i, 1)
        enter = extended.__aenter__()
        micropython.heap_lock()
        try:
            enter.send(None)
        except MemoryError:
            micropython.heap_unlock()
            return True
        micropython.heap_unlock()
        enter.close()
        engine.unpark()
        return False

    @process
    async def p(ch, other, attributes, log):
        log.append(parks_in_vain(other.read, attributes))
        try:
            await ch.read()
        except CancelledError:
            log.append("cancelled")
        log.append(await ch.read.within(0))

    async def main(attributes):
        ch, other, log = Channel("c"), Channel("o", external=True), []
        h = Spawn(p(ch, other, attributes, log))
        await until(lambda: ch.queue_len() == 1)
        await ch.write(5)
        h.cancel()
        await h
        return log

    logs = [run(main(attributes)) for attributes in range(12)]
    assert [log[1:] for log in logs] == [["cancelled", 5]] * 12
    assert any(log[0] for log in logs)


def test_a_coroutine_that_never_begins_leaves_no_warning():
    if MICROPYTHON:
        raise SkipTest("it has no warnings")
    import gc
    import warnings

    async def later():
        seen.append("began")

    @process
    async def fails():
        raise Oops

    seen = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            run(Sequence(fails(), later()))
        except Oops:
            seen.append("raised")
        run(settle())  # lets go of the run before
        gc.collect()
    texts = [str(warning.message) for warning in told]  # some of what other tests leave behind
    assert not any(".later" in text for text in texts) and seen == ["raised"]
