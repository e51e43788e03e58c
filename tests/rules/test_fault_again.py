"""`run` again and again, whatever it ended by: nothing remains from before."""

import csp

import fault_networks as networks
import fault_residue as residue
from rules_support import LIB, THREADS, Log, join, raises, skip

if THREADS:
    from uthreading import kept
else:
    import ufuture


class Broken(Exception):
    pass


def ends_well():
    for network in networks.ALL:
        log = Log()
        processes, channels, wanted, order = network(log)
        csp.run(*processes)
        assert networks.right(log.items(), wanted, order), (network, log.items())
        residue.settle()
        residue.check(channels)


def ends_in_a_deadlock():
    a = csp.Channel("a")
    with raises(csp.DeadlockError):
        csp.run(networks.takes_plainly(a.read, Log()), networks.takes_n(a.read, Log(), 1))
    assert a.poisoned and not a.queue_len()


@csp.process
async def breaks(*ends):
    raise Broken()


def ends_by_a_failure():
    a, b = csp.Channel("a"), csp.BufferedChannel("b", 1)
    with raises(Broken):
        csp.run(networks.relays(a.read, b.write), breaks(a.write), networks.takes(b.read, Log()))
    assert a.poisoned and b.poisoned


@csp.process
async def spawns_a_failure(ask):
    h = csp.Spawn(breaks())
    while not h.done():
        await csp.Alternative(csp.Timer(ms=1)).select()
    if ask:
        with raises(Broken):
            await join(h)


def ends_by_a_spawned_failure():
    with raises(Broken):
        csp.run(spawns_a_failure(False))
    csp.run(spawns_a_failure(True))


def ends_by_poison():
    a, b = csp.Channel("a"), csp.BufferedChannel("b")
    a.poison()
    processes = [networks.relays(a.read, b.write), networks.takes_plainly(b.read, Log())]
    assert csp.run(*processes) == [None, None]


def finds_no_memory(*_):
    raise MemoryError("none is left")


@csp.process
async def serves(serve, times):
    for _ in range(times):
        await serve(finds_no_memory)


@csp.process
async def calls(call, errors):
    with raises(MemoryError) as e:
        await call()
    errors.add(e.value)


def ends_by_calls_without_memory():
    ch = csp.meeting.CallChannel("c")
    errors = Log()
    csp.run(serves(ch.serve, 2), calls(ch.call, errors), calls(ch.call, errors))
    # Two threads raise them, maybe at the same time.
    first, second = errors.items()
    assert first is not second


def ends_by_results_without_memory():
    a, b = csp.Channel("a"), csp.Channel("b")
    log = Log()
    farm = csp.pool.Farm(finds_no_memory, 2, failures="report")
    csp.run(networks.gives(a.write, (1, 2)), farm(a.read, b.write), networks.takes(b.read, log))
    assert log.count() == 2
    for failure in log.items():
        # Whoever gets them raises them.
        with raises(MemoryError):
            raise failure.exception


@csp.process
async def gathers():
    async def breaks():
        finds_no_memory()

    with raises(MemoryError):
        await ufuture.gather(breaks(), breaks())


def ends_by_gathering_without_memory():
    csp.run(gathers())


MOST_LEFT = 1024  # bytes


def again_and_again(f, times):
    f()
    f()
    residue.settle()
    threads = sum(kept.counts()) if THREADS else 0
    left = []
    # What the last network used may stay a while; a leak grows each time.
    while not left or (min(left) >= MOST_LEFT and len(left) < 4):
        residue.begin()
        for _ in range(times):
            f()
            residue.settle()
            residue.check()
        left.append(residue.left())
    assert min(left) < MOST_LEFT, "%s bytes are left behind" % left
    if THREADS:
        assert sum(kept.counts()) - threads <= 8, kept.counts()


def test_networks_that_end_well_leave_nothing():
    again_and_again(ends_well, 5)


def test_deadlocks_leave_nothing():
    again_and_again(ends_in_a_deadlock, 3)


def test_failures_leave_nothing():
    again_and_again(ends_by_a_failure, 30)


def test_failures_of_spawned_processes_leave_nothing():
    again_and_again(ends_by_a_spawned_failure, 30)


def test_poison_leaves_nothing():
    again_and_again(ends_by_poison, 30)


def test_calls_without_memory_leave_nothing():
    again_and_again(ends_by_calls_without_memory, 30)


def test_results_without_memory_leave_nothing():
    again_and_again(ends_by_results_without_memory, 30)


def test_gathering_without_memory_leaves_nothing():
    if LIB != "uapycsp":
        skip("threads gather nothing")
    again_and_again(ends_by_gathering_without_memory, 30)


def test_a_process_left_alive_is_found():
    # The check itself: something stays in a queue.
    a = csp.Channel("a")
    a.post(csp.Alternative(a.read)._offers[0])
    with raises(AssertionError):
        residue.check([a])
