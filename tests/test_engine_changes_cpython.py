"""The engine on CPython where a small change of it would show: see tools/mutation.py."""

import asyncio
import logging
import os
import signal
import socket
import threading
import time

from ufuture_support import (
    KINDS,
    CancelledError,
    Outcome,
    Place,
    SkipTest,
    raises,
    returns,
    settle,
    sleep_long,
    sleep_ms,
    until,
    waiting,
)

import uapycsp
from ufuture import gather, wait_for_ms
from ufuture.loop import engine
from ufuture.virtual import VirtualClock

INTERPRETERS = ("cpython",)


# Time limits


async def test_a_limit_that_has_passed_is_told_once_and_before_the_task_goes_on():
    for kind in KINDS:
        p = Place()
        seen = []

        async def waits():
            await p.wait_ms(5)
            seen.append(p.expiries)

        await kind(waits()).end()
        assert seen == [1] and p.timer is None
        p = Place()
        t = await waiting(kind, p, p.wait_ms(60000))
        p.wake()
        await t.end()
        assert p.expiries == 0 and p.timer is None


async def test_a_limit_is_never_due_early():
    loop = asyncio.get_running_loop()
    for kind in KINDS:
        p = Place()
        start = loop.time()
        t = await waiting(kind, p, p.wait_ms(60000))
        assert p.timer.when() >= start + 60
        p.wake()
        await t.end()


# Starting


async def test_what_is_awaitable_may_be_started():
    class Awaitable:
        def __await__(self):
            return returns(5).__await__()

    assert await Outcome(Awaitable()).end() == 5


async def test_what_nobody_would_hear_the_end_of_does_not_begin():
    begun = []

    class Refuses(asyncio.Task):
        def add_done_callback(self, *args, **kwargs):
            raise MemoryError

    async def begins():
        begun.append(1)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(lambda loop, coro, **kwargs: Refuses(coro, loop=loop, **kwargs))
    try:
        with raises(MemoryError):
            Outcome(begins())
    finally:
        loop.set_task_factory(None)
    await settle()
    assert begun == []


# Tasks that begin within the call that makes them (CPython 3.12 and later)


async def eagerly(f):
    """The value of f(), awaited in a task of its own, where tasks begin eagerly."""
    if not hasattr(asyncio, "eager_task_factory"):
        raise SkipTest("no task begins eagerly")
    loop = asyncio.get_running_loop()
    loop.set_task_factory(asyncio.eager_task_factory)
    try:
        t = loop.create_task(f())
        await asyncio.wait([t], timeout=60)
        return t.result()
    finally:
        loop.set_task_factory(None)


async def test_with_eager_tasks_the_cancellation_of_a_write_that_stands_is_raised_later():
    @uapycsp.process
    async def nothing():
        return 5

    ways = (
        lambda: uapycsp.Parallel(nothing(), nothing()),
        lambda: uapycsp.Sequence(nothing()),
        lambda: uapycsp.Spawn(nothing()).join(),
        lambda: nothing(),
        lambda: gather(nothing()),
        lambda: wait_for_ms(nothing(), 60000),
    )
    log = []

    async def writes(ch, way):
        await ch.write(1)
        log.append("wrote")
        try:
            await way()
            await sleep_ms(1)
            log.append("went on")
        except CancelledError:
            log.append("cancelled")

    async def main():
        for way in ways:
            ch = uapycsp.Channel()
            t = asyncio.ensure_future(writes(ch, way))
            assert await ch.read() == 1
            t.cancel()
            await asyncio.wait([t])

    await eagerly(main)
    assert log == ["wrote", "cancelled"] * len(ways)


async def test_with_eager_tasks_a_process_may_be_cancelled_in_its_first_step():
    log = []

    @uapycsp.process
    async def first(cin):
        p.cancel()
        log.append("begun")
        await cin()

    @uapycsp.process
    async def around(cin, inner):
        inner.append(first(cin))
        await uapycsp.Parallel(inner[0])

    async def main():
        nonlocal p
        p = first(uapycsp.Channel("c").read)
        with raises(CancelledError):
            await p
        p = around(uapycsp.Channel("c").read, [])  # which waits for another first step
        with raises(CancelledError):
            await p

    p = None
    await eagerly(main)
    assert log == ["begun"] * 2


