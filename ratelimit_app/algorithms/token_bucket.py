"""Token bucket: `burst` tokens, refilled at `limit` per `period`; a unit takes a token.

A token is `period` scaled units and each millisecond refills `limit` of them, so all arithmetic
is whole. The state keeps what is missing, not what is there: a raised burst is then free at once
and what was spent stays spent. State: missing (scaled), the period it is scaled by, time of the
last write (ms).
"""

from .base import NEVER, Given, Limit, Taken


def take(state: tuple[int, int, int] | None, limit: Limit, cost: int, now: int, /) -> Taken:
    """See `Algorithm.take`."""
    rate, period, burst = limit
    full = burst * period
    missing, ahead = 0, False
    if state is not None:
        missing, scale, last = state
        if scale != period:
            missing = _rescaled(missing, scale, period)
        missing = min(missing, full)
        if last > now:
            ahead = True
        else:
            missing = max(0, missing - (now - last) * rate)
    if cost <= burst and missing + cost * period <= full:
        missing += cost * period
        spent = (missing, period, now) if cost else None
        return spent, True, (full - missing) // period, 0, -(missing // -rate)
    mended = (missing, period, now) if ahead else None
    wait = NEVER if cost > burst else -((missing + cost * period - full) // -rate)
    return mended, False, (full - missing) // period, wait, -(missing // -rate)


def give(
    state: tuple[int, int, int] | None,
    limit: Limit,
    cost: int,
    now: int,
    since: int,
    reset: int,
    /,
) -> Given | None:
    """See `Algorithm.give`.

    Once all that was missing after the take has been refilled, none of these units is missing.
    """
    rate, period, burst = limit
    if state is None:
        return None
    missing, scale, last = state
    full, cost = burst * period, min(cost, burst) * period
    # At least; the wait was rounded up.
    after = max(cost, min((reset - 1) * rate + 1, full))
    back = min(cost, after - (last - since) * rate)
    if back <= 0:
        return None
    missing = max(0, min(_rescaled(missing, scale, period), full) - back)
    left = max(0, missing - max(0, now - last) * rate)
    return (missing, period, last), -(left // -rate)


def expires(state: tuple[int, int, int], limit: Limit, /) -> int:
    """See `Algorithm.expires`."""
    missing, _, last = state
    return last - missing // -limit.limit


def _rescaled(missing: int, scale: int, period: int) -> int:
    """After an edit of the period: the whole tokens that were spent are kept."""
    return missing // scale * period + min(missing % scale, period - 1)
