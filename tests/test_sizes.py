"""make sizes: what packages take of flash and RAM."""

import re
import shutil
import sys

import pytest

from harness import interpreters

ROOT = interpreters.ROOT
sys.path.insert(0, str(ROOT / "tools"))

import firmware_mpy  # noqa: E402
import sizes  # noqa: E402


def rows(text):
    """{first cell: the others} of a table in Markdown, without its heads."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {cells[0]: [int(cell) for cell in cells[1:] if cell.strip()] for cells in lines[1:]}


@pytest.fixture(scope="module")
def web():
    sys.path.insert(0, str(ROOT / "tools" / "coverage"))
    import cross

    problem = cross.install()
    if problem:
        pytest.skip(problem)


@pytest.fixture
def without_node(monkeypatch, tmp_path):
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "node" else real(name))


def test_the_page_is_what_was_printed(web, tmp_path, capsys):
    page = tmp_path / "sizes.md"
    assert sizes.main(page) == 0
    printed = capsys.readouterr().out.strip()
    assert printed in page.read_text()
    found = rows(printed)
    assert set(found) == {*firmware_mpy.PACKAGES, "all"}
    for package in firmware_mpy.PACKAGES:
        source, newest, old, native, ram, ram_mpy, ram_rom = found[package]
        paths = firmware_mpy.sources([package])
        assert source == sum((ROOT / path).stat().st_size for path in paths)
        assert newest <= native < source and newest < old < source
        assert ram > ram_mpy > ram_rom > 1000
    for column in range(4):
        assert found["all"][column] == sum(
            found[package][column] for package in firmware_mpy.PACKAGES)


def test_without_node_the_rest_is_printed_and_the_page_stays(without_node, tmp_path, capsys):
    page = tmp_path / "sizes.md"
    page.write_text("as it was")
    assert sizes.main(page, tmp_path) == 0
    output = capsys.readouterr().out
    assert output.endswith(
        "\nNothing of RAM, and sizes.md stays as it is: there is no node on the PATH.\n")
    assert [len(cells) for cells in rows(output).values()] == [4] * 6
    assert page.read_text() == "as it was"


def test_what_cannot_be_compiled_is_one_sentence(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sizes, "ARCH", "vax")
    assert sizes.main(tmp_path / "sizes.md") == 1
    said = capsys.readouterr().err
    assert said.startswith("no machine code can be made for vax, ") and said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_sizes_in_docs_are_not_far_from_todays(tmp_path):
    # make sizes
    kept = rows((ROOT / "docs/sizes.md").read_text())
    for package, found in sizes.on_flash(tmp_path).items():
        for old, new in zip(kept[package], found):
            assert 0.9 < old / new < 1.1, package


def test_the_page_names_its_command_and_its_tools():
    text = (ROOT / "docs/sizes.md").read_text()
    assert "`make sizes`" in text and re.search(r"mpy-cross emitting mpy v6", text)
