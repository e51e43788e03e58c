"""Choice: exactly one of several guards. Knows no thread and no event loop, takes no lock.

A selection has three passes, all but the waiting in one step that nobody can interrupt:
1. `poll` looks at the guards in order and takes the first that is ready;
2. if there is none, `post` leaves an offer with every channel, and the party waits;
3. whoever meets one of these offers calls `paired`, which withdraws all the others at once.

Nothing is posted while the alternative looks, so it cannot meet itself; and what is posted is all
withdrawn in the moment of pairing, so at most one guard happens and no dead offer stays behind.
"""

from cspcore.channel import POISON, READ, TAKEN, WAITING, WRITE, Offer, unlink


class Guard:
    """Base of users' own guards. Both methods run under the library's lock and call no channel."""

    def enable(self, alt):
        """Return (True, value) if ready, or (False, None) and alt.schedule(self, value) later."""
        return False, None

    def disable(self, alt):
        """Called once for each enable that returned False, before the selection returns."""


class Skip(Guard):
    """A guard that is always ready; its value is None."""

    def enable(self, alt):
        return True, None


def whole_ms(ms):
    """A time in whole ms, rounded up: never early. TypeError or ValueError if it is none."""
    try:
        return -int(-ms // 1)
    except (TypeError, ValueError) as er:
        raise type(er)("a time is a finite number")


class Timer(Guard):
    """A guard that is ready so many seconds (or ms) after each select began; its value is None."""

    def __init__(self, seconds=None, ms=None):
        if (seconds is None) == (ms is None):
            raise ValueError("a Timer takes either seconds or ms")
        self.ms = whole_ms(seconds * 1000 if ms is None else ms)

    def enable(self, alt):
        if self.ms <= 0:
            return True, None
        alt.arm(self.ms, self)
        return False, None

    def disable(self, alt):
        alt.disarm()


class PendingWrite:
    """The wish to write one value, `pending`, to `channel`: an output guard.

    Who makes one stores both: one is made for each message of a parallel delta, and an `__init__`
    takes 1300 instructions more.
    """

    op = WRITE


class WriteGuard(Offer):
    """The same where it serves as the offer, too."""

    # One is made for each message of a parallel delta: what most of them never use stands here
    # (two attributes of its own take 0.3 us, seven 0.8 us).
    op = WRITE
    alt = None
    next = None
    prev = None
    value = WAITING

    def __init__(self, channel, pending):
        self.channel = channel
        self.pending = pending


WRITES = (PendingWrite, WriteGuard)


def home_of(guard):
    """The channel of a write guard, which an extended read may hold at the moment."""
    ch = guard.channel
    return ch.home if hasattr(ch, "home") else ch


def refuse_other(channel, users):
    """TypeError for a channel of the other library, where nobody would be woken."""
    if channel.serves != users:
        raise TypeError("%s can't use an end for %s" % (users, channel.serves))


class End:
    """One end of a channel."""

    counts = False  # whether it is a CountedEnd

    def __init__(self, channel):
        self._channel = channel

    def channel(self):
        """The channel that this is an end of."""
        return self._channel

    def ended(self):
        """What an operation raises when the channel has ended."""
        return self._channel.ended()

    def __repr__(self):
        kind = "read end" if self.op == READ else "write end"
        return "<%s of %s>" % (kind, title(self._channel))


def title(channel, unnamed="an unnamed channel"):
    """The name of a channel for messages."""
    name = channel.name  # of any type: a row of channels may be named by numbers
    return ("" if name is None else str(name)) or unnamed


class Choice:
    """What the alternatives of both libraries share: guards, their offers, and what was chosen.

    `_chosen` is None, or the index of the chosen guard; `waits` is true from post to paired.
    `_own` counts the guards that are no channel operations; or 1: see cspcore.masked.
    """

    serves = None  # as a channel's

    def __init__(self, *guards):
        if not guards:
            raise ValueError("an alternative needs at least one guard")
        self.guards = guards
        self._offers = offers = []
        self._own = 0
        inputs = 0
        for g in guards:
            if isinstance(g, End) and g.op == READ:
                offers.append(self._offer(g._channel, READ, len(offers)))
                inputs += 1
            elif isinstance(g, WRITES):
                offers.append(self._offer(home_of(g), WRITE, len(offers)))
            elif hasattr(g, "enable") and hasattr(g, "disable") and not isinstance(g, type):
                offers.append(None)
                self._own += 1
            else:
                raise TypeError("a guard is expected: a read end, alt_pending_write, Skip, Timer")
        # Only read ends: their channels are looked at in a shorter loop (50 ns a guard, not 190).
        self._inputs = [o.channel for o in offers] if inputs == len(guards) else None
        self._enabled = []
        self._chosen = None
        self._value = None
        self._order = ()  # of fair_select: indices of all, who was chosen last comes last
        self.waits = False

    def _offer(self, channel, op, index):
        refuse_other(channel, self.serves)
        offer = Offer(channel, op, self)
        offer.index = index
        return offer

    def fair_select(self, ready=None):
        """As select, but a ready guard is passed over at most once per other guard."""
        if len(self._order) < len(self.guards):  # none yet, or an interrupt came amid `last`
            self._order = list(range(len(self.guards)))
        return self.select(ready, True)

    def poll(self, fair):
        """Look at the guards, as given or in fair order: the first ready one's index, or -1.

        Guards of users are enabled on the way and, if one is ready, disabled again.
        """
        # No more here than 11 words: a call that needs more takes them from the heap.
        if fair or self._inputs is None:
            return self._look(fair)
        i = 0
        for ch in self._inputs:
            if ch._writers is not None:
                return i
            i += 1
        return -1

    def _look(self, order):
        order = order and self._order
        offers = self._offers
        n = len(offers)
        k = 0
        while k < n:
            i = order[k] if order else k
            o = offers[i]
            if o is None:
                if self._enable(i):
                    return i
            elif (o.channel._writers if o.op == READ else o.channel._readers) is not None:
                return i
            k += 1
        return -1

    def last(self, i):
        """A fair choice took guard i: all others come before it from now on.

        So of two guards, one that is passed over for the other comes before it until it is chosen.
        """
        self._order.remove(i)
        self._order.append(i)

    def _enable(self, i):
        g = self.guards[i]
        try:
            ready, value = g.enable(self)
            if not ready:
                try:
                    self._enabled.append(g)
                except MemoryError:
                    g.disable(self)
                    raise
        except BaseException:
            self.disable_all()
            raise
        if ready:
            self._value = value
        return ready

    def mask(self, ready):
        """Keep the guards whose value in ready is false out of the selection that begins."""
        from cspcore.masked import mask

        mask(self, ready)

    def disable_all(self):
        """Disable what was enabled; all of it, also if one guard of a user's raises."""
        try:
            while self._enabled:
                self._enabled.pop().disable(self)
        finally:
            if self._enabled:
                self.disable_all()

    def commit(self, i):
        """Let the ready guard i happen; return whom to wake. Its value is left in `_value`."""
        if self._own:
            self.disable_all()
        o = self._offers[i]
        if o is None:
            return None
        ch = o.channel
        if o.op != READ:
            self._value = 0
            return ch.give(self.guards[i].pending)
        w = ch._writers
        if w.alt is None and ch.plain:
            # As take does, which would make a pair.
            ch._writers = unlink(w, w)
            self._value = w.value
            w.value = TAKEN
            return w
        self._value, party = ch.take()
        return party

    def post(self):
        """Leave an offer with every channel; with none, if there is too little memory for that."""
        self._chosen = None
        self.waits = True
        n = 0
        try:
            for o in self._offers:
                if o is not None:
                    o.value = WAITING if o.op == READ else self.guards[n].pending
                    o.channel.post(o)
                n += 1
        except BaseException:
            self.withdraw(n)
            raise

    def paired(self, offer):
        """One of the offers has met its counterpart: withdraw them all. Returns whom to wake."""
        self._chosen = offer.index
        self.waits = False
        for o in self._offers:  # as withdraw: a thread's stack may be short
            if o is not None:
                o.channel.withdraw(o)
        return self.party()

    def schedule_core(self, guard, value):
        """A guard of a user is ready. Returns whether it was chosen; party() is to wake then.

        Never a channel's: that happens only when it meets its counterpart.
        """
        if not self.waits:
            return False
        for i in range(len(self.guards)):
            if self.guards[i] is guard and self._offers[i] is None:
                self._value = value
                self._decide(i)
                return True
        return False

    def hears_others(self):
        """Whether others than processes that have not ended can make one of its guards ready."""
        for i in range(len(self.guards)):
            if self._offers[i] is None:
                g = self.guards[i]
                if not getattr(g, "tells_of_process", False) or g._handle.done():
                    return True
        return False

    def withdraw(self, n=-1):
        """Take all offers out of their queues, or the first n; nothing was chosen."""
        self.waits = False
        for o in self._offers:
            if n == 0:
                return
            n -= 1
            if o is not None:
                o.channel.withdraw(o)

    def _decide(self, i):
        self._chosen = i
        self.withdraw()

    def result(self):
        """After the wait: the value of the chosen guard; PoisonException if its channel ended."""
        o = self._offers[self._chosen]
        if o is None:
            v = self._value
            self._value = None
            return _happened(self.guards[self._chosen], v)
        v = o.value
        o.value = WAITING
        if v is POISON:
            raise o.channel.ended()
        return v if o.op == READ else 0


def _happened(guard, value):
    """The value of a guard that is no channel operation, in the moment when select returns it.

    Some of the library's own are told so, and answer with their value.
    """
    return guard._happened(value) if hasattr(guard, "_happened") else value
