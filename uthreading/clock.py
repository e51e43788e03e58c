"""Alarms: one timer thread calls back when time is up.

    a = Alarm(lambda alarm: print("now"))
    a.start(250)    # in 250 ms
    a.stop()        # True: it will not

MicroPython's locks take no timeout, so every timeout rests on this. The timer thread sleeps in
slices of at most 5 ms while an alarm is armed, and on a lock otherwise.

Invariants: `_armed` is sorted by `due`, the soonest first, and holds exactly the alarms whose
`due` is not None. `_parked` says that the timer thread waits for `_gate`, or is about to, and
that nobody has opened it yet.
"""

import time
from _thread import allocate_lock

from . import kept
from .report import report

try:
    from time import ticks_add, ticks_diff, ticks_ms
except ImportError:

    def ticks_ms():
        return int(time.monotonic() * 1000)

    def ticks_add(t, ms):
        return t + ms

    def ticks_diff(a, b):
        return a - b


_SLICE_MS = 5
FAR_MS = 1 << 28  # half of what ticks_diff spans on a board: longer alarms go by stages

_lock = allocate_lock()  # guards all that follows; may be held while kept.lock is taken
_armed = []
_started = 0  # 1: a thread was asked to serve; 2: it does
_parked = False
_gate = allocate_lock()
_gate.acquire()


class Alarm:
    """Calls callback(alarm) in the timer thread, once per start; it must not block."""

    def __init__(self, callback):
        self._callback = callback
        self._rest = 0  # ms left after `due`, of an alarm that goes by stages
        self.due = None  # in ticks; None: not armed

    def start(self, ms):
        """Arms the alarm, or moves it, to ms milliseconds from now; never calls back early.

        Raises RuntimeError, with nothing armed, if the timer thread can't be started.
        """
        global _started, _parked
        ms = ms + 1 if ms > 0 else 0  # the tick that is under way does not count
        with _lock:
            if self.due is not None:
                _disarm(self)
            if not _started:
                kept.start(_serve)
                _started = 1
            # First: after an interrupt it may be armed, and rings then. The timer thread waits for
            # the lock.
            if _parked:
                _parked = False  # no jump, where Ctrl-C may come, lies between these two
                _gate.release()
            _arm(self, ms)

    def stop(self):
        """Disarms; true if it was armed and will not call back. Waits for no callback."""
        with _lock:
            if self.due is None:
                return False
            _disarm(self)
            return True


def to_ms(seconds):
    """Seconds, whole or not, as whole milliseconds, rounded up."""
    ms = int(seconds * 1000)
    return ms + 1 if ms < seconds * 1000 else ms


# Puts an alarm behind those that are due at the same time.
def _arm(alarm, ms):
    stage = min(ms, FAR_MS)
    rest = ms - stage
    due = ticks_add(ticks_ms(), stage)
    i = _place(due, 1)
    # Before it is listed: after a call an interrupt may come.
    alarm.due = due
    alarm._rest = rest
    try:
        _armed.insert(i, alarm)
    except MemoryError:
        alarm.due = None
        raise


def _disarm(alarm):
    i = _place(alarm.due, 0)
    while _armed[i] is not alarm:
        i += 1
    alarm.due = None
    _armed.pop(i)


# By bisection, the index of the first alarm that is due at least `later` ms after `due`.
def _place(due, later):
    low = 0
    high = len(_armed)
    while low < high:
        middle = (low + high) // 2
        if ticks_diff(_armed[middle].due, due) < later:
            low = middle + 1
        else:
            high = middle
    return low


# An alarm that is due and out of `_armed`, or the time in ms until there may be one, or None.
def _next():
    global _parked
    with _lock:
        while _armed:
            alarm = _armed[0]
            soon = ticks_diff(alarm.due, ticks_ms())
            if soon > 0:
                return soon
            _armed.pop(0)
            alarm.due = None
            if not alarm._rest:
                return alarm
            _arm(alarm, alarm._rest)  # in the place that has become free
        _parked = True
        return None


def _serve():
    global _started
    with _lock:
        if _started > 1:  # an interrupt came amid the start of another thread, which serves
            return
        _started = 2
    kept.resign()  # this job never ends
    alarm = 0
    while True:
        try:  # around the loop: Ctrl-C comes at a jump
            while True:
                if alarm is None:
                    _gate.acquire()
                    alarm = 0
                if isinstance(alarm, int):  # else Ctrl-C came before it was called
                    try:
                        alarm = _next()
                    except MemoryError:
                        alarm = _SLICE_MS  # try again
                if isinstance(alarm, int):
                    kept.sleep_ms(min(alarm, _SLICE_MS))
                elif alarm is not None:
                    due = alarm
                    alarm = 0  # keep nothing alive while parked
                    try:
                        due._callback(due)
                    except KeyboardInterrupt:
                        raise
                    except BaseException as e:
                        report(e, None)
                    due = None
        except KeyboardInterrupt:
            kept.interrupted = True
