"""The watchdog (rule 12). It is loaded when the first network runs."""

import sys

from ufuture.loop import engine
from cspcore.channel import MARKER, in_order
from cspcore.choice import Choice
from cspcore.names import report
from uapycsp.process import Parallel
from uapycsp.wait import Join, Waiting, wake_chain

network = sys.modules["uapycsp.process"]  # the package has a function of this name


def look():
    """Rule 12: true if it has found a deadlock and poisoned what waits."""
    # It keeps no list: what one process waits on takes little memory, all together may be too
    # much, where one has died for want of memory and the others wait for it.
    ring = network.alive
    found = False
    failed = network._root.exception is not None  # then the deadlock is only its consequence
    p = ring.oldest()
    while p is not ring:
        parked = _waits_on(p)
        offers = _offers(parked)
        if offers is None:
            return False
        found = found or bool(offers)
        failed = failed or isinstance(parked, Parallel) and parked.exception is not None
        p = p._newer
    if not found or _threads_run():
        return False
    if not failed and network._deadlock is None:
        network._deadlock = _report(ring)
    chain = None
    p = ring.oldest()
    while p is not ring:
        for o in _offers(_waits_on(p)):
            party = o.channel.end_all()
            while party is not None:
                n = party.next
                party.next = chain
                chain = party
                party = n
        p = p._newer
    wake_chain(in_order(chain))  # not before: who is woken does not wait any more
    return True


def _report(ring):
    try:
        waits = [(p, _offers(_waits_on(p))) for p in ring.each()]
        return report([w for w in waits if w[1]])
    except MemoryError:
        return "all processes wait; too little memory is left to tell where"


def _waits_on(p):
    parked = engine.waits_on(p)
    if isinstance(parked, Waiting) and parked.op == MARKER:
        return parked.channel  # see wait.Composed
    return parked


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
