"""GCRA, the generic cell rate algorithm (ITU-T I.371): a bucket kept as one instant.

The instant is when the bucket will be like new (the theoretical arrival time). It is kept as a
millisecond and a fraction of it in 1/limit; both in one integer, since a bucket in memory should
be as small as one in Redis. State: ms * 2**53 + fraction.
"""

from .base import NEVER, Given, Limit, Taken

_FRACTION = 53
_MASK = 2**53 - 1


def take(state: int | None, limit: Limit, cost: int, now: int, /) -> Taken:
    """See `Algorithm.take`."""
    rate, period, burst = limit
    full = burst * period
    debt, beyond = 0, False
    if state is not None:
        fraction = state & _MASK
        if fraction >= rate:
            # From before an edit, too large for the new limit.
            fraction = rate - 1
        debt = ((state >> _FRACTION) - now) * rate + fraction
        if debt < 0:
            debt = 0
        elif debt > full:
            debt, beyond = full, True
    after = debt + cost * period
    if after <= full:
        ahead, fraction = divmod(after, rate)
        spent = now + ahead << _FRACTION | fraction if cost else None
        return spent, True, (full - after) // period, 0, ahead + (fraction > 0)
    mended = now + debt // rate << _FRACTION | debt % rate if beyond else None
    wait = NEVER if cost > burst else -((after - full) // -rate)
    return mended, False, (full - debt) // period, wait, -(debt // -rate)


def give(
    state: int | None, limit: Limit, cost: int, now: int, since: int, reset: int, /
) -> Given | None:
    """See `Algorithm.give`.

    Once all of the debt after the take is paid off, none of these units is owed. An instant does
    not tell when it was written, so it may have been just now.
    """
    rate, period, burst = limit
    full, cost = burst * period, min(cost, burst) * period
    # At least; the wait was rounded up.
    after = max(cost, min((reset - 1) * rate + 1, full))
    back = min(cost, after - (now - since) * rate)
    if state is None or back <= 0:
        return None
    fraction = min(state & _MASK, rate - 1)
    debt = min(((state >> _FRACTION) - now) * rate + fraction, full)
    left = max(0, debt - back)
    return now + left // rate << _FRACTION | left % rate, -(left // -rate)


def expires(state: int, _limit: Limit, /) -> int:
    """See `Algorithm.expires`."""
    return (state >> _FRACTION) + (state & _MASK > 0)
