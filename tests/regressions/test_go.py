"""What Go's own tests of channels and select look for, asked of these libraries.

Each test is named after Go's. A closed channel of Go's gives zeros for ever; here it raises
PoisonException, once it is drained. Go's `default` is Skip; a `nil` channel is a guard left out.
"""

import csp

from rules_support import (
    MICROPYTHON,
    Log,
    give,
    idle,
    join,
    join_all,
    par,
    posted,
    take,
    until,
)

HEAP = "8M"  # lists of thousands beside what other tests have left

TIMES = 3 if MICROPYTHON else 1  # its threads run at the same time, and it is faster


@csp.process
async def select_once(*guards):
    return await csp.Alternative(*guards).select()


# TestSelfSelect: two that offer to send and to receive on one channel meet each other only.


async def test_self_select():
    for capacity in (None, 10):
        ch = csp.Channel("c") if capacity is None else csp.BufferedChannel("c", capacity)
        meet = capacity is None
        res = await par(self_selects(ch, 0, meet), self_selects(ch, 1, meet))
        sent, got = res[0][0] + res[1][0], res[0][1] + res[1][1]
        assert sent + got == 400
        assert sent - got == ch.queue_len() and (sent == got or capacity)
        ch.verify()


@csp.process
async def self_selects(ch, me, rendezvous):
    sent = got = 0
    guard = ch.write.alt_pending_write(me)
    one = csp.Alternative(guard, ch.read)
    other = csp.Alternative(ch.read, guard)
    for i in range(200):
        g, v = await (one if me == 0 or i % 2 else other).select()
        if g is guard:
            sent += 1
        else:
            got += 1
            assert v != me or not rendezvous
    return sent, got


# TestNonblockSelectRace: of two channels at least one is ready at each moment, so a select with a
# default that looks at both while they change must find one.


async def test_nonblock_select_race():
    missed = 0
    for i in range(150 * TIMES):
        a, b = csp.BufferedChannel("a", 1), csp.BufferedChannel("b", 1)
        await a.write(1)
        h = csp.Spawn(finds_one_ready(a.read, b.read))
        await b.write(1)
        await csp.Alternative(a.read, csp.Skip()).select()
        missed += not await join(h)
    assert missed == 0


@csp.process
async def finds_one_ready(one, other):
    try:
        g, v = await csp.Alternative(one, other, csp.Skip()).select()
    except csp.PoisonException:
        return True
    return g is one or g is other


async def test_nonblock_select_race_with_close():
    """TestNonblockSelectRace2: the second becomes ready by being closed."""
    missed = 0
    for i in range(150 * TIMES):
        a, b = csp.BufferedChannel("a", 1), csp.Channel("b")
        await a.write(1)
        h = csp.Spawn(finds_one_ready(a.read, b.read))
        b.close()
        await csp.Alternative(a.read, csp.Skip()).select()
        missed += not await join(h)
    assert missed == 0


# TestSelectStress: plain senders and receivers and one of each by select, on channels of four
# capacities, all at once.


async def test_select_stress():
    n = 60 * TIMES
    chans = [csp.Channel("a"), csp.BufferedChannel("b", 0)]
    chans += [csp.BufferedChannel("c", 2), csp.BufferedChannel("d", 3)]
    logs = [Log() for _ in range(4)]
    parties = []
    for k in range(4):
        parties.append(sends(chans[k].write, n))
        parties.append(receives(chans[k].read, n, logs[k]))
    parties.append(sends_by_select(chans, n))
    parties.append(receives_by_select(chans, n, logs))
    await par(*parties)
    for k in range(4):
        for tag in ("plain", "select"):
            assert sorted(i for t, i in logs[k].items() if t == tag) == list(range(n))
    assert idle(*chans)


@csp.process
async def sends(cout, n):
    for i in range(n):
        await cout(("plain", i))


@csp.process
async def receives(cin, n, log):
    for i in range(n):
        log.add(await cin())


@csp.process
async def sends_by_select(chans, n):
    done = [0] * 4
    for _ in range(4 * n):
        guards = []
        for k in range(4):
            if done[k] < n:
                guards.append(chans[k].write.alt_pending_write(("select", done[k])))
        g, _ = await csp.Alternative(*guards).fair_select()
        done[chans.index(g.channel)] += 1


