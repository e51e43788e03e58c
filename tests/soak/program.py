"""The soak itself, inside the interpreter: eight networks at a time of each library it is given.

    micropython program.py LIBRARY SEED SECONDS MESSAGES LIMIT LOOK_MS LOOKS FAULT PATH...

LIBRARY is upycsp, uapycsp, or both: upycsp's networks in threads beside a run of uapycsp's in the
main thread. Ends after SECONDS and LOOKS, or if MESSAGES is not 0 when there were so many. Every
LOOK_MS it looks, and prints a line with what it has counted; LIMIT is how many seconds a slot may
stand still. FAULT is a word for what to do wrong (see do_wrong), so that what watches it can be
tested.
"""

import _thread
import gc
import sys
import time

LIBRARY = sys.argv[1]
SEED, SECONDS, MESSAGES, LIMIT, LOOK_MS, LOOKS = [int(x) for x in sys.argv[2:8]]
FAULT = sys.argv[8]
sys.path[:1] = sys.argv[9:]

from ledger import Chance, Slot, State  # noqa: E402

# All is loaded, also what comes on demand, before there are threads.
import cspcore.verify  # noqa: E402, F401

if LIBRARY != "uapycsp":
    import kept_threads  # noqa: E402
    import networks_plain  # noqa: E402
    import upycsp  # noqa: E402
    import uthreading  # noqa: E402

    upycsp.run(networks_plain.returns(0))
if LIBRARY != "upycsp":
    import cancelling  # noqa: E402
    import networks  # noqa: E402
    import uapycsp  # noqa: E402

    uapycsp.run(networks.returns(0))
if LIBRARY == "both":
    import bridging  # noqa: E402

SLOTS = 8
MARK = "SOAK "

if hasattr(time, "ticks_ms"):
    ticks_ms = time.ticks_ms
    ticks_diff = time.ticks_diff
else:

    def ticks_ms():
        return int(time.monotonic() * 1000)

    def ticks_diff(a, b):
        return a - b


try:
    import json
except ImportError:
    import ujson as json

if hasattr(gc, "mem_alloc"):

    def heap():
        gc.collect()
        return gc.mem_alloc()

else:

    def heap():
        gc.collect()
        return sys.getallocatedblocks()


class Monitor:
    """Looks now and then: prints the figures, finds slots that stand still, says when to stop."""

    def __init__(self, slots, state, reports):
        self.slots = slots
        self.state = state
        self.reports = reports
        self.start = self.then = ticks_ms()
        self.elapsed = self.waited = self.looks = 0
        self.progress = [-1] * len(slots)
        self.since = [0] * len(slots)
        self.leak = []

    def look(self):
        """Whether to look again."""
        now = ticks_ms()
        passed = ticks_diff(now, self.then)
        self.elapsed += passed
        self.looks += 1
        # A machine that stood still is no hang: a look counts as two at most.
        self.waited += min(passed, 2 * LOOK_MS)
        self.then = now
        if FAULT != "-":
            do_wrong(self)
        messages, networks = totals(self.slots)
        tell(
            "look",
            ms=self.elapsed,
            messages=messages,
            networks=networks,
            heap=heap(),
            threads=sum(thread_counts()),
            runs=[[s.kind, s.seed] for s in self.slots],
        )
        if self.state.fault:
            tell("fault", text=self.state.fault)
            self.state.stop = True
        over = self.elapsed >= SECONDS * 1000 and self.looks >= LOOKS
        if over or MESSAGES and messages >= MESSAGES:
            self.state.stop = True
        return not (self._find_hang() or self.state.ended) and self._some_run()

    def _some_run(self):
        for s in self.slots:
            if not s.ended:
                return True
        return False

    def _find_hang(self):
        for i in range(len(self.slots)):
            s = self.slots[i]
            p = s.progress()
            if p != self.progress[i] or s.ended:
                self.progress[i] = p
                self.since[i] = self.waited
            elif self.waited - self.since[i] > LIMIT * 1000:
                lines = ["%s stands still" % s]
                for report in self.reports:
                    lines += report()
                tell("hang", text="\n".join(lines))
                self.state.stop = True
                return True
        return False


def do_wrong(monitor):
    monitor.leak.append(None)
    if FAULT == "leak":
        monitor.leak.append(bytearray(250000))
    elif FAULT == "threads":
        leave_threads(12)
    elif len(monitor.leak) != 3:
        return
    elif FAULT == "thread":
        leave_threads(1)
    elif FAULT == "crash":
        try:
            import uctypes
        except ImportError:
            import os

            os.abort()
        uctypes.bytearray_at(8, 8)[0] = 1
    elif FAULT == "mute":
        while True:
            pass


def leave_threads(n):
    for _ in range(n):
        uthreading.Thread(target=upycsp.Channel("c", external=True).read, daemon=True).start()


