"""What a user would pick instead of this project's libraries, written as its users write it.

    asyncio_queue     asyncio alone: its Queue, and on MicroPython, which has none, a small one
    trio_channels     Trio's memory channels (CPython)
    thread_queue      threads and queue.Queue (CPython)
    go                Go's channels

Each has CommsTime (the ring of benchmarks.commstime, sequential delta) and a choice among channels
with several writers each (as benchmarks.stressed_alt). A queue of one element is the nearest that
asyncio and queue have to a rendezvous; it lets the writer go on, so it asks less of its users.
Where there is no choice, it is what one does without: one queue for all, of pairs (source, value).

`tools/peers.py` runs them beside this project's libraries.
"""

from benchmarks import harness
from benchmarks.harness import Meter, Table


def measure(bench, lib, variant, n, runs, body):
    """Prints the row of body(n, meter), which runs its network and raises nothing."""
    harness.samples = True
    meter = Meter("{} {} {}".format(bench, lib, variant), runs)
    body(n, meter)
    Table(bench, "us").row(lib, variant, n, meter)


def each_run(once):
    """A body of what runs a network once, after one to warm up."""
    def body(n, meter):
        warm = Meter("warm", 1)
        once(max(1, n // 10), warm)
        meter.fault(warm.faults)
        while meter.next():
            once(n, meter)
    return body


def compare(meter, read, written):
    """What was read, a (count, sum), is what the writers wrote, or it is a fault."""
    meter.fault(read[0] != sum([w[0] for w in written]))
    meter.fault(read[1] != sum([w[1] for w in written]))
