"""Packages are installed with mip, or frozen into firmware, with all that they need."""

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import urllib.error

import pytest

from board.driver import BoardProcess
from harness import interpreters, patience
from test_firmware import NETWORKS, contents, modules, needs_micropython, on_micropython
from test_make import serving

ROOT = interpreters.ROOT

import firmware  # noqa: E402
import firmware_mip as mip  # noqa: E402
import firmware_mpy  # noqa: E402

LIBS = ("uapycsp", "upycsp")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The address of the index."""
    folder = tmp_path_factory.mktemp("index")
    mip.index(folder / "mip", folder / "scratch")
    with serving(folder / "mip") as address:
        yield address


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    if not interpreters.micropython():
        pytest.fail("needs MicroPython") if os.environ.get("CI") else pytest.skip("no MicroPython")
    board = BoardProcess(tmp_path_factory.mktemp("flash"), interpreters.micropython())
    yield board
    assert board.close() == 0


@pytest.fixture
def empty(board):
    """The board with an empty flash."""
    for path in board.flash.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return board


def installed(board):
    return sorted(contents(board.flash))


def expected(packages, suffix=".mpy"):
    """What the flash has when these packages are installed."""
    return sorted("lib/" + path[:-3] + suffix for path in firmware_mpy.sources(packages))


def runs(board, lib):
    """Whether a network of that library runs from what is installed."""
    told = "import {0}.channel; print({0}.channel.__file__)".format(lib)
    found = board.mpremote("exec", NETWORKS[lib] + told).splitlines()
    assert found[0] == "[1, None]" and found[1].startswith("/lib/" + lib), found
    return found[1].rpartition(".")[2]


# --- an index


@pytest.mark.parametrize("lib", LIBS)
def test_a_library_comes_with_what_it_needs_from_an_index(empty, index, lib):
    empty.mpremote("mip", "install", "--index", index, lib)
    assert installed(empty) == expected((lib, *firmware_mpy.NEEDS[lib]))
    assert runs(empty, lib) == "mpy"


def test_sources_can_be_had_from_an_index_and_are_not_sent_twice(empty, index):
    words = ("mip", "install", "--index", index, "--no-mpy", mip.ALL)
    empty.mpremote(*words)
    assert installed(empty) == expected(firmware.PACKAGES, ".py")
    assert [runs(empty, lib) for lib in LIBS] == ["py", "py"]
    again = empty.mpremote(*words)
    assert "Installing: " not in again
    assert set(re.findall(r"Exists: /(\S+)", again)) == set(installed(empty))


def test_a_version_can_be_asked_for(empty, index):
    empty.mpremote("mip", "install", "--index", index, "ufuture@" + mip.version())
    assert installed(empty) == expected(["ufuture"])
    said = empty.mpremote("mip", "install", "--index", index, "ufuture@0.0.1", ok=False)
    assert "Package not found: {}/package/6/ufuture/0.0.1.json".format(index) in said


def test_the_benchmarks_run_with_main_py_beside_them(empty, index):
    empty.mpremote("mip", "install", "--index", index, "benchmarks")
    wanted = expected((*firmware.PACKAGES, "benchmarks")) + ["lib/config.py"]
    assert installed(empty) == sorted(wanted)
    arguments = ["main.py", "commstime", "n=20", "runs=1", "baselines=no"]
    empty.mpremote("cp", "main.py", ":", cwd=ROOT)
    program = "import sys; sys.argv[:] = {!r}; execfile('main.py')".format(arguments)
    assert empty.mpremote("exec", program).count("RESULT ") == 3


@needs_micropython
@pytest.mark.parametrize("mpy", [True, False])
def test_a_board_with_a_network_installs_by_itself(index, tmp_path, mpy):
    program = "import mip\nmip.install('csp', index={!r}, target={!r}, mpy={!r})".format(
        index, str(tmp_path / "lib"), mpy)
    on_micropython(program)
    wanted = expected(firmware.PACKAGES, ".mpy" if mpy else ".py")
    assert sorted("lib/" + path for path in contents(tmp_path / "lib")) == wanted
    for lib in LIBS:
        assert on_micropython(NETWORKS[lib], folder=tmp_path / "lib") == "[1, None]\n"


def test_the_index_lists_what_it_has(index, tmp_path):
    mip.index(tmp_path / "mip", tmp_path / "scratch")
    listed = json.loads((tmp_path / "mip/index.json").read_text())
    names = [package["name"] for package in listed["packages"]]
    assert names == sorted([mip.ALL, "benchmarks", *firmware.PACKAGES])
    for kind in ("6", "py"):
        folder = tmp_path / "mip/package" / kind
        assert sorted(path.name for path in folder.iterdir()) == names
        for package in listed["packages"]:
            [own] = package["versions"][kind]
            texts = {path.stem: path.read_text() for path in (folder / package["name"]).iterdir()}
            assert set(texts) == {"latest", own} and texts["latest"] == texts[own]
    files = contents(tmp_path / "mip/file")
    for path, data in files.items():
        short = hashlib.sha256(data).hexdigest()[:8]
        assert path == "{}/{}".format(short[:2], short)


def test_two_files_of_one_short_hash_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(mip, "SHORT", 1)
    with pytest.raises(firmware.Failed, match="^two files have the same 1 characters of hash"):
        mip.index(tmp_path / "mip", tmp_path / "scratch")


# --- descriptions in the repository


def test_the_descriptions_are_those_of_today():
    # make firmware ARGS=--update
    for name, text in mip.descriptions().items():
        assert (ROOT / name).read_text() == text, name


def test_update_writes_the_descriptions(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(firmware, "ROOT", tmp_path)
    assert firmware.main(["--update"]) == 0
    assert capsys.readouterr().out.count("Wrote ") == 6
    assert {name: data.decode() for name, data in contents(tmp_path).items()} == mip.descriptions()


@pytest.mark.parametrize("lib", LIBS)
def test_a_library_comes_with_what_it_needs_from_a_file(empty, lib):
    empty.mpremote("mip", "install", lib + ".json", cwd=ROOT)
    assert installed(empty) == expected((lib, *firmware_mpy.NEEDS[lib]), ".py")
    assert runs(empty, lib) == "py"


def test_a_description_may_be_elsewhere_than_where_one_works(empty, tmp_path):
    empty.mpremote("mip", "install", str(ROOT / "package.json"), cwd=tmp_path)
    assert installed(empty) == expected(firmware.PACKAGES, ".py")


@pytest.mark.parametrize("name, packages", [
    ("package.json", firmware.PACKAGES), ("ufuture.json", ["ufuture"]), ("", firmware.PACKAGES)])
def test_a_description_can_be_had_from_a_web_server(empty, tmp_path, name, packages):
    with serving(ROOT) as address:
        empty.mpremote("mip", "install", "{}/{}".format(address, name))
    assert installed(empty) == expected(packages, ".py")


@pytest.mark.parametrize("name, packages, branch", [
    ("github:someone/something", firmware.PACKAGES, "HEAD"),
    ("github:someone/something/uapycsp.json@v1", ["cspcore", "ufuture", "uapycsp"], "v1"),
    ("gitlab:someone/something/uthreading.json", ["uthreading"], "HEAD")])
def test_a_git_host_serves_the_repository_as_it_is(monkeypatch, tmp_path, name, packages, branch):
    # The hosts are out of reach: mpremote's own code, and what they would answer.
    from mpremote import mip as theirs

    def urlopen(url):
        raw = {"github": "https://raw.githubusercontent.com/someone/something/{}/",
               "gitlab": "https://gitlab.com/someone/something/-/raw/{}/"}
        start = raw[name[:6]].format(branch)
        assert url.startswith(start) and ".." not in url
        path = ROOT / url[len(start):]
        if not path.is_file():
            raise urllib.error.HTTPError(url, 404, "not found", {}, None)
        return path.open("rb")

    class Transport:
        fs_exists = staticmethod(lambda path: (tmp_path / path).exists())
        fs_mkdir = staticmethod(lambda path: (tmp_path / path).mkdir())

        @staticmethod
        def fs_writefile(path, data, progress_callback):
            (tmp_path / path).write_bytes(data)

    monkeypatch.setattr(theirs.urllib.request, "urlopen", urlopen)
    package, _, version = name.partition("@")
    theirs._install_package(Transport, package, "https://nowhere", "lib", version or None, True)
    assert sorted(contents(tmp_path)) == expected(packages, ".py")


# --- copied


def test_compiled_files_are_copied_as_docs_say(empty, tmp_path):
    firmware.compiled(tmp_path, firmware.PACKAGES)
    text = (ROOT / "docs/firmware.md").read_text()
    [section] = re.findall(r"(?s)## Compiled files\n.*?```sh\n(.*?)```", text)
    [command] = re.findall(r"(?m)^mpremote (.*)$", section)
    empty.mpremote(*command.split(), cwd=tmp_path)
    packages = command.split()[2:-1]
    assert installed(empty) == [path[4:] for path in expected(packages)]
    assert empty.mpremote("exec", NETWORKS["uapycsp"]) == "[1, None]\n"


# --- freezing


@pytest.fixture
def manifestfile():
    """MicroPython's own reader of manifests, of the version that micropython-stubber carries."""
    files = importlib.metadata.files("micropython-stubber")
    path = next(file.locate() for file in files if file.name == "manifestfile.py")
    spec = importlib.util.spec_from_file_location("manifestfile", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name, packages", [
    ("manifest.py", firmware.PACKAGES),
    ("manifest_uapycsp.py", ("cspcore", "ufuture", "uapycsp")),
    ("manifest_upycsp.py", ("cspcore", "uthreading", "upycsp"))])
