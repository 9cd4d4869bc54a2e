"""System checks: each says what is wrong in the settings and how to mend it, and asks nobody."""

import re
import sys
from pathlib import Path

import pytest
from django.core.checks import run_checks

from ratelimit_app import checks

CACHE = "django.core.cache.backends."
INSTEAD = (
    "Name a cache with django.core.cache.backends.redis.RedisCache in RATELIMIT['CACHE']; for one "
    "process alone, LocMemCache does."
)
INCREMENTS = "its increments read and then write, so they lose updates and the expiry"


@pytest.fixture(autouse=True)
def fit(settings):
    """Settings with nothing to complain of; the address is nobody's, and nobody connects."""
    settings.CACHES = {
        "default": {"BACKEND": f"{CACHE}redis.RedisCache", "LOCATION": "redis://192.0.2.1:1/0"}
    }
    settings.RATELIMIT = {}


def found():
    """Without the database, which these tests may not touch."""
    return [(each.id, each.msg, each.hint) for each in run_checks(tags=[checks.TAG])]


def test_nothing_to_complain_of():
    assert found() == []


@pytest.mark.django_db  # For Django's own checks; ours need none.
def test_checks_run_with_all_the_others(settings):
    settings.RATELIMIT = {"IPV6_PREFIX": 0}
    assert [each.id for each in run_checks() if str(each.id).startswith("ratelimit_app")] == [
        "ratelimit_app.E001"
    ]


def test_settings(settings):
    settings.RATELIMIT = {"IPV6_PREFIX": 0, "TYPO": 1}
    assert [(name, message.split(":")[0]) for name, message, _ in found()] == [
        ("ratelimit_app.E001", "RATELIMIT['IPV6_PREFIX'] is 0"),
        ("ratelimit_app.E001", message_of_typo()),
    ]


def message_of_typo():
    from ratelimit_app.conf import problems

    (message,) = [each for each in problems() if "TYPO" in each]
    return message


def test_cache_that_is_not_there(settings):
    settings.RATELIMIT = {"CACHE": "limits"}
    assert found() == [
        (
            "ratelimit_app.E002",
            "RATELIMIT['CACHE'] is 'limits', which CACHES does not have.",
            "Add it to CACHES, or use one of these: default.",
        )
    ]


@pytest.mark.parametrize(
    ("backend", "why"),
    [
        (f"{CACHE}dummy.DummyCache", "it keeps nothing, so it would never limit"),
        (f"{CACHE}db.DatabaseCache", INCREMENTS),
        (f"{CACHE}filebased.FileBasedCache", INCREMENTS),
        (
            f"{CACHE}memcached.PyMemcacheCache",
            "it has no atomic step for more than a counter, and an increment keeps no expiry of "
            "its own",
        ),
        (f"{CACHE}base.BaseCache", "it is not known to be atomic"),
        ("no_such.Cache", "No module named 'no_such'"),
    ],
)
def test_cache_that_cannot_count(settings, backend, why):
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "x"}}
    assert found() == [
        (
            "ratelimit_app.E003",
            f"RATELIMIT['CACHE'] is 'default', whose backend is {backend!r}: {why}.",
            INSTEAD,
        )
    ]


def test_memory_counts_in_each_process(settings):
    backend = f"{CACHE}locmem.LocMemCache"
    settings.CACHES = {"default": {"BACKEND": backend}}
    assert found() == [
        (
            "ratelimit_app.W001",
            f"RATELIMIT['CACHE'] is 'default', whose backend is {backend!r}: it counts in each "
            "process by itself, so N processes let through N times each limit.",
            "Use django.core.cache.backends.redis.RedisCache wherever more than one process runs.",
        )
    ]


