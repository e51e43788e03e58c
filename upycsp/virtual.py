"""Time that jumps, for tests: `run(main(), clock=VirtualClock())`.

While such a run lasts its processes take turns. So it is known when none can go on, and the same
program does the same each time:
1. A process runs only while it has a turn, which it keeps until it waits or ends.
2. Who is started or woken stands in a line, the first of which gets the next turn.
3. While somebody has a turn, nobody gets one. Who gives one back passes it on, if it was the last.
4. If the line is empty then, the clock takes a turn: it jumps to the first alarm and rings it; if
   there is none, it looks for a deadlock.
5. So if anybody stands in the line, somebody has a turn.

A place is where a process waits for its turn; it stands between the offer of the process's thread
and its bolt. Other threads have none, and wait for none. Processes that are left when the run is
over go on by themselves, in real time.

`lock` guards alarms and time, as it does channels; `Turns.lock` is a leaf below it, under which
who gets a turn is roused.
"""

import sys
from _thread import allocate_lock

from uthreading.clock import FAR_MS, Alarm, ticks_add, ticks_ms
from uthreading.report import report
from upycsp import process as _load  # noqa: F401
from upycsp import timers, watch
from upycsp.alternative import Alternative
from upycsp.wait import lock, own

_process = sys.modules["upycsp.process"]
Process = _process.Process

_PATIENCE = 10  # looks of the watchdog, half a second apart

_turns = None  # those of the run that goes on by a virtual clock; guarded by lock

# What is exchanged for such a run: without one nothing asks for a clock.
_start = Process.start
_enter = Process._enter
_tell = Process._tell
_arm = Alternative.arm
_look = watch._look
_abandon = watch._abandon


class VirtualClock:
    """A clock that jumps to the next timer. One run after another may use it; it goes on then."""

    def __init__(self):
        self._now = 0
        self._ticks = ticks_ms()

    def now_ms(self):
        """How many ms have passed by this clock."""
        return self._now

    def ticks_ms(self):
        return self._ticks

    def run_group(self, group, processes):
        """As watch.run_group, by this clock."""
        turns = Turns(self)
        try:
            _begin(turns)
            values = watch.run_group(group, processes)
        finally:
            try:
                _end(turns)
            except KeyboardInterrupt:  # it came in the midst of that
                _end(turns)
                raise
        return values

    def jump(self, now):
        """On to a time that is not before now_ms()."""
        ms = now - self._now
        while ms > FAR_MS:
            self._ticks = ticks_add(self._ticks, FAR_MS)
            ms -= FAR_MS
        self._ticks = ticks_add(self._ticks, ms)
        self._now = now


def _begin(turns):
    global _turns
    with lock:
        if _turns is not None:
            raise RuntimeError("a virtual clock runs already")
        if _process._runs:
            raise RuntimeError("a run goes on already, and in real time")
        me = own()
        ticks = turns.clock.ticks_ms
        turns.place = place = Place(turns, me.wait, me.wake)
        place.held = turns.out = 1
        place.take(me)
        _turns = turns
        timers.engine.ticks_ms = ticks
        Process.start = _start_in_line
        Process._enter = _enter_by_turns
        Process._tell = _tell_by_turns
        Alternative.arm = _arm_virtual
        watch._look = _look_and_nudge
        watch._abandon = _end_and_abandon


def _end(turns):
    global _turns
    with lock:
        if turns.place is not None:
            turns.place.restore()
        if _turns is turns:
            watch._abandon = _abandon
            watch._look = _look
            Alternative.arm = _arm
            Process._tell = _tell
            Process._enter = _enter
            Process.start = _start
            timers.engine.ticks_ms = ticks_ms
            now = turns.clock.now_ms()
            while turns.alarms:
                turns.alarms[0].go_on(now)
                turns.alarms.pop(0)
            _turns = None
    turns.end()


class Turns:
    """Whose turn it is, in one run."""

    def __init__(self, clock):
        self.clock = clock
        self.place = None  # that of the thread that called run
        self.alarms = []  # those armed, by `due`, equal ones by when they were armed
        self.lock = allocate_lock()  # guards all that follows, and the places
        self.out = 0  # how many turns were given and not given back
        self.over = False
        self._first = self._last = None  # the line
        self._given = self._seen = 0
        self._looks = 0

    def pass_on(self):
        """If nobody has a turn, the first in the line gets it, or the clock. Not under lock."""
        while True:
            with self.lock:
                if self.out or self.over or self.give():
                    return
                self.out = 1
            rang = False
            try:
                rang = self._ring()
                if not rang:
                    _look()
            finally:
                with self.lock:
                    self.out -= 1
                    rests = self._first is None
            if rests and not rang:
                return

    def _ring(self):
        with lock:
            if not self.alarms:
                return False
            alarm = self.alarms.pop(0)
            self.clock.jump(alarm.due)
            alarm.due = alarm.turns = None
        alarm.ring()
        return True

    def nudge(self):
        """What the watchdog does: goes on where other threads have changed something.

        A process may keep its turn while it waits for another one by means of its own.
        """
        with self.lock:
            if self.over:
                return
            if self._first is None or self._given != self._seen:
                self._looks = 0
                self._seen = self._given
            elif self._looks < _PATIENCE:
                self._looks += 1
            else:
                self.give()
                return
        self.pass_on()

    def end(self):
        """The run is over: all go on by themselves."""
        with self.lock:
            self.over = True
            while self.give():
                pass

    # Under its lock

    def line_up(self, place):
        """At the end of the line."""
        place.in_line = True
        if self._first is None:
            self._first = place
        else:
            self._last.next = place
        self._last = place

    def leave_line(self, place):
        before = None
        p = self._first
        while p is not place:
            before = p
            p = p.next
        if before is None:
            self._first = place.next
        else:
            before.next = place.next
        if self._last is place:
            self._last = before
        place.next = None
        place.in_line = False

    def give(self):
        """Rouse the first in the line, with a turn; false if there is nobody."""
        place = self._first
        if place is None:
            return False
        # No jump, where Ctrl-C may come, lies between these: else nobody might rouse it any more.
        self._first = place.next
        place.next = None
        place.in_line = False
        place.held += 1
        self.out += 1
        self._given += 1
        place.rouse()
        return True


