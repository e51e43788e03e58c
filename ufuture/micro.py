"""How a coroutine waits and wakes on MicroPython: a driver task with a ready queue of its own.

An asyncio task switch costs 2.8 us (171 us on an ESP32), a bare generator resume 0.09 us (9.3 us).
So what wakes through this module does not go through asyncio's queue: `wake` appends to a list,
and one task, the driver, resumes from it, gives way to asyncio after LIMIT resumes and parks when
the list is empty.

This and `virtual`, a clock for tests, are the only modules that use asyncio's private parts. The
contract, which a test checks:
- core.cur_task is the running task and may be set; core._task_queue and core._io_queue are rebound
  by new_event_loop(); the queue has peek, remove and either push(task[, ticks]) (1.19 and later)
  or push_head(task) and push_sorted(task, ticks) (1.16 - 1.18); both set task.data to None;
- a task has coro, data, state. data is falsy when the loop resumes it by send; the loop sets
  cur_task before it looks at data. cancel() calls task.data.remove(task), pushes the task and
  leaves CancelledError in data. state may be a callable, called (task, exception) at the end (1.19
  and later), or has peek() (before);
- core.Task(coro) makes a task that is in no queue; what sleep_ms returns is the one
  SingletonGenerator there is, its state None or when to wake;
- _io_queue is an IOQueue; its map has [reader, writer, stream] for the id of each stream that is
  waited for, its poller those directions; ticks() and ticks_add() count ms.
"""

import sys

try:
    import asyncio
    from asyncio import core
except ImportError:  # before 1.21 it has only its old name
    try:
        import uasyncio as asyncio
        from uasyncio import core
    except ImportError:
        core = None
from time import ticks_ms, ticks_add, ticks_diff
from time import sleep_ms as _sleep_ms
from micropython import const

try:
    import _thread
except ImportError:
    _thread = None
from ufuture.heap import advance

if not hasattr(core, "TaskQueue") or not hasattr(core.Task(None), "state"):
    raise ImportError("ufuture needs the asyncio of MicroPython 1.16 or later")
# Before 1.23 cur_task appears with the first task that runs, and stays when the loop has ended.
_keeps_task = not hasattr(core, "cur_task")
if _keeps_task:
    core.cur_task = None

CancelledError = core.CancelledError
TimeoutError = core.TimeoutError
sleep_ms = core.sleep_ms
SHARED = core.SingletonGenerator  # what all calls of asyncio.sleep return

# Among a module's own names they are found 460 to 820 instructions sooner than as builtins.
isinstance = isinstance
len = len
StopIteration = StopIteration

LIMIT = const(64)  # resumes between two looks at asyncio: its switch adds 0.04 us to each
WATCH_MS = const(500)
LONGEST_MS = 1 << 28  # of a wait: ticks on an ESP32 can be added up to twice of it
# An order is a place among all wakes times _STAMPS. They go round, for they have to be small ints
# where these have 31 bits: more would need memory. cspcore.channel.insert_given compares them.
_STAMPS = const(16)
_PLACES = const(0x3FFFFFF)
_ENDS = (Exception, CancelledError)  # made once: there may be no memory for it when it is needed

_ready = []  # what to resume, oldest first
_append = _ready.append  # made once: it is an object
# How many entries have left _ready. The place there + _base orders an entry among all wakes, and
# between two wakes there is room to order what is paired without a wake.
_base = 0
_stamped = _stamps = 0  # where `order` gave its last number, and how many there
_alive = 0  # owned tasks that have not ended
_room = 0  # how many of them _ready has room for
_cancels = []  # tasks to cancel before anything else is resumed
_resumed = 0  # how many there are in _ready that let a cancelled task go on
_driver = None
_drives = False  # the driver is in the middle of a round
_queue = core._task_queue  # the loop's queue that the driver belongs to
_timed = False  # the driver is parked, but in the loop's queue for the next look of `watch`
_runner = None  # the thread that is in `run`
watch = None  # called when all is idle; returns true if it has woken somebody

