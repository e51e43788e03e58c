"""Adapters: each brings all that comes, ends with its channel, and switches off.

Streams are the libraries' own: test_adapter_streams.py, and tests/test_adapters.py for uapycsp.
"""

import _thread
import sys

import csp

from rules_support import (
    MICROPYTHON,
    THREADS,
    Log,
    block_ms,
    collect,
    connection,
    idle,
    join,
    new_address,
    par,
    raises,
    settle,
    skip,
    sleep_ms,
    until,
    until_blocking,
)

try:
    import micropython
except ImportError:
    micropython = None

adapters = csp.adapters


def off(it):
    raise AssertionError("there are no interrupts now")


class FakePin:
    IRQ_FALLING = 1
    IRQ_RISING = 2

    def __init__(self):
        self.level = 1
        self.trigger = None
        self.handler = off

    def is_on(self):
        return self.handler is not off

    def value(self):
        return self.level

    def irq(self, handler, trigger=None):
        self.trigger = trigger
        self.handler = handler or off

    def change(self, level):
        self.level = level
        self.handler(self)


class FakeTimer:
    PERIODIC = 1

    def __init__(self):
        self.settings = None
        self.callback = off

    def init(self, period, mode, callback):
        self.settings = period, mode
        self.callback = callback

    def deinit(self):
        self.callback = off

    def is_on(self):
        return self.callback is not off


def need_interrupts():
    if not THREADS and not MICROPYTHON:
        skip("CPython's asyncio has no ThreadSafeFlag")


async def started(adapter, fake):
    """The adapter's handle, once it has switched on its interrupts."""
    need_interrupts()
    h = csp.Spawn(adapter)
    await until(fake.is_on)
    return h


async def test_a_pin_tells_its_levels():
    pin = FakePin()
    ch = csp.Channel("levels")
    h = await started(adapters.PinEvents(pin, ch.write), pin)
    assert pin.trigger == 3
    for level in (0, 1, 0):
        pin.change(level)
        assert await ch.read() == level
    pin.change(1)
    pin.change(0)
    assert [await ch.read(), await ch.read()] == [1, 0]
    ch.poison()
    assert await join(h) is None
    assert pin.handler is off
    assert idle(ch)


async def test_a_flood_of_interrupts_ends_with_the_level_that_is():
    pin = FakePin()
    ch = csp.Channel("levels")
    h = await started(adapters.PinEvents(pin, ch.write, 1, size=2), pin)
    assert pin.trigger == 1
    for i in range(101):
        pin.change(i & 1)
    pin.level = 7
    got = [await ch.read(), await ch.read()]
    while got[-1] != 7:
        got.append(await ch.read())
    assert got[:2] == [0, 1] and len(got) <= 4, got
    for i in range(3):  # and is none afterwards
        pin.change(i)
        assert await ch.read() == i
    ch.poison()
    await join(h)


async def test_a_burst_amid_the_look_at_what_is_there_ends_with_the_level_that_is():
    pin = FakePin()
    ch = csp.Channel("levels")
    log = Log()
    bursts = [0]

    def burst():
        bursts[0] -= 1
        pin.change(1)
        pin.change(0)

    with (amid_the_look_of_threads if THREADS else amid_the_look_of_tasks)(bursts, burst):
        h = await started(adapters.PinEvents(pin, ch.write, size=1), pin)
        with locked() if THREADS else nothing():
            for level in (1, 0) * THREADS + (1,):  # for threads with a loss, which is looked for
                pin.change(level)
            bursts[0] = 1
        log.add(await ch.read())
        await until(lambda: not bursts[0])  # it needs the library's lock, which others want later
        reads = csp.Spawn(collect(ch.read, log))
        await until(lambda: log.items()[-1] == pin.level)
        await settle()
        assert log.items()[-1] == pin.level == 0, log.items()
    ch.poison()
    await join(h)
    await join(reads)


class nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


class locked:
    """The library's lock is held, as it may be when an interrupt comes: it can hand nothing on."""

    def __enter__(self):
        self.lock = __import__("upycsp.wait", None, None, ("*",)).lock
        self.lock.acquire()

    def __exit__(self, *_):
        self.lock.release()


