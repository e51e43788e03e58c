"""The event loop's part that fits the interpreter, as `engine`; how far its cancels nest; which
failure came before a cancellation."""

import gc
import sys

# Not `from ufuture import ...`: MicroPython asks the package's __getattr__ first.
if sys.implementation.name == "micropython":
    gc.collect()  # what compiling a file leaves is in the way of the next: 10 KB more are needed
    import ufuture.micro as engine
    gc.collect()

    def remove(self, task):
        # asyncio's own drops also who waits for the other direction. Nothing here needs memory.
        for key in self.map:
            waits = self.map[key]
            for side in range(2):
                if waits[side] is task:
                    if waits[1 - side] is None:
                        del self.map[key]
                        self.poller.unregister(waits[2])
                    else:
                        waits[side] = None
                        self.poller.modify(waits[2], 1 if side else 4)
                    return

    if hasattr(engine.core, "IOQueue"):  # a browser has no streams
        engine.core.IOQueue.remove = remove
else:
    import ufuture.cpython as engine

_DEEPEST = 5  # a board's stack has room for about ten
_depth = 0
_deeper = []  # what is to be cancelled when no cancel goes on but the outermost


def cancel(owned):
    """engine.cancel for a task that somebody waits for, whose own cancel may be what goes on.

    All are cancelled when the outermost returns, however many wait for one another in a row.
    """
    global _depth
    if _depth == _DEEPEST:
        try:
            _deeper.append(owned)
            return
        except MemoryError:
            pass
    _depth += 1
    try:
        engine.cancel(owned)
    finally:
        try:
            if _depth == 1:
                _cancel_deeper()
        finally:
            _depth -= 1


def _cancel_deeper():
    try:
        while _deeper:
            engine.cancel(_deeper.pop(0))
    finally:
        if _deeper:  # that one's cancel has failed: the others all the same
            _cancel_deeper()


if hasattr(engine, "core"):

    def note_older(exception):
        """The running task raises what came before it was cancelled: its owned.before."""
        owned = engine.core.cur_task.state
        if isinstance(owned, engine.Owned):
            owned.before = exception

else:
    note_older = engine.note_older
