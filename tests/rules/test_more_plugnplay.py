"""The processes of plugnplay that are loaded when they are first used; the classic networks."""

import csp

from rules_support import (
    Log,
    collect,
    give_from,
    idle,
    join,
    join_all,
    now_ms,
    par,
    passed,
    posted,
    raises,
    sentence,
    settle,
    skip,
    sleep_ms,
    until,
    waiting_readers,
    waiting_writers,
)

try:
    import builtins
except ImportError:
    import __builtin__ as builtins

plug = csp.plugnplay
VIRTUAL_TIME = True
# Time that jumps stands still while a stream flows that never ends.
REAL_TIME = ("test_poison_at_any_end_leaves_by_all_while_the_stream_flows",)


def channels(n):
    return [csp.Channel("c%d" % i) for i in range(n)]


def odd(v):
    return v % 2 == 1


def add(a, b):
    return a + b


@csp.process
async def feeds(cout, make):
    """Writes make(0), make(1), ... until it meets poison."""
    n = 0
    try:
        while True:
            await cout(make(n))
            n += 1
    except csp.PoisonException:
        pass


@csp.process
async def gives(cout, values):
    for v in values:
        await cout(v)
    cout.poison()


async def through(make, values, count=None):
    """What make(cin, cout) makes of a stream; it ends with that, or after count of its values."""
    a, b = channels(2)
    got = await par(give_from(a.write, values) if count is not None else gives(a.write, values),
                    make(a.read, b.write), plug.Collect(b.read, count))
    assert b.poisoned and idle(b)
    return got[-1]


async def first(make, n):
    """The first n values that make(cout) writes."""
    (a,) = channels(1)
    got = await par(make(a.write), plug.Collect(a.read, n))
    assert a.poisoned and idle(a)
    return got[-1]


# --- numbers


async def test_plus_minus_and_times_take_one_value_of_each_input():
    for make, expected in (
        (plug.Plus, [11, 22, 33]), (plug.Minus, [-9, -18, -27]), (plug.Times, [10, 40, 90])
    ):
        a, b, c = channels(3)
        got = await par(gives(a.write, (1, 2, 3)), gives(b.write, (10, 20, 30)),
                        make(a.read, b.read, c.write), plug.Collect(c.read))
        assert got[-1] == expected


@csp.process
async def alternates(couts, n):
    for i in range(n):
        for cout in couts:
            await cout(i)
    raise csp.PoisonException()


async def test_what_takes_of_all_inputs_takes_them_in_the_order_in_which_they_are_offered():
    # One process feeds all the inputs, in both orders.
    for first, second in ((0, 1), (1, 0)):
        a, b, c = channels(3)
        ends = a.write, b.write
        got = await par(alternates((ends[first], ends[second]), 4),
                        plug.Plus(a.read, b.read, c.write), plug.Collect(c.read))
        assert got[-1] == [0, 2, 4, 6]
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        chans = channels(3)
        out = csp.Channel("out")
        got = await par(alternates([chans[i].write for i in order], 4),
                        plug.Paraplex([ch.read for ch in chans], out.write),
                        plug.Collect(out.read))
        assert got[-1] == [[i] * 3 for i in range(4)]


async def test_integrate_writes_the_sum_so_far():
    assert await through(plug.Integrate, (1, 2, 3, -6)) == [1, 3, 6, 0]


async def test_pairs_writes_the_sum_of_each_two_neighbours():
    assert await through(plug.Pairs, (1, 2, 3, 10)) == [3, 5, 13]
    assert await through(plug.Pairs, (1,)) == []


async def test_numbers_squares_and_generate_go_on_for_ever():
    assert await first(plug.Numbers, 5) == [0, 1, 2, 3, 4]
    assert await first(plug.Squares, 5) == [1, 4, 9, 16, 25]
    assert await first(lambda cout: plug.Generate(cout, "v"), 3) == ["v", "v", "v"]


async def test_generate_ints_counts_as_a_range_does_and_poisons_its_output_behind_the_last():
    for args in ((0, 4), (2, 9, 3), (5, 0, -2), (4, 0, -2), (3, 3), (3, 1)):
        assert await first(lambda cout: plug.GenerateInts(cout, *args), None) == list(range(*args))
    assert await first(plug.GenerateInts, 3) == [0, 1, 2]
    assert await first(lambda cout: plug.GenerateInts(cout, 7, step=-7), 3) == [7, 0, -7]


