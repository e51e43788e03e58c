"""A small network whose every operation is noted down.

Runs in CPython and inside MicroPython. A program is a dictionary:

    "channels": {name: capacity}       None: a Channel; n: a BufferedChannel; -1: an unlimited one;
                                       ("keep_oldest" or "keep_newest", n): one that overflows
    "immunity": {name: n}              of these channels
    "barriers": {name: parties}        barriers; buckets where parties is 0; alting barriers where
                                       it is a text: the first letters of those who have an end
    "calls": (name, ..)                call channels
    "processes": {name: [action, ..]}  what each does, one action after another; or, with ends,
                 {name: (ends, [..])}  a process function that is given these ends ("c.read")
    "cancel": "AB"                     the first letters of those who may be cancelled; else all

Actions (values to write are made up: the process's name and a number):

    ("read", c)  ("write", c)  ("close", c)  ("poison", c, how)  ("poison", c, how, strength)
    ("within", ms, part)   a read or write with a time limit
    ("closed", c)          until c takes no more writes
    ("select", guard, ..)  ("fair", guard, ..)   guard: read, write, ("skip",), ("timer", ms),
                           ("closed", c), ("ended", h), ("sync", b), ("accept", k)
    ("masked", "10..", guard, ..)   a select without the guards whose digit is 0
    ("guards", part, ..)   a Parallel of guards; part: read, write, ("closed", c) or ("sync", b)
    ("operations", part, ..)   a Parallel of un-awaited operations
    ("each", c)            reads to the channel's end
    ("hold", c, action, ..)   an extended read, whose block does these
    ("parallel", [..], ..) ("sequence", [..], ..) ("gather", [..], ..)   children with actions
    ("spawn", [..])        a child in the background, then waits for it
    ("start", h, [..])     a child in the background, whose end others wait for by its name h
    ("limit", ms, [..])    a child with a time limit
    ("keep", action, ..)   goes on with the next action when these are cancelled
    ("sync", b)  ("fall", b)  ("flush", b)  ("enrol", b)  ("resign", b)   ("break", b): poisons it
    ("call", k)  ("serve", k, action, ..)   a call; one is answered by a function that does these
    ("sleep", ms)  ("turn",)  ("fail",)
    ("join", c, how)  ("retire", c, how)   has a counted end from now on ("read" or "write"), by
                            which it reads or writes; has it no more
    ("retire_of", p, c, how)   retires the counted end of another process, if it has one

What happens is noted down in the words of tasks_check.
"""

import sys

import ufuture
import uapycsp as csp
from cspcore import calls
from cspcore.channel import DEAD
from histories import CANCELLED, POISON
from tasks_check import Failure, conserve, follow
from uapycsp import within as _loaded  # noqa: F401
from uapycsp.buffered import AnyReadEnd, AnyWriteEnd
from uapycsp.wait import coroutine, turn
from ufuture.loop import engine
from uapycsp import meeting
from uapycsp.closing import Closed
from uapycsp.guards import Ended

try:
    from asyncio import CancelledError, current_task
except ImportError:
    from uasyncio import CancelledError, current_task


def running_task():
    """The running task, or None."""
    try:
        return current_task()
    except RuntimeError:
        return None


@coroutine
def others_first():
    """Those who are ready go first."""
    yield turn()


FAILED = ("failed",)


class Failed(Exception):
    """What a failing process of a program raises."""