_ends_tell = hasattr(core.TaskQueue, "push")
if _ends_tell:

    def _push(task):
        core._task_queue.push(task)

    def _push_at(task, when):
        core._task_queue.push(task, when)

else:

    def _push(task):
        core._task_queue.push_head(task)

    def _push_at(task, when):
        core._task_queue.push_sorted(task, when)


class Parked:
    """Something that a task waits on, through `park` and `wake`. Subclasses define `cancelled`."""

    # The task that waits, in one of these three; None in all: nobody, skip.
    task = None  # of this object, an Owned that serves as `me`: what the driver resumes fastest
    aside = None  # of another Owned, or one that does not serve
    foreign = None  # not started here: asyncio has to resume it
    queued = False  # it is in asyncio's queue: woken and foreign, or with a time limit
    seq = 0  # order of the wake of a foreign task
    victim = None

    def remove(self, task):
        # task.cancel() calls this, and then pushes the task with a CancelledError to throw.
        if self.cancelled() and not self.queued:  # it may need memory: nothing has happened then
            _skip(self)
        if self.queued:
            core._task_queue.remove(task)
        # What is None already is not stored, which might need memory: its task would stay behind.
        if self.queued:
            self.queued = False
        if self.aside is not None:
            self.aside = None
        if self.foreign is not None:
            self.foreign = None

    def __bool__(self):
        # The loop asks for the truth of task.data just before it resumes the task. False lets it
        # go on normally, and this is the place to clear what it would take for a queue. Who else
        # asks, a user with an Alternative in hand, gets True.
        task = core.cur_task
        if task is None or task.data is not self:
            return True
        if self.queued:
            task.data = None
            self.queued = False
        return False

    def cancelled(self):
        """The waiting task is being cancelled. Returns whether it had been woken already."""
        return False


_NOBODY = Parked()


class _Slice:
    def __getitem__(self, s):
        return s


# Made once, for lack of memory must not keep anything in _ready.
_ALL = _Slice()[:]
_FIRST = _Slice()[:1]
_LAST = _Slice()[-1:]


def _skip(parked):
    # It was woken, but its task is resumed in another way.
    i = len(_ready) - 1
    while i >= 0:
        if _ready[i] is parked:
            _ready[i] = _NOBODY
            break
        i -= 1


class _Later(Parked):
    # Stands in _ready behind a running task, to cancel it.
    def __init__(self, victim):
        self.victim = victim


class _Resumed(Parked):
    # Stands in _ready before a task that was cancelled when what it waited for had happened, to
    # let it go on; and again behind it, to cancel it when it waits again.

    def __init__(self, task):
        self.victim = self
        self.begun = False
        self._of = task

    def cancel(self):
        global _resumed
        task = self._of
        if self.begun:
            task.cancel()
            return
        self.begun = True
        _resumed -= 1
        if task.data is CancelledError:
            core._task_queue.remove(task)
            task.data = task.state
        else:  # an interrupt has ended the driver, and asyncio has thrown it
            _skip(task.state)
            _skip(self)


def _tell(owned, task, er):
    # An owned task has ended: what asyncio calls its state for.
    global _alive
    if not _ends_tell:
        return  # _telling has told it
    _alive -= 1
    if isinstance(er, StopIteration):
        owned.ended(er.value, None)
    else:
        owned.ended(None, er)


class Owned(Parked):
    """The state of a task that the driver runs. Subclasses define `ended`.

    One that `serves` is what its task waits on, as long as `names["me"]` says so: `yield me`. Its
    `cancelled` is asked then, and also before the task has begun; but first, whether it `stands`.
    """

    serves = False
    before = None  # what it raises that had come before it was cancelled

    def remove(self, task):
        if self.stands():
            self._resume(_Resumed(task))
        elif self.cancelled():
            _skip(self)

    def _resume(self, resumed):
        # asyncio is about to queue the task, to throw a CancelledError: the driver comes before.
        global _resumed
        if not _drives:
            _hurry()
        _ready.extend((resumed, _NOBODY, resumed))  # from here on nothing needs memory
        _resumed += 1
        _skip(self)
        self.cancelled()
        _ready[-2] = self

    __call__ = _tell

    def __bool__(self):
        return True  # as a task's state; never its data when the loop resumes it

    def peek(self):  # 1.16 - 1.18: nobody waits here for the task
        return None

    def ended(self, value, exception):
        """The coroutine has returned value, or raised exception."""

    def cancelled(self):
        return True  # not begun yet: it still stands in _ready

    def stands(self):
        """Whether what it waited for has happened, so that a cancel has to come later."""
        return False


