"""Networks that never end by themselves: functions that return (processes, channels)."""

import csp

from rules_support import block_ms, par

stays = [True]  # as long as this is so `deaf` does not end
begins = [None]  # what it calls when it has begun


@csp.process
async def counts(cout):
    n = 0
    while True:
        await cout(n)
        n += 1


@csp.process
async def copies(cin, cout):
    while True:
        await cout(await cin())


@csp.process
async def reads(cin):
    while True:
        await cin()


@csp.process
async def hears_others(cin):
    try:
        await csp.Alternative(csp.Guard(), cin).select()
    except GeneratorExit:
        print("a process was dropped, not ended")
        raise


def guarded():
    # Nobody but another thread can go on with it.
    a = csp.Channel("a")
    return [hears_others(a.read), hears_others(a.read)], [a]


def busy():
    a, b = csp.Channel("a"), csp.Channel("b")
    return [counts(a.write), copies(a.read, b.write), reads(b.read)], [a, b]


def buffered():
    a, b = csp.BufferedChannel("a", 3), csp.BufferedChannel("b", 1)
    return [counts(a.write), copies(a.read, b.write), reads(b.read)], [a, b]


def idle():
    # All wait for something that may come from outside.
    a, b = csp.Channel("a", external=True), csp.BufferedChannel("b", 1, external=True)
    return [reads(a.read), reads(b.read), reads(a.read), selects(a.read, b.read)], [a, b]


@csp.process
async def selects(cin1, cin2):
    alt = csp.Alternative(cin1, cin2, csp.Timer(ms=1))
    while True:
        await alt.fair_select()


@csp.process
async def offers(cout1, cout2):
    while True:
        await csp.Alternative(cout1.alt_pending_write(1), cout2.alt_pending_write(2)).select()


def choices():
    a, b = csp.Channel("a"), csp.Channel("b")
    return [selects(a.read, b.read), offers(a.write, b.write), counts(a.write)], [a, b]


@csp.process
async def returns():
    pass


@csp.process
async def starts(cout):
    # Starts networks all the time.
    while True:
        await par(returns(), csp.Sequence(returns(), returns()))
        await par(cout.alt_pending_write(1), cout.alt_pending_write(2))


def nests():
    a = csp.Channel("a")
    return [starts(a.write), reads(a.read), reads(a.read)], [a]


@csp.process
async def computes(cin, cout):
    while True:
        n = 0
        for i in range(3000):
            n += i
        await cout(n)
        await cin()


def computing():
    a, b = csp.Channel("a"), csp.Channel("b")
    return [computes(a.read, b.write), copies(b.read, a.write)], [a, b]


def waiting():
    a, b = csp.Channel("a", external=True), csp.BufferedChannel("b", 1, external=True)
    return [reads(a.read), reads(b.read), reads(a.read)], [a, b]


@csp.process
async def dozes(cin):
    await csp.Alternative(cin, csp.Timer(3600)).select()


def dozing():
    # No timer is waited for.
    a, b = csp.Channel("a", external=True), csp.BufferedChannel("b", 1, external=True)
    return [dozes(a.read), reads(b.read), dozes(b.read)], [a, b]


@csp.process
async def hears_nothing():
    begins[0]()
    while stays[0]:
        block_ms(1)


def deaf():
    # For threads: one of them meets no poison.
    a = csp.Channel("a", external=True)
    return [hears_nothing(), reads(a.read)], [a]
