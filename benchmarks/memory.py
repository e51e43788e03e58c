"""Memory: the bytes of heap that one of each kind takes, and the time in us to make it.

    import          the five names Channel, Alternative, Parallel, process and run, in a fresh
                    interpreter that has asyncio; of upycsp.aio and the thesis's designs all
    channel         before an end of it is used
    channel-ends    with both ends
    buffered        a BufferedChannel of 10, before an end of it is used
    alternative     of two read ends, which are not counted
    parallel        of two write guards, which are not counted
    process         made, not started
    first           the first process that waits, with what is loaded and made for it once
    waiting         each further one: started by Parallel (a thread: by Spawn) and waiting in a
                    read, all told; of a thread also what is kept for the next process, but not
                    its stack, which does not come from this heap
    communication   allocated for each, in CommsTime with the sequential delta
    select          allocated for each, among 5 channels with 2 writers each
    stack-...       upycsp: not of heap, but of a thread's stack, when a process does this in its
                    own body; rounded up to whole calls

Communication and select become garbage; the other bytes of heap are counted after a collection.
The goals are for words of 64 bits, as most PCs have them; with 32 all but an import takes half.
"""

import gc
import sys
import time

from benchmarks import libs, waiter
from benchmarks.harness import Meter, Table, Unmeasurable, WrongResult

asyncio = None

# What the libraries are to keep to, in bytes.
GOALS = {
    ("uapycsp", "import"): 22528,
    ("uapycsp", "channel"): 160,
    ("uapycsp", "channel-ends"): 256,
    ("uapycsp", "waiting"): 600,
    ("uapycsp", "communication"): 320,
    ("uapycsp", "select"): 400,
    ("upycsp", "import"): 22528,
    ("upycsp", "channel"): 160,
    ("upycsp", "channel-ends"): 256,
    ("upycsp", "communication"): 0,
    ("upycsp", "select"): 32,
}

NAMES = "Channel, Alternative, Parallel, process, run"

_IMPORTS = {
    ("uapycsp", None): "from uapycsp import " + NAMES,
    ("upycsp", "plain"): "from upycsp import " + NAMES,
    ("upycsp", "aio"): "import upycsp.aio",
    ("thesis-uapycsp-rescheduling", None): "from benchmarks.thesis import uapycsp",
    ("thesis-upycsp", None): "from benchmarks.thesis import upycsp",
}


def load_asyncio():
    """Before all coroutines."""
    global asyncio
    asyncio = libs.asyncio()


def allocated():
    """The bytes of heap that are in use."""
    gc.collect()
    return gc.mem_alloc()


def makers(csp, waits):
    """By the name of its row, what makes one object of each kind."""
    Channel = csp.Channel
    Alternative = csp.Alternative
    a = Channel("a")
    b = Channel("b")
    cin0 = a.read
    cin1 = b.read

    def channel_ends():
        ch = Channel("c")
        ch.read
        ch.write
        return ch

    found = [
        ("channel", lambda: Channel("c")),
        ("channel-ends", channel_ends),
        ("alternative", lambda: Alternative(cin0, cin1)),
        ("process", lambda: waits(cin0)),
    ]
    # The thesis's designs have none, nor such a Parallel.
    BufferedChannel = getattr(csp, "BufferedChannel", None)
    if BufferedChannel is not None:
        Parallel = csp.Parallel
        guard0 = a.write.alt_pending_write(0)
        guard1 = b.write.alt_pending_write(1)
        found.insert(2, ("buffered", lambda: BufferedChannel("c", 10)))
        found.insert(4, ("parallel", lambda: Parallel(guard0, guard1)))
    return found


_TOO_EARLY = "a process that was to wait has ended"


class Coroutines:
    """Processes that wait, as coroutines. To be used by an asyncio task."""

    def __init__(self, csp, waits):
        self._csp = csp
        self._waits = waits
        self._ch = csp.Channel("c")
        self._task = None
        self._ended = False

    async def start(self, n):
        """Returns when n processes wait; raises what one of them ended by instead."""
        self._ended = False
        self._task = asyncio.create_task(self._all(n))
        while libs.waiting_in(self._ch) < n:
            if self._ended:
                await self._task
                raise WrongResult(_TOO_EARLY)
            await asyncio.sleep_ms(0)

    async def _all(self, n):
        try:
            read = self._ch.read
            return await self._csp.Parallel(*[self._waits(read) for _ in range(n)])
        finally:
            self._ended = True

    async def end(self, n):
        """Let all of them end; whether each got its value."""
        for i in range(n):
            await self._ch.write(i)
        results = await self._task
        self._task = None
        return results == list(range(n))


class Threads:
    """Processes that wait, as threads."""

    def __init__(self, csp, waits):
        self._spawn = getattr(csp, "Spawn", None)
        self._waits = waits
        self._ch = csp.Channel("c")
        self._handles = None

    def start(self, n):
        """Returns when n processes wait; raises what one of them ended by instead."""
        read = self._ch.read
        if self._spawn:
            self._handles = [self._spawn(self._waits(read)) for _ in range(n)]
        else:
            self._handles = [self._waits(read) for _ in range(n)]
            for p in self._handles:
                p.start()
        while libs.waiting_in(self._ch) < n:
            if not all(self._alive(p) for p in self._handles):
                read.poison()
                self._join()
                raise WrongResult(_TOO_EARLY)
            time.sleep(0.001)

    def end(self, n):
        """Let all of them end; whether each value was got once."""
        for i in range(n):
            self._ch.write(i)
        results = self._join()
        self._handles = None
        return sorted(results) == list(range(n))

    def _alive(self, p):
        return not p.done() if self._spawn else p.is_alive()

    def _join(self):
        if self._spawn:
            return [h.join() for h in self._handles]
        for p in self._handles:
            p.join()
        for p in self._handles:
            if p.exception is not None:
                raise p.exception
        return [p.retval for p in self._handles]


