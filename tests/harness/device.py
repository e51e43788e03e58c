"""One interpreter process that runs the functions of one test file, one after another.

The process is in one of three states: not started, running (it waits for a request), ended.
A request is answered by a verdict, or the process ends, or the time limit passes; in the last
two cases the process is gone and the next request starts a fresh one.
"""

import collections
import ctypes
import json
import os
import pathlib
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import interpreters, strip, tracebacks
from .patience import Patience

LIBRARIES = {"uapycsp": "uapycsp", "aio": "upycsp.aio", "upycsp": "upycsp"}
RUNNER = tracebacks.RUNNER
# A file whose functions hang one by one must not hold up the others for ever.
MOST_HANGS = 3
EXIT_SECONDS = 30
OUTPUT_KEPT = 64 * 1024

# Linux ends the interpreter if pytest is killed; a function that hangs would stay for ever.
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1
# What a child calls before it becomes a program, to end with this process.
DIE_WITH_PARENT = _PRCTL and (lambda: _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL))

# kind: "pass", "fail" or "skip"; text: the traceback or the reason; output: what was printed.
Verdict = collections.namedtuple("Verdict", "kind text output")


def hear_interrupts():
    """Let programs that this process starts be interrupted by SIGINT.

    A shell's background job begins with the signal ignored, and so would all that it starts.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _Silence(Exception):
    """No answer came; `why` is "ended" or "late"."""

    def __init__(self, why):
        self.why = why


class Device:
    """Runs functions of `test`, a path, by an interpreter's name, under a variant or None.

    packages: a folder of .mpy files that come before the sources, None or interpreters.packages().
    """

    def __init__(self, test, interpreter, variant=None, limit=60, heap=None, packages=None):
        self.test = test
        self.interpreter = interpreter
        self.variant = variant
        self.limit = limit
        self.heap = heap
        self.packages = packages
        self._process = None
        self._folder = None
        self._hangs = 0
        self._before = None  # the function asked for last

    def ask(self, how, name, within=None):
        """Runs one function and returns its Verdict; how is a word of the runner's.

        within: a limit for this one, in seconds.
        """
        if self._hangs >= MOST_HANGS:
            text = "not run: {} functions of this file hung".format(MOST_HANGS)
            return Verdict("fail", text, "")
        try:
            if self._process is None:
                unfit = self._start()
                if unfit:
                    return unfit
            return self._request(how, name, within)
        except KeyboardInterrupt:
            if self._process:
                self._stop()
            raise
        except OSError as error:
            return Verdict("fail", "the interpreter can't be started: {}".format(error), "")

    def close(self):
        """Lets the process end; returns None, or what was wrong with that."""
        problem = None
        if self._process is not None:
            self._process.stdin.close()
            try:
                while True:
                    self._message(Patience(EXIT_SECONDS))
            except _Silence as silence:
                problem = self._end_problem(silence.why)
            self._stop()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        return problem

    def _patience(self):
        # The time limit is for all requests together, without the time between them.
        return Patience(self._left)

    # Starting and ending

    def _start(self):
        paths = [self.test.parent, interpreters.ROOT]
        if self.variant:
            paths.insert(1, self.test.parent.parent / "rules")  # what all of them share
        if self.variant == "upycsp":
            self._folder = self._folder or tempfile.mkdtemp(prefix="plain")
            for helpers in paths[1::-1]:
                strip.stage(self.test, helpers, self._folder)
            paths[:2] = [pathlib.Path(self._folder)]
        if self.packages:
            paths.insert(-1, self.packages)
        token = secrets.token_hex(4)
        words = interpreters.command(self.interpreter, self.heap) + [str(RUNNER), token]
        words += [self.test.stem, LIBRARIES.get(self.variant, "")] + [str(path) for path in paths]
        self._mark = ("\x1e" + token + " ").encode()
        self._pending = b""
        self._output = b""
        self._before = None
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=str(interpreters.ROOT),
            env=interpreters.environment(),
            bufsize=0,
            start_new_session=True,
            preexec_fn=DIE_WITH_PARENT,
        )
        self._left = self.limit
        try:
            word, *text = self._message(self._patience())
        except _Silence as silence:
            return self._lost("while the file was imported", silence.why)
        if word == "ready":
            return None
        output = self._printed()
        self._stop()
        if word == "unfit":
            return Verdict("skip", text[0], output)
        return Verdict("fail", "the file can't be imported\n" + self._tidy(text[-1]), output)

    def _stop(self):
        process, self._process = self._process, None
        # The whole group: what the tests started ends with them.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def _end_problem(self, why):
        said = "after {}".format(self._before or "the import")
        if why == "late":
            return "the process did not end within {} s {}\n{}".format(
                EXIT_SECONDS, said, self._printed()
            )
        status = self._process.wait()
        if status == 0:
            return None
        return "{} at its end, {}\n{}".format(_status(status), said, self._printed())

    # One request

    def _request(self, how, name, within):
        self._output = b""
        before, self._before = self._before, name
        started = time.monotonic()
        if within is not None:
            self._left = within
        patience = self._patience()
        try:
            self._process.stdin.write("{} {}\n".format(how, name).encode())
        except BrokenPipeError:
            pass  # It has ended already; reading says how.
        moment = "before {} began (after {})".format(name, before or "the import")
        try:
            while True:
                word, *text = self._message(patience)
                if word == "start":
                    moment = "in {}".format(name)
                    continue
                self._left = patience.left()
                text = self._tidy(text[1]) if word == "fail" else "".join(text[1:])
                return Verdict(word, text, self._printed())
        except _Silence as silence:
            ran = time.monotonic() - started
            return self._lost("{}, which ran {:.1f} s".format(moment, ran), silence.why)

    def _lost(self, moment, why):
        """The verdict on a process that answers no more; ends it."""
        text = ""
        if why == "ended":
            text = "{} {}".format(_status(self._process.wait()), moment)
        else:
            self._hangs += 1
            text = "the time limit of {} s for the file passed {}".format(self.limit, moment)
            text += self._interrupted()
        output = self._printed()
        self._stop()
        return Verdict("fail", text, output)

    def _interrupted(self):
        """Where a hanging function was, if the interpreter can still say."""
        os.kill(self._process.pid, signal.SIGINT)
        try:
            word, *text = self._message(Patience(4))
        except _Silence:
            return ""
        return "; there it was:\n" + self._tidy(text[-1]) if word in ("fail", "broken") else ""

    # What the process says

    def _message(self, patience):
        """The next line that starts with the mark; what comes before it is output."""
        stdout = self._process.stdout.fileno()
        while True:
            start = self._pending.find(self._mark)
            end = self._pending.find(b"\n", start)
            if start >= 0 and end >= 0:
                self._keep(self._pending[:start])
                line = self._pending[start + len(self._mark) : end]
                self._pending = self._pending[end + 1 :]
                return _words(line.decode("utf-8", "replace"))
            if start < 0:
                # All but what may be the beginning of a mark.
                self._keep(self._pending[: -len(self._mark)])
                self._pending = self._pending[-len(self._mark) :]
            left = patience.left()
            if left <= 0:
                raise _Silence("late")
            # In slices, because a process's own children may keep its output open.
            ready = select.select([stdout], [], [], min(left, 0.2))[0]
            if ready:
                data = os.read(stdout, 65536)
                if not data:
                    raise _Silence(self._ending(patience))
                self._pending += data
            elif self._process.poll() is not None:
                raise _Silence("ended")

    def _ending(self, patience):
        try:
            self._process.wait(max(0, patience.left()))
        except subprocess.TimeoutExpired:
            return "late"
        return "ended"

    def _keep(self, data):
        self._output = (self._output + data)[-OUTPUT_KEPT:]

    def _printed(self):
        data, self._output = self._output, b""
        if self._mark not in self._pending:
            data, self._pending = data + self._pending, b""
        return data.decode("utf-8", "replace")

    def _tidy(self, text):
        """A traceback with the paths of the repository, source lines, without the runner."""
        if self._folder:
            text = text.replace(self._folder + os.sep, str(self.test.parent) + os.sep)
        return tracebacks.tidy(text)


def _words(line):
    try:
        return json.loads(line)
    except ValueError:
        # A thread has printed into a long answer.
        return ["fail", "", line]


def _status(status):
    if status < 0:
        return "the interpreter died of {}".format(signal.Signals(-status).name)
    return "the interpreter ended with exit status {}".format(status)