async def test_a_task_that_sleeps_or_waits_for_asyncio_s_own_is_not_lost():
    event = asyncio.Event()
    for t in Outcome(sleep_long()), Outcome(event.wait()):
        await settle()
        assert engine.is_lost(t) is False
        t.cancel()
        with raises(CancelledError):
            await t.end()


# Cancellation


async def test_a_cancellation_that_comes_later_is_one_and_not_two():
    if not hasattr(asyncio.Task, "cancelling"):
        raise SkipTest("for CPython 3.11 and later")
    for kind in KINDS:
        for through in (True, False):
            p, q = Place(), Place()
            event = asyncio.Event()
            counts = []

            async def writes():
                try:
                    await p.wait()
                except CancelledError:
                    engine.cancel_later()
                try:
                    await (q.wait() if through else event.wait())
                except CancelledError:
                    counts.append(asyncio.current_task().cancelling())
                    raise

            t = await waiting(kind, p, writes())
            p.wake()
            t.task.cancel()
            with raises(CancelledError):
                await t.end()
            assert counts == [1]


async def test_a_task_that_cancels_itself_is_cancelled_once():
    if not hasattr(asyncio.Task, "cancelling"):
        raise SkipTest("for CPython 3.11 and later")
    counts = []

    async def cancels_itself():
        owned[0].cancel()
        try:
            await sleep_long()
        except CancelledError:
            counts.append(asyncio.current_task().cancelling())
            raise

    owned = []
    owned.append(Outcome(cancels_itself()))
    with raises(CancelledError):
        await owned[0].end()
    assert counts == [1]


async def test_a_cancellation_that_was_taken_back_does_not_come_later():
    if not hasattr(asyncio.Task, "cancelling"):
        raise SkipTest("for CPython 3.11 and later")
    for kind in KINDS:
        for through in (True, False):
            p, q = Place(), Place()
            event = asyncio.Event()

            async def writes():
                try:
                    await p.wait()
                except CancelledError:
                    engine.cancel_later()
                asyncio.current_task().uncancel()
                await (q.wait() if through else event.wait())
                return "goes on"

            t = await waiting(kind, p, writes())
            p.wake()
            t.task.cancel()
            if through:
                await until(q.waits)
            await settle()
            assert not t.ends
            q.wake()
            event.set()
            assert await t.end() == "goes on"


# The watch


async def test_a_task_of_the_engine_that_waits_for_asyncio_is_none_that_the_watch_waits_for():
    place = Place()
    calls = []

    def look():
        calls.append(1)
        if place.waits():
            place.wake()

    waits = Outcome(asyncio.Event().wait())
    await settle()
    engine.set_watch(look)
    await place.wait()
    engine.set_watch(None)
    assert calls
    waits.cancel()
    with raises(CancelledError):
        await waits.end()


async def test_the_watch_waits_for_timers_that_are_still_to_come_and_not_for_others():
    place = Place()
    over = []

    def comes():
        over.append(True)

    def look():
        assert over
        if place.waits():
            place.wake()

    loop = asyncio.get_running_loop()
    loop.call_later(1.2, comes)
    loop.call_later(1000, comes).cancel()
    engine.set_watch(look)
    await place.wait()
    engine.set_watch(None)


async def test_the_watch_does_not_look_in_a_turn_in_which_a_time_limit_ends():
    place = Place()
    looks = []
    engine.set_watch(lambda: looks.append(True))
    asyncio.get_running_loop().call_later(engine._WATCH_S, place.wake)
    time.sleep(engine._WATCH_S + 0.1)  # now both are due, the look before the limit
    await place.wait()
    engine.set_watch(None)
    assert not looks


async def test_the_watch_waits_for_what_the_loop_calls_at_a_signal():
    loop = asyncio.get_running_loop()
    looks = []
    for number in (signal.SIGINT, signal.SIGTERM):
        place = Place()
        loop.add_signal_handler(number, place.wake)
        engine.set_watch(lambda: looks.append(True))
        timer = threading.Timer(2.4 * engine._WATCH_S, os.kill, (os.getpid(), number))
        timer.start()
        await place.wait()
        engine.set_watch(None)
        loop.remove_signal_handler(number)
        timer.join()
    assert not looks