# --- rows

def _objects(make, n, meter):
    kept = [None] * n
    before = allocated()
    for i in range(n):
        kept[i] = make()
    meter.bytes_per_op = (allocated() - before) / n
    while meter.next():
        for i in range(n):
            kept[i] = None
        gc.collect()
        meter.start()
        for i in range(n):
            kept[i] = make()
        meter.stop(n)


async def _coroutines(csp, waits, n, first, meter):
    one = Coroutines(csp, waits)
    many = Coroutines(csp, waits)
    before = allocated()
    first.start()
    await one.start(1)
    first.stop(1)
    first.bytes_per_op = allocated() - before
    # Each beyond the first, so that the Parallel around them does not count.
    before = allocated()
    await many.start(1)
    alone = allocated()
    meter.fault(not await many.end(1))
    again = allocated()
    await many.start(1 + n)
    meter.bytes_per_op = (allocated() - again - (alone - before)) / n
    meter.fault(not await many.end(1 + n))
    while meter.next():
        meter.start()
        await many.start(n)
        meter.stop(n)
        meter.fault(not await many.end(n))
    first.fault(not await one.end(1))


def _threads(csp, waits, n, first, meter):
    one = Threads(csp, waits)
    many = Threads(csp, waits)
    before = allocated()
    first.start()
    one.start(1)
    first.stop(1)
    first.bytes_per_op = allocated() - before
    before = allocated()
    many.start(n)
    meter.bytes_per_op = (allocated() - before) / n
    meter.fault(not many.end(n))
    while meter.next():
        meter.start()
        many.start(n)
        meter.stop(n)
        meter.fault(not many.end(n))
    first.fault(not one.end(1))


def _is_fresh(lib):
    # Whether nothing that the library imports has been loaded yet.
    parts = ("benchmarks.thesis.",) if libs.is_thesis(lib) else (
        "cspcore", "ufuture", "uthreading", "uapycsp", "upycsp")
    for name in sys.modules:
        if name.startswith(parts[0]) or name.split(".")[0] in parts:
            return False
    return True


def _import(statement, meter):
    before = allocated()
    meter.start()
    exec(statement, {})
    meter.stop(1)
    meter.bytes_per_op = allocated() - before


def _tell(table, lib, api, variant, n, meter):
    goal = None if api == "aio" else GOALS.get((lib, variant))
    remark = ""
    # Half a byte is nothing: a collection may find a word that looks like an address.
    if goal is not None and meter.bytes_per_op is not None:
        if sys.maxsize >> 32 == 0:
            goal //= 2
        remark = "at most {}: {}".format(
            goal, "met" if meter.bytes_per_op <= goal + 0.5 else "missed")
    table.row(lib, variant, n, meter, api, remark=remark)


def _rows(table, lib, api, apis, sizes):
    runs = sizes["runs"]
    n = sizes["n"]
    title = "memory {} {} ".format(lib, api or "")
    if not lib.endswith("upycsp"):
        load_asyncio()
    if (lib, api) in _IMPORTS:
        if _is_fresh(lib):
            meter = Meter(title + "import", 1)
            _import(_IMPORTS[(lib, api)], meter)
            _tell(table, lib, api, "import", 1, meter)
        else:
            print("no import of {} {}: parts of it were loaded before".format(lib, api or ""))
    csp = libs.load(lib, api, sizes["thesis_queue"])
    process = waiter.of(csp, libs.is_plain(lib, api))
    for variant, make in makers(csp, process):
        meter = Meter(title + variant, runs)
        _objects(make, n, meter)
        _tell(table, lib, api, variant, n, meter)
    if api != "aio":        # whose threads are those of plain
        first = Meter(title + "first", 1)
        meter = Meter(title + "waiting", runs)
        if libs.is_plain(lib, api):
            n = sizes["threads"]
            _threads(csp, process, n, first, meter)
        else:
            csp.run(_coroutines(csp, process, n, first, meter))
        _tell(table, lib, api, "first", 1, first)
        _tell(table, lib, api, "waiting", n, meter)
        if not libs.is_thesis(lib):
            # The other way to use it, while the heap still has room in one piece.
            for pair in libs.each((lib,), apis):
                libs.load(*pair)
    from benchmarks import commstime, stressed_alt  # not before: a board's heap is small
    inner = {"n": sizes["messages"], "idle": 0, "selects": sizes["messages"], "runs": runs,
             "thesis_queue": sizes["thesis_queue"]}
    meter = commstime.measured(lib, api, "seq", inner)
    _tell(table, lib, api, "communication", sizes["messages"], meter)
    few = sizes["threads"] < 10  # beside the main one; 5 channels are 11 processes
    meter = stressed_alt.measured(lib, api, (3 if few else 5, 2), "select", inner)
    _tell(table, lib, api, "select", sizes["messages"], meter)
    if (lib, api) == ("upycsp", "plain"):
        from benchmarks import stack
        for variant, meter, call in stack.measured(csp):
            table.row(lib, "stack-" + variant, 1, meter, api,
                      remark="and {} for each call around it".format(call))


def main(chosen, apis, sizes):
    """Prints a row for each library and kind; raises WrongResult, and Unmeasurable on CPython."""
    if not hasattr(gc, "mem_alloc"):
        raise Unmeasurable("this port does not tell how much of its heap is in use")
    table = Table("memory", "us to make one, bytes of heap that it takes; n={} threads={} runs={}".
                  format(sizes["n"], sizes["threads"], sizes["runs"]), "goal for the bytes")
    for lib, api in libs.each(chosen, apis):
        _rows(table, lib, api, apis, sizes)
