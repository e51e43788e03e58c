"""The soak: many networks at once for as long as wanted; nothing may be lost, grow, crash, hang.

    tools/soak.py [--seconds N] [--messages N] [--libs upycsp,uapycsp,both] [--seed N] [--log FILE]

Starts an interpreter with tests/soak/program.py for each of the libraries, and watches it: its
counts of messages, its heap and its threads. The exit status is 1 after any loss, growth, crash
or hang, and if a thread is left at work. `both` runs upycsp's networks in threads beside
uapycsp's in the main thread.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import commands  # noqa: E402
from harness import device, interpreters, strip  # noqa: E402

SOAK = ROOT / "tests" / "soak"
LIBRARIES = ("upycsp", "uapycsp", "both")
MARK = "SOAK "
HEAP = "8M"
START_SECONDS = 60
END_SECONDS = 60  # to end after it was told to
LOG_LINES = 120

# Growth: the least of the last third is so much above that of the second; the first warms up. What
# leaks is there at each look; a few large networks at one time, on a busy machine, are soon gone.
# The figures are for LEAST_LOOKS.
LEAST_LOOKS = 9
HEAP_FACTOR = 1.2
HEAP_ROOM = {"micropython": 128 * 1024, "cpython": 4000}  # bytes, blocks

# Threads are kept: their number is the most that there were at one time, and rises by chance, the
# later the slower the machine is. In each slot there are at most its process, the ten of a crowd,
# and the two of a bridge to the other library; a soak of any length needs no more.
THREADS_MOST = 8 * (1 + 10 + 2)

_SILENCE = object()

Look = collections.namedtuple("Look", "ms messages networks heap threads rss cpu runs")


def growth(name, values, factor, room):
    """One line if the values have grown over time, else None."""
    if len(values) < LEAST_LOOKS:
        return None
    third = len(values) // 3
    before = min(values[third : 2 * third])
    after = min(values[-third:])
    # The more looks, the less of a difference is chance.
    most = (before * (factor - 1) + room) / (len(values) / LEAST_LOOKS) ** 0.25
    if after - before <= most:
        return None
    return "{} grew from {:.0f} to {:.0f}".format(name, before, after)


def too_many(threads):
    """One line if there were more threads than the networks can use, else None."""
    if threads <= THREADS_MOST:
        return None
    return "{} threads, {} at most are of use".format(threads, THREADS_MOST)


class Soak:
    """One run of one interpreter."""

    def __init__(self, options, library, show):
        self.options = options
        self.library = library
        self.show = show
        self.looks = []
        self.faults = []
        self.end = None
        self.output = collections.deque(maxlen=40)  # what was printed besides

    def run(self):
        """Whether nothing was wrong; `faults` says what was."""
        with tempfile.TemporaryDirectory(prefix="soak") as folder:
            source = (SOAK / "networks.py").read_text(encoding="utf-8")
            plain = strip.strip(source.replace("import uapycsp as csp", "import upycsp as csp"))
            pathlib.Path(folder, "networks_plain.py").write_text(plain, encoding="utf-8")
            self.process = subprocess.Popen(
                self._command(folder),
                cwd=str(ROOT),
                env=interpreters.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=device.DIE_WITH_PARENT,
            )
            try:
                self._watch()
            finally:
                self._kill()
        self._judge()
        return not self.faults

    def _command(self, folder):
        o = self.options
        words = interpreters.command(o.interpreter, HEAP) + [str(SOAK / "program.py")]
        words += [self.library, o.seed, o.seconds, o.messages, o.limit, o.look_ms]
        words += [o.looks, o.fault]
        return [str(w) for w in [*words, SOAK, folder, *interpreters.library_paths()]]

    # Watching

    def _watch(self):
        lines = queue.Queue()
        reader = threading.Thread(target=self._read, args=(lines,), daemon=True)
        reader.start()
        limit = START_SECONDS
        while True:
            line = self._next(lines, limit)
            if line is _SILENCE:
                self._hangs(lines, limit)
                return
            if line is None:
                break
            limit = self._take(line)
        status = self.process.wait()
        if status < 0:
            self.faults.append("the interpreter died of " + signal.Signals(-status).name)
        elif status:
            self.faults.append("the interpreter ended with exit status {}".format(status))
        elif self.end is None and not self.faults:
            self.faults.append("the interpreter ended too early")

    def _next(self, lines, limit):
        # By the second: a machine that stood still for a while is no hang.
        for _ in range(limit):
            try:
                return lines.get(timeout=1)
            except queue.Empty:
                pass
        return _SILENCE

    def _read(self, lines):
        for line in self.process.stdout:
            lines.put(line.decode("utf-8", "replace").rstrip())
        lines.put(None)

    def _take(self, line):
        """Takes a line; how many seconds the next one may take."""
        before, mark, text = line.partition(MARK)
        if before or not mark:
            self.output.append(before or line)
        try:
            words = json.loads(text) if mark else {"kind": "other"}
        except ValueError:  # a thread that died has printed into it
            self.output.append(text)
            words = {"kind": "other"}
        kind = words.pop("kind")
        if kind == "look":
            self.looks.append(Look(rss=self._rss(), cpu=self._cpu(), **words))
            self.show(self)
        elif kind == "end":
            self.end = words
        elif kind == "hang":
            self.faults.append("hang: " + words["text"] + self._lately())
            return 3
        elif kind == "fault" and words["text"] not in self.faults:
            self.faults.append(words["text"])
        stopping = self.faults or self._is_over()
        return END_SECONDS if stopping else self.options.limit

    def _is_over(self):
        o = self.options
        last = self.looks[-1] if self.looks else None
        over = last and last.ms >= o.seconds * 1000 and len(self.looks) >= o.looks
        return over or last and o.messages and last.messages >= o.messages

    def _hangs(self, lines, limit):
        if not self.faults:
            text = "hang: no sign of life in {} s".format(limit)
            if self.looks:
                text += ", {:.1f} s of processor time".format(self._cpu() - self.looks[-1].cpu)
            self.faults.append(text)
        # Ctrl-C may yet tell where the main thread is.
        self.process.send_signal(signal.SIGINT)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            try:
                line = lines.get(timeout=0.2)
            except queue.Empty:
                continue
            if line is None:
                return
            self._take(line)

    def _kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def _rss(self):
        """Kilobytes of memory that the process has, 0 where that can't be told."""
        try:
            status = pathlib.Path("/proc", str(self.process.pid), "status").read_text()
        except OSError:
            return 0
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found.group(1)) if found else 0

    def _cpu(self):
        """Seconds of processor time that the process has had, 0 where that can't be told."""
        try:
            stat = pathlib.Path("/proc", str(self.process.pid), "stat").read_text()
        except OSError:
            return 0
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _lately(self):
        """What happened meanwhile: a hang differs from a machine that is too busy."""
        now = self.looks[-1]
        then = [k for k in self.looks if now.ms - k.ms >= self.options.limit * 1000]
        then = then[-1] if then else self.looks[0]
        form = "\nin the last {:.1f} s: {} messages, {:.1f} s of processor time, {} looks"
        looks = len([k for k in self.looks if k.ms > then.ms])
        return form.format(
            (now.ms - then.ms) / 1000, now.messages - then.messages, now.cpu - then.cpu, looks
        )

    # Judging

    def _judge(self):
        heaps = [look.heap for look in self.looks]
        threads = [look.threads for look in self.looks]
        room = HEAP_ROOM[self.options.interpreter]
        for line in (
            growth("the heap", heaps, HEAP_FACTOR, room),
            too_many(max(threads, default=0)),
        ):
            if line:
                self.faults.append(line)
        if self.end and self.end["busy"] and not self.faults:
            self.faults.append("threads at work after the end: {}".format(self.end["busy"]))

    def messages(self):
        return self.end["messages"] if self.end else self.looks[-1].messages if self.looks else 0

    def networks(self):
        return self.end["networks"] if self.end else self.looks[-1].networks if self.looks else 0

    def report(self):
        """Lines that tell what was wrong, and what ran then."""
        lines = ["FAULT {}: {}".format(self.library, fault) for fault in self.faults]
        if self.faults:
            lines.append("seed {}; at last there ran:".format(self.options.seed))
            for kind, seed in self.looks[-1].runs if self.looks else ():
                lines.append("  {} seed {}".format(kind, seed))
            lines += ["printed: " + line for line in self.output if line]
        return lines


