"""`check --deploy` of the cache that holds the buckets; it connects to nothing."""

from functools import partial

import pytest
from django.core.checks import run_checks

from ratelimit_app.cache_checks import check_shared

REDIS = "django.core.cache.backends.redis.RedisCache"


def redis(location="redis://192.0.2.1:6379/1", **more):
    return {"BACKEND": REDIS, "LOCATION": location, **more}


@pytest.fixture(autouse=True)
def fit(settings):
    """Settings with nothing to complain of."""
    settings.CACHES = {"default": redis("redis://192.0.2.1:6379/0"), "limits": redis()}
    settings.RATELIMIT = {"CACHE": "limits"}


def found():
    return [str(each.id).removeprefix("ratelimit_app.") for each in check_shared()]


def test_nothing_to_complain_of():
    assert found() == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (redis("redis://192.0.2.1:6379/1"), ["W007"]),
        (redis("redis://192.0.2.1/1"), ["W007"]),
        (redis("redis://user:secret@192.0.2.1:6379/1"), ["W007"]),
        (redis("redis://192.0.2.1:6379?db=1"), ["W007"]),
        (redis("redis://192.0.2.1:6379", OPTIONS={"db": 1}), ["W007"]),
        (redis("redis://192.0.2.1:6379/1,redis://192.0.2.9:6379/1"), ["W007"]),
        (redis(["rediss://192.0.2.1:6379/1"]), ["W007"]),
        (redis("redis://192.0.2.1:6380/1"), []),
        (redis("redis://192.0.2.2:6379/1"), []),
        (redis("redis://192.0.2.1:odd/1"), []),
        (redis("unix:///run/redis.sock?db=1"), []),
        (redis([]), []),
        ({"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}, []),
    ],
)
def test_a_database_that_another_alias_empties(settings, other, expected):
    settings.CACHES = {**settings.CACHES, "other": other}
    assert found() == expected


def test_two_sockets(settings):
    socket = redis("unix:///run/redis.sock?db=1")
    settings.CACHES = {"limits": socket, "other": {**socket}}
    assert found() == ["W007"]


def test_the_default_cache_and_sessions(settings):
    settings.RATELIMIT = {}
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.cached_db"
    (warning,) = check_shared()
    assert warning.msg == (
        "The buckets in RATELIMIT['CACHE'] ('default') share a database of Redis with everything "
        "that caches without naming an alias, sessions: cache.clear() there makes every bucket "
        "fresh."
    )


def test_settings_that_cannot_be_used_are_left_to_another_check(settings):
    settings.RATELIMIT = {"CACHE": 7}
    assert found() == ["W007"]
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    assert found() == []


def test_it_runs_at_deployment_alone(settings):
    settings.RATELIMIT = {}
    # No databases are named, since Django 6.1 names all of them itself for a tag.
    run = partial(run_checks, tags=["ratelimit_app"], databases=[])
    ids = [[each.id for each in run(include_deployment_checks=deploy)] for deploy in (False, True)]
    assert ids == [[], ["ratelimit_app.W007"]]
