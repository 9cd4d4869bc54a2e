"""django-ratelimit: its decorator, and the function that the decorator calls."""

from typing import Any

from django.http import HttpRequest
from django.test import override_settings
from django_ratelimit.core import get_usage
from django_ratelimit.decorators import ratelimit

from benchmarks.policies import Rate
from benchmarks.urls import view

from .base import Door, Place, Taker, Told


class DjangoRatelimit:
    algorithm = "fixed window"
    places = ("memory", "redis")

    def taker(self, place: Place, rate: Rate) -> Taker:
        request, text = HttpRequest(), rate.text
        request.method = "GET"
        override_settings(RATELIMIT_USE_CACHE=place.where).enable()

        def take(key: str) -> Any:
            return get_usage(request, group="bench", key=lambda *_: key, rate=text, increment=True)

        return take

    def told(self, answer: Any) -> Told:
        return Told(not answer["should_limit"], float(answer["time_left"]))

    def door(self, place: Place, rate: Rate) -> Door | None:
        guarded = ratelimit(group=f"door-{place.where}", key="ip", rate=rate.text)(view)
        return Door(guarded, settings={"RATELIMIT_USE_CACHE": place.where})


PEER = DjangoRatelimit()
