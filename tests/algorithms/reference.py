"""The algorithms as a textbook has them: every unit remembered, fractions exact, nothing clever.

Waits are found by trying each millisecond. The clock only runs forward, and nobody edits.
"""

from fractions import Fraction
from math import floor
from typing import Protocol

from ratelimit_app.algorithms import Limit


class Model(Protocol):
    """Units at times."""

    limit: Limit

    def __init__(self, limit: Limit) -> None: ...

    def remaining(self, now: int) -> int:
        """What fits at `now`; nothing is spent before it that is not spent yet."""
        ...

    def spend(self, cost: int, now: int) -> None: ...


class FixedWindow:
    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.hits: list[tuple[int, int]] = []

    def remaining(self, now: int) -> int:
        window = now // self.limit.period
        used = sum(cost for at, cost in self.hits if at // self.limit.period == window)
        return self.limit.limit - used

    def spend(self, cost: int, now: int) -> None:
        self.hits.append((now, cost))


class SlidingWindowLog(FixedWindow):
    def remaining(self, now: int) -> int:
        # Closed: a hit exactly one period old still counts.
        used = sum(cost for at, cost in self.hits if now - at <= self.limit.period)
        return self.limit.limit - used


class SlidingWindowCounter(FixedWindow):
    def remaining(self, now: int) -> int:
        period, window = self.limit.period, now // self.limit.period
        previous, current = (
            sum(cost for at, cost in self.hits if at // period == number)
            for number in (window - 1, window)
        )
        weight = 1 - Fraction(now % period, period)
        return self.limit.limit - floor(previous * weight + current)


class Bucket:
    """Tokens that come back evenly, up to `burst`; the meter and GCRA are other views of it."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.tokens, self.last = Fraction(limit.burst), 0

    def at(self, now: int) -> Fraction:
        back = Fraction((now - self.last) * self.limit.limit, self.limit.period)
        return min(Fraction(self.limit.burst), self.tokens + back)

    def remaining(self, now: int) -> int:
        return floor(self.at(now))

    def spend(self, cost: int, now: int) -> None:
        self.tokens, self.last = self.at(now) - cost, now


MODELS: dict[str, type[Model]] = {
    "fixed_window": FixedWindow,
    "sliding_window_log": SlidingWindowLog,
    "sliding_window_counter": SlidingWindowCounter,
    "token_bucket": Bucket,
    "leaky_bucket": Bucket,
    "gcra": Bucket,
}


def like_fresh(model: Model, now: int) -> bool:
    """Whether nothing is left of what was spent: a bucket may be full but for a fraction."""
    if isinstance(model, Bucket):
        return model.at(now) == model.limit.burst
    return model.remaining(now) == model.limit.limit


def answer(model: Model, limit: Limit, cost: int, now: int) -> tuple[bool, int, int, int]:
    """Allowed, remaining, retry_after and reset_after, in milliseconds; spends what it allows."""
    remaining = model.remaining(now)
    allowed = cost == 0 or cost <= remaining
    retry = 0
    if cost > limit.burst:
        retry = -1
    elif not allowed:
        retry = next(wait for wait in range(1, LONG) if model.remaining(now + wait) >= cost)
    elif cost:
        model.spend(cost, now)
        remaining -= cost
    reset = next(wait for wait in range(LONG) if like_fresh(model, now + wait))
    return allowed, remaining, retry, reset


#: More milliseconds than anybody waits here.
LONG = 100_000
