"""Collects the tests that run inside MicroPython and CPython: see harness/collect.py."""

import pytest

from board.fixtures import module_board, switch_on  # noqa: F401
from harness import amounts, collect, device, interpreters


def pytest_configure(config):
    device.hear_interrupts()
    try:
        interpreters.packages()
    except FileNotFoundError as error:
        raise pytest.UsageError(str(error))
    wrong = amounts.wrong()
    if wrong:
        raise pytest.UsageError(wrong)


def pytest_pycollect_makemodule(module_path, parent):
    return collect.make_collector(module_path, parent)


def pytest_report_header():
    header = [
        "micropython: {}".format(interpreters.micropython() or "none"),
        "cpython: {}".format(interpreters.cpython()),
    ]
    if interpreters.packages():
        header.append("packages of micropython: {}".format(interpreters.packages()))
    return header


def pytest_terminal_summary(terminalreporter):
    line = collect.missing_line()
    if line:
        terminalreporter.write_line(line)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from harness import order

    return order.Scheduling(config, log) if config.option.dist == "load" else None


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        from harness import order

        items.sort(key=lambda item: order.place(item.nodeid))
