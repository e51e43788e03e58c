"""`make types`: pyright over the type stubs in typings, the examples and the rules' tests.

pyright, and the types of MicroPython's own modules, are installed into build/types: in .venv those
would stand beside CPython's modules of the same names.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import commands

ROOT = Path(__file__).resolve().parent.parent
REQUIRED = ROOT / "requirements-types.txt"
INSTALLED = ROOT / "build" / "types"
STAMP = INSTALLED / "installed.txt"
CONFIGS = ("pyrightconfig.json", "tests/typing/rules.json")


def install():
    """Make build/types what requirements-types.txt says; whether that could be done."""
    wanted = REQUIRED.read_text(encoding="utf-8")
    if STAMP.is_file() and STAMP.read_text(encoding="utf-8") == wanted:
        return True
    shutil.rmtree(INSTALLED, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--no-deps", "--target", str(INSTALLED), "-r", str(REQUIRED)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        print("The packages of requirements-types.txt can't be installed.", file=sys.stderr)
        return False
    STAMP.write_text(wanted, encoding="utf-8")
    return True


def main():
    if not install():
        return 1
    failed = False
    for config in CONFIGS:
        print("pyright -p %s" % config, flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "pyright", "-p", config],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(INSTALLED)},
        )
        failed = failed or done.returncode != 0
    return int(failed)


if __name__ == "__main__":
    commands.takes_none(__doc__)
    sys.exit(commands.ended(main))
