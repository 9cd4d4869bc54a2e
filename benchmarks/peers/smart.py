"""django-smart-ratelimit: its middleware, which counts windows, and its token bucket."""

from typing import Any

from django.test import override_settings
from django_smart_ratelimit.backends.memory import MemoryBackend
from django_smart_ratelimit.backends.redis_backend import RedisBackend

from benchmarks.policies import Rate
from benchmarks.urls import view

from .base import Door, Place, Taker, Told


class Smart:
    algorithm = "token bucket"
    places = ("memory", "redis")

    def taker(self, place: Place, rate: Rate) -> Taker:
        with override_settings(**_settings(place, rate)):
            backend = MemoryBackend() if place.where == "memory" else RedisBackend(url=place.url)
        check, limit, refill = backend.token_bucket_check, rate.limit, rate.limit / rate.period

        def take(key: str) -> Any:
            return check(key, limit, refill, limit, 1)

        return take

    def told(self, answer: Any) -> Told:
        admitted, details = answer
        return Told(bool(admitted), details.get("time_to_refill"))

    def door(self, place: Place, rate: Rate) -> Door | None:
        middleware = "django_smart_ratelimit.middleware.RateLimitMiddleware"
        return Door(view, [middleware], _settings(place, rate))


def _settings(place: Place, rate: Rate) -> dict[str, Any]:
    return {
        "RATELIMIT_BACKEND": place.where,
        # Its default keeps an entry for each request, which no other contender does.
        "RATELIMIT_ALGORITHM": "fixed_window",
        "RATELIMIT_REDIS": {"url": place.url},
        "RATELIMIT_MEMORY_MAX_KEYS": 1_000_000,
        "RATELIMIT_MIDDLEWARE": {"DEFAULT_RATE": rate.text, "BACKEND": place.where},
    }


PEER = Smart()
