"""The door for a whole site: charges the policies that match a request by its path or its view."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve

from . import limiter, redirects, responses
from .charging import Wanted, acharge, charge
from .policies import Snapshot

GetResponse: TypeAlias = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class RateLimitMiddleware:
    """Decides once, on the view that really runs; sync and async without a hop between threads.

    A request that reaches no view (a 404, a page from a cache further in, a failed CSRF check) is
    charged after its response, which a refusal replaces. A redirect of the framework's own is not
    charged: the client comes back for the real thing.
    """

    sync_capable = async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        # A setting that cannot be used should stop the server now, not fail its requests.
        limiter.ready()
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        self.process_view: Callable[..., Any] = self._decide
        if self.is_async:
            markcoroutinefunction(self)
            self.process_view = self._adecide

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """Answer a request."""
        if self.is_async:
            return self._acall(request)
        response = cast(HttpResponseBase, self.get_response(request))
        if _is_uncharged(request, response):
            response = self._decide(request) or response
        return responses.stamped(request, response)

    async def _acall(self, request: HttpRequest) -> HttpResponseBase:
        response = await cast(Awaitable[HttpResponseBase], self.get_response(request))
        if _is_uncharged(request, response):
            response = await self._adecide(request) or response
        return responses.stamped(request, response)

    def _decide(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        """A refusal, or None: the request may go on. The arguments are those of process_view."""
        request._ratelimit_decided = True  # type: ignore[attr-defined]
        return charge(request, lambda snapshot: _wanted(snapshot, request))

    async def _adecide(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        request._ratelimit_decided = True  # type: ignore[attr-defined]
        return await acharge(request, lambda snapshot: _wanted(snapshot, request))


def _wanted(snapshot: Snapshot, request: HttpRequest) -> Wanted:
    match = request.resolver_match or _resolved(request)
    view_name = None if match is None else match.view_name
    found = snapshot.matching(request.method or "", request.path_info, view_name)
    return [(policy, policy.cost) for policy in found]


def _is_uncharged(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Whether no view was reached: there is none, or a middleware answered first (CSRF, say)."""
    if hasattr(request, "_ratelimit_decided"):
        return False
    status = response.status_code
    if status == 404:
        return not redirects.will_follow(request)
    return not 300 <= status < 400 or status == 304


def _resolved(request: HttpRequest) -> ResolverMatch | None:
    """The view that would have run, had not a middleware answered instead."""
    try:
        return resolve(request.path_info, getattr(request, "urlconf", None))
    except Resolver404:
        return None
