"""How a coroutine waits and wakes on CPython: every wait is a future of asyncio's own loop.

The same names as in `micro`, which explains them. No private part of asyncio is used here beyond
the protocol of a bare `yield future` (`_asyncio_future_blocking`) and what `_calls` looks at.
"""

import asyncio
import contextvars
import heapq
import inspect
import logging
import os
import selectors
import signal
import stat
import threading
import time
from asyncio import CancelledError, TimeoutError  # noqa: F401
from types import coroutine  # noqa: F401

_order = 0
_stamped = _stamps = 0  # where `order` gave its last number, and how many there
_STAMPS = 16  # as in ufuture.micro; the orders differ by less than half of what they span there
# The tasks to be cancelled as soon as they wait: true for those that are so only if their
# cancellation still stands then.
_later = {}
_woken = None
_watch = None
_WATCH_S = 0.5
SHARED = ()  # nothing: each call of asyncio.sleep makes a coroutine of its own
LONGEST_MS = 1 << 28  # of a wait: as on MicroPython


class Parked:
    """Something that a task waits on, through `park` and `wake`. Subclasses define `cancelled`."""

    future = None
    timer = None
    seq = 0
    outside = False  # whether others than our tasks may wake it, which `set_watch` can't see

    def cancelled(self):
        """The waiting task is being cancelled. Returns whether it had been woken already."""
        return False

    def expired(self):
        """The time limit has passed: called before the task is woken."""


class _Wait(asyncio.Future):
    # The future that one `park` waits on. Task.cancel() calls its cancel().
    parked = None
    taken_back = None  # what the task gets, though it was woken before it was cancelled

    def result(self):
        # From 3.13 on an `uncancel` would let the task go on as if it had not been cancelled.
        if self.taken_back is not None:
            raise self.taken_back
        return super().result()

    def cancel(self, msg=None):
        parked = self.parked
        if parked is None:
            return super().cancel(msg)
        self.parked = None
        unlimit(parked)
        # Who has ended before this has done so, though the loop is yet to tell: see Owned. The
        # last of them wakes this one.
        for x in list(getattr(parked, "members", ())) + list(getattr(parked, "children", ())):
            if isinstance(x, Owned) and x.task is not None and x.task.done():
                x._done(x.task)
        if self.done():
            self.taken_back = CancelledError() if msg is None else CancelledError(msg)
        parked.cancelled()
        # False if it was woken before: the task then has the error thrown at its next step.
        return super().cancel(msg)


class _LateWait(_Wait):
    # The wait of a task that is to be cancelled as soon as it waits: it calls this then, before
    # anybody has had a chance to wake it.
    def add_done_callback(self, *args, **kwargs):
        super().add_done_callback(*args, **kwargs)
        task = asyncio.current_task()
        if task in _later and not self.done() and _is_due(task):
            self.cancel()


class Owned(Parked):
    """The record of a task that this library started. Subclasses define `ended`."""

    task = None
    told = False
    early = False  # whether it was cancelled in a first step within `start`, by an eager factory
    before = None  # what it raises that had come before it was cancelled

    def ended(self, value, exception):
        """The coroutine has returned value, or raised exception."""

    def _done(self, task):
        # The loop calls it a turn after the end; who is cancelled in that turn, before.
        if self.told:
            return
        self.told = True
        value = exception = None
        try:
            if task.cancelled():
                exception = CancelledError()
            else:
                exception = task.exception()
                if exception is None:
                    value = task.result()
        except MemoryError as er:
            exception = er
        self.ended(value, exception)


def park(parked):
    """Make the running task wait, in `yield park(parked)`, until someone calls wake(parked)."""
    task = asyncio.current_task()
    wait = (_LateWait if task in _later else _Wait)(loop=asyncio.get_running_loop())
    wait.parked = parked
    wait._asyncio_future_blocking = True
    parked.future = wait
    task.csp_wait = wait
    return wait


