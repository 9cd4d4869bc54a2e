"""Requests that no browser sends, to every door and by every kind of key: never an error of ours.

They enter as the servers hand them to Django: a WSGI environ, an ASGI scope. A fault of ours
would let a request through: none may be logged, and the headers must tell that it was counted.
"""

import asyncio
import io
import logging
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse
from django.urls import re_path
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rest_framework.response import Response
from rest_framework.views import APIView

from ratelimit_app import testing
from ratelimit_app.decorators import rate_limit
from ratelimit_app.drf import PolicyThrottle
from ratelimit_app.keys import KEYS

pytestmark = pytest.mark.django_db

NAMES = {"header": "X-Key", "function": "tests.keys.functions.tenant"}
FIELDS = [
    {"limit": 1000, "period": 60, "key": kind, "key_name": NAMES.get(kind, "")} for kind in KEYS
]
#: Of each kind of key one by path, one by the view's name, one that views name.
POLICIES = {
    f"{where}-{fields['key']}".replace("_", "-"): {**fields, "path": pattern}
    for where, pattern in (("path", "/**"), ("view", "any"), ("code", ""))
    for fields in FIELDS
}
NAMED = [slug for slug in POLICIES if slug.startswith("code")]


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ran")


for slug in NAMED:
    view = rate_limit(slug)(view)


class Throttled(APIView):
    throttle_classes = [PolicyThrottle]
    throttle_policies = NAMED

    def get(self, request: Any) -> Response:
        return Response("ran")


URLS = ModuleType("urls_of_anything")
URLS.urlpatterns = [  # type: ignore[attr-defined]
    re_path(r"^a", view, name="any"),
    re_path(r"^drf", Throttled.as_view(), name="any"),
]


class Faults(logging.Handler):
    """What the limiter logs as an error of its own."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record))


faults = Faults()


@pytest.fixture(autouse=True)
def _site(settings: Any) -> Iterator[None]:
    log = logging.getLogger("ratelimit_app")
    log.addHandler(faults)
    settings.ROOT_URLCONF = URLS
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "ratelimit_app.middleware.RateLimitMiddleware"]
    settings.RATELIMIT = {"TRUSTED_PROXIES": ["10.0.0.0/8", "unix"], "HEADERS": "both"}
    # As Django's own test client does: the connection that the test's transaction is on stays open.
    ends = (request_started, request_finished)
    for signal in ends:
        signal.disconnect(close_old_connections)
    with testing.override_policies(POLICIES):
        yield
    for signal in ends:
        signal.connect(close_old_connections)
    log.removeHandler(faults)


def assert_counted(method: str, status: int, headers: dict[str, str]) -> None:
    """By what stands for every path; only what Django itself refuses, further out, is not."""
    assert status in (200, 400, 404, 405, 406, 415)
    assert faults.found == []
    counted = "path-ip" in headers.get("ratelimit", "")
    assert counted or status == 400 or method.upper() == "OPTIONS"


latin = st.characters(max_codepoint=255)
plain = st.text(latin, max_size=40)
long = st.text(latin, min_size=1, max_size=4).map(lambda text: text * (65_536 // len(text)))
value = plain | long
#: Servers take request lines of 4 to 64 kB; Django's own reading of broken UTF-8 is slow.
long_path = long.map(lambda text: text[:4_000])
#: Without Content-Type: Django 6.1 refuses a bad one itself, before any middleware is asked.
header = st.sampled_from(
    [
        *("X-Key", "X-Tenant", "X-Forwarded-For", "Cookie", "Accept", "Accept-Language", "Host"),
        *("Authorization", "Range", "If-None-Match", "X-CSRFToken", "Forwarded"),
    ]
)
cookie = st.sampled_from(["sessionid={}", "csrftoken={}", "{}", "sessionid={}; sessionid=a"])
headers = st.dictionaries(header, value, max_size=5) | st.tuples(cookie, plain).map(
    lambda pair: {"Cookie": pair[0].format(pair[1])}
)
path = st.sampled_from(["/a", "/drf", "/", "/x", ""]).flatmap(
    lambda start: (plain | long_path).map(lambda rest: start + rest)
)
method = st.sampled_from(["GET", "HEAD", "POST", "OPTIONS", "get", "G" * 9000]) | st.text(
    latin, min_size=1, max_size=9
)
peer = st.sampled_from(["192.0.2.1", "10.0.0.1", "", "::1", "unix:", "x" * 9000]) | plain
calls = given(method, path, plain, headers, peer)
thorough = hypothesis_settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
nul = example("GET", "/a\0", "\0", {"Cookie": "sessionid=a\0b"}, "10.0.0.1")
surrogate = example("GET", "/a\xed\xa0\x80", "\xff", {"X-Key": "\xed\xa0\x80"}, "192.0.2.1")


@thorough
@calls
@nul
@surrogate
def test_by_wsgi(method: str, path: str, query: str, headers: dict[str, str], peer: str) -> None:
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.input": io.BytesIO(b"body"),
        "wsgi.url_scheme": "http",
        "REMOTE_ADDR": peer,
        **{f"HTTP_{name.upper().replace('-', '_')}": each for name, each in headers.items()},
    }
    told: list[Any] = []
    b"".join(WSGIHandler()(environ, lambda *answer: told.append(answer)))
    ((status, lines),) = told
    assert_counted(method, int(status[:3]), {name.lower(): each for name, each in lines})


@thorough
@calls
@nul
@surrogate
def test_by_asgi(method: str, path: str, query: str, headers: dict[str, str], peer: str) -> None:
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "client": (peer, 4711) if peer else None,
        "server": ("testserver", 80),
        "headers": [
            (name.lower().encode(), each.encode("latin-1")) for name, each in headers.items()
        ],
    }
    answer = asyncio.run(asked(scope))
    lines = {name.decode().lower(): each.decode() for name, each in answer["headers"]}
    assert_counted(method, answer["status"], lines)


async def asked(scope: dict[str, Any]) -> dict[str, Any]:
    communicator = ApplicationCommunicator(ASGIHandler(), scope)
    await communicator.send_input({"type": "http.request", "body": b"body"})
    start: dict[str, Any] = await communicator.receive_output(10)
    while (await communicator.receive_output(10)).get("more_body"):
        pass
    await communicator.wait(10)
    return start
