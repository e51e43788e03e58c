"""What the libraries take of the heap: objects, imports, and how much an ESP32 has room for.

    python tools/memory.py

Words of 64 bits: `main.py memory` on the Unix port, and each import in an interpreter of its own.
Words of 32 bits, as a board's: the same on MicroPython for WebAssembly, for which node and npm are
needed (without them that part is left out, which is said). It has no threads: of upycsp it can
tell only what the imports take, with a stand-in for _thread. The last table is a sum of these
figures, and its first row is tried on the Unix port with as much room.
"""

import argparse
import ast
import base64
import json
import math
import pathlib
import sys
import tempfile

import commands
import firmware_images
import firmware_mpy
from firmware_mpy import PACKAGES, ROOT, Failed, ran

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools" / "coverage")]

from harness import interpreters  # noqa: E402

HEAP = "2M"
ESP32 = 111 * 1024  # of one without SPIRAM, after it has booted
ESP32_THREADS = 15  # with stacks of the default size, which do not come from this heap
LIBS = ("uapycsp", "upycsp")
KINDS = ("imports", "compiled", "romfs")  # what memory_web.mjs tells of an import

FIVE = "from {} import Channel, Alternative, Parallel, process, run"
# What is there when a network runs on a board. On a PC upycsp also loads all it has before its
# first thread, because nothing makes loading safe later.
RUNNING = {
    "uapycsp": FIVE.format("uapycsp") + "; import uapycsp.watch",
    "upycsp": FIVE.format("upycsp") + "; import upycsp.watch",
}
IMPORTS = (
    "import uapycsp",
    "from uapycsp import Channel",
    FIVE.format("uapycsp"),
    RUNNING["uapycsp"],
    "from uapycsp import BufferedChannel, Parallel, Spawn, process, run",
    "import upycsp",
    "from upycsp import Channel",
    FIVE.format("upycsp"),
    RUNNING["upycsp"],
    "import upycsp.aio",
    "from ufuture import create_future, gather, wait_for",
    "from uthreading import Thread",
)

_IMPORT = """
import gc, sys
import asyncio
import _thread
if len(sys.argv) > 2:
    import vfs
    if not hasattr(vfs, "VfsRom"):
        sys.exit("this MicroPython knows no ROMFS")
    with open(sys.argv[2], "rb") as file:
        image = file.read()
    vfs.mount(vfs.VfsRom(image), "/rom")
    sys.path.insert(0, "/rom")
gc.collect()
before = gc.mem_alloc()
exec(sys.argv[1], {})
gc.collect()
print(gc.mem_alloc() - before, gc.mem_alloc())
"""

# Stands in for the module that MicroPython for WebAssembly lacks.
_NO_THREADS = """
def allocate_lock():
    return _Lock()

def get_ident():
    return 1

class _Lock:
    def acquire(self, waits=1, timeout=-1):
        return True

    def release(self):
        pass

    def locked(self):
        return False

    __enter__ = acquire

    def __exit__(self, *exc):
        pass

def start_new_thread(f, args, kwargs=None):
    raise OSError("there are no threads")

def stack_size(size=0):
    return 0
"""

_SETUP = """
import uapycsp as csp
from benchmarks import commstime_network, harness, memory, stressed_alt, waiter
memory.load_asyncio()
process = waiter.of(csp, False)
makers = dict(memory.makers(csp, process))
many = memory.Coroutines(csp, process)
kept = [None] * {n}
i = make = task = results = None
operations = {{}}

async def ends(n):
    if not await many.end(n):
        raise ValueError("a process got a wrong value")

async def communicates(n):
    meter = harness.Meter("")
    network = commstime_network.network(csp, commstime_network.bodies(csp),
                                        commstime_network.deltas(csp)["seq"], n, meter)
    await csp.Parallel(*network)
    noted("communication", meter)

async def selects(n):
    meter = harness.Meter("")
    procs = stressed_alt.network(csp, stressed_alt.bodies(csp), (5, 2), "select", n, meter)
    stressed_alt.verify(await csp.Parallel(*procs), meter)
    noted("select", meter)

def noted(name, meter):
    if meter.faults:
        raise ValueError("a wrong message")
    operations[name] = meter.bytes_per_op
"""