class Shared(Place):
    """One that not only our own tasks may wake."""

    outside = True


async def test_the_watch_does_not_look_while_a_task_waits_for_what_a_thread_may_do():
    for kind in KINDS:
        shared, end = Shared(), Place()
        calls = []
        t = await waiting(kind, shared)
        loop = asyncio.get_running_loop()

        def acts():
            time.sleep(1.2)  # two looks would have come
            loop.call_soon_threadsafe(shared.wake)
            loop.call_soon_threadsafe(end.wake)

        thread = threading.Thread(target=acts)
        thread.start()
        engine.set_watch(lambda: calls.append(shared.woken))
        await end.wait()
        engine.set_watch(None)
        thread.join()
        await t.end()
        assert False not in calls


def test_a_virtual_clock_rests_between_two_looks_of_the_watch():
    clock = VirtualClock()
    place = Place()
    looks = []

    def look():
        looks.append(time.monotonic())
        if len(looks) == 2:
            place.wake()

    async def main():
        engine.set_watch(look)
        await place.wait()
        engine.set_watch(None)

    clock.run(main())
    assert looks[1] - looks[0] > 0.4
    assert clock.now_ms() == 0


# What is told of the loop


def test_a_loop_is_busy_for_its_own_thread_and_that_of_a_run_for_others_too():
    seen = []

    def looks():
        seen.append(engine.is_busy())

    async def main():
        looks()
        t = threading.Thread(target=looks)
        t.start()
        t.join()

    for run, for_others in (engine.run, True), (asyncio.run, False):
        run(main())
        looks()
        assert seen == [True, for_others, False]
        del seen[:]


def test_ticks_are_the_ms_of_the_loop_s_own_time():
    clock = VirtualClock()

    async def main():
        for ms in (0, 1, 6, 10**6):
            await sleep_ms(ms)
            assert engine.ticks_ms() == clock.now_ms()

    clock.run(main())
    assert clock.now_ms() == 10**6 + 7


# Interrupts: a signal is dealt with between two instructions of the main thread.


class handled_by:
    """In this block a handler of the user's own is for SIGINT; afterwards it must still be."""

    def __init__(self, handler):
        self.handler = handler

    def __enter__(self):
        self.before = signal.signal(signal.SIGINT, self.handler)

    def __exit__(self, *error):
        found = signal.signal(signal.SIGINT, self.before)
        assert found is self.handler


def test_an_interrupt_comes_at_the_next_wait_and_after_is_called():
    events = []

    async def interrupted():
        signal.raise_signal(signal.SIGINT)
        events.append("goes on")
        try:
            await sleep_long()
        except CancelledError:
            events.append("cancelled")
            raise

    async def after():
        events.append("after")

    with handled_by(signal.default_int_handler):
        with raises(KeyboardInterrupt):
            engine.run(interrupted(), after)
    assert events == ["goes on", "cancelled", "after"]
    assert engine.run(returns(5)) == 5


def test_who_withstands_the_first_interrupt_is_interrupted_at_once_by_the_second():
    events = []

    async def withstands():
        signal.raise_signal(signal.SIGINT)
        try:
            await sleep_long()
        except CancelledError:
            events.append("cancelled")
        signal.raise_signal(signal.SIGINT)
        events.append("never")

    with handled_by(signal.default_int_handler):
        with raises(KeyboardInterrupt):
            engine.run(withstands())
    assert events == ["cancelled"]


def test_who_withstands_an_interrupt_has_its_value():

    async def withstands():
        signal.raise_signal(signal.SIGINT)
        try:
            await sleep_long()
        except CancelledError:
            return "withstood"

    with handled_by(signal.default_int_handler):
        assert engine.run(withstands()) == "withstood"


def test_an_interrupt_behind_the_last_wait_comes_after_the_end():
    events = []

    async def interrupted_late():
        await sleep_ms(0)
        signal.raise_signal(signal.SIGINT)
        events.append("ends")

    with handled_by(signal.default_int_handler):
        with raises(KeyboardInterrupt):
            engine.run(interrupted_late())
    assert events == ["ends"]


