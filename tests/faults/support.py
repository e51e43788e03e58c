"""What ordinary tests need to run a script in an interpreter, for a variant of the library."""

import os
import pathlib
import select
import subprocess

from harness import interpreters, strip
from harness.patience import Patience

HERE = pathlib.Path(__file__).parent
RULES = HERE.parent / "rules"
FULL = bool(os.environ.get("CSP_FAULTS"))  # longer sweeps than those of every day


def paths(variant, folder):
    """Where a script finds what lies beside it; for plain upycsp in words without await."""
    if variant != "upycsp":
        return [str(HERE), str(RULES), *interpreters.library_paths()]
    for source in (HERE, RULES):
        strip.stage(None, source, folder)
    return [str(folder), *interpreters.library_paths()]


class Silent(Exception):
    """A program has printed nothing for too long."""


def says_more(process, seconds):
    """Wait until a program prints, or ends; false if it takes too long for this machine."""
    patience = Patience(seconds)
    while patience.left() > 0:
        if select.select([process.stdout], [], [], 0.2)[0]:
            return True
    return False


def watch(words, seconds):
    """Runs a program; (its status, what it printed). Silent if it prints nothing for so long."""
    process = subprocess.Popen(
        words,
        cwd=str(interpreters.ROOT),
        env=interpreters.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    out = b""
    try:
        while True:
            if not says_more(process, seconds):
                raise Silent(out.decode("utf-8", "replace")[-1500:])
            data = os.read(process.stdout.fileno(), 65536)
            if not data:
                return process.wait(60), out.decode("utf-8", "replace")
            out += data
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def line_of(process, seconds, said=()):
    """The next line that a program prints, "" at its end; Silent if none comes in time."""
    line = b""
    while not line.endswith(b"\n"):
        if not says_more(process, seconds):
            raise Silent("\n".join(said)[-1500:])
        data = os.read(process.stdout.fileno(), 1)
        if not data:
            break
        line += data
    return line.decode("utf-8", "replace").rstrip("\n") if line != b"\n" else " "
