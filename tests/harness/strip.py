"""Turns a test written with async and await into one of plain calls, line for line."""

import functools
import io
import pathlib
import tokenize


@functools.lru_cache(None)  # the helpers of a folder are staged for each of its tests
def strip(source):
    """Returns the source without its words async and await; strings and comments stay."""
    lines = source.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    # From the end, so that the columns of the tokens before stay right.
    for token, after in reversed(list(zip(tokens, tokens[1:]))):
        if token.type == tokenize.NAME and token.string in ("async", "await"):
            row, start = token.start
            end = after.start[1] if after.start[0] == row else token.end[1]
            lines[row - 1] = lines[row - 1][:start] + lines[row - 1][end:]
    return "".join(lines)


def stage(test, source, folder):
    """Writes the helpers in the source folder, and the test if it is there, into the folder."""
    for path in sorted(source.glob("*.py")):
        if path == test or not path.name.startswith(("test_", "conftest")):
            text = strip(path.read_text(encoding="utf-8"))
            pathlib.Path(folder, path.name).write_text(text, encoding="utf-8")
