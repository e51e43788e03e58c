"""Networks that do wrong when memory ends, for the checks of exhaust.py to find."""

import csp

from fault_networks import takes


@csp.process
async def sends_again(cout):
    for v in (1, 2):
        try:
            await cout(v)
            [v] * 20
        except MemoryError:
            await cout(v)
    cout.poison()


def doubles(log):
    a = csp.Channel("a")
    return [sends_again(a.write), takes(a.read, log)], [a], [1, 2], None


@csp.process
async def waits_for_ever(external):
    try:
        [external] * 20
    except MemoryError:
        await external.read()


def hangs(log):
    return [waits_for_ever(csp.Channel("a", external=True))], [], [], None


@csp.process
async def swallows():
    try:
        [None] * 20
    except MemoryError:
        Hoard.kept.append(bytearray(20000))


class Hoard:
    kept = []


def hoards(log):
    return [swallows()], [], [], None


ALL = [doubles, hangs, hoards]
