"""Latency: how late a wait ends beside a network that never rests, and what mere waiting takes.

    sleep    an asyncio task, or for threads a process, sleeps `ms` milliseconds
    timer    a process selects between a channel that nobody writes to and a Timer of `ms`
    stream   an asyncio task reads a byte from a socket; a thread writes one every `ms`
    idle     ten processes wait on channels, and one for `idle_ms` on a Timer

The network is CommsTime with a sequential delta: some process can go on at any time. us late: the
time since the wait should have ended, or since the byte was written; asyncio counts whole
milliseconds, so that a sleep can end up to one too early. Idle: us of processor time in each
second that passes, as the system counts them (in steps of 10 ms on Linux); 20000 are 2 %. p50_us
and p99_us are of all samples. The floors have no network beside them, but what takes as much time:
a task that gives way for ever, and a thread that never does.
"""

import _thread
import sys
import time

from benchmarks import libs
from benchmarks.chrono import Chrono
from benchmarks.harness import Table
from benchmarks.samples import Samples

_WAITERS = 10

# What our libraries are to keep to.
GOAL_LATE_US = 2000     # 99 of 100
GOAL_IDLE_US = 20000

if hasattr(time, "sleep_ms"):
    sleep_ms = time.sleep_ms
else:

    def sleep_ms(ms):
        """As MicroPython's: the thread sleeps."""
        time.sleep(ms / 1000)


