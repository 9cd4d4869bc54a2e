"""Whoever has the buckets dies or hangs under load: for how long, and what is admitted then."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache

from ratelimit_app.conformance.subject import quota
from ratelimit_app.stores import Take
from ratelimit_app.stores.redis import RedisStore
from tests.servers import RedisServer

from .conftest import hang_up
from .load import Load
from .servers import DOWN_AFTER, NODE_TIMEOUT, Cluster, Sentinels, until
from .test_sentinel import django_redis
from .where import take_on

pytestmark = pytest.mark.chaos

LIMIT = 20
#: Seconds; the defaults, and what a thread or a loop may have to wait for its turn.
TIMEOUT, DEADLINE, TURN = 0.1, 0.25, 0.25

both_ways = pytest.mark.parametrize("way", ["sync", "async"])
both_faults = pytest.mark.parametrize("fault", ["kill", "stop"])


def quota_of(limit: int = LIMIT) -> Any:
    return quota("fixed_window", limit, 360_000)


def breaks(server: RedisServer, fault: str) -> None:
    server.kill() if fault == "kill" else server.pause()


def report(name: str, load: Load, lasted: float, since: float) -> None:
    print(  # noqa: T201
        f"{name}: unavailable for {lasted:.2f} s, slowest call {load.slowest():.3f} s, "
        f"at most {max(load.admitted().values())} of {LIMIT} admitted; {dict(load.kinds(since))}"
    )


@both_ways
@both_faults
def test_the_owner_of_a_slot(own_cluster: Callable[..., Cluster], way: str, fault: str):
    cluster = own_cluster()
    store = RedisStore(
        RedisCache([server.url for server in cluster.servers], {}), TIMEOUT, DEADLINE
    )
    broken = cluster.primaries[1]
    takes = [
        take_on(cluster, server, store, quota_of())
        for server in (broken, *cluster.primaries)
        for _ in range(6)
    ]
    with Load(store, takes, way) as load:
        since = load.run(2)
        breaks(broken, fault)
        load.run(NODE_TIMEOUT / 1000 + 5)
        if fault == "stop":
            # It comes back, and believes for a moment that nothing has changed.
            broken.resume()
        load.run(3)
    lasted = load.unavailable(since)
    report(f"cluster, {fault}, {way}", load, lasted, since)

    assert load.errors == []
    assert lasted <= NODE_TIMEOUT / 1000 + 3
    assert load.slowest() <= DEADLINE + TURN
    assert max(load.admitted().values()) <= 2 * LIMIT
    hang_up(store)


@both_ways
@both_faults
def test_the_primary_of_a_service(own_sentinels: Sentinels, settings: Any, way: str, fault: str):
    settings.CACHES = {"default": django_redis(own_sentinels.name, own_sentinels.addresses)}
    store = RedisStore(caches["default"], TIMEOUT, DEADLINE)
    takes = [Take(quota_of(), os.urandom(15)) for _ in range(24)]
    with Load(store, takes, way) as load:
        since = load.run(2)
        breaks(own_sentinels.primary, fault)
        load.run(DOWN_AFTER / 1000 + 5)
        if fault == "stop":
            own_sentinels.primary.resume()
        load.run(3)
    lasted = load.unavailable(since)
    report(f"Sentinel, {fault}, {way}", load, lasted, since)

    assert load.errors == []
    assert own_sentinels.now() == own_sentinels.replica.port
    assert lasted <= DOWN_AFTER / 1000 + 3
    assert load.slowest() <= DEADLINE + TURN
    assert max(load.admitted().values()) <= 2 * LIMIT
    hang_up(store)


@both_ways
def test_a_primary_that_is_told_to_step_back(own_sentinels: Sentinels, settings: Any, way: str):
    """Both are well, and the old one goes on answering, as a replica."""
    settings.CACHES = {"default": django_redis(own_sentinels.name, own_sentinels.addresses)}
    store = RedisStore(caches["default"], TIMEOUT, DEADLINE)
    takes = [Take(quota_of(), os.urandom(15)) for _ in range(24)]
    with Load(store, takes, way) as load:
        since = load.run(1)
        client = own_sentinels.sentinels[0].client()
        client.execute_command("SENTINEL FAILOVER", own_sentinels.name)
        until(lambda: own_sentinels.now() == own_sentinels.replica.port)
        load.run(2)
        replication = own_sentinels.primary.client().info
        until(lambda: replication("replication")["role"] == "slave")
        moved = load.run(1)
    report(f"Sentinel, by hand, {way}", load, load.unavailable(since), since)

    assert load.errors == []
    assert load.slowest() <= DEADLINE + TURN
    assert max(load.admitted().values()) <= 2 * LIMIT
    assert load.kinds(moved - 0.5).keys() <= {"admitted", "refused"}
    hang_up(store)