class amid_the_look_of_tasks:
    """A burst comes when uapycsp's adapter has seen that there is no more."""

    def __init__(self, bursts, burst):
        self.usual = usual = adapters.Ring

        class Watched(usual):
            def is_empty(self):
                found = usual.is_empty(self)
                if found and bursts[0]:
                    burst()
                return found

        self.watched = Watched

    def __enter__(self):
        adapters.Ring = self.watched

    def __exit__(self, *_):
        adapters.Ring = self.usual


class amid_the_look_of_threads:
    """The same for upycsp's, which looks without the lock."""

    def __init__(self, bursts, burst):
        self.kind = __import__("upycsp.isr", None, None, ("*",)).InterruptChannel
        self.usual = usual = self.kind.has_isr
        lock = __import__("upycsp.wait", None, None, ("*",)).lock

        def has_isr(channel):
            found = usual(channel)
            if not found and bursts[0] and channel.lost and lock.acquire(0):
                try:
                    burst()
                finally:
                    lock.release()
            return found

        self.watched = has_isr

    def __enter__(self):
        self.kind.has_isr = self.watched

    def __exit__(self, *_):
        self.kind.has_isr = self.usual


async def test_a_pin_as_on_a_board():
    if not THREADS:
        skip("the channel for interrupts is upycsp's")
    isr = __import__("upycsp.isr", None, None, ("*",))
    pin = FakePin()
    ch = csp.Channel("levels")
    isr.direct = False  # then the schedule, or the timer thread, brings the level
    try:
        h = await started(adapters.PinEvents(pin, ch.write), pin)
        for level in (0, 1, 0, 1):
            pin.change(level)
            assert await ch.read() == level
    finally:
        isr.direct = True
    ch.poison()
    await join(h)


async def test_a_channel_for_interrupts_without_tasks():
    if not THREADS:
        skip("the channel for interrupts is upycsp's")
    isr = __import__("upycsp.isr", None, None, ("*",))
    ch = isr.InterruptChannel("presses", capacity=1, isr=2)
    assert [ch.from_isr(v) for v in (1, 2, 3)] == [True, True, False]
    assert ch.lost == 1
    ch.write(4)
    assert ch.queue_len() == 3
    assert [ch.read(), ch.read(), ch.read()] == [1, 2, 4]
    assert idle(ch)
    ch.from_isr(5)
    ch.close()
    assert not ch.from_isr(6)
    assert list(ch.read) == [5]
    for make in (lambda: isr.InterruptChannel(isr=-1), lambda: isr.InterruptChannel(capacity=-1)):
        with raises(ValueError):
            make()
    with raises(RuntimeError):
        isr.InterruptChannel().from_isr(1)


async def test_a_level_for_which_room_comes_too_late_is_told():
    if not THREADS:
        skip("a loop's flag is set in any case")
    isr = __import__("upycsp.isr", None, None, ("*",))
    log = Log()

    class Slow(isr.Ring):
        def put(self, value):
            room = self.count() == 0
            if not room:
                log.add("full")
                until_blocking(lambda: log.has("read empty"))  # all is read before it is counted
                self.lost += 1
                return False
            return isr_ring.put(self, value)

    isr_ring = isr.Ring
    isr.Ring = Slow
    try:
        pin = FakePin()
        ch = csp.Channel("levels")
        h = await started(adapters.PinEvents(pin, ch.write, size=1), pin)
    finally:
        isr.Ring = isr_ring
    pin.change(1)
    await until(lambda: ch.queue_len() == 1)
    pin.change(2)
    _thread.start_new_thread(pin.change, (3,))
    await until(lambda: log.has("full"))
    assert [await ch.read(), await ch.read()] == [1, 2]
    await until(lambda: isr.fed.first is not None and isr.fed.first.is_awaited())
    log.add("read empty")
    assert await ch.read() == 3
    ch.poison()
    await join(h)


