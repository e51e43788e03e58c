"""Many of everything: writers, nested networks, short processes, and threads that can't be had."""

import _thread

import csp

from rules_support import (
    LIB,
    POISONED,
    THREADS,
    Log,
    idle,
    join,
    join_all,
    par,
    posted,
    raises,
    seq,
    skip,
    take,
    until,
    until_blocking,
)

if THREADS:
    import uthreading
    from uthreading import kept

TIME_LIMIT = 240


@csp.process
async def write_all(cout, values):
    for v in values:
        await cout(v)


@csp.process
async def read_n(cin, n, log):
    for _ in range(n):
        log.add(await cin())


@csp.process
async def returns(v):
    return v


async def test_200_writers_on_one_channel_lose_nothing():
    ch = csp.Channel("c")
    log = Log()
    writers = [write_all(ch.write, [(w, i) for i in range(3)]) for w in range(200)]
    await par(read_n(ch.read, 600, log), *writers)
    items = log.items()
    assert len(set(items)) == 600
    for w in range(200):
        assert [i for writer, i in items if writer == w] == [0, 1, 2]
    assert idle(ch)


async def test_200_writers_that_wait_are_served_in_order():
    ch = csp.Channel("c")
    handles = []
    for i in range(200):
        handles.append(await posted(ch, write_all(ch.write, (i,)), i + 1))
    ch.verify()
    got = []
    for _ in range(200):
        got.append(await ch.read())
    assert got == list(range(200))
    await join_all(handles)
    assert idle(ch)


async def test_200_writers_are_all_poisoned():
    ch = csp.Channel("c")
    log = Log()
    writers = [notes_poison(ch.write, log) for _ in range(200)]
    await par(poison_at(ch, 200), *writers)
    assert log.count() == 200
    assert idle(ch)


@csp.process
async def notes_poison(cout, log):
    try:
        await cout(1)
    except csp.PoisonException:
        log.add(POISONED)


@csp.process
async def poison_at(ch, n):
    await until(lambda: ch.queue_len() == n)
    ch.verify()
    ch.poison()


async def test_200_readers_share_what_one_writer_brings():
    ch = csp.Channel("c")
    log = Log()
    readers = [read_n(ch.read, 2, log) for _ in range(200)]
    await par(write_all(ch.write, range(400)), *readers)
    assert sorted(log.items()) == list(range(400))


async def test_an_alternative_over_100_channels_takes_every_message_once():
    chans = [csp.Channel("c%d" % i) for i in range(100)]
    log = Log()
    writers = [write_all(chans[i].write, [(i, k) for k in range(2)]) for i in range(100)]
    await par(selects(chans, 200, log), *writers)
    assert sorted(log.items()) == [(i, k) for i in range(100) for k in range(2)]
    assert idle(*chans)


@csp.process
async def selects(chans, n, log):
    alt = csp.Alternative(*[ch.read for ch in chans])
    for _ in range(n):
        g, v = await alt.fair_select()
        assert g is chans[v[0]].read
        log.add(v)


async def test_parallel_in_sequence_in_parallel_communicates():
    a, b = csp.Channel("a"), csp.Channel("b")
    log = Log()
    res = await par(
        csp.Sequence(
            csp.Parallel(write_all(a.write, range(5)), read_n(a.read, 5, log)),
            csp.Parallel(write_all(b.write, range(5, 10)), csp.Sequence(returns(1), returns(2))),
        ),
        csp.Sequence(
            returns("x"), csp.Parallel(read_n(b.read, 5, log), csp.Sequence(returns("y")))
        ),
    )
    assert res == [[[None, None], [None, [1, 2]]], ["x", [None, ["y"]]]]
    assert log.items() == list(range(10))
    assert idle(a, b)


async def test_nests_six_deep():
    log = Log()
    assert await par(nest(log, 6)) == [[[[[[[7]]]]]]]
    assert log.items() == [6, 5, 4, 3, 2, 1, 0]


@csp.process
async def nest(log, depth):
    log.add(depth)
    if not depth:
        return 7
    if depth % 2:
        return await seq(nest(log, depth - 1))
    return await par(nest(log, depth - 1))


async def test_a_failure_deep_in_a_nest_ends_the_whole_nest():
    a, b, c = [csp.Channel(n) for n in "abc"]
    with raises(KeyError):
        await par(
            csp.Sequence(csp.Parallel(reads_for_ever(a.read), fails_when(b, 1, a.write, b.read))),
            csp.Sequence(csp.Parallel(writes_for_ever(b.write), reads_for_ever(c.read), ends(c))),
        )
    assert idle(a, b, c)


@csp.process
async def reads_for_ever(cin):
    while True:
        await cin()


@csp.process
async def writes_for_ever(cout):
    while True:
        await cout(1)


@csp.process
async def fails_when(ch, n, *held):
    await until(lambda: ch.queue_len() == n)
    raise KeyError("deep inside")


@csp.process
async def ends(ch):
    await until(lambda: ch.queue_len() == 1)
    ch.poison()


async def test_thousands_of_short_processes_one_after_another():
    before = sum(kept.counts()) if THREADS else 0
    total = 0
    for i in range(1500):
        a, b = await par(returns(i), returns(1))
        total += a + b
    assert total == sum(range(1500)) + 1500
    if THREADS:
        # A handful: those of one Parallel, and few that were not back yet when the next began.
        assert sum(kept.counts()) - before <= 8


