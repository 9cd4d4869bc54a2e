"""The one reader of rates as text, such as `5/m` and `10/2h`, for settings and decorators."""

import re

#: Seconds of a unit. A month is no fixed time, and `M` could be a minute too, so neither is known.
UNITS = {
    "s": 1,
    "m": 60,
    "h": 3600,
    "d": 86400,
    "w": 604800,
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86400,
    "week": 604800,
}

_RATE = re.compile(r"([0-9]{1,18})/([0-9]{1,9})?([a-z]+)")


def parse_rate(text: str) -> tuple[int, int]:
    """Limit and period (seconds) of `N/[n]unit`. Raises `ValueError`, naming the text and the fix.

    A limit of 0 refuses everything. Nothing is guessed: capitals, blanks, months, fractions and
    signs are refused.
    """
    found = _RATE.fullmatch(text)
    if found is None or found[3] not in UNITS or int(found[2] or 1) == 0:
        raise ValueError(
            f"The rate {text!r} cannot be read; write a number, a slash, and one of "
            f"{', '.join(UNITS)}, with a number before it if need be: '5/m', '10/2h'."
        )
    return int(found[1]), int(found[2] or 1) * UNITS[found[3]]
