"""C31: the user as a key, on either kind of server: at most one query, and never a shared key."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext
from django.urls import path

from .adapters import MIDDLEWARE
from .site import Site, slugs_of

AUTH = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
SESSIONS = "django.contrib.sessions.backends."

WAYS = [("middleware", False), ("middleware", True), ("function", False), ("function", True)]


@pytest.fixture(params=[(*way, asgi) for way in WAYS for asgi in (False, True)], ids=str)
def site(of: Any, request: pytest.FixtureRequest) -> Site:
    name, is_async, asgi = request.param
    made: Site = of(name, is_async=is_async, asgi=asgi)
    made.settings.MIDDLEWARE = [*AUTH, *([MIDDLEWARE] if made.door.by_path else [])]
    # A session in the cookie: every query is one for the user.
    made.settings.SESSION_ENGINE = SESSIONS + "signed_cookies"
    return made


class Visitor:
    """A client who keeps cookies, on the site's kind of server."""

    def __init__(self, site: Site, user: User | None = None) -> None:
        self.client: Any = AsyncClient() if site.asgi else Client()
        self.site = site
        if user is not None:
            signed_in = Client()
            signed_in.force_login(user)
            self.client.cookies = signed_in.cookies

    def get(self) -> Any:
        if self.site.asgi:
            return async_to_sync(self.client.get)("/page/")
        return self.client.get("/page/")


@pytest.fixture
def ann() -> Any:
    return User.objects.create_user("ann", password="secret")


@pytest.fixture
def bob() -> Any:
    return User.objects.create_user("bob", password="secret")


def test_users_are_counted_apart(site: Site, ann: User, bob: User) -> None:
    site.limited("p", limit=1, key="user")
    anns = [Visitor(site, ann), Visitor(site, ann)]
    assert [each.get().status_code for each in anns] == [200, 429]
    assert Visitor(site, bob).get().status_code == 200


def test_a_user_costs_one_query(site: Site, ann: User) -> None:
    site.limited("p", limit=9, key="user")
    visitor = Visitor(site, ann)
    visitor.get()
    with CaptureQueriesContext(connection) as queries:
        assert visitor.get().headers["RateLimit"] == '"p";r=7;t=800'
    assert len(queries) == 1


def test_nobody_costs_no_query_and_is_not_counted(site: Site) -> None:
    site.limited("p", limit=1, key="user")
    visitor = Visitor(site)
    visitor.get()
    with CaptureQueriesContext(connection) as queries:
        responses = [visitor.get() for _ in range(3)]
    assert [each.status_code for each in responses] == [200] * 3
    assert len(queries) == 0
    assert slugs_of(site.ran[-1]) == []


def test_whoever_is_logged_out_is_nobody(site: Site, ann: User) -> None:
    """An expired session: by address then, with user_or_ip."""
    site.settings.SESSION_ENGINE = SESSIONS + "db"
    site.limited("p", limit=1, key="user_or_ip")
    visitor = Visitor(site, ann)
    assert [visitor.get().status_code for _ in range(2)] == [200, 429]
    from django.contrib.sessions.models import Session

    Session.objects.all().delete()
    assert [visitor.get().status_code for _ in range(2)] == [200, 429]
    assert Visitor(site).get().status_code == 429


@pytest.mark.parametrize("on_error", ["open", "closed"])
def test_a_user_who_cannot_be_found_out(
    site: Site, ann: User, on_error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the policy says, not as the whole site does; other policies count as ever."""

    def down(*args: object) -> None:
        raise ConnectionError("no database")

    site.policy("p", 1, key="user", on_error=on_error)
    site.policy("by-address", 5)
    site.open("p", "by-address")
    visitor = Visitor(site, ann)

    async def adown(*args: object) -> None:
        down()

    monkeypatch.setattr("django.contrib.auth.backends.ModelBackend.get_user", down)
    monkeypatch.setattr("django.contrib.auth.backends.ModelBackend.aget_user", adown)
    site.get(address="198.51.100.1")
    response = visitor.get()
    assert response.status_code == (200 if on_error == "open" else 503)
    if on_error == "open":
        assert response.headers["RateLimit"] == '"by-address";r=4;t=720'


def test_the_user_of_the_moment(of: Any, ann: User) -> None:
    """Who logs in inside of a view is counted as such by the doors further in."""
    from django.contrib.auth import login

    from ratelimit_app.decorators import rate_limit

    site: Site = of("function")
    site.settings.MIDDLEWARE = AUTH
    site.settings.SESSION_ENGINE = SESSIONS + "db"
    site.policy("p", 1, key="user", path="")

    @rate_limit("p")
    def inner(request: HttpRequest) -> HttpResponse:
        return HttpResponse("ran")

    @rate_limit("p")
    def outer(request: HttpRequest) -> Any:
        login(request, ann)
        return inner(request)

    site.urls(path("page/", outer))
    assert [Visitor(site).get().status_code for _ in range(2)] == [200, 429]


def test_custom_users_have_keys_of_any_kind(site: Site) -> None:
    """A UUID, for one."""
    custom = "tests.doors.other_middleware.custom_user"
    site.settings.MIDDLEWARE = [custom, *([MIDDLEWARE] if site.door.by_path else [])]
    site.limited("p", limit=1, key="user")
    names = ["ann", "ann", "bob"]
    assert [site.get(headers={"x-name": each}).status_code for each in names] == [200, 429, 200]
    assert site.statuses(3) == [200] * 3


@pytest.mark.parametrize("engine", ["db", "cache", "cached_db", "file"])
def test_sessions_are_counted_apart(site: Site, ann: User, engine: str, tmp_path: Any) -> None:
    site.settings.SESSION_ENGINE = SESSIONS + engine
    site.settings.SESSION_FILE_PATH = str(tmp_path)
    site.limited("p", limit=1, key="session")
    first, second = Visitor(site, ann), Visitor(site, ann)
    assert [first.get().status_code for _ in range(2)] == [200, 429]
    assert second.get().status_code == 200


@pytest.mark.parametrize("engine", ["db", "cache", "cached_db", "signed_cookies"])
def test_an_invented_session_is_none(site: Site, engine: str) -> None:
    """B38: a cookie made up for each request gives no bucket of its own."""
    site.settings.SESSION_ENGINE = SESSIONS + engine
    site.limited("p", limit=2, key="session")
    cookies = [f"sessionid={letter * 32}" for letter in "abc"]
    statuses = [site.get(headers={"cookie": each}).status_code for each in cookies]
    assert statuses == [200, 200, 429]
    assert site.get().status_code == 429


def test_a_page_may_stay_without_sessions(site: Site) -> None:
    site.settings.MIDDLEWARE = site.middleware
    site.policy("by-session", 1, key="session")
    site.policy("by-user", 2, key="user_or_ip")
    site.open("by-session", "by-user")
    assert site.statuses(2) == [200, 429]
    assert sorted(slugs_of(site.ran[0])) == ["by-session", "by-user"]
