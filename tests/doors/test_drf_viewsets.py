"""C25: the actions of a viewset."""

from typing import Any

from django.urls import include, path
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.viewsets import ViewSet

from ratelimit_app.drf import PolicyThrottle

from .site import Site, slugs_of
from .test_drf import charged, site

__all__ = ["site"]


class Things(ViewSet):
    throttle_classes = [PolicyThrottle]
    throttle_policies = ["a"]

    def list(self, request: Request, **kwargs: Any) -> Response:
        return Response({"charged": slugs_of(request)})

    @action(detail=False, throttle_policies=["b"])
    def special(self, request: Request, **kwargs: Any) -> Response:
        return Response({"charged": slugs_of(request)})

    @action(detail=False, throttle_policies=[])
    def free(self, request: Request, **kwargs: Any) -> Response:
        return Response({"charged": slugs_of(request)})


def test_an_action_may_have_policies_of_its_own(site: Site) -> None:
    """C25; in a nested router too."""
    site.policy("a", 1)
    site.policy("b", 2)
    router = SimpleRouter()
    router.register("things", Things, basename="things")
    site.urls(path("api/<str:version>/", include(router.urls)))
    assert charged(site.get("/api/v1/things/")) == ["a"]
    assert charged(site.get("/api/v1/things/special/")) == ["b"]
    assert site.get("/api/v1/things/").status_code == 429
    assert site.statuses(2, at="/api/v2/things/special/") == [200, 429]
    assert site.statuses(3, at="/api/v1/things/free/") == [200] * 3
