"""The library on the fake `_thread`, and what programs to be explored are made of.

Import this in a process of its own: `uthreading` and `upycsp` are loaded anew, on fake locks. A
*program* is a function that is given a World, which it fills with channels and threads; it is
called anew for each schedule. What its actors do on channels becomes a history for
histories.check.
"""

import io
import os
import sys
import traceback
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
for path in ROOT, os.path.join(ROOT, "tests"):
    if path not in sys.path:
        sys.path.insert(0, path)

from schedules import fake_thread  # noqa: E402
from schedules.histories import check  # noqa: E402

OWN = ("upycsp", "uthreading", "cspcore")
assert not [m for m in sys.modules if m.split(".")[0] in OWN], "a process of its own, please"

for name in "atexit", "collections", "select", "time":  # they shall have the real one
    __import__(name)
scheduler = fake_thread.install()
import uthreading  # noqa: E402
import upycsp  # noqa: E402

uthreading._load_all()
from uthreading import clock, kept, thread  # noqa: E402
from upycsp import aio, channel, counted, extended, meeting, plugnplay  # noqa: E402, F401
from upycsp import closing, virtual, wait, watch  # noqa: E402, F401

wait.load_all()
from cspcore import verify  # noqa: E402, F401

fake_thread.uninstall()

processes = sys.modules["upycsp.process"]
kept.sleep_ms = scheduler.sleep_ms
clock.ticks_ms = scheduler.ticks_ms
thread._hooked = True  # no thread of ours outlives a run
PoisonException = upycsp.PoisonException
READ = upycsp.Channel().read.op


def bolt_of(offer):
    """What a thread with this offer sleeps on; in virtual time its place stands before it."""
    lock = offer.wake.__self__
    return lock.rouse.__self__ if isinstance(lock, virtual.Place) else lock


# The state of the library, to begin each schedule with


class _Snapshot:
    """All names of the library's modules, and what lists, dictionaries, objects, locks hold."""

    def __init__(self):
        self.names = []
        self.contents = []
        seen = set()
        for name in sorted(sys.modules):
            if name.split(".")[0] in OWN:
                names = sys.modules[name].__dict__
                for key, value in list(names.items()):
                    if not key.startswith("__"):
                        self.names.append((names, key, value))
                        self.note(value, key, seen)

    def note(self, value, name, seen):
        if id(value) in seen or isinstance(value, (type, types.ModuleType)):
            return
        seen.add(id(value))
        if isinstance(value, fake_thread.FakeLock):
            value.name = name.strip("_")
        elif not isinstance(value, (list, dict)):
            if type(value).__module__.split(".")[0] not in OWN:
                return
            value = value.__dict__
        held = value.copy() if isinstance(value, (list, dict)) else value.held
        self.contents.append((value, held))

    def restore(self):
        for names, key, value in self.names:
            if names[key] is not value:
                names[key] = value
        for it, held in self.contents:
            if isinstance(it, dict):
                if it != held:
                    it.clear()
                    it.update(held)
            elif isinstance(it, list):
                it[:] = held
            else:
                it.held = held


def _hook(args):
    text = io.StringIO()
    traceback.print_exception(args.exc_value, file=text)
    if not scheduler.over:
        scheduler.reports.append((args.exc_value, text.getvalue()))


uthreading.excepthook = _hook
_snapshot = _Snapshot()


# Programs


