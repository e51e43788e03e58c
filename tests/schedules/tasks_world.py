"""A small network whose every operation is noted down.

Runs in CPython and inside MicroPython. A program is a dictionary:

    "channels": {name: capacity}       None: a Channel; n: a BufferedChannel; -1: an unlimited one
    "barriers": {name: parties}        barriers; buckets where parties is 0; left out: none
    "processes": {name: [action, ..]}  what each does, one action after another; or, with ends,
                 {name: (ends, [..])}  a process function that is given these ends ("c.read")
    "cancel": "AB"                     the first letters of those who may be cancelled; else all

Actions (values to write are made up: the process's name and a number):

    ("read", c)  ("write", c)  ("close", c)  ("poison", c, how)
    ("select", guard, ..)  ("fair", guard, ..)   guard: read, write, ("skip",), ("timer", ms)
    ("guards", part, ..)   a Parallel of guards; part: read or write
    ("operations", part, ..)   a Parallel of un-awaited operations
    ("each", c)            reads to the channel's end
    ("hold", c, action, ..)   an extended read, whose block does these
    ("parallel", [..], ..) ("sequence", [..], ..) ("gather", [..], ..)   children with actions
    ("spawn", [..])        a child in the background, then waits for it
    ("limit", ms, [..])    a child with a time limit
    ("keep", action, ..)   goes on with the next action when these are cancelled
    ("sync", b)  ("fall", b)  ("flush", b)   ("break", b): poisons it
    ("sleep", ms)  ("turn",)  ("fail",)
    ("join", c, how)  ("retire", c, how)   has a counted end from now on ("read" or "write"), by
                            which it reads or writes; has it no more

What happens is noted down in the words of tasks_check.
"""

import ufuture
import uapycsp as csp
from cspcore.channel import DEAD
from histories import CANCELLED, POISON
from tasks_check import Failure, conserve, follow
from uapycsp.wait import coroutine, turn
from ufuture.loop import engine
from uapycsp import meeting

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
        self.retiring = False
        self.delay = None  # in MicroPython: how many turns to pass before an action
        self.held = []  # the values of extended reads whose block has not ended
        self.let_go_of = []  # those whose write has ended
        self._tasks = {}
        self._begun = []
        self._ends = 0
        self._actors = 0
        for name, capacity in program["channels"].items():
            if capacity is None:
                ch = Plain(name)
            else:
                ch = Buffered(name, None if capacity < 0 else capacity)
                self.capacities[name] = None if capacity < 0 else capacity
            self.channels[name] = ch
        self.barriers = {}
        for name, parties in program.get("barriers", {}).items():
            self.barriers[name] = meeting.Barrier(parties) if parties else meeting.Bucket()
            self.capacities[name] = ("parties", parties)

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
        """A channel is poisoned or closed, by whomever."""
        if self.retiring:
            return  # the specification knows
        self._ends += 1
        name = "end%d" % self._ends
        self.events.append(("call", name, op))
        self.events.append(("return", name, ("ok", None)))

    def cancelled(self, task):
        """A task is being cancelled."""
        p = self._tasks.get(id(task))
        if p is not None and not p.over:
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

    def cancel(self, p):
        """Cancel a process that waits."""
        self.cancelled(p.task)
        p.task.cancel()

    def ends(self, words):
        ends = []
        for word in words:
            name, end = word.split(".")
            ends.append(getattr(self.channels[name], end))
        return ends

    def mark(self, word):
        self.events.append((word, None))
        for p in self.processes:
            if p.joining is not None and p.cancels > p.joining:
                raise Failure("%s was cancelled, and still waits for its children" % p.name)
            for end in p.ends if p.died else ():
                if end.channel()._readers is not DEAD:
                    raise Failure("%s has died, and %s can be written to" % (p.name, end))

    def reading(self):
        """Processes that read what can be read at once, one a channel."""
        readers = []
        for name, ch in sorted(self.channels.items()):
            if ch._writers is not None and not ch.poisoned:
                self._actors += 1
                p = self.process("reader%d" % self._actors)
                readers.append((p, [("read", name)]))
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
        return both

    def poison_all(self):
        for _, ch in sorted(self.channels.items()):
            ch.poison()
        for name, b in sorted(self.barriers.items()):
            self.ending(b, ("poison", name, "channel"))
            b.poison()

    def end_check(self):
        """After everything was poisoned and has ended."""
        for p in self.processes:
            if p.begun and not p.over:
                raise Failure("%s has not ended though all is poisoned" % p.name)
        for ch in self.channels.values():
            if ch.queue_len():
                raise Failure("%s keeps an offer when all is over" % ch.name)
        conserve(self.events)
        follow(self.events, self.capacities)


