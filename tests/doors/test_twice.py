"""B26: a policy that two doors name is charged once, with the cost of the first."""

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ratelimit_app import limiter
from ratelimit_app.decorators import rate_limit
from ratelimit_app.drf import PolicyThrottle

from .adapters import MIDDLEWARE
from .site import Site, slugs_of

CLIENT = "192.0.2.1"


@pytest.fixture(params=[False, True], ids=["wsgi", "asgi"])
def site(of: Any, request: pytest.FixtureRequest) -> Site:
    made: Site = of("middleware", asgi=request.param)
    made.policy("p", 10, period=10, path="/page/", cost=2)
    return made


def plain(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ran")


async def aplain(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ran")


class Api(APIView):
    throttle_classes = [PolicyThrottle]
    throttle_policies = ["p"]

    def get(self, request: Request) -> Response:
        return Response(slugs_of(request))


class Decorated(Api):
    @rate_limit("p", cost=4)
    def get(self, request: Request) -> Response:
        return Response(slugs_of(request))


#: A view behind several doors, whether the middleware is one, and what one request costs.
STACKS: list[tuple[str, Callable[[], Any], bool, int]] = [
    ("middleware and decorator", lambda: rate_limit("p", cost=5)(plain), True, 2),
    ("middleware and async decorator", lambda: rate_limit("p", cost=5)(aplain), True, 2),
    ("middleware and throttle", Api.as_view, True, 2),
    ("all three", Decorated.as_view, True, 2),
    ("throttle and decorator inside", Decorated.as_view, False, 2),
    ("decorator and throttle inside", lambda: rate_limit("p", cost=3)(Api.as_view()), False, 3),
    ("two decorators", lambda: rate_limit("p", cost=3)(rate_limit("p")(plain)), False, 3),
    ("two decorators", lambda: rate_limit("p")(rate_limit("p", cost=3)(aplain)), False, 2),
]


@pytest.mark.parametrize("at", range(len(STACKS)))
def test_one_policy_behind_several_doors(site: Site, at: int) -> None:
    _, view, middleware, cost = STACKS[at]
    site.settings.MIDDLEWARE = [MIDDLEWARE] if middleware else []
    site.urls(path("page/", view()))
    response = site.get()
    assert response.headers["RateLimit"] == f'"p";r={10 - cost};t={cost}'
    assert limiter.peek("p", key=CLIENT, cost=0).remaining == 10 - cost


def test_two_policies_behind_two_doors(site: Site) -> None:
    site.policy("q", 5, path="")
    site.urls(path("page/", rate_limit("q")(plain)))
    response = site.get()
    assert response.headers["RateLimit"] == '"p";r=8;t=2, "q";r=4;t=720'
    assert limiter.peek("p", key=CLIENT, cost=0).remaining == 8
    assert limiter.peek("q", key=CLIENT, cost=0).remaining == 4


def test_what_an_earlier_door_took_stays_taken(site: Site) -> None:
    site.policy("q", 0, path="")
    site.urls(path("page/", rate_limit("q")(plain)))
    response = site.get()
    assert response.status_code == 429
    assert response.headers["RateLimit-Policy"] == '"p";q=10;w=10, "q";q=0;w=3600'
    assert limiter.peek("p", key=CLIENT, cost=0).remaining == 8


def test_the_middleware_refuses_before_any_other_door(site: Site) -> None:
    site.policy("none", 0, path="/**")
    site.policy("q", 5, path="")
    site.urls(path("page/", rate_limit("q")(plain)))
    assert site.get().status_code == 429
    assert limiter.peek("p", key=CLIENT, cost=0).remaining == 10
    assert limiter.peek("q", key=CLIENT, cost=0).remaining == 5


def test_a_door_without_a_request_shares_the_buckets(site: Site) -> None:
    """C24: a socket's messages and a page of the same policy and user count together."""
    site.urls(path("page/", plain))
    assert [limiter.take("p", key=CLIENT).allowed for _ in range(6)] == [True] * 6
    assert [site.get().status_code for _ in range(3)] == [200, 200, 429]
    assert not limiter.take("p", key=CLIENT).allowed
