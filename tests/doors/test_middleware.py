"""The door for a whole site: what reaches no view, redirects, and other middleware beside it."""

from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.common import no_append_slash

from .adapters import MIDDLEWARE
from .site import Site, ours

COMMON = "django.middleware.common.CommonMiddleware"
LOCALE = "django.middleware.locale.LocaleMiddleware"
CSRF = "django.middleware.csrf.CsrfViewMiddleware"
SECURITY = "django.middleware.security.SecurityMiddleware"


@pytest.fixture(params=[False, True], ids=["wsgi", "asgi"])
def site(of: Any, request: pytest.FixtureRequest) -> Site:
    made: Site = of("middleware", is_async=request.param, asgi=request.param)
    return made


def use(site: Site, *middleware: str) -> None:
    site.settings.MIDDLEWARE = middleware


def followed(site: Site, at: str) -> list[int]:
    """The statuses on the way of a client that follows redirects."""
    statuses = []
    while True:
        response = site.get(at)
        statuses.append(response.status_code)
        if not 300 <= response.status_code < 400:
            return statuses
        at = response.headers["Location"].replace("http://testserver", "")


def test_a_404_is_charged_and_its_refusal_replaces_it(site: Site) -> None:
    site.policy("all", 2, path="/**")
    responses = [site.get("/nowhere/") for _ in range(3)]
    assert [each.status_code for each in responses] == [404, 404, 429]
    assert ours(responses[0]) == {
        "RateLimit-Policy": '"all";q=2;w=3600',
        "RateLimit": '"all";r=1;t=1800',
    }
    assert responses[2].headers["Retry-After"] == "1800"


def test_a_404_of_the_view_is_charged_once(site: Site) -> None:
    def absent(request: HttpRequest) -> HttpResponse:
        raise Http404

    site.answer = absent
    site.policy("all", 2, path="/**")
    assert site.statuses(3) == [404, 404, 429]


def test_an_exception_of_the_view_is_charged_once(site: Site) -> None:
    from django.core.exceptions import SuspiciousOperation

    def bad(request: HttpRequest) -> HttpResponse:
        raise SuspiciousOperation

    site.answer = bad
    site.policy("all", 2, path="/**")
    assert site.statuses(3) == [400, 400, 429]


def test_a_404_is_no_view(site: Site) -> None:
    """C17: what is not resolved never matches by view."""
    site.policy("page", 0, path="page")
    assert site.get("/page").status_code == 404
    assert site.get("/page/").status_code == 429


@pytest.mark.parametrize("order", [(COMMON, MIDDLEWARE), (MIDDLEWARE, COMMON)])
@pytest.mark.parametrize("pattern", ["/page/", "/page/**", "/**", "page"])
def test_the_slash_is_appended_for_nothing(
    site: Site, pattern: str, order: tuple[str, str]
) -> None:
    """C17: the third followed request is the first that is refused."""
    use(site, *order)
    site.policy("p", 2, path=pattern)
    assert [followed(site, "/page") for _ in range(3)] == [[301, 200], [301, 200], [301, 429]]


@pytest.mark.parametrize("order", [(COMMON, MIDDLEWARE), (MIDDLEWARE, COMMON)])
def test_where_no_slash_is_appended_the_404_is_charged(site: Site, order: tuple[str, str]) -> None:
    use(site, *order)
    site.urls(path("page/", no_append_slash(site.door.put(site._body(), ()))))
    site.policy("all", 1, path="/**")
    assert site.statuses(2, at="/page") == [404, 429]
    site.settings.APPEND_SLASH = False
    assert site.get("/page", address="192.0.2.2").status_code == 404
    assert site.get("/page", address="192.0.2.2").status_code == 429


@pytest.mark.parametrize("order", [(LOCALE, COMMON, MIDDLEWARE), (MIDDLEWARE, LOCALE, COMMON)])
@pytest.mark.parametrize("start", ["/page/", "/page"])
def test_the_language_is_prefixed_for_nothing(
    site: Site, start: str, order: tuple[str, ...]
) -> None:
    use(site, *order)
    view = site.door.put(site._body(), ())
    site.urls(*i18n_patterns(path("page/", view, name="page")))
    site.policy("p", 2, path="/**")
    found = [followed(site, start) for _ in range(3)]
    assert [each[-1] for each in found] == [200, 200, 429]
    assert {each[0] for each in found} == {302}


def test_a_view_is_the_same_under_every_prefix(site: Site) -> None:
    """By its name and not by its path."""
    use(site, LOCALE, MIDDLEWARE)
    view = site.door.put(site._body(), ())
    site.urls(*i18n_patterns(path("page/", view, name="page"), prefix_default_language=False))
    site.policy("p", 2, path="page")
    ways = ["/page/", "/de/page/", "/fr/page/"]
    assert [site.get(each).status_code for each in ways] == [200, 200, 429]
    # Without a prefix for the default language, nothing is redirected, and a 404 is one.
    site.policy("all", 1, path="/**")
    assert site.statuses(2, at="/nowhere/", address="192.0.2.2") == [404, 429]


@pytest.mark.parametrize("order", [(SECURITY, MIDDLEWARE), (MIDDLEWARE, SECURITY)])
def test_the_way_to_https_is_free(site: Site, order: tuple[str, str]) -> None:
    use(site, *order)
    site.settings.SECURE_SSL_REDIRECT = True
    site.policy("p", 2)
    for expected in [200, 200, 429]:
        assert site.get().status_code == 301
        assert site.get(secure=True).status_code == expected


def test_the_way_to_www_is_free(of: Any) -> None:
    site = of("middleware")
    use(site, MIDDLEWARE, COMMON)
    site.settings.PREPEND_WWW = True
    site.policy("p", 1)
    assert site.statuses(3) == [301] * 3
    www = {"host": "www.example.com"}
    assert [site.get(headers=www).status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize("order", [(CSRF, MIDDLEWARE), (MIDDLEWARE, CSRF)])
def test_what_another_middleware_refuses_is_charged(
    of: Any, order: tuple[str, str], settings: Any
) -> None:
    """A failed CSRF check keeps the view from running, wherever it stands."""
    from django.test import Client

    site = of("middleware")
    use(site, *order)
    site.policy("p", 2, methods=["POST"])
    client = Client(enforce_csrf_checks=True)
    assert [client.post("/page/").status_code for _ in range(3)] == [403, 403, 429]
    assert site.ran == []


@pytest.mark.parametrize("script_name", ["", "/mounted"])
def test_paths_are_those_inside_of_the_project(of: Any, settings: Any, script_name: str) -> None:
    site = of("middleware")
    site.policy("p", 1, path="/page/")
    settings.FORCE_SCRIPT_NAME = script_name or None
    try:
        assert site.statuses(2, SCRIPT_NAME=script_name) == [200, 429]
    finally:
        from django.urls import set_script_prefix

        set_script_prefix("/")


def test_listed_twice_it_charges_once(site: Site) -> None:
    use(site, MIDDLEWARE, MIDDLEWARE)
    site.policy("p", 3)
    assert site.get().headers["RateLimit"] == '"p";r=2;t=1200'


def test_a_middleware_may_choose_another_urlconf(site: Site) -> None:
    use(site, "tests.doors.other_middleware.other_urlconf", MIDDLEWARE)
    site.policy("p", 1, path="elsewhere")
    assert site.statuses(2, at="/elsewhere/") == [200, 429]
