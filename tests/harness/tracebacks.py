"""Tracebacks as a reader wants them: of the tests alone, with source lines."""

import collections
import os
import pathlib
import re

from . import interpreters

RUNNER = pathlib.Path(__file__).with_name("runner.py")
_FRAME = re.compile(r'^  File "(.+)", line (\d+)')


def tidy(text):
    """Drops the runner's frames and adds the source lines that MicroPython leaves out."""
    lines = []
    rest = collections.deque(text.rstrip().splitlines())
    while rest:
        line = rest.popleft()
        lines.append(line)
        frame = _FRAME.match(line)
        if not frame:
            continue
        body = []
        while rest and rest[0].startswith("    "):
            body.append(rest.popleft())
        if os.path.abspath(frame.group(1)) == str(RUNNER):
            lines.pop()
            continue
        lines += body or _source(frame.group(1), int(frame.group(2)))
    return "\n".join(lines).replace(str(interpreters.ROOT) + os.sep, "")


def _source(path, number):
    try:
        with open(path, encoding="utf-8") as file:
            return ["    " + file.read().splitlines()[number - 1].strip()]
    except (OSError, IndexError):
        return []
