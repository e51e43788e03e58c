"""An event loop whose next step is a decision: which of those ready goes on, and who is cancelled.

Time is virtual: it stands still until the decision is to let the next timer be due.
"""

import asyncio
import heapq
import sys

from tasks_check import Failure
from tasks_noted import Failed, Here, csp, engine
from tasks_process import member
from tasks_world import World

network = sys.modules["uapycsp.process"]  # the package has a function of this name

LONGEST = 2000  # steps of one schedule


class Handle:
    def __init__(self, callback, args, context):
        self.callback = callback
        self.args = args
        self.context = context
        self.is_cancelled = False

    def cancel(self):
        self.is_cancelled = True

    def cancelled(self):
        return self.is_cancelled

    def run(self):
        if self.context is None:
            self.callback(*self.args)
        else:
            self.context.run(self.callback, *self.args)

    def steps(self):
        """Whether it lets a process go on, not only tells of an end."""
        return isinstance(getattr(self.callback, "__self__", None), asyncio.Task)


class Loop(asyncio.AbstractEventLoop):
    """Runs one schedule of a program; what it needs of asyncio's loops, and nothing else."""

    def __init__(self):
        self.ready = []
        self.timers = []
        self.now = 0.0
        self.count = 0
        self.errors = []

    def time(self):
        return self.now

    def get_debug(self):
        return False

    def is_running(self):
        return True

    def is_closed(self):
        return False

    def call_soon(self, callback, *args, context=None):
        h = Handle(callback, args, context)
        self.ready.append(h)
        return h

    call_soon_threadsafe = call_soon

    def call_later(self, delay, callback, *args, context=None):
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at(self, when, callback, *args, context=None):
        h = Handle(callback, args, context)
        self.count += 1
        heapq.heappush(self.timers, (when, self.count, h))
        return h

    def create_future(self):
        return asyncio.Future(loop=self)

    def create_task(self, coro, **kwargs):
        return asyncio.Task(coro, loop=self, **kwargs)

    def call_exception_handler(self, context):
        er = context.get("exception")
        if not isinstance(er, Failed):
            self.errors.append("%s: %r" % (context.get("message"), er))

    def pass_timers(self):
        """Drop the timers that were taken back; whether one is left."""
        while self.timers and self.timers[0][2].is_cancelled:
            heapq.heappop(self.timers)
        return bool(self.timers)

    def let_time_pass(self):
        self.now, _, h = heapq.heappop(self.timers)
        self.ready.append(h)


class Schedule:
    """One run of a program under a list of decisions: `choose(n)` gives each, below n."""

    def __init__(self, program, choose):
        self.choose = choose
        self.every_end = program.get("ends", False)  # whether the order of ends matters, too
        self.cancels = program.get("cancels", 1)
        self.victims = program.get("cancel")
        self.programs = program["processes"]
        self.loop = Loop()
        self.world = World(program)
        self.steps = 0
        self.ending = False

    def run(self):
        """Failure if a rule is broken."""
        network.alive.clear()  # of a schedule that failed
        network.Composed.unwaited = 0
        engine._later.clear()
        asyncio._set_running_loop(self.loop)
        try:
            self._run()
        finally:
            asyncio._set_running_loop(None)
            Here.world = None

    def _run(self):
        w = self.world
        for name, actions in sorted(self.programs.items()):
            p = w.process(name)
            if isinstance(actions, tuple):
                self.spawn(p, member(p, actions[1], w.ends(actions[0])))
            else:
                self.spawn(p, p.body(actions))
        self.go_on()
        # All that is decided has been; the rest goes first come, first served.
        self.ending = True
        self.serve(w.reading)
        w.mark("drained")
        self.serve(w.writing)
        self.serve(w.pairs, 1)
        w.poison_all()
        self.go_on()
        if not network.alive.is_empty():
            raise Failure("a process is left in the list of those alive")
        if engine._later:
            raise Failure("a cancellation is still kept for later")
        w.end_check()

    def serve(self, wanted, rounds=20):
        for _ in range(rounds):
            helpers = wanted()
            if not helpers:
                break
            for p, actions in helpers:
                self.spawn(p, p.body(actions))
            self.go_on()

    def spawn(self, p, body):
        csp.Spawn(body)
        p.task = network.alive._older.task  # it is the youngest

    def go_on(self):
        """Until nobody can."""
        while self.step():
            pass
        self.world.mark("quiet")

    def step(self):
        """One decision and what follows from it; false if there is nothing to decide."""
        loop = self.loop
        ready = loop.ready
        n = len(ready)
        timed = loop.pass_timers()
        self.steps += 1
        if self.steps > LONGEST:
            raise Failure("there is no end to it")
        if self.ending:
            if n:
                self.do(ready.pop(0))
            elif timed:
                if all(p.task.done() for p in self.world.processes if p.task is not None):
                    raise Failure("a timer is still armed when all is over")
                loop.let_time_pass()
            return n or timed
        if not self.every_end:
            for i in range(n):
                if not ready[i].steps():
                    self.do(ready.pop(i))
                    return True
        if timed and not n:
            self.check_timers()
        victims = self.living() if self.cancels else ()
        # To stop here is a decision, too, where there is somebody to cancel.
        options = n + timed + len(victims)
        if not n and not timed:
            options += 1
        i = self.choose(options, options - len(victims)) if options > 1 else 0
        if i < n:
            self.do(ready.pop(i))
        elif not n and not timed and not i:
            return False
        elif timed and i == n:
            loop.let_time_pass()
        else:
            self.cancels -= 1
            self.world.cancel(victims[i - options])
            self.world.stepped()
        return True

    def check_timers(self):
        for _, _, h in self.loop.timers:
            if not h.is_cancelled and h.callback is engine._expire and h.args[0].future.done():
                raise Failure("a timer is armed for somebody who does not wait")

    def living(self):
        return [
            p
            for p in self.world.processes
            if p.task is not None
            and not p.task.done()
            and (self.victims is None or p.name[0] in self.victims)
        ]

    def do(self, handle):
        if handle.is_cancelled:
            return
        handle.run()
        self.world.stepped()
        if self.loop.errors:
            raise Failure(self.loop.errors[0])