class Place:
    """Where a process waits for its turn. sleep, rouse: acquire and release its bolt."""

    def __init__(self, turns, sleep, rouse):
        self.turns = turns
        self.sleep = sleep
        self.rouse = rouse
        self.next = None
        self.in_line = False
        self.held = 0  # turns: two, if it is woken before it waits and the watchdog is impatient
        self._left = False  # its thread takes no more turns
        self._me = None  # the offer that it stands before
        self._usual = None

    def take(self, me):
        """From now on the thread with this offer waits here.

        It runs no other process within its own: that would go before those that stand in the line.
        """
        wait = self.wait
        wake = self.wake
        self._usual = me.wait, me.wake, me.nests
        self._me = me
        me.wait = wait
        me.wake = wake
        me.nests = False

    def restore(self):
        if self._me is not None:
            self._me.wait, self._me.wake, self._me.nests = self._usual
            self._me = None

    def wait(self):
        """As an offer's."""
        try:
            self._give_back()
            self.sleep()
        except BaseException:
            self.leave()
            raise

    def wake(self):
        """As an offer's: it gets a turn as soon as it is the first in the line."""
        turns = self.turns
        with turns.lock:
            if self._left or turns.over:
                self.rouse()
                return
            turns.line_up(self)
            if not turns.out:
                turns.give()

    def _give_back(self):
        turns = self.turns
        with turns.lock:
            if not self.held:
                return
            self.held -= 1
            turns.out -= 1
        turns.pass_on()

    def leave(self):
        """Its thread was interrupted, or the process has ended: it takes no more turns."""
        turns = self.turns
        with turns.lock:
            self._left = True
            in_line = self.in_line and not turns.over
            if in_line:
                turns.leave_line(self)
            turns.out -= self.held
            self.held = 0
        if in_line:
            self.rouse()  # its thread may have been started all the same
        turns.pass_on()


class VirtualAlarm(Alarm):
    """An alternative's alarm from its first selection by a virtual clock on. Under lock."""

    def __init__(self, callback):
        Alarm.__init__(self, callback)
        self.turns = None  # or among whose alarms it is

    def start(self, ms):
        if _turns is None:
            Alarm.start(self, ms)
            return
        self.stop()
        due = _turns.clock.now_ms() + ms
        alarms = _turns.alarms
        i = len(alarms)
        while i and alarms[i - 1].due > due:
            i -= 1
        alarms.insert(i, self)  # may raise MemoryError: nothing has changed then
        self.due = due
        self.turns = _turns

    def stop(self):
        if self.turns is None:
            return Alarm.stop(self)
        self.turns.alarms.remove(self)
        self.due = self.turns = None
        return True

    def go_on(self, now):
        """In real time. After an interrupt it is asked once more."""
        turns = self.turns
        if turns is None:
            return
        due = self.due
        self.due = self.turns = None
        try:
            Alarm.start(self, due - now)
        except Exception as er:  # no memory, no thread; a tuple of both might find none
            report(er, None)
        except BaseException:
            if self.due is None:
                self.due = due
                self.turns = turns
            raise

    def ring(self):
        """Not under lock."""
        try:
            self._callback(self)
        except Exception as er:
            report(er, None)


# What stands in the place of the usual


def _start_in_line(p):
    # The order of the starts counts, not that in which the threads begin.
    turns = _turns
    if turns is None:
        return _start(p)
    try:
        bolt = allocate_lock()
        bolt.acquire()
        p._place = place = Place(turns, bolt.acquire, bolt.release)
    except MemoryError as er:
        return p.fail(er)
    place.wake()
    failed = _start(p)
    if failed is not None:
        place.leave()
    return failed


def _enter_by_turns(p):
    place = getattr(p, "_place", None)
    if place is not None:
        place.sleep()
    begins = _enter(p)
    if begins and place is not None:
        place.take(p._me)
    return begins


def _tell_by_turns(p):
    place = getattr(p, "_place", None)
    try:
        _tell(p)
    finally:
        if place is not None:
            place.restore()
            place.leave()


def _arm_virtual(alt, ms, guard):
    if not isinstance(alt._alarm, VirtualAlarm):
        alt._alarm = VirtualAlarm(alt._due)
    _arm(alt, ms, guard)


def _look_and_nudge():
    turns = _turns
    _look()
    if turns is not None:
        turns.nudge()


def _end_and_abandon(er):
    # Interrupted, the main thread may have a turn, which it keeps.
    turns = _turns
    if turns is not None:
        turns.end()
    _abandon(er)
