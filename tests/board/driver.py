"""Starts the board of board.py and talks to it: with mpremote, or as a terminal would."""

import contextlib
import fcntl
import os
import pathlib
import pty
import select
import subprocess
import sys
import threading
import tty

from harness.patience import Patience, run

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
        patience = Patience(seconds)
        while wanted not in self.text:
            if patience.left() <= 0:
                raise AssertionError("no {!r} in {:.2000}".format(wanted, self.text[-2000:]))
            if select.select([self._fd], [], [], 0.2)[0]:
                self.text += os.read(self._fd, 4096).decode("utf-8", "replace")
        found, self.text = self.text.split(wanted, 1)
        return found + wanted

    def prompt(self):
        """Interrupts what runs and gets a prompt, with nothing before it unread."""
        self.send("\r\x03\x02")
        self.until("help()")
        self.until(">>> ")


class BoardProcess:
    """A board with the given folder, or image of a LittleFS, as its flash."""

    def __init__(self, flash, micropython, rom=None):
        self.flash = pathlib.Path(flash)
        words = [sys.executable, str(BOARD), str(flash), "--tied", "--micropython", micropython]
        words += [] if rom is None else ["--rom", str(rom)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
        self._log = []
        self._logged = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._plugged(0)

    def _read(self):
        for line in self._process.stdout:
            with self._logged:
                self._log.append(line.strip())
                self._logged.notify_all()

    @property
    def log(self):
        """What happened to the board: "ended STATUS", "exit", "reset" or "unplugged"; grows."""
        return [line for line in self._log if line[:1] != "/"]

    def _until(self, condition, seconds=120):
        with self._logged:
            if not self._logged.wait_for(condition, seconds):
                raise AssertionError("only {}".format(self._log))

    def _plugged(self, before):
        self._until(lambda: any(line[:1] == "/" for line in self._log[before:]))
        self.port = [line for line in self._log if line[:1] == "/"][-1]

    def _tell(self, *words):
        before = len(self._log)
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        return before

    def unplug(self, after=0, powered=False):
        """Pulls the cable, at once or after so many bytes that go to the board; on its own power
        it goes on with what it does."""
        before = self._tell("cut" if powered else "unplug", after)
        self._until(lambda: len(self._log) > before)

    def wear(self, writes):
        """Lets the board lose port and power at that write to its image, after its next reset."""
        before = self._tell("wear", writes)
        self._until(lambda: len(self._log) > before)

    def plug(self):
        """Puts the cable in again; `port` may be another one."""
        self._plugged(self._tell("plug"))

    def close(self):
        """Switches the board off; returns the exit status of its program."""
        self._process.stdin.close()
        status = self._process.wait(60)
        self._reader.join()
        self._process.stdout.close()
        return status

    def mpremote(self, *words, cwd=None, timeout=180, ok=True):
        """Runs mpremote; returns what it printed, its exit status is 0 unless ok says False."""
        done = run(
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


# What a board may log in a test: an interpreter that was killed or crashed has another status.
ORDERLY = {"ended 0", "exit", "reset"}


@contextlib.contextmanager
def boards(micropython):
    """Gives a function that switches a board on, with a flash; all end in order."""
    found = []

    def on(flash, rom=None):
        found.append(BoardProcess(flash, micropython, rom))
        return found[-1]

    yield on
    for board in found:
        assert board.close() == 0
        assert set(board.log) <= ORDERLY | {"unplugged", "cuts", "wears"}


def littlefs(path, blocks=512):
    """The path of a new image for a LittleFS of so many blocks of 4096 bytes, as yet empty."""
    path.write_bytes(b"\xff" * 4096 * blocks)
    return path


@contextlib.contextmanager
def mute():
    """The name of a port where nothing answers."""
    host, port = pty.openpty()
    tty.setraw(port)
    try:
        yield os.ttyname(port)
    finally:
        os.close(host)
        os.close(port)


@contextlib.contextmanager
def held(port):
    """Holds a port as another program would, for itself."""
    fd = os.open(port, os.O_RDWR | os.O_NOCTTY)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield
    finally:
        os.close(fd)