class Actor:
    """One who does operations; each is an event of the history when it begins and ends."""

    def __init__(self, world, name):
        self.world = world
        self.name = name
        self.alternatives = {}
        self.ends = {}  # (channel, "read" or "write") -> the counted end it uses

    def do(self, op, f):
        w = self.world
        w.history.append(("call", self.name, op))
        me = scheduler.current
        w.busy[me] = self.name
        try:
            outcome = f()
        except PoisonException:
            w.history.append(("return", self.name, ("poison",)))
            raise
        except KeyboardInterrupt:
            w.history.append(("return", self.name, ("cancelled",)))
            raise
        finally:
            if w.busy.pop(me, None) is None:
                w.trouble("%s ended an operation twice" % self.name)
        w.history.append(("return", self.name, outcome))
        return outcome[-1]

    def read(self, ch):
        end = self.end(ch, "read")
        return self.do(("read", ch), lambda: ("ok", end()))

    def write(self, ch, value):
        end = self.end(ch, "write")
        return self.do(("write", ch, value), lambda: ("ok", end(value)))

    def end(self, ch, how):
        return self.ends.get((ch, how)) or getattr(self.world.channels[ch], how)

    def guard(self, g):
        if g[0] in ("read", "write"):
            end = self.end(g[1], g[0])
            return end if g[0] == "read" else end.alt_pending_write(g[2])
        if g[0] == "closed":
            return closing.Closed(self.world.channels[g[1]].write)
        return upycsp.Skip() if g[0] == "skip" else upycsp.Timer(ms=g[1] if len(g) > 1 else 10)

    def join(self, ch, how):
        """It uses a counted end from now on."""
        end = getattr(self.world.channels[ch], how)

        def join():
            self.ends[ch, how] = end.join()
            return ("ok", None)

        self.do(("join", ch, how), join)

    def retire(self, ch, how):
        end = self.ends[ch, how]
        self.do(("retire", ch, how), lambda: ("ok", end.retire()))

    def within(self, ms, part):
        """A read or write with a time limit; in the history it is a choice."""
        end = self.end(part[1], part[0])
        op = ("select", (part, ("timer",) if ms > 0 else ("skip",)), False)

        def limited():
            try:
                return ("chosen", 0, end.within(ms, *part[2:]))
            except TimeoutError:
                return ("chosen", 1, None)

        return self.do(op, limited)

    def select(self, *guards, fair=False, ready=None):
        """guards: ("read", ch), ("write", ch, v), ("skip",), ("timer",), ("closed", ch).

        ready: which of them take part, a text of digits. The value chosen.
        """
        alt = self.alternatives.get(guards)
        if alt is None:
            alt = upycsp.Alternative(*[self.guard(g) for g in guards])
            self.alternatives[guards] = alt

        mask = None if ready is None else [digit == "1" for digit in ready]

        def select():
            g, v = (alt.fair_select if fair else alt.select)(mask)
            return ("chosen", [g is h for h in alt.guards].index(True), v)

        shown = guards
        if mask is not None:
            shown = tuple([g if on else ("hidden",) for g, on in zip(guards, mask)])
        return self.do(("select", shown, (self.name, guards) if fair else False), select)

    def parallel(self, *guards):
        """Reads and writes posted together; their results."""
        group = upycsp.Parallel(*[self.guard(g) for g in guards])
        return self.do(("parallel", guards), lambda: ("ok", tuple(group.run().retval)))

    def poison(self, ch, how="channel", *strength):
        c = self.world.channels[ch]
        f = {"channel": c.poison, "read": c.read.poison, "write": c.write.poison}[how]
        self.do(("poison", ch, how) + strength, lambda: ("ok", f(*strength)))

    def close(self, ch):
        f = self.world.channels[ch].close
        self.do(("close", ch), lambda: ("ok", f()))

    def len(self, ch):
        c = self.world.channels[ch]
        return self.do(("len", ch), lambda: ("ok", c.queue_len()))


