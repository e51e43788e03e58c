"""uapycsp and ufuture where things end in unusual ways: closed coroutines, loops that are gone,
threads that ask too late, interrupts."""

import sys

from ufuture_support import (
    MICROPYTHON,
    CancelledError,
    Foreign,
    Outcome,
    Place,
    SkipTest,
    asyncio,
    block_ms,
    raises,
    renew_loop,
    returns,
    settle,
    sleep_ms,
    until,
)

from uapycsp import (
    Alternative,
    BufferedChannel,
    Channel,
    DeadlockError,
    Guard,
    Parallel,
    Spawn,
    Timer,
    process,
    run,
)
from ufuture import create_future, gather
from ufuture.loop import engine
from ufuture.virtual import VirtualClock


# Closed coroutines


async def close_while_it_waits(coro):
    """Begin a coroutine in this task and close it where it waits."""

    async def closes():
        it = coro.__await__() if hasattr(coro, "__await__") else coro
        it.send(None)
        it.close()
        engine.unpark()

    await Outcome(closes()).end()


async def test_a_select_that_is_closed_leaves_no_offer():
    a, b = Channel("a"), Channel("b")
    alt = Alternative(a.read, b.write.alt_pending_write(1), Timer(ms=60000))
    await close_while_it_waits(alt.select())
    assert a.queue_len() == b.queue_len() == 0
    t = Outcome(alt.select())  # it can be used again
    await until(lambda: a.queue_len() == 1)
    await a.write("v")
    assert (await t.end())[1] == "v"


async def test_an_operation_that_is_closed_leaves_no_offer():
    for ch in (Channel("c"), BufferedChannel("b", capacity=0)):
        await close_while_it_waits(ch.read())
        await close_while_it_waits(ch.write(1))
        assert ch.queue_len() == 0
        ch.verify()


async def test_a_parallel_that_is_closed_leaves_no_offer_and_cancels_its_processes():
    a, b, c = Channel("a"), Channel("b"), Channel("c")
    events = []

    @process
    async def reads(cin):
        try:
            await cin()
        finally:
            events.append("ended")

    async def both():
        await Parallel(reads(a.read), b.read, c.write(1))

    inner = both()

    async def drives():
        inner.send(None)
        engine.unpark()
        await until(lambda: a.queue_len() == 1)
        assert b.queue_len() == c.queue_len() == 1
        inner.close()

    await Outcome(drives()).end()
    await until(lambda: events)
    assert a.queue_len() == b.queue_len() == c.queue_len() == 0


async def test_a_gather_that_is_closed_cancels_its_tasks():
    fut = create_future()
    events = []

    async def waits():
        try:
            await fut
        finally:
            events.append("ended")

    inner = gather(waits(), waits())

    async def drives():
        inner.send(None)
        engine.unpark()
        await settle()
        assert not events
        inner.close()

    await Outcome(drives()).end()
    await until(lambda: len(events) == 2)


# Who waits where


async def test_a_place_serves_waiting_tasks_of_any_kind_one_after_another():
    @process
    async def serves(p):
        return await p.wait()

    p = Place("p")
    starts = {
        "owned": lambda: Outcome(p.wait()),
        "foreign": lambda: Foreign(p.wait()),
        "process": lambda: Spawn(serves(p)),
    }
    for first in starts:
        for second in starts:
            for kind in (first, second):
                t = starts[kind]()
                await until(p.waits)
                p.wake()
                if kind == "process":
                    assert await t == "p"
                else:
                    assert await t.end() == "p"


async def test_a_wake_at_the_moment_of_the_limit_counts_once():
    for kind in (Outcome, Foreign):
        p = Place()
        t = kind(p.wait_ms(20))
        await until(p.waits)
        block_ms(40)  # the limit is over when the loop looks next
        if MICROPYTHON:
            p.wake()
        else:
            p.woken = True
            engine.wake(p)  # its callback may have gone to those that the loop calls next
        assert await t.end() is True
        await sleep_ms(30)
        assert t.ends == 1 and p.expiries == 0


# Bursts on buffered channels


