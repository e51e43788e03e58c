"""What ufuture/micro.py relies on in MicroPython's asyncio: a sentence of its docstring a test.

If one of these fails on a new MicroPython, the engine must learn the new ways.
"""

from ufuture_support import asyncio, raises, renew_loop, settle, ticks_diff, ticks_ms

from ufuture.loop import engine

INTERPRETERS = ("micropython",)

core = engine.core


def push(queue, task, when=None):
    """Pushes a task as the version of MicroPython wants it."""
    if hasattr(queue, "push"):
        queue.push(task) if when is None else queue.push(task, when)
    else:
        queue.push_head(task) if when is None else queue.push_sorted(task, when)


def run(coro):
    renew_loop()
    return asyncio.run(coro)


async def nothing(value=None):
    return value


# The running task


def test_cur_task_is_the_running_task():
    async def other():
        return core.cur_task

    async def main():
        me = core.cur_task
        task = asyncio.create_task(other())
        assert await task is task
        assert core.cur_task is me
        assert me is asyncio.current_task()

    run(main())


def test_whoever_is_set_as_cur_task_is_what_the_functions_of_asyncio_act_on():
    # What the driver does: it resumes the coroutine of another task in the name of that task.
    events = []

    async def body():
        events.append(core.cur_task)
        await asyncio.sleep_ms(0)
        events.append(core.cur_task)

    async def main():
        me = core.cur_task
        task = core.Task(body())
        core.cur_task = task
        task.coro.send(None)
        core.cur_task = me
        await settle()
        assert events == [task, task], "asyncio did not resume the task that slept"

    run(main())


def test_a_task_has_its_coroutine_its_data_and_its_state():
    coro = nothing()
    task = core.Task(coro)
    assert task.coro is coro
    assert task.data is None
    assert task.state is True
    task.data = task.state = 5
    assert (task.data, task.state) == (5, 5)
    coro.close()


def test_a_new_task_is_in_no_queue():
    async def main():
        events = []
        core.Task(appends(events))
        await settle()
        assert not events
        assert core._task_queue.peek() is None

    run(main())


async def appends(events):
    events.append(1)


def test_create_task_and_run_until_complete_run_a_task_and_give_its_value_or_exception():
    renew_loop()
    assert core.run_until_complete(core.create_task(nothing(7))) == 7

    async def fails():
        raise KeyError(7)

    with raises(KeyError):
        core.run_until_complete(core.create_task(fails()))


def test_pend_throw_is_refused_exactly_while_a_coroutine_runs():
    async def main():
        task = asyncio.create_task(waits())
        with raises(ValueError):
            core.cur_task.coro.pend_throw(None)
        await asyncio.sleep_ms(0)
        task.coro.pend_throw(None)
        await task

    async def waits():
        await asyncio.sleep_ms(1)

    run(main())


# The queues


def test_a_new_event_loop_has_new_queues():
    renew_loop()
    tasks, streams = core._task_queue, core._io_queue
    asyncio.new_event_loop()
    assert core._task_queue is not tasks
    assert core._io_queue is not streams


def test_the_queue_is_sorted_by_time_and_a_task_can_be_taken_out():
    queue = core.TaskQueue()
    assert queue.peek() is None
    late, early = core.Task(nothing()), core.Task(nothing())
    now = ticks_ms()
    push(queue, late, engine.ticks_add(now, 1000))
    assert queue.peek() is late
    push(queue, early)
    assert queue.peek() is early
    queue.remove(early)
    assert queue.peek() is late
    queue.remove(late)
    assert queue.peek() is None


def test_tasks_of_the_same_time_keep_their_order():
    renew_loop()
    order = []

    async def notes(i):
        order.append(i)

    async def main():
        for i in range(9):
            asyncio.create_task(notes(i))
        await settle()

    run(main())
    assert order == list(range(9))


def test_a_push_sets_data_to_none():
    queue = core.TaskQueue()
    for when in (None, ticks_ms()):
        task = core.Task(nothing())
        task.data = 5
        push(queue, task, when)
        assert task.data is None
        queue.remove(task)


def test_a_pushed_task_is_resumed():
    async def main():
        task = core.Task(appends(events))
        push(core._task_queue, task)
        await settle()

    events = []
    run(main())
    assert events == [1]


def test_a_task_that_leaves_itself_in_no_queue_is_not_resumed():
    async def main():
        task = asyncio.create_task(parks())
        await settle()
        assert events == ["before"]
        push(core._task_queue, task)
        await settle()
        assert events == ["before", "after"]

    async def parks():
        events.append("before")
        await bare()
        events.append("after")

    events = []
    run(main())