def park(parked):
    """Make the running task wait, in `yield park(parked)`, until someone calls wake(parked)."""
    if core._task_queue is not _queue:
        _new_loop()
    task = core.cur_task
    state = task.state
    if not isinstance(state, Owned):
        if _driver is None:
            _kick()  # not when it is woken: there may be no memory for it
        if parked.aside is not None:
            parked.aside = None
        parked.foreign = task
        # What waking it stores stands here already: it may not need memory then.
        parked.queued = False
        parked.seq = 0
    else:
        parked.aside = task
    task.data = parked  # the others may need memory: nothing has happened till then
    return parked


def wake(parked):
    """Let the task that waits go on."""
    names["wake"](parked)


def _wake_parked(parked):
    _ready.append(parked)
    _kick()


# names["me"] is the state of the running task, if the driver runs it and it serves, or None. What
# names["wake"] is depends on whether the driver has to be kicked.
names = {"me": None, "wake": _wake_parked}


def bind(own):
    """Keep `me` and `wake` among the names of a module: there a look at them takes no call."""
    global names
    own["me"] = None  # until the driver's next round
    own["wake"] = names["wake"]
    names = own


def aside(f, *args):
    """f(*args), where what waits does so by `park` and on its own."""
    me = names["me"]
    names["me"] = None
    try:
        return f(*args)
    finally:
        names["me"] = me


def _new_loop():
    global _queue, _driver, _timed, _drives, _listener, _resumed, _alive
    _listener = None
    _resumed = _alive = 0
    _drives = False
    _queue = core._task_queue
    _driver = None
    _timed = False
    names["me"] = None
    names["wake"] = _wake_parked
    del _ready[_ALL]  # `clear` would give its room away
    _cancels.clear()


def _kick():
    # Let the parked driver run.
    global _driver, _timed
    if core._task_queue is not _queue:
        kept = _ready[-1:]  # older ones belong to a loop that is gone
        _new_loop()
        _ready.extend(kept)
    if _driver is None:
        _driver = core.create_task(_drive())  # which takes memory: till then nobody is kicked
    else:
        if _timed:
            core._task_queue.remove(_driver)
            _timed = False
        _push(_driver)
    names["wake"] = _append


def _drive():
    # It takes no memory but that of the processes: there may be none when it is needed.
    global _driver, _timed, _drives
    this = core.cur_task
    modules = core
    left = kept = LIMIT
    task = None
    try:
        while True:
            while _cancels:
                _cancels.pop(0).cancel()
            _drives = True
            mine = names
            while True:
                try:
                    for parked in _ready:  # sees what is appended while it runs
                        left -= 1
                        task = parked.task
                        if task is not None:
                            mine["me"] = parked
                            modules.cur_task = task
                            task.coro.send(None)  # its data is parked, as it is if it waits again
                        else:
                            task = _other(parked, kept - left, mine)
                            if task is not None:
                                modules.cur_task = task
                                parked = task.state
                                if task.coro.send(None) is parked:
                                    task.data = parked
                        if left <= 0:
                            break
                    break
                except _ENDS as er:
                    if task is not None:
                        _ended(task, er)
                    _drop(kept - left)
                    kept = left
                    if left <= 0:
                        break
            modules.cur_task = this
            names["me"] = None
            _drives = False
            _drop(kept - left)
            # CommsTime takes 11400 instructions a communication instead of 15300 for it, in 2 MB.
            advance(left)
            left = kept = LIMIT
            task = parked = None  # a parked driver keeps nothing alive
            if _resumed or _ready and _ready[0].victim is not None:
                continue  # before asyncio's tasks can meet what it waits on, or asyncio the task
            if not _ready and not _cancels:
                if watch is not None:
                    if core._task_queue.peek() is None and _no_stream() and _look():
                        continue
                    _push_at(this, ticks_add(ticks_ms(), WATCH_MS))
                    _timed = True
                min(0, 0, 0, 0, 0, 0, 0)  # machine code has kept the last task where these stand
                names["wake"] = _wake_parked
            else:
                _push(this)
            yield
            _timed = False
            names["wake"] = _append
    except BaseException as er:
        # KeyboardInterrupt or the like: another driver is for what is ready.
        names["me"] = None
        _drives = False
        names["wake"] = _wake_parked
        _driver = None
        _drop(kept - left)
        core.cur_task = None
        if left != LIMIT and task is not None:
            _ended(task, er)
        _kick_another()
        raise er


