"""A `_thread` in which one thread runs at a time and a strategy says who goes on.

    scheduler = install()                       # before uthreading and upycsp are imported
    scheduler.run([("a", f), ("b", g)], strategy)

Each fake thread is a real one that runs only while it holds the baton. Before every acquire of a
lock, after every release and after the start of a thread stands a *point*, where the strategy may
let another go on. Time is virtual: it stands still while threads can run, and leaps to the next
sleeper when none can, or when the strategy lets a sleeper wake early.

Real threads are used again from run to run, and a run that is over throws `Unwind` into
whoever still waits.
"""

import _thread as real
import sys
import types

STEPS = 100000  # more than any program needs: else it runs in circles
LIMIT_MS = 20000  # virtual


class Unwind(BaseException):
    """The run is over."""


class FakeThread:
    """What is known of a thread; `wants` is the lock it is about to acquire."""

    def __init__(self, scheduler, ident):
        self.scheduler = scheduler
        self.ident = ident
        self.baton = real.allocate_lock()
        self.baton.acquire()
        self.reset(None, None)
        real.start_new_thread(self.work, ())

    def reset(self, name, body):
        self.name = name
        self.body = body
        self.wants = None
        self.due = None
        self.interrupt = None  # an exception to be raised where it waits
        self.late = False  # if so, after it has acquired
        self.done = body is None

    def work(self):
        while True:
            self.baton.acquire()
            s = self.scheduler
            sys.settrace(s.tracer)
            try:
                if not s.over:
                    self.body()
            except (Unwind, SystemExit):
                pass
            except BaseException as er:
                s.trouble("thread %s died of %r" % (self.name, er))
            self.body = None
            self.done = True
            s.leave(self)


class FakeLock:
    """As `_thread.lock`, with a point before an acquire and after a release."""

    name = None
    sleeper = None  # who waits for it
    bolt = False  # whether it was made to sleep on: acquired as soon as made

    def __init__(self, scheduler):
        self.scheduler = scheduler
        self.held = False
        # Until the next point nobody else knows it.
        self.born = scheduler.steps if scheduler.current is not None else -1

    def acquire(self, blocking=True, timeout=-1):
        s = self.scheduler
        me = s.current
        if me is None:  # nothing runs: the library is being loaded
            if self.held:
                raise RuntimeError("nobody could release this lock")
            self.held = True
            return True
        if s.over:
            raise Unwind
        if self.born == s.steps and not self.held:
            self.held = self.bolt = True
            return True
        if blocking:
            me.wants = self
            if self.held:
                self.sleeper = me
                if s.on_park is not None:
                    s.on_park(me, self)
        s.point(self, "acquire")
        me.wants = self.sleeper = None
        if me.interrupt is not None:
            er = me.interrupt
            me.interrupt = None
            if me.late:
                self.held = True
            raise er
        if self.held:
            return False
        self.held = True
        return True

    __enter__ = acquire

    def release(self):
        s = self.scheduler
        if s.over:
            return
        if not self.held:
            s.trouble("a lock was released that nobody held")
            raise RuntimeError("release unlocked lock")
        self.held = False
        if s.current is not None:
            s.point(self, "release")

    def __exit__(self, *args):
        self.release()

    def release_sleeper(self):
        """For a seeded fault: a release that does nothing unless somebody sleeps already."""
        if self.sleeper is not None:
            self.release()

    def locked(self):
        return self.held


