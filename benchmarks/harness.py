"""What every benchmark shares: counting time and bytes, checking, and printing the rows.

A benchmark makes one `Meter` a row, hands it to the process that measures, and gives it to its
`Table` when the network has ended:

    meter = Meter("commstime uapycsp seq", runs=100)
    while meter.next():             # in the measuring process
        meter.start()
        ...                         # n operations
        meter.stop(n)
    while meter.slicing(200, 4):    # 200 times 4 operations, to count the bytes they allocate
        ...
    table.row(lib, variant, n, meter)
"""

import gc
import json
import sys

from benchmarks.chrono import Chrono

# Whether rows are followed by a line with the figure of each run, for who pools several calls.
samples = False
# Whether the bytes are counted that an operation allocates, which asks the heap again and again.
counts_bytes = True
# How many rows have been printed.
rows = 0

_MEASURES_HEAP = hasattr(gc, "mem_alloc")


class WrongResult(Exception):
    """A benchmark lost, repeated or changed a message."""


class Unmeasurable(Exception):
    """What a benchmark is to measure can't be had on this port."""


def port():
    """unix, esp32, ... for MicroPython, and cpython."""
    if sys.implementation.name == "cpython":
        return "cpython"
    return "unix" if sys.platform in ("linux", "darwin", "win32") else sys.platform


def version():
    return ".".join([str(part) for part in sys.implementation.version[:3]])


def heap():
    """The size of Python's heap in bytes; None where it has no limit."""
    return gc.mem_alloc() + gc.mem_free() if _MEASURES_HEAP else None


def cpus():
    """The processors this process may use, as Linux lists them; None where it can't be known."""
    try:
        with open("/proc/self/status") as f:
            for line in f:
                if line.startswith("Cpus_allowed_list:"):
                    return line.split(":")[1].strip()
    except OSError:
        pass
    return None


def _on_terminal():
    if port() == "cpython":
        return sys.stdout is not None and sys.stdout.isatty()  # None: it was closed
    if port() != "unix":
        return True         # a board's console
    import os
    # MicroPython has no isatty; the shell looks at the same output.
    return hasattr(os, "system") and os.system("test -t 1") == 0


class _Progress:
    # Shows how far a row has come, on one line that the row then overwrites.

    def __init__(self):
        self._shows = None
        self._watch = Chrono()
        self._last = 0

    def show(self, title, done, of):
        if self._shows is None:
            self._shows = _on_terminal()
            self._watch.start()
        if not self._shows:
            return
        now = self._watch.read_us()
        if done == of or now - self._last > 200000:
            self._last = now
            text = "" if done == of else "{}: {} of {}".format(title, done, of)
            sys.stdout.write("{:<70}\r".format(text))
            if hasattr(sys.stdout, "flush"):
                sys.stdout.flush()


progress = _Progress()


class Meter:
    """The figures of one row, or, without runs, of its warm-up. Used by one process at a time."""

    def __init__(self, title, runs=0):
        gc.collect()                # of the row before
        self.title = title
        self.runs = runs
        self.warming = runs == 0
        self.us = []                # per operation, of each run
        self.bytes_per_op = None
        self.faults = 0
        self._watch = Chrono()
        self._left = None           # of the slice
        self._bytes = 0
        self._base = 0
        self._room = 0

    def next(self):
        """True while another run is to be done; the heap is swept then."""
        progress.show(self.title, len(self.us), self.runs)
        if len(self.us) == self.runs:
            return False
        gc.collect()
        return True

    def start(self):
        self._watch.reset()
        self._watch.start()

    def stop(self, operations):
        """Ends the run that `start` began and that did so many operations."""
        self._watch.stop()
        self.us.append(self._watch.read_us() / operations)

    def warmed(self, warm):
        """Takes over what the meter of the warm-up found."""
        self.bytes_per_op = warm.bytes_per_op
        self.faults += warm.faults

    def fault(self, is_one=True):
        """Counts what was wrong; the table turns it into a WrongResult."""
        if is_one:
            self.faults += 1

    def slicing(self, times, operations):
        """True `times` times, while the bytes are counted that so many operations each allocate.

        CPython counts none. Nothing is collected meanwhile, except between two of them once a
        third of what was free is used; what was allocated until then is kept in the count.
        """
        if not counts_bytes:
            return False
        if self._left is None:
            self._left = times
            self._sweep()
        elif _MEASURES_HEAP and gc.mem_alloc() - self._base > self._room:
            self._bytes += gc.mem_alloc() - self._base
            self._sweep()
        if self._left > 0:
            self._left -= 1
            return True
        if _MEASURES_HEAP:
            self._bytes += gc.mem_alloc() - self._base
            gc.enable()
            # A list that shrinks gives memory back.
            self.bytes_per_op = max(0, self._bytes / (times * operations))
        return False

    def _sweep(self):
        if not _MEASURES_HEAP:
            return
        gc.enable()
        gc.collect()
        gc.disable()
        self._room = gc.mem_free() // 3
        self._base = gc.mem_alloc()


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def _number(value):
    return "null" if value is None else "{:.3f}".format(value)