def _kick_another():
    if _ready and names["wake"] is _wake_parked:
        try:
            _kick()
        except MemoryError:  # the next wake makes a driver
            pass


def _other(parked, nth, mine):
    # What stands in _ready and is no owned task that waits on itself. Returns a task to resume.
    # mine: the driver's `names`, which are others in a round in which a module was bound.
    task = parked.aside
    if task is not None:
        task.data = None
        state = task.state
        mine["me"] = state if state and state.serves else None  # False: it has ended
        return task
    mine["me"] = None
    task = parked.foreign
    if task is not None:
        parked.seq = (_base + nth - 1 & _PLACES) * _STAMPS
        parked.queued = True
        _push(task)
        task.data = parked
    elif parked.victim is not None:
        core.cur_task = None  # it has given way
        parked.victim.cancel()
    return None


def _look():
    try:
        return watch()
    except MemoryError:  # it can't tell: as good as a network that still runs
        return None


def _drop(n):
    global _base
    _base = _base + n & _PLACES
    try:
        del _ready[:n]
    except MemoryError:  # a slice is an object, too
        while n:
            del _ready[_FIRST]
            n -= 1


def _ended(task, er):
    # What asyncio does at the end of a task whose state is callable.
    state = task.state
    if isinstance(state, Owned):  # else it has ended before
        task.state = False
        task.data = er
        _tell(state, task, er)


def park_ms(parked, ms):
    """park with a time limit: the task may also be resumed without a wake, after ms.

    Or after LONGEST_MS, if that is less.
    """
    parked.queued = parked.queued  # it may need memory: nothing has happened till then
    park(parked)
    task = core.cur_task
    if ms > 0:
        ms = min(ms, LONGEST_MS) + 1  # the tick that is under way does not count
    _push_at(task, ticks_add(ticks_ms(), ms))
    task.data = parked
    parked.queued = True


def park_behind(parked, owned):
    """park for so long that an owned task has run again if it has been woken by now."""
    if _task_of(owned).data is None:  # it sleeps, or asyncio has woken it
        park_ms(parked, 0)
    else:
        park(parked)
        wake(parked)


def again():
    """`yield again()` lets the running task pass through asyncio's queue."""
    _push(core.cur_task)


def woken():
    """What was woken last; None if all that was has gone on."""
    return _ready[-1] if _ready else None


def unlimit(parked):
    """Take back the time limit, before a wake."""
    if parked.queued:
        task = parked.task or parked.aside or parked.foreign
        core._task_queue.remove(task)
        task.data = parked
        parked.queued = False


def order():
    """The order, among all wakes, of what is paired now without a wake; no two are the same."""
    global _stamps, _stamped
    now = _base + len(_ready) - 1 & _PLACES
    if now != _stamped:
        _stamped = now
        _stamps = 0
    elif _stamps == _STAMPS - 1:
        try:
            names["wake"](_NOBODY)
        except MemoryError:
            return now * _STAMPS + _stamps  # once more
        return order()
    _stamps += 1
    return now * _STAMPS + _stamps


