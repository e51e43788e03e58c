"""The fixtures that switch boards on; conftest.py makes them known to all tests."""

import os

import pytest

from harness import interpreters

from . import driver


def _needed():
    micropython = interpreters.micropython()
    if not micropython:
        pytest.fail("needs MicroPython") if os.environ.get("CI") else pytest.skip("no MicroPython")
    return micropython


@pytest.fixture
def switch_on(tmp_path):
    """Writes files to the flash of a new board and switches it on; `image` is a flash of its own
    instead, `rom` a partition for a ROMFS. Files are named without .py."""
    with driver.boards(_needed()) as on:

        def switched(image=None, rom=None, **files):
            if image is None:
                image = tmp_path / "a flash"
                image.mkdir()
                for name, text in files.items():
                    (image / (name + ".py")).write_text(text)
            return on(image, rom)

        yield switched


@pytest.fixture(scope="module")
def module_board(tmp_path_factory):
    """A board with an empty flash, for all tests of a file."""
    with driver.boards(_needed()) as on:
        yield on(tmp_path_factory.mktemp("flash"))
