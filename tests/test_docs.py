"""What README and docs show runs as shown.

    ```python             a program: runs on MicroPython and on CPython, and ends with status 0
    ```python skip        a fragment, or needs what is not here: only compiled
    ```python micropython     runs on MicroPython alone (cpython: on CPython alone)
    ```text               right after a program: exactly what it prints
    ```sh                 make targets exist, mpremote's, esptool's, main.py's words are understood

Programs may use files of the repository: they run in an empty folder, with the repository on the
path.
"""

import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from harness import interpreters, patience

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))
]
KINDS = ("python", "text", "sh", "toml", "json", "")
TIME_LIMIT = 180


class Block:
    """A fenced block: its words after the fence, its text, the line of its first line."""

    def __init__(self, page, line, words, text, output=None):
        self.page, self.line, self.words, self.text = page, line, words, text
        self.output = output  # of the text block that follows at once

    def __repr__(self):
        return "{}:{}".format(self.page.name, self.line)


def blocks(page, source):
    """The fenced blocks of a page, in order."""
    found = []
    lines = source.splitlines()
    at = 0
    while at < len(lines):
        fence = re.match(r"( *)```(.*)", lines[at])
        at += 1
        if not fence:
            continue
        start = at
        while lines[at].strip() != "```":
            at += 1
        indent = len(fence.group(1))
        text = "".join(line[indent:] + "\n" for line in lines[start:at])
        at += 1
        words = fence.group(2).split() or [""]
        between = [line for line in lines[(found[-1].end if found else 0) : start - 1] if line]
        if words[0] == "text" and found and found[-1].words[0] == "python" and len(between) <= 1:
            found[-1].output = text
        found.append(Block(page, start + 1, words, text))
        found[-1].end = at
    return found


def all_blocks():
    pages = [page for page in PAGES if page.exists()]
    return [b for page in pages for b in blocks(page, page.read_text(encoding="utf-8"))]


BLOCKS = all_blocks()
PYTHON = [block for block in BLOCKS if block.words[0] == "python"]
SHELL = [block for block in BLOCKS if block.words[0] == "sh"]


def programs():
    for block in PYTHON:
        for interpreter in interpreters.NAMES:
            other = {"micropython": "cpython", "cpython": "micropython"}[interpreter]
            if "skip" not in block.words and other not in block.words:
                yield pytest.param(block, interpreter, id="{}-{}".format(block, interpreter))


def run_program(block, interpreter, folder):
    """The CompletedProcess of a block, with its lines numbered as in its page."""
    path = folder / "example.py"
    path.write_text("\n" * (block.line - 1) + block.text, encoding="utf-8")
    command = interpreters.command(interpreter)
    if command is None:
        pytest.fail("needs MicroPython") if os.environ.get("CI") else pytest.skip("no MicroPython")
    env = dict(interpreters.environment(), PYTHONPATH=str(ROOT))
    return patience.run(
        [*command, str(path)],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIME_LIMIT,
    )


@pytest.mark.parametrize("block, interpreter", list(programs()))
def test_a_program_runs_and_prints_what_is_said(block, interpreter, tmp_path):
    done = run_program(block, interpreter, tmp_path)
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout or "Traceback" in (block.output or ""), done.stdout
    if block.output is not None:
        assert done.stdout == block.output


@pytest.mark.parametrize("block", [b for b in PYTHON if "skip" in b.words], ids=repr)
def test_a_fragment_is_python(block):
    # In a function, because fragments await.
    body = "".join("    " + line + "\n" for line in block.text.splitlines())
    compile("async def fragment():\n" + body + "    pass\n", repr(block), "exec")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_are_of_a_known_kind(page):
    for block in blocks(page, page.read_text(encoding="utf-8")):
        assert block.words[0] in KINDS, block
        known = {"skip", "micropython", "cpython"} if block.words[0] == "python" else set()
        assert set(block.words[1:]) <= known, block


# Commands


def commands(block):
    """The commands of a shell block as lists of words, without comments and what `$ ` shows."""
    text = re.sub(r"\\\n", " ", block.text)
    for line in text.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        while words and re.match(r"[A-Z_]+=", words[0]):
            words = words[1:]
        if words:
            yield words


def targets():
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


