"""The tests of ufuture and uapycsp again, on stand-ins for the asyncio of older MicroPythons.

Those have only the name uasyncio, other names in its queue, tasks that do not tell their end (up
to 1.18) and a loop that ends silently when nothing can be woken: see old_asyncio.
"""

import pathlib

import pytest
from harness import collect, device, interpreters

TESTS = pathlib.Path(__file__).parent
FILES = [TESTS / "test_contract.py", TESTS / "test_engine.py"]
FILES += sorted(TESTS.glob("test_ufuture*.py"))
# From 1.19 on the parts that the engine uses are today's, so fewer will do.
VERSIONS = {
    "1.18": FILES + sorted(TESTS.glob("rules/test_*.py")),
    "1.19": FILES + [TESTS / "rules" / "test_cancellation.py"],
}

OLD_GATHER = "asyncio's own gather, when it is cancelled, cancels one of its tasks here"
UNFIT = {
    "test_a_cancelled_gather_withdraws_its_operations": OLD_GATHER,
    "test_a_cancelled_gather_gives_back_what_was_paired_but_not_run": OLD_GATHER,
    "test_a_stream_may_still_bring_something": "the stand-in opens no connections",
}


def functions():
    params = []
    for version, files in VERSIONS.items():
        for path in files:
            source = collect.Source(path)
            if source.ordinary or (source.rules and "uapycsp" not in source.variants):
                continue
            variant = "uapycsp" if source.rules else None
            for name, is_async, _ in source.functions:
                how = ("csp" if source.rules else "asyncio") if is_async else "call"
                marks = [pytest.mark.skip(reason=UNFIT[name])] if name in UNFIT else []
                process = (version, path, variant, source.limit, source.heap)
                label = "{}-{}-{}".format(version, path.stem, name)
                params.append(pytest.param(process, how, name, id=label, marks=marks))
    return params


@pytest.fixture(scope="module")
def process(request):
    """The interpreter that serves a file under one version."""
    version, path, variant, limit, heap = request.param
    if interpreters.micropython() is None:
        pytest.skip("no MicroPython")
    environment = interpreters.environment

    def old():
        env = environment()
        env["MICROPYPATH"] = "{}:{}".format(TESTS / "old_asyncio", env["MICROPYPATH"])
        env["UASYNCIO"] = version
        return env

    process = device.Device(path, "micropython", variant, limit, heap)
    interpreters.environment = old
    yield process
    interpreters.environment = environment
    problem = process.close()
    if problem:
        pytest.fail(problem, pytrace=False)


@pytest.mark.parametrize("process, how, name", functions(), indirect=["process"])
def test_on_an_old_asyncio(process, how, name):
    verdict = process.ask(how, name)
    if verdict.kind == "skip":
        pytest.skip(verdict.text)
    if verdict.kind != "pass":
        pytest.fail(verdict.output + verdict.text, pytrace=False)
