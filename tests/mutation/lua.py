"""Mutants of Lua: the same operators by tokens, and the calls of Redis left out."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

from .mutant import Mutant
from .tokens import Token, call_end, expressions, tokens

#: A piece of the text to replace, from and to, and what by.
Change: TypeAlias = tuple[int, int, str]

OPERATORS = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("~=",),
    "~=": ("==",),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "%": ("/",),
    "^": ("*",),
    "and": ("or",),
    "or": ("and",),
    "not": ("",),
    "true": ("false",),
    "false": ("true",),
    "floor": ("ceil",),
    "ceil": ("floor",),
    "min": ("max",),
    "max": ("min",),
}
LITERALS = {"string": "string", "number": "number"}
COMPARISONS = {"<", "<=", ">", ">=", "==", "~=", "not"}


def lua_mutants(
    file: str, source: str, text: str | None = None, offset: int = 0
) -> Iterator[Mutant]:
    """Every mutant of a script, or of the script `text` that stands at `offset` in a file."""
    text = source if text is None else text
    for start, end, new in _changes(tokens(text)):
        if text[start:end] == new:
            continue
        mutated = text[:start] + new + text[end:]
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", end) if "\n" in text[end:] else len(text)
        before, after = text[first:last], text[first:start] + new + text[end:last]
        change = f"`{' '.join(before.split())}` → `{' '.join(after.split())}`"
        line = source.count("\n", 0, offset + start) + 1
        whole = source[:offset] + mutated + source[offset + len(text) :]
        yield Mutant(file, line, change, whole)


def seam_mutants(file: str, source: str) -> Iterator[Mutant]:
    """The mutants of Lua that stands in a module of Python as a string."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and str(node.value).startswith("\nlocal function"):
            text = str(node.value)
            yield from lua_mutants(file, source, text, source.index(text))


def _changes(found: list[Token]) -> Iterator[Change]:
    for at, token in enumerate(found):
        if token.kind == "number":
            for step in (1, -1):
                yield token.start, token.end, str(int(token.text) + step)
        elif token.kind == "string":
            if token.text == "'PX'":
                yield found[at - 1].start, found[at + 1].end + len(" ms"), ""
        elif token.text in OPERATORS:
            new = ("",) if token.text == "-" and not _ends_operand(found, at) else None
            for other in new or OPERATORS[token.text]:
                yield token.start, token.end, other
            if token.text in ("floor", "ceil"):
                # The rounding left out.
                yield found[at - 2].start, token.end, ""
        yield from _swaps(found, at)
        yield from _statements(found, at)
        yield from _conditions(found, at)


def _ends_operand(found: list[Token], at: int) -> bool:
    """Whether the minus at `at` has something on its left."""
    before = found[at - 1]
    return before.is_operand or before.text in (")", "]", "}")


def _swaps(found: list[Token], at: int) -> Iterator[Change]:
    """Two neighbours of a list change places: arguments, results, the right side of `=`."""
    token, before = found[at], found[at - 1] if at else None
    if token.text == "(":
        if before is None or not before.is_operand or before.text in ("min", "max"):
            return
        if found[at - 2].text == "function":
            return
    elif token.text not in ("{", "return", "="):
        return
    listed = expressions(found, at + 1)
    for (low, high), (low2, high2) in pairwise(listed):
        kinds = _literal(found[low:high]), _literal(found[low2:high2])
        if kinds[0] != kinds[1] and ("string" in kinds or None not in kinds):
            continue
        left = found[low].start, found[high - 1].end
        right = found[low2].start, found[high2 - 1].end
        text = found[at].source
        between = text[left[1] : right[0]]
        yield left[0], right[1], text[slice(*right)] + between + text[slice(*left)]


def _literal(part: list[Token]) -> str | None:
    """The kind of a literal; None for anything else."""
    if len(part) > 1 or part[0].kind == "sign":
        return None
    return "boolean" if part[0].text in ("true", "false") else LITERALS.get(part[0].kind)


def _statements(found: list[Token], at: int) -> Iterator[Change]:
    """Assignments, calls that stand alone, and early returns, left out."""
    token = found[at]
    if token.text == "=":
        start = at
        while found[start - 1].is_operand or found[start - 1].text in (",", "]"):
            start = _target(found, start)
            if found[start - 1].text != ",":
                break
        before = found[start - 1].text if start else ""
        if before == "for":
            return
        end = found[expressions(found, at + 1)[-1][1] - 1].end
        # A local without its value is nil; without its name it would be another error altogether.
        yield token.start if before == "local" else found[start].start, end, ""
    elif token.starts_statement and token.is_operand:
        closes = call_end(found, at)
        if closes is not None:
            yield token.start, found[closes].end, ""
    elif token.text == "return" and found[at + 1].text in ("end", "else", "elseif"):
        yield token.start, token.end, ""
    elif token.text == "call" and found[at + 1].text == "(":
        yield from _calls(found, at)


def _calls(found: list[Token], at: int) -> Iterator[Change]:
    """A call of Redis that is asked for its answer, without one."""
    start, closes = found[at - 2], call_end(found, at - 2)
    if closes is not None and not start.starts_statement:
        yield start.start, found[closes].end, "false"


def _target(found: list[Token], at: int) -> int:
    """Where the name begins that is assigned to, before the token at `at`; a comma is passed."""
    at -= 1
    if found[at].text == ",":
        at -= 1
    if found[at].text == "]":
        while found[at].text != "[":
            at -= 1
        at -= 1
    while found[at - 1].text == ".":
        at -= 2
    return at


def _conditions(found: list[Token], at: int) -> Iterator[Change]:
    """A condition turned round, where no comparison in it is turned round already."""
    if found[at].text in ("if", "elseif", "while"):
        ((low, high),) = expressions(found, at + 1)
        part = found[low:high]
        if not COMPARISONS & {token.text for token in part}:
            start, end = part[0].start, part[-1].end
            yield start, end, f"not ({found[at].source[start:end]})"