async def test_many_operations_of_one_parallel_on_a_buffered_channel_keep_their_order():
    ch = BufferedChannel("b")
    assert await Parallel(*[ch.write(i) for i in range(150)]) == [0] * 150
    assert ch.queue_len() == 150
    assert await Parallel(*[ch.read() for _ in range(150)]) == list(range(150))
    assert ch.queue_len() == 0


async def test_who_writes_for_ever_can_be_cancelled_while_it_lets_others_go_first():
    ch = BufferedChannel("b")
    last = []

    @process
    async def writes():
        while True:
            await ch.write(len(last))
            last.append(1)

    h = Spawn(writes())
    await until(lambda: len(last) > 100)
    h.cancel()
    await until(h.done)
    n = len(last)
    await settle()
    assert len(last) == n and ch.queue_len() == n


# Runs


def test_what_is_spawned_without_a_run_is_reported_when_it_fails():
    reports = []

    async def main():
        loop = asyncio.get_event_loop()
        loop.set_exception_handler(lambda loop, context: reports.append(context["exception"]))

        async def fails():
            raise ValueError("nobody asks")

        async def asked():
            raise ValueError("asked")

        h = Spawn(fails())
        await until(h.done)
        h = Spawn(asked())
        with raises(ValueError):
            await h
        h = Spawn(sleep_long())
        await sleep_ms(1)
        h.cancel()
        await until(h.done)
        loop.set_exception_handler(None)

    async def sleep_long():
        await sleep_ms(60000)

    renew_loop()
    asyncio.run(main())
    assert [str(er) for er in reports] == ["nobody asks"]


def test_a_deadlock_is_told_even_if_its_poison_made_a_process_fail():
    @process
    async def turns_poison_into_an_error(cin):
        try:
            await cin()
        except Exception:
            raise ValueError("poisoned")

    renew_loop()
    with raises(DeadlockError) as e:
        run(turns_poison_into_an_error(Channel("the channel").read))
    assert "the channel" in str(e.value)


def interrupts_run(*spawned):
    @process
    async def interrupts():
        handles = [Spawn(f()) for f in spawned]
        await sleep_ms(5)
        assert not [h for h in handles if h.done()]
        raise KeyboardInterrupt

    renew_loop()
    with raises(KeyboardInterrupt):
        run(interrupts())
    renew_loop()


def test_an_interrupt_cancels_what_waits_apart():
    events = []
    ch = Channel("apart", external=True)

    async def waits_apart():
        try:
            await ch.read()
        finally:
            events.append("ended")

    interrupts_run(waits_apart)
    assert events == ["ended"]
    assert ch.queue_len() == 0


def test_an_interrupt_of_an_inner_process_cancels_what_was_spawned():
    ch = Channel("apart", external=True)

    async def waits_apart(events, slowly):
        try:
            await ch.read()
        finally:
            if slowly:
                await sleep_ms(1)  # which it can as long as the loop runs
            events.append("ended")

    @process
    async def inner():
        raise KeyboardInterrupt

    @process
    async def outer(*args):
        Spawn(waits_apart(*args))
        await sleep_ms(5)
        await inner()

    for slowly in (True, False):
        events = []
        renew_loop()
        with raises(KeyboardInterrupt):
            run(outer(events, slowly))
        assert events == ["ended"]
        if MICROPYTHON:
            assert engine.core._task_queue.peek() in (None, engine._driver)
    renew_loop()


def test_an_interrupt_does_not_wait_for_ever_for_who_withstands_its_cancel():
    if not MICROPYTHON:
        raise SkipTest("asyncio itself waits for all tasks there")
    ch = Channel("apart", external=True)
    cancels = []

    async def withstands():
        while True:
            try:
                await ch.read()
            except CancelledError:
                cancels.append(1)

    interrupts_run(withstands)
    assert cancels
    assert run(returns(1)) == 1


def test_an_interrupt_of_an_engine_run_comes_out_with_nothing_after_it():
    async def interrupted():
        raise KeyboardInterrupt

    renew_loop()
    with raises(KeyboardInterrupt):
        engine.run(interrupted())
    renew_loop()
    assert engine.run(sleeps()) == "slept"


async def sleeps():
    await sleep_ms(1)
    return "slept"