_MAKE = "make = makers[{!r}]\nfor i in range({}):\n    kept[i] = make()\n"
_DROP = "make = None\nfor i in range({}):\n    kept[i] = None\n"
_TASK = "task = asyncio.create_task({})\nawait task\ntask = None\n"
_FITS = """
import sys
from uapycsp import Channel, Alternative, Parallel, process, run
from uapycsp import Timer

@process
async def waits(cin):
    return await cin()

@process
async def pays(chans, n):
    while sum([ch.queue_len() for ch in chans]) < n:
        if any([ch.poisoned for ch in chans]):  # by one that has died
            return
        await Alternative(Timer(ms=1)).select()
    for i in range(n):
        await chans[i % len(chans)].write(i)

n = int(sys.argv[1])
chans = [Channel("c") for _ in range(n if sys.argv[2] == "each" else 1)]
got = run(*[waits(chans[i % len(chans)].read) for i in range(n)] + [pays(chans, n)])
if sorted(got[:n]) != list(range(n)):
    sys.exit("a process got a wrong value")
"""


def micropython(words, heap=None, cwd=ROOT, **environment):
    """What MicroPython prints; Failed if it fails."""
    command = [*interpreters.command("micropython", heap or HEAP), *words]
    env = dict(interpreters.environment(), **environment)
    return ran("MicroPython", command, cwd=cwd, env=env).stdout


def rows_of(lib, n):
    """The RESULTs of the benchmark."""
    output = micropython(["main.py", "memory", "lib=" + lib, "api=plain", "baselines=no",
                          "n={}".format(n), "runs=1"])
    return [json.loads(line[7:]) for line in output.splitlines() if line.startswith("RESULT ")]


def imported(statement, packages=ROOT, image=None):
    """(Bytes that the statement takes, bytes in use after it) in an interpreter of its own.

    packages: the folder that they come from; image: the ROMFS that they come from instead.
    """
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "imports.py").write_text(_IMPORT)
        words = ["-m", "imports", statement]
        if image is not None:
            words.append(str(image))
            packages = folder
        output = micropython(words, cwd=packages, MICROPYPATH=folder + ":.frozen")
        return [int(word) for word in output.split()]


def in_place():
    """{statement: bytes it takes where a ROMFS has the packages}; Failed without one."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        image = romfs(folder)
        return {statement: imported(statement, image=image)[0] for statement in IMPORTS}


def fits(words, heap):
    """True where MicroPython ends well with such a heap, False where it has no memory."""
    try:
        micropython(words, heap)
    except Failed as er:
        if "MemoryError" not in str(er):
            raise
        return False
    return True


def least(statement):
    """The heap in KB that the import takes from source, with what compiling needs meanwhile."""
    low, high = 16, 1024  # in 16 not even the smallest module is compiled
    while high - low > 1:
        middle = (low + high) // 2
        if fits(["-c", statement], "{}K".format(middle)):
            high = middle
        else:
            low = middle
    return high


def sources():
    """What boards get, by path."""
    paths = firmware_mpy.sources((*PACKAGES, "benchmarks", "config.py"))
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in paths}


def compiled(folder):
    """The packages as .mpy files without line numbers and docstrings, by path, in base64."""
    paths = firmware_mpy.compiled(folder, PACKAGES)
    return {path: in_text(folder / path) for path in paths}


def romfs(folder):
    """The image of the packages, in that folder."""
    image = folder / "packages.romfs"
    firmware_images.romfs(image)
    return image


def in_text(path):
    """A file in base64."""
    return base64.b64encode(path.read_bytes()).decode()


def objects(names, n):
    """What memory_web.mjs is to make and drop."""

    def waiting(name, count):
        start, end = "many.start({})".format(count), "ends({})".format(count)
        return [name, 1, _TASK.format(start), _TASK.format(end)]

    wished = [[name, n, _MAKE.format(name, n), _DROP.format(n)] for name in names]
    # The first loads what is missing yet. Each process beyond one alone counts.
    wished += [waiting("first", n + 1), waiting("one", 1), waiting("waiting", n + 1)]
    for name in ("communicates", "selects"):
        wished.append([name, 1, _TASK.format(name + "(500)"), "pass"])
    return wished


def on_web(names, n, package):
    """What MicroPython for WebAssembly tells; Failed where it can't be had."""
    told = web_told({"imports": IMPORTS, "setup": _SETUP.format(n=n),
                     "objects": objects(names, n)}, package)
    found = told["objects"]
    found["waiting"] = (found["waiting"] - found["one"]) / n
    found.update(told["operations"])
    return told


