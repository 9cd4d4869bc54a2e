"""What nodes may say, and what only looks like a node; aliases that lead to a cluster."""

import asyncio
import time
from typing import Any

import pytest
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from redis.cluster import ClusterNode
from redis.crc import key_slot
from redis.exceptions import MovedError

from ratelimit_app.conformance.subject import quota
from ratelimit_app.stores import Take, Unavailable
from ratelimit_app.stores.cluster import Cluster as Topology
from ratelimit_app.stores.redis import RedisStore
from ratelimit_app.stores.topology import One
from tests.servers import RedisServer, free_port
from tests.stores.impostor import Impostor

from .conftest import MakeStore, hang_up
from .servers import Cluster
from .where import take_on

TEN = quota("gcra", 10, 360_000)


def learned(reply: Any, host: str = "primary.example") -> Topology:
    store = RedisStore(RedisCache(f"redis://{host}:7000/0", {}), 0.1)
    topology = Topology(store.clients)
    assert topology._learn(reply, store.clients.node)
    return topology


@pytest.mark.parametrize(
    ("told", "host"),
    [
        (b"10.0.0.1", "10.0.0.1"),
        (b"redis-1.example", "redis-1.example"),
        (b"2001:db8::1", "2001:db8::1"),
        # The host that was asked, for nodes that do not know what they are called.
        (b"", "primary.example"),
        (None, "primary.example"),
    ],
)
def test_hosts_as_nodes_tell_them(told: bytes | None, host: str):
    topology = learned([[0, 16383, [told, 7001, b"id", []], [b"10.0.0.9", 7009, b"id", []]]])
    owner = topology._owners[12_345]
    assert owner is not None
    assert (owner.address.host, owner.address.port) == (host, 7001)
    # And that is where connections lead, by the options of the alias.
    (kind, options) = owner.address.connection_class, owner.address.connection_kwargs
    assert kind(**options).host == host
    twin = owner.address.twin()
    assert twin.connection_class(**twin.connection_kwargs).host == host


def test_hosts_as_a_redirection_tells_them():
    topology = learned([[0, 16383, [b"10.0.0.1", 7001]]])
    by = topology._clients.node
    found = [topology._named(MovedError(f"1 {host}:7002"), by) for host in ("", "::1", "there")]
    assert [each.address.host for each in found] == ["primary.example", "::1", "there"]


@pytest.mark.parametrize(
    "reply",
    [
        *(None, [], b"OK", [7], [[0]], [[0, 16383]], [[b"a", 1, [b"h", 1]]]),
        # The last one would be a list of as many nodes, if it were believed.
        *([[first, last, [b"h", 1]]] for first, last in [(0, 20_000), (-1, 5), (0, 10**18)]),
    ],
)
def test_a_map_that_makes_no_sense_is_not_taken_over(reply: Any):
    store = RedisStore(RedisCache("redis://127.0.0.1:1/0", {}), 0.1)
    topology = Topology(store.clients)
    before = topology._owners
    assert not topology._learn(reply, store.clients.node)
    assert topology._owners is before


def test_credentials_and_tls_are_those_of_the_alias():
    url = "rediss://user:secret@primary.example:7000/0?ssl_cert_reqs=none"
    store = RedisStore(RedisCache(url, {}), 0.1)
    options = store.clients.at("10.0.0.1", 7001).address.connection_kwargs
    assert {name: options[name] for name in ("username", "password", "ssl_cert_reqs")} == {
        "username": "user",
        "password": "secret",
        "ssl_cert_reqs": "none",
    }
    twin = store.clients.at("10.0.0.1", 7001).address.twin()
    kinds = store.clients.at("10.0.0.1", 7001).address.connection_class, twin.connection_class
    assert [kind.__name__ for kind in kinds] == ["SSLConnection", "SSLConnection"]