def understood(words):
    """None, or what is wrong with a command."""
    program = pathlib.Path(words[0]).name
    if program == "make":
        asked = [w for w in words[1:] if "=" not in w and not w.startswith("-")]
        unknown = [word for word in asked if word not in targets()]
        return "no such target: {}".format(unknown) if unknown else None
    if program == "mpremote":
        return mpremote_fault(words[1:])
    if program == "esptool":
        done = patience.run([sys.executable, "-m", "esptool", *words[1:], "--help"],
                            capture_output=True, timeout=180)
        return None if done.returncode == 0 else "esptool does not know that"
    if words[:1] == ["bash"] and len(words) > 1:
        return None if (ROOT / words[1]).exists() else "no file {}".format(words[1])
    scripts = [word for word in words if word.endswith(".py") and not word.startswith("-")]
    for script in scripts:
        if not (ROOT / script).exists():
            return "no file {}".format(script)
    return None


@functools.lru_cache(None)
def mpremote_words():
    """All that mpremote knows as a command, from itself."""
    done = patience.run(
        [sys.executable, "-m", "mpremote", "help"], capture_output=True, text=True, timeout=180
    )
    words = set(re.findall(r"^  ([a-z][a-z0-9-]+)  ", done.stdout, re.M))
    assert {"connect", "exec", "soft-reset", "reset", "resume", "cp", "a0"} <= words
    return words


def mpremote_fault(words):
    """Commands are joined by +; a command may follow a connect without one."""
    parts = " ".join(words).split(" + ")
    for number, part in enumerate(parts):
        names = part.split()
        if number == 0 and names[:1] == ["connect"]:
            names = names[2:]
        if names and names[0] not in mpremote_words():
            return "mpremote has no {}".format(names[0])
        if names[:1] == ["cp"]:
            sources = [name for name in names[1:-1] if not name.startswith(("-", ":"))]
            missing = [name for name in sources if not (ROOT / name).exists()]
            if missing:
                return "no such files: {}".format(missing)
            if not sources or not names[-1].startswith(":"):
                return "cp wants files and a place on the board"
    return None


@pytest.mark.parametrize("block", SHELL, ids=repr)
def test_commands_exist(block):
    for words in commands(block):
        assert understood(words) is None, (words, understood(words))


# This file's own tools

PAGE = """
# Title

```python
import sys
print("one", 1)
```

prints

```text
one 1
```

- a list

  ```python
  raise ValueError("here")
  ```

Prose that has nothing to do with it, in two lines, so that the block
below is no output.

```text
other
```

```python skip
await cin()
```

```sh
make run   # a comment
MICROPYTHON=x make no_such_target
mpremote cp -r cspcore no_such_file : + cp main.py :
mpremote connect port bogus
mpremote cp -r tests tools :
esptool --chip esp32 --port P write-flash 0x0 x.bin
esptool --chip esp32 --port P write-it 0x0 x.bin
```
"""


def test_blocks_are_found():
    found = blocks(pathlib.Path("page.md"), PAGE)
    assert [block.words for block in found] == [
        ["python"],
        ["text"],
        ["python"],
        ["text"],
        ["python", "skip"],
        ["sh"],
    ]
    assert found[0].line == 5 and found[0].output == "one 1\n"
    assert found[2].text == 'raise ValueError("here")\n' and found[2].output is None


@pytest.mark.parametrize("interpreter", interpreters.NAMES)
def test_a_wrong_program_shows_its_line_in_the_page(tmp_path, interpreter):
    first, _, third, *_ = blocks(pathlib.Path("page.md"), PAGE)
    assert run_program(first, interpreter, tmp_path).stdout == "one 1\n"
    done = run_program(third, interpreter, tmp_path)
    assert done.returncode == 1
    assert "line {}".format(third.line) in done.stdout and "ValueError: here" in done.stdout


def test_wrong_commands_are_found():
    block = blocks(pathlib.Path("page.md"), PAGE)[-1]
    assert [understood(words) for words in commands(block)] == [
        None,
        "no such target: ['no_such_target']",
        "no such files: ['no_such_file']",
        "mpremote has no bogus",
        None,
        None,
        "esptool does not know that",
    ]


def test_the_reference_has_all_keys_and_settings():
    sys.path.insert(0, str(ROOT))
    try:
        import config
        from benchmarks import keys
    finally:
        sys.path.remove(str(ROOT))
    text = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    text = text[text.index("## config.py, main.py"):]
    first = " ".join(re.findall(r"^\| ([^|]*) \|", text, re.M))
    names = {name for name in vars(config) if name.isupper()} - {"ON_PC"}
    names.update(key for run in keys.RUNS for key in keys.of(run))
    assert [name for name in sorted(names) if "`{}`".format(name) not in first] == []
    for form in keys._FORMS["stressed_alt"]:
        assert re.search(r"`stressed_alt` \|.*`{}`".format(form), text), form
