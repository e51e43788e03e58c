"""Imports at odd times: uapycsp by a task of a loop that runs; all of upycsp before a thread."""

import signal

import pytest

from test_bench import PORTS, ROOT, run

_HEAD = """
import sys
sys.path.insert(0, {root!r})
try:
    import asyncio
except ImportError:
    import uasyncio as asyncio

def network():
    from uapycsp import Channel, Parallel, process

    @process
    async def counts(cout, n):
        for i in range(n):
            await cout(i)
        cout.poison()

    @process
    async def copies(cin, cout):
        while True:
            v = await cin()
            await Parallel(cout.alt_pending_write(v))

    @process
    async def collects(cin):
        got = []
        async for v in cin:
            got.append(v)
        return got

    a, b = Channel("a"), Channel("b")
    return Parallel(counts(a.write, 5), copies(a.read, b.write), collects(b.read))

"""

# Tasks that the engine runs, before uapycsp keeps the running one in a name of its own, and one
# that is asyncio's.
_BODIES = {
    "a task of asyncio": """
async def main():
    print((await network())[-1])

asyncio.run(main())
""",
    "a task of asyncio reads and writes": """
async def main():
    from uapycsp import Channel, Spawn
    ch = Channel("c")
    h = Spawn(ch.read())
    await ch.write([0, 1, 2, 3, 4])
    print(await h)

asyncio.run(main())
""",
    "one of several tasks that the engine runs": """
from ufuture import Future, gather, sleep_ms

async def imports(channel):
    from uapycsp import Channel
    ch = Channel("c")
    channel.set_result(ch)
    for i in range(5):
        await ch.write(i)
    ch.poison()

async def waits(channel):
    ch = await channel
    got = []
    async for v in ch.read:
        got.append(v)
    return got

async def main():
    channel = Future()
    print((await gather(waits(channel), imports(channel)))[0])

asyncio.run(main())
""",
    "the first of several tasks, which has a partner at once": """
from ufuture import gather

shared = []

async def imports():
    from uapycsp import Channel
    ch = Channel("c")
    shared.append(ch)
    got = []
    for _ in range(5):
        got.append(await ch.read())
    return got

async def writes():
    for i in range(5):
        await shared[0].write(i)

async def main():
    print((await gather(imports(), writes()))[0])

asyncio.run(main())
""",
    "a task that the engine runs starts a network": """
from ufuture import gather

async def imports():
    return (await network())[-1]

async def main():
    print((await gather(imports(), imports()))[1])

asyncio.run(main())
""",
    "a task that selects": """
from ufuture import gather

shared = []

async def imports():
    from uapycsp import Alternative, Channel, Timer
    a, b = Channel("a"), Channel("b")
    shared.extend((a, b))
    got = []
    alt = Alternative(a.read, b.write.alt_pending_write("b"), Timer(5))
    while len(got) < 5:
        g, v = await alt.select()
        got.append(v)
    return got

async def plays():
    a, b = shared
    for i in range(4):
        await a.write(i)
    assert await b.read() == "b"
    return True

async def main():
    got, played = await gather(imports(), plays())
    print(got[:4] + [4] if played and got[4] == 0 else got)

asyncio.run(main())
""",
}


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("who", _BODIES)
def test_a_network_runs_in_the_round_that_imports_the_library(tmp_path, port, who):
    script = tmp_path / "late.py"
    script.write_text(_HEAD.format(root=str(ROOT)) + _BODIES[who])
    status, output, errors = run(port, str(script))
    assert (status, output) == (0, "[0, 1, 2, 3, 4]\n"), output + errors


_THREADS = """
import sys
sys.path.insert(0, {root!r})
from upycsp import process, run

seen = []

@process
def looks():
    import upycsp
    loaded = upycsp.__dict__
    seen.append([name for name in upycsp.__all__ if name != "plugnplay" and name not in loaded])

print(len([name for name in sys.modules if name == "upycsp.buffered"]))
run(looks())
run(looks(), looks())
print(seen)
"""


