"""Brings the project onto a board and runs a benchmark there: what `make board` does.

    make board                                      # the only serial port; what config.py says
    make board PORT=/dev/ttyUSB0 LIB=upycsp RUN=stressed_alt SET="selects=100 runs=5"

Only what has changed is copied, as .mpy files that the board loads, else as sources. The figures
go to docs/results/boards, and stand beside those of the Unix port.
"""

import argparse
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import board_files  # noqa: E402
import board_link  # noqa: E402
import board_results  # noqa: E402
import commands  # noqa: E402
import firmware_mpy  # noqa: E402
import report_machine  # noqa: E402
from board_link import Failed, Lost, Raised  # noqa: E402

ROOT = report_machine.ROOT
sys.path.insert(0, str(ROOT))

import config  # noqa: E402
from benchmarks import keys  # noqa: E402

PACKAGES = (*firmware_mpy.PACKAGES, "benchmarks")
# What each library needs that the other does without.
NEEDS = {"upycsp": ("uthreading", "upycsp"), "uapycsp": ("ufuture", "uapycsp")}
OLDEST = (1, 11)
OLDEST_ASYNCIO = (1, 16)
SILENCE = 600   # seconds without a byte from a run, after which it is given up

# What a board says when it starts anew: MicroPython, its banner, and the ROM of an ESP32.
RESETS = (b"MPY: soft reboot", b'Type "help()" for more', b"rst:0x", b"ESP-ROM:")
_STATUS = "run ended with status "

_PROBE = """
import sys, os, gc
def _has(*names):
    for n in names:
        try:
            __import__(n)
            return True
        except ImportError:
            pass
    return False
_i = sys.implementation
_m = os.uname().machine if hasattr(os, "uname") else getattr(_i, "_machine", sys.platform)
_s = os.statvfs(os.getcwd())
gc.collect()
print(repr({"name": _i.name, "version": tuple(_i.version)[:3], "platform": sys.platform,
    "machine": _m, "micropython": sys.version.split("; ")[-1],
    "mpy": getattr(_i, "_mpy", getattr(_i, "mpy", 0)), "free": gc.mem_free(),
    "heap": gc.mem_free() + gc.mem_alloc(), "disk": _s[1] * _s[2], "disk_free": _s[1] * _s[4],
    "threads": _has("_thread"), "asyncio": _has("asyncio", "uasyncio")}))
"""


def probe(link):
    """What a board is, as a dictionary; raises Failed if it is none for this project."""
    try:
        found = board_files.eval_lines(link.run(_PROBE))[0]
    except Raised as e:
        raise Failed("The board can't say what it is: {}".format(str(e).splitlines()[-1]))
    if found["name"] != "micropython":
        raise Failed("There is {} on the board, not MicroPython.".format(found["name"]))
    found["version"] = tuple(found["version"])
    if found["version"] < OLDEST:
        raise Failed("MicroPython {} is too old: {} is the oldest that serves.".format(
            _dotted(found["version"]), _dotted(OLDEST)))
    return found


def _dotted(version):
    return ".".join(map(str, version))


