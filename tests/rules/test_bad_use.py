"""Rule 11: bad use raises at once, with one short sentence, and leaves nothing behind."""

import sys

import csp

from rules_support import (
    AWAITABLE,
    LIB,
    idle,
    join,
    par,
    raises,
    sentence,
    seq,
    skip,
    take,
    waiting_readers,
    waiting_writers,
)


@csp.process
async def returns(v):
    return v


def ordinary():
    return 1


async def test_an_alternative_without_guards_is_a_value_error():
    with raises(ValueError) as e:
        csp.Alternative()
    assert sentence(e.value)


async def test_a_guard_that_is_no_guard_is_a_type_error():
    ch = csp.Channel("c")
    for bad in (None, 1, "guard", object(), ch, [ch.read], ordinary):
        for guards in ((bad,), (ch.read, bad), (bad, ch.read)):
            with raises(TypeError) as e:
                csp.Alternative(*guards)
            assert sentence(e.value)
    assert idle(ch)


async def test_the_class_of_a_guard_is_no_guard():
    ch = csp.Channel("c")
    with raises(TypeError):
        csp.Alternative(ch.read, csp.Skip)
    with raises(TypeError):
        csp.Alternative(csp.Guard)
    assert idle(ch)


async def test_a_write_end_as_an_input_guard_is_a_type_error():
    ch = csp.Channel("c")
    with raises(TypeError) as e:
        csp.Alternative(ch.write)
    assert sentence(e.value)
    with raises(TypeError):
        csp.Alternative(ch.read, ch.write)
    assert idle(ch)


async def test_an_unlucky_alternative_leaves_its_good_guards_alone():
    a = csp.Channel("a")
    (h,) = await waiting_writers(a, (1,))
    with raises(TypeError):
        csp.Alternative(a.read, None)
    assert a.queue_len() == 1
    assert await a.read() == 1
    assert await join(h) == 0


async def test_reading_a_write_end_by_iteration_is_a_type_error():
    for ch in (csp.Channel("c"), csp.BufferedChannel("b")):
        with raises(TypeError):
            async for _ in ch.write:
                raise AssertionError("a write end was read")
        assert idle(ch)


async def test_a_write_without_a_value_is_a_type_error():
    ch = csp.Channel("c")
    with raises(TypeError):
        await ch.write()
    assert idle(ch)


async def test_a_read_with_a_value_is_a_type_error():
    ch = csp.Channel("c")
    with raises(TypeError):
        await ch.read(1)
    assert idle(ch)


async def test_a_read_end_has_no_write_guard():
    ch = csp.Channel("c")
    with raises(AttributeError, TypeError):
        ch.read.alt_pending_write(1)
    assert idle(ch)


async def test_a_negative_capacity_is_a_value_error():
    for capacity in (-1, -100):
        with raises(ValueError) as e:
            csp.BufferedChannel("c", capacity)
        assert sentence(e.value)
        with raises(ValueError):
            csp.BufferedChannel("c", capacity=capacity)


async def test_a_capacity_that_no_memory_has_is_a_value_error():
    for capacity in ((sys.maxsize >> 3) + 1, (sys.maxsize + 1) >> 2, sys.maxsize, 10**25):
        with raises(ValueError) as e:
            csp.BufferedChannel("c", capacity)
        assert str(e.value) == "a capacity is not larger than any memory"
        with raises(ValueError):
            csp.BufferedChannel("c", capacity, overflow="keep_newest")


async def test_a_capacity_that_is_no_whole_number_is_a_type_error():
    for capacity in (1.5, "keep_newest", []):
        with raises(TypeError) as e:
            csp.BufferedChannel("c", capacity)
        assert str(e.value) == "a capacity is a whole number"


async def test_a_capacity_in_the_place_of_the_name_is_a_type_error():
    with raises(TypeError) as e:
        csp.BufferedChannel(5)
    assert str(e.value) == "a capacity comes after the name"
    assert csp.BufferedChannel(5, 2).capacity == 2  # anything may be a name


async def test_parallel_of_something_that_is_no_process_is_a_type_error():
    ch = csp.Channel("c")
    for bad in (
        None, 1, "process", object(), ch, [returns(1)], ordinary, returns, csp.Skip(), Sends(),
    ):
        with raises(TypeError) as e:
            await par(bad)
        assert sentence(e.value) and str(e.value).startswith("a process is expected: ")
    assert idle(ch)


class Sends:
    """Half a coroutine."""

    def send(self, value):
        pass


