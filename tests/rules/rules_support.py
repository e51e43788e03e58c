"""What the rules' tests share; written once, for uapycsp, upycsp.aio and plain upycsp.

The library under test is imported as `csp`. For plain upycsp this file and the tests are read with
the words that make a function a coroutine, or wait for one, taken out; where that is not enough,
LIB decides.
"""

import _thread
import sys
import time

import csp

try:
    import asyncio
except ImportError:
    import uasyncio as asyncio

LIB = {"uapycsp": "uapycsp", "upycsp.aio": "aio", "upycsp": "upycsp"}[csp.__name__]
AWAITABLE = LIB != "upycsp"
THREADS = LIB != "uapycsp"
MICROPYTHON = sys.implementation.name == "micropython"


def part(name):
    """A module of the library, also where modules ask no __getattr__ of their own."""
    try:
        return getattr(csp, name)
    except AttributeError:
        own = LIB == "aio" and name != "guards"
        home = "upycsp.aio_" if own else csp.__name__.split(".")[0] + "."
        return __import__(home + name, None, None, ("*",))


LIMIT_MS = 30000
POISONED = "poisoned"


class SkipTest(Exception):
    pass


def skip(reason):
    raise SkipTest(reason)


# Time

if hasattr(time, "ticks_ms"):
    ticks_ms = time.ticks_ms
    ticks_diff = time.ticks_diff
else:

    def ticks_ms():
        return time.monotonic_ns() // 1000000

    def ticks_diff(end, start):
        return end - start


if hasattr(time, "sleep_ms"):
    block_ms = time.sleep_ms
else:

    def block_ms(n):
        time.sleep(n / 1000)


if LIB == "uapycsp":

    async def sleep_ms(n):
        if hasattr(asyncio, "sleep_ms"):
            await asyncio.sleep_ms(n)
        else:
            await asyncio.sleep(n / 1000)

else:

    async def sleep_ms(n):
        if _jumps:
            await csp.Alternative(csp.Timer(ms=n)).select()
        else:
            block_ms(n)


# The libraries whose `run` takes a clock: there tests with VIRTUAL_TIME at the head of their file
# run by a clock of their own, which stands still while something can go on and then jumps.
VIRTUAL = ("uapycsp", "aio", "upycsp")
_jumps = False


def run_virtually(test):
    global _jumps
    if LIB in VIRTUAL:
        clock = csp.virtual.VirtualClock()
        _jumps = True
        try:
            csp.run(test() if AWAITABLE else csp.process(test)(), clock=clock)
        finally:
            _jumps = False
    elif AWAITABLE:
        csp.run(test())
    else:
        test()


def now_ms():
    """Now, by the clock of the library's timers."""
    return csp.timers.ticks_ms()


def passed(start, ms):
    """True if ms have passed since now_ms() was start; in virtual time: if no more have, too."""
    n = csp.timers.ticks_diff(csp.timers.ticks_ms(), start)
    return n == ms if _jumps else n >= ms - 2  # clocks count whole milliseconds on both sides


async def until(condition):
    """Waits for a state; fails after half a minute."""
    start = ticks_ms()
    while not condition():
        if ticks_diff(ticks_ms(), start) > LIMIT_MS:
            raise AssertionError("the state waited for did not come about in %d ms" % LIMIT_MS)
        await sleep_ms(1)


def until_blocking(condition):
    """The same where no process runs: before and after `csp.run`."""
    start = ticks_ms()
    while not condition():
        if ticks_diff(ticks_ms(), start) > LIMIT_MS:
            raise AssertionError("the state waited for did not come about in %d ms" % LIMIT_MS)
        block_ms(1)


async def settle():
    """Every other process gets its chance to do what it must not; there is no state for that."""
    if LIB == "uapycsp":
        for _ in range(20):
            await sleep_ms(0)
    else:
        await sleep_ms(10)


# Composition: what is awaited in two of the variants is run, or joined, in the third

