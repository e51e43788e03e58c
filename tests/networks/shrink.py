"""Makes a failing network smaller than hypothesis does, which can't leave out what it has drawn.

`reduced(network, fails)` leaves out members, operations and guards, one after another, as long as
`fails` says of the rest that it does fail; then what nobody uses, and numbers the others anew.
"""

import copy

MOST = 400  # attempts


def reduced(network, fails):
    """A smaller network that fails, or the same."""
    left = MOST
    found = True
    while found and left > 0:
        found = False
        for smaller in _smaller(network):
            if not all(_ends(process["ops"]) for process in smaller["defs"]):
                continue
            left -= 1
            smaller = compact(smaller)
            if fails(smaller):
                network = smaller
                found = True
                break
            if left <= 0:
                break
    return network


def _smaller(network):
    # Copies of a network, in each of which one thing is left out.
    for path in _lists(network):
        n = len(_at(network, path))
        least = 1 if path == ("members",) or path[-1] == "members" else 0
        for i in range(n):
            if n > least:
                less = copy.deepcopy(network)
                del _at(less, path)[i]
                yield less
        if path[-1] == "ops":
            for i, op in enumerate(_at(network, path)):
                for instead in _simpler(op):
                    less = copy.deepcopy(network)
                    _at(less, path)[i : i + 1] = copy.deepcopy(instead)
                    yield less


def _ends(ops):
    # Whether each loop without a count waits for a message.
    for op in ops:
        if op[0] == "loop" and op[1] is None and not any(_reads(x) for x in op[2]):
            return False
        if op[0] in _OPS and not _ends(op[_OPS[op[0]]]):
            return False
    return True


def _reads(op):
    if op[0] == "s":
        return all(g[0] == "r" for g in op[-1])
    return op[0] == "r" or op[0] == "P" and any(m[0] == "r" for m in op[1])


def _simpler(op):
    kind = op[0]
    if kind == "loop":
        yield op[2]
        if op[1] is not None and op[1] > 1:
            yield [["loop", 1, op[2]]]
            yield [["loop", op[1] - 1, op[2]]]
    elif kind == "try":
        yield op[1]
    elif kind == "limit":
        yield [op[2]]
    elif kind in ("s", "P"):
        members = op[-1]
        if len(members) > 1:
            for i in range(len(members)):
                yield [op[:-1] + [members[:i] + members[i + 1 :]]]
        elif members[0][0] in "rw":
            yield [members[0][:2]]
    elif kind == "run":
        for i in range(len(op[2])):
            if len(op[2]) > 1:
                yield [["run", op[1], op[2][:i] + op[2][i + 1 :]]]


# A path is a tuple of keys and indices; those of operations end in "ops", which stands for the
# place that an operation of that kind has them at.
_OPS = {"loop": 2, "try": 1, "spawn": 2, "task": 2, "for": 3}


def _at(network, path):
    x = network
    for key in path:
        x = x[_OPS[x[0]]] if key == "ops" and isinstance(x, list) else x[key]
    return x


def _lists(network):
    yield ("members",)
    for i, member in enumerate(network["members"]):
        if member[0] != "p":
            yield "members", i, 1
    for d, process in enumerate(network["defs"]):
        yield "defs", d, "hold"
        yield from _ops(process["ops"], ("defs", d, "ops"))


def _ops(ops, path):
    yield path
    for i, op in enumerate(ops):
        if op[0] in _OPS:
            yield from _ops(op[_OPS[op[0]]], path + (i, "ops"))


def compact(network):
    """The network without processes and channels that nobody uses, and empty members."""
    network = copy.deepcopy(network)
    network["members"] = _kept(network["members"])
    used = set()
    todo = _run_by(network["members"])
    while todo:
        d = todo.pop()
        if d not in used:
            used.add(d)
            todo += _started(network["defs"][d]["ops"])
    numbers = {d: i for i, d in enumerate(sorted(used))}
    channels = set()
    for d in used:
        _channels(network["defs"][d]["ops"], channels.add)
        channels.update(c for _, c in network["defs"][d]["hold"])
    places = {c: i for i, c in enumerate(sorted(channels))}
    network["channels"] = [network["channels"][c] for c in sorted(channels)]
    network["defs"] = [network["defs"][d] for d in sorted(used)]
    for process in network["defs"]:
        process["hold"] = [[k, places[c]] for k, c in process["hold"]]
        process["ops"] = _renumbered(process["ops"], numbers, places)
    network["members"] = _members(network["members"], numbers)
    return network


def _kept(members):
    kept = [m if m[0] == "p" else [m[0], _kept(m[1])] for m in members]
    return [m for m in kept if m[0] == "p" or m[1]]


def _run_by(members):
    found = []
    for kind, what in members:
        found += [what] if kind == "p" else _run_by(what)
    return found


def _started(ops):
    found = []
    for op in ops:
        if op[0] in ("spawn", "task"):
            found.append(op[1])
        elif op[0] == "run":
            found += _run_by(op[2])
        if op[0] in _OPS:
            found += _started(op[_OPS[op[0]]])
    return found


def _channels(ops, see):
    for op in ops:
        if op[0] in ("r", "w", "for", "poison"):
            see(op[1])
        elif op[0] == "limit":
            _channels([op[2]], see)
        elif op[0] in ("s", "P"):
            _channels(op[-1], see)
        if op[0] in _OPS:
            _channels(op[_OPS[op[0]]], see)


def _members(members, numbers):
    return [[k, numbers[m] if k == "p" else _members(m, numbers)] for k, m in members]


def _renumbered(ops, numbers, places):
    done = []
    for op in copy.deepcopy(ops):
        if op[0] in ("r", "w", "for", "poison"):
            op[1] = places[op[1]]
        elif op[0] == "limit":
            op[2] = _renumbered([op[2]], numbers, places)[0]
        elif op[0] in ("s", "P"):
            op[-1] = _renumbered(op[-1], numbers, places)
        elif op[0] in ("spawn", "task"):
            op[1] = numbers[op[1]]
        elif op[0] == "run":
            op[2] = _members(op[2], numbers)
        if op[0] in _OPS:
            op[_OPS[op[0]]] = _renumbered(op[_OPS[op[0]]], numbers, places)
        done.append(op)
    return done