async def test_thousands_of_spawned_processes_one_after_another():
    before = sum(kept.counts()) if THREADS else 0
    for i in range(1500):
        assert await join(csp.Spawn(returns(i))) == i
    if THREADS:
        assert sum(kept.counts()) - before <= 8


async def test_two_writer_processes_per_message():
    a, b = csp.Channel("a"), csp.Channel("b")
    left, right = Log(), Log()
    await par(
        delta_of_processes(a.write, b.write, 300), logs_all(a.read, left), logs_all(b.read, right)
    )
    assert left.items() == list(range(300)) and right.items() == list(range(300))


@csp.process
async def delta_of_processes(out0, out1, n):
    for i in range(n):
        await par(write_all(out0, (i,)), write_all(out1, (i,)))
    raise csp.PoisonException()


@csp.process
async def logs_all(cin, log):
    while True:
        log.add(await cin())


async def test_a_pipeline_of_50_processes_carries_every_message():
    chans = [csp.Channel("c%d" % i) for i in range(51)]
    log = Log()
    relays = [adds_one(chans[i].read, chans[i + 1].write) for i in range(50)]
    await par(gives(chans[0].write, 10), logs_all(chans[50].read, log), *relays)
    assert log.items() == [i + 50 for i in range(10)]
    assert idle(*chans)


@csp.process
async def gives(cout, n):
    for i in range(n):
        await cout(i)
    raise csp.PoisonException()


@csp.process
async def adds_one(cin, cout):
    while True:
        await cout(1 + await cin())


# A thread that can't be started


class Failing:
    """start_new_thread, of which the k-th call (counted from 1) fails, and all after it."""

    def __init__(self, k, error):
        self.left = k
        self.error = error
        self.lock = _thread.allocate_lock()
        self.start = kept.set_starter(self)

    def __call__(self, *args):
        with self.lock:
            self.left -= 1
            if self.left <= 0:
                raise self.error
        return self.start(*args)

    def give_up(self):
        kept.set_starter(self.start)


def network(chans, log):
    return [
        gives(chans[0].write, 3),
        adds_one(chans[0].read, chans[1].write),
        adds_one(chans[1].read, chans[2].write),
        csp.Sequence(logs_all(chans[2].read, log)),
        csp.Parallel(reads_for_ever(chans[3].read), ends(chans[3])),
    ]


class Enough(Exception):
    pass


def attempt(k, error, stack):
    """Runs the network with k - 1 new threads at most; true if that was enough."""
    chans = [csp.Channel("c%d" % i) for i in range(4)]
    log = Log()
    processes = network(chans, log)
    # Idle threads would serve, were their stacks not too small.
    uthreading.stack_size(stack)
    failing = Failing(k, error)
    try:
        with raises(RuntimeError, Enough) as e:
            csp.run(*processes)
            raise Enough()
    finally:
        failing.give_up()
        uthreading.stack_size(0)
    until_blocking(lambda: kept.counts()[1] == 0)
    assert idle(*chans)
    if isinstance(e.value, Enough):
        assert log.items() == [2, 3, 4]
        return True
    text = str(e.value)
    assert text.startswith("can't start a new thread") and "\n" not in text, text
    assert csp.run(returns(1)) == 1
    return False


def test_whichever_thread_cannot_be_started_there_is_one_clear_error_and_nothing_hangs():
    if not THREADS:
        skip("uapycsp starts no threads")
    errors = (OSError("can't create thread"), MemoryError(), RuntimeError("can't start"))
    k = 1
    while not attempt(k, errors[k % 3], 131072 + 4096 * k):
        k += 1
        assert k < 30
    # Five processes and two inside, of which the main thread may run one itself.
    assert k >= 5, k


def test_a_spawn_without_a_thread_raises_and_leaves_nothing():
    if not THREADS:
        skip("uapycsp starts no threads")
    assert csp.run(spawns_without_thread()) == "raised"
    until_blocking(lambda: kept.counts()[1] == 0)


@csp.process
async def spawns_without_thread():
    ch = csp.Channel("c")
    uthreading.stack_size(131072 * 3)
    failing = Failing(1, OSError("can't create thread"))
    try:
        with raises(RuntimeError) as e:
            csp.Spawn(take(ch.read))
        with raises(RuntimeError):
            await par(returns(1), take(ch.read))
    finally:
        failing.give_up()
        uthreading.stack_size(0)
    assert str(e.value).startswith("can't start a new thread")
    assert idle(ch)
    other = csp.Channel("other")
    h = await posted(other, take(other.read), 1)
    await other.write(1)
    assert await join(h) == 1
    return "raised"


def test_the_number_of_waiting_processes_is_not_limited_by_the_library():
    if LIB != "uapycsp":
        skip("threads cost memory outside the heap")
    assert csp.run(many_wait(1000)) == 1000


@csp.process
async def many_wait(n):
    ch = csp.Channel("c")
    handles = [csp.Spawn(take(ch.read)) for _ in range(n)]
    await until(lambda: ch.queue_len() == n)
    for i in range(n):
        await ch.write(i)
    got = await join_all(handles)
    assert got == list(range(n))
    return len(got)
