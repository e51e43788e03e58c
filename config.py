"""What runs: the library, the benchmark and its sizes.

A board takes no arguments, so this file decides everything there: edit it and copy it over. On
the Unix port and CPython `main.py [run] [key=value ...]` overrides it for one run.

    import config
    csp = config.csp()      # Channel, Alternative, Parallel, ... for bodies with async and await
"""

import sys

LIB = "uapycsp"             # uapycsp (coroutines) or upycsp (threads)
# commstime, stressed_alt, queues, waiting_queue, spawn, workers, matmul, prodcons, latency,
# memory, bridge; quick or all
RUN = "commstime"
FUTURE = "rescheduling"     # what ufuture.create_future() makes: rescheduling or yielding

ON_PC = sys.platform in ("linux", "darwin", "win32")

# What the board has room for: a section of BOARDS below; None for the one of its heap's size.
BOARD = None

# Bytes of the stack of each thread (upycsp); 0 for the port's own, None for what BOARDS says. An
# ESP32's own is 5120, and 4096 its least: the smaller, the more threads, and the less deeply
# calls may nest (`main.py memory` tells what the library's own need).
STACK = None

# Rows of the thesis's own designs beside those of LIB.
BASELINES = ON_PC

# What a channel of the thesis's asyncio design keeps its waiting operations in: list or deque.
THESIS_QUEUE = "list"

# The sizes of each run, which are also the keys it takes on the command line. Lists are written
# with commas, ranges as 1-30. They are the thesis's, for a PC and for a board; only that the heap
# has no room for 16000 offers, so that the channels' own queue is measured up to `offers` of them,
# and that a board without SPIRAM has no threads for more than 10 waiters.
if ON_PC:
    SIZES = {
        "commstime": {"delta": "seq,par,par-proc", "n": 5000, "idle": 0, "runs": 100},
        "stressed_alt": {
            "channels": "5,100", "writers": "2,5", "form": "with,select,most",
            "selects": 5000, "at_most": 5000, "threads": 200, "runs": 100,
        },
        "queues": {
            "queue": "deque,list,cspcore", "sizes": "500,1000,2000,4000,8000,16000",
            "offers": 4000, "runs": 500,
        },
        "waiting_queue": {"future": "rescheduling,yielding", "waiters": "1-30", "n": 1000,
                          "runs": 100},
        "spawn": {"form": "parallel,spawn", "at_once": "1,10", "n": 1000, "runs": 20},
        "workers": {
            "work": "none,sqrt,fib,recursive,blocks", "n": "2000,2000,1000,24,200",
            "emitter": "bytecode,native,viper", "workers": "1,2,4", "runs": 5,
        },
        "matmul": {"size": 200, "element": "int,float", "workers": "1,2,4,8", "runs": 3},
        "prodcons": {
            "form": "rendezvous,buffered", "shape": "1-1,1-n,n-1,n-n", "others": 4,
            "capacity": 10, "n": 5000, "runs": 20,
        },
        "latency": {"what": "sleep,timer,stream,idle", "ms": 10, "idle_ms": 2000, "n": 1000,
                    "runs": 1},
        "memory": {"n": 100, "threads": 10, "messages": 1000, "runs": 5},
        "bridge": {
            "way": "to-task,to-thread,interrupt", "form": "rendezvous,buffered,flag,queue",
            "capacity": 16, "n": 1000, "runs": 10,
        },
    }
    QUICK = {
        "commstime": {"delta": "seq,par,par-proc", "n": 1000, "runs": 7},
        "stressed_alt": {
            "channels": "5,100", "writers": "2,5", "form": "with,select",
            "selects": 500, "runs": 5,
        },
        "queues": {"queue": "deque,list,cspcore", "sizes": "500,4000", "offers": 4000,
                   "runs": 20},
        "waiting_queue": {"future": "rescheduling,yielding", "waiters": "1,10,30", "n": 500,
                          "runs": 5},
    }
else:
    SIZES = {
        "commstime": {"delta": "seq,par,par-proc", "n": 200, "idle": 0, "runs": 100},
        "stressed_alt": {
            "channels": "5", "writers": "2", "form": "with,select,most", "selects": 200,
            "at_most": 5000, "threads": 200, "runs": 100,
        },
        "queues": {
            "queue": "deque,list,cspcore", "sizes": "50,100,200,400,800,1600", "offers": 400,
            "runs": 500,
        },
        "waiting_queue": {"future": "rescheduling,yielding", "waiters": "1-10", "n": 100,
                          "runs": 100},
        "spawn": {"form": "parallel,spawn", "at_once": "1,5", "n": 50, "runs": 20},
        # Blocks of 4 KB, and what floats leave behind, find no place beside the library there.
        "workers": {
            "work": "none,sqrt,fib,recursive", "n": "50,50,50,8",
            "emitter": "bytecode,native,viper", "workers": "1,2", "runs": 5,
        },
        "matmul": {"size": 30, "element": "int", "workers": "1,2,4", "runs": 3},
        "prodcons": {
            "form": "rendezvous,buffered", "shape": "1-1,1-n,n-1,n-n", "others": 4,
            "capacity": 10, "n": 200, "runs": 20,
        },
        # A stream needs the network, and the time that waiting takes a port that tells it.
        "latency": {"what": "sleep,timer", "ms": 10, "idle_ms": 2000, "n": 200, "runs": 1},
        "memory": {"n": 20, "threads": 10, "messages": 100, "runs": 5},
        "bridge": {
            "way": "to-task,to-thread,interrupt", "form": "rendezvous,buffered,flag,queue",
            "capacity": 16, "n": 200, "runs": 10,
        },
    }
    QUICK = {
        "commstime": {"delta": "seq,par,par-proc", "n": 50, "runs": 5},
        "stressed_alt": {
            "channels": "3", "writers": "2", "form": "with,select", "selects": 50, "runs": 5,
        },
        "queues": {"queue": "deque,list,cspcore", "sizes": "50,400", "offers": 400, "runs": 5},
        "waiting_queue": {"future": "rescheduling,yielding", "waiters": "1,5", "n": 50, "runs": 5},
    }

# What differs from SIZES where there is less or more memory. The numbers of threads are those of
# MicroPython 1.16; docs/boards.md tells where they come from, and how to find those of a board.
BOARDS = {
    # Without SPIRAM: 15 threads with stacks of the port's own size. 5 channels with 2 writers each
    # are 11 processes.
    "esp32": {"stack": 0},
    # With WiFi, which main.py switches on first, as an application would: 8 such threads.
    "esp32-wifi": {
        "stack": 0,
        "wifi": True,
        "stressed_alt": {"channels": "3"},
        "waiting_queue": {"waiters": "1-5"},
        "prodcons": {"others": 3},
        "memory": {"threads": 5},
    },
    # The heap is in SPIRAM and has megabytes. Stacks are in the chip's own RAM in any case, which
    # this heap leaves to them.
    "esp32-spiram": {
        "stack": 0,
        "commstime": {"n": 1000},
        "stressed_alt": {"selects": 1000},
        "queues": {"sizes": "500,1000,2000,4000", "offers": 4000},
        "matmul": {"size": 60},
    },
}


def csp():
    """The configured library, as a module to be used with async and await."""
    if LIB == "uapycsp":
        import uapycsp
        return uapycsp
    if LIB == "upycsp":
        import upycsp.aio
        return upycsp.aio
    raise ValueError("no library {!r}".format(LIB))
