"""Call channels: each call is answered once, by one server, or its client learns why not."""

import sys

import csp
from cspcore.channel import DEAD

from rules_support import (
    AWAITABLE,
    LIB,
    POISONED,
    Log,
    asyncio,
    choose,
    idle,
    join,
    join_all,
    par,
    raises,
    sentence,
    settle,
    sleep_ms,
    until,
)

CallChannel = csp.meeting.CallChannel
HEAP = "8M"


def half(x):
    if x % 2:
        raise ValueError("odd")
    return x // 2


@csp.process
async def serves(serve, times=1, function=half):
    for _ in range(times):
        await serve(function)


@csp.process
async def calls(call, *args):
    try:
        return await call(*args)
    except csp.PoisonException:
        return POISONED


@csp.process
async def accepts(serve):
    try:
        return await serve.accept()
    except csp.PoisonException:
        return POISONED


async def waiting_client(ch, *args):
    n = ch.queue_len()
    h = csp.Spawn(calls(ch.call, *args))
    await until(lambda: ch.queue_len() == n + 1)
    return h


async def taken(ch, *args):
    """(the client's handle, its request)"""
    h = await waiting_client(ch, *args)
    return h, await ch.serve.accept()


# Calls and answers


async def test_a_call_is_answered_whoever_comes_first():
    ch = CallChannel("c")
    h = await waiting_client(ch, 8)
    await ch.serve(half)
    assert await join(h) == 4
    h = csp.Spawn(serves(ch.serve))
    await until(lambda: ch.queue_len() == 1)
    assert await ch.call(6) == 3
    await join(h)
    assert idle(ch)


async def test_a_call_has_any_number_of_arguments():
    ch = CallChannel()
    for args in ((), (1,), (1, "b", [3])):
        h = csp.Spawn(serves(ch.serve, 1, lambda *got: got))
        assert await ch.call(*args) == args
        await join(h)


async def test_any_value_can_be_the_answer():
    ch = CallChannel()
    for v in (None, 0, False, [], ValueError("a value"), ch):
        h = csp.Spawn(serves(ch.serve, 1, lambda: v))
        assert await ch.call() is v
        await join(h)


async def test_an_answer_with_methods_of_a_coroutine_is_an_answer():
    ch = CallChannel()
    for v in (Sends(), Throws()):
        h = csp.Spawn(serves(ch.serve, 1, lambda: v))
        assert await ch.call() is v
        await join(h)


class Sends:
    """As a socket."""

    def send(self, data):
        pass


class Throws:
    def throw(self, ball):
        pass


async def test_calls_are_taken_first_come_first_served():
    ch = CallChannel()
    handles = []
    for i in range(4):
        handles.append(await waiting_client(ch, i))
    order = []

    def note(x):
        order.append(x)
        return -x

    for _ in range(4):
        await ch.serve(note)
    assert order == [0, 1, 2, 3]
    assert await join_all(handles) == [0, -1, -2, -3]


async def test_what_the_function_raises_is_raised_by_the_call_and_the_server_goes_on():
    ch = CallChannel()
    h = csp.Spawn(serves(ch.serve, 3))
    for x in (1, 3):
        with raises(ValueError) as e:
            await ch.call(x)
        assert str(e.value) == "odd"
    assert await ch.call(4) == 2
    await join(h)
    assert idle(ch)


async def test_many_clients_and_servers():
    ch = CallChannel()
    served = Log()

    def square(x):
        served.add(x)
        return x * x

    @csp.process
    async def client(call, first):
        results = []
        for i in range(25):
            results.append(await call(first + i))
        return results

    @csp.process
    async def server(serve):
        try:
            while True:
                await serve(square)
        except csp.PoisonException:
            pass

    @csp.process
    async def all_clients():
        results = await par(*[client(ch.call, 100 * i) for i in range(4)])
        ch.poison()
        return results

    results = (await par(all_clients(), *[server(ch.serve) for _ in range(3)]))[0]
    for i in range(4):
        assert results[i] == [(100 * i + k) ** 2 for k in range(25)]
    assert served.count() == 100


