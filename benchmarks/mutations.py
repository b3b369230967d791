"""Small faults put into a module, one at a time: which there are, and the module with one of them.

A mutant is known by its statement before and after, as :func:`ast.unparse` writes them, and by the
function it stands in, so that it keeps its name when lines move or are broken differently.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Mutant", "mutants_of", "mutated"]

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}

#: Functions and methods that are easily mistaken for each other.
TWINS = [
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("floor", "ceil"),
    ("zeros", "ones"),
]
TWIN = {one: other for pair in TWINS for one, other in (pair, pair[::-1])}

#: Functions without which their argument is left as it is.
UNWRAPPED = {"abs", "sorted"}

#: Where nothing is mutated: types, and how a number is printed.
SKIPPED = {"annotation", "returns", "format_spec", "type_comment", "ctx", "type_params"}


@dataclass(frozen=True)
class Mutant:
    """One fault, in a statement from one line to another.

    ``within`` is the function it stands in, ``body_of`` the function that is not itself in a function
    and whose body holds it: none if the fault is in what import runs.
    """

    number: int
    within: str
    body_of: str | None
    lines: tuple[int, int]
    line: str
    becomes: str


@dataclass(frozen=True)
class _Place:
    """Where a node hangs in the tree, and the statement and the function around it."""

    parent: ast.AST
    field: str
    index: int | None
    statement: ast.AST
    within: str
    body_of: str | None

    def put(self, node: Any) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def mutants_of(source: str) -> list[Mutant]:
    """All mutants of a module's text, numbered; of several that read alike only the first.

    >>> for mutant in mutants_of("def f(x):\\n    return x < 3"):
    ...     print(mutant.within, "|", mutant.line, "|", mutant.becomes)
    f | return x < 3 | return None
    f | return x < 3 | return x <= 3
    f | return x < 3 | return x >= 3
    f | return x < 3 | return x < 4
    f | return x < 3 | return x < 2
    """
    found: list[Mutant] = []
    seen: set[tuple[int, str]] = set()
    for number, (place, node, new) in enumerate(_edits(ast.parse(source))):
        line = _head(place.statement)
        place.put(new)
        becomes = _head(new if node is place.statement else place.statement)
        place.put(node)
        if becomes != line and (id(place.statement), becomes) not in seen:
            seen.add((id(place.statement), becomes))
            lines = _lines(place.statement)
            found.append(Mutant(number, place.within, place.body_of, lines, line, becomes))
    return found


def mutated(source: str, number: int | None) -> ast.Module:
    """The module with one mutant; with None as it is."""
    tree = ast.parse(source)
    for at, (place, _, new) in enumerate(_edits(tree)):
        if at == number:
            place.put(new)
            break
    return ast.fix_missing_locations(tree)


def _head(statement: ast.AST) -> str:
    """A statement without the statements in it, on one line."""
    head = copy.copy(statement)
    for name in ("body", "orelse", "finalbody", "handlers"):
        if isinstance(getattr(head, name, None), list):
            setattr(head, name, [])
    return " ".join(ast.unparse(ast.fix_missing_locations(head)).split())


def _lines(statement: Any) -> tuple[int, int]:
    """From where to where a statement reaches, without the statements in it."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    last = max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno
    return statement.lineno, last


def _edits(tree: ast.Module) -> Iterator[tuple[_Place, ast.AST, ast.AST | None]]:
    """Every place with its node and what else could stand there, always in the same order.

    The tree may be changed at the place while the iterator waits.
    """
    for place, node, bound in _places(tree, _Place(tree, "", None, tree, "", None), set()):
        for new in _variants(node, bound=bound, place=place):
            if isinstance(new, ast.AST) and isinstance(node, ast.expr | ast.stmt):
                ast.copy_location(new, node)
            yield place, node, new


def _places(node: ast.AST, here: _Place, bound: set[str]) -> Iterator[tuple[_Place, ast.AST, set[str]]]:
    """All nodes below a node that may be mutated; ``bound`` are the names its function has set so far."""
    for name, value in ast.iter_fields(node):
        if name in SKIPPED:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_text(child):
                continue
            place = replace(here, parent=node, field=name, index=index)
            if isinstance(child, ast.stmt | ast.ExceptHandler):
                place = replace(place, statement=child)
            names = bound
            inner = place
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                names = _arguments(child)
                inner = replace(place, within=f"{here.within}.{child.name}".lstrip("."))
            if isinstance(node, ast.FunctionDef) and name == "body":
                body_of = here.body_of or here.within
                place, inner = replace(place, body_of=body_of), replace(inner, body_of=body_of)
            yield place, child, names
            if name != "decorator_list":
                yield from _places(child, inner, names)
            if isinstance(child, ast.stmt) and not isinstance(child, ast.FunctionDef | ast.ClassDef):
                bound |= {n.id for n in ast.walk(child) if isinstance(n, ast.Name) and _is_set(n)}


