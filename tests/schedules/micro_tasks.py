"""Runs programs of uapycsp inside MicroPython: schedules of its driver, with cancellations.

    MICROPYPATH=.:tests/schedules:.frozen micropython tests/schedules/micro_tasks.py
        ... micro_tasks.py pair 2000                  one program, at most so many schedules
        ... micro_tasks.py all:0/4 300                every fourth program
        ... micro_tasks.py random:0-999 4             made up ones, four schedules each
        ... micro_tasks.py pair --decisions 0,1,1     one schedule; prints its history
        ... micro_tasks.py pair 2000 --fault give_back_dropped    with a fault planted
        ... micro_tasks.py pair --seed 5 --slow 7     as if each resume took 7 ms: the same

The driver resumes first come, first served, and rule 8's order of pairing rests on that. So a
schedule decides what a program could do, too: whether a process is the library's or asyncio's,
how many turns it waits before an action, and after each resume who is cancelled.
"""

import sys
import time

from tasks_check import Failure
from tasks_decisions import Decisions, given, text
from tasks_noted import CancelledError, Failed, Here, csp, engine
from tasks_process import member
from tasks_programs import PROGRAMS
from tasks_random import named
from tasks_world import World
from uapycsp.wait import turn
from ufuture.virtual import VirtualClock

core = engine.core
network = sys.modules["uapycsp.process"]

PLACES = "MICROPYPATH=.:tests/schedules:.frozen"
LONGEST = 3000  # resumes of one schedule
TURNS = 2  # how many different delays there are before an action


class Clock(VirtualClock):
    """Virtual time, which passes by `let_time_pass` alone: no decision depends on the machine."""

    def let_time_pass(self):
        """Let the next timer be due, if it is not."""
        now = self._now
        ms = time.ticks_diff(core._task_queue.peek().ph_key, now.ticks())
        now._ticks = time.ticks_add(now._ticks, max(0, ms))


class Watched:
    """A coroutine, and what happens after each of its steps."""

    def __init__(self, schedule, coro):
        self.schedule = schedule
        self.coro = coro

    def send(self, value):
        try:
            return self.coro.send(value)
        finally:
            self.schedule.stepped()

    def throw(self, *er):
        try:
            return self.coro.throw(*er)
        finally:
            self.schedule.stepped()

    def close(self):
        self.coro.close()


class Blow(engine.Parked):
    """Stands in the driver's queue and cancels a process when its turn comes."""

    def __init__(self, schedule, p):
        self.schedule = schedule
        self.p = p
        self.victim = self

    def cancel(self):
        self.schedule.cancel(self.p)


class Schedule:
    def __init__(self, program, choose):
        self.choose = choose
        self.cancels = program.get("cancels", 1)
        self.victims = program.get("cancel")
        self.programs = program["processes"]
        self.foreign = not program.get("ends", False)  # whether processes may be asyncio's
        self.world = World(program)
        self.world.wrap = self.wrap
        self.world.delay = self.delay
        self.world.between = self.stepped
        self.steps = 0
        self.ending = False

    def wrap(self, coro):
        return Watched(self, coro)

    async def delay(self, p):
        if not self.ending:
            for _ in range(self.choose(TURNS)):
                try:
                    await waits_a_turn()
                except CancelledError:
                    p.world.events.append(("paid", p.name))
                    raise

    def stepped(self):
        self.steps += 1
        if slow_ms:
            time.sleep_ms(slow_ms)
        if self.steps == LONGEST:
            self.world.fail("there is no end to it")
        try:
            self.world.stepped()
        except Failure:
            return
        while self.cancels and not self.ending:
            victims = self.living()
            i = self.choose(1 + len(victims), 1)
            if not i:
                break
            self.cancels -= 1
            self.strike(victims[i - 1], self.choose(2))

    def strike(self, p, late):
        """Cancel p by an entry in the driver's queue: the next one, or (late) the last."""
        blow = Blow(self, p)
        ready = engine._ready
        i = len(ready) - 1
        while i >= 0 and core.cur_task not in (ready[i].task, ready[i].aside):
            i -= 1
        if late or i < 0:
            engine.wake(blow)
        else:
            ready.insert(i + 1, blow)
            engine._base -= 1  # as cancel_later does

    def cancel(self, p):
        if p.task is not None and not p.task.done():
            self.world.cancel(p)
            try:
                self.world.stepped()
            except Failure:
                pass

    def living(self):
        return [
            p
            for p in self.world.processes
            if p.task is not None
            and not p.task.done()
            and (self.victims is None or p.name[0] in self.victims)
        ]

    async def run(self):
        """Failure if a rule is broken."""
        network.Composed.unwaited = 0
        w = self.world
        for name, actions in sorted(self.programs.items()):
            p = w.process(name)
            if isinstance(actions, tuple):
                self.spawn(p, member(p, actions[1], w.ends(actions[0])))
            elif self.foreign and self.choose(2):
                p.task = core.create_task(self.wrap(p.body(actions)))
            else:
                self.spawn(p, self.wrap(p.body(actions)))
        await self.go_on()
        while self.cancels:
            victims = self.living()
            i = self.choose(1 + len(victims))
            if not i:
                break
            self.cancels -= 1
            self.cancel(victims[i - 1])
            await self.go_on()
        self.ending = True
        await self.serve(w.reading)
        w.mark("drained")
        await self.serve(w.writing)
        await self.serve(w.pairs, 1)
        w.poison_all()
        await self.go_on()
        if not network.alive.is_empty():
            raise Failure("a process is left in the list of those alive")
        if engine._cancels:
            raise Failure("a cancellation is still kept for later")
        w.end_check()

    def spawn(self, p, body):
        csp.Spawn(body)
        p.task = network.alive._older.task

    async def serve(self, wanted, rounds=20):
        for _ in range(rounds):
            helpers = wanted()
            if not helpers:
                break
            for p, actions in helpers:
                self.spawn(p, self.wrap(p.body(actions)))
            await self.go_on()

    async def go_on(self):
        """Until nobody can, not even after a timer."""
        while True:
            await core.sleep_ms(0)
            if self.world.wrong is not None:
                raise Failure(self.world.wrong)
            if errors:
                raise Failure(errors[0])
            if engine._ready or engine._cancels:
                continue
            if core._task_queue.peek() is not None:
                clock.let_time_pass()
                continue
            break
        self.world.mark("quiet")