@csp.process
async def receives_by_select(chans, n, logs):
    done = [0] * 4
    for _ in range(4 * n):
        reads = [chans[k].read for k in range(4) if done[k] < n]
        g, v = await csp.Alternative(*reads).fair_select()
        k = chans.index(g.channel())
        logs[k].add(v)
        done[k] += 1


# TestSelectFairness: two that are always ready are chosen equally often, beside others that never
# are. Go's choice is by chance; fair_select promises more.


async def test_select_fairness():
    n = 150
    a, b = csp.BufferedChannel("a"), csp.BufferedChannel("b")
    for _ in range(n):
        await a.write("a")
        await b.write("b")
    out = csp.BufferedChannel("out")
    guard = out.write.alt_pending_write("out")
    never, end = csp.Channel("never"), csp.Channel("end")
    alt = csp.Alternative(a.read, never.read, b.read, end.read, guard)
    chosen = []
    for _ in range(3 * n):
        g, _ = await alt.fair_select()
        chosen.append(g)
    for i in range(0, 3 * n, 3):
        assert chosen[i : i + 3] == [a.read, b.read, guard]
    assert idle(a, b, never, end) and out.queue_len() == n


# TestMultiConsumer: many workers share one queue and one result channel; nothing is lost.


async def test_multi_consumer():
    primes = (2, 3, 7, 11, 13, 17, 19, 23, 27, 31)
    n, workers = 300 * TIMES, 11
    q, r = csp.BufferedChannel("q", 3 * workers), csp.BufferedChannel("r", 3 * workers)
    ended = Log()
    parties = [feeds(q, [primes[i % 10] for i in range(n)])]
    parties += [works(q.read, r, ended, workers) for _ in range(workers)]
    res = await par(adds_up(r.read), *parties)
    assert res[0] == (n, sum(primes[i % 10] for i in range(n)))
    assert idle(q, r)


@csp.process
async def feeds(q, values):
    for v in values:
        await q.write(v)
    q.close()


@csp.process
async def works(cin, r, ended, of):
    async for v in cin:
        await r.write(v)
    ended.add(1)
    if ended.count() == of:
        r.close()


@csp.process
async def adds_up(cin):
    n = total = 0
    async for v in cin:
        n += 1
        total += v
    return n, total


# TestSelectDuplicateChannel: a select that names a channel twice, and ends by another one, must
# take both of its places out of the first one's queue, or it is woken instead of the next there.


async def test_select_duplicate_channel():
    for rounds in range(20):
        c, d = csp.Channel("c"), csp.Channel("d")
        one = await posted(c, select_once(c.read, c.read, d.read), 2)
        two = await posted(c, take(c.read), 3)
        await d.write(7)
        assert await join(one) == (d.read, 7)
        assert c.queue_len() == 1
        await c.write(8)
        assert await join(two) == 8
        assert idle(c, d)


async def test_select_duplicate_channel_for_writing():
    for rounds in range(20):
        c, d = csp.Channel("c"), csp.Channel("d")
        first, second = c.write.alt_pending_write(1), c.write.alt_pending_write(2)
        one = await posted(c, select_once(first, second, first, d.read), 3)
        two = await posted(c, give(c.write, 3), 4)
        await d.write(7)
        assert await join(one) == (d.read, 7)
        assert c.queue_len() == 1
        assert await c.read() == 3
        assert await join(two) == 0
        assert idle(c, d)


# doubleselect: a value that one select sent must not be sent by another of its cases as well.


async def test_double_select():
    n = 250 * TIMES
    chans = [csp.Channel("c%d" % i) for i in range(4)]
    out = csp.Channel("out")
    ended = Log()
    parties = [sends_each_once(chans, n)]
    parties += [copies(ch.read, out, ended, 4) for ch in chans]
    res = await par(all_once(out.read), *parties)
    assert res[0] == n
    assert idle(out, *chans)


@csp.process
async def sends_each_once(chans, n):
    for i in range(n):
        await csp.Alternative(*[ch.write.alt_pending_write(i) for ch in chans]).fair_select()
    for ch in chans:
        ch.close()


@csp.process
async def copies(cin, out, ended, of):
    async for v in cin:
        await out.write(v)
    ended.add(1)
    if ended.count() == of:
        out.close()


