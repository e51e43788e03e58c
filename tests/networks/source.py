"""The program of a network: from its description to text that runs by itself.

What fails is what is printed: every network is run from this text, which uses the public API
alone, in the syntax of MicroPython 1.11 and later. A description is made of lists and numbers:

    {"channels": [capacity, ...],      None: unlimited, "plain": a Channel, [overflow, capacity]
     "defs": [{"ops": [...], "propagate": bool, "pass": 0..2, "hold": [["r", c], ...]}, ...],
     "members": [member, ...]}         what `run` is given

    member  ["p", def]  ["par", [member, ...]]  ["seq", [member, ...]]
    op      ["r", c]  ["w", c]         read, write
            ["s", fair, form, guards]  an alternative; form: select (0) or `with` (1)
            ["P", members]             a Parallel of guards (form 0) and operations (form 1)
            ["for", c, most, ops]      for v in cin, at most so many values, None: all
            ["loop", n, ops]           n times, None: for ever
            ["try", ops]               goes on after poison
            ["limit", ms, op]          a time limit: wait_for_ms, or a Timer where there is none
            ["poison", c, how]         how: "ch", "r", "w" or "close"
            ["raise", kind]            kind: "boom" or "poison"
            ["run", how, members]      how: "par", "seq" or "one"
            ["spawn", def, ops, then]  ops beside it; then: "join", "cancel" or "leave"
            ["task", def, ops]         the same in an asyncio task, which is cancelled
            ["spin", n]                a calculation
    guard   ["r", c]  ["w", c]  ["t", ms]  ["k"]      k: Skip

`upycsp` has no cancellation: there what is spawned is always joined, and tasks are, too.
"""

_PRELUDE = '''\
import _thread
import json
{imports}

lock = _thread.allocate_lock()
logs = []  # of each process: which one it is, and what it did{orders}


class Boom(Exception):
    pass


class Me:
    def __init__(self, d):
        self.log = []
        self.n = 0
        with lock:
            self.id = len(logs)
            logs.append((d, self.log))

    def value(self):
        self.n += 1
        return self.id * 1000 + self.n

    def note(self, *event):
        self.log.append(event){order}


def which(guards, g):
    for i in range(len(guards)):
        if guards[i] is g:
            return i


def spin(n):
    for _ in range(n):
        pass
'''

_LAST = '''\
def state(ch):
    try:
        ch.verify()
    except AssertionError as er:
        return str(er)


@csp.process
{d} drain():
    found = []
    for ch in chans:
        alt = csp.Alternative(ch.read, csp.Skip())
        values = []
        while True:
            try:
                g, v = {a}alt.select()
            except csp.PoisonException:
                break
            if g is not ch.read:
                break
            values.append(v)
        found.append(values)
    return found


def main():
    try:
        outcome = ("returned", csp.run({members}))
    except BaseException as er:
        outcome = ("raised", type(er).__name__, str(er))
    result = {{"outcome": outcome, "logs": logs}}
{order}    result["before"] = [(ch.queue_len(), state(ch)) for ch in chans]
    result["drained"] = csp.run(drain())
    result["after"] = [(ch.queue_len(), state(ch), ch.poisoned) for ch in chans]
    print("LOG " + json.dumps(result))


main()
'''


def ends_of(process):
    """The channel ends among the arguments of a process, as a sorted list of (kind, channel)."""
    ends = {tuple(e) for e in process["hold"]}
    _collect(process["ops"], ends)
    return sorted(ends)


def _collect(ops, ends):
    for op in ops:
        kind = op[0]
        if kind in ("r", "w"):
            ends.add((kind, op[1]))
        elif kind == "for":
            ends.add(("r", op[1]))
            _collect(op[3], ends)
        elif kind in ("loop", "spawn", "task"):
            _collect(op[2], ends)
        elif kind == "try":
            _collect(op[1], ends)
        elif kind == "limit":
            _collect([op[2]], ends)
        elif kind in ("s", "P"):
            _collect(op[3] if kind == "s" else op[1], ends)


