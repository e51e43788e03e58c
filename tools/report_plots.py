"""The plots of a report, as PNG files."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import report_page  # noqa: E402
from report_page import pick  # noqa: E402

_COLOURS = {
    "thesis-uapycsp-rescheduling": "#9ecae1",
    "thesis-uapycsp-yielding": "#c6dbef",
    "uapycsp": "#08519c",
    "thesis-upycsp": "#fdae6b",
    "upycsp": "#a63603",
    "floor": "#cccccc",
    "asyncio-switch": "#bbbbbb",
    "lock-handoff": "#999999",
    "lock-ring": "#777777",
}


def _groups(rows, wanted):
    # Rows by (library, port, processors), and their median under each variant.
    found = {}
    for row in rows:
        if row["result"].get("api") == "aio" or row["result"]["variant"] not in wanted:
            continue
        key = report_page.name_of(row)
        found.setdefault(key, {})[row["result"]["variant"]] = row
    return found


def _order(key):
    libs = list(_COLOURS)
    return key[1] != "MicroPython", key[2] == "one processor", libs.index(key[0])


def _bars(axes, rows, variants, hatches):
    """Horizontal bars: a group a library, a bar a variant, thin lines from min to max."""
    groups = _groups(rows, variants)
    keys = sorted(groups, key=_order, reverse=True)
    height = 0.8 / len(variants)
    longest = 0
    for at, key in enumerate(keys):
        for i, variant in enumerate(variants):
            row = groups[key].get(variant)
            if row is None or (variant == "par" and key[0].startswith("thesis")):
                continue        # the thesis's designs know one parallel delta only
            us = row["us_median"]
            r = row["result"]
            y = at + 0.4 - (i + 0.5) * height
            axes.barh(y, us, height * 0.92, color=_COLOURS[key[0]], hatch=hatches[i],
                      edgecolor="white", linewidth=0.5)
            high = min(r["us_max"], us * 1.5)
            axes.plot([r["us_min"], high], [y, y], color="black", linewidth=0.7)
            axes.text(high, y, " " + report_page.figure(us), va="center", fontsize=7)
            longest = max(longest, high)
    axes.set_yticks(range(len(keys)))
    labels = []
    for lib, port, cpus in keys:
        threads = _has_threads(lib)
        labels.append("{}\n{}{}".format(lib, port, ", " + cpus if threads else ""))
    axes.set_yticklabels(labels, fontsize=8)
    axes.set_ylim(-0.6, len(keys) - 0.4)
    axes.grid(axis="x", linewidth=0.3)
    axes.set_axisbelow(True)
    return longest


def _legend(figure, variants, hatches):
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor="#888888", hatch=h, edgecolor="white")
               for h in hatches]
    figure.legend(handles, variants, fontsize=9, loc="upper center", ncol=len(variants),
                  bbox_to_anchor=(0.5, 0))


def _has_threads(lib):
    return "upycsp" in lib.split("-") or lib.startswith("lock-")


def _relevant(rows):
    # Asyncio uses one processor in any case, so its bound rows would only be repeated.
    return [row for row in rows if row["cpus"] > 1 or _has_threads(row["result"]["lib"])]


def commstime(report, path):
    rows = _relevant(pick(report, "commstime"))
    variants = ("seq", "par", "par-proc")
    hatches = ("", "///", "...")
    figure, axes = plt.subplots(figsize=(9, 9))
    longest = _bars(axes, rows, variants, hatches)
    axes.set_xlim(0, longest * 1.15)
    axes.set_xlabel("µs per communication: median; line from min to max, cut at 1.5 medians")
    axes.set_title("CommsTime, {} messages".format(report["parameters"]["commstime"]["n"]))
    _legend(figure, ("sequential delta", "parallel delta: two guards",
                     "parallel delta: two writer processes"), hatches)
    _save(figure, path)


def stressed_alt(report, path):
    rows = _relevant(pick(report, "stressed_alt"))
    hatches = ("", "///")
    figure, both = plt.subplots(1, 2, figsize=(12, 8), sharey=True)
    for axes, shape in zip(both, ("5x2", "100x5")):
        variants = (shape + "-with", shape + "-select")
        longest = _bars(axes, rows, variants, hatches)
        axes.set_xlim(0, longest * 1.2)
        axes.set_xlabel("µs per select: median; line from min to max, cut at 1.5 medians")
        axes.set_title("{} channels x {} writers".format(*shape.split("x")))
    _legend(figure, ("with alt", "alt.select()"), hatches)
    figure.suptitle("Stressed alternatives")
    _save(figure, path)


def queues(report, path):
    figure, both = plt.subplots(1, 2, figsize=(12, 5.5), sharey=True)
    styles = {"append": ":", "popleft": "-", "filter": "--", "withdraw": "-."}
    colours = {"deque": "#2ca02c", "list": "#d62728", "cspcore": "#1f77b4"}
    for axes, port in zip(both, ("unix", "cpython")):
        lines = {}
        for row in pick(report, "queues", port=port):
            r = row["result"]
            lines.setdefault((r["lib"], r["variant"]), []).append(
                (r["size"], row["us_median"] * r["size"]))
        for (queue, variant), points in sorted(lines.items()):
            points.sort()
            axes.loglog([p[0] for p in points], [p[1] for p in points], styles[variant],
                        color=colours[queue], marker=".", label="{} {}".format(queue, variant))
        axes.set_title(report_page.PORTS[port])
        axes.set_xlabel("elements N")
        axes.grid(True, which="both", linewidth=0.3)
        sizes = sorted({p[0] for points in lines.values() for p in points})
        axes.set_xticks(sizes)
        axes.set_xticklabels([str(s) for s in sizes])
        axes.minorticks_off()
    both[0].set_ylabel("µs for N elements (median)")
    both[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.suptitle("Queues")
    _save(figure, path)


def waiting_queue(report, path):
    figure, both = plt.subplots(1, 2, figsize=(12, 5.5))
    n = report["parameters"]["waiting_queue"]["n"]
    styles = {"rescheduling": "-", "yielding": "--", "channel": ":"}
    for axes, port in zip(both, ("unix", "cpython")):
        lines = {}
        for row in pick(report, "waiting_queue", port=port):
            r = row["result"]
            if r.get("api") != "aio":
                lines.setdefault((r["lib"], r["variant"]), []).append(
                    (r["waiters"], row["us_median"] * n / 1000))
        for lib, colour in _COLOURS.items():
            for variant, style in styles.items():
                points = sorted(lines.get((lib, variant), ()))
                if points:
                    label = lib if lib.endswith(variant) else "{}, {}".format(lib, variant)
                    axes.plot([p[0] for p in points], [p[1] for p in points], style,
                              color=colour, marker=".", label=label)
        axes.set_title(report_page.PORTS[port])
        axes.set_xlabel("processes that wait")
        axes.set_ylabel("total ms for {} messages (median)".format(n))
        axes.set_ylim(bottom=0)
        axes.grid(True, linewidth=0.3)
    both[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.suptitle("Waiting queue: two successors pass messages while others wait on futures "
                    "or channels")
    _save(figure, path)


_VARIANTS = {"commstime": ("seq", "par", "par-proc"),
             "stressed_alt": ("5x2-with", "5x2-select", "5x2-fair")}


def _beside_bars(both, bench, sides):
    wanted = _VARIANTS[bench]
    variants = [v for v in wanted if any(row["result"]["variant"] == v for row in sides[0][1])]
    hatches = ["", "///", "..."][:len(variants)]
    for axes, (title, rows) in zip(both, sides):
        longest = _bars(axes, rows, variants, hatches) if variants else 0
        axes.set_xlim(0, longest * 1.2 or 1)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("µs: median; line from min to max, cut at 1.5 medians")
    if variants:
        _legend(both[0].figure, variants, hatches)


def _beside_lines(both, bench, sides):
    of = "size" if bench == "queues" else "waiters"
    for axes, (title, rows) in zip(both, sides):
        lines = {}
        for row in rows:
            r = row["result"]
            if r.get("api") != "aio":
                lines.setdefault("{} {}".format(r["lib"], r["variant"]), []).append(
                    (r[of], row["us_median"]))
        for name, points in sorted(lines.items()):
            points.sort()
            axes.plot([p[0] for p in points], [p[1] for p in points], marker=".", label=name)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("elements" if of == "size" else "processes that wait")
        axes.set_ylabel("µs per {} (median)".format(
            "element" if of == "size" else "communication"))
        axes.set_ylim(bottom=0)
        axes.grid(True, linewidth=0.3)
        if lines:
            axes.legend(fontsize=8)


def beside(bench, one, other, path):
    """One benchmark on two machines, each (title, rows), side by side with axes of their own."""
    figure, both = plt.subplots(1, 2, figsize=(12, 5))
    draws = _beside_bars if bench in _VARIANTS else _beside_lines
    draws(both, bench, (one, other))
    figure.suptitle(bench)
    _save(figure, path)


def _save(figure, path):
    figure.tight_layout()
    figure.savefig(str(path), dpi=110, bbox_inches="tight")
    plt.close(figure)


def draw(report, out):
    """Writes the plots into the folder `out`; their paths."""
    paths = []
    for name, plot in (("commstime", commstime), ("stressed_alt", stressed_alt),
                       ("queues", queues), ("waiting_queue", waiting_queue)):
        path = out / (name + ".png")
        plot(report, path)
        paths.append(path)
    return paths
