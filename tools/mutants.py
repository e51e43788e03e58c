"""The mutants of a source file: every text that one small change makes of it.

The changes are cosmic-ray's operators, those that make sense for this code, and two of our own: a
statement left out, and what stands under an `else` left out.
"""

import ast

import parso
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import OPERATOR_PROVIDERS

# Replacements that differ from the original in the least way; `+` by `**` tells nothing more.
_WANTED = """
AddNot
ReplaceAndWithOr ReplaceOrWithAnd ReplaceTrueWithFalse ReplaceFalseWithTrue
ReplaceBreakWithContinue ReplaceContinueWithBreak
ReplaceUnaryOperator_Delete_Not ReplaceUnaryOperator_USub_UAdd
ReplaceBinaryOperator_Add_Sub ReplaceBinaryOperator_Sub_Add ReplaceBinaryOperator_Mul_Add
ReplaceBinaryOperator_Mod_Add ReplaceBinaryOperator_FloorDiv_Mul
ReplaceComparisonOperator_Eq_NotEq ReplaceComparisonOperator_NotEq_Eq
ReplaceComparisonOperator_Lt_LtE ReplaceComparisonOperator_LtE_Lt
ReplaceComparisonOperator_Gt_GtE ReplaceComparisonOperator_GtE_Gt
ReplaceComparisonOperator_Lt_GtE ReplaceComparisonOperator_Gt_LtE
ReplaceComparisonOperator_Is_IsNot ReplaceComparisonOperator_IsNot_Is
NumberReplacer
""".split()

_LEFT = "pass_stmt import_name import_from global_stmt nonlocal_stmt string strings".split()


class DeleteStatement(Operator):
    """Puts `pass` in the place of a statement inside a function."""

    def mutation_positions(self, node):
        if node.type != "simple_stmt" or node.children[0].type in _LEFT:
            return
        function = parso.python.tree.search_ancestor(node, "funcdef")
        # A function returns None at its end, be that said or not.
        if function and (node.get_code().strip() != "return None" or not _is_last(node, function)):
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        new = parso.parse("pass\n").children[0]
        new.get_first_leaf().prefix = node.get_first_leaf().prefix
        return new

    @classmethod
    def examples(cls):
        return ()


def _is_last(statement, function):
    return statement.get_last_leaf().end_pos == function.get_last_leaf().end_pos


class SkipBranch(Operator):
    """Puts `pass` in the place of what stands under an `else`."""

    def mutation_positions(self, node):
        if node.type == "suite":
            before = node.get_previous_sibling()
            before = before and before.get_previous_sibling()
            if before is not None and before.type == "keyword" and before.value == "else":
                yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        indent = " " * node.children[1].get_first_leaf().start_pos[1]
        return parso.parse("if 1:\n{}pass\n".format(indent)).children[0].children[-1]

    @classmethod
    def examples(cls):
        return ()


def _operators():
    core = OPERATOR_PROVIDERS["core"]
    for name in _WANTED:
        yield name, core[name]()
    yield "DeleteStatement", DeleteStatement()
    yield "SkipBranch", SkipBranch()


def mutants(source):
    """Yield (operator, number of the first changed line, its new text, mutated source)."""
    seen = {source}
    old = source.splitlines()
    for before, head, block, behind in _blocks(source):
        for name, operator in _operators():
            occurrence = 0
            while True:
                mutated = mutate_code(head + block, operator, occurrence)
                occurrence += 1
                if mutated is None:
                    break
                mutated = before + mutated[len(head):] + behind
                if mutated in seen or not _compiles(mutated):
                    continue
                seen.add(mutated)
                new = mutated.splitlines()
                line = next((i for i in range(min(len(old), len(new))) if old[i] != new[i]), None)
                if line is not None:
                    text = new[line].strip()
                    while not old[line].strip():
                        line += 1  # what was changed is what stood behind the empty lines
                    yield name, line + 1, text, mutated


# The statements of a module and of its classes, with what stands before and behind each, and a
# line to put before it so that it can be parsed: the tool parses its text anew for each mutant,
# and a small one is parsed soon.
def _blocks(source):
    lines = source.splitlines(keepends=True)
    start = 0
    for node in ast.parse(source).body:
        head = ""
        for part in node.body if isinstance(node, ast.ClassDef) else [node]:
            end = part.end_lineno
            yield ("".join(lines[:start]), head, "".join(lines[start:end]), "".join(lines[end:]))
            start = end
            head = "class _:\n"


def _compiles(source):
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True
