"""Faults put into copies of the libraries by hand: after how many networks is each caught?

    python tests/networks/seeded.py [name ...]      # from the root; all of them without names

Each is one change to the text of one file; the seeds are fixed, threads do as they please.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402

import commands  # noqa: E402
from harness.interpreters import ROOT  # noqa: E402
from networks import generate, runner  # noqa: E402

MOST = 1500
PACKAGES = ("cspcore", "uapycsp", "upycsp", "ufuture", "uthreading")

# name: (library that shows it, file, text, what stands there instead)
FAULTS = {
    "a buffered take leaves the waiting writer outside": (
        "upycsp", "cspcore/buffered.py",
        "                self._append(w.value)\n                pair[1] = self._met(w, TAKEN)\n",
        "",
    ),
    "a value is not given back": (
        "uapycsp", "uapycsp/wait.py",
        "    party = channel.give_back(o, value)\n", "    party = None\n",
    ),
    "a value is given back behind the writers": (
        "uapycsp", "cspcore/channel.py",
        "        self._writers = insert_given(self._writers, offer)",
        "        self._writers = link(self._writers, offer)",
    ),
    "a loser's offers are not withdrawn": (
        "upycsp", "cspcore/choice.py",
        "        for o in self._offers:  # as withdraw: a thread's stack may be short\n",
        "        for o in (offer,):\n",
    ),
    "select takes the last ready guard": (
        "uapycsp", "cspcore/choice.py",
        "        if fair or self._inputs is None:\n            return self._look(fair)\n",
        "        self._order = list(range(len(self.guards)))[::-1]\n"
        "        return self._look(True)\n",
    ),
    "a buffer drops its last value for its first": (
        "uapycsp", "cspcore/buffered.py",
        "        i = self._first\n        self._ring[i] = None\n"
        "        self._first = (i + 1) % len(self._ring)\n",
        "        i = (self._first + self._count - 1) % len(self._ring)\n"
        "        self._ring[i] = None\n",
    ),
    "a ring is not unrolled when it grows": (
        "uapycsp", "cspcore/buffered.py",
        "            ring = ring[self._first :] + ring[: self._first]\n",
        "            ring = ring[:]\n",
    ),
    "poison by a writer drops the buffer": (
        "upycsp", "cspcore/channel.py", "        return self._end(DRAINED)\n",
        "        return self._end(DEAD)\n",
    ),
    "a process that ends by poison poisons nothing": (
        "uapycsp", "cspcore/process.py", "            a.poison(strength_of(exception))\n",
        "            pass\n",
    ),
    "ends in lists are not poisoned": (
        "uapycsp", "cspcore/process.py", "            if deep and isinstance(a, _NESTS):\n",
        "            if False:\n",
    ),
    "a process poisons its ends though it must not": (
        "uapycsp", "cspcore/process.py", "        if self._propagate and self._args is not None:",
        "        if self._args is not None:",
    ),
    "a Parallel forgets poison": (
        "uapycsp", "cspcore/group.py",
        "        if v is POISON:\n            self.met_end(offer.channel.ended())\n",
        "        if v is POISON:\n",
    ),
    "a failure is swallowed": (
        "upycsp", "cspcore/group.py",
        "                self.exception = exception\n",
        "                pass\n",
    ),
    "close keeps the waiting readers": (
        "uapycsp", "cspcore/buffered.py",
        "        chain = self._end_readers(None)\n        self._refresh()\n",
        "        chain = None\n        self._readers = DEAD\n        self._refresh()\n",
    ),
    "a cancelled write that was read raises": (
        "uapycsp", "uapycsp/wait.py", "        return self.value is TAKEN and self.op == WRITE\n",
        "        return False\n",
    ),
    "a cancelled read stays in its queue": (
        "uapycsp", "uapycsp/wait.py", "        self.channel.withdraw(self)\n", "",
    ),
    "a time limit wins over what has happened": (
        "uapycsp", "ufuture/timeout.py", "    if child.exception is None:\n",
        "    if child.exception is None and not expired:\n",
    ),
    "a timer counts as a deadlock": (
        "upycsp", "upycsp/watch.py",
        "    if isinstance(on, Choice) and on.hears_others():\n",
        "    if False:\n",
    ),
    "the watchdog overlooks a thread that runs": (
        "upycsp", "upycsp/watch.py",
        "        return 1 if me.waits() and not me.channel.external else None\n",
        "        return 1 if me.waits() and not me.channel.external else 0\n",
    ),
    "a deadlock is not found": (
        "upycsp", "upycsp/watch.py", "        chain = _find_deadlock() if _runs else None\n",
        "        chain = None\n",
    ),
    "a wake is lost": (
        "upycsp", "upycsp/buffered.py",
        "            if party is not None:\n                party.wake()\n            return 0\n",
        "            return 0\n",
    ),
    "a woken thread's bolt is released twice": (
        "upycsp", "upycsp/alternative.py",
        "            party = self.party()\n        party.wake()\n\n    def _interrupted",
        "            party = self.party()\n        party.wake()\n        party.wake()\n\n"
        "    def _interrupted",
    ),
    "channels are not locked": (
        "upycsp", "upycsp/wait.py", "lock = allocate_lock()\n",
        "class _Free:\n    def __enter__(self):\n        pass\n\n"
        "    def __exit__(self, *args):\n        pass\n\n\nlock = _Free()\n",
    ),
    "what has ended is kept": (
        "uapycsp", "cspcore/process.py", "    def clear(self):\n",
        "    kept = []\n\n    def each(self):\n        return iter(())\n\n    def clear(self):\n"
        "        self.kept.append(bytearray(5000))\n",
    ),
}


class Caught(Exception):
    pass


def copy(folder, file, old, new):
    """The packages in a folder, with a fault in one file."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, pathlib.Path(folder, package))
    path = pathlib.Path(folder, file)
    text = path.read_text(encoding="utf-8")
    if text.count(old) < 1:
        raise ValueError("{} has changed: {!r} is not there".format(file, old))
    path.write_text(text.replace(old, new), encoding="utf-8")


def hunt(name, most=MOST):
    """How many networks it took to catch a fault, and what was said (None: it was not caught)."""
    library, file, old, new = FAULTS[name]
    tried = 0
    said = None
    with tempfile.TemporaryDirectory() as folder:
        copy(folder, file, old, new)
        interpreter = runner.Interpreter("micropython", library, pathlib.Path(folder))

        def one(network):
            nonlocal tried, said
            if said is None:
                tried += 1
                found, _ = runner.faults(interpreter, network, 2)
                if found:
                    said = found[0]
                    raise Caught()

        ours = settings(
            max_examples=most, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        try:
            seed(1)(ours(given(generate.networks(library == "uapycsp"))(one)))()
        except Caught:
            pass
        except BaseException:
            if said is None:
                raise
        finally:
            interpreter.close()
    return tried, said


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="name", help="a fault; none: all of them")
    names = parser.parse_args(words).names
    for name in names:
        if name not in FAULTS:
            parser.error("no fault is named {!r}; there are: {}".format(name, ", ".join(FAULTS)))
    missed = 0
    for name in names or FAULTS:
        tried, said = hunt(name)
        missed += said is None
        line = (said or "NOT CAUGHT").splitlines()[0]
        print("{:>5}  {} ({}): {}".format(tried, name, FAULTS[name][0], line[:150]), flush=True)
    return missed


if __name__ == "__main__":
    runner.LIMIT = 6
    sys.exit(commands.ended(main, sys.argv[1:]))
