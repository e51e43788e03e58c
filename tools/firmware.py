"""Builds what goes onto a board, in each form that a board takes.

    python tools/firmware.py                          # into build/firmware
    python tools/firmware.py --firmware ESP32.bin     # and an image of the whole flash
    python tools/firmware.py --update                 # the packages' descriptions for mip

docs/firmware.md says what to do with each. Exit status: 1 if something can't be made, 2 for wrong
words, 130 after Ctrl-C; then what was built before is still there.
"""

import argparse
import hashlib
import os
import pathlib
import shutil
import sys

import commands
import firmware_images as images
import firmware_mip as mip
from firmware_mpy import ARCHITECTURES, PACKAGES, ROOT, Failed, compiled

__all__ = ("PACKAGES", "Failed", "compiled")

OUT = ROOT / "build" / "firmware"
SUMS = "SHA256SUMS"


def trees(folder, arch):
    """Write the .mpy trees, one of them with machine code for that architecture."""
    for version in (6, 5):
        compiled(folder / "mpy-{}".format(version), PACKAGES, version)
    compiled(folder / "mpy-6-{}".format(arch), PACKAGES, native=arch)


def flash(folder, scratch, options):
    """Write the image of the filesystem and, if there is a firmware, of the whole flash.

    Returns the filesystem's offset and size in the flash, and the version of its .mpy files.
    """
    flash_size = images.size(options.flash_size)
    if flash_size not in [1 << n for n in range(20, 28)]:  # all that esptool knows
        raise Failed("no flash has {}: write 2MB, 4MB, 8MB, ...".format(images.said(flash_size)))
    offset, version, firmware = images.OFFSET, 6, None
    length = flash_size - offset
    if options.firmware:
        firmware = images.Firmware(options.firmware, options.chip)
        offset, length = firmware.filesystem(flash_size)
        version = firmware.mpy
    if options.offset:
        offset = images.size(options.offset)
        length = flash_size - offset
    if options.fs_size:
        length = images.size(options.fs_size)
    if options.mpy:
        version = int(options.mpy) if options.mpy != "no" else None
    if offset >= flash_size or offset + length > flash_size:
        raise Failed("a filesystem{} at {:#x} does not fit a flash of {}".format(
            " of " + images.said(length) if length > 0 else "", offset, images.said(flash_size)))
    if firmware:
        firmware.check(flash_size, offset, length)
    image = images.littlefs(images.board_files(scratch / "board", version), length)
    (folder / "littlefs.img").write_bytes(image)
    if firmware:
        firmware.merged(image, offset, flash_size, scratch, folder / _whole(options.chip))
    return offset, length, version


def _whole(chip):
    # The name of the image of the whole flash.
    return "flash-{}.bin".format(chip)


def sums(folder):
    """Write the SHA-256 of each file in a folder, for sha256sum -c."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = ["{}  {}\n".format(hashlib.sha256(path.read_bytes()).hexdigest(),
                               path.relative_to(folder).as_posix()) for path in paths]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def build(out, options):
    """Make all of it beside the folder out, which it replaces at the end; raises Failed.

    Returns what flash does.
    """
    new, old = [out.with_name(out.name + end) for end in (".new", ".old")]
    if old.exists() and not out.exists():
        old.rename(out)  # killed amid the end
    if out.exists() and any(out.iterdir()) and not (out / SUMS).exists():
        raise Failed("{} has other files, which would be lost: name a new folder".format(out))
    shutil.rmtree(new, ignore_errors=True)
    made, scratch = new / "made", new / "scratch"
    try:
        made.mkdir(parents=True)
        scratch.mkdir()
        place = flash(made, scratch, options)  # first, for most mistakes are found there
        trees(made, options.arch)
        images.romfs(made / "packages.romfs")
        mip.index(made / "mip", scratch / "mip")
        sums(made)
        _replace(made, out, old)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return place


def _replace(made, out, old):
    # Whatever comes, what was there before is there if the new is not.
    shutil.rmtree(old, ignore_errors=True)
    try:
        if out.exists():
            out.rename(old)
        made.rename(out)
    finally:
        if old.exists() and not out.exists():
            old.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def size_of(path):
    """Bytes of a file, or of all in a folder."""
    paths = path.rglob("*") if path.is_dir() else [path]
    return sum(p.stat().st_size for p in paths if p.is_file())


def show(out, place, options):
    """Say what there is."""
    offset, length, version = place
    form = "sources" if version is None else ".mpy files of version {}".format(version)
    meanings = {
        "mpy-6": "packages as .mpy files, for MicroPython 1.19 and later",
        "mpy-5": "the same for 1.12 to 1.18",
        "mpy-6-" + options.arch: "the same for 1.23 and later, partly machine code",
        "packages.romfs": "mpy-6 but what is for tests, as an image for mpremote romfs deploy",
        "littlefs.img": "a filesystem of {} for {:#x} in the flash, with {}".format(
            images.said(length), offset, form),
        _whole(options.chip): "firmware and filesystem, for 0x0 in the flash",
        "mip": "an index for mip, to be served by any web server",
        SUMS: "for sha256sum -c",
    }
    print("In {}:".format(os.path.relpath(out)))
    for name, meaning in meanings.items():
        if (out / name).exists():
            print("  {:<17} {:>8}  {}".format(name, size_of(out / name), meaning))


def update():
    """Write the descriptions for mip into the repository."""
    for name, text in mip.descriptions().items():
        path = ROOT / name
        new = path.with_name(name + ".new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
        print("Wrote " + name)


def _chip(text):
    # ESP32-S3 is what others call esptool's esp32s3.
    chip = text.lower().replace("-", "")
    known = images.chips()
    if chip not in known:
        raise argparse.ArgumentTypeError(
            "no chip {} is known, only {}".format(chip, ", ".join(known)))
    return chip


def main(arguments=None):
    """The exit status."""
    parser = argparse.ArgumentParser(description="Builds what goes onto a board.")
    parser.add_argument("--out", type=pathlib.Path, default=OUT, help="default: build/firmware")
    parser.add_argument("--firmware", help="an ESP32's firmware (.bin), for an image of its flash")
    parser.add_argument("--chip", default=images.CHIP, type=_chip,
                        help="as esptool calls it; default: esp32")
    parser.add_argument("--flash-size", default="4MB", help="default: 4MB")
    parser.add_argument("--offset", help="of the filesystem; default: the firmware's, or 0x200000")
    parser.add_argument("--fs-size", help="of the filesystem; default: all behind its offset")
    parser.add_argument("--mpy", choices=("6", "5", "no"),
                        help="files in the filesystem; default: what the firmware loads, or 6")
    parser.add_argument("--arch", default="xtensawin", choices=ARCHITECTURES, metavar="ARCH",
                        help="of the machine code: {}; default: xtensawin".format(
                            ", ".join(ARCHITECTURES)))
    parser.add_argument("--update", action="store_true", help="only write package.json and so on")
    options = parser.parse_args(arguments)
    try:
        if options.update:
            update()
        else:
            out = options.out.absolute()
            show(out, build(out, options), options)
    except Failed as er:
        print(er, file=sys.stderr)
        return 1
    except OSError as er:
        print("{}: {}".format(er.filename or options.out, er.strerror), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(commands.ended(main))
