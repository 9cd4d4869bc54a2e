"""Which policies a request meets, by the view that really runs and the method."""

from typing import Any
from urllib.parse import unquote

import pytest
from django.http import HttpResponse
from django.urls import include, path

from ratelimit_app.policies import Snapshot
from ratelimit_app.sources import DEFAULTS
from tests.doors.site import Site


def policies(*rows: dict[str, Any]) -> Snapshot:
    return Snapshot(
        [
            {**DEFAULTS, "slug": f"p{at}", "limit": 5, "period": 60, **row}
            for at, row in enumerate(rows)
        ],
        strict=True,
    )


METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]


@pytest.mark.parametrize(
    ("methods", "covered"),
    [
        ([], [each for each in METHODS if each != "OPTIONS"]),
        (["GET"], ["GET", "HEAD"]),
        (["get"], ["GET", "HEAD"]),
        (["HEAD"], ["HEAD"]),
        (["POST", "PUT"], ["POST", "PUT"]),
        (["OPTIONS"], ["OPTIONS"]),
    ],
)
def test_methods(methods: list[str], covered: list[str]) -> None:
    snapshot = policies({"path": "/**", "methods": methods})
    assert [each for each in METHODS if snapshot.matching(each, "/", None)] == covered


def test_one_policy_is_found_once_and_all_by_slug() -> None:
    snapshot = policies({"path": "/**"}, {"path": "page"}, {"path": "/a/"}, {"path": ""})
    assert [each.slug for each in snapshot.matching("GET", "/a/", "page")] == ["p0", "p1", "p2"]
    assert [each.slug for each in snapshot.matching("GET", "/a/", None)] == ["p0", "p2"]


def test_what_is_off_is_not_found_and_still_known() -> None:
    snapshot = policies({"path": "/**", "mode": "off"}, {"path": "/**", "mode": "shadow"})
    assert [each.slug for each in snapshot.matching("GET", "/", None)] == ["p1"]
    assert set(snapshot.by_slug) == {"p0", "p1"}


def test_one_bad_row_is_left_out_and_the_others_hold(caplog: pytest.LogCaptureFixture) -> None:
    """C22: whatever raw SQL has written."""
    bad = {"limit": 5, "period": "soon", "path": "/**"}
    rows = [
        {**DEFAULTS, "slug": "bad", **bad},
        {**DEFAULTS, "slug": "good", "limit": 5, "period": 60},
    ]
    assert set(Snapshot(rows).by_slug) == {"good"}
    assert "Policy 'bad' is left out" in caplog.text


#: Spellings of one address, and whether the view of /api/login/ answers them.
SPELLINGS = {
    "/api/login/": True,
    "/api%2Flogin/": True,
    "/%61pi/login/": True,
    "/api/login/?next=/other/": True,
    "/api/login/#part": True,
    "/api/login/;a=b": False,
    "//api/login/": False,
    "/api//login/": False,
    "/API/login/": False,
    "/api/./login/": False,
    "/api/../api/login/": False,
    "/api/login": False,
    "/api/login//": False,
    "/api/login/%00": False,
    "/api/login/%0A": False,
    "/api/login%2F%2F": False,
    "/api/login%20/": False,
    "/x/api/login/": False,
}


@pytest.fixture(params=[False, True], ids=["wsgi", "asgi"])
def site(of: Any, request: pytest.FixtureRequest) -> Site:
    made: Site = of("middleware", asgi=request.param)
    shop = ([path("login/", lambda request: HttpResponse("ran"), name="login")], "shop")
    made.urls(path("api/", include(shop)))
    return made


@pytest.mark.parametrize("at", SPELLINGS)
@pytest.mark.parametrize("pattern", ["/api/login/", "shop:login", "shop:*", "/api/login/**"])
def test_every_spelling_that_reaches_the_view_is_charged(site: Site, at: str, pattern: str) -> None:
    """B5: and what does not reach it spends nothing of its own."""
    reaches = SPELLINGS[at]
    site.policy("p", 1, path=pattern)
    first = site.get(at)
    assert (first.status_code == 200) is reaches
    under = pattern.endswith("**") and unquote(at).startswith("/api/login/")
    expected = 429 if reaches or under else 200
    assert site.get("/api/login/").status_code == expected


def test_the_method_is_the_one_the_view_sees(site: Site) -> None:
    site.policy("p", 1, path="shop:login", methods=["POST"])
    override = {"x-http-method-override": "POST"}
    assert site.statuses(3, at="/api/login/", headers=override) == [200] * 3
    assert site.statuses(2, "POST", at="/api/login/") == [200, 429]


def test_a_view_without_a_name_is_called_by_its_module(site: Site) -> None:
    from tests.urls import sync_view

    site.urls(path("page/", sync_view))
    site.policy("p", 1, path="tests.urls.sync_view")
    assert site.statuses(2) == [200, 429]


def test_namespaces_of_instances(site: Site) -> None:
    """The name is the instance's, as in reverse()."""
    views = ([path("login/", lambda request: HttpResponse("ran"), name="login")], "app")
    site.urls(
        path("one/", include(views, namespace="one")), path("two/", include(views, namespace="two"))
    )
    site.policy("p", 1, path="one:login")
    assert site.statuses(2, at="/one/login/") == [200, 429]
    assert site.statuses(3, at="/two/login/") == [200] * 3