def totals(slots):
    return sum([s.messages for s in slots]), sum([s.networks for s in slots])


def tell(kind, **words):
    # One write, so that another thread's output can't come between.
    words["kind"] = kind
    sys.stdout.write(MARK + json.dumps(words) + "\n")
    if hasattr(sys.stdout, "flush"):
        sys.stdout.flush()


def thread_counts():
    """How many kept threads are (idle, at work)."""
    kept = sys.modules.get("uthreading.kept")
    return kept.counts() if kept else (0, 0)


def still_at_work():
    """How many threads do not end their work, now that nothing is left to do."""
    for _ in range(500):
        if not thread_counts()[1]:
            return 0
        time.sleep(0.01)
    return thread_counts()[1]


# The libraries


def slots_of(lib):
    return [Slot(lib, i) for i in range(SLOTS)]


def members(networks, slots, state, more):
    """The processes of one library's run."""
    names = networks.NAMES + list(more)
    kinds = networks.SHORT + [more[name] for name in more]
    if FAULT == "loss":
        names.append("loses")
        kinds.append(networks.loses)
    if FAULT == "stuck":
        names.append("sticks")
        kinds.append(networks.sticks)
    return [
        networks.serve(slots[i], Chance(SEED * 100 + i), state, names, kinds) for i in range(SLOTS)
    ]


def run_threads(slots, state):
    upycsp.run(*members(networks_plain, slots, state, kept_threads.KINDS))


def run_coroutines(slots, state, monitor):
    kinds = dict(cancelling.KINDS)
    if monitor is None:
        kinds.update(bridging.KINDS)
    parts = members(networks, slots, state, kinds)
    if monitor is not None:
        parts.append(watch(monitor))
    uapycsp.run(*parts)


async def watch(monitor):
    # A process of its own kind: it never waits on a channel, so nothing counts as a deadlock.
    while monitor.look():
        await cancelling.sleep_ms(LOOK_MS)


def who_waits_in_threads():
    process = sys.modules["upycsp.process"]
    lines = []
    for p in process._alive.each():
        me = p._me
        lines.append("upycsp: %s %s" % (me and me.runs and me.runs.name or p.name, where(me)))
    return lines


def where(me):
    watch = sys.modules["upycsp.watch"]
    if me is None:
        return "has not begun"
    if me.on is not None and not hasattr(me.on, "offers") and not hasattr(me.on, "_offers"):
        return "waits for processes"
    return words(watch._offers_of(me))


def who_waits_in_coroutines():
    process = sys.modules["uapycsp.process"]
    watch = sys.modules["uapycsp.watch"]
    return [
        "uapycsp: %s %s" % (p.name, words(watch._offers(watch._waits_on(p))))
        for p in process.alive.each()
    ]


def words(offers):
    from cspcore.names import wish

    if offers is None:
        return "runs, sleeps or has a Timer"
    if not offers:
        return "waits for processes"
    return " or ".join([wish(o) for o in offers if o is not None])


def guarded(f, slots, state, *more):
    """Runs a library's networks; None, or what went wrong."""
    try:
        f(slots, state, *more)
    except BaseException as er:
        state.stop = True
        show(er)
        return "%s: %s" % (type(er).__name__, er)
    return None


def show(error):
    if hasattr(sys, "print_exception"):
        sys.print_exception(error)
    else:
        import traceback

        traceback.print_exception(type(error), error, error.__traceback__)


def main():
    state = State()
    threads = slots_of("upycsp") if LIBRARY != "uapycsp" else []
    coroutines = slots_of("uapycsp") if LIBRARY != "upycsp" else []
    reports = [who_waits_in_threads] * bool(threads) + [who_waits_in_coroutines] * bool(coroutines)
    monitor = Monitor(threads + coroutines, state, reports)
    ends = []
    if not threads:
        ends.append(guarded(run_coroutines, coroutines, state, monitor))
    else:
        # Not one of uthreading's, which would keep upycsp's watchdog from its work: here it looks
        # twice a second for a deadlock that is none.
        _thread.start_new_thread(looks, (monitor,))
        if coroutines:
            t = uthreading.Thread(target=lambda: ends.append(guarded(run_threads, threads, state)))
            t.start()
            end = guarded(run_coroutines, coroutines, state, None)
            t.join()
            ends.append(end)
        else:
            ends.append(guarded(run_threads, threads, state))
    state.ended = True
    messages, networks = totals(threads + coroutines)
    for text in [state.fault] + ends:
        if text:
            tell("fault", text=text)
    tell("end", messages=messages, networks=networks, busy=still_at_work())


def looks(monitor):
    while monitor.look():
        time.sleep(LOOK_MS / 1000)


main()