def test_without_the_runner_of_newer_pythons_a_run_is_the_same():
    if MICROPYTHON or not hasattr(asyncio, "Runner"):
        raise SkipTest("for CPython 3.11 and later")
    runner = asyncio.Runner
    del asyncio.Runner
    try:
        a, b = Channel("a"), Channel("b")

        @process
        async def gives(cout):
            await cout(1)

        @process
        async def takes(cin):
            return await cin()

        assert run(gives(a.write), takes(a.read)) == [None, 1]
        test_an_interrupt_cancels_what_waits_apart()
        test_an_interrupt_of_an_engine_run_comes_out_with_nothing_after_it()
        with raises(DeadlockError):
            run(takes(b.read))
        with raises(RuntimeError):
            asyncio.get_running_loop()
    finally:
        asyncio.Runner = runner


async def test_a_watch_that_was_taken_back_is_called_no_more():
    calls = []

    def look():
        calls.append(1)

    engine.set_watch(look)
    engine.set_watch(None)
    await sleep_ms(600)
    assert not calls


def test_a_watch_without_memory_is_called_again():
    if not MICROPYTHON:
        raise SkipTest("memory does not end so on CPython")
    p = Place()
    calls = []

    def look():
        calls.append(1)
        if len(calls) == 1:
            raise MemoryError
        p.wake()
        return True

    class Quiet(Outcome):
        def ended(self, value, exception):
            Outcome.ended(self, value, exception)
            fut.set_result(value)

    async def watched():
        engine.set_watch(look)
        Quiet(p.wait())
        await fut
        engine.set_watch(None)

    renew_loop()
    fut = create_future()
    asyncio.run(watched())
    assert len(calls) == 2


def test_a_wake_of_what_waited_in_a_loop_that_is_gone_does_no_harm():
    if not MICROPYTHON:
        raise SkipTest("a future knows its loop on CPython")
    p = Place()

    async def leaves_behind():
        Outcome(p.wait())
        await until(p.waits)

    async def next_one():
        p.wake()
        q = Place("q")
        t = Foreign(q.wait())
        await until(q.waits)
        q.wake()
        return await t.end() == "q"

    renew_loop()
    asyncio.run(leaves_behind())
    renew_loop()
    assert asyncio.run(next_one())
    renew_loop()


# Other threads


def threads():
    try:
        import _thread  # noqa: F401
    except ImportError:
        raise SkipTest("no threads here")
    import uthreading

    return uthreading


class Asked(Guard):
    def enable(self, alt):
        return False, None

    def disable(self, alt):
        pass


async def test_a_thread_that_schedules_while_the_loop_is_busy_waits_for_its_answer():
    uthreading = threads()
    import time

    guard, ch = Asked(), Channel("c")
    alt = Alternative(guard, ch.read)
    answers = []
    try:
        t = uthreading.Thread(target=lambda: answers.append(alt.schedule(guard, "v")))
        s = Outcome(alt.select())  # a guard like this has the loop listen
        await until(lambda: ch.queue_len() == 1)
        t.start()
        time.sleep(0.2)
        assert not answers
        assert (await s.end())[1] == "v"
        await until(lambda: answers)
        t.join()
    finally:
        engine.unlisten()
    assert answers == [True]


async def test_a_thread_that_asks_a_loop_that_listens_no_more_gets_false_and_nothing_happens():
    uthreading = threads()
    calls = []
    answers = []
    asking = uthreading.Event()

    def asks():
        asking.set()
        answers.append(engine.ask(calls.append, 1))

    engine.listen()
    await settle()
    t = uthreading.Thread(target=asks)
    if MICROPYTHON:
        t.start()
        asking.wait()
        while not engine._asked:
            pass
        engine.unlisten()
    else:
        engine.unlisten()
        t.start()
    t.join()
    assert answers == [False]
    engine.listen()  # a later run
    t = uthreading.Thread(target=lambda: answers.append(engine.ask(calls.append, 2)))
    t.start()
    await until(lambda: len(answers) == 2)
    t.join()
    engine.unlisten()
    assert calls == [2], "what was answered with False has happened all the same"


