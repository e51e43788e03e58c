"""A clock for tests: while it runs a loop, time passes only when nothing else can go on.

    clock = VirtualClock()
    clock.run(main())       # asyncio.sleep(3600) in it is over in a moment
    assert clock.now_ms() == 3600000

It then jumps to the next timer of the loop, so timers come in their order, and the same program
does the same each time. Input from outside (streams, threads) is looked at before each jump, but
not waited for: it comes whenever it comes. Only if nobody waits for a timer is it waited for.

The rest says how the loop's time is exchanged; on MicroPython that is part of micro's contract:
- core.ticks is what asyncio reads the time by, _io_queue.wait_io_event(ms) where it waits;
- what asyncio pushes without a time gets the real ticks. Virtual ticks lie ahead of all of them,
  so that it is ready at once; equal ticks come first in, first out;
- a task in the loop's queue has ph_key, its ticks.
"""

from ufuture.loop import engine


class VirtualClock:
    """A clock that jumps to the next timer. One run after another may use it; it goes on then."""

    def __init__(self):
        self._now = _Time()

    def now_ms(self):
        """How many ms have passed by this clock."""
        return self._now.ms()

    def run(self, coro, after=None):
        """Run a coroutine as the main task by this clock; its value."""
        try:
            if engine.is_busy():
                raise RuntimeError("an event loop runs already")
            self._now.begin()
        except BaseException:
            coro.close()
            raise
        try:
            return engine.run(coro, after)
        finally:
            self._now.end()


if not hasattr(engine, "core"):
    _Time = engine.VirtualTime
else:
    from time import ticks_add, ticks_diff, ticks_ms

    core = engine.core
    _AHEAD_MS = 1 << 40  # 35 years

    class _Time:
        def __init__(self):
            self._passed = self._ticks = 0

        def ms(self):
            return self._passed

        def ticks(self):
            return self._ticks

        def begin(self):
            if core.ticks is not ticks_ms:
                raise RuntimeError("a virtual clock runs already")
            now = ticks_ms()
            try:
                ahead = ticks_add(now, _AHEAD_MS)
                core.TaskQueue.push  # before 1.19 it is another one
            except (OverflowError, AttributeError):
                raise RuntimeError("a virtual clock needs words of 64 bits and MicroPython 1.19")
            if ticks_diff(self._ticks, now) < _AHEAD_MS // 2:  # else they go on
                self._ticks = ahead
            io = core._io_queue
            self._wait = io.wait_io_event
            self._usual = engine._push, engine._push_at, engine.park_ms
            ticks = self.ticks
            mine = self._push_now, self._push_later, self._park_ms
            queue = core.TaskQueue()
            self._spare = core.TaskQueue()  # for the end
            io.wait_io_event = self._wait_or_jump  # the last that needs memory
            core.ticks = engine.ticks_ms = ticks
            engine._push, engine._push_at, engine.park_ms = mine
            _move(queue, now, self._ticks)

        def end(self):
            engine._push, engine._push_at, engine.park_ms = self._usual
            core.ticks = engine.ticks_ms = ticks_ms
            core._io_queue.wait_io_event = self._wait
            _move(self._spare, self._ticks, ticks_ms())

        def _push_now(self, task):
            # Processes that are woken come before what else is ready, so before the next timer of
            # this moment; but not the driver where it gives way.
            if task is engine._driver and core.cur_task is not task:
                self._usual[1](task, ticks_ms())
            else:
                self._usual[1](task, self._ticks)

        def _push_later(self, task, when):
            ms = ticks_diff(when, self._ticks)
            if ms < 0:  # the driver, before all that is ready
                when = ticks_add(ticks_ms(), ms)
            elif task is engine._driver and ms > 0:  # to look for a deadlock: behind all others
                when = ticks_add(self._ticks, _AHEAD_MS)
            self._usual[1](task, when)

        def _park_ms(self, parked, ms):
            # As the engine's, but that no tick is under way.
            parked.queued = parked.queued
            engine.park(parked)
            task = core.cur_task
            self._push_later(task, ticks_add(self._ticks, min(ms, engine.LONGEST_MS)))
            task.data = parked
            parked.queued = True

        def _line_up(self):
            # What asyncio has pushed without a time comes behind what is ready already.
            queue = core._task_queue
            task = queue.peek()
            while task is not None and task is not engine._driver and (
                ticks_diff(task.ph_key, self._ticks) < -_AHEAD_MS // 2
            ):
                data = task.data
                queue.pop()
                queue.push(task, self._ticks)
                task.data = data
                task = queue.peek()

        def _wait_or_jump(self, ms):
            if ms <= 0:
                self._line_up()
                self._wait(ms)
                return
            queue = core._task_queue
            head = queue.peek()
            watches = head is engine._driver and engine._timed
            self._wait(engine.WATCH_MS if watches else 0)
            if queue.peek() is not head:
                return
            if watches:
                queue.remove(head)
                self._push_now(head)
            else:
                self._ticks = ticks_add(self._ticks, ms)
                self._passed += ms

    def _move(queue, now, then):
        # Who waits since before, or will do so after, goes on by the other clock, and in another
        # queue: there may be no memory to keep them meanwhile.
        old = core._task_queue
        task = old.peek()
        while task is not None:
            data = task.data
            looks = task is engine._driver and engine._timed  # else it has been called, and is due
            ms = engine.WATCH_MS if looks else ticks_diff(task.ph_key, now)
            old.pop()
            queue.push(task, ticks_add(then, ms if ms > 0 else 0))
            task.data = data
            task = old.peek()
        if engine._queue is old:
            engine._queue = queue
        core._task_queue = queue