def wake(parked):
    """Let the task that waits go on."""
    global _order, _woken
    _woken = parked
    wait = parked.future
    if wait is not None and not wait.done():
        _order += 1
        parked.seq = _order
        wait.set_result(None)


def of_asyncio(name):
    """What asyncio has by that name, None if it has not."""
    return getattr(asyncio, name, None)


def woken():
    """What was woken last."""
    return _woken


names = {"me": None, "wake": wake}  # here they never change


def bind(own):
    """Put `me` and `wake` among the names of a module."""
    own.update(names)


def aside(f, *args):
    """f(*args), where what waits does so by `park` and on its own."""
    return f(*args)


def park_ms(parked, ms):
    """park with a time limit: after ms parked.expired() is called and the task goes on."""
    wait = park(parked)
    parked.timer = wait.get_loop().call_later(ms / 1000, _expire, parked)
    return wait


def _expire(parked):
    parked.timer = None
    if not parked.future.done():
        parked.expired()
        wake(parked)


def unlimit(parked):
    """Take back the time limit, before a wake."""
    if parked.timer is not None:
        parked.timer.cancel()
        parked.timer = None


def order():
    """The order, among all wakes, of what is paired now without a wake; no two are the same."""
    global _order, _stamps, _stamped
    if _order == _stamped and _stamps == _STAMPS - 1:
        _order += 1
    _stamps = _stamps + 1 if _order == _stamped else 1
    _stamped = _order
    return _order * _STAMPS + _stamps


def order_of(parked):
    """The order, among all wakes, of the wake of something whose task has not run since."""
    return parked.seq * _STAMPS


def park_behind(parked, owned):
    """park for so long that an owned task has run again if it has been woken by now."""
    wait = park(parked)
    wake(parked)  # as what has woken the other one, this goes through the loop's queue
    return wait


def again():
    """`yield again()` lets the running task pass through asyncio's queue."""


def start(owned, coro):
    """Make a task of a coroutine, which calls owned.ended at its end."""
    coro = as_coroutine(coro)
    try:
        owned.task = task = asyncio.get_running_loop().create_task(coro)
    except BaseException:
        coro.close()
        raise
    try:
        task.csp_owned = owned
        task.add_done_callback(owned._done)
        if owned.early:
            task.cancel()
    except BaseException:
        task.cancel()  # nobody would hear of its end: it does not begin
        raise


def as_coroutine(awaitable):
    """A coroutine that does `await awaitable`; TypeError if that can't be done."""
    if inspect.iscoroutine(awaitable):
        return awaitable
    if inspect.isawaitable(awaitable):
        return _await(awaitable)
    raise TypeError("an awaitable is expected")


async def _await(awaitable):
    return await awaitable


_INTERRUPTS = KeyboardInterrupt, SystemExit


def ends_loop(exception):
    """Whether the exception of a task ends the loop as well."""
    return isinstance(exception, _INTERRUPTS)


def unpark():
    """What the running task has just parked on; it waits there no more."""
    wait = asyncio.current_task().csp_wait
    parked = wait.parked
    wait.parked = None
    parked.future = None
    return parked


def cancel_later():
    """Cancel the running task as soon as it waits again."""
    _cancel_later(asyncio.current_task(), True)


def _cancel_later(task, if_stands):
    _later[task] = if_stands
    task.get_loop().call_soon(_cancel_again, task)


def _cancel_again(task):
    # It waits, and not through this module; or it has ended.
    if task in _later:
        if_stands = _later[task]
        if _is_due(task):
            task.cancel()
            if if_stands and hasattr(task, "uncancel"):
                task.uncancel()  # it was counted when it came first


def _is_due(task):
    if_stands = _later.pop(task)
    # CPython 3.10 does not know whether it stands.
    return not if_stands or not hasattr(task, "cancelling") or task.cancelling() > 0


def cancel(owned):
    """Cancel an owned task that was started; the running one as soon as it waits again."""
    if owned.task is None:
        owned.early = True
    elif is_running() and owned.task is asyncio.current_task():
        _cancel_later(owned.task, False)
    else:
        owned.task.cancel()


