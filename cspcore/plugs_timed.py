"""Processes of plugnplay that depend on time; all times are in milliseconds."""

from cspcore.timers import Beat


def build(csp):
    """The processes of this group as a dict by name."""
    process = csp.process
    Alternative = csp.Alternative
    Timer = csp.Timer
    clock = csp.timers

    @process
    async def FixedDelay(cin, cout, delay_ms):
        wait = Alternative(Timer(ms=delay_ms))
        while True:
            v = await cin()
            await wait.select()
            await cout(v)

    @process
    async def Regulate(cin, cout, interval_ms, reset=None):
        beat = Beat(clock, interval_ms)
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
        beat = Beat(clock, interval_ms)
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
