"""Brings a board's files to a given state, so that each of them is wholly old or wholly new.

All that changes is first written beside what is there, as `name.new`, and its hash is computed on
the board. Only when all of it has arrived are the new files renamed into their places: main.py is
taken away before the first of them and comes back as the last, so that a board that loses its
power in between starts with a prompt, not with a mixture of two versions. Whatever was
interrupted is completed, and what it left removed, by doing all of it again.
"""

import ast
import errno
import hashlib
import zlib

from board_link import Failed, Raised

NEW = ".new"
OWN = ("config.py", "main.py")      # in the root, where a user may have files of these names
_SIGNED = "# make board wrote this file; SHA-256 of what is above: "

# Runs on the board, whose MicroPython may be 1.11. `_sum` gives None where there is no hash.
_HELPERS = """
import os
try:
    from hashlib import sha256 as _sha
except ImportError:
    try:
        from uhashlib import sha256 as _sha
    except ImportError:
        _sha = None
try:
    from binascii import crc32 as _crc, hexlify as _hex
except ImportError:
    try:
        from ubinascii import crc32 as _crc, hexlify as _hex
    except ImportError:
        _crc = None
def _sum(path):
    data = bytearray(512)
    h, c = _sha and _sha(), 0
    f = open(path, "rb")
    while True:
        n = f.readinto(data)
        if not n:
            break
        part = memoryview(data)[:n]
        if h:
            h.update(part)
        elif _crc:
            c = _crc(part, c)
    f.close()
    if h:
        return _hex(h.digest()).decode() if _crc else "".join(["%02x" % b for b in h.digest()])
    return "%08x" % (c & 0xffffffff) if _crc else None
def _tell(path):
    print(repr((path, os.stat(path)[6], _sum(path))))
def _walk(folder):
    try:
        found = list(os.ilistdir(folder))
    except OSError:
        return
    print(repr((folder, None, None)))
    for e in found:
        path = folder + "/" + e[0]
        if e[1] & 0x4000:
            _walk(path)
        else:
            _tell(path)
def _do(steps):
    for a, b in steps:
        try:
            if b is None:
                os.remove(a)
            elif b == "/":
                os.rmdir(a)
            elif b == "+":
                os.mkdir(a)
            else:
                os.rename(a, b)
        except OSError:
            # A folder may have files of others; the rest has to work.
            if b != "/":
                raise
        print(".", end="")
"""
_STEPS = 20     # that are sent at once: a small board compiles no long text


def signed(data):
    """A file's content with a last line from which is_signed knows it."""
    return data + (_SIGNED + hashlib.sha256(data).hexdigest() + "\n").encode()


def is_signed(data):
    """Whether a content is one of signed, and nobody changed it since."""
    body, mark, rest = data.rpartition(_SIGNED.encode())
    return bool(mark) and signed(body) == data


class State:
    """What is on a board: `files` {path: (size, sum)}, `folders` [paths], `root` [names].

    `place` is where the packages are: in lib/ if the first of them is there and not in the root,
    as mip and the filesystem's image have it; else the root, which comes first on import.
    """

    def __init__(self, link, packages):
        link.doing = "while its files were looked at"
        link.run(_HELPERS)
        self.folders, self.files = [], {}
        self.root, lib = eval_lines(link.run(
            "print(os.listdir())\nprint(os.listdir('lib') if 'lib' in os.listdir() else [])"))
        in_lib = packages[0] in lib and packages[0] not in self.root
        self.place = "lib/" if in_lib else ""
        code = ["_walk({!r})".format(self.place + name) for name in packages]
        code += ["_tell({!r})".format(n) for n in self.root if n.split(NEW)[0] in OWN]
        for path, size, total in eval_lines(link.run("\n".join(code))):
            if size is None:
                self.folders.append(path)
            else:
                self.files[path] = size, total

    def has(self, link, path, data):
        """Whether a file has that content."""
        found = self.files.get(path)
        if found is None or found[0] != len(data):
            return False
        return is_sum_of(link, path, found[1], data)


def eval_lines(text):
    """The Python values that a board printed, one in each line."""
    return [ast.literal_eval(line) for line in text.splitlines() if line]


def is_sum_of(link, path, total, data):
    """Whether what the board computed of a file is that of the data."""
    if total is None:
        # A board without any hash is asked for the file itself.
        return link.read(path) == data
    if len(total) == 8:
        return int(total, 16) == zlib.crc32(data)
    return total == hashlib.sha256(data).hexdigest()