@pytest.mark.parametrize("port", PORTS)
def test_no_thread_of_a_process_finds_a_name_of_upycsp_that_is_not_loaded(tmp_path, port):
    script = tmp_path / "threads.py"
    script.write_text(_THREADS.format(root=str(ROOT)))
    status, output, errors = run(port, str(script))
    assert (status, output) == (0, "0\n[[], [], []]\n"), output + errors


_AFTER_THREADS = """
import sys
sys.path.insert(0, {root!r})
from upycsp import process, run

@process
def starts():
    pass

run(starts(), starts())
import upycsp.aio
from upycsp import plugnplay
late = ["upycsp.aio_counted", "upycsp.aio_extended", "upycsp.aio_closing"]
if sys.implementation.name != "cpython":  # where threads may load modules
    late += ["cspcore.plugs_wide", "cspcore.plugs_numbers"]
print([name for name in late if name not in sys.modules])
"""


@pytest.mark.parametrize("port", PORTS)
def test_what_is_imported_after_the_first_threads_loads_all_of_it_at_once(tmp_path, port):
    script = tmp_path / "after_threads.py"
    script.write_text(_AFTER_THREADS.format(root=str(ROOT)))
    assert run(port, str(script)) == (0, "[]\n", "")


# What several threads need first, and all at once, in a heap in which nothing is loaded early.
_AT_ONCE = {
    "a guard of upycsp.aio": """
import upycsp.aio as csp

@csp.process
async def takes(cout):
    csp.Closed(cout)

csp.run(*[takes(csp.Channel().write) for _ in range(6)])
""",
    "names of uthreading": """
from upycsp import process, run

@process
def counts():
    from uthreading import Semaphore
    Semaphore(1)

@process
def meets():
    from uthreading import Barrier
    Barrier(1)

run(counts(), counts(), meets(), meets(), counts(), meets())
""",
    "a module of upycsp": """
from upycsp import process, run

@process
def times():
    from upycsp import timers
    timers.At(3)

run(*[times() for _ in range(6)])
""",
}


@pytest.mark.parametrize("what", _AT_ONCE)
def test_threads_load_what_they_need_first_one_after_another(tmp_path, what):
    script = tmp_path / "at_once.py"
    script.write_text(
        "import sys\nsys.path.insert(0, {!r})\n".format(str(ROOT)) + _AT_ONCE[what])
    for _ in range(4):
        assert run("micropython", str(script), heap="222K") == (0, "", "")


_ROOM_MADE = """
import sys
sys.path.insert(0, {root!r})
import micropython
import upycsp
import uthreading
from upycsp import process, run

# So many names are added when all there is has been loaded.
for names, n in ((sys.modules, 40), (upycsp.__dict__, 50), (uthreading.__dict__, 15)):
    i = 0
    micropython.heap_lock()
    try:
        while i < n:
            names[i] = None  # a dictionary that has no room grows, which takes memory
            i += 1
    finally:
        micropython.heap_unlock()
        print(i == n)
"""


@pytest.mark.parametrize("heap", ("222K", "2M"))
def test_what_threads_load_finds_room_for_its_names(tmp_path, heap):
    script = tmp_path / "room.py"
    script.write_text(_ROOM_MADE.format(root=str(ROOT)))
    assert run("micropython", str(script), heap=heap) == (0, "True\nTrue\nTrue\n", "")


_FIRST_RUNS = """
import sys
import time
sys.path.insert(0, {root!r})
from {threads}
from {lib} import Channel, process, run

@process
{word}def counts(cout):
    for i in range(50):
        {wait}cout(i)
    cout.poison()

@process
{word}def adds(cin):
    n = 0
    {word}for v in cin:
        n += v
    return n

begun = [0, 0, 0]
ended = [None, None, None]

def runs(i):
    begun[i] = 1
    while sum(begun) < 3:
        pass
    try:
        ch = Channel("c")
        ended[i] = run(counts(ch.write), adds(ch.read))[1]
    except BaseException as er:
        ended[i] = er

for i in range(3):
    start(runs, (i,))
while None in ended:
    time.sleep(0.01)
print(ended)
"""