if AWAITABLE:

    async def test_the_function_may_be_an_async_def():
        ch = CallChannel()
        b = csp.Channel()

        @csp.process
        async def server():
            async def asks(x):
                if x < 0:
                    raise ValueError("negative")
                return x + await b.read()

            await ch.serve(asks)
            await ch.serve(asks)

        @csp.process
        async def client():
            got = await ch.call(1)
            with raises(ValueError):
                await ch.call(-1)
            return got

        @csp.process
        async def helper():
            await b.write(10)

        assert (await csp.Parallel(server(), client(), helper()))[1] == 11

    async def test_answer_fail_and_poison_may_be_awaited():
        ch = CallChannel()
        h, request = await taken(ch, 1)
        await request.answer(2)
        assert await join(h) == 2
        await ch.poison()
        with raises(csp.PoisonException):
            await ch.call(1)

    async def test_a_call_that_was_not_awaited_has_done_nothing():
        ch = CallChannel()
        for operation in (ch.call(1), ch.serve(half), ch.serve.accept()):
            operation.close()
        assert idle(ch)


# Requests


async def test_a_request_is_answered_later_and_in_any_order():
    ch = CallChannel("c")
    h1, r1 = await taken(ch, 1)
    h2, r2 = await taken(ch, 2)
    assert r1.args == (1,) and r2.args == (2,)
    await settle()
    assert not h1.done() and not h2.done()
    r2.answer("two")
    assert await join(h2) == "two" and not h1.done()
    r1.answer("one")
    assert await join(h1) == "one"


async def test_a_request_may_fail():
    ch = CallChannel()

    @csp.process
    async def fails():
        request = await ch.serve.accept()
        request.fail(KeyError("k"))

    h = csp.Spawn(fails())
    with raises(KeyError):
        await ch.call()
    await join(h)


class Refused(Exception):
    pass


@csp.process
async def calls_in_vain(call):
    try:
        await call(1)
    except Refused as e:
        return e


async def test_one_exception_may_answer_several_calls():
    # Two threads that raise one object break an interpreter without a GIL.
    ch = CallChannel()
    clients = [csp.Spawn(calls_in_vain(ch.call)) for _ in range(4)]
    requests = []
    for _ in range(4):
        requests.append(await ch.serve.accept())
    error = Refused("no", 5)
    for request in requests:
        request.fail(error)
    raised = await join_all(clients)
    assert all(type(e) is Refused and e.args == ("no", 5) for e in raised)
    if LIB != "uapycsp" and sys.modules["upycsp.process"]._RACES:
        assert len({id(e) for e in raised}) == 4 and error not in raised


async def test_a_request_may_be_served():
    ch = CallChannel()
    h, r = await taken(ch, 6)
    await r.serve(half)
    assert await join(h) == 3


async def test_a_request_is_answered_once():
    ch = CallChannel()
    h, r = await taken(ch, 1)
    r.answer(1)
    for again in (lambda: r.answer(2), lambda: r.fail(ValueError())):
        with raises(RuntimeError) as e:
            again()
        assert sentence(e.value)
    r.poison()
    assert await join(h) == 1


async def test_the_poison_of_a_request_reaches_its_client_alone():
    ch = CallChannel()
    h1, r1 = await taken(ch, 1)
    h2, r2 = await taken(ch, 2)
    r1.poison()
    assert await join(h1) == POISONED
    r1.answer("dropped")
    r1.poison()
    r2.answer("two")
    assert await join(h2) == "two"
    assert not ch.poisoned


async def test_a_call_waits_for_the_end_of_a_block():
    ch = CallChannel()
    h = await waiting_client(ch, 1)
    with await ch.serve.accept() as request:
        assert request.args == (1,)
        await settle()
        assert not h.done()
    assert await join(h) is None
    h = await waiting_client(ch, 2)
    with await ch.serve.accept() as request:
        request.answer(20)
        assert await join(h) == 20
    h = await waiting_client(ch, 3)
    with raises(ValueError):
        with await ch.serve.accept():
            raise ValueError("in the block")
    assert await join(h) == POISONED
    assert not ch.poisoned


