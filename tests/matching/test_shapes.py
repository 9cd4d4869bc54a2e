"""Routes against patterns of policies: what is said of all paths holds for each that Django takes.

The truth is Django's own resolver for the routes, and the index of policies for the patterns.
"""

import functools
import re
from typing import Any

import pytest
from django.urls import Resolver404, include, path, re_path, register_converter
from django.urls.resolvers import RegexPattern, URLResolver
from hypothesis import given, settings
from hypothesis import strategies as st

from ratelimit_app.matching import Index
from ratelimit_app.routes import _below
from ratelimit_app.shapes import Shape


class Year:
    regex = "[0-9]{4}"

    def to_python(self, value: str) -> str:
        return value

    to_url = to_python


class Deep(Year):
    regex = r"[a-z/]+"


register_converter(Year, "year")
register_converter(Deep, "deep")


def view(request, **kwargs):
    """Never called."""


ROUTES: dict[str, Any] = {
    "root": path("", view),
    "plain": path("a/b/", view),
    "no slash": path("a", view),
    "int": path("a/<int:pk>/", view),
    "str": path("<str:x>/b/", view),
    "bare": path("a/<x>", view),
    "slug within": path("a/x-<slug:x>.b/", view),
    "two in one": path("<int:x>-<int:y>/", view),
    "uuid": path("a/<uuid:x>/", view),
    "path": path("a/<path:rest>", view),
    "path then more": path("a/<path:rest>/b/", view),
    "own, one segment": path("a/<year:x>/", view),
    "own, with slashes": path("<deep:x>/b/", view),
    "include": path("a/", include([path("<int:pk>/b/", view)])),
    "regex": re_path(r"^a/b/$", view),
    "regex without an end": re_path(r"^a/", view),
    "regex without a beginning": re_path(r"b/$", view),
    "regex with a group": re_path(r"^a/(?P<x>[^/.]+)/$", view),
    "regex with an unnamed group": re_path(r"^a/([\w-]+)/$", view),
    "regex with a dot": re_path(r"^a/(?P<x>.+)/b/$", view),
    "regex with an option": re_path(r"^a/b/?$", view),
    "regex with alternatives": re_path(r"^a/$|^b/$", view),
    "regex with alternatives in a group": re_path(r"^(?P<x>a|b)/b/$", view),
    "regex with nested groups": re_path(r"^a/((x)+/)?b/$", view),
    "regex with a flag": re_path(r"(?i)^a/b/$", view),
    "regex with an escape": re_path(r"^a\.b\-1/\Z", view),
    "regex of a router": re_path(r"^a\.(?P<format>[a-z0-9]+)/?$", view),
    "regex include": re_path(r"^a/", include([re_path(r"^(?P<pk>\d+)/$", view)])),
    "regex of anything": re_path(r"^.*$", view),
    "plus": path("a+b/<x>/", view),
    "empty regex": re_path(r"", view),
}

PATTERNS = [
    "/", "/**", "/*", "/*/", "/a", "/b/", "/a/", "/a/*", "/a/*/", "/a/**", "/a/b/", "/a/7/",
    "/*/b/", "/*/*/", "/*/*", "/a/b/**", "/a/*/b/", "/a/*/**", "/7-7/", "/a.b/", "/a.b-1/",
    "/a/x-b.b/", "/*/*/*/", "/b/b/", "/a/1234/", "/a/b",
]  # fmt: skip

PIECES = ["a", "b", "/", "//", "7", "1234", "x-b.b", "7-7", ".", "-1", "A", "x", "é"]
PIECES += ["8ad4e0a2-31bb-4a2d-9dbb-1f0e0bd5cbf5"]


RESOLVERS = {name: URLResolver(RegexPattern(r"^/"), [route]) for name, route in ROUTES.items()}
INDEX: Index[str] = Index()
for each in PATTERNS:
    INDEX.add(each, each)


@functools.cache
def shape_of(name: str) -> Shape:
    (found,) = _below(RESOLVERS[name], [], [])
    (shape,) = found.shapes
    return shape


@functools.cache
def said(name: str) -> tuple[set[str], set[str]]:
    """The patterns that take all of the route's paths, and those that may take some."""
    shape = shape_of(name)
    return (
        {pattern for pattern in PATTERNS if shape.is_within(pattern)},
        {pattern for pattern in PATTERNS if shape.meets(pattern)},
    )


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=7))
@settings(max_examples=500)
def test_what_is_said_holds_for_every_path(pieces: list[str]):
    text = "/" + "".join(pieces)
    fitting = set(INDEX.by_path(text))
    for name, resolver in RESOLVERS.items():
        try:
            resolver.resolve(text)
        except Resolver404:
            continue
        whole, some = said(name)
        assert whole <= fitting <= some, name


#: For each route the patterns that take all of it, and those that may take some.
SAID = {
    "root": ({"/", "/**"}, set()),
    "plain": ({"/**", "/a/**", "/a/b/", "/a/*/", "/*/b/", "/*/*/", "/a/b/**", "/a/*/**"}, set()),
    "int": ({"/**", "/a/**", "/a/*/", "/*/*/", "/a/*/**"}, {"/a/7/", "/a/1234/"}),
    "str": ({"/**", "/*/b/", "/*/*/"}, {"/a/**", "/a/b/", "/a/*/", "/a/b/**", "/a/*/**", "/b/b/"}),
    "own, one segment": ({"/**", "/a/**", "/a/*/", "/*/*/", "/a/*/**"}, {"/a/1234/"}),
    "two in one": ({"/**", "/*/"}, {"/7-7/"}),
    "slug within": ({"/**", "/a/**", "/a/*/", "/*/*/", "/a/*/**"}, {"/a/x-b.b/"}),
    "regex": ({"/**", "/a/**", "/a/b/", "/a/*/", "/*/b/", "/*/*/", "/a/b/**", "/a/*/**"}, set()),
    "regex with an escape": ({"/**", "/*/", "/a.b-1/"}, set()),
    "regex include": ({"/**", "/a/**", "/a/*/", "/*/*/", "/a/*/**"}, {"/a/7/", "/a/1234/"}),
    "regex with alternatives": ({"/**"}, set(PATTERNS) - {"/**"}),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name: str):
    whole, some = said(name)
    assert (whole, some - whole) == SAID[name]


def test_below_a_path_converter_all_is_covered_by_two_stars_alone():
    shape = shape_of("path")
    assert shape == Shape(("a",), True)
    assert [pattern for pattern in PATTERNS if shape.is_within(pattern)] == ["/**", "/a/**"]
    assert shape.meets("/a/b/")
    assert not shape.meets("/b/")


def test_a_segment_is_read_as_it_stands():
    assert shape_of("plus").segments == ("a+b", re.compile("(?:[^/]+)"), "")
