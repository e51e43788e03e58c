"""`make board-rom` and `make board-image`: whole images go onto a board."""

import os
import pathlib
import re
import sys

import pytest

from board import driver

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import board_images  # noqa: E402
import firmware_images  # noqa: E402

# What an ESP32 tells of its flash, whose partition vfs has the size given.
ESP32 = """
import sys
class Partition:
    TYPE_DATA = 1
    def __init__(self, label):
        self.label = label
    @staticmethod
    def find(kind, label=None):
        return [Partition(label)] if label == "vfs" else []
    def info(self):
        return (1, 129, 0x310000, {}, self.label, False)
class Esp32:
    pass
Esp32.Partition = Partition
sys.modules["esp32"] = Esp32
"""


@pytest.fixture
def make(capfd):
    """Does what make board-rom (rom) or board-image (files) does; status, output, complaint."""

    def call(what, board, *words):
        capfd.readouterr()
        words = (what, "--port", getattr(board, "port", board), "--wait", "120", *words)
        return (board_images.main(words), *capfd.readouterr())

    return call


def sentence(done, said):
    assert done[0] == 1, done
    last = done[2].splitlines()[-1]
    assert re.search(said, last), done
    assert "Traceback" not in done[2]


@pytest.fixture
def rom(tmp_path):
    path = tmp_path / "rom.img"
    path.write_bytes(b"\xff" * 4096 * 32)
    return path


# The ROMFS, written by the real mpremote


def test_the_packages_go_into_the_romfs_and_are_imported_from_there(switch_on, rom, make):
    board = switch_on(rom=rom)
    status, out, error = make("rom", board)
    assert status == 0, out + error
    assert "ROMFS image deployed" in out and "the packages come from /rom now" in out
    assert list(board.flash.iterdir()) == []
    program = ("import uapycsp\nc = uapycsp.Channel('c')\nprint(uapycsp.__file__, "
               "uapycsp.run(uapycsp.Parallel(c.write(6), c.read())))")
    assert board.mpremote("exec", program).startswith("/rom/uapycsp/__init__.mpy [0, 6]")


@pytest.mark.parametrize("platform", ("esp32", "rp2"))
def test_what_makes_room_beside_threads_is_there_where_no_gil_orders_them(
        switch_on, rom, make, monkeypatch, platform):
    def probe(link, asks=board_images.board_main.probe):
        return dict(asks(link), platform=platform)

    monkeypatch.setattr(board_images.board_main, "probe", probe)
    rom.write_bytes(b"\xff" * 4096 * 40)
    board = switch_on(rom=rom)
    status, out, error = make("rom", board)
    assert status == 0, out + error
    program = "import os\nprint('rooms.mpy' in os.listdir('/rom/uthreading'))"
    assert board.mpremote("exec", program).strip() == str(platform != "esp32")


def test_copies_that_come_before_the_romfs_are_said(switch_on, rom, make):
    board = switch_on(rom=rom)
    (board.flash / "cspcore").mkdir()
    (board.flash / "cspcore" / "__init__.py").write_text("")
    sentence(make("rom", board), "other copies .* as cspcore/__init__.py: remove them")


def test_a_board_without_romfs_is_said(switch_on, make):
    sentence(make("rom", switch_on()), "has no ROMFS: it needs MicroPython 1.25")


@pytest.mark.parametrize("blocks, said", [
    (0, "no partition for a ROMFS"),
    (4, r"The image has \d+ bytes, and the board's partition for a ROMFS has 16384"),
])
def test_a_romfs_that_does_not_fit_is_said(switch_on, make, blocks, said):
    text = """
import sys
class Device:
    def ioctl(self, request, value):
        return {{4: {0}, 5: 4096}}[request]
class Vfs:
    def rom_ioctl(self, request, *values):
        return Device() if request == 2 else {0}
sys.modules["vfs"] = Vfs()
""".format(blocks)
    sentence(make("rom", switch_on(boot=text)), said)


def test_a_romfs_that_can_not_be_written_is_said(switch_on, rom, make, monkeypatch):
    board = switch_on(rom=rom)
    monkeypatch.setattr(board_images, "rom_words",
                        lambda port, path: [sys.executable, "-m", "mpremote", "connect", port,
                                            "romfs", "deploy", path + ".missing"])
    sentence(make("rom", board), "mpremote could not write the ROMFS")


# The filesystem, which esptool writes


def test_the_image_is_for_the_boards_own_partition_and_boots(switch_on, tmp_path, make,
                                                             monkeypatch):
    flash = driver.littlefs(tmp_path / "flash.img", 256)
    board = switch_on(flash)
    board.mpremote("exec", "with open('boot.py', 'w') as f: f.write({!r})\n"
                   "with open('mine.txt', 'w') as f: f.write('mine')".format(
                       ESP32.format(256 * 4096)))
    # Without a word nothing is written.
    sentence(make("files", board), r"erases all files of the board at /dev/\S+, 1024 KB at "
             "0x310000 of its flash, .*: add CONFIRM=yes")
    assert "mine.txt" in board.mpremote("ls")

    def esptool(words):
        assert words[1:-1] == ["-m", "esptool", "--port", board.port, "write-flash", "0x310000"]
        board.unplug()
        flash.write_bytes(pathlib.Path(words[-1]).read_bytes())
        board.plug()
        return True

    monkeypatch.setattr(board_images, "ran", esptool)
    status, out, error = make("files", board, "--confirm", "yes")
    assert status == 0, out + error
    assert "mine.txt" not in board.mpremote("ls")
    assert "channel.mpy" in board.mpremote("ls", "lib/uapycsp")
    board.mpremote("exec", "with open('config.py', 'a') as f:\n"
                   " f.write('SIZES[\"commstime\"].update({\"n\": 5, \"runs\": 1})\\n')")
    board.mpremote("reset")
    with board.terminal() as terminal:
        text = terminal.until(">>> ")
    assert '"variant": "par-proc", "n": 5' in text and "Traceback" not in text


def test_a_board_that_nothing_reaches_is_written_where_it_is_said(make, tmp_path, monkeypatch):
    # With a place given nobody asks the board; the real esptool finds no chip there.
    settings = tmp_path / "esptool.cfg"
    settings.write_text("[esptool]\nconnect_attempts = 1\n")
    monkeypatch.setitem(os.environ, "ESPTOOL_CFGFILE", str(settings))
    place = ("--offset", "0x200000", "--size", "1MB")
    with driver.mute() as port:
        sentence(make("files", port, *place), "1024 KB at 0x200000 of its flash.* CONFIRM=yes")
        done = make("files", port, *place, "--confirm", "yes")
        assert "esptool v" in done[1], done
        sentence(done, "esptool could not write the image: hold the board's button BOOT")


def test_a_board_that_is_no_esp32_is_said(switch_on, make):
    sentence(make("files", switch_on(), "--confirm", "yes"), "no ESP32 that has a partition vfs")


@pytest.mark.parametrize("words, said", [
    (("--offset", "0x200000"), "OFFSET and FS_SIZE go together"),
    (("--offset", "here", "--size", "2MB"), "here is no size"),
    (("--offset", "0x200000", "--size", "64KB", "--confirm", "yes"), "too small"),
])
def test_a_place_that_is_none_is_said(make, words, said):
    with driver.mute() as port:
        sentence(make("files", port, *words), said)


def test_an_image_has_what_a_board_starts_with(tmp_path):
    files = firmware_images.board_files(tmp_path, 6)
    assert {"main.py", "config.py", "lib/uapycsp/channel.mpy", "lib/upycsp/channel.mpy"} <= set(
        files)
