"""A small library of processes. All use plain reads: poison entering at any end leaves by all.

Identity, Prefix, SeqDelta2, ParDelta2 (= Delta2), Successor, SkipProcess, Mux2, poison_chans. The
others are written with async and await, and loaded in groups when they are first used:
cspcore.plugs tells from where.
"""

import upycsp
from uthreading import alone
from upycsp import Alternative, Parallel, process
from upycsp.wait import load_rest


@process
def Identity(cin, cout):
    """Copies."""
    while True:
        cout(cin())


@process
def Prefix(cin, cout, prefixItem=None):
    """Writes prefixItem, then copies."""
    cout(prefixItem)
    while True:
        cout(cin())


@process
def SeqDelta2(cin, cout1, cout2):
    """Copies to both outputs, the first one first."""
    while True:
        v = cin()
        cout1(v)
        cout2(v)


@process
def ParDelta2(cin, cout1, cout2):
    """Copies to both outputs, in any order."""
    while True:
        v = cin()
        Parallel(cout1.alt_pending_write(v), cout2.alt_pending_write(v)).run()


Delta2 = ParDelta2


@process
def Successor(cin, cout):
    """Adds one."""
    while True:
        cout(cin() + 1)


@process
def SkipProcess():
    """Does nothing."""


@process
def Mux2(cin1, cin2, cout):
    """Merges two inputs fairly."""
    alt = Alternative(cin1, cin2)
    while True:
        _, v = alt.fair_select()
        cout(v)


def poison_chans(*channels):
    """Poisons channels, or ends."""
    for c in channels:
        upycsp.poison_channel(c)


def __getattr__(name):
    return alone(_find, name)


def _find(name):
    from cspcore import plugs

    return plugs.find(name, globals(), "upycsp.awaited")


# Firmware that knows no __getattr__ in modules (Pycom's) gets everything at once.
if not hasattr(upycsp, "_lazy"):
    __getattr__("*")

load_rest()
