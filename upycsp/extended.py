"""Extended rendezvous for threads: the writer waits until the block ends.

    with cin.extended() as v:
        cout(v)                         # only then does the write of v return

See cspcore.extended. A writer that meets one wakes it, as it wakes whomever it meets, outside the
lock: that is where it stays. Ends load this when they are first asked.
"""

from cspcore import extended
from cspcore.channel import POISON, READ
from upycsp.channel import Channel
from upycsp.wait import Given, lock, own


class _Hold(extended.Hold):
    def keep(self, party):
        self.party = party
        party.on = self

    def release(self):
        party = extended.Hold.release(self)
        if party is not None and party.on is self:
            party.on = None
        return party


class Extended(extended.Extended):
    """An extended read."""

    def __init__(self, end):
        extended.Extended.__init__(self, end, _Hold, Channel)
        self._me = None  # the offer of the thread that waits
        self._writer = None  # the offer of the thread that it has met
        self.wake = self._wake  # made here: there may be no memory for it when somebody writes

    def __enter__(self):
        with lock:
            me = own()
            if self.begin():
                me = None
            else:
                self._me = me
                me.on = self
        if me is not None:
            try:
                me.wait()
            except BaseException:
                self._interrupted(me)
                raise
            if self.value is POISON:
                raise self.end.ended()
        v = self.value
        self.value = None
        return v

    def __exit__(self, exc_type, exc, traceback):
        with lock:
            party = self.hold.release()
        if party is not None:
            party.wake()
        return False

    def _interrupted(self, me):
        party = writer = None
        with lock:
            if self.is_queued():
                self.alone()
            else:
                if self.value is not POISON:
                    party = self.channel.give_back(Given(self.channel, READ), self.value)
                    writer = self.hold.release()
                me.retire()
        if party is not None:
            party.wake()
        if writer is not None:
            writer.wake()

    # What cspcore calls, under lock

    def paired(self, offer):
        self._writer = me = own()
        self.alone()
        self.hold.keep(me)
        return self

    def alone(self):
        self._me.on = None
        return extended.Extended.alone(self)

    # Not under lock, or if nobody is held

    def _wake(self):
        # Wakes the reader; who has written to it stays until the block ends.
        me = self._writer
        self._me.wake()
        if me is None:
            return
        try:
            me.wait()
        except BaseException:
            with lock:
                if self.hold.party is me:
                    self.hold.release()
                else:
                    me.retire()
            raise
