"""django-ratelatch: its middleware, and the limiter that the middleware asks."""

from typing import Any

from django.http import HttpRequest
from django_ratelatch.backends.factory import build_backend
from django_ratelatch.core.limiter import build_limiter

from benchmarks.policies import Rate
from benchmarks.urls import view

from .base import Door, Place, Taker, Told


def address(request: HttpRequest) -> str:
    return str(request.META["REMOTE_ADDR"])


class Ratelatch:
    algorithm = "token bucket"
    places = ("memory", "redis")

    def taker(self, place: Place, rate: Rate) -> Taker:
        config = _config(place, rate)
        take: Taker = build_limiter(config=config, backend=build_backend(config)).check
        return take

    def told(self, answer: Any) -> Told:
        return Told(bool(answer["allowed"]), answer.get("retry_after", 0))

    def door(self, place: Place, rate: Rate) -> Door | None:
        middleware = "django_ratelatch.integrations.middleware.RateLimitMiddleware"
        return Door(view, [middleware], {"RATE_LIMITER": _config(place, rate)})


def _config(place: Place, rate: Rate) -> dict[str, Any]:
    return {
        "ALGORITHM": "token_bucket",
        "LIMIT": rate.limit,
        "WINDOW_SECONDS": rate.period,
        "BACKEND": place.where,
        "REDIS_URL": place.url,
        "KEY_FUNCTION": f"{__name__}.address",
    }


PEER = Ratelatch()
