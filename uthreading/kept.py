"""Kept threads: `start(fn)` runs fn() on a thread that waits for work, or on a new one.

Starting a thread costs 17 - 190 us, and an ESP32 frees a dead thread's stack only when its idle
task runs: so threads never end here. One that has done its job lies on a stack of idle ones and
sleeps on its own lock, its *bolt*, which costs no processor time; `start` takes the one used
last.

Invariants:
- A worker lies on the idle stack or is busy, never both; both moves are made under `lock`.
- A bolt is locked whenever its worker is on the idle stack, and is released once per job, by the
  one who took the worker from there. (MicroPython's lock learns that it is locked a moment after
  its owner has it, and refuses a release within that moment; here that is over long before.)
- `lock` is a leaf: nobody takes another lock while holding it.
"""

import _thread
import gc
import sys
import time
from _thread import allocate_lock, get_ident

import uthreading

from .report import report

gc.collect()  # what compiling files has left is in the way of the next ones
# Stack enough for an import: pool, from source, takes 12 KB with words of 32 bits, 40 KB with 64.
_DEEP = 65536 if sys.maxsize >> 31 else 16384
_CPYTHON = sys.implementation.name == "cpython"

# What is raised where memory or threads end. A tuple that stands in the `except` itself is made
# when that is reached, and then there may be no memory for it.
SHORTAGES = (OSError, MemoryError, RuntimeError)

lock = allocate_lock()  # guards all that follows, and the life of the Threads
# What is known of a thread, by its ident: [its Thread or None, the `local`s it used or None].
records = {}
alive = []  # the Threads that are started and not ended, but for the main one
main_ident = uthreading.main_ident

_idle = None  # the worker that fell idle last; `below` leads to the others
_idle_count = 0
_count = 0
_stack = 0  # the size now asked for; 0: the port's default
_apart = None  # on CPython: see uthreading.fork
_start_new_thread = _thread.start_new_thread
# A thread must not load modules where nothing else (a GIL) makes that safe: they are loaded before
# the first is started. An ESP32 has a GIL; and a heap below 512 KB has no room for all of them.
loads_early = sys.platform != "esp32" and (_CPYTHON or gc.mem_free() + gc.mem_alloc() >= 0x80000)
_unloaded = loads_early
loaders = []  # what else is to be called then
# Ctrl-C came to one of these threads: MicroPython 1.16 and older give it to whichever runs. It is
# for the main thread, if that polls.
interrupted = False

# Whether nothing orders the threads.
side_by_side = not _CPYTHON and sys.platform != "esp32"
if side_by_side:
    try:
        __import__("uthreading.rooms")
    except ImportError:  # it is not in an ESP32's image
        pass

# A main thread blocked on a lock cannot be interrupted on a board: there it polls.
_main_polls = not _CPYTHON and sys.platform not in ("linux", "darwin", "win32")


if _CPYTHON:

    def sleep_ms(ms):
        time.sleep(ms / 1000)

elif sys.platform in ("esp32", "linux", "darwin"):
    # An empty poll really sleeps, on an ESP32 from MicroPython 1.19 on; before it only lets others
    # run. time.sleep_ms there spends its last 10 ms busy and with the GIL held, and on the Unix
    # port 4 % of a processor.
    import select

    _ipoll = select.poll().ipoll

    def sleep_ms(ms):
        try:
            _ipoll(ms)
        except SHORTAGES:  # the timer thread and the watchdog must not end by it
            time.sleep_ms(ms)

else:
    sleep_ms = time.sleep_ms


class _Worker:
    def __init__(self, stack, job, after):
        self.stack = stack
        self.job = job
        self.after = after
        self.below = None
        self.bolt = allocate_lock()
        self.bolt.acquire()

    def work(self):
        global _idle, _idle_count, interrupted
        ident = get_ident()
        bolt = self.bolt
        waits = False  # on the idle stack, which it leaves by its bolt
        _forget(ident)  # left by a foreign thread that had the same ident
        while True:
            try:  # around the loop: Ctrl-C comes at a jump
                while True:
                    if not waits:
                        job = self.job
                        if job is not None:
                            self.job = None
                            try:
                                job()
                            except BaseException as e:
                                report(e, _thread_of(ident))
                        job = None  # an idle thread keeps nothing alive
                        after = self.after
                        self.after = None
                        with lock:
                            record = records.pop(ident, None)
                            self.below = _idle
                            _idle = self
                            _idle_count += 1
                            waits = True
                    # Now `start` may hand over the next job, even before the bolt is reached.
                    try:
                        if record is not None:
                            clear_locals(record[1], ident)
                            record = None
                        if after is not None:
                            tell = after
                            after = None
                            tell()
                    except KeyboardInterrupt:
                        raise
                    except BaseException as e:
                        report(e, None)
                    record = after = tell = None
                    bolt.acquire()
                    waits = False
            except KeyboardInterrupt:
                interrupted = True


def start(fn, after=None):
    """Runs fn() on a kept thread, new if none is idle; an exception goes to the excepthook.

    `after`, which must not block, is called when the job has ended and its thread is idle again:
    whoever it wakes finds a thread to start. Raises RuntimeError, and leaves nothing behind, when
    there is no thread to be had.
    """
    global _idle, _idle_count
    if _apart is not None:
        fn = _apart(fn)
    with lock:
        w = _idle
        if w is None or w.stack != _stack:
            w = _bring_up()
        if w is not None:
            # No jump, where Ctrl-C may come, lies between the first of these and the last: else a
            # worker might be neither idle nor at work.
            _idle = w.below
            _idle_count -= 1
            w.below = None
            w.job = fn
            w.after = after
            w.bolt.release()
            return
    _grow(fn, after)


