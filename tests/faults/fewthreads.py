"""Runs networks of fault_networks where the k-th new thread can't be had: see test_threads.py.

    fewthreads.py LIBRARY NETWORK FIRST ALONE PATH..    prints PASSED or FAILED for the first run
"""

import sys

LIBRARY, NAME, FIRST, ALONE = sys.argv[1:5]
sys.path[:1] = sys.argv[5:]
__import__(LIBRARY)
csp = sys.modules["csp"] = sys.modules[LIBRARY]

import _thread  # noqa: E402

import fault_networks as networks  # noqa: E402
import fault_residue as residue  # noqa: E402
from uthreading import kept  # noqa: E402


class Failing:
    def __init__(self, k, alone):
        self.left = k
        self.alone = alone
        self.failed = 0
        self.lock = _thread.allocate_lock()
        self.start = kept.set_starter(self)

    def __call__(self, *args):
        with self.lock:
            self.left -= 1
            if self.left == 0 or self.left < 0 and not self.alone:
                self.failed += 1
                raise OSError("can't create thread")
        return self.start(*args)


def once(network):
    """Runs a network; what run raised, or None."""
    log = networks.Log()
    processes, channels, wanted, order = network(log)
    error = None
    try:
        csp.run(*processes)
    except RuntimeError as er:
        error = er
        text = str(er)
        assert text.startswith("can't start a new thread") and "\n" not in text, text
        assert networks.honest(log.items(), wanted), log.items()
    else:
        assert networks.right(log.items(), wanted, order), log.items()
    residue.settle()
    for ch in channels:
        ch.verify()
    return error


def main():
    network = [n for n in networks.ALL if n.__name__ == NAME][0]
    failing = Failing(int(FIRST), ALONE == "alone")
    error = once(network)
    kept.set_starter(failing.start)
    assert failing.failed or error is None
    assert once(network) is None, "the next run does not work"
    residue.check()
    print("PASSED" if not failing.failed else "SURVIVED" if error is None else "FAILED")


main()
