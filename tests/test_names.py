"""Whatever is imported first, the names of a library are what they should be.

The file process.py and the function `process` share a name: importing the file binds it to the
file, until the package mends that.
"""

import subprocess

import pytest

from harness import interpreters, patience

MODULES = [
    "%s.%s" % (library, group)
    for library in ("uapycsp", "upycsp")
    for group in (
        "plugnplay meeting pool bridge adapters guards timers virtual within closing".split()
    )
] + ["upycsp.aio", "uapycsp.spawn"]


def printed(interpreter, program):
    """What a program prints, with its complaints."""
    command = interpreters.command(interpreter)
    if command is None:
        pytest.skip("no MicroPython")
    done = patience.run(
        [*command, "-c", program],
        cwd=interpreters.ROOT,
        env=interpreters.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return done.stdout


@pytest.mark.parametrize("interpreter", interpreters.NAMES)
def test_process_is_the_function(interpreter):
    for module in MODULES:
        library = module.split(".")[0]
        program = "import %s\nfrom %s import process\nprint(hasattr(process, 'Process'))" % (
            module,
            library,
        )
        text = printed(interpreter, program)
        assert text == "False\n", (module, text)


@pytest.mark.parametrize("interpreter", interpreters.NAMES)
def test_adapters_of_threads_load_nothing_of_tasks(interpreter):
    foreign = "[n for n in sys.modules if n.split('.')[0] in ('asyncio', 'uasyncio', 'uapycsp')]"
    program = "import sys\nimport upycsp.adapters\nprint(" + foreign + ")"
    assert printed(interpreter, program) == "[]\n"
