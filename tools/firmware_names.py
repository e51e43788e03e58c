"""Makes the sources of an image smaller: names that nobody outside of them knows become short.

A name costs its length in each .mpy file that has it. What a user may see stays as it is: names of
functions and classes, which a traceback tells, and all without an underscore. The sources are
taken all together, for a private name may be known to several of them.
"""

import ast
import collections
import io
import itertools
import re
import string
import tokenize

# MicroPython's; what subclasses of CPython's threading.Thread are used to find there; and what the
# benchmark `queues` looks through.
KEPT = {"_thread", "_attrs", "_io_queue", "_task_queue", "_target", "_args", "_kwargs", "_readers"}
_PRIVATE = re.compile(r"_(?!_)\w+")
_END = string.digits + string.ascii_letters


def shortened(texts):
    """{path: source} of all of an image's sources, as {path: smaller source}."""
    return _with_short_names(_with_near_imports(_with_constants(texts)))


# --- constants


def _with_constants(texts):
    # What is imported as a constant stands where it is used. A private one is no name at all.
    trees = {path: ast.parse(text, path) for path, text in texts.items()}
    bindings = {path: _bindings(tree) for path, tree in trees.items()}
    public = {}  # (module, name): value
    for path, tree in trees.items():
        public.update(((_module(path), name), value)
                      for name, value, _ in _constants(tree, bindings[path], True))
    known = _looked_up(trees.values())
    return {path: _edited(texts[path], _marks(tree, bindings[path], known)
                          + _inlined(tree, bindings[path], public))
            for path, tree in trees.items()}


def _module(path):
    return path[:-len(".py")].removesuffix("/__init__").replace("/", ".")


def _constants(tree, bindings, marked):
    # (Name, value, node of the value) of each whole number that a module gives a name once, marked
    # by const() or not.
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name, value = node.targets[0].id, node.value
        is_marked = isinstance(value, ast.Call) and ast.unparse(value.func) == "const"
        if is_marked is not marked or bindings[name] != 1:
            continue
        number = _number(value.args[0] if marked else value)
        if number is not None:
            yield name, number, value


def _number(node):
    # Of literals alone.
    allowed = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
    if not all(isinstance(part, allowed) for part in ast.walk(node)):
        return None
    value = eval(ast.unparse(node))
    return value if type(value) is int else None


def _bindings(tree):
    # How often each name is bound in a source, in whichever scope.
    count = collections.Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            count[node.id] += 1
        elif isinstance(node, ast.arg):
            count[node.arg] += 1
        elif isinstance(node, ast.alias):
            count[node.asname or node.name.partition(".")[0]] += 1
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            count.update(node.names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            count[node.name] += 1
        elif isinstance(node, ast.ExceptHandler) and node.name:
            count[node.name] += 1
    return count


def _looked_up(trees):
    # Names that are imported from somewhere, looked up in something, or a string.
    found = set()
    for node in itertools.chain.from_iterable(map(ast.walk, trees)):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Constant):
            found.add(node.value)
    return found


def _marks(tree, bindings, known):
    # const() around private numbers, of which the compiler leaves out the names then.
    edits = []
    for name, _, node in _constants(tree, bindings, False):
        first = min(part.lineno for part in ast.walk(tree)
                    if isinstance(part, ast.Name) and part.id == name)
        if _PRIVATE.fullmatch(name) and name not in known and first == node.lineno:
            edits.append((*_span(node), "const({})".format(ast.unparse(node))))
    return edits


