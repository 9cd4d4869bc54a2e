"""django-fast-ratelimit: its decorator, and the function that the decorator calls."""

import time
from typing import Any

import django_fast_ratelimit as fast

from benchmarks.policies import Rate
from benchmarks.urls import view

from .base import Door, Place, Taker, Told


class Fast:
    algorithm = "fixed window"
    places = ("memory", "redis")

    def taker(self, place: Place, rate: Rate) -> Taker:
        get, cache, action = fast.get_ratelimit, place.where, fast.Action.INCREASE
        numbers = (rate.limit, rate.period)

        def take(key: str) -> Any:
            return get(group="bench", key=key.encode(), rate=numbers, action=action, cache=cache)

        return take

    def told(self, answer: Any) -> Told:
        return Told(not answer.request_limit, max(0.0, answer.end - time.time()))

    def door(self, place: Place, rate: Rate) -> Door | None:
        numbers = (rate.limit, rate.period)
        guard = fast.decorate(
            group=f"door-{place.where}", key="ip", rate=numbers, block=True, cache=place.where
        )
        return Door(guard(view))


PEER = Fast()
