"""Timers that do not begin anew with each selection: At, a moment, and Every, regular moments.

    beat = Every(1000)
    alt = Alternative(cin, beat)
    while True:
        g, v = await alt.select()    # beat once a second, however often cin is read between

The libraries say whose ticks they count: `clock`. A selection that takes another guard leaves them
as they are: what has passed is still ready at the next one. Every moves on in the moment when
select returns it, and not before (Choice tells it): a cancelled selection has used up nothing.
"""

from cspcore.choice import Timer

LONGEST_MS = 1 << 27  # a quarter of what ticks_diff spans on a board: a day and a half


def in_range(interval_ms):
    """The interval, if the ticks can tell it; else TypeError or ValueError."""
    if not isinstance(interval_ms, int):
        raise TypeError("an interval is a whole number of ms")
    if not 0 < interval_ms <= LONGEST_MS:
        raise ValueError("an interval is 1 to %d ms" % LONGEST_MS)
    return interval_ms


class Beat:
    """Moments interval_ms apart, which do not drift: each is counted from the one before."""

    def __init__(self, clock, interval_ms):
        self._clock = clock  # has ticks_ms, ticks_add, ticks_diff
        self.start(interval_ms)

    def start(self, interval_ms):
        """Count anew, from now on."""
        self.interval_ms = in_range(interval_ms)
        self.due = self._clock.ticks_add(self._clock.ticks_ms(), interval_ms)

    def rest_ms(self):
        """How long it is to the moment; not positive if it has come."""
        return self._clock.ticks_diff(self.due, self._clock.ticks_ms())

    def skip(self):
        """On to the next moment that has not come yet; how many have."""
        late = -self.rest_ms()
        if late < -self.interval_ms or late > LONGEST_MS:  # after so long the ticks tell nothing
            self.start(self.interval_ms)
            return 1
        n = late // self.interval_ms + 1  # 0 if it has not come
        self.due = self._clock.ticks_add(self.due, n * self.interval_ms)
        return n


class At(Timer):
    """A guard that is ready from a moment on, in ticks as of ticks_ms; its value is None.

    The moment may be ahead by half of what ticks span; once it was seen to have passed, it has.
    """

    def __init__(self, ticks):
        self.set(ticks)

    def set(self, ticks):
        """Another moment, for the selections to come."""
        if not isinstance(ticks, int):
            raise TypeError("a moment is a whole number of ticks")
        self._passed = None  # the moment that was seen to have passed
        self.ticks = ticks

    def rest_ms(self, ticks):
        if self._passed == ticks:
            return 0
        return self.clock.ticks_diff(ticks, self.clock.ticks_ms())

    def enable(self, alt):
        ms = self.rest_ms(self.ticks)
        if ms <= 0:
            return True, None
        alt.arm(ms, self)
        return False, None

    def _happened(self, value):
        ticks = self.ticks  # which may be another one by now, and ahead
        if self.rest_ms(ticks) <= 0:
            self._passed = ticks


class Every(Timer):
    """A guard that is ready each ms milliseconds, from the first selection that looks at it on.

    Its value: how many such moments have passed since it was chosen last, 1 if none was missed.
    """

    def __init__(self, ms):
        self.ms = in_range(ms)
        self._beat = None

    def enable(self, alt):
        if self._beat is None:
            self._beat = Beat(self.clock, self.ms)
        ms = self._beat.rest_ms()
        if not 0 < ms <= self.ms:  # more: nobody looked for so long that the ticks went round
            return True, None
        alt.arm(ms, self)
        return False, None

    def _happened(self, value):
        return self._beat.skip() or 1
