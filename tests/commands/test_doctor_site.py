"""What the doctor finds besides Redis: policies, settings, and the server before the site."""

import json

import pytest
from django.db import OperationalError
from django.http import HttpRequest

from ratelimit_app import charging, limiter, outage, refresh, stores
from ratelimit_app.decorators import rate_limit
from ratelimit_app.doctor import Finding, examine
from ratelimit_app.models import Policy
from ratelimit_app.policies import Snapshot
from ratelimit_app.sources import DEFAULTS
from tests.commands.conftest import REDIS
from tests.doors.adapters import MIDDLEWARE
from tests.servers import free_port

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fit(settings, monkeypatch):
    """A memory store, and the middleware, so that policies by path apply."""
    monkeypatch.setattr(charging, "named", {})
    monkeypatch.setattr(outage, "counts", type(outage.counts)())
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, MIDDLEWARE]
    refresh.keeper.forget()


def found(request=None):
    return {finding.subject: finding for finding in examine(request)}


def amiss(request=None):
    """What is not well, save the warning that memory counts in each process by itself."""
    return {
        subject: (finding.level, finding.found)
        for subject, finding in found(request).items()
        if finding.level != "ok" and subject != "W001"
    }


# Policies


def test_a_policy_that_stands_before_no_view():
    Policy.objects.create(slug="all", limit=5, period=60, path="/**")
    Policy.objects.create(slug="old", limit=5, period=60, path="/old/*")
    Policy.objects.create(slug="idle", limit=5, period=60)
    Policy.objects.create(slug="off", limit=5, period=60, mode="off")
    assert amiss() == {"policies without a view": ("warning", "idle, old")}
    assert found()["policies"].found.startswith("4 from the table, read ")
    assert found()["views"].found.startswith("37 of 37 are covered whole")


def test_a_policy_that_is_left_out(caplog):
    rows = [{**DEFAULTS, "slug": "odd", "limit": -5, "period": 60}]
    with refresh.keeper.pinned(Snapshot(rows)):
        level, text = amiss()["policy odd"]
    assert level == "error"
    assert text.startswith("left out: ValueError: ")
    assert "-5" in text


def test_policies_that_need_a_middleware_that_is_not_there(settings):
    settings.MIDDLEWARE = settings.MIDDLEWARE[:-1]
    Policy.objects.create(slug="all", limit=5, period=60, path="/**")
    assert amiss()["middleware"] == (
        "warning",
        "MIDDLEWARE lists no RateLimitMiddleware: policies with a path do not apply",
    )


def test_a_slug_that_is_not_in_the_table():
    rate_limit("typo")
    assert amiss()["E007"][0] == "error"


def test_a_table_that_cannot_be_read_any_more(monkeypatch):
    def fails(*_):
        raise OperationalError("the server\nclosed the connection")

    found()
    refresh.keeper.snapshot = Snapshot([{**DEFAULTS, "slug": "kept", "limit": 5, "period": 60}])
    monkeypatch.setattr("ratelimit_app.sources.fingerprint", fails)
    monkeypatch.setattr("ratelimit_app.sources.rows", fails)
    # In a test each scope reads anew; what stays is what a process of a site has.
    monkeypatch.setattr(refresh.keeper, "forget", lambda: None)
    refresh.keeper._scope = None
    level, text = amiss()["policies"]
    refresh.keeper.failed = None
    assert level == "error"
    assert text.startswith(
        "the table cannot be read (OperationalError: the server closed the connection); serving: "
        "1 from the table, read "
    )


def test_a_snapshot_that_nobody_refreshes(monkeypatch):
    found()
    with refresh.keeper.pinned(Snapshot(())):
        monkeypatch.setattr(refresh.keeper, "loaded", refresh.keeper.loaded - 61)
        level, text = amiss()["policies"]
    assert level == "warning"
    assert text.startswith("0 from the table, read 61.")
    assert text.endswith(" and RELOAD is 30 s")


def test_no_table_and_no_redis_at_once(process):
    policies = json.dumps([{"slug": "all", "limit": 5, "period": 60, "path": "/**"}])
    asked = process("doctor", REDIS_URL=f"redis://127.0.0.1:{free_port()}/0", POLICIES=policies)
    out, err = asked.communicate()
    assert asked.returncode == 1
    assert "error    Redis: 127.0.0.1:" in out
    assert "error    policies: the table cannot be read (OperationalError: no such table" in out
    assert "serving: 1 from RATELIMIT['POLICIES']\n" in out
    assert err.splitlines()[-1] == "CommandError: 2 errors; see above."
    assert "Traceback" not in err


# Settings


def test_memory_that_is_nearly_full(settings):
    settings.RATELIMIT = {"MAX_BUCKETS": 10}
    assert amiss() == {}
    Policy.objects.create(slug="all", limit=5, period=60, path="/**")
    for number in range(9):
        limiter.take("all", key=f"192.0.2.{number}")
    assert amiss()["memory store"][1].startswith("9 of 10 buckets are in use in this process: ")


