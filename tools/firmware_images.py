"""Images of a board's flash: ROMFS, LittleFS, and firmware and filesystem in one.

On an ESP32 the firmware looks for its filesystem in the partition "vfs", and where its partition
table has none, in all of the flash behind the last partition. It mounts no filesystem that is
smaller or larger than that.
"""

import hashlib
import pathlib
import re
import struct
import sys
import tempfile

from firmware_mpy import FOR_ESP32, PACKAGES, PROGRAM, ROOT, Failed, compiled, ran, sources

BLOCK = 4096  # bytes; a sector of the flash
# As MicroPython itself makes its filesystems; version 2.0 is read by all that it has had.
LITTLEFS = {
    "block_size": BLOCK, "read_size": 32, "prog_size": 32, "cache_size": 128, "lookahead_size": 32,
    "disk_version": 0x20000,
}
CHIP, OFFSET = "esp32", 2 << 20
TABLE, TABLE_SIZE = 0x8000, 0xc00  # of the partitions, in the flash
ENTRY = struct.Struct("<2sBBII16sI")
APP = 0  # a partition's type
MAGIC = 0xe9  # an image's first byte
CHIP_ID = 12  # where an image has its chip's number


def size(text):
    """Bytes as a number: of 2MB, 2M, 512K, 0x200000, 2097152. Raises Failed."""
    found = re.fullmatch(r"(0x[0-9a-f]+|[0-9]+)([km]?)b?", text.lower())
    if not found:
        raise Failed("{} is no size: write 2MB, 512KB or 0x200000".format(text))
    return int(found[1], 0) << {"": 0, "k": 10, "m": 20}[found[2]]


def said(number):
    """A size for a sentence."""
    return "{} KB".format(number >> 10) if number % 1024 == 0 else "{} bytes".format(number)


# --- filesystems


# An ESP32's partition has 128 KB. Virtual time and verify() are for tests, and what knows ROMFS is
# younger than what needs cspcore.older.
ROMFS_LEAVES_OUT = ("/virtual", "/verify", "/older")
# Where a GIL orders threads nothing is loaded early and no rooms are needed.
ESP32_LEAVES_OUT = ("/early", "/rooms")


def romfs(path, platform="esp32"):
    """Write a ROMFS image of what a platform needs of the packages."""
    esp32 = platform == "esp32"
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name) / "tree"
        compiled(tree, PACKAGES, known=FOR_ESP32 if esp32 else (),
                 leaves_out=ROMFS_LEAVES_OUT + (ESP32_LEAVES_OUT if esp32 else ()))
        ran("mpremote romfs build", [sys.executable, "-m", "mpremote", "romfs",
                                     "--output", str(path), "build", str(tree)])


def board_files(folder, version):
    """What a board's filesystem gets, as {path there: bytes}: the packages in lib, the program.

    folder: a scratch one. version: of the .mpy files, None for sources.
    """
    packages = (*PACKAGES, "benchmarks")
    if version is None:
        found = {"lib/" + path: (ROOT / path).read_bytes() for path in sources(packages)}
    else:
        paths = compiled(folder, packages, version)
        found = {"lib/" + path: (folder / path).read_bytes() for path in paths}
    # The start runs only a main.py, and config.py is there to be edited.
    found.update({path: (ROOT / path).read_bytes() for path in sources(PROGRAM)})
    return dict(sorted(found.items()))


