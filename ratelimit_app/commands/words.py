"""Policies, keys and times in words, and tables, for people at a terminal."""

import json
from collections.abc import Sequence
from decimal import Decimal

from ratelimit_app.algorithms import Decision, Limit
from ratelimit_app.keys import KEYS
from ratelimit_app.policies import CompiledPolicy

_UNITS = {
    1_000: "second",
    60_000: "minute",
    3_600_000: "hour",
    86_400_000: "day",
    604_800_000: "week",
}


def limit_words(limit: Limit) -> str:
    """`100 per minute`, `5 per 90 s, 10 at once`."""
    if not limit.limit:
        return "0 (refuses everything)"
    period = _UNITS.get(limit.period) or f"{Decimal(limit.period) / 1000:f} s"
    burst = "" if limit.burst == limit.limit else f", {limit.burst} at once"
    return f"{limit.limit} per {period}{burst}"


def key_kind(policy: CompiledPolicy) -> str:
    """The kind of key, as the admin calls it."""
    return next(kind for kind, key in KEYS.items() if key is policy.key)


def key_words(policy: CompiledPolicy) -> str:
    """`ip`, `header X-API-Key`."""
    return f"{key_kind(policy)} {policy.key_name}".rstrip()


def where_words(policy: CompiledPolicy) -> str:
    """`POST /api/**`, `shop:*`, or where code names it."""
    return f"{','.join(sorted(policy.methods))} {policy.path or 'where code names it'}".lstrip()


def seconds(value: float) -> str:
    """`12.5 s`: whole milliseconds, without zeros that say nothing."""
    digits = f"{value:.3f}".rstrip("0").rstrip(".")
    return f"{digits} s"


def left_words(decision: Decision) -> str:
    """`3 of 10`."""
    return f"{'?' if decision.remaining is None else decision.remaining} of {decision.limit}"


def shown(text: str) -> str:
    """A text from outside, safe on any terminal: quoted and escaped unless it is plain."""
    return text if text.isascii() and text.isprintable() and text else json.dumps(text)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side; the first row is the heading."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