def waits_on(owned):
    """What an owned task waits on through this module, or None."""
    return _waits(owned.task)


def is_lost(owned):
    """Whether an owned task is in no queue: asyncio itself sees to that here."""
    return False


def _waits(task):
    wait = getattr(task, "csp_wait", None)
    return None if wait is None or wait.done() or task.done() else wait.parked


def is_running():
    """Whether a loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def is_busy():
    """Whether a loop runs in this thread, or that of a `run` in another one."""
    return is_running() or _is_claimed()


_claimed = None  # the thread of a `run`, until all of its loop is over
_claiming = threading.Lock()


def claim():
    """A run begins; RuntimeError if another thread was faster. `release` is its end."""
    # An interrupt may come between the two: then this thread, at least, can run again.
    global _claimed
    with _claiming:
        if _is_claimed():
            raise RuntimeError("an event loop runs already: await the process")
        _claimed = threading.get_ident()


def release():
    """A run has ended."""
    global _claimed
    _claimed = None


def _is_claimed():
    return _claimed not in (None, threading.get_ident())


LONGEST_LINE = 1 << 30  # bytes; asyncio's readline takes no more than 64 KB if it is not told


async def reader(file):
    """A StreamReader of a pipe or terminal, or what serves as one of a file; and what ends it."""
    number = file.fileno()
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode) or stat.S_ISCHR(mode) and not os.isatty(number):
        return _FileReader(file), lambda: None  # which no loop can wait for, and needs no wait
    blocks = os.get_blocking(number)
    stream = asyncio.StreamReader(LONGEST_LINE)
    protocol = asyncio.StreamReaderProtocol(stream)
    own = open(os.dup(number), "rb", 0)  # for the transport closes it
    connects = asyncio.get_running_loop().connect_read_pipe(lambda: protocol, own)
    transport, _ = await connects

    def end():
        transport.close()
        os.set_blocking(number, blocks)

    return stream, end


class _FileReader:
    def __init__(self, file):
        self._file = file

    async def readline(self):
        return self._file.readline()

    async def read(self, n):
        return self._file.read(n)


def sleep_ms(ms):
    """asyncio.sleep, in ms."""
    return asyncio.sleep(ms / 1000)


def ticks_ms():
    """The running loop's time in ms, as MicroPython's ticks; without a loop Python's own time."""
    now = asyncio.get_running_loop().time() if is_running() else time.monotonic()
    return int(now * 1000 + 0.001)  # what was added up in ms is never the ms before


def ticks_add(ticks, ms):
    """So many ms later."""
    return ticks + ms


def ticks_diff(end, start):
    """How many ms from start to end."""
    return end - start


def note_older(exception):
    """The running task raises what came before it was cancelled: its owned.before."""
    owned = getattr(asyncio.current_task(), "csp_owned", None)
    if owned is not None:
        owned.before = exception


def report(task, exception, message="exception in a task"):
    """Hand an exception that nobody asked for to the loop's exception handler."""
    if is_running():
        context = {"message": message, "exception": exception, "future": task}
        asyncio.get_running_loop().call_exception_handler(context)
    else:
        logging.getLogger("asyncio").error("%s: %r", message, task, exc_info=exception)


def run(coro, after=None):
    """Run a coroutine as the main task; its value. If that is interrupted, run after() then."""
    outermost = _claimed is None
    claim()
    try:
        with _Interrupts() as interrupts, _Runner() as runner:
            try:
                return interrupts.run(runner, coro)
            except (KeyboardInterrupt, SystemExit) as er:
                _run_after(runner.run, after, er)
                raise
    finally:
        coro.close()  # it may not have begun
        if outermost:
            release()


_new_loop = None  # what makes the loop of a run, if it is not asyncio's usual one


_PYTHONS = signal.default_int_handler