class _Writer:
    def __init__(self, network, library):
        self.network = network
        self.tasks = library == "uapycsp"
        self.plain = library == "upycsp"
        self.d = "def" if self.plain else "async def"
        self.a = "" if self.plain else "await "
        self.i = "" if self.plain else "async "
        self.library = library
        self.lines = []
        self.depth = 0
        self.names = 0
        self.bodies = set()  # defs that also run as tasks

    def put(self, line):
        self.lines.append("    " * self.depth + line)

    def name(self, letter):
        self.names += 1
        return letter + str(self.names)

    # Members

    def member(self, m):
        kind, what = m
        if kind == "p":
            return self.call("p", what)
        words = ", ".join(self.member(x) for x in what)
        return "csp.{}({})".format("Parallel" if kind == "par" else "Sequence", words)

    def call(self, letter, d):
        process = self.network["defs"][d]
        ends = ends_of(process)
        words = ["c{}.{}".format(c, "read" if k == "r" else "write") for k, c in ends]
        if process["pass"] == 1:
            words = ["{}{}={}".format(k, c, w) for (k, c), w in zip(ends, words)]
        elif process["pass"] == 2:
            words = ["[" + ", ".join(words) + "]"]
        return "{}{}({})".format(letter, d, ", ".join(words))

    def awaited(self, how, members):
        words = [self.member(m) for m in members]
        if how == "one":
            words = words[0]
        else:
            name = "Parallel" if how == "par" else "Sequence"
            words = "csp.{}({})".format(name, ", ".join(words))
        return words + ".run().retval" if self.plain else "await " + words

    # Processes

    def process(self, d, letter="p"):
        process = self.network["defs"][d]
        ends = ["{}{}".format(k, c) for k, c in ends_of(process)]
        if letter == "p":
            self.put("@csp.process" + ("" if process["propagate"] else "(propagate=False)"))
        if process["pass"] == 2:
            self.put("{} {}{}(ends):".format(self.d, letter, d))
        else:
            self.put("{} {}{}({}):".format(self.d, letter, d, ", ".join(ends)))
        self.depth += 1
        if process["pass"] == 2 and ends:
            self.put(", ".join(ends) + ("," if len(ends) == 1 else "") + " = ends")
        self.put("me = Me({})".format(d if letter == "p" else [d]))
        self.put("try:")
        self.depth += 1
        self.hoisted = len(self.lines)
        self.ops(process["ops"])
        self.depth -= 1
        self.put("except BaseException as er:")
        self.put('    me.note("died", type(er).__name__, str(er))')
        self.put("    raise")
        self.put('me.note("end")')
        self.put("return me.id")
        self.depth -= 1
        self.put("")
        self.put("")

    def ops(self, ops):
        if not ops:
            self.put("pass")
        for op in ops:
            getattr(self, "op_" + op[0])(*op[1:])

    def block(self, ops):
        self.depth += 1
        self.ops(ops)
        self.depth -= 1

    # Operations: what begins is noted, and how it ended

    def op_r(self, c):
        self.put('me.note("r", {})'.format(c))
        self.put('me.note("+", {}r{}())'.format(self.a, c))

    def op_w(self, c):
        self.put("v = me.value()")
        self.put('me.note("w", {}, v)'.format(c))
        self.put('me.note("+", {}w{}(v))'.format(self.a, c))

    def guards(self, guards):
        # (the guards' source, what is noted of them); values are made on the way.
        words = []
        notes = []
        for g in guards:
            if g[0] == "r":
                words.append("r{}".format(g[1]))
                notes.append('("r", {})'.format(g[1]))
            elif g[0] == "w":
                v = self.name("v")
                self.put("{} = me.value()".format(v))
                words.append("w{}.alt_pending_write({})".format(g[1], v))
                notes.append('("w", {}, {})'.format(g[1], v))
            elif g[0] == "t":
                words.append("csp.Timer(ms={})".format(g[1]))
                notes.append('("t",)')
            else:
                words.append("csp.Skip()")
                notes.append('("k",)')
        return ", ".join(words) + ",", ", ".join(notes) + ","

    def op_s(self, fair, form, guards):
        words, notes = self.guards(guards)
        n = self.name("g")
        lines = ["{} = ({})".format(n, words), "{}a = csp.Alternative(*{})".format(n, n)]
        if any(g[0] == "w" for g in guards):
            for line in lines:
                self.put(line)
        else:  # nothing in it changes: it is made once, outside of the loops
            indent = self.lines[self.hoisted - 1].index("t") * " " + "    "
            self.lines[self.hoisted : self.hoisted] = [indent + line for line in lines]
        self.put('me.note("s", {}, ({}))'.format(fair, notes))
        if form:
            self.put("{}with {}a as (g, v):".format(self.i, n))
            self.put('    me.note("+", which({}, g), v)'.format(n))
        else:
            self.put("g, v = {}{}a.{}()".format(self.a, n, "fair_select" if fair else "select"))
            self.put('me.note("+", which({}, g), v)'.format(n))

    def parallel(self, members):
        words = []
        notes = []
        for kind, c, form in members:
            if kind == "r":
                words.append("r{}{}".format(c, "()" if form and not self.plain else ""))
                notes.append('("r", {})'.format(c))
            else:
                v = self.name("v")
                self.put("{} = me.value()".format(v))
                as_operation = "w{}({})" if form and not self.plain else None
                words.append((as_operation or "w{}.alt_pending_write({})").format(c, v))
                notes.append('("w", {}, {})'.format(c, v))
        return ", ".join(words), ", ".join(notes) + ","

    def op_P(self, members):
        words, notes = self.parallel(members)
        self.put('me.note("P", ({}))'.format(notes))
        if self.plain:
            self.put('me.note("+", csp.Parallel({}).run().retval)'.format(words))
        else:
            self.put('me.note("+", await csp.Parallel({}))'.format(words))

    def op_for(self, c, most, ops):
        k = self.name("k")
        self.put("{} = 0".format(k))
        self.put('me.note("f", {})'.format(c))
        self.put("{}for v in r{}:".format(self.i, c))
        self.depth += 1
        self.put('me.note("+", v)')
        if ops:
            self.ops(ops)
        self.put("{} += 1".format(k))
        if most is not None:
            self.put("if {} == {}:".format(k, most))
            self.put("    break")
        self.put('me.note("f", {})'.format(c))
        self.depth -= 1
        self.put("if {} != {}:".format(k, -1 if most is None else most))
        self.put('    me.note("-")')

    def op_loop(self, n, ops):
        self.put("while True:" if n is None else "for _ in range({}):".format(n))
        self.block(ops)

    def op_try(self, ops):
        self.put("try:")
        self.block(ops)
        self.put("except csp.PoisonException:")
        self.put('    me.note("-")')

    def op_limit(self, ms, op):
        if not self.tasks:
            if op[0] in ("r", "w"):
                return self.op_s(0, 0, [op, ["t", ms]])
            return self.ops([op])
        if op[0] == "r":
            call = "r{}()".format(op[1])
            self.put('me.note("r", {})'.format(op[1]))
        elif op[0] == "w":
            self.put("v = me.value()")
            call = "w{}(v)".format(op[1])
            self.put('me.note("w", {}, v)'.format(op[1]))
        elif op[0] == "P":
            words, notes = self.parallel(op[1])
            call = "csp.Parallel({})".format(words)
            self.put('me.note("P", ({}))'.format(notes))
        else:
            words, notes = self.guards(op[3])
            n = self.name("g")
            self.put("{} = ({})".format(n, words))
            select = "fair_select" if op[1] else "select"
            call = "csp.Alternative(*{}).{}()".format(n, select)
            self.put('me.note("s", {}, ({}))'.format(op[1], notes))
        self.put("try:")
        if op[0] == "s":
            self.put("    g, v = await wait_for_ms({}, {})".format(call, ms))
            self.put('    me.note("+", which({}, g), v)'.format(n))
        else:
            self.put('    me.note("+", await wait_for_ms({}, {}))'.format(call, ms))
        self.put("except TimeoutError:")
        self.put('    me.note("late")')

    def op_poison(self, c, how):
        word = {"ch": ".poison", "r": ".read.poison", "w": ".write.poison", "close": ".close"}
        self.put('me.note("poison", {}, "{}")'.format(c, how))
        self.put("c{}{}()".format(c, word[how]))

    def op_raise(self, kind):
        self.put("raise Boom(str(me.id))" if kind == "boom" else "raise csp.PoisonException()")

    def op_run(self, how, members):
        self.put('me.note("run")')
        self.put('me.note("+", {})'.format(self.awaited(how, members)))

    def op_spawn(self, d, ops, then):
        h = self.name("h")
        self.put("{} = csp.Spawn({})".format(h, self.call("p", d)))
        if not self.tasks:
            # `run` waits for nobody else.
            self.put("try:")
            self.block(ops)
            self.put("finally:")
            self.put("    {}{}.join()".format(self.a, h))
            return
        self.ops(ops)
        if then == "leave":
            return
        self.put('me.note("join")')
        if then == "join":
            self.put("await {}".format(h))
        else:
            self.put("{}.cancel()".format(h))
            self.put("try:")
            self.put("    await {}".format(h))
            self.put("except CancelledError:")
            self.put("    pass")
        self.put('me.note("+")')

    def op_task(self, d, ops):
        if not self.tasks:
            return self.op_spawn(d, ops, "join")
        self.bodies.add(d)
        t = self.name("t")
        self.put("{} = asyncio.create_task({})".format(t, self.call("b", d)))
        self.put("try:")
        self.block(ops)
        self.put("finally:")
        self.put("    {}.cancel()".format(t))
        self.put("    try:")
        self.put("        await {}".format(t))
        self.put("    except (CancelledError, csp.PoisonException):")
        self.put("        pass")

    def op_spin(self, n):
        self.put("spin({})".format(n))

    # The whole

    def text(self):
        imports = ["import {} as csp".format(self.library)]
        if self.library == "upycsp.aio":
            imports = ["import upycsp.aio", "", "csp = upycsp.aio"]
        if self.tasks:
            imports[:0] = [
                "try:",
                "    import asyncio",
                "except ImportError:",
                "    import uasyncio as asyncio",
            ]
            imports.append("from ufuture import CancelledError, TimeoutError, wait_for_ms")
        head = {"imports": "\n".join(imports), "order": "", "orders": ""}
        if self.tasks:
            head["order"] = "\n        order.append(self.id)"
            head["orders"] = "\norder = []  # who noted something"
        head = _PRELUDE.format(**head) + "\n\n"
        channels = self.network["channels"]
        for c, capacity in enumerate(channels):
            kind = "Channel" if capacity == "plain" else "BufferedChannel"
            more = "" if capacity == "plain" else ", {}".format(capacity)
            if isinstance(capacity, list):
                more = ', {}, "{}"'.format(capacity[1], capacity[0])
            self.put('c{} = csp.{}("c{}"{})'.format(c, kind, c, more))
        names = ", ".join("c{}".format(c) for c in range(len(channels)))
        self.put("chans = [{}]".format(names))
        self.put("")
        self.put("")
        for d in range(len(self.network["defs"])):
            self.process(d)
        for d in sorted(self.bodies):
            self.process(d, "b")
        members = ", ".join(self.member(m) for m in self.network["members"])
        return head + "\n".join(self.lines) + "\n" + _LAST.format(
            d=self.d, a=self.a, members=members,
            order='    result["order"] = order\n' if self.tasks else "",
        )


def program(network, library):
    """The text of a program that runs the network; it prints LOG and a JSON object in one line."""
    return _Writer(network, library).text()
