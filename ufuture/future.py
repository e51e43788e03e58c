"""Futures: a value that comes later, and that any number of tasks can wait for.

    answer = create_future()
    ...
    answer.set_result(42)     # in one task
    v = await answer          # in others, before that or after

They differ in what waiting costs. The task that waits on a `Future` leaves the run queue, and
set_result puts it back: as cheap with a thousand waiting as with one. The one that waits on a
`YieldingFuture` passes through the run queue again and again until the future is done.

As asyncio's futures on CPython, with these differences: cancelling a task that waits does not
cancel the future, others may wait on it; callbacks are called at once; an exception that nobody
asks for is not reported. All methods belong to the loop's thread.
"""

from ufuture.loop import engine
from ufuture.waiter import Waiter, wake_all

InvalidStateError = getattr(engine.asyncio, "InvalidStateError", None)
if InvalidStateError is None:  # MicroPython

    class InvalidStateError(Exception):
        """The future is done already, or not yet."""


class _Base:
    # What MicroPython's handler of exceptions prints of the one it is given the context of.
    coro = None
    _traceback = None  # on CPython that of the exception when it was set

    def __init__(self):
        self._done = False
        self._cancelled = False
        self._result = None
        self._exception = None
        self._callbacks = []
        self._calls = False

    def done(self):
        """Whether it has a result, an exception or was cancelled."""
        return self._done

    def cancelled(self):
        """Whether it was cancelled."""
        return self._cancelled

    def result(self):
        """The result. Raises the exception that was set, CancelledError, or InvalidStateError."""
        exception = self.exception()
        if exception is not None:
            if not hasattr(engine, "core"):  # CPython's; each raise would add to it
                exception.with_traceback(self._traceback)
            raise exception
        return self._result

    def exception(self):
        """The exception that was set, or None. Raises CancelledError, or InvalidStateError."""
        if not self._done:
            raise InvalidStateError("the future is not done")
        if self._cancelled:
            raise engine.CancelledError()
        return self._exception

    def set_result(self, result):
        """Make it done; those who wait get the result. InvalidStateError if it is done already."""
        self._finish(result, None)

    def set_exception(self, exception):
        """Make it done; those who wait get the exception (an instance, or a class) raised."""
        if isinstance(exception, type) and issubclass(exception, BaseException):
            exception = exception()
        if not isinstance(exception, BaseException):
            raise TypeError("an exception is expected")
        if isinstance(exception, StopIteration):
            raise TypeError("a StopIteration would end whoever waits")
        if not hasattr(engine, "core"):
            self._traceback = exception.__traceback__
        self._finish(None, exception)

    def cancel(self):
        """Make it done; those who wait get CancelledError raised. False if it was done already."""
        if self._done:
            return False
        self._cancelled = True
        self._finish(None, None)
        return True

    def add_done_callback(self, f):
        """Call f(future) when the future becomes done; at once if it is.

        The callbacks are called in the order they were added, one that a callback adds after it,
        by whoever makes the future done and before that call returns; the waiting tasks go on
        after that. An exception in a callback goes to the loop's exception handler, an interrupt
        to the caller after the others.
        """
        self._callbacks.append(f)
        if self._done and not self._calls:
            self._call()

    def remove_done_callback(self, f):
        """Take a callback back; how often it had been added."""
        kept = [g for g in self._callbacks if g != f]
        removed = len(self._callbacks) - len(kept)
        self._callbacks = kept
        return removed

    def _finish(self, result, exception):
        if self._done:
            raise InvalidStateError("the future is done already")
        self._done = True
        self._result = result
        self._exception = exception
        self._wake()
        self._call()

    def _call(self):
        self._calls = True  # what a callback adds is called here, and not within it
        try:
            while self._callbacks:
                try:
                    self._callbacks.pop(0)(self)
                except KeyboardInterrupt:  # each by itself: a tuple of them would need memory
                    self._call()  # the others all the same
                    raise
                except SystemExit:
                    self._call()
                    raise
                except BaseException as er:
                    engine.report(self, er, "exception in a callback of a future")
        finally:
            self._calls = False

    def __repr__(self):
        if not self._done:
            state = "pending"
        elif self._cancelled:
            state = "cancelled"
        elif self._exception is not None:
            state = "exception={!r}".format(self._exception)
        else:
            state = "result={!r}".format(self._result)
        return "<{} {}>".format(type(self).__name__, state)


class Future(_Base):
    """A rescheduling future: who waits leaves the run queue until it is done."""

    def __init__(self):
        _Base.__init__(self)
        self._waiting = []

    def __await__(self):
        (self,)  # one block: without it each new generator walks over all the heap's garbage
        if not self._done:
            w = Waiter(self._waiting)
            self._waiting.append(w)
            try:
                yield engine.park(w)
            except BaseException:
                w.leave()
                raise
        return self.result()

    __iter__ = __await__

    def _wake(self):
        wake_all(self._waiting)


class YieldingFuture(_Base):
    """A yielding future: who waits passes through the run queue until it is done."""

    def __await__(self):
        (self,)  # one block, as in Future
        while not self._done:
            yield engine.again()
        return self.result()

    __iter__ = __await__

    def _wake(self):
        pass


_kinds = {"rescheduling": Future, "yielding": YieldingFuture}
_config = None


def create_future():
    """A new future, of the kind in config.FUTURE: "rescheduling" (the default) or "yielding"."""
    global _config
    if _config is None:
        try:
            import config

            _config = config
        except ImportError:
            _config = False
    kind = getattr(_config, "FUTURE", "rescheduling")
    if kind not in _kinds:
        raise ValueError("no future {!r}".format(kind))
    return _kinds[kind]()