class Screen:
    """Progress on a terminal, and a log of one line per interval."""

    def __init__(self, log, seconds):
        self.log = log
        self.every = max(1, seconds // LOG_LINES) * 1000
        self.next = 0
        self.terminal = sys.stdout.isatty()

    def begin(self):
        self.next = 0

    def show(self, soak):
        line = self.line(soak)
        look = soak.looks[-1]
        if self.terminal:
            print("\r" + line + "\x1b[K", end="", flush=True)
        if look.ms >= self.next:
            self.next = look.ms + self.every
            self.write(line)

    def line(self, soak):
        look = soak.looks[-1]
        return (
            "{:7} {:6.0f} s {:>12,} messages {:>9,} networks, "
            "heap {:>9,}, {:3} threads, {:,} kB resident"
        ).format(
            soak.library,
            look.ms / 1000,
            look.messages,
            look.networks,
            look.heap,
            look.threads,
            look.rss,
        )

    def say(self, line):
        print(("\r\x1b[K" if self.terminal else "") + line, flush=True)
        self.write(line)

    def write(self, line):
        if self.log:
            self.log.write(line + "\n")
            self.log.flush()


def version(interpreter):
    words = interpreters.command(interpreter) + ["-c", "import sys; print(sys.version)"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30)
    return done.stdout.strip().splitlines()[0]


def machine():
    name = platform.machine()
    if shutil.which("lscpu"):
        text = subprocess.run(["lscpu"], capture_output=True, text=True, timeout=30).stdout
        found = re.search(r"Model name:\s*(.+)", text)
        name = found.group(1) if found else name
    return "{}, {} processors, {}".format(name, os.cpu_count(), platform.system())


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=commands.whole(1), default=60,
                        help="for all libraries together")
    parser.add_argument("--messages", type=commands.whole(0), default=0,
                        help="that end a library's part earlier, 0 for as many as there are")
    parser.add_argument("--libs", default=list(LIBRARIES), type=commands.among(LIBRARIES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--interpreter", choices=interpreters.NAMES, default="micropython")
    parser.add_argument("--log", type=argparse.FileType("w"))
    parser.add_argument("--limit", type=commands.whole(1), default=30,
                        help="seconds that are a hang")
    parser.add_argument("--look-ms", type=commands.whole(1), default=1000,
                        help="time between two looks")
    parser.add_argument("--looks", type=commands.whole(0), default=0,
                        help="how often to look at least")
    # What the program does wrong, for tests: loss, stuck, mute, leak, threads, thread, crash.
    parser.add_argument("--fault", default="-", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    options.seconds = max(1, options.seconds // len(options.libs))
    return options


def main(words=None):
    options = arguments(words)
    problem = interpreters.missing(options.interpreter)
    if problem:
        sys.exit(problem)
    screen = Screen(options.log, options.seconds * len(options.libs))
    now = datetime.datetime.now(datetime.timezone.utc)
    screen.say("soak of {:%Y-%m-%d %H:%M} UTC, seed {}".format(now, options.seed))
    screen.say("{}, heap {}".format(version(options.interpreter), HEAP))
    screen.say(machine())
    soaks = []
    for library in options.libs:
        soak = Soak(options, library, screen.show)
        screen.begin()
        soaks.append(soak)
        soak.run()
        for line in soak.report():
            screen.say(line)
    for soak in soaks:
        screen.say(
            "{}: {:,} messages in {:,} networks, {:.0f} s: {}".format(
                soak.library,
                soak.messages(),
                soak.networks(),
                soak.looks[-1].ms / 1000 if soak.looks else 0,
                "FAILED" if soak.faults else "nothing lost, doubled or left; no growth, no hang",
            )
        )
    bad = sum(len(soak.faults) for soak in soaks)
    screen.say(
        "total: {:,} messages, {}".format(
            sum(s.messages() for s in soaks), "{} faults".format(bad) if bad else "no fault"
        )
    )
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(commands.ended(main))
    except KeyboardInterrupt:
        sys.exit(130)
