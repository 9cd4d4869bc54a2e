"""B25: a policy in code is named after its view, and no two views share one by accident."""

from functools import partial
from typing import Any

import pytest
from django.urls import path

from ratelimit_app.decorators import rate_limit

from . import pages
from .site import Site

HERE = "tests.doors.pages."

NAMES: list[tuple[Any, str]] = [
    (pages.first, "first"),
    (pages.second, "second"),
    (pages.afirst, "afirst"),
    (pages.Whole.as_view(), "Whole"),
    (pages.OfWhole.as_view(), "OfWhole"),
    (pages.AsyncWhole.as_view(), "AsyncWhole"),
    (pages.Dispatched.as_view(), "Dispatched.dispatch"),
    (pages.Dispatched2.as_view(), "Dispatched2.dispatch"),
    (pages.AsyncDispatched.as_view(), "AsyncDispatched.dispatch"),
    (pages.Got.as_view(), "Got.get"),
    (pages.OfGot.as_view(), "OfGot.get"),
    (pages.Method.as_view(), "Method.get"),
    (pages.OfMethod.as_view(), "OfMethod.get"),
    (pages.one(pages.Plain.as_view()), "Plain"),
    (pages.one(pages.Plain2.as_view()), "Plain2"),
    (pages.one(pages.Async.as_view()), "Async"),
    (pages.one(pages.Callable()), "Callable"),
    (pages.one(pages.Callable().bound), "Callable.bound"),
    (pages.Api.as_view(), "Api.get"),
    (pages.one(pages.OtherApi.as_view()), "OtherApi"),
    (pages.outside, "outside"),
    (pages.outside2, "outside2"),
    (pages.inside, "inside"),
    (pages.shares, "shared"),
    (pages.ashares, "shared"),
]


@pytest.fixture(params=[False, True], ids=["wsgi", "asgi"])
def site(of: Any, request: pytest.FixtureRequest) -> Site:
    made: Site = of("function", asgi=request.param)
    return made


def named(site: Site, view: Any, **kwargs: Any) -> list[str]:
    """What the policies are called that a view is charged by."""
    site.urls(path("page/", view))
    headers = site.get(**kwargs).headers
    return [item.split('"')[1] for item in headers["RateLimit-Policy"].split(", ")]


@pytest.mark.parametrize("at", range(len(NAMES)))
def test_a_policy_in_code_is_called_as_its_view(site: Site, at: int) -> None:
    view, name = NAMES[at]
    assert named(site, view) == [name if name == "shared" else HERE + name]


def test_views_of_different_names_share_nothing(site: Site) -> None:
    site.urls(*[path(f"{at}/", view) for at, (view, _) in enumerate(NAMES)])
    statuses = [site.get(f"/{at}/").status_code for at in range(len(NAMES))]
    seen: set[str] = set()
    expected = []
    for _, name in NAMES:
        expected.append(429 if name in seen else 200)
        seen.add(name)
    assert statuses == expected


def test_methods_are_counted_apart(site: Site) -> None:
    site.urls(path("page/", pages.Method.as_view()))
    assert site.statuses(2) == [200, 429]
    assert site.statuses(2, "POST") == [200, 429]


def test_a_partial_is_the_view_it_is_of(site: Site) -> None:
    view = pages.one(partial(pages.Plain.as_view()))
    site.urls(path("page/", view))
    assert site.statuses(2) == [200, 429]


@pytest.mark.parametrize(
    ("view", "name"),
    [
        (pages.stacked, "stacked"),
        (pages.Stacked.as_view(), "Stacked.dispatch"),
        (pages.Listed.as_view(), "Listed.get"),
        (pages.Classes.as_view(), "Classes"),
    ],
    ids=["function", "method_decorator", "list", "class"],
)
def test_two_limits_on_one_view(site: Site, view: Any, name: str) -> None:
    """B7: 3 a minute and 30 a day; the fourth names the first, and the day has three."""
    assert named(site, view) == [f"{HERE}{name}#2", HERE + name]
    assert site.statuses(3) == [200, 200, 429]
    refusal = site.get()
    assert refusal.headers["RateLimit-Policy"] == f'"{HERE}{name}#2";q=3;w=60'
    assert refusal.headers["RateLimit"] == f'"{HERE}{name}#2";r=0;t=20'


def test_the_day_has_what_was_served(site: Site, in_memory: Any) -> None:
    site.urls(path("page/", pages.stacked))
    assert site.statuses(5) == [200, 200, 200, 429, 429]
    in_memory.move(20)
    day = site.get().headers["RateLimit"].split(", ")[1]
    # 4 units come back in 4 × 2,880 s, of which 20 s are over.
    assert day == f'"{HERE}stacked";r=26;t=11500'


def test_a_decorator_between_two_doors(site: Site) -> None:
    from django.views.decorators.cache import never_cache

    view = rate_limit("3/m")(never_cache(rate_limit("30/d")(pages.Plain.as_view())))
    assert named(site, view) == [f"{HERE}Plain#2", f"{HERE}Plain"]
