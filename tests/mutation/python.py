"""Mutants of Python: every operator at every place of the syntax tree.

Left alone are annotations, protocols, docstrings, strings and the names a module exports. Not
counted: the arguments of `min` and `max` swapped, which changes nothing, and literals swapped with
those of another type, or a string with anything else, over which most calls would trip.
"""

import ast
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from .mutant import Mutant

#: Changes a node of a fresh tree in place.
Change: TypeAlias = Callable[[Any], None]

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
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
OPPOSITE = {"min": "max", "max": "min"}
STATEMENTS = (ast.Assign, ast.AugAssign, ast.Expr, ast.Delete, ast.Continue, ast.Break)


def python_mutants(file: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a module."""
    for index, place in enumerate(_places(ast.parse(source))):
        for change in _changes(place.node, place.scope):
            tree = ast.parse(source)
            new = _places(tree)[index]
            shown = new.parent if isinstance(new.node, ast.Constant | ast.Name) else new.node
            before = _told(shown)
            change(new.node)
            if (after := _told(shown)) != before:
                text = f"{place.scope or 'module'}: `{before}` → `{after}`"
                line = getattr(place.node, "lineno", 0)
                yield Mutant(file, line, text, ast.unparse(ast.fix_missing_locations(tree)))


class _Place(NamedTuple):
    """A node that may be changed, what it is part of, and the function or class it stands in."""

    node: ast.AST
    parent: ast.AST
    scope: str


def _told(node: ast.AST) -> str:
    if isinstance(node, ast.With | ast.If | ast.While):
        head = ast.unparse(node).splitlines()[0]
        return "unguarded" if head == "if True:" else head
    return " ".join(ast.unparse(node).split())


def _places(tree: ast.Module) -> list[_Place]:
    found: list[_Place] = []

    def visit(node: ast.AST, parent: ast.AST, scope: str) -> None:
        if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(b) for b in node.bases):
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope = f"{scope}.{node.name}" if scope else node.name
        elif _is_only_told(node):
            return
        else:
            found.append(_Place(node, parent, scope))
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, node, scope)

    visit(tree, tree, "")
    return found


def _is_only_told(node: ast.AST) -> bool:
    """Docstrings and `...`, imports, and the lists of names."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        return any(isinstance(each, ast.Name) and each.id[:2] == "__" for each in node.targets)
    if isinstance(node, ast.AnnAssign):
        return node.value is None or "TypeAlias" in ast.unparse(node.annotation)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Global)


def _changes(node: ast.AST, scope: str) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=ops):
            for at, comparison in enumerate(ops):
                for new in COMPARISONS[type(comparison)]:
                    yield _set("ops", [*ops[:at], new(), *ops[at + 1 :]])
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in ARITHMETIC:
            yield _set("op", ARITHMETIC[type(operator)]())
        case ast.BoolOp(op=junction):
            yield _set("op", ast.Or() if isinstance(junction, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield lambda new: _become(new, new.operand)
        case ast.Constant(value=bool(value)):
            yield _set("value", not value)
        case ast.Constant(value=int(value)):
            yield from (_set("value", value + step) for step in (1, -1))
        case ast.Name(id="min" | "max" as name):
            yield _set("id", OPPOSITE[name])
        case ast.Call(func=func, args=items):
            if not (isinstance(func, ast.Name) and func.id in OPPOSITE):
                yield from _swaps("args", items)
        case ast.Tuple(elts=items, ctx=ast.Load()):
            yield from _swaps("elts", items)
        case ast.With():
            yield lambda new: _become(new, ast.If(ast.Constant(True), new.body, []))
    if isinstance(node, STATEMENTS) and scope:
        yield lambda new: _become(new, ast.Pass())
    if isinstance(node, ast.Return) and node.value is None:
        yield lambda new: _become(new, ast.Pass())
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not _compares(node.test):
        yield lambda new: setattr(new, "test", ast.UnaryOp(ast.Not(), new.test))


def _compares(test: ast.expr) -> bool:
    """Whether a condition is turned round already, by its comparison or by its `not`."""
    return isinstance(test, ast.Compare) or (
        isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    )


def _set(field: str, value: object) -> Change:
    return lambda node: setattr(node, field, value)


def _swaps(field: str, items: list[ast.expr]) -> Iterator[Change]:
    """Neighbours change places."""

    def swap(node: ast.AST, at: int) -> None:
        new = getattr(node, field)
        new[at], new[at + 1] = new[at + 1], new[at]

    for at, (left, right) in enumerate(pairwise(map(_literal, items))):
        if left == right or (str not in (left, right) and not (left and right)):
            yield partial(swap, at=at)


def _literal(item: ast.expr) -> type | None:
    return type(item.value) if isinstance(item, ast.Constant) else None


def _become(node: ast.AST, other: ast.AST) -> None:
    node.__class__, node.__dict__ = other.__class__, other.__dict__
