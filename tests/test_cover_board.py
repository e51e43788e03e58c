"""upycsp where the main thread must not block on a lock, as on a board: it polls, and looks itself
for deadlocks. The setting is made before this thread has waited for the first time."""

from uthreading import clock, kept

kept.poll_in_main(True)

from upycsp import (  # noqa: E402
    Alternative,
    BufferedChannel,
    Channel,
    DeadlockError,
    Parallel,
    Timer,
    process,
    run,
)


@process
def counts(cout, n):
    for i in range(n):
        cout(i)
    cout.poison()


@process
def copies(cin, cout):
    for v in cin:
        Parallel(cout.alt_pending_write(v)).run()
    cout.poison()


@process
def collects(cin):
    return list(cin)


@process
def reads(cin):
    return cin()


def no_thread(*args):
    raise OSError("can't create thread")


# First, for a timer thread that runs stays.
def test_a_select_without_a_thread_for_its_timer_is_an_error_that_leaves_nothing():
    assert not clock._started
    a = Channel("a")
    alt = Alternative(a.read, Timer(ms=1))
    old = kept.set_starter(no_thread)
    try:
        for _ in range(2):
            try:
                alt.select()
            except RuntimeError as er:
                assert "thread" in str(er)
            else:
                raise AssertionError("a timer without a thread")
            assert a.queue_len() == 0
            a.verify()
    finally:
        kept.set_starter(old)
    assert alt.select()[0] is alt.guards[1]


def test_a_run_without_a_thread_for_its_processes_is_an_error():
    @process
    def nothing():
        return 1

    old = kept.set_starter(no_thread)
    held = []
    try:
        while kept.counts()[0]:
            held.append(Channel("held", external=True))
            kept.start(held[-1].read)
        try:
            run(nothing())
        except RuntimeError as er:
            assert "thread" in str(er)
        else:
            raise AssertionError("a process without a thread")
    finally:
        kept.set_starter(old)
        for ch in held:
            ch.write(None)


def test_a_network_runs_to_its_end():
    for kind in (Channel, BufferedChannel):
        a, b = kind("a"), kind("b")
        got = run(counts(a.write, 20), copies(a.read, b.write), collects(b.read))
        assert got[2] == list(range(20))


def test_the_main_thread_waits_in_its_own_operations():
    ch = Channel("c")
    kept.start(lambda: ch.write(7))
    assert ch.read() == 7
    alt = Alternative(ch.read, Timer(ms=20))
    assert alt.select() == (alt.guards[1], None)


def test_the_main_thread_reports_a_deadlock():
    a, b = Channel("left"), Channel("right")
    for _ in range(2):
        try:
            run(reads(a.read), reads(b.read))
        except DeadlockError as er:
            text = str(er)
            assert "left" in text and "right" in text and "reads" in text
        else:
            raise AssertionError("no deadlock")
        a, b = Channel("left"), Channel("right")


def test_an_interrupt_reaches_the_main_thread_in_a_run_and_ends_the_processes():
    ch = Channel("c")
    sleep_ms = kept.sleep_ms
    slices = []

    def interrupted(ms):
        slices.append(ms)
        if len(slices) == 3:
            raise KeyboardInterrupt
        return sleep_ms(ms)

    kept.sleep_ms = interrupted
    try:
        run(reads(ch.read), reads(ch.read))
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("no interrupt")
    finally:
        kept.sleep_ms = sleep_ms
    assert ch.poisoned and ch.queue_len() == 0
    assert max(slices) <= 10
