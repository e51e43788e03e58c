"""Time limits that lose nothing: a completed operation wins over its timeout.

    try:
        v = await wait_for_ms(cin(), 100)
    except TimeoutError:      # asyncio's
        ...                   # and nothing was read
"""

from ufuture.children import CancelledError, Children
from ufuture.loop import engine

# When the time is over, what has been paired by then may still go on, and then wait once more for
# those who are ready before it, as an end of a buffered channel does at times.
_LAPS = 2
_ENDLESS = (None, float("inf"))


def wait_for(aw, seconds):
    """wait_for_ms with the limit in seconds, to the ms."""
    # A little less than 1000: 0.07 of them would be a little more than 70 ms, and rounded up.
    return wait_for_ms(aw, seconds and seconds * 999.999999999)


def wait_for_ms(aw, ms):
    """Awaited: the value of aw. If that takes longer than ms, cancels it and raises TimeoutError.

    None or an infinite one is no limit, as a bare `await aw`; 0 or less is one try, without
    waiting. Returns when the awaitable has ended, even if it delays its cancellation; if it
    completes all the same, by its value or an exception of its own, that is the outcome. A
    cancelled wait_for cancels the awaitable, likewise; if that completes all the same, the
    cancellation is raised at the task's next await that suspends.
    """
    # Before anything begins: what is no number must not leave it behind.
    ms = None if ms in _ENDLESS else -int(min(-ms, 0) // 1)  # rounded up: never early
    return _wait_for(engine.as_coroutine(aw), ms)


async def _wait_for(coro, ms):
    if ms is None:
        return await coro
    group = Children()
    cancelled = None
    try:
        child = group.start(coro)
        while ms > 0 and group.left and cancelled is None:
            cancelled = await group.wait_ms(min(ms, engine.LONGEST_MS))
            ms -= engine.LONGEST_MS
        for _ in range(_LAPS):
            if group.left and cancelled is None:
                cancelled = await group.wait_behind(child)
        expired = group.left and cancelled is None
        if expired:
            group.cancel()
        if group.left:
            cancelled = await group.wait() or cancelled
    except BaseException:
        group.cancel()
        raise
    if cancelled is not None:
        group.outlive(cancelled)
    if child.exception is None:
        return child.value
    if expired and isinstance(child.exception, CancelledError):
        raise engine.TimeoutError("the time limit has passed")
    raise child.exception