class Plan:
    """What has to be done to a board in that State.

    wanted: {path: content}. All other modules in the folders of State are stale. `known` are
    contents of OWN that may be replaced, beside those that are signed.
    """

    def __init__(self, link, state, wanted, known=()):
        self.changed = sorted(p for p, data in wanted.items() if not state.has(link, p, data))
        self.wanted = wanted
        self.bytes = sum(len(wanted[p]) for p in self.changed)
        self.halves = [p for p in state.files if p.endswith(NEW)]
        self.stale = [p for p in sorted(state.files) if p not in wanted and p.count("/")
                      and p.endswith((".py", ".mpy", ".pyc"))]
        self.kept = {}      # {name: of the backup}
        for name in OWN:
            if name in self.changed and name in state.root:
                found = link.read(name)
                if not is_signed(found) and found not in known:
                    self.kept[name] = _free_name(name, state.root)
        self._old = state

    def folders(self):
        """The folders to be made, outer ones first."""
        needed = {path.rsplit("/", n)[0] for path in self.changed
                  for n in range(1, path.count("/") + 1)}
        return sorted(needed - {"lib"} - set(self._old.folders))

    def steps(self):
        """The renames and removals that put the new files into their places, in order."""
        packages = [p for p in self.changed if p not in OWN]
        steps = []
        main = "main.py"
        has_main = main in self._old.root
        if main in self.kept:
            steps.append((main, self.kept[main]))
        elif has_main and (packages or self.stale):
            # It comes back as the last, be it the same.
            steps.append((main, None if main in self.changed else main + NEW))
        steps += [(p + NEW, p) for p in packages]
        steps += [(p, None) for p in self.stale]
        emptied = {p.rsplit("/", 1)[0] for p in self.stale}
        steps += [(p, "/") for p in sorted(emptied, reverse=True)]
        if "config.py" in self.kept:
            steps.append(("config.py", self.kept["config.py"]))
        if "config.py" in self.changed:
            steps.append(("config.py" + NEW, "config.py"))
        if main in self.changed or (main + NEW) in [b for _, b in steps]:
            steps.append((main + NEW, main))
        return steps


def _free_name(name, taken):
    # A name for a backup that overwrites none.
    number = 0
    while True:
        backup = name + ".bak" + (str(number) if number else "")
        if backup not in taken:
            return backup
        number += 1


def do(link, steps):
    """Lets the board make ("+") and remove ("/") folders, remove (None) and rename files."""
    for at in range(0, len(steps), _STEPS):
        link.run("_do({!r})".format(steps[at:at + _STEPS]))


def free(link):
    """The bytes that a board's filesystem has free."""
    text = link.run("import os\ns = os.statvfs(os.getcwd())\nprint(s[1] * s[4])")
    return int(text)


def bring(link, plan, progress=lambda done, path: None):
    """Does what a Plan says; raises Failed, and then nothing of the board's own has changed,
    unless that was while the new files were put into their places."""
    link.doing = "while files were copied; what was there is unchanged, run the command again"
    do(link, [(p, None) for p in plan.halves])
    room = free(link)
    if plan.bytes > room:
        raise Failed(_full(plan, room))
    try:
        do(link, [(p, "+") for p in plan.folders()])
        for number, path in enumerate(plan.changed):
            progress(number, path)
            link.write(path + NEW, plan.wanted[path])
        _verify(link, plan)
    except (OSError, Raised) as e:
        _clear(link, plan)
        if getattr(e, "errno", 0) == errno.ENOSPC or "ENOSPC" in str(e):
            raise Failed(_full(plan, room))
        raise Failed("A file can't be written on the board: {}; nothing was changed.".format(
            str(e).splitlines()[-1]))
    except Failed:
        _clear(link, plan)
        raise
    link.doing = ("while the new files were put into their places; run the command again, until "
                  "then there may be no main.py")
    do(link, plan.steps())


def _full(plan, room):
    return ("There is no room on the board's filesystem: {} files with {} bytes are to be "
            "copied, which takes whole blocks, and {} bytes are free; nothing was changed. Remove "
            "what you don't need (mpremote rm).".format(len(plan.changed), plan.bytes, room))


def _verify(link, plan):
    # What has arrived is what was sent.
    for at in range(0, len(plan.changed), _STEPS):
        paths = plan.changed[at:at + _STEPS]
        text = link.run("for p in {!r}:\n _tell(p)".format([p + NEW for p in paths]))
        for path, (_, _, total) in zip(paths, eval_lines(text)):
            if not is_sum_of(link, path + NEW, total, plan.wanted[path]):
                raise Failed("{} did not arrive as it was sent; nothing was changed. Is the "
                             "cable a good one? Run the command again.".format(path))


def _clear(link, plan):
    # Removes what was copied so far, if the board still hears.
    code = ("try:\n f.close()\nexcept Exception:\n pass\n"
            "for p in {!r}:\n try:\n  os.remove(p)\n except OSError:\n  pass")
    try:
        for at in range(0, len(plan.changed), _STEPS):
            link.run(code.format([p + NEW for p in plan.changed[at:at + _STEPS]]))
        do(link, [(p, "/") for p in reversed(plan.folders())])
    except (Failed, Raised):
        pass
