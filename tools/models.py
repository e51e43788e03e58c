"""Checks the Promela models of tests/models with Spin, and that each seeded fault is caught.

    python tools/models.py                      # all of them, in full size
    python tools/models.py --bounded offers     # one model in the size of the ordinary tests
    python tools/models.py --table              # which line of the library each step stands for

`--write` also puts what is printed between the markers of docs/models.md.

A model's first comment holds its items, one a line; continuation lines are indented further:

    MODEL one sentence
    RULE 1, 2: what of it is checked, and how
    FULL -DN=3              macros of the exhaustive size; several lines are several configurations
    BOUNDED -DN=2           macros of the size for the ordinary tests, likewise
    FAULT NAME [-DN=2] a sentence; seeded by #ifdef FAULT_NAME; caught in one of the bounded
        configurations, or in the one that is given
    MAPS label | cspcore/channel.py[:function] | text of the source line it stands for

It holds if Spin has searched all states and found no failed assertion, no invalid end state and,
for each `ltl` claim, no fair run that breaks it. Code of a model that no configuration reaches
is an error, unless its line says `unreached: why`. Spin does not look for it in a d_step: models
use atomic. What several models share stands in files they include, whose heads have MAPS alone.
"""

import argparse
import ast
import functools
import hashlib
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import commands

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "tests" / "models"
PAGE = ROOT / "docs" / "models.md"
# Of a long search, and of one in bounded size: steps in a row, and the logarithm of its table.
LONG = ("-m2000000", "-w24")
SHORT = ("-m200000", "-w20")
MEGABYTES = 2048
SECONDS = 600
# Compiling takes longer than most of the searches in bounded size.
KEPT = ROOT / "build" / "models"
MOST_KEPT = 1000
KEYS = ("MODEL", "RULE", "FULL", "BOUNDED", "FAULT", "MAPS")


class ModelError(Exception):
    """A model that cannot be checked as it stands."""


# What a model says of itself


class Fault:
    """A seeded fault: its name, its sentence, and the configurations that must show it."""

    def __init__(self, text, configurations):
        words = text.split()
        self.name = words.pop(0)
        own = []
        while words and words[0].startswith("-D"):
            own.append(words.pop(0))
        self.sentence = " ".join(words)
        self.configurations = [own] if own else configurations


class Map:
    """One step of a model, and the line of the library it stands for."""

    def __init__(self, text):
        parts = [part.strip() for part in text.split("|", 2)]
        if len(parts) != 3 or not all(parts):
            raise ModelError("MAPS wants label | file | text: {}".format(text))
        self.label, place, self.text = parts
        self.file, _, self.function = place.partition(":")

    def line(self, root=ROOT):
        """The number of the one line that holds the text."""
        source = (root / self.file).read_text(encoding="utf-8")
        first, last = 1, len(source.splitlines())
        if self.function:
            first, last = span(source, self.function, self.file)
        lines = source.splitlines()[first - 1 : last]
        found = [first + i for i, line in enumerate(lines) if self.text in line]
        if len(found) != 1:
            where = self.file + (":" + self.function if self.function else "")
            raise ModelError("{}: {} lines with {!r}".format(where, len(found), self.text))
        return found[0]


