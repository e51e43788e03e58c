"""What boards measured: a JSON file for each, with a table and plots beside the Unix port's."""

import json
import os
import pathlib
import re

import report
import report_machine
import report_page
from board_link import Failed

FOLDER = report_machine.ROOT / "docs" / "results" / "boards"
UNIX = report_machine.ROOT / "docs" / "results" / "report.json"

# What tells a row of a benchmark from its others.
_KEY = ("bench", "lib", "api", "variant", "size", "waiters", "workers", "idle", "at_once",
        "others", "capacity")
# What the Unix port's rows have, too.
PLOTTED = ("commstime", "stressed_alt", "queues", "waiting_queue")


def _key(row):
    return tuple(row["result"].get(name) for name in _KEY)


def path_of(machine):
    """Where the figures of a kind of board are kept."""
    return FOLDER / (re.sub("[^a-z0-9]+", "-", machine.lower()).strip("-") + ".json")


def stored(path, machine):
    """The rows that a file has of that machine, none if there is no file; raises Failed."""
    if not path.exists():
        return []
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        rows, other = kept["rows"], kept["machine"]
    except (ValueError, KeyError, TypeError, OSError):
        raise Failed("{} has no figures of a board: name another file, OUT=...".format(path))
    if other != machine:
        raise Failed("{} has the figures of another board, {}: name another file, OUT=...".format(
            path, other))
    return rows


def rows_of(output, about):
    """The rows in a run's output; about: what is to be kept beside each."""
    found = []
    for result, samples in report.parse(output):
        middle = report_page.median(samples) if samples else None
        found.append({"result": result, "us_median": middle, "cpus": 1, **about})
    return found


def merged(old, new):
    """All rows, those measured anew in the place of old ones."""
    rows = {_key(row): row for row in old}
    rows.update({_key(row): row for row in new})
    return list(rows.values())


def save(path, board, rows):
    """Writes the file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.write_text(report.dump({**board, "rows": rows}), encoding="utf-8")
    os.replace(beside, path)


def us(row):
    """A row's time: the median where each run's was told, else the average."""
    return row["result"]["us_avg"] if row["us_median"] is None else row["us_median"]


def unix_rows(path=UNIX):
    """{key: row} of the Unix port, of those bound to one processor where there are such."""
    rows = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["rows"]
    rows = [row for row in rows if row["result"]["port"] == "unix"]
    rows.sort(key=lambda row: -row["cpus"])
    return {_key(row): row for row in rows}


def table(rows, unix):
    """The text of a table: each row, and the Unix port's of the same name where there is one."""
    head = ("", "", "", "board us", "Unix us", "times", "bytes")
    lines = []
    for row in rows:
        r = row["result"]
        other = unix.get(_key(row))
        more = ["{}={}".format(k, r[k]) for k in _KEY[4:] if r.get(k) is not None]
        lines.append((r["bench"], report_page.name_of(row)[0], " ".join([r["variant"], *more]),
                      report_page.figure(us(row)), report_page.figure(other and us(other)),
                      "{:.0f}".format(us(row) / us(other)) if other else "",
                      report_page.figure(r["bytes_per_op"])))
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    return "\n".join("  ".join(
        cell.ljust(width) if i < 3 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in [head, *lines])


def plots(path, machine, rows, unix):
    """Writes a plot for each benchmark that the Unix port has figures of; their paths."""
    import report_plots     # what draws takes long to load

    found = []
    for bench in PLOTTED:
        mine = [dict(row, us_median=us(row)) for row in rows if row["result"]["bench"] == bench]
        libs = {(row["result"]["lib"], row["result"].get("api")) for row in mine}
        variants = {row["result"]["variant"] for row in mine}
        theirs = [row for row in unix.values() if row["result"]["bench"] == bench
                  and (row["result"]["lib"], row["result"].get("api")) in libs
                  and row["result"]["variant"] in variants]
        if mine:
            found.append(path.with_name("{}-{}.png".format(path.stem, bench)))
            report_plots.beside(bench, (machine, mine), ("Unix port, PC", theirs), found[-1])
    return found
