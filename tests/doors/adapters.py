"""The doors, each by one small adapter: how a view is put behind it.

To put another door through the whole suite, write one function and enter it in `DOORS`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from ratelimit_app.decorators import rate_limit
from ratelimit_app.drf import PolicyThrottle

MIDDLEWARE = "ratelimit_app.middleware.RateLimitMiddleware"

#: A sync or an async function of the request.
Body = Callable[[HttpRequest], Any]
Slugs = Sequence[str]


def middleware(body: Body, slugs: Slugs) -> Any:
    """Nothing on the view: policies find it by their path."""

    def view(request: HttpRequest) -> Any:
        return body(request)

    async def aview(request: HttpRequest) -> Any:
        return await body(request)

    return aview if _is_async(body) else view


def function(body: Body, slugs: Slugs) -> Any:
    """`@rate_limit` on a function."""
    view = middleware(body, slugs)
    for slug in slugs:
        view = rate_limit(slug)(view)
    return view


def method(body: Body, slugs: Slugs) -> Any:
    """`@rate_limit` on a method of a class."""
    page = _page(body)
    for slug in slugs:
        page.get = rate_limit(slug)(page.get)
        page.post = rate_limit(slug)(page.post)
    return page.as_view()


def class_(body: Body, slugs: Slugs) -> Any:
    """`@rate_limit` on a class."""
    page = _page(body)
    for slug in slugs:
        page = rate_limit(slug)(page)
    return page.as_view()


def around_as_view(body: Body, slugs: Slugs) -> Any:
    """`rate_limit(…)(Page.as_view())`, as in a URLconf."""
    view = _page(body).as_view()
    for slug in slugs:
        view = rate_limit(slug)(view)
    return view


def on_dispatch(body: Body, slugs: Slugs) -> Any:
    """`@method_decorator(rate_limit(…), name="dispatch")`."""
    page = _page(body)
    for slug in slugs:
        page = method_decorator(rate_limit(slug), name="dispatch")(page)
    return page.as_view()


def on_methods(body: Body, slugs: Slugs) -> Any:
    """`@method_decorator([…], name="get")`, and the same for post."""
    page = _page(body)
    doors = [rate_limit(slug) for slug in slugs]
    for name in ("get", "post"):
        page = method_decorator(doors, name=name)(page)
    return page.as_view()


def drf_view(body: Body, slugs: Slugs) -> Any:
    """DRF: `throttle_policies` of a view."""

    class ThrottledView(APIView):
        throttle_classes = [PolicyThrottle]
        throttle_policies = slugs

        def get(self, request: Any) -> Any:
            return body(request)

        post = get

    return ThrottledView.as_view()


def drf_scope(body: Body, slugs: Slugs) -> Any:
    """DRF: `throttle_scope` of a view names one policy; others are named beside it."""
    view = drf_view(body, slugs[1:])
    view.cls.throttle_scope = slugs[0] if slugs else None
    return view


def drf_viewset(body: Body, slugs: Slugs) -> Any:
    """DRF: an action of a viewset that has policies of its own."""

    class ThrottledViewSet(ViewSet):
        throttle_classes = [PolicyThrottle]
        throttle_policies = ["of-the-others"]

        def act(self, request: Any) -> Any:
            return body(request)

    return ThrottledViewSet.as_view({"get": "act", "post": "act"}, throttle_policies=slugs)


@dataclass(frozen=True)
class Door:
    """A way in, and what its views can be."""

    name: str
    put: Callable[[Body, Slugs], Any]
    #: Whether policies find the view by their path.
    by_path: bool = False
    can_async: bool = True
    #: Whether refusals are Django REST Framework's own.
    drf: bool = False


DOORS = [
    Door("middleware", middleware, by_path=True),
    Door("function", function),
    Door("method", method),
    Door("class", class_),
    Door("around-as_view", around_as_view),
    Door("method_decorator-dispatch", on_dispatch),
    Door("method_decorator-get", on_methods),
    Door("drf-view", drf_view, can_async=False, drf=True),
    Door("drf-scope", drf_scope, can_async=False, drf=True),
    Door("drf-viewset", drf_viewset, can_async=False, drf=True),
]


def answer(request: Any) -> HttpResponse:
    """What a view behind a door answers if nobody says otherwise."""
    return HttpResponse("ran") if isinstance(request, HttpRequest) else Response("ran")


def _page(body: Body) -> Any:
    class Page(View):
        def get(self, request: HttpRequest) -> Any:
            return body(request)

        post = get

    class AsyncPage(View):
        async def get(self, request: HttpRequest) -> Any:
            return await body(request)

        post = get

    return AsyncPage if _is_async(body) else Page


def _is_async(body: Body) -> bool:
    from asgiref.sync import iscoroutinefunction

    return bool(iscoroutinefunction(body))