def order_of(parked):
    """The order, among all wakes, of the wake of something whose task has not run since."""
    if parked.queued:
        return parked.seq
    i = len(_ready) - 1
    while i > 0 and _ready[i] is not parked:
        i -= 1
    return (_base + i & _PLACES) * _STAMPS


def start(owned, coro):
    """Make a task of a coroutine; the driver runs it and calls owned.ended at its end."""
    global _alive
    if core._task_queue is not _queue:
        _new_loop()
    if not _ends_tell:
        coro = _telling(owned, coro)
        next(coro)
    task = core.Task(coro)
    if owned.serves:
        owned.task = task
    else:
        owned.aside = task
    if _alive >= _room:
        _make_room()
    if _driver is None:
        _kick()
    task.state = task.data = owned
    names["wake"](owned)  # for which there is room and a driver: it takes no memory
    _alive += 1


def _make_room():
    # Nobody who wakes others shall need memory for it: there is room in _ready for all owned
    # tasks, those that a round has resumed, and some more.
    global _room
    n = len(_ready)
    room = 2 * _room or 16
    try:
        nobodies = [_NOBODY] * 16
        while len(_ready) < room + LIMIT + 48:
            _ready.extend(nobodies)  # room for no more than these; append would double it
        _room = room
    finally:
        while len(_ready) > n:
            del _ready[_LAST]


def _task_of(owned):
    return owned.task if owned.serves else owned.aside


def coroutine(f):
    """Make a coroutine function of a generator function."""
    return f


def as_coroutine(awaitable):
    """A coroutine that does `await awaitable`; TypeError if that can't be done."""
    if hasattr(awaitable, "send"):
        return awaitable
    if isinstance(awaitable, core.SingletonGenerator):
        # All tasks share this object, so the next one to sleep needs it back.
        when = awaitable.state
        if when is None:
            raise RuntimeError("one of two sleeps is lost: put each in an async def")
        awaitable.state = None
        return _sleep_until(when)
    if isinstance(awaitable, core.Task) or hasattr(awaitable, "__iter__"):
        return _await(awaitable)
    raise TypeError("an awaitable is expected")


async def _await(awaitable):
    return await awaitable


async def _sleep_until(when):
    await sleep_ms(ticks_diff(when, ticks_ms()))


if not _ends_tell:

    def _telling(owned, coro):
        # 1.16 - 1.18: asyncio does not call a task's state, and the driver calls it with nothing
        # new.
        global _alive
        try:
            yield  # what is cancelled before it begins is told too
            value = yield from coro
        except BaseException as er:
            _alive -= 1
            owned.ended(None, er)
            if not isinstance(er, _ENDS):
                raise
        else:
            _alive -= 1
            owned.ended(value, None)


def ends_loop(exception):
    """Whether the exception of a task ends the loop as well."""
    return not isinstance(exception, _ENDS)


def unpark():
    """What the running task has just parked on; it waits there no more."""
    task = core.cur_task
    parked = task.data
    if parked is not None:
        if parked.queued:
            core._task_queue.remove(task)
            parked.queued = False
        # What the driver runs and serves has its state there, to wait on it next.
        task.data = names["me"]
        parked.task = parked.aside = parked.foreign = None
    return parked


def cancel_later():
    """Cancel the running task as soon as it waits again."""
    global _base
    task = core.cur_task
    if _drives:
        # The driver runs it: this is what it does next.
        i = len(_ready) - 1
        while _ready[i].task is not task and _ready[i].aside is not task:
            i -= 1
        _ready.insert(i + 1, _Later(task))
        _base -= 1  # which keeps the order of those behind it
        return
    # One of the others who are ready might pair what the task waits on, and again each time.
    _hurry()
    _cancels.append(task)


def _hurry():
    # The driver comes before all others who are ready.
    if names["wake"] is _wake_parked:
        _kick()
    if core.cur_task is not _driver:
        core._task_queue.remove(_driver)
        _push_at(_driver, ticks_add(ticks_ms(), -1000))


