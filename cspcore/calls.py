"""Call channels: a client's request, taken by one of the servers, and its answer. Takes no lock.

To call is to write a Request to the call channel, which is a rendezvous, and then to read its
answer from the request, which is a channel, too, of one value that nobody waits to write. So a
client that goes away before a server has taken its request leaves nothing, one that goes away
later is not waited for, and both waits are reported as any reader's and writer's.

A call channel knows the requests that a server has taken and that have no answer yet: its poison,
which the death of a server brings, ends those as well.
"""

from cspcore.buffered import OPEN
from cspcore.channel import DEAD, READ, WRITE, BaseChannel, in_order, link, unlink
from cspcore.choice import End, title
from cspcore.errors import PoisonException
from cspcore.process import no_memory


class Request(BaseChannel):
    """A call that a server has taken: `args`, to be answered once."""

    # `_writers` is None until there is an answer (then OPEN) or poison (then DEAD). `next` and
    # `prev` link the requests that were taken and have no answer.
    op = WRITE
    words = ("waits for an answer of ", None, "an unnamed call channel")  # for reports

    def __init__(self, calls, args):
        BaseChannel.__init__(self, calls.name, calls.external)
        self._life = None  # an attribute: later other threads may look into this object
        self.calls = calls
        self.args = args
        self.taken = False
        self.settled = False  # answered, or poisoned
        self.failed = False  # the answer is an exception
        self.value = None
        self.next = None
        self.prev = None

    def answer(self, value):
        """Answer the call; acts at once and never waits, even if the client is gone."""
        return self._settle(value, False)

    def fail(self, exception):
        """Let the call raise an exception."""
        if not isinstance(exception, BaseException):
            raise TypeError("an exception is expected")
        return self._settle(exception, True)

    def poison(self):
        """Let the call raise PoisonException."""
        return self.ruin(None)

    def ruin(self, exception):
        """The same for an exception, of whose strength the poison is."""
        strength = getattr(exception, "strength", None)
        return self._wake(self.calls.atomically(self._ruined, strength))

    def _ruined(self, strength):
        if not self.settled:
            try:
                self.resists(strength)  # which notes it
            except MemoryError:
                pass  # it is stronger than it need be
        return self.end_all()

    # In a `with` block it is an extended rendezvous: the client waits until the block has ended.

    def __enter__(self):
        return self

    def __exit__(self, kind, exception, traceback):
        if kind is not None:
            self.ruin(exception)
        elif not self.settled:
            self.answer(None)

    def _settle(self, value, failed):
        return self._wake(self.calls.atomically(self._answered, value, failed))

    def _wake(self, party):
        if party is not None:
            self.calls.wake(party)
        return self.calls.nothing

    def _answered(self, value, failed):
        if self._writers is DEAD:
            return None
        if self.settled:
            raise RuntimeError("a call is answered once")
        self.settled = True
        self.calls.forget(self)
        self.failed = failed
        if self._readers is not None:
            return self.give(value)
        self.value = value
        self._writers = OPEN
        return None

    def take(self):
        if self._writers is DEAD:
            return BaseChannel.take(self)  # which raises
        return self.value, None

    def give_back(self, offer, value):
        return None  # the client is gone

    def _end(self, last):
        return in_order(self.end(None))

    def end(self, chain):
        """Poison the call; whom to wake is put before chain."""
        if not self.settled:
            self.settled = True
            if self.taken:
                self.calls.forget(self)
            if self._readers is not None:
                chain = self._end_offer(self._readers, chain)
            self._readers = self._writers = DEAD
        return chain


