"""What a task waits on in a queue of others: used by futures and barriers."""

from ufuture.loop import engine


class Waiter(engine.Parked):
    """The place of one task in a queue (a list), the oldest first. To be awaited, once."""

    outside = True

    def __init__(self, queue):
        # Not in the class: then storing it would need memory.
        self.woken = False
        self.index = -1  # once woken: its place in the queue at that time
        self._queue = queue

    def __await__(self):
        self._queue.append(self)
        try:
            yield engine.park(self)
        except BaseException:
            self.leave()
            raise

    __iter__ = __await__

    def leave(self):
        """Give up the place."""
        if not self.woken:
            self.woken = True
            self._queue.remove(self)

    def cancelled(self):
        # The engine: the waiting task is being cancelled.
        woken = self.woken
        self.leave()
        return woken


def wake_all(queue):
    """Wake all, first come first, and empty the queue. Needs no memory of its own."""
    i = 0
    while queue:
        w = queue.pop(0)
        w.woken = True
        w.index = i
        engine.wake(w)
        i += 1