def counts():
    """How many kept threads are (idle, busy); the timer thread is not one of them."""
    with lock:
        return _idle_count, _count - _idle_count


def stack_size(size=None):
    """The stack size in bytes of the threads started from now on; returns the one before.

    0 stands for the port's default. Ports round small sizes up to the least they can do.
    """
    global _stack
    old = _stack
    if size is not None:
        if size < 0:
            raise ValueError("size must be 0 or a positive number")
        if _CPYTHON and 0 < size < 32768:  # it refuses less
            size = 32768
        with lock:
            # Let the port judge the size now rather than at the next start.
            _thread.stack_size(_thread.stack_size(size))
            _stack = size
    return old


def set_starter(f):
    """Replaces `_thread.start_new_thread`, for tests; returns the function used before."""
    global _start_new_thread
    old = _start_new_thread
    _start_new_thread = f
    return old


def resign():
    """Called by a job that will never end: its thread is not counted any more."""
    global _count
    with lock:
        _count -= 1


def may_block():
    """Whether the calling thread can wait on a lock and still be interrupted by Ctrl-C."""
    return not _main_polls or get_ident() != main_ident


def polls():
    """Whether the main thread has to poll, as on a board."""
    return _main_polls


def poll_in_main(flag):
    """Sets whether the main thread polls, as it does on a board; returns the former setting."""
    global _main_polls
    old = _main_polls
    _main_polls = flag
    return old


def wait(bolt):
    """Acquires a bare lock for as long as it takes, polling every 5 ms if it may not block."""
    if may_block():
        bolt.acquire()
    else:
        while not bolt.acquire(0):
            pause()


def pause():
    """Sleeps 5 ms of a wait of the main thread; KeyboardInterrupt if Ctrl-C came to another."""
    global interrupted
    sleep_ms(5)
    if interrupted:
        interrupted = False
        raise KeyboardInterrupt


def aside(f, args):
    """f(*args), which loads modules, on a thread with stack enough, if there is room for one."""
    if not args or args[0] in sys.modules or get_ident() == main_ident:
        return f(*args)
    done = [None, None]  # what f returns, what it raises; made now: memory may end there
    bolt = allocate_lock()
    bolt.acquire()

    def job():
        uthreading._loader = get_ident()
        try:
            done[0] = f(*args)
        except BaseException as e:
            done[1] = e
        bolt.release()

    with lock:
        old = _thread.stack_size(_DEEP)
        try:
            _start_new_thread(job, ())
            here = False
        except SHORTAGES:
            here = True
        finally:
            _thread.stack_size(old)
    if here:
        job()
    bolt.acquire()
    if done[1]:
        raise done[1]
    return done[0]


if sys.platform == "esp32":
    uthreading._aside = aside


# Whether a thread made with one stack size serves when another is wanted. The default may be of
# any size, so nothing else passes for it; on every port it has 4096 bytes at least.
def _fits(has, wanted):
    if wanted == 0:
        return has == 0
    return (has or 4096) >= wanted


# Brings the topmost idle worker with stack enough to the top, and returns it, or None. `lock` is
# held.
def _bring_up():
    global _idle
    above = None
    w = _idle
    while w is not None and not _fits(w.stack, _stack):
        above = w
        w = w.below
    if above is not None and w is not None:
        above.below = w.below
        w.below = _idle
        _idle = w
    return w


# Once, and by one thread: others may add names, too, as soon as there are any.
def _load_all():
    global _unloaded
    if _unloaded:
        uthreading._load_all()
        # If it was imported and none of its names used, it is asked now to be among the loaders.
        getattr(sys.modules.get("upycsp"), "wait", None)
        for load in loaders:
            load()
        _unloaded = False


# Starts a thread whose first job is fn. The stack size is a global of `_thread`: `lock` is held.
def _grow(fn, after):
    global _count
    if _unloaded:
        uthreading.alone(_load_all)
    failed = False
    with lock:
        count = _count
        stack = _stack
        old = _thread.stack_size()  # MicroPython sets it to 0, too
        try:
            w = _Worker(stack, fn, after)
            _thread.stack_size(stack)
            _count += 1  # an interrupt comes before this, or when the thread is there
            _start_new_thread(w.work, ())
        except SHORTAGES:
            _count = count
            failed = True
        finally:
            _thread.stack_size(old)
    if failed:
        size = "{} bytes".format(stack) if stack else "default"
        raise RuntimeError(
            "can't start a new thread: {} run, stack size {}; "
            "use fewer, or a smaller uthreading.stack_size()".format(count, size)
        )


def _thread_of(ident):
    with lock:
        record = records.get(ident)
    return None if record is None else record[0]


def _forget(ident):
    with lock:
        record = records.pop(ident, None)
    if record is not None:
        clear_locals(record[1], ident)


def clear_locals(used, ident):
    """Take from `local`s what the thread of that ident has stored there."""
    # It dies without the lock: some of it may have a `__del__` that uses this library.
    if used is not None:
        for it in used:
            with lock:
                space = it._spaces.pop(ident, None)
            del space


if _CPYTHON:
    __import__("uthreading.fork")