# As a guard


async def test_the_server_end_is_a_guard():
    ch, other = CallChannel("c"), csp.Channel("o")
    alt = csp.Alternative(other.read, ch.serve)
    h = await waiting_client(ch, 3)
    g, request = await alt.select()
    assert g is ch.serve and request.args == (3,)
    request.answer("now")
    assert await join(h) == "now"
    h = csp.Spawn(choose(other.read, ch.serve))
    await until(lambda: ch.queue_len() == other.queue_len() == 1)
    h2 = csp.Spawn(calls(ch.call, 4))
    g, request = await join(h)
    assert g is ch.serve and idle(other)
    await request.serve(half)
    assert await join(h2) == 2


async def test_a_guard_that_was_not_chosen_takes_no_call():
    ch, other = CallChannel("c"), csp.Channel("o")
    h = csp.Spawn(choose(other.read, ch.serve))
    await until(lambda: ch.queue_len() == other.queue_len() == 1)
    await other.write("v")
    await join(h)
    assert idle(ch)


async def test_a_server_end_may_stand_in_a_parallel():
    a, b = CallChannel("a"), CallChannel("b")
    handles = [await waiting_client(a, 1), csp.Spawn(calls(b.call, 2))]
    for request in await par(b.serve, a.serve):
        request.answer(request.args[0] * 10)
    assert await join_all(handles) == [10, 20]


async def test_what_is_no_function_or_no_exception_is_refused_at_once():
    ch = CallChannel()
    with raises(TypeError) as e:
        await ch.serve(7)  # pyright: ignore
    assert sentence(e.value)
    h, request = await taken(ch, 1)
    with raises(TypeError) as e:
        await request.serve(None)
    assert sentence(e.value)
    with raises(TypeError) as e:
        request.fail("no exception")
    assert sentence(e.value)
    request.answer(2)
    assert await join(h) == 2


def test_a_call_channel_says_its_name():
    assert repr(CallChannel("c")) == "<call channel c>"
    assert repr(CallChannel()) == "<call channel without a name>"


def test_verify_finds_what_is_broken_in_a_call_channel():
    ch = CallChannel()
    ch.verify()
    ch._readers = DEAD
    with raises(AssertionError):
        ch.verify()


async def test_the_client_end_is_no_guard():
    with raises(TypeError):
        csp.Alternative(CallChannel().call)  # pyright: ignore


# Poison and failure


async def test_poison_reaches_who_calls_who_serves_and_who_waits_for_an_answer():
    for poison in (
        lambda ch: ch.poison(),
        lambda ch: ch.call.poison(),
        lambda ch: ch.serve.poison(),
    ):
        ch = CallChannel()
        h, request = await taken(ch, 1)
        h2 = await waiting_client(ch, 2)
        poison(ch)
        assert await join_all([h, h2]) == [POISONED, POISONED]
        assert ch.poisoned and idle(ch)
        request.answer("dropped")
        with raises(csp.PoisonException):
            await ch.call(3)
        with raises(csp.PoisonException):
            await ch.serve(half)
        ch = CallChannel()
        h = csp.Spawn(accepts(ch.serve))
        await until(lambda: ch.queue_len() == 1)
        poison(ch)
        assert await join(h) == POISONED


@csp.process
async def strength_of(call):
    try:
        await call()
    except csp.PoisonException as er:
        return er.strength


async def test_the_strength_of_poison_reaches_taken_calls_too():
    ch = CallChannel()
    h = csp.Spawn(strength_of(ch.call))
    await until(lambda: ch.queue_len() == 1)
    await ch.serve.accept()
    h2 = csp.Spawn(strength_of(ch.call))
    await until(lambda: ch.queue_len() == 1)
    ch.serve.poison(0)
    assert ch.queue_len() == 1
    ch.serve.poison(3)
    assert await join_all([h, h2]) == [3, 3]


