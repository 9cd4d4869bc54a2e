"""Leaky bucket as a meter: units fill a bucket of `burst`, which leaks `limit` per `period`.

It refuses what would spill over; it holds nothing back (that would be a queue). Scaled as the
token bucket, whose mirror it is. State: level (scaled), the period it is scaled by, time of the
last write (ms).
"""

from .base import NEVER, Limit, Taken


def take(state: tuple[int, int, int] | None, limit: Limit, cost: int, now: int, /) -> Taken:
    """See `Algorithm.take`."""
    leak, period, burst = limit
    brim = burst * period
    level, ahead = 0, False
    if state is not None:
        level, scale, last = state
        if scale != period:
            # The period was edited: keep the whole units that are in the bucket.
            level = level // scale * period + min(level % scale, period - 1)
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


def expires(state: tuple[int, int, int], limit: Limit, /) -> int:
    """See `Algorithm.expires`."""
    level, _, last = state
    return last - level // -limit.limit
