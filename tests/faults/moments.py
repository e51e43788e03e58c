"""CPython: SIGINT at each moment of a uapycsp `run` where its own handler, or asyncio's, stands.

    moments.py STEP PATH..     at each STEP-th moment: where a line begins, a call comes or ends

Elsewhere Python's own handler raises where it stands. Prints how many moments there were.
"""

import os
import signal
import sys

STEP = int(sys.argv[1])
sys.path[:1] = sys.argv[2:]

from uapycsp import BufferedChannel, Channel, Parallel, process, run  # noqa: E402


@process
async def writes(cout):
    for i in range(2):
        await cout(i)
    cout.poison()


@process
async def relays(cin, cout):
    while True:
        await cout(await cin())


@process
async def reads(cin, seen):
    async for v in cin:
        seen.append(v)


async def network(seen):
    a, b = Channel("a"), BufferedChannel("b", 1)
    await Parallel(writes(a.write), relays(a.read, b.write), reads(b.read, seen))


class At:
    """Sends SIGINT at the k-th moment."""

    def __init__(self, k):
        self.k = k
        self.n = 0
        self.where = None

    def __call__(self, frame, event, arg):
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            self.n += 1
            if self.n == self.k:
                self.where = "{}:{} {}".format(frame.f_code.co_filename, frame.f_lineno, event)
                sys.settrace(None)  # what comes then goes on at full speed
                os.kill(os.getpid(), signal.SIGINT)
        return self


def interrupted_at(k):
    """Whether the run had a k-th moment. AssertionError if it did not come out of run."""
    at = At(k)
    came = None
    sys.settrace(at)
    try:
        run(network([]))
    except BaseException as er:
        came = er
    finally:
        sys.settrace(None)
    if at.where is None:
        assert came is None, repr(came)
        return False
    assert isinstance(came, KeyboardInterrupt), "{} at moment {}, {}".format(came, k, at.where)
    return True


k = 1
while interrupted_at(k):
    seen = []
    run(network(seen))
    assert seen == [0, 1], (k, seen)
    k += STEP
print("MOMENTS", k)
