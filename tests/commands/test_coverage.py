"""`manage.py ratelimit check --coverage`: views that no policy covers, and policies without one."""

import json
from functools import wraps
from types import ModuleType
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.auth.decorators import login_required
from django.core.management import CommandError
from django.http import HttpResponse
from django.urls import include, path
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.decorators import action, api_view
from rest_framework.routers import DefaultRouter
from rest_framework.throttling import ScopedRateThrottle
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from ratelimit_app.coverage import coverage, unmatched
from ratelimit_app.decorators import rate_limit
from ratelimit_app.drf import PolicyThrottle
from ratelimit_app.policies import Snapshot
from ratelimit_app.sources import DEFAULTS
from tests.doors.adapters import DOORS, MIDDLEWARE, answer

ALL = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})


def view(request, **kwargs):
    return HttpResponse()


class Page(View):
    def get(self, request):
        return HttpResponse()

    @rate_limit("posts")
    def post(self, request):
        return HttpResponse()


def row(slug, **fields):
    return {**DEFAULTS, "slug": slug, "limit": 5, "period": 60, **fields}


class Site:
    """Says of routes whether they are covered, and what each policy leaves open."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings
        self.unmatched: list[str] = []

    def __call__(self, *patterns: Any, policies: Any = ()) -> dict[str, tuple[bool, list[str]]]:
        urls: Any = ModuleType("urls_of_one_test")
        urls.urlpatterns = list(patterns)
        self._settings.ROOT_URLCONF = urls
        snapshot = Snapshot(policies, strict=True)
        found = coverage(snapshot)
        self.unmatched = [policy.slug for policy in unmatched(snapshot, found)]
        return {each.route.path: (each.is_covered, each.gaps) for each in found}


@pytest.fixture
def site(settings):
    settings.MIDDLEWARE = [MIDDLEWARE]

    return Site(settings)


# By path and by view


def test_a_path_covers_some_of_a_route_or_all_or_nothing(site):
    said = site(
        path("items/<int:pk>/", view),
        path("items/", view),
        path("files/<path:name>", view),
        policies=[
            row("one", path="/items/7/"),
            row("list", path="/items/"),
            row("files", path="/files/*"),
        ],
    )
    assert said == {
        "/items/<int:pk>/": (False, ["one (perhaps some of its paths)"]),
        "/items/": (True, ["list"]),
        "/files/<path:name>": (False, ["files (perhaps some of its paths)"]),
    }


def test_names_and_namespaces_through_includes(site):
    inner: Any = ([path("b/", view, name="b"), path("c/", view)], "inner")
    outer: Any = ([path("a/", view, name="a"), path("in/", include(inner))], "outer")
    said = site(
        path("x/", include(outer)),
        policies=[
            row("a", path="outer:a"),
            row("in", path="outer:inner:*"),
            row("func", path=f"outer:inner:{__name__}.view"),
            row("near", path="oute:*"),
        ],
    )
    assert said == {
        "/x/a/": (True, ["a"]),
        "/x/in/b/": (True, ["in"]),
        "/x/in/c/": (True, ["in", "func"]),
    }
    assert site.unmatched == ["near"]


def test_a_language_prefix_counts_in_every_language(site, settings):
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    policies = [row("en", path="/en/**"), row("any", path="/*/b/")]
    said = site(*i18n_patterns(path("a/", view), path("b/", view)), policies=policies)
    assert said == {
        "/en-us/a/": (False, ["en (perhaps some of its paths)"]),
        "/en-us/b/": (True, ["en (perhaps some of its paths)", "any"]),
    }


def test_without_the_middleware_a_path_covers_only_what_our_throttle_stands_before(site, settings):
    class Throttled(APIView):
        throttle_classes = [PolicyThrottle]

    settings.MIDDLEWARE = []
    patterns = path("a/", view), path("api/", Throttled.as_view())
    said = site(*patterns, policies=[row("all", path="/**")])
    assert said["/a/"] == (False, [])
    assert said["/api/"][1] == ["all"]


# What a policy leaves open


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, (True, ["all"])),
        ({"mode": "shadow"}, (False, ["all (in shadow)"])),
        ({"mode": "off"}, (False, [])),
        ({"methods": ["POST"]}, (False, ["all (only POST)"])),
        ({"methods": sorted(ALL)}, (True, ["all"])),
        ({"key": "user"}, (False, ["all (only who is logged in)"])),
        ({"key": "user_or_ip"}, (True, ["all"])),
    ],
)
def test_what_a_policy_leaves_open(site, fields, said):
    assert site(path("a/", view), policies=[row("all", path="/**", **fields)]) == {"/a/": said}
    assert site.unmatched == []


def test_policies_may_cover_a_view_together(site):
    policies = [row("get", path="/**", methods=["GET"]), row("posts")]
    assert site(path("a/", Page.as_view()), policies=policies) == {
        "/a/": (True, ["get (only GET)", "posts (only POST)"])
    }
    assert site(path("a/", Page.as_view()), policies=[row("get", path="/**", methods=["GET"])]) == {
        "/a/": (False, ["get (only GET)"])
    }


# By a decorator and by a throttle


@pytest.mark.parametrize("door", [door for door in DOORS if not door.by_path], ids=lambda d: d.name)
def test_every_door_tells_its_policies(site, door):
    said = site(path("a/", door.put(answer, ["b", "a"])), policies=[row("a"), row("b"), row("c")])
    ((is_covered, gaps),) = said.values()
    assert is_covered
    assert sorted(set(gaps)) == ["a", "b"] or sorted(set(gaps)) == [
        f"{slug} (only {method})" for slug in "ab" for method in ("GET", "POST")
    ]
    assert site.unmatched == ["c"]


def test_a_view_that_was_wrapped_since_is_still_known(site):
    wrapped = csrf_exempt(login_required(rate_limit("a")(view)))
    assert site(path("a/", wrapped), policies=[row("a")]) == {"/a/": (True, ["a"])}


def test_a_policy_in_code_covers(site):
    assert site(
        path("a/", rate_limit("5/m")(view)),
        path("b/", rate_limit("5/m", name="feed", methods=["post"])(view)),
    ) == {"/a/": (True, ["5 in 60 s"]), "/b/": (False, ["feed (only POST)"])}


def test_a_slug_that_is_not_in_the_table_covers_nothing(site):
    assert site(path("a/", rate_limit("gone")(view))) == {"/a/": (False, [])}


def test_a_class_and_its_child(site):
    @rate_limit("parent")
    class Parent(Page):
        pass

    @method_decorator([rate_limit("a"), rate_limit("b")], name="dispatch")
    class Child(Parent):
        pass

    policies = [row(slug) for slug in ("parent", "a", "b")]
    said = site(path("a/", Child.as_view()), policies=policies)
    assert (said["/a/"][0], sorted(said["/a/"][1])) == (True, ["a", "b", "parent"])


def test_actions_of_a_viewset(site):
    class Items(ViewSet):
        throttle_classes = [PolicyThrottle]
        throttle_policies, throttle_scope = ["items"], None

        def list(self, request):
            return HttpResponse()

        @rate_limit("create")
        def create(self, request):
            return HttpResponse()

        @action(detail=True, methods=["post"], throttle_policies=["publish"])
        def publish(self, request, pk):
            return HttpResponse()

        @action(detail=False, throttle_classes=[ScopedRateThrottle], throttle_scope="drf")
        def recent(self, request):
            return HttpResponse()

    router = DefaultRouter()
    router.include_root_view = router.include_format_suffixes = False
    router.register("items", Items, basename="item")
    policies = [row(slug) for slug in ("items", "create", "publish")]
    assert site(path("api/", include(router.urls)), policies=policies) == {
        "/api/items/": (True, ["items", "create (only POST)"]),
        "/api/items/recent/": (False, []),
        "/api/items/(?P<pk>[^/.]+)/publish/": (True, ["publish"]),
    }


def test_a_decorated_function_inside_api_view(site):
    @api_view(["GET", "POST"])
    @rate_limit("a")
    def decorated(request):
        return HttpResponse()

    said = site(path("a/", decorated), policies=[row("a")])
    assert said["/a/"][0]


def test_a_wrapper_that_copies_nothing_hides_the_decorator(site):
    def bare(inner):
        def run(request):
            return inner(request)

        return run

    def kept(inner):
        @wraps(inner)
        def run(request):
            return inner(request)

        return run

    limited = rate_limit("a")(view)
    said = site(path("a/", bare(limited)), path("b/", kept(limited)), policies=[row("a")])
    assert said == {"/a/": (False, []), "/b/": (True, ["a"])}


# The command

POLICIES = [
    {"slug": "shop", "limit": 5, "period": 60, "path": "shop:*", "methods": ["POST"]},
    {"slug": "admin", "limit": 5, "period": 60, "path": "/admin/**"},
    {"slug": "old", "limit": 5, "period": 60, "path": "/old/*", "methods": ["GET"]},
]


def test_text(ratelimit, settings, db):
    from ratelimit_app.models import Policy

    Policy.objects.bulk_create([Policy(**fields) for fields in POLICIES])
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, MIDDLEWARE]
    said = ratelimit("check", "--coverage")
    first, *lines = said.out.splitlines()
    total = int(first.split()[0])
    assert first == f"{total} views: {total - 5} covered, 2 partly, 3 not."
    assert lines == [
        "",
        "Not covered by any policy:",
        "",
        "path     name   view",
        "/sync/   sync   tests.urls.sync_view",
        "/async/  async  tests.urls.async_view",
        "/class/  class  tests.urls.ClassView",
        "",
        "Covered in part:",
        "",
        "path                         name             view                   policies",
        "/shop/items/<int:pk>/        shop:item        tests.urls.sync_view   shop (only POST)",
        "/shop/items/<int:pk>/async/  shop:item-async  tests.urls.async_view  shop (only POST)",
        "",
        "Policies that stand before no view:",
        "",
        "policy  where",
        "old     GET /old/*",
    ]
    assert said.err == ""


@pytest.mark.django_db
def test_json(ratelimit):
    said = json.loads(ratelimit("check", "--coverage", "--output", "json").out)
    assert said["policies_without_view"] == []
    assert said["views"][0] == {
        "path": "/sync/",
        "name": "sync",
        "view": "tests.urls.sync_view",
        "covered": "not",
        "policies": [],
    }


@pytest.mark.django_db
def test_fail_ends_with_1_where_a_view_is_not_covered(ratelimit, settings):
    with pytest.raises(CommandError, match=r"^\d+ of \d+ views are not covered whole\.$") as failed:
        ratelimit("check", "--coverage", "--fail")
    assert failed.value.returncode == 1


def test_without_a_table_the_policies_of_the_settings_count(process):
    asked = process("check", "--coverage", POLICIES=json.dumps(POLICIES))
    out, err = asked.communicate()
    assert asked.returncode == 0
    assert "old     GET /old/*" in out
    assert "no such table" in err
    assert "MIDDLEWARE lists no RateLimitMiddleware" in err
    assert "Traceback" not in err
