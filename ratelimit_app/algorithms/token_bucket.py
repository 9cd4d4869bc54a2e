"""Token bucket: `burst` tokens, refilled at `limit` per `period`; a unit takes a token.

A token is `period` scaled units and each millisecond refills `limit` of them, so all arithmetic
is whole. The state keeps what is missing, not what is there: a raised burst is then free at once
and what was spent stays spent. State: missing (scaled), the period it is scaled by, time of the
last write (ms).
"""

from .base import NEVER, Limit, Taken


def take(state: tuple[int, int, int] | None, limit: Limit, cost: int, now: int, /) -> Taken:
    """See `Algorithm.take`."""
    rate, period, burst = limit
    full = burst * period
    missing, ahead = 0, False
    if state is not None:
        missing, scale, last = state
        if scale != period:
            # The period was edited: keep the whole tokens that were spent.
            missing = missing // scale * period + min(missing % scale, period - 1)
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


def expires(state: tuple[int, int, int], limit: Limit, /) -> int:
    """See `Algorithm.expires`."""
    missing, _, last = state
    return last - missing // -limit.limit
