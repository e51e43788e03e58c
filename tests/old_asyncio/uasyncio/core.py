"""Tasks, their queue and the loop."""

import os
import select
import sys
from time import ticks_add, ticks_diff
from time import ticks_ms as ticks

CALLS_STATE = os.getenv("UASYNCIO") == "1.19"


class CancelledError(BaseException):
    pass


class TimeoutError(Exception):
    pass


class _BaseQueue:
    # Tasks in the order of their time; those of the same time in the order they came.
    def __init__(self):
        self._tasks = []

    def peek(self):
        return self._tasks[0] if self._tasks else None

    def remove(self, task):
        self._tasks.remove(task)

    def _insert(self, task, when):
        assert task not in self._tasks, "the task is in the queue already"
        task.data = None
        task.ph_key = when
        i = len(self._tasks)
        while i and ticks_diff(self._tasks[i - 1].ph_key, when) > 0:
            i -= 1
        self._tasks.insert(i, task)

    def _pop(self):
        return self._tasks.pop(0)


if CALLS_STATE:

    class TaskQueue(_BaseQueue):
        def push(self, task, when=None):
            self._insert(task, ticks() if when is None else when)

        def pop(self):
            return self._pop()

else:

    class TaskQueue(_BaseQueue):
        def push_sorted(self, task, when):
            self._insert(task, when)

        def push_head(self, task):
            self._insert(task, ticks())

        def pop_head(self):
            return self._pop()


def _push(queue, task):
    queue._insert(task, ticks())


# state of a task:
#   True       it runs, nobody waits for it
#   TaskQueue  it runs, these wait for it
#   callable   it runs, call this at its end (1.19 and later)
#   None       it has ended and nobody has asked
#   False      it has ended and somebody has asked
class Task:
    def __init__(self, coro, globals=None):
        self.coro = coro
        self.data = None
        self.state = True
        self.ph_key = 0

    def __iter__(self):
        if not self.state:
            self.state = False
        elif self.state is True:
            self.state = TaskQueue()
        elif CALLS_STATE and not isinstance(self.state, TaskQueue):
            raise RuntimeError("can't wait")
        return self

    def __next__(self):
        if not self.state:
            raise self.data
        _push(self.state, cur_task)
        cur_task.data = self

    def done(self):
        return not self.state

    def cancel(self):
        if not self.state:
            return False
        if self is cur_task:
            raise RuntimeError("can't cancel self")
        task = self
        while isinstance(task.data, Task):
            task = task.data
        if hasattr(task.data, "remove"):
            task.data.remove(task)
            _push(_task_queue, task)
        elif ticks_diff(task.ph_key, ticks()) > 0:
            _task_queue.remove(task)
            _push(_task_queue, task)
        task.data = CancelledError
        return True


class SingletonGenerator:
    state = None

    def __iter__(self):
        return self

    def __next__(self):
        if self.state is None:
            raise StopIteration
        when = self.state
        self.state = None
        _task_queue._insert(cur_task, when)


_sleeper = SingletonGenerator()


def sleep_ms(ms):
    assert _sleeper.state is None
    _sleeper.state = ticks_add(ticks(), max(0, ms))
    return _sleeper


def sleep(seconds):
    return sleep_ms(int(seconds * 1000))


class IOQueue:
    # map: id of a stream -> [the task that waits to read, the one that waits to write, stream]
    def __init__(self):
        self.poller = select.poll()
        self.map = {}

    def _wait(self, stream, way):
        entry = self.map.get(id(stream))
        if entry is None:
            entry = self.map[id(stream)] = [None, None, stream]
        assert entry[way] is None
        entry[way] = cur_task
        cur_task.data = self
        self._register(entry)

    def queue_read(self, stream):
        self._wait(stream, 0)

    def queue_write(self, stream):
        self._wait(stream, 1)

    def _register(self, entry):
        flags = (select.POLLIN if entry[0] else 0) | (select.POLLOUT if entry[1] else 0)
        if flags:
            self.poller.register(entry[2], flags)
        else:
            self.poller.unregister(entry[2])
            del self.map[id(entry[2])]

    def remove(self, task):
        for entry in list(self.map.values()):
            if task in entry[:2]:
                entry[entry.index(task)] = None
                self._register(entry)

    def wait_io_event(self, ms):
        for stream, event in self.poller.ipoll(ms):
            entry = self.map[id(stream)]
            for way, other in (0, select.POLLOUT), (1, select.POLLIN):
                if event & ~other and entry[way] is not None:
                    _push(_task_queue, entry[way])
                    entry[way] = None
            self._register(entry)


def create_task(coro):
    if not hasattr(coro, "send"):
        raise TypeError("a coroutine is expected")
    task = Task(coro, globals())
    _push(_task_queue, task)
    return task


def run_until_complete(main_task=None):
    global cur_task
    while True:
        if not _wait_for_a_task():
            return None
        task = _task_queue._pop()
        cur_task = task
        try:
            thrown = task.data
            if not thrown:
                task.coro.send(None)
            else:
                task.data = None
                task.coro.throw(thrown)
        except (CancelledError, Exception) as er:
            assert task.data is None
            if task is main_task:
                if isinstance(er, StopIteration):
                    return er.value
                raise
            _end(task, er, thrown)


def _wait_for_a_task():
    # False if no task can ever be woken.
    while True:
        task = _task_queue.peek()
        if task is None and not _io_queue.map:
            return False
        ms = -1 if task is None else max(0, ticks_diff(task.ph_key, ticks()))
        _io_queue.wait_io_event(ms)
        if ms == 0:
            return True


def _end(task, er, thrown):
    if task.state:
        asked = False
        if task.state is True:
            task.state = None
        elif CALLS_STATE and callable(task.state):
            task.state(task, er)
            task.state = False
            asked = True
        else:
            while task.state.peek():
                _push(_task_queue, task.state._pop())
                asked = True
            task.state = False
        if not asked and not isinstance(er, (CancelledError, StopIteration)):
            _push(_task_queue, task)  # it is resumed once more, to report what nobody asked for
        task.data = er
    elif task.state is None:
        Loop.call_exception_handler({"message": "unasked", "exception": thrown, "future": task})


def run(coro):
    return run_until_complete(create_task(coro))


class Loop:
    _handler = None

    def create_task(coro):
        return create_task(coro)

    def run_until_complete(aw):
        return run_until_complete(aw if isinstance(aw, Task) else create_task(aw))

    def set_exception_handler(handler):
        Loop._handler = handler

    def call_exception_handler(context):
        if Loop._handler is not None:
            Loop._handler(Loop, context)
        else:
            print(context["message"], context["future"], context["future"].coro)
            sys.print_exception(context["exception"])


def get_event_loop():
    return Loop


def current_task():
    return cur_task


def new_event_loop():
    global _task_queue, _io_queue
    _task_queue = TaskQueue()
    _io_queue = IOQueue()
    return Loop


new_event_loop()  # there is no cur_task before the first task runs