class World:
    """One run of a program."""

    now = None  # the one that runs

    def __init__(self, program):
        World.now = self
        self.events = []
        self.channels = {}
        self.capacities = {}
        self.processes = []
        self.wrong = None
        self.drops = False  # whether values may be dropped
        self.known = False  # whether what ends channels stands in the history
        self.delay = None  # in MicroPython: how many turns to pass before an action
        self.held = []  # the values of extended reads whose block has not ended
        self.let_go_of = []  # those whose write has ended
        self._tasks = {}
        self._begun = []
        self._ends = 0
        self._actors = 0
        within._calls = 0  # or a schedule would not be the same each time
        immunities = program.get("immunity", {})
        for name, capacity in program["channels"].items():
            immunity = immunities.get(name, 0)
            self.capacities["immunity", name] = immunity
            if capacity is None:
                ch = Plain(name, False, immunity)
            else:
                self.drops = self.drops or isinstance(capacity, tuple)
                overflow, n = capacity if isinstance(capacity, tuple) else ("block", capacity)
                n = None if n < 0 else n
                ch = Buffered(name, n, overflow, False, immunity)
                self.capacities[name] = n if overflow == "block" else capacity
            self.channels[name] = ch
        self.barriers = {}
        self.seats = {}  # (alting barrier, first letter of a process's name) -> end
        for name, parties in program.get("barriers", {}).items():
            if isinstance(parties, str):
                ends = meeting.AltingBarrier.create(len(parties))
                self.barriers[name] = ends[0]
                for letter, end in zip(parties, ends):
                    self.seats[name, letter] = end
                parties = len(parties)
            else:
                self.barriers[name] = meeting.Barrier(parties) if parties else meeting.Bucket()
            self.capacities[name] = ("parties", parties)
        self.calls = {}
        for name in program.get("calls", ()):
            self.calls[name] = Calls(name)
        self.handles = {}
        self.causes = Causes(self.capacities)

    # What happens

    def begin(self, p, op):
        self.events.append(("call", p.name, op))
        p.open = True
        self._begun.append(p)

    def end(self, p, outcome):
        if not p.open:
            self.fail("an operation of %s has ended twice" % p.name)
        p.open = False
        self.events.append(("return", p.name, outcome))

    def exact(self):
        """Whether nobody was cancelled: then a writer stays for as long as the block does."""
        return not any(p.cancels for p in self.processes)

    def let_go(self, p, op, chosen):
        """The operation of a process has ended well."""
        parts = op[1] if op[0] in ("select", "parallel") else (op,)
        for part in parts if chosen is None else (parts[chosen],):
            if part[0] == "write":
                self.let_go_of.append(part[2])
                if part[2] in self.held and self.exact():
                    self.fail("%s was let go before the block ended" % p.name)

    def stepped(self):
        """After each step: whose operation has begun and not ended waits now."""
        for p in self._begun:
            if p.open:
                self.events.append(("parked", p.name))
        if self._begun:
            self._begun = []
        for ch in self.channels.values():
            try:
                ch.verify()
            except AssertionError as er:
                self.fail("channel %s: %s" % (ch.name, er))
        if self.wrong is not None:
            raise Failure(self.wrong)

    def fail(self, text):
        """Something is wrong: the run ends after this step."""
        if self.wrong is None:
            self.wrong = text

    def ending(self, ch, op):
        """A channel is poisoned or closed, by whomever, or a call is answered."""
        if self.known:
            return  # the specification knows
        self._ends += 1
        name = "end%d" % self._ends
        self.events.append(("call", name, op))
        self.events.append(("return", name, ("ok", None)))

    def cancelled(self, task):
        """A task is being cancelled."""
        p = self._tasks.get(id(task))
        if p is None:
            self.causes.unsure = True
        elif not p.over:
            p.cancels += 1
            running = task is running_task()
            self.events.append(("owes" if running else "cancel", p.name))

    # Processes

    def wrap(self, coro):
        """The coroutine of a process, watched where the loop can't be."""
        return coro

    def process(self, name):
        p = Process(self, name)
        self.processes.append(p)
        return p

    def begins(self, p):
        p.task = current_task()
        self._tasks[id(p.task)] = p

    def running(self):
        """The process that runs."""
        return self._tasks[id(running_task())]

    def cancel(self, p):
        """Cancel a process that waits."""
        self.cancelled(p.task)
        p.task.cancel()

    def ends(self, words):
        ends = []
        for word in words:
            name, end = word.split(".")
            ends.append(getattr(self.channels.get(name) or self.calls[name], end))
        return ends

    def mark(self, word):
        self.events.append((word, None))
        for p in self.processes:
            if p.joining is not None and p.cancels > p.joining:
                raise Failure("%s was cancelled, and still waits for its children" % p.name)
            for end in p.ends if p.died else ():
                immunity = self.capacities.get(("immunity", end.channel().name), 0)
                resists = p.strength is not None and p.strength <= immunity
                if not resists and end.channel()._readers is not DEAD:
                    raise Failure("%s has died, and %s can be written to" % (p.name, end))

    def reading(self):
        """Processes that read what can be read at once, one a channel."""
        readers = []
        for name, ch in sorted(self.channels.items()):
            if ch._writers is not None and not ch.poisoned:
                self._actors += 1
                p = self.process("reader%d" % self._actors)
                readers.append((p, [("read", name)]))
        for name, ch in sorted(self.calls.items()):
            if ch._writers is not None and not ch.poisoned:
                self._actors += 1
                readers.append((self.process("server%d" % self._actors), [("serve", name)]))
        return readers

    def writing(self):
        """Processes that write to those who wait to read, one a channel."""
        writers = []
        for name, ch in sorted(self.channels.items()):
            if ch._readers is not None and ch._writers is None and ch.queue_len():
                self._actors += 1
                p = self.process("writer%d" % self._actors)
                writers.append((p, [("write", name)]))
        return writers

    def pairs(self):
        """A reader and a writer for each channel that is open."""
        both = []
        for name, ch in sorted(self.channels.items()):
            if not ch.queue_len() and not ch.poisoned:
                self._actors += 1
                p = self.process("reader%d" % self._actors)
                q = self.process("writer%d" % self._actors)
                both.append((p, [("read", name)]))
                both.append((q, [("write", name)]))
        for name, ch in sorted(self.calls.items()):
            if not ch.poisoned:
                self._actors += 1
                both.append((self.process("client%d" % self._actors), [("call", name)]))
                both.append((self.process("server%d" % self._actors), [("serve", name)]))
        return both

    def poison_all(self):
        for name, ch in sorted(self.channels.items()):
            self.causes.add(name, None, True)
            ch.poison()
        for _, ch in sorted(self.calls.items()):
            ch.poison()
        for name, b in sorted(self.barriers.items()):
            self.ending(b, ("poison", name, "channel"))
            b.poison()

    def end_check(self):
        """After everything was poisoned and has ended."""
        for p in self.processes:
            if p.begun and not p.over:
                raise Failure("%s has not ended though all is poisoned" % p.name)
        for ch in list(self.channels.values()) + list(self.calls.values()):
            if ch.queue_len():
                raise Failure("%s keeps an offer when all is over" % ch.name)
        for ch in self.calls.values():
            if ch._open is not None:
                raise Failure("%s keeps a request when all is over" % ch.name)
        for end in self.seats.values():
            if end.waiting():
                raise Failure("somebody is offered at a barrier when all is over")
        conserve(self.events, self.drops)
        follow(self.events, self.capacities)


