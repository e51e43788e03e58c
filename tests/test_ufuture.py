"""Futures and the barrier, as an asyncio user sees them who has never heard of CSP.

Each claim about waiting is tried with both futures, and with two kinds of tasks: those that the
engine runs, and those that asyncio does.
"""

import sys

from ufuture_support import (
    KINDS,
    MICROPYTHON,
    CancelledError,
    Outcome,
    SkipTest,
    asyncio,
    ends_of,
    raises,
    renew_loop,
    settle,
    sleep_ms,
    until,
)

import ufuture
from ufuture import Barrier, Future, InvalidStateError, YieldingFuture, create_future
from ufuture.loop import engine

FUTURES = (Future, YieldingFuture)


async def value_of(fut):
    return await fut


async def note(fut, events, name):
    try:
        events.append((name, await fut))
    except BaseException as er:
        events.append((name, type(er)))
        raise


# State


def test_a_new_future_is_pending():
    for F in FUTURES:
        fut = F()
        assert not fut.done() and not fut.cancelled()
        with raises(InvalidStateError):
            fut.result()
        with raises(InvalidStateError):
            fut.exception()


def test_a_result_is_set_once():
    for F in FUTURES:
        for value in (5, None, KeyError("a value like others")):
            fut = F()
            assert fut.set_result(value) is None
            assert fut.done() and not fut.cancelled()
            assert fut.result() is value
            assert fut.exception() is None
            with raises(InvalidStateError):
                fut.set_result(6)
            with raises(InvalidStateError):
                fut.set_exception(KeyError("k"))
            assert fut.cancel() is False
            assert fut.result() is value


def test_an_exception_is_set_once():
    for F in FUTURES:
        fut = F()
        er = KeyError("k")
        fut.set_exception(er)
        assert fut.done() and not fut.cancelled()
        assert fut.exception() is er
        with raises(KeyError) as e:
            fut.result()
        assert e.value is er
        with raises(InvalidStateError):
            fut.set_result(6)
        assert fut.cancel() is False


def test_who_asks_again_adds_nothing_to_the_exception_s_traceback():
    if MICROPYTHON:
        raise SkipTest("nothing takes anything out of a traceback")

    def length(traceback):
        return 0 if traceback is None else 1 + length(traceback.tb_next)

    for F in FUTURES:
        for er in (KeyError("new"), raised(KeyError("raised before"))):
            fut = F()
            fut.set_exception(er)
            lengths = []
            for _ in range(3):
                with raises(KeyError):
                    fut.result()
                lengths.append(length(er.__traceback__))
            assert lengths[1] == lengths[0] == lengths[2]
            names = traceback_of(er)
            assert ("raised" in names) == (er.args == ("raised before",))


def raised(er):
    try:
        raise er
    except KeyError:
        return er


def traceback_of(er):
    """The names of its functions."""
    import traceback

    return [frame.name for frame in traceback.extract_tb(er.__traceback__)]


def test_an_exception_may_be_given_as_its_class():
    for F in FUTURES:
        fut = F()
        fut.set_exception(KeyError)
        assert isinstance(fut.exception(), KeyError)


def test_only_exceptions_are_set_as_exceptions():
    for F in FUTURES:
        fut = F()
        for wrong in (5, None, "text", int, StopIteration(), StopIteration):
            with raises(TypeError):
                fut.set_exception(wrong)
        assert not fut.done()


def test_a_cancelled_future_says_so():
    for F in FUTURES:
        fut = F()
        assert fut.cancel() is True
        assert fut.done() and fut.cancelled()
        with raises(CancelledError):
            fut.result()
        with raises(CancelledError):
            fut.exception()
        with raises(InvalidStateError):
            fut.set_result(5)
        assert fut.cancel() is False


def test_a_future_prints_its_state():
    fut = Future()
    assert repr(fut) == "<Future pending>"
    fut.set_result("v")
    assert repr(fut) == "<Future result='v'>"
    fut = YieldingFuture()
    fut.set_exception(KeyError("k"))
    assert repr(fut).startswith("<YieldingFuture exception=KeyError('k'")
    fut = Future()
    fut.cancel()
    assert repr(fut) == "<Future cancelled>"


# Waiting


async def test_who_waits_gets_the_result():
    for F in FUTURES:
        for kind in KINDS:
            fut = F()
            t = kind(value_of(fut))
            await settle()
            assert not t.ends
            fut.set_result("v")
            assert await t.end() == "v"