def span(source, name, file):
    """The first and the last line of a function, named as f or Class.f."""
    found = []

    def look(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if name in (child.name, prefix + child.name):
                    found.append((child.lineno, child.end_lineno))
                look(child, prefix + child.name + ".")
            else:
                look(child, prefix)

    look(ast.parse(source), "")
    if len(found) != 1:
        raise ModelError("{}: {} functions {}".format(file, len(found), name))
    return found[0]


def read_head(path):
    """(the items of a file's head by their key, the text after the head)."""
    text = path.read_text(encoding="utf-8")
    head, end, body = text.partition("*/")
    if not head.lstrip().startswith("/*") or not end:
        raise ModelError("{}: begins with no comment".format(path.name))
    items = {key: [] for key in KEYS}
    for key, item in head_items(head.lstrip()[2:]):
        if key not in items:
            raise ModelError("{}: unknown item {}".format(path.name, key))
        items[key].append(item)
    return items, "\n" * text[: len(head)].count("\n") + body


class Part:
    """A file that models include: what they share."""

    def __init__(self, path):
        self.path = path
        self.name = path.name
        items, body = read_head(path)
        self.maps = [Map(text) for text in items["MAPS"]]
        self.code = without_comments(body)
        for m in self.maps:
            if m.label not in labels_in(self.code):
                raise ModelError("{}: no label or inline {}".format(self.name, m.label))


class Model:
    """A model as its head describes it."""

    def __init__(self, path):
        self.path = path
        self.name = path.stem
        items, body = read_head(path)
        self.sentence = " ".join(items["MODEL"])
        self.rules = items["RULE"]
        self.full = [text.split() for text in items["FULL"]]
        self.bounded = [text.split() for text in items["BOUNDED"]]
        self.faults = [Fault(text, self.bounded) for text in items["FAULT"]]
        self.maps = [Map(text) for text in items["MAPS"]]
        self.claims = re.findall(r"^ltl\s+(\w+)", body, re.M)
        included = {name for _, (name, _) in expanded(path)} - {path.name}
        self.parts = [Part(path.parent / name) for name in sorted(included)]
        self.code = without_comments(body)
        for mistake in self.mistakes():
            raise ModelError("{}: {}".format(self.name, mistake))

    def mistakes(self):
        """What is wrong with a model before it is run."""
        for key, found in (("MODEL", self.sentence), ("RULE", self.rules), ("FULL", self.full),
                           ("BOUNDED", self.bounded), ("MAPS", self.maps)):
            if not found:
                yield "no {}".format(key)
        if len(self.faults) < 2:
            yield "fewer than two faults"
        named = {fault.name for fault in self.faults}
        seeded = faults_in(self.code)
        shared = set().union(*[faults_in(part.code) for part in self.parts])
        if seeded - named or named - seeded - shared:
            strange = (seeded - named) | (named - seeded - shared)
            yield "faults named and seeded differ: {}".format(sorted(strange))
        known = labels_in(self.code).union(*[labels_in(part.code) for part in self.parts])
        for m in self.maps:
            if m.label not in known:
                yield "no label or inline {}".format(m.label)
        for file in (self, *self.parts):
            if re.search(r"\bd_step\b", file.code):
                yield "a d_step hides what is never reached: use atomic"

    def flat(self):
        """The text with what it includes, and of each of its lines (file, number)."""
        # Spin numbers the lines of an included file as if they stood in the file that includes it.
        places = list(expanded(self.path))
        return "".join(line + "\n" for line, _ in places), [place for _, place in places]

    def configurations(self, bounded):
        """The sizes to search; in bounded size those of single faults too: without, it holds."""
        if not bounded:
            return self.full
        found = list(self.bounded)
        for fault in self.faults:
            found += [macros for macros in fault.configurations if macros not in found]
        return found


def expanded(path):
    """The lines of a file with what it includes, each as (line, (file, number))."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        part = re.match(r'#include "(\S+)"', line)
        if part:
            yield from expanded(path.parent / part.group(1))
        else:
            yield line, (path.name, number)


def faults_in(code):
    return set(re.findall(r"\bFAULT_(\w+)", code))


def labels_in(code):
    labels = set(re.findall(r"^\s*(\w+):(?!:)", code, re.M))
    labels.update(re.findall(r"^\s*(?:inline|proctype|active\b.*?proctype)\s+(\w+)", code, re.M))
    return labels


def head_items(head):
    """The items of a head as (key, text); a line indented further goes on; the rest is prose."""
    items = []
    margin = None
    for line in head.splitlines():
        indent = len(line) - len(line.lstrip())
        key, _, text = line.strip().partition(" ")
        if margin is not None and indent > margin:
            items[-1] = (items[-1][0], "{} {}".format(items[-1][1], line.strip()))
        elif re.fullmatch("[A-Z]{2,}", key):
            margin = indent
            items.append((key, text.strip()))
        else:
            margin = None
    return items


def without_comments(code):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", code, flags=re.S)


def parts(chosen):
    """The files that these models share, each once."""
    return list({part.name: part for model in chosen for part in model.parts}.values())


def models(names=(), folder=MODELS):
    """The models of these names, or all."""
    paths = [folder / (name + ".pml") for name in names] or sorted(folder.glob("*.pml"))
    for path in paths:
        if not path.exists():
            raise ModelError("no model {}".format(path.stem))
    return [Model(path) for path in paths]


# Running


def missing():
    """None, or a sentence on what is not installed."""
    for program in ("spin", "cc"):
        if shutil.which(program) is None:
            return "The models need {}, which is not installed.".format(program)
    return None


class Search:
    """What one search has found."""

    def __init__(self, output, seconds, live):
        self.output = output
        self.seconds = seconds
        self.states = sum(int(n) for n in re.findall(r"^ *(\d+) states, stored", output, re.M))
        self.error = None
        found = re.search(r"^pan:\d+: (.*?)(?: \(at depth \d+\))?$", output, re.M)
        errors = re.findall(r"errors: (\d+)", output)
        if "max search depth too small" in output:
            self.trouble = "the search was not deep enough"
        elif not errors or "Full statespace search" not in output:
            self.trouble = "the search did not end: " + output.strip()[-200:]
        elif found and errors == ["1"]:
            self.trouble = None
            self.error = found.group(1)
        elif "Search not completed" in output or errors != ["0"] or found:
            self.trouble = "the search was not completed: " + output.strip()[-200:]
        else:
            self.trouble = None
        # Lines of the model that some state stands on, and those of them that were reached.
        self.live = {place for _, place in live}
        unreached = unreached_states(output)
        self.reached = {place for state, place in live if state not in unreached}


def search(model, macros, claim=None, long=False):
    """Let Spin search one configuration for errors, or for a fair run that breaks the claim."""
    text, places = model.flat()
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "model.pml").write_text(text, encoding="utf-8")
        # -o3: no merging of statements, which would hide some of those that are never reached.
        call(["spin", "-a", "-o3", "-Pcc -E -x c", *macros, "model.pml"], folder)
        transitions = pathlib.Path(folder, "pan.t")
        text = as_tables(transitions.read_text(encoding="utf-8"))
        transitions.write_text(text, encoding="utf-8")
        kind = ["-DNFAIR=4"] if claim else ["-DSAFETY", "-DNOCLAIM"]
        size = ["-DMEMLIM={}".format(MEGABYTES), "-DVECTORSZ=4096"]
        compile_pan(["-w", *kind, *size, "-o", "pan", "pan.c"], folder, long)
        options = [*(LONG if long else SHORT)]
        if claim:
            options += ["-a", "-f"] + (["-N", claim] if len(model.claims) > 1 else [])
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        output = call(["./pan", *options], folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Search(output, seconds, state_lines(call(["./pan", "-d"], folder), places))


# What Spin writes for one transition: "trans[1][2] = settr(...);", with T, the end of a chain of
# those that leave one state, before it; or "T->nxt = settr(...);" for another of the chain.
TRANSITION = re.compile(
    r"\s*(?:T = )?(?:trans\[ *(\w+)\]\[ *(\d+)\]|(?:T = )?T->nxt)\s*= settr\((.*)\);")
ROWS = """
struct row { int type, state, settr[5]; char *text; int more[3]; };

Trans *
settrs(const struct row *r, int n, Trans *T)
{	Trans *settr(int, int, int, int, int, char *, int, int, int), *t;

	for (; n--; r++)
	{	t = settr(r->settr[0], r->settr[1], r->settr[2], r->settr[3], r->settr[4],
			r->text, r->more[0], r->more[1], r->more[2]);
		if (r->type < 0)
			T->nxt = t;
		else
			trans[r->type][r->state] = t;
		T = t;
	}
	return T;
}
"""


def as_tables(text):
    """Spin's pan.t with rows of tables for its calls, which take half of the time to compile."""
    lines = [ROWS]
    rows = []
    for line in [*text.splitlines(), "/* end */"]:
        found = TRANSITION.fullmatch(line)
        if found:
            type_, state, words = found.groups("-1")
            rows.append("\t{{{}, {}, {}}},".format(type_, state, words))
        elif rows and (not line or line.startswith(("\t\t/*", "\t\ttr_2_src("))):
            pass  # which line of the model it was, for a way of searching that is not used here
        else:
            if rows:
                lines += ["\t{ static const struct row rows[] = {", *rows]
                lines += ["\t};", "\tT = settrs(rows, {}, T); }}".format(len(rows))]
                rows = []
            lines.append(line)
    return "\n".join(lines) + "\n"


def compile_pan(words, folder, long):
    """Make folder/pan by cc; for a short search by tcc if it can, for cc takes longer than pan."""
    if shutil.which("tcc") and not long:
        try:
            return compiled(["tcc", *words], folder)
        except ModelError:
            pass  # it knows neither all processors nor all C libraries
    compiled(["cc", "-O2" if long else "-O0", *words], folder)


def compiled(command, folder):
    """Make folder/pan by this command, or take what it has made of the same sources before."""
    digest = hashlib.sha256(" ".join(command + [version(command[0])]).encode())
    for path in sorted(pathlib.Path(folder).glob("pan.*")):
        digest.update(path.read_bytes())
    known = KEPT / digest.hexdigest()[:40]
    pan = pathlib.Path(folder, "pan")
    try:
        shutil.copy(known, pan)
        known.touch()
        return
    except OSError:
        pass
    call(command, folder)
    try:
        KEPT.mkdir(parents=True, exist_ok=True)
        temporary = KEPT / "{}.{}".format(known.name, os.getpid())
        shutil.copy(pan, temporary)
        temporary.replace(known)
        for path in sorted(KEPT.iterdir(), key=lambda p: p.stat().st_mtime)[:-MOST_KEPT]:
            path.unlink(missing_ok=True)
    except OSError:
        pass  # another process has just done so, or nothing may be written there


@functools.lru_cache(None)
def version(program):
    return call([program, "--version"], ".")


def call(command, folder):
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise ModelError("{} took more than {} s".format(command[0], SECONDS)) from None
    if done.returncode and command[0] != "./pan":
        raise ModelError("{} failed: {}".format(command[0], done.stdout.strip()[-400:]))
    return done.stdout


def state_lines(listing, places):
    """All states of the proctypes as ((proctype, number), (file, line)), from `pan -d`."""
    found = []
    proctype = None
    for line in listing.splitlines():
        head = re.match(r"(proctype|claim) (\S+)|(init)\b", line)
        if head:
            proctype = None if head.group(1) == "claim" else head.group(2) or ":init:"
        state = re.match(r"\tstate +(\d+) -\(.*?\] \S+?:(\d+) =>", line)
        if state and proctype is not None:
            found.append(((proctype, state.group(1)), places[int(state.group(2)) - 1]))
    return found


def unreached_states(output):
    """The states that pan lists as never reached, as (proctype, number)."""
    found = set()
    proctype = None
    for line in output.splitlines():
        head = re.match(r"unreached in (?:proctype (\S+)|(init)|claim)", line)
        if head:
            proctype = head.group(1) or ":init:"
        state = re.search(r"^\t.*?:\d+, state (\d+),", line)
        if state:
            found.add((proctype, state.group(1)))
    return found


class Row:
    """One line of the result."""

    def __init__(self, model, what, size, states, seconds, verdict, good):
        self.model, self.what, self.size = model, what, size
        self.states, self.seconds, self.verdict, self.good = states, seconds, verdict, good

    def __str__(self):
        return "{:<14} {:<20} {:<26} {:>9} states {:>7.2f} s  {}".format(
            self.model, self.what, self.size, self.states, self.seconds, self.verdict
        )


def check(model, bounded, coverage):
    """Search all configurations of a model; a row each, and one if code was never reached."""
    for macros in model.configurations(bounded):
        for claim in [None, *model.claims]:
            found = search(model, macros, claim, long=not bounded)
            coverage.add(found)
            bad = found.trouble or found.error
            yield Row(model.name, claim or "holds", " ".join(macros), found.states, found.seconds,
                      bad or "holds", not bad)
    yield from coverage.rows(model)


class Coverage:
    """The places of models, (file, line), that have states, and those that were reached."""

    def __init__(self):
        self.live = set()
        self.reached = set()

    def add(self, found):
        self.live |= found.live
        self.reached |= found.reached

    def rows(self, file):
        """A row if a place of this file was never reached and does not say why."""
        lines = file.path.read_text(encoding="utf-8").splitlines()
        dead = sorted(n for name, n in self.live - self.reached if name == file.path.name)
        dead = [n for n in dead if "unreached:" not in lines[n - 1]]
        if dead:
            verdict = "never reached: line {}".format(", ".join(map(str, dead)))
            yield Row(file.name, "coverage", "", 0, 0.0, verdict, False)


def check_fault(model, fault, first=None):
    """Seed a fault: a row that says how it was caught.

    first: the size of the configuration to begin with, in place of the model's order.
    """
    states, seconds = 0, 0.0
    for macros in sorted(fault.configurations, key=lambda macros: " ".join(macros) != first):
        for claim in [None, *model.claims]:
            found = search(model, [*macros, "-DFAULT_" + fault.name], claim)
            states += found.states
            seconds += found.seconds
            if found.error or found.trouble:
                size = " ".join(macros)
                verdict = found.trouble or "caught: {}".format(found.error)
                return Row(model.name, fault.name, size, states, seconds, verdict,
                           not found.trouble)
    return Row(model.name, fault.name, "", states, seconds, "NOT CAUGHT", False)


def check_all(chosen, bounded):
    """All rows of these models; if that is all of them, of what they share too."""
    coverage = Coverage()
    for model in chosen:
        yield from check(model, bounded, coverage)
        for fault in model.faults:
            yield check_fault(model, fault)
    if {model.name for model in chosen} == {path.stem for path in MODELS.glob("*.pml")}:
        for part in parts(chosen):
            yield from coverage.rows(part)


# Tables


def maps_table(chosen, root=ROOT):
    """Markdown: which line of the library each step of a model stands for."""
    lines = ["| model | step | stands for | |", "|---|---|---|---|"]
    for model in [*parts(chosen), *chosen]:
        for m in model.maps:
            lines.append("| {} | `{}` | {}:{} | `{}` |".format(
                model.name, m.label, m.file, m.line(root), m.text.replace("|", "\\|")))
    return "\n".join(lines) + "\n"


def states_table(rows):
    """Markdown: what was searched, and how each fault was caught."""
    lines = ["| model | size | states | verdict |", "|---|---|--:|---|"]
    for row in rows:
        # Without the assertion's own text, in which the bars would end a cell.
        verdict = row.verdict.partition(" violated")[0]
        what = verdict if row.what == "holds" else "{}: {}".format(row.what, verdict)
        lines.append("| {} | {} | {} | {} |".format(row.model, row.size, row.states, what))
    return "\n".join(lines) + "\n"


def replace(page, name, table):
    """The text of a page with the table between its markers <!-- name --> and <!-- /name -->."""
    begin, end = "<!-- {} -->\n".format(name), "<!-- /{} -->\n".format(name)
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ModelError("the page has no place for {}".format(name))
    before, _, rest = page.partition(begin)
    return before + begin + "\n" + table + "\n" + end + rest.partition(end)[2]


def write(name, table):
    PAGE.write_text(replace(PAGE.read_text(encoding="utf-8"), name, table), encoding="utf-8")


def main(arguments=None):
    """Run as a program; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="models, without .pml; none: all")
    parser.add_argument("--bounded", action="store_true", help="the size of the ordinary tests")
    parser.add_argument("--table", action="store_true", help="only what stands for which line")
    parser.add_argument("--write", action="store_true", help="put the table into docs/models.md")
    given = parser.parse_args(arguments)
    if given.write and (given.names or given.bounded):
        parser.error("--write is for all models in full size")
    try:
        chosen = models(given.names)
        if given.table:
            table = maps_table(chosen)
            print(table, end="")
            if given.write:
                write("steps", table)
            return 0
        lack = missing()
        if lack:
            print(lack)
            return 2
        rows = []
        for row in check_all(chosen, given.bounded):
            print(row, flush=True)
            rows.append(row)
    except ModelError as e:
        print(e)
        return 1
    bad = [row for row in rows if not row.good]
    if given.write and not bad:
        write("states", states_table(rows))
    states = sum(row.states for row in rows if row.what not in [
        fault.name for model in chosen for fault in model.faults])
    faults = sum(len(model.faults) for model in chosen)
    if bad:
        print("{} of {} searches went wrong.".format(len(bad), len(rows)))
        return 1
    print("{} models hold in all of {} states, and {} seeded faults are caught.".format(
        len(chosen), states, faults))
    return 0


if __name__ == "__main__":
    sys.exit(commands.ended(main))
