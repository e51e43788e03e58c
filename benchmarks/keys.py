"""The keys of the command line: which there are, and what their values may be."""

import gc

import config

RUNS = ("commstime", "stressed_alt", "queues", "waiting_queue", "spawn", "workers", "matmul",
        "prodcons", "latency", "memory", "bridge")
WITHOUT_LIBRARY = ("queues", "bridge")  # which measure no library that could be chosen

# What a key's value is a list of; a key that is not here takes one number.
_CHOICES = {
    "delta": ("seq", "par", "par-proc"),
    "queue": ("deque", "list", "cspcore"),
    "future": ("rescheduling", "yielding"),
    "api": ("plain", "aio"),
    "work": ("none", "sqrt", "fib", "recursive", "blocks"),
    "emitter": ("bytecode", "native", "viper"),
    "element": ("int", "float"),
    "shape": ("1-1", "1-n", "n-1", "n-n"),
    "what": ("sleep", "timer", "stream", "idle"),
    "way": ("to-task", "to-thread", "interrupt"),
}
_FORMS = {
    "stressed_alt": ("with", "select", "fair", "most"),
    "spawn": ("parallel", "spawn"),
    "prodcons": ("rendezvous", "buffered"),
    "bridge": ("rendezvous", "buffered", "flag", "queue"),
}
# What config.SIZES has to say for each run.
_NEEDED = {
    "commstime": "delta n idle runs",
    "stressed_alt": "channels writers form selects at_most threads runs",
    "queues": "queue sizes offers runs",
    "waiting_queue": "future waiters n runs",
    "spawn": "form at_once n runs",
    "workers": "work n emitter workers runs",
    "matmul": "size element workers runs",
    "prodcons": "form shape others capacity n runs",
    "latency": "what ms idle_ms n runs",
    "memory": "n threads messages runs",
    "bridge": "way form capacity n runs",
}
_NUMBERS = ("channels", "writers", "sizes", "waiters", "at_once", "workers")
_YES_NO = ("samples", "bytes", "baselines")
_OF_ALL = ("api", "baselines", "bytes", "samples", "stack", "thesis_queue")


class Usage(Exception):
    """What was asked for does not exist."""


def _number(key, text, least=1):
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < least:
        raise Usage("{} takes whole numbers from {}, not {!r}".format(key, least, text))
    return value


def _numbers(key, text):
    found = []
    for part in text.split(","):
        ends = part.split("-")
        if len(ends) == 2:
            first, last = _number(key, ends[0]), _number(key, ends[1])
            if first > last:
                raise Usage("{} takes a range upwards, not {!r}".format(key, part))
            found.extend(range(first, last + 1))
        else:
            found.append(_number(key, part))
    return found


def among(key, text, choices):
    """The list of names that a text has, each one of the choices."""
    found = str(text).split(",")
    for name in found:
        if name not in choices:
            raise Usage("no {} {!r}; there are: {}".format(key, name, " ".join(choices)))
    return found


def _one(key, text, choices):
    found = among(key, text, choices)
    if len(found) != 1:
        raise Usage("{} takes {}, not {!r}".format(key, " or ".join(choices), text))
    return found[0]


def value_of(key, text, run=None):
    """What a key's text means, in a run; raises Usage."""
    if key == "form":
        return among(key, text, _FORMS[run])
    if key in _CHOICES:
        return among(key, text, _CHOICES[key])
    if key in _NUMBERS or (run, key) == ("workers", "n"):
        return _numbers(key, text)
    if key in _YES_NO:
        return _one(key, text, ("yes", "no")) == "yes"
    if key in ("idle", "stack"):
        return _number(key, text, 0)
    if key == "at_most" or (run, key) == ("stressed_alt", "threads"):
        return _number(key, text, 2)
    if key == "thesis_queue":
        return _one(key, text, ("list", "deque"))
    return _number(key, text)


