"""Awaitables that run at the same time, each as a task, and the one task that waits for them.

    first, second = await gather(cin(), other())
"""

from ufuture.loop import cancel, engine, note_older

CancelledError = engine.CancelledError
# MicroPython has one exception for when there is no memory, which what comes later may take over.
_NO_MEMORY = MemoryError() if hasattr(engine, "core") else None


class _Child(engine.Owned):
    outside = True

    def __init__(self, group):
        self._group = group
        self.has_ended = False
        self.value = None
        self.exception = None

    def ended(self, value, exception):
        self.has_ended = True
        self.value = value
        if _NO_MEMORY is not None and isinstance(exception, MemoryError):
            exception = _NO_MEMORY
            exception.__traceback__ = None  # each raise adds to it
        self.exception = exception
        self._group.child_ended(self)


class Children(engine.Parked):
    """Tasks that one task, the parent, starts and waits for.

    `left` counts those that have not ended; `exception` is the one that was first in time. A
    parent that is cancelled while it waits cancels its children in the same moment; `before` is
    what `exception` was then, or False.
    """

    def __init__(self):
        self.children = []
        self.left = 0
        self.exception = self.before = None
        self._waits = False  # the parent waits and is to be woken when all have ended

    def start(self, coro):
        """Start a child; what remembers its end."""
        child = _Child(self)
        self.children.append(child)  # not behind the start: there may be no memory for it
        try:
            engine.start(child, coro)
        except BaseException:
            self.children.pop()
            raise
        self.left += 1
        return child

    @engine.coroutine
    def wait(self):
        """Wait until all have ended. The CancelledError if this task was cancelled meanwhile."""
        cancelled = None
        while self.left:
            er = yield from self.wait_ms(None)
            if er is not None:
                cancelled = er
        return cancelled

    @engine.coroutine
    def wait_ms(self, ms):
        """Wait until all have ended or ms are over. The CancelledError if it ends by that."""
        self._waits = True
        try:
            if ms is None:
                yield engine.park(self)
            else:
                yield engine.park_ms(self, ms)
        except CancelledError as er:
            return er
        finally:
            self._waits = False
        return None

    @engine.coroutine
    def wait_behind(self, child):
        """Let a child that has been woken run. The CancelledError if this task was cancelled."""
        try:
            yield engine.park_behind(self, child)
        except CancelledError as er:
            return er
        return None

    def cancel(self):
        """Cancel those that have not ended."""
        for child in self.children:
            if not child.has_ended:
                cancel(child)

    def child_ended(self, child):
        er = child.exception
        if er is not None:
            if self.exception is None:
                self.exception = er
            if self.before is False and child.before is er:
                self.before = er
        self.left -= 1
        if self.left or not self._waits:
            return
        if er is not None and engine.ends_loop(er):
            return
        self._waits = False
        engine.unlimit(self)
        engine.wake(self)

    def cancelled(self):
        # The engine: the parent is being cancelled. It waits on if there is no memory for that.
        self.cancel()
        self._waits = False
        if self.before is None:
            self.before = False if self.exception is None else self.exception
        return True  # it may have been woken

    def outlive(self, cancelled):
        """All have ended, and the parent was cancelled: raise what came first; else cancel later.

        That is what had failed before, or the cancellation, unless all have completed.
        """
        er = self.before
        failed = isinstance(er, BaseException) and not gives_way(er)
        for child in self.children:
            if not failed and gives_way(child.exception):
                raise cancelled
        engine.cancel_later()
        if failed:
            note_older(er)
            raise er


def gather(*aws, return_exceptions=False):
    """Run awaitables at the same time; the list of their results, in order. To be awaited.

    Starts them when it is awaited, and always waits for all of them. Then raises the exception
    that was first in time, or with return_exceptions puts each in its place in the list. When it
    is cancelled, it cancels them and waits; if one had failed before, or all of them complete
    nevertheless, that is the outcome and the cancellation is raised at the task's next await that
    suspends. One awaitable given twice runs once. Takes coroutines, tasks, futures, un-awaited
    operations, processes.
    """
    coros = {}
    for aw in aws:
        if id(aw) not in coros or isinstance(aw, engine.SHARED):
            coros[id(aw)] = engine.as_coroutine(aw)
    return _gather(aws, coros, return_exceptions)


async def _gather(aws, coros, return_exceptions):
    group = Children()
    if return_exceptions:
        group.exception = group.before = True  # none is to be raised
    children = {}
    try:
        for aw in aws:
            if id(aw) not in children:
                children[id(aw)] = group.start(coros[id(aw)])
        cancelled = await group.wait()
    except BaseException as er:
        group.cancel()
        if isinstance(er, Exception):
            await group.wait()
        raise
    if cancelled is not None:
        group.outlive(cancelled)
    if return_exceptions:
        return [_outcome(children[id(aw)]) for aw in aws]
    if group.exception is not None:
        raise group.exception
    return [children[id(aw)].value for aw in aws]


def gives_way(exception):
    """Whether the cancellation of who waits is raised, and not the outcome of what it waits for.

    What has ended the loop is not to do so again, where that ends its tasks.
    """
    return isinstance(exception, CancelledError) or (
        exception is not None and engine.ends_loop(exception)
    )


def _outcome(child):
    return child.value if child.exception is None else child.exception
