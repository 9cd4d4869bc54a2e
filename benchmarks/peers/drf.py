"""Django REST Framework: its own throttle, a list of instants in the cache.

Its cost grows with what a client has spent within the period: a run that admits everything would
measure lists of a length that nobody has. There every ten requests are another client's.
"""

from itertools import count
from typing import Any

from django.core.cache import caches
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from benchmarks.policies import PLENTY, Rate

from .base import Door, Place, Taker, Told

#: Each throttle counts for itself, whatever another part of the run has counted.
_throttles = count()


class BareView(APIView):
    authentication_classes = permission_classes = ()

    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(b"ok")


def _throttle(place: Place, rate_: Rate) -> type[SimpleRateThrottle]:
    number, mine = count(), next(_throttles)
    spare = rate_.limit == PLENTY.limit

    class Throttle(SimpleRateThrottle):
        cache = caches[place.where]
        rate = rate_.text
        scope = "bench"

        def get_cache_key(self, request: Any, view: Any) -> str:
            ten = next(number) // 10 if spare else ""
            return f"drf:{mine}:{request.META['REMOTE_ADDR']}:{ten}"

    return Throttle


class RestFramework:
    algorithm = "sliding log"
    places = ("memory", "redis")

    def taker(self, place: Place, rate: Rate) -> Taker:
        throttle, request = _throttle(place, rate), HttpRequest()

        def take(key: str) -> Any:
            # One for each request, as its views make them.
            asked = throttle()
            request.META["REMOTE_ADDR"] = key
            return asked.allow_request(request, None), asked  # type: ignore[arg-type]

        return take

    def told(self, answer: Any) -> Told:
        admitted, asked = answer
        return Told(admitted, 0.0 if admitted else asked.wait())

    def door(self, place: Place, rate: Rate) -> Door | None:
        class View(BareView):
            throttle_classes = (_throttle(place, rate),)

        return Door(View.as_view(), over="bare DRF view")


PEER = RestFramework()