def bare():
    # A coroutine that suspends, as every generator here is.
    yield


# data


class Data:
    """Stands in a task's data and notes what the loop does with it."""

    def __init__(self, truth=False, clear=True):
        self.events = []
        self.truth = truth
        self.clear = clear

    def __bool__(self):
        self.events.append(core.cur_task)
        if self.clear:
            core.cur_task.data = None
        return self.truth

    def remove(self, task):
        self.events.append(("remove", task))


def test_false_data_lets_a_task_go_on_and_is_looked_at_when_it_is_the_running_one():
    async def main():
        task = asyncio.create_task(parks())
        await settle()
        data = Data()
        push(core._task_queue, task)
        task.data = data
        assert await task == "resumed by send"
        assert data.events == [task], "data was not looked at once, with cur_task set"

    async def parks():
        await bare()
        return "resumed by send"

    run(main())


def test_an_exception_as_data_is_thrown():
    async def main():
        task = asyncio.create_task(parks())
        await settle()
        push(core._task_queue, task)
        task.data = KeyError("thrown")
        assert await task == "thrown"

    async def parks():
        try:
            await bare()
        except KeyError as er:
            return er.args[0]

    run(main())


def test_cancel_calls_remove_pushes_the_task_and_leaves_cancelled_error():
    async def main():
        task = asyncio.create_task(parks())
        await settle()
        data = task.data = Data()
        assert task.cancel() is True
        assert data.events == [("remove", task)]
        assert task.data is asyncio.CancelledError
        assert core._task_queue.peek() is task
        await settle()
        assert events == ["cancelled"]

    async def parks():
        try:
            await bare()
        except asyncio.CancelledError:
            events.append("cancelled")

    events = []
    run(main())


def test_cancel_is_handed_on_to_the_task_that_is_waited_for():
    async def main():
        inner = asyncio.create_task(parks())
        outer = asyncio.create_task(waits(inner))
        await settle()
        assert outer.data is inner
        data = inner.data = Data()
        outer.cancel()
        assert data.events == [("remove", inner)]
        await settle()
        assert outer.done() and inner.done()

    async def parks():
        await bare()

    async def waits(task):
        await task

    run(main())


def test_a_task_that_has_ended_and_the_running_one_cannot_be_cancelled():
    async def main():
        task = asyncio.create_task(nothing())
        await task
        assert task.cancel() is False
        with raises(RuntimeError):
            core.cur_task.cancel()

    run(main())


def test_data_with_a_queue_s_remove_survives_a_sleep_that_is_cancelled():
    # park_ms: the task is in the queue for later, with data that cancel() asks first.
    async def main():
        task = asyncio.create_task(sleeps())
        await settle()
        data = Data()
        data.remove = core._task_queue.remove
        task.data = data
        task.cancel()
        start = ticks_ms()
        with raises(asyncio.CancelledError):
            await task
        assert ticks_diff(ticks_ms(), start) < 30000
        assert core._task_queue.peek() is None

    async def sleeps():
        await asyncio.sleep_ms(60000)

    run(main())


# The end


class State:
    """What the engine leaves in a task's state."""

    def __init__(self):
        self.calls = []

    def __call__(self, task, exception):
        self.calls.append((task, exception))

    def peek(self):
        return None


def end_of(coro):
    """What a task tells its state at the end, None if this version does not tell."""
    state = State()
    tasks = []

    async def main():
        task = asyncio.create_task(coro)
        tasks.append(task)
        task.state = state
        await settle()
        assert task.state is False
        assert task.done()

    run(main())
    if not hasattr(core.TaskQueue, "push"):
        assert not state.calls
        return None
    ((task, exception),) = state.calls
    assert task is tasks[0]
    return exception


def test_a_callable_state_is_told_the_value():
    exception = end_of(nothing(7))
    if exception is not None:
        assert isinstance(exception, StopIteration)
        assert exception.value == 7


def test_a_callable_state_is_told_the_exception_and_nothing_is_reported():
    async def fails():
        raise KeyError(7)

    if hasattr(core.TaskQueue, "push"):
        reported = []
        asyncio.get_event_loop().set_exception_handler(lambda loop, c: reported.append(c))
        try:
            assert isinstance(end_of(fails()), KeyError)
        finally:
            asyncio.get_event_loop().set_exception_handler(None)
        assert not reported


