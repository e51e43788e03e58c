"""In which pieces, and in which order, `pytest -n` deals the tests to its workers.

The tests of a file, or of one process of device tests, stay together on a worker; those of the
files in APART take long and share nothing, so each may go to another one. What is in LONG comes
first: what ends last is short then, and no worker is left to itself for long.
"""

from xdist.scheduler import LoadScopeScheduling

LONG = (
    "tests/test_engine_old.py",
    "tests/test_perfcheck.py",
    "tests/schedules/test_schedules_threads.py",
    "tests/test_bench_report.py",
    "tests/test_cover_tool.py",
    "tests/test_models.py",
    "tests/faults/test_exhaustion.py",
    "tests/soak/test_soak.py",
    "tests/test_make.py",
    "tests/test_main.py",
    "tests/test_bench_memory.py",
    "tests/test_board_tool.py",
    "tests/networks/test_networks.py",
    "tests/rules/test_no_false_alarm.py",
    "tests/rules/test_fault_statements.py",
    "tests/schedules/test_schedules_tasks.py",
    "tests/schedules/test_schedules_tasks_micro.py",
    "tests/test_bench.py",
    "tests/test_firmware.py",
    "tests/test_firmware_mip.py",
    "tests/test_docs.py",
    "tests/test_board_benchmarks.py",
    "tests/test_board_images.py",
    "tests/test_board_files.py",
)
APART = (
    "tests/test_models.py::test_a_seeded_fault_is_caught",
    "tests/networks/test_networks.py::",
    "tests/schedules/test_schedules_tasks.py::",
    "tests/schedules/test_schedules_tasks_micro.py::",
    "tests/schedules/test_schedules_threads.py::",
    "tests/soak/test_soak.py::",
)


def place(nodeid):
    """A number by which tests are sorted."""
    file = nodeid.partition("::")[0]
    return LONG.index(file) if file in LONG else len(LONG)


def piece(nodeid):
    """The name of what stays together with this test."""
    return nodeid if nodeid.startswith(APART) else nodeid.rpartition("::")[0]


class Scheduling(LoadScopeScheduling):
    """Deals pieces in the order of the tests."""

    def __init__(self, config, log=None):
        config.option.loadscopereorder = False  # else those of many tests come first
        super().__init__(config, log)

    def _split_scope(self, nodeid):
        return piece(nodeid)
