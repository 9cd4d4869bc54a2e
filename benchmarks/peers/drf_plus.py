"""drf-ratelimit-plus: a throttle for Django REST Framework, on Redis only."""

from typing import Any

import redis
from django.http import HttpRequest
from drf_ratelimit_plus import rate_limit

from benchmarks.policies import Rate

from .base import Door, Place, Taker, Told
from .drf import BareView


class Plus:
    algorithm = "token bucket"
    places = ("redis",)

    def _throttle(self, place: Place, rate: Rate) -> Any:
        client = redis.Redis.from_url(place.url)
        return rate_limit(
            rate=rate.text,
            key=lambda request, _: request.META["REMOTE_ADDR"],
            client=client,
            scope=f"bench-{rate.text}",
        )

    def taker(self, place: Place, rate: Rate) -> Taker:
        throttle, request = self._throttle(place, rate), HttpRequest()

        def take(key: str) -> Any:
            asked = throttle()
            request.META["REMOTE_ADDR"] = key
            return asked.allow_request(request, None), asked

        return take

    def told(self, answer: Any) -> Told:
        admitted, asked = answer
        return Told(admitted, asked.wait() or 0.0)

    def door(self, place: Place, rate: Rate) -> Door | None:
        class View(BareView):
            throttle_classes = (self._throttle(place, rate),)

        return Door(View.as_view(), over="bare DRF view")


PEER = Plus()