class Causes:
    """What ended the channels: strengths of poison, None (the hardest) or RETIRED."""

    def __init__(self, capacities):
        self.capacities = capacities
        self.possible = {}  # name -> all that may have acted on it
        self.hardest = {}  # name -> the hardest that surely has
        self.unsure = False  # if a process has died before it began

    def add(self, name, cause, surely=False):
        immunity = self.capacities.get(("immunity", name), 0)
        if cause is None or cause == RETIRED or cause > immunity:
            self.possible.setdefault(name, []).append(cause)
            if surely:
                self.hardest[name] = max(hardness(cause), self.hardest.get(name, RETIRED))

    def check(self, er, parts):
        """What is wrong with an exception of an operation with these parts, or None."""
        cause = RETIRED if isinstance(er, csp.RetireException) else er.strength
        names = [part[1] for part in parts if len(part) > 1]
        if cause is None and self.unsure or not all(self.is_known(name) for name in names):
            return None
        if cause not in [c for name in names for c in self.possible.get(name, ())]:
            return "of an end by %s, which has not been" % cause
        if len(parts) == 1 and hardness(cause) < self.hardest.get(names[0], RETIRED):
            return "of an end by %s, which is too soft" % cause
        return None

    def is_known(self, name):
        return ("immunity", name) in self.capacities