async def test_what_generate_ints_left_in_a_buffer_can_be_read():
    ch = csp.BufferedChannel("c")
    assert await par(plug.GenerateInts(ch.write, stop=3)) == [None]
    assert (await par(plug.Collect(ch.read)))[0] == [0, 1, 2]


# --- streams


async def test_tail_drops_the_first_value_or_as_many_as_it_is_told():
    assert await through(plug.Tail, (1, 2, 3)) == [2, 3]
    assert await through(lambda i, o: plug.Tail(i, o, 2), (1, 2, 3)) == [3]
    assert await through(lambda i, o: plug.Tail(i, o, count=0), (1, 2, 3)) == [1, 2, 3]
    assert await through(lambda i, o: plug.Tail(i, o, 5), (1, 2, 3)) == []


async def test_filter_passes_what_its_predicate_holds_for():
    assert await through(lambda i, o: plug.Filter(i, o, odd), range(7)) == [1, 3, 5]


async def test_map_applies_its_function():
    assert await through(lambda i, o: plug.Map(i, o, str), range(3)) == ["0", "1", "2"]


async def test_fold_writes_the_result_so_far_for_each_value():
    assert await through(lambda i, o: plug.Fold(i, o, add, ""), "abc") == ["a", "ab", "abc"]
    assert await through(lambda i, o: plug.Fold(i, o, max, 3), (1, 5, 4)) == [3, 5, 5]


async def test_split_sends_each_value_to_one_output():
    a, b, c = channels(3)
    got = await par(gives(a.write, range(6)), plug.Split(a.read, b.write, c.write, odd),
                    plug.Collect(b.read), plug.Collect(c.read))
    assert got[2:] == [[1, 3, 5], [0, 2, 4]]


async def test_sign_puts_its_sign_before_each_value():
    assert await through(lambda i, o: plug.Sign(i, o, "n = "), (1, None)) == ["n = 1", "n = None"]


async def test_black_hole_takes_everything():
    (a,) = channels(1)
    assert await par(gives(a.write, range(20)), plug.BlackHole(a.read)) == [None, None]
    assert idle(a)


async def test_printer_prints_a_line_in_one_piece():
    said = Log()
    plain = builtins.print
    builtins.print = lambda text, end="\n": said.add(text + end)
    try:
        for printer in (plug.Printer, lambda cin: plug.Printer(cin, "<", postfix=">")):
            (a,) = channels(1)
            await par(gives(a.write, (1, "two")), printer(a.read))
    finally:
        builtins.print = plain
    assert said.items() == ["1\n", "two\n", "<1>\n", "<two>\n"]


async def test_collect_returns_what_it_has_read_when_poison_comes():
    (a,) = channels(1)
    assert (await par(gives(a.write, (1, 2)), plug.Collect(a.read)))[1] == [1, 2]
    (a,) = channels(1)
    assert (await par(gives(a.write, (1, 2)), plug.Collect(a.read, 5)))[1] == [1, 2]


async def test_collect_leaves_a_channel_that_has_ended_as_it_is():
    (a,) = channels(1)
    cout = a.writer()
    h = csp.Spawn(plug.Collect(a.read))
    await cout(1)
    cout.retire()
    assert await join(h) == [1]
    with raises(csp.RetireException):
        await a.read()


async def test_collect_poisons_its_input_when_it_has_enough():
    (a,) = channels(1)
    h = csp.Spawn(feeds(a.write, lambda n: n))
    assert (await par(plug.Collect(a.read, 3)))[0] == [0, 1, 2]
    assert a.poisoned
    await join(h)
    (a,) = channels(1)
    assert (await par(plug.Collect(a.read, 0)))[0] == []
    assert a.poisoned


# --- many ends


