"""What a user would pick instead: each program has its rows and notices a wrong message."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from harness import interpreters, patience

ROOT = interpreters.ROOT
sys.path.insert(0, str(ROOT / "tools"))

import peers  # noqa: E402
import report  # noqa: E402

SIZES = {"commstime": {"n": 20, "runs": 2}, "stressed_alt": {"n": 20, "runs": 2}}
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="there is no go")
PYTHON_PEERS = [(lib, port) for lib, port in peers.ROWS
                if lib not in peers.LIBRARIES and port != "go"]


@pytest.fixture(scope="session")
def micropython():
    found = interpreters.micropython()
    if found is None:
        pytest.skip("there is no micropython")
    return found


def skip_missing(lib):
    if lib == "trio-channels":
        pytest.importorskip("trio")


def check(rows, lib, variant):
    ((row, samples),) = rows
    assert (row["lib"], row["variant"], row["n"], row["runs"]) == (lib, variant, 20, 2)
    assert len(samples) == 2
    assert 0 < row["us_min"] <= row["us_avg"] <= row["us_max"]


@pytest.mark.parametrize("lib, port", [row for row in peers.ROWS if row[1] != "go"])
def test_every_row_comes_from_one_program(micropython, lib, port):
    skip_missing(lib)
    for bench, shape, variant in (("commstime", None, "seq"),
                                  ("stressed_alt", (5, 2), "5x2-select")):
        job = peers.Job(lib, port, bench, shape, SIZES, None)
        check(report.run(job, micropython, 1), lib, variant)


@needs_go
def test_the_rows_of_go_come_from_its_program(micropython):
    go = peers.build_go()
    assert go
    for bench, shape, variant in (("commstime", None, "seq"),
                                  ("stressed_alt", (5, 2), "5x2-select"),
                                  ("stressed_alt", (7, 3), "7x3-select")):
        check(report.run(peers.Job("go-channels", "go", bench, shape, SIZES, go), micropython, 1),
              "go-channels", variant)
    wrong = subprocess.run([str(go), "commstime", "none", "1"], capture_output=True, text=True)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "a whole number from 1 is expected" in wrong.stderr


# What makes each program read a wrong value, once.
_WRONG = {
    "asyncio-queue": """
real = peer.Queue.get_nowait
def fault(self):
    value = real(self)
    if value == 7 and not seen:
        seen.append(value)
        return 70
    return value
peer.Queue.get_nowait = fault
""",
    "thread-queue": """
class Queue(peer.Queue):
    def get(self):
        value = super().get()
        if value in (7, (0, 7)) and not seen:
            seen.append(value)
            return 70 if value == 7 else (0, 70)
        return value
peer.Queue = Queue
""",
    "trio-channels": """
real = peer.trio.open_memory_channel
class Receive:
    def __init__(self, receive):
        self.inner = receive
    def __aiter__(self):
        return self
    __anext__ = lambda self: self.receive()
    async def receive(self):
        value = await self.inner.receive()
        if value in (7, (0, 7)) and not seen:
            seen.append(value)
            return 70 if value == 7 else (0, 70)
        return value
def channel(size):
    send, receive = real(size)
    return send, Receive(receive)
class Trio:
    def __getattr__(self, name):
        return channel if name == "open_memory_channel" else getattr(trio, name)
trio = peer.trio
peer.trio = Trio()
""",
}


@pytest.mark.parametrize("lib, port", PYTHON_PEERS)
@pytest.mark.parametrize("call", ("commstime(20, 2)", "stressed_alt(1, 1, 20, 2)"))
def test_a_wrong_message_is_noticed(micropython, lib, port, call):
    skip_missing(lib)
    code = "from benchmarks.peers import {} as peer\nseen = []\n{}\npeer.{}\n".format(
        lib.replace("-", "_"), _WRONG[lib], call)
    command = [sys.executable] if port == "cpython" else [micropython]
    done = patience.run(command + ["-c", code], cwd=ROOT, capture_output=True, text=True,
                        timeout=60, env=interpreters.environment())
    assert done.returncode == 1, done.stdout + done.stderr
    assert "WrongResult" in done.stderr + done.stdout


def test_a_table_compares_what_runs_on_the_same_port():
    rows = []
    for lib, port, us in (("uapycsp", "unix", 2), ("asyncio-queue", "unix", 9),
                          ("uapycsp", "cpython", 5), ("trio-channels", "cpython", 10),
                          ("go-channels", "go", 0.2)):
        for variant in peers.VARIANTS:
            rows.append({"us_median": us, "result": {"lib": lib, "port": port,
                                                     "variant": variant}})
    lines = peers.table(peers.columns(rows)).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [(c[0], c[1], c[3], c[4]) for c in cells] == [
        ("uapycsp", "MicroPython", "2.00", ""), ("asyncio-queue", "MicroPython", "9.00", "4.50 x"),
        ("uapycsp", "CPython", "5.00", ""), ("trio-channels", "CPython", "10.0", "2.00 x"),
        ("go-channels", "Go", "0.20", "")]


def test_what_is_not_there_is_left_out_which_is_said(micropython, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(peers.shutil, "which", lambda name: None)
    monkeypatch.setattr(peers.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(peers, "QUICK", dict(SIZES, rounds=1))
    peers.main(["--quick", "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert "no Trio here: its row is left out\n" in said
    assert "no Go here: its row is left out\n" in said
    page = (tmp_path / "peers.md").read_text()
    names = re.findall(r"^\| ([\w-]+) \| (\w+)", page, re.M)
    assert names == [(lib, peers.PORTS[port]) for lib, port in peers.ROWS
                     if port != "go" and lib != "trio-channels"]
    assert (tmp_path / "peers.png").stat().st_size > 10000
    stored = json.loads((tmp_path / "peers.json").read_text())
    assert len(stored["rows"]) == 3 * len(names)
    kept = page
    peers.main(["--redraw", "--out", str(tmp_path)])
    assert (tmp_path / "peers.md").read_text() == kept
