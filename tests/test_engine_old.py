"""The tests of ufuture and uapycsp again, on stand-ins for the asyncio of older MicroPythons.

Those have only the name uasyncio, other names in its queue, tasks that do not tell their end (up
to 1.18) and a loop that ends silently when nothing can be woken: see old_asyncio.
"""

import pathlib

import pytest
from harness import collect, device, interpreters

TESTS = pathlib.Path(__file__).parent
FILES = [TESTS / "test_contract.py", TESTS / "test_engine.py", TESTS / "test_engine_changes.py"]
FILES += [TESTS / "test_engine_loops.py"]
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


class Server:
    """The interpreter that serves a file under one version, until another one is asked for."""

    def __init__(self):
        self.key = None
        self.device = None

    def serve(self, key):
        if key != self.key:
            self.end()
            version, path, variant, limit, heap = self.key = key
            self.device = device.Device(path, "micropython", variant, limit, heap)
        return self.device

    def end(self):
        key, process, self.key, self.device = self.key, self.device, None, None
        problem = process and process.close()
        if problem:
            pytest.fail("{} {}: {}".format(key[0], key[1].name, problem), pytrace=False)


@pytest.fixture(scope="module")
def server():
    if interpreters.micropython() is None:
        pytest.skip("no MicroPython")
    server = Server()
    environment = interpreters.environment

    def old():
        env = environment()
        env["MICROPYPATH"] = "{}:{}".format(TESTS / "old_asyncio", env["MICROPYPATH"])
        env["UASYNCIO"] = server.key[0]
        return env

    interpreters.environment = old
    yield server
    interpreters.environment = environment
    server.end()


@pytest.mark.parametrize("process, how, name", functions())
def test_on_an_old_asyncio(server, process, how, name):
    verdict = server.serve(process).ask(how, name)
    if verdict.kind == "skip":
        pytest.skip(verdict.text)
    if verdict.kind != "pass":
        pytest.fail(verdict.output + verdict.text, pytrace=False)
