"""Extended rendezvous for coroutines: the writer waits until the block ends.

    async with cin.extended() as v:
        await cout(v)                   # only then does the write of v return

See cspcore.extended. Ends load this when they are first asked.
"""

from ufuture.loop import engine
from cspcore import extended
from cspcore.channel import MARKER, POISON, TAKEN, WAITING, WRITE
from uapycsp import channel as channels
from uapycsp.wait import NOTHING, Composed, Join, Offer, Waiting, coroutine, give_back

CancelledError = engine.CancelledError


class _Hold(extended.Hold, Join):
    # A Join, as which the watchdog knows it.

    stands = True

    def __init__(self, channel):
        Join.__init__(self)
        extended.Hold.__init__(self, channel)

    def keep(self, party):
        if isinstance(party, Waiting):
            party.op = MARKER  # from now on it is asked here when its task is cancelled
            party.channel = self
        else:
            party._me = self  # an alternative
        self.party = party

    def release(self):
        party = self.party
        if isinstance(party, Composed) and party._me is not self:
            self.party = None  # it was cancelled
        return extended.Hold.release(self)

    def cancelled(self):
        # The held writer is cancelled: it is let go at once, for its write stands.
        woken = self.party is None
        self.party = None
        return woken


class _Stay(Offer):
    # What a writer waits on that has met an extended read.

    def __init__(self, hold):
        Offer.__init__(self, hold, WRITE)
        self.value = TAKEN
        # What parking it stores stands here already: it may not need memory then.
        self.foreign = None
        self.queued = False
        self.seq = 0

    def cancelled(self):
        return self.channel.cancelled()


class Extended(extended.Extended, Join):
    """An extended read. Like its writer's wait it is made before anything happens."""

    def __init__(self, end):
        Join.__init__(self)
        extended.Extended.__init__(self, end, _Hold, channels.Channel)
        self._stay = _Stay(self.hold)
        self._stays = self._staying()

    @coroutine
    def __aenter__(self):
        if not self.begin():
            try:
                yield engine.park(self)
            except CancelledError:
                raise
            except BaseException:
                self.cancelled()
                raise
            if self.value is POISON:
                raise self.end.ended()
        v = self.value
        self.value = None
        return v

    def __aexit__(self, exc_type, exc, traceback):
        self._let_go()
        return NOTHING

    def _let_go(self):
        party = self.hold.release()
        if party is not None:
            engine.wake(party)

    @coroutine
    def _staying(self):
        # In the task of the writer, from the step in which they met.
        channels.stays = None
        self.hold.party = self._stay
        try:
            yield engine.park(self._stay)
        except CancelledError:
            engine.cancel_later()
        except BaseException:
            self.hold.party = None
            raise

    # What the engine and cspcore call

    def paired(self, offer):
        engine.wake(self)  # this may need memory: nothing has happened till then
        self.alone()
        channels.stays = self._stays
        return None

    def cancelled(self):
        value = self.value
        if value is WAITING:
            self.channel.withdraw(self)
            return False
        if value is not POISON:
            self.value = POISON
            give_back(self.channel, value, engine.order_of(self))
            self._let_go()
        return True