async def test_who_comes_later_gets_it_without_waiting():
    for F in FUTURES:
        fut = F()
        fut.set_result("v")
        coro = value_of(fut)
        with raises(StopIteration) as e:
            coro.send(None)
        assert e.value.value == "v"
        assert await fut == "v"
        assert await fut == "v"


async def test_all_who_wait_get_it_first_come_first():
    for F in FUTURES:
        for kind in KINDS:
            fut = F()
            events = []
            tasks = []
            for i in range(50):
                tasks.append(kind(note(fut, events, i)))
            await settle()
            fut.set_result("v")
            assert events == []
            await until(lambda: len(events) == 50)
            assert events == [(i, "v") for i in range(50)]


async def test_all_who_wait_get_the_exception():
    for F in FUTURES:
        for kind in KINDS:
            fut = F()
            tasks = [kind(value_of(fut)) for _ in range(3)]
            await settle()
            fut.set_exception(KeyError("k"))
            for t in tasks:
                with raises(KeyError) as e:
                    await t.end()
                assert e.value.args == ("k",)


async def test_all_who_wait_are_cancelled_with_the_future():
    for F in FUTURES:
        for kind in KINDS:
            fut = F()
            tasks = [kind(value_of(fut)) for _ in range(3)]
            await settle()
            fut.cancel()
            for t in tasks:
                with raises(CancelledError):
                    await t.end()


async def test_cancelling_one_who_waits_leaves_the_future_and_the_others():
    for F in FUTURES:
        for kind in KINDS:
            fut = F()
            tasks = [kind(value_of(fut)) for _ in range(5)]
            await settle()
            for i in (0, 2, 4):
                tasks[i].cancel()
                with raises(CancelledError):
                    await tasks[i].end()
            assert not fut.done()
            fut.set_result("v")
            assert await tasks[1].end() == "v"
            assert await tasks[3].end() == "v"


async def test_a_woken_task_that_is_cancelled_before_it_ran_is_cancelled():
    for kind in KINDS:
        fut = Future()
        tasks = [kind(value_of(fut)) for _ in range(3)]
        await settle()
        fut.set_result("v")
        tasks[1].cancel()
        with raises(CancelledError):
            await tasks[1].end()
        assert await tasks[0].end() == "v"
        assert await tasks[2].end() == "v"
        assert fut.result() == "v"


async def test_a_task_may_wait_again_after_its_cancellation():
    for F in FUTURES:
        for kind in KINDS:
            fut = F()
            events = []

            async def withstands():
                try:
                    return await fut
                except CancelledError:
                    events.append("cancelled")
                return await fut

            t = kind(withstands())
            await settle()
            t.cancel()
            await until(lambda: events)
            await settle()
            assert not t.ends
            fut.set_result("v")
            assert await t.end() == "v"


async def test_a_coroutine_that_is_closed_while_it_waits_leaves_the_future():
    fut = Future()
    inner = value_of(fut)
    events = []

    async def closes():
        inner.send(None)
        inner.close()
        engine.unpark()
        events.append("closed")
        return await fut

    t = Outcome(closes())
    await until(lambda: events)
    await settle()
    fut.set_result("v")
    assert await t.end() == "v"


def test_the_main_task_waits_too():
    for F in FUTURES:

        async def main():
            fut = F()

            async def sets():
                fut.set_result("v")

            task = asyncio.get_event_loop().create_task(sets())
            assert await fut == "v"
            await task
            return "end"

        renew_loop()
        assert asyncio.run(main()) == "end"


def test_futures_are_set_outside_of_a_loop_and_between_runs():
    for F in FUTURES:
        renew_loop()
        fut = F()
        fut.set_result("v")
        assert asyncio.run(value_of(fut)) == "v"
        assert asyncio.run(value_of(fut)) == "v"


async def test_a_rescheduling_future_lets_its_waiters_rest_a_yielding_one_resumes_them():
    for F in FUTURES:
        for kind in KINDS:
            fut = F()
            resumes = []
            t = kind(counted(value_of(fut), resumes))
            await settle()
            await settle()
            if F is Future:
                assert len(resumes) == 1
            else:
                assert len(resumes) > 20
            fut.set_result("v")
            assert await t.end() == "v"


@engine.coroutine
def counted(coro, resumes):
    # Runs a coroutine and notes each time it is resumed.
    while True:
        resumes.append(1)
        try:
            x = coro.send(None)
        except StopIteration as er:
            return er.value
        yield x


