"""The tests of the libraries again, on stand-ins for older MicroPythons.

Those have only the name uasyncio, other names in its queue, tasks that do not tell their end (up
to 1.18) and a loop that ends silently when nothing can be woken (see old_asyncio), and a deque
with few methods (see old_names). 1.11 is Pycom's firmware with asyncio's files beside it: there
modules have no __getattr__, so the packages load all their names at once, and getattr with a
default does not catch the AttributeError of a class's own __getattr__.
"""

import pathlib
import shutil

import old_micropython
import pytest
from harness import collect, device, interpreters

TESTS = pathlib.Path(__file__).parent
ROOT = interpreters.ROOT
FILES = [TESTS / "test_contract.py", TESTS / "test_engine.py", TESTS / "test_engine_changes.py"]
FILES += [TESTS / "test_engine_loops.py", TESTS / "test_standing_coroutines.py"]
FILES += sorted(TESTS.glob("test_ufuture*.py"))
RULES = sorted(TESTS.glob("rules/test_*.py"))
FEW = [path for path in RULES if path.stem in (
    "test_bridge", "test_choice", "test_closing", "test_deadlock", "test_end_guards",
    "test_extended", "test_more_plugnplay", "test_parallel", "test_plugnplay", "test_poison",
    "test_spawn")]
# What runs under each version, and which variants of it. From 1.19 on the parts that the engine
# uses are today's, so fewer will do.
VERSIONS = {
    "1.11": (FEW + [TESTS / "test_uthreading_sync.py"], tuple(device.LIBRARIES)),
    "1.18": (FILES + RULES, ("uapycsp",)),
    "1.19": (FILES + [TESTS / "rules" / "test_cancellation.py"], ("uapycsp",)),
}

# What rests on asyncio of a later version.
LATER = {
    "1.18": ("test_virtual", "test_virtual_tasks"),
}
OLD_GATHER = "asyncio's own gather, when it is cancelled, cancels one of its tasks here"
LATER_CLOCK = "virtual time needs asyncio of 1.19"
LATER_MODULES = "modules ask no __getattr__ of their own here"
NO_CONNECTIONS = "the stand-in opens no connections"
UNFIT = {
    "test_a_cancelled_gather_withdraws_its_operations": OLD_GATHER,
    "test_a_cancelled_gather_gives_back_what_was_paired_but_not_run": OLD_GATHER,
    "test_a_stream_may_still_bring_something": NO_CONNECTIONS,
    "test_a_server_serves_several_at_once": NO_CONNECTIONS,
    "test_who_poisons_both_ends_hangs_up": NO_CONNECTIONS,
    "test_a_server_listens_no_more_when_its_channel_has_ended": NO_CONNECTIONS,
    "test_an_open_connection_that_nobody_reads_wakes_nobody": NO_CONNECTIONS,
    "test_a_server_may_still_be_called": NO_CONNECTIONS,
    "test_a_stream_that_a_task_of_asyncio_waits_for_is_left_to_it": NO_CONNECTIONS,
    "test_a_line_server_may_still_be_called": NO_CONNECTIONS,
    "test_a_client_that_takes_nothing_is_hung_up": NO_CONNECTIONS,
    "test_a_connection_that_can_not_be_handed_over_is_hung_up": NO_CONNECTIONS,
    "test_a_connection_that_can_not_be_read_is_hung_up": NO_CONNECTIONS,
    "test_a_connection_that_can_not_be_answered_is_hung_up": NO_CONNECTIONS,
    "test_a_run_ends_though_a_client_takes_nothing": NO_CONNECTIONS,
    "test_a_server_that_can_not_listen_any_more_fails": NO_CONNECTIONS,
    "test_it_has_no_other_names": LATER_MODULES,
    "test_samples_come_at_regular_moments": LATER_CLOCK,
    "test_sampling_takes_nothing_before_its_moment": LATER_CLOCK,
}


def functions():
    params = []
    for version, (files, variants) in VERSIONS.items():
        for path in files:
            source = collect.source_of(path)
            if source.ordinary or path.stem in LATER.get(version, ()):
                continue
            for variant in variants if source.rules else (None,):
                if variant is None or variant in source.variants:
                    process = (version, path, variant, source.limit, source.heap)
                    params.extend(params_of(process, source, len(variants) > 1))
    return params


def params_of(process, source, varies):
    version, path, variant, _, _ = process
    for name, is_async, _ in source.functions:
        marks = [pytest.mark.skip(reason=UNFIT[name])] if name in UNFIT else []
        label = "-".join([version, path.stem] + [variant] * bool(varies and variant) + [name])
        how = collect.how(is_async, variant)
        yield pytest.param(process, how, name, id=label, marks=marks)


class Server:
    """The interpreter that serves a file under one version, until another one is asked for."""

    def __init__(self, roots):
        self.key = None
        self.device = None
        self.roots = roots  # of the packages, by version, if they are not those of the project

    def serve(self, key):
        if key != self.key:
            self.end()
            version, path, variant, limit, heap = self.key = key
            interpreters.ROOT = self.roots.get(version, ROOT)
            self.device = device.Device(path, "micropython", variant, limit, heap)
        return self.device

    def end(self):
        key, process, self.key, self.device = self.key, self.device, None, None
        problem = process and process.close()
        if problem:
            pytest.fail("{} {}: {}".format(key[0], key[1].name, problem), pytrace=False)


@pytest.fixture(scope="module")
def without_getattr(tmp_path_factory):
    """The packages and config.py as where modules do not ask their own __getattr__."""
    folder = tmp_path_factory.mktemp("packages")
    old_micropython.copy_without_getattr(folder)
    shutil.copy(ROOT / "config.py", folder)
    return folder


@pytest.fixture(scope="module")
def server(without_getattr):
    if interpreters.micropython() is None:
        pytest.skip("no MicroPython")
    server = Server({"1.11": without_getattr})
    environment = interpreters.environment

    def old():
        env = environment()
        path = [str(TESTS / "old_asyncio"), str(TESTS / "old_names"), env["MICROPYPATH"]]
        env["MICROPYPATH"] = ":".join(path)
        env["UASYNCIO"] = server.key[0]
        return env

    interpreters.environment = old
    yield server
    interpreters.environment = environment
    interpreters.ROOT = ROOT
    server.end()


@pytest.mark.parametrize("process, how, name", functions())
def test_on_an_old_micropython(server, process, how, name):
    verdict = server.serve(process).ask(how, name)
    if verdict.kind == "skip":
        pytest.skip(verdict.text)
    if verdict.kind != "pass":
        pytest.fail(verdict.output + verdict.text, pytrace=False)
