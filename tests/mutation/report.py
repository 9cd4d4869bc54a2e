"""docs/mutants.md: how many of each file, and every survivor with its argument."""

from collections import Counter
from collections.abc import Iterable, Mapping

from .mutant import FILES
from .trial import Outcome

HEAD = """# Mutants

Do the tests notice a wrong program? `make mutants` makes every small change that its generators
know, at every place of what decides: the algorithms in Python and in Lua, the stores, and the seam
between them. A comparison becomes its neighbour or its opposite, `+` becomes `-`, `*` becomes a
division, `min` becomes `max`, `floor` becomes `ceil`, `and` becomes `or`; a number is one more or
one less; two arguments or results change places; an assignment, a call of Redis, its expiry, a lock
is left out. Each mutant then has to pass parts of `make test`: the histories of
`tests/algorithms/telling.py`, and if it does, the tests of the stores. It is killed when one of
them fails, or runs on and on.

This page is written by that command, which fails below 95 % and for a survivor without an argument.

| File | generated | killed | survived | killed |
| --- | ---: | ---: | ---: | ---: |
"""


def report(outcomes: Iterable[Outcome], reasons: Mapping[str, str]) -> str:
    """The page."""
    outcomes = list(outcomes)
    generated = Counter(each.mutant.file for each in outcomes)
    killed = Counter(each.mutant.file for each in outcomes if each.killer is not None)
    rows = [_row(f"`{file}`", generated[file], killed[file]) for file in FILES]
    rows.append(_row("**all**", generated.total(), killed.total()))
    return HEAD + "\n".join(rows) + "\n" + _survivors(outcomes, reasons)


def _row(name: str, generated: int, killed: int) -> str:
    # Cut, not rounded: 94.99 must not read as 95.0.
    share = 1000 * killed // generated / 10
    return f"| {name} | {generated} | {killed} | {generated - killed} | {share} % |"


def _survivors(outcomes: list[Outcome], reasons: Mapping[str, str]) -> str:
    by_reason: dict[str, list[str]] = {}
    for mutant, killer in outcomes:
        if killer is None:
            line = f"- {mutant.file}:{mutant.line} {mutant.change}"
            by_reason.setdefault(reasons.get(mutant.name, "**No argument.**"), []).append(line)
    parts = [f"\n{reason}\n\n" + "\n".join(lines) + "\n" for reason, lines in by_reason.items()]
    return "\n## Survivors\n" + "".join(parts)