async def test_delta_copies_to_all_its_outputs_in_any_order():
    for n in (1, 3):
        a, *outs = channels(n + 1)
        got = await par(gives(a.write, range(10)),
                        plug.Delta(a.read, [ch.write for ch in outs]),
                        *[plug.Collect(ch.read) for ch in outs])
        assert got[2:] == [list(range(10))] * n
    a, *outs = channels(4)
    h = csp.Spawn(plug.Delta(a.read, tuple([ch.write for ch in outs])))
    await a.write("v")
    for ch in outs[::-1]:
        assert await ch.read() == "v"
    a.poison()
    await join(h)
    assert all(ch.poisoned for ch in outs)


async def test_paraplex_writes_a_new_list_each_time():
    a, b, c = channels(3)
    got = await par(gives(a.write, (1, 2)), gives(b.write, "xy"),
                    plug.Paraplex((a.read, b.read), c.write), plug.Collect(c.read))
    assert got[-1] == [[1, "x"], [2, "y"]]
    assert got[-1][0] is not got[-1][1]


async def test_paraplex_of_one_input_and_of_one_channel_twice():
    assert await through(lambda i, o: plug.Paraplex([i], o), (1, 2)) == [[1], [2]]
    assert await through(lambda i, o: plug.Paraplex([i, i], o), (1, 2, 3, 4)) == [[1, 2], [3, 4]]


async def test_multiplex_tells_the_number_of_the_input_and_keeps_the_order_of_each():
    for fair in (True, False):
        chans = channels(3)
        out = csp.Channel("out")
        h = csp.Spawn(plug.Multiplex([ch.read for ch in chans], out.write, fair))
        got = await par(*[give_from(ch.write, range(10)) for ch in chans],
                        plug.Collect(out.read, 30))
        chans[2].poison()
        await join(h)
        for i in range(3):
            assert [v for n, v in got[-1] if n == i] == list(range(10))


async def multiplexed(fair, n):
    """The first n values of a Multiplex whose two inputs have plenty, read one after another."""
    a, b = csp.BufferedChannel("a"), csp.BufferedChannel("b")
    out = csp.Channel("out")
    for ch in (a, b):
        for i in range(n):
            await ch.write(i)
    h = csp.Spawn(plug.Multiplex((a.read, b.read), out.write, fair))
    got = []
    for _ in range(n):
        got.append((await out.read())[0])
    out.poison()
    await join(h)
    return got


async def test_a_fair_multiplex_takes_turns_and_one_with_priority_prefers_the_first():
    assert await multiplexed(True, 6) == [0, 1] * 3
    assert await multiplexed(False, 6) == [0] * 6


async def test_demultiplex_undoes_multiplex():
    ins, outs = channels(2), channels(2)
    link = csp.Channel("link")
    handles = [csp.Spawn(plug.Multiplex([ch.read for ch in ins], link.write)),
               csp.Spawn(plug.Demultiplex(link.read, [ch.write for ch in outs]))]
    got = await par(*[give_from(ch.write, range(i, 20, 2)) for i, ch in enumerate(ins)],
                    *[takes(ch.read, 10) for ch in outs])
    assert got[2:] == [list(range(0, 20, 2)), list(range(1, 20, 2))]
    ins[0].poison()
    await join_all(handles)
    assert link.poisoned and all(ch.poisoned for ch in ins + outs)


@csp.process
async def takes(cin, n):
    got = []
    for _ in range(n):
        got.append(await cin())
    return got


async def test_merge_writes_ascending_values_each_once():
    for streams in (
        ((1, 3, 5, 100), (2, 3, 4, 100)),
        ((1, 2, 3, 100), (50, 60, 100), (2, 50, 70, 100)),
        ((0, 100), (0, 100), (0, 100), (0, 100)),
    ):
        ins = channels(len(streams))
        out = csp.Channel("out")
        got = await par(*[gives(ch.write, vs) for ch, vs in zip(ins, streams)],
                        plug.Merge([ch.read for ch in ins], out.write), plug.Collect(out.read))
        assert got[-1] == sorted({v for vs in streams for v in vs})


# --- time


async def test_fixed_delay_passes_everything_in_order_and_not_before_its_time():
    start = now_ms()
    assert await through(lambda i, o: plug.FixedDelay(i, o, 10), range(5)) == [0, 1, 2, 3, 4]
    assert passed(start, 50)
    at_once = await through(lambda i, o: plug.FixedDelay(i, o, delay_ms=0), range(5))
    assert at_once == [0, 1, 2, 3, 4]


