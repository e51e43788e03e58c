"""Collects the tests that run inside MicroPython and CPython: see harness/collect.py."""

import pytest

from harness import collect, interpreters


def pytest_pycollect_makemodule(module_path, parent):
    return collect.make_collector(module_path, parent)


def pytest_report_header():
    return [
        "micropython: {}".format(interpreters.micropython() or "none"),
        "cpython: {}".format(interpreters.cpython()),
    ]


def pytest_terminal_summary(terminalreporter):
    line = collect.missing_line()
    if line:
        terminalreporter.write_line(line)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    # One process serves the tests of a file: they must stay together on one worker.
    from xdist.scheduler import LoadScopeScheduling

    return LoadScopeScheduling(config, log) if config.option.dist == "load" else None
