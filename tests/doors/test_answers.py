"""What a refusal looks like, and what is answered when something fails: every door, on memory."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.test import RequestFactory

from ratelimit_app import bodies, limiter, refresh, responses
from ratelimit_app.testing import override_policies
from ratelimit_app.verdict import Verdict

from .site import Site

pytestmark = pytest.mark.usefixtures("in_memory")

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
TYPES = "https://iana.org/assignments/http-problem-types#"


def configure(site: Site, **changed: Any) -> None:
    site.settings.RATELIMIT = {**site.settings.RATELIMIT, **changed}


def refused(site: Site, accept: str | None = None, **fields: Any) -> Any:
    """The second answer under a policy of one an hour."""
    site.limited("p", limit=1, **fields)
    headers = {} if accept is None else {"accept": accept}
    assert site.get(headers=headers).status_code == 200
    return site.get(headers=headers)


@pytest.mark.parametrize(
    "accept", [None, "*/*", "application/json", "application/problem+json, */*"]
)
def test_a_program_gets_a_problem(site: Site, accept: str | None) -> None:
    response = refused(site, accept)
    assert response.status_code == 429
    if site.door.drf:
        detail = "Request was throttled. Expected available in 3600 seconds."
        assert json.loads(response.content) == {"detail": detail}
        return
    assert response.headers["Content-Type"] == "application/problem+json"
    assert json.loads(response.content) == {
        "type": TYPES + "quota-exceeded",
        "title": "Too many requests",
        "status": 429,
        "violated-policies": ["p"],
    }


def test_a_browser_gets_a_page(site: Site) -> None:
    response = refused(site, BROWSER)
    assert response.status_code == 429
    assert response.headers["Content-Type"].startswith("text/html")
    if not site.door.drf:
        assert b"Please try again in 3600 seconds." in response.content
    assert response.headers["Retry-After"] == "3600"


def test_what_a_client_accepts_is_parsed_once_and_a_long_header_is_not_kept(site: Site) -> None:
    bodies._prefers_html.cache_clear()
    refused(site, BROWSER)
    if site.door.drf:
        # It finds out by itself.
        assert bodies._prefers_html.cache_info().currsize == 0
        return
    for _ in range(3):
        assert site.get(headers={"accept": BROWSER}).headers["Content-Type"].startswith("text/html")
    assert bodies._prefers_html.cache_info()[:2] == (3, 1)
    long = f"text/html,{'x' * 300}/*;q=0.1"
    assert site.get(headers={"accept": long}).headers["Content-Type"].startswith("text/html")
    assert bodies._prefers_html.cache_info().currsize == 1


def test_the_headers_of_an_answer_are_written_once(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, written = responses.headers, []

    def headers(verdict: Verdict) -> dict[str, str]:
        written.append(verdict.status)
        return real(verdict)

    monkeypatch.setattr(responses, "headers", headers)
    assert "RateLimit" in refused(site).headers
    assert written == [200, 429]


def test_a_later_verdict_replaces_the_headers_of_an_earlier_one(rf: RequestFactory) -> None:
    request, response = rf.get("/"), HttpResponse()
    policies = {slug: {"limit": limit, "period": 60} for slug, limit in (("a", 1), ("b", 2))}
    with override_policies(policies):
        snapshot, seen = refresh.keeper.current(), []
        for slug in ("a", "b"):
            limiter.check(request, [(snapshot.by_slug[slug], 1)])
            seen.append(responses.stamped(request, response).headers["RateLimit"])
    assert seen == ['"a";r=0;t=60', '"a";r=0;t=60, "b";r=1;t=30']


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Come back in {{ retry_after }}: {{ title }}", b"Come back in 3600: Too many requests"),
        # A page that asks the database, as a site's own frame does, works on an event loop too.
        ("{% load site_tags %}{% users %} users", b"0 users"),
    ],
)
def test_the_page_can_be_the_sites_own(
    site: Site, tmp_path: Path, text: str, expected: bytes
) -> None:
    own_template(site, tmp_path, text)
    response = refused(site, BROWSER)
    assert response.status_code == 429
    if not site.door.drf:
        assert response.content == expected


@pytest.mark.parametrize("text", ["{% nonsense %}", "{% include 'missing.html' %}"])
def test_a_broken_page_is_replaced_by_a_problem(
    site: Site, tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    own_template(site, tmp_path, text)
    response = refused(site, BROWSER)
    assert (response.status_code, response.headers["Retry-After"]) == (429, "3600")
    if not site.door.drf:
        assert response.headers["Content-Type"] == "application/problem+json"
        assert "The template 429.html failed" in caplog.text


def own_template(site: Site, folder: Path, text: str) -> None:
    (folder / "429.html").write_text(text)
    (engine,) = site.settings.TEMPLATES
    libraries = {"site_tags": "tests.doors.site_tags"}
    options = {**engine["OPTIONS"], "libraries": libraries}
    site.settings.TEMPLATES = [{**engine, "DIRS": [folder], "OPTIONS": options}]


def test_a_refusal_is_no_permission_error(site: Site) -> None:
    """B23: handler403 hears of a real one only."""
    heard: list[Exception] = []

    def handler403(request: Any, exception: Exception) -> HttpResponse:
        heard.append(exception)
        return HttpResponse("forbidden", status=403)

    site.urlconf.handler403 = handler403  # type: ignore[attr-defined]
    assert refused(site).status_code == 429
    assert heard == []

    def denied(request: Any) -> None:
        raise PermissionDenied

    site.answer = denied
    assert site.get(address="192.0.2.2").status_code == 403
    assert len(heard) == (0 if site.door.drf else 1)
