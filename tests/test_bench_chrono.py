"""The stop watch and the meter of the benchmarks."""

from benchmarks import chrono, harness


class _Clock:
    """Stands in for the platform's clock."""

    def __init__(self):
        self.us = 0
        self.begin = 0

    def restart(self):
        self.begin = self.us

    def elapsed_us(self):
        return self.us - self.begin


def _watch():
    watch = chrono.Chrono()
    watch._clock = _Clock()
    return watch, watch._clock


def test_it_counts_between_start_and_stop_only():
    watch, clock = _watch()
    assert watch.read_us() == 0
    clock.us = 5
    watch.start()
    clock.us = 17
    watch.stop()
    clock.us = 100
    assert watch.read_us() == 12


def test_starting_again_adds():
    watch, clock = _watch()
    for _ in range(3):
        watch.start()
        clock.us += 10
        watch.stop()
        clock.us += 1000
    assert watch.read_us() == 30


def test_a_running_one_can_be_read_and_a_second_start_changes_nothing():
    watch, clock = _watch()
    watch.start()
    clock.us += 4
    assert watch.read_us() == 4
    watch.start()
    clock.us += 5
    assert watch.read_us() == 9


def test_a_second_stop_changes_nothing():
    watch, clock = _watch()
    watch.start()
    clock.us += 4
    watch.stop()
    clock.us += 4
    watch.stop()
    assert watch.read_us() == 4


def test_reset_goes_back_to_zero_and_leaves_a_running_one_running():
    watch, clock = _watch()
    watch.start()
    clock.us += 4
    watch.reset()
    assert watch.read_us() == 0
    clock.us += 7
    assert watch.read_us() == 7
    watch.stop()
    watch.reset()
    assert watch.read_us() == 0


def test_the_platforms_clock_goes_on():
    watch = chrono.Chrono()
    watch.start()
    before = watch.read_us()
    while watch.read_us() == before:
        pass
    assert watch.read_us() > before


def _faked(times):
    # Runs the MicroPython clock over (us, ms) readings of a board whose ticks wrap at 2^30.
    period = 2**30

    def diff(end, start):
        return ((end - start + period // 2) % period) - period // 2

    names = ("_ticks_us", "_ticks_ms", "_ticks_diff")
    kept = [getattr(chrono, name, None) for name in names]
    now = [0]
    chrono._ticks_us = lambda: times[now[0]] * 1000 % period
    chrono._ticks_ms = lambda: times[now[0]] % period
    chrono._ticks_diff = diff
    try:
        clock = chrono._Ticks()
        now[0] = 1
        return clock.elapsed_us()
    finally:
        for name, value in zip(names, kept):
            setattr(chrono, name, value)


def test_a_wrap_of_the_microseconds_does_not_show():
    wrap_ms = 2**30 // 1000
    assert _faked((wrap_ms - 3, wrap_ms + 4)) == 7000


def test_a_time_too_long_for_the_microseconds_is_right():
    assert _faked((1000, 1000 + 3600 * 1000)) == 3600 * 1000 * 1000


def test_the_median_of_even_and_odd_lists():
    assert harness.median([3, 1, 2]) == 2
    assert harness.median([4, 1, 3, 2]) == 2.5


def test_a_meter_asks_for_as_many_runs_as_it_was_told():
    meter = harness.Meter("test", 3)
    meter._watch, clock = _watch()
    count = 0
    while meter.next():
        count += 1
        meter.start()
        clock.us += 40 * count
        meter.stop(4)
    assert meter.us == [10, 20, 30]


def test_a_slice_is_done_as_often_as_asked():
    meter = harness.Meter("test")
    count = 0
    while meter.slicing(7, 1):
        count += 1
    assert count == 7
    assert not meter.slicing(7, 1)


def test_a_slice_counts_the_bytes():
    if not harness._MEASURES_HEAP:
        return
    meter = harness.Meter("test")
    kept = [None] * 10
    i = 0
    while meter.slicing(10, 2):
        kept[i] = bytearray(1000)
        i += 1
    assert 500 <= meter.bytes_per_op < 600, meter.bytes_per_op


def test_a_slice_that_needs_more_than_the_heap_is_counted_in_parts():
    if not harness._MEASURES_HEAP:
        return
    block = harness.heap() // 10
    meter = harness.Meter("test")
    while meter.slicing(50, 1):
        bytearray(block)
    assert block <= meter.bytes_per_op < block + 200, meter.bytes_per_op


def test_a_slice_that_allocates_nothing_counts_nothing():
    if not harness._MEASURES_HEAP:
        return
    meter = harness.Meter("test")
    while meter.slicing(20, 1):
        pass
    assert meter.bytes_per_op == 0


def test_a_fault_becomes_a_wrong_result():
    meter = harness.Meter("test", 1)
    while meter.next():
        meter.start()
        meter.stop(1)
    meter.fault(False)
    meter.fault()
    table = harness.Table("test", "us")
    try:
        table.row("lib", "variant", 1, meter)
    except harness.WrongResult as e:
        assert "1 of the messages" in str(e)
    else:
        raise AssertionError("a wrong result was printed")
