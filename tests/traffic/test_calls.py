"""What Redis is asked: one script with all its keys, once, in one slot, and never a second time."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache.backends.redis import RedisCache
from redis.crc import key_slot

from ratelimit_app.algorithms import ALGORITHMS, Limit
from ratelimit_app.stores.base import Quota, Take, Unavailable
from ratelimit_app.stores.breaker import Breaker
from ratelimit_app.stores.redis import RedisStore
from tests.servers import RedisServer

MakeStore = Callable[..., RedisStore]


def takes(number: int = 1, who: bytes | None = None) -> list[Take]:
    """Of one client, from policies of different algorithms."""
    who = who or os.urandom(15)
    limit = Limit(5, 360_000_000, 5)
    names = ["gcra", *(name for name in ALGORITHMS if name != "gcra")]
    return [Take(Quota(name, name, limit, f"calls.{name}"), who) for name in names[:number]]


@pytest.fixture
def server() -> Iterator[RedisServer]:
    started = RedisServer()
    yield started
    started.stop()


@pytest.fixture
def make() -> Iterator[MakeStore]:
    made: list[RedisStore] = []

    def store(server: RedisServer, timeout: float = 20, **params: Any) -> RedisStore:
        made.append(RedisStore(RedisCache(server.url, params), timeout))
        return made[-1]

    yield store
    for each in made:
        each.clients.sync.connection_pool.disconnect()
        each.clients.hang_up()


def calls(client: Any) -> dict[str, int]:
    """How often each command was called, by clients and by the script."""
    stats = client.info("commandstats")
    return {name.removeprefix("cmdstat_"): each["calls"] for name, each in stats.items()}


def test_a_script_that_was_flushed_is_brought_again_and_charges_once(
    server: RedisServer, make: MakeStore
):
    """B28."""
    store, client, asked = make(server), server.client(), takes()
    assert store.take(asked)[0].remaining == 4
    client.script_flush()
    client.config_resetstat()
    assert store.take(asked)[0].remaining == 3
    found = calls(client)
    assert (found["evalsha"], found["eval"]) == (1, 1)


def test_an_answer_that_was_lost_is_not_asked_for_again(server: RedisServer, make: MakeStore):
    """B27, B28: a time-out is told within its time, and what was sent is charged once at most."""
    store, client, asked = make(server, timeout=0.2), server.client(), takes()
    assert store.take(asked)[0].remaining == 4
    client.config_resetstat()
    server.pause()
    began = time.monotonic()
    with pytest.raises(Unavailable) as raised:
        store.take(asked)
    took = time.monotonic() - began
    server.resume()
    assert raised.value.kind == "slow"
    # One time-out and no second try; the rest is a busy machine's.
    assert 0.2 <= took < 2
    # A new connection's question comes after the lost one: Redis has seen both by now.
    assert make(server).take(asked)[0].remaining == 2
    assert calls(client)["evalsha"] == 2


def test_after_five_failures_nobody_waits(server: RedisServer, make: MakeStore):
    """B27: the breaker opens, and answers at once until a probe gets through."""
    store, asked = make(server, timeout=0.05), takes()
    store.breaker = Breaker(now=lambda: 0)
    server.pause()
    kinds = []
    for _ in range(7):
        with pytest.raises(Unavailable) as raised:
            store.take(asked)
        kinds.append(raised.value.kind)
    server.resume()
    assert kinds[:5] == ["slow"] * 5
    assert kinds[5:] == ["breaker"] * 2


def test_every_key_is_declared_and_made_by_the_cache(server: RedisServer, make: MakeStore):
    """B29: what the script touches is in KEYS, below the prefix and version of the alias."""
    store, client = make(server, KEY_PREFIX="site", VERSION=7), server.client()
    asked = takes(len(ALGORITHMS))
    store.take(asked)
    declared = {store.bucket(take) for take in asked}
    assert {key.decode() for key in client.scan_iter()} == declared
    assert all(key.startswith("site:7:rl1:{") for key in declared)
    assert len(declared) == len(ALGORITHMS)
    assert len({key_slot(key.encode()) for key in declared}) == 1


def test_a_cluster_takes_all_policies_of_a_client_in_one_call(make: MakeStore):
    """B29: a node that refuses calls across slots, and scripts that leave theirs."""
    node = RedisServer("--cluster-enabled", "yes")
    try:
        client = node.client()
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        deadline = time.monotonic() + 20
        while b"cluster_state:ok" not in client.execute_command("CLUSTER", "INFO"):
            assert time.monotonic() < deadline
        store = make(node)
        for client_number in range(20):
            who = client_number.to_bytes(15, "big")
            asked = takes(len(ALGORITHMS), who)
            decisions = [store.take(asked) for _ in range(6)]
            assert [each.remaining for each in decisions[-2]] == [0] * len(asked)
            assert not any(each.allowed for each in decisions[-1])
    finally:
        node.stop()


def test_no_increment_of_the_cache_is_used(server: RedisServer, make: MakeStore):
    """B42: one script, and what it does itself; `cache.incr` has effects of its own."""
    store, client, asked = make(server), server.client(), takes(len(ALGORITHMS))
    client.config_resetstat()
    for _ in range(7):
        store.take(asked)
    store.announce("token")
    assert store.version() == "token"
    store.beat()
    store.reset(asked)
    used = {name for name in calls(client) if not name.startswith(("client", "config", "info"))}
    script = {"time", "get", "set", "getrange", "setrange", "pexpire", "pttl"}
    beats = {"zadd", "zremrangebyscore", "zcard"}
    assert used <= {"evalsha", "eval", "get", "set", "del"} | script | beats