def described(port, found):
    """What is to be said of a board."""
    return "{}: {}, {}\nheap {} KB, {} KB free; filesystem {} KB, {} KB free".format(
        port, found["machine"], found["micropython"], found["heap"] // 1024,
        found["free"] // 1024, found["disk"] // 1024, found["disk_free"] // 1024)


def unfit(found, lib):
    """None, or why a board can't run a library."""
    if lib == "upycsp":
        return None if found["threads"] else "upycsp needs threads, and the board has no _thread"
    if not found["asyncio"]:
        return "uapycsp needs asyncio, and the board has none"
    if found["version"] < OLDEST_ASYNCIO:
        return "uapycsp needs MicroPython {}, and the board has {}".format(
            _dotted(OLDEST_ASYNCIO), _dotted(found["version"]))
    return None


def libraries(found, wanted, default):
    """(The library to run, all that the board can run); raises Failed.

    wanted: the one asked for, or None; default: what else comes first.
    """
    able = [lib for lib in NEEDS if unfit(found, lib) is None]
    if wanted and wanted not in able:
        raise Failed("{}.".format(unfit(found, wanted)))
    if not able:
        raise Failed("{}, and {}.".format(*[unfit(found, lib) for lib in NEEDS]))
    return wanted or (default if default in able else able[0]), able


def mpy_version(number):
    """The version of .mpy files that a board loads, from its own number; None for sources.

    Up to 1.18 that number also tells of two settings that its files must have been compiled for;
    mpy-cross's own are Unicode, and no cache in the bytecode.
    """
    version = number & 0xFF
    if version == 5 and number & 0x300 != 0x200:
        return None
    return version if version in firmware_mpy.COMPILERS else None


def project(packages, version):
    """{path on the board: content} of the packages, compiled for that version, or sources."""
    if version is None:
        return {path: (ROOT / path).read_bytes() for path in firmware_mpy.sources(packages)}
    with tempfile.TemporaryDirectory() as folder:
        paths = firmware_mpy.compiled(folder, packages, version)
        return {path: (pathlib.Path(folder) / path).read_bytes() for path in paths}


def settings(run, words):
    """{benchmark: {key: value}} of a run that is asked for with key=value words; raises Failed."""
    if run not in keys.RUNS + ("quick", "all"):
        raise Failed("There is no run {}: RUN is one of {} quick all.".format(
            run, " ".join(keys.RUNS)))
    names = (run,) if run in keys.RUNS else board_results.PLOTTED
    try:
        return _settings(run, names, words)
    except keys.Usage as e:
        raise Failed("{}.".format(e))


def _settings(run, names, words):
    known = {name: keys.of(name) for name in names}
    found = {name: {} for name in names}
    for word in words:
        key, equals, text = word.partition("=")
        takers = [name for name in names if key in known[name] and key != "lib"]
        if not equals or not takers:
            raise Failed("{} takes no {}: its keys are {}.".format(run, word, " ".join(sorted(
                {key for name in names for key in known[name]} - {"lib"}))))
        for name in takers:
            keys.value_of(key, text, name)
            found[name][key] = text
    if "workers" in found:
        _complete(found["workers"])
    return found


def _complete(given):
    # A number for each work: a board has only its config.py, and takes the first n for the first.
    if "work" in given or "n" in given:
        table = _on_a_board()["SIZES"]["workers"]
        values = {key: keys.value_of(key, {**table, **given}[key], "workers")
                  for key in ("work", "n")}
        given["n"] = ",".join(str(n) for n in keys.of_each_work(table, given, values))


def _on_a_board():
    # config.py's names there.
    text = (ROOT / "config.py").read_text(encoding="utf-8")
    names = {}
    exec(re.sub(r"(?m)^ON_PC = .*", "ON_PC = False", text), names)
    return names


def configured(text, lib, run, sizes, section=""):
    """config.py's text with what was asked for at its end; section: the one of BOARDS, or ""."""
    lines = [text.rstrip("\n"), "", "# What was asked for last.", "LIB = {!r}".format(lib),
             "RUN = {!r}".format(run)]
    if section:
        lines.append("BOARD = {!r}".format(section))
    table = "QUICK" if run == "quick" else "SIZES"
    for name, values in sizes.items():
        if values:
            # It goes before what is said of any board.
            lines.append("for _sizes in [{}] + list(BOARDS.values()):\n"
                         "    _sizes.get({!r}, {{}}).update({!r})".format(table, name, values))
        # Each run's own figure is told where they are not too many for a small heap.
        lines.append('{0}[{1!r}].setdefault("samples", "yes" if int({0}[{1!r}]["runs"]) <= 100 '
                     'else "no")'.format(table, name))
    return "\n".join(lines) + "\n"


def planned(link, able, configuration, version):
    """The Plan that brings project and configuration, config.py's text, onto a board."""
    left_out = [name for other in NEEDS if other not in able for name in NEEDS[other]]
    state = board_files.State(link, PACKAGES)
    files = project([name for name in PACKAGES if name not in left_out], version)
    wanted = {state.place + path: data for path, data in files.items()}
    plain = {name: (ROOT / name).read_bytes() for name in board_files.OWN}
    wanted["main.py"] = board_files.signed(plain["main.py"])
    wanted["config.py"] = board_files.signed(configuration.encode())
    return board_files.Plan(link, state, wanted, known=plain.values())


def deploy(link, plan):
    """Does it, and says what."""
    for name, backup in plan.kept.items():
        print("{} on the board is not of make board: it is kept there as {}".format(name, backup))

    def progress(number, path):
        if sys.stdout.isatty():
            print("\r{:<79}".format("copying {} of {}: {}".format(
                number + 1, len(plan.changed), path))[:80], end="", flush=True)

    board_files.bring(link, plan, progress)
    if sys.stdout.isatty():
        print("\r{:<79}\r".format(""), end="")
    print("copied {} of {} files, {} bytes{}".format(
        len(plan.changed), len(plan.wanted), plan.bytes,
        "; removed {} others".format(len(plan.stale)) if plan.stale else ""), flush=True)


class Interrupted(Failed):
    """The user has had enough."""

    status = 130


class _Reset(Exception):
    """The board has started anew."""


class _Output:
    """Takes a run's output byte by byte, shows what is for people, and keeps all of it."""

    def __init__(self):
        self.text = ""
        self._part = b""    # since the last return, which stands before a newline, too
        self._line = ""     # the last part of this line that is not blank
        self._shows_progress = sys.stdout.isatty()

    def __call__(self, byte):
        if byte == b"\x04":
            return
        if byte not in b"\r\n":
            self._part += byte
            if any(mark in self._part for mark in RESETS):
                raise _Reset
            return
        part = self._part.decode("utf-8", "replace")
        self._part = b""
        if part.strip():
            self._line = part.rstrip()
        if byte == b"\n":
            self._show(self._line + "\n")
            self.text += self._line + "\n"
            self._line = ""
        elif self._shows_progress and part:
            self._show(part + "\r")

    def _show(self, text):
        if not text.startswith(("RESULT ", "SAMPLES ", _STATUS)):
            sys.stdout.write(text)
            sys.stdout.flush()


def run(link, silence=SILENCE):
    """Runs main.py; what it printed. Raises Failed if it did not end well."""
    link.doing = "during the run"
    link.start()
    output = _Output()
    code = "import main\nprint({!r} + str(main.main([])))".format(_STATUS)
    try:
        error = link.follow(code, output, silence)
        lines = output.text.splitlines()
        if not error and not any(line.startswith(_STATUS) for line in lines):
            raise _Reset    # by a SystemExit
    except _Reset:
        raise Failed("The board reset itself during the run: is its power supply too weak, or "
                     "does a watchdog run? No figure was kept.")
    except Lost as e:
        raise Failed("{} No figure was kept.".format(e))
    except KeyboardInterrupt:
        stopped = link.interrupt()
        raise Interrupted("Interrupted; the board {}.".format(
            "is at its prompt" if stopped else "may still run: reset it"))
    if error:
        print(error, end="")
        raise Failed("The run raised {}".format(error.strip().splitlines()[-1]))
    if lines[-1] != _STATUS + "0":
        said = [line for line in lines if line and not line.startswith(_STATUS)]
        raise Failed("The run failed: {}".format(said[-1] if said else "it said nothing"))
    return output.text


def kept(found, version, text, out, old):
    """Keeps the figures of a run, and shows them beside the Unix port's."""
    about = dict(report_machine.checkout(), mpy=version)
    new = board_results.rows_of(text, about)
    rows = board_results.merged(old, new)
    board = {name: found[name] for name in ("machine", "platform", "micropython", "heap", "disk")}
    board_results.save(out, board, rows)
    unix = board_results.unix_rows()
    print("\n" + board_results.table(new, unix) + "\n")
    for path in [out, *board_results.plots(out, found["machine"], rows, unix)]:
        print("wrote", path)


def _words(args):
    words = args.set.split()
    if args.n:
        words.insert(0, "n=" + args.n)
    return words


def ended(command):
    """The exit status of a command on a board; what it raises is told in one sentence."""
    try:
        command()
    except (Failed, firmware_mpy.Failed) as e:
        print(re.sub(r"\s*\n\s*", " ", str(e)), file=sys.stderr)
        return getattr(e, "status", 1)
    except Raised as e:
        print("The board could not do what it was asked for: {}; run the command again.".format(
            str(e).splitlines()[-1]), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; run the command again.", file=sys.stderr)
        return 130
    return 0


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", default="", help="default: the only one there is")
    parser.add_argument("--lib", default="", help="default: config.py's, if the board can run it")
    parser.add_argument("--run", default="", help="which benchmark; default: config.py's")
    parser.add_argument("--n", default="", help="messages of a run")
    parser.add_argument("--set", default="", help="other keys of the run: 'runs=5 delta=seq'")
    parser.add_argument("--board", default="", help="a section of config.py's BOARDS")
    parser.add_argument("--mpy", default="", help="no: copy sources")
    parser.add_argument("--out", type=commands.file,
                        help="JSON file; default: one in docs/results/boards")
    parser.add_argument("--wait", type=commands.seconds, default=board_link.SECONDS,
                        help="seconds that a board may take to answer")
    args = parser.parse_args(arguments)
    args.run = args.run or config.RUN
    return ended(lambda: _benchmark(args))


def _benchmark(args):
    sizes = settings(args.run, _words(args))
    if args.lib not in ("", *NEEDS):
        raise Failed("There is no library {}: LIB is {}.".format(args.lib, " or ".join(NEEDS)))
    if args.board not in ("", *config.BOARDS):
        raise Failed("There is no section {}: BOARD is {}.".format(
            args.board, " or ".join(sorted(config.BOARDS))))
    if args.mpy not in ("", "yes", "no"):
        raise Failed("MPY is yes or no, not {}.".format(args.mpy))
    with board_link.Link(board_link.choose(args.port), args.wait) as link:
        link.start()
        found = probe(link)
        print(described(link.port, found))
        lib, able = libraries(found, args.lib, config.LIB)
        version = None if args.mpy == "no" else mpy_version(found["mpy"])
        if args.mpy == "yes" and version is None:
            raise Failed("The board loads no .mpy files that can be made here.")
        out = args.out or board_results.path_of(found["machine"])
        old = board_results.stored(out, found["machine"])
        print("{}, {}; {}".format(lib, args.run, "sources" if version is None else
                                  ".mpy files of version {}".format(version)), flush=True)
        text = (ROOT / "config.py").read_text(encoding="utf-8")
        text = configured(text, lib, args.run, sizes, args.board)
        deploy(link, planned(link, able, text, version))
        text = run(link)
    kept(found, version, text, out, old)


if __name__ == "__main__":
    sys.exit(commands.ended(main))
