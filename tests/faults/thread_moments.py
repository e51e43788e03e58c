"""CPython: KeyboardInterrupt at each moment at which the main thread of upycsp may get one.

    thread_moments.py LIBRARY WHAT HOW PATH..

CPython looks for signals when a function begins, after a call and at a jump backwards. WHAT is
interrupted, again and again, each time at the next of these moments:
    network    `run` of three processes
    failing    `run` of three processes, where one that is spawned fails
    leaving    `run` of a process that leaves one behind, which waits for a timer
    thread     the start of a Thread, and its join
    refused    the start of a kept thread that can't be had
    alarm      the start of an Alarm, the first one
HOW is none, one or both of these words:
    cold       no thread is idle before; then only the moments of uthreading count
    virtual    the network goes by a virtual clock
Prints how many moments there were.
"""

import dis
import sys
from _thread import allocate_lock

LIBRARY, WHAT, HOW = sys.argv[1:4]
sys.path[:1] = sys.argv[4:]
__import__(LIBRARY)
csp = sys.modules["csp"] = sys.modules[LIBRARY]

import fault_residue as residue  # noqa: E402
import uthreading  # noqa: E402
from interruptible import copies, reads  # noqa: E402
from rules_support import until_blocking  # noqa: E402
from upycsp import watch  # noqa: E402
from uthreading import clock, kept  # noqa: E402

LOOKS = ("CALL", "RESUME", "JUMP_BACKWARD", "POP_JUMP_BACKWARD", "JUMP_ABSOLUTE")
watch._WATCH_MS = 10  # so that a `run` starts its watchdog, most times


class At:
    """A trace function that interrupts the k-th moment."""

    def __init__(self, k):
        self.left = k
        self.where = None
        self.before = {}  # frame -> the instruction it was at

    def __call__(self, frame, event, arg):
        frame.f_trace_opcodes = True
        if event == "opcode":
            code = frame.f_code
            before = self.before.get(frame, "")
            self.before[frame] = dis.opname[code.co_code[frame.f_lasti]]
            counts = "cold" not in HOW or "uthreading" in code.co_filename
            if counts and before.startswith(LOOKS):
                self.left -= 1
                if not self.left:
                    self.where = "{}:{}".format(code.co_filename, frame.f_lineno)
                    sys.settrace(None)
                    frame.f_trace = None
                    raise KeyboardInterrupt
        elif event == "exception":
            self.before[frame] = ""  # a call that raises is no such moment
        return self


@csp.process
async def writes(cout):
    for i in range(2):
        await cout(i)
    cout.poison()


options = {"clock": csp.virtual.VirtualClock()} if "virtual" in HOW else {}


@csp.process
async def fails():
    raise ValueError


@csp.process
async def spawns():
    csp.Spawn(fails())


def network():
    """What is to be interrupted, and a check that nothing is left behind then."""
    a, b = csp.Channel("a"), csp.BufferedChannel("b", 1)
    processes = [writes(a.write), copies(a.read, b.write), reads(b.read)]
    return lambda: csp.run(*processes, **options), lambda: residue.check((a, b))


def failing():
    a = csp.Channel("a")
    processes = [writes(a.write), reads(a.read), spawns()]

    def action():
        try:
            csp.run(*processes, **options)
        except ValueError:
            pass

    return action, lambda: residue.check((a,))


@csp.process
async def dozes():
    await csp.Alternative(csp.Timer(ms=5)).select()


@csp.process
async def leaves():
    csp.Spawn(dozes())


def leaving():
    return lambda: csp.run(leaves(), **options), lambda: residue.check()


def thread():
    ran = []
    t = uthreading.Thread(target=ran.append, args=(1,))

    def starts():
        t.start()
        t.join()

    def check():
        assert uthreading.enumerate() == [uthreading.main_thread()] and not t.is_alive()
        assert len(ran) < 2
        if not ran and t.ident is None and not t._phase:  # it was not started
            starts()
            assert ran == [1]

    return starts, check


def refused():
    def refuses(function, args):
        raise OSError

    def action():
        try:
            kept.start(int)
        except RuntimeError:
            pass

    old = kept.set_starter(refuses)
    return action, lambda: kept.set_starter(old)


def alarm():
    # The thread that serves the alarms before waits for ever for the gate there was.
    until_blocking(lambda: clock._parked)
    clock._gate = allocate_lock()
    clock._gate.acquire()
    clock._started = 0
    clock._parked = False
    rang = []
    now = clock.Alarm(rang.append)
    late = clock.Alarm(rang.append)

    def starts():
        late.start(100000)
        now.start(0)
        late.start(200000)
        late.stop()

    def check():
        late.stop()
        assert not late.stop() and late not in clock._armed
        starts()
        until_blocking(lambda: now in rang)
        until_blocking(lambda: clock._parked)
        assert not clock._armed and late not in rang

    return starts, check


def interrupted_at(k):
    """Whether there was a k-th moment. AssertionError if something was left behind then."""
    action, check = globals()[WHAT]()
    until_blocking(lambda: not watch._watches)
    if "cold" in HOW:
        with kept.lock:  # who is idle is forgotten
            kept._count -= kept._idle_count
            kept._idle_count = 0
            kept._idle = None
    at = At(k)
    came = None
    sys.settrace(at)
    try:
        action()
    except BaseException as er:
        came = er
    finally:
        sys.settrace(None)
    try:
        if at.where is None:
            assert came is None, repr(came)
            residue.settle()
            check()
            return False
        assert isinstance(came, KeyboardInterrupt), repr(came)
        check_count()
        residue.settle()
        check()
        check_count()
    except BaseException:
        print("after an interrupt at moment", k, "in", at.where)
        raise
    return True


def check_count():
    """No kept thread is busy but the watchdog's."""
    until_blocking(lambda: kept.counts()[1] == (1 if watch._watches else 0))


# What is loaded when it is first needed would add moments to the first ones only.
clock.Alarm(lambda alarm: None).start(0)
action, check = globals()[WHAT]()
action()
residue.settle()
check()
k = 1
while interrupted_at(k):
    k += 1
print("MOMENTS {}\n".format(k - 1), end="")
