"""Django REST Framework: its exceptions, renderers, users, viewsets and browsable API."""

import json
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import path
from rest_framework.decorators import api_view, throttle_classes
from rest_framework.renderers import BrowsableAPIRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView, exception_handler

from ratelimit_app.decorators import rate_limit
from ratelimit_app.drf import PolicyThrottle

from .faults import store_down
from .site import Site, ours, slugs_of


@pytest.fixture
def site(of: Any) -> Site:
    made: Site = of("drf-view")
    return made


class Api(APIView):
    throttle_classes = [PolicyThrottle]
    throttle_policies = ["p"]

    def get(self, request: Request) -> Response:
        return Response({"charged": slugs_of(request)})


def charged(response: Any) -> list[str]:
    return json.loads(response.content)["charged"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("inside", [True, False])
def test_functions_in_both_orders(site: Site, inside: bool) -> None:
    site.policy("p", 1)

    def view(request: Any) -> Response:
        return Response("ran")

    api, limit = api_view(["GET"]), rate_limit("p")
    site.urls(path("page/", api(limit(view)) if inside else limit(api(view))))
    assert site.statuses(2) == [200, 429]


def test_a_function_with_the_throttle_is_charged_by_its_path(site: Site) -> None:
    site.policy("p", 1, path="/page/")

    @api_view(["GET"])
    @throttle_classes([PolicyThrottle])
    def view(request: Request) -> Response:
        return Response("ran")

    site.urls(path("page/", view))
    assert site.statuses(2) == [200, 429]


def test_without_a_view_policies_apply_by_path(site: Site, rf: Any) -> None:
    site.policy("p", 1, path="/page/")
    request = Request(rf.get("/page/"))
    assert PolicyThrottle().allow_request(request, None)
    second = PolicyThrottle()
    assert not second.allow_request(Request(rf.get("/page/")), None)
    assert second.wait() == 3600


def test_the_browsable_api_is_counted_once(site: Site) -> None:
    class Page(Api):
        renderer_classes = [JSONRenderer, BrowsableAPIRenderer]

        def post(self, request: Request) -> Response:
            return Response("ran")

        put = delete = patch = post

    site.policy("p", 2)
    site.urls(path("page/", Page.as_view(), name="page"))
    html = {"accept": "text/html"}
    responses = [site.get(headers=html) for _ in range(3)]
    assert [each.status_code for each in responses] == [200, 200, 429]
    assert responses[0].headers["RateLimit"] == '"p";r=1;t=1800'
    assert b"Request was throttled" in responses[2].content


def test_the_sites_own_exception_handler_answers(site: Site, settings: Any) -> None:
    settings.REST_FRAMEWORK = {"EXCEPTION_HANDLER": "tests.doors.test_drf.own_handler"}
    site.limited("p", limit=1)
    site.get()
    response = site.get()
    assert json.loads(response.content) == {"own": "Throttled"}
    assert ours(response) == {
        "RateLimit-Policy": '"p";q=1;w=3600',
        "RateLimit": '"p";r=0;t=3600',
        "Retry-After": "3600",
        "Cache-Control": "no-store",
    }


def own_handler(error: Exception, context: Any) -> Response | None:
    found = exception_handler(error, context)
    if found is None:
        return None
    return Response({"own": type(error).__name__}, status=found.status_code)


def test_another_throttle_may_ask_for_a_longer_wait(site: Site) -> None:
    class Sluggish(BaseThrottle):
        def allow_request(self, request: Request, view: Any) -> bool:
            return False

        def wait(self) -> float:
            return 9000

    class Page(Api):
        throttle_classes = [PolicyThrottle, Sluggish]

    site.policy("p", 0)
    site.urls(path("page/", Page.as_view()))
    assert site.get().headers["Retry-After"] == "9000"


def test_the_request_may_go_on_where_a_view_has_no_policies(site: Site) -> None:
    class Page(Api):
        throttle_policies = None  # type: ignore[assignment]

    site.urls(path("page/", Page.as_view()))
    assert charged(site.get()) == []


def test_as_the_default_of_the_whole_site(site: Site, settings: Any) -> None:
    settings.REST_FRAMEWORK = {
        "DEFAULT_THROTTLE_CLASSES": ["ratelimit_app.drf.PolicyThrottle"],
        "UNAUTHENTICATED_USER": None,
    }

    class Page(APIView):
        throttle_scope = "p"

        def get_throttles(self) -> list[BaseThrottle]:
            from rest_framework.settings import api_settings

            classes: Any = api_settings.DEFAULT_THROTTLE_CLASSES
            return [each() for each in classes]

        def get(self, request: Request) -> Response:
            return Response("ran")

    site.policy("p", 1)
    site.urls(path("page/", Page.as_view()))
    assert site.statuses(2) == [200, 429]


@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_a_view_that_answers_with_djangos_response(site: Site, on_error: str) -> None:
    site.answer = lambda request: HttpResponse("ran")
    site.limited("p", on_error=on_error)
    with store_down():
        assert site.get().status_code == (200 if on_error == "open" else 503)
    assert site.get().headers["RateLimit"] == '"p";r=2;t=1200'


def test_a_request_of_djangos_is_still_one(site: Site) -> None:
    """`request.rate_limit` stands on both."""
    found: list[Any] = []

    def answer(request: Any) -> Response:
        found.append(request.rate_limit)
        assert isinstance(request._request, HttpRequest)
        return Response("ran")

    site.answer = answer
    site.limited("p")
    site.get()
    assert found[0].status == 200