@csp.process
async def serves_by_reading(serve, cin, in_block):
    async def reads():
        return await cin()

    if in_block:
        with await serve.accept() as request:
            request.answer(await reads())
    else:
        await serve(reads)


async def test_the_strength_of_what_ends_a_served_function_reaches_its_call():
    for in_block in (False, True):
        ch, part = CallChannel(), csp.Channel("part")
        client = csp.Spawn(strength_of(ch.call))
        await until(lambda: ch.queue_len() == 1)
        server = csp.Spawn(serves_by_reading(ch.serve, part.read, in_block))
        await until(lambda: part.queue_len() == 1)
        part.poison(2)
        assert await join(client) == 2
        assert await join(server) is None


async def test_a_strength_that_can_not_be_noted_ends_a_call_all_the_same():
    ch = CallChannel()
    client = csp.Spawn(strength_of(ch.call))
    await until(lambda: ch.queue_len() == 1)
    request = await ch.serve.accept()

    def resists(strength):
        raise MemoryError("none is left")

    request.resists = resists
    er = csp.PoisonException("elsewhere")
    er.strength = 2
    request.ruin(er)
    assert await join(client) is None


async def test_an_answer_that_was_given_is_not_undone_by_poison():
    ch = CallChannel()
    h, request = await taken(ch, 1)
    request.answer("kept")
    ch.poison()
    assert await join(h) == "kept"


async def test_a_server_that_dies_does_not_let_its_client_hang():
    ch = CallChannel()

    @csp.process
    async def dies(serve):
        await serve.accept()
        raise ValueError("dies")

    h = await waiting_client(ch, 1)
    with raises(ValueError):
        await par(dies(ch.serve))
    assert await join(h) == POISONED


async def test_a_server_whose_function_meets_poison_ends_and_so_do_its_clients():
    ch, gone = CallChannel(), csp.Channel()
    gone.poison()

    def meets_poison(x):
        raise csp.PoisonException("elsewhere")

    h, h2 = await waiting_client(ch, 1), await waiting_client(ch, 2)
    await par(serves(ch.serve, 2, meets_poison))
    assert await join_all([h, h2]) == [POISONED, POISONED]
    assert ch.poisoned


async def test_a_client_that_dies_poisons_its_server():
    ch = CallChannel()

    @csp.process
    async def client(call):
        await call(4)
        raise ValueError("dies")

    h = csp.Spawn(serves(ch.serve, 2))
    with raises(ValueError):
        await par(client(ch.call))
    assert await join(h) is None
    assert ch.poisoned


# Deadlock


@csp.process
async def plain_call(call):
    await call(1)


@csp.process
async def drops(serve):
    await serve.accept()
    await serve.accept()


def test_a_deadlock_of_calls_is_reported():
    ch, other = CallChannel("c"), CallChannel()
    with raises(csp.DeadlockError) as e:
        csp.run(plain_call(ch.call), drops(ch.serve), plain_call(other.call))
    text = str(e.value)
    assert text.startswith("3 processes wait: ")
    for part in (
        "plain_call waits for an answer of c",
        "drops waits for a call of c",
        "plain_call calls an unnamed call channel",
    ):
        assert part in text, text


@csp.process
async def answers_late(serve):
    request = await serve.accept()
    await sleep_ms(1250)
    request.answer("late")


def test_a_server_that_sleeps_is_no_deadlock():
    ch = CallChannel("c")
    assert csp.run(calls(ch.call, 1), answers_late(ch.serve)) == ["late", None]


# Cancellation