async def test_regulate_repeats_the_last_value_and_begins_with_none():
    a, b = channels(2)
    h = csp.Spawn(plug.Regulate(a.read, b.write, 1))
    for _ in range(3):
        assert await b.read() is None
    w = csp.Spawn(give_from(a.write, ["v"]))  # a beat may come first, and wait to be read
    while await b.read() is None:
        pass
    for _ in range(3):
        assert await b.read() == "v"
    await join(w)
    b.poison()
    await join(h)
    assert a.poisoned


async def test_regulate_drops_all_but_the_newest_value():
    a, b = channels(2)
    h = csp.Spawn(plug.Regulate(a.read, b.write, 20))
    r = csp.Spawn(until_last(b.read, 99))
    await par(give_from(a.write, range(100)))
    got = await join(r)
    assert got == sorted(got) and got[-1] == 99
    a.poison()
    await join_all([h, csp.Spawn(drains(b.read))])
    assert b.poisoned


@csp.process
async def drains(cin):
    # A beat may have come meanwhile, and waits to be read.
    async for _ in cin:
        pass


@csp.process
async def until_last(cin, last):
    got = []
    while not got or got[-1] != last:
        v = await cin()
        if v is not None:
            got.append(v)
    return got


async def test_a_reset_of_regulate_writes_at_once_and_changes_its_interval():
    a, b, reset = channels(3)
    h = csp.Spawn(plug.Regulate(a.read, b.write, 10000000, reset=reset.read))
    await a.write("v")
    await reset.write(1)
    for _ in range(5):
        assert await b.read() == "v"
    reset.poison()
    await join_all([h, csp.Spawn(drains(b.read))])
    assert a.poisoned and b.poisoned


async def test_sampler_writes_the_newest_value_once():
    a, b = channels(2)
    h = csp.Spawn(plug.Sampler(a.read, b.write, 20))
    r = csp.Spawn(until_last(b.read, 99))
    await par(give_from(a.write, range(100)))
    got = await join(r)
    assert got == sorted(set(got)) and got[-1] == 99
    # Without an input it rests: it waits for that alone, and writes nothing.
    await until(lambda: a.queue_len() == 1)
    await posted(b, collect(b.read, Log()), 1)
    await settle()
    assert b.queue_len() == 1
    a.poison()
    await join(h)
    assert b.poisoned


async def test_sampler_writes_at_the_ends_of_its_intervals_however_long_it_had_no_input():
    for _ in range(100):
        a, b = channels(2)
        start = now_ms()
        h = csp.Spawn(plug.Sampler(a.read, b.write, 20))
        await until(lambda: a.queue_len() == 1)
        if not passed(start, 5):
            break
        a.poison()
        await join(h)
    else:
        skip("no process begins at once")
    for wait, end in ((70, 80), (5, 100), (45, 160)):
        await sleep_ms(wait)
        await a.write(end)
        assert await b.read() == end
        assert passed(start, end)
    a.poison()
    await join(h)


async def test_sampler_takes_all_values_of_an_interval_before_it_writes():
    a, b = channels(2)
    h = csp.Spawn(plug.Sampler(a.read, b.write, 10000000))
    await par(give_from(a.write, range(5)))
    assert b.queue_len() == 0
    a.poison()
    await join(h)
    assert b.poisoned


def test_an_idle_sampler_does_not_hide_a_deadlock():
    a, b = channels(2)
    with raises(csp.DeadlockError) as e:
        csp.run(plug.Sampler(a.read, b.write, 1), collect(b.read, Log()))
    assert "Sampler reads c0" in str(e.value)


# --- poison: name, numbers of inputs and outputs, the process, what feeds the inputs


def count(n):
    return n


def pair(n):
    return n % 2, n


def one(n):
    return 1


