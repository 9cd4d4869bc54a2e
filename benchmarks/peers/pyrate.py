"""pyrate-limiter, by GCRA; it routes a key to a bucket object by a factory of the caller's."""

from typing import Any

import redis
from pyrate_limiter import BucketFactory, Limiter, RateItem, StateBucket, TokenBucket, WallClock
from pyrate_limiter import Rate as TheirRate
from pyrate_limiter.buckets import RedisStateStore

from benchmarks.policies import Rate

from .base import Door, Place, Taker, Told


class _PerKey(BucketFactory):  # type: ignore[misc]
    """As its documentation shows, for as many buckets as there are keys."""

    def __init__(self, rates: list[Any], client: Any) -> None:
        self.rates, self.client = rates, client
        self.clock = WallClock()
        self.buckets: dict[str, Any] = {}

    def wrap_item(self, name: str, weight: int = 1) -> Any:
        return RateItem(name, self.clock.now(), weight=weight)

    def get(self, item: Any) -> Any:
        found = self.buckets.get(item.name)
        if found is None:
            kept = RedisStateStore(self.client, f"pyrate:{item.name}") if self.client else None
            found = StateBucket(self.rates, algorithm=TokenBucket(), store=kept)
            self.buckets[item.name] = found
        return found


class Pyrate:
    algorithm = "GCRA"
    places = ("memory", "redis")

    def taker(self, place: Place, rate: Rate) -> Taker:
        client = redis.Redis.from_url(place.url) if place.where == "redis" else None
        self._factory = _PerKey([TheirRate(rate.limit, rate.period * 1000)], client)
        acquire = Limiter(self._factory).try_acquire

        def take(key: str) -> Any:
            return acquire(key, blocking=False)

        return take

    def told(self, answer: Any) -> Told:
        # The wait is a second question, to the bucket.
        item = self._factory.wrap_item("patience")
        wait = 0 if answer else self._factory.get(item).waiting(item)
        return Told(bool(answer), wait / 1000)

    def door(self, place: Place, rate: Rate) -> Door | None:
        return None


PEER = Pyrate()
