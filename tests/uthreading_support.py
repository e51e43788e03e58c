"""What the tests of uthreading share."""

import sys
from _thread import allocate_lock

import uthreading
from uthreading import clock, kept

MICROPYTHON = sys.implementation.name == "micropython"

# For these the same claims hold: on CPython for its own threading, too.
if MICROPYTHON:
    MODULES = (uthreading,)
else:
    import threading

    MODULES = (uthreading, threading)


def until(condition, text="the state waited for"):
    """Waits for a state; fails after half a minute."""
    end = clock.ticks_ms() + 30000
    while not condition():
        assert clock.ticks_diff(end, clock.ticks_ms()) > 0, text + " never came"
        kept.sleep_ms(1)


def queued(queue):
    """How many threads wait in a uthreading.waiting.Queue."""
    n = 0
    waiter = queue.first
    while waiter is not None:
        n += 1
        waiter = waiter.next
    return n


def raises(error, f, *args, **kwargs):
    """The text of the error that f raises."""
    try:
        f(*args, **kwargs)
    except error as e:
        return str(e)
    assert False, "no {}".format(error.__name__)


def count_starts(f):
    """How many threads f() starts."""
    starts = []

    def start_new_thread(function, args):
        starts.append(1)
        return old(function, args)

    old = kept.set_starter(start_new_thread)
    try:
        f()
    finally:
        kept.set_starter(old)
    return len(starts)


def run_and_wait(job):
    """Runs a job and returns once its thread is idle again."""
    done = allocate_lock()
    done.acquire()
    kept.start(job, done.release)
    done.acquire()
