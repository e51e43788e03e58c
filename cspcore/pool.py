"""Farms and pmap: one function, done by several processes at once. Written once for all libraries.

A farm is a manager and n workers. The manager alone reads the input and writes the output. It
reads a value only while a worker is free, and numbers it; so nothing is held but what workers do,
and, in order, results that are waiting for an earlier one. When the input has ended it waits for
the workers and writes what they have done, before it poisons the output.

             +---> jobs ---> work
    cin ---> manage          ...  n of them
    cout <--      <--- done <--- work
"""

from cspcore.errors import PoisonException
from cspcore.process import no_memory

FAILURES = ("end", "report")


class Failure:
    """What a farm writes for a value whose function has raised an exception."""

    def __init__(self, value, exception):
        self.value = value
        self.exception = exception

    def __repr__(self):
        return "<Failure of %r: %r>" % (self.value, self.exception)


def _check(function, n):
    if not callable(function):
        raise TypeError("a function is expected")
    if not isinstance(n, int):
        raise TypeError("a whole number of workers is expected")
    if n < 1:
        raise ValueError("at least one worker is needed")


def _check_retries(n):
    if not isinstance(n, int):
        raise TypeError("a whole number of retries is expected")
    if n < 0:
        raise ValueError("retries is not negative")


async def call_any(function, *args):
    """The value of a function that may be an async def."""
    v = function(*args)
    if hasattr(v, "send") and hasattr(v, "throw"):
        v = await v
    return v


# What follows is for a library whose operations are awaited; call: call_any, or another such.


def farms(csp, call):
    """Its Farm."""
    process = csp.process

    @process
    async def work(jobs, done, function, reports, retries, setup):
        state = ()  # or (what setup has made,)
        while True:
            k, v = await jobs()
            left = retries
            while True:
                try:
                    if setup is not None and not state:
                        state = (await call(setup),)
                    args = state + (v,)  # MicroPython 1.11 takes no value after `*state`
                    result = await call(function, *args)
                    break
                except Exception as er:
                    state = ()
                    if isinstance(er, PoisonException) or not left and not reports:
                        raise
                    if not left:
                        result = Failure(v, no_memory() if isinstance(er, MemoryError) else er)
                        break
                left -= 1
            await done((k, result))

    @process
    async def manage(cin, cout, jobs, done, n, ordered):
        either = csp.Alternative(done, cin)
        read = written = 0  # how many values, how many results
        free = n
        ended = None  # by what the input has ended
        early = {}  # results that wait for earlier ones
        while free < n or ended is None:
            if ended is not None or not free or read - written >= 2 * n:
                g, v = done, await done()
            else:
                try:
                    g, v = await either.select()
                except PoisonException as er:  # if it is a dead worker's, done will tell
                    ended = er
                    continue
            if g is cin:
                await jobs((read, v))
                read += 1
                free -= 1
                continue
            free += 1
            k, v = v
            if not ordered:
                written += 1
                await cout(v)
                continue
            early[k] = v
            while written in early:
                v = early.pop(written)
                written += 1
                await cout(v)
        raise ended

    @process
    async def farm(cin, cout, n, ordered, *how):
        jobs = csp.Channel("jobs")
        done = csp.Channel("done")
        workers = [work(jobs.read, done.write, *how) for _ in range(n)]
        await csp.Parallel(manage(cin, cout, jobs.write, done.read, n, ordered), *workers)

    def Farm(function, n, ordered=True, failures="end", retries=0, setup=None):
        """Makes a process function of cin and cout: function(v) for each value, by n workers.

        ordered: results come in the order of their values. failures: an exception of the function
        ends the farm, or its Failure is the result; that is after so many retries. setup: makes
        what a worker works with, as function(setup(), v), and makes it anew after an exception.
        """
        _check(function, n)
        if setup is not None:
            _check(setup, n)
        if failures not in FAILURES:
            raise ValueError("failures is 'end' or 'report'")
        _check_retries(retries)
        how = function, failures == "report", retries, setup
        return lambda cin, cout: farm(cin, cout, n, ordered, *how)

    return Farm


def maps(csp, call):
    """Its pmap."""
    process = csp.process

    @process
    async def feed(cout, values):
        k = 0
        for v in values:
            await cout((k, v))
            k += 1
        cout.poison()
        return (), ()  # not None: so it has ended, and not by poison

    @process
    async def collect(cin, function):
        # Two lists: a pair for each result would split all of a small heap.
        places = []
        results = []
        async for k, v in cin:
            v = await call(function, v)
            places.append(k)
            results.append(v)
        return places, results

    @process
    async def mapped(function, values, n):
        jobs = csp.Channel("jobs")
        workers = [collect(jobs.read, function) for _ in range(n)]
        parts = await csp.Parallel(feed(jobs.write, values), *workers)
        if None in parts:
            raise PoisonException("the function or the values met poison")
        results = [None] * sum([len(places) for places, _ in parts])
        for places, part in parts:
            for k, v in zip(places, part):
                results[k] = v
        return results

    def pmap(function, values, n):
        """A process: its result is the list of function(v) for each value, at most n at once."""
        _check(function, n)
        try:
            n = min(n, len(values) or 1)
        except TypeError:  # nobody knows; MicroPython's own lists have no __len__ to look for
            pass
        return mapped(function, iter(values), n)

    return pmap
