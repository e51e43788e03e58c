"""What the tools share as commands: what their options may be, and how they end.

An option that is none ends in a sentence and status 2, before anything is begun.
"""

import argparse
import json
import math
import os
import pathlib
import sys


def whole(least):
    """The type of an option that is a whole number, from least on."""

    def number(text):
        try:
            n = int(text)
        except ValueError:
            n = least - 1
        if n < least:
            raise argparse.ArgumentTypeError(
                "takes whole numbers from {}, not {!r}".format(least, text))
        return n

    return number


def seconds(text):
    """The type of an option that is a time."""
    return _real(text, lambda n: 0 < n < math.inf, "seconds above 0")


def times(text):
    """The type of an option that says how many times as much."""
    return _real(text, lambda n: 0 <= n < math.inf, "numbers from 0")


def _real(text, fits, what):
    try:
        n = float(text)
    except ValueError:
        n = math.nan
    if not fits(n):
        raise argparse.ArgumentTypeError("takes {}, not {!r}".format(what, text))
    return n


def folder(text):
    """The type of an option that is a folder to write to, or one that can be made."""
    path = pathlib.Path(text)
    missing = [p for p in (path, *path.parents) if not p.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        writable = os.access(path, os.W_OK | os.X_OK)
        for p in missing:
            p.rmdir()  # what fails then leaves none behind
    except OSError as er:
        raise argparse.ArgumentTypeError("can't make the folder {}: {}".format(text, er.strerror))
    if not writable:
        raise argparse.ArgumentTypeError("can't write to the folder {}".format(text))
    return path


def file(text):
    """The type of an option that is a file to write to, in such a folder; None if it is empty."""
    if not text:
        return None
    path = pathlib.Path(text)
    folder(path.parent)
    try:
        if not path.exists() and path.parent.exists():
            path.touch()  # /proc says only then that it takes none
            path.unlink()
        writable = not path.is_dir() and (not path.exists() or os.access(path, os.W_OK))
    except OSError:
        writable = False
    if not writable:
        raise argparse.ArgumentTypeError("can't write to {}".format(text))
    return path


def among(names):
    """The type of an option that is a list, with commas, of some of these names."""

    def chosen(text):
        found = text.split(",")
        for name in found:
            if name not in names:
                raise argparse.ArgumentTypeError(
                    "takes of {}, with commas, not {!r}".format(", ".join(names), name))
        return found

    return chosen


def takes_none(doc):
    """For a tool without options: its help, or what says that there are none."""
    argparse.ArgumentParser(description=doc.split("\n")[0]).parse_args()


def stored(parser, path):
    """What was measured before, out of a file of JSON."""
    try:
        return json.loads(path.read_text())
    except OSError as er:
        parser.error("{} can't be read: {}".format(path, er.strerror))
    except ValueError:
        parser.error("{} is no JSON".format(path))


def ended(main, *arguments):
    """The exit status of a tool; that of a Unix program if nobody reads on what it prints."""
    try:
        status = main(*arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # At the end Python would complain of what is still in the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return status
