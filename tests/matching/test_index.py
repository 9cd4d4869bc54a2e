"""Which patterns fit: against a plain model, and in steps that do not grow with what is stored."""

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ratelimit_app.matching import Index
from ratelimit_app.policies import Snapshot
from ratelimit_app.sources import DEFAULTS
from ratelimit_app.validators import validate_path


def matches(pattern: str, path: str = "", view: str = "") -> bool:
    index: Index[str] = Index()
    index.add(pattern, pattern)
    found = [*index.by_path(path or "/"), *index.by_view(view)] if path else [*index.by_view(view)]
    assert found in ([], [pattern])
    return bool(found)


PATHS = {
    "/": (["/"], ["/a", "//", "/a/"]),
    "/login": (["/login"], ["/login/", "/Login", "/login/x", "//login", "/login\n", "/", "xlogin"]),
    "/login/": (["/login/"], ["/login", "/login//", "/login/x/"]),
    "/api/*": (
        ["/api/a", "/api/*", "/api/é b"],
        ["/api/", "/api", "/api/a/", "/api/a/b", "/api//"],
    ),
    "/api/*/": (["/api/a/"], ["/api//", "/api/a", "/api/a/b/"]),
    "/*/orders": (["/a/orders"], ["//orders", "/a/b/orders", "/orders"]),
    "/api/**": (
        ["/api/", "/api/a", "/api/a/b/", "/api//", "/api///x", "/api/\n"],
        ["/api", "/apix/", "/ap/i", "//api/", "/API/x"],
    ),
    # What is no path, as some servers hand on `GET http://host/a`, is everything's and nobody's.
    "/**": (["/", "/a", "/a/b/c/", "//", "http://host/a"], []),
    "/*/**": (["/a/", "/a/b"], ["/a", "//", "/"]),
    "/api/*/orders/**": (
        ["/api/7/orders/", "/api/7/orders/1/x"],
        ["/api/7/orders", "/api//orders/"],
    ),
    # Marks of other languages are letters here; validators refuse them, and raw SQL may write them.
    "/a.c": (["/a.c"], ["/abc"]),
    "/^(a+)+$": (["/^(a+)+$"], ["/aaaa", "/" + "a" * 40 + "!"]),
    "/<int:pk>": (["/<int:pk>"], ["/7"]),
}


@pytest.mark.parametrize("pattern", PATHS)
def test_paths(pattern: str) -> None:
    fitting, others = PATHS[pattern]
    assert [path for path in fitting if not matches(pattern, path)] == []
    assert [path for path in others if matches(pattern, path)] == []


VIEWS = {
    "login": (["login"], ["login2", "app:login", "Login", "", "/login"]),
    "shop:item": (["shop:item"], ["item", "shop:items", "other:shop:item"]),
    "shop:*": (["shop:item", "shop:admin:item"], ["shop", "shopping:item", "other:shop:item"]),
    "a:b:*": (["a:b:c", "a:b:c:d"], ["a:b", "a:c:b", "a:bc:d"]),
    "app.views.page": (["app.views.page"], ["app.views", "app.views.pages"]),
    # What was written for a regular expression is no view's name; it matches nothing, at no cost.
    "^/(a+)+$": ([], ["a" * 40, "/" + "a" * 40 + "!"]),
    "(": ([], ["", "a"]),
}


@pytest.mark.parametrize("pattern", VIEWS)
def test_views(pattern: str) -> None:
    fitting, others = VIEWS[pattern]
    assert [name for name in fitting if not matches(pattern, view=name)] == []
    assert [name for name in others if matches(pattern, view=name)] == []


segments = st.sampled_from(["a", "b", "ab", "*", ""])
patterns = st.tuples(st.lists(segments, min_size=1, max_size=4), st.booleans()).map(
    lambda pair: "/" + "/".join([*pair[0], "**"] if pair[1] else pair[0])
)
paths = st.lists(st.sampled_from(["a", "b", "ab", "", "*", "**"]), min_size=1, max_size=5).map(
    lambda each: "/" + "/".join(each)
)