def cancel(owned):
    """Cancel an owned task that was started; the running one as soon as it waits again."""
    task = own = _task_of(owned)
    while isinstance(task, core.Task):  # asyncio hands on a cancel to the task that is waited for
        if task is core.cur_task:
            cancel_later()
            return
        task = task.data
    own.cancel()


def waits_on(owned):
    """What an owned task waits on through this module, or None."""
    task = _task_of(owned)
    data = task and task.data
    return data if isinstance(data, Parked) else None


def is_foreign():
    """Whether the running task is none that serves. A child of `gather` may be any task's."""
    state = core.cur_task.state
    return not (isinstance(state, Owned) and state.serves)


def is_lost(owned):
    """Whether an owned task is in no queue, when there is nothing in asyncio's; not for Parked."""
    return _task_of(owned).data is None


def throw(owned, exception):
    """Resume an owned task that is lost by an exception."""
    task = _task_of(owned)
    _push(task)
    task.data = exception


_NEVER_REFUSES = sys.implementation.version < (1, 12)  # its pend_throw refuses nothing


def is_running():
    """Whether a loop runs. cur_task alone may be left from a run that was interrupted."""
    task = core.cur_task
    if task is None or _NEVER_REFUSES:
        return task is not None
    try:
        task.coro.pend_throw(None)  # refused exactly while the coroutine runs
    except (ValueError, AttributeError):
        return True
    except TypeError:  # 1.16: not even begun
        pass
    return False


def is_busy():
    """Whether the loop runs, be it for a `run` in another thread: there is one for all."""
    return is_running() or bool(_runner) and _runner != _thread.get_ident()


def report(task, exception, message="exception in a task"):
    """Hand an exception that nobody asked for to the loop's exception handler.

    Without the memory for that it is printed.
    """
    try:
        # Its task may be long gone; asyncio's handler asks for one.
        task = task or core.cur_task
        context = {"message": message, "exception": exception, "future": task}
        core.get_event_loop().call_exception_handler(context)
    except MemoryError:
        sys.print_exception(exception)


def run(coro, after=None):
    """Run a coroutine as the main task; its value. If that is interrupted, run after() then."""
    global _alive, _runner
    ended = [None]  # False from its beginning on
    _runner = _thread and _thread.get_ident()
    _alive = 0  # what an interrupted run left behind does not count
    main = None
    try:
        main = core.create_task(_note(coro, ended))
        return core.run_until_complete(main)
    except BaseException as er:
        core.cur_task = None  # nobody runs; asyncio refuses to cancel the one that did so last
        if ended[0] is None and main is not None:
            main.cancel()  # the loop may still have it, and what has not begun is not to begin now
        if after is None or ended[0] and isinstance(er, _ENDS):
            raise
        # An interrupt, maybe in the middle of what can't be done by halves: then this fails, too;
        # or the loop itself has no memory to go on.
        try:
            while not _has_run(core.create_task(after()), er):
                pass
        except Exception:
            drop_all()
        raise er
    finally:
        core.cur_task = _runner = None


def _has_run(task, interrupt):
    # Whether the loop came to the end of a task. The interrupt ends the loop in each task around
    # the one that was interrupted, too.
    try:
        core.run_until_complete(task)
        return True
    except BaseException as er:
        if er is not interrupt:
            raise
    core.cur_task = None
    task.cancel()
    return False


async def _note(coro, ended):
    ended[0] = False
    try:
        return await coro
    finally:
        ended[0] = True


def drop_all():
    """Forget all tasks: nobody can run them any more."""
    # Without memory, for that may have been the reason.
    queue = core._task_queue
    while queue.peek() is not None:
        if _ends_tell:
            queue.pop()
        else:
            queue.pop_head()
    _new_loop()


