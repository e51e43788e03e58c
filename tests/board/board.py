"""Behaves as an ESP32 with MicroPython, on a pseudo-terminal; for mpremote and for tests.

    python board.py FLASH        prints the name of its port, runs until it is interrupted

FLASH is a folder, or a file: the image of a LittleFS, which is formatted if it holds none. The
Unix port of MicroPython runs behind the port; this program adds what a board has: `/` is the
flash, boot.py and main.py run at the start, Ctrl-D at a prompt is a soft reset (without main.py if
the raw REPL asked for it), so is sys.exit() in main.py, Ctrl-C interrupts code that runs,
machine.reset() starts anew, the heap has the ESP32's size, and sys.platform is an ESP32's. With
--rom it has a partition for a ROMFS, mounted at /rom (in the heap, which is larger by it, where a
board has it in flash).

With --tied it does what is written to its stdin, line by line (see Board.command): its cable can
be pulled, also after a number of bytes, or its power be lost at a number of writes to its flash.

Between reset and prompt the board is in these phases:
  starting   the interpreter comes up; what the host sends is kept
  entering   only after a soft reset from the raw REPL: boot.py runs, and then this program
             switches to the raw REPL itself; what the host sends is kept
  up         main.py, or what the host sent, runs, or a prompt is shown
  off        without power
"""

import argparse
import os
import pty
import re
import select
import shutil
import signal
import sys
import tty

if __package__:
    from . import wheel
else:
    import wheel

# What MicroPython tells this program: one of these letters after MARK.
MARK = b"\x1e"
STARTED, EXITED, RESET, POWERLESS = b"s", b"x", b"r", b"p"

# What the ROM of an ESP32 prints first after a reset.
ROM = (
    b"ets Jul 29 2019 12:21:46\r\n\r\n"
    b"rst:0xc (SW_CPU_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\n"
)

PROMPT = b">>> "
RAW_PROMPT = b"raw REPL; CTRL-B to exit"

# Runs inside MicroPython before the prompt. -c has put its own words into sys.argv.
BOOT = """
def _boot(flash, is_image, rom, with_main, last_write):
    import sys, time, vfs, os

    def tell(letter):
        sys.stdout.write("\\x1e" + letter)
        while letter != "s":
            time.sleep(1)

    class Machine:
        @staticmethod
        def reset():
            tell("r")

        @staticmethod
        def soft_reset():
            sys.exit()

    class System:
        platform = "esp32"

        def __getattr__(self, name):
            return getattr(sys, name)

    class Flash:
        def __init__(self, path):
            self.file = open(path, "r+b")
            self.blocks = self.file.seek(0, 2) // 4096
            self.written = 0

        def readblocks(self, block, data, offset=0):
            self.file.seek(block * 4096 + offset)
            self.file.readinto(data)

        def writeblocks(self, block, data, offset=0):
            self.written += 1
            if self.written == last_write:
                tell("p")
            self.file.seek(block * 4096 + offset)
            self.file.write(data)

        def ioctl(self, request, value):
            return {{4: self.blocks, 5: 4096}}.get(request, 0)

    def mounted():
        if not is_image:
            return vfs.VfsPosix(flash)
        device = Flash(flash)
        try:
            return vfs.VfsLfs2(device)
        except OSError:
            vfs.VfsLfs2.mkfs(device)
            return vfs.VfsLfs2(device)

    def with_rom():
        device = Flash(rom)

        class Mounting:
            @staticmethod
            def rom_ioctl(request, *values):
                return device if request == 2 else 1

            def __getattr__(self, name):
                return getattr(vfs, name)

        sys.modules["vfs"] = Mounting()
        # Three bytes, a number of seven bits a byte, and so many bytes.
        head = device.file.seek(0) or device.file.read(3)
        if head != bytes([0xd2, 0xcd, 0x31]):
            raise OSError
        size = 0
        while True:
            byte = device.file.read(1)
            head += byte
            size = size << 7 | byte[0] & 127
            if byte[0] < 128:
                break
        return vfs.VfsRom(head + device.file.read(size))

    try:
        sys.argv[:] = []
        sys.path[:] = ["", ".frozen", "/lib"]
        found = mounted()
        try:
            found_rom = rom and with_rom()
        except OSError:
            found_rom = None
        vfs.umount("/")
        vfs.mount(found, "/")
        os.chdir("/")
        if found_rom:
            vfs.mount(found_rom, "/rom")
            sys.path.extend(["/rom", "/rom/lib"])
        sys.modules["machine"] = Machine
        sys.modules["sys"] = System()
        tell("s")
        for name in ("boot.py", "main.py") if with_main else ("boot.py",):
            if name in os.listdir("/"):
                execfile(name)
    except SystemExit:
        tell("x")
    except BaseException as error:
        sys.print_exception(error)

_boot({!r}, {!r}, {!r}, {!r}, {!r})
del _boot
"""

