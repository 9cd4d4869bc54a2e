"""throttled-py, by GCRA as we do."""

from typing import Any

from throttled import RateLimiterType, Throttled, per_day, per_min, per_sec, store

from benchmarks.policies import Rate

from .base import Door, Place, Taker, Told

_QUOTAS = {1: per_sec, 60: per_min, 86_400: per_day}


class ThrottledPy:
    algorithm = "GCRA"
    places = ("memory", "redis")

    def taker(self, place: Place, rate: Rate) -> Taker:
        memory = store.MemoryStore(options={"MAX_SIZE": 1_000_000})
        found = Throttled(
            using=RateLimiterType.GCRA.value,
            quota=_QUOTAS[rate.period](rate.limit, burst=rate.limit),
            store=memory if place.where == "memory" else store.RedisStore(server=place.url),
        )
        take: Taker = found.limit
        return take

    def told(self, answer: Any) -> Told:
        return Told(not answer.limited, answer.state.retry_after)

    def door(self, place: Place, rate: Rate) -> Door | None:
        return None


PEER = ThrottledPy()