def close(task):
    """End a task whose loop runs no more: what it waits on raises GeneratorExit."""
    tries = 9
    while tries:
        drop_all()  # or what waits again would be queued twice
        core.cur_task = task  # asyncio queues this if it waits again, and dies of None
        try:
            task.coro.close()
            tries = 0
        except RuntimeError:  # it has waited again
            tries -= 1
        except BaseException:
            tries = 0
    core.cur_task = None


def of_asyncio(name):
    """What asyncio has by that name, None if it has not; where modules ask no __getattr__, too."""
    if hasattr(asyncio, name):
        return getattr(asyncio, name)
    try:
        return asyncio.__getattr__(name)
    except AttributeError:
        return None


# Calls from other threads: they leave what is to be called, and set a flag that asyncio polls.
_asked = []
_asked_lock = _thread and _thread.allocate_lock()
_flag = None
_listener = None
_here = None  # the thread whose loop listens, or did so last
_PATIENCE = const(3000)  # looks, one a ms, at a loop that may have ended without a word


def listen():
    """From now on other threads may `ask`, or set the flag that this returns.

    The loop calls flag.answer() then, if there is one, and again if that returns true. None where
    asyncio has no such flag.
    """
    global _flag, _listener, _here
    if core._task_queue is not _queue:
        _new_loop()
    _here = _thread and _thread.get_ident()
    if _thread is not None and (_listener is None or _listener.done()):
        if _flag is None:  # one for all loops: MicroPython dies of a flag that finds no memory
            Flag = of_asyncio("ThreadSafeFlag")
            if Flag is None:  # Pycom's firmware: nobody may ask
                return None
            _flag = Flag()
            _flag.answer = None
        if _driver is None:
            _kick()
        _listener = core.create_task(_listen(_flag))
    return _flag


def forget(stream):
    """Forget a stream for which there was too little memory when it was to be waited for."""
    # MicroPython dies if it polls what was registered by halves.
    io = core._io_queue
    for _ in range(99):
        try:
            io.poller.register(stream, 1)
            io.poller.unregister(stream)
            io.map.pop(id(stream), None)
            break
        except MemoryError:
            pass


async def _listen(flag):
    while True:
        try:
            await flag.wait()
        except Exception:
            forget(flag)  # too little memory
            flag.set()
            await sleep_ms(10)
            continue
        if flag.answer is not None and flag.answer():
            flag.set()  # there was too little memory
            await sleep_ms(10)
        while True:
            with _asked_lock:
                if not _asked:
                    break
                f, args, box = _asked.pop(0)
            answer = False
            try:
                answer = f(*args)
            except Exception as er:
                answer = er
            finally:
                with _asked_lock:
                    box.append(answer)


def unlisten():
    """End `listen`; who asks from now on gets False."""
    global _listener
    if _listener is not None:
        _listener.cancel()
        _listener = None


def elsewhere():
    """Whether this is another thread than the loop's: that of the last one after its end."""
    here = _runner or _here
    return here is not None and _thread.get_ident() != here


def ask(f, *args):
    """Call f(*args) in the loop's thread; its value, or False if that loop has ended."""
    if _listener is None:
        return False
    box = []
    with _asked_lock:
        _asked.append((f, args, box))
    _flag.set()
    looks = 0  # in a row that saw no task run: asyncio's loop ends without a word
    while True:
        looks = looks + 1 if core.cur_task is None or _keeps_task and not is_running() else 0
        with _asked_lock:
            if box:
                break
            if _listener is None or looks > _PATIENCE:
                if _takes_back(box) or looks > _PATIENCE:
                    return False
        _sleep_ms(1)
    if isinstance(box[0], Exception):
        raise box[0]
    return box[0]


def _takes_back(box):
    # Whether it was not begun: the next loop shall not do what was answered with False.
    n = len(_asked)
    _asked[:] = [asked for asked in _asked if asked[2] is not box]
    return len(_asked) < n


def _no_stream():
    # Whether no stream is waited for; the flag of _listen is none.
    return len(core._io_queue.map) <= (0 if _listener is None else 1)


def set_watch(f):
    """Call f when nothing is ready and no timer or stream is waited for, and every 500 ms."""
    global watch
    watch = f
