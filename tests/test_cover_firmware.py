"""Firmware that asks no module for a name it lacks (as Pycom's) gets a package all at once."""

import subprocess

import pytest

from harness import interpreters, patience

PACKAGES = ("cspcore", "ufuture", "uthreading", "uapycsp", "upycsp")
NETWORKS = {
    "ufuture": """
from ufuture import gather, sleep_ms
try:
    import asyncio
except ImportError:
    import uasyncio as asyncio
async def one(n):
    await sleep_ms(1)
    return n
async def main():
    print(await gather(one(1), one(2)))
asyncio.run(main())
""",
    "uapycsp": """
from uapycsp import Alternative, BufferedChannel, Channel, Timer, process, run
@process
async def gives(cout):
    await cout(1)
@process
async def takes(cin):
    g, v = await Alternative(cin, Timer(seconds=30)).select()
    return v
for kind in (Channel, BufferedChannel):
    ch = kind("c")
    got = run(takes(ch.read), gives(ch.write))
print([got[0], 2])
""",
    "upycsp": """
from upycsp import Alternative, BufferedChannel, Channel, Timer, process, run
@process
def gives(cout):
    cout(1)
@process
def takes(cin):
    g, v = Alternative(cin, Timer(seconds=30)).select()
    return v
for kind in (Channel, BufferedChannel):
    ch = kind("c")
    got = run(takes(ch.read), gives(ch.write))
print([got[0], 2])
""",
}
SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import {package}
names = dir({package})
print([n for n in {package}.__all__ if n not in names and n != "plugnplay"])
print({package}.__file__.startswith({folder!r}))
{network}
"""


@pytest.fixture(scope="module")
def without_getattr(tmp_path_factory):
    """A copy of the packages in which no module is asked for names."""
    folder = tmp_path_factory.mktemp("firmware")
    for package in PACKAGES:
        (folder / package).mkdir()
        for path in (interpreters.ROOT / package).glob("*.py"):
            text = path.read_text(encoding="utf-8")
            if path.name == "__init__.py":
                text = text.replace("__getattr__(", "_load(")
            (folder / package / path.name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("package", sorted(NETWORKS))
@pytest.mark.parametrize("name", interpreters.NAMES)
def test_without_module_getattr_a_package_is_there_at_once_and_works(
    name, package, without_getattr
):
    if interpreters.command(name) is None:
        pytest.skip("no MicroPython")
    script = SCRIPT.format(folder=str(without_getattr), package=package, network=NETWORKS[package])
    done = patience.run(
        [*interpreters.command(name), "-c", script],
        cwd=without_getattr,
        env=interpreters.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert (done.stdout, done.stderr) == ("[]\nTrue\n[1, 2]\n", "")
