"""What was reached on MicroPython, on CPython and on either: a table, and pages of HTML.

python tools/coverage/covered_report.py      once more, of the data of the last run
"""

import datetime
import json
import pathlib
import sys

import coverage

GOAL = 95
ROOT = pathlib.Path(__file__).resolve().parents[2]
PLATFORMS = ("micropython", "cpython", "either")


def read_marks(folder):
    """The marks of all processes, by path: 1 where one of them has it."""
    reached = {}
    for file in sorted(folder.iterdir()):
        data = file.read_bytes()
        while data:
            head, _, data = data.partition(b"\n")
            path, count = head.decode().rsplit(" ", 1)
            marks, data = data[: int(count)], data[int(count) :]
            if len(marks) < int(count):
                break  # the process was killed as it wrote
            before = reached.get(path, bytes(len(marks)))
            reached[path] = bytes(a | b for a, b in zip(before, marks))
    return reached


def arcs_of_marks(root, folder, meaning):
    """What the marks say, as coverage.py keeps it."""
    arcs = {str(root / path): set() for path in meaning}
    for path, marks in read_marks(folder).items():
        arcs[str(root / path)] = {tuple(m) for m, hit in zip(meaning[path], marks) if hit}
    return arcs


def collect(root, build, meaning):
    """The arcs that were reached, by platform and path."""
    cpython = {str(root / path): set() for path in meaning}
    for file in sorted((build / "cpython").iterdir()):
        data = coverage.CoverageData(str(file))
        data.read()
        for path in data.measured_files() & cpython.keys():
            cpython[path].update(data.arcs(path) or ())
    micropython = arcs_of_marks(root, build / "marks", meaning)
    either = {path: micropython[path] | cpython[path] for path in cpython}
    return {"micropython": micropython, "cpython": cpython, "either": either}


def write_data(path, arcs):
    """Write arcs as coverage.py's file of data."""
    path.unlink(missing_ok=True)
    data = coverage.CoverageData(str(path))
    data.add_arcs(arcs)
    data.touch_files(arcs)  # those that nothing was reached of, too
    data.write()
    return path


def figures(root, build, path):
    """coverage.py's figures of each file, by its path from the root."""
    program = coverage.Coverage(data_file=str(path), config_file=str(build / "coveragerc"))
    program.load()
    out = build / (path.name + ".json")
    program.json_report(outfile=str(out))
    if path.name == "data.either":
        program.html_report(directory=str(build / "html"), title="Either platform")
    files = json.loads(out.read_text())["files"]
    return {pathlib.Path(n).resolve().relative_to(root).as_posix(): f for n, f in files.items()}


class Part:
    """A module, a package or all: how much there is, and how much was reached."""

    def __init__(self):
        self.lines = self.branches = 0
        self.reached = {name: [0, 0] for name in PLATFORMS}

    def add(self, by_platform):
        """Count a file, whose figures are given by platform."""
        self.lines += by_platform["either"]["summary"]["num_statements"]
        self.branches += by_platform["either"]["summary"]["num_branches"]
        for name, file in by_platform.items():
            self.reached[name][0] += file["summary"]["covered_lines"]
            self.reached[name][1] += file["summary"]["covered_branches"]

    def shares(self, name):
        """The lines and the branches reached on a platform, in %."""
        lines, branches = self.reached[name]
        return [100 * n / of if of else 100 for n, of in zip((lines, branches), self._sizes())]

    def _sizes(self):
        return self.lines, self.branches

    def row(self):
        """The figures as they are printed."""
        words = []
        for name in reversed(PLATFORMS):
            for share in self.shares(name):
                # Rounded down, so that 100 means all.
                words.append("{:6.1f}".format(int(share * 10) / 10))
        return "".join(words)


def missing(file):
    """The lines that were not reached, then the branches between lines that were."""
    lines = file["missing_lines"]
    words = []
    i = 0
    while i < len(lines):
        j = i
        # A run of lines goes on over lines that hold no statement.
        while j + 1 < len(lines) and not any(
            lines[j] < line < lines[j + 1] for line in file["executed_lines"]
        ):
            j += 1
        words.append("{}-{}".format(lines[i], lines[j]) if j > i else str(lines[i]))
        i = j + 1
    for start, to in file["missing_branches"]:
        if start not in lines:
            words.append("{}->{}".format(start, to if to > 0 else "exit"))
    return " ".join(words)


HEAD = """{:34}   either      CPython   MicroPython
{:34} line branch line branch line branch   reached nowhere"""


def table(by_file, say=print):
    """Print the table; the names of parts that fall short of the goal."""
    say(HEAD.format("", "module"))
    parts = {}
    for path in sorted(by_file):
        parts.setdefault(path.split("/")[0], []).append(path)
    everything = Part()
    sums = []
    for package, paths in parts.items():
        whole = Part()
        for path in paths:
            part = Part()
            for p in (part, whole, everything):
                p.add(by_file[path])
            if part.lines:
                say("{:32} {}  {}".format(path, part.row(), missing(by_file[path]["either"])))
        sums.append((package, whole))
    sums.append(("all", everything))
    say("")
    for name, part in sums:
        say("{:32} {}  {} lines, {} branches".format(name, part.row(), *part._sizes()))
    return [name for name, part in sums if min(part.shares("either")) < GOAL]


PAGE = """# Lines and branches that the tests reach

`make coverage`, {date}, which also writes pages with the sources: see
[coverage.md](../coverage.md) for how it is measured, and why some are not reached.

Either platform, then CPython, then MicroPython's Unix port, in % of lines and branches.{failed}

```text
{rows}
```
"""
FAILED = "Some tests failed in this run; `make test` says whether they do without it."


def page_of(rows, status):
    """What docs/results/coverage.md says; rows: the table's lines. status: pytest's."""
    rows = "\n".join([row.rstrip() for row in rows])
    failed = "\n" + FAILED if status else ""
    return PAGE.format(date=datetime.date.today(), rows=rows, failed=failed)


def main(root, build, status=0, page=None):
    """Report the data of a run, also into the file `page` if one is given; the exit status.

    status: pytest's.
    """
    meaning = json.loads((build / "meaning.json").read_text())
    by_platform = {
        name: figures(root, build, write_data(build / ("data." + name), arcs))
        for name, arcs in collect(root, build, meaning).items()
    }
    by_file = {
        path: {name: by_platform[name][path] for name in PLATFORMS}
        for path in by_platform["either"]
    }
    rows = []
    short = table(by_file, rows.append)
    print("\n".join(rows))
    if page:
        page.write_text(page_of(rows, status))
    print("\nThe pages: {}".format((build / "html" / "index.html").relative_to(root)))
    if status:
        print(FAILED)
    for name in short:
        print("{}: less than {} % reached.".format(name, GOAL))
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main(ROOT, ROOT / "build" / "coverage"))