@csp.process
async def all_once(cin):
    seen = set()
    async for v in cin:
        assert v not in seen
        seen.add(v)
    return len(seen)


# sieve: a pipeline that grows by a filter for each prime.


async def test_sieve():
    log = Log()
    await par(sieve(log, 18))
    assert log.items() == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61]


@csp.process
async def sieve(log, n):
    ch = csp.Channel("numbers")
    chans = [ch]
    handles = [csp.Spawn(numbers(ch.write))]
    for _ in range(n):
        prime = await ch.read()
        log.add(prime)
        following = csp.Channel("without %d" % prime)
        handles.append(csp.Spawn(without(prime, ch.read, following.write)))
        chans.append(following)
        ch = following
    # Poison at the last end goes back through all the filters.
    ch.poison()
    await join_all(handles)
    for ch in chans:
        assert ch.poisoned and ch.queue_len() == 0


@csp.process
async def numbers(cout):
    i = 2
    while True:
        await cout(i)
        i += 1


@csp.process
async def without(prime, cin, cout):
    while True:
        v = await cin()
        if v % prime:
            await cout(v)


# powser: power series as processes which compute a coefficient when one is asked for. A series is
# a pair of channels, for requests and coefficients; all arithmetic is rational.


class Series:
    """A series that its consumer asks for coefficients; `handles` are all the processes."""

    def __init__(self, handles):
        self.handles = handles
        self.ask = csp.Channel("ask")
        self.coefficient = csp.Channel("coefficient")

    def inner(self):
        """For the process that consumes it: how to ask, and what comes."""
        return self.ask.write, self.coefficient.read

    def outer(self):
        """For the process that produces it: requests, and where the coefficient goes."""
        return self.ask.read, self.coefficient.write

    def start(self, p):
        self.handles.append(csp.Spawn(p))
        return self


async def get(u):
    await u.ask.write(1)
    return await u.coefficient.read()


def plus(a, b):
    return reduced(a[0] * b[1] + b[0] * a[1], a[1] * b[1])


def times(a, b):
    return reduced(a[0] * b[0], a[1] * b[1])


def reduced(n, d):
    a, b = abs(n), d
    while b:
        a, b = b, a % b
    return n // a, d // a


def constant(handles, c):
    u = Series(handles)
    return u.start(_constant(*(u.outer() + (c,))))


@csp.process
async def _constant(asked, cout, c):
    while True:
        await asked()
        await cout(c)


def added(handles, u, v):
    w = Series(handles)
    return w.start(_added(*(w.outer() + u.inner() + v.inner())))


@csp.process
async def _added(asked, cout, ask_u, u, ask_v, v):
    while True:
        await asked()
        # Both are asked at the same time.
        await par(ask_u.alt_pending_write(1), ask_v.alt_pending_write(1))
        a, b = await par(u, v)
        await cout(plus(a, b))


def scaled(handles, c, u):
    w = Series(handles)
    return w.start(_scaled(*(w.outer() + u.inner() + (c,))))


@csp.process
async def _scaled(asked, cout, ask_u, u, c):
    while True:
        await asked()
        await ask_u(1)
        await cout(times(c, await u()))


def shifted(handles, u):
    """x times u."""
    w = Series(handles)
    return w.start(_shifted(*(w.outer() + u.inner())))


@csp.process
async def _shifted(asked, cout, ask_u, u):
    await asked()
    await cout((0, 1))
    while True:
        await asked()
        await ask_u(1)
        await cout(await u())


def split(handles, u):
    """The same series twice; either may be ahead."""
    one, two = Series(handles), Series(handles)
    one.start(_split(*(one.outer() + two.outer() + u.inner())))
    return one, two


@csp.process
async def _split(asked_one, one, asked_two, two, ask_u, u):
    asked, outs = (asked_one, asked_two), (one, two)
    ahead, waits = [[], []], [False, False]
    while True:
        # A series may be computed from its own earlier coefficients: they are to be had meanwhile.
        guards = [asked[k] for k in (0, 1) if not waits[k]]
        if len(guards) < 2:
            guards.append(u)
        g, v = await csp.Alternative(*guards).fair_select()
        if g is u:
            for k in (0, 1):
                if waits[k]:
                    await outs[k](v)
                else:
                    ahead[k].append(v)
            waits = [False, False]
            continue
        k = 0 if g is asked_one else 1
        if ahead[k]:
            await outs[k](ahead[k].pop(0))
        else:
            waits[k] = True
            if not waits[1 - k]:
                await ask_u(1)


