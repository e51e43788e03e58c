"""Words of reports: who waits for what."""

from cspcore.choice import title

UNTOLD = "all processes wait; no memory or no name to tell where"


def wish(offer):
    """What an offer waits for: `reads c`, or what its channel calls that."""
    ch = offer.channel
    words = ("reads ", "writes ", "an unnamed channel")
    if hasattr(ch, "words"):  # getattr with a default fails on 1.11, if a class has __getattr__
        words = ch.words
    return words[offer.op] + title(ch, words[2])


def report(waits):
    """The text of a DeadlockError for a list of (process, its offers)."""
    parts = [p.name + " " + " or ".join([wish(o) for o in offers]) for p, offers in waits]
    n = len(parts)
    return "%d %s: %s" % (n, "process waits" if n == 1 else "processes wait", ", ".join(parts))


def is_operation(x, prefix="'csp_"):
    """Whether x is an un-awaited cin() or cout(v): a generator of csp_read or csp_write.

    Those of a bridge's ends for tasks begin with "'bridge_".
    """
    name = _name_of(x)
    return prefix + "read'" in name or prefix + "write'" in name


def is_read(x):
    """Whether an operation is a read."""
    return "_read'" in _name_of(x)


def _name_of(x):
    # A text with the name of a generator in quotes, which MicroPython's own has; that of CPython's
    # coroutines, which are none of ours, has not.
    if hasattr(x, "gi_code"):
        return "'" + x.gi_code.co_name + "'"
    return str(x) if hasattr(x, "throw") else ""