def test_an_interrupt_before_the_main_task_began_cancels_it():
    if not hasattr(asyncio, "Runner"):
        raise SkipTest("for CPython 3.11 and later")
    usual = asyncio.Runner
    events = []

    class Early(usual):
        def run(self, coro):
            if not events:
                events.append("interrupt")
                signal.raise_signal(signal.SIGINT)
            return usual.run(self, coro)

    async def never():
        events.append("never")
        await sleep_long()

    asyncio.Runner = Early
    try:
        with handled_by(signal.default_int_handler):
            with raises(KeyboardInterrupt):
                engine.run(never())
        assert events == ["interrupt"]
    finally:
        asyncio.Runner = usual


def test_an_interrupt_before_the_main_task_began_is_told_to_a_handler_of_the_user_s_own():
    usual = engine._Runner
    calls = []

    class Early:
        def __enter__(self):
            signal.raise_signal(signal.SIGINT)
            self.runner = usual()
            return self.runner.__enter__()

        def __exit__(self, *error):
            return self.runner.__exit__(*error)

    async def goes_on():
        assert len(calls) == 1
        return "goes on"

    engine._Runner = Early
    try:
        with handled_by(lambda number, frame: calls.append(number)):
            assert engine.run(goes_on()) == "goes on"
    finally:
        engine._Runner = usual
    assert calls == [signal.SIGINT]


def test_an_interrupt_behind_the_end_of_the_loop_is_one_too():
    if not hasattr(asyncio, "Runner"):
        raise SkipTest("for CPython 3.11 and later")
    usual = asyncio.Runner
    events = []

    class Late(usual):
        def __exit__(self, *error):
            usual.__exit__(self, *error)
            signal.raise_signal(signal.SIGINT)
            events.append("goes on")

    asyncio.Runner = Late
    try:
        with handled_by(signal.default_int_handler):
            with raises(KeyboardInterrupt):
                engine.run(returns(5))
        assert events == ["goes on"]
    finally:
        asyncio.Runner = usual


def test_after_is_called_again_if_the_same_interrupt_ends_it_but_not_by_another_one():
    for other in (False, True):
        interrupt, another = KeyboardInterrupt("first"), KeyboardInterrupt("another")
        calls = []

        async def interrupted():
            raise interrupt

        async def after():
            calls.append(1)
            if len(calls) == 1:
                raise another if other else interrupt

        with raises(KeyboardInterrupt) as e:
            engine.run(interrupted(), after)
        assert e.value is (another if other else interrupt)
        assert len(calls) == (1 if other else 2)


def test_a_cancellation_of_the_main_task_that_is_no_interrupt_comes_out_as_it_is():
    async def cancels_itself():
        asyncio.current_task().cancel()
        await sleep_long()

    with raises(CancelledError):
        engine.run(cancels_itself())


def test_a_handler_of_the_user_s_own_is_called_once_by_the_loop():
    calls = []

    def own(number, frame):
        calls.append((number, frame))

    async def interrupted():
        signal.raise_signal(signal.SIGINT)
        assert not calls
        await until(lambda: calls)
        await settle()
        return "goes on"

    async def interrupted_late():
        signal.raise_signal(signal.SIGINT)
        assert not calls

    with handled_by(own):
        assert engine.run(interrupted()) == "goes on"
        assert calls == [(signal.SIGINT, None)]
        del calls[:]
        engine.run(interrupted_late())
        assert calls == [(signal.SIGINT, None)]


def test_a_handler_of_the_user_s_own_is_called_at_each_signal():
    calls = []

    async def interrupted():
        for n in (1, 2, 3):
            signal.raise_signal(signal.SIGINT)
            assert len(calls) == n - 1
            await until(lambda: len(calls) == n)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # who does not wait for long may be told at once
        assert len(calls) == 4
        await until(lambda: len(calls) == 5)
        return "goes on"

    with handled_by(lambda number, frame: calls.append(number)):
        assert engine.run(interrupted()) == "goes on"
    assert len(calls) == 5


class Stop(Exception):
    pass


