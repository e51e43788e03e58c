"""Files come onto a board whole, whenever it loses its power or its cable."""

import pathlib
import sys

import pytest

from board import driver

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import board_files  # noqa: E402
import board_link  # noqa: E402

PACKAGES = ("app", "core")
TEXT = b"# Some text that is no less than a block or two of the filesystem.\n"
OLD = {
    "app/__init__.py": b"version = 1\n",
    "app/a.py": TEXT * 90,
    "app/sub/b.py": b"b = 1\n",
    "core/c.py": b"c = 1\n" + TEXT,
    "config.py": board_files.signed(b"config = 1\n"),
    "main.py": board_files.signed(b"print('this is', 1)\n"),
}
NEW = {
    "app/__init__.py": b"version = 2\n",
    "app/a.mpy": TEXT * 80,
    "app/sub/d.py": b"d = 2\n",
    "core/c.py": b"c = 2\n" + TEXT,
    "config.py": board_files.signed(b"config = 2\n"),
    "main.py": board_files.signed(b"print('this is', 2)\n"),
}


def linked(board):
    link = board_link.Link(board.port, 120)
    link.start()
    return link


def planned(link, wanted, **more):
    return board_files.Plan(link, board_files.State(link, PACKAGES), wanted, **more)


def bring(board, wanted):
    """What was changed on a board."""
    with linked(board) as link:
        plan = planned(link, wanted)
        board_files.bring(link, plan)
        return plan


def content(board):
    """{path: content} of all that is on a board."""
    with linked(board) as link:
        link.run(board_files._HELPERS)
        rows = board_files.eval_lines(link.run("_walk('')"))
        return {path[1:]: link.read(path) for path, size, _ in rows if size is not None}


def assert_whole(found):
    """The promise: each file is old or new; with a main.py all are, of one version, but for
    config.py, which comes just before a new main.py."""
    for path, data in found.items():
        if not path.endswith(board_files.NEW):
            assert data in (OLD.get(path), NEW.get(path)), path
    if "main.py" in found:
        whole = {p: data for p, data in found.items() if not p.endswith(board_files.NEW)}
        assert whole in (OLD, NEW)


@pytest.fixture
def flash(tmp_path):
    return driver.littlefs(tmp_path / "flash.img", 64)


def test_all_is_brought_and_then_nothing_but_what_changed(switch_on, flash):
    board = switch_on(flash)
    assert bring(board, OLD).changed == sorted(OLD)
    assert content(board) == OLD
    assert bring(board, OLD).changed == []
    changed = dict(OLD, **{"core/c.py": b"c = 3\n" + TEXT})
    plan = bring(board, changed)
    assert plan.changed == ["core/c.py"] and plan.stale == []
    assert content(board) == changed
    # A configuration alone takes one step, in which the project stays whole.
    with linked(board) as link:
        other = planned(link, dict(changed, **{"config.py": board_files.signed(b"config = 3\n")}))
        assert other.steps() == [("config.py.new", "config.py")]
    # A source would be imported in the place of a module compiled from a newer one.
    plan = bring(board, NEW)
    assert plan.stale == ["app/a.py", "app/sub/b.py"]
    assert content(board) == NEW


def test_a_board_that_loses_its_power_at_any_write_is_whole_and_can_be_finished(switch_on, flash):
    board = switch_on(flash)
    bring(board, OLD)
    board.unplug()
    before = flash.read_bytes()
    board.plug()
    seen = set()
    writes = 1
    while True:
        board.wear(writes)
        try:
            bring(board, NEW)
            break
        except board_link.Lost as e:
            assert "run the command again" in str(e)
        board.plug()
        found = content(board)
        assert_whole(found)
        seen.add(("main.py" in found, sum(found.get(p) == NEW[p] for p in NEW)))
        bring(board, NEW)
        assert content(board) == NEW
        board.unplug()
        flash.write_bytes(before)
        board.plug()
        writes += 7
    # It did happen early, and amid the renames.
    assert (True, 0) in seen
    assert any(not main and 0 < new < len(NEW) for main, new in seen)


@pytest.mark.parametrize("powered", [False, True])
def test_a_cable_that_is_pulled_at_any_byte_leaves_whole_files(switch_on, powered):
    board = switch_on()
    sent = 300
    while True:
        bring(board, OLD)
        board.unplug(after=sent, powered=powered)
        try:
            bring(board, NEW)
            break
        except board_link.Failed as e:
            assert isinstance(e, board_link.Lost)
        board.plug()
        found = {p.relative_to(board.flash).as_posix(): p.read_bytes()
                 for p in board.flash.rglob("*") if p.is_file()}
        if not powered:
            assert_whole(found)
        bring(board, NEW)
        assert content(board) == NEW
        sent += 13000
    assert sent > 300


