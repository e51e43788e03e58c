"""Runs a benchmark: on a board the one that `config.py` names, elsewhere also any other.

    micropython main.py [run] [key=value ...]
    micropython main.py commstime lib=uapycsp delta=seq n=5000 runs=10
    micropython main.py quick                       # everything, in small sizes

Exit status: 1 if a result is wrong or the sizes do not fit the machine, 2 for an unknown run, key
or value, 141 if nobody reads on what it prints.
"""

import gc
import sys

import config


def _benchmark(name):
    if name == "commstime":
        from benchmarks import commstime as found
    elif name == "stressed_alt":
        from benchmarks import stressed_alt as found
    elif name == "queues":
        from benchmarks import queues as found
    elif name == "waiting_queue":
        from benchmarks import waiting_queue as found
    elif name == "workers":
        from benchmarks import workers as found
    elif name == "matmul":
        from benchmarks import matmul as found
    elif name == "prodcons":
        from benchmarks import prodcons as found
    elif name == "latency":
        from benchmarks import latency as found
    elif name == "memory":
        from benchmarks import memory as found
    elif name == "bridge":
        from benchmarks import bridge as found
    else:
        from benchmarks import spawn as found
    return found


def _too_big(e):
    # MicroPython's own text says how much it tried to allocate, which tells nobody anything.
    what = str(e)
    text = "these sizes do not fit the heap"
    if what and not what.startswith("memory alloc"):
        text = what + " do not fit the heap"
    gc.collect()
    if hasattr(gc, "mem_alloc"):
        text += " of {} bytes".format(gc.mem_alloc() + gc.mem_free())
    return text


def _set_stack(size):
    import uthreading
    uthreading.stack_size(size)
    if sys.implementation.name == "micropython":
        import _thread
        _thread.stack_size(size)  # of the thesis's threads


def _switch_wifi_on():
    # None, or the sentence that says why not.
    try:
        import network
        network.WLAN(network.STA_IF).active(True)
    except (ImportError, AttributeError, OSError) as e:
        return "config.BOARD wants WiFi switched on, which failed: {}".format(e)
    return None


def _run(name, libraries, values):
    # None, or the sentence that says what went wrong.
    try:
        measured = name == "memory" and "uthreading" not in sys.modules
        if libraries and libraries[0] in ("uapycsp", "upycsp") and not measured:
            # What the thesis had is measured without it, and the import by that benchmark itself,
            # but for where parts were loaded before.
            from benchmarks import libs
            libs.load_early(libraries, values.get("api"))
        gc.collect()  # what compiling one file leaves is in the way of the next
        from benchmarks import harness
        harness.samples = values["samples"]
        harness.counts_bytes = values["bytes"]
        harness.rows = 0
        if values.get("stack"):
            _set_stack(values["stack"])
        gc.collect()
        _benchmark(name).main(libraries, values.get("api"), values)
        if not harness.rows:
            print("{}: no rows for these values".format(name))
    except MemoryError as e:
        return _too_big(e)
    except OverflowError:
        return "no size may be as large as that"
    except Exception as e:
        kind = type(e).__name__
        if kind == "WrongResult":
            return "wrong result: " + str(e)
        if kind == "DeadlockError":
            return "deadlock: " + str(e)
        if kind == "Unmeasurable":
            return str(e)
        if "thread" in str(e) and isinstance(e, (OSError, RuntimeError)):
            return str(e)
        # EAGAIN, which MicroPython's _thread has.
        if kind == "OSError" and e.args[:1] == (11,) and sys.implementation.name == "micropython":
            return "can't start a new thread"
        if kind == "ValueError" and str(e).startswith("a capacity "):
            return str(e)
        raise
    finally:
        gc.enable()  # it is off while bytes are counted
    return None


def _complain(text):
    try:
        print(text, file=sys.stderr)
    except OSError:  # closed, or on a full disk: the exit status tells all the same
        pass


def _planned(arguments):
    # The benchmarks to run and whether WiFi is to be switched on first; or the exit status.
    from benchmarks import keys, plan

    run = getattr(config, "RUN", None)
    try:
        run, given = plan.parse(arguments)
        return plan.make(run, given), plan.wants_wifi()
    except keys.Usage as e:
        _complain(e)
        for line in plan.usage():
            _complain(line)
        return None, 2
    except MemoryError as e:
        _complain("{}: {}".format(run, _too_big(e)))
        return None, 1


def _forget_planning():
    # A benchmark has more room without it: 13 KB.
    import benchmarks

    for name in ("keys", "plan"):
        sys.modules.pop("benchmarks." + name, None)
    del benchmarks.keys, benchmarks.plan


def main(arguments):
    """Runs what the arguments and config.py say; the exit status."""
    plan, extra = _planned(arguments)
    if plan is None:
        return extra
    _forget_planning()
    problem = _switch_wifi_on() if extra else None
    if problem is not None:
        _complain(problem)
        return 1
    if config.ON_PC and len(plan) > 1:
        from benchmarks import apart

        if apart.possible():
            for job in plan:
                status = apart.run(__file__, *job)
                if status:
                    return status
            return 0
    for job in plan:
        problem = _run(*job)
        if problem is not None:
            _complain("{}: {}".format(job[0], problem))
            return 1
    return 0


def program(function, arguments):
    """The status of what prints, of which somebody may read only the beginning (`| head -1`)."""
    try:
        status = function(arguments)
        if hasattr(sys.stdout, "flush"):
            sys.stdout.flush()
        return status
    except OSError as e:
        if e.args[:1] == (28,):  # ENOSPC
            _complain("there is no room for what is printed")
            return 1
        if e.args[:1] != (32,):  # EPIPE, which MicroPython's errno does not name
            raise
    import os

    if hasattr(os, "_exit"):
        os._exit(141)  # without a complaint about what is still in the buffer
    return 141


if __name__ == "__main__":
    _on_pc = getattr(config, "ON_PC", sys.platform in ("linux", "darwin", "win32"))
    _status = program(main, sys.argv[1:]) if _on_pc else main([])
    # A SystemExit would make a board start main.py again.
    if _status and _on_pc:
        sys.exit(_status)
