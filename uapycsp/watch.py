"""The watchdog (rule 12). It is loaded when the first network runs."""

import sys

from ufuture.loop import engine
from cspcore.channel import (
    MARKER,
    POISON,
    READ,
    TAKEN,
    WAITING,
    Offer,
    end_before,
    in_order,
    let_go,
)
from cspcore.choice import Choice
from cspcore.names import UNTOLD, report
from uapycsp.wait import Composed, Join, Waiting, wake_chain

# The package has a function of this name. To import from the file would bind that to the file, in
# MicroPython 1.20 each time.
network = sys.modules["uapycsp.process"]
Parallel = network.Parallel

_KNOWN = (Parallel, Choice, Join)  # made once: there may be no memory for it
_WAYS = (end_before, let_go)
_NESTED = 8  # gathers within one another; what is deeper may go on


def look():
    """Rule 12: true if it has found a deadlock and poisoned what waits."""
    # It takes no memory but for the report: one may have died for want of it, and the others wait
    # for that one.
    ring = network.alive
    found = 0
    lost = None
    # Then the deadlock is only its consequence.
    failed = network._root.exception is not None or network.failures.first is not None
    p = ring.oldest()
    while p is not ring:
        parked = _waits_on(p)
        if _is_lost(p, parked):
            lost = p
            p = p._newer
            continue
        n = _count(parked)
        if n is None:
            return False
        found += n
        failed = failed or _has_failed(parked)
        p = p._newer
    if not found and lost is None or _threads_run():
        return False
    if lost is not None:
        engine.throw(lost, RuntimeError("this process awaited what nobody will wake it from"))
        return True
    if not failed and network._deadlock is None:
        network._deadlock = _report(ring)
    chain = None
    for end in _WAYS:
        if chain is None:
            p = ring.oldest()
            while p is not ring:
                chain = _end(_waits_on(p), chain, end)
                p = p._newer
    wake_chain(in_order(chain))  # not before: who is woken does not wait any more
    return True


def _has_failed(parked):
    # Whether a process that waits for others is to raise what one of them has raised.
    group = isinstance(parked, Parallel) or hasattr(parked, "children")
    return group and isinstance(parked.exception, BaseException)


def _report(ring):
    try:
        waits = [(p, _offers(_waits_on(p))) for p in ring.each()]
        return report([w for w in waits if w[1]])
    except Exception:  # no memory; or a name that can't be told
        return UNTOLD


def _waits_on(p):
    parked = engine.waits_on(p)
    if isinstance(parked, Waiting) and parked.op == MARKER:
        return parked.channel  # see wait.Composed
    if isinstance(parked, Choice) and isinstance(parked._me, Join):
        return parked._me  # what holds it: see uapycsp.extended
    return parked


def _is_lost(p, parked):
    # Whether a process waits for nothing: it has yielded to the loop what that does not know, as
    # MicroPython's `await [1]` does. What it waited on before may still stand there.
    if parked is None:
        return engine.is_lost(p)
    if parked is p:
        return p.value is not WAITING if p.op == READ else p.value is TAKEN or p.value is POISON
    if isinstance(parked, Choice):
        return not parked.waits
    return isinstance(parked, Parallel) and not parked.left


def may_go_on(parked):
    """Whether others than processes may end what somebody waits on."""
    return _count(parked) is None


def _count(parked, nested=_NESTED):
    # How many offers a process waits with; None if it may go on without them.
    if isinstance(parked, Waiting):
        return None if parked.channel.external else 1
    if hasattr(parked, "children"):
        return _count_children(parked.children, nested - 1)
    if not isinstance(parked, _KNOWN):
        return None
    if isinstance(parked, Choice) and parked.hears_others():
        return None
    n = 0
    for x in _wishes(parked):
        o = _waiting(x, parked)
        if o is not None:
            if o.channel.external:
                return None
            n += 1
    return n


def _count_children(children, nested):
    # Of ufuture's gather: tasks that are no processes.
    n = 0
    for child in children:
        if not child.has_ended:
            more = _count(_waits_on(child), nested) if nested else None
            if more is None:
                return None
            n += more
    return n


def _wishes(parked):
    # Where a Parallel, an Alternative or an extended read keeps its offers.
    if isinstance(parked, Parallel):
        return parked.members
    return getattr(parked, "_offers", ())


def _waiting(x, parked):
    # The offer that waits, if it does, of a member or an Alternative's offer.
    if isinstance(x, network.Operation):
        x = x.offer
    return x if isinstance(x, Offer) and x.alt is parked else None


def _offers(parked):
    # The offers that a process waits with.
    if isinstance(parked, Waiting):
        return [parked]
    found = []
    for child in getattr(parked, "children", ()):
        if not child.has_ended:
            found.extend(_offers(_waits_on(child)))
    return found + [o for o in [_waiting(x, parked) for x in _wishes(parked)] if o is not None]


def _end(parked, chain, end):
    # End, in one of the ways, what a process waits on; whom to wake is put before chain.
    if isinstance(parked, Waiting):
        return end(parked.channel, chain)
    for child in getattr(parked, "children", ()):
        if not child.has_ended:
            chain = _end(_waits_on(child), chain, end)
    for x in _wishes(parked):
        o = _waiting(x, parked)
        if o is not None:
            chain = end(o.channel, chain)
    return chain


def _threads_run():
    for alt in Composed.hearing:
        if alt.waits and alt.hears_others():
            return True
    bridged = sys.modules.get("uapycsp.bridged")
    if bridged is not None and (bridged.bell.waiting or bridged.bell.wishes):
        return True  # be it a task that is no process
    kept = sys.modules.get("uthreading.kept")
    if kept is None:
        return False
    with kept.lock:
        return kept.get_ident() != kept.main_ident or len(kept.alive) > 0