RETIRED = -1
INSTANT = "join retire retire_of flush enrol resign break close poison fail".split()


def hardness(cause):
    return 1000000 if cause is None else cause


class Process:
    """A process of a program."""

    def __init__(self, world, name):
        self.world = world
        self.name = name
        self.task = None
        self.ends = ()  # those it was given, which it poisons when it dies
        self.begun = self.over = self.open = self.died = False
        self.strength = None  # of the poison it died by
        self.result = CANCELLED  # what who waits for its end gets: so if it has never begun
        self.cancels = 0
        self.joining = None  # how often it had been cancelled when it began to wait for children
        self.kids = 0
        self._values = 0
        self._alternatives = {}
        self._counted = {}  # (channel, "read" or "write") -> its counted end

    async def body(self, actions, loud=False):
        """Its coroutine; loud: poison comes out."""
        self.begun = True
        self.world.begins(self)
        try:
            for action in actions:
                await self.do(action)
            self.result = ("ok", self.name)
            return self.name
        except csp.PoisonException as er:
            self.result = ("ok", None)
            if loud:
                self.dies(er.strength)
                raise
        except BaseException as er:
            self.dies(None)
            if isinstance(er, Failed):
                self.result = FAILED
            raise
        finally:
            self.over = True
            self.world.events.append(("over", self.name))

    def dies(self, strength):
        self.died = True
        self.strength = strength
        for end in self.ends:
            self.world.causes.add(end.channel().name, strength)

    def value(self):
        self._values += 1
        return self.name + ":" + str(self._values)

    def child(self, ordinal):
        self.kids += 1
        return self.world.process("%s.%d" % (self.name, self.kids))

    async def do(self, action):
        kind = action[0]
        w = self.world
        if w.delay is not None:
            await w.delay(self)
        if kind in INSTANT:
            self.do_at_once(kind, action)
        elif kind in ("read", "write"):
            word, guard = self.part(action)
            end = self.end(action[1], kind)
            self.refused(end)
            await self.note(word, end() if kind == "read" else end(word[2]))
        elif kind == "within":
            await self.within(action[1], action[2])
        elif kind == "closed":
            await self.note(action, self.part(action)[1]())
        elif kind == "sync":
            await self.note(action, self.seat(action[1]).sync())
        elif kind == "fall":
            await self.note(action, w.barriers[action[1]].fall_into())
        elif kind == "call":
            await self.call(action[1])
        elif kind == "serve":
            await self.serve(action[1], action[2:])
        elif kind in ("select", "fair", "masked"):
            await self.select(action)
        elif kind in ("guards", "operations"):
            await self.together(kind, action[1:])
        elif kind == "each":
            await self.each(action[1])
        elif kind == "hold":
            await self.hold(action[1], action[2:])
        elif kind == "turn":
            await others_first()
        elif kind == "sleep":
            await engine.sleep_ms(action[1])
        elif kind == "keep":
            await self.keep(action[1:])
        else:
            await self.tasks(kind, action[1:])

    def do_at_once(self, kind, action):
        w = self.world
        if kind in ("join", "retire"):
            self.count(*action)
        elif kind == "retire_of":
            self.count_out(*action[1:])
        elif kind == "flush":
            self.at_once(action, lambda: w.barriers[action[1]].flush())
        elif kind in ("enrol", "resign"):
            self.at_once(action, lambda: self.enrol(kind, action[1]))
        elif kind == "break":
            self.at_once(("poison", action[1], "channel"), w.barriers[action[1]].poison)
        elif kind == "close":
            ch = w.channels[action[1]]
            w.causes.add(action[1], None, ch._readers is not DEAD)
            self.at_once(action, ch.close)
        elif kind == "poison":
            self.poison(*action[1:])
        else:
            raise Failed(self.name)

    def end(self, name, how):
        return self._counted.get((name, how)) or getattr(self.world.channels[name], how)

    def seat(self, name):
        return self.world.seats.get((name, self.name[0])) or self.world.barriers[name]

    def at_once(self, op, f):
        """An operation that never waits."""
        w = self.world
        w.begin(self, op)
        w.known = True
        try:
            v = f()
        except csp.PoisonException:
            w.end(self, POISON)
            raise
        finally:
            w.known = False
        w.end(self, ("ok", v if isinstance(v, int) else None))

    def count(self, kind, name, how):
        def join():
            ch = self.world.channels[name]
            self._counted[name, how] = ch.reader() if how == "read" else ch.writer()

        def retire():
            self.world.causes.add(name, RETIRED)
            self._counted.pop((name, how)).retire()

        self.at_once((kind, name, how), join if kind == "join" else retire)

    def count_out(self, other, name, how):
        for p in self.world.processes:
            end = p._counted.get((name, how))
            if p.name == other and end is not None and not end._channel.retired:
                self.world.causes.add(name, RETIRED)
                self.at_once(("retire", name, how), end.retire)

    def refused(self, end):
        """An end that has retired is refused at once; of this the specification knows nothing."""
        if end is self._counted.get((end.channel().name, end.op and "write" or "read")):
            if end._channel.retired:
                ready = end._channel._readers is DEAD and end._channel._writers is DEAD
                if not ready:
                    self.world.fail("an end of %s can be used though it has retired" % self.name)
                raise csp.PoisonException

    def enrol(self, kind, name):
        w = self.world
        letter = self.name[0]
        if (name, letter) in w.seats and kind == "resign":
            w.seats.pop((name, letter)).resign()
        elif isinstance(w.barriers[name], meeting.AltingBarrier):
            w.seats[name, letter] = w.barriers[name].enrol()
        else:
            getattr(w.barriers[name], kind)()

    def poison(self, name, how, *strength):
        w = self.world
        ch = w.channels.get(name) or w.calls[name]
        if how != "channel":
            ch = getattr(ch, how)
        w.causes.add(name, strength[0] if strength else None, True)
        self.at_once(("poison", name, how) + strength, lambda: ch.poison(*strength))

    async def within(self, ms, part):
        word, guard = self.part(part)
        op = ("select", (word, ("timer",) if ms > 0 else ("skip",)), False)
        end = self.end(part[1], part[0])
        limited = end.within(ms) if part[0] == "read" else end.within(ms, word[2])
        await self.note(op, in_time(guard, limited), (guard, None))

    async def call(self, name):
        # The two halves of a call are noted, and whether the answer is that to its question.
        v = self.value()
        try:
            answer = await self.world.calls[name].call(v)
        except Failed:
            return
        if answer != "re:" + v:
            self.world.fail("%s was answered by %s" % (v, answer))

    async def serve(self, name, actions):
        async def function(v):
            for action in actions:
                await self.do(action)
            return "re:" + v

        try:
            await self.world.calls[name].serve(function)
        except Failed:
            self.world.fail("what a served function raises came out of the server")

    async def note(self, op, awaitable, guards=None):
        w = self.world
        w.begin(self, op)
        try:
            v = await awaitable
        except csp.PoisonException as er:
            w.end(self, POISON)
            wrong = w.causes.check(er, op[1] if op[0] in ("select", "parallel") else (op,))
            if wrong:
                w.fail("%s was told %s" % (self.name, wrong))
            raise
        except CancelledError:
            w.end(self, CANCELLED)
            raise
        except Failed:
            w.end(self, FAILED)
            raise
        if guards is not None:
            shows = [i for i in range(len(guards)) if op[1][i] != ("hidden",)]
            index = [i for i in shows if guards[i] is v[0]][0]
            w.let_go(self, op, index)
            w.end(self, ("chosen", index, shown(v[1])))
        else:
            w.let_go(self, op, None)
            w.end(self, ("ok", tuple(v) if op[0] == "parallel" else shown(v)))
        return v

    def part(self, part, again=False):
        # (what the specification calls it, the guard)
        kind = part[0]
        if kind == "read":
            return part[:2], self.end(part[1], "read")
        if kind == "write":
            v = ("again:" if again else "") + self.value()
            return ("write", part[1], v), self.end(part[1], "write").alt_pending_write(v)
        if kind == "closed":
            return part, Closed(self.world.channels[part[1]].write)
        if kind == "sync":
            return part, self.seat(part[1])
        if kind == "accept":
            return ("read", part[1]), self.world.calls[part[1]].serve
        if kind == "ended":
            return part, Ended(self.world.handles[part[1]])
        if kind == "skip":
            return ("skip",), csp.Skip()
        return ("timer",), csp.Timer(ms=part[1])

    async def select(self, action):
        # A fair alternative has a memory: it is used again, and writes the same value again.
        kind = action[0]
        fair = kind == "fair"
        mask = None
        if kind == "masked":
            mask = [digit == "1" for digit in action[1]]
            action = action[1:]
        name = self.name + str(action) if fair else None
        if name not in self._alternatives:
            parts = [self.part(part, fair) for part in action[1:]]
            alt = Alternative(*[guard for _, guard in parts])
            self._alternatives[name] = tuple([word for word, _ in parts]), alt
        words, alt = self._alternatives[name]
        guards = alt.guards
        if fair:
            v = await self.note(("select", words, name), alt.fair_select(), guards)
        else:
            del self._alternatives[None]
            if mask is not None:
                words = tuple([w if on else ("hidden",) for w, on in zip(words, mask)])
            v = await self.note(("select", words, False), alt.select(ready=mask), guards)
        if alt.guards is not guards or alt._enabled:
            self.world.fail("an alternative of %s keeps what belongs to one selection" % self.name)
        if isinstance(v[1], calls.Request):
            v[1].answer("re:" + v[1].args[0])

    async def together(self, kind, parts):
        words = []
        members = []
        for part in parts:
            word, guard = self.part(part)
            words.append(word)
            if kind == "operations":
                end = self.end(word[1], word[0])
                guard = end() if word[0] == "read" else end(word[2])
            members.append(guard)
        await self.note(("parallel", tuple(words)), csp.Parallel(*members))

    async def each(self, name):
        loop = self.world.channels[name].read.__aiter__()
        w = self.world
        while True:
            w.begin(self, ("read", name))
            try:
                v = await loop.__anext__()
            except StopAsyncIteration:
                w.end(self, POISON)
                return
            except CancelledError:
                w.end(self, CANCELLED)
                raise
            w.end(self, ("ok", v))

    async def hold(self, name, actions):
        w = self.world
        block = w.channels[name].read.extended()
        v = await self.note(("read", name), block.__aenter__())
        w.held.append(v)
        if v in w.let_go_of and not v.startswith("again:") and w.exact():
            w.fail("%s came into its block after its writer was let go" % self.name)
        try:
            for action in actions:
                await self.do(action)
        finally:
            w.held.remove(v)
            await block.__aexit__(None, None, None)

    async def keep(self, actions):
        for action in actions:
            try:
                await self.do(action)
            except CancelledError:
                self.world.events.append(("paid", self.name))

    async def tasks(self, kind, lists):
        w = self.world
        if kind in ("limit", "start"):
            limit = name = lists[0]
            lists = lists[1:]
        kids = []
        coros = []
        for actions in lists:
            k = self.child(len(kids))
            kids.append(k)
            if type(actions) is dict:
                coros.append(member(k, actions["do"], w.ends(actions["ends"])))
            else:
                coros.append(w.wrap(k.body(actions)))
        before = self.cancels
        if "keep" not in str(lists):  # such a child may have good reason to go on
            self.joining = before
        try:
            if kind == "parallel":
                await csp.Parallel(*coros)
            elif kind == "sequence":
                await csp.Sequence(*coros)
            elif kind == "spawn":
                await csp.Spawn(coros[0])
            elif kind == "start":
                w.handles[name] = Handle(coros[0])
                w.handles[name].watched = kids[0]
            elif kind == "gather":
                await ufuture.gather(*coros)
            elif kind == "limit":
                try:
                    await ufuture.wait_for_ms(coros[0], limit)
                except ufuture.TimeoutError:
                    pass
            else:
                raise ValueError(kind)
        finally:
            self.joining = None
            for k in kids:
                if k.begun and not k.over and kind not in ("spawn", "start"):
                    w.fail("%s goes on without its children" % self.name)
        if self.cancels > before:
            w.events.append(("owes", self.name))