async def test_thousands_wait_and_go_on():
    fut = Future()
    n = 3000
    count = []

    async def counts():
        await fut
        count.append(1)

    for _ in range(n):
        Outcome(counts())
    await settle()
    fut.set_result(1)
    await until(lambda: len(count) == n)


async def test_a_generator_stands_between_the_task_and_the_wait_and_no_more():
    # Each layer costs every resume. `await fut` makes one object with send.
    fut = Future()
    it = fut.__await__()
    assert hasattr(it, "send")

    async def sends():
        it.send(None)
        assert engine.unpark() is not None
        fut.set_result(3)
        with raises(StopIteration) as e:
            it.send(None)
        return e.value.value

    assert await Outcome(sends()).end() == 3


# Callbacks


def test_callbacks_are_called_with_the_future_in_order_before_set_returns():
    for F in FUTURES:
        for end in (lambda f: f.set_result(1), lambda f: f.set_exception(KeyError), F.cancel):
            fut = F()
            events = []
            fut.add_done_callback(lambda f: events.append(("first", f)))
            fut.add_done_callback(lambda f: events.append(("second", f.done())))
            assert events == []
            end(fut)
            assert events == [("first", fut), ("second", True)]


def test_a_callback_added_to_a_future_that_is_done_is_called_at_once():
    for F in FUTURES:
        fut = F()
        fut.set_result(1)
        events = []
        fut.add_done_callback(events.append)
        assert events == [fut]


async def test_who_waits_goes_on_after_the_callbacks():
    for F in FUTURES:
        for kind in KINDS:
            fut = F()
            events = []
            t = kind(note(fut, events, "waiter"))
            await settle()
            fut.add_done_callback(lambda f: events.append("callback"))
            fut.set_result(1)
            await t.end()
            assert events == ["callback", ("waiter", 1)]


def test_a_callback_may_be_taken_back():
    for F in FUTURES:
        fut = F()
        events = []
        keep = lambda f: events.append("kept")
        drop = lambda f: events.append("dropped")
        for f in (drop, keep, drop):
            fut.add_done_callback(f)
        assert fut.remove_done_callback(drop) == 2
        assert fut.remove_done_callback(drop) == 0
        fut.set_result(1)
        assert events == ["kept"]


def test_a_callback_added_or_taken_back_by_a_callback():
    fut = Future()
    events = []

    def first(f):
        events.append("first")
        f.remove_done_callback(second)
        f.add_done_callback(third)

    second = lambda f: events.append("second")
    third = lambda f: events.append("third")
    fut.add_done_callback(first)
    fut.add_done_callback(second)
    fut.set_result(1)
    assert events == ["first", "third"]


async def test_an_exception_in_a_callback_is_reported_and_the_others_run():
    for F in FUTURES:
        for kind in (KeyError, CancelledError):
            contexts = []
            loop = asyncio.get_event_loop()
            loop.set_exception_handler(lambda loop, context: contexts.append(context))
            fut = F()
            events = []

            def fails(f):
                raise kind("in a callback")

            fut.add_done_callback(fails)
            fut.add_done_callback(events.append)
            t = Outcome(value_of(fut))
            await settle()
            fut.set_result("v")
            loop.set_exception_handler(None)
            assert events == [fut]
            assert await t.end() == "v"
            (context,) = contexts
            assert isinstance(context["exception"], kind)
            assert context["future"] is fut


def test_the_handler_that_comes_with_asyncio_can_print_an_exception_of_a_callback():
    # In a loop and outside of one.
    def fails(f):
        raise KeyError("reported, as it should be")

    async def main():
        fut = Future()
        fut.add_done_callback(fails)
        fut.set_result(1)
        return "end"

    renew_loop()
    assert asyncio.run(main()) == "end"
    asyncio_log = None
    if not MICROPYTHON:
        import logging

        asyncio_log = logging.getLogger("asyncio")
        asyncio_log.disabled = True
    fut = Future()
    fut.add_done_callback(fails)
    fut.set_result(1)
    assert fut.result() == 1
    if asyncio_log is not None:
        asyncio_log.disabled = False


