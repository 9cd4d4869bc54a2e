"""A site of one test: a view behind a door, its policies, and a client of either kind."""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from django.http.response import StreamingHttpResponse
from django.test import AsyncClient, Client
from django.urls import path

from ratelimit_app.models import Policy

from .adapters import MIDDLEWARE, Door, answer

PAGE = "/page/"
CLIENT = "192.0.2.1"


class Site:
    """`door` before a view at `/page/`; sync or async views, under WSGI or ASGI."""

    def __init__(self, settings: Any, door: Door, *, is_async: bool, asgi: bool) -> None:
        self.settings, self.door, self.is_async, self.asgi = settings, door, is_async, asgi
        #: The requests that reached the view.
        self.ran: list[Any] = []
        self.answer: Callable[[Any], Any] = answer
        self.urlconf = ModuleType("urls_of_one_test")
        self.middleware = [MIDDLEWARE] if door.by_path else []
        self.settings.MIDDLEWARE = self.middleware
        self.open()

    def open(self, *slugs: str) -> None:
        """Put the door before the view, for these policies."""
        self.urls(path(PAGE[1:], self.door.put(self._body(), slugs), name="page"))

    def urls(self, *patterns: Any) -> None:
        self.urlconf.urlpatterns = list(patterns)  # type: ignore[attr-defined]
        # Assigned anew, so that Django forgets the resolver of before.
        self.settings.ROOT_URLCONF = self.urlconf

    def policy(self, slug: str, limit: int = 3, **fields: Any) -> Policy:
        """A policy of 3 an hour by default, so that a unit comes back every 1,200 seconds."""
        made = {"period": 3600, "path": PAGE if self.door.by_path else "", **fields}
        policy: Policy = Policy.objects.create(slug=slug, limit=limit, **made)
        return policy

    def limited(self, *slugs: str, **fields: Any) -> None:
        """Policies of these slugs, and the door before the view that charges them."""
        for slug in slugs:
            self.policy(slug, **fields)
        self.open(*slugs)

    def send(
        self,
        method: str = "GET",
        at: str = PAGE,
        *,
        address: str | None = CLIENT,
        **kwargs: Any,
    ) -> HttpResponse:
        """One request, through the whole of Django's handler."""
        kwargs["headers"] = kwargs.get("headers") or {}
        if self.asgi:
            return async_to_sync(_asend)(address, method, at, **kwargs)
        return Client().generic(method, at, REMOTE_ADDR=address or "", **kwargs)  # type: ignore[return-value]

    def get(self, at: str = PAGE, **kwargs: Any) -> HttpResponse:
        return self.send("GET", at, **kwargs)

    def statuses(self, count: int, method: str = "GET", at: str = PAGE, **kwargs: Any) -> list[int]:
        """Those of `count` requests, one after the other."""
        return [self.send(method, at, **kwargs).status_code for _ in range(count)]

    def _body(self) -> Callable[[HttpRequest], Any]:
        def body(request: HttpRequest) -> Any:
            self.ran.append(request)
            return self.answer(request)

        async def abody(request: HttpRequest) -> Any:
            self.ran.append(request)
            return self.answer(request)

        return abody if self.is_async else body


class _AsyncClient(AsyncClient):
    """Django's, at an address of its own; None is a Unix socket."""

    def __init__(self, address: str | None) -> None:
        super().__init__()
        self._peer = address and (address, 50_000)

    def _base_scope(self, **request: Any) -> dict[str, Any]:
        # django-stubs leave this out.
        scope = super()._base_scope(**request)  # type: ignore[misc]
        return {**scope, "client": self._peer}


async def aget(address: str, at: str) -> HttpResponse:
    """One GET from inside an event loop."""
    return await _asend(address, "GET", at)


async def _asend(address: str | None, method: str, at: str, **kwargs: Any) -> HttpResponse:
    response: Any = await _AsyncClient(address).generic(method, at, **kwargs)
    if isinstance(response, StreamingHttpResponse):
        response.streamed = b"".join([part async for part in response])  # type: ignore[attr-defined]
    return response  # type: ignore[no-any-return]


def ours(response: Any) -> Mapping[str, str]:
    """The headers of a response that a limiter may set."""
    names = ("ratelimit", "x-ratelimit", "retry-after", "cache-control")
    return {
        name: value for name, value in response.headers.items() if name.lower().startswith(names)
    }


def slugs_of(request: Any) -> Sequence[str]:
    """The policies that a request was charged by."""
    verdict = getattr(getattr(request, "_request", request), "rate_limit", None)
    return [entry.policy.slug for entry in verdict.entries] if verdict else []
