"""Middleware of a site that the tests put beside ours."""

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.decorators import sync_and_async_middleware


class Elsewhere:
    urlpatterns = [path("elsewhere/", lambda request: HttpResponse("ran"), name="elsewhere")]


def _both(prepare: Any) -> Any:
    from asgiref.sync import iscoroutinefunction

    @sync_and_async_middleware
    def middleware(get_response: Any) -> Any:
        async def acall(request: HttpRequest) -> Any:
            prepare(request)
            return await get_response(request)

        def call(request: HttpRequest) -> Any:
            prepare(request)
            return get_response(request)

        return acall if iscoroutinefunction(get_response) else call

    return middleware


class User:
    """A custom user, whose key is a UUID."""

    is_authenticated = True

    def __init__(self, name: str) -> None:
        self.pk = uuid.uuid5(uuid.NAMESPACE_DNS, name)


def _log_in(request: HttpRequest) -> None:
    name = request.headers.get("X-Name")
    if name:
        request.user = User(name)  # type: ignore[assignment]


def _choose_urlconf(request: HttpRequest) -> None:
    request.urlconf = Elsewhere  # type: ignore[assignment]


other_urlconf = _both(_choose_urlconf)
custom_user = _both(_log_in)