def web_told(wishes, package=None):
    """What memory_web.mjs tells of these wishes; Failed where it can't be had."""
    import cross

    problem = cross.install(package) if package else cross.install()
    if problem:
        raise Failed(problem)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wished, answer = folder / "wishes.json", folder / "answer.json"
        wished.write_text(json.dumps({
            **wishes, "files": {**sources(), "_thread.py": _NO_THREADS},
            "compiled": compiled(folder / "mpy"), "image": in_text(romfs(folder))}))
        ran("node", ["node", str(ROOT / "tools" / "memory_web.mjs"),
                     str(package or cross.PACKAGE), str(wished), str(answer)])
        return json.loads(answer.read_text())


def heapsize(total):
    """The -X heapsize that gives a heap of so many bytes: its own tables come from it, too."""
    return (total * 1036 // 1024 + 1023) // 1024 * 1024


def most(heap, where, likely):
    """How many processes wait in a heap and then end, all on "one" channel or on one "each"."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "fits.py"
        path.write_text(_FITS)

        def fit(n):
            return fits([str(path), str(n), where], heap)

        low, high = 0, likely + 16
        while fit(high):
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            if fit(middle):
                low = middle
            else:
                high = middle
    return low


# --- tables


def table(title, heads, rows):
    """Print a title and columns, the first to the left."""
    rows = [["" if cell is None else str(cell) for cell in row] for row in [heads, *rows]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    print("\n" + title + "\n")
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())


def number(value):
    """Bytes, for a table."""
    return None if value is None else "{:.0f}".format(value)


def goals():
    """GOALS of benchmarks.memory."""
    tree = ast.parse((ROOT / "benchmarks" / "memory.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "GOALS":
            return ast.literal_eval(node.value)
    raise Failed("benchmarks/memory.py has no GOALS")


def show_objects(by_lib, web):
    """The table of objects and operations."""
    found = goals()
    rows = []
    for lib in LIBS:
        for row in by_lib[lib]:
            variant, taken = row["variant"], row["bytes_per_op"]
            if variant == "import" or variant.startswith("stack-"):
                continue
            goal = found.get((lib, variant))
            narrow = web["objects"].get(variant) if web and lib == "uapycsp" else None
            if variant == "first":
                narrow = None  # on the web others come before it
            met = None if goal is None else "met" if taken <= goal + 0.5 else "missed"
            rows.append((lib + " " + variant, number(taken), goal, met, number(narrow)))
    table("Bytes of heap of one (see benchmarks/memory.py); the goals are for 64 bits",
          ("", "64 bits", "at most", "", "32 bits"), rows)


def show_imports(found, rom, web):
    """The table of imports."""
    rows = []
    for statement in IMPORTS:
        narrow = [web[kind][statement] if web else None for kind in KINDS]
        rows.append((statement, found[statement][0], rom.get(statement), *narrow,
                     least(statement)))
    table("Bytes of heap that an import takes in a fresh interpreter; asyncio is not counted.\n"
          "And the least heap in which it can be compiled, with asyncio and words of 64 bits",
          ("", "64 bits", "in ROMFS", "32 bits", "as .mpy", "in ROMFS", "least heap, KB"), rows)


def show_room(wide, web, by_lib, tries):
    """The table of what fits into an ESP32."""
    each = web["objects"]["waiting"]
    ends = web["objects"]["channel-ends"]
    rows = [("in use before, asyncio loaded", *[web["begun"]] * len(KINDS))]
    for lib in LIBS:
        taken = [web[kind][RUNNING[lib]] for kind in KINDS]
        left = [ESP32 - web["begun"] - n for n in taken]
        rows.append(("{}: its five names, running".format(lib), *taken))
        rows.append(("{}: left for the program".format(lib), *left))
        if lib == "uapycsp":
            rows.append(("{}: processes that wait on one channel, at most".format(lib),
                         *[math.floor(n / each) for n in left]))
            rows.append(("{}: each on a channel of its own, at most".format(lib),
                         *[math.floor(n / (each + ends)) for n in left]))
            room = left[0]
        else:
            rows.append(("{}: threads, for want of room for stacks".format(lib),
                         *[ESP32_THREADS] * len(KINDS)))
            [per_thread] = [r["bytes_per_op"] for r in by_lib[lib] if r["variant"] == "waiting"]
            rows.append(("{}: heap that so many take (half of 64 bits')".format(lib),
                         *[number(ESP32_THREADS * per_thread / 2)] * len(KINDS)))
            deepest = max(r["bytes_per_op"] for r in by_lib[lib] if r["variant"][:6] == "stack-")
            # A frame of the interpreter does not halve as its objects do: on MicroPython 1.29
            # compiled for 32 bits networks of these operations needed up to 3521 bytes.
            rows.append(("{}: stack that its operations need (3/4 of 64 bits')".format(lib),
                         *[number(deepest * 3 / 4)] * len(KINDS)))
    table("What fits into an ESP32's heap of {} KB; words of 32 bits".format(ESP32 // 1024),
          ("", "from .py", "from .mpy", "from ROMFS"), rows)
    if tries:
        total = wide[RUNNING["uapycsp"]][1] + 2 * room
        heap = heapsize(total)
        one = most(heap, "one", math.floor(room / each))
        own = most(heap, "each", math.floor(room / (each + ends)))
        print("\nTried on the Unix port, with a heap of {} bytes, of which that import leaves\n"
              "twice as many as above: {} on one channel, {} with a channel each. Gaps between\n"
              "objects take the rest.".format(total, one, own))


def main(arguments=None, package=None):
    """The exit status. package: where npm is to put MicroPython for WebAssembly."""
    parser = argparse.ArgumentParser(description="Bytes of heap of objects and imports.")
    parser.add_argument("-n", type=int, default=100, help="objects of each kind")
    parser.add_argument("--no-try", action="store_true", help="only sum up what fits")
    options = parser.parse_args(arguments)
    if options.n < 1:
        print("-n takes whole numbers from 1", file=sys.stderr)
        return 2
    problem = interpreters.missing()
    if problem:
        print(problem, file=sys.stderr)
        return 1
    try:
        by_lib = {lib: rows_of(lib, options.n) for lib in LIBS}
        wide = {statement: imported(statement) for statement in IMPORTS}
        names = [row["variant"] for row in by_lib["uapycsp"]]
        names = names[names.index("channel"):names.index("first")]
        web, problem, rom, no_rom = None, None, {}, None
        try:
            rom = in_place()
        except Failed as er:
            no_rom = str(er)
        try:
            web = on_web(names, options.n, package)
        except Failed as er:
            problem = str(er)
        show_objects(by_lib, web)
        show_imports(wide, rom, web)
        if no_rom:
            print("\nNothing of ROMFS: " + no_rom)
        if web:
            show_room(wide, web, by_lib, not options.no_try)
        else:
            print("\nNothing of 32 bits: " + problem)
    except Failed as er:
        print(er, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(commands.ended(main))
