"""Runs inside the interpreter under test: imports one test file and runs its functions on request.

Started as `interpreter runner.py TOKEN MODULE LIBRARY PATH...`. Each line on stdin asks for one
function: "call NAME", "csp NAME" (under `csp.run`), "virtual NAME" (under run_virtually of
rules_support) or "asyncio NAME". Each answer is one line on stdout that starts with the token;
all else on stdout was printed by the tests. Works on MicroPython 1.16 and later and on CPython
3.10 and later.
"""

import gc
import sys

try:
    import json
except ImportError:
    import ujson as json
try:
    import io
except ImportError:
    import uio as io

if sys.implementation.name == "micropython":
    import micropython

MARK = "\x1e" + sys.argv[1] + " "


def tell(*words):
    # One write, so that a thread that prints cannot come between the words.
    sys.stdout.write(MARK + json.dumps(words) + "\n")
    if hasattr(sys.stdout, "flush"):
        sys.stdout.flush()


def trace(error):
    text = io.StringIO()
    if hasattr(sys, "print_exception"):
        sys.print_exception(error, text)
    else:
        import traceback

        traceback.print_exception(type(error), error, error.__traceback__, file=text)
    return text.getvalue()


def unlock_heap():
    # A test that failed between heap_lock() and heap_unlock() left it locked.
    if sys.implementation.name == "micropython":
        gc.collect()
        tries = 0
        while tries < 8:
            try:
                bytearray(64)
                return
            except MemoryError:
                micropython.heap_unlock()
            tries += 1


def load(module, library):
    if library:
        # The package comes along with its submodule, and `import csp` finds this entry.
        __import__(library)
        sys.modules["csp"] = sys.modules[library]
    return __import__(module)


def event_loop():
    try:
        import asyncio
    except ImportError:
        import uasyncio as asyncio
    return asyncio


def renew_loop():
    # MicroPython has one loop, and what a failed test left in it would run in the next one.
    if sys.implementation.name == "micropython":
        event_loop().new_event_loop()


def run(how, function):
    met = []

    async def whole():
        # `run` takes poison for an end like another: what a test meets itself is its failure.
        try:
            await function()
        except BaseException as error:
            met.append(error)
            raise

    if how == "csp":
        sys.modules["csp"].run(whole())
    elif how == "virtual":
        support = sys.modules["rules_support"]
        support.run_virtually(whole if support.AWAITABLE else function)
    elif how == "asyncio":
        renew_loop()
        event_loop().run(function())
    else:
        function()
    if met:
        raise met[0]


def answer(how, name, function):
    gc.collect()
    tell("start", name)
    if function is None:
        return tell("skip", name, "it is not defined here")
    try:
        run(how, function)
    except BaseException as error:  # a test that calls sys.exit() has failed, too
        unlock_heap()
        if type(error).__name__ in ("SkipTest", "Skip", "Skipped"):
            return tell("skip", name, str(error))
        gc.collect()
        tell("fail", name, trace(error))
        if how in ("csp", "virtual"):
            renew_loop()
        return None
    return tell("pass", name)


def main():
    module, library = sys.argv[2], sys.argv[3]
    sys.path[:1] = sys.argv[4:]
    try:
        tests = load(module, library)
    except BaseException as error:
        if type(error).__name__ in ("SkipTest", "Skip", "Skipped"):
            return tell("unfit", str(error))
        return tell("broken", trace(error))
    tell("ready")
    while True:
        line = sys.stdin.readline()
        if not line:
            return None
        how, name = line.split()
        answer(how, name, getattr(tests, name, None))


main()
