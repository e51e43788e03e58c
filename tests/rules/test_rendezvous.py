"""Rule 2: write returns after its value was taken; first come, first served."""

import csp

from rules_support import Log, give_from, join, par, posted, settle, until, waiting_readers


async def test_write_returns_only_after_its_value_was_taken():
    ch = csp.Channel("c")
    log = Log()
    h = await posted(ch, give_from(ch.write, (1, 2), log, "w"), 1)
    await settle()
    assert log.items() == [] and not h.done()
    assert await ch.read() == 1
    await until(lambda: ch.queue_len() == 1)
    await settle()
    assert log.items() == [("w", 1)] and not h.done()
    assert await ch.read() == 2
    await join(h)
    assert log.items() == [("w", 1), ("w", 2)]


async def test_write_returns_zero_whether_it_waited_or_not():
    ch = csp.Channel("c")
    (h,) = await waiting_readers(ch, 1)
    assert await ch.write("x") == 0
    assert await join(h) == "x"
    res = await par(write_one(ch.write), read_later(ch))
    assert res == [0, "y"]


@csp.process
async def write_one(cout):
    return await cout("y")


@csp.process
async def read_later(ch):
    await until(lambda: ch.queue_len() == 1)
    return await ch.read()


async def test_one_writer_and_one_reader_keep_the_order():
    ch = csp.Channel("c")
    log = Log()
    await par(give_from(ch.write, range(500)), take_n(ch.read, 500, log))
    assert log.items() == list(range(500))


@csp.process
async def take_n(cin, n, log):
    for _ in range(n):
        log.add(await cin())


async def test_each_writer_keeps_its_own_order_among_others():
    ch = csp.Channel("c")
    log = Log()
    await par(
        give_from(ch.write, [("a", i) for i in range(100)]),
        give_from(ch.write, [("b", i) for i in range(100)]),
        give_from(ch.write, [("c", i) for i in range(100)]),
        take_n(ch.read, 300, log),
    )
    for name in "abc":
        assert [i for n, i in log.items() if n == name] == list(range(100))


async def test_each_reader_sees_values_in_order_and_none_twice():
    ch = csp.Channel("c")
    logs = [Log(), Log(), Log()]
    await par(
        give_from(ch.write, range(300)),
        take_n(ch.read, 100, logs[0]),
        take_n(ch.read, 100, logs[1]),
        take_n(ch.read, 100, logs[2]),
    )
    together = []
    for log in logs:
        assert log.items() == sorted(log.items())
        together.extend(log.items())
    assert sorted(together) == list(range(300))