def test_what_does_not_arrive_as_it_was_sent_changes_nothing(switch_on, flash, monkeypatch):
    board = switch_on(flash)
    bring(board, OLD)
    write = board_link.Link.write

    def damaged(self, path, data):
        write(self, path, data[:-1] + b"?" if path.startswith("core") else data)

    with monkeypatch.context() as patched:
        patched.setattr(board_link.Link, "write", damaged)
        with pytest.raises(board_link.Failed, match=r"core/c.py did not arrive .* nothing was"):
            bring(board, NEW)
    assert content(board) == OLD
    bring(board, NEW)
    assert content(board) == NEW


def test_a_full_filesystem_keeps_what_it_has(switch_on, tmp_path):
    board = switch_on(driver.littlefs(tmp_path / "small.img", 36))
    bring(board, OLD)
    with linked(board) as link:
        room = board_files.free(link)
        link.run("import os\nf = open('mine', 'wb')\nfor i in range({}):\n"
                 " f.write(os.urandom(1024))\nf.close()".format(room // 1024 - 30))
        mine = link.read("mine")
    more = dict(NEW, **{"app/big.py": TEXT * 600})
    # By their bytes they would fit, but not in whole blocks.
    tight = dict(NEW, **{"app/s{}.py".format(i): TEXT * 8 for i in range(20)})
    for wanted in (more, tight):
        with pytest.raises(board_link.Failed, match="There is no room .* nothing was changed"):
            bring(board, wanted)
        assert content(board) == dict(OLD, mine=mine)
    bring(board, NEW)
    assert content(board) == dict(NEW, mine=mine)


def test_a_main_or_config_of_the_user_is_kept_once(switch_on):
    mine = {"main.py": b"print('mine')\n", "config.py": b"mine = True\n"}
    board = switch_on()
    for name, data in mine.items():
        (board.flash / name).write_bytes(data)
    (board.flash / "boot.py").write_bytes(b"")
    (board.flash / "main.py.bak").write_bytes(b"older")
    assert bring(board, OLD).kept == {"main.py": "main.py.bak1", "config.py": "config.py.bak"}
    backups = {"main.py.bak": b"older", "main.py.bak1": mine["main.py"],
               "config.py.bak": mine["config.py"], "boot.py": b""}
    assert content(board) == dict(OLD, **backups)
    assert bring(board, NEW).kept == {}
    assert content(board) == dict(NEW, **backups)
    # One that was edited is the user's, too.
    edited = NEW["config.py"] + b"config = 5\n"
    (board.flash / "config.py").write_bytes(edited)
    assert bring(board, NEW).kept == {"config.py": "config.py.bak1"}
    assert content(board) == dict(NEW, **backups, **{"config.py.bak1": edited})


def test_packages_in_lib_are_updated_there(switch_on):
    board = switch_on()
    for path, data in OLD.items():
        place = board.flash / (path if path in board_files.OWN else "lib/" + path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    with linked(board) as link:
        state = board_files.State(link, PACKAGES)
    assert state.place == "lib/"
    assert set(state.files) == {p if p in board_files.OWN else "lib/" + p for p in OLD}


@pytest.mark.parametrize("missing", [("hashlib",), ("hashlib", "binascii")])
def test_boards_without_hashes_get_the_same(switch_on, missing):
    hides = ("import builtins\nold = builtins.__import__\ndef hiding(name, *a):\n"
             "    if name.lstrip('u') in {!r}:\n        raise ImportError(name)\n"
             "    return old(name, *a)\nbuiltins.__import__ = hiding\n")
    board = switch_on(boot=hides.format(missing))
    bring(board, OLD)
    assert bring(board, OLD).changed == []
    assert bring(board, NEW).changed == sorted(NEW)
    found = content(board)
    assert found.pop("boot.py") and found == NEW


def test_only_an_unchanged_file_of_make_board_is_known_as_such():
    data = board_files.signed(b"x = 1\n")
    assert board_files.is_signed(data)
    for other in (b"", b"x = 1\n", data + b"\n", data.replace(b"1", b"2", 1), data[:-1]):
        assert not board_files.is_signed(other)