def test_an_exception_nobody_asked_for_goes_to_the_handler():
    contexts = []
    loop = asyncio.get_event_loop()
    loop.set_exception_handler(lambda loop, context: contexts.append(context))
    try:
        loop.call_exception_handler({"message": "m", "exception": 1, "future": 2})
    finally:
        loop.set_exception_handler(None)
    assert contexts == [{"message": "m", "exception": 1, "future": 2}]


# Streams and time


def test_who_waits_for_the_other_direction_of_a_stream_is_not_taken_out():
    async def reads(flag):
        yield core._io_queue.queue_read(flag)

    async def writes(flag):
        yield core._io_queue.queue_write(flag)

    async def main():
        io = core._io_queue
        for cancelled in (0, 1):
            flag = asyncio.ThreadSafeFlag()
            tasks = [asyncio.create_task(f(flag)) for f in (reads, writes)]
            await asyncio.sleep_ms(0)
            assert io.map[id(flag)] == [tasks[0], tasks[1], flag]
            tasks[cancelled].cancel()
            left = [tasks[0], tasks[1], flag]
            left[cancelled] = None
            assert io.map[id(flag)] == left
            assert not list(io.poller.poll(0))
            flag.set()
            assert [e for _, e in io.poller.poll(0)] == [1 if cancelled else 4]
            tasks[1 - cancelled].cancel()
            assert not io.map
            await asyncio.sleep_ms(0)

    run(main())


def test_the_map_of_the_io_queue_holds_the_streams_that_are_waited_for():
    async def main():
        flag = asyncio.ThreadSafeFlag()
        assert not core._io_queue.map
        task = asyncio.create_task(flag.wait())
        await settle()
        assert len(core._io_queue.map) == 1
        flag.set()
        await task
        assert not core._io_queue.map

    run(main())


def test_sleep_returns_the_one_object_that_keeps_when_to_wake():
    async def main():
        before = ticks_ms()
        first = asyncio.sleep_ms(1000)
        after = ticks_ms()
        assert isinstance(first, core.SingletonGenerator)
        assert ticks_diff(first.state, before) >= 1000
        assert ticks_diff(first.state, after) <= 1000
        first.state = None
        second = asyncio.sleep(0)
        assert second is first
        assert second.state is not None
        await second
        assert second.state is None

    run(main())


def test_ticks_count_milliseconds():
    start = ticks_ms()
    assert ticks_diff(engine.ticks_add(start, 1500), start) == 1500

    async def main():
        await asyncio.sleep_ms(20)

    run(main())
    assert ticks_diff(ticks_ms(), start) >= 15


# What a virtual clock exchanges


def test_asyncio_reads_the_time_by_ticks_and_waits_in_wait_io_event():
    async def main():
        now = core.ticks()
        waited = []
        usual = core._io_queue.wait_io_event, core.ticks

        def wait(ms):
            waited.append(ms)
            core.ticks = lambda: engine.ticks_add(now, 5000)

        core.ticks = lambda: now
        core._io_queue.wait_io_event = wait
        try:
            await asyncio.sleep_ms(5000)
        finally:
            core._io_queue.wait_io_event, core.ticks = usual
        assert 5000 in waited

    run(main())


def test_tasks_of_the_same_ticks_leave_the_queue_in_the_order_they_came():
    queue = core.TaskQueue()
    tasks = [core.Task(nothing()) for _ in range(20)]
    for task in tasks:
        push(queue, task, 1000)
        assert task.ph_key == 1000
    pop = queue.pop if hasattr(queue, "pop") else queue.pop_head
    for task in tasks:
        assert pop() is task
        task.coro.close()


# What a watch from outside a task rests on


def test_who_waits_for_an_event_is_cur_task_and_can_be_taken_out():
    async def main():
        event = asyncio.Event()
        me = core.cur_task
        core.cur_task = task = core.Task(event.wait())
        task.coro.send(None)
        core.cur_task = me
        assert event.waiting.peek() is task
        task.data.remove(task)
        assert event.waiting.peek() is None
        push(event.waiting, task)
        event.set()
        assert core._task_queue.peek() is task and task.data is None
        core._task_queue.remove(task)
        task.coro.close()
        assert not task.done()

    run(main())


def test_who_waits_for_a_stream_is_cur_task_and_can_be_taken_out():
    def waits(stream):
        yield core._io_queue.queue_read(stream)

    async def main():
        flag = asyncio.ThreadSafeFlag()
        me = core.cur_task
        core.cur_task = task = core.Task(waits(flag))
        task.coro.send(None)
        core.cur_task = me
        assert core._io_queue.map[id(flag)][:2] == [task, None]
        task.data.remove(task)
        assert id(flag) not in core._io_queue.map
        task.coro.close()

    run(main())
