"""uapycsp in a heap like that of a small board."""

import gc

from uapycsp import Alternative, Channel, Timer, process, run

INTERPRETERS = ("micropython",)
HEAP = "222K"


@process
async def _waits(cin):
    return await cin()


@process
async def _pays(ch, n):
    while ch.queue_len() < n and not ch.poisoned:  # one that has died poisons it
        await Alternative(Timer(ms=1)).select()
    for i in range(n):
        await ch.write(i)


def test_two_hundred_processes_wait_on_one_channel():
    for _ in range(3):
        gc.collect()
        ch = Channel("c")
        got = run(*[_waits(ch.read) for _ in range(200)] + [_pays(ch, 200)])
        assert got == list(range(200)) + [None]
