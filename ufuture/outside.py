"""Who waits for something of asyncio's without a task that asyncio would resume: a callback.

    watch = Watch(event_set(event), call)    # calls call() in the loop, once, when it is set
    watch.stop()                             # not any more; at once, and nothing is left behind

Also for streams: readable(stream), writable(stream). RuntimeError if another one waits for it.

On MicroPython a task is made that stands in no queue but that of what it waits for; it takes its
first step here. Beyond what micro's contract says, that rests on this:
- who waits for an event, or for a stream, takes core.cur_task, and leaves in its data what has
  remove(task); when it is woken, data is None and it stands in core._task_queue.
"""

from ufuture.loop import engine

if hasattr(engine, "core"):
    core = engine.core

    class Watch:
        def __init__(self, wait, call):
            self._task = task = core.Task(_calls(wait, call))
            me = core.cur_task
            core.cur_task = task
            try:
                task.coro.send(None)
            finally:
                core.cur_task = me

        def stop(self):
            task = self._task
            if task.done():
                return
            queue = task.data
            if queue is None:
                queue = core._task_queue
            queue.remove(task)
            task.data = None
            task.coro.close()

    async def _calls(wait, call):
        await wait
        call()

    def event_set(event):
        return event.wait()

    def readable(stream):
        return _check(stream, core._io_queue.queue_read, 0)

    def writable(stream):
        return _check(stream, core._io_queue.queue_write, 1)

    def _check(stream, queue, side):
        waits = core._io_queue.map.get(id(stream))
        if waits is not None and waits[side] is not None:
            raise RuntimeError("another one waits for this stream")
        try:
            yield queue(stream)
        except MemoryError:
            if waits is None:
                engine.forget(stream)
            raise

else:
    Watch = engine.Watch
    event_set = engine.event_set
    readable = engine.readable
    writable = engine.writable