def _is_text(node: ast.AST) -> bool:
    """Docstrings and the dots of a protocol."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_set(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _arguments(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    return (
        {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
        if isinstance(node, ast.FunctionDef)
        else set()
    )


def _variants(node: ast.AST, *, bound: set[str], place: _Place) -> Iterator[ast.AST | None]:
    """What else could stand in the place of a node."""
    if isinstance(node, ast.stmt):
        yield from _statements(node, bound)
    elif isinstance(node, ast.ExceptHandler):
        yield from _handlers(node)
    elif isinstance(node, ast.expr):
        if _is_condition(place):
            yield from _conditions(node, may_loop=not isinstance(place.parent, ast.While))
        if isinstance(node, ast.BinOp) and place.body_of is None:
            return  # types that are written with |
        yield from _expressions(node)
        if isinstance(place.parent, ast.Slice) and place.field in ("lower", "upper"):
            yield None


def _is_condition(place: _Place) -> bool:
    return place.field == "test" or (isinstance(place.parent, ast.comprehension) and place.field == "ifs")


def _conditions(node: ast.expr, *, may_loop: bool) -> Iterator[ast.expr]:
    single = isinstance(node, ast.Compare) and len(node.ops) == 1
    if not single and not (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        yield ast.UnaryOp(ast.Not(), node)
    if may_loop:
        yield ast.Constant(True)
    yield ast.Constant(False)


def _statements(node: ast.stmt, bound: set[str]) -> Iterator[ast.stmt]:
    if isinstance(node, ast.Return) and node.value is not None:
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Raise):
        yield ast.Pass()
        if isinstance(node.exc, ast.Call):
            yield ast.Raise(ast.Call(ast.Name("Exception", ast.Load()), node.exc.args, []), node.cause)
    elif isinstance(node, ast.Expr | ast.Continue | ast.Break):
        yield ast.Pass()
    elif isinstance(node, ast.AugAssign):
        yield ast.Pass()
        if type(node.op) in OPERATORS:
            yield ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value)
    elif isinstance(node, ast.Assign) and all(_is_known(target, bound) for target in node.targets):
        yield ast.Pass()


def _is_known(target: ast.expr, bound: set[str]) -> bool:
    """Whether the function goes on without this assignment: the target has a value already."""
    if isinstance(target, ast.Tuple):
        return all(_is_known(part, bound) for part in target.elts)
    return target.id in bound if isinstance(target, ast.Name) else True


def _handlers(node: ast.ExceptHandler) -> Iterator[ast.ExceptHandler]:
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else []
    others = [ast.Tuple([k for k in kinds if k is not kind], ast.Load()) for kind in kinds]
    for kind in [*others, ast.Name("Exception", ast.Load())]:
        handler = ast.ExceptHandler(kind, node.name, node.body)
        yield ast.copy_location(handler, node)


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left, ops, comparators):
            for at, op in enumerate(ops):
                for new in COMPARISONS[type(op)]:
                    yield ast.Compare(left, [*ops[:at], new(), *ops[at + 1 :]], comparators)
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(float(value)):
            yield from (ast.Constant(value * 2 or 1.0), ast.Constant(value / 2))
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            yield ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for value in values:
                rest = [other for other in values if other is not value]
                yield ast.BoolOp(op, rest) if len(rest) > 1 else rest[0]
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield operand
        case ast.Call():
            yield from _calls(node)
        case _:
            pass


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in TWIN:
        other = copy.copy(node.func)
        setattr(other, "attr" if isinstance(other, ast.Attribute) else "id", TWIN[name])
        yield ast.Call(other, node.args, node.keywords)
    if name in UNWRAPPED and len(node.args) == 1:
        yield node.args[0]
    for keyword in node.keywords:
        if keyword.arg is not None:
            yield ast.Call(node.func, node.args, [k for k in node.keywords if k is not keyword])
