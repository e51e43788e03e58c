"""A native build: what is marked, that it is machine code, that the rules hold with it."""

import ast
import os
import shutil
import signal
import subprocess
import sys

import pytest

from harness import collect, device, interpreters, mpy_once, patience

ROOT = interpreters.ROOT
sys.path.insert(0, str(ROOT / "tools"))

import firmware_mpy  # noqa: E402
import native  # noqa: E402
import native_build  # noqa: E402

mpy_once.install(firmware_mpy)

# --- marking


def hot(monkeypatch, *names):
    monkeypatch.setattr(native, "HOT", {"a.py": dict.fromkeys(names, "why")})


def test_a_mark_takes_the_place_of_an_empty_line_or_a_comment(monkeypatch):
    hot(monkeypatch, "f", "C.g", "C.h")
    text = "x = 1\n\ndef f():\n    pass\nclass C:\n    # why\n    def g(self):\n        pass\n\n" \
        "    @staticmethod\n    def h():\n        pass\n"
    lines = native.marked("a.py", text).split("\n")
    assert lines[1] == "@micropython.native"
    assert lines[5] == lines[8] == "    @micropython.native"
    assert len(lines) == len(text.split("\n"))


def test_where_there_is_none_a_line_is_added(monkeypatch):
    hot(monkeypatch, "f", "g")
    assert native.marked("a.py", "def f():\n    pass\nasync def g():\n    pass\n") == (
        "@micropython.native\ndef f():\n    pass\n@micropython.native\nasync def g():\n    pass\n")


def test_a_bare_raise_gets_a_name(monkeypatch):
    hot(monkeypatch, "f")
    text = (
        "\ndef f():\n    try:\n        pass\n"
        "    except (A, B):\n        if x:\n            raise\n"
        "    except C as er:\n        raise  # again\n"
        "    except:\n        x('μ'); raise\n"
        "def g():\n    try:\n        pass\n    except A:\n        raise\n")
    assert native.marked("a.py", text) == (
        "@micropython.native\ndef f():\n    try:\n        pass\n"
        "    except (A, B) as raised_5:\n        if x:\n            raise raised_5\n"
        "    except C as er:\n        raise er  # again\n"
        "    except BaseException as raised_10:\n        x('μ'); raise raised_10\n"
        "def g():\n    try:\n        pass\n    except A:\n        raise\n")


def test_a_raise_after_an_inner_one_raises_the_outer_exception(monkeypatch, tmp_path):
    # What the compiler makes of it is run, too; and g is hot twice, by itself and within f.
    hot(monkeypatch, "f", "f.<locals>.g")
    path = tmp_path / "a.py"
    path.write_text(native.marked("a.py", (
        "def f():\n    def g():\n        try:\n            raise ValueError\n"
        "        except ValueError:\n            try:\n                {}[0]\n"
        "            except KeyError:\n                try:\n                    raise\n"
        "                except KeyError:\n                    pass\n"
        "            raise\n    g()\n"
        "try:\n    f()\nexcept ValueError:\n    print('outer')\n")))
    if march() is None:
        pytest.skip("no MicroPython that runs machine code")
    done = patience.run([*interpreters.command("micropython"), str(path)], text=True,
                        timeout=180, stdin=subprocess.DEVNULL, capture_output=True)
    assert done.stdout == "outer\n", done.stderr


def test_a_function_that_is_gone_is_told_in_a_sentence(monkeypatch):
    hot(monkeypatch, "f", "C.g")
    with pytest.raises(native.Failed, match="^a.py has no function C.g, which tools/native.py "):
        native.marked("a.py", "def f():\n    pass\ndef g():\n    pass\n")


def test_functions_in_conditions_and_functions_are_found(monkeypatch):
    hot(monkeypatch, "f", "f.<locals>.g", "h")
    text = "if x:\n    pass\nelse:\n\n    def f():\n\n        def g():\n            pass\n" \
        "try:\n    pass\nexcept A:\n\n    def h():\n        pass\n"
    assert native.marked("a.py", text).count("@micropython.native") == 3


def test_a_file_without_hot_functions_stays_as_it_is(monkeypatch):
    assert native.marked("cspcore/errors.py", "def f(): raise") == "def f(): raise"


