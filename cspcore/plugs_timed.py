"""Processes of plugnplay that depend on time; all times are in milliseconds."""

try:
    from time import ticks_add, ticks_diff, ticks_ms
except ImportError:
    import time

    def ticks_ms():
        return int(time.monotonic() * 1000)

    def ticks_add(t, ms):
        return t + ms

    def ticks_diff(a, b):
        return a - b


_LONGEST_MS = 1 << 27  # a quarter of what ticks_diff spans on a board: a day and a half


class Beat:
    """Moments interval_ms apart, which do not drift: each is counted from the one before."""

    def __init__(self, interval_ms):
        self.start(interval_ms)

    def start(self, interval_ms):
        """Count anew, from now on."""
        if not 0 < interval_ms <= _LONGEST_MS:
            raise ValueError("an interval is 1 to %d ms" % _LONGEST_MS)
        self.interval_ms = interval_ms
        self.due = ticks_add(ticks_ms(), interval_ms)

    def rest_ms(self):
        """How long it is to the moment; not positive if it has come."""
        return ticks_diff(self.due, ticks_ms())

    def skip(self):
        """On to the next moment that has not come yet."""
        late = -self.rest_ms()
        if late < -self.interval_ms or late > _LONGEST_MS:  # after so long the ticks tell nothing
            self.start(self.interval_ms)
        elif late >= 0:
            self.due = ticks_add(self.due, late - late % self.interval_ms + self.interval_ms)


def build(csp):
    """The processes of this group as a dict by name."""
    process = csp.process
    Alternative = csp.Alternative
    Timer = csp.Timer

    @process
    async def FixedDelay(cin, cout, delay_ms):
        wait = Alternative(Timer(ms=delay_ms))
        while True:
            v = await cin()
            await wait.select()
            await cout(v)

    @process
    async def Regulate(cin, cout, interval_ms, reset=None):
        beat = Beat(interval_ms)
        timer = Timer(ms=interval_ms)
        alt = Alternative(timer, cin) if reset is None else Alternative(reset, timer, cin)
        v = None
        while True:
            timer.ms = beat.rest_ms()
            g, got = await alt.select()
            if g is cin:
                v = got
                continue
            if g is reset:
                beat.start(got)
            await cout(v)
            beat.skip()

    @process
    async def Sampler(cin, cout, interval_ms):
        beat = Beat(interval_ms)
        timer = Timer(ms=interval_ms)
        alt = Alternative(timer, cin)
        while True:
            v = await cin()  # without a timer: what has no input rests
            beat.skip()
            g = None
            while g is not timer:
                timer.ms = beat.rest_ms()
                g, got = await alt.select()
                if g is cin:
                    v = got
            await cout(v)

    return {"FixedDelay": FixedDelay, "Regulate": Regulate, "Sampler": Sampler}