async def in_time(guard, limited):
    """What a select would have chosen."""
    try:
        return guard, await limited
    except engine.TimeoutError:
        return None, None


def shown(v):
    """A value in the history."""
    if isinstance(v, calls.Request):
        return v.args[0]
    return "failed" if isinstance(v, Failed) else v


@csp.process
def member(p, actions, ends):
    p.ends = ends
    return p.world.wrap(p.body(actions, True))


class Alternative(csp.Alternative):
    """Notes that it ends by its timer."""

    def __init__(self, *guards):
        csp.Alternative.__init__(self, *guards)
        self.process = World.now.running()

    def expired(self):
        if self._chosen is None and self.waits:
            guard = self._limit[1]
            i = [i for i in range(len(self.guards)) if self.guards[i] is guard][0]
            World.now.events.append(("expired", self.process.name, i))
        csp.Alternative.expired(self)


class Handle(csp.Spawn):
    """Notes that its process has ended."""

    watched = None

    def member_ended(self, p):
        w = World.now
        name = [h for h in w.handles if w.handles[h] is self][0]
        w.events.append(("ended", name, self.watched.result))
        csp.Spawn.member_ended(self, p)


class Plain(csp.Channel):
    """Notes by whatever it is poisoned or closed."""

    def end_all(self):
        World.now.ending(self, ("poison", self.name, "channel"))
        return csp.Channel.end_all(self)

    def end_writing(self):
        World.now.ending(self, ("poison", self.name, "write"))
        return csp.Channel.end_writing(self)

    def end_close(self):
        World.now.ending(self, ("close", self.name))
        return csp.Channel.end_close(self)


