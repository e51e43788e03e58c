"""What the tests of ufuture share. They use asyncio and ufuture, and nothing of CSP."""

import sys
import time

from ufuture.loop import engine

try:
    import asyncio
except ImportError:
    import uasyncio as asyncio

MICROPYTHON = sys.implementation.name == "micropython"
LIMIT_MS = 30000

sleep_ms = engine.sleep_ms
CancelledError = engine.CancelledError


class SkipTest(Exception):
    pass


if hasattr(time, "ticks_ms"):
    ticks_ms = time.ticks_ms
    ticks_diff = time.ticks_diff
    block_ms = time.sleep_ms
else:

    def ticks_ms():
        return time.monotonic_ns() // 1000000

    def ticks_diff(end, start):
        return end - start

    def block_ms(n):
        time.sleep(n / 1000)


async def until(condition):
    """Waits for a state; fails after half a minute."""
    start = ticks_ms()
    while not condition():
        if ticks_diff(ticks_ms(), start) > LIMIT_MS:
            raise AssertionError("the state waited for did not come about in %d ms" % LIMIT_MS)
        await sleep_ms(1)


async def settle():
    """Every other task gets its chance to do what it must not; there is no state for that."""
    for _ in range(20):
        await sleep_ms(0)


class raises:
    """with raises(ValueError) as e: ...; the exception is then e.value."""

    def __init__(self, *classes):
        self.classes = classes
        self.value = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if kind is None:
            raise AssertionError(
                "%s was not raised" % " or ".join(c.__name__ for c in self.classes)
            )
        if not issubclass(kind, self.classes):
            return False
        self.value = value
        return True


def renew_loop():
    """On MicroPython the loop outlives a run, and with it what an interrupted one left behind."""
    if MICROPYTHON:
        asyncio.new_event_loop()


class Outcome(engine.Owned):
    """A task that the engine runs, and how it ended."""

    def __init__(self, coro):
        self.value = None
        self.exception = None
        self.ends = 0
        engine.start(self, coro)

    def ended(self, value, exception):
        self.value = value
        self.exception = exception
        self.ends += 1

    async def end(self):
        await until(lambda: self.ends)
        if self.exception is not None:
            raise self.exception
        return self.value

    def cancel(self):
        engine.cancel(self)


class Foreign:
    """A task that asyncio runs, with the same methods."""

    def __init__(self, coro):
        self.value = None
        self.exception = None
        self._ended = 0
        self.task = asyncio.get_event_loop().create_task(self._run(coro))

    async def _run(self, coro):
        try:
            self.value = await coro
        except BaseException as er:
            self.exception = er
            if not isinstance(er, (Exception, CancelledError)):
                raise
        finally:
            self._ended += 1

    @property
    def ends(self):
        if not self._ended and self.task.done():  # cancelled before it began
            self.exception = CancelledError()
            self._ended = 1
        return self._ended

    end = Outcome.end

    def cancel(self):
        self.task.cancel()


KINDS = (Outcome, Foreign)


async def ends_of(tasks):
    """Their values, when all have ended."""
    values = []
    for t in tasks:
        values.append(await t.end())
    return values


class Place(engine.Parked):
    """Something to wait on that remembers what happened."""

    def __init__(self, name=None):
        self.name = name
        self.woken = False
        self.cancels = []  # for each cancel, whether it was woken before
        self.expiries = 0

    def cancelled(self):
        self.cancels.append(self.woken)
        return self.woken

    def expired(self):
        self.expiries += 1

    def wake(self):
        self.woken = True
        engine.unlimit(self)
        engine.wake(self)

    @engine.coroutine
    def wait(self, events=None):
        yield engine.park(self)
        if events is not None:
            events.append(self.name)
        return self.name

    @engine.coroutine
    def wait_ms(self, ms):
        yield engine.park_ms(self, ms)
        return self.woken

    def waits(self):
        if MICROPYTHON:
            return (self.task or self.aside or self.foreign) is not None
        return self.future is not None and not self.future.done()


async def waiting(kind, place, coro=None):
    """A task that waits at the place."""
    t = kind(coro if coro is not None else place.wait())
    await until(place.waits)
    return t


async def returns(value):
    return value


async def fails(exception):
    raise exception


async def sleep_long():
    await sleep_ms(60000)