@pytest.mark.parametrize("path", native.HOT)
def test_but_for_marks_and_names_the_sources_stay_the_same(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    marked = native.marked(path, text)
    assert marked.count("@micropython.native") == len(native.HOT[path])
    ast.parse(marked)
    same = set(text.split("\n"))
    for line in marked.split("\n"):
        assert line in same or line.strip() == "@micropython.native" or "raise" in line, line
    assert len(marked.split("\n")) - len(text.split("\n")) <= len(native.HOT[path])


# --- building


def march():
    try:
        return native_build.own_architecture()
    except firmware_mpy.Failed:
        return None


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The packages for the MicroPython here, with machine code."""
    if march() is None:
        pytest.skip("no MicroPython that loads machine code")
    folder = tmp_path_factory.mktemp("native") / "built"
    native_build.build(folder, march())
    return folder


def micropython(folder, code, *words, heap=None):
    return patience.run(
        [*interpreters.command("micropython", heap), "-c", code, *words], cwd=folder, text=True,
        env=dict(interpreters.environment(), MICROPYPATH=".frozen"), timeout=180,
        stdin=subprocess.DEVNULL, capture_output=True)


def architectures(folder):
    """{path: the architecture that an .mpy file is for, None if it is bytecode}."""
    return {path.relative_to(folder).with_suffix(".py").as_posix():
            native_build._NUMBERED[path.read_bytes()[2] >> 2 & 15]
            for path in folder.rglob("*.mpy")}


def test_files_with_hot_functions_are_machine_code_and_the_others_bytecode(built):
    found = architectures(built)
    assert set(found) == set(firmware_mpy.sources(firmware_mpy.PACKAGES))
    assert {path for path, arch in found.items() if arch == march()} == set(native.HOT)
    assert {path for path, arch in found.items() if arch is None} == set(found) - set(native.HOT)


@pytest.mark.parametrize("arch", ["xtensawin", "rv32imc", "armv6m", "armv7emsp"])
def test_boards_get_theirs(arch, tmp_path):
    native_build.build(tmp_path / "built", arch)
    assert set(architectures(tmp_path / "built").values()) == {None, arch}


def test_a_build_for_another_architecture_is_refused_by_its_import(built, tmp_path):
    other = "xtensawin" if march() != "xtensawin" else "armv6m"
    native_build.build(tmp_path / "built", other)
    done = micropython(tmp_path / "built", "import uapycsp.channel")
    assert done.returncode == 1
    assert "ValueError: incompatible .mpy arch" in done.stdout + done.stderr


def test_sources_beside_a_build_come_before_it(built, tmp_path):
    folder = tmp_path / "both"
    native_build.build(folder, march())
    code = "from cspcore import channel; print(channel.__file__)"
    assert micropython(folder, code).stdout == "cspcore/channel.mpy\n"
    shutil.copy(ROOT / "cspcore" / "channel.py", folder / "cspcore")
    assert micropython(folder, code).stdout == "cspcore/channel.py\n"


def test_sizes_are_those_of_the_files(built):
    found = native_build.sizes(built)
    assert set(found) == set(firmware_mpy.PACKAGES)
    assert sum(found.values()) == sum(p.stat().st_size for p in built.rglob("*.mpy"))


def test_a_build_replaces_the_one_before_and_leaves_nothing_else(built, tmp_path):
    folder = tmp_path / "place" / "built"
    (folder / "cspcore").mkdir(parents=True)
    (folder / "cspcore" / "old.mpy").write_text("old")
    native_build.build(folder, march())
    assert architectures(folder) == architectures(built)
    assert list(folder.parent.iterdir()) == [folder]


def test_a_build_that_fails_leaves_the_one_before(monkeypatch, tmp_path):
    folder = tmp_path / "built"
    (folder / "cspcore").mkdir(parents=True)
    (folder / "cspcore" / "old.mpy").write_text("old")
    monkeypatch.setattr(native, "HOT", {"cspcore/errors.py": {"gone": "why"}})
    with pytest.raises(firmware_mpy.Failed, match="errors.py has no function gone"):
        native_build.build(folder, "x64")
    assert list(tmp_path.iterdir()) == [folder]
    assert [p.name for p in folder.rglob("*.mpy")] == ["old.mpy"]


# --- the rules, with machine code

RULES = ("test_rendezvous", "test_poison", "test_choice", "test_failure", "test_parallel",
         "test_cancellation")
OTHERS = ("test_engine_loops", "test_heap", "test_small_heap")


def verdicts(path, variant, packages):
    """What a device test's functions end by: (name, Verdict)."""
    source = collect.source_of(path)
    if variant and variant not in source.variants:
        pytest.skip("not for {}".format(variant))
    tests = device.Device(path, "micropython", variant, source.limit, source.heap, packages)
    found = [(name, tests.ask(collect.how(is_async, variant), name))
             for name, is_async, _ in source.functions]
    return found + [("the end", device.Verdict("fail", tests.close(), ""))]


def check(found):
    assert any(verdict.kind == "pass" for _, verdict in found)
    assert not [(name, verdict.text) for name, verdict in found
                if verdict.kind == "fail" and verdict.text]


@pytest.mark.parametrize("variant", device.LIBRARIES)
@pytest.mark.parametrize("name", RULES)
def test_the_rules_hold(built, name, variant):
    check(verdicts(ROOT / "tests" / "rules" / (name + ".py"), variant, built))


@pytest.mark.parametrize("name", OTHERS)
def test_the_engine_and_the_heap_keep_their_promises(built, name):
    check(verdicts(ROOT / "tests" / (name + ".py"), None, built))


# A collection that is interrupted may spoil the heap, whatever runs: so there is none.
_SPINS = """
from {lib} import Channel, Parallel, process, run

@process
{a}def source(cout):
    n = 0
    while True:
        n += 1
        if n == 100:
            print("spins")
        {w}cout(n)

@process
{a}def passes(cin, cout):
    while True:
        {w}cout({w}cin())

@process
{a}def sink(cin):
    while True:
        {w}cin()

@process
{a}def gives(cout, v):
    {w}cout(v)

@process
{a}def takes(cin):
    return {w}cin()

a, b = Channel("a"), Channel("b")
try:
    run(source(a.write), passes(a.read, b.write), sink(b.read))
except KeyboardInterrupt:
    print("interrupted")
c = Channel("c")
print(run(gives(c.write, 42), takes(c.read))[1])
"""


@pytest.mark.parametrize("lib", device.LIBRARIES.values())
def test_ctrl_c_ends_a_busy_network_and_another_one_runs(built, lib):
    # Several tries: this port raises out of the signal's handler, about once in a hundred times
    # while it enters a function, which leaves the caller with that one's globals (NameError).
    ends = []
    while len(ends) < 4 and ("interrupted\n42\n", 0) not in ends:
        ends.append(_interrupted(built, lib))
    assert ends[-1] == ("interrupted\n42\n", 0), ends


def _interrupted(built, lib):
    # What a busy network prints when it is interrupted, and its exit status.
    words = ("", "") if lib == "upycsp" else ("async ", "await ")
    process = subprocess.Popen(
        [*interpreters.command("micropython", "256M"), "-c",
         _SPINS.format(lib=lib, a=words[0], w=words[1])],
        cwd=built, env=dict(interpreters.environment(), MICROPYPATH=".frozen"), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=device.DIE_WITH_PARENT)
    try:
        assert process.stdout.readline() == "spins\n"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        return "it did not end", None
    finally:
        process.kill()
        process.wait()
    return output, process.returncode


def test_a_traceback_leaves_out_what_is_machine_code(built):
    code = "import uapycsp\nasync def reads(cin):\n    await cin()\nch = uapycsp.Channel()\n" \
        "ch.poison()\nreads(ch.read).send(None)\n"
    compiled, source = [
        done.stdout + done.stderr for done in (micropython(built, code), micropython(ROOT, code))]
    assert "in csp_read" in source and "in csp_read" not in compiled
    for text in source, compiled:
        assert "in reads" in text and "PoisonException: channel is poisoned" in text


# --- the command


def test_a_build_tells_the_sizes_of_both(capsys, built, tmp_path):
    assert native_build.main(["--out", str(tmp_path / "built")]) == 0
    output = capsys.readouterr().out
    assert str(tmp_path / "built") in output
    assert "| uapycsp | {} |".format(
        sum(p.stat().st_size for p in _bytecode(tmp_path).glob("*.mpy"))) in output
    assert " {} | ".format(native_build.sizes(built)["uapycsp"]) in output


def _bytecode(tmp_path):
    firmware_mpy.compiled(tmp_path / "bytecode", ["uapycsp"])
    return tmp_path / "bytecode" / "uapycsp"


def test_quick_measuring_writes_a_page(capsys, built, tmp_path):
    assert native_build.main(["--out", str(tmp_path / "built"), "--measure", "--quick",
                        "--results", str(tmp_path / "results")]) == 0
    text = (tmp_path / "results" / "native.md").read_text()
    for name in (*native_build.perfcheck.MEASURES, *firmware_mpy.PACKAGES, "from upycsp import"):
        assert "\n| " + name in text
    found = (tmp_path / "results" / "native.json").read_text()
    assert '"micropython": ' in found and '"commit": ' in found
    assert "wrote" in capsys.readouterr().out


@pytest.mark.parametrize("words, problem", (
    (["--march", "xtensawin", "--test"], "the MicroPython here runs x64, not xtensawin\n"),
    (["--march", "xtensawin", "--measure"], "the MicroPython here runs x64, not xtensawin\n"),
))
def test_another_architecture_is_not_run(capsys, monkeypatch, tmp_path, words, problem):
    monkeypatch.setattr(native_build, "own_architecture", lambda: "x64")
    assert native_build.main(["--out", str(tmp_path / "built"), *words]) == 1
    assert capsys.readouterr().err == problem
    assert not list(tmp_path.iterdir())


def test_where_no_machine_code_runs_an_architecture_must_be_named(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(native_build, "own_architecture", lambda: None)
    assert native_build.main(["--out", str(tmp_path / "built")]) == 1
    assert capsys.readouterr().err == (
        "the MicroPython here runs no machine code: name the architecture of another in --march\n")
    assert native_build.main(["--out", str(tmp_path / "built"), "--march", "xtensawin"]) == 0


def test_without_micropython_one_sentence_says_so(capsys, monkeypatch):
    monkeypatch.setattr(interpreters, "command", lambda *_: None)
    assert native_build.main([]) == 1
    assert capsys.readouterr().err == "there is no MicroPython: name one in MICROPYTHON\n"


def test_an_unknown_architecture_is_refused_with_those_there_are(capsys):
    with pytest.raises(SystemExit) as stop:
        native_build.main(["--march", "z80"])
    assert stop.value.code == 2
    assert "xtensawin" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_told(capsys, tmp_path):
    (tmp_path / "file").write_text("here")
    out = str(tmp_path / "file" / "built")
    assert native_build.main(["--march", "xtensawin", "--out", out]) == 1
    said = capsys.readouterr().err
    assert said.startswith("can't write ") and said.count("\n") == 1


def test_a_file_in_the_place_of_the_folder_stays(capsys, tmp_path):
    (tmp_path / "built").write_text("here")
    assert native_build.main(["--march", "xtensawin", "--out", str(tmp_path / "built")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("can't write ") and said.count("\n") == 1
    assert (tmp_path / "built").read_text() == "here"


@pytest.mark.parametrize("path", ("notes.txt", "mine/cspcore.mpy", "cspcore/channel.py"))
def test_a_folder_with_anything_else_in_it_stays(capsys, tmp_path, path):
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text("here")
    assert native_build.main(["--march", "xtensawin", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "{} holds more than a build, which would be lost: name another folder\n".format(tmp_path))
    assert (tmp_path / path).read_text() == "here"
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [tmp_path / path]


# --- the tests with it


def test_libraries_are_looked_for_in_the_packages_named_first(built, monkeypatch):
    monkeypatch.setenv("CSP_PACKAGES", str(built))
    assert interpreters.library_paths() == [str(built), str(ROOT)]
    monkeypatch.delenv("CSP_PACKAGES")
    assert interpreters.library_paths() == [str(ROOT)]


def test_packages_that_are_not_there_stop_the_tests_with_a_sentence(tmp_path):
    done = patience.run(
        [sys.executable, "-m", "pytest", "-q", "tests/rules/test_sequence.py"], cwd=ROOT,
        env=dict(os.environ, CSP_PACKAGES=str(tmp_path)), text=True, timeout=180,
        capture_output=True)
    assert done.returncode == 4
    assert "ERROR: CSP_PACKAGES: there is no compiled cspcore in {}\n".format(tmp_path) in (
        done.stdout + done.stderr)


def test_device_tests_use_the_packages_named(built, tmp_path):
    path = tmp_path / "test_which.py"
    path.write_text("def test_which():\n    import uapycsp.channel\n"
                    "    assert not uapycsp.channel.__file__, uapycsp.channel.__file__\n")
    for packages, place in (built, built / "uapycsp" / "channel.mpy"), (
            None, "uapycsp/channel.py"):
        [(_, verdict), _] = verdicts(path, None, packages)
        assert "AssertionError: {}".format(place) in verdict.text
