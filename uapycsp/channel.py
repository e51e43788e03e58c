"""Channels for coroutines.

    ch = Channel("numbers")
    await cout(7)          # cout = ch.write: returns when somebody has read it
    v = await cin()        # cin = ch.read
    async for v in cin:    # until the channel is poisoned or closed

An operation is one generator. It runs the ladder: ended? partner? (buffer?) else queue and park.
"""

from ufuture.loop import engine
from cspcore.channel import (  # noqa: F401
    MARKER,
    POISON,
    READ,
    TAKEN,
    WAITING,
    WRITE,
    BaseChannel,
    const,
    link,
    poison_channel,
)
from cspcore.choice import End, PendingWrite, title
from uapycsp.wait import NOTHING, coroutine, looping, next_of, wait_in_queue, wake_chain

# The engine keeps two names here up to date: `me`, which is the running process if it can serve as
# the offer it waits on, and `wake`.
me = wake = None
engine.bind(globals())
_READ = const(0)  # as cspcore's READ and WRITE, without looking them up in each operation
_WRITE = const(1)
# The operation of a Parallel that takes its first step: it has to learn from which channel it has
# read. From whoever waits in a plain write it does: that one's offer is what was woken.
taker = None
# Where `give` has woken nobody: how its writer stays until the end of an extended read, or None.
stays = None


class ReadEnd(End):
    """The reading end of a Channel."""

    # cspcore's take and post are written out here: a message through uapycsp.buffered's ends,
    # which call them, takes 27300 instructions instead of 11400 (CommsTime).
    op = READ

    @coroutine
    def csp_read(self):
        ch = self._channel
        o = ch._writers
        if o is not None:
            # The heap is searched from where the last object of one block was found. This tuple
            # is one; without it each new generator walks over all the garbage there is. It comes
            # first, for there may be no memory for it.
            (ch,)
            if o.alt is None:
                n = o.next
                ch._writers = n
                if n is not None:
                    n.prev = o.prev
                    o.next = None
                v = o.value
                o.value = TAKEN
                wake(o)
            elif o.op == MARKER:
                raise self.ended()
            else:
                v, o = ch.take()
                if o is not None:
                    wake(o)
                if taker is not None:
                    taker.channel = ch
            return v
        o = me
        if o is None:
            return (yield from wait_in_queue(self, WAITING))
        o.channel = ch
        o.op = _READ
        o.value = WAITING
        if ch._readers is None:
            ch._readers = o
        else:
            link(ch._readers, o)
        # No `try`, which would make the generator a third larger: a cancel calls o.cancelled.
        yield o
        v = o.value
        if v is POISON:
            raise self.ended()
        return v

    __call__ = csp_read

    def within(self, ms):
        """A call of at most ms: else TimeoutError, and nothing was read. 0 or less: one try."""
        from uapycsp.within import read

        return read(self, ms)

    def extended(self):
        """`async with cin.extended() as v`: the writer of v waits until the block ends."""
        from uapycsp.extended import Extended

        return Extended(self)

    __anext__ = next_of(csp_read)

    def __aiter__(self):
        return looping(self, ReadEnd(self._channel))

    def join(self):
        """As the channel's reader()."""
        return self._channel.reader()

    def poison(self, strength=None):
        """Poison the channel at once; what is buffered is dropped."""
        ch = self._channel
        if not ch.resists(strength):
            wake_chain(ch.end_all())
        return NOTHING


class WriteEnd(End):
    """The writing end of a Channel; written out as ReadEnd is."""

    op = WRITE

    @coroutine
    def csp_write(self, value):
        ch = self._channel
        o = ch._readers
        if o is not None:
            (ch,)  # one block, as in csp_read
            if o.alt is None:
                n = o.next
                ch._readers = n
                if n is not None:
                    n.prev = o.prev
                    o.next = None
                o.value = value
                wake(o)
            else:
                o = ch.give(value)
                if o is not None:
                    wake(o)
                elif stays is not None:
                    yield from stays
            return 0
        o = me
        if o is None:
            return (yield from wait_in_queue(self, value))
        o.channel = ch
        o.op = _WRITE
        o.value = value
        if ch._writers is None:
            ch._writers = o
        else:
            link(ch._writers, o)
        yield o  # without `try`, as in csp_read: a cancel asks o.stands, then calls o.cancelled
        if o.value is not TAKEN:
            raise self.ended()
        return 0

    __call__ = csp_write

    def within(self, ms, value):
        """As a call, but within ms: else TimeoutError, and nothing was written."""
        from uapycsp.within import write

        return write(self, ms, value)

    def __aiter__(self):
        raise TypeError("a write end can't be read")

    def alt_pending_write(self, value):
        """A guard that writes value when it is chosen."""
        guard = PendingWrite()
        guard.channel = self._channel
        guard.pending = value
        return guard

    def join(self):
        """As the channel's writer()."""
        return self._channel.writer()

    def poison(self, strength=None):
        """Poison the channel at once; what is buffered can still be read."""
        ch = self._channel
        if not ch.resists(strength):
            wake_chain(ch.end_writing())
        return NOTHING


class Ends:
    # What Channel and BufferedChannel share.

    serves = "tasks"

    def __getattr__(self, name):
        # The ends are made when they are first asked for.
        if name == "read":
            self.read = end = self._read_end(self)
        elif name == "write":
            self.write = end = self._write_end(self)
        else:
            return BaseChannel.__getattr__(self, name)
        return end

    def poison(self, strength=None):
        """Poison the channel at once: who waits or comes later gets PoisonException.

        It does not act if the channel's immunity is not less than its strength.
        """
        if not self.resists(strength):
            wake_chain(self.end_all())
        return NOTHING

    def close(self):
        """Forbid new writes; who already waits to write, and what is buffered, can be read."""
        wake_chain(self.end_close())
        return NOTHING

    def _join(self, kind):
        from uapycsp import counted

        return counted.join(self, getattr(counted, kind))

    def __repr__(self):
        return "<channel %s>" % title(self, "without a name")


class Channel(Ends, BaseChannel):
    """Rendezvous of any number of readers and writers.

    external: others than processes use it. immunity: the strongest poison that does not act on it.
    """

    plain = True
    _read_end = ReadEnd
    _write_end = WriteEnd

    def __init__(self, name="", external=False, immunity=0):
        BaseChannel.__init__(self, name, external)
        if immunity != 0:
            self._life = self._new_life(immunity)
