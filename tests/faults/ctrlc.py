"""Runs endless networks that are interrupted from outside: see test_ctrl_c.py.

    ctrlc.py LIBRARY NETWORK TIMES HOW PATH..    says GO when it may be interrupted, then OK

HOW is none, one or both of these words:
    poll       the main thread of upycsp does as on a board
    virtual    the network goes by a virtual clock

Counts what the library sleeps from the interrupt on until `run` has raised it.
"""

import sys

LIBRARY, NAME, TIMES, HOW = sys.argv[1:5]
sys.path[:1] = sys.argv[5:]
__import__(LIBRARY)
csp = sys.modules["csp"] = sys.modules[LIBRARY]

import fault_residue as residue  # noqa: E402
import interruptible  # noqa: E402

MOST_MS = 500  # of sleep, all in all
slept = []

if LIBRARY == "uapycsp":
    from ufuture.loop import engine

    plain_sleep_ms = engine.sleep_ms

    def counted(ms):
        # Nobody but the library sleeps by this, and only after an interrupt.
        slept.append(ms)
        return plain_sleep_ms(ms)

    engine.sleep_ms = counted
else:
    from uthreading import kept

    if "poll" in HOW:
        kept.poll_in_main(True)
    module = sys.modules["upycsp.watch"]
    plain_abandon = module._abandon
    plain_sleep_ms = kept.sleep_ms
    abandons = [False]

    def counted(ms):
        if abandons[0] and kept.get_ident() == kept.main_ident:
            slept.append(ms)
        plain_sleep_ms(ms)

    def abandon(er):
        abandons[0] = True
        try:
            plain_abandon(er)
        finally:
            abandons[0] = False

    kept.sleep_ms = counted
    module._abandon = abandon


def tell(text):
    sys.stdout.write(text + "\n")
    if hasattr(sys.stdout, "flush"):
        sys.stdout.flush()


options = {"clock": csp.virtual.VirtualClock()} if "virtual" in HOW else {}


def once(network):
    processes, channels = network()
    del slept[:]
    interruptible.stays[0] = True
    interruptible.begins[0] = lambda: tell("GO")
    ended = True
    try:
        try:
            if NAME != "deaf":
                tell("GO")
            csp.run(*processes, **options)
        except KeyboardInterrupt:
            ended = False
    except KeyboardInterrupt:  # in the handler
        ended = False
    assert not ended, "the network has ended by itself"
    assert sum(slept) <= MOST_MS, slept
    if NAME == "deaf":
        assert sum(slept) == MOST_MS, slept
    interruptible.stays[0] = False
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
