"""A board at a serial port, spoken to through mpremote's own modules.

    with Link(port) as link:
        link.start()                    # ends what runs there, resets; a raw prompt
        print(link.run("print(6*7)"))

One connection lasts from the beginning to the end, so no other program comes between, and what
goes wrong arrives as an exception: mpremote's command would open the port for each step anew, and
say what went wrong to a reader alone.
"""

import contextlib
import errno
import io
import os
import struct
import termios
import time

import serial
import serial.tools.list_ports
from mpremote.transport import TransportError, TransportExecError
from mpremote.transport_serial import SerialTransport

SECONDS = 20        # that a board may take to answer
STEP = 60           # that a step of our own may take without a sign of life
RESTART = 60        # that boot.py may take after a soft reset
_PROMPT = b"raw REPL; CTRL-B to exit\r\n>"

# What a port raises when its device is gone, and mpremote when an answer breaks off.
_BROKEN = (OSError, termios.error, struct.error, TransportError)


class Failed(Exception):
    """What went wrong, in a sentence; `status` is the exit status for it."""

    status = 1


class Lost(Failed):
    """The port closed, or nothing came from it any more."""


class Raised(Exception):
    """What code on the board raised; the text is its traceback."""


def ports():
    """The serial ports of this machine, those of USB alone if there are any."""
    found = sorted(serial.tools.list_ports.comports())
    return [p for p in found if p.vid is not None] or found


def choose(port, found=None):
    """The port that was asked for, else the only one of those found; raises Failed."""
    if port:
        return port
    found = ports() if found is None else found
    if not found:
        raise Failed("There is no serial port: plug the board in, with a cable that carries data, "
                     "or name its port: make board PORT=/dev/ttyUSB0")
    if len(found) > 1:
        raise Failed("There are several serial ports, name one (PORT=...): {}".format(
            ", ".join("{} ({})".format(p.device, p.description) for p in found)))
    return found[0].device


def _refused(port):
    # Why a port can't be opened, in a sentence.
    if "://" not in port and not os.path.exists(port):
        others = ", ".join(p.device for p in ports())
        return "There is no port {}{}.".format(
            port, "; there is {}".format(others) if others else "; is the board plugged in?")
    try:
        serial.serial_for_url(port, exclusive=True).close()
    except OSError as e:
        if e.errno in (errno.EAGAIN, errno.EBUSY):
            return ("{} is in use by another program: close that (a terminal, an editor) and try "
                    "again.".format(port))
        if e.errno in (errno.EACCES, errno.EPERM):
            return ("You may not open {}: become a member of the group that may (Debian, Ubuntu: "
                    "sudo usermod -a -G dialout $USER), and log in again.".format(port))
        return "{} is no serial port that can be opened{}.".format(
            port, ": " + e.strerror if e.strerror else "")
    except ValueError as e:
        return "{} is no port: {}.".format(port, e)
    return "{} can't be opened.".format(port)


class Link:
    """A connection to a board; `doing` says what for, for the sentence in case it breaks."""

    def __init__(self, port, seconds=SECONDS):
        self.port = port
        self.doing = "while it was asked what it is"
        self._seconds = seconds
        try:
            self.transport = SerialTransport(port, timeout=1)
        except (TransportError, termios.error, ValueError):
            raise Failed(_refused(port))
        self._serial = self.transport.serial
        self._serial.write_timeout = STEP
        self._serial.inter_byte_timeout = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Leaves a prompt for people, if there still is a board.
        with contextlib.suppress(*_BROKEN):
            if self.transport.in_raw_repl:
                self.transport.exit_raw_repl()
        with contextlib.suppress(*_BROKEN):
            self.transport.close()

    @contextlib.contextmanager
    def _broken(self):
        try:
            yield
        except TransportExecError as e:
            raise Raised(e.error_output.strip())
        except _BROKEN as e:
            if isinstance(e, TransportError):
                raise Lost("The board at {} answers no more, {}.".format(self.port, self.doing))
            raise Lost("The connection to {} broke {}: was the cable pulled, or did the board "
                       "reset itself?".format(self.port, self.doing))

    def start(self):
        """Interrupts what runs, and resets without main.py; raises Failed if that can't be."""
        with self._broken():
            self._serial.timeout = 0.1
            heard = self._interrupt()
        if not heard.endswith(_PROMPT):
            if not heard.strip(b"\0\r\n"):
                raise Failed("Nothing at {} answers as MicroPython does: is MicroPython on the "
                             "board, and does what runs there let itself be interrupted by "
                             "Ctrl-C?".format(self.port))
            raise Failed("{} speaks, but what runs there does not let itself be interrupted by "
                         "Ctrl-C, or is no MicroPython; it said: {!r}".format(
                             self.port, heard[-60:].decode("utf-8", "replace")))
        try:
            with self._broken(), contextlib.redirect_stdout(io.StringIO()):
                self._serial.timeout = 10
                self.transport.enter_raw_repl(timeout_overall=RESTART)
        except Lost:
            if self._is_gone():
                raise
            raise Failed("The board at {} does not come back from a soft reset: does its boot.py "
                         "end?".format(self.port))

    def _interrupt(self):
        # What the board says until there is a raw prompt, or its time is over.
        heard = b""
        deadline = time.monotonic() + self._seconds
        while time.monotonic() < deadline:
            self._serial.write(b"\r\x03")
            time.sleep(0.05)
            self._serial.write(b"\r\x01")
            turn = time.monotonic() + 1
            while time.monotonic() < turn:
                heard = (heard + self._serial.read(self._serial.in_waiting or 1))[-4096:]
                if heard.endswith(_PROMPT):
                    return heard
        return heard

    def _is_gone(self):
        try:
            return self._serial.in_waiting < 0
        except _BROKEN:
            return True

    def run(self, code, seconds=STEP):
        """What code prints on the board, as text; raises Raised with its traceback, or Lost."""
        with self._broken():
            out, error = self.transport.exec_raw(code, timeout=seconds)
            if error:
                raise TransportExecError(out, error.decode("utf-8", "replace"))
        return out.decode("utf-8", "replace").replace("\r\n", "\n")

    def follow(self, code, consume, seconds):
        """Runs code, each byte of whose output goes to `consume`; its traceback, or ""."""
        with self._broken():
            self.transport.exec_raw_no_follow(code)
            _, error = self.transport.follow(seconds, consume)
        return error.decode("utf-8", "replace").replace("\r\n", "\n")

    def interrupt(self):
        """Ends what runs, as Ctrl-C does; false if there is no prompt after it."""
        with contextlib.suppress(*_BROKEN):
            self._serial.timeout = 0.1
            return self._interrupt().endswith(_PROMPT)
        return False

    def read(self, path):
        """A file's content."""
        with self._broken():
            return bytes(self.transport.fs_readfile(path, chunk_size=1024))

    def write(self, path, data):
        """Writes a file; raises an OSError if the board did."""
        with self._broken():
            try:
                self.transport.fs_writefile(path, data, chunk_size=1024)
                return
            except OSError as e:
                # Those that mpremote made of the board's words name the file, the port's don't.
                if e.args[1:] != (path,):
                    raise
                failed = e
        raise failed
