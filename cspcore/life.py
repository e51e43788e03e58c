"""What only some channels have: immunity to poison, poison of some strength, counted ends.

    ch = Channel("c", immunity=2)   # poison of strength 2 and less does not act on it
    cout = ch.writer()              # one of the writers that are counted
    cout.retire()                   # the last of them closes the channel

1. The `_life` of a channel is a Life as soon as any of this is asked for, else None; it is made
   before anything happens, and changes only together with its channel: under the lock.
2. A counted end works on a Share of its channel, which passes everything on until it retires, and
   then looks like a channel that has ended; so do the guards that were made of it before.
3. What was posted through a Share stands in the channel's queues, and leaves them through it, be
   it retired or not. So an operation that waits when its end retires goes on.
4. A Share is counted once, when its end is complete, and retires once. The last one of the readers
   ends the channel as poison does, the last one of the writers as close does.
5. Of several causes of an end the hardest counts: an operation never softens what was harder.
"""

from cspcore.channel import DEAD, READ, const
from cspcore.choice import WriteGuard
from cspcore.errors import PoisonException, RetireException, strength_of

_RETIRED = const(-1)  # as a strength: softer than any poison


class Life:
    """What a channel's immunity is, what has ended it, how many counted ends have not retired.

    `cause` is a strength. None is the hardest; so it is till the channel ends, and for ways to end
    that do not tell, as close.
    """

    def __init__(self, immunity=0):
        self.immunity = _checked(immunity, "an immunity is an int and not negative")
        self.cause = None
        self.readers = 0
        self.writers = 0
        self.watch = None  # see cspcore.closing

    def resists(self, channel, strength):
        """See BaseChannel.resists. This may be a new one, which is kept if the poison acts."""
        if strength is not None:
            _checked(strength, "a strength is an int and not negative")
            if strength <= self.immunity:
                return True
        channel._life = self  # it may need memory: nothing has happened till then
        self.note(channel, strength)
        return False

    def note(self, channel, cause):
        """The channel is about to end, or to end harder."""
        if channel._readers is not DEAD:
            self.cause = cause
        elif self.cause is not None and (cause is None or cause > self.cause):
            self.cause = cause

    def ring(self, chain):
        """The channel ends: those who wait for that are put before a chain, for in_order."""
        return chain if self.watch is None else self.watch.ring(chain)

    def ended(self):
        """The exception that operations raise."""
        cause = self.cause  # read once: other threads may store a harder one
        if cause == _RETIRED:
            return RetireException("channel has retired")
        er = PoisonException("channel is poisoned")
        if cause is not None:
            er.strength = cause
        return er


def _checked(n, text):
    if not isinstance(n, int) or n < 0:
        raise ValueError(text)
    return n


class Share:
    """A channel as one of its counted ends sees it."""

    plain = False

    def __init__(self, channel, op):
        self.retired = False
        self.real = channel
        self._op = op

    def __getattr__(self, name):
        if self.retired and (name == "_readers" or name == "_writers"):
            return DEAD
        return getattr(self.real, name)

    def enter(self):
        """Its end is complete and counts from now on. Raises if the channel has ended."""
        ch = self.real
        if self._has_ended():
            raise ch.ended()
        life = ch._life
        if life is None:
            life = ch._life = Life()
        if self._op == READ:
            life.readers += 1
        else:
            life.writers += 1

    def retire(self):
        """It counts no more; whom to wake."""
        if self.retired:
            return None
        ch = self.real
        life = ch._life
        chain = None
        if self._op == READ:
            if life.readers == 1:
                life.note(ch, _RETIRED)
                chain = ch.end_all()
            life.readers -= 1
        else:
            if life.writers == 1:
                life.note(ch, _RETIRED)
                chain = ch.end_close()  # it may need memory: nothing has happened till then
            life.writers -= 1
        self.retired = True
        return chain

    # What must not be passed on by an end that has retired, and what may have to go without
    # memory, of which `__getattr__` takes some for a method.

    def ended(self):
        if self.retired and not self._has_ended():  # else what has ended it is told: it is harder
            return RetireException("this end has retired")
        return self.real.ended()

    def _has_ended(self):
        ch = self.real
        return ch.poisoned or self._op != READ and ch._readers is DEAD

    def resists(self, strength):
        return self.retired or self.real.resists(strength)

    def take(self):
        if self.retired:
            raise self.ended()
        return self.real.take()

    def give(self, value):
        if self.retired:
            raise self.ended()
        return self.real.give(value)

    def drain(self):
        self.real.drain()

    def post(self, offer):
        self.real.post(offer)

    def withdraw(self, offer):
        self.real.withdraw(offer)

    def queue_of(self, op):
        return self.real.queue_of(op)

    def give_back(self, offer, value):
        return self.real.give_back(offer, value)

    def end_all(self):
        return self.real.end_all()

    def end_writing(self):
        return self.real.end_writing()


def join(channel, kind):
    """A new end, of a class of counted ends, that counts."""
    share = Share(channel, kind.op)
    end = kind(share)
    share.enter()
    return end


class CountedEnd:
    """What the counted ends of both libraries share; they add `retire`."""

    counts = True

    def channel(self):
        return self._channel.real

    def forsake(self, exception):
        """Rules 4 and 5: its process ends by an exception."""
        if isinstance(exception, RetireException):
            self.retire()
        else:
            self.poison(strength_of(exception))

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc, traceback):
        # As with the ends of a process: by an exception it is poisoned, else it retires.
        if exc_type is None:
            self.retire()
        else:
            self.forsake(exc)
        return False


class CountedGuard(WriteGuard):
    """A write guard of a counted end. The libraries write out what to do with a plain one."""
