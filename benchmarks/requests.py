"""Whole requests through Django's WSGI handler, with a middleware or none before a bare view."""

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path

OURS = "ratelimit_app.middleware.RateLimitMiddleware"


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse(b"ok")


urlpatterns = [path("x/", view)]


def request(middleware: Sequence[str], **settings: Any) -> Callable[[], Any]:
    """A request to the view, as a server hands it over."""
    with override_settings(
        MIDDLEWARE=list(middleware), ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], **settings
    ):
        handler = WSGIHandler()

    def send() -> Any:
        return handler(
            {
                "REQUEST_METHOD": "GET",
                "PATH_INFO": "/x/",
                "SCRIPT_NAME": "",
                "SERVER_NAME": "localhost",
                "SERVER_PORT": "80",
                "SERVER_PROTOCOL": "HTTP/1.1",
                "REMOTE_ADDR": "192.0.2.7",
                "wsgi.input": BytesIO(),
                "wsgi.url_scheme": "http",
            },
            lambda status, headers: None,
        )

    return send
