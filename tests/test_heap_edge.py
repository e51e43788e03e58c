"""uapycsp where memory ends: MemoryError, and what runs afterwards works."""

import gc

from uapycsp import Alternative, BufferedChannel, Channel, Parallel, Skip, Spawn, Timer
from uapycsp import process, run

INTERPRETERS = ("micropython",)
HEAP = "222K"


def _raised_memory_error(f, *args):
    # The exception is let go of here: it keeps alive all that it has passed through.
    try:
        f(*args)
    except MemoryError:
        return True
    return False


def _works():
    # A fresh network runs, and memory is there for it.
    gc.collect()
    a, b = Channel("a"), Channel("b")
    log = []
    run(_counts(a.write, 20), _copies(a.read, b.write), _collects(b.read, log))
    return log == list(range(20))


@process
async def _counts(cout, n):
    for i in range(n):
        await cout(i)
    cout.poison()


@process
async def _copies(cin, cout):
    while True:
        v = await cin()
        await Parallel(cout.alt_pending_write(v), _nothing())


@process
async def _nothing():
    pass


@process
async def _collects(cin, log):
    async for v in cin:
        log.append(v)


@process
async def _waits(cin):
    return await cin()


def _waits_in_parallel(n):
    ch = Channel("c")
    return run(*[_waits(ch.read) for _ in range(n)] + [_pays(ch, n)])[:n]


@process
async def _pays(ch, n):
    while ch.queue_len() < n and not ch.poisoned:  # one that has died poisons it
        await Alternative(Timer(ms=1)).select()
    for i in range(n):
        await ch.write(i)


async def _network(n):
    ch = Channel("c")
    gc.collect()
    handles = [Spawn(_waits(ch.read)) for _ in range(n)]
    while ch.queue_len() < n and not ch.poisoned:  # one that has died poisons it
        await Alternative(Timer(ms=1)).select()
    for i in range(n):
        await ch.write(i)
    results = []
    for h in handles:
        results.append(await h)
    return results


def _of_size(n):
    gc.collect()
    assert run(_network(n)) == list(range(n))


def test_a_size_fits_or_is_a_memory_error_and_a_small_network_runs_after_it():
    fits = []
    for n in range(100, 500, 20):
        fits.append(not _raised_memory_error(_of_size, n))
        assert _works(), n
    assert fits[0] and not fits[-1], fits


async def _spawns_for_ever(ch):
    while not ch.poisoned:  # by one that died for want of memory
        Spawn(_waits(ch.read))
        await Alternative(Skip()).select()


async def _spawns_at_once(ch):
    while not ch.poisoned:  # by one that died for want of memory
        Spawn(_waits(ch.read))


@process
async def _nests(ch):
    await Parallel(_waits(ch.read), _nests(ch))


@process
async def _buffers(ch):
    n = 0
    while True:
        await ch.write(str(n))
        n += 1


def _starts_until_the_end(body, kind=Channel):
    # All in a frame of its own, which ends: one that goes on keeps alive what it has last pushed.
    ch = kind("c")
    run(body(ch))


def test_processes_started_until_memory_ends_are_a_memory_error():
    for body in (_spawns_for_ever, _spawns_at_once, _nests):
        for _ in range(3):
            gc.collect()
            assert _raised_memory_error(_starts_until_the_end, body), body
            assert _works(), body


_begun = [0]
_ended = [0]


@process
async def _counted(cin):
    _begun[0] += 1
    try:
        await cin()
    finally:
        _ended[0] += 1


async def _spawns_counted(ch):
    while not ch.poisoned:
        Spawn(_counted(ch.read))
        await Alternative(Skip()).select()


def test_what_was_started_before_memory_ended_has_ended_after_run():
    for _ in range(3):
        _begun[0] = _ended[0] = 0
        gc.collect()
        assert _raised_memory_error(_starts_until_the_end, _spawns_counted)
        assert _begun[0] == _ended[0], (_begun, _ended)
        assert _works()


def test_a_buffer_filled_until_memory_ends_is_a_memory_error():
    for _ in range(3):
        gc.collect()
        assert _raised_memory_error(_starts_until_the_end, _buffers, BufferedChannel)
        assert _works()


async def _never_waits():
    a = BufferedChannel("a", 10, "keep_newest")
    b = BufferedChannel("b", 10, "keep_newest")
    for i in range(20000):
        await Parallel(a.write(i), b.write(-i))


def test_parallels_that_never_wait_need_no_more_memory_with_each():
    gc.collect()
    run(_never_waits())
    assert _works()


def test_a_run_of_many_processes_fits_or_is_a_memory_error():
    fits = []
    for n in range(20, 600, 20):
        gc.collect()
        fits.append(not _raised_memory_error(_waits_in_parallel, n))
        assert _works(), n
    assert fits[0] and not fits[-1], fits
