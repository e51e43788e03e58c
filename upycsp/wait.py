"""How the offers of this library wait: a thread sleeps on its own lock, its bolt.

One lock, `lock`, guards all channels, alternatives and processes. Each thread has one offer of its
own, by its ident, which it queues when it has to wait; others touch it only while it is queued,
under `lock`. A waiting thread's bolt is locked; whoever takes its offer out of the queue releases
the bolt, once, after letting go of `lock`. So no wake is lost, and none comes twice. The value of
an offer is WAITING until it is queued to write or its read is paired; its thread sets it back.
A thread that is interrupted when it was chosen already leaves its offer, and gets another.
"""

import gc
import sys
from _thread import allocate_lock, get_ident

from uthreading import alone, kept
from cspcore.channel import POISON, READ, WAITING
from cspcore.channel import Offer as BaseOffer

_NOTICE_S = 0.3
_CPYTHON = sys.implementation.name == "cpython"
_LOOK = 100  # slices between two looks of the watchdog
look = None  # the watchdog, where the main thread has to call it

lock = allocate_lock()
offers = {}  # ident -> the thread's own offer; guarded by lock


class _PolledBolt:
    """The bolt of a board's main thread, where a blocked lock can't be interrupted."""

    def __init__(self, bolt):
        self.bolt = bolt

    def acquire(self):
        slices = 0
        while not self.bolt.acquire(0):
            kept.pause()
            slices += 1
            if slices == _LOOK and look is not None:
                slices = 0
                look()


class _TimedBolt:
    """The bolt of CPython's main thread, which looks for Ctrl-C now and then.

    A signal that comes when the thread is about to block, or that another thread gets, does not
    wake it.
    """

    def __init__(self, bolt):
        self.bolt = bolt

    def acquire(self):
        while not self.bolt.acquire(True, _NOTICE_S):
            pass


class Offer(BaseOffer):
    """A thread's own offer: `wait()` sleeps on its bolt, `wake()` releases that.

    `on` is what else the thread waits on (an alternative, a Parallel, a Spawn), or None. `runs`
    is the process that runs on this thread, the innermost of several, or None.
    """

    def __init__(self, ident):
        BaseOffer.__init__(self, None, READ)
        bolt = allocate_lock()
        bolt.acquire()
        self.ident = ident
        self.wake = bolt.release  # attributes, so that ends can call them without a method
        if ident == kept.main_ident:
            if not kept.may_block():
                bolt = _PolledBolt(bolt)
            elif _CPYTHON:
                bolt = _TimedBolt(bolt)
        self.wait = bolt.acquire
        self.on = None
        self.runs = None
        self.nests = not kept.polls()  # whether it may run a process within another

    def waits(self):
        """Whether it stands in a queue: its thread waits in a plain read or write. Under lock."""
        return self.channel is not None and self.is_queued()

    def interrupted(self):
        """An interrupt has ended the wait of a plain operation: it leaves nothing behind."""
        party = None
        with lock:
            value = self.value
            self.value = WAITING
            if self.waits():
                self.channel.withdraw(self)
                return
            if self.op == READ and value is not POISON:
                party = self.channel.give_back(Given(self.channel, READ), value)
            self.retire()
        if party is not None:
            party.wake()

    def retire(self):
        """Its thread was interrupted after it had been chosen: it gets another offer. Under lock.

        Whoever chose it releases the bolt yet, or the thread has taken it already and was
        interrupted before it knew: nobody can tell, so this bolt is not waited for again.
        """
        offers[self.ident] = o = Offer(self.ident)
        o.runs = p = self.runs
        if p is not None and p._me is self:
            p._me = o
        self.ident = None  # no end knows it any more


class Given(BaseOffer):
    """A value that an interrupted reader gave back; nobody is woken when it is taken."""

    def wake(self):
        pass


class _Nobody:
    ident = None

    @staticmethod
    def wake():
        pass


NOBODY = _Nobody()  # stands for a thread where there is none


def own():
    """The calling thread's offer. Under lock."""
    ident = get_ident()
    o = offers.get(ident)
    if o is None:
        o = offers[ident] = Offer(ident)
    return o


def wake_chain(party):
    """Wake a chain that is linked by next. Not under lock."""
    while party is not None:
        n = party.next
        party.next = None  # before it is woken: then the offer is its thread's again
        party.wake()
        party = n


def load(module):
    """Load a module that is loaded late, by whichever thread needs it first."""
    if not kept.loads_early:
        gc.collect()  # else what earlier compilations left is in the way: 30 KB more are needed
    return alone(__import__, module, None, None, ("*",))


def load_all():
    """Load what threads may need, before the first is started.

    Loading a module in one thread while another asks for it fails, or worse where there is no GIL.
    Where memory is scarce, though, it is loaded under a lock when it is first needed. All of
    plugnplay, which is much, is loaded only if it is used and nothing (a GIL, CPython's locks)
    helps.
    """
    alone(_load_all)  # several threads may start their first processes at the same time


def load_rest():
    """At the end of a module that may be loaded late: what load_all would have loaded of it."""
    if sys.modules["upycsp.process"]._loaded:  # processes have started already
        load_all()


def _load_all():
    loaded = sys.modules
    if kept.loads_early or kept.side_by_side and (
            "upycsp.plugnplay" in loaded or "upycsp.aio_plugnplay" in loaded):
        try:
            early = __import__("upycsp.early", None, None, ("*",))
        except ImportError:  # it is not in an ESP32's image
            return
        early.load_all()


if kept.loads_early:
    kept.loaders.append(load_all)