@needs_micropython
def test_a_manifest_freezes_all_that_is_needed(manifestfile, tmp_path, name, packages):
    port = tmp_path / "port" / "boards"
    port.mkdir(parents=True)
    (port / "manifest.py").write_text("module('of_the_port.py')\n")
    (port / "of_the_port.py").write_text("")
    found = manifestfile.ManifestFile(
        manifestfile.MODE_FREEZE, {"PORT_DIR": str(port.parent), "MPY_DIR": "", "BOARD_DIR": ""})
    found.execute(str(ROOT / "firmware" / name))
    [theirs] = [file for file in found.files() if file.target_path == "of_the_port.py"]
    files = [file for file in found.files() if file is not theirs]
    # None twice, none missing, nothing more.
    assert sorted(file.target_path for file in files) == sorted(firmware_mpy.sources(packages))
    assert {file.kind for file in files} == {manifestfile.KIND_FREEZE_AS_MPY}
    assert {file.opt for file in files} == {3}
    frozen = tmp_path / "frozen"
    for file in files:
        (frozen / file.target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file.full_path, frozen / file.target_path)
    both = {path[: -len(".py")].replace("/", ".") for path in firmware_mpy.BOTH}
    alone = not {"uapycsp", "upycsp"} <= set(packages)
    imports = "".join("import {}\n".format(module) for module in modules(frozen)
                      if not (alone and module in both))
    if "ufuture" not in packages:
        # It is better off with ufuture, but needs none.
        assert "upycsp.aio" in imports
    on_micropython(imports, folder=frozen)
    for lib in set(packages) & set(LIBS):
        assert on_micropython(NETWORKS[lib], folder=frozen) == "[1, None]\n"