def littlefs(files, total):
    """A LittleFS image of so many bytes with the files of {path: bytes}, as bytes."""
    from littlefs import LittleFS, LittleFSError

    if total % BLOCK or total < 2 * BLOCK:
        raise Failed("a filesystem of {} can't be made: it has blocks of {}, at least two".format(
            said(total), said(BLOCK)))
    filesystem = LittleFS(block_count=total // BLOCK, mount=False, **LITTLEFS)
    try:
        filesystem.format()
        filesystem.mount()
        for path, data in files.items():
            filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
            with filesystem.open(path, "wb") as file:
                file.write(data)
        filesystem.unmount()
    except LittleFSError as er:
        if er.code != LittleFSError.Error.LFS_ERR_NOSPC:
            raise Failed("littlefs can't write {}: {}".format(path, er))
        raise Failed("a filesystem of {} is too small: {} files of {} bytes take whole blocks of "
                     "{} each".format(said(total), len(files), sum(map(len, files.values())),
                                      said(BLOCK)))
    return bytes(filesystem.context.buffer)


# --- the whole flash


def chips():
    """What esptool knows of each chip, by its name."""
    from esptool.targets import CHIP_DEFS

    return {name: CHIP_DEFS[name] for name in sorted(CHIP_DEFS) if name != "esp8266"}


class Firmware:
    """A firmware for an ESP32, read from a file and checked; raises Failed.

    chip: as esptool calls it. begin: where in the flash it belongs. release: of MicroPython, as
    (1, 16), None if it does not tell. mpy: the version of .mpy files that it loads, None for none.
    partitions: (name, type, offset, size) of each.
    """

    def __init__(self, path, chip=CHIP):
        self.path, self.chip = path, chip
        try:
            with open(path, "rb") as file:
                self.data = file.read()
        except FileNotFoundError:
            raise Failed("there is no file {}".format(path))
        except OSError as er:
            raise Failed("{} can't be read: {}".format(path, er.strerror))
        rom = chips()[chip]
        self.begin = rom.BOOTLOADER_FLASH_OFFSET
        self._check_chip(rom)
        self.partitions = self._table()
        self._check_image(0)
        for name, kind, offset, _ in self.partitions:
            # One of two for updates may be empty.
            if kind == APP and self.data[offset - self.begin:][:1] not in (b"", b"\xff"):
                self._check_image(offset - self.begin)
        found = re.search(rb"v(1)\.(\d+)[\w.-]* on 20\d\d-", self.data)
        self.release = found and tuple(map(int, found.groups()))
        self.mpy = 6
        if self.release and self.release < (1, 19):
            self.mpy = 5 if self.release >= (1, 12) else None

    def _check_chip(self, rom):
        from esptool.targets import CHIP_DEFS

        if len(self.data) <= TABLE - self.begin or self.data[0] != MAGIC:
            raise Failed("{} is no firmware for an ESP32".format(self.path))
        number = int.from_bytes(self.data[CHIP_ID:CHIP_ID + 2], "little")
        if number != rom.IMAGE_CHIP_ID:
            names = [name for name, other in CHIP_DEFS.items()
                     if getattr(other, "IMAGE_CHIP_ID", None) == number]
            raise Failed("{} is a firmware for {}, not for {}: see CHIP".format(
                self.path, names[0] if names else "chip {}".format(number), self.chip))

    def _check_image(self, start):
        # A program's checksum and hash.
        from esptool.bin_image import LoadFirmwareImage
        from esptool.logger import log

        log.set_verbosity("silent")
        try:
            image = LoadFirmwareImage(self.chip, self.data[start:])
            good = image.checksum == image.calculate_checksum()
            if image.append_digest:
                good = good and image.stored_digest == image.calc_digest
        except (RuntimeError, struct.error, TypeError, ValueError, LookupError):
            good = False  # which of these depends on where it is broken
        finally:
            log.set_verbosity("auto")
        self._is(good)

    def _is(self, good):
        if not good:
            raise Failed("{} is damaged: download it again".format(self.path))

    def _table(self):
        found = []
        start = TABLE - self.begin
        for at in range(start, start + TABLE_SIZE, ENTRY.size):
            entry = self.data[at:at + ENTRY.size]
            if entry[:2] == b"\xeb\xeb":
                self._is(entry[16:] == hashlib.md5(self.data[start:at]).digest())
            if len(entry) < ENTRY.size or entry[:2] != b"\xaa\x50":
                break
            _, kind, _, offset, length, name, _ = ENTRY.unpack(entry)
            found.append((name.rstrip(b"\0").decode("latin-1"), kind, offset, length))
        if not found:
            raise Failed("{} has no partition table: an .app-bin is only for updates".format(
                self.path))
        return found

    def filesystem(self, flash_size):
        """(Offset, size) of its filesystem in a flash of so many bytes."""
        for name, _, offset, length in self.partitions:
            if name == "vfs":
                return offset, length
            if name == "ffat":
                raise Failed("{} wants a FAT filesystem, not LittleFS".format(self.path))
        end = max(offset + length for _, _, offset, length in self.partitions)
        return end, flash_size - end

    def check(self, flash_size, offset, length):
        """That it mounts a filesystem of that length at that offset of a flash; else Failed."""
        end = self.begin + len(self.data)
        if end > offset:
            raise Failed("{} reaches to {:#x} in the flash, into the filesystem at {:#x}".format(
                self.path, end, offset))
        wanted, room = self.filesystem(flash_size)
        if (offset, length) != (wanted, room):
            raise Failed(
                "{} mounts only a filesystem of {} at {:#x}, not one of {} at {:#x}".format(
                    self.path, said(room), wanted, said(length), offset))

    def merged(self, image, offset, flash_size, folder, path):
        """Write firmware and filesystem as one image of the flash; folder: a scratch one."""
        filesystem = folder / "filesystem.bin"
        filesystem.write_bytes(image)
        ran("esptool merge-bin", [
            sys.executable, "-m", "esptool", "--chip", self.chip, "merge-bin", "-o", str(path),
            "--flash-size", "{}MB".format(flash_size >> 20),
            "{:#x}".format(self.begin), str(self.path), "{:#x}".format(offset), str(filesystem)])