async def test_a_thread_that_schedules_when_the_loop_listens_no_more_touches_no_alternative():
    uthreading = threads()
    ch, guard = Channel("c"), Guard()
    alt = Alternative(guard, ch.read)
    answers = []
    s = Outcome(alt.select())
    await until(lambda: ch.queue_len() == 1)
    engine.unlisten()  # as at the end of a run, before what is left is cancelled
    t = uthreading.Thread(target=lambda: answers.append(alt.schedule(guard, "v")))
    t.start()
    t.join()
    assert answers == [False] and alt.waits
    await ch.write("w")
    assert (await s.end())[1] == "w"


async def test_what_fails_in_the_loop_is_raised_by_the_thread_that_asked():
    uthreading = threads()
    answers = []

    def fails():
        raise MemoryError("none is left")

    def asks():
        for f in (fails, lambda: "well"):
            try:
                answers.append(engine.ask(f))
            except MemoryError:
                answers.append("raised")

    engine.listen()
    try:
        t = uthreading.Thread(target=asks)
        t.start()
        await until(lambda: len(answers) == 2)
        t.join()
    finally:
        engine.unlisten()
    assert answers == ["raised", "well"]


def test_a_thread_gets_an_answer_when_asyncio_itself_ran_the_loop_that_has_ended():
    uthreading = threads()
    ch, guard = Channel("c"), Guard()
    answers = []

    async def main():
        alt = Alternative(guard, ch.read)
        s = Outcome(alt.select())
        await until(lambda: ch.queue_len() == 1)
        await ch.write(1)
        await s.end()
        return alt

    alt = asyncio.run(main())
    t = uthreading.Thread(target=lambda: answers.append(alt.schedule(guard, 1)))
    t.start()
    t.join()  # MicroPython has to wait for seconds: its loop ends without a word
    assert answers == [False]

    async def again():
        # The loop's own thread is not another one, whoever listened before.
        alt = Alternative(guard, ch.read)
        s = Outcome(alt.select())
        await until(lambda: ch.queue_len() == 1)
        assert alt.schedule(guard, "v")
        assert (await s.end())[1] == "v"

    asyncio.run(again())
    engine.unlisten()
    renew_loop()


def test_an_interrupt_of_what_listens_ends_the_others_like_any_interrupt():
    ended = []
    flags = []

    def interrupt():
        raise KeyboardInterrupt

    @process
    async def waits(cin):
        flags.append(engine.listen())
        flags[0].answer = interrupt
        flags[0].set()
        try:
            await cin()
        except BaseException as er:
            ended.append(type(er))
            raise

    with raises(KeyboardInterrupt):
        run(waits(Channel("c", external=True).read))
    flags[0].answer = None
    assert ended == [CancelledError]
    with raises(DeadlockError):
        run(Channel("dead").read())


def test_what_a_task_of_an_earlier_run_waits_for_hides_no_deadlock():
    alts = []

    @process
    async def is_left_behind():
        alts.append(Alternative(Guard(), Channel("never").read))
        tasks.append(asyncio.get_event_loop().create_task(alts[0].select()))
        await until(lambda: alts[0].waits)
        raise KeyboardInterrupt

    tasks = []
    with raises(KeyboardInterrupt):
        run(is_left_behind())
    assert alts[0].waits == MICROPYTHON  # where a loop leaves its tasks as they are
    with raises(DeadlockError):
        run(Channel("dead").read())


async def test_who_listens_twice_in_a_loop_listens_with_one_flag():
    flag = engine.listen()
    try:
        assert engine.listen() is flag
    finally:
        engine.unlisten()


def test_a_second_virtual_clock_is_refused_whatever_thread_it_is_in():
    uthreading = threads()
    said = []

    async def nothing():
        pass

    def tries():
        try:
            VirtualClock().run(nothing())
        except RuntimeError as er:
            said.append(str(er))

    async def main():
        t = uthreading.Thread(target=tries)
        t.start()
        t.join()
        await sleep_ms(60000)  # by its own clock, which goes on

    VirtualClock().run(main())
    assert len(said) == 1 and said[0] in (
        "a virtual clock runs already", "an event loop runs already")


