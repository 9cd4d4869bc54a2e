"""`manage.py ratelimit doctor`: what it finds of a real Redis that is well, ill, or none."""

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError

from ratelimit_app import charging, outage, stores
from ratelimit_app.doctor import Finding, examine, state
from ratelimit_app.stores.redis import RedisStore
from tests.commands.conftest import REDIS
from tests.servers import RedisServer, free_port
from tests.stores.impostor import NO_ANSWERS, Impostor

pytestmark = pytest.mark.django_db

#: Seconds; long enough for a busy machine to answer a question.
TIMEOUT = 2.0


@pytest.fixture
def point(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Points an alias of the limiter's own at a Redis."""
    monkeypatch.setattr(state, "_seen", {})
    monkeypatch.setattr(charging, "named", {})
    monkeypatch.setattr(outage, "counts", type(outage.counts)())

    def to(url: str, **ratelimit: Any) -> None:
        settings.CACHES = {
            "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
            "limits": {"BACKEND": REDIS, "LOCATION": url},
        }
        timing = {"TIMEOUT": TIMEOUT, "DEADLINE": 2.5 * TIMEOUT}
        settings.RATELIMIT = {"CACHE": "limits", **timing, **ratelimit}

    return to


@pytest.fixture
def server() -> Iterator[Callable[..., RedisServer]]:
    """Starts a Redis with options of its own."""
    started = []

    def start(*options: str) -> RedisServer:
        started.append(RedisServer(*options))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def well(redis_server: RedisServer, point: Callable[[str], None]) -> RedisServer:
    with redis_server.client() as client:
        client.flushall()
    point(redis_server.url)
    return redis_server


def looked() -> dict[str, Finding]:
    """What is found, by what was looked at; of several on one thing the last."""
    return {finding.subject: finding for finding in examine()}


def amiss() -> dict[str, tuple[str, str]]:
    return {
        finding.subject: (finding.level, finding.found)
        for finding in examine()
        if finding.level != "ok"
    }


# All is well


def test_a_site_that_is_well(ratelimit, well):
    said = ratelimit("doctor")
    at, version = f"127.0.0.1:{well.port}/0", well.client().info("server")["redis_version"]
    # Times and sizes are the machine's.
    plain = re.sub(r"[-+]?\d+\.\d+(?= (ms|s|MB)\b)", "N", said.out)
    assert re.sub(r"\([0-9a-f]{8}\)", "(SHA)", plain).splitlines() == [
        "ok       secret: identities are hashed with what follows from SECRET_KEY; a new one makes "
        "buckets fresh",
        f"ok       Redis: {at} answers in N ms (the slowest of four: N ms)",
        "ok       clock of Redis: N s against this host (±N s)",
        f"ok       version: Redis {version}",
        "ok       role: primary",
        "ok       memory: N MB used, no maxmemory",
        "ok       maxmemory-policy: noeviction",
        "ok       state: this is the first look, or the first one since it was lost",
        "ok       script: runs, and Redis keeps it (SHA)",
        "ok       breaker: closed: this process asks Redis",
        "ok       connections: 1 open, 1 idle, at most 100",
        "ok       decisions without the store: none in this process",
        "ok       policies: 0 from the table, read N s ago",
        "ok       views: 0 of 37 are covered whole; see manage.py ratelimit check --coverage",
    ]
    assert said.err == ""


def test_as_json(ratelimit, well):
    found = json.loads(ratelimit("doctor", "--output", "json").out)
    assert {tuple(each) for each in found} == {("subject", "level", "found", "fix")}
    assert {each["level"] for each in found} == {"ok"}


def test_it_leaves_nothing_but_the_moment_of_the_first_look(well):
    looked()
    with well.client() as raw:
        buckets = [key for key in raw.scan_iter() if not key.endswith(b"rl1:since")]
        assert len(buckets) == 6
        assert all(0 < raw.pttl(key) <= 2000 for key in buckets)


def test_errors_end_it_with_1_and_warnings_do_not(ratelimit, well, point):
    with well.client() as raw:
        raw.config_set("maxmemory-policy", "allkeys-lru")
        try:
            assert "\n         → Set it to noeviction, or " in ratelimit("doctor").out
        finally:
            raw.config_set("maxmemory-policy", "noeviction")
    point(f"redis://127.0.0.1:{free_port()}/0")
    with pytest.raises(CommandError, match=r"^1 error; see above\.$") as failed:
        ratelimit("doctor")
    assert failed.value.returncode == 1


# Redis is not there, or is something else


def test_down(point):
    port = free_port()
    point(f"redis://127.0.0.1:{port}/3")
    found = looked()
    assert found["Redis"].level == "error"
    assert found["Redis"].found.startswith(f"127.0.0.1:{port}/3: ConnectionError: ")
    assert found["Redis"].fix == "Redis cannot be reached; start it, or correct LOCATION."
    assert found["policies"].level == "ok"


def test_hanging_costs_two_questions_and_no_more(point, server):
    hanging = server()
    point(hanging.url, TIMEOUT=0.2, DEADLINE=0.5)
    hanging.pause()
    started = time.monotonic()
    found = looked()
    took = time.monotonic() - started
    # One of the doctor's, and one for the policies; each connects and asks.
    assert took < 2 * 0.5 + 1
    assert (found["Redis"].level, found["Redis"].found.split(": ")[1]) == ("error", "TimeoutError")
    assert found["policies"].level == "ok"


@pytest.mark.parametrize("answer", [*NO_ANSWERS.values(), b"+PONG\r\n"], ids=[*NO_ANSWERS, "pong"])
def test_an_impostor(point, answer):
    impostor = Impostor(answer)
    point(impostor.url, TIMEOUT=0.2, DEADLINE=0.5)
    found = looked()
    impostor.close()
    assert found["Redis"].level == "error"
    assert found["policies"].level == "ok"


def test_a_wrong_password_is_told_and_no_password_is(point, server, ratelimit):
    port = server("--requirepass", "geheimnis").port
    point(f"redis://:falschewahl@127.0.0.1:{port}/0")
    found = looked()
    assert found["Redis"].level == "error"
    assert found["Redis"].fix.startswith("Redis denies the login")
    assert "falschewahl" not in str(found)

    point(f"redis://:geheimnis@127.0.0.1:{port}/0")
    said = ratelimit("doctor").out
    assert f"127.0.0.1:{port}/0 answers in" in said
    assert "geheimnis" not in said


def test_an_address_that_cannot_be_read_is_not_shown(point):
    point("redis://:ge/heim@127.0.0.1/0")
    found = looked()
    assert found["store"] == Finding(
        "store",
        "error",
        "could not be looked at: ValueError",
        "The log of ratelimit_app has the traceback, at the level DEBUG.",
    )
    assert "heim" not in str(found)


def test_a_replica(point, server):
    primary = server()
    replica = server("--replicaof", "127.0.0.1", str(primary.port))
    point(replica.url)
    found = looked()
    assert found["role"].level == "error"
    assert found["role"].found.startswith(f"a replica of 127.0.0.1:{primary.port}: ")
    assert found["Redis"].level == "error"


# What it may not, and what is amiss inside


def user(server: RedisServer, *rules: str) -> str:
    with server.client() as raw:
        raw.execute_command("ACL", "SETUSER", "limiter", "on", ">pass", "~*", "-@all", *rules)
    return f"redis://limiter:pass@127.0.0.1:{server.port}/0"


NEEDED = ["+evalsha", "+eval", "+time", "+get", "+set", "+del", "+getrange", "+setrange"]
NEEDED += ["+pexpire", "+pttl", "+select"]


def test_an_acl_with_no_more_than_the_limiter_needs(point, server):
    point(user(server(), *NEEDED))
    found = amiss()
    assert found.pop("Redis")[0] == "warning"
    assert found == {
        "INFO": ("warning", "is denied, so that version, role and memory are not known"),
        "maxmemory-policy": ("warning", "not known: INFO and CONFIG GET are denied"),
    }
    assert looked()["script"].level == "ok"


def test_config_may_be_read_where_info_is_denied(point, server):
    point(user(server("--maxmemory-policy", "volatile-ttl"), *NEEDED, "+ping", "+config|get"))
    assert amiss()["maxmemory-policy"][1].startswith("volatile-ttl: ")


@pytest.mark.parametrize(
    "missing", ["+setrange", "+getrange", "+time", "+pexpire", "+pttl", "+evalsha"]
)
def test_an_acl_without_something_that_the_limiter_needs(point, server, missing):
    rules = [rule for rule in (*NEEDED, "+ping", "+info") if rule != missing]
    point(user(server(), *rules))
    levels = [each.level for each in examine() if each.subject == "Redis"]
    assert levels[-1] == "error"


def test_memory_that_is_full_and_keys_that_are_evicted(point, server):
    full = server("--maxmemory", "3mb", "--maxmemory-policy", "allkeys-random")
    point(full.url)
    with full.client() as raw:
        for number in range(3000):
            raw.set(f"filler-{number}", "x" * 1000)
    found = amiss()
    assert found["memory"][0] == "warning"
    assert re.fullmatch(r"[23]\.\d MB of 3\.0 MB used", found["memory"][1])
    assert re.match(r"[\d,]+ since Redis started: ", found["evicted keys"][1])
    assert found["maxmemory-policy"][1].startswith("allkeys-random: ")


def test_no_memory_for_a_write(point, server):
    point(server("--maxmemory", "1", "--maxmemory-policy", "noeviction").url)
    found = looked()
    assert found["Redis"].level == "error"
    assert found["Redis"].fix.startswith("Redis is out of memory")


def test_state_that_was_lost(well):
    looked()
    assert looked()["state"].found.startswith("not lost since 20")
    with well.client() as raw:
        raw.flushdb()
    lost = looked()["state"]
    assert (lost.level, lost.found[:46]) == (
        "warning",
        "was lost: this process has seen it from 20" + lost.found[42:46],
    )
    assert looked()["state"].level == "ok"


def test_a_redis_that_forgets_scripts(well, monkeypatch):
    question = RedisStore.question

    def forgetful(store: RedisStore, *command: Any) -> Any:
        if command[:2] == ("SCRIPT", "EXISTS"):
            question(store, "SCRIPT", "FLUSH")
        return question(store, *command)

    monkeypatch.setattr(RedisStore, "question", forgetful)
    assert amiss() == {
        "script": (
            "warning",
            "runs, and Redis does not keep it: every decision sends it anew, 15 kB",
        )
    }


def test_a_clock_that_is_an_hour_off(well, monkeypatch):
    monkeypatch.setattr(
        "ratelimit_app.doctor.redis.time.time", lambda real=time.time: real() - 3600
    )
    level, found = amiss()["clock of Redis"]
    assert level == "warning"
    assert re.match(r"\+(3599|3600)\.\d{3} s against this host", found)


def test_a_version_that_is_too_old(well, monkeypatch):
    question = RedisStore.question
    told = b"redis_version:5.0.14\r\nrole:master\r\n"
    monkeypatch.setattr(
        RedisStore, "question", lambda *asked: told if asked[1] == "INFO" else question(*asked)
    )
    assert looked()["version"] == Finding(
        "version", "error", "Redis 5.0.14 is too old", "Use Redis 6 or later."
    )


# This process


def test_a_breaker_that_is_open(well):
    store = stores.innermost()
    assert isinstance(store, RedisStore)
    for _ in range(5):
        store.breaker.failed()
    found = amiss()
    store.breaker.answered()
    assert found == {
        "breaker": (
            "warning",
            "open: Redis failed several times in a row; it is asked again twice a second.",
        )
    }


def test_connections_that_are_all_in_use(redis_server, point):
    point(f"{redis_server.url}?max_connections=1")
    store = stores.innermost()
    assert isinstance(store, RedisStore)
    held = store.clients.wire._take(time.monotonic() + 20)
    found = amiss()
    store.clients.wire._give(held)
    assert found["connections"] == ("warning", "1 open, 0 idle, at most 1")
    assert "MaxConnectionsError" in found["Redis"][1]


def test_what_was_decided_without_the_store(well):
    outage.counts.update(slow=3, down=1200)
    assert amiss()["decisions without the store"] == (
        "warning",
        "in this process since its start: 1,200 down, 3 slow",
    )
