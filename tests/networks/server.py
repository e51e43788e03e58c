"""Runs inside the interpreter: programs of networks, one after another, from stdin.

Started as `interpreter server.py TOKEN LIBRARY PATH...`. Each line on stdin is a JSON list: how
often to run it, and the program's text. Each run is answered by a line of the token and what the
program prints, all of them by one of the token, DONE and the memory in use; what is written to
stderr was printed by the libraries. The watchdogs look every few ms: a deadlock is found sooner,
and a false alarm is more likely.
"""

import gc
import json
import sys

MARK = "\x1e" + sys.argv[1] + " "
WATCH_MS = 4


def tell(text):
    sys.stdout.write(MARK + text + "\n")
    if hasattr(sys.stdout, "flush"):
        sys.stdout.flush()


def trace(error):
    if hasattr(sys, "print_exception"):
        sys.print_exception(error, sys.stderr)
    else:
        import traceback

        traceback.print_exception(type(error), error, error.__traceback__)
        sys.stderr.flush()


def hurry(library):
    __import__(library)
    if library != "uapycsp":
        __import__("upycsp.watch")
        sys.modules["upycsp.watch"]._WATCH_MS = WATCH_MS
        return
    from ufuture.loop import engine

    if sys.implementation.name == "cpython":
        engine._WATCH_S = WATCH_MS / 1000
        return
    # Its 500 ms are a constant, compiled in; the driver alone sleeps so long.
    push_at = engine._push_at

    def push_soon(task, when):
        if task is engine._driver:
            soon = engine.ticks_add(engine.ticks_ms(), WATCH_MS)
            if engine.ticks_diff(when, soon) > 0:
                when = soon
        push_at(task, when)

    engine._push_at = push_soon


def used():
    gc.collect()
    if hasattr(gc, "mem_alloc"):
        return gc.mem_alloc()
    return sys.getallocatedblocks()


def main():
    sys.path[:1] = sys.argv[3:]
    hurry(sys.argv[2])
    tell("READY")
    while True:
        line = sys.stdin.readline()
        if not line:
            return
        times, text = json.loads(line)
        code = compile(text, "network.py", "exec")
        for _ in range(times):
            try:
                exec(code, {"__name__": "__main__", "print": tell})
            except BaseException as er:
                trace(er)
                tell("ERROR " + type(er).__name__)
        code = text = line = None
        tell("DONE {}".format(used()))


main()