def test_what_a_handler_of_the_user_s_own_raises_ends_the_run():
    events = []

    def own(number, frame):
        raise Stop

    async def interrupted():
        signal.raise_signal(signal.SIGINT)
        try:
            await sleep_long()
        except CancelledError:
            events.append("cancelled")
            raise

    async def withstands():
        try:
            await interrupted()
        except CancelledError:
            return 5

    for main in (interrupted, withstands):
        with handled_by(own):
            with raises(Stop):
                engine.run(main())
    assert events == ["cancelled", "cancelled"]
    assert engine.run(returns(5)) == 5


def test_a_handler_that_was_set_in_a_run_stays():
    def own(number, frame):
        pass

    def later(number, frame):
        pass

    async def sets():
        signal.signal(signal.SIGINT, later)

    async def lends():
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, own, 0, 0)

    before = signal.signal(signal.SIGINT, own)
    try:
        engine.run(lends())
        assert signal.getsignal(signal.SIGINT) is own
        engine.run(sets())
        assert signal.getsignal(signal.SIGINT) is later
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_is_to_be_ignored_is():

    async def interrupted():
        signal.raise_signal(signal.SIGINT)
        await sleep_ms(1)
        return "goes on"

    with handled_by(signal.SIG_IGN):
        assert engine.run(interrupted()) == "goes on"


def test_a_run_in_another_thread_leaves_the_handler_alone():
    seen = []

    async def looks():
        await sleep_ms(1)
        return signal.getsignal(signal.SIGINT)

    def own(number, frame):
        pass

    with handled_by(own):
        t = threading.Thread(target=lambda: seen.append(engine.run(looks())))
        t.start()
        t.join()
    assert seen == [own]


def test_a_coroutine_that_never_began_is_closed():
    class Coroutine:
        closed = 0

        def close(self):
            self.closed += 1

    async def main():
        coro = Coroutine()
        with raises(RuntimeError):  # a loop runs here
            engine.run(coro)
        return coro.closed

    assert asyncio.run(main()) == 1


def test_the_runner_of_older_pythons_ends_all_tasks_and_its_loop():
    events = []
    loops = []

    async def waits():
        try:
            await sleep_long()
        finally:
            for _ in range(9):
                await sleep_ms(0)
            events.append("ended")

    async def generator():
        try:
            while True:
                yield 1
        finally:
            events.append("generator ended")

    def executed():
        time.sleep(0.1)
        events.append("executed")

    async def main():
        loops.append(asyncio.get_running_loop())
        tasks.append(asyncio.ensure_future(waits()))
        loops[0].run_in_executor(None, executed)
        async for v in generators[0]:
            return v

    tasks = []
    generators = [generator()]
    with engine._OldRunner() as runner:
        assert asyncio.get_event_loop() is runner.loop
        assert runner.run(main()) == 1
        assert runner.run(returns(2)) == 2
        runner.run(settle())
    assert sorted(events) == ["ended", "executed", "generator ended"]
    assert events.index("ended") < events.index("generator ended")  # a task may still use it
    assert loops == [runner.loop] and runner.loop.is_closed()
    assert tasks[0].cancelled()
    with raises(RuntimeError):
        asyncio.get_event_loop()  # there is none now


def test_of_two_threads_that_begin_a_run_at_the_same_moment_one_is_refused():
    refused = []

    def begins():
        try:
            engine.claim()
        except RuntimeError as er:
            refused.append(str(er))

    engine.claim()
    try:
        t = threading.Thread(target=begins)
        t.start()
        t.join()
        engine.claim()  # the same thread may: an interrupt may have come before it released
    finally:
        engine.release()
    assert refused == ["an event loop runs already: await the process"]


def test_a_run_that_two_threads_begin_at_the_same_moment_is_one():
    ends = []

    def begins():
        try:
            ends.append(uapycsp.run(returns(1)))
        except RuntimeError as er:
            ends.append(str(er))

    async def main():
        t = threading.Thread(target=begins)
        t.start()
        t.join()
        uapycsp.Spawn(dies())
        await settle()

    async def dies():
        raise ValueError("of the first")

    usual = engine.is_busy
    engine.is_busy = lambda: False  # each asks before the other's loop runs
    try:
        with raises(ValueError):  # it still knows what it has to raise
            uapycsp.run(main())
    finally:
        engine.is_busy = usual
    assert ends == ["an event loop runs already: await the process"]