def model(pattern: str, path: str) -> bool:
    """The same rule as a regular expression, which an index must not be."""
    parts: list[str] = []
    for segment in pattern[1:].split("/"):
        if segment == "**":
            return bool(re.fullmatch("/" + "/".join([*parts, ".*"]), path, re.DOTALL))
        parts.append("[^/]+" if segment == "*" else re.escape(segment))
    return bool(re.fullmatch("/" + "/".join(parts), path, re.DOTALL))


@given(st.lists(patterns, max_size=8), paths)
@hypothesis_settings(max_examples=500)
def test_like_the_model(written: list[str], path: str) -> None:
    index: Index[int] = Index()
    for at, pattern in enumerate(written):
        index.add(pattern, at)
    expected = [at for at, pattern in enumerate(written) if model(pattern, path)]
    assert sorted(index.by_path(path)) == expected


def steps(call: Callable[[], Any]) -> int:
    """How many lines of the product a call runs through."""
    count = 0

    def trace(frame: Any, event: str, _arg: object) -> Any:
        nonlocal count
        if "ratelimit_app" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def snapshot(more: int, kind: str) -> Snapshot:
    """Three policies that fit `/api/7/orders/` or `shop:item`, and more that do not."""
    fitting = ["/api/**", "/api/*/orders/", "shop:item"]
    others = {
        "paths": [f"/section-{at}/page/" for at in range(more)],
        "neighbours": [f"/api/{1000 + at}/orders/" for at in range(more)],
        "deep": [f"/api/*/orders/{at}/" for at in range(more)],
        "views": [f"app-{at}:item" for at in range(more)],
        "namespaces": [f"shop:view-{at}" for at in range(more)],
        "named": ["" for _ in range(more)],
    }[kind]
    rows = [
        {**DEFAULTS, "slug": f"p{at}", "limit": 5, "period": 60, "path": path}
        for at, path in enumerate([*fitting, *others])
    ]
    return Snapshot(rows, strict=True)


@pytest.mark.parametrize("kind", ["paths", "neighbours", "deep", "views", "namespaces", "named"])
def test_the_cost_grows_with_what_fits_only(kind: str) -> None:
    few, many = snapshot(0, kind), snapshot(997, kind)
    assert (len(few.by_slug), len(many.by_slug)) == (3, 1000)

    def look(at: Snapshot) -> list[str]:
        return [each.slug for each in at.matching("GET", "/api/7/orders/", "shop:item")]

    assert look(few) == look(many) == ["p0", "p1", "p2"]
    assert steps(lambda: look(few)) == steps(lambda: look(many)) > 0


def test_a_long_path_is_left_where_nothing_fits() -> None:
    few = snapshot(0, "paths")
    short = steps(lambda: few.matching("GET", "/section/a/", None))
    assert steps(lambda: few.matching("GET", "/section" + "/a" * 10_000, None)) == short


def test_wildcards_do_not_multiply() -> None:
    """C22: the worst that patterns can do is to be all the way down side by side."""
    index: Index[int] = Index()
    for at in range(2**8):
        index.add("/" + "/".join("a" if at >> bit & 1 else "*" for bit in range(8)), at)
    path = "/a" * 8
    assert sorted(index.by_path(path)) == list(range(2**8))
    assert steps(lambda: list(index.by_path("/a" * 7 + "/b"))) < 40 * 2**8


def accepted(pattern: str) -> bool:
    try:
        validate_path(pattern)
    except ValidationError:
        return False
    return True


typed = st.text("a*/.:é-", max_size=40).map("/".__add__) | st.sampled_from(
    ["/" + "*/" * 249 + "**", "/" + "*/" * 249, "/" + "a/" * 249, "/**", "/*", "/" + "a" * 499]
)


@given(typed.filter(accepted), st.sampled_from("a/*é.") | st.just("a/"), st.text("a/é", max_size=9))
@hypothesis_settings(max_examples=300)
def test_no_pattern_can_hang_a_request(pattern: str, repeated: str, end: str) -> None:
    """D24: on a path of 2 kB a look takes a few steps for each segment of the pattern, no more."""
    index: Index[int] = Index()
    index.add(pattern, 0)
    path = ("/" + repeated * 2048)[:2048] + end
    assert steps(lambda: list(index.by_path(path))) <= 12 * (pattern.count("/") + 2)
