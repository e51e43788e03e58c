"""Lets a program say itself which of its lines and branches it reached.

MicroPython's Unix port has no settrace. But a store into a bytearray takes no memory, no call and
no lock there, so this puts `_covered_[n] = 1` before each statement and at both ends of each
branch of a copy of the source. What counts as a statement and as a branch is decided by
coverage.py, which also makes the report: see covered_report.py.
"""

import ast

from coverage.parser import PythonParser

NAME = "_covered_"
_PRELUDE = """
try:
    from covered_marks import marks as {name}
    {name} = {name}({path!r}, {count})
except ImportError:
    {name} = bytearray({count})
def {name}at(n, x):
    {name}[n] = 1
    return x
"""
# An arc in the data that says no more than that a line was reached.
_ENTRY = -1


def instrument(source, path):
    """The source with marks, and what each mark stands for: an arc (from, to) of coverage.py.

    An arc from _ENTRY is a line that was reached, any other a branch that was taken.
    """
    marker = _Marker(source)
    tree = marker.visit(ast.parse(source))
    missing = marker.statements - {to for start, to in marker.marks if start == _ENTRY}
    missing |= {arc for arc in marker.branches if arc not in marker.marks}
    if missing:
        raise ValueError("{}: no mark for {}".format(path, sorted(missing, key=str)))
    text = _PRELUDE.format(name=NAME, path=path, count=len(marker.marks))
    at = _after_docstring(tree.body)
    tree.body[at:at] = ast.parse(text).body
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n", marker.marks


def _after_docstring(body):
    first = body[0] if body else None
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return 1 if is_text and isinstance(first.value.value, str) else 0


class _Marker(ast.NodeTransformer):
    def __init__(self, source):
        parser = PythonParser(text=source or "\n")
        parser.parse_source()
        self.first_line = parser.first_line
        self.statements = set(parser.statements)
        exits = {}
        for start, to in parser.arcs():
            exits.setdefault(start, set()).add(to)
        # line: where it can lead, of those that lead to two places
        self.exits = {line: exits[line] for line, n in parser.exit_counts().items() if n > 1}
        self.branches = {(line, to) for line, ends in self.exits.items() for to in ends}
        self.marks = []

    def _number(self, start, to):
        self.marks.append((start, to))
        return len(self.marks) - 1

    def _mark(self, start, to):
        return ast.parse("{}[{}] = 1".format(NAME, self._number(start, to))).body[0]

    def _marked(self, body):
        """The statements of a suite, each behind its mark."""
        at = _after_docstring(body)
        marked = body[:at]
        for node in body[at:]:
            lines = [d.lineno for d in getattr(node, "decorator_list", ())] + [node.lineno]
            for line in {self.first_line(line) for line in lines} & self.statements:
                marked.append(self._mark(_ENTRY, line))
            marked.append(self.visit(node))
        return marked

    def visit_suites(self, node):
        for field in ("body", "orelse", "finalbody"):
            # A conditional expression and a lambda have fields of these names that are no suites.
            if isinstance(getattr(node, field, None), list):
                setattr(node, field, self._marked(getattr(node, field)))
        for handler in getattr(node, "handlers", ()):
            self.visit(handler)
        return node

    visit_Module = visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = visit_suites
    visit_With = visit_AsyncWith = visit_Try = visit_suites

    def visit_ExceptHandler(self, node):
        line = self.first_line(node.lineno)
        if line in self.statements:
            n = self._number(_ENTRY, line)
            if node.type is None:
                node.body.insert(0, ast.parse("{}[{}] = 1".format(NAME, n)).body[0])
                node.body[1:] = self._marked(node.body[1:])
                return node
            # Looked at when an exception comes by, whether it is caught here or not.
            call = ast.parse("{}at({}, None)".format(NAME, n), mode="eval").body
            call.args[1] = node.type
            node.type = call
        return self.visit_suites(node)

    def visit_branch(self, node):
        line = self.first_line(node.lineno)
        ends = self.exits.get(line)
        first = node.body[_after_docstring(node.body)]
        starts = [d.lineno for d in getattr(first, "decorator_list", ())] + [first.lineno]
        self.visit_suites(node)
        if ends is not None:
            inside = self.first_line(min(starts))
            # Taken, and (of an if) not taken or (of a loop) ended otherwise than by break.
            (outside,) = ends - {inside}
            node.body.insert(0, self._mark(line, inside))
            node.orelse.insert(0, self._mark(line, outside))
        return node

    visit_If = visit_While = visit_For = visit_AsyncFor = visit_branch

    def generic_visit(self, node):
        return node  # nothing below another statement is a statement
