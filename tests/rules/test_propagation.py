"""Rule 4: a process that ends by poison poisons the channel ends among its arguments."""

import io
from _thread import allocate_lock

import cspcore.process
import csp

from rules_support import (
    idle,
    join,
    join_all,
    par,
    raises,
    settle,
    until,
)


@csp.process
async def ends_by_poison(*args, **kwargs):
    raise csp.PoisonException()


@csp.process(propagate=False)
async def keeps_poison(*args, **kwargs):
    raise csp.PoisonException()


@csp.process(verbose_poison=True)
async def tells_of_poison(*args, **kwargs):
    raise csp.PoisonException()


@csp.process(verbose_poison=True, propagate=False)
async def tells_and_keeps_poison(*args):
    raise csp.PoisonException()


@csp.process()
async def plain_parentheses(*args):
    raise csp.PoisonException()


@csp.process
async def ends_normally(*args):
    return len(args)


@csp.process
async def relay(cin, cout):
    while True:
        await cout(await cin())


def three():
    return csp.Channel("a"), csp.Channel("b"), csp.Channel("c")


async def test_positional_ends_are_poisoned():
    a, b, c = three()
    await par(ends_by_poison(a.read, 1, "x", None, b.write))
    assert a.poisoned and b.poisoned and not c.poisoned


async def test_keyword_ends_are_poisoned():
    a, b, c = three()
    await par(ends_by_poison(1, cin=a.read, cout=b.write, other=3))
    assert a.poisoned and b.poisoned and not c.poisoned


async def test_ends_in_lists_and_tuples_are_poisoned():
    a, b, c = three()
    await par(ends_by_poison([a.read, 1], cins=(None, b.write)))
    assert a.poisoned and b.poisoned and not c.poisoned


async def test_a_channel_among_the_arguments_is_not_an_end():
    a, b, c = three()
    await par(ends_by_poison(a, [b], other=(c,)))
    assert not a.poisoned and not b.poisoned and not c.poisoned


async def test_propagate_false_poisons_nothing():
    a, b, c = three()
    res = await par(keeps_poison(a.read, [b.write], cin=c.read), tells_and_keeps_poison(a.write))
    assert res == [None, None]
    assert not a.poisoned and not b.poisoned and not c.poisoned


async def test_verbose_poison_and_empty_parentheses_propagate_too():
    a, b, c = three()
    res = await par(tells_of_poison(a.read, cout=b.write), plain_parentheses(c.read))
    assert res == [None, None]
    assert a.poisoned and b.poisoned and c.poisoned


async def test_a_process_ended_by_poison_counts_as_ended_with_value_none():
    a, b, c = three()
    assert await par(ends_normally(1, 2), ends_by_poison(a.read), ends_normally(c)) == [2, None, 1]


async def test_a_process_that_ends_normally_propagates_nothing():
    a, b, c = three()
    assert await par(ends_normally(a.read, b.write, [c.read])) == [3]
    assert not a.poisoned and not b.poisoned and not c.poisoned


async def test_an_iteration_that_ended_propagates_nothing():
    a, b, c = three()
    a.poison()
    assert await par(copy_while_it_lasts(a.read, b.write)) == [None]
    await settle()
    assert not b.poisoned


@csp.process
async def copy_while_it_lasts(cin, cout):
    async for v in cin:
        await cout(v)


async def test_poison_met_inside_an_iteration_propagates():
    a, b, c = three()
    h = csp.Spawn(copy_while_it_lasts(a.read, b.write))
    b.poison()
    await a.write("cannot go on")
    assert await join(h) is None
    assert a.poisoned


async def test_poison_travels_down_a_chain_of_processes_that_wait_to_read():
    chans = [csp.Channel("c%d" % i) for i in range(5)]
    handles = [csp.Spawn(relay(chans[i].read, chans[i + 1].write)) for i in range(4)]
    await until(lambda: [ch.queue_len() for ch in chans] == [1, 1, 1, 1, 0])
    chans[0].poison()
    assert await join_all(handles) == [None] * 4
    assert [bool(ch.poisoned) for ch in chans] == [True] * 5
    assert idle(*chans)


