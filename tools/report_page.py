"""The page of a report: its tables, beside the thesis's figures."""

import report_thesis as thesis

PORTS = {"unix": "MicroPython", "cpython": "CPython"}


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return round((ordered[middle - 1] + ordered[middle]) / 2, 3)


def name_of(row):
    """A row's library, with the way its calls are written, port and processors."""
    r = row["result"]
    lib = r["lib"] + (" (aio)" if r.get("api") == "aio" else "")
    return lib, PORTS.get(r["port"], r["port"]), _processors(row["cpus"])


def _processors(number):
    return "one processor" if number == 1 else "{} processors".format(number)


def pick(report, bench, **fields):
    """The rows of a benchmark whose fields, or number of processors, are as given."""
    found = []
    for row in report["rows"]:
        values = dict(row["result"], cpus=row["cpus"])
        if values["bench"] == bench and all(values.get(k) == v for k, v in fields.items()):
            found.append(row)
    return found


def figure(value):
    """Three significant digits, and at least what stands before the point."""
    if value is None:
        return ""
    if value >= 100:
        return "{:.0f}".format(value)
    return "{:.1f}".format(value) if value >= 10 else "{:.2f}".format(value)


def table(head, rows, left=1):
    lines = ["| " + " | ".join(head) + " |",
             "|" + "|".join(["---"] * left + ["---:"] * (len(head) - left)) + "|"]
    for row in rows:
        lines.append("| " + " | ".join(str(cell) for cell in row) + " |")
    return "\n".join(lines) + "\n"


def _commstime(report):
    rows = []
    for row in pick(report, "commstime"):
        r = row["result"]
        bytes_per_op = "" if r["bytes_per_op"] is None else figure(r["bytes_per_op"])
        rows.append(name_of(row) + (r["variant"], figure(r["us_min"]), figure(row["us_median"]),
                                    figure(r["us_avg"]), figure(r["us_max"]), bytes_per_op,
                                    r["runs"]))
    rows.sort(key=lambda row: (row[1] != "MicroPython", row[2] == "one processor"))
    theirs = [(name,) + tuple(figure(v) for v in par + seq) for name, par, seq in thesis.COMMSTIME]
    return (table(("library", "port", "bound to", "delta", "min", "median", "avg", "max",
                    "bytes", "runs"), rows, 4)
            + "\nThe thesis's figures (another machine, in 2020):\n\n"
            + table(("", "par min", "avg", "max", "seq min", "avg", "max"), theirs))


def _stressed(report):
    # One line a library; the columns are shapes and forms.
    variants = []
    lines = {}
    for row in pick(report, "stressed_alt"):
        variant = row["result"]["variant"]
        if variant not in variants:
            variants.append(variant)
        lines.setdefault(name_of(row), {})[variant] = figure(row["us_median"])
    variants.sort(key=lambda v: (-int(v.split("x")[0]), len(v.split("-")[0]), v))
    rows = [name + tuple(line.get(v, "") for v in variants) for name, line in lines.items()]
    rows.sort(key=lambda row: (row[1] != "MicroPython", row[2] == "one processor"))
    theirs = []
    for name, many, few, board in thesis.STRESSED:
        cells = [figure(v) for pair in (many, few) for v in reversed(pair)]
        cells += [figure(v) for v in reversed(board or (None, None))]
        theirs.append((name,) + tuple(cells))
    return (table(("library", "port", "bound to") + tuple(variants), rows, 3)
            + "\nThe thesis's figures (averages; another machine, in 2020):\n\n"
            + table(("", "100x5-select", "100x5-with", "5x2-select", "5x2-with",
                      "FiPy 5x2-select", "FiPy 5x2-with"), theirs))


def _queues(report):
    lines = {}
    for row in pick(report, "queues"):
        r = row["result"]
        key = (r["lib"], PORTS.get(r["port"]), r["size"])
        lines.setdefault(key, {})[r["variant"]] = figure(row["us_median"] * r["size"])
    variants = ("append", "popleft", "filter", "withdraw")
    rows = [key + tuple(line.get(v, "") for v in variants) for key, line in lines.items()]
    rows.sort(key=lambda row: (row[1] != "MicroPython", row[0], row[2]))
    return (table(("queue", "port", "N") + variants, rows, 2)
            + "\nThe thesis's figures (another machine, in 2020):\n\n"
            + table(("machine", "queue", "N", "append", "popleft", "filter"), thesis.QUEUES, 2))


def _waiting(report):
    lines = {}
    waiters = set()
    for row in pick(report, "waiting_queue"):
        r = row["result"]
        waiters.add(r["waiters"])
        key = name_of(row)[:2] + (r["variant"],)
        lines.setdefault(key, {})[r["waiters"]] = figure(row["us_median"] * r["n"] / 1000)
    some = [w for w in sorted(waiters) if w in (1, 2, 3, 4, 5, 10, 20, 30)]
    rows = [key + tuple(line.get(w, "") for w in some) for key, line in lines.items()]
    rows.sort(key=lambda row: row[1] != "MicroPython")
    head = ("library", "port", "waits on") + tuple("{} waiting".format(w) for w in some)
    return table(head, rows, 3) + "\n" + thesis.WAITING + "\n"


def _one(report, bench, lib, variant, cpus, api=None):
    fields = {"lib": lib, "variant": variant, "port": "unix", "cpus": cpus}
    if api:
        fields["api"] = api
    found = pick(report, bench, **fields)
    return found[0] if found else None


