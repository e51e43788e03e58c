"""The watchdog (rule 12). It is loaded when a network first has nothing to do."""

import sys

from ufuture.loop import engine
from cspcore.channel import MARKER
from cspcore.choice import Choice
from cspcore.names import report
from uapycsp.process import Parallel
from uapycsp.wait import Join
from uapycsp.wait import Waiting

network = sys.modules["uapycsp.process"]  # the package has a function of this name


def look():
    """Rule 12: true if it has found a deadlock and poisoned what waits."""
    waits = []
    failed = network._root.exception is not None  # then the deadlock is only its consequence
    for p in network.alive.each():
        parked = engine.waits_on(p)
        if isinstance(parked, Waiting) and parked.op == MARKER:
            parked = parked.channel  # see wait.Composed
        offers = _offers(parked)
        if offers is None:
            return False
        failed = failed or isinstance(parked, Parallel) and parked.exception is not None
        if offers:
            waits.append((p, offers))
    if not waits or _threads_run():
        return False
    if not failed and network._deadlock is None:
        network._deadlock = report(waits)
    for p, offers in waits:
        for o in offers:
            o.channel.poison()
    return True


def _offers(parked):
    # What a process waits for: its offers, [] for the end of others, None for what we can't tell.
    if isinstance(parked, Waiting):
        offers = [parked]
    elif isinstance(parked, Parallel):
        offers = [o for o in parked.offers() if o.alt is parked]
    elif isinstance(parked, Choice) and not parked._own:
        offers = parked._offers
    elif isinstance(parked, Join):
        offers = []
    else:
        return None
    for o in offers:
        if o.channel.external:
            return None
    return offers


def _threads_run():
    uthreading = sys.modules.get("uthreading")
    if uthreading is None:
        return False
    me = uthreading.current_thread()
    for t in uthreading.enumerate():
        if t is not me:
            return True
    return False