async def test_the_last_level_of_many_is_the_last_one_told():
    pin = FakePin()
    ch = csp.Channel("levels")
    h = await started(adapters.PinEvents(pin, ch.write, size=3), pin)
    ended = Log()
    n = 400

    def interrupts():
        for i in range(n + 1):
            pin.change(i)
            if i % 50 == 0:
                block_ms(1)
        ended.add(True)

    _thread.start_new_thread(interrupts, ())
    got = [await ch.read()]
    while got[-1] != n:
        got.append(await ch.read())
    assert sorted(got) == got
    await until(lambda: ended.count())
    ch.poison()
    await join(h)


async def test_poison_ends_who_waits_for_an_interrupt():
    for end in ("poison", "close"):
        pin = FakePin()
        timer = FakeTimer()
        levels, ticks = csp.Channel("levels"), csp.Channel("ticks")
        h = await started(adapters.PinEvents(pin, levels.write), pin)
        k = await started(adapters.TimerTicks(timer, ticks.write, 5), timer)
        getattr(levels, end)()
        getattr(ticks, end)()
        assert await join(h) is None and await join(k) is None
        assert pin.handler is off and timer.callback is off
        assert idle(levels, ticks)


async def test_poison_ends_who_waits_to_write_a_level():
    pin = FakePin()
    ch = csp.Channel("levels")
    h = await started(adapters.PinEvents(pin, ch.write), pin)
    pin.change(0)
    await until(lambda: ch.queue_len() == 1)
    ch.read.poison()
    await join(h)
    assert pin.handler is off


async def test_a_pin_that_cannot_be_switched_on_fails_the_network():
    class Broken(FakePin):
        def irq(self, handler, trigger=None):
            if handler is not None:
                raise ValueError("no such pin")

    need_interrupts()
    ch = csp.Channel("levels")
    with raises(ValueError):
        await par(adapters.PinEvents(Broken(), ch.write), collect(ch.read, Log()))
    assert ch.poisoned


async def test_a_pin_that_fails_in_its_handler_goes_on():
    class Broken(FakePin):
        def value(self):
            if self.level == 5:
                raise ValueError("no such level")
            return self.level

    pin = Broken()
    ch = csp.Channel("levels")
    h = await started(adapters.PinEvents(pin, ch.write), pin)
    with raises(ValueError):
        pin.change(5)  # in the handler, where nobody but the port can tell it
    pin.change(0)
    assert await ch.read() == 0
    ch.poison()
    await join(h)
    assert pin.handler is off


async def test_a_timer_counts_what_was_missed():
    timer = FakeTimer()
    ch = csp.Channel("ticks")
    h = await started(adapters.TimerTicks(timer, ch.write, 20), timer)
    assert timer.settings == (20, 1)
    timer.callback(timer)
    assert await ch.read() == 1
    n = 500
    for _ in range(n):
        timer.callback(timer)
    while n:
        n -= await ch.read()
        assert n >= 0
    ch.poison()
    await join(h)
    assert timer.callback is off


async def test_a_handler_takes_no_memory():
    if not hasattr(micropython, "heap_lock"):
        skip("CPython's heap can't be locked")
    pin = FakePin()
    timer = FakeTimer()
    ch = csp.BufferedChannel("both")
    h = await started(adapters.PinEvents(pin, ch.write), pin)
    k = await started(adapters.TimerTicks(timer, ch.write, 20), timer)
    micropython.heap_lock()
    try:
        for _ in range(40):
            pin.handler(pin)
            timer.callback(timer)
    finally:
        micropython.heap_unlock()
    ch.poison()
    await join(h)
    await join(k)


# Samples


def test_samples_come_at_regular_moments():
    clock = csp.virtual.VirtualClock()
    ch = csp.Channel("samples")

    @csp.process
    async def reads(cin):
        got = []
        for _ in range(3):
            got.append(await cin())
        await csp.Alternative(csp.Timer(ms=35)).select()  # slow: two values are replaced
        got.append(await cin())
        got.append(await cin())
        cin.poison()
        return got

    samples = adapters.Samples(clock.now_ms, ch.write, 10)
    assert csp.run(samples, reads(ch.read), clock=clock)[1] == [10, 20, 30, 60, 70]


