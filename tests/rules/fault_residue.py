"""What a run must not leave behind, whatever it ended by."""

import gc
import sys

import csp

from rules_support import LIB, MICROPYTHON, THREADS, Log, give_from, collect, until_blocking

SLACK = 8192  # bytes: a thread more, a longer list
_before = [0]

if THREADS:
    import uthreading
    from uthreading import kept
    from upycsp import wait as _wait
    from upycsp import watch as _watch

    plain = sys.modules["upycsp.process"]
else:
    from ufuture.loop import engine

    network = sys.modules["uapycsp.process"]


def settle():
    """Let the threads of what has ended fall idle."""
    if THREADS:
        until_blocking(lambda: kept.counts()[1] <= (1 if _watch._watches else 0))
        # A thread counts as idle a moment before its process leaves the list.
        until_blocking(plain._alive.is_empty)
        # And what ends still holds the lock then.
        until_blocking(lambda: not _wait.lock.locked() and not kept.lock.locked())


def check(channels=()):
    """Nothing is left in the libraries, and the channels are sound."""
    if THREADS:
        assert plain._alive.is_empty(), "processes are alive"
        assert not plain._runs and plain._failures.first is None, "runs are left"
        assert uthreading.enumerate() == [uthreading.main_thread()]
        for o in list(_wait.offers.values()):
            assert o.on is None and o.next is None, "an offer is linked"
            assert not o.waits(), "an offer waits"
    else:
        assert network.alive.is_empty(), "processes are alive"
        assert network._root is None and network._all_ended is None
        assert network.failures.first is None
        assert not engine.is_running()
        if hasattr(engine, "core"):
            assert engine.watch is None
            for p in engine._ready:
                task = p.task or p.aside or p.foreign
                assert task is None or task.done(), "somebody is to be woken"
            assert not engine._cancels, "somebody is to be cancelled"
    for ch in channels:
        ch.verify()
        _use(ch)
    _use(csp.Channel("fresh"))


def _use(ch):
    # A network over it works, unless it was ended.
    if ch.poisoned or ch._readers is not None and ch._readers.op == 3:
        return
    assert ch.queue_len() == 0 or hasattr(ch, "capacity"), "an operation is left in a queue"
    held = ch.queue_len()
    log = Log()
    csp.run(_gives(ch.write, ("again",)), collect(ch.read, log))
    assert log.count() == held + 1 and log.items()[-1] == "again", log.items()
    ch.verify()


@csp.process
async def _gives(cout, values):
    for v in values:
        await cout(v)
    cout.poison()


def begin():
    """Note how much memory is in use."""
    _before[0] = _in_use()


def end(slack=SLACK):
    """It is about as much as it was."""
    n = left()
    assert n < slack, "%d bytes are left behind" % n


def left():
    """How many bytes more are in use."""
    return _in_use() - _before[0]


def _in_use():
    if not MICROPYTHON:
        return 0
    gc.collect()
    gc.collect()
    return gc.mem_alloc()


__all__ = ("LIB", "give_from")
