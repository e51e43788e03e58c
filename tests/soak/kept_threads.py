"""A network of uthreading's own threads beside the processes: they use the same kept threads."""

import uthreading

from ledger import Ledger, Loss

import upycsp as csp

_LIMIT = 60  # seconds: a thread that has not ended by then hangs


def threads(slot, chance):
    """Two threads write what two processes read, with an event, a timer and a limited join."""
    n = chance.between(5, 40)
    ch = csp.BufferedChannel("threads", 3) if chance.below(2) else csp.Channel("threads")
    book = Ledger(ch, 2, 2)
    slot.begin(book)
    go = uthreading.Event()
    late = uthreading.Event()
    writers = []
    for w in (0, 1):
        args = (ch.write, book.outs[w], n, go)
        writers.append(uthreading.Thread(target=_writes, args=args))
        writers[w].start()
    timer = uthreading.Timer(0.001, late.set)
    timer.start()
    readers = [_collects(ch.read, book.ins[0], go), _collects(ch.read, book.ins[1], None)]
    csp.Parallel(_closes(ch, writers), *readers).run()
    if not late.wait(_LIMIT):
        raise Loss("a Timer was lost")
    timer.join(_LIMIT)
    if sum([i.n for i in book.ins]) != 2 * n:
        raise Loss("threads: a closed channel was not read to its end")
    slot.settle([book])


def _writes(cout, out, n, go):
    go.wait()
    for _ in range(n):
        cout(out.value)
        out.value += 1


@csp.process
def _collects(cin, inn, go):
    if go is not None:
        go.set()
    for v in cin:
        inn.take(v)


@csp.process
def _closes(ch, writers):
    for t in writers:
        t.join(_LIMIT)
        if t.is_alive():
            raise Loss("a thread has not ended in %d s" % _LIMIT)
    ch.close()


def barrier(slot, chance):
    """Threads that meet at a barrier, round after round, and count under a lock."""
    parties = chance.between(2, 4)
    rounds = chance.between(2, 10)
    b = uthreading.Barrier(parties)
    lock = uthreading.Lock()
    counts = [0] * rounds
    ts = [uthreading.Thread(target=_meets, args=(b, lock, counts, rounds)) for _ in range(parties)]
    for t in ts:
        t.start()
    for t in ts:
        t.join(_LIMIT)
        if t.is_alive():
            raise Loss("a thread hangs at a barrier")
    if counts != [parties] * rounds:
        raise Loss("threads passed a barrier that was not full")


def _meets(b, lock, counts, rounds):
    for i in range(rounds):
        with lock:
            counts[i] += 1
        b.wait()


KINDS = {"threads": threads, "barrier": barrier}