def test_sampling_takes_nothing_before_its_moment():
    clock = csp.virtual.VirtualClock()
    ch = csp.Channel("samples")
    taken = Log()

    @csp.process
    async def ends():
        await csp.Alternative(csp.Timer(5)).select()
        ch.poison()

    csp.run(adapters.Samples(lambda: taken.add(1), ch.write, 3600000), ends(), clock=clock)
    assert not taken.count() and clock.now_ms() == 5000


async def test_samples_come_until_nobody_wants_them():
    ch = csp.Channel("samples")
    taken = Log()

    def read():
        taken.add(1)
        return taken.count()

    h = csp.Spawn(adapters.Samples(read, ch.write, 2))
    got = []
    for _ in range(4):
        got.append(await ch.read())
    assert sorted(got) == got and got[0] >= 1
    ch.poison()
    assert await join(h) is None
    assert idle(ch)


async def test_samples_that_nobody_reads_are_replaced():
    ch = csp.Channel("samples")
    taken = Log()

    def read():
        taken.add(1)
        return taken.count()

    h = csp.Spawn(adapters.Samples(read, ch.write, 1))
    await until(lambda: taken.count() > 4)
    assert await ch.read() > 3
    ch.poison()
    await join(h)


async def test_sampling_ends_while_it_waits_for_its_moment():
    for end in ("poison", "close"):
        ch = csp.Channel("samples")
        h = csp.Spawn(adapters.Samples(int, ch.write, 3600000))
        await sleep_ms(3)
        getattr(ch, end)()
        assert await join(h) is None
        assert idle(ch)


async def test_a_sensor_that_fails_fails_the_network():
    def read():
        raise OSError(19)

    ch = csp.Channel("samples")
    with raises(OSError):
        await par(adapters.Samples(read, ch.write, 1), collect(ch.read, Log()))
    assert ch.poisoned


# A server


def connected(address, s=None):
    while s is None:
        s = connection(address)
        if s is None:
            block_ms(5)
    return s


async def connecting(address, s=None):
    """connected(address), in the thread that has to listen first."""
    while s is None:
        s = connection(address)
        if s is None:
            await sleep_ms(5)
    return s


def line_of(s):
    line = b""
    while not line.endswith(b"\n"):
        piece = s.recv(1)
        if not piece:
            break
        line += piece
    return line


def talker(address, words):
    """The Log of what a thread is answered, at the end None."""
    log = Log()

    def talks():
        s = connected(address)
        for word in words:
            s.send(word + b"\n")
            log.add(line_of(s))
        s.close()
        log.add(None)

    _thread.start_new_thread(talks, ())
    return log


def listener(address, n):
    """The Log of n lines that a thread hears without a word of its own; b"" when it is hung up."""
    log = Log()

    def listens():
        s = connected(address)
        for _ in range(n):
            log.add(line_of(s))
        s.close()

    _thread.start_new_thread(listens, ())
    return log


@csp.process
async def shouts(cin, cout):
    while True:
        await cout((await cin()).upper())


async def test_a_server_serves_several_at_once():
    address = new_address()
    ch = csp.Channel("connections")
    h = csp.Spawn(adapters.LineServer(*address, ch.write))
    logs = [talker(address, words) for words in ([b"one", b"two"], [b"three"], [])]
    sessions = []
    for _ in logs:
        lines, answers = await ch.read()
        sessions.append(csp.Spawn(shouts(lines, answers)))
    for session in sessions:
        await join(session)
    for log in logs:
        await until(lambda: log.has(None))
    assert [log.items()[:-1] for log in logs] == [[b"ONE\n", b"TWO\n"], [b"THREE\n"], []]
    ch.poison()
    assert await join(h) is None


async def test_a_server_takes_a_long_line():
    if MICROPYTHON:
        skip("its streams have no limit")
    address = new_address()
    ch = csp.Channel("connections")
    h = csp.Spawn(adapters.LineServer(*address, ch.write))
    word = b"x" * 200000
    log = talker(address, [word])
    lines, answers = await ch.read()
    assert await lines() == word + b"\n"
    await answers(b"taken\n")
    await until(lambda: log.has(None))
    assert log.items()[0] == b"taken\n"
    answers.poison()
    ch.poison()
    await join(h)


