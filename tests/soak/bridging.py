"""A network across both libraries: threads hand messages to a choice of coroutines."""

import uthreading

import uapycsp as csp
import upycsp

from ledger import SHIFT, Ledger, Loss


class Handover(csp.Guard):
    """A guard that is ready when a thread has something: `hand` returns when that was taken."""

    def __init__(self):
        self._lock = uthreading.Lock()
        self._alt = None
        self.ended = False

    def enable(self, alt):
        with self._lock:
            self._alt = alt
        return False, None

    def disable(self, alt):
        with self._lock:
            self._alt = None

    def hand(self, value):
        """In a thread: offers the value to each selection until one takes it."""
        while not self.ended:
            with self._lock:
                alt = self._alt
            if alt is None:
                uthreading.kept.sleep_ms(1)
            elif alt.schedule(self, value):
                return True
        return False


async def bridge(slot, chance):
    """Processes of upycsp -> a thread -> a guard -> an alternative beside a channel -> a sink."""
    n = chance.between(3, 20)
    source = upycsp.Channel("bridge source", external=True)
    inner, out = csp.Channel("bridge inner"), csp.Channel("bridge out")
    books = [Ledger(source), Ledger(inner), Ledger(out, 2)]
    slot.begin(*books)
    guard = Handover()
    writer = uthreading.Thread(target=_writes, args=(source, books[0].out, n))
    carrier = uthreading.Thread(target=_carries, args=(source, books[0].inn, guard))
    writer.start()
    carrier.start()
    try:
        await csp.Parallel(
            sends(inner.write, books[1].out, n),
            chooses(guard, inner.read, books[1].inn, out.write, books[2].outs, n),
            reads(out.read, books[2].inn, 2 * n),
        )
    finally:
        guard.ended = True
    writer.join()
    carrier.join()
    slot.settle(books)


def _writes(ch, out, n):
    for _ in range(n):
        ch.write(out.value)
        out.value += 1
    ch.write.poison()


def _carries(ch, inn, guard):
    for v in ch.read:
        inn.take(v)
        if not guard.hand(v):
            return


@csp.process
async def sends(cout, out, n):
    for _ in range(n):
        await cout(out.value)
        out.value += 1


@csp.process
async def chooses(guard, cin, inn, cout, outs, n):
    """What the thread hands over goes on as the second writer's; it comes in order."""
    alt = csp.Alternative(cin, guard)
    for _ in range(2 * n):
        g, v = await alt.fair_select()
        out = outs[0 if g is cin else 1]
        if g is cin:
            inn.take(v)
        elif v & ((1 << SHIFT) - 1) != out.count():
            raise Loss("bridge: %d was handed over after %d" % (v, out.count() - 1))
        await cout(out.value)
        out.value += 1


@csp.process
async def reads(cin, inn, n):
    for _ in range(n):
        inn.take(await cin())


KINDS = {"bridge": bridge}
