"""Sliding window counter: two fixed windows, the earlier one weighed by how much of it still shows.

Admits while `floor(previous * weight + current) + cost <= limit`, where `weight` is the share of
the previous window that the sliding one still covers. State: start of the current window (ms),
units of the previous window, units of the current one.
"""

from .base import NEVER, Given, Limit, Taken


def take(state: tuple[int, int, int] | None, limit: Limit, cost: int, now: int, /) -> Taken:
    """See `Algorithm.take`."""
    most, period, _ = limit
    opened = now - now % period
    left = opened + period - now
    begun, previous, current, ahead = opened, 0, 0, False
    if state is not None:
        start, before, counted = state
        # A window from the future (the clock stepped back) counts as this one.
        ahead = start > now
        if start >= opened:
            previous, current = min(before, most), min(counted, most)
            if not ahead:
                # Never set back: who has yet to hear of an edited period would take an earlier
                # start for a window that is over.
                begun = start
        elif start >= opened - period:
            previous = min(counted, most)
    used = previous * left // period + current
    if cost == 0 or used + cost <= most:
        current += cost
        spent = (begun, previous, current) if cost else None
        reset = _wait(previous, current, left, period, 0)
        return spent, True, max(0, most - used - cost), 0, reset
    mended = (begun, previous, current) if ahead else None
    wait = NEVER if cost > most else _wait(previous, current, left, period, most - cost)
    reset = _wait(previous, current, left, period, 0)
    return mended, False, max(0, most - used), wait, reset


def give(
    state: tuple[int, int, int] | None,
    limit: Limit,
    cost: int,
    now: int,
    since: int,
    _reset: int,
    /,
) -> Given | None:
    """See `Algorithm.give`: of the window in which they were taken, be it the previous one now."""
    most, period, _ = limit
    opened = now - now % period
    closes = opened + period
    if state is None or state[0] > now or not opened - period <= since < closes:
        return None
    begun, previous, current = state
    if begun < opened:
        previous, current = current if begun >= opened - period else 0, 0
        begun = opened
    previous, current = min(previous, most), min(current, most)
    if since >= opened:
        current = max(0, current - cost)
    else:
        previous = max(0, previous - cost)
    return (begun, previous, current), _wait(previous, current, closes - now, period, 0)


def expires(state: tuple[int, int, int], limit: Limit, /) -> int:
    """See `Algorithm.expires`."""
    return state[0] - state[0] % limit.period + 2 * limit.period


def _wait(previous: int, current: int, left: int, period: int, room: int) -> int:
    """Milliseconds until the estimate is at most `room`; the estimate only falls with time."""
    if previous * left // period + current <= room:
        return 0
    if current <= room:
        # Largest rest of this window at which the previous one shows at most room - current.
        return left - (-((room - current + 1) * period // -previous) - 1)
    # This window alone is too much: it must fade as the previous one.
    return left + period - (-((room + 1) * period // -current) - 1)