class World:
    """One run of a program: its channels, threads, history, and what is wrong with it."""

    def __init__(self):
        self.channels = {}
        self.capacities = {}
        self.history = []
        self.busy = {}  # thread -> name of the actor whose operation it does
        self.bodies = [("main", None)]
        self.troubles = []
        self.expected = []
        self.reports = scheduler.reports = []  # what went to the excepthook: (exception, text)
        self.reports_expected = False

    # For programs

    def channel(self, name="a", capacity=0, buffered=False, **kwargs):
        """A channel, a BufferedChannel if it has a capacity or is to be one."""
        if capacity == 0 and not buffered:
            c = upycsp.Channel(name, **kwargs)
        else:
            c = upycsp.BufferedChannel(name, capacity, **kwargs)
        overflow = kwargs.get("overflow")
        self.capacities[name] = (overflow, capacity) if overflow else capacity
        self.capacities["immunity", name] = kwargs.get("immunity", 0)
        self.channels[name] = c
        return c

    def actor(self, name):
        return Actor(self, name)

    def thread(self, name, body, *args):
        """A bare thread that does body(actor, *args) and may end by poison."""
        actor = Actor(self, name)

        def run():
            try:
                body(actor, *args)
            except PoisonException:
                pass

        self.bodies.append((name, run))

    def main(self, body):
        """What the main thread does; it has to come to an end."""
        self.bodies[0] = ("main", body)

    def process(self, name, body, ends=(), **options):
        """A CSP process that does body(actor); ends: the ("read" or "write", ch) it has.

        What it poisons in the end stands in the history as done by (name, end).
        """
        actor = Actor(self, name)

        def run(*args):
            try:
                return body(actor)
            except BaseException:
                if options.get("propagate", True):
                    for how, ch in ends:
                        self.history.append(("call", (name, how, ch), ("poison", ch, how)))
                raise

        run.__name__ = name
        real = [getattr(self.channels[ch], how) for how, ch in ends]
        return upycsp.process(run, **options)(*real)

    def poisoned_by(self, who, ch, how="channel"):
        """Say in the history that the library poisons a channel about now."""
        self.history.append(("call", (who, how, ch), ("poison", ch, how)))

    def interrupt(self, name, late=False):
        """Interrupt a thread in its sleep, or (late) when it has been woken; whether it was."""
        for t in scheduler.threads:
            o = wait.offers.get(t.ident)
            if t.name == name and o is not None and t.wants is bolt_of(o):
                if not scheduler.interrupt(name, KeyboardInterrupt(), late):
                    return False
                if t in self.busy:
                    self.history.append(("interrupt", self.busy[t]))
                return True
        return False

    def interrupt_any(self, name, late=False):
        """As interrupt, for a thread that sleeps on one of uthreading's primitives."""
        for t in scheduler.threads:
            if t.name == name and t.wants is not None and t.wants.bolt:
                return scheduler.interrupt(name, KeyboardInterrupt(), late)
        return False

    def expect(self, holds, text):
        """Note a trouble if something does not hold."""
        if not holds:
            self.trouble(text)

    def trouble(self, text):
        if not scheduler.over:
            self.troubles.append(text)

    def all_ended(self):
        """Whether all that the program has started has ended; kept threads and such do not."""
        own = [name for name, _ in self.bodies]
        return kept.counts()[1] == 0 and not [t for t in scheduler.waiting if t.name in own]

    def must_end(self):
        """Nothing that the program starts may wait at the end."""
        self.at_end(lambda: self.expect(self.all_ended(), "something waits for ever"))

    def at_end(self, f):
        """f() is called when no thread can go on; it calls `expect`."""
        self.expected.append(f)

    # For the explorer

    def parked(self, t, lock):
        name = self.busy.get(t)
        if name is not None:
            o = wait.offers.get(t.ident)
            if o is not None and bolt_of(o) is lock:
                self.history.append(("parked", name))

    def judge(self, known):
        """What is wrong after the run, or None. known: verdicts about histories."""
        problems = scheduler.troubles + self.troubles
        for f in self.expected:
            f()
        problems += [t for t in self.troubles if t not in problems]
        if scheduler.threads[0] in scheduler.waiting:
            problems.append("the main thread waits for ever")
        if not self.reports_expected:
            problems += ["an exception was reported: " + text for _, text in self.reports]
        problems += self.remains()
        key = _normal(self.history)
        if key not in known:
            known[key] = check(self.history, self.capacities)
        if known[key]:
            problems.append(known[key])
        return "\n".join(problems) if problems else None

    def remains(self):
        """What should not be left behind."""
        for lock in wait.lock, kept.lock, clock._lock:
            if lock.held:
                yield "the lock %s is held though nobody goes on" % lock.name
                return
        for name, c in self.channels.items():
            try:
                c.verify()
            except AssertionError as er:
                yield "channel %s: %s" % (name, er)
        yield from self.bolts_left()
        w = kept._idle
        while w is not None:
            if not w.bolt.held:
                yield "the bolt of an idle thread stands open"
            w = w.below
        if scheduler.threads[0].done and self.all_ended() and not processes._alive.is_empty():
            yield "processes are listed that have ended"

    def bolts_left(self):
        for ident, o in wait.offers.items():
            t = scheduler.threads[ident - 1]
            bolt = bolt_of(o)
            if not bolt.held:
                yield "the bolt of %s stands open" % t.name
            if t in scheduler.waiting and t.wants is bolt:
                continue
            if o.on is not None:
                yield "%s seems to wait on %r" % (t.name, o.on)
            if o.value is not channel.WAITING:
                yield "%s keeps the value %r" % (t.name, o.value)
            if o.next is not None:
                yield "%s is still linked" % t.name


def _normal(history):
    """A history with neighbours in order that may as well have happened the other way round."""
    events = []
    same = []
    for event in history:
        if same and event[0] != same[0][0]:
            events += sorted(same, key=repr) if len(same) > 1 else same
            same = []
        same.append(event)
        if event[0] not in ("call", "return"):
            events += same
            same = []
    return tuple(events + sorted(same, key=repr))


def run(program, strategy, known, verbose=False):
    """Run a program by a strategy once; (problem or None, World)."""
    _snapshot.restore()
    w = World()
    program(w)
    scheduler.on_park = w.parked
    strategy.begin()
    scheduler.run(w.bodies, strategy, verbose)
    return w.judge(known), w
