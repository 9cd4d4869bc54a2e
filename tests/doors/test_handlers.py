"""The servers' ways in, bodies that stream or are read by the view, and odd headers of clients."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from ratelimit_app import refresh, responses
from ratelimit_app.verdict import Verdict

from .faults import query, whole
from .site import Site

pytestmark = pytest.mark.usefixtures("in_memory")


def by_wsgi(path: str = "/page/", **environ: Any) -> tuple[int, dict[str, str]]:
    """Status and headers, as a WSGI server sees them."""
    answered: list[Any] = []
    application = get_wsgi_application()
    given = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "wsgi.input": io.BytesIO(),
        "wsgi.url_scheme": "http",
        **environ,
    }
    body = application(given, lambda status, headers: answered.extend((status, headers)))
    b"".join(body)
    # No body.close(): it would send request_finished, which ends the test's transaction.
    return int(answered[0].split()[0]), dict(answered[1])


def by_asgi(path: str = "/page/", **scope: Any) -> tuple[int, dict[str, str]]:
    """Status and headers, as an ASGI server sees them."""

    async def ask() -> tuple[int, dict[str, str]]:
        given = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "path": path,
            "query_string": b"",
            "headers": [(b"host", b"testserver")],
            **scope,
        }
        talk = ApplicationCommunicator(get_asgi_application(), given)
        await talk.send_input({"type": "http.request", "body": b""})
        start = await talk.receive_output(timeout=10)
        await talk.receive_output(timeout=10)
        await talk.wait(timeout=10)
        return start["status"], {key.decode(): value.decode() for key, value in start["headers"]}

    return async_to_sync(ask)()


@pytest.fixture
def no_signals() -> Iterator[None]:
    """The ends of requests close the connections of the test; Django's client spares them too."""
    from django.core.signals import request_finished, request_started
    from django.db import close_old_connections

    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.usefixtures("no_signals")
def test_under_a_wsgi_server(site: Site) -> None:
    site.limited("p", limit=1)
    answers = [by_wsgi(REMOTE_ADDR="192.0.2.1") for _ in range(2)]
    assert [status for status, _ in answers] == [200, 429]
    assert answers[0][1]["RateLimit"] == '"p";r=0;t=3600'
    assert answers[1][1]["Retry-After"] == "3600"


# Each request of the handler has a thread of its own, which does not see the test's transaction.
@pytest.mark.usefixtures("no_signals")
def test_under_an_asgi_server(site: Site) -> None:
    site.limited("p", limit=1)
    with refresh.keeper.pinned(refresh.keeper.current()):
        answers = [by_asgi(client=("192.0.2.1", 50_000)) for _ in range(2)]
    assert [status for status, _ in answers] == [200, 429]
    assert answers[0][1]["RateLimit"] == '"p";r=0;t=3600'
    assert answers[1][1]["Retry-After"] == "3600"


@pytest.mark.usefixtures("no_signals")
def test_behind_a_unix_socket_all_share_a_bucket_and_a_warning_says_so(
    of: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ratelimit_app import keys

    monkeypatch.setattr(keys, "_said", set())
    of("middleware").policy("p", 3)
    with refresh.keeper.pinned(refresh.keeper.current()):
        answers = [by_asgi(client=None), by_asgi(), by_wsgi(REMOTE_ADDR=""), by_wsgi()]
    assert [status for status, _ in answers] == [200, 200, 200, 429]
    said = [each.getMessage() for each in caplog.records if each.name == "ratelimit_app"]
    assert len(said) == 1
    assert "Unix socket" in said[0]


def test_a_stream_passes_untouched(site: Site) -> None:

    async def parts() -> Any:
        for part in (b"a", b"b"):
            yield part

    # Each kind of server wants its own kind of iterator, whatever the view is.
    site.answer = lambda request: StreamingHttpResponse(
        parts() if site.asgi else iter([b"a", b"b"])
    )
    site.limited("p", limit=1)
    response: Any = site.get()
    assert response.headers["RateLimit"] == '"p";r=0;t=3600'
    assert (response.streamed if site.asgi else b"".join(response)) == b"ab"
    assert site.get().status_code == 429


KEYS = [
    {"key": "ip"},
    {"key": "user"},
    {"key": "session"},
    {"key": "header", "key_name": "X-API-Key"},
    {"key": "function", "key_name": whole(query)},
]


@pytest.mark.parametrize("fields", KEYS, ids=lambda each: each["key"])
def test_no_key_reads_the_body(site: Site, fields: dict[str, Any]) -> None:
    """C21: the view may still choose its upload handlers, and read the body as it comes."""
    seen: list[object] = []

    def answer(request: Any) -> HttpResponse:
        http: HttpRequest = getattr(request, "_request", request)
        http.upload_handlers = [MemoryFileUploadHandler(http)]
        seen.append(http.body)
        return HttpResponse("ran")

    site.answer = answer
    site.limited("p", limit=1, **fields)
    assert site.send("POST", data=b"the body").status_code == 200
    assert seen == [b"the body"]


def test_a_websocket_is_none_of_ours() -> None:
    """C24: Django's application answers HTTP alone, and our doors stand inside of it."""

    async def ask(kind: str) -> None:
        talk = ApplicationCommunicator(get_asgi_application(), {"type": kind, "path": "/page/"})
        await talk.wait(timeout=10)

    for kind in ("websocket", "lifespan"):
        with pytest.raises(ValueError, match="only handle ASGI/HTTP"):
            async_to_sync(ask)(kind)


@given(st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=60))
def test_no_accept_header_breaks_a_refusal(accept: str) -> None:
    request = RequestFactory().get("/", headers={"accept": accept})
    assert responses.refuse(request, Verdict(503, ())).status_code == 503


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["text/html", "text/*", "*/*", "application/json", "a/b", ";", "x"]),
            st.sampled_from(["", ";q=1", ";q=0", ";q=nan", ";q=0.5;q=2", ";level=1", ";q="]),
        ),
        max_size=5,
    )
)
def test_no_preference_breaks_a_refusal(accepted: list[tuple[str, str]]) -> None:
    accept = ",".join(name + parameters for name, parameters in accepted)
    request = RequestFactory().get("/", headers={"accept": accept})
    assert responses.refuse(request, Verdict(503, ())).status_code == 503
