"""Django REST Framework finds users that Django does not, and refuses some before any throttle."""

from base64 import b64encode
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import path
from rest_framework.authentication import BasicAuthentication
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ratelimit_app import limiter
from ratelimit_app.decorators import rate_limit

from .adapters import MIDDLEWARE
from .site import Site, slugs_of
from .test_drf import Api, charged, site

__all__ = ["site"]


def basic(name: str, password: str = "secret") -> dict[str, str]:
    return {"authorization": "Basic " + b64encode(f"{name}:{password}".encode()).decode()}


class Private(Api):
    authentication_classes = [BasicAuthentication]
    permission_classes = [IsAuthenticated]


def test_users_whom_only_the_framework_knows(site: Site) -> None:
    for name in ("ann", "bob"):
        User.objects.create_user(name, password="secret")
    site.policy("p", 1, key="user")
    site.urls(path("page/", Private.as_view()))
    assert [site.get(headers=basic("ann")).status_code for _ in range(2)] == [200, 429]
    assert site.get(headers=basic("bob")).status_code == 200
    ann = User.objects.get(username="ann")
    assert limiter.peek("p", key=ann, cost=0).remaining == 0


@pytest.mark.parametrize("asgi", [False, True])
def test_a_user_found_after_the_middleware_has_asked(of: Any, asgi: bool) -> None:
    """The middleware knew nobody; a decorator inside of the view counts whom DRF has found."""
    site: Site = of("drf-view", asgi=asgi)
    site.settings.MIDDLEWARE = [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        MIDDLEWARE,
    ]
    User.objects.create_user("ann", password="secret")

    class Page(APIView):
        authentication_classes = [BasicAuthentication]

        @rate_limit("p")
        def get(self, request: Request) -> Response:
            return Response({"charged": slugs_of(request)})

    site.policy("of-the-middleware", 9, key="user", path="/**")
    site.policy("p", 1, key="user")
    site.urls(path("page/", Page.as_view()))
    assert charged(site.get()) == []
    assert charged(site.get(headers=basic("ann"))) == ["p"]
    assert site.get(headers=basic("ann")).status_code == 429


def test_nobody_may_be_no_user_at_all(site: Site, settings: Any) -> None:
    settings.REST_FRAMEWORK = {"UNAUTHENTICATED_USER": None}
    site.policy("p", 1, key="user_or_ip")
    site.urls(path("page/", Api.as_view()))
    assert site.statuses(2) == [200, 429]


def test_wrong_credentials_are_counted_by_the_middleware(site: Site) -> None:
    """B32: five wrong tokens are refused as such, and the sixth is not even looked at."""
    site.settings.MIDDLEWARE = [MIDDLEWARE]
    site.policy("before", 5, path="/**")
    site.policy("p", 9)
    site.urls(path("page/", Private.as_view()))
    wrong = basic("ann", "wrong")
    assert site.statuses(6, headers=wrong) == [401] * 5 + [429]