async def waits_a_turn():
    await _turn()


def _turn():
    yield turn()


clock = Clock()
errors = []
slow_ms = 0  # of real time, which each step takes longer


def note_error(loop, context):
    er = context["exception"]
    if not isinstance(er, Failed):
        errors.append(repr(er))


class Broken(Exception):
    pass


async def one(name, program, decisions):
    s = Schedule(program, decisions)
    try:
        await s.run()
    except Failure as er:
        again = "micropython tests/schedules/micro_tasks.py %s --decisions %s" % (name, decisions)
        raise Broken("%s\n    %s %s\n%s" % (er, PLACES, again, text(s.world.events)))
    finally:
        Here.world = None
    return s.world.events


async def explore(name, limit):
    """All schedules of a program if they are few, else some in order and as many random ones."""
    program = named(name, PROGRAMS)
    start = ()
    n = 0
    while start is not None and n < limit // 2:
        decisions = Decisions(start)
        await one(name, program, decisions)
        n += 1
        start = decisions.next()
    if start is not None:
        while n < limit:
            await one(name, program, Decisions((), n))
            n += 1
    return n, start is None


async def main(args):
    global slow_ms
    core.get_event_loop().set_exception_handler(note_error)
    if "--slow" in args:
        slow_ms = int(args[-1])
        args = args[:-2]
    if "--fault" in args:
        import tasks_faults

        getattr(tasks_faults, args[-1])()
        args = args[:-2]
    if "--decisions" in args or "--seed" in args:
        word = args[2]
        seed = int(word) if args[1] == "--seed" else None
        decisions = Decisions((), seed) if seed is not None else Decisions(given(word))
        print(text(await one(args[0], named(args[0], PROGRAMS), decisions)))
        return
    names = [args[0]] if args else sorted(PROGRAMS)
    limit = int(args[1]) if len(args) > 1 else 400
    total = 0
    if args and args[0].startswith("all:"):
        part, parts = args[0].split(":")[1].split("/")
        names = sorted(PROGRAMS)[int(part) :: int(parts)]
    elif args and "-" in args[0]:
        first, last = args[0].split(":")[1].split("-")
        for seed in range(int(first), int(last) + 1):
            name = "random:%d" % seed
            program = named(name, PROGRAMS)
            for k in range(limit):
                await one(name, program, Decisions((), k))
                total += 1
        names = ()
    for name in names:
        t = time.ticks_ms()
        n, all_of_them = await explore(name, limit)
        total += n
        print(name, n, "all" if all_of_them else "", time.ticks_diff(time.ticks_ms(), t), "ms")
    print("%d schedules" % total)


if __name__ == "__main__":
    clock.run(main(sys.argv[1:]))