class Scheduler:
    """Runs threads one at a time, as a strategy decides."""

    def __init__(self):
        self.workers = []
        self.current = None
        self.over = False
        self.steps = 0
        self.on_park = None  # called when a thread has to wait for a lock
        self.tracer = None
        self.wake_me = real.allocate_lock()
        self.wake_me.acquire()

    # What the fake module calls

    def allocate_lock(self):
        return FakeLock(self)

    def get_ident(self):
        return 1 if self.current is None else self.current.ident

    def start_new_thread(self, f, args, kwargs=None):
        if self.over:
            raise Unwind
        t = self.add("t%d" % (len(self.threads) + 1), lambda: f(*args, **(kwargs or {})))
        self.point(t, "start")
        return t.ident

    def sleep_ms(self, ms):
        me = self.current
        if self.over:
            raise Unwind
        me.due = self.now + (ms if ms > 0 else 0)
        self.point(None, "sleep")
        me.due = None

    def ticks_ms(self):
        return self.now

    # The run

    def run(self, bodies, strategy, verbose=False):
        """Run (name, body) as threads with the idents 1, 2, ... until none can go on."""
        self.threads = []
        self.troubles = []
        self.now = 0
        self.steps = 0
        self.over = False
        self.verbose = verbose
        self.strategy = strategy
        for name, body in bodies:
            self.add(name, body)
        self.pass_on(self.choose(None))
        self.wake_me.acquire()
        self.waiting = [t for t in self.threads if not t.done]
        self.unwind()

    def unwind(self):
        self.over = True
        for t in self.threads:
            if not t.done:
                self.current = t
                t.baton.release()
                self.wake_me.acquire()
        self.current = None
        self.over = False

    def add(self, name, body):
        n = len(self.threads)
        if n == len(self.workers):
            self.workers.append(FakeThread(self, n + 1))
        t = self.workers[n]
        t.reset(name, body)
        self.threads.append(t)
        return t

    def trouble(self, text):
        if not self.over:
            self.troubles.append(text)

    def interrupt(self, name, exception, late=False):
        """Raise an exception in a thread that waits for a lock; false if it does not.

        late: just after it has acquired the lock, which is free.
        """
        for t in self.threads:
            if t.name == name and t.wants is not None and not t.done:
                if late and t.wants.held:
                    return False
                t.interrupt = exception
                t.late = late
                return True
        return False

    # Points between the lines of some files

    def trace_lines(self, folders):
        """From now on there is a point before each line of the files in some folders, too."""

        def tracer(frame, event, arg):
            return on_line if frame.f_code.co_filename.startswith(folders) else None

        def on_line(frame, event, arg):
            if event == "line" and not self.over:
                step = self.steps + 1
                if self.strategy.asks_line(step):
                    self.point(None, "line %d of %s" % (frame.f_lineno, frame.f_code.co_name))
                else:
                    self.steps = step
            return on_line

        self.tracer = tracer

    # Points. A thread calls this and goes on when it is chosen again.

    def point(self, what, kind):
        me = self.current
        other = self.choose(me)
        if self.verbose:
            self.tell(me, what, kind, other)
        if other is not me:
            self.pass_on(other)
            me.baton.acquire()
            if self.over:
                raise Unwind

    def leave(self, me):
        if self.over:
            self.wake_me.release()
        else:
            self.pass_on(self.choose(me))

    def pass_on(self, other):
        self.current = other
        if other is None:
            self.wake_me.release()
        else:
            other.baton.release()

    def choose(self, me):
        """Who goes on after me; None if nobody can."""
        self.steps = step = self.steps + 1
        if step > STEPS or self.now > LIMIT_MS:
            self.trouble("runs in circles: %d steps, %d ms" % (step, self.now))
            return None
        able = me is not None and not me.done
        if able:
            if me.interrupt is None:
                able = me.wants is None or not me.wants.held
                if me.due is not None and me.due > self.now:
                    able = False
            if able and not self.strategy.asks(step):
                return me
        ready = [me] if able else []
        asleep = []
        for t in self.threads:
            if t.done or t is me and able:
                continue
            if t.interrupt is not None:
                ready.append(t)
            elif t.due is not None and t.due > self.now:
                asleep.append(t)
            elif t.wants is None or not t.wants.held:
                ready.append(t)
        if not ready:
            if not asleep:
                return None
            first = min([t.due for t in asleep])
            ready = [t for t in asleep if t.due == first]
            asleep = []
        free = 1 if able else len(ready)
        awake = len(ready)
        ready += asleep
        t = ready[0] if len(ready) == 1 else self.strategy.choose(step, ready, free, awake)
        if t.due is not None and t.due > self.now:
            self.now = t.due
        return t

    def tell(self, me, what, kind, other):
        where = "" if what is None else " " + (what.name or "a lock")
        goes_on = "" if other is me else "   -> %s" % (other.name if other else "nobody")
        print("  %4d  %-8s %s%s%s" % (self.steps, me.name, kind, where, goes_on))


def install():
    """Put a fake `_thread` in the place of the real one, for what is imported from now on."""
    s = Scheduler()
    m = types.ModuleType("_thread")
    m.allocate_lock = s.allocate_lock
    m.get_ident = s.get_ident
    m.start_new_thread = s.start_new_thread
    m.stack_size = lambda size=0: 0
    m.error = RuntimeError
    m.LockType = FakeLock
    sys.modules["_thread"] = m
    return s


def uninstall():
    sys.modules["_thread"] = real