CASES = (
    ("Plus", 2, 1, lambda i, o: plug.Plus(i[0], i[1], o[0]), count),
    ("Minus", 2, 1, lambda i, o: plug.Minus(i[0], i[1], o[0]), count),
    ("Times", 2, 1, lambda i, o: plug.Times(i[0], i[1], o[0]), count),
    ("Integrate", 1, 1, lambda i, o: plug.Integrate(i[0], o[0]), one),
    ("Pairs", 1, 1, lambda i, o: plug.Pairs(i[0], o[0]), count),
    ("Numbers", 0, 1, lambda i, o: plug.Numbers(o[0]), count),
    ("Squares", 0, 1, lambda i, o: plug.Squares(o[0]), count),
    ("Generate", 0, 1, lambda i, o: plug.Generate(o[0], 5), count),
    ("GenerateInts", 0, 1, lambda i, o: plug.GenerateInts(o[0]), count),
    ("Tail", 1, 1, lambda i, o: plug.Tail(i[0], o[0]), count),
    ("Filter", 1, 1, lambda i, o: plug.Filter(i[0], o[0], odd), count),
    ("Map", 1, 1, lambda i, o: plug.Map(i[0], o[0], odd), count),
    ("Fold", 1, 1, lambda i, o: plug.Fold(i[0], o[0], max, 0), count),
    ("Split", 1, 2, lambda i, o: plug.Split(i[0], o[0], o[1], odd), count),
    ("Sign", 1, 1, lambda i, o: plug.Sign(i[0], o[0], "n"), count),
    ("BlackHole", 1, 0, lambda i, o: plug.BlackHole(i[0]), count),
    ("Collect", 1, 0, lambda i, o: plug.Collect(i[0]), count),
    ("Delta", 1, 3, lambda i, o: plug.Delta(i[0], o), count),
    ("Paraplex", 3, 1, lambda i, o: plug.Paraplex(i, o[0]), count),
    ("Multiplex", 3, 1, lambda i, o: plug.Multiplex(i, o[0]), count),
    # With more inputs, one that is always ready hides the others, and their poison.
    ("Multiplex", 1, 1, lambda i, o: plug.Multiplex(i, o[0], fair=False), count),
    ("Demultiplex", 1, 2, lambda i, o: plug.Demultiplex(i[0], o), pair),
    ("Merge", 3, 1, lambda i, o: plug.Merge(i, o[0]), count),
    ("FixedDelay", 1, 1, lambda i, o: plug.FixedDelay(i[0], o[0], 1), count),
    ("Regulate", 1, 1, lambda i, o: plug.Regulate(i[0], o[0], 20), one),
    ("Regulate", 2, 1, lambda i, o: plug.Regulate(i[0], o[0], 20, i[1]), lambda n: 20),
    ("Sampler", 1, 1, lambda i, o: plug.Sampler(i[0], o[0], 1), count),
)


@csp.process
async def tells_of_two(cin, log):
    for _ in range(2):
        log.add(await cin())
    async for _ in cin:
        pass


async def test_poison_at_any_end_leaves_by_all_while_the_stream_flows():
    for name, n_in, n_out, make, value in CASES:
        for entry in range(n_in + n_out):
            ins, outs = channels(n_in), channels(n_out)
            log = Log()
            handles = [csp.Spawn(feeds(ch.write, value)) for ch in ins]
            handles += [csp.Spawn(tells_of_two(ch.read, log)) for ch in outs]
            h = csp.Spawn(make([ch.read for ch in ins], [ch.write for ch in outs]))
            await until(lambda: not outs or log.count() > 1)
            (ins + outs)[entry].poison()
            await join(h)
            await join_all(handles)
            for ch in ins + outs:
                assert ch.poisoned and idle(ch), (name, entry)


async def test_poison_at_any_input_leaves_at_once_while_nothing_else_comes():
    for name, n_in, n_out, make, value in CASES:
        for entry in range(n_in):
            ins, outs = channels(n_in), channels(n_out)
            handles = []
            for ch in outs:
                handles.append(await posted(ch, collect(ch.read, Log()), 1))
            h = csp.Spawn(make([ch.read for ch in ins], [ch.write for ch in outs]))
            await until(lambda: all(ch.queue_len() == 1 for ch in ins))
            ins[entry].poison()
            await join(h)
            await join_all(handles)
            for ch in ins + outs:
                assert ch.poisoned and idle(ch), (name, entry)