def test_an_interrupt_in_a_callback_comes_through_when_all_are_called_and_the_future_is_done():
    for F in FUTURES:
        for kind in (KeyboardInterrupt, SystemExit):
            fut = F()
            events = []

            def interrupts(f):
                events.append("interrupts")
                raise kind()

            for f in (interrupts, events.append, interrupts, events.append):
                fut.add_done_callback(f)
            with raises(kind):
                fut.set_result(1)
            assert events == ["interrupts", fut] * 2
            assert fut.result() == 1
            with raises(kind):
                fut.add_done_callback(interrupts)
            assert len(events) == 5
            fut.add_done_callback(events.append)
            assert len(events) == 6


def test_a_callback_that_is_added_by_a_callback_is_called_after_those_before_it():
    for F in FUTURES:
        fut = F()
        events = []

        def first(f):
            f.add_done_callback(lambda f: events.append("third"))
            events.append("added")

        fut.add_done_callback(first)
        fut.add_done_callback(lambda f: events.append("second"))
        fut.set_result(1)
        assert events == ["added", "second", "third"]


def test_callbacks_may_add_callbacks_as_often_as_they_like():
    for F in FUTURES:
        fut = F()
        called = []

        def again(f):
            called.append(None)
            if len(called) < 500:
                f.add_done_callback(again)

        fut.add_done_callback(again)
        fut.set_result(1)
        assert len(called) == 500
        fut.add_done_callback(called.append)
        assert called.pop() is fut


async def test_a_callback_may_set_another_future():
    a, b = Future(), Future()
    a.add_done_callback(lambda f: b.set_result(f.result() + 1))
    t = Outcome(value_of(b))
    await settle()
    a.set_result(1)
    assert await t.end() == 2


# create_future


class Config:
    pass


def with_config(config, f):
    future = sys.modules["ufuture.future"]
    kept = future._config
    future._config = config
    try:
        return f()
    finally:
        future._config = kept


def test_create_future_makes_what_config_names():
    config = Config()
    config.FUTURE = "yielding"
    assert type(with_config(config, create_future)) is YieldingFuture
    config.FUTURE = "rescheduling"
    assert type(with_config(config, create_future)) is Future


def test_create_future_makes_a_rescheduling_one_if_there_is_no_config_or_it_says_nothing():
    assert type(with_config(False, create_future)) is Future
    assert type(with_config(Config(), create_future)) is Future


def test_create_future_refuses_an_unknown_kind():
    config = Config()
    config.FUTURE = "psychic"
    with raises(ValueError):
        with_config(config, create_future)


def test_create_future_reads_the_module_config():
    import config

    kept = config.FUTURE
    for config.FUTURE, kind in (("yielding", YieldingFuture), ("rescheduling", Future)):
        assert type(with_config(None, create_future)) is kind
    config.FUTURE = kept


def test_create_future_does_without_the_module_config():
    paths = sys.path[:]
    kept = sys.modules.pop("config", None)
    sys.path[:] = []
    try:
        assert type(with_config(None, create_future)) is Future
    finally:
        sys.path[:] = paths
        if kept is not None:
            sys.modules["config"] = kept


# Barrier


async def test_a_barrier_opens_when_all_have_come():
    for kind in KINDS:
        b = Barrier(3)
        tasks = [kind(b.wait()), kind(b.wait())]
        await settle()
        assert b.n_waiting == 2
        assert not tasks[0].ends and not tasks[1].ends
        tasks.append(kind(b.wait()))
        assert await ends_of(tasks) == [0, 1, 2]
        assert b.n_waiting == 0
        assert b.parties == 3


async def test_a_barrier_is_used_round_after_round():
    for kind in KINDS:
        b = Barrier(3)
        rounds = []

        async def party(name):
            for i in range(10):
                n = await b.wait()
                rounds.append((i, n))

        tasks = [kind(party(i)) for i in range(3)]
        for t in tasks:
            await t.end()
        assert len(rounds) == 30
        for i in range(10):
            assert sorted(rounds[3 * i : 3 * i + 3]) == [(i, 0), (i, 1), (i, 2)]


async def test_who_is_cancelled_at_a_barrier_gives_its_place_back():
    for kind in KINDS:
        b = Barrier(3)
        tasks = [kind(b.wait()), kind(b.wait())]
        await settle()
        tasks[0].cancel()
        with raises(CancelledError):
            await tasks[0].end()
        assert b.n_waiting == 1
        tasks.append(kind(b.wait()))
        await settle()
        assert b.n_waiting == 2 and not tasks[1].ends
        tasks.append(kind(b.wait()))
        assert await ends_of(tasks[1:]) == [0, 1, 2]


