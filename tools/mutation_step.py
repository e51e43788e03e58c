"""Runs the device tests of one file until one fails: LIMIT FILE INTERPRETER VARIANT.

Exit status 1 at the first failure. In a process of its own, in a copy of the repository, so that
the harness of that copy is used.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from harness import collect, device  # noqa: E402


def main():
    limit, file, interpreter, variant = sys.argv[1:]
    variant = None if variant == "None" else variant
    source = collect.Source(ROOT / file)
    if source.ordinary or interpreter not in source.interpreters:
        return 0
    if variant is not None and variant not in source.variants:
        return 0
    runs = device.Device(ROOT / file, interpreter, variant, float(limit), source.heap)
    try:
        for name, is_async, _ in source.functions:
            if not is_async or variant == "upycsp":
                how = "call"
            else:
                how = "csp" if variant else "asyncio"
            verdict = runs.ask(how, name)
            if verdict.kind == "fail":
                print(name, verdict.text)
                return 1
    finally:
        problem = runs.close()
    if problem:
        print(problem)
    return 1 if problem else 0


sys.exit(main())
