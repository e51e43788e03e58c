"""`run`: its watchdog (rule 12), and its end by Ctrl-C. It is loaded when the first one begins."""

import sys
from _thread import get_ident

from uthreading import kept
from cspcore.channel import Offer, end_before, forget, let_go
from cspcore.choice import Choice
from cspcore.errors import DeadlockError
from cspcore.names import UNTOLD, report
from cspcore.process import forsake
from upycsp import process as _load  # noqa: F401
from upycsp import wait
from upycsp.wait import lock, offers, wake_chain

_process = sys.modules["upycsp.process"]  # the package has a function of this name
_alive = _process._alive
_failures = _process._failures
_telling = _process._telling
_runs = _process._runs
Parallel = _process.Parallel

_WATCH_MS = 500

_watches = False  # whether the watchdog's thread is there; guarded by lock


def run_group(group, processes):
    """Run a Parallel of processes under the watchdog; one's result, or the list of several's."""
    if not processes:
        raise ValueError("run needs at least one process")
    # The attributes: later there may be no memory to make them.
    group.deadlock = group.outer = group.exception = None
    group.depth = 1
    group.waits = group.failed = False
    group.within = group
    if get_ident() == kept.main_ident:
        kept.interrupted = False  # of another run
    try:
        with lock:
            _nest(group, offers.get(get_ident()))
            _runs.append(group)
        _start_watch()
        try:
            results = group.run().retval
        except BaseException as er:
            if get_ident() == kept.main_ident and _interrupts(er, group):
                _abandon(er)
                raise
            if group.deadlock is None:
                raise
    finally:
        try:
            er = _close(group)
        except KeyboardInterrupt:  # it came in the midst of that
            _close(group)
            raise
    if group.deadlock is not None:
        raise DeadlockError(group.deadlock)
    if er is not None:
        raise er
    return results if len(processes) > 1 else results[0]


def _close(group):
    # At its end: what it is to raise of those spawned within it, or None.
    with lock:
        if group in _runs:
            _runs.remove(group)
        h = _failed_within(group)
        er = None if h is None else h.raised()
        _unnest(group)
        if not _runs:
            forget()
    return er


def _interrupts(er, group):
    # Whether an exception came to the main thread from outside, by a signal's handler: the group
    # has noted that its wait, or the start of a member, was left by it; or it is no process's.
    if isinstance(er, KeyboardInterrupt) or group.left < 0 and group.parts() is None:
        return True
    return er is not group.exception and not isinstance(er, Exception)


# Runs within runs: while a run goes on it is `within` itself, and at its end what is around it.
# `outer` is that, too, as it was when the run began.


class _Rest:
    # Stands for a run of the processes that belong to none.

    def __init__(self):
        self.within = self
        self.depth = 1
        self.waits = self.failed = False


rest = _Rest()


def live(group):
    """As the process's, but rest if there is none."""
    return _process.live(group) or rest


def _nest(group, me):
    # Under lock; me: the calling thread's offer, or None.
    if me is not None and me.runs is not None:
        group.outer = outer = _run_of(me)
        if outer is not rest:
            group.depth = outer.depth + 1


def _unnest(group):
    # Under lock. It has ended: who was spawned there belongs to the run around it, and keeps
    # neither results nor what else came before.
    group.within = group.outer = live(group.outer)
    group.members = ()
    group.exception = None


def _failed_within(group):
    # Under lock, at the end of a run: the first handle whose failure it is to raise.
    first = None
    h = _failures.first
    while h is not None:
        later = h.later
        if live(h.within) is group:
            first = first or h
            _failures.forget(h)
            h.within = None
        h = later
    return first


def _start_watch():
    global _watches
    if not kept.may_block():
        wait.look = _look  # on a board the main thread looks, between its slices of sleep
        return
    try:
        with lock:
            needed = not _watches
            _watches = True
        if needed:
            kept.start(_watch)
    except BaseException as er:
        _watches = False  # after an interrupt there may be two of them for a while
        if not isinstance(er, RuntimeError) and not isinstance(er, MemoryError):
            raise  # each by its name: there may be no memory for a tuple of them
        # A deadlock will not be reported; the network may still run.


def _watch():
    global _watches
    while True:
        try:
            while True:
                kept.sleep_ms(_WATCH_MS)
                with lock:
                    if not _runs:
                        _watches = False
                        return
                _look()
        except KeyboardInterrupt:
            kept.interrupted = True


def _look():
    try:
        with lock:
            chain = _find_deadlock() if _runs else None
    except MemoryError:
        return  # it can't tell: as good as a network that still runs
    wake_chain(chain)


def _find_deadlock():
    # Under lock. Poisons what waits if nothing else can go on; whom to wake.
    # It takes no memory but for the report: one may have died for want of it.
    if not _all_wait() or _threads_run():
        return None
    depth = _note_waits()
    text = None
    for group in _runs:
        if group.deadlock is None and _raises_it(group, depth):
            text = group.deadlock = text or _report()
    return _end_all_waits(depth)


def _all_wait():
    # Whether all processes wait, and one of them with an offer.
    found = 0
    p = _alive.oldest()
    while p is not _alive:
        n = _count_offers(p._me, p)
        if n is None:
            return False
        found += n
        p = p._newer
    return found > 0


def _note_waits():
    # Which runs wait, with an offer of a process, and which have failed: an exception waits for
    # the others, and the deadlock is only its consequence. How deep the innermost are that wait:
    # they end first, since who called them may know how to go on.
    rest.failed = False
    for group in _runs:
        group.waits = False
        group.failed = group.exception is not None
    h = _failures.first
    while h is not None:
        live(h.within).failed = True
        h = h.later
    depth = 1
    p = _alive.oldest()
    while p is not _alive:
        me = p._me
        if isinstance(me.on, Parallel) and me.on.exception is not None:
            live(me.on.within).failed = True
        if _count_offers(me, p):
            group = _run_of(me)
            group.waits = True
            if group.depth > depth:
                depth = group.depth
        p = p._newer
    return depth


