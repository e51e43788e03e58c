"""The process bodies of latency for plain calls: see benchmarks.plain."""

from benchmarks.latency import all_wait, sleep_ms


def bodies(csp):
    """What latency measures: (the network's consumer, by name the processes that wait, waiter)."""
    process = csp.process
    Alternative = csp.Alternative
    Timer = getattr(csp, "Timer", None)  # the thesis's designs have none

    @process
    def consumer(cin, samples, channels, going, n):
        count = 0
        value = cin()
        while going[0] or count < n:
            count += 1
            value += 1
            if cin() != value:
                samples.fault()
        for ch in channels:
            ch.poison()
        return count

    @process
    def sleep(quiet, ms, watch, samples, going, n):
        for _ in range(n):
            begun = watch.read_us()
            sleep_ms(ms)
            samples.take(int(watch.read_us() - begun) - 1000 * ms)
        going[0] = False

    @process
    def timer(quiet, ms, watch, samples, going, n):
        alt = Alternative(quiet, Timer(ms=ms))
        for _ in range(n):
            begun = watch.read_us()
            g, v = alt.select()
            samples.take(int(watch.read_us() - begun) - 1000 * ms)
            samples.fault(g is quiet)
        going[0] = False

    @process
    def waiter(cin):
        return cin()

    @process
    def idle(channels, ms, usage):
        alt = Timer and Alternative(Timer(ms=ms))
        while not all_wait(channels):
            sleep_ms(1)
        usage.begin()
        if alt:
            alt.select()
        else:
            sleep_ms(ms)
        usage.end()
        for i in range(len(channels)):
            channels[i].write(i)

    return consumer, {"sleep": sleep, "timer": timer}, waiter, idle
