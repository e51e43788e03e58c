"""Which interpreters there are to test, and how each is started."""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = ("micropython", "cpython")


def micropython():
    """The MicroPython to use, as a path, or None: MICROPYTHON, else the wheel's, else on PATH."""
    named = os.environ.get("MICROPYTHON")
    if named:
        # A path stays as it is even if nothing is there, so that its tests fail and say so.
        return shutil.which(named) or named
    places = [pathlib.Path(sys.executable).parent, ROOT / ".venv" / "bin"]
    found = [str(p / "micropython") for p in places if os.access(p / "micropython", os.X_OK)]
    return found[0] if found else shutil.which("micropython")


def cpython():
    """The CPython to use: CPYTHON, else the one that runs pytest."""
    return os.environ.get("CPYTHON") or sys.executable


def packages():
    """The folder of .mpy files that device tests take instead of the sources, or None.

    CSP_PACKAGES names it; FileNotFoundError if they are not there.
    """
    named = os.environ.get("CSP_PACKAGES")
    if not named:
        return None
    folder = pathlib.Path(named).resolve()
    if not (folder / "cspcore" / "channel.mpy").exists():
        raise FileNotFoundError("CSP_PACKAGES: there is no compiled cspcore in " + named)
    return folder


def library_paths():
    """The folders that the libraries are looked for in. CPython passes over .mpy files."""
    return [str(folder) for folder in (packages(), ROOT) if folder]


def command(name, heap=None):
    """The words that start an interpreter, None if it is missing."""
    if name == "cpython":
        return [cpython(), "-u"]
    program = micropython()
    if program is None:
        return None
    return [program] + (["-X", "heapsize=" + str(heap)] if heap else [])


def missing(name="micropython"):
    """None, or the sentence that says why an interpreter can't be used: it is started."""
    words = command(name)
    if words is None:
        return "there is no MicroPython: name one in MICROPYTHON"
    try:
        done = subprocess.run(
            words + ["-c", "import sys; print(sys.implementation.name)"], env=environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=60)
        if done.stdout.strip().decode("utf-8", "replace") == name:
            return None
    except (OSError, subprocess.TimeoutExpired):
        pass
    return "{} names no {}: {}".format(
        name.upper(), "MicroPython" if name == "micropython" else "CPython", words[0])


def main_program(compiled=None):
    """How main.py runs: (words, working directory), with `environment()`.

    compiled: a folder of .mpy files that come before the sources. A script's own folder would
    come before it, so main is a module then.
    """
    return (["-m", "main"], str(compiled)) if compiled else (["main.py"], str(ROOT))


def environment():
    """The environment of every interpreter under test."""
    env = dict(os.environ)
    # .frozen holds asyncio: without it MicroPython has none.
    env["MICROPYPATH"] = "{}:.frozen".format(ROOT)
    env["PYTHONIOENCODING"] = "utf-8"
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    # A crash says where.
    env["PYTHONFAULTHANDLER"] = "1"
    return env
