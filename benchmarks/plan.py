"""What `main.py` is to run, made out of its arguments and config.py; forgotten once it is made."""

import config
from benchmarks import keys, libs
from benchmarks.keys import RUNS, WITHOUT_LIBRARY, Usage


def _libraries(run, given):
    text = given.get("lib")
    if text is None and run not in RUNS and config.ON_PC:
        text = "all"
    if text == "all":
        return libs.ALL
    chosen = keys.among("lib", config.LIB if text is None else text, libs.ALL)
    baselines = given.get("baselines", keys.of(run)["baselines"])
    if text is None and keys.value_of("baselines", baselines):
        for lib in chosen[:]:
            chosen.extend(libs.BASELINES.get(lib, ()))
    return [lib for lib in libs.ALL if lib in chosen]


def parse(arguments):
    """The run and the texts of the keys that the arguments give; raises Usage."""
    keys.check()
    run = config.RUN
    if arguments and "=" not in arguments[0]:
        run = arguments[0]
        arguments = arguments[1:]
    if run not in RUNS + ("quick", "all"):
        raise Usage("no run {!r}".format(run))
    found = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or key not in keys.of(run):
            raise Usage("{} takes no {!r}; its keys are: {}".format(
                run, key, " ".join(sorted(keys.of(run)))))
        found[key] = text
    return run, found


def make(run, given):
    """The benchmarks to run, each as (name, libraries, values): first all those of coroutines."""
    names = (run,)
    if run not in RUNS:
        # Where all run in one interpreter, hundreds of processes come last.
        names = ("commstime", "queues", "waiting_queue", "stressed_alt")
    values = {}
    for name in names:
        sizes = config.QUICK.get(name, {}) if run == "quick" else keys.sizes(name)
        values[name] = keys.values(name, sizes, given)
    found = []
    for name in names:
        if name in WITHOUT_LIBRARY:
            found.append((name, (), values[name]))
    if run not in WITHOUT_LIBRARY:
        for family in libs.families(_libraries(run, given)):
            for name in names:
                if name not in WITHOUT_LIBRARY:
                    found.append((name, family, values[name]))
    return found


def usage():
    """The lines that say what there is to run."""
    lines = ["runs: {} quick all".format(" ".join(RUNS)), "usage: main.py [run] [key=value ...]"]
    for name in RUNS:
        try:
            keys.check()
            values = sorted(keys.of(name).items())
        except Usage:  # what is to be told is that, or another is to be told first
            continue
        lines.append("  {}: {}".format(name, " ".join(["{}={}".format(k, v) for k, v in values])))
    return lines


def wants_wifi():
    return keys.section().get("wifi", False)
