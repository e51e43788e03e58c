"""The host's side: an interpreter that runs networks, and what was wrong with each of them."""

import json
import os
import pathlib
import secrets
import select
import subprocess
import tempfile

from harness import amounts, interpreters
from harness.patience import Patience
from networks import law, source

SERVER = pathlib.Path(__file__).with_name("server.py")
VARIANTS = ("uapycsp", "upycsp.aio", "upycsp")
LIMIT = amounts.number("NETWORKS_LIMIT", 60)  # seconds without an answer: it hangs


class Gone(Exception):
    """The interpreter has crashed or hangs."""


class Interpreter:
    """One interpreter with one library; started when asked, and again after a crash or a hang.

    `memory` has what was in use after each request since the last start, in bytes (MicroPython)
    or blocks (CPython).
    """

    def __init__(self, name, library, path=interpreters.ROOT):
        self.name = name
        self.library = library
        self.path = path
        self.memory = []
        self._process = None
        self._errors = tempfile.TemporaryFile()

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None

    def run(self, text, times=1):
        """Run a program so often; its results. Gone if that did not end well."""
        if self._process is None:
            self._start()
        results = []
        try:
            self._process.stdin.write((json.dumps([times, text]) + "\n").encode())
            while True:
                word, rest = self._line().split(" ", 1)
                if word == "DONE":
                    self.memory.append(int(rest))
                    return results
                if word != "LOG":
                    raise Gone("the program ended by " + rest)
                results.append(json.loads(rest))
        except (Gone, BrokenPipeError, ValueError) as er:
            said = self._said()
            self.close()
            raise Gone("{} (after {} good runs)\n{}".format(er, len(results), said)) from None

    def _start(self):
        token = secrets.token_hex(4)
        self._mark = ("\x1e" + token + " ").encode()
        self._pending = b""
        self.memory = []
        self._errors.seek(0)
        self._errors.truncate()
        words = interpreters.command(self.name, "8M")
        usual = self.path == interpreters.ROOT
        words += [str(SERVER), token, self.library]
        words += interpreters.library_paths() if usual else [str(self.path)]
        env = interpreters.environment()
        env["MICROPYPATH"] = "{}:.frozen".format(self.path)
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=str(self.path),
            env=env,
            bufsize=0,
        )
        if self._line() != "READY":
            raise Gone("the server did not start\n" + self._said())

    def _line(self):
        patience = Patience(LIMIT)
        stdout = self._process.stdout.fileno()
        while b"\n" not in self._pending:
            left = patience.left()
            if left <= 0:
                raise Gone("nothing for {} s: it hangs".format(LIMIT))
            if select.select([stdout], [], [], min(left, 0.2))[0]:
                data = os.read(stdout, 1 << 20)
                if not data:
                    raise Gone("it ended with status {}".format(self._process.wait()))
                self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        if not line.startswith(self._mark):
            raise Gone("it printed {!r}".format(line[:200]))
        return line[len(self._mark) :].decode()

    def _said(self):
        self._errors.seek(0)
        return self._errors.read()[-4000:].decode("utf-8", "replace")


def faults(interpreter, network, times=1):
    """Run a network; what was wrong, as a list of sentences, and the last result."""
    text = source.program(network, interpreter.library)
    result = None
    try:
        for result in interpreter.run(text, times):
            found = law.violations(network, result)
            if found:
                return found, result
    except Gone as er:
        return [str(er)], result
    return [], result