def _check_sizes(where, runs):
    if not isinstance(runs, dict):
        raise Usage("config.{} is no dict: {!r}".format(where, runs))
    for run in runs:
        if run not in RUNS:
            raise Usage("config.{} has {!r}; there are: {}".format(where, run, " ".join(RUNS)))
        if not isinstance(runs[run], dict):
            raise Usage("config.{} of {} is no dict: {!r}".format(where, run, runs[run]))
        takes = _NEEDED[run].split()
        for key in runs[run]:
            if key not in takes and key not in _OF_ALL:
                raise Usage("config.{} of {} has {!r}; its keys are: {}".format(
                    where, run, key, " ".join(sorted(takes))))


def check():
    """Raises Usage for what config.py lacks, and for what stands there but has no meaning."""
    for name in ("LIB", "RUN", "ON_PC", "BOARD", "STACK", "BASELINES", "THESIS_QUEUE", "SIZES",
                 "QUICK", "BOARDS"):
        if not hasattr(config, name):
            raise Usage("config has no {}".format(name))
    _check_sizes("SIZES", config.SIZES)
    _check_sizes("QUICK", config.QUICK)
    if not isinstance(config.BOARDS, dict):
        raise Usage("config.BOARDS is no dict: {!r}".format(config.BOARDS))
    for name in config.BOARDS:
        where = "BOARDS[{!r}]".format(name)
        if not isinstance(config.BOARDS[name], dict):
            raise Usage("config.{} is no dict: {!r}".format(where, config.BOARDS[name]))
        sizes = dict(config.BOARDS[name])
        for key in ("stack", "wifi"):
            sizes.pop(key, None)
        _check_sizes(where, sizes)
    if config.BOARD is not None and not isinstance(config.BOARD, str):
        raise Usage("config.BOARD is neither None nor a name: {!r}".format(config.BOARD))


def section():
    """What config.BOARDS says of this board, nothing on a PC; raises Usage."""
    if config.ON_PC:
        return {}
    name = config.BOARD
    if name is None:
        size = gc.mem_alloc() + gc.mem_free() if hasattr(gc, "mem_alloc") else 0
        name = "esp32-spiram" if size > 1000000 else "esp32"
    if name not in config.BOARDS:
        raise Usage("no BOARD {!r}; there are: {}".format(name, " ".join(sorted(config.BOARDS))))
    return config.BOARDS[name]


def sizes(run):
    """The sizes of a run on this machine, in full; raises Usage."""
    found = dict(config.SIZES.get(run, {}))
    found.update(section().get(run, {}))
    for key in _NEEDED[run].split():
        if key not in found:
            raise Usage("config.SIZES has no {!r} of {}".format(key, run))
    return found


def of(run):
    """The keys that a run takes, with their values if none are given; raises Usage."""
    found = {"samples": "no", "bytes": "yes"}
    if run not in WITHOUT_LIBRARY:
        found["lib"] = config.LIB if run in RUNS else "all"
        found["api"] = "plain,aio"
        found["baselines"] = config.BASELINES
        if config.BASELINES in (True, False, None):
            found["baselines"] = "yes" if config.BASELINES else "no"
        found["thesis_queue"] = config.THESIS_QUEUE
        found["stack"] = config.STACK
        if config.STACK is None:
            found["stack"] = section().get("stack", 0)
    if run in RUNS:
        found.update(sizes(run))
    return found


def of_each_work(texts, given, found):
    """The numbers of messages, one for each of found["work"]; raises Usage.

    Those given, of which one is for all of them, else those beside the names in texts, as
    config.SIZES.
    """
    if "n" in given:
        numbers = found["n"]
        if len(numbers) == 1:
            numbers *= len(found["work"])
    else:
        beside = dict(zip(texts["work"].split(","), found["n"]))
        numbers = [beside[name] for name in found["work"] if name in beside]
    if len(numbers) != len(found["work"]):
        raise Usage("n takes one number, or as many as work takes names")
    return numbers


def values(name, sizes, given):
    """The value of each of a benchmark's keys but lib, checked."""
    texts = of(name)
    texts.update(sizes)
    found = {}
    for key in texts:
        if key != "lib":
            found[key] = value_of(key, str(given.get(key, texts[key])), name)
    if "channels" in found and len(found["channels"]) != len(found["writers"]):
        raise Usage("channels and writers take equally many numbers")
    if "work" in found:
        found["n"] = of_each_work(texts, given, found)
    return found