async def test_who_is_cancelled_after_the_barrier_opened_takes_nobody_along():
    for kind in KINDS:
        b = Barrier(3)
        tasks = [kind(b.wait()), kind(b.wait())]
        await settle()
        assert await b.wait() == 2
        tasks[0].cancel()
        with raises(CancelledError):
            await tasks[0].end()
        assert await tasks[1].end() == 1
        assert b.n_waiting == 0


async def test_a_barrier_for_one_is_always_open():
    b = Barrier(1)
    for _ in range(3):
        assert await b.wait() == 0


def test_a_barrier_needs_a_party():
    for n in (0, -1):
        with raises(ValueError):
            Barrier(n)
    for n in (1.5, "2", None):
        with raises(TypeError) as e:
            Barrier(n)
        assert str(e.value) == "a whole number of parties is expected"


# Without memory


class no_memory:
    """`with no_memory():` what needs memory in it raises MemoryError."""

    def __enter__(self):
        if not MICROPYTHON:
            raise SkipTest("its heap can be locked")
        import micropython

        self.unlock = micropython.heap_unlock
        micropython.heap_lock()

    def __exit__(self, kind, value, traceback):
        self.unlock()


async def test_a_callback_that_fails_without_memory_keeps_no_other_from_being_called():
    if not hasattr(engine, "core"):
        raise SkipTest("its heap can be locked")

    def fails(fut):
        raise MemoryError

    class Told:
        exception = None

        @staticmethod
        def print_exception(exception):
            Told.exception = exception

    engine.sys, usual = Told, engine.sys
    try:
        for F in FUTURES:
            fut = F()
            called = [None]
            fut.add_done_callback(fails)
            fut.add_done_callback(lambda fut, called=called: called.pop())
            with no_memory():
                fut.set_result(7)
            assert not called and await fut == 7
            assert isinstance(Told.exception, MemoryError)
            Told.exception = None
    finally:
        engine.sys = usual


async def test_a_future_is_done_without_memory():
    for finish, value in ((lambda fut: fut.set_result(7), 7), (lambda fut: fut.cancel(), None)):
        for kind in KINDS:
            fut = Future()
            called = [None]
            fut.add_done_callback(lambda fut: called.pop())
            tasks = [kind(value_of(fut)) for _ in range(4)]
            await settle()
            with no_memory():
                finish(fut)
            assert not called
            for t in tasks:
                await until(lambda: t.ends)
                assert t.value == value


async def test_a_barrier_opens_without_memory():
    for kind in KINDS:
        b = Barrier(4)
        tasks = [kind(b.wait()) for _ in range(3)]
        await settle()
        last = b.wait()
        with no_memory():
            n = await last
        assert n == 3 and await ends_of(tasks) == [0, 1, 2]


# The package


def test_every_name_of_the_package_can_be_had():
    for name in ufuture.__all__:
        assert getattr(ufuture, name) is not None
    for name in ("Future", "YieldingFuture", "create_future", "gather", "wait_for", "Barrier"):
        assert name in ufuture.__all__
    for name in ("wait_for_ms", "CancelledError", "TimeoutError", "InvalidStateError", "sleep_ms"):
        assert name in ufuture.__all__
    with raises(AttributeError):
        ufuture.nonsense


def test_its_exceptions_are_asyncio_s():
    assert ufuture.CancelledError is asyncio.CancelledError
    assert ufuture.TimeoutError is asyncio.TimeoutError
    if hasattr(asyncio, "InvalidStateError"):
        assert ufuture.InvalidStateError is asyncio.InvalidStateError


def test_nothing_of_csp_is_loaded():
    for name in sys.modules:
        assert name.split(".")[0] not in ("cspcore", "uapycsp", "upycsp", "uthreading")


def test_everything_works_in_run_after_run_and_after_a_new_loop():
    async def main(i):
        fut = create_future()
        b = Barrier(2)

        async def sets():
            await b.wait()
            await sleep_ms(1)
            fut.set_result(i)

        tasks = [ufuture.wait_for(fut, 5), sets(), b.wait()]
        results = await ufuture.gather(*tasks)
        assert sorted(results[2:]) in ([0], [1])
        return results[:2]

    renew_loop()
    for i in range(6):
        assert asyncio.run(main(i)) == [i, None]
        if i == 3:
            renew_loop()
