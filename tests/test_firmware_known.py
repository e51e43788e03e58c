"""What the compiler of .mpy files is told of a board: each sentence stands in some source."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

import firmware_mpy as mpy  # noqa: E402

TEXTS = [(mpy.ROOT / path).read_text(encoding="utf-8") for path in mpy.sources(mpy.PACKAGES)]


@pytest.mark.parametrize("asked", [*mpy.FOR_MICROPYTHON, *mpy.FOR_MPY_6, *mpy.FOR_ESP32])
def test_what_is_known_of_a_board_is_asked_somewhere(asked):
    assert [text for text in TEXTS if asked in text]
