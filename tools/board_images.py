"""Writes whole images to a board: what `make board-rom` and `make board-image` do.

    python tools/board_images.py rom --port /dev/ttyUSB0        # the packages, as a ROMFS
    python tools/board_images.py files --port /dev/ttyUSB0 --confirm yes    # all files anew

The first leaves the board's files alone. The second erases them: it writes a filesystem with the
packages, benchmarks, config.py and main.py into the flash of an ESP32, also of one that nothing
else reaches any more, if it is told where: --offset 0x200000 --size 2MB.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import board_files  # noqa: E402
import board_link  # noqa: E402
import board_main  # noqa: E402
import commands  # noqa: E402
import firmware_images  # noqa: E402
from board_link import Failed  # noqa: E402

ROM_RELEASE = (1, 25)
ROM_MPY = 6

# The bytes of the first partition for a ROMFS; None: MicroPython knows none, 0: there is none.
_ROM_SIZE = """
try:
    import vfs
    d = vfs.rom_ioctl(2, 0) if vfs.rom_ioctl(1) > 0 else 0
    if hasattr(d, "ioctl"):
        print(d.ioctl(4, 0) * d.ioctl(5, 0))
    else:
        print(max(d, 0) if isinstance(d, int) else len(d))
except (ImportError, AttributeError):
    print(None)
"""
# (Offset, size) of the partition that has the filesystem.
_FILES_PLACE = """
try:
    from esp32 import Partition
    f = Partition.find(Partition.TYPE_DATA, label="vfs")
    print(f and f[0].info()[2:4])
except ImportError:
    print(None)
"""


def _asked(link, code):
    return board_files.eval_lines(link.run(code))[0]


def ran(words):
    """Runs a program that says itself what it does; whether it ended well."""
    sys.stdout.flush()
    return subprocess.run(words, stdin=subprocess.DEVNULL).returncode == 0


def rom_words(port, path):
    """The command that writes a ROMFS image."""
    return [sys.executable, "-m", "mpremote", "connect", port, "resume", "romfs", "deploy", path]


def files_words(port, offset, path):
    """The command that writes a filesystem's image."""
    return [sys.executable, "-m", "esptool", "--port", port, "write-flash", hex(offset), path]


def write_rom(port, wait):
    """Writes the packages into the partition for a ROMFS; raises Failed."""
    with board_link.Link(port, wait) as link:
        link.start()
        found = board_main.probe(link)
        print(board_main.described(port, found))
        room = _asked(link, _ROM_SIZE)
    if room is None:
        raise Failed("{} has no ROMFS: it needs MicroPython {}, built with it.".format(
            found["micropython"], ".".join(map(str, ROM_RELEASE))))
    if room == 0:
        raise Failed("The board's flash has no partition for a ROMFS: its firmware must have been "
                     "built with one.")
    with tempfile.TemporaryDirectory() as folder:
        image = pathlib.Path(folder) / "packages.romfs"
        firmware_images.romfs(image, found["platform"])
        size = image.stat().st_size
        if size > room:
            raise Failed("The image has {} bytes, and the board's partition for a ROMFS has "
                         "{}.".format(size, room))
        if not ran(rom_words(port, str(image))):
            raise Failed("mpremote could not write the ROMFS: run the command again.")
    with board_link.Link(port, wait) as link:
        link.doing = "while it was asked what it has now"
        link.start()
        place = link.run("import cspcore\nprint(cspcore.__file__)").strip()
        if not place.startswith("/rom/"):
            raise Failed("The ROMFS is written, but other copies of the packages come before it "
                         "on import, as {}: remove them (mpremote rm -r).".format(place))
    print("{} bytes written; the packages come from /rom now".format(size))


def write_files(port, wait, offset, length, confirmed):
    """Writes a filesystem with all of the project in the place of the board's; raises Failed.

    offset, length: where, in bytes of the flash; if None the board is asked.
    """
    version = ROM_MPY
    if offset is None:
        with board_link.Link(port, wait) as link:
            link.start()
            found = board_main.probe(link)
            print(board_main.described(port, found))
            place = _asked(link, _FILES_PLACE)
        if not place:
            raise Failed("The board is no ESP32 that has a partition vfs: say where its "
                         "filesystem is (OFFSET=0x200000 FS_SIZE=2MB), or use make board.")
        offset, length = place
        version = board_main.mpy_version(found["mpy"])
    if confirmed != "yes":
        raise Failed("This erases all files of the board at {}, {} at {} of its flash, and writes "
                     "the project's: add CONFIRM=yes to do it.".format(
                         port, firmware_images.said(length), hex(offset)))
    with tempfile.TemporaryDirectory() as folder:
        scratch, image = pathlib.Path(folder) / "tree", pathlib.Path(folder) / "files.img"
        files = firmware_images.board_files(scratch, version)
        image.write_bytes(firmware_images.littlefs(files, length))
        if not ran(files_words(port, offset, str(image))):
            raise Failed("esptool could not write the image: hold the board's button BOOT while "
                         "it connects, and run the command again; until then its files may be "
                         "lost.")
    print("{} files written; the board starts with main.py".format(len(files)))


def _place(args):
    # (Offset, size) in bytes, None where the board is to be asked.
    if bool(args.offset) != bool(args.size):
        raise Failed("OFFSET and FS_SIZE go together: OFFSET=0x200000 FS_SIZE=2MB")
    if not args.offset:
        return None, None
    return firmware_images.size(args.offset), firmware_images.size(args.size)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("rom", "files"))
    parser.add_argument("--port", default="", help="default: the only one there is")
    parser.add_argument("--offset", default="", help="of the filesystem in the flash")
    parser.add_argument("--size", default="", help="of the filesystem")
    parser.add_argument("--confirm", default="", help="yes: all files of the board may be erased")
    parser.add_argument("--wait", type=commands.seconds, default=board_link.SECONDS,
                        help="seconds that a board may take to answer")
    args = parser.parse_args(arguments)
    return board_main.ended(lambda: _write(args))


def _write(args):
    offset, length = _place(args)
    port = board_link.choose(args.port)
    if args.what == "rom":
        write_rom(port, args.wait)
    else:
        write_files(port, args.wait, offset, length, args.confirm)


if __name__ == "__main__":
    sys.exit(commands.ended(main))
