"""GCRA, the generic cell rate algorithm (ITU-T I.371): a bucket kept as one instant.

The instant is when the bucket will be like new (the theoretical arrival time). It is kept as a
millisecond and a fraction of it in 1/limit; both in one integer, since a bucket in memory should
be as small as one in Redis. State: ms * 2**53 + fraction.
"""

from .base import NEVER, Limit, Taken

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


def expires(state: int, _limit: Limit, /) -> int:
    """See `Algorithm.expires`."""
    return (state >> _FRACTION) + (state & _MASK > 0)
