"""The baselines do what a CSP library must: nothing lost, nothing repeated, poison reaches all."""

from benchmarks import libs

ASYNC = []
for _queue in ("list", "deque"):
    for _future in ("rescheduling", "yielding"):
        ASYNC.append(("thesis-uapycsp-" + _future, _queue))


def _each_async(check):
    for lib, queue in ASYNC:
        check(libs.load(lib, None, queue))


async def _read(cin, n):
    found = []
    for _ in range(n):
        found.append(await cin())
    return found


def test_asyncio_messages_come_in_order():
    def check(csp):
        @csp.process
        async def writer(cout):
            for i in range(50):
                assert await cout(i) == 0

        @csp.process
        async def reader(cin):
            return await _read(cin, 50)

        ch = csp.Channel()
        assert csp.run(writer(ch.write), reader(ch.read)) == [None, list(range(50))]

    _each_async(check)


def test_asyncio_many_writers_lose_nothing():
    def check(csp):
        @csp.process
        async def writer(cout, i):
            await cout(i)

        @csp.process
        async def reader(cin):
            return await _read(cin, 100)

        ch = csp.Channel()
        procs = [writer(ch.write, i) for i in range(100)]
        got = csp.run(reader(ch.read), *procs)[0]
        assert sorted(got) == list(range(100))

    _each_async(check)


def test_asyncio_poison_wakes_readers_writers_and_alternatives():
    def check(csp):
        ended = []

        @csp.process
        async def waits(name, operation):
            try:
                await operation()
            except csp.PoisonException:
                ended.append(name)
                raise

        @csp.process
        async def poisons(channels, alt):
            while not (channels[0].queue and channels[1].queue and alt._state == 2):
                await _pass(csp)
            for ch in channels:
                ch.poison()
            assert not channels[2].queue

        a = csp.Channel()
        b = csp.Channel()
        c = csp.Channel()
        alt = csp.Alternative(c.read)
        procs = [waits("read", a.read), waits("write", lambda: b.write(1)),
                 waits("alt", alt.select), poisons((a, b, c), alt)]
        assert csp.run(*procs) == [None] * 4
        assert sorted(ended) == ["alt", "read", "write"]

    _each_async(check)


async def _pass(csp):
    # Through the run queue once.
    await csp.asyncio.sleep(0)


def test_asyncio_select_takes_exactly_one_and_leaves_nothing():
    def check(csp):
        @csp.process
        async def chooser(alt, channels):
            found = []
            for _ in range(3):
                async with alt as (g, v):
                    found.append(v)
            assert [len(ch.queue) for ch in channels] == [0, 0, 0]
            return found

        @csp.process
        async def writer(cout, v):
            await cout(v)

        @csp.process
        async def reader(cin):
            return await cin()

        a = csp.Channel()
        b = csp.Channel()
        c = csp.Channel()
        alt = csp.Alternative(a.read, b.read, c.write.alt_pending_write("w"))
        results = csp.run(chooser(alt, (a, b, c)), writer(b.write, "b"), writer(a.write, "a"),
                          reader(c.read))
        assert sorted(results[0], key=str) == [0, "a", "b"]
        assert results[3] == "w"

    _each_async(check)


def test_asyncio_parallel_takes_operations():
    def check(csp):
        @csp.process
        async def both(a, b):
            return await csp.Parallel(a(1), b(2))

        @csp.process
        async def reader(cin):
            return await cin()

        a = csp.Channel()
        b = csp.Channel()
        assert csp.run(both(a.write, b.write), reader(b.read), reader(a.read)) == [[0, 0], 2, 1]

    _each_async(check)


def test_threads_lose_nothing_between_many_writers_and_readers():
    csp = libs.load("thesis-upycsp")

    @csp.process
    def writer(cout, i):
        for k in range(100):
            cout(100 * i + k)

    @csp.process
    def reader(cin):
        return [cin() for _ in range(200)]

    ch = csp.Channel()
    results = csp.run(reader(ch.read), reader(ch.read), *[writer(ch.write, i) for i in range(4)])
    assert sorted(results[0] + results[1]) == list(range(400))


def test_threads_select_against_selects():
    csp = libs.load("thesis-upycsp")

    @csp.process
    def chooser(guards, n):
        alt = csp.Alternative(*guards)
        total = 0
        for _ in range(n):
            with alt as (g, v):
                total += v
        return total

    @csp.process
    def writer(cout, n):
        for k in range(n):
            cout(k)

    a = csp.Channel()
    b = csp.Channel()
    results = csp.run(chooser((a.read, b.read), 150), chooser((b.read, a.read), 150),
                      writer(a.write, 150), writer(b.write, 150))
    assert results[0] + results[1] == 2 * sum(range(150))
    assert not a.queue and not b.queue


def test_threads_poison_ends_a_network():
    csp = libs.load("thesis-upycsp")

    @csp.process
    def loops(cin, cout):
        while True:
            cout(cin() + 1)

    @csp.process
    def ends(cin, cout, channels):
        cout(0)
        got = cin()
        for ch in channels:
            ch.poison()
        return got

    a = csp.Channel()
    b = csp.Channel()
    c = csp.Channel()
    assert csp.run(loops(a.read, b.write), loops(b.read, c.write),
                   ends(c.read, a.write, (a, b, c))) == [None, None, 2]


def test_threads_a_process_that_fails_is_reported():
    csp = libs.load("thesis-upycsp")

    @csp.process
    def fails(cout):
        raise ValueError("on purpose")

    @csp.process
    def waits(cin):
        cin()

    ch = csp.Channel()
    try:
        csp.run(waits(ch.read), fails(ch.write))
    except ValueError as e:
        assert str(e) == "on purpose"
    else:
        raise AssertionError("the failure was lost")


def test_threads_a_lock_is_released_by_its_owner_only():
    from benchmarks.thesis.upycsp import RLock

    lock = RLock()
    lock.acquire()
    lock.acquire()
    lock.release()
    lock.release()
    try:
        lock.release()
    except RuntimeError:
        pass
    else:
        raise AssertionError("released what nobody holds")
