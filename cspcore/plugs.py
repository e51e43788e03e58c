"""Where the processes of plugnplay stand that are loaded when they are first used.

A group of them is a module with `build(csp)`: its processes as a dict by name, made with the
process, Alternative, Parallel and Timer of a library whose operations are awaited.
"""

_EAGER = "Identity Prefix SeqDelta2 ParDelta2 Delta2 Successor Mux2 poison_chans"
_GROUPS = (
    (
        "cspcore.plugs_numbers",
        "Plus Minus Times Integrate Pairs Numbers Squares Generate GenerateInts",
    ),
    ("cspcore.plugs_streams", "Tail Filter Map Fold Split Sign"),
    ("cspcore.plugs_ends", "Printer BlackHole Collect SkipProcess"),
    ("cspcore.plugs_wide", "Delta Paraplex Multiplex Demultiplex Merge"),
    ("cspcore.plugs_timed", "FixedDelay Regulate Sampler"),
)


def every():
    """All names of plugnplay."""
    return _EAGER.split() + lazy()


def lazy():
    """Those that are loaded when they are first used."""
    return " ".join([made for _, made in _GROUPS]).split()


def find(name, names, csp):
    """A name that a module plugnplay lacks: loads its group into names, the module's globals.

    csp: the name of the module whose process, Alternative, Parallel and Timer the group takes.
    "*" loads all groups. Raises AttributeError if there is no such name.
    """
    if name == "*":
        for name in lazy():
            if name not in names:
                find(name, names, csp)
        return None
    if name == "__all__":  # `import *` asks for it, where a module's __getattr__ is known
        return every()
    if name in names:  # another thread has just loaded it
        return names[name]
    for module, made in _GROUPS:
        if name in made.split():
            group = _import(module).build(_import(csp))
            for other in group:
                if other not in names:  # plain upycsp has one of them of its own
                    names[other] = group[other]
            return names[name]
    raise AttributeError(name)


def _import(module):
    return __import__(module, None, None, ("*",))
