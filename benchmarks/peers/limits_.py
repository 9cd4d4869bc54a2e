"""limits: a moving window of counters, its own recommendation for many hits."""

import time
from typing import Any

from limits import (
    RateLimitItem,
    RateLimitItemPerDay,
    RateLimitItemPerMinute,
    RateLimitItemPerSecond,
)
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from benchmarks.policies import Rate

from .base import Door, Place, Taker, Told

_ITEMS = {1: RateLimitItemPerSecond, 60: RateLimitItemPerMinute, 86_400: RateLimitItemPerDay}


class Limits:
    algorithm = "sliding counter"
    places = ("memory", "redis")

    def taker(self, place: Place, rate: Rate) -> Taker:
        storage = MemoryStorage() if place.where == "memory" else RedisStorage(place.url)
        limiter = SlidingWindowCounterRateLimiter(storage)
        item: RateLimitItem = _ITEMS[rate.period](rate.limit)
        hit = limiter.hit

        def take(key: str) -> Any:
            return hit(item, key)

        self._last = limiter, item
        return take

    def told(self, answer: Any) -> Told:
        # The wait is a second question, to the window.
        limiter, item = self._last
        reset = limiter.get_window_stats(item, "patience").reset_time
        return Told(bool(answer), max(0.0, reset - time.time()))

    def door(self, place: Place, rate: Rate) -> Door | None:
        return None


PEER = Limits()
