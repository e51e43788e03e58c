"""The libraries that a benchmark can measure, by the names its rows carry."""

import config

LIBRARIES = ("uapycsp", "upycsp")
THESIS = ("thesis-uapycsp-rescheduling", "thesis-uapycsp-yielding", "thesis-upycsp")

FLOORS = ("floor-asyncio", "floor-threads")     # commstime, spawn and latency
NO_LIBRARY = "no-library"   # what rows of plain Python carry in workers and matmul

# A baseline comes before what is compared with it.
ALL = (THESIS[0], THESIS[1], "uapycsp", FLOORS[0], THESIS[2], "upycsp", FLOORS[1])

BASELINES = {"uapycsp": THESIS[:2], "upycsp": THESIS[2:]}

_COMPARED_WITH = {"uapycsp": THESIS[0], "upycsp": THESIS[2], THESIS[1]: THESIS[0]}


def compared_with(lib):
    """The baseline whose figure stands beside this library's, or None."""
    return _COMPARED_WITH.get(lib)


def families(chosen):
    """Those of coroutines, then those of threads, if any.

    The thread library keeps its threads, and a collection has to stop every one of them: what is
    measured after it would pay for that.
    """
    threads = [lib for lib in chosen if lib in ("upycsp", "thesis-upycsp", "floor-threads")]
    coroutines = [lib for lib in chosen if lib not in threads]
    return [family for family in (coroutines, threads) if family]


def each(chosen, apis):
    """Pairs of (library, api) without the floors, baselines first; api None where it has one."""
    found = []
    for lib in chosen:
        if lib == "upycsp":
            found.extend([(lib, api) for api in apis])
        elif lib not in FLOORS:
            found.append((lib, None))
    return found


def is_plain(lib, api):
    """True where process bodies are plain functions."""
    return lib == "thesis-upycsp" or api == "plain"


def is_thesis(lib):
    return lib in THESIS


def load(lib, api=None, thesis_queue="list"):
    """The module with Channel, Alternative, Parallel, process, run and PoisonException.

    `thesis_queue`: what a channel of thesis-uapycsp keeps waiting operations in, list or deque.
    """
    if lib == "thesis-upycsp":
        from benchmarks.thesis import upycsp
        return upycsp
    if lib in THESIS:
        from benchmarks.thesis import uapycsp
        return uapycsp.configure(lib.split("-")[-1], thesis_queue)
    if api == "plain":
        import upycsp
        return upycsp
    config.LIB = lib
    return config.csp()


def load_early(chosen, apis):
    """Load what any row takes of our libraries: compiling needs room in one piece.

    Later there are objects of rows all over a board's heap.
    """
    for lib, api in each(chosen, apis):
        if not is_thesis(lib):
            csp = load(lib, api)
            csp.run, csp.Channel
            __import__(lib + ".watch")


def asyncio():
    """The module: rows of threads do without it, and a board may have none."""
    try:
        import asyncio as found
    except ImportError:  # MicroPython before 1.21
        import uasyncio as found
    return found


def waiting_in(ch):
    """How many operations wait at a channel; the thesis's designs have no method for that."""
    return ch.queue_len() if hasattr(ch, "queue_len") else len(ch.queue)
