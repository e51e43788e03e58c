"""Runs functions of device tests, for mutation.py: one request a line of JSON on stdin.

    {"file": ..., "interpreter": ..., "variant": ...,
     "names": [[function, seconds it may take], ...] or null for all,
     "ask": null, or the name of a function that is called first and after each one}

The answer is a line of JSON: a list of [name, kind of verdict, seconds, text, what `ask` printed].
Without `ask` the first failure is the last of them. In a process of its own, in a copy of the
repository, so that the harness of that copy is used.
"""

import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from harness import collect, device  # noqa: E402

LIMIT = 20  # seconds, where no other is given


def answer(file, interpreter, variant, names, ask):
    source = collect.Source(ROOT / file)
    if source.ordinary or interpreter not in source.interpreters:
        return []
    if variant is not None and variant not in source.variants:
        return []
    runs = device.Device(ROOT / file, interpreter, variant, LIMIT, source.heap)
    hows = {name: collect.how(is_async, variant) for name, is_async, _ in source.functions}
    verdicts = []
    problem = None
    try:
        if ask:
            verdicts.append(("", "pass", 0, "", runs.ask("call", ask).output))
        for name, limit in names or [(name, LIMIT) for name in hows]:
            started = time.monotonic()
            verdict = runs.ask(hows[name], name, limit)
            took = time.monotonic() - started
            said = ask and runs.ask("call", ask).output
            verdicts.append((name, verdict.kind, took, verdict.text, said))
            if verdict.kind == "fail" and not ask:
                break
    finally:
        problem = runs.close()
    if problem:
        verdicts.append(("the end of the process", "fail", 0, problem, None))
    return verdicts


device.hear_interrupts()
for line in sys.stdin:
    print(json.dumps(answer(**json.loads(line))), flush=True)
