"""What `@rate_limit` takes, refuses, and leaves as it is."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import path

from ratelimit_app.decorators import rate_limit

from . import pages
from .site import Site


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ((), {}, "Give a slug, a rate"),
        ((), {"limit": 5}, "Give a slug, a rate"),
        (("5/month",), {}, "'5/month' cannot be read"),
        (("5/M",), {}, "'5/M' cannot be read"),
        (("5/m",), {"limit": 3}, "says how much already"),
        (("login",), {"limit": 3}, "says how much already"),
        (("login",), {"key": "user"}, "policy of the table"),
        (("login",), {"burst": 3}, "policy of the table"),
        (("login",), {"cost": -1}, "cost"),
        (("login",), {"cost": 1.5}, "cost"),
        (("5/m",), {"cost": True}, "cost"),
        (("5/m",), {"key": "header"}, "''"),
        (("5/m",), {"key": "function", "key_name": "no.such.module"}, "no.such.module"),
        (("5/m",), {"key": "ip", "key_name": "X-Real-IP"}, "X-Real-IP"),
        (("5/m",), {"algorithm": "fixed_window", "burst": 5}, "burst 5"),
        ((), {"limit": -1, "period": 60}, "limit -1"),
        ((), {"limit": 1, "period": 0}, "period 0"),
        ((), {"limit": 1, "period": 0.0001}, "period 0.0001"),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_written(args: Any, kwargs: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        rate_limit(*args, **kwargs)


@pytest.mark.parametrize("wrong", [{"algorithm": "magic"}, {"key": "magic"}])
def test_an_unknown_choice_is_refused_where_it_is_written(wrong: dict[str, str]) -> None:
    with pytest.raises((ValueError, LookupError)):
        rate_limit("5/m", **wrong)  # type: ignore[arg-type]


def test_without_parentheses_it_says_what_to_write() -> None:
    with pytest.raises(TypeError, match=r"@rate_limit\('login'\)"):

        @rate_limit  # type: ignore[arg-type]
        def view(request: HttpRequest) -> HttpResponse:
            return HttpResponse()


def test_what_is_no_view_is_told_so() -> None:
    with pytest.raises(TypeError, match="found no request"):
        rate_limit("5/m")(lambda text: text)("no request")


def test_the_view_keeps_what_it_is() -> None:
    assert not iscoroutinefunction(pages.first)
    assert iscoroutinefunction(pages.afirst)
    assert iscoroutinefunction(pages.AsyncWhole.as_view())
    assert iscoroutinefunction(pages.AsyncDispatched.as_view())
    assert pages.first.__name__ == "first"
    assert pages.first.__module__ == "tests.doors.pages"


@pytest.mark.parametrize("answer", [None, {"a": "dict"}, "text"])
def test_what_is_no_response_is_passed_on(answer: Any, in_memory: Any, db: None) -> None:
    """Some frameworks make theirs of what a view returns; of None Django says what is wrong."""
    view = rate_limit("5/m", name="any")(lambda request: answer)
    assert view(RequestFactory().get("/")) is answer

    @rate_limit("5/m", name="any")
    async def aview(request: HttpRequest) -> Any:
        return answer

    async def called() -> Any:
        return await aview(RequestFactory().get("/"))

    view(RequestFactory().get("/"))  # The snapshot is loaded, so no thread is needed.
    assert asyncio.run(called()) is answer


def test_arguments_reach_the_view(of: Any) -> None:
    site: Site = of("function")

    @rate_limit("5/m")
    def view(request: HttpRequest, pk: int, *, kind: str) -> HttpResponse:
        return HttpResponse(f"{pk} {kind}")

    site.urls(path("page/<int:pk>/", view, {"kind": "new"}))
    assert site.get("/page/7/").content == b"7 new"


def test_the_cost_of_the_decorator_beats_the_policys(of: Any) -> None:
    site: Site = of("function")
    site.policy("p", 10, cost=2, path="")
    views = [rate_limit("p")(site._body()), rate_limit("p", cost=5)(site._body())]
    site.urls(*[path(f"{at}/", view) for at, view in enumerate(views)])
    assert site.get("/0/").headers["RateLimit"] == '"p";r=8;t=720'
    assert site.get("/1/").headers["RateLimit"] == '"p";r=3;t=2520'


def test_a_cost_of_0_shows_and_spends_nothing(of: Any) -> None:
    site: Site = of("function")
    site.policy("p", 10, path="")
    site.urls(path("page/", rate_limit("p", cost=0)(site._body())))
    assert [site.get().headers["RateLimit"] for _ in range(2)] == ['"p";r=10'] * 2


def test_a_policy_in_code_and_a_row_of_its_name_are_two(of: Any) -> None:
    site: Site = of("function")
    site.policy("shared", 1, path="")
    site.urls(path("row/", rate_limit("shared")(site._body())), path("code/", pages.shares))
    assert [site.get(at).status_code for at in ("/row/", "/code/")] == [200, 200]
    assert [site.get(at).status_code for at in ("/row/", "/code/")] == [429, 429]


def test_methods_of_a_policy_in_code(of: Any) -> None:
    site: Site = of("function")
    site.urls(path("page/", rate_limit("1/h", methods=["POST"], name="posts")(site._body())))
    assert site.statuses(3) == [200] * 3
    assert site.statuses(2, "POST") == [200, 429]
