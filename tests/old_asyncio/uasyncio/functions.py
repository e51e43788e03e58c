"""What is built on the tasks: events, time limits, gather."""

import io

from . import core


class Event:
    def __init__(self):
        self.state = False
        self.waiting = core.TaskQueue()

    def is_set(self):
        return self.state

    def set(self):
        self.state = True
        while self.waiting.peek():
            core._push(core._task_queue, self.waiting._pop())

    def clear(self):
        self.state = False

    async def wait(self):
        if not self.state:
            core._push(self.waiting, core.cur_task)
            core.cur_task.data = self.waiting
            await _bare()


def _bare():
    yield


class ThreadSafeFlag(io.IOBase):
    def __init__(self):
        self._flag = 0

    def ioctl(self, request, argument):
        return self._flag * argument if request == 3 else -1  # 3: poll

    def set(self):
        self._flag = 1

    async def wait(self):
        if not self._flag:
            core._io_queue.queue_read(self)
            await _bare()
        self._flag = 0


async def wait_for(aw, seconds):
    return await wait_for_ms(aw, int(seconds * 1000))


async def wait_for_ms(aw, ms):
    waiter = core.cur_task
    outcome = []

    async def awaits():
        try:
            outcome.append((await aw, None))
        except BaseException as er:
            outcome.append((None, er))
        if sleeping:
            waiter.cancel()

    task = core.create_task(awaits())
    sleeping = True
    try:
        await core.sleep_ms(ms)
    except core.CancelledError:
        sleeping = False
        if not outcome:
            task.cancel()
            raise
    sleeping = False
    if not outcome:
        task.cancel()
        await task
        raise core.TimeoutError()
    value, er = outcome[0]
    if er is not None:
        raise er
    return value


async def gather(*aws, return_exceptions=False):
    tasks = [aw if isinstance(aw, core.Task) else core.create_task(aw) for aw in aws]
    results = []
    for task in tasks:
        try:
            results.append(await task)
        except Exception as er:
            if not return_exceptions:
                raise
            results.append(er)
    return results
