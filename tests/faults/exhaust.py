"""Runs each network of fault_networks with each of its allocations failing: test_exhaustion.py.

    scarce.py exhaust.py LIBRARY STEP NETWORK,.. MOST,.. FIRST PATH.. ADDRESS

Every STEP-th allocation from FIRST on fails, and as many in a row as MOST says; NETWORK may be
"all". Says which, and SWEPT when there are no more. What is made once, by whatever fails first, is
there after the first sweep of a network: the next ones leave less behind.

Where threads find no memory, too, MicroPython's one exception for all of them may say anything.
"""

import gc
import micropython
import struct
import sys

import uctypes

LIBRARY, STEP, NAMES, MOST, FIRST = sys.argv[1:6]
CONTROL = uctypes.bytearray_at(int(sys.argv[-1]), 24)
sys.path[:1] = sys.argv[6:-1]
__import__(LIBRARY)
csp = sys.modules["csp"] = sys.modules[LIBRARY]

import broken  # noqa: E402
import fault_networks as networks  # noqa: E402
import fault_residue as residue  # noqa: E402
import serving  # noqa: E402

_AGAIN = 2048  # bytes that hundreds of failures may leave behind after as many others
_FAILS = b"\0\0\0\0\0\0\0\0"


def without_memory():
    """MicroPython's one exception for all that find no memory."""
    micropython.heap_lock()
    error = MemoryError()
    micropython.heap_unlock()
    return error


_shared = without_memory()


def arm(k, most):
    struct.pack_into("<q", CONTROL, 0, k)
    struct.pack_into("<q", CONTROL, 16, 0)
    struct.pack_into("<q", CONTROL, 8, most)


def disarm():
    CONTROL[8:16] = _FAILS


def failed():
    return struct.unpack_from("<q", CONTROL, 16)[0]


def attempt(network, k, most):
    """Runs a network with the k-th allocation failing; whether it came to that."""
    log = networks.Log()
    processes, channels, wanted, order = network(log)
    gc.collect()
    error = None
    try:
        arm(k, most)
        csp.run(*processes)
        disarm()
    except BaseException as er:
        disarm()
        error = er
    n = failed()
    residue.settle()
    got = log.items()
    if error is None:
        assert networks.right(got, wanted, order), got
    else:
        short = isinstance(error, MemoryError) or str(error).startswith("can't start a new thread")
        # Another thread may have found no memory for its own since it was raised.
        short = short or LIBRARY != "uapycsp" and error is _shared
        if not n or not short:
            raise error
        assert networks.honest(got, wanted), got
    residue.check(channels)
    return n > 0


def sweep(network, most, step):
    k = int(FIRST)
    while True:
        print(network.__name__, k, most)
        if not attempt(network, k, most):
            return k
        k += step


def all_sweeps(network):
    total = 0
    attempt(network, 0, 0)  # what is loaded or made once is there then
    residue.begin()
    slack = residue.SLACK
    for most in [int(most) for most in MOST.split(",")]:
        n = sweep(network, most, int(STEP))
        total += n
        residue.end(slack)
        if LIBRARY == "uapycsp":  # where threads come and go one limit is for all sweeps
            residue.begin()
            slack = _AGAIN
        print("SWEPT", network.__name__, most, n)
    return total


def main():
    names = NAMES.split(",")
    others = networks.BRIDGED + serving.ALL + broken.ALL
    for network in networks.ALL if NAMES == "all" else networks.ALL + others:
        if NAMES == "all" or network.__name__ in names:
            all_sweeps(network)


main()
