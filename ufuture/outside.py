"""Who waits for something of asyncio's without a task that asyncio would resume: a callback.

    watch = Watch(event_set(event), call)    # calls call() in the loop, once, when it is set
    watch.stop()                             # not any more; at once, and nothing is left behind

Also for streams: readable(stream), writable(stream). RuntimeError if another one waits for it.

On MicroPython a task is made that stands in no queue but that of what it waits for; it takes its
first step here. Beyond what micro's contract says, that rests on this:
- who waits for an event, or for a stream, takes core.cur_task, and leaves in its data what has
  remove(task); when it is woken, data is None and it stands in core._task_queue;
- core._io_queue.map has [reader, writer, ..] for id(stream).
"""

from ufuture.loop import engine

_BUSY = "another one waits for this stream"

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
        _check(stream, 0)
        yield core._io_queue.queue_read(stream)

    def writable(stream):
        _check(stream, 1)
        yield core._io_queue.queue_write(stream)

    def _check(stream, side):
        waits = core._io_queue.map.get(id(stream))
        if waits is not None and waits[side] is not None:
            raise RuntimeError(_BUSY)

else:
    import asyncio

    _watched = set()  # (file, direction) of all there is

    class Watch:
        def __init__(self, wait, call):
            self._wait = wait
            self._call = call
            wait.start(self._ready)

        def _ready(self, *future):
            self.stop()
            self._call()

        def stop(self):
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
            if key in _watched or engine.is_watched(self._loop, *key):
                raise RuntimeError(_BUSY)
            getattr(self._loop, "add_" + self.side)(self._fd, call)
            _watched.add(key)
            self._key = key

        def stop(self):
            if self._key in _watched:
                _watched.remove(self._key)
                getattr(self._loop, "remove_" + self.side)(self._fd)

    class writable(readable):
        side = "writer"