class Calls(BaseChannel):
    """A rendezvous of requests that remembers those it has passed on."""

    words = ("waits for a call of ", "calls ", "an unnamed call channel")

    def __init__(self, name, external):
        BaseChannel.__init__(self, name, external)
        self._life = None
        self._open = None  # a queue of requests

    def take(self):
        pair = BaseChannel.take(self)
        self._pass_on(pair[0])
        return pair

    def give(self, request):
        party = BaseChannel.give(self, request)
        self._pass_on(request)
        return party

    def _pass_on(self, request):
        # It may be for the second time, if a server was cancelled before it knew.
        if not request.taken:
            request.taken = True
            self._open = link(self._open, request)

    def forget(self, request):
        self._open = unlink(self._open, request)

    def resists(self, strength):
        r = self._open
        while r is not None:  # each notes what it ends by
            BaseChannel.resists(r, strength)
            r = r.next
        return BaseChannel.resists(self, strength)

    @staticmethod
    def alone(exception):
        """What a client raises: others may have got the same."""
        return exception

    def _end_readers(self, chain):
        while self._open is not None:
            chain = self._open.end(chain)
        return BaseChannel._end_readers(self, chain)

    def end_writing(self):
        return self.end_all()  # nobody wants an answer any more

    # What users see. A library adds: serves; write_end and read_end, which make ends for any kind
    # of channel; wake(party); atomically(f, *args), which calls f under its lock; nothing, what
    # `poison` returns; and the classes of its two ends.

    def make_ends(self):
        self.call = self.call_end(self)
        self.serve = self.serve_end(self)

    def poison(self, strength=None):
        """Poison it at once: who calls, serves or waits for an answer gets PoisonException."""
        return self.serve.poison(strength)

    def queue_len(self):
        """How many calls wait for a server, or servers for a call."""
        return self.atomically(BaseChannel.queue_len, self)

    def verify(self):
        """Raise AssertionError where the channel's invariants do not hold."""
        self.atomically(BaseChannel.verify, self)

    def __repr__(self):
        return "<call channel %s>" % title(self, "without a name")


class BaseCallEnd(End):
    """The clients' end: `answer = [await] call(*args)`."""

    op = WRITE

    def __init__(self, channel):
        End.__init__(self, channel)
        self._write = channel.write_end(channel)

    def poison(self, strength=None):
        """Poison the channel at once."""
        return self._write.poison(strength)


class AwaitedCallEnd(BaseCallEnd):
    """The same where operations are awaited."""

    async def __call__(self, *args):
        ch = self._channel
        request = AwaitedRequest(ch, args)
        await self._write(request)
        v = await ch.read_end(request)()
        if request.failed:
            raise ch.alone(v)
        return v


class BaseServeEnd(End):
    """The servers' end: `[await] serve(function)`; as a guard its value is a request."""

    op = READ

    def __init__(self, channel):
        End.__init__(self, channel)
        self._read = channel.read_end(channel)

    def accept(self):
        """Wait for a call and take it: a request, which has to be answered."""
        return self._read()

    def poison(self, strength=None):
        """Poison the channel at once, calls that were taken and not answered included."""
        return self._read.poison(strength)


def checked(function):
    """TypeError, not the client's, if what is to answer a call is no function."""
    if not callable(function):
        raise TypeError("a function is expected")


def not_served(request, exception):
    """What becomes of a call whose function has raised; whether the server goes on."""
    if isinstance(exception, PoisonException) or not isinstance(exception, Exception):
        request.ruin(exception)
        return False
    request.fail(no_memory() if isinstance(exception, MemoryError) else exception)
    return True


class AwaitedServeEnd(BaseServeEnd):
    """The same where operations are awaited."""

    async def __call__(self, function):
        """Wait for a call and answer it by function(*args), which may be an async def."""
        checked(function)
        await (await self._read()).serve(function)


class AwaitedRequest(Request):
    async def serve(self, function):
        """Answer the call by function(*args), or let it raise what that raises."""
        checked(function)
        try:
            v = function(*self.args)
            if hasattr(v, "send") and hasattr(v, "throw"):
                v = await v
        except BaseException as er:
            if not_served(self, er):
                return
            raise
        self.answer(v)