class Untold:
    """What a loop waits for, to who may not look."""

    def __init__(self, selector):
        self._selector = selector

    def __getattr__(self, name):
        return getattr(self._selector, name)


class UntoldLoop(asyncio.SelectorEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = Untold(self._selector)


def test_a_loop_that_does_not_tell_what_it_waits_for_may_bring_it_yet():
    looks = []

    def counted(loop):
        looks.append(calls(loop))
        return looks[-1]

    async def main():
        c = uapycsp.Channel("c")
        read, write = os.pipe()

        def arrives():
            asyncio.get_running_loop().remove_reader(read)
            uapycsp.Spawn(gives(c.write))

        def writes():
            for _ in range(20000):
                if len(looks) > 3:
                    break
                time.sleep(0.001)
            os.write(write, b"1")

        asyncio.get_running_loop().add_reader(read, arrives)
        t = threading.Thread(target=writes)
        t.start()
        try:
            return await c.read()
        finally:
            t.join()
            os.close(read)
            os.close(write)

    async def gives(cout):
        await cout("arrived")

    calls = engine._calls
    usual = engine._new_loop, engine._WATCH_S
    engine._new_loop, engine._WATCH_S, engine._calls = UntoldLoop, 0.01, counted
    try:
        assert uapycsp.run(main()) == "arrived"
    finally:
        engine._new_loop, engine._WATCH_S = usual
        engine._calls = calls
    assert all(looks)


def test_the_loop_of_windows_tells_what_it_accepts():
    loop = UntoldLoop()
    try:
        assert engine._calls(loop)
        loop._accept_futures = {}
        assert not engine._calls(loop)
        loop._accept_futures[1] = "a future"
        assert engine._calls(loop)
    finally:
        loop.close()


async def test_a_wait_that_was_over_when_it_was_cancelled_gives_the_cancellation():
    # Whatever becomes of its task, which from 3.13 on would go on after an `uncancel`.
    for messages in ([], ["enough"]):
        for over in (True, False):
            p = Place()
            wait = engine._Wait()
            wait.parked = p
            if over:
                wait.set_result(None)
            wait.cancel(*messages)
            with raises(CancelledError) as e:
                wait.result()
            assert list(e.value.args) == messages
            assert (wait.taken_back is not None) == over


# Who waits without a task


async def test_what_is_read_as_a_stream_leaves_nothing_with_the_loop():
    read, write = os.pipe()
    loop = asyncio.get_running_loop()
    before = len(engine._files(loop))
    with open(read, "rb") as mine, open(write, "wb", 0) as other:
        stream, end = await engine.reader(mine)
        other.write(b"a line\nmore")
        assert await stream.readline() == b"a line\n"
        assert len(engine._files(loop)) > before
        end()
        assert len(engine._files(loop)) == before


async def test_a_file_is_read_as_a_stream():
    with open(__file__, "rb") as file:
        stream, end = await engine.reader(file)
        assert (await stream.readline()).startswith(b'"""')
        place = file.tell()
        assert len(await stream.read(5)) == 5 and file.tell() == place + 5
        end()
        assert not file.closed


async def test_what_waits_for_a_stream_is_called_once():
    mine, other = socket.socketpair()
    calls = []
    with mine, other:
        other.send(b"x")
        for n in range(2):  # the second time nobody else waits for it
            engine.Watch(engine.readable(mine), lambda n=n: calls.append(n))
            await until(lambda n=n: len(calls) > n)
            await settle()
    assert calls == [0, 1]


# Where nobody asked


def test_what_nobody_asked_for_goes_to_the_log_where_no_loop_runs():
    records = []

    class Keeps(logging.Handler):
        def emit(self, record):
            records.append((record.getMessage(), record.exc_info[1]))

    log = logging.getLogger("asyncio")
    handler = Keeps()
    log.addHandler(handler)
    log.propagate = False
    try:
        error = KeyError("k")
        engine.report("a task", error, "it failed")
    finally:
        log.propagate = True
        log.removeHandler(handler)
    assert records == [("it failed: 'a task'", error)]