#: What claims to be a node of a cluster; {port} is its own.
CLAIMS = {
    "in a circle": "-MOVED 1 127.0.0.1:{port}\r\n",
    "always ask": "-ASK 1 :{port}\r\n",
    "to nobody": "-MOVED 1 127.0.0.1:1\r\n",
    "without an address": "-MOVED\r\n",
    "without a port": "-MOVED 1 host\r\n",
    "not a number": "-ASK x y:z\r\n",
    "down": "-CLUSTERDOWN The cluster is down\r\n",
    "again": "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
    "other slots": "-CROSSSLOT Keys in request don't hash to the same slot\r\n",
    "no cluster": "-ERR This instance has cluster support disabled\r\n",
}


@pytest.mark.parametrize("claim", list(CLAIMS))
@pytest.mark.parametrize("way", ["take", "atake", "give", "version"])
def test_whatever_a_node_claims_only_unavailable_is_raised_and_in_time(claim: str, way: str):
    impostor = Impostor(b"")
    impostor._answer = CLAIMS[claim].format(port=impostor.port).encode()
    store = RedisStore(RedisCache(impostor.url, {}), 0.1)
    takes = [Take(TEN, b"one of two....."), Take(TEN, b"two of two.....")]
    calls = {
        "take": lambda: store.take(takes),
        "atake": lambda: asyncio.run(store.atake(takes)),
        "give": lambda: store.give(takes),
        "version": store.version,
    }
    for _ in range(3):
        started = time.monotonic()
        with pytest.raises(Unavailable):
            calls[way]()
        assert time.monotonic() - started < 0.25 + 0.2
    hang_up(store)
    impostor.close()


def test_several_urls_of_no_cluster_are_a_primary_and_its_replicas(make_redis_store: MakeStore):
    """The first one is written to, whatever happened to it, and a call is one trip."""
    primary, other = RedisServer(), RedisServer()
    store = make_redis_store([primary.url, other.url], timeout=0.3)
    takes = [Take(TEN, bytes([n]) * 15) for n in range(3)]
    assert len({key_slot(store.bucket(take).encode()) for take in takes}) == 3
    primary.pause()
    for _ in range(2):
        with pytest.raises(Unavailable):
            store.take(takes)
    primary.resume()
    client = primary.client()
    left = store.take(takes, spend=False)[0].remaining
    client.config_resetstat()
    decisions = store.take(takes)
    assert [each.remaining for each in decisions] == [left] * 3
    assert client.info("commandstats")["cmdstat_evalsha"]["calls"] == 1
    assert other.client().dbsize() == 0
    primary.stop()
    other.stop()


def django_redis(location: Any, **options: Any) -> dict[str, Any]:
    return {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": location, "OPTIONS": options}


@pytest.mark.parametrize("alias", ["a URL", "URLs", "a client of a cluster", "its nodes"])
def test_aliases_of_django_redis(cluster: Cluster, settings: Any, alias: str):
    """Nothing is connected to, neither by them nor by us, before the first call."""
    gone = f"redis://127.0.0.1:{free_port()}/0"
    kind = "redis.cluster.RedisCluster"
    node = ClusterNode("127.0.0.1", cluster.servers[0].port)
    settings.CACHES = {
        "default": {
            "a URL": django_redis(cluster.url),
            "URLs": django_redis(f"{gone},{cluster.url}"),
            "a client of a cluster": django_redis(cluster.url, REDIS_CLIENT_CLASS=kind),
            "its nodes": django_redis(
                gone, REDIS_CLIENT_CLASS=kind, REDIS_CLIENT_KWARGS={"startup_nodes": [node]}
            ),
        }[alias]
    }
    store = RedisStore(caches["default"], timeout=5)
    assert type(store.topology) is One
    takes = [take_on(cluster, server, store, TEN) for server in cluster.primaries]
    if alias in ("URLs", "its nodes"):
        with pytest.raises(Unavailable):
            store.take(takes)
    assert [each.remaining for each in store.take(takes)] == [9, 9, 9]
    assert [each.remaining for each in asyncio.run(store.atake(takes))] == [8, 8, 8]
    hang_up(store)
