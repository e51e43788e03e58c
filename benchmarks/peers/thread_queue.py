"""Threads and queue.Queue with room for one element (CPython)."""

import threading
from queue import Queue

from benchmarks import peers

LIB = "thread-queue"


# --- CommsTime; None goes round at the end

def prefix(c, a, stop):
    a.put(0)
    while not stop.is_set():
        a.put(c.get())
    a.put(None)


def delta(a, b, d):
    v = 0
    while v is not None:
        v = a.get()
        b.put(v)
        d.put(v)


def successor(b, c):
    while True:
        v = b.get()
        if v is None:
            return
        c.put(v + 1)


def consumer(d, n, meter, stop):
    first = d.get() + 1
    meter.start()
    for value in range(first, first + n):
        if d.get() != value:
            meter.fault()
    meter.stop(4 * n)
    stop.set()
    while d.get() is not None:
        pass


def start(f, *args):
    thread = threading.Thread(target=f, args=args)
    thread.start()
    return thread


def ring(n, meter):
    a, b, c, d = [Queue(1) for _ in range(4)]
    stop = threading.Event()
    threads = [start(prefix, c, a, stop), start(delta, a, b, d), start(successor, b, c)]
    consumer(d, n, meter, stop)
    while not c.empty():
        c.get()         # the successor's last value, which the prefix takes no more
    for thread in threads:
        thread.join()


def commstime(n, runs):
    """Prints its row."""
    peers.measure("commstime", LIB, "seq", n, runs, peers.each_run(ring))


# --- choice: all writers put into one queue

def writer(source, q, stop, written):
    value = total = 0
    while not stop.is_set():
        q.put((source, value))
        total += value
        value += 1
    written.append((value, total))
    q.put(None)


def choose(channels, writers, n, meter):
    q = Queue(1)
    stop = threading.Event()
    written = []
    threads = [start(writer, source, q, stop, written)
               for source in range(channels) for _ in range(writers)]
    count = total = 0
    for _ in range(n // 10):
        _, v = q.get()
        total += v
        count += 1
    while meter.next():
        meter.start()
        for _ in range(n):
            _, v = q.get()
            total += v
        meter.stop(n)
        count += n
    stop.set()
    ended = 0
    while ended < len(threads):
        pair = q.get()
        if pair is None:
            ended += 1
        else:
            total += pair[1]
            count += 1
    for thread in threads:
        thread.join()
    peers.compare(meter, (count, total), written)


def stressed_alt(channels, writers, selects, runs):
    """Prints its row."""
    peers.measure("stressed_alt", LIB, "{}x{}-select".format(channels, writers), selects, runs,
                  lambda n, meter: choose(channels, writers, n, meter))