class Buffered(csp.BufferedChannel):
    def end_all(self):
        World.now.ending(self, ("poison", self.name, "channel"))
        return csp.BufferedChannel.end_all(self)

    def end_writing(self):
        World.now.ending(self, ("poison", self.name, "write"))
        return csp.BufferedChannel.end_writing(self)

    def end_close(self):
        World.now.ending(self, ("close", self.name))
        return csp.BufferedChannel.end_close(self)


class NotedRead(AnyReadEnd):
    """The end of a call channel, or of a request: its operations are noted."""

    def __call__(self):
        ch = self._channel
        name = (ch.calls.name, ch.args[0]) if isinstance(ch, calls.Request) else ch.name
        return World.now.running().note(("read", name), AnyReadEnd.__call__(self))


class NotedWrite(AnyWriteEnd):
    def __call__(self, request):
        op = ("write", self._channel.name, request.args[0])
        return World.now.running().note(op, AnyWriteEnd.__call__(self, request))


class Calls(meeting.CallChannel):
    read_end = NotedRead
    write_end = NotedWrite

    def end_all(self):
        World.now.ending(self, ("poison", self.name, "channel"))
        return meeting.CallChannel.end_all(self)


_answered = calls.Request._answered
_end_request = calls.Request.end_all


def _noted_answer(self, value, failed):
    World.now.ending(self, ("answer", (self.calls.name, self.args[0]), shown(value)))
    return _answered(self, value, failed)


def _noted_end(self):
    World.now.ending(self, ("poison", (self.calls.name, self.args[0]), "channel"))
    return _end_request(self)


calls.Request._answered = _noted_answer
calls.Request.end_all = _noted_end
within = sys.modules["uapycsp.within"]
within.Alternative = Alternative
_cancel = engine.cancel


def _noted_cancel(owned):
    # How a Parallel, a gather or a time limit cancels its children.
    if World.now is not None:
        World.now.cancelled(_task_of(owned))
    _cancel(owned)


engine.cancel = _noted_cancel
_task_of = getattr(engine, "_task_of", None) or (lambda owned: owned.task)
