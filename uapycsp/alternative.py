"""Choice for coroutines.

    alt = Alternative(cin, cout.alt_pending_write(5), Timer(ms=100))
    g, v = await alt.select()         # the first guard that is ready, in this order
    async with alt as (g, v):         # the same
"""

from ufuture.heap import advance
from ufuture.loop import engine
from cspcore.channel import POISON, READ
from cspcore.choice import Choice, Guard, Skip, Timer, _happened  # noqa: F401
from uapycsp import channel as channels
from uapycsp.wait import NOTHING, Composed, coroutine, give_back, turn

CancelledError = engine.CancelledError
_ALWAYS = (Skip, Timer)  # made once: there may be no memory for it


class Alternative(Composed, engine.Parked, Choice):
    """A choice among guards: read ends, alt_pending_write, Timer, Skip, users' own."""

    serves = "tasks"

    def __init__(self, *guards):
        Choice.__init__(self, *guards)
        # What to do before a selection: 1 for a guard of a user's, who may call schedule from
        # another thread; 2 for a turn.
        self._asks = 0
        for g, o in zip(guards, self._offers):
            if o is None and not isinstance(g, _ALWAYS):
                self._asks = 1
        self._limit = None  # None or (ms, guard): the Timer that is due first
        self._busy = False
        self.next = None
        self._done = 0  # selections, modulo 64

    def arm(self, ms, guard):
        if self._limit is None or ms < self._limit[0]:
            self._limit = (ms, guard)

    def disarm(self):
        self._limit = None

    @coroutine
    def select(self, ready=None, fair=False):
        """Wait until a guard is ready; (guard, value). Of several ready ones takes the first.

        ready: a truth value for each guard; those that are false are left out this time.
        """
        if self._asks > 1:
            self._asks -= 2
            yield turn()
        if self._asks:
            self._hear()
        if self._busy:
            raise RuntimeError("an alternative is used by one process at a time")
        if ready is not None:
            self.mask(ready)
        i = self.poll(fair)
        if i < 0:
            self._busy = True
            try:
                self.post()
                if self._limit is None:
                    yield self.rest()
                else:
                    self._me = self
                    yield engine.park_ms(self, self._limit[0])
                    while self._waits_on():
                        yield engine.park_ms(self, self._limit[0])
                if self._own:
                    self.disable_all()
            except CancelledError:
                if not self._wrote():
                    raise
                engine.cancel_later()
            except BaseException:
                self.cancelled()
                raise
            finally:
                self._busy = False
                if self._own:
                    self.disable_all()
            i = self._chosen
            if fair:
                self.last(i)
            v = self.result()
        else:
            if fair:
                self.last(i)
            # It may select a thousand times in one of the driver's rounds, if always one is ready:
            # 5x200 takes 32300 instructions a select instead of 44300 for this.
            self._done = self._done + 1 & 63
            if not self._done:
                advance(self)
                self._asks |= 2  # or who always finds a guard ready would let nobody else run
            # Whom to wake has no name of its own: the generator would take 224 bytes, not 192.
            ready = self.commit(i)
            v = self._value
            self._value = None
            if ready is not None:
                engine.wake(ready)
            elif channels.stays is not None:
                yield from channels.stays
            if self._own and self._offers[i] is None:
                if isinstance(self.guards[i], _ALWAYS):
                    yield turn()  # or a loop that polls would let nobody else run
                v = _happened(self.guards[i], v)
        return self.guards[i], v  # one block, as the tuple in channel.ReadEnd

    pri_select = select

    def _hear(self):
        # Others may call schedule, be it for a task that is no process: there is no deadlock then.
        engine.listen()
        if hasattr(engine, "core") and engine.is_foreign():
            Composed.hearing = [alt for alt in Composed.hearing if alt.waits] + [self]

    __aenter__ = select

    def __aexit__(self, exc_type, exc, traceback):
        return NOTHING

    def schedule(self, guard, value=None):
        """A user's guard is ready, with value: true if it was chosen. From any task or thread."""
        if engine.elsewhere():
            return engine.ask(self.schedule, guard, value)
        if (hasattr(guard, "_undo") or hasattr(guard, "_writes")  # a bridge's
                or not self.schedule_core(guard, value)):
            return False
        engine.wake(self.party())
        return True

    # What the engine and cspcore call

    if hasattr(engine, "core"):

        def __bool__(self):
            # In another thread it is a guard of a user's who asks, and never the loop.
            return self._asks and engine.elsewhere() or engine.Parked.__bool__(self)

    def party(self):
        engine.unlimit(self)
        return self._me

    def _waits_on(self):
        # Whether nobody met us while the engine waited as long as it can at once, and the limit is
        # further away; if it has passed, its Timer is chosen.
        if self._chosen is not None:
            return False
        ms = self._limit[0] - engine.LONGEST_MS
        self._limit = ms, self._limit[1]
        if ms <= 0:
            self.expired()
        return ms > 0

    def expired(self):
        # The time limit has passed, and nobody met us before.
        self.schedule_core(self._limit[1], None)

    def cancelled(self):
        i = self._chosen
        if i is None:
            if self.waits:
                self.withdraw()
            return False
        o = self._offers[i]
        if o is None:
            if hasattr(self.guards[i], "_undo") and self._value is not POISON:
                self.guards[i]._undo(self, self._value)
                self._chosen = None
        elif o.op == READ and o.value is not POISON:
            give_back(o.channel, o.value, engine.order_of(self._me))
            self._chosen = None
        self._me = None  # who holds it knows so that it waits no more
        return True

    def _wrote(self):
        # Whether the chosen guard is a write that has happened.
        i = self._chosen
        if i is None:
            return False
        o = self._offers[i]
        if o is None:
            return hasattr(self.guards[i], "_writes") and self._value is not POISON
        return o.op != READ and o.value is not POISON
