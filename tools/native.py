"""The hot functions, which a native build compiles to machine code: HOT names them.

What gains less than 1.5 % of the instructions of an operation for each KB of code (x64) stays
bytecode. Each of these was looked through for what machine code does otherwise: it takes a name
that was never set for an object, does not look for Ctrl-C and scheduled functions, lets no other
thread have the GIL, and allocates the object of a slice.
"""

import ast

# Path: {qualified name: what it is part of, and by how much the instructions of that fall}.
HOT = {
    "ufuture/micro.py": {
        # Ctrl-C and what is scheduled come in the processes, and in asyncio after 64 of them.
        "_drive": "communications of uapycsp: 6.2 %",
        "start": "processes of uapycsp: 5.0 %, with Process.start",
        "_tell": "processes of uapycsp: 4.5 %, with _ended, ended and member_ended",
        "_ended": "see _tell",
    },
    "uapycsp/channel.py": {
        "ReadEnd.csp_read": "communications of uapycsp: 9.9 %, with csp_write",
        "WriteEnd.csp_write": "see csp_read",
    },
    "uapycsp/process.py": {
        "Process.start": "see start in ufuture/micro.py",
        "Process.ended": "see _tell in ufuture/micro.py",
        "Parallel.member_ended": "see _tell in ufuture/micro.py",
    },
    "upycsp/channel.py": {
        "ReadEnd.__call__": "communications of upycsp: 12 %, with the write",
        "WriteEnd.__call__": "see ReadEnd.__call__",
    },
    "upycsp/alternative.py": {
        # Its state as bytecode takes heap in each call, under a lock that all threads contend for.
        "Alternative.select": "selections of upycsp: 60 %",
    },
    "upycsp/aio.py": {
        "_operations.<locals>.reader.<locals>.csp_read": "communications of upycsp.aio: 3.4 %",
        "_operations.<locals>.writer.<locals>.csp_write": "see csp_read",
    },
    "cspcore/choice.py": {
        "Choice.paired": "selections of uapycsp: 3.5 %, with all of cspcore that is here",
    },
    "cspcore/channel.py": {
        "BaseChannel.withdraw": "see paired in cspcore/choice.py",
        "unlink": "see paired in cspcore/choice.py",
    },
}
_MARK = "@micropython.native"


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
    named = {insertion for f in found for insertion in _named_raises(f.body, None)}
    for row, column, words in sorted(named, reverse=True):
        line = lines[row - 1].encode()
        lines[row - 1] = (line[:column] + words.encode() + line[column:]).decode()
    for f in sorted(found, key=lambda f: -f.lineno):
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
            # Handlers in handlers have names of their own, for a name is gone at the end of its.
            name = handler.name or "raised_{}".format(handler.lineno)
            found.add((node.end_lineno, node.end_col_offset, " " + name))
            if handler.type is None:
                column = handler.col_offset + len("except")
                found.add((handler.lineno, column, " BaseException as " + name))
            elif handler.name is None:
                end = handler.type
                found.add((end.end_lineno, end.end_col_offset, " as " + name))
        inside = node if isinstance(node, ast.ExceptHandler) else handler
        for part in ("body", "handlers", "orelse", "finalbody"):
            found |= _named_raises(getattr(node, part, ()), inside)
    return found