if LIB == "uapycsp":

    async def cancelled_client(ch):
        h = csp.Spawn(calls(ch.call, 1))
        await until(lambda: ch.queue_len() == 1)
        return h

    async def fails_as_cancelled(h):
        with raises(asyncio.CancelledError):
            await h

    async def test_a_client_cancelled_before_its_call_was_taken_leaves_nothing():
        ch = CallChannel()
        h = await cancelled_client(ch)
        h.cancel()
        assert idle(ch)
        await fails_as_cancelled(h)

    # A process that is cancelled poisons its ends: here it is a coroutine, which has none.

    async def one_call(ch, log):
        try:
            log.append(await ch.call(1))
            await sleep_ms(0)
            log.append("after")
        except asyncio.CancelledError:
            log.append("cancelled")

    async def test_an_answer_is_dropped_if_the_client_is_gone():
        ch = CallChannel()
        log = []
        h = csp.Spawn(one_call(ch, log))
        request = await ch.serve.accept()
        await settle()
        h.cancel()
        await h
        assert log == ["cancelled"]
        request.answer("dropped")
        h2, r2 = await taken(ch, 2)
        r2.answer("kept")
        assert await h2 == "kept" and idle(ch)

    async def test_a_client_cancelled_at_each_moment():
        for steps in range(8):
            for answers in (False, True):
                ch = CallChannel()
                log = []
                h = csp.Spawn(one_call(ch, log))
                server = csp.Spawn(accepts(ch.serve))
                for _ in range(steps):
                    await sleep_ms(0)
                answered = answers and server.done()
                if answered:
                    (await server).answer("v")
                h.cancel()
                try:
                    await h
                except asyncio.CancelledError:
                    assert not log  # it had not begun
                else:
                    assert log in (["cancelled"], ["v", "cancelled"], ["v", "after"]), log
                await settle()
                if not server.done():
                    other = csp.Spawn(calls(ch.call, 2))
                    (await server).answer("next")
                    assert await other == "next"
                elif not answered:
                    (await server).answer("dropped")
                assert idle(ch)

    async def called_and_cancelled(ch, server):
        # The call's process runs, then that which cancels, then the server would.
        async def cancels():
            server.cancel()

        client = csp.Spawn(calls(ch.call, 1))
        await csp.Spawn(cancels())
        await fails_as_cancelled(server)
        return client

    async def test_a_server_cancelled_before_it_knows_gives_its_call_to_the_next():
        for guard in (False, True):
            ch = CallChannel()
            waits = csp.Alternative(ch.serve, csp.Timer(60)).select if guard else ch.serve.accept
            first = csp.Spawn(waits())
            await until(lambda: ch.queue_len() == 1)
            second = csp.Spawn(accepts(ch.serve))
            await until(lambda: ch.queue_len() == 2)
            client = await called_and_cancelled(ch, first)
            (await second).answer("second")
            assert await client == "second" and idle(ch)

    async def test_a_call_that_was_given_back_waits_for_the_next_server():
        ch = CallChannel()
        first = csp.Spawn(ch.serve.accept())
        await until(lambda: ch.queue_len() == 1)
        client = await called_and_cancelled(ch, first)
        assert ch.queue_len() == 1 and not client.done()
        await ch.serve(lambda x: x + 1)
        assert await client == 2 and idle(ch)

    async def test_a_call_that_was_given_back_is_poisoned_with_the_rest():
        for poison in ("poison", "call", "serve"):
            ch = CallChannel()
            first = csp.Spawn(ch.serve.accept())
            await until(lambda: ch.queue_len() == 1)
            client = await called_and_cancelled(ch, first)
            assert ch.queue_len() == 1
            if poison == "poison":
                ch.poison()
            else:
                getattr(ch, poison).poison()
            assert await client == POISONED
            with raises(csp.PoisonException):
                await ch.serve.accept()

    async def test_a_server_cancelled_while_it_serves_poisons_its_call():
        ch = CallChannel()

        async def slow(x):
            await sleep_ms(60000)

        async def server():
            await ch.serve(slow)

        client = csp.Spawn(calls(ch.call, 1))
        h = csp.Spawn(server())
        await until(lambda: not ch.queue_len())
        await settle()
        h.cancel()
        await fails_as_cancelled(h)
        assert await client == POISONED
        assert not ch.poisoned
