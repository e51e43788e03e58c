"""Rule 6, further: where a fair choice goes on, and timers that are due at the same time."""

import csp

from rules_support import Log, give, join, join_all, posted, raises, until


@csp.process
async def selects(alt):
    return await alt.fair_select()


async def test_a_fair_select_that_waited_goes_on_behind_the_guard_it_waited_for():
    channels = [csp.Channel(name) for name in "abc"]
    alt = csp.Alternative(*[ch.read for ch in channels])
    for waited in (2, 0, 1, 2):
        h = await posted(channels[waited], selects(alt), 1)
        await channels[waited].write("waited for")
        g, v = await join(h)
        assert g is channels[waited].read and v == "waited for"

        writers = []
        for i in range(3):
            writers.append(await posted(channels[i], give(channels[i].write, i), 1))
        for i in range(1, 4):
            assert (await alt.fair_select())[1] == (waited + i) % 3
        assert await join_all(writers) == [0, 0, 0]


async def test_of_timers_that_are_due_at_the_same_time_the_first_is_chosen():
    ch = csp.Channel("c")
    for timers in (
        [csp.Timer(ms=3), csp.Timer(ms=3), csp.Timer(ms=3)],
        [csp.Timer(ms=3), csp.Timer(ms=90000), csp.Timer(ms=3)],
    ):
        for _ in range(2):
            g, v = await csp.Alternative(ch.read, *timers).select()
            assert g is timers[0] and v is None
    assert ch.queue_len() == 0


class Oops(Exception):
    pass


@csp.process
async def fails(tag):
    raise Oops(tag)


def orders(n):
    if not n:
        return [[]]
    return [order[:i] + [n - 1] + order[i:] for order in orders(n - 1) for i in range(n)]


@csp.process
async def fails_and_asks(asked, log):
    handles = []
    for i in range(4):
        if i == 3:
            for j in asked:
                try:
                    await join(handles[j])
                except Oops as er:
                    log.add(er.args[0])
        handles.append(csp.Spawn(fails(i)))
        await until(handles[i].done)


def test_whichever_failures_were_asked_for_the_first_of_the_others_is_raised():
    # Two or all of three are asked for, in each order, before another fails.
    for order in orders(3):
        for asked, first in ((order[:2], order[2]), (order, 3)):
            log = Log()
            with raises(Oops) as e:
                csp.run(fails_and_asks(asked, log))
            assert e.value.args == (first,)
            assert log.items() == asked