# An ESP32's heap of 222 KB, in 64-bit words, and what stands in for its modules takes.
HEAP = "223K"

KEPT = 256 * 1024  # bytes of output kept while nobody reads; older ones are lost


class Board:
    def __init__(self, flash, micropython, heap=HEAP, log=None, rom=None):
        self.flash = os.path.abspath(flash)
        self.rom = rom and os.path.abspath(rom)
        self._interrupt = signal.SIGINT
        self._command = [micropython]
        python = wheel.interpreter(micropython)
        if python:
            self._interrupt = wheel.SIGNAL
            self._command = [python, wheel.__file__]
        self.heap = heap
        if rom:
            self.heap = "%dK" % (int(heap.rstrip("K")) + os.path.getsize(rom) // 1024)
        self.log = log or (lambda text: None)
        self.host = self.pid = self.child = None
        self._last_write = 0
        self.plug()

    # The cable, which also is the power supply

    def plug(self):
        """Connects the board to a new port, and starts it unless it has power."""
        # The board keeps both ends open, so that the port outlives its users.
        self.host, self._port_end = pty.openpty()
        tty.setraw(self._port_end)
        os.set_blocking(self.host, False)
        self.port = os.ttyname(self._port_end)
        self._cut_after = None
        self._to_host = b""
        self._from_host = b""
        if self.pid is None:
            self._raw = False
            self._launch(with_main=True)
        self.log(self.port)

    def unplug(self, powered=False):
        """Closes the port, and ends what the board does unless it stays powered."""
        if not powered:
            self._kill()
            self._phase = "off"
        self._last_write = 0
        os.close(self.host)
        os.close(self._port_end)
        self.host = None
        self.log("unplugged")

    def command(self, word, number=0):
        """unplug N: loses port and power after so many more bytes from the host; cut N: the port
        alone; wear N: loses both at the Nth write to an image of a flash after the next reset;
        plug: has both again."""
        if word == "plug":
            self.plug()
        elif word == "wear":
            self._last_write = number
            self.log("wears")
        elif number:
            self._cut_after = [number, word == "cut"]
            self.log("cuts")
        else:
            self.unplug(word == "cut")

    def _launch(self, with_main):
        self._phase = "starting"
        self._with_main = with_main
        self._unread = b""
        self._last = b""
        self._seen = b""
        self._to_child = b""
        words = [*self._command, "-X", "heapsize=" + self.heap, "-i"]
        words += ["-c", self._boot(with_main)]
        env = dict(os.environ, MICROPYPATH=".frozen", TERM="dumb")
        # There the prompt would keep its history.
        env.pop("HOME", None)
        self.pid, self.child = pty.fork()
        if self.pid == 0:
            tty.setraw(0)
            try:
                os.execvpe(words[0], words, env)
            finally:
                os._exit(127)
        os.set_blocking(self.child, False)

    def _boot(self, with_main):
        image = os.path.isfile(self.flash)
        return BOOT.format(self.flash, image, self.rom, with_main, self._last_write)

    def run(self, tie=None):
        """Serves until the file `tie` ends, SystemExit or KeyboardInterrupt."""
        self._tie = [] if tie is None else [tie]
        try:
            while self._serve():
                pass
        finally:
            self._kill()

    def _serve(self):
        """Passes on what there is; False at the end."""
        hosts = [] if self.host is None else [self.host]
        children = [] if self.pid is None else [self.child]
        writable = hosts if self._to_host else []
        writable = writable + (children if self._to_child else [])
        readable = [*hosts, *children, *self._tie]
        readable, writable, _ = select.select(readable, writable, [])
        if self._tie and self._tie[0] in readable:
            line = self._tie[0].readline().split()
            if line:
                self.command(line[0], *map(int, line[1:]))
            # What was found ready may be another one now.
            return bool(line)
        if self.host in writable:
            self._to_host = self._to_host[os.write(self.host, self._to_host) :]
        if self.child in writable:
            self._to_child = self._to_child[os.write(self.child, self._to_child) :]
        if self.host in readable:
            self._receive()
        if self.pid is not None and self.child in readable:
            try:
                data = os.read(self.child, 4096)
            except OSError:  # Linux's way to say that the other end is closed
                data = b""
            if data:
                self._printed(data)
            else:
                self._ended()
        if self._phase == "up":
            self._obey()
        return True

    def _receive(self):
        """Takes what the host sent; the cable may be pulled within it."""
        data = os.read(self.host, 4096)
        if self._cut_after is not None:
            data = data[: self._cut_after[0]]
            self._cut_after[0] -= len(data)
        self._from_host += data
        if self._cut_after is not None and not self._cut_after[0]:
            self.unplug(self._cut_after[1])

    # From the interpreter to the host

    def _printed(self, data):
        data = self._unread + data
        self._unread = b""
        while MARK in data:
            before, data = data.split(MARK, 1)
            self._say(before)
            if not data:
                self._unread = MARK
                return
            letter, data = data[:1], data[1:]
            if letter == STARTED:
                self._phase = "up" if self._with_main else "entering"
            elif letter in (EXITED, RESET):
                self.log("reset" if letter == RESET else "exit")
                self._restart(hard=letter == RESET)
                return
            elif letter == POWERLESS:
                self.unplug()
                return
        if self._phase != "entering":
            self._say(data)
        elif data.endswith(PROMPT):
            # As a board does, show no friendly prompt on the way to the raw one.
            self._phase = "up"
            self._to_child += b"\x01"
            self._say(data[: data.rindex(b"MicroPython ")])
        else:
            self._unread = data

    def _say(self, data):
        # A board's newline is two characters.
        for line in data.splitlines(keepends=True):
            bare = line.endswith(b"\n") and not (self._last + line).endswith(b"\r\n")
            self._to_host += line[:-1] + b"\r\n" if bare else line
            self._last = line[-1:]
        self._to_host = self._to_host[-KEPT:]
        # The prompts may come in pieces.
        seen = self._seen + data
        if seen.rfind(RAW_PROMPT) != seen.rfind(PROMPT):
            self._raw = seen.rfind(RAW_PROMPT) > seen.rfind(PROMPT)
        self._seen = seen[-len(RAW_PROMPT) :]

    def _ended(self):
        """The interpreter has ended: a soft reset, or something that no board does."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = None
        self.log("ended {}".format(status))
        if status == 127:
            raise SystemExit("can't run {}".format(self._command[0]))
        self._restart()

    def _restart(self, hard=False):
        self._kill()
        if hard:
            self._raw = False
            self._from_host = b""
            self._to_host += ROM
        else:
            self._to_host += b"MPY: soft reboot\r\n"
        self._launch(with_main=not self._raw)

    def _kill(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = None
        if self.child is not None:
            os.close(self.child)
            self.child = None

    # From the host to the interpreter

    def _obey(self):
        data, self._from_host = self._from_host, b""
        for part in re.split(b"(\x03)", data):
            if part == b"\x03" and self._interruptible():
                os.kill(self.pid, self._interrupt)
            else:
                self._to_child += part

    def _interruptible(self):
        """Whether code runs: MicroPython has a handler for SIGINT only then."""
        with open("/proc/{}/status".format(self.pid)) as file:
            caught = next(line.split()[1] for line in file if line.startswith("SigCgt:"))
        return bool(int(caught, 16) & 1 << (signal.SIGINT - 1))


def main():
    parser = argparse.ArgumentParser(description="A MicroPython board on a pseudo-terminal.")
    parser.add_argument("flash", help="a folder, or a file: the image of a LittleFS")
    parser.add_argument("--rom", help="the content of a partition for a ROMFS, as a file")
    parser.add_argument("--micropython", default=os.environ.get("MICROPYTHON", "micropython"))
    parser.add_argument("--tied", action="store_true", help="obey stdin, and end when it ends")
    parser.add_argument("--heap", default=HEAP, help="default: an ESP32's")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))

    def log(text):
        print(text, flush=True)

    micropython = shutil.which(options.micropython)
    if not micropython:
        parser.error("no program {}: see --micropython".format(options.micropython))
    board = Board(options.flash, micropython, options.heap, log, options.rom)
    board.run(sys.stdin if options.tied else None)


if __name__ == "__main__":
    main()