def test_nothing_is_limited(settings):
    settings.RATELIMIT = {"ENABLED": False}
    assert amiss()["policies"] == ("warning", "nothing is limited: RATELIMIT['ENABLED'] is False")


def test_settings_that_cannot_be_used_are_said_once(settings):
    settings.RATELIMIT = {"CACHE": 7}
    assert [key for key, (level, _) in amiss().items() if level == "error"] == ["E001"]


def test_a_cache_that_cannot_hold_buckets_is_said_once(settings):
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
    assert [key for key, (level, _) in amiss().items() if level == "error"] == ["E003"]


def test_checks_for_deployment_are_heard_and_silence_is_kept(settings):
    settings.CACHES = {
        "default": {"BACKEND": REDIS, "LOCATION": f"redis://127.0.0.1:{free_port()}"}
    }
    assert amiss()["W007"][0] == "warning"
    settings.SILENCED_SYSTEM_CHECKS = ["ratelimit_app.W007"]
    assert "W007" not in amiss()


def test_whose_secret_it_is(settings):
    assert "what follows from SECRET_KEY" in found()["secret"].found
    settings.RATELIMIT = {"SECRET": "of our own"}
    assert (
        found()["secret"].found
        == "identities are hashed with SECRET; a new one makes buckets fresh"
    )


def test_a_urlconf_that_cannot_be_imported(settings):
    settings.ROOT_URLCONF = "no.such.module"
    stumbled = "could not be looked at: ModuleNotFoundError"
    said = [(each.subject, each.level) for each in examine() if each.found == stumbled]
    assert said == [("views", "error"), ("check_named", "error")]


# The server


def request(**meta):
    made = HttpRequest()
    made.META.update({"REMOTE_ADDR": "192.0.2.7", **meta})
    return made


FORWARDED = {"HTTP_X_FORWARDED_FOR": "198.51.100.9"}


@pytest.mark.parametrize(
    ("meta", "level", "text"),
    [
        ({}, "ok", "192.0.2.7; is it yours? See Who am I?"),
        (
            {"REMOTE_ADDR": ""},
            "warning",
            "the server names no peer (a Unix socket?), so that all clients share one bucket",
        ),
        (
            {"REMOTE_ADDR": "10.0.0.5"},
            "warning",
            "10.0.0.5 is trusted, but sends no X-Forwarded-For: all behind it count as one",
        ),
        (
            {"REMOTE_ADDR": "10.0.0.5", **FORWARDED},
            "ok",
            "198.51.100.9; is it yours? See Who am I?",
        ),
        (
            {"REMOTE_ADDR": "172.16.0.5", **FORWARDED},
            "warning",
            "172.16.0.5 sends X-Forwarded-For, but is no trusted proxy: all behind it count as one",
        ),
        # Anybody may send the header.
        ({"REMOTE_ADDR": "8.8.8.8", **FORWARDED}, "ok", "8.8.8.8; is it yours? See Who am I?"),
        (
            {"REMOTE_ADDR": "198.51.100.9", **FORWARDED},
            "ok",
            "198.51.100.9: the server has read X-Forwarded-For itself, as uvicorn does",
        ),
    ],
)
def test_what_the_server_says_of_the_peer(settings, meta, level, text):
    settings.RATELIMIT = {"TRUSTED_PROXIES": ["10.0.0.0/8"]}
    finding = found(request(**meta))["client address"]
    assert (finding.level, finding.found) == (level, text)


def test_a_unix_socket_that_is_trusted(settings):
    settings.RATELIMIT = {"TRUSTED_PROXIES": ["unix"]}
    for meta, level, text in (
        (FORWARDED, "ok", "198.51.100.9; is it yours? See Who am I?"),
        (
            {},
            "warning",
            "the Unix socket is trusted, but sends no X-Forwarded-For: all behind it count as one",
        ),
    ):
        finding = found(request(REMOTE_ADDR="", **meta))["client address"]
        assert (finding.level, finding.found) == (level, text)


def test_memory_behind_a_server_with_several_processes():
    several = request(**{"wsgi.multiprocess": True})
    assert amiss(several) == {
        "processes": ("error", "this server has several, and each counts by itself")
    }
    assert "processes" not in amiss(request(**{"wsgi.multiprocess": False}))


def test_whatever_fails_is_a_finding(monkeypatch):
    def fails():
        raise RuntimeError("redis://:password@host")

    monkeypatch.setattr(stores, "current", fails)
    said = found()
    assert said["store"] == Finding(
        "store",
        "error",
        "could not be looked at: RuntimeError",
        "The log of ratelimit_app has the traceback, at the level DEBUG.",
    )
    assert "password" not in str(said)