def _cell(value, decimals=3):
    # A product of matrices takes so long that its decimals would only push the columns apart.
    return "{:.{}f}".format(value, 0 if value >= 100000 else decimals)


def _ratio(other, own):
    if not own or not other:
        return ""
    if own <= other:
        return "{:.2f} times faster".format(other / own)
    return "{:.2f} times slower".format(own / other)


class Table:
    """Prints a benchmark's rows as they come, each with its RESULT line.

    `remarks` heads the last column.
    """

    def __init__(self, bench, unit, remarks="against the thesis's"):
        self._bench = bench
        self._unit = unit
        self._remarks = remarks
        self._medians = {}
        self._begun = False

    def _begin(self, extra):
        self._begun = True
        size = heap()
        print("\n{}, {}".format(self._bench, self._unit))
        print("{} {}, {}, processors {}".format(
            port(), version(),
            "no heap limit" if size is None else "heap {} bytes".format(size),
            cpus() or "unknown"))
        print("{:<28}{:<20}{:>8}{:>10}{:>10}{:>10}{:>10}{:>11}  {}".format(
            "library", "variant", extra or "", "min", "median", "avg", "max", "bytes",
            self._remarks))

    def row(self, lib, variant, n, meter, api=None, extra=None, base=None, more=(), remark=""):
        """Prints a row. `extra` is a (name, value) that the benchmark adds; `base` the (library,
        variant) of the row to compare with, or (library, variant, extra) where its extra is
        another, or there is a `remark`; `more` are names and values for the RESULT line alone.
        Raises WrongResult where the meter counted faults."""
        global rows
        if meter.faults:
            raise WrongResult("{}: {} of the messages checked were wrong".format(
                meter.title, meter.faults))
        if not self._begun:
            self._begin(extra and extra[0])
        us = meter.us
        middle = median(us)
        self._medians[(lib, variant, extra)] = middle
        if base and len(base) == 2:
            base += (extra,)
        if base in self._medians:
            remark = _ratio(self._medians[base], middle)
        print("{:<28}{:<20}{:>8}{:>10}{:>10}{:>10}{:>10}{:>11}  {}".format(
            lib + (" " + api if api else ""), variant, extra[1] if extra else "",
            _cell(min(us)), _cell(middle), _cell(sum(us) / len(us)), _cell(max(us)),
            "" if meter.bytes_per_op is None else _cell(meter.bytes_per_op, 1), remark))
        fields = [
            ("bench", json.dumps(self._bench)),
            ("lib", json.dumps(lib)),
            ("variant", json.dumps(variant)),
            ("n", str(n)),
            ("runs", str(meter.runs)),
            ("us_min", _number(min(us))),
            ("us_avg", _number(sum(us) / len(us))),
            ("us_max", _number(max(us))),
            ("bytes_per_op", _number(meter.bytes_per_op)),
            ("port", json.dumps(port())),
            ("version", json.dumps(version())),
            ("heap", "null" if heap() is None else str(heap())),
        ]
        if api:
            fields.append(("api", json.dumps(api)))
        if extra:
            fields.append((extra[0], str(extra[1])))
        for name, value in more:
            fields.append((name, _number(value) if isinstance(value, float) else str(value)))
        rows += 1
        print("RESULT {", ", ".join(['"{}": {}'.format(k, v) for k, v in fields]), "}", sep="")
        if samples:
            print("SAMPLES [" + ", ".join([_number(v) for v in us]) + "]")
