"""Runs endless networks that are interrupted from outside: see test_ctrl_c.py.

    ctrlc.py LIBRARY NETWORK TIMES POLL PATH..    says GO when it may be interrupted, then OK
"""

import sys

LIBRARY, NAME, TIMES, POLL = sys.argv[1:5]
sys.path[:1] = sys.argv[5:]
__import__(LIBRARY)
csp = sys.modules["csp"] = sys.modules[LIBRARY]

import fault_residue as residue  # noqa: E402
import interruptible  # noqa: E402

if POLL == "poll":
    from uthreading import kept

    kept.poll_in_main(True)


def tell(text):
    sys.stdout.write(text + "\n")
    if hasattr(sys.stdout, "flush"):
        sys.stdout.flush()


def once(network):
    processes, channels = network()
    ended = True
    try:
        try:
            tell("GO")
            csp.run(*processes)
        except KeyboardInterrupt:
            ended = False
    except KeyboardInterrupt:  # in the handler
        ended = False
    assert not ended, "the network has ended by itself"
    residue.settle()
    residue.check(channels)
    tell("OK")


def main():
    network = getattr(interruptible, NAME)
    for _ in range(int(TIMES)):
        once(network)
    residue.begin()
    for _ in range(int(TIMES)):
        once(network)
    residue.end()
    tell("DONE")


main()