if AWAITABLE:

    async def par(*processes):
        return await csp.Parallel(*processes)

    async def seq(*processes):
        return await csp.Sequence(*processes)

    async def join(handle):
        return await handle

else:

    def par(*processes):
        return csp.Parallel(*processes).run().retval

    def seq(*processes):
        return csp.Sequence(*processes).run().retval

    def join(handle):
        return handle.join()


async def join_all(handles):
    results = []
    for h in handles:
        results.append(await join(h))
    return results


# Without a GIL a list that two threads use must be locked; the price is paid everywhere.


class Log:
    def __init__(self):
        self._lock = _thread.allocate_lock()
        self._items = []

    def add(self, item):
        with self._lock:
            self._items.append(item)

    def items(self):
        with self._lock:
            return self._items[:]

    def count(self):
        with self._lock:
            return len(self._items)

    def has(self, item):
        with self._lock:
            return item in self._items


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


def sentence(error):
    """True if the error's text is one short lower-case sentence."""
    text = str(error)
    if not text or len(text) > 100 or "\n" in text:
        return False
    return text[0] == text[0].lower()


def idle(*channels):
    """True if nothing is posted on the channels and their invariants hold."""
    for ch in channels:
        ch.verify()
        if ch.queue_len():
            return False
    return True


class Addresses:
    """Hosts and ports of this machine; each is given once.

    Where all of 127.0.0.0/8 is this machine, as on Linux, the host is chosen by chance: nobody
    else, be it another run of the tests, takes its ports. Else a port is chosen by chance.
    """

    host = None

    def new(self):
        if self.host is None:
            import os
            import socket

            a, b, c = [1 + n % 254 for n in os.urandom(3)]
            self.host = "127.%d.%d.%d" % (a, b, c)
            self.port = 20000
            s = socket.socket()
            try:
                s.bind(socket.getaddrinfo(self.host, 0)[0][-1])
            except OSError:
                self.host = "127.0.0.1"
                self.port += 40 * (a + b)
            s.close()
        self.port += 1
        return self.host, self.port


new_address = Addresses().new


def listen():
    """A listening socket of this machine, its host and its port."""
    import socket

    s = socket.socket()
    host, port = new_address()
    s.bind(socket.getaddrinfo(host, port)[0][-1])
    s.listen(1)
    return s, host, port


def connection(address):
    """A connected socket; None if nobody listens yet."""
    import socket

    s = socket.socket()
    try:
        s.connect(socket.getaddrinfo(*address)[0][-1])
    except OSError:
        s.close()
        return None
    return s


# Processes with one operation each; poisoned, they end normally, so that they propagate nothing


@csp.process
async def take(cin):
    try:
        return await cin()
    except csp.PoisonException:
        return POISONED


@csp.process
async def give(cout, value):
    try:
        return await cout(value)
    except csp.PoisonException:
        return POISONED


@csp.process
async def choose(*guards):
    try:
        return await csp.Alternative(*guards).select()
    except csp.PoisonException:
        return POISONED


@csp.process
async def take_into(cin, log, tag):
    log.add((tag, await cin()))


@csp.process
async def give_from(cout, values, log=None, tag=None):
    for v in values:
        await cout(v)
        if log is not None:
            log.add((tag, v))


@csp.process
async def collect(cin, log):
    async for v in cin:
        log.add(v)


async def posted(ch, process, n):
    """Starts the process and returns its handle when the channel's queue has grown to n."""
    h = csp.Spawn(process)
    await until(lambda: ch.queue_len() == n)
    return h


async def waiting_readers(ch, n):
    """n readers, the oldest first; each is a handle whose value is what it read."""
    handles = []
    for i in range(n):
        handles.append(await posted(ch, take(ch.read), i + 1))
    return handles


async def waiting_writers(ch, values):
    """A writer for each value, the oldest first."""
    handles = []
    before = ch.queue_len()
    for i, v in enumerate(values):
        handles.append(await posted(ch, give(ch.write, v), before + i + 1))
    return handles