# How often it fails without the lock is a matter of luck where little memory lets modules be
# loaded late, 30 to 65 in 100; else bare threads fail each time. One crash is passed over:
# MicroPython's collector, which stops no thread, may take the table of names from who loads, once
# in thousands (docs/promises.md). Without the lock a third of the failures are crashes.
@pytest.mark.parametrize("threads", (
    "_thread import start_new_thread as start",
    "uthreading import Thread\nstart = lambda f, args: Thread(target=f, args=args).start()"))
@pytest.mark.parametrize("lib", ("upycsp", "upycsp.aio"))
def test_several_threads_may_begin_their_first_runs_at_the_same_time(tmp_path, lib, threads):
    script = tmp_path / "first.py"
    word, wait = ("async ", "await ") if lib == "upycsp.aio" else ("", "")
    script.write_text(
        _FIRST_RUNS.format(root=str(ROOT), lib=lib, threads=threads, word=word, wait=wait))
    crashes = 0
    for heap in (None,) + ("400K",) * 8:
        found = run("micropython", str(script), heap=heap, limit=60)
        if found[0] == -signal.SIGSEGV and crashes == 0:
            crashes += 1
        else:
            assert found == (0, "[1225, 1225, 1225]\n", "")


_THREADS_OF_ITS_OWN = """
import sys
import time
sys.path.insert(0, {root!r})
from _thread import start_new_thread
from upycsp import Channel, process, run

begun = [0, 0, 0]
ended = [None, None, None]
over = [False]

def reads_names(i):
    begun[i] = 1
    try:
        while not over[0]:
            begun[i] = sum(begun) - sum(begun) + 1
        ended[i] = "well"
    except BaseException as er:
        ended[i] = er

@process
def counts(cout):
    cout(1)

@process
def takes(cin):
    return cin()

for i in range(3):
    start_new_thread(reads_names, (i,))
while sum(begun) < 3:
    pass
ch = Channel("c")
try:
    got = run(counts(ch.write), takes(ch.read))[1]
finally:
    over[0] = True
while None in ended:
    time.sleep(0.01)
print(got, ended)
"""


# Ten interpreters: one fails about every second time where the program's dictionary grows then.
def test_a_program_s_own_threads_find_its_names_while_the_first_process_starts(tmp_path):
    script = tmp_path / "own.py"
    script.write_text(_THREADS_OF_ITS_OWN.format(root=str(ROOT)))
    for _ in range(10):
        found = run("micropython", str(script), limit=60)
        assert found == (0, "1 ['well', 'well', 'well']\n", "")


# Several threads use what none of them has loaded, in a heap that has room to load all early.
_NOT_LOADED = {
    "names of upycsp, by threads of _thread": """
import upycsp
from _thread import start_new_thread

def start(f):
    start_new_thread(f, ())

def get(name):
    getattr(upycsp, name)

NAMES = "Channel Alternative process BufferedChannel Timer At Closed".split()
""",
    "names of upycsp": """
import upycsp
from uthreading import Thread

def start(f):
    Thread(target=f).start()

def get(name):
    getattr(upycsp, name)

NAMES = "Channel Alternative process BufferedChannel Timer At Closed".split()
""",
    "groups of plugnplay": """
import upycsp

@upycsp.process
def nothing():
    pass

upycsp.run(nothing())
from upycsp import plugnplay

@upycsp.process
def calls(f):
    f()

def start(f):
    upycsp.Spawn(calls(f))

def get(name):
    getattr(plugnplay, name)

NAMES = "Delta Plus Printer Tail FixedDelay Merge Collect Numbers".split()
""",
}


@pytest.mark.parametrize("what", _NOT_LOADED)
def test_names_that_several_threads_use_at_once_are_there(tmp_path, what):
    script = tmp_path / "names.py"
    script.write_text("import sys, time\nsys.path.insert(0, {!r})\n".format(str(ROOT))
                      + _NOT_LOADED[what] + """
from _thread import allocate_lock

lock = allocate_lock()
begun = [0]
ended = []

def uses():
    with lock:
        begun[0] += 1
    while begun[0] < 4:
        pass
    try:
        for name in NAMES:
            get(name)
        result = "well"
    except BaseException as er:
        result = er
    with lock:
        ended.append(result)

for _ in range(4):
    start(uses)
while len(ended) < 4:
    time.sleep(0.01)
print(ended)
""")
    for _ in range(4):
        found = run("micropython", str(script), limit=60)
        assert found == (0, "['well', 'well', 'well', 'well']\n", "")


