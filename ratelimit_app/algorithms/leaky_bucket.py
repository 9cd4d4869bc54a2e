"""Leaky bucket as a meter: units fill a bucket of `burst`, which leaks `limit` per `period`.

It refuses what would spill over; it holds nothing back (that would be a queue). Scaled as the
token bucket, whose mirror it is. State: level (scaled), the period it is scaled by, time of the
last write (ms).
"""

from .base import NEVER, Given, Limit, Taken


def take(state: tuple[int, int, int] | None, limit: Limit, cost: int, now: int, /) -> Taken:
    """See `Algorithm.take`."""
    leak, period, burst = limit
    brim = burst * period
    level, ahead = 0, False
    if state is not None:
        level, scale, last = state
        if scale != period:
            level = _rescaled(level, scale, period)
        level = min(level, brim)
        if last > now:
            ahead = True
        else:
            level = max(0, level - (now - last) * leak)
    rest = (brim - level) // period
    if cost <= rest:
        level += cost * period
        spent = (level, period, now) if cost else None
        return spent, True, rest - cost, 0, -(level // -leak)
    mended = (level, period, now) if ahead else None
    wait = NEVER if cost > burst else -((level + cost * period - brim) // -leak)
    return mended, False, rest, wait, -(level // -leak)


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

    Once all that was in the bucket after the take has leaked, none of these units is in it.
    """
    leak, period, burst = limit
    if state is None:
        return None
    level, scale, last = state
    brim, cost = burst * period, min(cost, burst) * period
    # At least; the wait was rounded up.
    after = max(cost, min((reset - 1) * leak + 1, brim))
    back = min(cost, after - (last - since) * leak)
    if back <= 0:
        return None
    level = max(0, min(_rescaled(level, scale, period), brim) - back)
    left = max(0, level - max(0, now - last) * leak)
    return (level, period, last), -(left // -leak)


def expires(state: tuple[int, int, int], limit: Limit, /) -> int:
    """See `Algorithm.expires`."""
    level, _, last = state
    return last - level // -limit.limit


def _rescaled(level: int, scale: int, period: int) -> int:
    """After an edit of the period: the whole units that are in the bucket are kept."""
    return level // scale * period + min(level % scale, period - 1)
