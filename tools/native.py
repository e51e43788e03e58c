"""The functions that a native build compiles to machine code."""

import ast

# Path: {qualified name: why}. What is not here stays bytecode.
HOT = {
    "ufuture/micro.py": {
        "_drive": "resumes every process",
    },
    "uapycsp/channel.py": {
        "ReadEnd.csp_read": "a read",
        "WriteEnd.csp_write": "a write",
    },
    "upycsp/channel.py": {
        "ReadEnd.__call__": "a read",
        "WriteEnd.__call__": "a write",
    },
}
_MARK = "@micropython.native"
_RAISED = "raised_"


class Failed(Exception):
    """What could not be built, in a sentence."""


def marked(path, text):
    """A source's text with @micropython.native before the functions that HOT names for its path.

    The decorator takes the place of an empty line or a comment where one stands before the
    function, so that line numbers stay; the compiler itself knows it, so no import is needed. A
    bare `raise`, which machine code can't do, becomes one of the exception by a name.
    """
    functions = dict(_functions(ast.parse(text, path).body, ""))
    lines = text.split("\n")
    found = []
    for name in HOT.get(path, ()):
        if name not in functions:
            raise Failed("{} has no function {}, which tools/native.py names".format(path, name))
        found.append(functions[name])
    # From the end, so that the positions of what comes before stay right.
    for f in sorted(found, key=lambda f: -f.lineno):
        for row, column, words in sorted(_named_raises(f.body, None), reverse=True):
            line = lines[row - 1].encode()
            lines[row - 1] = (line[:column] + words.encode() + line[column:]).decode()
        row = min([f.lineno] + [d.lineno for d in f.decorator_list])
        before = lines[row - 2].strip() if row > 1 else "code"
        if before and not before.startswith("#"):
            lines.insert(row - 1, "")
            row += 1
        lines[row - 2] = " " * f.col_offset + _MARK
    return "\n".join(lines)


def _functions(body, prefix):
    # (Qualified name, node) of each function among these statements.
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node
            yield from _functions(node.body, prefix + node.name + ".<locals>.")
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, prefix + node.name + ".")
        else:
            for part in ("body", "handlers", "orelse", "finalbody"):
                yield from _functions(getattr(node, part, ()), prefix)


def _named_raises(body, handler):
    # What to insert, as a set of (row, column in bytes, words), where a bare raise stands among
    # the statements of an exception's handler.
    found = set()
    for node in body:
        if isinstance(node, ast.Raise) and node.exc is None:
            found.add((node.end_lineno, node.end_col_offset, " " + (handler.name or _RAISED)))
            if handler.type is None:
                column = handler.col_offset + len("except")
                found.add((handler.lineno, column, " BaseException as " + _RAISED))
            elif handler.name is None:
                end = handler.type
                found.add((end.end_lineno, end.end_col_offset, " as " + _RAISED))
        inside = node if isinstance(node, ast.ExceptHandler) else handler
        for part in ("body", "handlers", "orelse", "finalbody"):
            found |= _named_raises(getattr(node, part, ()), inside)
    return found
