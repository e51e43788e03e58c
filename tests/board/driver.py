"""Starts the board of board.py and talks to it: with mpremote, or as a terminal would."""

import contextlib
import os
import pathlib
import select
import subprocess
import sys
import threading
import time

BOARD = pathlib.Path(__file__).with_name("board.py")


class Terminal:
    """What a terminal program does with a port: keys go out, text comes in."""

    def __init__(self, port):
        self._fd = os.open(port, os.O_RDWR | os.O_NOCTTY)
        self.text = ""  # what was read since the last match

    def close(self):
        os.close(self._fd)

    def send(self, keys):
        os.write(self._fd, keys.encode())

    def until(self, wanted, seconds=120):
        """Reads until the wanted text came; returns all up to its end."""
        deadline = time.monotonic() + seconds
        while wanted not in self.text:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._fd], [], [], left)[0]:
                raise AssertionError("no {!r} in {:.2000}".format(wanted, self.text[-2000:]))
            self.text += os.read(self._fd, 4096).decode("utf-8", "replace")
        found, self.text = self.text.split(wanted, 1)
        return found + wanted

    def prompt(self):
        """Interrupts what runs and gets a prompt, with nothing before it unread."""
        self.send("\r\x03\x02")
        self.until("help()")
        self.until(">>> ")


class BoardProcess:
    """A board with the given folder as its flash."""

    def __init__(self, flash, micropython):
        self.flash = pathlib.Path(flash)
        words = [sys.executable, str(BOARD), str(flash), "--tied", "--micropython", micropython]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
        self.port = self._process.stdout.readline().strip()
        self._log = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._log.append(line.strip())

    @property
    def log(self):
        """What happened to the board: "ended STATUS", "exit" or "reset"; grows."""
        return list(self._log)

    def close(self):
        """Switches the board off; returns the exit status of its program."""
        self._process.stdin.close()
        status = self._process.wait(10)
        self._reader.join()
        self._process.stdout.close()
        return status

    def mpremote(self, *words, cwd=None, timeout=180, ok=True):
        """Runs mpremote; returns what it printed, its exit status is 0 unless ok says False."""
        done = subprocess.run(
            [sys.executable, "-m", "mpremote", "connect", self.port, *words],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
        )
        assert (done.returncode == 0) == ok, done.stdout
        return done.stdout

    @contextlib.contextmanager
    def terminal(self):
        terminal = Terminal(self.port)
        try:
            yield terminal
        finally:
            terminal.close()