async def test_parallel_with_one_bad_member_starts_nothing():
    ch = csp.Channel("c")
    with raises(TypeError):
        await par(take(ch.read), None)
    assert idle(ch)
    with raises(TypeError):
        await par(ch.read, 1)
    assert idle(ch)
    with raises(TypeError):
        await par(ch.write.alt_pending_write(1), "x", ch.read)
    assert idle(ch)


async def test_parallel_of_a_write_end_is_a_type_error():
    ch = csp.Channel("c")
    with raises(TypeError):
        await par(ch.write)
    assert idle(ch)


async def test_sequence_of_something_that_is_no_process_is_a_type_error():
    for bad in (None, 1, ordinary, returns):
        with raises(TypeError) as e:
            await seq(bad)
        assert sentence(e.value)


async def test_a_bad_member_of_a_sequence_is_found_before_any_member_runs():
    ch = csp.BufferedChannel("c")
    with raises(TypeError):
        await seq(writes(ch.write), None)
    assert ch.queue_len() == 0 and not ch.poisoned


@csp.process
async def writes(cout):
    await cout(1)


async def test_spawn_of_something_that_is_no_process_is_a_type_error():
    for bad in (None, 1, ordinary, returns):
        with raises(TypeError) as e:
            csp.Spawn(bad)
        assert sentence(e.value)


def test_run_of_something_that_is_no_process_is_a_type_error():
    for bad in (None, 1, ordinary, returns):
        with raises(TypeError) as e:
            csp.run(bad)
        assert sentence(e.value)
    with raises(TypeError):
        csp.run(returns(1), None)
    assert csp.run(returns(1)) == 1


async def test_run_inside_a_running_loop_is_a_runtime_error():
    if LIB != "uapycsp":
        skip("in upycsp a process may call run")
    p = returns(1)
    with raises(RuntimeError) as e:
        csp.run(p)
    assert sentence(e.value)
    # The process was not started by the attempt.
    assert await par(p) == [1]


async def test_starting_a_process_twice_is_a_runtime_error():
    p = returns(1)
    assert await par(p) == [1]
    for again in (par, seq):
        with raises(RuntimeError) as e:
            await again(p)
        assert sentence(e.value)
    with raises(RuntimeError):
        await join(csp.Spawn(p))


async def test_a_spawned_process_may_not_be_started_again():
    ch = csp.Channel("c")
    p = take(ch.read)
    h = csp.Spawn(p)
    with raises(RuntimeError):
        await par(p)
    await ch.write(1)
    assert await join(h) == 1
    with raises(RuntimeError):
        await par(p)


async def test_the_same_process_twice_in_one_parallel_is_a_runtime_error():
    p = returns(1)
    with raises(RuntimeError):
        await par(p, p)


async def test_awaiting_a_process_twice_is_a_runtime_error():
    if not AWAITABLE:
        skip("plain upycsp awaits nothing")
    p = returns(1)
    assert await p == 1
    with raises(RuntimeError):
        await p


def test_running_a_process_twice_is_a_runtime_error():
    p = returns(1)
    assert csp.run(p) == 1
    with raises(RuntimeError):
        csp.run(p)


async def test_bad_use_leaves_the_channel_usable():
    ch = csp.Channel("c")
    with raises(TypeError):
        await ch.write()
    with raises(TypeError):
        csp.Alternative(ch.write)
    (h,) = await waiting_readers(ch, 1)
    await ch.write("fine")
    assert await join(h) == "fine"
    assert idle(ch)


async def test_an_unknown_keyword_of_process_is_a_type_error():
    with raises(TypeError):
        csp.process(verbose=True)(ordinary)


async def test_a_time_that_is_no_finite_number_is_told_in_one_sentence():
    ch = csp.Channel("c")
    for bad in ("x", [1], float("inf"), float("nan")):
        for f in (
            lambda: csp.Timer(bad),
            lambda: csp.Timer(ms=bad),
            lambda: ch.read.within(bad),
            lambda: ch.write.within(bad, 1),
        ):
            with raises(TypeError, ValueError) as e:
                await f()
            assert str(e.value) == "a time is a finite number"
    with raises(TypeError):
        await ch.read.within(None)
    assert idle(ch)


def test_a_process_of_what_is_no_function_is_a_type_error():
    for bad in (3, "f", [], csp.Channel("c")):
        with raises(TypeError) as e:
            csp.process(bad)  # pyright: ignore
        assert sentence(e.value)
        with raises(TypeError):
            csp.process(propagate=False)(bad)  # pyright: ignore


def test_to_poison_what_is_no_channel_is_a_type_error():
    for bad in (3, None, "c", []):
        with raises(TypeError) as e:
            csp.poison_channel(bad)  # pyright: ignore
        assert sentence(e.value)