def _raises_it(group, depth):
    # Whether a run is to raise DeadlockError, where those of a depth end. What belongs to no run
    # ends with the outermost ones, all of which may wait for that.
    if group.depth != depth or group.failed:
        return False
    return group.waits if depth > 1 else not rest.failed


def _run_of(me):
    # The run that a thread belongs to.
    return live(me.runs._group.within)


def _end_all_waits(depth):
    # Poison the channels that processes of such runs wait on; whom to wake. What poison of one
    # ends waits for others no more, so all are noted first, if there is memory for that.
    chain = None
    try:
        waits = [o for p in _ending(depth) for o in _offers_of(p._me)]
    except MemoryError:
        chain = _end_each(depth, end_before)
    else:
        for o in waits:
            chain = end_before(o.channel, chain)
    return _end_each(depth, let_go) if chain is None else chain


def _end_each(depth, end):
    chain = None
    p = _alive.oldest()
    while p is not _alive:
        if _run_of(p._me).depth == depth:
            chain = _end_waits(p._me, chain, end)
        p = p._newer
    return chain


def _ending(depth):
    # No part of that comprehension: a name from around it would take memory before the `try`.
    for p in _alive.each():
        if _run_of(p._me).depth == depth:
            yield p


def _report():
    try:
        waits = []
        for p in _alive.each():
            m = p._me.runs
            waits.append((m, _offers_of(p._me)))
            while m is not p:  # the last of a Parallel, which may have posted others
                waits.append((p, _posted(m._group)))
                m = _outer(m, p)
        return report([w for w in waits if w[1]])
    except Exception:  # no memory; or a name that can't be told
        return UNTOLD


def _outer(m, p):
    # What runs a member of a Parallel or Sequence: another one's member, or p.
    c = m._group.as_member
    return c if c is not None and c._group else p  # it may also have been run by itself


def _end_waits(me, chain, end=end_before):
    # End, as by poison, what a thread waits on; whom to wake is put before chain.
    on = me.on
    if on is None:
        return end(me.channel, chain) if me.waits() else chain
    for o in _wishes(on):
        if isinstance(o, Offer) and o.alt is on:
            chain = end(o.channel, chain)
    return chain


def _wishes(on):
    # Where a Parallel, an Alternative or an extended read keeps its offers.
    if isinstance(on, Parallel):
        return on.members
    return getattr(on, "_offers", ())


def _count_offers(me, p=None):
    # How many offers a thread waits with, that of a process p; None if it may be running, or
    # others may meet them, or those of a Parallel whose last member it runs.
    if me is None:
        return None
    m = me.runs
    while m is not p:
        if _count_posted(m._group) is None:
            return None
        m = _outer(m, p)
    on = me.on
    if on is None:
        return 1 if me.waits() and not me.channel.external else None
    if isinstance(on, Choice) and on.hears_others():
        return None
    return _count_posted(on)


def _count_posted(on):
    n = 0
    for o in _wishes(on):
        if isinstance(o, Offer) and o.alt is on:
            if o.channel.external:
                return None
            n += 1
    return n


def _offers_of(me):
    # The offers that a thread waits with.
    on = me.on
    if on is None:
        return [me] if me.waits() else []
    return _posted(on)


def _posted(on):
    return [o for o in _wishes(on) if isinstance(o, Offer) and o.alt is on]


def _threads_run():
    # Whether a thread that is no process runs outside of our operations, or is to do so soon.
    h = _telling.first
    while h is not None:
        if h._untold is True or _count_offers(offers.get(h._untold)) is None:
            return True
        h = h.later
    if _count_offers(offers.get(kept.main_ident)) is None:
        return True
    with kept.lock:
        for t in kept.alive:
            if _count_offers(offers.get(t.ident)) is None:
                return True
    return False


def _withdraw_own():
    # The interrupt may have come between the moment when the main thread's offer was queued and
    # its wait.
    with lock:
        me = offers.get(kept.main_ident)
        if me is None:
            return
        on = me.on
        if isinstance(on, Choice) and on.waits:
            on.withdraw()
            on.disable_all()
            on._me = None
        elif isinstance(on, Parallel):
            on.left = -1
        elif isinstance(on, Offer):  # an extended read
            if on.is_queued():
                on.channel.withdraw(on)
        elif on is None and me.waits():
            me.channel.withdraw(me)
        me.on = None
        me.retire()


def _forsake_all(er):
    with lock:
        found = list(_alive.each())
    for p in found:
        if p._propagate:
            try:
                forsake(p._args, er)
                forsake(p._kwargs, er)
            except MemoryError:  # a strength could not be noted
                pass


def _abandon(er):
    # After an interrupt: poison the ends among the arguments of all, for who computes has yet to
    # use them, and whatever waits, for up to half a second; the rest stays behind.
    _withdraw_own()
    try:
        _forsake_all(er)
    except MemoryError:
        pass
    for _ in range(50):
        chain = None
        with lock:
            p = _alive.oldest()
            while p is not _alive:
                if p._me is not None:
                    chain = _end_waits(p._me, chain)
                    on = p._me.on
                    if isinstance(on, Choice) and on.waits:
                        chain = on.end(chain)
                p = p._newer
            if _alive.is_empty():
                return
        wake_chain(chain)
        kept.sleep_ms(10)