def multiplied(handles, u, v):
    w = Series(handles)
    return w.start(_multiplied(w, u, v, handles))


@csp.process
async def _multiplied(w, u, v, handles):
    # (a + xU)(b + xV) = ab + x(aV + bU + x(UV))
    asked, cout = w.outer()
    parts = [u, v]
    try:
        await asked()
        a, b = await get(u), await get(v)
        await cout(times(a, b))
        await asked()
        u1, u2 = split(handles, u)
        v1, v2 = split(handles, v)
        linear = added(handles, scaled(handles, a, v1), scaled(handles, b, u1))
        rest = added(handles, linear, shifted(handles, multiplied(handles, u2, v2)))
        parts = [rest]
        while True:
            await cout(await get(rest))
            await asked()
    except csp.PoisonException:
        end(w)
        for p in parts:
            end(p)


def end(u):
    u.ask.poison()
    u.coefficient.poison()


def differentiated(handles, u):
    w = Series(handles)
    return w.start(_differentiated(*(w.outer() + u.inner())))


@csp.process
async def _differentiated(asked, cout, ask_u, u):
    await asked()
    await ask_u(1)
    await u()
    n = 1
    while True:
        await ask_u(1)
        await cout(times((n, 1), await u()))
        n += 1
        await asked()


def integrated(handles, u, c):
    w = Series(handles)
    return w.start(_integrated(*(w.outer() + u.inner() + (c,))))


@csp.process
async def _integrated(asked, cout, ask_u, u, c):
    await asked()
    await cout(c)
    n = 1
    while True:
        await asked()
        await ask_u(1)
        await cout(times((1, n), await u()))
        n += 1


def exponential(handles, u):
    """exp(u) for a u without a constant: the solution of w = 1 + integral of w u'."""
    w = Series(handles)
    back, out = split(handles, w)
    product = multiplied(handles, back, differentiated(handles, u))
    w.start(_copied(*(w.outer() + integrated(handles, product, (1, 1)).inner())))
    return out


@csp.process
async def _copied(asked, cout, ask_u, u):
    while True:
        await asked()
        await ask_u(1)
        await cout(await u())


@csp.process
async def first_of(make, n):
    """The first n coefficients; then all processes of the series end by poison."""
    handles = []
    u = make(handles)
    got = []
    for _ in range(n):
        got.append(await get(u))
    end(u)
    await until(lambda: all(h.done() for h in handles))
    await join_all(handles)
    return got, len(handles)


def whole(*numbers):
    return [(n, 1) for n in numbers]


async def coefficients(make, n):
    ((got, processes),) = await par(first_of(make, n))
    return got, processes


ONE = (1, 1)


async def test_powser_of_sums_and_shifts():
    got, _ = await coefficients(lambda hs: added(hs, constant(hs, ONE), constant(hs, ONE)), 10)
    assert got == whole(*[2] * 10)
    got, _ = await coefficients(
        lambda hs: added(hs, constant(hs, ONE), shifted(hs, constant(hs, (-1, 2)))), 4
    )
    assert got == [(1, 1), (1, 2), (1, 2), (1, 2)]
    got, _ = await coefficients(lambda hs: integrated(hs, constant(hs, ONE), (0, 1)), 5)
    assert got == [(0, 1), (1, 1), (1, 2), (1, 3), (1, 4)]


async def test_powser_of_products():
    def square(handles):
        return multiplied(handles, constant(handles, ONE), constant(handles, ONE))

    got, processes = await coefficients(square, 6)
    assert got == whole(1, 2, 3, 4, 5, 6)
    assert processes > 20, processes
    got, _ = await coefficients(lambda hs: differentiated(hs, square(hs)), 4)
    assert got == whole(2, 6, 12, 20)


async def test_powser_of_an_exponential_that_feeds_on_itself():
    # exp(x/(1-x)): the series of its own solution is split and multiplied again.
    got, _ = await coefficients(lambda hs: exponential(hs, shifted(hs, constant(hs, ONE))), 5)
    assert got == [(1, 1), (1, 1), (3, 2), (13, 6), (73, 24)]