@pytest.mark.parametrize(
    ("backend", "package"),
    [(f"{CACHE}redis.RedisCache", "redis"), ("django_redis.cache.RedisCache", "django_redis")],
)
def test_redis_without_its_package(settings, monkeypatch, backend, package):
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "redis://192.0.2.1:1/0"}}
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    # As Python treats a package that is not installed.
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "meta_path", [Missing(package), *sys.meta_path])
    assert found() == [
        (
            "ratelimit_app.E004",
            f"RATELIMIT['CACHE'] is 'default', whose backend is {backend!r}: the package {package} "
            "is not installed.",
            "Install it: pip install 'django-ratelimit-app[redis]'.",
        )
    ]


class Missing:
    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=self.package)


def test_keys(settings):
    settings.RATELIMIT = {
        "KEYS": {"good": "os.path.join", "bad": "no_such.key", "text": "os.sep", "bare": "tenant"}
    }
    assert found() == [
        (
            "ratelimit_app.E005",
            "RATELIMIT['KEYS']['bad']: 'no_such.key' cannot be imported (No module named "
            "'no_such'): correct the dotted path, or install the package that it is in.",
            None,
        ),
        (
            "ratelimit_app.E005",
            "RATELIMIT['KEYS']['text']: 'os.sep' is '/': name a function of the request.",
            None,
        ),
        (
            "ratelimit_app.E005",
            "RATELIMIT['KEYS']['bare']: 'tenant' cannot be imported (tenant doesn't look like a "
            "module path): correct the dotted path, or install the package that it is in.",
            None,
        ),
    ]


def test_policies(settings):
    settings.RATELIMIT = {
        "POLICIES": [
            {"slug": "login", "limit": 5, "period": 60},
            {"slug": "LOGIN", "limit": -1, "period": 0.1},
            {"slug": "x", "limit": 5, "period": 60, "rate": "5/m"},
            {"slug": "y", "period": 60, "limit": 5, "mode": "maybe"},
        ]
    }
    where = "RATELIMIT['POLICIES']"
    assert found() == [
        (
            "ratelimit_app.E006",
            f"{where}[1] ('login'): limit -1 is below 0: use 0 to refuse everything, or a number "
            "above.",
            None,
        ),
        (
            "ratelimit_app.E006",
            f"{where}[1] ('login'): another policy before it has this slug: choose another.",
            None,
        ),
        (
            "ratelimit_app.E006",
            f"{where}[2] ('x'): A policy has no 'rate'; it has algorithm, ask_always, "
            "burst, cost, description, key, key_name, lease, limit, methods, mode, on_error, "
            "path, period, slug.",
            None,
        ),
        (
            "ratelimit_app.E006",
            f"{where}[3] ('y'): mode: 'maybe' is not known: choose one of enforce, shadow, off.",
            None,
        ),
    ]


def test_middleware_twice(settings):
    settings.MIDDLEWARE = [checks.MIDDLEWARE, *settings.MIDDLEWARE, checks.MIDDLEWARE]
    assert found() == [
        (
            "ratelimit_app.W002",
            f"MIDDLEWARE lists {checks.MIDDLEWARE} 2 times.",
            "Leave the first and remove the others: a request is decided once.",
        )
    ]


def test_every_id_stands_in_the_docs_once():
    root = Path(checks.__file__).parent
    ids = re.compile(r"ratelimit_app\.[EW]\d{3}")
    used = {id for each in root.glob("*checks.py") for id in ids.findall(each.read_text())}
    page = (root.parent / "docs" / "checks.md").read_text()
    assert ids.findall(page) == sorted(used)


CACHE_MIDDLEWARE = "django.middleware.cache.FetchFromCacheMiddleware"
OURS = "ratelimit_app.middleware.RateLimitMiddleware"


@pytest.mark.parametrize(
    ("middleware", "expected"),
    [
        ([OURS, CACHE_MIDDLEWARE], []),
        ([CACHE_MIDDLEWARE, OURS], ["ratelimit_app.W003"]),
        ([CACHE_MIDDLEWARE], []),
    ],
)
def test_the_limiter_must_stand_before_the_cache(settings, middleware, expected):
    settings.MIDDLEWARE = middleware
    assert [each.id for each in checks.check_order()] == expected