def _gains(report):
    """What is claimed, and what this run found: (claim, goal, found)."""
    many = report["machine"]["processors"]
    rows = []

    def faster(what, goal, base, own):
        if base and own:
            rows.append((what, goal, "{:.2f}".format(base["us_median"] / own["us_median"])))

    def comms(lib, variant, cpus):
        return _one(report, "commstime", lib, variant, cpus, "plain" if lib == "upycsp" else None)

    def stress(lib, shape, cpus=many):
        return _one(report, "stressed_alt", lib, shape + "-select", cpus,
                    "plain" if lib == "upycsp" else None)

    for delta in ("seq", "par"):
        faster("CommsTime {}: uapycsp against thesis-uapycsp-rescheduling, times faster".format(
            delta), ">= 4", comms("thesis-uapycsp-rescheduling", delta, many),
            comms("uapycsp", delta, many))
    for cpus, goal in ((1, ">= 3.5"), (many, ">= 2.3")):
        for delta in ("seq", "par"):
            faster("CommsTime {}: upycsp against thesis-upycsp, {}, times faster".format(
                delta, _processors(cpus)), goal, comms("thesis-upycsp", delta, cpus),
                comms("upycsp", delta, cpus))
    for lib, base in (("uapycsp", "thesis-uapycsp-rescheduling"), ("upycsp", "thesis-upycsp")):
        faster("CommsTime par-proc: {} against {}, times faster".format(lib, base), ">= 2.5",
               comms(base, "par-proc", many), comms(lib, "par-proc", many))
    for lib in ("uapycsp", "upycsp"):
        row = comms(lib, "seq", many)
        if row:
            rows.append(("CommsTime seq: {}, bytes allocated per communication".format(lib),
                         "0" if lib == "upycsp" else "", figure(row["result"]["bytes_per_op"])))
    faster("Stressed alternatives 100x5: uapycsp against thesis-uapycsp-rescheduling, "
           "times faster", ">= 10", stress("thesis-uapycsp-rescheduling", "100x5"),
           stress("uapycsp", "100x5"))
    for lib in ("uapycsp", "upycsp"):
        faster("Stressed alternatives: {}, 100x5 costs that many times 5x2".format(lib), "<= 8",
               stress(lib, "100x5"), stress(lib, "5x2"))
    faster("Stressed alternatives: uapycsp, 5x200 costs that many times 5x2", "<= 1.2",
           stress("uapycsp", "5x200"), stress("uapycsp", "5x2"))
    return table(("medians on MicroPython", "goal", "found"), rows)


def page(report):
    """The text of README.md."""
    m = report["machine"]
    p = report["parameters"]
    runs = p["commstime"]["runs"]
    fewer = p["runs_cpython_threads"]
    return PAGE.format(
        date=report["date"], cpu=m["cpu"], processors=m["processors"], memory=m["memory_mb"],
        system=m["system"], kernel=m["kernel"], architecture=m["architecture"],
        micropython=report["versions"]["micropython"], cpython=report["versions"]["cpython"],
        commit=(report["commit"] or "none yet")[:12],
        changed=" with uncommitted changes" if report["uncommitted_changes"] else "",
        rounds=p["rounds"],
        fewer="" if fewer >= runs else
        " The thread libraries on CPython are slow and got {} runs instead of {}.".format(
            fewer, runs),
        n=p["commstime"]["n"], runs=runs, selects=p["stressed_alt"]["selects"],
        repeats=p["queues"]["runs"], messages=p["waiting_queue"]["n"],
        gains=_gains(report), commstime=_commstime(report), stressed=_stressed(report),
        queues=_queues(report), waiting=_waiting(report))


PAGE = """# Results

`make report` wrote this page, its plots and `report.json`, which has every figure, on {date}.

- Machine: {cpu}, {processors} processors, {memory} MB; {system} {kernel}, {architecture}
- {micropython} (Unix port, heap 2 MB, for the queues 16 MB); CPython {cpython}
- Commit {commit}{changed}

Every row was measured by interpreters of its own, its runs spread over {rounds} round(s) that each
went through all rows.{fewer} Rows named thesis-... are the thesis's own designs, rebuilt from
their description in `benchmarks/thesis`; on CPython the asyncio one waits on CPython's futures.
"One processor" means bound to one with `taskset`, as on a board; asyncio uses one in any case.

{gains}
## CommsTime

us per communication (the time of a cycle / 4); {n} messages, {runs} runs; bytes are those
allocated per communication. Delta: one output after the other (seq), both posted as guards (par),
two writer processes for each message (par-proc). The thesis's designs know no guards in
`Parallel`: their par is par-proc.

![bars of CommsTime](commstime.png)

{commstime}
## Stressed alternatives

us per select, medians; channels x writers for each channel; {selects} selects, {runs} runs.

![bars of the stressed alternatives](stressed_alt.png)

{stressed}
## Queues

us for N elements, medians of {repeats} repeats. Filter goes through the queue and takes one
element out, as the thesis's designs do whenever an alternative withdraws an offer. The channels
here (cspcore) never filter: withdraw is N withdrawals, one after the other.

![time over N for the queues](queues.png)

{queues}
## Waiting queue

Total ms for {messages} messages between two successors while others wait; medians of {runs} runs.

![time over waiters](waiting_queue.png)

{waiting}"""