def test_the_needs_of_packages_are_those_of_their_imports():
    for name, needs in firmware_mpy.NEEDS.items():
        imported = set()
        for path in firmware_mpy.sources([name]):
            if path in firmware_mpy.BOTH:
                continue
            text = (ROOT / path).read_text()
            # An indented one is tried where it may be missing, but a lazy name must be there.
            imported.update(re.findall(r"(?m)^(?:from|import) (\w+)", text))
            imported.update(re.findall(r'(?m)^    "\w+": "(\w+)\.', text))
            imported.update(re.findall(r'[";](\w+)\.\w+ [A-Za-z]', text))
        assert imported & set(firmware.PACKAGES) - {name} == set(needs), name


# --- versions


def test_nothing_disagrees_about_the_version():
    version = mip.version()
    said = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]
    heading = said.splitlines()[0]
    # What is not released says what it is to be.
    assert heading.startswith("[{}]".format(version)) or (
        heading == "[Unreleased]" and "To be {},".format(version) in said)
    for name in mip.descriptions():
        assert json.loads((ROOT / name).read_text())["version"] == version
    words = re.compile(r"__version__|\bversion *= *[\"'][\d.]+[\"']")
    for path in [*firmware_mpy.sources(firmware.PACKAGES), "config.py", "main.py"]:
        assert not words.search((ROOT / path).read_text()), path
    for path in (ROOT / "firmware").glob("*.py"):
        assert not words.search(path.read_text()), path


def test_without_a_version_it_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(mip, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(firmware.Failed, match="^pyproject.toml has no version$"):
        mip.version()


def test_without_git_the_index_has_no_time(monkeypatch):
    assert mip.committed() == int(patience.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True,
        timeout=60).stdout)
    monkeypatch.setenv("PATH", "/nowhere")
    assert mip.committed() == 0
