"""Choice for threads.

    alt = Alternative(cin, cout.alt_pending_write(5), Timer(ms=100))
    g, v = alt.select()               # the first guard that is ready, in this order
    with alt as (g, v):               # the same
"""

from cspcore.channel import POISON, READ, WAITING
from cspcore.choice import Choice, Guard, Skip, Timer, _happened  # noqa: F401
from cspcore.errors import PoisonException
from uthreading.clock import Alarm
from upycsp.wait import Given, load, lock, own


class _Poison:
    # Enabled in a choice that no channel can end.

    @staticmethod
    def disable(alt):
        raise PoisonException


class Alternative(Choice):
    """A choice among guards: read ends, alt_pending_write, Timer, Skip, users' own."""

    serves = "threads"

    def __init__(self, *guards):
        Choice.__init__(self, *guards)
        self._limit = None  # None or (ms, guard): the Timer that is due first
        self._alarm = Alarm(self._due) if self._own else None
        self._me = None  # the offer of the thread that waits; not None: in use

    def select(self, ready=None, fair=False):
        """Wait until a guard is ready; (guard, value). Of several ready ones takes the first.

        ready: a truth value for each guard; those that are false are left out this time.
        """
        if ready is not None:
            load("cspcore.masked")  # not under lock
        with lock:
            if self._me is not None:
                raise RuntimeError("an alternative is used by one process at a time")
            if ready is not None:
                self.mask(ready)
            i = self.poll(fair)
            if i >= 0:
                if fair:
                    self.last(i)
                party = self.commit(i)
                v = self._value
                self._value = None
                if self._own and self._offers[i] is None:
                    v = _happened(self.guards[i], v)
            else:
                me = self._begin()
        if i < 0:
            try:
                me.wait()
                me = None
                if self._own:
                    with lock:
                        self.disable_all()
            except BaseException:
                self._interrupted(me)
                raise
            i = self._chosen
            if fair:
                self.last(i)
            with lock:
                self._me = None
                # Under lock: it may tell the guard, and the next who selects would clear it.
                v = self.result()
        elif party is not None:
            party.wake()
        return self.guards[i], v

    pri_select = select
    poll = Choice.poll  # upycsp.isr sets another one, while other threads may look in this table

    __enter__ = select

    def __exit__(self, exc_type, exc, traceback):
        return False

    def schedule(self, guard, value=None):
        """A user's guard is ready, with value: true if it was chosen. From any thread."""
        with lock:
            if not self.schedule_core(guard, value):
                return False
            party = self.party()
        party.wake()
        return True

    # What cspcore calls, under lock

    def arm(self, ms, guard):
        if self._limit is None or ms < self._limit[0]:
            self._limit = (ms, guard)

    def disarm(self):
        self._limit = None
        self._alarm.stop()

    def party(self):
        me = self._me
        me.on = None
        return me

    def end(self, chain):
        """Who waits is to end by poison; it is put before a chain of those to be woken."""
        try:
            self._enabled.append(_Poison)
        except MemoryError:
            return chain  # it is asked again soon
        self._decide(0)
        party = self.party()
        party.next = chain
        return party

    def _begin(self):
        # Under lock: leave offers and arm the alarm; the calling thread's offer.
        try:
            self._me = me = own()
            if self._limit is not None:
                self._alarm.start(self._limit[0])
            me.on = self
            self.post()
        except BaseException:  # no thread to be had for the clock, no memory, or an interrupt
            if self.waits:
                self.withdraw()
            if self._me is not None:
                self._me.on = self._me = None
            self.disable_all()
            raise
        return me

    def _due(self, alarm):
        # In the timer thread. An alarm that is armed again has been overtaken by a later select.
        with lock:
            if alarm.due is not None or self._limit is None:
                return
            if not self.schedule_core(self._limit[1], None):
                return
            party = self.party()
        party.wake()

    def _interrupted(self, me):
        # me: None if it waits no more, but a guard refused.
        party = None
        with lock:
            chosen = not self.waits
            if chosen:
                o = self._offers[self._chosen]
                v = o.value if o and o.op == READ else POISON
                if v is not POISON and v is not WAITING:  # the latter: _abandon ended it
                    party = o.channel.give_back(Given(o.channel, READ), v)
            else:
                self.withdraw()
                me.on = None
            self._me = None
            if chosen and me:
                me.retire()
            try:
                self.disable_all()
            finally:
                if party is not None:
                    party.wake()