async def test_poison_travels_up_a_chain_of_processes_that_wait_to_write():
    chans = [csp.Channel("c%d" % i) for i in range(5)]
    handles = [csp.Spawn(relay(chans[i].read, chans[i + 1].write)) for i in range(4)]
    for i in range(4):
        await chans[0].write(i)
    await until(lambda: [ch.queue_len() for ch in chans] == [0, 1, 1, 1, 1])
    chans[4].poison()
    assert await join_all(handles) == [None] * 4
    assert [bool(ch.poisoned) for ch in chans] == [True] * 5
    assert idle(*chans)


async def test_poison_travels_out_of_nested_processes():
    a, b, c = three()
    res = await par(outer_relay(a.read, b.write), poison_when_waited_for(a))
    assert res == [None, None]
    assert a.poisoned and b.poisoned


@csp.process
async def outer_relay(cin, cout):
    # The members end by poison, which is no exception of this process; it ends normally.
    assert await par(relay(cin, cout)) == [None]


@csp.process
async def poison_when_waited_for(ch):
    await until(lambda: ch.queue_len() == 1)
    ch.poison()


async def test_a_process_that_catches_poison_propagates_nothing():
    a, b, c = three()
    a.poison()
    assert await par(catches(a.read, b.write)) == ["caught"]
    await settle()
    assert not b.poisoned


@csp.process
async def catches(cin, cout):
    try:
        await cin()
    except csp.PoisonException:
        return "caught"


async def test_ends_are_poisoned_before_the_process_counts_as_ended():
    for _ in range(50):
        a, b, c = three()
        await par(ends_by_poison(a.read, [b.write], x=(c.read,)))
        assert a.poisoned and b.poisoned and c.poisoned


def test_run_of_a_process_that_ends_by_poison_gives_none():
    a, b, c = three()
    assert csp.run(ends_by_poison(a.read)) is None
    assert a.poisoned
    assert csp.run(ends_by_poison(b.read), ends_normally(1)) == [None, 1]


async def test_poison_exception_is_one_class_under_two_names():
    assert csp.PoisonException is csp.ChannelPoisonException
    assert issubclass(csp.PoisonException, Exception)
    with raises(csp.ChannelPoisonException):
        raise csp.PoisonException("x")


class Heard(io.IOBase):
    """A stream that keeps what several threads write, each piece whole."""

    def __init__(self):
        self.lock = allocate_lock()
        self.text = ""

    def write(self, data):
        with self.lock:
            self.text += data
        return len(data)


class said:
    """In this block what cspcore.process prints on stderr is kept in `text`."""

    def __init__(self, stderr=None):
        self.stderr = Heard() if stderr is None else stderr

    def __enter__(self):
        self.sys = cspcore.process.sys
        cspcore.process.sys = self
        return self

    def __exit__(self, kind, value, traceback):
        cspcore.process.sys = self.sys

    @property
    def text(self):
        return self.stderr.text


class Broken(io.IOBase):
    """A stream that nothing can be written to."""

    def write(self, data):
        raise OSError(5)


@csp.process(verbose_poison=True)
async def tells_of_no_error(*args):
    raise KeyError("other")


async def test_verbose_poison_tells_of_an_end_by_poison():
    with said() as heard:
        await par(tells_of_poison(), tells_and_keeps_poison())
    lines = sorted(heard.text.split("\n")[:-1])
    assert lines == [
        "process tells_and_keeps_poison ended by poison",
        "process tells_of_poison ended by poison",
    ]


async def test_nothing_is_told_unless_asked_for():
    with said() as heard:
        await par(ends_by_poison(), keeps_poison(), plain_parentheses(), ends_normally())
        with raises(KeyError):
            await par(tells_of_no_error())
    assert heard.text == ""


async def test_where_nothing_can_be_told_the_process_ends_all_the_same():
    ch = csp.Channel("c")
    with said(Broken()):
        assert await par(tells_of_poison(ch.read)) == [None]
    assert ch.poisoned