async def test_what_has_taken_some_of_its_inputs_meets_the_poison_of_the_others():
    for make in (plug.Paraplex, plug.Merge):
        for entry in range(1, 3):
            ins = channels(3)
            out = csp.Channel("out")
            h = csp.Spawn(make([ch.read for ch in ins], out.write))
            await ins[0].write(1)
            await until(lambda: ins[0].queue_len() == 0 and ins[1].queue_len() == 1)
            ins[entry].poison()
            await join(h)
            assert out.poisoned and all(ch.poisoned for ch in ins)


async def test_poison_loses_no_value_that_a_process_has_taken_and_can_still_write():
    for make in (plug.Tail, lambda i, o: plug.Map(i, o, count),
                 lambda i, o: plug.Filter(i, o, odd), lambda i, o: plug.FixedDelay(i, o, 5)):
        a, b = channels(2)
        h = csp.Spawn(make(a.read, b.write))
        await a.write(1)
        if make is plug.Tail:
            await a.write(1)
        a.poison()
        assert await b.read() == 1
        await join(h)
        assert b.poisoned


# --- bad use and failures


class Oops(Exception):
    pass


def fails(*args):
    raise Oops("on purpose")


async def test_the_failure_of_a_users_function_is_loud_and_poisons_all_ends():
    for make in (
        lambda i, o, p: plug.Map(i, o, fails),
        lambda i, o, p: plug.Filter(i, o, fails),
        lambda i, o, p: plug.Fold(i, o, fails, 0),
        lambda i, o, p: plug.Split(i, o, p, fails),
    ):
        a, b, c = channels(3)
        (w,) = await waiting_writers(a, (1,))
        (r,) = await waiting_readers(b, 1)
        with raises(Oops):
            await par(make(a.read, b.write, c.write))
        await join_all((w, r))
        assert a.poisoned and b.poisoned


async def test_bad_use_is_told_in_a_sentence():
    a, b = channels(2)
    for kind, process in (
        (ValueError, plug.Delta(a.read, [])),
        (ValueError, plug.Paraplex([], a.write)),
        (ValueError, plug.Multiplex([], a.write)),
        (ValueError, plug.Demultiplex(a.read, ())),
        (ValueError, plug.Merge([a.read], b.write)),
        (ValueError, plug.GenerateInts(a.write, step=0)),
        (ValueError, plug.Regulate(a.read, b.write, 0)),
        (ValueError, plug.Regulate(a.read, b.write, 1 << 40)),
        (ValueError, plug.Sampler(a.read, b.write, -1)),
        (TypeError, plug.Regulate(a.read, b.write, 2.5)),  # pyright: ignore
        (TypeError, plug.Sampler(a.read, b.write, "soon")),  # pyright: ignore
        (TypeError, plug.Delta(a.read, b.write)),  # pyright: ignore
        (TypeError, plug.Merge(a.read, b.write)),  # pyright: ignore
        (TypeError, plug.Demultiplex(a.read, iter([b.write]))),  # pyright: ignore
        (TypeError, plug.Delta(a.read, {b.write: 1})),  # pyright: ignore
        (TypeError, plug.Map(a.write, b.write, count)),  # pyright: ignore
        (TypeError, plug.Multiplex([a.write], b.write)),  # pyright: ignore
        (TypeError, plug.Plus(a.read, b.write)),  # pyright: ignore
    ):
        with raises(kind) as e:
            await par(process)
        assert kind is TypeError or sentence(e.value), e.value
        a, b = channels(2)


async def test_demultiplex_refuses_the_number_of_an_output_that_is_not_there():
    for i in (2, -1):
        a, b, c = channels(3)
        (w,) = await waiting_writers(a, ((i, "v"),))
        with raises(IndexError):
            await par(plug.Demultiplex(a.read, [b.write, c.write]))
        await join(w)
        assert a.poisoned and b.poisoned and c.poisoned


async def test_a_reset_that_is_no_interval_is_loud():
    for interval, error in (0, ValueError), (2.5, TypeError):
        a, b, reset = channels(3)
        (w,) = await waiting_writers(reset, (interval,))
        with raises(error) as e:
            await par(plug.Regulate(a.read, b.write, 1000000, reset.read))
        assert sentence(e.value)
        await join(w)
        assert a.poisoned and b.poisoned and reset.poisoned