def _inlined(tree, bindings, public):
    # The compiler knows const without an import.
    edits = []
    numbers = {}
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.ImportFrom):
            continue
        left = []
        for alias in statement.names:
            key = statement.module, alias.name
            if key in public and not alias.asname and bindings[alias.name] == 1:
                numbers[alias.name] = str(public[key])
            elif alias.name != "const" or alias.asname:
                left.append(ast.unparse(alias))
        if len(left) < len(statement.names):
            edits.append((*_span(statement), "from {}{} import {}".format(
                "." * statement.level, statement.module, ", ".join(left)) if left else "pass"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in numbers:
            edits.append((*_span(node), numbers[node.id]))
    return edits


# --- imports


def _with_near_imports(texts):
    # From the own package without its name. A function has it still: it is looked up faster so.
    edited = {}
    for path, text in texts.items():
        package = path.partition("/")[0] + "."
        edits = [(*_span(node), "from .{} import {}".format(
                    node.module.removeprefix(package), ", ".join(map(ast.unparse, node.names))))
                 for node in ast.parse(text, path).body if isinstance(node, ast.ImportFrom)
                 and not node.level and node.module.startswith(package)]
        edited[path] = _edited(text, edits)
    return edited


# --- names


def _with_short_names(texts):
    parts = {path: tokens(text) for path, text in texts.items()}
    kept, files, dotted, bare = _kept(texts, parts), collections.defaultdict(set), set(), {}
    for path, found in parts.items():
        bare[path] = set()
        for before, token in zip([None, *found], found):
            name = _named(token)
            if name and name not in kept:
                files[name].add(path)
                if token.type == tokenize.STRING or before and before.string == ".":
                    dotted.add(name)
                else:
                    bare[path].add(name)
    taken = {token.string for found in parts.values() for token in found}
    shared = [name for name in files if name in dotted or len(files[name]) > 1]
    shared.sort(key=lambda name: (-len(files[name]), name))
    short = dict(zip(shared, _unused(taken)))
    edited = {}
    for path, text in texts.items():
        # What is no object's and in no other module may be called as objects' attributes are.
        names = {name: short[name] for name in shared if path in files[name]}
        again = [names[name] for name in names if name not in bare[path]]
        own = sorted(bare[path] - set(shared))
        names.update(zip(own, itertools.chain(again, _unused(taken.union(names.values())))))
        lines = text.split("\n")
        edited[path] = _edited(text, [
            (*_place(lines, token), token.string.replace(_named(token), names[_named(token)]))
            for token in parts[path] if _named(token) in names])
    return edited


def tokens(text):
    """Of a source, as tokenize has them."""
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


def _named(token):
    # The private name that a token is; a string is one if it is nothing but the name.
    name = token.string
    if token.type == tokenize.STRING:
        name = name[1:-1]
    elif token.type != tokenize.NAME:
        return None
    return name if _PRIVATE.fullmatch(name) and len(name) > 2 else None


def _kept(texts, parts):
    # Names that stay: KEPT, of functions, classes and modules, and those of other modules' things.
    modules = set(map(_module, texts))
    defined, bound = set(KEPT), set()
    for path, text in texts.items():
        tree = ast.parse(text, path)
        bound.update(_bindings(tree))
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                defined.add(node.name)
            elif isinstance(node, ast.Import):
                defined.update(part for alias in node.names for part in alias.name.split("."))
            elif isinstance(node, ast.ImportFrom):
                defined.update((node.module or "").split("."))
                if not node.level and node.module not in modules:
                    defined.update(alias.name for alias in node.names)
            elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                bound.add(node.attr)
    names = {_named(token) for found in parts.values() for token in found} - {None}
    return defined | (names - bound)


def _unused(taken):
    # Short private names, the shortest first. A digit comes first: a user's class that is made of
    # one of ours has no attributes of such names.
    for length in itertools.count():
        for end in itertools.product(string.digits, *[_END] * length):
            name = "_" + "".join(end)
            if name not in taken:
                yield name


# --- edits


def _span(node):
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _place(lines, token):
    # As _span, where a token is within a line.
    row, begin = token.start
    line = lines[row - 1]
    return (row, len(line[:begin].encode())), (row, len(line[:token.end[1]].encode()))


def _edited(text, edits):
    # The text after ((line, column), (line, column), new) of each edit; columns count bytes.
    lines = [line + b"\n" for line in text.encode().split(b"\n")]
    for begin, end, new in sorted(edits, reverse=True):
        (first, left), (last, right) = begin, end
        lines[first - 1:last] = [
            lines[first - 1][:left] + new.encode() + lines[last - 1][right:]]
    return b"".join(lines).decode()[:-1]
