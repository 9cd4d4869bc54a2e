"""Fixed window: at most `limit` units in each window of `period`, windows aligned to the epoch.

State: start of the window (ms), units counted in it.
"""

from .base import NEVER, Given, Limit, Taken


def take(state: tuple[int, int] | None, limit: Limit, cost: int, now: int, /) -> Taken:
    """See `Algorithm.take`."""
    most, period, _ = limit
    opened = now - now % period
    closes = opened + period - now
    begun, count, ahead = opened, 0, False
    if state is not None:
        start, counted = state
        # A window from the future (the clock stepped back) counts as this one.
        ahead = start > now
        if start >= opened:
            count = min(counted, most)
            if not ahead:
                # Never set back: who has yet to hear of an edited period would take an earlier
                # start for a window that is over.
                begun = start
    if count + cost <= most:
        count += cost
        spent = (begun, count) if cost else None
        return spent, True, most - count, 0, closes if count else 0
    mended = (begun, count) if ahead else None
    wait = NEVER if cost > most else closes
    return mended, False, most - count, wait, closes if count else 0


def give(
    state: tuple[int, int] | None, limit: Limit, cost: int, now: int, since: int, _reset: int, /
) -> Given | None:
    """See `Algorithm.give`: only in the window in which they were taken."""
    most, period, _ = limit
    opened = now - now % period
    closes = opened + period
    if state is None or state[0] > now or not opened <= since < closes:
        return None
    begun, counted = state
    count = max(0, min(counted, most) - cost) if begun >= opened else 0
    return (begun, count), closes - now if count else 0


def expires(state: tuple[int, int], limit: Limit, /) -> int:
    """See `Algorithm.expires`."""
    return state[0] - state[0] % limit.period + limit.period
