"""Whole requests through Django's own handlers, with a door or none before a bare view."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.test import override_settings
from django.urls import path

from benchmarks import aurls, urls
from benchmarks.measure import Timed, awaited, loop
from benchmarks.peers import Door
from benchmarks.policies import WHO

OURS = "ratelimit_app.middleware.RateLimitMiddleware"


class Urls:
    """A site of one view, so that no contender's path is found later than another's."""

    def __init__(self, where: str, view: Callable[..., Any]) -> None:
        self.urlpatterns = [path(f"{where}/", view)]


@dataclass(frozen=True, slots=True)
class Site:
    """A site whose settings hold while it is asked, and only then."""

    send: Callable[[], Any]
    settings: Mapping[str, Any]

    def in_force(self) -> AbstractContextManager[object]:
        return override_settings(**self.settings)

    def __call__(self) -> Any:
        """The response to one request."""
        with self.in_force():
            return self.send()

    @property
    def timed(self) -> Timed:
        inner = loop(self.send)

        def timed(calls: int) -> float:
            with self.in_force():
                # Changing settings makes Django forget its URLs.
                self.send()
                return inner(calls)

        return timed


def through(door: Door, where: str = "x") -> Site:
    """A site with this door before its view, under this path."""
    site = Urls(where, door.view)
    own = {**door.settings, "MIDDLEWARE": list(door.middleware), "ROOT_URLCONF": site}
    with override_settings(**own):
        handler = WSGIHandler()

    def send() -> Any:
        return handler(_environ(where), lambda status, headers: None)

    return Site(send, own)


def behind(*middleware: str, where: str = "x") -> Site:
    """A site with this middleware before the bare view."""
    return through(Door(urls.view, middleware), where)


def abehind(run: Callable[[Awaitable[float]], float], *middleware: str, where: str) -> Timed:
    """A site with this middleware before the bare async view, as an ASGI server calls it."""
    own = {"MIDDLEWARE": list(middleware), "ROOT_URLCONF": Urls(where, aurls.view)}
    with override_settings(**own):
        handler = ASGIHandler()
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/{where}/",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "client": (WHO, 1),
        "server": ("localhost", 80),
    }

    async def send() -> Any:
        body: list[Any] = [{"type": "http.request", "body": b"", "more_body": False}]
        sent: list[Any] = []

        async def receive() -> Any:
            # The client sends its request, and stays until it has its answer.
            return body.pop() if body else await asyncio.get_running_loop().create_future()

        async def answer(event: Any) -> None:
            sent.append(event)

        await handler(dict(scope), receive, answer)
        return sent

    inner = awaited(send, run)

    def timed(calls: int) -> float:
        with override_settings(**own):
            # Changing settings makes Django forget its URLs.
            inner(1)
            return inner(calls)

    return timed


def _environ(where: str) -> dict[str, Any]:
    return {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": f"/{where}/",
        "SCRIPT_NAME": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": WHO,
        "wsgi.input": BytesIO(),
        "wsgi.url_scheme": "http",
    }
