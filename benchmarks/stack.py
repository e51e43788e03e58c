"""How much of a thread's stack the operations of upycsp need, to choose its size on a board.

The main thread calls a function that calls itself, at first never, then once, twice and so on, and
does the operation in the innermost. The call at which the stack no longer suffices tells what the
operation needs, rounded up to what one such call takes; what a process has in use before its body
begins is added. How deep an operation goes depends on whether it has to wait: each call does it
TRIES times, and who is at the other end rests between its own.

It is the main thread because the Unix port tells a new one the end of its stack too late: a thread
that reaches it at once may crash.

A board's stack of N bytes has room for N - 1024: the rest is for noticing that it is full.
"""

from time import sleep_ms

from micropython import stack_use

from benchmarks.harness import Meter
from upycsp import wait

TRIES = 4
_MOST = 16000  # bytes that an operation needs at most


def _within(calls, operation):
    if calls:
        return _within(calls - 1, operation)
    for _ in range(TRIES):
        operation()
    return stack_use()


def _nothing():
    pass


def _deepest(operation, calls=0):
    # How many calls there were, and the bytes in use in the innermost, where one more had no room
    # for the operation.
    used = 0
    try:
        while True:
            if hasattr(operation, "prepare"):
                operation.prepare()
            used = _within(calls, operation)
            calls += 1
    except RuntimeError as e:
        if not _is_cut_off(e):
            raise
        # It may have had no room even to leave its queue, or to take the wake that came then.
        with wait.lock:
            wait.own().retire()
        return calls, used


def _is_cut_off(e):
    # No room; or, without a text, a lock that is not as it has to be, for who has to wait found no
    # room when it was in the queue and did not sleep yet.
    return "recursion" in str(e) or not str(e)


class _Ends:
    # A process ends by an exception while another waits in an alternative: as deep as poison goes.
    # `prepare` comes before each TRIES calls: who waits has to be there then.

    def __init__(self, csp):
        self._csp = csp
        self._silent = csp.Channel("silent").read
        self._ending = []
        self._waiting = []  # the one at each, and behind them those whose process has ended

    def prepare(self):
        csp = self._csp
        while len(self._waiting) > len(self._ending):
            self._waiting.pop().join()  # its thread is there for the next one

        @csp.process
        def waits(alt):
            alt.select()

        @csp.process
        def ends(cout):
            pass

        while len(self._ending) < TRIES:
            ch = csp.Channel("ends")
            alt = csp.Alternative(self._silent, ch.read)
            self._waiting.append(csp.Spawn(waits(alt)))
            while not alt.waits:
                sleep_ms(1)
            self._ending.append(ends(ch.write))

    def __call__(self):
        self._ending.pop().die(ValueError())

    def clear(self):
        self._silent.poison()


def _operations(csp, cin, cout):
    Parallel = csp.Parallel
    silent = csp.Channel("silent")
    alt = csp.Alternative(silent.read, cin, csp.Timer(60))
    put = cout.alt_pending_write

    @csp.process
    def nothing():
        pass

    return [
        ("read", cin),
        ("write", lambda: cout(0)),
        ("select", alt.select),
        ("parallel", lambda: Parallel(cin, put(0)).run()),
        ("processes", lambda: Parallel(nothing(), nothing()).run()),
        ("end", _Ends(csp)),
    ]


def measured(csp):
    """For each operation its name, a Meter with bytes and time, and the bytes of one call."""

    @csp.process
    def writes(cout):
        go_on(cout, 0)

    @csp.process
    def reads(cin):
        go_on(cin)

    def go_on(operation, *args):
        try:
            while True:
                operation(*args)
                sleep_ms(1)
        except RuntimeError as e:
            if not _is_cut_off(e):
                raise

    @csp.process
    def begins():
        return stack_use()

    begun = csp.Spawn(begins()).join()
    call = _within(1, _nothing) - _within(0, _nothing)
    calls, room = _deepest(_nothing)
    found = []
    for i in range(6):
        # An operation that found no room is not to disturb the next one: each has its own network.
        a = csp.Channel("a")
        b = csp.Channel("b")
        name, operation = _operations(csp, a.read, b.write)[i]
        neighbours = [csp.Spawn(writes(a.write)), csp.Spawn(reads(b.read))]
        meter = Meter("stack " + name, 1)
        ends = isinstance(operation, _Ends)
        if ends:
            operation.prepare()
        meter.start()
        operation()
        meter.stop(1)
        meter.bytes_per_op = begun + room - _deepest(operation, max(0, calls - _MOST // call))[1]
        if ends:
            meter.bytes_per_op -= 2 * call  # its body has returned by then, and calls nothing
            operation.clear()
        a.poison()
        b.poison()
        for p in neighbours:
            p.join()
        found.append((name, meter, call))
    return found