@pytest.mark.parametrize("port", PORTS)
def test_the_main_thread_is_known_where_another_one_loads_the_library_first(tmp_path, port):
    # Else that one would make room among the names of the program, while its threads read them.
    script = tmp_path / "main_thread.py"
    script.write_text("""
import sys, time
sys.path.insert(0, {!r})
import upycsp
from _thread import get_ident, start_new_thread

loaded = []

def loads():
    upycsp.Channel
    loaded.append(get_ident())

start_new_thread(loads, ())
while not loaded:
    time.sleep(0.01)
import uthreading

ident = uthreading.main_thread().ident
print(ident == get_ident(), ident == loaded[0], uthreading.current_thread().name)
""".format(str(ROOT)))
    assert run(port, str(script), limit=60) == (0, "True False MainThread\n", "")


def test_what_is_imported_is_loaded_whole_before_the_first_thread_starts(tmp_path):
    script = tmp_path / "first.py"
    script.write_text("""
import sys
sys.path.insert(0, {!r})
import upycsp
from uthreading import Thread

found = []

def looks():
    found.append("upycsp.closing" in sys.modules and "upycsp.watch" in sys.modules)

t = Thread(target=looks)
t.start()
t.join()
print(found)
""".format(str(ROOT)))
    assert run("micropython", str(script), limit=60) == (0, "[True]\n", "")


# A dictionary that grows while the heap is locked raises MemoryError: so it is seen whether names
# that threads read have room for what is loaded beside them.
_ROOM = """
import sys
sys.path.insert(0, {root!r})
import micropython
import upycsp
import uthreading
{threads}
import __main__

def fits(names, new):
    new = [name for name in new if name not in names]
    micropython.heap_lock()
    try:
        for name in new:
            names[name] = None
        return True
    except MemoryError:
        return False
    finally:
        micropython.heap_unlock()
        for name in new:
            names.pop(name, None)

of_upycsp = upycsp.every() + upycsp._names._MODULES.split()
of_uthreading = list(uthreading._attrs) + list(uthreading._attrs.values()) + ["clock", "waiting"]
modules = ["upycsp." + name for name in upycsp._names._MODULES.split()]
more = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r"]
print(fits(upycsp.__dict__, of_upycsp), fits(uthreading.__dict__, of_uthreading),
      fits(sys.modules, modules), fits(__main__.__dict__, more))
"""


@pytest.mark.parametrize("heap", ("600K", "8M"))  # smaller ones have no room for more
@pytest.mark.parametrize("threads", (
    "upycsp.run(upycsp.process(lambda: None)())",
    "from uthreading import Thread\nt = Thread(target=print, args=('',))\nt.start()\nt.join()"))
def test_what_threads_read_has_room_for_what_is_loaded_beside_them(tmp_path, heap, threads):
    script = tmp_path / "room.py"
    script.write_text(_ROOM.format(root=str(ROOT), threads=threads))
    status, output, errors = run("micropython", str(script), heap=heap, limit=60)
    assert (status, output.split()) == (0, ["True"] * 4), output + errors


def test_names_are_found_while_another_thread_loads_some(tmp_path):
    script = tmp_path / "found.py"
    script.write_text("""
import sys
sys.path.insert(0, {!r})
import upycsp

looking = [True, False]

@upycsp.process
def looks():
    while looking[0]:
        looking[1] = True
        upycsp.Parallel, upycsp.Sequence, upycsp.Spawn, upycsp.every

@upycsp.process
def loads():
    while not looking[1]:
        pass
    try:
        for name in upycsp._names._MODULES.split():
            getattr(upycsp, name)
    finally:
        looking[0] = False

upycsp.run(looks(), loads())
print(upycsp.plugnplay.Identity is not None)
""".format(str(ROOT)))
    for _ in range(4):
        assert run("micropython", str(script), limit=60) == (0, "True\n", "")