async def test_who_poisons_both_ends_hangs_up():
    address = new_address()
    ch = csp.Channel("connections")
    h = csp.Spawn(adapters.LineServer(*address, ch.write))
    log = listener(address, 2)
    lines, answers = await ch.read()
    await answers(b"bye\n")
    answers.poison()
    lines.poison()
    await until(lambda: log.count() == 2)
    assert log.items() == [b"bye\n", b""]
    ch.poison()
    await join(h)


async def test_a_server_listens_no_more_when_its_channel_has_ended():
    address = new_address()
    for _ in range(2):  # the second finds the port free again
        ch = csp.Channel("connections")
        h = csp.Spawn(adapters.LineServer(*address, ch.write))
        log = talker(address, [b"hello"])
        lines, answers = await ch.read()
        ch.poison()
        assert await join(h) is None
        assert await lines() == b"hello\n"  # connections go on
        await answers(b"yes\n")
        await until(lambda: log.has(None))
        assert log.items() == [b"yes\n", None]
        with raises(csp.PoisonException):
            await lines()
        answers.poison()


async def test_a_connection_without_threads_is_hung_up():
    if not THREADS:
        skip("a connection takes no threads")
    from uthreading import kept

    left = [0]

    def scarce(f, args):
        if not left[0]:
            raise OSError("can't create thread")
        left[0] -= 1
        return start(f, args)

    address = new_address()
    ch = csp.Channel("connections")
    h = csp.Spawn(adapters.LineServer(*address, ch.write))
    stack = kept.stack_size(1 << 20)  # which none of the kept threads has
    start = kept.set_starter(scarce)
    try:
        s = connected(address)
        assert s.recv(1) == b""
        s.close()
        left[0] = 1
        s = connected(address)
        lines, answers = await ch.read()
        with raises(csp.PoisonException):
            await lines()
        with raises(csp.PoisonException):
            await answers(b"no\n")
        assert s.recv(1) == b""
        s.close()
    finally:
        kept.set_starter(start)
        kept.stack_size(stack)
    log = talker(address, [b"one"])
    lines, answers = await ch.read()
    await join(csp.Spawn(shouts(lines, answers)))
    await until(lambda: log.has(None))
    assert log.items() == [b"ONE\n", None]
    ch.poison()
    await join(h)


async def test_a_connection_that_can_not_be_handed_over_is_hung_up():
    """There is no memory for its process: the client is told, and so is who started the server."""
    module = sys.modules[("upycsp" if THREADS else "uapycsp") + ".adapters"]

    def none_left(p):
        if p.name == "_connection":
            raise MemoryError("none for a connection")
        return spawn(p)

    address = new_address()
    ch = csp.Channel("connections")
    h = csp.Spawn(adapters.LineServer(*address, ch.write))
    spawn, module.Spawn = module.Spawn, none_left
    try:
        log = listener(address, 1)
        with raises(csp.PoisonException):
            await ch.read()
        with raises(MemoryError):
            await join(h)
        await until(lambda: log.count())
    finally:
        module.Spawn = spawn
    assert log.items() == [b""]


def test_a_connection_that_can_not_be_read_is_hung_up():
    """There is no memory for its line: its session ends, the others and the server go on."""
    one_connection_fails("copy_from" if THREADS else "FromStream")


def test_a_connection_that_can_not_be_answered_is_hung_up():
    one_connection_fails("_to_stream")


def one_connection_fails(name):
    module = sys.modules[("upycsp" if THREADS else "uapycsp") + ".adapters"]
    usual = getattr(module, name)
    failing = [True]

    def without_memory(*args):
        if failing:
            failing.clear()
            raise MemoryError("none for what this does")
        return usual(*args)

    @csp.process
    async def main():
        address = new_address()
        ch = csp.Channel("connections")
        h = csp.Spawn(adapters.LineServer(*address, ch.write))
        log = listener(address, 1)
        lines, answers = await ch.read()
        with raises(csp.PoisonException):
            await lines()
        with raises(csp.PoisonException):
            await answers(b"no\n")
        await until(lambda: log.count())
        assert log.items() == [b""]
        words = talker(address, [b"one"])
        await join(csp.Spawn(shouts(*(await ch.read()))))
        await until(lambda: words.has(None))
        assert words.items() == [b"ONE\n", None]
        ch.poison()
        await join(h)

    setattr(module, name, without_memory)
    try:
        with raises(MemoryError):
            csp.run(main())
    finally:
        setattr(module, name, usual)


