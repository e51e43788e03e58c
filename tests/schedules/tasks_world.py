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
    ("feed", ..)  ("farm", ..)  ("drain",)  ("map", ..)   see tasks_farm
    ("sleep", ms)  ("turn",)  ("fail",)
    ("join", c, how)  ("retire", c, how)   has a counted end from now on ("read" or "write"), by
                            which it reads or writes; has it no more
    ("retire_of", p, c, how)   retires the counted end of another process, if it has one

What happens is noted down in the words of tasks_check.
"""

from cspcore.channel import DEAD
from tasks_causes import Causes
from tasks_check import Failure, conserve, follow
from tasks_noted import Buffered, Calls, Here, Plain, current_task, running_task, within
from tasks_process import Process
from uapycsp import meeting


class World:
    """One run of a program."""

    def __init__(self, program):
        Here.world = self
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
        self.farming = None
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

    def between(self):
        """A process does something that is no operation: here one may be cancelled."""

    def process(self, name):
        p = Process(self, name)
        self.processes.append(p)
        return p

    def begins(self, p):
        p.task = current_task()
        self._tasks[id(p.task)] = p

    def works(self):
        """The task that runs may be cancelled from now on, as processes are."""
        if id(current_task()) not in self._tasks:
            self.begins(self.process("W%d" % len(self.processes)))

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
        if self.farming is not None:
            self.farming.check()
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
