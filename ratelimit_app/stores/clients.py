"""How to reach the Redis of a cache alias, with our own connections and time-outs.

The alias's own client is no use to a limiter: its time-outs are seconds or none, django-redis
shares one pool among all aliases of a URL, and Django's backend opens a pool per cache object. So
the address and the options of the alias are read, and connections are made anew.
"""

from collections.abc import Callable
from typing import Any

import redis
from django.core.cache import BaseCache
from django.core.cache.backends.base import default_key_func
from redis.connection import parse_url
from redis.sentinel import SentinelConnectionPool

from .awire import AsyncWire
from .node import TERSE, Address, Node, limits


class Clients:
    """The servers of one alias: `node` is the one it names, `at` finds others.

    `wire` is the node's, for the hot path; `sync` is redis-py's own client, for pipelines.
    """

    def __init__(self, cache: BaseCache, timeout: float, deadline: float) -> None:
        # Connecting and asking both have to fit into a decision, whatever the settings say.
        self._timeout, self.deadline = min(timeout, deadline / 2), deadline
        self._nodes: dict[tuple[str, int], Node] = {}
        pool, urls, started = _alias(cache)
        self._limit(pool)
        self.sync = redis.Redis(connection_pool=pool)
        self.node = self._node(pool)
        self.wire = self.node.wire
        #: Where to ask for the others: of a cluster, any of its nodes that the alias names.
        self.entries = [self.node]
        #: Whom Sentinels watch for us, and those; empty and none without them.
        self.service, self.sentinels = "", list[Node]()
        if isinstance(pool, SentinelConnectionPool):
            self.service = pool.service_name
            for sentinel in pool.sentinel_manager.sentinels:
                self._limit(sentinel.connection_pool)
                self.sentinels.append(self._node(sentinel.connection_pool))
        else:
            self._nodes[self.node.address.host, self.node.address.port] = self.node
            self.entries += [self.at(*each) for each in (*map(_host, urls[1:]), *started)]

    def here(self) -> AsyncWire:
        """The wire of the running event loop."""
        return self.node.here()

    def hang_up(self) -> None:
        """Close what threads hold open and do not use now."""
        for node in {self.node, *self.sentinels, *self._nodes.values()}:
            node.wire.hang_up()

    def at(self, host: str, port: int) -> Node:
        """Another server, by the alias's credentials and options."""
        found = self._nodes.get((host, port))
        if found is None:
            new = Node(self.node.address.to(host, port), self._timeout, self.deadline)
            found = self._nodes.setdefault((host, port), new)
        return found

    def _node(self, pool: Any) -> Node:
        return Node(Address.of(pool), self._timeout, self.deadline)

    def _limit(self, pool: Any) -> None:
        # On the pool, since a URL's own query would win over arguments.
        pool.connection_kwargs.update(limits(self._timeout))


def key_maker(cache: BaseCache) -> Callable[[str], str]:
    """`cache.make_key`; the usual one only puts a prefix before, which is asked for once."""
    usual = f"{cache.key_prefix}:{cache.version}:"
    if cache.key_func is default_key_func and str(cache.make_key("{a}b")) == usual + "{a}b":
        return usual.__add__
    return lambda raw: str(cache.make_key(raw))


def _alias(cache: BaseCache) -> tuple[Any, list[str], list[tuple[str, int]]]:
    """A pool of its own for the first URL; all URLs; the nodes that a cluster's client is given."""
    factory = getattr(getattr(cache, "client", None), "connection_factory", None)
    if factory is None:
        inner: Any = cache._cache  # type: ignore[attr-defined]
        options = {**inner._pool_options, **TERSE}
        return inner._pool_class.from_url(str(inner._servers[0]), **options), inner._servers, []
    # django-redis: its factory knows user, password, parser and Sentinel.
    urls = [str(each) for each in cache.client._server]  # type: ignore[attr-defined]
    pool = factory.get_connection_pool({**factory.make_connection_params(urls[0]), **TERSE})
    # An alias may have RedisCluster for its client: it is never made, since that would connect.
    nodes = getattr(factory, "redis_client_cls_kwargs", {}).get("startup_nodes") or []
    return pool, urls, [(str(node.host), int(node.port)) for node in nodes]


def _host(url: str) -> tuple[str, int]:
    found = parse_url(url)  # type: ignore[no-untyped-call]
    return str(found.get("host", "localhost")), int(found.get("port", 6379))
