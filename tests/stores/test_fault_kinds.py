"""What can be wrong with a Redis, made wrong: each kind is told apart, counted, and said once."""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ratelimit_app import limiter, outage, sparingly, stores
from ratelimit_app.testing import override_policies
from tests.servers import RedisServer

#: Decisions in a row.
MANY = 4


def stopped(server: RedisServer, key: Any) -> None:
    server.kill()


def hangs(server: RedisServer, key: Any) -> None:
    server.pause()


def full(server: RedisServer, key: Any) -> None:
    server.client().config_set("maxmemory", 1)


def replica(server: RedisServer, key: Any) -> None:
    server.client().replicaof("127.0.0.1", "1")


def forbidden(server: RedisServer, key: Any) -> None:
    server.client().execute_command("ACL", "SETUSER", "default", "-eval", "-evalsha")


def another_type(server: RedisServer, key: Any) -> None:
    client = server.client()
    client.delete(key)
    client.lpush(key, "a list")


#: What is done to Redis, and a word of the fix that the log names.
FAULTS: dict[str, tuple[Callable[[RedisServer, Any], None], str]] = {
    "down": (stopped, "start it"),
    "slow": (hangs, "raise TIMEOUT"),
    "memory": (full, "out of memory"),
    "readonly": (replica, "the primary"),
    "denied": (forbidden, "the ACL"),
    "type": (another_type, "KEY_PREFIX"),
}


@pytest.fixture
def server(settings: Any) -> Iterator[RedisServer]:
    started = RedisServer()
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": f"{started.url}?max_connections=2",
        }
    }
    settings.RATELIMIT = {"TIMEOUT": 0.4, "DEADLINE": 1}
    policy = {"limit": 10, "period": 86_400, "key": "user", "on_error": "closed"}
    with override_policies(p=policy):
        yield started
    started.stop()


def take(*, key: str) -> Any:
    return limiter.take("p", key=key)


@pytest.fixture
def said(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], list[str]]:
    """What was logged; one line an interval, which is longer than a test."""
    monkeypatch.setattr(sparingly, "_INTERVAL", 60.0)
    monkeypatch.setattr(outage, "_said", {})
    monkeypatch.setattr(outage, "counts", type(outage.counts)())
    caplog.set_level(logging.DEBUG, "ratelimit_app")
    return lambda: [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("kind", list(FAULTS))
def test_each_kind_has_a_count_and_one_line_with_its_fix(kind: str, server: RedisServer, said):
    assert take(key="somebody").source == "redis"
    (key,) = server.client().keys("*rl1:{*")
    breaks, fix = FAULTS[kind]
    breaks(server, key)

    decisions = [take(key="somebody") for _ in range(MANY)]

    assert {(each.source, each.allowed) for each in decisions} == {("error", False)}
    assert outage.counts == {kind: MANY}
    (line,) = said()
    assert fix in line


def test_no_connection_is_free(server: RedisServer, said):
    """Two are allowed, and two calls that hang have them."""
    assert take(key="somebody").source == "redis"
    server.pause()
    threads = [threading.Thread(target=take, kwargs={"key": "other"}) for _ in range(2)]
    for thread in threads:
        thread.start()
    store: Any = stores.innermost()
    while store.clients.wire._open < 2:
        pass
    decisions = [take(key="somebody") for _ in range(MANY)]
    server.resume()
    for thread in threads:
        thread.join()

    assert {each.source for each in decisions} == {"error"}
    assert outage.counts["pool"] == MANY
    assert len([line for line in said() if "max_connections" in line]) == 1