class Usage:
    """The processor time that this process takes between `begin` and `end`."""

    def __init__(self, samples):
        self._samples = samples
        self._watch = Chrono()

    def begin(self):
        self._before = processor_us()
        self._watch.start()

    def end(self):
        self._watch.stop()
        used = processor_us() - self._before
        self._samples.take(int(used * 1000000 // self._watch.read_us()))


def processor_us():
    """The processor time that this process has taken; None where the port does not tell it."""
    if sys.implementation.name == "cpython":
        return int(time.process_time() * 1000000)
    try:
        with open("/proc/self/stat") as f:
            # What stands in brackets, the program's name, may have blanks; utime and stime are
            # the 14th and 15th word.
            words = f.read().split(")")[-1].split()
    except OSError:
        return None
    return (int(words[11]) + int(words[12])) * 10000


def all_wait(channels):
    """Whether somebody waits at each of the channels."""
    return not [ch for ch in channels if not libs.waiting_in(ch)]


# --- processes

def bodies(csp, loop):
    """(The network's consumer, by name the processes that wait, waiter, idle).

    `loop` is benchmarks.latency_asyncio; None: there is no event loop, and a process sleeps with
    its thread.
    """
    process = csp.process
    Alternative = csp.Alternative
    Timer = getattr(csp, "Timer", None)  # the thesis's designs have none

    @process
    async def consumer(cin, samples, channels, going, n):
        count = 0
        value = await cin()
        while going[0] or count < n:
            count += 1
            value += 1
            if await cin() != value:
                samples.fault()
        for ch in channels:
            ch.poison()
        return count

    @process
    async def sleep(quiet, ms, watch, samples, going, n):
        for _ in range(n):
            begun = watch.read_us()
            sleep_ms(ms)
            samples.take(int(watch.read_us() - begun) - 1000 * ms)
        going[0] = False

    @process
    async def timer(quiet, ms, watch, samples, going, n):
        alt = Alternative(quiet, Timer(ms=ms))
        for _ in range(n):
            begun = watch.read_us()
            g, v = await alt.select()
            samples.take(int(watch.read_us() - begun) - 1000 * ms)
            samples.fault(g is quiet)
        going[0] = False

    @process
    async def waiter(cin):
        return await cin()

    async def pause(ms):
        if Timer is None:
            await loop.sleep_ms(ms)
        else:
            await Alternative(Timer(ms=ms)).select()

    @process
    async def idle(channels, ms, usage):
        while not all_wait(channels):
            await pause(1)
        usage.begin()
        await pause(ms)
        usage.end()
        for i in range(len(channels)):
            await channels[i].write(i)

    by_name = {"timer": timer, "sleep": sleep}
    if loop:
        by_name["sleep"] = loop.in_task(csp, loop.sleeps)
        by_name["stream"] = loop.in_task(csp, loop.reads)
    return consumer, by_name, waiter, idle


# --- rows

def _beside_a_network(csp, network, consumer, body, samples, sizes):
    # How many messages the network has passed meanwhile; it goes on until they are n, since one
    # that has not begun yet would disturb nobody.
    from benchmarks import commstime_network
    channels, others = commstime_network.ring(csp, *network)
    quiet = csp.Channel("quiet")
    going = [True]
    n = sizes["n"]
    watch = Chrono()
    watch.start()
    results = csp.run(
        consumer(channels[3].read, samples, channels, going, n),
        body(quiet.read, sizes["ms"], watch, samples, going, n), *others)
    return results[0]


def _all_wait(csp, waiter, idle, samples, sizes):
    channels = [csp.Channel("w{}".format(i)) for i in range(_WAITERS)]
    procs = [waiter(ch.read) for ch in channels]
    procs.append(idle(channels, sizes["idle_ms"], Usage(samples)))
    samples.fault(csp.run(*procs)[:-1] != list(range(_WAITERS)))


def _tell(table, lib, api, what, samples, n, messages, goal):
    p50, p99 = samples.percentiles(50, 99)
    if what == "idle":
        remark = "{:.1f} %".format(sum(samples.us) / len(samples.us) / 10000)
    else:
        remark = "p50 {} p99 {}".format(p50, p99)
    if goal:
        remark += ", goal {}: {}".format(
            "under 2 %" if what == "idle" else "p99 up to {}".format(goal),
            "met" if p99 < goal + (what != "idle") else "missed")
    table.row(lib, what, n, samples, api, remark=remark,
              more=(("p50_us", p50), ("p99_us", p99), ("messages", messages)))


def _loop():
    # Not before it is needed.
    from benchmarks import latency_asyncio
    return latency_asyncio


def _row(table, lib, api, what, sizes):
    csp = libs.load(lib, api, sizes["thesis_queue"])
    if libs.is_plain(lib, api):
        from benchmarks import plain, plain_latency
        consumer, by_name, waiter, idle = plain_latency.bodies(csp)
        prefix, successor, _ = plain.commstime(csp)
        delta = plain.commstime_deltas(csp)["seq"]
    else:
        from benchmarks import commstime_network
        loop = None if lib.endswith("upycsp") else _loop()
        consumer, by_name, waiter, idle = bodies(csp, loop)
        prefix, successor, _ = commstime_network.bodies(csp)
        delta = commstime_network.deltas(csp)["seq"]
    n = 1 if what == "idle" else sizes["n"]
    samples = Samples("latency {} {} {}".format(lib, api or "", what), n, sizes["runs"])
    messages = 0
    while samples.next():
        if what == "idle":
            _all_wait(csp, waiter, idle, samples, sizes)
        else:
            messages += _beside_a_network(csp, (prefix, delta, successor), consumer, by_name[what],
                                          samples, sizes)
    goal = None
    if not libs.is_thesis(lib):
        goal = GOAL_IDLE_US if what == "idle" else GOAL_LATE_US
    if lib == "upycsp" and what == "sleep":
        goal = None     # it is the port that sleeps
    _tell(table, lib, api, what, samples, n, messages, goal)


def _never_rests(going, counts, ended):
    counts[0] += 1
    while going[0]:
        counts[0] += 1
    ended.release()


def _beside_a_thread(ms, watch, samples, n):
    going = [True]
    counts = [0]
    ended = _thread.allocate_lock()
    ended.acquire()
    _thread.start_new_thread(_never_rests, (going, counts, ended))
    for _ in range(n):
        begun = watch.read_us()
        sleep_ms(ms)
        samples.take(int(watch.read_us() - begun) - 1000 * ms)
    going[0] = False
    ended.acquire()
    return counts[0]


def _floor_row(table, name, what, sizes):
    n = sizes["n"]
    samples = Samples("latency {} {}".format(name, what), n, sizes["runs"])
    watch = Chrono()
    watch.start()
    ms = sizes["ms"]
    rounds = 0
    while samples.next():
        if name == "floor-threads":
            rounds += _beside_a_thread(ms, watch, samples, n)
        else:
            loop = _loop()
            waits = loop.sleeps if what == "sleep" else loop.reads
            rounds += loop.floor(waits, ms, watch, samples, n)
    _tell(table, name, None, what, samples, n, rounds, None)


def _waits(lib):
    # What each can do.
    if lib in libs.FLOORS:
        return ("sleep", "stream") if lib == "floor-asyncio" else ("sleep",)
    found = ["sleep", "idle"]
    if not libs.is_thesis(lib):
        found.append("timer")
    if not lib.endswith("upycsp"):
        found.append("stream")
    return found


def _lacks(what):
    # Why this port can't measure it, or None.
    if what == "idle" and processor_us() is None:
        return "this port does not tell how much processor time it has taken"
    if what == "stream":
        try:
            for sock in _loop().sockets():
                sock.close()
        except OSError as e:
            return "two sockets can't be connected here ({})".format(e)
    return None


def main(chosen, apis, sizes):
    """Prints a row for each library and wait that this port has; raises WrongResult.

    OverflowError for more ms than a port sleeps.
    """
    if sizes["ms"] >> 30:
        raise OverflowError
    table = Table("latency", "us late, ms={} n={} runs={}; idle: us of processor time a second".
                  format(sizes["ms"], sizes["n"], sizes["runs"]), "p50, p99, goal")
    whats = []
    for what in sizes["what"]:
        if not [lib for lib in chosen if what in _waits(lib)]:
            continue
        problem = _lacks(what)
        if problem:
            print("no {}: {}".format(what, problem))
        else:
            whats.append(what)
    for lib, api in libs.each(chosen, apis):
        for what in whats:
            if what in _waits(lib):
                _row(table, lib, api, what, sizes)
    for lib in chosen:
        if lib in libs.FLOORS:
            for what in whats:
                if what in _waits(lib):
                    _floor_row(table, lib, what, sizes)
