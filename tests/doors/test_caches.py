"""C14: a cached page carries nobody else's numbers, and no refusal is ever kept."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.cache import cache_page
from django.views.decorators.http import condition

from ratelimit_app.decorators import rate_limit

from .adapters import MIDDLEWARE
from .site import Site, ours

UPDATE = "django.middleware.cache.UpdateCacheMiddleware"
FETCH = "django.middleware.cache.FetchFromCacheMiddleware"
GZIP = "django.middleware.gzip.GZipMiddleware"
CONDITIONAL = "django.middleware.http.ConditionalGetMiddleware"
COMMON = "django.middleware.common.CommonMiddleware"

A, B = "192.0.2.1", "192.0.2.2"
STALE = {"RateLimit-Policy": '"p";q=2;w=3600'}


@pytest.fixture(autouse=True)
def empty(in_memory: Any) -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture(params=[False, True], ids=["wsgi", "asgi"])
def site(of: Any, request: pytest.FixtureRequest) -> Site:
    made: Site = of("middleware", asgi=request.param)
    made.policy("p", 2)
    made.answer = lambda request: HttpResponse("ran" * 200)
    return made


def told(response: Any) -> str | None:
    """What a response says of its client's quota; the header is there once or not at all."""
    found = [value for name, value in response.items() if name.lower() == "ratelimit"]
    assert len(found) <= 1
    return found[0] if found else None


def asked(site: Site) -> list[tuple[int, str | None]]:
    """A, A, A, B."""
    responses = [site.get(address=each) for each in (A, A, A, B)]
    return [(each.status_code, told(each)) for each in responses]


OWN = [
    (200, '"p";r=1;t=1800'),
    (200, '"p";r=0;t=3600'),
    (429, '"p";r=0;t=1800'),
    (200, '"p";r=1;t=1800'),
]
# Whoever stands behind a cache sees only those that the cache lets through.
FIRST_ALONE = [OWN[0], (200, None), (200, None), (200, None)]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ((MIDDLEWARE, UPDATE, FETCH), OWN),
        ((UPDATE, MIDDLEWARE, FETCH), OWN),
        ((UPDATE, FETCH, MIDDLEWARE), FIRST_ALONE),
        ((MIDDLEWARE, UPDATE, GZIP, CONDITIONAL, COMMON, FETCH), OWN),
        ((UPDATE, GZIP, CONDITIONAL, COMMON, MIDDLEWARE, FETCH), OWN),
        ((UPDATE, GZIP, CONDITIONAL, COMMON, FETCH, MIDDLEWARE), FIRST_ALONE),
    ],
)
def test_the_cache_of_the_whole_site(site: Site, order: tuple[str, ...], expected: Any) -> None:
    site.settings.MIDDLEWARE = order
    assert asked(site) == expected
    assert len(site.ran) == 1


def test_cache_page_below_the_middleware(site: Site) -> None:
    view = cache_page(60)(site.door.put(site._body(), ()))
    site.urls(path("page/", view, name="page"))
    assert asked(site) == OWN
    assert len(site.ran) == 1


def test_cache_page_below_the_decorator(of: Any) -> None:
    site = of("function")
    site.policy("p", 2)
    site.urls(path("page/", rate_limit("p")(cache_page(60)(site._body()))))
    assert asked(site) == OWN
    assert len(site.ran) == 1


def test_cache_page_above_the_decorator(of: Any) -> None:
    site = of("function")
    site.policy("p", 2)
    site.urls(path("page/", cache_page(60)(rate_limit("p")(site._body()))))
    assert asked(site) == FIRST_ALONE


@pytest.mark.parametrize("name", ["class", "drf-view"])
def test_cache_page_above_other_doors(of: Any, name: str) -> None:
    site = of(name)
    site.policy("p", 2)
    site.urls(path("page/", cache_page(60)(site.door.put(site._body(), ("p",)))))
    assert asked(site) == FIRST_ALONE


@pytest.mark.parametrize(
    "order",
    [(UPDATE, GZIP, CONDITIONAL, MIDDLEWARE, FETCH), (UPDATE, FETCH, MIDDLEWARE)],
)
def test_a_refusal_is_not_kept(site: Site, order: tuple[str, ...]) -> None:
    site.settings.MIDDLEWARE = order
    # As a view would that sends pages of a client's own: nothing of it is kept.
    site.answer = lambda request: HttpResponse("mine", headers={"Cache-Control": "private"})
    assert site.statuses(3, address=A) == [200, 200, 429]
    refusal = site.get(address=A)
    assert refusal.headers["Cache-Control"] == "no-store"
    assert not refusal.has_header("ETag")
    assert not refusal.has_header("Expires")
    assert site.get(address=B).status_code == 200


@pytest.mark.parametrize("order", [(CONDITIONAL, MIDDLEWARE), (MIDDLEWARE, CONDITIONAL)])
def test_not_modified_is_charged(site: Site, order: tuple[str, str]) -> None:
    site.settings.MIDDLEWARE = order
    etag = site.get().headers["ETag"]
    response = site.get(headers={"if-none-match": etag})
    assert response.status_code == 304
    # Django makes a new response of it, with the headers of its choice.
    inside = order[0] == MIDDLEWARE
    assert told(response) == ('"p";r=0;t=3600' if inside else None)
    assert site.get(headers={"if-none-match": etag}).status_code == 429


def test_a_conditional_view_is_charged_once(site: Site) -> None:
    view = condition(etag_func=lambda request: '"same"')(site.door.put(site._body(), ()))
    site.urls(path("page/", view, name="page"))
    responses = [site.get(headers={"if-none-match": '"same"'}) for _ in range(3)]
    assert [each.status_code for each in responses] == [304, 304, 429]
    assert told(responses[1]) == '"p";r=0;t=3600'


def test_a_compressed_page_keeps_the_headers(site: Site) -> None:
    site.settings.MIDDLEWARE = (GZIP, MIDDLEWARE)
    response = site.get(headers={"accept-encoding": "gzip"})
    assert response.headers["Content-Encoding"] == "gzip"
    assert ours(response) == {**STALE, "RateLimit": '"p";r=1;t=1800'}


def test_what_is_kept_is_the_page_without_our_headers() -> None:
    """Every header of the site's own is kept, and the response itself loses none."""
    import copy
    import pickle

    from ratelimit_app import responses
    from ratelimit_app.policies import compiled
    from ratelimit_app.sources import DEFAULTS
    from ratelimit_app.verdict import Entry, Verdict, unlimited

    policy = compiled({**DEFAULTS, "slug": "p", "limit": 2, "period": 3600})
    request = HttpRequest()
    request.rate_limit = Verdict(200, (Entry(policy, unlimited(policy)),))  # type: ignore[attr-defined]
    response = HttpResponse("page", headers={"X-Own": "kept"})
    assert responses.stamped(request, response) is response
    for kept in (pickle.loads(pickle.dumps(response)), copy.copy(response.headers)):
        headers = getattr(kept, "headers", kept)
        assert dict(headers.items()) == {
            "X-Own": "kept",
            "Content-Type": "text/html; charset=utf-8",
        }
    assert ours(response) == {**STALE, "RateLimit": '"p";r=2'}
