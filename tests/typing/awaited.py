"""What pyright must make of uapycsp's types: read by `make types`, never run.

A line with a comment `# pyright: ignore` is an error that has to be found.
"""

from typing import Any

from typing_extensions import assert_type

from uapycsp import Alternative, BufferedChannel, Channel, Parallel, Sequence, Spawn
from uapycsp import Closed, Every, Guard, Skip, Timer, process, run
from uapycsp.adapters import Samples
from uapycsp.bridge import Bridge
from uapycsp.channel import ReadEnd, WriteEnd
from uapycsp.meeting import AltingBarrier, CallChannel
from uapycsp.plugnplay import Collect, Map, Numbers
from uapycsp.pool import Farm, pmap
from uapycsp.virtual import VirtualClock


@process
async def count(cout: "WriteEnd[int]", n: int):
    for i in range(n):
        await cout(i)
        await cout("one")  # pyright: ignore[reportArgumentType]


@process
async def total(cin: "ReadEnd[int]", *, start: int = 0) -> int:
    async for v in cin:
        assert_type(v, int)
        start += v
    return start


@process(verbose_poison=True)
async def silent(cin: ReadEnd[str]):
    assert_type(await cin(), str)


class Button(Guard):
    def enable(self, alt):
        return False, None


async def choose(numbers: ReadEnd[int], words: "ReadEnd[str]", out: WriteEnd[int]):
    g, v = await Alternative(numbers).select()
    assert_type(v, int)
    g, v = await Alternative(numbers, out.alt_pending_write(1)).fair_select()
    assert_type(v, int)
    g, v = await Alternative(numbers, words, Timer(ms=5), Skip()).select()
    assert_type(v, int | str | None)
    async with Alternative(Button(), numbers) as (g, v):
        v.anything()
    Alternative(numbers, 5)  # pyright: ignore[reportArgumentType, reportCallIssue]
    Alternative(out)  # pyright: ignore[reportArgumentType, reportCallIssue]
    out.alt_pending_write(None)  # pyright: ignore[reportArgumentType]


async def compose(ch: Channel[int], silence: Channel[str]):
    assert_type(await Parallel(ch.read(), ch.read), list[int])
    results = await Parallel(count(ch.write, 3), total(ch.read))
    assert_type(results, list[Any | None])
    await Sequence(silent(silence.read), ch.write(1))
    h = Spawn(total(ch.read, start=1))
    (await h.join()).bit_length()
    h.cancel()
    count(ch.read, 3)  # pyright: ignore[reportArgumentType]
    count(ch.write)  # pyright: ignore[reportCallIssue]
    total(silence.read)  # pyright: ignore[reportArgumentType]
    silence.write(1)  # pyright: ignore[reportArgumentType]


def add(x: int, y: int) -> int:
    return x + y


async def spell(n: int) -> str:
    return str(n)


async def meet(numbers: ReadEnd[int], words: WriteEnd[str]):
    sums: CallChannel[[int, int], int] = CallChannel("sums")
    assert_type(await sums.call(1, 2), int)
    await sums.call("one", 2)  # pyright: ignore[reportArgumentType]
    await sums.serve(add)
    await sums.serve(spell)  # pyright: ignore[reportArgumentType]
    Farm(spell, 3)(numbers, words)
    Farm(spell, 3)(numbers, numbers)  # pyright: ignore[reportArgumentType]
    Farm(add, 3, retries=1, setup=lambda: 7)(numbers, words)  # pyright: ignore[reportArgumentType]
    Farm(add, 3, setup=lambda: "seven")  # pyright: ignore[reportCallIssue, reportArgumentType]
    assert_type(await pmap(spell, [1, 2], 2), list[str])
    barrier = AltingBarrier.create(2)[0]
    g, v = await Alternative(numbers, barrier, Every(100)).select(ready=(1, 1, 0))
    assert_type(v, int)
    g, v = await Alternative(Closed(words), numbers).select(ready=[True, False])
    assert_type(v, int | None)
    assert_type(await numbers.within(10), int)
    async with numbers.extended() as held:
        assert_type(held, int)
    with numbers.join() as counted:
        assert_type(await counted(), int)
    Samples(lambda: 1, words, 10)  # pyright: ignore[reportArgumentType]


def across(bridge: Bridge[int]):
    assert_type(bridge.threads.read(), int)
    bridge.threads.write(None)  # pyright: ignore[reportArgumentType]
    bridge.from_isr("level")  # pyright: ignore[reportArgumentType]


def main():
    run(spell(1), clock=VirtualClock())
    run(spell(1), clock=5)  # pyright: ignore[reportArgumentType, reportCallIssue]
    ch = Channel("numbers")  # type: Channel[int]
    kept: BufferedChannel[int] = BufferedChannel("kept", 5)
    assert_type(ch.read, ReadEnd[int])
    assert_type(kept.capacity, int | None)
    words: Channel[str] = Channel()
    network = Numbers(ch.write), Map(ch.read, words.write, str), Collect(words.read, 3)
    assert_type(run(*network), list[Any])
    assert_type(run(network[2]), list[str])
    assert_type(run(compose(ch, words)), None)
    run(total)  # pyright: ignore[reportArgumentType, reportCallIssue]
