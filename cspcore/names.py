"""Words of reports: who waits for what. And the ends among a process's arguments."""

from cspcore.channel import READ
from cspcore.choice import End, title


def name_of(f):
    """The name of a process function or coroutine."""
    name = getattr(f, "__name__", None)
    if name is None:
        words = str(f).split("'")  # MicroPython: <generator object 'name' at 7f..>
        name = words[1] if len(words) > 2 else "a process"
    return name


def wish(offer):
    """What an offer waits for: `reads c`."""
    return ("reads " if offer.op == READ else "writes ") + title(offer.channel)


def report(waits):
    """The text of a DeadlockError for a list of (process, its offers)."""
    parts = [p.name + " " + " or ".join([wish(o) for o in offers]) for p, offers in waits]
    n = len(parts)
    return "%d %s: %s" % (n, "process waits" if n == 1 else "processes wait", ", ".join(parts))


def ends_in(args):
    """The channel ends among arguments, in lists and tuples too."""
    for a in args:
        if isinstance(a, End):
            yield a
        elif isinstance(a, (list, tuple)):
            for e in ends_in(a):
                yield e


def is_operation(x):
    """Whether x is an un-awaited cin() or cout(v): a generator of csp_read or csp_write."""
    code = getattr(x, "gi_code", None)
    name = str(x) if code is None and hasattr(x, "throw") else getattr(code, "co_name", "")
    return "csp_read" in name or "csp_write" in name
