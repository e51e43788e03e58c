"""As awaited.py, of plain upycsp's types."""

from typing import Any

from typing_extensions import assert_type

from upycsp import Alternative, BufferedChannel, Channel, Parallel, Sequence, Spawn
from upycsp import Skip, Timer, process, run
from upycsp.channel import ReadEnd, WriteEnd
from upycsp.plugnplay import Collect, Map, Numbers
from upycsp.virtual import VirtualClock


@process
def count(cout: "WriteEnd[int]", n: int):
    for i in range(n):
        cout(i)
        cout("one")  # pyright: ignore[reportArgumentType]


@process
def total(cin: "ReadEnd[int]", *, start: int = 0) -> int:
    for v in cin:
        assert_type(v, int)
        start += v
    return start


@process(propagate=False)
def silent(cin: ReadEnd[str]):
    assert_type(cin(), str)


def choose(numbers: ReadEnd[int], words: "ReadEnd[str]", out: WriteEnd[int]):
    g, v = Alternative(numbers, out.alt_pending_write(1)).fair_select()
    assert_type(v, int)
    g, v = Alternative(numbers, words, Timer(0.5), Skip()).select()
    assert_type(v, int | str | None)
    with Alternative(words) as (g, v):
        assert_type(v, str)
    Alternative(out)  # pyright: ignore[reportArgumentType, reportCallIssue]
    out.alt_pending_write(None)  # pyright: ignore[reportArgumentType]


def compose(ch: Channel[int], silence: Channel[str]):
    assert_type(Parallel(ch.read, ch.write.alt_pending_write(5)).run().retval, list[int])
    Sequence(silent(silence.read), count(ch.write, 1)).run()
    h = Spawn(total(ch.read, start=1))
    h.join().bit_length()
    h.cancel()  # pyright: ignore[reportAttributeAccessIssue]
    Parallel(ch.read())  # pyright: ignore[reportArgumentType, reportCallIssue]
    count(ch.read, 3)  # pyright: ignore[reportArgumentType]
    total(silence.read)  # pyright: ignore[reportArgumentType]
    silence.write(1)  # pyright: ignore[reportArgumentType]


def main():
    ch = Channel("numbers")  # type: Channel[int]
    kept: BufferedChannel[int] = BufferedChannel("kept", 5)
    assert_type(kept.read(), int)
    words: Channel[str] = Channel()
    network = Numbers(ch.write), Map(ch.read, words.write, str), Collect(words.read, 3)
    assert_type(run(*network), list[Any])
    assert_type(run(network[2], clock=VirtualClock()), list[str])
    run(network[2], clock=5)  # pyright: ignore[reportArgumentType, reportCallIssue]
    assert_type(network[2].run().retval, list[str])
    run(total)  # pyright: ignore[reportArgumentType, reportCallIssue]