if sys.implementation.name != "micropython":

    def test_a_run_is_refused_until_the_loop_of_another_thread_s_is_over():
        # Its network has ended by then; the loop still waits for what an executor does.
        uthreading = threads()
        begun, tried = uthreading.Event(), uthreading.Event()
        told = []

        async def first():
            asyncio.get_running_loop().run_in_executor(None, tried.wait, 60)
            begun.set()

        def tries():
            begun.wait(60)
            for _ in range(100):
                told.append(runs_or_is_refused(nothing()))
            tried.set()

        t = uthreading.Thread(target=tries)
        t.start()
        run(first())
        t.join()
        assert told == ["refused"] * 100
        assert run(nothing()) is None

    def test_of_two_runs_at_the_same_moment_none_disturbs_the_other():
        uthreading = threads()
        for _ in range(30):
            both = uthreading.Barrier(2)
            told = []

            async def lasts():
                await asyncio.sleep(0.01)
                return "ran"

            def runs():
                coro = lasts()
                both.wait()
                told.append(runs_or_is_refused(coro))

            ts = [uthreading.Thread(target=runs) for _ in range(2)]
            for t in ts:
                t.start()
            for t in ts:
                t.join()
            assert "ran" in told and set(told) <= {"ran", "refused"}, told

    async def nothing():
        await sleep_ms(1)

    def runs_or_is_refused(coro):
        try:
            return run(coro)
        except RuntimeError:
            coro.close()
            return "refused"

    def test_a_coroutine_that_will_not_begin_is_not_warned_of():
        import gc
        import warnings

        import uapycsp
        from upycsp import aio

        async def fails():
            raise ValueError

        async def later():
            pass

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for csp in (uapycsp, aio):
                for network in (csp.Sequence(fails(), later()),
                                csp.Parallel(fails(), csp.Sequence(fails(), later()))):
                    with raises(ValueError):
                        csp.run(network)
            del network
            gc.collect()
        assert not told

    def test_a_thread_that_asks_a_loop_that_has_closed_gets_false():
        answers = []

        async def main():
            engine.listen()

        asyncio.run(main())
        assert engine.elsewhere() is False
        answers.append(engine.ask(answers.append, 1))
        engine.unlisten()
        assert answers == [False]

    def test_a_thread_that_asks_a_loop_that_closes_before_it_answers_gets_false():
        uthreading = threads()
        answers = []
        asked = uthreading.Event()
        loop = asyncio.new_event_loop()
        call_soon = loop.call_soon_threadsafe

        async def listens():
            engine.listen()

        def tells(*args):
            call_soon(*args)
            asked.set()

        loop.run_until_complete(listens())
        loop.call_soon_threadsafe = tells
        t = uthreading.Thread(target=lambda: answers.append(engine.ask(answers.append, 1)))
        t.start()
        asked.wait()
        loop.close()
        t.join()
        engine.unlisten()
        assert answers == [False]

    def test_a_virtual_clock_stands_still_while_a_file_is_ready():
        import socket

        clock = VirtualClock()
        seen = []

        async def main():
            mine, other = socket.socketpair()

            def reads():
                seen.append((mine.recv(1), clock.now_ms()))

            with mine, other:
                other.send(b"x")
                asyncio.get_running_loop().add_reader(mine, reads)
                await asyncio.sleep(60)
                asyncio.get_running_loop().remove_reader(mine)

        clock.run(main())
        assert seen == [(b"x", 0)] and clock.now_ms() == 60000

    def test_a_loops_virtual_time_begins_at_0():
        async def main():
            return asyncio.get_running_loop().time()

        assert VirtualClock().run(main()) == 0

    def test_a_virtual_clock_waits_for_a_thread_when_no_timer_is_left():
        import threading

        clock = VirtualClock()

        async def main():
            ch = Channel("ch")
            loop = asyncio.get_running_loop()
            told = loop.call_soon_threadsafe, (loop.create_task, ch.write(5))
            t = threading.Timer(0.05, *told)
            t.start()
            assert await ch.read() == 5
            t.join()

        clock.run(main())
        assert clock.now_ms() == 0