async def test_bad_use_of_an_adapter_is_told():
    ch = csp.Channel()
    for make in (
        lambda: adapters.Samples(int, ch.write, 0),
        lambda: adapters.Samples(int, ch.read, 10),  # pyright: ignore
        lambda: adapters.FromStream(None, ch.write, 0),  # pyright: ignore
        lambda: adapters.FromStream(None, ch.write, -1),  # pyright: ignore
        lambda: adapters.PinEvents(FakePin(), ch.write, size=0),
        lambda: adapters.PinEvents(FakePin(), ch.write, size=-1),
    ):
        with raises(ValueError, TypeError):
            await par(make())


@csp.process
async def answers_without_end(cout, log):
    try:
        while True:
            await cout.within(200, b"x" * 20000)
    except csp.TimeoutError:
        log.add("the client takes nothing")


async def test_a_client_that_takes_nothing_is_hung_up():
    if THREADS:
        skip("a thread in a write can't be ended")
    address = new_address()
    ch = csp.Channel("connections")
    h = csp.Spawn(adapters.LineServer(*address, ch.write))
    s = await connecting(address)
    lines, answers = await ch.read()
    log = Log()
    await answers_without_end(answers, log)
    assert log.count() == 1
    linger, adapters._LINGER_MS = adapters._LINGER_MS, 50
    lines.poison()
    answers.poison()
    try:
        await until(lambda: not running("ToStream") and not running("_connection"))
    finally:
        adapters._LINGER_MS = linger
    ended = Log()

    def reads():
        s.settimeout(60)
        try:
            while s.recv(65536):
                pass
        except OSError:
            pass
        ended.add(True)

    _thread.start_new_thread(reads, ())
    await until(lambda: ended.count())
    s.close()
    ch.poison()
    await join(h)


def test_a_run_ends_though_a_client_takes_nothing():
    if THREADS:
        skip("a thread in a write can't be ended")
    address = new_address()
    log = Log()
    sockets = []

    @csp.process
    async def main():
        ch = csp.Channel("connections")
        csp.Spawn(adapters.LineServer(*address, ch.write))
        sockets.append(await connecting(address))
        lines, answers = await ch.read()
        await answers_without_end(answers, log)
        return "done"

    linger, adapters._LINGER_MS = adapters._LINGER_MS, 1 << 27
    try:
        assert csp.run(main()) == "done"
    finally:
        adapters._LINGER_MS = linger
        for s in sockets:
            s.close()
    assert log.count() == 1


def running(name):
    """Whether a process of that name has not ended (uapycsp)."""
    return name in [p.name for p in sys.modules["uapycsp.process"].alive.each()]


async def test_a_server_that_can_not_listen_any_more_fails():
    if THREADS or not MICROPYTHON:
        skip("asyncio's server is not used, or tries again")
    from ufuture.loop import engine

    IOQueue = engine.core.IOQueue
    listening = []

    def queue_read(self, s):
        if listening and s is listening[0]:
            raise MemoryError("none for who listens")
        listening.append(s)
        return usual(self, s)

    address = new_address()
    ch = csp.Channel("connections")
    h = csp.Spawn(adapters.LineServer(*address, ch.write))
    usual, IOQueue.queue_read = IOQueue.queue_read, queue_read
    try:
        await until(lambda: listening)
        s = connected(address)
        with raises(MemoryError):
            await join(h)
    finally:
        IOQueue.queue_read = usual
    assert ch.poisoned
    s.close()
    again = new_address()
    ch = csp.Channel("connections")
    h = csp.Spawn(adapters.LineServer(*again, ch.write))
    (await connecting(again)).close()
    await ch.read()
    ch.poison()
    await join(h)