# --- the classic networks


async def test_integrated_numbers_by_pairs_are_the_squares():
    a, b, c = channels(3)
    got = await par(plug.Numbers(a.write), plug.Integrate(a.read, b.write),
                    plug.Pairs(b.read, c.write), plug.Collect(c.read, 50))
    assert got[-1] == [n * n for n in range(1, 51)]
    assert got[-1] == await first(plug.Squares, 50)
    assert a.poisoned and b.poisoned and c.poisoned


async def test_numbers_of_prefix_delta_and_successor():
    a, b, c, d = channels(4)
    got = await par(plug.Prefix(c.read, a.write, 0), plug.Delta(a.read, (b.write, d.write)),
                    plug.Successor(b.read, c.write), plug.Collect(d.read, 50))
    assert got[-1] == list(range(50))


async def test_integrate_of_plus_delta_and_prefix():
    numbers, total, a, b, c = channels(5)
    got = await par(plug.GenerateInts(numbers.write, 1),
                    plug.Plus(numbers.read, a.read, b.write),
                    plug.Delta(b.read, [c.write, total.write]),
                    plug.Prefix(c.read, a.write, 0), plug.Collect(total.read, 30))
    assert got[-1] == [n * (n + 1) // 2 for n in range(1, 31)]


async def test_fibonacci():
    a, b, c, d, out = channels(5)
    got = await par(plug.Prefix(a.read, b.write, 1), plug.Prefix(b.read, c.write, 0),
                    plug.Delta2(c.read, d.write, out.write), plug.Pairs(d.read, a.write),
                    plug.Collect(out.read, 20))
    assert got[-1][:10] == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34] and got[-1][19] == 4181


async def test_hammings_numbers():
    many = [csp.BufferedChannel("by%d" % n) for n in (2, 3, 5)]
    ins = channels(3)
    a, b, out = channels(3)

    def times(i, n):
        return plug.Map(many[i].read, ins[i].write, lambda v: v * n)

    got = await par(
        plug.Prefix(a.read, b.write, 1),
        plug.Delta(b.read, [out.write] + [ch.write for ch in many]),
        times(0, 2), times(1, 3), times(2, 5),
        plug.Merge([ch.read for ch in ins], a.write),
        plug.Collect(out.read, 40))
    assert got[-1][:15] == [1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24]
    assert got[-1][39] == 144


@csp.process
async def sieves(cin, cout, primes):
    # What it takes of plugnplay here, it takes in a thread of its own.
    p = await cin()
    await primes(p)
    await par(csp.plugnplay.Filter(cin, cout, lambda v: v % p != 0))


async def test_primes_by_a_row_of_filters():
    n = 8
    chans = channels(n + 1)
    primes = csp.BufferedChannel("primes")
    got = await par(
        plug.GenerateInts(chans[0].write, 2),
        *[sieves(chans[i].read, chans[i + 1].write, primes.write) for i in range(n)],
        stops_with(chans[n].read), plug.Collect(primes.read, n))
    assert got[-1] == [2, 3, 5, 7, 11, 13, 17, 19]


@csp.process
async def stops_with(cin):
    assert await cin() == 23
    cin.poison()


@csp.process
async def cell(cin, cout):
    # Of a pump that sorts: it keeps the greatest, passes on the rest, and that at the end.
    kept = await cin()
    try:
        while True:
            v = await cin()
            if v > kept:
                kept, v = v, kept
            await cout(v)
    except csp.PoisonException:
        await cout(kept)
        raise


async def test_a_pump_that_sorts():
    values = [(i * 37) % 11 for i in range(11)]
    chans = channels(12)
    got = await par(gives(chans[0].write, values),
                    *[cell(chans[i].read, chans[i + 1].write) for i in range(11)],
                    plug.Collect(chans[11].read))
    assert got[-1] == sorted(values)


async def test_a_row_of_timed_processes_ends_with_its_source():
    a, b, c = channels(3)
    got = await par(plug.GenerateInts(a.write, stop=10), plug.FixedDelay(a.read, b.write, 1),
                    plug.Map(b.read, c.write, str), plug.Collect(c.read))
    assert got[-1] == [str(i) for i in range(10)]