class _Interrupts:
    # A handler runs between any two instructions of the main thread. What asyncio's does, to
    # cancel the main task, or Python's own, or one of the program's, to raise, would come in the
    # middle of a change of a queue: here it waits for the loop, unless Ctrl-C comes once more. An
    # interrupt before the main task began, or after its end, is none less.

    def __init__(self):
        self.usual = signal.getsignal(signal.SIGINT)
        in_main = threading.current_thread() is threading.main_thread()
        self.handles = in_main and callable(self.usual)
        self.asked = self.told = False
        self.loop = self.task = self.error = None

    def __enter__(self):
        if self.handles:
            try:
                signal.signal(signal.SIGINT, self._ask)
            except ValueError:  # in a subinterpreter
                self.handles = False
        return self

    def __exit__(self, kind, exception, traceback):
        # Not what was set meanwhile; but who takes one out of the loop sets Python's.
        if self.handles and signal.getsignal(signal.SIGINT) in (self._ask, _PYTHONS):
            signal.signal(signal.SIGINT, self.usual)
        if self.asked and not self.told:
            self._do_as_usual()

    def run(self, runner, coro):
        value = None
        try:
            value = runner.run(self._main(coro))
        except CancelledError:
            if self.told:
                raise KeyboardInterrupt from None
            if self.error is None:
                raise
        if self.error is not None:
            raise self.error
        return value

    async def _main(self, coro):
        self.task = asyncio.current_task()
        self.loop = asyncio.get_running_loop()
        try:
            if self.asked:
                self._tell()
                await asyncio.sleep(0)
            return await coro
        finally:
            self.loop = None

    def _ask(self, number, frame):
        if self.asked:
            self._do_as_usual()
            return
        self.asked = True
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self._tell)

    def _tell(self):
        if self.told or self.task.done():
            return
        if self.usual is _PYTHONS:
            self.told = True
            self.task.cancel()
            return
        self.asked = False
        try:
            self._do_as_usual()
        except Exception as er:  # which a callback of the loop would only log
            self.error = er
            self.task.cancel()

    def _do_as_usual(self):
        self.usual(signal.SIGINT, None)