_MAIN_THREAD = """
import sys, time
sys.path.insert(0, {root!r})
import _thread
import uthreading

told = []

def first():
    uthreading.Lock()  # loads what uthreading consists of
    uthreading.current_thread()
    told.append(1)

_thread.start_new_thread(first, ())
while not told:
    time.sleep(0.01)
main = uthreading.main_thread()
print(main is uthreading.current_thread(), main.ident == _thread.get_ident(), main.daemon)
"""


@pytest.mark.parametrize("port", PORTS)
def test_the_main_thread_is_the_one_that_imported_uthreading(tmp_path, port):
    script = tmp_path / "main_thread.py"
    script.write_text(_MAIN_THREAD.format(root=str(ROOT)))
    assert run(port, str(script)) == (0, "True True False\n", "")


_BOTH = {
    "runs of upycsp in threads": """
from upycsp import Channel, process, run
from uthreading import Thread

@process
def writes(cout):
    cout(1)

@process
def reads(cin):
    return cin()

done = [None, None, None]

def works(i):
    ch = Channel("ch")
    done[i] = run(writes(ch.write), reads(ch.read))[1]

threads = [Thread(target=works, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(done == [1, 1, 1])
""",
    "a bridge between a run of each library": """
import upycsp, uapycsp
from uapycsp.bridge import Bridge
from uthreading import Thread

numbers = Bridge("numbers")

@upycsp.process
def sends(cout):
    cout(1)

@uapycsp.process
async def shows(cin):
    out = uapycsp.Channel("out")
    alt = uapycsp.Alternative(uapycsp.Closed(out.write), cin)
    return (await alt.select())[1]

Thread(target=upycsp.run, args=(sends(numbers.threads.write),)).start()
print(uapycsp.run(shows(numbers.tasks.read)) == 1)
""",
}


@pytest.mark.parametrize("what", _BOTH)
def test_threads_of_uthreading_find_all_loaded(tmp_path, what):
    script = tmp_path / "both.py"
    script.write_text("import sys\nsys.path.insert(0, {!r})\n".format(str(ROOT)) + _BOTH[what])
    for _ in range(8):
        found = run("micropython", str(script), heap="2M", limit=60)
        assert found == (0, "True\n", "")


# What a process of a board does first, in a thread: its stack is too short for an import.
_ON_A_SHORT_STACK = """
import sys, _thread
sys.path.insert(0, {root!r})


class System:
    platform = "esp32"

    def __getattr__(self, name):
        return getattr(sys, name)


sys.modules["sys"] = System()
import uthreading
import upycsp as csp
from upycsp import Channel, Parallel, process, run
from uthreading import kept

assert not kept.loads_early and "uthreading.rooms" not in sys.modules
aside = []
real = kept._start_new_thread


def start(f, args):
    size = _thread.stack_size(0)
    _thread.stack_size(size)
    if size == kept._DEEP:  # else it is for a worker
        aside.append(size)
        {refuses}
    return real(f, args)


kept.set_starter(start)


@process
def uses_what_is_loaded_late(cout):
    assert csp.Closed(cout) is not None
    with Channel("counted").writer():
        pass
    assert csp.pool.Farm is not None
    for i in range(3):
        try:
            Channel("nobody").read.within(1)
        except csp.TimeoutError:
            pass
    try:
        csp.nothing_of_that_name
    except AttributeError:
        pass
    else:
        assert False


run(uses_what_is_loaded_late(Channel("d").write))
loads = len(aside)
run(uses_what_is_loaded_late(Channel("d").write))
print(3 < loads, len(aside) - loads, _thread.stack_size(0), uthreading._loader)
"""


@pytest.mark.parametrize("room", (True, False), ids=("room for a stack", "no room"))
def test_where_stacks_are_short_a_thread_with_a_long_one_loads_what_another_needs(tmp_path, room):
    script = tmp_path / "short.py"
    refuses = "pass" if room else 'raise OSError("can\'t create thread")'
    script.write_text(_ON_A_SHORT_STACK.format(root=str(ROOT), refuses=refuses))
    # The second time there is but the name that is nowhere to look for.
    assert run("micropython", str(script)) == (0, "True 1 0 None\n", "")
