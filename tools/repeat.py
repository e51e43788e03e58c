"""Runs the test suite again and again, on a machine that has other things to do.

    python tools/repeat.py --times 20
    python tools/repeat.py --times 3 --go-on --log night.log -k poison
    python tools/repeat.py --times 20 --resume --log docs/results/repeat.log    # in parts

Beside it two busy loops run, so that pytest's two workers never have a processor for themselves.
What the options below don't name goes to pytest. Each run is a line in the log; the tracebacks of
what failed stand in a file beside it. The first run that fails is the last, but for --go-on.
"""

import argparse
import contextlib
import datetime
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import commands  # noqa: E402
from harness import device  # noqa: E402

LOOP = "--busy-loop"


def busy_loop():
    """Keeps a processor busy until the standard input ends: with whoever started it."""
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    while True:
        pass


@contextlib.contextmanager
def load(n):
    """So many busy loops, until the end of the block or of this process."""
    words = [sys.executable, __file__, LOOP]
    loops = []
    try:
        for _ in range(n):
            loops.append(subprocess.Popen(words, stdin=subprocess.PIPE))
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
            loop.stdin.close()


class Run:
    """One run of the suite: how many tests passed, failed and were skipped, and what was said."""

    def __init__(self, words):
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "report.xml")
            output = pathlib.Path(folder, "output")
            command = [sys.executable, "-m", "pytest", "-q", "-n", "2"]
            self.status = self._call(command + ["--junitxml", str(report), *words], output)
            self.seconds = time.monotonic() - started
            self.output = output.read_text(encoding="utf-8", errors="replace")
            cases = xml.etree.ElementTree.parse(report).iter("testcase") if report.exists() else ()
            self._count(list(cases))

    def _call(self, command, output):
        with output.open("wb") as file:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=device.DIE_WITH_PARENT,
            )
            try:
                return process.wait()
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _count(self, cases):
        self.failures = {}  # test -> what was wrong
        self.skipped = 0
        for case in cases:
            self.skipped += case.find("skipped") is not None
            for fault in case.findall("failure") + case.findall("error"):
                name = "{}::{}".format(case.get("classname"), case.get("name"))
                text = fault.text or fault.get("message")
                self.failures[name] = self.failures.get(name, "") + text + "\n"
        self.passed = len(cases) - self.skipped - len(self.failures)
        if self.status and not self.failures:
            name = "pytest ended with status {}".format(self.status)
            self.failures[name] = self.output[-20000:]


def commit(root=ROOT):
    """The last commit that changed more than results, with a + if the files differ from it."""
    what = ["--", ".", ":!docs/results"]
    try:
        name = _git(root, "log", "-1", "--abbrev=10", "--format=%h", *what)
        return name and name + "+" * bool(_git(root, "status", "--porcelain", *what))
    except OSError:
        return ""


def _git(root, *words):
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True).stdout.strip()


def line(number, run):
    form = "{:%Y-%m-%d %H:%M} UTC  {}  run {}: "
    form += "{} passed, {} failed, {} skipped in {:.0f} s, load {:.1f}"
    now = datetime.datetime.now(datetime.timezone.utc)
    counts = (run.passed, len(run.failures), run.skipped, run.seconds, os.getloadavg()[0])
    return form.format(now, commit() or "no commit", number, *counts)


def passed_before(lines, name):
    """How many runs of a commit without changes were the last of a log, and passed."""
    n = 0
    if not name or name.endswith("+"):
        return 0  # who knows which changes those were
    for text in reversed(lines):
        if "  {}  run ".format(name) not in text or ", 0 failed, " not in text:
            break
        n += 1
    return n


def say(text, path):
    print(text, flush=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(text + "\n")


def arguments(words):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], allow_abbrev=False, epilog="The rest is pytest's."
    )
    parser.add_argument("--times", type=commands.whole(1), default=20)
    parser.add_argument("--log", type=commands.file, default=str(ROOT / "build" / "repeat.log"))
    parser.add_argument("--go-on", action="store_true", help="after a failure, too")
    parser.add_argument(
        "--resume", action="store_true",
        help="count what the log says at its end of the same sources (docs/results may differ)"
    )
    parser.add_argument("--loops", type=commands.whole(0), default=2,
                        help="that keep the machine busy")
    return parser.parse_known_args(words)


def main(words=None):
    options, rest = arguments(words)
    options.log.parent.mkdir(parents=True, exist_ok=True)
    failures = options.log.with_name(options.log.name + ".failures")
    failed = before = 0
    if options.resume and options.log.exists():
        before = passed_before(options.log.read_text(encoding="utf-8").splitlines(), commit())
    with load(options.loops):
        for number in range(before + 1, options.times + 1):
            run = Run(rest)
            text = line(number, run)
            say(text, options.log)
            if run.failures:
                failed += 1
                with failures.open("a", encoding="utf-8") as file:
                    file.write(text + "\n")
                    for name, said in run.failures.items():
                        file.write("\n{}\n{}\n".format(name, said))
                if not options.go_on:
                    break
    if failed:
        print("What failed stands in {}.".format(failures))
    return 1 if failed else 0


def _ended(number, _frame):
    sys.exit(128 + number)


if __name__ == "__main__":
    if sys.argv[1:] == [LOOP]:
        busy_loop()
    signal.signal(signal.SIGTERM, _ended)
    try:
        sys.exit(commands.ended(main))
    except KeyboardInterrupt:
        sys.exit(130)