class Process:
    """A process of a program."""

    def __init__(self, world, name):
        self.world = world
        self.name = name
        self.task = None
        self.ends = ()  # those it was given, which it poisons when it dies
        self.begun = self.over = self.open = self.died = False
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
        except csp.PoisonException:
            if loud:
                self.died = True
                raise
        except BaseException:
            self.died = True
            raise
        finally:
            self.over = True
            self.world.events.append(("over", self.name))

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
        if kind == "read":
            await self.note(("read", action[1]), self.end(action[1], "read")())
        elif kind == "write":
            v = self.value()
            await self.note(("write", action[1], v), self.end(action[1], "write")(v))
        elif kind in ("join", "retire"):
            self.count(*action)
        elif kind == "sync":
            await self.note(action, w.barriers[action[1]].sync())
        elif kind == "fall":
            await self.note(action, w.barriers[action[1]].fall_into())
        elif kind == "flush":
            w.begin(self, action)
            w.end(self, ("ok", w.barriers[action[1]].flush()))
        elif kind == "break":
            w.begin(self, ("poison", action[1], "channel"))
            w.barriers[action[1]].poison()
            w.end(self, ("ok", None))
        elif kind == "close":
            w.channels[action[1]].close()
        elif kind == "poison":
            ch = w.channels[action[1]]
            (ch if action[2] == "channel" else getattr(ch, action[2])).poison()
        elif kind in ("select", "fair"):
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
        elif kind == "fail":
            raise Failed(self.name)
        elif kind == "keep":
            await self.keep(action[1:])
        else:
            await self.tasks(kind, action[1:])

    def end(self, name, how):
        return self._counted.get((name, how)) or getattr(self.world.channels[name], how)

    def count(self, kind, name, how):
        w = self.world
        w.begin(self, (kind, name, how))
        try:
            if kind == "join":
                ch = w.channels[name]
                self._counted[name, how] = ch.reader() if how == "read" else ch.writer()
            else:
                w.retiring = True
                self._counted.pop((name, how)).retire()
        except csp.PoisonException:
            w.end(self, POISON)
            raise
        finally:
            w.retiring = False
        w.end(self, ("ok", None))

    async def note(self, op, awaitable, guards=None):
        w = self.world
        w.begin(self, op)
        try:
            v = await awaitable
        except csp.PoisonException:
            w.end(self, POISON)
            raise
        except CancelledError:
            w.end(self, CANCELLED)
            raise
        if guards is not None:
            index = [i for i in range(len(guards)) if guards[i] is v[0]][0]
            w.let_go(self, op, index)
            w.end(self, ("chosen", index, v[1]))
        else:
            w.let_go(self, op, None)
            w.end(self, ("ok", tuple(v) if op[0] == "parallel" else v))
        return v

    def part(self, part, again=False):
        # (what the specification calls it, the guard)
        if part[0] == "read":
            return part[:2], self.end(part[1], "read")
        if part[0] == "write":
            v = ("again:" if again else "") + self.value()
            return ("write", part[1], v), self.end(part[1], "write").alt_pending_write(v)
        if part[0] == "skip":
            return ("skip",), csp.Skip()
        return ("timer",), csp.Timer(ms=part[1])

    async def select(self, action):
        # A fair alternative has a memory: it is used again, and writes the same value again.
        fair = action[0] == "fair"
        name = self.name + str(action) if fair else None
        if name not in self._alternatives:
            parts = [self.part(part, fair) for part in action[1:]]
            alt = Alternative(*[guard for _, guard in parts])
            alt.process = self
            self._alternatives[name] = tuple([word for word, _ in parts]), alt
        words, alt = self._alternatives[name]
        if fair:
            await self.note(("select", words, name), alt.fair_select(), alt.guards)
        else:
            del self._alternatives[None]
            await self.note(("select", words, False), alt.select(), alt.guards)

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
        limit = None
        if kind == "limit":
            limit = lists[0]
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
                if k.begun and not k.over and kind != "spawn":
                    w.fail("%s goes on without its children" % self.name)
        if self.cancels > before:
            w.events.append(("owes", self.name))


@csp.process
def member(p, actions, ends):
    p.ends = ends
    return p.world.wrap(p.body(actions, True))


class Alternative(csp.Alternative):
    """Notes that it ends by its timer."""

    process = None

    def expired(self):
        if self._chosen is None and self.waits:
            guard = self._limit[1]
            i = [i for i in range(len(self.guards)) if self.guards[i] is guard][0]
            self.process.world.events.append(("expired", self.process.name, i))
        csp.Alternative.expired(self)


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


_cancel = engine.cancel


def _noted_cancel(owned):
    # How a Parallel, a gather or a time limit cancels its children.
    if World.now is not None:
        World.now.cancelled(_task_of(owned))
    _cancel(owned)


engine.cancel = _noted_cancel
_task_of = getattr(engine, "_task_of", None) or (lambda owned: owned.task)