class _OldRunner:
    # What is used of asyncio.Runner.

    def __enter__(self):
        self.loop = (_new_loop or asyncio.new_event_loop)()
        asyncio.set_event_loop(self.loop)
        return self

    def run(self, coro):
        return self.loop.run_until_complete(coro)

    def __exit__(self, kind, exception, traceback):
        try:
            tasks = asyncio.all_tasks(self.loop)
            for task in tasks:
                task.cancel()
            self.run(asyncio.gather(*tasks, return_exceptions=True))
            self.run(self.loop.shutdown_asyncgens())
            self.run(self.loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()


def _Runner():
    if not hasattr(asyncio, "Runner"):  # before 3.11
        return _OldRunner()
    return asyncio.Runner(loop_factory=_new_loop)


def _run_after(run, after, interrupt):
    # It ends the loop again in each task around the one that was interrupted.
    again = after is not None
    while again:
        try:
            run(after())
            again = False
        except (KeyboardInterrupt, SystemExit) as er:
            if er is not interrupt:
                raise


_listens = None  # None or (loop, its flag)
_here = None  # the thread of that loop, or of the last one
_AGAIN_S = 0.01


class _Flag:
    # What asyncio.ThreadSafeFlag is to `micro`.

    def __init__(self, loop):
        self.answer = None
        self.loop = loop
        self._is_set = False

    def set(self):
        if not self._is_set:
            self._is_set = True
            try:
                self.loop.call_soon_threadsafe(self._look)
            except RuntimeError:  # the loop is closed, and its tasks with it
                pass

    def _look(self):
        self._is_set = False
        if self.answer is not None and self.answer():
            self.loop.call_later(_AGAIN_S, self.set)


def listen():
    """From now on other threads may `ask`, or set the flag that this returns.

    The loop calls flag.answer() then, if there is one, and again if that returns true.
    """
    global _listens, _here
    loop = asyncio.get_running_loop()
    same = _listens is not None and _listens[0] is loop
    flag = _listens[1] if same else _Flag(loop)
    _here = threading.get_ident()
    _listens = loop, flag
    return flag


def unlisten():
    """End `listen`; who asks from now on gets False."""
    global _listens
    _listens = None


def elsewhere():
    """Whether this is another thread than the loop's: that of the last one after its end."""
    return _here is not None and _here != threading.get_ident()


def ask(f, *args):
    """Call f(*args) in the loop's thread; its value, or False if that loop has ended."""
    listens = _listens
    done = threading.Event()
    box = []

    def call():
        try:
            box.append(f(*args))
        except Exception as er:
            box.append(er)
        done.set()

    try:
        listens[0].call_soon_threadsafe(call)
    except (RuntimeError, TypeError):
        return False
    while not done.wait(0.05):
        if listens[0].is_closed():
            break
    if not box:
        return False
    if isinstance(box[0], Exception):
        raise box[0]
    return box[0]


def set_watch(f):
    """Call f every 500 ms while the loop runs and nothing of others' in it may act.

    That is a task outside our operations, a timer, a file that is watched.
    """
    global _watch
    _watch = f
    if f is not None:
        asyncio.get_running_loop().call_later(_WATCH_S, _look, f)


def _look(f):
    if _watch is f:
        loop = asyncio.get_running_loop()
        if all(_inside(t) for t in asyncio.all_tasks()) and not _calls(loop):
            f()
        loop.call_later(_WATCH_S, _look, f)


def _inside(task):
    parked = _waits(task) or getattr(task, "csp_owned", None)
    return parked is not None and not parked.outside


def _calls(loop):
    # Whether a callback of no task may come: of a time limit, of a server. Only asyncio's own
    # loops tell, and these by private names.
    if getattr(loop, "_ready", ()):  # what is due in this very turn has left `_scheduled`
        return True
    for timer in getattr(loop, "_scheduled", ()):
        if not timer.cancelled() and timer._callback is not _look:
            return True
    if getattr(loop, "_signal_handlers", ()):
        return True
    files = _files(loop)
    if files is None:
        # Windows' loop tells what it accepts; of others nobody knows what they wait for.
        return bool(getattr(loop, "_accept_futures", True))
    keys = files.values()
    return any(_acts(loop, h._callback) for key in keys for h in key.data if h is not None)


def _files(loop):
    # What the loop watches, by number; None where it does not tell.
    selector = getattr(loop, "_selector", None)
    return selector.get_map() if isinstance(selector, selectors.BaseSelector) else None


def is_watched(loop, number, side):
    """Whether the loop watches a file already: side is "reader" or "writer"."""
    files = _files(loop)
    key = files.get(number) if files else None
    return key is not None and key.data[side == "writer"] is not None


def _acts(loop, callback):
    # A stream only wakes the tasks that wait for it, and the loop wakes itself.
    transport = getattr(callback, "__self__", None)
    if isinstance(transport, asyncio.BaseTransport):
        return not isinstance(transport.get_protocol(), asyncio.streams.FlowControlMixin)
    return callback != getattr(loop, "_read_from_self", None)


# What ufuture.outside offers: see there.
_watched = set()  # (file, direction) of all there is


class Watch:
    def __init__(self, wait, call):
        self._wait = wait
        self._call = call
        wait.start(self._ready)

    def _ready(self, *future):
        call = self._call
        if call is not None:  # else the loop was to call this when it was stopped
            self.stop()
            call()

    def stop(self):
        self._call = None
        self._wait.stop()


class event_set:
    def __init__(self, event):
        self._waits = event.wait()
        self._future = None

    def start(self, call):
        self._call = call
        self._future = self._waits.send(None)  # it may be driven by hand as by a task
        self._future.add_done_callback(call)

    def stop(self):
        self._future.remove_done_callback(self._call)
        self._waits.close()


class readable:
    side = "reader"

    def __init__(self, stream):
        self._fd = stream.fileno()
        self._loop = asyncio.get_running_loop()

    def start(self, call):
        key = self._fd, self.side
        if key in _watched or is_watched(self._loop, *key):
            raise RuntimeError("another one waits for this stream")
        getattr(self._loop, "add_" + self.side)(self._fd, call)
        _watched.add(key)
        self._key = key

    def stop(self):
        if self._key in _watched:
            _watched.remove(self._key)
            getattr(self._loop, "remove_" + self.side)(self._fd)


class writable(readable):
    side = "writer"


class VirtualTime:
    """How a VirtualClock has the time of the loops that it runs: see ufuture.virtual."""

    # A sum of floats would be a ms off after years: each is rounded to what it stands for.

    def __init__(self):
        self.us = 0

    def ms(self):
        return self.us // 1000

    def begin(self):
        global _new_loop
        if _new_loop is not None:
            raise RuntimeError("a virtual clock runs already")
        _new_loop = self._loop

    def end(self):
        global _new_loop
        _new_loop = None

    def _loop(self):
        return _JumpingLoop(self)


class _JumpingLoop(asyncio.SelectorEventLoop):
    # Asyncio calls in one round all that is due, and in no order what is due at one moment. Here
    # the timer that was set first goes first, and all that it lets go on comes before the next:
    # as on MicroPython, and as with threads.

    _ROUNDS = 1000  # of others, after which comes what is due: one who polls never rests

    def __init__(self, virtual):
        self._virtual = virtual
        self._timers = []  # a heap of (us, number, timer)
        self._made = 0
        self._cancelled = 0  # of those in it
        self._rounds = 0  # since a timer went on
        super().__init__(_JumpingSelector(self))

    def time(self):
        return self._virtual.us / 1000000

    def call_later(self, delay, callback, *args, **kwargs):
        if callback is _look:
            return None  # the selector calls it when nothing else can go on
        return super().call_later(delay, callback, *args, **kwargs)

    def call_at(self, when, callback, *args, context=None):
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        if context is None:
            context = contextvars.copy_context()
        timer = _JumpingTimer(when, callback, args, self, context)
        us = round(when * 1000000)
        if us <= self._virtual.us:
            self._ring(timer)
        else:
            self._made += 1
            timer.waits = True
            heapq.heappush(self._timers, (us, self._made, timer))
        return timer

    def _ring(self, timer):
        timer.waits = False
        self.call_soon(timer.call, context=timer.context)

    def ring_next(self, rests):
        """Let the next timer go on, if all others rest or it has been due for long; whether so."""
        self._rounds += 1
        while self._timers:
            us, _, timer = self._timers[0]
            if timer.cancelled():
                heapq.heappop(self._timers)
                self._cancelled -= 1
            elif rests or us <= self._virtual.us and self._rounds > self._ROUNDS:
                heapq.heappop(self._timers)
                self._rounds = 0
                self._virtual.us = us
                self._ring(timer)
                return True
            else:
                break
        return False

    def note_cancelled(self):
        # Of a million limits that were met none is kept until its time.
        self._cancelled += 1
        if self._cancelled > 100 and self._cancelled * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if not entry[2].cancelled()]
            heapq.heapify(self._timers)
            self._cancelled = 0


class _JumpingTimer(asyncio.TimerHandle):
    def __init__(self, when, callback, args, loop, context):
        super().__init__(when, callback, args, loop, context)
        self.waits = False  # in the heap of its loop
        self._jumping = loop
        self.context = context
        self._does = callback, args

    def call(self):
        if self._does is not None:
            callback, args = self._does
            callback(*args)

    def cancel(self):
        if not self.cancelled():
            super().cancel()
            self._does = None
            if self.waits:
                self._jumping.note_cancelled()


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop):
        super().__init__()
        self._loop = loop

    def select(self, timeout=None):
        events = super().select(0)
        rests = not events and timeout is None
        if self._loop.ring_next(rests) or not rests:
            return events
        if _watch is None:
            return super().select(None)
        order = _order
        _look(_watch)
        return events if _order != order else super().select(_WATCH_S)
