"""A process of a program of tasks_world, and what it does for each action."""

import ufuture
import uapycsp as csp
from cspcore import calls
from cspcore.channel import DEAD
from histories import CANCELLED, POISON
from tasks_causes import RETIRED
from tasks_farm import Farming
from tasks_noted import FAILED, Alternative, CancelledError, Failed, Handle, engine, shown
from uapycsp import meeting
from uapycsp.closing import Closed
from uapycsp.guards import Ended
from uapycsp.wait import coroutine, turn

# What never waits.
INSTANT = "join retire retire_of flush enrol resign break close poison fail".split()


@coroutine
def others_first():
    """Those who are ready go first."""
    yield turn()


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
        elif kind in ("feed", "farm", "drain", "map"):
            w.farming = w.farming or Farming(w)
            await w.farming.do(self, *action)
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


@csp.process
def member(p, actions, ends):
    p.ends = ends
    return p.world.wrap(p.body(actions, True))
