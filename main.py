"""Runs a benchmark: on a board the one that `config.py` names, elsewhere also any other.

    micropython main.py [run] [key=value ...]
    micropython main.py commstime lib=uapycsp delta=seq n=5000 runs=10
    micropython main.py quick                       # everything, in small sizes

Exit status: 1 if a result is wrong or the sizes do not fit the machine, 2 for an unknown run, key
or value.
"""

import gc
import sys

import config
from benchmarks import keys, libs
from benchmarks.keys import RUNS, WITHOUT_LIBRARY, Usage


def _libraries(run, given):
    text = given.get("lib")
    if text is None and run not in RUNS and config.ON_PC:
        text = "all"
    if text == "all":
        return libs.ALL
    chosen = keys.among("lib", config.LIB if text is None else text, libs.ALL)
    baselines = given.get("baselines", keys.of(run)["baselines"])
    if text is None and keys.value_of("baselines", baselines):
        for lib in chosen[:]:
            chosen.extend(libs.BASELINES.get(lib, ()))
    return [lib for lib in libs.ALL if lib in chosen]


def _given(arguments):
    run = config.RUN
    if arguments and "=" not in arguments[0]:
        run = arguments[0]
        arguments = arguments[1:]
    if run not in RUNS + ("quick", "all"):
        raise Usage("no run {!r}".format(run))
    given = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or key not in keys.of(run):
            raise Usage("{} takes no {!r}; its keys are: {}".format(
                run, key, " ".join(sorted(keys.of(run)))))
        given[key] = text
    return run, given


def _plan(run, given):
    # The benchmarks to run, each as (name, libraries, values): first all those of coroutines.
    names = (run,)
    if run not in RUNS:
        # Where all run in one interpreter, hundreds of processes come last.
        names = ("commstime", "queues", "waiting_queue", "stressed_alt")
    values = {}
    for name in names:
        sizes = config.QUICK[name] if run == "quick" else keys.sizes(name)
        values[name] = keys.values(name, sizes, given)
    plan = []
    for name in names:
        if name in WITHOUT_LIBRARY:
            plan.append((name, (), values[name]))
    if run not in WITHOUT_LIBRARY:
        for family in libs.families(_libraries(run, given)):
            for name in names:
                if name not in WITHOUT_LIBRARY:
                    plan.append((name, family, values[name]))
    return plan


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
        from benchmarks import harness
        harness.samples = values["samples"]
        harness.counts_bytes = values["bytes"]
        if values.get("stack"):
            _set_stack(values["stack"])
        _benchmark(name).main(libraries, values.get("api"), values)
    except MemoryError as e:
        return _too_big(e)
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
        raise
    finally:
        gc.enable()  # it is off while bytes are counted
    return None


def _text(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join([str(v) for v in value])
    return str(value)


def _words(name, libraries, values):
    # The command that runs one benchmark in an interpreter of the same kind and heap.
    words = [sys.executable]
    if sys.implementation.name == "micropython":
        # What the heap's own tables take is not in its size.
        size = (gc.mem_alloc() + gc.mem_free()) * 1036 // 1024
        words.extend(["-X", "heapsize={}".format((size + 1023) // 1024 * 1024)])
    words.extend([__file__, name])
    if libraries:
        words.append("lib=" + _text(libraries))
    for key in sorted(values):
        words.append("{}={}".format(key, _text(values[key])))
    return words


def _can_start_others():
    import os
    return config.ON_PC and sys.platform != "win32" and bool(
        hasattr(os, "system") and getattr(sys, "executable", None))


def _run_apart(name, libraries, values):
    # The exit status of a fresh interpreter: kept threads, and pieces of heap that the one before
    # left, would cost the next one time.
    import os
    if hasattr(sys.stdout, "flush"):
        sys.stdout.flush()
    quoted = ["'" + word.replace("'", "'\\''") + "'" for word in _words(name, libraries, values)]
    status = os.system(" ".join(quoted))
    return status >> 8 if status & 255 == 0 else 128 + (status & 127)


def _complain(text):
    print(text, file=sys.stderr)


def main(arguments):
    """Runs what the arguments and config.py say; the exit status."""
    try:
        run, given = _given(arguments)
        plan = _plan(run, given)
    except Usage as e:
        _complain(e)
        _complain("runs: {} quick all".format(" ".join(RUNS)))
        _complain("usage: main.py [run] [key=value ...]")
        for name in RUNS:
            _complain("  {}: {}".format(name, " ".join(
                ["{}={}".format(k, v) for k, v in sorted(keys.of(name).items())])))
        return 2
    except MemoryError as e:
        _complain("{}: {}".format(run, _too_big(e)))
        return 1
    problem = _switch_wifi_on() if keys.section().get("wifi") else None
    if problem is not None:
        _complain(problem)
        return 1
    apart = len(plan) > 1 and _can_start_others()
    for name, libraries, values in plan:
        if apart:
            status = _run_apart(name, libraries, values)
            if status:
                return status
            continue
        problem = _run(name, libraries, values)
        if problem is not None:
            _complain("{}: {}".format(name, problem))
            return 1
    return 0


if __name__ == "__main__":
    _status = main(sys.argv[1:] if config.ON_PC else [])
    # A SystemExit would make a board start main.py again.
    if _status and config.ON_PC:
        sys.exit(_status)
