"""Fixed window: at most `limit` units in each window of `period`, windows aligned to the epoch.

State: start of the window (ms), units counted in it.
"""

from .base import NEVER, Limit, Taken


def take(state: tuple[int, int] | None, limit: Limit, cost: int, now: int, /) -> Taken:
    """See `Algorithm.take`."""
    most, period, _ = limit
    opened = now - now % period
    closes = opened + period - now
    count, ahead = 0, False
    if state is not None:
        start, counted = state
        # A window from the future (the clock stepped back) counts as this one.
        ahead = start > now
        if start >= opened:
            count = min(counted, most)
    if cost == 0 or count + cost <= most:
        count += cost
        spent = (opened, count) if cost else None
        return spent, True, most - count, 0, closes if count else 0
    mended = (opened, count) if ahead else None
    wait = NEVER if cost > most else closes
    return mended, False, most - count, wait, closes if count else 0


def expires(state: tuple[int, int], limit: Limit, /) -> int:
    """See `Algorithm.expires`."""
    return state[0] + limit.period
