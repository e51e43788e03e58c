"""The examples do on a simulated board what they say, on MicroPython and on CPython.

How they end when something fails is in test_example_endings.py.
"""

import os
import re
import subprocess

import pytest

from harness import interpreters, patience

ROOT = interpreters.ROOT
RUN = "examples/sim/run.py"
NAMES = ("button_led", "sensor_logger", "uart_gateway", "motor_stop", "wifi_node",
         "philosophers", "sieve")
HEAP = "222K"  # an ESP32's, in words of 64 bits


def play(port, *words, status=0, cwd=ROOT, **env):
    """What an example prints; if the status is to be another one than 0, its errors."""
    command = interpreters.command(port, HEAP)
    if command is None:
        pytest.fail("needs MicroPython") if os.environ.get("CI") else pytest.skip("no MicroPython")
    done = patience.run(
        [*command, str(RUN if cwd == ROOT else ROOT / RUN), *words],
        cwd=cwd,
        env=dict(interpreters.environment(), **env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert status or not done.stderr, done.stderr
    if status == 1 and port == "micropython":
        return done.stdout  # where the Unix port shows what ends a program
    return done.stderr if status else done.stdout


def told(output, name):
    """What is said of a part of the board, as [(ms, text)]."""
    found = re.findall(r"^ *(\d+) ms  {}:? (.*)$".format(name), output, re.M)
    return [(int(ms), text) for ms, text in found]


@pytest.fixture(params=interpreters.NAMES)
def port(request):
    return request.param


def test_the_led_follows_the_button_without_its_bounces(port):
    output = play(port, "button_led")
    button, led = told(output, "BUTTON"), told(output, "LED")
    assert len(button) > 10  # it bounces, and there is a disturbance
    assert [level for ms, level in led] == ["off", "on", "off", "on", "off"]
    # Each change comes STABLE_MS after the last bounce.
    for ms, bounce in zip([ms for ms, level in led[1:]], (1008, 2004, 4000, 4500)):
        assert bounce + 20 <= ms <= bounce + 22


def test_without_debouncing_the_bounces_show(port):
    # Else the scenario would prove nothing.
    led = told(play(port, "button_led", "STABLE_MS=0"), "LED")
    assert len(led) > 5


def test_the_averages_are_right(port, tmp_path):
    log = tmp_path / "log.csv"
    output = play(port, "sensor_logger", "SAMPLES=12", "LOG={}".format(log))
    values = [1000 * (n % 5) for n in range(12)]
    windows = [values[max(0, n - 3) : n + 1] for n in range(12)]
    means = [sum(window) // len(window) for window in windows]
    lines = ["12:00:{:02},{}".format(n + 1, mean) for n, mean in enumerate(means)]
    assert log.read_text().split() == lines
    shown = [text for ms, text in told(output, "LCD")]
    assert shown == ["'\\x0c{}'".format(line.replace(",", " ")) for line in lines]


def test_a_window_of_one_is_no_average(port, tmp_path):
    log = tmp_path / "log.csv"
    play(port, "sensor_logger", "SAMPLES=7", "WINDOW=1", "LOG={}".format(log))
    means = [int(line.split(",")[1]) for line in log.read_text().split()]
    assert means == [0, 1000, 2000, 3000, 4000, 0, 1000]


def test_the_log_goes_on_where_it_ended(port, tmp_path):
    log = tmp_path / "log.csv"
    for _ in range(2):
        play(port, "sensor_logger", "SAMPLES=2", "LOG={}".format(log))
    assert [line.split(",")[1] for line in log.read_text().split()] == ["0", "500"] * 2


def test_each_line_passes_the_gateway_once_in_order_both_ways(port):
    output = play(port, "uart_gateway")
    two = [text for ms, text in told(output, "UART 2")]
    one = [text for ms, text in told(output, "UART 1")]
    assert two == [r"'temperature?\n'", r"'humidity?\n'", r"'pressure?\n'", r"'temperature?\n'"]
    assert one == [r"'21.5 C\n'", r"'40 %\n'", r"'1013 hPa\n'"]


def test_the_motor_follows_the_knob_until_it_is_stopped(port):
    output = play(port, "motor_stop")
    motor = [(ms, int(text.rstrip(" %"))) for ms, text in told(output, "MOTOR")]
    speeds = [speed for ms, speed in motor]
    assert speeds[0] == 0 and speeds[-1] == 0
    assert speeds[:-1] == sorted(speeds[:-1]) and speeds[-2] > 50
    assert motor[-1][0] == 1025 == told(output, "STOP")[-1][0]


def test_each_reading_arrives_once_in_order_although_the_server_was_away(port):
    output = play(port, "wifi_node")
    server = [text.split() for ms, text in told(output, "server")]
    kept = [int(words[0]) for words in server if words[0].isdigit() and "again" not in words]
    assert ["12", "1013", "again"] in server  # its answer was lost
    assert kept == sorted(set(kept))
    # What came while the buffer was full was dropped, and nothing else.
    dropped = sorted(set(range(40)) - set(kept))
    assert dropped == list(range(dropped[0], dropped[-1] + 1))
    assert kept[-1] == 39 and 20 <= dropped[0] < dropped[-1] < 38


def test_the_pause_doubles_after_each_failure(port):
    # The first reading waits 1 + 2 + 4 s: two times no WiFi, once no server.
    output = play(port, "wifi_node", "READINGS=1")
    assert output.count("reading 0 waits: no WiFi") == 2
    assert output.count("reading 0 waits:") == 3
    assert 8000 <= told(output, "server")[-1][0] < 8050


def test_the_pause_does_not_exceed_its_limit(port):
    output = play(port, "wifi_node", "READINGS=1", "MOST_MS=2200")
    assert output.count("reading 0 waits:") == 4
    assert 8400 <= told(output, "server")[-1][0] < 8450


def test_an_answer_that_does_not_come_is_given_up(port):
    # Reading 12 is sent at 13, 14 and 16 s; given up at 21 s, at 25 and 30, sent at 38 s.
    output = play(port, "wifi_node")
    times = [ms for ms, text in told(output, "server") if text.startswith("12 ")]
    for ms, wanted in zip(times, (13000, 14000, 38000)):
        assert wanted <= ms < wanted + 50
    assert len(times) == 3
    assert len(re.findall("reading 12 waits:.*", output)) == 4


@pytest.mark.parametrize("lib", ["uapycsp", "upycsp"])
def test_all_philosophers_eat(port, lib):
    output = play(port, "philosophers", "MEALS=4", "LIB=" + lib)
    wanted = ["P{} has eaten 4 times".format(n) for n in range(5)]
    assert output.splitlines() == wanted


@pytest.mark.parametrize("lib", ["uapycsp", "upycsp"])
def test_naive_philosophers_deadlock_and_the_report_names_the_forks(port, lib):
    # Threads that begin one after the other may eat in turns for ever, but not often.
    for _ in range(5):
        output = play(port, "philosophers", "NAIVE=True", "MEALS=100", "LIB=" + lib)
        if output.startswith("deadlock"):
            break
    assert output.startswith("deadlock: 5 processes wait: ")
    assert sorted(re.findall(r"philosopher reads fork (\d)", output)) == list("01234")


@pytest.mark.parametrize("lib", ["uapycsp", "upycsp"])
def test_the_sieve_finds_the_primes(port, lib):
    output = play(port, "sieve", "PRIMES=13", "LIB=" + lib)
    assert output.split() == "2 3 5 7 11 13 17 19 23 29 31 37 41".split()


def test_a_sieve_of_one(port):
    assert play(port, "sieve", "PRIMES=1") == "2\n"


@pytest.mark.parametrize("name", NAMES)
def test_each_example_runs_from_any_folder(port, name, tmp_path):
    play(port, name, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("version", ["1.18", "1.19"])
@pytest.mark.parametrize("name, last", [
    ("button_led", "ended"), ("motor_stop", "MOTOR 0 %"), ("philosophers", "times"),
    ("sieve", "29"),
])
def test_an_example_runs_with_the_asyncio_of_older_micropythons(version, name, last):
    # The stand-in for it has no streams.
    path = "{}:{}:.frozen".format(ROOT / "tests" / "old_asyncio", ROOT)
    output = play("micropython", name, MICROPYPATH=path, UASYNCIO=version)
    assert output.rstrip().endswith(last)


@pytest.mark.parametrize("words, said", (
    ((), "which example? button_led"),
    (("blink",), "which example? button_led"),
    (("sieve", "FIRST=3"), "sieve has no constant 'FIRST'; there are: PRIMES"),
    (("sieve", "PRIMES"), "sieve has no constant 'PRIMES'; there are: PRIMES"),
    (("sieve", "PRIMES=few"), "PRIMES takes a whole number, not 'few'"),
    (("motor_stop", "LIB=upycsp"), "motor_stop has a library of its own; LIB is for philosophers"),
    (("sieve", "LIB=pycsp"), "LIB takes uapycsp or upycsp, not 'pycsp'"),
    (("philosophers", "NAIVE=yes"), "NAIVE takes True or False, not 'yes'"),
))
def test_what_cannot_be_run_is_named(port, words, said):
    errors = play(port, *words, status=2)
    assert errors.startswith(said) and len(errors.splitlines()) == 1


def test_who_reads_no_further_ends_it_quietly(port):
    inlet, outlet = os.pipe()
    os.close(inlet)
    with open(outlet, "w") as nobody:
        done = patience.run(
            [*interpreters.command(port, HEAP), RUN, "button_led"], cwd=ROOT, stdout=nobody,
            env=interpreters.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, timeout=180)
    assert (done.returncode, done.stderr) == (141, "")


def test_the_status_of_an_example_that_fails_is_1(port):
    errors = play(port, "sensor_logger", "LOG=/no such folder/log.csv", status=1)
    assert "Errno 2]" in errors.splitlines()[-1]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_fits_a_phone(name):
    lines = (ROOT / "examples" / (name + ".py")).read_text(encoding="utf-8").splitlines()
    assert max(map(len, lines)) <= 70
    assert len([line for line in lines if line]) <= 90


@pytest.mark.parametrize("name", NAMES)
def test_an_example_knows_nothing_of_the_simulation(name):
    text = (ROOT / "examples" / (name + ".py")).read_text(encoding="utf-8")
    assert not re.search(r"\b(sim|simulat\w*|world|sys\.platform|implementation)\b", text)


def test_all_examples_are_tested():
    assert sorted(NAMES) == sorted(path.stem for path in (ROOT / "examples").glob("*.py"))


def test_readme_shows_what_the_button_does():
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"run.py button_led\n```\n\n```text\n(.*?)```", text, re.S).group(1)
    assert play("micropython", "button_led") == shown


def test_readme_has_a_row_for_each_example():
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[(\w+)\]\(\1\.py\)", text, re.M) == list(NAMES)
